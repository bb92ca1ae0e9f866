//! Sessions that all wait at the same time.

use dyno_core::finding::Outcome::{Pass, Refuse};
use dyno_core::record::RunRecord;
use dyno_core::states::IdleIn;
use dyno_samples::values::idle;

use crate::tests::expect;

/// All sessions wait for the server for seven seconds, until this long before the end.
fn all_wait(run: &mut RunRecord, before_end_s: f64) {
    let to_s = run.intervals.last().unwrap().at_s - before_end_s;
    for session in &mut run.sessions {
        session.idle = Some(idle(to_s - 7.0, to_s, IdleIn::Statement, 0));
    }
    let within = |at_s: f64| at_s > to_s - 7.0 && at_s <= to_s;
    for interval in run.intervals.iter_mut().filter(|one| within(one.at_s)) {
        interval.counters.events = 0;
    }
}

#[test]
fn a_lock_released_shortly_before_the_end_is_a_stall() {
    expect("idle-sessions", Refuse, |run| all_wait(run, 0.0));
    expect("idle-sessions", Pass, |run| all_wait(run, 1.0));
}
