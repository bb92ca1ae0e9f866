//! The generator's checks of imported logs.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::summary::LatencyLimit;
use dyno_samples as samples;

use crate::tests::{check, judged, summary};

#[test]
fn logs_have_fairness_by_mean_and_deviation() {
    let mut run = samples::imported();
    summary(&mut run).fairness.as_mut().unwrap().events_stddev = 10.0;
    check(&run, "fairness", Pass);
    let fairness = summary(&mut run).fairness.as_mut().unwrap();
    fairness.events_stddev = fairness.events_mean;
    check(&run, "fairness", Doubt);
}

#[test]
fn a_log_that_counts_skipped_events_is_doubted_for_them() {
    let mut run = samples::imported();
    for (skipped, outcome) in [(0, NotChecked), (3, NotChecked), (81_789, Doubt)] {
        summary(&mut run).latency_limit = Some(LatencyLimit {
            limit_ms: 2.0,
            above: 0,
            skipped,
        });
        assert_eq!(judged(&run, "unserved").outcome, outcome, "{skipped}");
    }
}
