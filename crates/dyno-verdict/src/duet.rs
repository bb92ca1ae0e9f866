//! The checks of a side that concern the ratio of a duet.

use dyno_core::catalogue::names;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::RunRecord;

/// Checks that do not concern the ratio. Some look at conditions that affect both sides alike,
/// because their slices alternate within milliseconds; others at counters that a server or host
/// keeps for both.
const SHARED: [&str; 21] = [
    "schedule-lag",
    "idle-sessions",
    "samples",
    "same-host",
    "server-counters",
    "warm-up",
    "steady-state",
    "whole-cycles",
    "stalls",
    "latency-modes",
    "length",
    "other-load",
    "cpu-frequency",
    "host-resources",
    "disk",
    "network",
    "other-processes",
    "clock-steps",
    "growth",
    "observer-cost",
    "observers",
];

/// Checks whose evidence about one side includes what the other side does.
const OF_BOTH: [&str; 5] = [
    "work-done",
    "server-counters",
    "other-load",
    "other-processes",
    "moved-settings",
];

/// Why counters of the server say nothing about one side.
pub(crate) const COUNTED_TOGETHER: &str = "the server's counters include both sides of the duet";

/// Whether the run is a side of a duet whose other side uses the same server.
pub(crate) fn shares_server(run: &RunRecord) -> bool {
    run.fact(names::DUET_ONE_SERVER) == Some("yes")
}

/// Changes doubts that the other side of a duet may have caused to "not checked".
pub(crate) fn apply(run: &RunRecord, findings: &mut [Finding]) {
    if run.fact(names::DUET_SIDE).is_none() {
        return;
    }
    let is_of_both = |finding: &&mut Finding| OF_BOTH.contains(&finding.check.as_str());
    for finding in findings.iter_mut().filter(is_of_both) {
        if finding.outcome == Outcome::Doubt {
            finding.outcome = Outcome::NotChecked;
            finding.evidence = format!(
                "This includes the other side of the duet. {}",
                finding.evidence
            );
            finding.advice.clear();
            finding.causes.clear();
        }
    }
}

/// Whether a finding of this check about one side of a duet puts the ratio of the sides in doubt.
pub fn concerns_ratio(check: &str) -> bool {
    !SHARED.contains(&check)
}

#[cfg(test)]
mod tests {
    use dyno_samples::{Product, closed, fact};

    use super::*;
    use crate::checks;
    use crate::tests::check;

    #[test]
    fn shared_checks_exist() {
        for name in SHARED {
            assert!(checks().iter().any(|check| check.name == name), "{name}");
        }
        for name in OF_BOTH {
            assert!(checks().iter().any(|check| check.name == name), "{name}");
        }
        assert!(concerns_ratio("errors") && !concerns_ratio("length"));
    }

    #[test]
    fn a_side_is_not_doubted_for_what_the_other_side_does() {
        let mut run = closed(&[1000.0; 20], Product::Mysql);
        dyno_samples::series(&mut run, "db.status.questions", &[50_000.0; 20]);
        check(&run, "server-counters", Outcome::Doubt);
        fact(&mut run, "duet.side", "A");
        let finding = check(&run, "server-counters", Outcome::NotChecked);
        assert!(finding.evidence.starts_with("This includes the other side"));
        check(&run, "errors", Outcome::Pass);
    }

    #[test]
    fn counters_of_one_server_are_not_those_of_a_side() {
        // Each side did half of what the server counted.
        let mut run = dyno_samples::good();
        let mut double = |name: &str| {
            let series = run.series(name).unwrap();
            let values: Vec<f64> = series.points.iter().map(|(_, value)| 2.0 * value).collect();
            dyno_samples::series(&mut run, name, &values);
        };
        double("db.status.questions");
        double("db.status.com_stmt_execute");
        dyno_samples::series(&mut run, "db.status.com_commit", &[2_000.0; 30]);
        dyno_samples::series(&mut run, "db.status.com_rollback", &[0.0; 30]);
        dyno_samples::series(&mut run, "db.status.qcache_hits", &[50.0; 30]);
        fact(&mut run, "duet.side", "A");
        fact(&mut run, "duet.one_server", "no");
        let durable = check(&run, "durability", Outcome::Pass);
        assert!(durable.evidence.contains("commits per second"));
        fact(&mut run, "duet.one_server", "yes");
        for name in [
            "connection",
            "query-cache",
            "server-counters",
            "server-warnings",
        ] {
            let found = check(&run, name, Outcome::NotChecked);
            let why = found.evidence.contains("include both sides of the duet");
            assert!(why, "{name}: {}", found.evidence);
            assert!(!found.evidence.contains(" %"), "{name}: {}", found.evidence);
        }
        // The class comes from settings.
        let durable = check(&run, "durability", Outcome::Pass);
        assert!(!durable.evidence.contains("commits per second"));
        assert!(durable.durability.is_some());
        let costs = crate::costs(&run);
        let shared = costs.iter().find(|cost| cost.name == "server CPU").unwrap();
        assert_eq!(shared.value, None);
        assert!(shared.source.contains("the other side of the duet"));
    }
}
