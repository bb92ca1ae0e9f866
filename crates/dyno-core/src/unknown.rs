//! Counters that an imported log lacks. Their type cannot express that, so they are 0; the run's
//! `not_observed` names them, and the results file, JSON and CSV omit them.

mod json;

use crate::record::NotObserved;
use crate::summary::RunSummary;

pub use json::{ERRORS_BY_CODE, forget, forget_reversibly, restore};

/// The part of a run that a counter covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The whole run.
    Run,
    /// Each of its intervals.
    Intervals,
}

/// A gap: statements are counted, but not as reads, writes and others. All of them are `other`, so
/// that the sum is right.
pub const KINDS_UNKNOWN: &str = "counters.kinds";
/// A gap: an imported log has no totals of the run, or not its length.
pub const TOTALS_UNKNOWN: &str = "totals";
/// A gap: an imported log does not have the run's length. Its rates are known; its summary has
/// their counts for an assumed length, which are not figures of the run.
pub const LENGTH_UNKNOWN: &str = "measured_s";

/// A gap: reads and writes are counted, but not other statements, so the sum is unknown, too.
pub const OTHER_UNKNOWN: &str = "counters.other";
/// A gap: as [`OTHER_UNKNOWN`], but for each interval.
pub const OTHER_OF_INTERVALS_UNKNOWN: &str = "intervals.other";

const STATEMENTS: &[&str] = &["reads", "reads_empty", "writes", "other"];
const ERRORS: &[&str] = &["errors", "errors_seen", "reconnects"];

/// The unknown counters by their name in `not_observed`. A counter that is unknown for the run is
/// unknown for each interval.
const COUNTERS: [(&str, Of, &[&str]); 9] = [
    ("counters.queries", Of::Run, STATEMENTS),
    ("intervals.queries", Of::Intervals, STATEMENTS),
    (OTHER_UNKNOWN, Of::Run, &["other"]),
    (OTHER_OF_INTERVALS_UNKNOWN, Of::Intervals, &["other"]),
    (
        "counters.rows",
        Of::Run,
        &[
            "rows",
            "bytes_in",
            "bytes_out",
            "reads_empty",
            "connects_failed",
        ],
    ),
    ("counters.retries", Of::Run, &["retries"]),
    ("counters.reconnects", Of::Run, &["reconnects"]),
    ("errors", Of::Run, ERRORS),
    ("intervals.errors", Of::Intervals, ERRORS),
];

/// The names of the unknown counters: those of
/// [`Counters::NAMES`](crate::interval::Counters::NAMES), and `errors_seen`.
pub fn counters(gaps: &[NotObserved], of: Of) -> Vec<&'static str> {
    let named = |what: &str| gaps.iter().any(|gap| gap.what == what);
    let unknown = COUNTERS
        .iter()
        .filter(|(what, own, _)| (*own == Of::Run || *own == of) && named(what));
    unknown.flat_map(|(_, _, names)| *names).copied().collect()
}

/// A counter of the whole run; not finite if its log lacks it.
pub fn known_count(gaps: &[NotObserved], counter: &str, count: u64) -> f64 {
    let is_unknown = match counter {
        "events" => !has_length(gaps),
        _ => counters(gaps, Of::Run).contains(&counter),
    };
    match is_unknown {
        true => f64::NAN,
        false => count as f64,
    }
}

/// Whether the length of the run is known.
pub fn has_length(gaps: &[NotObserved]) -> bool {
    gaps.iter().all(|gap| gap.what != LENGTH_UNKNOWN)
}

/// The length of the run in seconds; `None` if its log lacks it.
pub fn length_s(run: &RunSummary) -> Option<f64> {
    let gaps = &run.not_observed;
    let no_totals = gaps.iter().any(|gap| gap.what == TOTALS_UNKNOWN);
    let known = has_length(gaps) && !(no_totals && run.measured_s == 0.0);
    known.then_some(run.measured_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Counters;

    #[test]
    fn gaps_name_existing_counters() {
        let every: Vec<NotObserved> = COUNTERS
            .iter()
            .map(|(what, ..)| NotObserved {
                what: (*what).to_owned(),
                why: String::new(),
            })
            .collect();
        for name in counters(&every, Of::Intervals) {
            assert!(
                Counters::NAMES.contains(&name) || name == "errors_seen",
                "{name}"
            );
        }
        let of_intervals = &every[1..2];
        assert_eq!(counters(of_intervals, Of::Run), [""; 0]);
        assert_eq!(counters(of_intervals, Of::Intervals), STATEMENTS);
        let of_errors = every.iter().position(|gap| gap.what == "errors");
        let of_errors = &every[of_errors.unwrap()..][..1];
        assert_eq!(counters(of_errors, Of::Intervals), ERRORS);
        assert_eq!(counters(&every[3..4], Of::Run), [""; 0]);
        assert_eq!(counters(&every[3..4], Of::Intervals), ["other"]);
        assert_eq!(counters(&every[2..3], Of::Intervals), ["other"]);
    }
}
