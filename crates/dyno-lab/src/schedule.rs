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
    /// Its index among all trials; of a duet, side A.
    pub trial: usize,
    /// The trials that form a duet, A first; `None` for a single trial.
    pub sides: Option<[usize; 2]>,
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
    current: Option<Current>,
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
        let popped = self.open.pop()?;
        let sides = self.experiment.sides(self.trials, popped);
        self.open
            .retain(|index| !sides.is_some_and(|sides| sides.contains(index)));
        let trial = sides.map_or(popped, |[a, _]| a);
        self.current = Some(Current { trial, popped });
        let cell = |index: usize| &self.trials.cells[index];
        let own = self.trials.trials[trial].cell;
        Some(Next {
            trial,
            sides,
            change: self.experiment.change(self.before.map(cell), cell(own)),
            out_of_order: self.tried.contains(&popped),
        })
    }

    /// Ends the current trial.
    pub fn ended(&mut self, outcome: Outcome) {
        let Some(Current { trial, popped }) = self.current.take() else {
            return;
        };
        let own = &self.trials.trials[trial];
        self.before = (outcome == Outcome::Done).then_some(own.cell);
        // Of a duet, only one side goes back into the list; it represents both.
        if outcome == Outcome::Failed && self.repeated.insert(trial) {
            self.tried.insert(popped);
            // The list is reversed: the end of the block is before its other trials.
            let later = |index: &usize| {
                self.trials.is_blocked && self.trials.trials[*index].block > own.block
            };
            let place = self.open.iter().take_while(|index| later(index)).count();
            self.open.insert(place, popped);
        }
    }
}

/// The trial under way.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// The trial; of a duet, side A.
    trial: usize,
    /// The trial that was taken from the list; of a duet, either side.
    popped: usize,
}

#[cfg(test)]
mod tests;
