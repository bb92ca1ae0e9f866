//! What trials say together: ratios with intervals, effects of factors, and claims.
//!
//! Ratios are of neighbours: of the trials of one block whose other levels are equal. A block is a
//! repetition of all of them, so that what varies from block to block, restarts among it, is in the
//! interval. Refused trials are not used.

pub(crate) mod claims;
mod effects;
mod ratio;

use std::collections::BTreeMap;

use dyno_core::finding::Verdict;

use crate::file::Where;

pub use claims::{Answer, Judgement, not_judged};
pub use effects::{Effect, block_logs, effects, interactions};
pub use ratio::{Ratio, Side, Source, between};

/// Figures by name.
pub type Figures = BTreeMap<String, Figure>;

/// A figure of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its value.
    pub value: f64,
    /// Its standard error over its value, from within the run; `None` where it cannot be told.
    pub error: Option<f64>,
}

/// A trial that is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Its block.
    pub block: usize,
    /// The worst verdict of its runs.
    pub verdict: Option<Verdict>,
    /// Its runs.
    pub runs: Vec<i64>,
    /// Its figures by step; the step of a trial of a single run has no name.
    pub steps: BTreeMap<String, Figures>,
}

impl Measured {
    /// Whether its figures count.
    pub fn is_usable(&self) -> bool {
        self.verdict != Some(Verdict::Refused)
    }

    /// Whether it is of these cells.
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
                // Steps are called l.i1 and i1.
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
