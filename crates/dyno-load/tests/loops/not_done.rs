//! Events with failed work: counted separately, in no rate and no latency.

use crate::common::ms;
use dyno_core::plan::Drive;
use dyno_core::session::{Entry, Next, OperationEnd, Port, Program, SessionId, Step};
use dyno_load::{Run, RunConfig, RunOutcome, StopSignal};

/// How the work of each event ends, in turn; and whether the script repeats an event after its
/// first end.
struct Ends {
    events: Vec<Vec<OperationEnd>>,
    anew: bool,
    begun: usize,
}

impl Program for Ends {
    fn enter(&mut self, _: SessionId, _: u32, _: &Entry) -> Result<(), String> {
        Ok(())
    }

    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        loop {
            match port.next_event(session) {
                Next::Go => {}
                Next::Wait => return Step::Yielded,
                Next::Stop => return Step::Finished,
            }
            port.event_start(session);
            for (number, &end) in self.events[self.begun % self.events.len()]
                .iter()
                .enumerate()
            {
                if number == 1 && self.anew {
                    port.count_retry(session);
                }
                port.operation_start(session, 0);
                port.operation_stop(session, end);
            }
            self.begun += 1;
            port.event_stop(session);
        }
    }
}

fn ended(events: Vec<Vec<OperationEnd>>, anew: bool) -> RunOutcome {
    let drive = Drive {
        sessions: 1,
        workers: 1,
        events: Some(50),
        time: None,
        interval: ms(10),
        ..Drive::default()
    };
    let config = RunConfig {
        drive,
        connector: None,
        stop: StopSignal::new(),
        entry: Entry::Run,
        operations: 1,
        gate: None,
        shapes: None,
        duet: None,
    };
    let factory = move |_| {
        Ok(Ends {
            events: events.clone(),
            anew,
            begun: 0,
        })
    };
    Run::start(config, factory, |_| {}).unwrap()
}

#[test]
fn only_completed_work_counts_as_events() {
    use OperationEnd::{Done, Duplicate, GivenUp, RolledBack, Unknown};
    let one = |end| vec![end];
    let events = [Done, RolledBack, GivenUp, Unknown, Duplicate].map(one);
    let outcome = ended(events.to_vec(), false);
    let counters = &outcome.totals.counters;
    // The limit is on events begun, so that a run in which nothing succeeds ends.
    assert_eq!((counters.events, counters.not_done), (20, 30));
    assert_eq!(outcome.totals.latencies.service.len(), 20);
    assert_eq!(outcome.in_window(), *counters);
    assert_eq!(outcome.sessions[0].events, 20);
    let role = outcome.totals.roles[0];
    assert_eq!((role.events, role.not_done), (20, 30));
    let work = outcome.totals.operations[0].counters;
    assert_eq!((work.done, work.rolled_back), (10, 10));
    assert_eq!((work.given_up, work.unknown, work.duplicates), (10, 10, 10));
}

#[test]
fn one_piece_of_work_is_enough_unless_the_event_is_repeated() {
    use OperationEnd::{Done, GivenUp};
    let outcome = ended(vec![vec![GivenUp, Done], vec![Done, Done]], false);
    let counters = &outcome.totals.counters;
    assert_eq!((counters.events, counters.not_done), (25, 25));

    let outcome = ended(vec![vec![GivenUp, Done], vec![Done, GivenUp]], true);
    let counters = &outcome.totals.counters;
    assert_eq!((counters.events, counters.not_done), (25, 25));
    assert_eq!(counters.retries, 50);
}
