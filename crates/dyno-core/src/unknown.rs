//! Counters that an imported log does not hold. Their type leaves no choice but 0: the run's
//! `not_observed` names them, and the results file, JSON and CSV leave them out.

use crate::record::NotObserved;

/// What counters are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The whole run.
    Run,
    /// Each of its intervals.
    Intervals,
}

const STATEMENTS: &[&str] = &["reads", "reads_empty", "writes", "other"];
const ERRORS: &[&str] = &["errors", "errors_seen", "reconnects"];

/// By name in `not_observed`: the unknown counters. What is unknown of the run is so of each
/// interval.
const COUNTERS: [(&str, Of, &[&str]); 6] = [
    ("counters.queries", Of::Run, STATEMENTS),
    ("intervals.queries", Of::Intervals, STATEMENTS),
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
    ("errors", Of::Run, ERRORS),
    ("intervals.errors", Of::Intervals, ERRORS),
];

/// The names of the counters that are not known: those of
/// [`Counters::NAMES`](crate::interval::Counters::NAMES), and `errors_seen`.
pub fn counters(gaps: &[NotObserved], of: Of) -> Vec<&'static str> {
    let named = |what: &str| gaps.iter().any(|gap| gap.what == what);
    let unknown = COUNTERS
        .iter()
        .filter(|(what, own, _)| (*own == Of::Run || *own == of) && named(what));
    unknown.flat_map(|(_, _, names)| *names).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Counters;

    #[test]
    fn gaps_name_counters_that_there_are() {
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
        assert_eq!(counters(&every[4..5], Of::Intervals), ERRORS);
    }
}
