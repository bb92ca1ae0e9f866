use super::*;
use proptest::prelude::*;

fn schedule() -> Schedule {
    Schedule {
        begin: 0,
        ramp_up_ns: 0,
        measured: 1000,
        deadline: Some(1000 + 10 * 100),
        grace_ns: 100,
        interval_ns: 100,
        sessions: 4,
        counts: false,
    }
}

fn handover(worker: usize, index: u64, complete_to: u64, events: u64) -> Handover {
    let mut interval = Interval {
        index,
        start: 1000 + index * 100,
        end: 1000 + index * 100 + 100,
        endpoints: vec![events],
        states: SessionStates::all(SessionState::Working, 2),
        ..Interval::default()
    };
    interval.counters.events = events;
    for event in 0..events {
        interval.latencies.record_service(1 + event + index);
    }
    Handover {
        worker,
        interval,
        complete_to,
        begun: 0,
        grace: false,
        totals: Vec::new(),
    }
}

proptest! {
    #[test]
    fn totals_are_complete_and_intervals_come_in_order(
        // The hand-overs of each worker: the number of intervals that each covers, and its events.
        workers in proptest::collection::vec(
            proptest::collection::vec((1u64..4, 0u64..5), 1..8),
            1..5,
        ),
        // Which worker is next, and how much time passes.
        order in proptest::collection::vec((any::<u8>(), 0u64..120), 40),
    ) {
        let mut queues: Vec<VecDeque<Handover>> = Vec::new();
        let mut sum = 0;
        for (worker, lengths) in workers.iter().enumerate() {
            let mut index = 0;
            let mut queue = VecDeque::new();
            for (n, (length, events)) in lengths.iter().enumerate() {
                if index >= 10 {
                    break;
                }
                let next = index + length;
                let last = n + 1 == lengths.len() || next >= 10;
                let complete_to = if last { u64::MAX } else { next };
                queue.push_back(handover(worker, index, complete_to, *events));
                sum += events;
                index = next;
            }
            queues.push(queue);
        }
        let mut merger = Merger::new(schedule(), &vec![2; workers.len()], None);
        let mut seen: Vec<Interval> = Vec::new();
        let mut now = 1000;
        for (pick, elapsed) in order {
            now += elapsed;
            let worker = usize::from(pick) % queues.len();
            if let Some(mut handover) = queues[worker].pop_front() {
                merger.add(&mut handover);
            }
            seen.extend(std::iter::from_fn(|| merger.release(now)));
        }
        for mut handover in queues.into_iter().flatten() {
            merger.add(&mut handover);
        }
        seen.extend(std::iter::from_fn(|| merger.release_rest()));
        prop_assert!(seen.len() <= 10);
        for (index, interval) in seen.iter().enumerate() {
            prop_assert_eq!(interval.index, index as u64);
            prop_assert_eq!(interval.start, 1000 + 100 * index as u64);
            prop_assert_eq!(interval.end, interval.start + 100);
            prop_assert_eq!(interval.latencies.service.len(), interval.counters.events);
            prop_assert_eq!(interval.states.total(), 2 * workers.len() as u32);
        }
        let shown: u64 = seen.iter().map(|interval| interval.counters.events).sum();
        let (totals, in_grace, _) = merger.into_totals();
        prop_assert_eq!(shown, sum);
        prop_assert_eq!(totals.counters.events, sum);
        prop_assert_eq!(totals.latencies.service.len(), sum);
        prop_assert_eq!(totals.endpoints.iter().sum::<u64>(), sum);
        prop_assert_eq!(in_grace.counters, Counters::default());
    }
}

#[test]
fn a_late_worker_holds_the_display_up_for_half_an_interval_only() {
    let mut merger = Merger::new(schedule(), &[2, 2], None);
    merger.add(&mut handover(0, 0, 1, 3));
    assert!(merger.release(1149).is_none());
    let interval = merger.release(1150).unwrap();
    assert_eq!((interval.index, interval.counters.events), (0, 3));
    let working = SessionStates::all(SessionState::Working, 4);
    assert_eq!(interval.states, working);
    merger.add(&mut handover(1, 0, 1, 4));
    merger.add(&mut handover(1, 1, 2, 5));
    assert!(merger.release(1201).is_none());
    merger.add(&mut handover(0, 1, 2, 1));
    let interval = merger.release(1202).unwrap();
    // It includes the late records.
    assert_eq!((interval.index, interval.counters.events), (1, 10));
    assert_eq!(interval.states, working);
    assert_eq!(merger.into_totals().0.counters.events, 13);
}

#[test]
fn the_last_interval_waits_for_all_workers_and_a_panicked_one_loses_its_sessions() {
    let mut merger = Merger::new(schedule(), &[2, 3], None);
    merger.stop(1250);
    merger.add(&mut handover(0, 0, 3, 1));
    assert_eq!(merger.release(1_150).unwrap().states.working, 5);
    assert_eq!(merger.release(1_250).unwrap().states.working, 5);
    assert!(merger.release(1_000_000).is_none());
    merger.add(&mut handover(0, 2, u64::MAX, 5));
    merger.add(&mut handover(1, 0, 1, 7));
    merger.retire(1, None);
    let last = merger.release(1_000_000).unwrap();
    assert_eq!((last.index, last.counters.events), (2, 12));
    assert_eq!((last.states.working, last.states.lost), (2, 3));
    assert!(merger.release_rest().is_none());
}

#[test]
fn a_gap_in_time_takes_no_histograms() {
    let long = Schedule {
        deadline: None,
        ..schedule()
    };
    let mut merger = Merger::new(long, &[2], None);
    merger.add(&mut handover(0, 0, 1, 1));
    merger.add(&mut handover(0, 5_000, 5_001, 1));
    let full = merger.pending.iter().filter(|p| p.interval.is_some());
    assert_eq!((merger.pending.len(), full.count()), (5_001, 2));
}

const SECOND: Nanos = 1_000_000_000;

/// A merger with intervals of a second and no deadline.
fn by_seconds(sessions: &[u32]) -> Merger {
    let schedule = Schedule {
        measured: 0,
        deadline: None,
        interval_ns: SECOND,
        ..schedule()
    };
    Merger::new(schedule, sessions, None)
}

#[test]
fn a_worker_that_is_silent_for_long_has_lost_its_sessions() {
    let mut merger = by_seconds(&[2, 1]);
    merger.add(&mut handover(0, 0, 20, 1));
    merger.add(&mut handover(1, 0, 1, 1));
    let lost: Vec<u32> = (1..=8)
        .map(|at| merger.release(at * SECOND + SECOND / 2).unwrap())
        .map(|interval| interval.states.lost)
        .collect();
    assert_eq!(lost, [0, 0, 0, 0, 0, 1, 1, 1]);
}

#[test]
fn a_late_poll_does_not_declare_workers_lost() {
    let mut merger = by_seconds(&[2]);
    merger.add(&mut handover(0, 0, 1, 1));
    let known = merger.release(9 * SECOND + SECOND / 2);
    // Workers get a moment to report.
    assert!(merger.release(9 * SECOND + SECOND / 2).is_none());
    let rest = std::iter::from_fn(|| merger.release(10 * SECOND));
    let states: Vec<SessionStates> = (known.into_iter().chain(rest))
        .map(|interval| interval.states)
        .collect();
    let working = SessionStates::all(SessionState::Working, 2);
    assert_eq!(states[..8], [working; 8]);
    assert_eq!(states[8].lost, 2);
}

/// The process was frozen from second 2 to 5: earlier work of a worker belongs to the second in
/// which it was done, although it could not be merged then.
#[test]
fn work_before_a_freeze_counts_in_its_own_second() {
    let mut merger = by_seconds(&[2]);
    merger.add(&mut handover(0, 0, 1, 30));
    let begin = merger.start_of(0);
    let release = |merger: &mut Merger, at_ns: Nanos| {
        let next = || merger.release(begin + at_ns);
        let released = std::iter::from_fn(next);
        released
            .map(|interval| (interval.index, interval.counters.events))
            .collect::<Vec<_>>()
    };
    assert_eq!(release(&mut merger, SECOND), [(0, 30)]);
    let awake = 4 * SECOND + 700_000_000;
    assert_eq!(release(&mut merger, awake), []);
    assert!(merger.late_at() > begin + awake);
    merger.add(&mut handover(0, 1, 4, 20));
    assert_eq!(
        release(&mut merger, awake + 1_000_000),
        [(1, 20), (2, 0), (3, 0)]
    );
    // A silent worker delays an interval by half a second at most.
    assert_eq!(release(&mut merger, 8 * SECOND), []);
    assert_eq!(release(&mut merger, 8 * SECOND + SECOND / 2).len(), 4);
}

#[test]
fn the_grace_is_in_the_totals_but_in_no_interval() {
    let mut merger = Merger::new(schedule(), &[2], None);
    merger.add(&mut handover(0, 9, u64::MAX, 2));
    let mut late = Handover {
        grace: true,
        ..handover(0, 9, u64::MAX, 7)
    };
    merger.add(&mut late);
    let intervals: Vec<u64> = std::iter::from_fn(|| merger.release(2001))
        .map(|interval| interval.counters.events)
        .collect();
    assert_eq!(intervals, [0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    let (totals, in_grace, _) = merger.into_totals();
    assert_eq!((totals.counters.events, in_grace.counters.events), (9, 7));
}

#[test]
fn a_run_that_ends_before_its_measurement_has_no_interval() {
    let mut merger = Merger::new(schedule(), &[2, 2], None);
    merger.stop(900);
    merger.add(&mut handover(0, 0, 0, 0));
    merger.retire(0, Some(SessionStates::all(SessionState::Finished, 2)));
    merger.retire(1, Some(SessionStates::all(SessionState::Finished, 2)));
    assert!(merger.release(5_000).is_none());
    assert!(merger.release_rest().is_none());
}
