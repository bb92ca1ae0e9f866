//! Judging a part of a run, and proposing a steady part.

use dyno_analysis::bins::Bin;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::RunRecord;

use crate::context::Context;
use crate::judge;

/// Checks that do not depend on the window, and that a record cannot repeat: they are kept.
const OF_THE_WHOLE: [&str; 6] = [
    "generator-ceiling",
    "consistency",
    "row-counts",
    "record",
    "secrets",
    "fairness",
];

/// The relative difference from which a beginning is reported, as in the check `warm-up`.
const OFF: f64 = 0.1;
/// The largest p-value of that difference.
const SURE: f64 = 0.01;
/// The shortest part to propose, in seconds.
const SECONDS_MIN: usize = 30;

/// The findings of a part of a run that still has the findings of the whole run. Those that need
/// data of the whole run are kept and marked, and waivers stay.
pub fn judge_part(part: &RunRecord) -> Vec<Finding> {
    let recorded = part.head.plan.as_ref().map(|plan| &plan.record);
    let context = Context {
        claim: recorded.and_then(|record| record.claim),
        requested_settings: recorded.map_or_else(Vec::new, |record| record.expected.clone()),
        ..Context::default()
    };
    let mut findings = judge(part, &context);
    for finding in &mut findings {
        let Some(whole) = part.findings.iter().find(|own| own.check == finding.check) else {
            continue;
        };
        if finding.outcome == Outcome::NotChecked
            && whole.outcome != Outcome::NotChecked
            && OF_THE_WHOLE.contains(&whole.check.as_str())
        {
            finding.clone_from(whole);
            finding.evidence = format!("For the whole run: {}", whole.evidence);
        }
        finding.waived.clone_from(&whole.waived);
    }
    findings
}

/// The second from which a run is steady, if its beginning differs; `None` if it does not, or if
/// too little remains.
pub(crate) fn steady_of(bins: &[Bin]) -> Option<f64> {
    let rates: Vec<f64> = bins.iter().map(Bin::events_per_s).collect();
    let differs = |rates: &[f64]| {
        let found = dyno_stats::beginning(rates).filter(|found| found.rest > 0.0);
        found.is_some_and(|found| (found.first / found.rest - 1.0).abs() >= OFF && found.p <= SURE)
    };
    if !differs(&rates) {
        return None;
    }
    // A warm-up of half the run has not ended (MSER).
    let first = dyno_stats::steady::warm_up_end(&rates);
    let rest = rates.get(first..)?;
    let enough = rest.len() >= SECONDS_MIN && first * 2 < rates.len() && first > 0;
    (enough && !differs(rest)).then(|| bins[first].from_s().max(0.0).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(rates: impl Iterator<Item = f64>) -> Vec<Bin> {
        let bin = |(second, rate): (usize, f64)| Bin {
            at_s: second as f64 + 1.0,
            length_s: 1.0,
            events: rate,
            ..Bin::default()
        };
        rates.enumerate().map(bin).collect()
    }

    fn noisy(second: u32, level: f64) -> f64 {
        level * (1.0 + f64::from(second * 37 % 21) / 1000.0)
    }

    #[test]
    fn a_slow_beginning_is_left_out() {
        let late = |second: u32| noisy(second, if second < 40 { 100.0 } else { 500.0 });
        let from = steady_of(&bins((0..300).map(late))).unwrap();
        assert!((40.0..=50.0).contains(&from), "{from}");
        let level = bins((0..300).map(|second| noisy(second, 500.0)));
        assert_eq!(steady_of(&level), None);
        // A run that never settles has no steady part.
        let ramp = bins((0..300).map(|second| noisy(second, f64::from(second) + 1.0)));
        assert_eq!(steady_of(&ramp), None);
        assert_eq!(steady_of(&bins((0..20).map(late))), None);
    }
}
