//! Differences that follow from a factor.

use dyno_core::record::RunRecord;

use super::{CompareOptions, run, sides_with};

fn driven(sessions: u32, workers: u32, seed: u64) -> RunRecord {
    let mut run = run(1000.0, seed);
    let drive = run.head.drive.as_mut().unwrap();
    (drive.sessions, drive.workers) = (sessions, workers);
    run
}

#[test]
fn workers_derived_from_sessions_are_not_a_separate_difference() {
    let options = CompareOptions {
        intended: vec!["sessions".to_owned()],
        ..CompareOptions::default()
    };
    let differ = |base: RunRecord, new: RunRecord| -> Vec<(String, bool)> {
        let found = sides_with(&[base], &[new], &options)
            .differences
            .into_iter();
        found.map(|one| (one.what, one.intended)).collect()
    };
    let sessions = || ("sessions".to_owned(), true);
    let workers = || ("workers".to_owned(), false);
    // One session has one worker on a host of two cores; with a worker for each session both grow.
    assert_eq!(differ(driven(1, 1, 1), driven(16, 2, 2)), [sessions()]);
    assert_eq!(differ(driven(4, 4, 1), driven(16, 16, 2)), [sessions()]);
    // Here the user or another host chose other numbers.
    let chosen = differ(driven(16, 2, 1), driven(32, 4, 2));
    assert_eq!(chosen, [sessions(), workers()]);
    assert_eq!(differ(driven(16, 2, 1), driven(16, 4, 2)), [workers()]);
}

/// Logs of `threads-1.out` and `threads-16.out` have the factor `threads`.
#[test]
fn a_factor_for_the_number_of_sessions_is_the_same_difference() {
    let with = |factor: &str, level: &str, sessions: u32, seed: u64| {
        let mut run = driven(sessions, 1, seed);
        let factors = &mut run.head.factors;
        factors.insert(factor.to_owned(), level.to_owned());
        run
    };
    let differ = |base: RunRecord, new: RunRecord| -> Vec<(String, bool)> {
        let options = CompareOptions::default();
        let found = sides_with(&[base], &[new], &options).differences;
        let named = found.into_iter().map(|one| (one.what, one.intended));
        named.collect()
    };
    let same = differ(with("threads", "1", 1, 1), with("threads", "16", 16, 2));
    assert_eq!(same, [("sessions, factor threads".to_owned(), true)]);
    let same = differ(with("sessions", "1", 1, 1), with("sessions", "16", 16, 2));
    assert_eq!(same, [("sessions".to_owned(), true)]);
    let names = |found: Vec<(String, bool)>| found.into_iter().map(|one| one.0).collect::<Vec<_>>();
    let other = differ(with("threads", "2", 1, 1), with("threads", "16", 16, 2));
    assert_eq!(names(other), ["sessions", "factor threads"]);
    let other = differ(with("shards", "1", 1, 1), with("shards", "16", 16, 2));
    assert_eq!(names(other), ["sessions", "factor shards"]);
}
