use dyno_core::interval::{Distribution as _, Interval};

use super::*;
use crate::division::Shard;
use crate::message::Hello;
use crate::message::Probe;
use crate::message::tests::message;
use crate::names::{AgentName, RunId};

const SECOND: u64 = 1_000_000_000;
const BEGIN: u64 = 1_000 * SECOND;

fn agent() -> Agent {
    let config = AgentConfig {
        run: RunId::new("r1").unwrap(),
        name: AgentName::new("gen1").unwrap(),
        instance: 7,
        hello: Hello::default(),
        join_ns: 60 * SECOND,
        linger_ns: LINGER_NS,
    };
    Agent::new(config, BEGIN, 5_000 * SECOND)
}

fn order(serial: u64, task: Task) -> Message {
    message(Body::Order(Box::new(Order { serial, task })))
}

fn arm(serial: u64, attempt: u32, start: Nanos) -> Message {
    order(serial, Task::Arm { attempt, start })
}

fn assignment(plan: &str) -> Assignment {
    Assignment {
        plan: plan.to_owned(),
        plan_sha256: sha256("{}"),
        share: Shard {
            number: 1,
            of: 1,
            weights: Vec::new(),
        },
        orphan_ns: 10 * SECOND,
    }
}

/// The agent's commands, without its messages.
fn commands(agent: &mut Agent) -> Vec<Command> {
    let actions = std::iter::from_fn(|| agent.next_action());
    actions
        .filter_map(|action| match action {
            Action::Do(command) => Some(command),
            Action::Send(_) | Action::Keep(_) => None,
        })
        .collect()
}

fn stored(agent: &mut Agent) -> Vec<StoredMessage> {
    let actions = std::iter::from_fn(|| agent.next_action());
    actions
        .filter_map(|action| match action {
            Action::Keep(kept) => Some(kept),
            Action::Do(_) | Action::Send(_) => None,
        })
        .collect()
}

fn pulses(agent: &mut Agent) -> Vec<Pulse> {
    let actions = std::iter::from_fn(|| agent.next_action());
    actions
        .filter_map(|action| match action {
            Action::Send(Message {
                body: Body::Pulse(pulse),
                ..
            }) => Some(pulse),
            _ => None,
        })
        .collect()
}

/// An agent that has generated load since this time.
fn running(start: u64) -> Agent {
    let mut agent = agent();
    agent.receive(order(2, Task::Prepare(assignment("{}"))), BEGIN);
    agent.prepared(BEGIN);
    agent.receive(order(3, Task::Arm { attempt: 1, start }), BEGIN);
    agent.began(start);
    assert_eq!(agent.stage(), Stage::Running);
    commands(&mut agent);
    agent
}

fn interval(index: u64, start: u64) -> Interval {
    let mut interval = Interval {
        index,
        start: start + index * SECOND,
        end: start + (index + 1) * SECOND,
        ..Interval::default()
    };
    interval.counters.events = 1;
    interval.latencies.record_service(5_000 + index);
    interval
}

#[test]
fn an_agent_repeats_its_greeting_until_it_is_answered() {
    let mut agent = agent();
    for (at, hellos) in [(0, 1), (100, 0), (500, 1), (1000, 1)] {
        agent.tick(BEGIN + at * 1_000_000);
        let sent = std::iter::from_fn(|| agent.next_action()).count();
        assert_eq!(sent, hellos, "{at}");
    }
    agent.receive(order(1, Task::Wait), BEGIN + SECOND);
    assert_eq!(pulses(&mut agent).len(), 1);
    agent.tick(BEGIN + 2 * SECOND);
    let pulses_sent = pulses(&mut agent);
    assert_eq!(
        (
            pulses_sent.len(),
            pulses_sent[0].serial,
            pulses_sent[0].stage
        ),
        (1, 1, Stage::Waiting)
    );
    assert_eq!(pulses_sent[0].unix_ns, 5_002 * SECOND);
}

#[test]
fn an_agent_without_an_answer_gives_up() {
    let mut agent = agent();
    each_second(&mut agent, 1..=60);
    assert!(!agent.has_exited());
    commands(&mut agent);
    agent.tick(BEGIN + 60 * SECOND + 1);
    assert_eq!(commands(&mut agent), [Command::Exit(Exit::NotJoined)]);
}

#[test]
fn old_orders_and_those_of_others_are_passed_over() {
    let mut agent = agent();
    agent.receive(order(5, Task::Wait), BEGIN);
    agent.receive(
        order(
            4,
            Task::Refuse {
                why: "x".to_owned(),
            },
        ),
        BEGIN,
    );
    let other = Message {
        instance: 8,
        ..order(9, Task::Leave)
    };
    agent.receive(other, BEGIN);
    let other = Message {
        run: RunId::new("r2").unwrap(),
        ..order(9, Task::Leave)
    };
    agent.receive(other, BEGIN);
    assert!(!agent.has_exited());
    agent.receive(
        order(
            6,
            Task::Refuse {
                why: "x".to_owned(),
            },
        ),
        BEGIN,
    );
    assert_eq!(
        commands(&mut agent),
        [Command::Exit(Exit::Refused {
            why: "x".to_owned()
        })]
    );
}

#[test]
fn a_plan_that_was_changed_on_its_way_is_not_run() {
    let mut agent = agent();
    agent.receive(order(2, Task::Prepare(assignment("{\"more\":1}"))), BEGIN);
    assert_eq!(agent.stage(), Stage::Failed);
    assert!(
        pulses(&mut agent)[0]
            .why
            .contains("differs from the plan sent")
    );
    assert_eq!(commands(&mut agent), []);
}

#[test]
fn a_clock_answers_with_its_own_stamps() {
    let mut agent = agent();
    let probe = Probe { burst: 3, sent: 17 };
    agent.receive(message(Body::Probe(probe)), BEGIN + 5);
    let Some(Action::Send(Message {
        body: Body::Echo(echo),
        ..
    })) = agent.next_action()
    else {
        panic!("no echo");
    };
    assert_eq!(
        (echo.probe, echo.received, echo.sent),
        (probe, BEGIN + 5, BEGIN + 5)
    );
}

#[test]
fn a_start_is_armed_called_off_and_armed_again() {
    let mut agent = agent();
    agent.receive(order(2, Task::Prepare(assignment("{}"))), BEGIN);
    assert!(matches!(commands(&mut agent)[..], [Command::Prepare(_)]));
    // A start before it is ready is ignored.
    agent.receive(arm(3, 1, BEGIN + SECOND), BEGIN);
    assert_eq!(agent.stage(), Stage::Preparing);
    agent.prepared(BEGIN);
    agent.receive(arm(4, 2, BEGIN + SECOND), BEGIN);
    assert_eq!(
        commands(&mut agent),
        [Command::Start { at: BEGIN + SECOND }]
    );
    agent.receive(order(5, Task::Hold), BEGIN);
    assert_eq!(commands(&mut agent), [Command::CallOff]);
    agent.tick(BEGIN + 2 * SECOND);
    assert_eq!(agent.stage(), Stage::Ready);
    // A start in the past is neither kept nor confirmed.
    agent.receive(arm(6, 3, BEGIN + SECOND), BEGIN + 2 * SECOND);
    let pulse = pulses(&mut agent).pop().unwrap();
    assert_eq!(
        (pulse.serial, pulse.stage, pulse.attempt),
        (6, Stage::Ready, 0)
    );
    agent.receive(arm(7, 4, BEGIN + 3 * SECOND), BEGIN);
    agent.tick(BEGIN + 3 * SECOND);
    assert_eq!(agent.stage(), Stage::Running);
    // The start can no longer be cancelled; the pulse shows the coordinator that the load runs.
    agent.receive(order(8, Task::Hold), BEGIN + 3 * SECOND);
    let pulse = pulses(&mut agent).pop().unwrap();
    assert_eq!((pulse.stage, pulse.attempt), (Stage::Running, 4));
}

#[test]
fn records_are_offered_until_the_bus_has_them() {
    let start = BEGIN + SECOND;
    let mut agent = running(start);
    for index in 0..2 {
        agent
            .interval(&interval(index, start), start + (index + 1) * SECOND)
            .unwrap();
    }
    let offered = stored(&mut agent);
    assert_eq!(offered.len(), 2);
    let read = Message::decode(&offered[1].subject, &offered[1].bytes).unwrap();
    let Body::Record(record) = read.body else {
        panic!("no record");
    };
    // Times are relative to the common start.
    assert_eq!(
        (record.seq, record.interval.start, record.interval.end),
        (1, SECOND, 2 * SECOND)
    );
    agent.confirmed(&offered[0].id, start + 2 * SECOND);
    agent.confirmed("nonsense", start + 2 * SECOND);
    assert_eq!(agent.unconfirmed(), 1);
    agent.tick(start + 3 * SECOND);
    assert_eq!(stored(&mut agent).len(), 0);
    agent.tick(start + 4 * SECOND);
    let again = stored(&mut agent);
    assert_eq!(again, [offered[1].clone()]);
    agent.ended(End::Completed, start + 4 * SECOND);
    let total = stored(&mut agent).pop().unwrap();
    let Body::Record(record) = Message::decode(&total.subject, &total.bytes).unwrap().body else {
        panic!("no totals");
    };
    assert_eq!((record.seq, record.end), (2, Some(End::Completed)));
    assert_eq!(record.interval.counters.events, 2);
    assert_eq!(record.interval.latencies.service.samples(), 2);
}

#[test]
fn an_orphan_stops_its_load_sends_its_totals_and_leaves() {
    let start = BEGIN + SECOND;
    let mut agent = running(start);
    agent.interval(&interval(0, start), start + SECOND).unwrap();
    each_second(&mut agent, 1..=10);
    assert_eq!(commands(&mut agent), []);
    agent.tick(BEGIN + 10 * SECOND + 1);
    let [Command::Stop { why }] = &commands(&mut agent)[..] else {
        panic!("not told to stop");
    };
    assert_eq!(why, "no message from the coordinator for 10 s");
    agent.tick(BEGIN + 12 * SECOND);
    assert_eq!(commands(&mut agent), []);
    agent.ended(End::Stopped, BEGIN + 12 * SECOND);
    let messages = stored(&mut agent);
    let Body::Record(record) = Message::decode(&messages[0].subject, &messages[0].bytes)
        .unwrap()
        .body
    else {
        panic!("no totals");
    };
    assert_eq!(record.end, Some(End::Orphaned));
    each_second(&mut agent, 13..=59);
    agent.tick(BEGIN + LINGER_NS - 1);
    assert!(!agent.has_exited());
    agent.tick(BEGIN + LINGER_NS + SECOND);
    assert_eq!(
        commands(&mut agent),
        [Command::Exit(Exit::Orphaned { unconfirmed: 2 })]
    );
}

#[test]
fn a_released_agent_exits_soon_unless_orders_arrive() {
    let start = BEGIN + SECOND;
    let mut waiting = agent();
    waiting.launcher_gone();
    // The bus still works: only standard input was closed.
    for second in 1..=20 {
        let now = BEGIN + second * SECOND;
        waiting.receive(order(1, Task::Wait), now);
        waiting.tick(now);
    }
    each_second(&mut waiting, 21..=23);
    assert_eq!(commands(&mut waiting), []);
    waiting.tick(BEGIN + 24 * SECOND);
    let exit = Exit::Orphaned { unconfirmed: 0 };
    assert_eq!(commands(&mut waiting), [Command::Exit(exit)]);

    let mut agent = running(start);
    agent.launcher_gone();
    agent.interval(&interval(0, start), start + SECOND).unwrap();
    each_second(&mut agent, 1..=3);
    assert_eq!(commands(&mut agent), []);
    agent.tick(BEGIN + 4 * SECOND);
    let why = "no message from the coordinator for 4 s".to_owned();
    assert_eq!(commands(&mut agent), [Command::Stop { why }]);
    agent.ended(End::Stopped, BEGIN + 4 * SECOND);
    // No coordinator can receive its records.
    agent.tick(BEGIN + 5 * SECOND);
    let exit = Exit::Orphaned { unconfirmed: 2 };
    assert_eq!(commands(&mut agent), [Command::Exit(exit)]);
}

#[test]
fn its_own_pause_is_not_a_silent_coordinator() {
    let start = BEGIN + 5 * SECOND;
    let mut agent = running(start);
    agent.tick(BEGIN + 60 * SECOND);
    assert_eq!(commands(&mut agent), []);
    each_second(&mut agent, 61..=65);
    assert_eq!(commands(&mut agent), []);
    agent.tick(BEGIN + 66 * SECOND);
    assert!(matches!(commands(&mut agent)[..], [Command::Stop { .. }]));
}

/// Advances time as the agent would be woken.
fn each_second(agent: &mut Agent, seconds: std::ops::RangeInclusive<u64>) {
    for second in seconds {
        agent.tick(BEGIN + second * SECOND);
    }
}

#[test]
fn a_full_record_queue_ends_the_load() {
    let start = BEGIN + SECOND;
    let mut agent = running(start);
    let mut stopped = Vec::new();
    for index in 0..QUEUE_RECORDS_MAX as u64 {
        let now = start + (index + 1) * SECOND;
        // The coordinator is there, but the bus accepts nothing.
        agent.receive(order(3, Task::Run), now);
        agent.interval(&interval(index, start), now).unwrap();
        stopped.extend(commands(&mut agent));
    }
    assert!(matches!(&stopped[..], [Command::Stop { why }] if why.contains("300 messages")));
    agent.ended(End::Stopped, start + 301 * SECOND);
    assert_eq!(agent.unconfirmed(), QUEUE_RECORDS_MAX + 1);
}

#[test]
fn stops_on_order_and_leaves_when_everything_is_confirmed() {
    let start = BEGIN + SECOND;
    let mut agent = running(start);
    agent.receive(
        order(
            4,
            Task::Stop {
                why: "enough".to_owned(),
            },
        ),
        start + SECOND,
    );
    assert_eq!(
        commands(&mut agent),
        [Command::Stop {
            why: "enough".to_owned()
        }]
    );
    agent.ended(End::Stopped, start + SECOND);
    assert_eq!(agent.stage(), Stage::Ended);
    agent.receive(order(5, Task::Leave), start + SECOND);
    let actions: Vec<Action> = std::iter::from_fn(|| agent.next_action()).collect();
    // The last message confirms the order.
    let last = &actions[actions.len() - 2..];
    assert!(
        matches!(&last[0], Action::Send(Message { body: Body::Pulse(p), .. }) if p.serial == 5)
    );
    assert_eq!(last[1], Action::Do(Command::Exit(Exit::Done)));
}
