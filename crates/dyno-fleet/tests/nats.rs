//! Fleets over a real NATS server: `DYNO_TEST_NATS_SERVER`, or the one in `PATH`.
#![allow(clippy::unwrap_used, clippy::panic)] // tests may panic

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{INTERVAL, Outputs, agent, config, everything, lead, names};
use dyno_core::{Clock, Secret, Target};
use dyno_fleet::agent::{Exit, StoredMessage};
use dyno_fleet::bus::nats::{NatsBus, NatsConfig, Role};
use dyno_fleet::bus::{Bus as _, BusError, Incoming};
use dyno_fleet::finding::Kind;
use dyno_fleet::message::{Message, MessageError};
use dyno_fleet::names::{AgentName, Channel, RunId, Subject};
use dyno_fleet::server::Server;

const SECOND: u64 = 1_000_000_000;

fn program() -> Option<PathBuf> {
    std::env::var_os("DYNO_TEST_NATS_SERVER").map(PathBuf::from)
}

fn start(run: &str, agents: &[AgentName]) -> Server {
    let run = RunId::new(run).unwrap();
    Server::start(program().as_deref(), &run, agents).unwrap()
}

fn leader(server: &Server, run: &str) -> NatsBus {
    let config = NatsConfig {
        address: server.address().to_string(),
        key: server.coordinator_key().clone(),
        run: RunId::new(run).unwrap(),
        role: Role::Coordinator,
        authority: None,
    };
    NatsBus::connect(config).unwrap()
}

fn member(server: &Server, run: &str, name: &AgentName, key: &Secret) -> NatsConfig {
    NatsConfig {
        address: server.address().to_string(),
        key: key.clone(),
        run: RunId::new(run).unwrap(),
        role: Role::Agent(name.clone()),
        authority: None,
    }
}

/// A run with three agents. `at` is called with the number of each complete interval.
fn run(server: &Server, run: &str, plan: &str, intervals: u64, at: impl FnMut(u64)) -> Outputs {
    let names = names(3);
    let mut config = config(run, &names, intervals);
    plan.clone_into(&mut config.plan);
    let mut bus = leader(server, run);
    let agents: Vec<_> = (0..3)
        .map(|number| {
            let key = server.agent_key(&names[number]).unwrap();
            let own = member(server, run, &names[number], key);
            agent(&config, number, intervals, || {
                NatsBus::connect(own).unwrap()
            })
        })
        .collect();
    let outputs = lead(config, &mut bus, at);
    for agent in agents {
        assert_eq!(agent.join().unwrap().unwrap(), Exit::Done);
    }
    outputs
}

#[test]
fn agents_over_nats_act_as_one() {
    let server = start("r1", &names(3));
    let outputs = run(&server, "r1", "{}", 10, |_| {});
    let report = outputs.report.unwrap();
    assert_eq!(report.failed, None, "{:?}", report.findings);
    assert_eq!(report.total, everything(3, 10));
    for agent in &report.agents {
        let clock = agent.clock.unwrap();
        println!(
            "{}: offset {} ns, delay {} ns, began {:?} ns late",
            agent.name, clock.offset_ns, clock.delay_ns, agent.late_ns
        );
        // All agents have the same clock.
        assert!(
            clock.offset_ns.unsigned_abs() <= clock.delay_ns / 2,
            "{clock:?}"
        );
    }
}

#[test]
fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    let mut server = start("r2", &names(3));
    let names = names(3);
    let config = config("r2", &names, 30);
    let mut bus = leader(&server, "r2");
    let agents: Vec<_> = (0..3)
        .map(|number| {
            let key = server.agent_key(&names[number]).unwrap();
            let own = member(&server, "r2", &names[number], key);
            agent(&config, number, 30, || NatsBus::connect(own).unwrap())
        })
        .collect();
    let (kill, killed) = std::sync::mpsc::channel();
    let killer = std::thread::spawn(move || {
        killed.recv().unwrap();
        server.kill();
        std::thread::sleep(Duration::from_millis(1500));
        server.restart().unwrap();
        server
    });
    let outputs = lead(config, &mut bus, |index| {
        if index == 9 {
            kill.send(()).unwrap();
        }
    });
    let report = outputs.report.unwrap();
    assert_eq!(report.failed, None, "{:?}", report.findings);
    assert!(outputs.kinds.contains(&Kind::BusLost));
    assert_eq!(report.total, everything(3, 30));
    for agent in agents {
        assert_eq!(agent.join().unwrap().unwrap(), Exit::Done);
    }
    drop(killer.join().unwrap());
}

/// All events that arrive within this time.
fn heard(bus: &mut NatsBus, time: Duration) -> Vec<Incoming> {
    let until = Clock.now() + time.as_nanos() as u64;
    let mut all = Vec::new();
    while let Some(incoming) = bus.receive(until).unwrap() {
        // Ignore the initial connection.
        all.extend(Some(incoming).filter(|incoming| *incoming != Incoming::Up));
    }
    all
}

#[test]
fn an_agent_writes_and_reads_under_its_own_name_only() {
    let names = names(2);
    let server = start("r3", &names);
    let mut coordinator = leader(&server, "r3");
    let key = server.agent_key(&names[0]).unwrap();
    let mut own = NatsBus::connect(member(&server, "r3", &names[0], key)).unwrap();
    // The first agent's key with the second agent's name.
    let mut false_one = NatsBus::connect(member(&server, "r3", &names[1], key)).unwrap();
    let subject = |channel, name: &AgentName| Subject {
        run: RunId::new("r3").unwrap(),
        channel,
        agent: name.clone(),
    };
    let kept = |name: &AgentName, id: &str| StoredMessage {
        id: id.into(),
        subject: subject(Channel::Intervals, name),
        bytes: b"record".to_vec().into(),
    };
    own.send(&subject(Channel::Hello, &names[0]), b"own")
        .unwrap();
    own.keep(&kept(&names[0], "own")).unwrap();
    own.keep(&kept(&names[1], "foreign")).unwrap();
    own.send(&subject(Channel::Hello, &names[1]), b"foreign")
        .unwrap();
    own.send(&subject(Channel::Control, &names[1]), b"foreign order")
        .unwrap();
    false_one
        .send(&subject(Channel::Pulse, &names[1]), b"foreign")
        .unwrap();
    let received = heard(&mut coordinator, Duration::from_secs(2));
    let received: Vec<(Subject, Vec<u8>)> = received
        .into_iter()
        .map(|incoming| match incoming {
            Incoming::Message { subject, bytes } => (subject, bytes),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(received.len(), 2, "{received:?}");
    assert!(
        received
            .iter()
            .all(|(subject, _)| subject.agent == names[0]),
        "{received:?}"
    );
    let confirmed = heard(&mut own, Duration::from_secs(1));
    assert_eq!(
        confirmed,
        [Incoming::Confirmed {
            id: "own".to_owned()
        }]
    );
    coordinator
        .send(&subject(Channel::Control, &names[1]), b"order")
        .unwrap();
    assert_eq!(heard(&mut false_one, Duration::from_secs(1)), []);
    let complaints = own.complaints();
    assert!(
        complaints
            .iter()
            .any(|text| text.to_lowercase().contains("permissions violation")),
        "{complaints:?}"
    );
}

/// The bus acknowledges a record to any reply subject, with its own rights: an agent could misuse
/// that to send orders that it may not send itself.
#[test]
fn forged_reply_subjects_of_an_agent_are_harmless() {
    use async_nats::{ConnectOptions, jetstream};
    let names = names(2);
    let server = start("r9", &names);
    let mut coordinator = leader(&server, "r9");
    let connect = |key: &Secret| {
        let options = ConnectOptions::with_nkey(key.expose().to_owned());
        options.connect(server.address().to_string())
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let agent = connect(server.agent_key(&names[0]).unwrap()).await.unwrap();
        for answer in [
            "$JS.API.STREAM.PURGE.DYNO_r9",
            "$JS.API.STREAM.DELETE.DYNO_r9",
            "$JS.API.STREAM.MSG.DELETE.DYNO_r9",
            "$JS.API.CONSUMER.DELETE.DYNO_r9.coordinator",
            "dyno.r9.hb.gen2",
        ] {
            let own = "dyno.r9.iv.gen1".to_owned();
            let sent = agent.publish_with_reply(own, answer.to_owned(), "record".into());
            sent.await.unwrap();
        }
        agent.flush().await.unwrap();
    });
    let received = heard(&mut coordinator, Duration::from_secs(2));
    let strange: Vec<_> = (received.iter())
        .filter_map(|incoming| match incoming {
            Incoming::Message { subject, bytes } if subject.agent == names[1] => {
                Some(Message::decode(subject, bytes).unwrap_err())
            }
            _ => None,
        })
        .collect();
    assert!(
        matches!(strange[..], [MessageError::Acknowledgement { .. }]),
        "{received:?}"
    );
    // All five can be read: not even the coordinator can delete a record.
    assert_eq!(received.len(), 6, "{received:?}");
    runtime.block_on(async {
        let client = connect(server.coordinator_key()).await.unwrap();
        let stream = jetstream::new(client).get_stream("DYNO_r9").await.unwrap();
        stream.purge().await.unwrap_err();
        stream.delete_message(1).await.unwrap_err();
    });
}

#[test]
fn refuses_agents_without_a_valid_key() {
    let names = names(1);
    let server = start("r4", &names);
    let other = start("r4", &names);
    let stranger = member(
        &server,
        "r4",
        &names[0],
        other.agent_key(&names[0]).unwrap(),
    );
    let error = NatsBus::connect(stranger).unwrap_err();
    assert!(matches!(error, BusError::Refused { .. }), "{error}");
    let nonsense = Secret::new("SUnonsense".to_owned());
    let error = NatsBus::connect(member(&server, "r4", &names[0], &nonsense)).unwrap_err();
    assert!(!error.to_string().contains("nonsense"), "{error}");
    let mut beyond = member(
        &server,
        "r4",
        &names[0],
        server.agent_key(&names[0]).unwrap(),
    );
    beyond.address = "192.0.2.1:4222".to_owned();
    let error = NatsBus::connect(beyond).unwrap_err();
    assert!(matches!(error, BusError::Unencrypted { .. }), "{error}");
    let mut nowhere = member(
        &server,
        "r4",
        &names[0],
        server.agent_key(&names[0]).unwrap(),
    );
    nowhere.address = "127.0.0.1:1".to_owned();
    let error = NatsBus::connect(nowhere).unwrap_err();
    assert!(matches!(error, BusError::Unreachable { .. }), "{error}");
}

#[test]
fn duplicate_messages_are_kept_once() {
    let names = names(1);
    let server = start("r5", &names);
    let mut coordinator = leader(&server, "r5");
    let key = server.agent_key(&names[0]).unwrap();
    let mut own = NatsBus::connect(member(&server, "r5", &names[0], key)).unwrap();
    for number in 0..80 {
        let kept = StoredMessage {
            id: format!("r5/gen1/{}", number / 2).into(),
            subject: Subject {
                run: RunId::new("r5").unwrap(),
                channel: Channel::Intervals,
                agent: names[0].clone(),
            },
            bytes: vec![number; 1000].into(),
        };
        own.keep(&kept).unwrap();
        let mut confirmed = own.receive(Clock.now() + 5 * SECOND).unwrap();
        if confirmed == Some(Incoming::Up) {
            confirmed = own.receive(Clock.now() + 5 * SECOND).unwrap();
        }
        assert_eq!(
            confirmed,
            Some(Incoming::Confirmed {
                id: kept.id.to_string()
            })
        );
    }
    let received = heard(&mut coordinator, Duration::from_secs(1));
    assert_eq!(received.len(), 40);
    // A run may last for days.
    assert_eq!(stored_count(&server, "r5"), 0);
}

/// Number of messages in the stream of a run.
fn stored_count(server: &Server, run: &str) -> u64 {
    let key = server.coordinator_key().expose().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let options = async_nats::ConnectOptions::with_nkey(key);
        let client = options.connect(server.address().to_string()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream(format!("DYNO_{run}")).await.unwrap();
        stream.get_info().await.unwrap().state.messages
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn no_secret_is_kept_by_the_server() {
    let canary = "canary-5f1c9e";
    let target = Target::parse(&format!("mysql://bench:{canary}@db1/bench")).unwrap();
    let plan = serde_json::to_string(&target.plan()).unwrap();
    assert!(!plan.contains(canary));
    let server = start("r6", &names(3));
    // During the run, and after it.
    let mut seen: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut look = || {
        let all = files(server.folder()).into_iter();
        // A file may have disappeared in the meantime.
        seen.extend(all.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))));
    };
    let outputs = run(&server, "r6", &plan, 8, |_| look());
    look();
    assert_eq!(outputs.report.unwrap().failed, None);
    let mode = fs::metadata(server.folder()).unwrap().permissions();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o700
    );
    let seeds = names(3);
    let seeds = seeds
        .iter()
        .map(|name| server.agent_key(name).unwrap().expose());
    let mut secrets: Vec<&str> = seeds.collect();
    secrets.extend([canary, server.coordinator_key().expose()]);
    let has = |bytes: &[u8], text: &str| {
        let mut parts = bytes.windows(text.len());
        parts.any(|part| part == text.as_bytes())
    };
    for (path, bytes) in &seen {
        for secret in &secrets {
            assert!(!has(bytes, secret), "{} has a secret", path.display());
        }
    }
    // Check that the search works: it finds the server's configuration.
    assert!(seen.iter().any(|(_, bytes)| has(bytes, "max_file_store")));
    // The stored data of a run is deleted at its end.
    let left: u64 = files(server.folder())
        .iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "streams"))
        .map(|path| fs::metadata(path).map_or(0, |about| about.len()))
        .sum();
    assert_eq!(left, 0);
    assert!(outputs.merged.len() as u64 * INTERVAL >= SECOND);
}

#[test]
fn a_server_ends_with_its_parent() {
    const CHILD: &str = "DYNO_FLEET_PARENT";
    if std::env::var_os(CHILD).is_some() {
        let server = start("r7", &names(1));
        println!("server {}", server.process_id().unwrap());
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_server_ends_with_its_parent", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find_map(|line| {
        let at = line.find("server ")?;
        line[at + 7..].trim().parse::<u32>().ok()
    });
    let server = said.expect("the child started a server");
    let process = format!("/proc/{server}/exe");
    assert!(fs::read_link(&process).is_ok());
    parent.kill().unwrap();
    parent.wait().unwrap();
    let limit = Clock.now() + 10 * SECOND;
    while fs::read_link(&process).is_ok() {
        assert!(Clock.now() < limit, "the server outlives its parent");
        std::thread::sleep(Duration::from_millis(20));
    }
}
