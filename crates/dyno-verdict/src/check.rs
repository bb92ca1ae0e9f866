//! The definition and the result of a check.

use dyno_core::finding::{Cause, Durability, Finding, Number, Outcome, Stall};

use crate::text;
use crate::view::View;

/// One validity check.
pub struct Check {
    /// The check's number in `docs/validity.md`.
    pub number: u8,
    /// The check's name, used to waive it.
    pub name: &'static str,
    /// The subject of the check.
    pub title: &'static str,
    /// The rule in whole sentences. `{0}`, `{1}` … stand for the values of the thresholds.
    pub rule: &'static str,
    /// The thresholds of the rule.
    pub thresholds: &'static [Threshold],
    pub(crate) make: fn(&View) -> CheckResult,
}

/// A number that a rule compares with.
pub struct Threshold {
    /// The quantity that it limits.
    pub name: &'static str,
    /// The threshold, in `unit`.
    pub value: f64,
    /// The value's unit.
    pub unit: &'static str,
    /// Justification or source of the value.
    pub why: &'static str,
}

/// Defines thresholds as constants: the value, its unit, what it limits, and why.
macro_rules! thresholds {
    ($(
        $(#[$doc:meta])*
        $visible:vis $constant:ident = $value:expr, $unit:literal, $name:literal: $why:literal;
    )*) => {
        $(
            $(#[$doc])*
            $visible const $constant: $crate::check::Threshold = $crate::check::Threshold {
                name: $name,
                value: $value,
                unit: $unit,
                why: $why,
            };
        )*
    };
}
pub(crate) use thresholds;

pub(crate) struct CheckResult {
    pub(crate) outcome: Outcome,
    pub(crate) evidence: String,
    numbers: Vec<Number>,
    advice: String,
    causes: Vec<Cause>,
    durability: Option<Box<Durability>>,
    stalls: Option<Vec<Stall>>,
}

impl Check {
    /// The rule with the values of the thresholds.
    pub fn rule_text(&self) -> String {
        let mut rule = self.rule.to_owned();
        for (index, threshold) in self.thresholds.iter().enumerate() {
            rule = rule.replace(&format!("{{{index}}}"), &text::plain(threshold.value));
        }
        rule
    }

    pub(crate) fn judge(&self, view: &View) -> Finding {
        self.finding((self.make)(view))
    }

    pub(crate) fn finding(&self, result: CheckResult) -> Finding {
        let mut numbers = result.numbers;
        if result.outcome != Outcome::NotChecked {
            numbers.extend(self.thresholds.iter().map(|threshold| Number {
                name: format!("threshold: {}", threshold.name),
                value: Some(threshold.value),
                unit: threshold.unit.to_owned(),
            }));
        }
        Finding {
            check: self.name.to_owned(),
            number: self.number,
            outcome: result.outcome,
            evidence: result.evidence,
            rule: self.rule_text(),
            numbers,
            advice: result.advice,
            waived: None,
            causes: result.causes,
            durability: result.durability.map(|found| *found),
            stalls: result.stalls,
        }
    }
}

impl CheckResult {
    pub(crate) fn pass(evidence: impl Into<String>) -> Self {
        Self::new(Outcome::Pass, evidence.into(), "")
    }

    pub(crate) fn not_checked(reason: impl Into<String>) -> Self {
        Self::new(Outcome::NotChecked, reason.into(), "")
    }

    pub(crate) fn doubt(evidence: impl Into<String>, advice: &str) -> Self {
        Self::new(Outcome::Doubt, evidence.into(), advice)
    }

    pub(crate) fn refuse(evidence: impl Into<String>, advice: &str) -> Self {
        Self::new(Outcome::Refuse, evidence.into(), advice)
    }

    /// With this outcome; the advice is dropped if the check passed.
    pub(crate) fn of(outcome: Outcome, evidence: impl Into<String>, advice: &str) -> Self {
        let advice = if outcome == Outcome::Pass { "" } else { advice };
        Self::new(outcome, evidence.into(), advice)
    }

    fn new(outcome: Outcome, evidence: String, advice: &str) -> Self {
        Self {
            outcome,
            evidence,
            numbers: Vec::new(),
            advice: advice.to_owned(),
            causes: Vec::new(),
            durability: None,
            stalls: None,
        }
    }

    /// Adds the causes that its evidence names. A passed check names none.
    pub(crate) fn naming(mut self, causes: impl IntoIterator<Item = Cause>) -> Self {
        for cause in causes {
            if self.outcome != Outcome::Pass && !self.causes.contains(&cause) {
                self.causes.push(cause);
            }
        }
        self
    }

    /// Whether its evidence names this cause.
    pub(crate) fn names(&self, cause: Cause) -> bool {
        self.causes.contains(&cause)
    }

    pub(crate) fn classified(mut self, durability: Durability) -> Self {
        self.durability = Some(Box::new(durability));
        self
    }

    pub(crate) fn stalled(mut self, stalls: Vec<Stall>) -> Self {
        self.stalls = Some(stalls);
        self
    }

    pub(crate) fn with(mut self, name: &str, value: f64, unit: &str) -> Self {
        self.numbers.push(Number {
            name: name.to_owned(),
            value: value.is_finite().then_some(value),
            unit: unit.to_owned(),
        });
        self
    }

    pub(crate) fn with_some(self, name: &str, value: Option<f64>, unit: &str) -> Self {
        match value {
            Some(value) => self.with(name, value, unit),
            None => self,
        }
    }
}

/// The advice on those causes that apply.
pub(crate) fn advice(causes: &[(bool, &str)]) -> String {
    let there = causes.iter().filter(|(holds, _)| *holds);
    there.map(|(_, what)| *what).collect::<Vec<_>>().join(" ")
}

/// Doubt from one threshold on, refusal from a higher one.
pub(crate) fn graded(value: f64, doubt: &Threshold, refuse: &Threshold) -> Outcome {
    if value >= refuse.value {
        Outcome::Refuse
    } else {
        doubted(value, doubt)
    }
}

pub(crate) fn doubted(value: f64, doubt: &Threshold) -> Outcome {
    doubt_if(value >= doubt.value)
}

pub(crate) fn doubt_if(bad: bool) -> Outcome {
    if bad { Outcome::Doubt } else { Outcome::Pass }
}
