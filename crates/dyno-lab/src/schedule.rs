//! Chooses the next trial and the change before it, from the progress so far.

use std::collections::BTreeSet;

use crate::design::{Change, Trials};
use crate::file::Experiment;

/// The progress of a trial when the schedule began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not tried yet.
    Open,
    /// An attempt failed, or was killed or interrupted.
    Attempted,
    /// Its runs are finished.
    Done,
}

/// The outcome of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It finished.
    Done,
    /// It failed, and its server and data are in an unknown state.
    Failed,
}

/// The next trial to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Its index among all trials.
    pub trial: usize,
    /// The change required before it.
    pub change: Change,
    /// Whether it is a retry at the end of its block.
    pub out_of_order: bool,
}

/// The remaining trials in order. A failed trial is retried once, at the end of its block.
#[derive(Clone, Debug)]
pub struct Schedule<'a> {
    experiment: &'a Experiment,
    trials: &'a Trials,
    open: Vec<usize>,
    repeated: BTreeSet<usize>,
    tried: BTreeSet<usize>,
    current: Option<usize>,
    /// The cell of the last trial, if server and data are still in the state that it left.
    before: Option<usize>,
}

impl<'a> Schedule<'a> {
    /// Begins or resumes; `progress` has an entry for each trial.
    pub fn new(experiment: &'a Experiment, trials: &'a Trials, progress: &[Progress]) -> Self {
        let of = |index: usize| progress.get(index).copied().unwrap_or(Progress::Open);
        let left = (0..trials.trials.len()).filter(|index| of(*index) != Progress::Done);
        let mut open: Vec<usize> = left.collect();
        // Trials that were attempted before run last: in their block, or after all others.
        let tried = |index: &usize| of(*index) == Progress::Attempted;
        if trials.is_blocked {
            open.sort_by_key(|index| (trials.trials[*index].block, tried(index)));
        } else {
            open.sort_by_key(tried);
        }
        open.reverse();
        Self {
            experiment,
            trials,
            tried: open.iter().copied().filter(tried).collect(),
            open,
            repeated: BTreeSet::new(),
            current: None,
            before: None,
        }
    }

    /// The number of remaining trials, including the current one.
    pub fn left(&self) -> usize {
        self.open.len() + usize::from(self.current.is_some())
    }

    /// The remaining trials after the current one, in order.
    pub fn ahead(&self) -> impl Iterator<Item = usize> {
        self.open.iter().rev().copied()
    }

    /// The next trial; `None` after the last one.
    #[expect(
        clippy::should_implement_trait,
        reason = "the caller must end each trial"
    )]
    pub fn next(&mut self) -> Option<Next> {
        let trial = self.open.pop()?;
        self.current = Some(trial);
        let cell = |index: usize| &self.trials.cells[index];
        let own = self.trials.trials[trial].cell;
        Some(Next {
            trial,
            change: self.experiment.change(self.before.map(cell), cell(own)),
            out_of_order: self.tried.contains(&trial),
        })
    }

    /// Ends the current trial.
    pub fn ended(&mut self, outcome: Outcome) {
        let Some(trial) = self.current.take() else {
            return;
        };
        let own = &self.trials.trials[trial];
        self.before = (outcome == Outcome::Done).then_some(own.cell);
        if outcome == Outcome::Failed && self.repeated.insert(trial) {
            self.tried.insert(trial);
            // The list is reversed: the end of the block is before its other trials.
            let later = |index: &usize| {
                self.trials.is_blocked && self.trials.trials[*index].block > own.block
            };
            let place = self.open.iter().take_while(|index| later(index)).count();
            self.open.insert(place, trial);
        }
    }
}

#[cfg(test)]
mod tests;
