//! Faults that a server cannot produce in the time of a test, injected into the records of runs.

use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::RunRecord;
use dyno_verdict::{Context, judge};

fn finding(run: &RunRecord, check: &str) -> Finding {
    let findings = judge(run, &Context::default());
    let found = findings.into_iter().find(|finding| finding.check == check);
    found.unwrap_or_else(|| panic!("no check {check}"))
}

#[test]
fn reports_latencies_beyond_the_histogram() {
    let mut run = dyno_samples::good();
    assert_eq!(finding(&run, "samples").outcome, Outcome::Pass);
    let count = run.summary.as_ref().unwrap().service.count;
    for (clipped, outcome) in [(1, Outcome::Doubt), (count / 50, Outcome::Refuse)] {
        run.summary.as_mut().unwrap().service.clipped = clipped;
        let found = finding(&run, "samples");
        assert_eq!(found.outcome, outcome, "{found:?}");
        assert!(
            found.evidence.contains("beyond the histogram's bound"),
            "{found:?}"
        );
    }
}
