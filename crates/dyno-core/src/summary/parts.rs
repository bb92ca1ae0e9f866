//! The parts of a load that changed over time.

use serde::{Deserialize, Serialize};

use super::{LatencySummary, Rates};
use crate::finding::{Outcome, Verdict};
use crate::interval::Counters;

/// A part of a run whose load changed over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartSummary {
    /// As requested, e.g. `100/s` or `1..64`.
    pub label: String,
    /// Start of the part, in seconds from the start of the measurement.
    pub from_s: f64,
    /// End of the part, in seconds from the start of the measurement.
    pub to_s: f64,
    /// Offered load in events per second, on average; `None` in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Maximum number of active sessions.
    pub sessions: u32,
    /// Sums over its whole intervals.
    pub totals: Counters,
    /// Rates over these intervals.
    pub rates: Rates,
    /// Over these intervals: response times in an open loop, else service times.
    pub latency: LatencySummary,
    /// Whether these figures are valid; `None` for a pause, and if not measured.
    pub verdict: Option<Verdict>,
    /// The findings against it that were not waived.
    pub against: Vec<Against>,
}

/// A finding against a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// The check's name.
    pub check: String,
    /// Severity of the finding.
    pub outcome: Outcome,
    /// The evidence.
    pub evidence: String,
}

impl PartSummary {
    /// Whether it was measured, that is, whether the run reached it.
    pub fn is_measured(&self) -> bool {
        self.sessions > 0
    }

    /// The verdict of the part, or why it has none.
    pub fn verdict_word(&self) -> &'static str {
        match self.verdict {
            Some(verdict) => verdict.word(),
            None if matches!(self.label.as_str(), "0" | "0/s") => "a pause",
            None if self.is_measured() => "not judged",
            None => "not measured",
        }
    }

    /// Removes a waived check and updates the verdict.
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
    fn waived_findings_do_not_count_in_a_parts_verdict() {
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
