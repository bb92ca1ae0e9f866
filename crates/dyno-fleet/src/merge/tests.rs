use dyno_core::db::ErrorKind;
use dyno_core::interval::{
    OperationInterval, RoleCounters, SessionCount, SparseInterval, count_error,
};
use dyno_core::rand::Stream;
use dyno_core::states::{SessionState, SessionStates};
use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 500 * SECOND;
const START_UNIX: u64 = 1_800_000_000 * SECOND;

/// The interval with these samples, as recorded by an agent or by one process. The operations share
/// the samples of the events, in turn.
fn recorded(index: u64, sessions: &[u32], samples: &[u64]) -> Interval {
    let mut interval = Interval {
        index,
        start: index * SECOND,
        end: (index + 1) * SECOND,
        operations: vec![OperationInterval::default(); 3],
        roles: vec![RoleCounters::default(); 2],
        endpoints: vec![0; 2],
        states: SessionStates::all(SessionState::Working, sessions.len() as u32),
        ..Interval::default()
    };
    for (number, ns) in samples.iter().enumerate() {
        interval.counters.events += 1;
        interval.counters.rows += ns % 7;
        interval.latencies.record_service(*ns);
        interval.latencies.record_response(ns + ns % 1000);
        let operation = &mut interval.operations[*ns as usize % 3];
        operation.counters.done += 1;
        operation.latencies.record_service(ns / 2);
        if ns % 5 == 0 {
            let first = operation.first_tries.get_or_insert_default();
            first.record_service(ns / 3);
            let code = (ns % 4).to_string();
            count_error(&mut interval.errors, &code, ErrorKind::Conflict, 1, || {
                code.clone()
            });
        }
        interval.roles[number % 2].events += 1;
        interval.endpoints[*ns as usize % 2] += 1;
    }
    let count = |session: &u32| SessionCount {
        session: *session,
        events: index + u64::from(*session),
        span_ns: SECOND,
    };
    interval.sessions = sessions.iter().map(count).collect();
    interval
}

/// The same as received from the bus.
fn sent(index: u64, sessions: &[u32], samples: &[u64]) -> SparseInterval {
    (&recorded(index, sessions, samples)).into()
}

/// The same with times on the fleet's clock.
fn placed(mut interval: Interval) -> Interval {
    interval.start_unix_ns = START_UNIX + interval.start;
    interval.start += START;
    interval.end += START;
    interval
}

fn axis(warmup_ns: u64) -> Axis {
    Axis {
        start: START,
        start_unix_ns: START_UNIX,
        warmup_ns,
        interval_ns: SECOND,
    }
}

fn merger(agents: usize) -> Merger {
    Merger::new(agents, axis(0))
}

/// Samples by interval and agent. All agents have the same number, so that roles counted in turn
/// agree with one process.
fn samples(agents: usize, seed: u64) -> Vec<Vec<Vec<u64>>> {
    let mut stream = Stream::new(seed, 0);
    let count = 2 * stream.below(8);
    let mut agent = || (0..count).map(|_| 1 + stream.below(10_000_000)).collect();
    (0..4)
        .map(|_| (0..agents).map(|_| agent()).collect())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn agents_add_up_to_one_process(
        agents in 1_usize..5,
        seed: u64,
        order in prop::collection::vec(any::<u64>(), 4 * 5 * 2),
    ) {
        let all = samples(agents, seed);
        // Each message twice, in random order.
        let mut messages: Vec<(u64, usize, usize)> = Vec::new();
        for index in 0..all.len() {
            for agent in 0..agents {
                messages.push((order[messages.len()], index, agent));
                messages.push((order[messages.len()], index, agent));
            }
        }
        messages.sort_unstable();
        let mut merger = merger(agents);
        let mut merged = Vec::new();
        let mut twice = 0;
        for (_, index, agent) in messages {
            let own = sent(index as u64, &[agent as u32], &all[index][agent]);
            match merger.add(agent, own, START + 4 * SECOND) {
                Ok(()) => {}
                Err(Rejected::Twice) => twice += 1,
                Err(other) => prop_assert!(false, "{other:?}"),
            }
            merged.extend(merger.due(START + 4 * SECOND));
        }
        prop_assert_eq!(twice, all.len() * agents);
        prop_assert_eq!(merger.waiting(), 0);
        prop_assert_eq!(merged.len(), all.len());
        let sessions: Vec<u32> = (0..agents as u32).collect();
        let mut total = Interval::default();
        for own in merged {
            prop_assert!(own.complete && own.missing.is_empty());
            let samples = all[own.index as usize].concat();
            let one = placed(recorded(own.index, &sessions, &samples));
            prop_assert_eq!(own.agents.len(), agents);
            let events: u64 = own.agents.iter().map(|(_, sums)| sums.counters.events).sum();
            prop_assert_eq!(events, one.counters.events);
            // Each error keeps the text that arrived first: here all are the same.
            prop_assert_eq!(&own.interval, &one);
            total.merge_sums(&one);
        }
        prop_assert_eq!(merger.total(), &total);
    }
}

#[test]
fn reports_an_interval_without_late_agents_and_completes_it_later() {
    let mut merger = merger(2);
    merger
        .add(0, sent(0, &[0], &[5, 6]), START + SECOND)
        .unwrap();
    assert_eq!(merger.due(START + 5 * SECOND), []);
    let due = merger.due(START + 6 * SECOND);
    assert_eq!(due.len(), 1);
    assert!(!due[0].complete);
    assert_eq!(due[0].missing, [1]);
    assert_eq!(due[0].interval.counters.events, 2);
    assert_eq!(merger.due(START + 7 * SECOND), []);
    merger
        .add(1, sent(0, &[1], &[7]), START + 8 * SECOND)
        .unwrap();
    let due = merger.due(START + 8 * SECOND);
    assert!(due[0].complete && due[0].missing.is_empty());
    assert_eq!(due[0].interval.counters.events, 3);
    assert_eq!(merger.due(START + 9 * SECOND), []);
}

#[test]
fn a_lost_agent_delays_nothing_and_its_late_work_is_kept_apart() {
    let mut merger = merger(2);
    merger.add(0, sent(0, &[0], &[5]), START + SECOND).unwrap();
    merger.add(1, sent(0, &[1], &[6]), START + SECOND).unwrap();
    merger
        .add(0, sent(1, &[0], &[5]), START + 2 * SECOND)
        .unwrap();
    assert_eq!(merger.due(START + 2 * SECOND).len(), 1);
    merger.lose(1);
    let due = merger.due(START + 2 * SECOND);
    assert!(due[0].complete);
    assert_eq!(due[0].missing, [1]);
    let late = merger.add(1, sent(1, &[1], &[6, 7]), START + 9 * SECOND);
    assert_eq!(late, Err(Rejected::Lost));
    assert_eq!(merger.total().counters.events, 3);
    assert_eq!(merger.sums(1).counters.events, 1);
    assert_eq!(merger.apart(1).counters.events, 2);
}

#[test]
fn holes_are_known_once_an_agent_reports_its_count() {
    let mut merger = merger(1);
    for index in [0, 1, 3, 6] {
        merger
            .add(0, sent(index, &[0], &[5]), START + 9 * SECOND)
            .unwrap();
    }
    assert!(!merger.has_all_of(0));
    merger.ends(0, 8);
    assert_eq!(merger.holes(0), [2, 4, 5, 7]);
    for index in [2, 4, 5, 7] {
        merger
            .add(0, sent(index, &[0], &[5]), START + 9 * SECOND)
            .unwrap();
    }
    assert!(merger.has_all_of(0));
    let after = merger.add(0, sent(8, &[0], &[5]), START + 9 * SECOND);
    assert!(matches!(after, Err(Rejected::Malformed(_))));
    assert_eq!(merger.due(START + 9 * SECOND).len(), 8);
}

#[test]
fn rejects_impossible_intervals() {
    let mut alone = merger(1);
    let far = alone.add(0, sent(100, &[0], &[5]), START);
    assert!(matches!(far, Err(Rejected::Malformed(_))));
    alone.add(0, sent(0, &[0], &[5]), START).unwrap();
    for spoil in [
        |interval: &mut SparseInterval| interval.counters.rows = u64::MAX,
        |interval: &mut SparseInterval| interval.latencies.service_ns_sum = u64::MAX,
        |interval: &mut SparseInterval| interval.operations[0].latencies.response_ns_sum = u64::MAX,
        |interval: &mut SparseInterval| interval.states.lost = u32::MAX,
        |interval: &mut SparseInterval| interval.concurrency = u32::MAX,
    ] {
        let mut first = sent(1, &[0], &[6]);
        first.concurrency = 1;
        first.operations[0].latencies.response_ns_sum = 1;
        let mut hostile = first.clone();
        spoil(&mut hostile);
        let mut other = merger(2);
        other.add(0, first, START + SECOND).unwrap();
        let refused = other.add(1, hostile, START + SECOND);
        assert!(
            matches!(refused, Err(Rejected::Malformed(_))),
            "{refused:?}"
        );
        assert_eq!(other.sums(1), Sums::default());
    }
}

#[test]
fn a_warm_up_puts_the_first_interval_off() {
    let mut merger = Merger::new(2, axis(30 * SECOND));
    let mut first = sent(0, &[0], &[5]);
    first.start += 30 * SECOND;
    first.end += 30 * SECOND;
    merger.add(0, first, START + 31 * SECOND).unwrap();
    assert_eq!(merger.due(START + 35 * SECOND), []);
    let due = merger.due(START + 36 * SECOND);
    assert_eq!(due[0].interval.start, START + 30 * SECOND);
    assert_eq!(due[0].interval.start_unix_ns, START_UNIX + 30 * SECOND);
}
