//! Validity findings of a run, and the verdict over all of them.

mod cause;
mod durability;
mod stall;

use serde::{Deserialize, Serialize};

pub use cause::Cause;
pub use durability::{Durability, DurabilityClass};
pub use stall::Stall;

use crate::text::number_of;

/// A check's outcome, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The rule holds.
    Pass,
    /// The check could not run: not as good as a pass, but never counted against the run.
    NotChecked,
    /// The figures may mislead.
    Doubt,
    /// The figures must not be used.
    Refuse,
}

/// The verdict: the worst outcome of all findings that were not waived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No doubt.
    Valid,
    /// At least one doubt.
    Doubtful,
    /// At least one refusal.
    Refused,
}

impl Verdict {
    /// One word for display.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Doubtful => "doubtful",
            Self::Refused => "refused",
        }
    }
}

/// A number behind a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Its name, e.g. `worker CPU, largest`.
    pub name: String,
    /// Its value; `None` if missing (JSON has no NaN).
    pub value: Option<f64>,
    /// Its unit, e.g. `percent`, `ms`, `count`, `ratio`.
    pub unit: String,
}

/// One check's outcome with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The check's name, used to waive it, e.g. `client-cpu`. Lower case, hyphens.
    pub check: String,
    /// The check's number in `docs/validity.md`.
    pub number: u8,
    /// The outcome.
    pub outcome: Outcome,
    /// The evidence with its numbers: one whole sentence.
    pub evidence: String,
    /// The rule and its threshold: one whole sentence.
    pub rule: String,
    /// The numbers behind the evidence, including the threshold.
    pub numbers: Vec<Number>,
    /// What to try or where to look; empty if the check passed.
    pub advice: String,
    /// The user's reason for waiving it.
    pub waived: Option<String>,
    /// The causes that the evidence names: what moved with the rate, or which of the check's
    /// conditions applied. May be empty.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// The work that a crash may lose; set by the check that classifies it.
    #[serde(default)]
    pub durability: Option<Durability>,
    /// The stalls in time order. The check `stalls` sets it; `None` if that check could not run.
    #[serde(default)]
    pub stalls: Option<Vec<Stall>>,
}

impl Finding {
    /// Whether the evidence names this cause.
    pub fn names(&self, cause: Cause) -> bool {
        self.causes.contains(&cause)
    }

    /// One of its numbers by name; `None` if it is missing or has no value.
    pub fn number(&self, name: &str) -> Option<f64> {
        let number = self.numbers.iter().find(|number| number.name == name);
        number.and_then(|number| number.value)
    }
}

/// A finding that the user excludes from the verdict, with the reason, which is printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waiver {
    /// The check's name.
    pub check: String,
    /// The reason.
    pub reason: String,
}

/// The verdict of findings: the worst that was not waived.
pub fn verdict(findings: &[Finding]) -> Verdict {
    let worst = findings
        .iter()
        .filter(|finding| finding.waived.is_none())
        .map(|finding| finding.outcome)
        .max();
    match worst {
        Some(Outcome::Refuse) => Verdict::Refused,
        Some(Outcome::Doubt) => Verdict::Doubtful,
        _ => Verdict::Valid,
    }
}

/// Counts of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub all: usize,
    /// Passed.
    pub passed: usize,
    /// Doubts that were not waived.
    pub doubts: usize,
    /// Refusals that were not waived.
    pub refusals: usize,
    /// Doubts and refusals that were waived.
    pub waived: usize,
}

/// With at least one in this many checks run, a verdict is well founded.
const RAN_SHARE_MIN: usize = 4;

/// Whether `ran` of `all` checks are too few to vouch for a run that passed them.
pub fn is_thin(ran: usize, all: usize) -> bool {
    ran * RAN_SHARE_MIN < all
}

impl Tally {
    /// Counts these findings.
    pub fn of(findings: &[Finding]) -> Self {
        let mut tally = Self {
            all: findings.len(),
            ..Self::default()
        };
        for finding in findings {
            let count = match (finding.outcome, &finding.waived) {
                (Outcome::NotChecked, _) => continue,
                (Outcome::Pass, _) => &mut tally.passed,
                (_, Some(_)) => &mut tally.waived,
                (Outcome::Doubt, None) => &mut tally.doubts,
                (Outcome::Refuse, None) => &mut tally.refusals,
            };
            *count += 1;
        }
        tally
    }

    /// Number of checks that ran.
    pub fn ran(&self) -> usize {
        self.passed + self.doubts + self.refusals + self.waived
    }

    /// Whether too few checks ran to vouch for the run.
    pub fn is_thin(&self) -> bool {
        is_thin(self.ran(), self.all)
    }

    /// `31 of 55 checks ran: 1 refusal, 2 doubts, 27 passed, 1 waived`.
    pub fn words(&self) -> String {
        if self.all == 0 {
            return "no checks ran".to_owned();
        }
        let parts = [
            (self.refusals, number_of(self.refusals, "refusal")),
            (self.doubts, number_of(self.doubts, "doubt")),
            (self.passed, format!("{} passed", self.passed)),
            (self.waived, format!("{} waived", self.waived)),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(_, text)| text).collect();
        let ran = format!("{} of {} ran", self.ran(), number_of(self.all, "check"));
        match parts.is_empty() {
            true => ran,
            false => format!("{ran}: {}", parts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(outcome: Outcome, waived: Option<&str>) -> Finding {
        Finding {
            check: "client-cpu".to_owned(),
            number: 2,
            outcome,
            evidence: String::new(),
            rule: String::new(),
            numbers: Vec::new(),
            advice: String::new(),
            waived: waived.map(str::to_owned),
            causes: Vec::new(),
            durability: None,
            stalls: None,
        }
    }

    #[test]
    fn a_tally_counts_the_checks_that_ran() {
        use Outcome::{Doubt, NotChecked, Pass, Refuse};
        let mut findings = vec![
            finding(Refuse, None),
            finding(Doubt, Some("known")),
            finding(Pass, None),
            finding(NotChecked, None),
        ];
        let tally = Tally::of(&findings);
        assert_eq!(
            tally.words(),
            "3 of 4 checks ran: 1 refusal, 1 passed, 1 waived"
        );
        assert!(!tally.is_thin());
        findings.extend(std::iter::repeat_n(finding(NotChecked, None), 9));
        assert!(Tally::of(&findings).is_thin());
        assert_eq!(Tally::of(&[]).words(), "no checks ran");
    }

    #[test]
    fn the_worst_finding_that_counts_is_the_verdict() {
        use Outcome::{Doubt, NotChecked, Pass, Refuse};
        assert_eq!(verdict(&[]), Verdict::Valid);
        for (one, waived, other, expected) in [
            (Pass, None, NotChecked, Verdict::Valid),
            (Doubt, None, Pass, Verdict::Doubtful),
            (Refuse, None, Doubt, Verdict::Refused),
            (Refuse, Some("known"), Doubt, Verdict::Doubtful),
        ] {
            let findings = [finding(one, waived), finding(other, None)];
            assert_eq!(verdict(&findings), expected, "{one:?} {waived:?} {other:?}");
        }
    }
}
