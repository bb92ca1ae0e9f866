//! Analysis of trials: ratios with intervals, effects of factors, and claims.
//!
//! Ratios compare neighbours: trials of one block with equal levels of the other factors. A block
//! repeats all of them, so the interval includes the variation between blocks, including restarts.
//! Refused trials are not used.

pub(crate) mod claims;
mod effects;
mod law;
mod ratio;

use std::collections::BTreeMap;

use dyno_core::finding::{Cause, Verdict};

use crate::file::Where;

pub use claims::{Answer, Judgement, not_judged};
pub(crate) use effects::block_logs;
pub use effects::{Effect, effects, interactions};
pub use law::{Law, law};
pub use ratio::{Ratio, Side, Source, between};

/// Figures by name.
pub type Figures = BTreeMap<String, Figure>;

/// A figure of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its value.
    pub value: f64,
    /// Its standard error divided by its value, from within the run; `None` if unknown.
    pub error: Option<f64>,
    /// The other work that it includes, if any was found.
    pub includes: Option<Cause>,
    /// If the trial is a side of a duet.
    pub duet: Option<OfDuet>,
}

/// What a duet knows about a figure of its sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfDuet {
    /// The run of side A, which identifies the duet.
    pub run: i64,
    /// The standard error of the logarithm of the ratio between the sides.
    pub error: f64,
}

/// A finished trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Its block, from 0.
    pub block: usize,
    /// The worst verdict of its runs.
    pub verdict: Option<Verdict>,
    /// The ids of its runs.
    pub runs: Vec<i64>,
    /// Its figures by step; the step of a trial with a single run has an empty name.
    pub steps: BTreeMap<String, Figures>,
}

impl Measured {
    /// Whether its figures are used.
    pub fn is_usable(&self) -> bool {
        self.verdict != Some(Verdict::Refused)
    }

    /// Whether it belongs to these cells.
    pub fn is_of(&self, cells: &Where) -> bool {
        cells.iter().all(|(factor, levels)| {
            let own = self.levels.get(factor);
            let mut all = levels.get_ref().all().iter();
            own.is_some_and(|own| all.any(|level| level.names(own)))
        })
    }

    /// A figure of a step; without a step, of the only one.
    fn figure(&self, step: Option<&str>, name: &str) -> Option<Figure> {
        let figures = match step {
            Some(step) => self.steps.get(step).or_else(|| {
                // Steps have names such as l.i1 and i1.
                let mut all = self.steps.iter();
                let short = |name: &str| name.trim_start_matches("l.").to_owned();
                all.find(|(name, _)| short(name) == short(step))
                    .map(|(_, figures)| figures)
            }),
            None => self.steps.values().next().filter(|_| self.steps.len() == 1),
        }?;
        figures
            .get(name)
            .copied()
            .filter(|figure| figure.value.is_finite())
    }
}

#[cfg(test)]
mod samples;
