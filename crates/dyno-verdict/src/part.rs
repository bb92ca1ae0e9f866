//! A part of a run, judged, and which part would be steady.

use dyno_analysis::bins::{self, Bin};
use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::RunRecord;

use crate::context::Context;
use crate::judge;

/// Checks of what no window changes and a record does not hold: they stay as they were made.
const OF_THE_WHOLE: [&str; 6] = [
    "generator-ceiling",
    "consistency",
    "row-counts",
    "record",
    "secrets",
    "fairness",
];

/// A beginning differs where it is off by this share, as the check `warm-up` has it.
const OFF: f64 = 0.1;
/// With this chance of being none.
const SURE: f64 = 0.01;
/// A part that is proposed has so many seconds.
const SECONDS_MIN: usize = 30;

/// The findings of a part of a run that was cut out of it, and still holds the findings of the
/// whole: those that need what only the whole run has are kept and say so, and what was waived
/// stays waived.
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
            finding.evidence = format!("Of the whole run: {}", whole.evidence);
        }
        finding.waived.clone_from(&whole.waived);
    }
    findings
}

/// From which second on a run is as it stays, where its beginning differs; `None` where it does
/// not, or too little would be left.
pub fn steady_from(run: &RunRecord) -> Option<f64> {
    steady_of(&bins::of(run))
}

pub(crate) fn steady_of(bins: &[Bin]) -> Option<f64> {
    let rates: Vec<f64> = bins.iter().map(Bin::events_per_s).collect();
    let differs = |rates: &[f64]| {
        let found = dyno_stats::beginning(rates).filter(|found| found.rest > 0.0);
        found.is_some_and(|found| (found.first / found.rest - 1.0).abs() >= OFF && found.p <= SURE)
    };
    if !differs(&rates) {
        return None;
    }
    // At a half the warm-up has not ended (MSER).
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
        // What never settles has no steady part.
        let ramp = bins((0..300).map(|second| noisy(second, f64::from(second) + 1.0)));
        assert_eq!(steady_of(&ramp), None);
        assert_eq!(steady_of(&bins((0..20).map(late))), None);
    }
}
