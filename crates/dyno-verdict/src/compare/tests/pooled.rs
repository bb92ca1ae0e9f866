//! Runs that are pooled without a comparison.

use dyno_core::record::RunRecord;
use dyno_samples::assert_has;

use super::{CompareOptions, compared, run};
use crate::compare::poolable;

#[test]
fn only_repetitions_are_pooled_as_in_comparisons() {
    let with = |sessions: u32, seed: u64| -> RunRecord {
        let mut run = run(1000.0, seed);
        run.head.drive.as_mut().unwrap().sessions = sessions;
        run
    };
    let (one, two, other) = (with(8, 1), with(8, 2), with(32, 3));
    assert_eq!(poolable(&[&one, &two]), Ok(()));
    let refused = poolable(&[&one, &other]).unwrap_err();
    assert_has(&refused.to_string(), "sessions (8 and 32)");
    let side = [one, other];
    let error = compared(&side, &[two], &CompareOptions::default()).unwrap_err();
    assert_eq!(error, refused);
}

#[test]
fn sentences_for_pages_name_no_option() {
    let mut tpcc = run(1000.0, 2);
    tpcc.head.workload.name = "tpcc.lua".to_owned();
    let error = poolable(&[&run(1000.0, 1), &tpcc]).unwrap_err();
    assert_has(&error.to_string(), "--force");
    let sentence = error.sentence();
    assert!(
        sentence.starts_with("Cannot compare ")
            && sentence.ends_with("oltp_read_write and tpcc; compare runs of one workload."),
        "{sentence}"
    );
}
