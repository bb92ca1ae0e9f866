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
fn workers_that_follow_from_the_sessions_are_no_further_difference() {
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
