//! Agents that join over the user's own NATS server with TLS, and an observer on the server's host.

use std::process::{Command, Stdio};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::ports::free_port;
use dyno_tests::command::{Running, run};
use dyno_tests::{Database, Kind};

use super::common::{LIMIT, Lab, agents_check, children, has, last, signal, wait_for_end};

/// A NATS server with keys for these agents and a self-signed certificate.
fn bus(lab: &Lab, port: u16, agents: &str) -> Running {
    let certificate = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
                       -addext subjectAltName=IP:127.0.0.1 \
                       -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem";
    let mut openssl = Command::new("openssl");
    openssl
        .current_dir(lab.path(""))
        .args(certificate.split_whitespace());
    run(&mut openssl, LIMIT).success();
    let made = lab.dyno(&format!(
        "fleet keys bus {agents} --listen 127.0.0.1:{port} --tls-cert cert.pem --tls-key key.pem"
    ));
    has(&made.success(), &["coordinator.nk", "nats-server -c"]);
    let named = std::env::var_os("DYNO_TEST_NATS_SERVER");
    let mut server = Command::new(named.unwrap_or_else(|| "nats-server".into()));
    server
        .arg("-c")
        .arg(lab.path("bus/nats-server.conf"))
        .stdin(Stdio::null());
    let server = Running::start(&mut server);
    let until = Clock.now() + LIMIT.as_nanos() as u64;
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Clock.now() < until, "the NATS server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

#[test]
fn agents_that_join_make_one_run_and_end() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let port = free_port().unwrap();
    let _bus = bus(&lab, port, "gen1 gen2");
    let options = format!("--target {} --table-size 1000", database.url());
    lab.dyno(&format!("prepare oltp_point_select {options}"))
        .success();
    let url = format!("tls://127.0.0.1:{port}");
    let join = |name: &str| {
        let key = format!("--name {name} --key bus/{name}.nk --ca cert.pem");
        lab.start(&format!("agent --join {url} {key}"))
    };
    let (gen1, gen2) = (join("gen1"), join("gen2"));
    let line = format!(
        "run oltp_point_select {options} -c 6 -t 2s --warmup 0 --calibrate never \
         --agents gen1,gen2=2 --bus {url} --bus-key bus/coordinator.nk --bus-ca cert.pem"
    );
    let ended = lab.dyno(&line).success();
    has(&ended, &["agent gen2 on", "4 sessions"]);
    let printed = gen1.finish(LIMIT).success();
    has(
        &printed,
        &["takes part in run r", "is done: the run is complete"],
    );
    gen2.finish(LIMIT).success();
    let run = last(&lab);
    assert_eq!(run["agents"][1]["sessions"], 4);
    assert_ne!(agents_check(&run).0, "refuse");
    // A key is valid for one agent only.
    let wrong = lab.dyno(&format!(
        "agent --join {url} --name gen1 --key cert.pem --ca cert.pem --wait 2s"
    ));
    has(&wrong.failure(1), &["cert.pem"]);
    let other = lab.dyno(&format!(
        "agent --join {url} --name gen1 --key bus/gen2.nk --ca cert.pem --wait 60s"
    ));
    has(
        &other.failure(1),
        &["refused to let this key wait for runs as gen1", "gen1.nk"],
    );
    let starter = lab.dyno(&format!(
        "agent --join {url} --name gen1 --key bus/coordinator.nk --ca cert.pem"
    ));
    has(&starter.failure(2), &["the coordinator's key"]);
    let nobody = lab.dyno(&format!(
        "agent --join {url} --name gen1 --key bus/gen1.nk --ca cert.pem --wait 1s"
    ));
    has(&nobody.failure(1), &["no run named the agent gen1 in time"]);
    let clear = lab.dyno(&format!("agent --join tls://127.0.0.1:{port} --name gen1"));
    has(&clear.failure(2), &["--ca FILE, the authority"]);
    let far = lab.dyno("agent --join nats://192.0.2.1 --name gen1 --key bus/gen1.nk --wait 1s");
    has(&far.failure(1), &["must be encrypted", "tls://"]);
}

#[test]
fn an_observer_next_to_the_server_reports_its_process_and_host() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let lab = Lab::new();
        let database = Database::new(kind);
        let options = format!("--target {} --table-size 1000", database.url());
        lab.dyno(&format!("prepare oltp_point_select {options}"))
            .success();
        let mut run = lab.start(&format!(
            "run oltp_point_select {options} -c 4 -t 4s --warmup 0 --calibrate never \
             --server-agent local"
        ));
        run.measuring();
        let observer = children(run.pid(), "--observe");
        assert_eq!(observer.len(), 1);
        let printed = run.finish(LIMIT).success();
        has(
            &printed,
            &["server's host", " by the server (--server-agent local)"],
        );
        wait_for_end(&observer, Duration::from_secs(10));
        let exported = lab.dyno("export last --format json").success();
        let series = |name: &str| {
            let key = format!("\"{name}\"");
            exported.stdout.matches(&key).count()
        };
        // This host can observe the server as well, but must not report it a second time.
        assert_eq!(series("server.cpu.user"), 1, "{kind:?}");
        assert!(series("server.host.cpu.user") > 0, "{kind:?}");
        // These figures give the cost of a transaction on the server.
        let shown = last(&lab);
        let costs = shown["costs"].as_array().unwrap();
        let host = &shown["server_host"];
        assert_eq!(host["observer"], "local");
        let percent = |what: &str| host[what].as_f64().unwrap();
        let (busy, server) = (percent("busy_percent"), percent("server_percent"));
        assert!(
            server > 0.0 && server <= busy * 1.1 && busy <= 100.0,
            "{host}"
        );
        let known =
            |one: &&serde_json::Value| one["name"] == "server CPU" && !one["value"].is_null();
        assert!(costs.iter().any(|one| known(&one)), "{costs:#?}");
    }
}

/// Figures from one moment do not describe the run.
#[test]
fn reports_a_frozen_observer() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000", database.url());
    lab.dyno(&format!("prepare oltp_point_select {options}"))
        .success();
    let mut run = lab.start(&format!(
        "run oltp_point_select {options} -c 4 -t 8s --warmup 0 --calibrate never \
         --server-agent local"
    ));
    run.measuring();
    let observer = children(run.pid(), "--observe");
    std::thread::sleep(Duration::from_secs(1));
    signal(observer[0], libc::SIGSTOP);
    run.finish(LIMIT).success();
    wait_for_end(&observer, Duration::from_secs(10));
    let shown = last(&lab);
    let findings = shown["findings"].as_array().unwrap();
    let found = findings.iter().find(|one| one["check"] == "observers");
    let found = found.unwrap();
    assert_eq!(found["outcome"], "doubt", "{found}");
    let evidence = found["evidence"].as_str().unwrap();
    assert!(
        evidence.contains("on the server's host stopped responding"),
        "{found}"
    );
    assert!(evidence.contains("of the server's host"), "{found}");
    let host = &shown["server_host"];
    assert!(
        host["busy_percent"].is_null() && host["server_percent"].is_null(),
        "{host}"
    );
    let costs = shown["costs"].as_array().unwrap();
    let server = costs.iter().find(|one| one["name"] == "server CPU");
    assert!(server.unwrap()["value"].is_null(), "{costs:#?}");
}
