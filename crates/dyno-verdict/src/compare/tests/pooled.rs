//! Runs that are pooled without a comparison.

use dyno_core::finding::Outcome;
use dyno_core::record::RunRecord;
use dyno_samples::{assert_has, values};

use super::{CompareOptions, compared, run};
use crate::compare::{changed_since, leave_out_moved, poolable, waited};

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
fn a_run_differs_from_those_before_it() {
    let with = |seed: u64, log_bin: &str, cache: &str| -> RunRecord {
        let mut run = run(1000.0, seed);
        dyno_samples::setting(&mut run, "log_bin", log_bin);
        dyno_samples::setting(&mut run, "table_open_cache", cache);
        run
    };
    let (one, two) = (with(1, "OFF", "100"), with(2, "OFF", "200"));
    let first = with(3, "ON", "300");
    let found = changed_since(&[&one, &two], &first);
    let found: Vec<String> = found
        .iter()
        .map(|one| format!("{}: {} → {}", one.what, one.base, one.new))
        .collect();
    assert_eq!(found, ["setting log_bin: OFF → ON"]);
    assert!(changed_since(&[&one], &one).is_empty());
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

/// One rule for `compare` and `table`: a run with a moved setting is no repetition of the others.
#[test]
fn a_run_whose_server_changed_is_left_out_with_the_reason() {
    const CHECK: &str = "moved-settings";
    let with = |id: i64, outcome, waived: Option<&str>| {
        let mut run = run(1000.0, id as u64);
        let mut finding = values::finding(CHECK, 41, outcome, "sync_binlog was set to 0 at 3 s.");
        finding.waived = waived.map(str::to_owned);
        (run.id, run.findings) = (id, vec![finding]);
        run
    };
    let (kept, moved) = (with(1, Outcome::Pass, None), with(2, Outcome::Doubt, None));
    let waived = with(3, Outcome::Doubt, Some("on purpose"));
    let mut runs = vec![kept, moved.clone(), waived];
    assert_eq!(
        leave_out_moved(&mut runs),
        [
            "run 2 (run-1000-2): its server changed during the run (moved-settings): sync_binlog \
             was set to 0 at 3 s."
        ]
    );
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [1, 3]);
    let mut alone = vec![moved];
    assert!(leave_out_moved(&mut alone).is_empty());
    assert_eq!(alone.len(), 1);
    let mut checks = crate::checks().iter();
    assert!(checks.any(|check| check.name == CHECK));
}

#[test]
fn runs_that_waited_for_the_other_side_of_a_duet_are_named() {
    let with = |id: i64, mode: Option<&str>| {
        let mut run = run(1000.0, id as u64);
        run.id = id;
        if let Some(mode) = mode {
            dyno_samples::fact(&mut run, "duet.mode", mode);
        }
        run
    };
    let (alone, together) = (with(1, None), with(2, Some("simultaneous")));
    assert_eq!(waited(&[alone.clone(), together]), None);
    let a = with(3, Some("alternating"));
    let said = waited(&[alone, a.clone()]).unwrap();
    assert!(
        said.starts_with("run 3 (run-1000-3) is a side of a duet: it waited"),
        "{said}"
    );
    let both = waited(&[a, with(4, Some("alternating"))]).unwrap();
    assert!(
        both.contains(", run 4 (run-1000-4) are sides of duets: each waited"),
        "{both}"
    );
}
