//! Whether a figure is the same on both sides within a margin.

use dyno_stats::{Bounds, Equivalence, Margin, Tested, inner_confidence};
use serde::{Serialize, Serializer};

use crate::compare::estimate::{Estimate, ratio};
use crate::compare::{Basis, CompareOptions};
use crate::view::View;

/// The answer for a ratio, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EquivalenceTest {
    /// The answer.
    #[serde(serialize_with = "as_name")]
    pub answer: Equivalence,
    /// The largest ratio minus 1 that counts as the same.
    pub margin: f64,
    /// The ratio.
    #[serde(skip)]
    pub ratio: f64,
    /// Lower end of the interval that must be within the margin: 90 % for tests at 5 %.
    pub low: f64,
    /// Its upper end; `None` means unbounded.
    pub high: Option<f64>,
    /// How much data would decide; `None` if it is decided or unknown.
    pub needs: Option<Needs>,
}

fn as_name<S: Serializer>(answer: &Equivalence, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match answer {
        Equivalence::Same => "same",
        Equivalence::SameButMeasurable => "same_but_measurable",
        Equivalence::Different => "different",
        Equivalence::Undecided { .. } => "undecided",
    })
}

/// What was measured on a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Seconds.
    Seconds(f64),
    /// Runs.
    Runs(usize),
    /// Blocks of an experiment.
    Blocks(usize),
    /// Unknown.
    Unknown,
}

/// Roughly how much data would decide whether a figure is the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// Runs of this many seconds in total on each side.
    SecondsASide(f64),
    /// This many more runs of the same length on each side.
    MoreRunsASide(u64),
    /// This many more blocks of an experiment.
    MoreBlocks(u64),
}

impl Amount {
    /// What is needed to have `times` as much.
    fn needs(self, times: f64) -> Option<Needs> {
        let more = |count: usize| ((times - 1.0) * count as f64).ceil().max(1.0) as u64;
        match self {
            Self::Seconds(seconds) => Some(Needs::SecondsASide(seconds * times)),
            Self::Runs(runs) => Some(Needs::MoreRunsASide(more(runs))),
            Self::Blocks(blocks) => Some(Needs::MoreBlocks(more(blocks))),
            Self::Unknown => None,
        }
    }
}

impl EquivalenceTest {
    /// The answer for a ratio from this much data.
    pub fn of(tested: &Tested, margin: Margin, amount: Amount) -> Self {
        let answer = Equivalence::of(tested, margin);
        let times = match answer {
            Equivalence::Undecided { times } => times,
            _ => None,
        };
        Self {
            answer,
            margin: margin.share(),
            ratio: tested.ratio,
            low: tested.inner.low,
            high: Some(tested.inner.high).filter(|high| high.is_finite()),
            needs: times.and_then(|times| amount.needs(times)),
        }
    }

    /// The answer for a ratio without an interval: undecided. The margin is a share.
    pub fn without_interval(ratio: f64, margin: f64) -> Self {
        Self {
            answer: Equivalence::Undecided { times: None },
            margin,
            ratio,
            low: 0.0,
            high: None,
            needs: None,
        }
    }
}

/// The data of the larger side: runs if the intervals come from runs, or else seconds.
pub(super) fn amount(base: &[View], new: &[View], basis: Basis) -> Amount {
    let seconds = |views: &[View]| views.iter().map(|view| view.length_s).sum::<f64>();
    match basis {
        Basis::BetweenRuns => Amount::Runs(base.len().max(new.len())),
        Basis::WithinRuns => Amount::Seconds(seconds(base).max(seconds(new))),
    }
}

/// The test of a metric, if requested: `found` are its ratio and the interval of the comparison.
pub(super) fn test(
    (base, new): (&Estimate, &Estimate),
    found: (f64, Bounds),
    (basis, amount): (Basis, Amount),
    options: &CompareOptions,
) -> Option<EquivalenceTest> {
    let margin = options.equivalent?;
    let confidence = inner_confidence(options.confidence);
    let tested = Tested {
        ratio: found.0,
        interval: found.1,
        inner: ratio(base, new, basis, confidence).bounds?,
    };
    Some(EquivalenceTest::of(&tested, margin, amount))
}
