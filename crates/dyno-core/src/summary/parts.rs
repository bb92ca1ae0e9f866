//! The parts of a load that changed over time.

use serde::{Deserialize, Serialize};

use super::{LatencySummary, Rates};
use crate::finding::{Outcome, Verdict};
use crate::interval::Counters;

/// A part of a run whose load changed over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartSummary {
    /// As it was asked for, e.g. `100/s` or `1..64`.
    pub label: String,
    /// Its start, in seconds from the start of the measurement.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Events per second that arrived, on average; `None` in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Sessions that took part, at most.
    pub sessions: u32,
    /// What was counted in its whole intervals.
    pub totals: Counters,
    /// Rates over these intervals.
    pub rates: Rates,
    /// Of these intervals: response times in an open loop, else service times.
    pub latency: LatencySummary,
    /// Whether to believe these figures; `None` of a pause, and where it was not measured.
    pub verdict: Option<Verdict>,
    /// What speaks against it and was not waived.
    pub against: Vec<Against>,
}

/// A finding that speaks against a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// The check's name.
    pub check: String,
    /// How bad it is.
    pub outcome: Outcome,
    /// What was seen.
    pub evidence: String,
}

impl PartSummary {
    /// Whether it was measured: nothing is known of one that the run did not come to.
    pub fn is_measured(&self) -> bool {
        self.sessions > 0
    }

    /// Its verdict, or why it has none.
    pub fn verdict_word(&self) -> &'static str {
        match self.verdict {
            Some(verdict) => verdict.word(),
            None if matches!(self.label.as_str(), "0" | "0/s") => "a pause",
            None if self.is_measured() => "not judged",
            None => "not measured",
        }
    }

    /// A check is not to count any more: the verdict is what the others leave.
    pub fn waive(&mut self, check: &str) {
        let before = self.against.len();
        self.against.retain(|against| against.check != check);
        if self.against.len() < before {
            let worst = self.against.iter().map(|against| against.outcome).max();
            self.verdict = Some(match worst {
                Some(Outcome::Refuse) => Verdict::Refused,
                Some(Outcome::Doubt) => Verdict::Doubtful,
                _ => Verdict::Valid,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waived_does_not_count_in_a_parts_verdict() {
        let against = |check: &str, outcome| Against {
            check: check.to_owned(),
            outcome,
            evidence: String::new(),
        };
        let mut part = PartSummary {
            label: "100/s".to_owned(),
            from_s: 0.0,
            to_s: 3.0,
            offered_per_s: Some(100.0),
            sessions: 1,
            totals: Counters::default(),
            rates: Rates::default(),
            latency: LatencySummary::default(),
            verdict: Some(Verdict::Refused),
            against: vec![
                against("samples", Outcome::Refuse),
                against("length", Outcome::Doubt),
            ],
        };
        part.waive("stalls");
        assert_eq!(part.verdict, Some(Verdict::Refused));
        part.waive("samples");
        assert_eq!(part.verdict, Some(Verdict::Doubtful));
        part.waive("length");
        assert_eq!((part.verdict, part.against), (Some(Verdict::Valid), vec![]));
    }
}
