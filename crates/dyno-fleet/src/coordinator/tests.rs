use dyno_core::interval::Interval;

use super::*;
use crate::message::tests::message;
use crate::message::{Echo, End, MessageError, Pulse, Record, Stage};
use crate::names::{Channel, Subject};

const SECOND: u64 = 1_000_000_000;
const BEGIN: u64 = 100 * SECOND;

fn config() -> FleetConfig {
    let run = RunId::new("r1").unwrap();
    let agents = vec![AgentName::new("gen1").unwrap()];
    FleetConfig {
        length_ns: Some(2 * SECOND),
        limits: Limits {
            probes: 1,
            ..Limits::default()
        },
        ..FleetConfig::new(run, agents, Division::equal(1).unwrap())
    }
}

/// A coordinator and its outputs.
struct Bench {
    coordinator: Coordinator,
    now: Nanos,
    orders: Vec<Order>,
    findings: Vec<Finding>,
    report: Option<Report>,
}

impl Bench {
    fn new(config: FleetConfig) -> Self {
        Self {
            coordinator: Coordinator::new(config, BEGIN, 5_000 * SECOND).unwrap(),
            now: BEGIN,
            orders: Vec::new(),
            findings: Vec::new(),
            report: None,
        }
    }

    fn hear(&mut self, body: Body) {
        let message = message(body);
        let bytes = message.encode().unwrap();
        self.coordinator
            .receive(&message.subject(), &bytes, self.now);
        self.turn();
    }

    fn pass(&mut self, time: Nanos) {
        self.now += time;
        self.turn();
    }

    /// Answers probes; the agent's clock is the coordinator's own.
    fn turn(&mut self) {
        self.coordinator.tick(self.now);
        while let Some(output) = self.coordinator.next_output() {
            match output {
                Output::Send(Message {
                    body: Body::Probe(probe),
                    ..
                }) => {
                    let echo = Echo {
                        probe,
                        received: self.now,
                        sent: self.now,
                        unix_ns: 5_000 * SECOND + self.now - BEGIN,
                    };
                    let message = message(Body::Echo(echo));
                    let bytes = message.encode().unwrap();
                    self.coordinator
                        .receive(&message.subject(), &bytes, self.now);
                }
                Output::Send(Message {
                    body: Body::Order(order),
                    ..
                }) => self.orders.push(*order),
                Output::Send(_) => panic!("a coordinator asks and orders"),
                Output::Event(Event::Finding(finding)) => self.findings.push(finding),
                Output::Event(Event::Ended(report)) => self.report = Some(*report),
                Output::Event(_) => {}
            }
        }
    }

    fn pulse(&mut self, stage: Stage, attempt: u32, made: u64) {
        let serial = self.orders.last().unwrap().serial;
        let pulse = Pulse {
            serial,
            stage,
            attempt,
            made,
            ..Pulse::default()
        };
        self.hear(Body::Pulse(pulse));
    }

    fn record(&mut self, seq: u64, events: u64, end: Option<End>) {
        let mut interval = Interval {
            index: seq,
            end: (seq + 1) * SECOND,
            ..Interval::default()
        };
        interval.counters.events = events;
        let record = Record {
            seq,
            part: 0,
            parts: 1,
            end,
            attempt: 1,
            pieces: 0,
            late_ns: None,
            interval: (&interval).into(),
        };
        self.hear(Body::Record(Box::new(record)));
    }

    /// Runs up to the load.
    fn start(&mut self) {
        self.hear(Body::Hello(Box::default()));
        self.pass(SECOND / 2);
        self.pulse(Stage::Ready, 0, 0);
        self.pass(SECOND / 2);
        self.pass(SECOND / 2);
        let task = &self.orders.last().unwrap().task;
        assert!(matches!(task, Task::Arm { attempt: 1, .. }), "{task:?}");
        self.pulse(Stage::Armed, 1, 0);
        self.pass(2 * SECOND);
        assert_eq!(*self.coordinator.phase(), Phase::Running);
        self.pulse(Stage::Running, 1, 0);
    }

    fn end(&mut self) -> &Report {
        self.pulse(Stage::Ended, 1, 2);
        for _ in 0..400 {
            self.pass(SECOND / 10);
            // The agent keeps sending heartbeats and follows all orders.
            if self.coordinator.is_over() {
                break;
            }
            self.pulse(Stage::Ended, 1, 2);
        }
        assert!(self.coordinator.is_over());
        self.report.as_ref().unwrap()
    }

    fn kinds(&self) -> Vec<Kind> {
        self.findings.iter().map(|finding| finding.kind).collect()
    }
}

#[test]
fn a_run_goes_from_phase_to_phase() {
    let mut bench = Bench::new(config());
    assert_eq!(*bench.coordinator.phase(), Phase::Gather);
    bench.start();
    bench.record(0, 5, None);
    bench.pass(2 * SECOND);
    bench.record(1, 6, None);
    bench.record(2, 11, Some(End::Completed));
    let report = bench.end();
    assert_eq!(report.failed, None, "{:?}", report.findings);
    assert_eq!(report.total.counters.events, 11);
    assert_eq!(report.agents[0].sums.counters.events, 11);
    assert_eq!(bench.kinds(), []);
}

#[test]
fn totals_that_intervals_do_not_add_up_to_fail_the_run() {
    let mut bench = Bench::new(config());
    bench.start();
    bench.record(0, 5, None);
    bench.pass(2 * SECOND);
    bench.record(1, 6, None);
    bench.record(2, 12, Some(End::Completed));
    let report = bench.end();
    assert!(
        report
            .failed
            .as_ref()
            .unwrap()
            .contains("gen1 do not add up to its totals")
    );
    assert_eq!(bench.kinds(), [Kind::TotalsDiffer]);
}

#[test]
fn an_interval_that_never_comes_fails_the_run_by_its_number() {
    let mut bench = Bench::new(config());
    bench.start();
    bench.pass(2 * SECOND);
    bench.record(1, 6, None);
    bench.record(2, 11, Some(End::Completed));
    let report = bench.end();
    let failed = report.failed.as_deref().unwrap();
    assert_eq!(failed, "intervals of gen1 never arrived: 0");
    assert_eq!(report.total.counters.events, 6);
}

#[test]
fn reports_nonsense_once_and_ignores_it() {
    let mut bench = Bench::new(config());
    bench.start();
    let subject = |channel| Subject {
        run: RunId::new("r1").unwrap(),
        channel,
        agent: AgentName::new("gen1").unwrap(),
    };
    let text = format!("{{\"v\":{PROTOCOL},\"what\":2}}");
    for channel in Channel::ALL {
        for bytes in [text.as_bytes(), &[0; 20_000]] {
            let subject = subject(channel);
            bench.coordinator.receive(&subject, bytes, bench.now);
        }
    }
    // Messages of another run, and of an unknown agent.
    let other = Subject {
        run: RunId::new("r2").unwrap(),
        ..subject(Channel::Pulse)
    };
    bench.coordinator.receive(&other, b"{", bench.now);
    let other = Subject {
        agent: AgentName::new("gen9").unwrap(),
        ..subject(Channel::Pulse)
    };
    bench.coordinator.receive(&other, b"{", bench.now);
    // Impossible sums.
    bench.record(0, 5, None);
    bench.record(1, u64::MAX, None);
    bench.pass(2 * SECOND);
    bench.record(1, 6, None);
    bench.record(2, 11, Some(End::Completed));
    // An acknowledgement of the bus to another client, which redirected it here.
    let answer = br#"{"stream":"DYNO_r1","seq":7}"#;
    for channel in [Channel::Pulse, Channel::Intervals] {
        let subject = subject(channel);
        bench.coordinator.receive(&subject, answer, bench.now);
    }
    let report = bench.end();
    assert_eq!(report.failed, None);
    assert_eq!(report.total.counters.events, 11);
    assert_eq!(bench.kinds(), [Kind::Malformed; 2]);
    assert!(bench.findings[0].agent.is_some());
    assert_eq!(bench.findings[1].agent, None);
}

#[test]
fn another_protocol_fails_the_run() {
    let mut bench = Bench::new(config());
    let hello = message(Body::Hello(Box::default()));
    let text = String::from_utf8(hello.encode().unwrap()).unwrap();
    let own = format!("\"v\":{PROTOCOL}");
    let newer = text.replacen(&own, &format!("\"v\":{}", PROTOCOL + 1), 1);
    bench
        .coordinator
        .receive(&hello.subject(), newer.as_bytes(), bench.now);
    bench.turn();
    assert_eq!(bench.kinds(), [Kind::ProtocolSkew]);
    let protocol = MessageError::Protocol {
        subject: hello.subject().to_string(),
        theirs: PROTOCOL + 1,
    };
    bench.pass(SECOND);
    bench.pass(4 * SECOND);
    let failed = bench.report.as_ref().unwrap().failed.clone();
    assert_eq!(failed, Some(protocol.to_string()));
}

#[test]
fn repeats_orders_until_they_are_confirmed() {
    let mut bench = Bench::new(config());
    bench.hear(Body::Hello(Box::default()));
    let first = bench.orders.len();
    bench.pass(SECOND / 4);
    bench.pass(SECOND / 4);
    assert_eq!(bench.orders.len(), first + 2);
    let [.., one, two] = &bench.orders[..] else {
        panic!("no orders");
    };
    assert_eq!(one, two);
    bench.pulse(Stage::Preparing, 0, 0);
    let orders_sent = bench.orders.len();
    bench.pass(SECOND / 4);
    bench.pass(SECOND / 4);
    // Confirmed orders are repeated once a second, as a heartbeat.
    assert!(bench.orders.len() <= orders_sent + 1);
}

#[test]
fn a_start_is_given_up_after_three_tries() {
    let mut bench = Bench::new(config());
    bench.hear(Body::Hello(Box::default()));
    for _ in 0..200 {
        bench.pass(SECOND / 10);
        if bench.coordinator.is_over() {
            break;
        }
        // It is ready, but never armed.
        bench.pulse(Stage::Ready, 0, 0);
    }
    assert_eq!(bench.kinds(), [Kind::StartCalledOff; 3]);
    let failed = bench.report.as_ref().unwrap().failed.clone().unwrap();
    assert_eq!(failed, "start 3 was cancelled: gen1 did not confirm it");
}

#[test]
fn a_load_that_began_at_a_start_called_off_fails_the_run() {
    let mut bench = Bench::new(config());
    bench.hear(Body::Hello(Box::default()));
    while bench.kinds().is_empty() {
        bench.pass(SECOND / 10);
        bench.pulse(Stage::Ready, 0, 0);
    }
    bench.pulse(Stage::Running, 1, 0);
    assert_eq!(bench.kinds(), [Kind::StartCalledOff, Kind::StartMistaken]);
    assert!(matches!(
        bench.orders.last().unwrap().task,
        Task::Stop { .. }
    ));
}

#[test]
fn a_stopped_run_keeps_its_measurements() {
    let mut bench = Bench::new(config());
    bench.start();
    bench.record(0, 5, None);
    bench.coordinator.stop("interrupted", bench.now);
    bench.turn();
    assert!(
        matches!(&bench.orders.last().unwrap().task, Task::Stop { why } if why == "interrupted")
    );
    bench.record(1, 5, Some(End::Stopped));
    let report = bench.end();
    assert_eq!(report.failed.as_deref(), Some("interrupted"));
    assert_eq!(report.total.counters.events, 5);
    assert_eq!(bench.kinds(), []);
}

#[test]
fn an_unreachable_bus_loses_no_agent() {
    // Shorter than the interval between probes of its clock, which it answers.
    let mut config = config();
    config.limits.lost_ns = 5 * SECOND;
    let mut bench = Bench::new(config);
    bench.start();
    bench.coordinator.bus(false, bench.now);
    for _ in 0..8 {
        bench.pass(SECOND);
    }
    bench.coordinator.bus(true, bench.now);
    bench.pass(SECOND);
    assert_eq!(bench.kinds(), [Kind::BusLost]);
    // From here on silence counts again.
    for _ in 0..16 {
        bench.pass(SECOND);
    }
    assert_eq!(bench.kinds(), [Kind::BusLost, Kind::AgentLost]);
}

#[test]
fn an_agent_whose_process_has_ended_is_lost_at_once() {
    let mut bench = Bench::new(config());
    bench.start();
    bench.record(0, 5, None);
    let gen1 = AgentName::new("gen1").unwrap();
    let why = "its process has ended (signal: 9)";
    bench.coordinator.gone(&gen1, why, bench.now);
    // Messages that it sent before may still arrive.
    bench.pass(SECOND);
    bench.record(1, 6, None);
    assert_eq!(bench.kinds(), []);
    bench.pass(SECOND / 10);
    assert_eq!(bench.kinds(), [Kind::AgentLost]);
    let evidence = &bench.findings[0].evidence;
    assert_eq!(
        evidence,
        "gen1 was lost: its process has ended (signal: 9), after 2 intervals"
    );
}

#[test]
fn an_aborted_run_does_not_wait_for_a_silent_bus() {
    let mut config = config();
    config.length_ns = Some(100 * SECOND);
    let mut bench = Bench::new(config);
    bench.start();
    bench.record(0, 5, None);
    bench
        .coordinator
        .stop("the user stopped the run", bench.now);
    for _ in 0..80 {
        bench.pass(SECOND / 10);
    }
    assert!(matches!(bench.coordinator.phase(), Phase::Draining));
    bench.pass(SECOND);
    assert!(!matches!(bench.coordinator.phase(), Phase::Draining));
}

#[test]
fn agents_have_unique_names_and_parts() {
    let two = |names: [&str; 2], parts| FleetConfig {
        agents: names.map(|name| AgentName::new(name).unwrap()).to_vec(),
        division: Division::equal(parts).unwrap(),
        ..config()
    };
    assert!(Coordinator::new(two(["a", "b"], 2), 0, 0).is_ok());
    assert!(Coordinator::new(two(["a", "a"], 2), 0, 0).is_err());
    assert!(Coordinator::new(two(["a", "b"], 3), 0, 0).is_err());
}

#[test]
fn an_agent_that_cannot_prepare_fails_the_run_with_its_words() {
    let mut bench = Bench::new(config());
    bench.hear(Body::Hello(Box::default()));
    bench.pass(SECOND / 2);
    let pulse = Pulse {
        serial: bench.orders.last().unwrap().serial,
        stage: Stage::Failed,
        why: "Access denied for user 'bench'".to_owned(),
        ..Pulse::default()
    };
    bench.hear(Body::Pulse(pulse));
    assert_eq!(bench.kinds(), [Kind::AgentFailed]);
    let evidence = &bench.findings[0].evidence;
    assert_eq!(
        evidence,
        "gen1 could not prepare: Access denied for user 'bench'"
    );
}

#[test]
fn the_clocks_of_many_are_asked_in_turn() {
    let names = (0..130).map(|number| AgentName::new(format!("gen{number}")).unwrap());
    let config = FleetConfig {
        agents: names.collect(),
        division: Division::equal(130).unwrap(),
        limits: Limits::default(),
        ..config()
    };
    let mut coordinator = Coordinator::new(config, BEGIN, 0).unwrap();
    let hear = |coordinator: &mut Coordinator, agent: &AgentName, body| {
        let message = Message {
            agent: agent.clone(),
            ..message(body)
        };
        let bytes = message.encode().unwrap();
        coordinator.receive(&message.subject(), &bytes, BEGIN);
    };
    for agent in coordinator.names().to_vec() {
        hear(&mut coordinator, &agent, Body::Hello(Box::default()));
    }
    let mut asked = BTreeSet::new();
    for step in 0..600 {
        coordinator.tick(BEGIN + step * 2_000_000);
        let mut questions = 0;
        while let Some(output) = coordinator.next_output() {
            match output {
                Output::Send(Message { agent, body, .. }) => match body {
                    Body::Probe(_) => {
                        questions += 1;
                        asked.insert(agent);
                    }
                    Body::Order(order) => {
                        let pulse = Pulse {
                            serial: order.serial,
                            stage: Stage::Ready,
                            ..Pulse::default()
                        };
                        hear(&mut coordinator, &agent, Body::Pulse(pulse));
                    }
                    _ => {}
                },
                Output::Event(_) => {}
            }
        }
        assert!(questions <= 16, "{questions}");
    }
    assert_eq!(asked.len(), 130);
}
