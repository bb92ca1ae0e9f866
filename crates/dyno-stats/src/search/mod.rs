//! Searches for the highest load that keeps a promise, such as a latency limit.
//!
//! This is a state machine without a clock, I/O or randomness. [`Search::next`] requests a trial
//! and [`Search::observe`] takes its outcome, until `next` returns [`Next::Done`]. Loads are judged
//! by the votes of equal trials as in MLRsearch (draft-ietf-bmwg-mlrsearch-15), so that a single
//! bad or lucky trial decides nothing. A load is tried until its remaining trials cannot change the
//! vote. The answer is between the smallest load that broke the promise and the largest load below
//! it that kept it. Bisection brings these two within a width of each other. Further trials at the
//! lower one then confirm it; otherwise the search steps down by a width and confirms that load.
//!
//! The next trial depends on the trials at each load but not on their order, and on how many trials
//! were void at the end. An interrupted search therefore continues where it was, once its recorded
//! trials are [replayed](Search::replay).

use std::collections::BTreeMap;
use std::time::Duration;

mod goal;
mod grid;
mod summary;
mod tally;

pub use goal::{Confirm, Goal, Loads, Scale, SearchError, Start};
pub use grid::GridStep;
pub use summary::{Bound, Ending, Judged, SearchSummary, Tried};
pub use tally::Class;

use grid::Grid;
use tally::{Counted, Tally};

/// A trial and its repetition: if both are void, the search ends.
const VOIDS_MAX: usize = 2;

/// A search in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    goal: Goal,
    grid: Grid,
    /// Ascending.
    candidates: Vec<GridStep>,
    trials: Vec<Trial>,
    tallies: BTreeMap<GridStep, Tally>,
    /// How many trials at the end were void.
    voids: usize,
}

/// The next action of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Run this trial. The request stays the same until the trial is observed.
    Trial(Asked),
    /// The search has ended.
    Done(Box<SearchSummary>),
}

/// A requested trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The load's number in the grid.
    pub step: GridStep,
    /// The load, in events per second or as a whole number.
    pub load: f64,
    /// How long the trial should last.
    pub duration: Duration,
    /// Its purpose.
    pub purpose: Purpose,
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It votes on its load.
    Vote,
    /// It confirms the voted load.
    Confirm,
}

/// A finished trial, to record for a later replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The load's number in the grid.
    pub step: GridStep,
    /// Its purpose.
    pub purpose: Purpose,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It measured the server.
    Measured {
        /// The share of the offered events that were not answered correctly and in time: late ones,
        /// errors, events that never began, and events unfinished at the end. 0 to 1.
        loss_ratio: f64,
        /// The planned length. The trial lasted that long, up to the accuracy of a clock.
        duration: Duration,
        /// Whether all promises other than the goal's loss ratio were kept; true without others.
        kept: bool,
    },
    /// The client invalidated it. It says nothing about the server, and is repeated.
    Void {
        /// The reason, for the reader.
        why: String,
    },
}

impl Asked {
    /// Adds the outcome to this trial.
    pub fn ended(self, outcome: Outcome) -> Trial {
        Trial {
            step: self.step,
            purpose: self.purpose,
            outcome,
        }
    }
}

impl Search {
    /// A new search.
    ///
    /// # Errors
    /// A goal out of range, an empty range of loads, or a start that is not a valid load.
    pub fn new(goal: Goal, loads: Loads, start: &Start) -> Result<Self, SearchError> {
        goal.check()?;
        let grid = Grid::new(&goal, loads)?;
        let mut candidates = Vec::new();
        for &load in &start.candidates {
            if !(load > 0.0 && load.is_finite()) {
                return Err(SearchError::Candidate(load));
            }
            candidates.push(grid.nearest(load));
        }
        candidates.sort_unstable();
        Ok(Self {
            goal,
            grid,
            candidates,
            trials: Vec::new(),
            tallies: BTreeMap::new(),
            voids: 0,
        })
    }

    /// Creates a search that has observed these trials, in the order in which they were recorded.
    ///
    /// # Errors
    /// As [`Search::new`] and [`Search::observe`].
    pub fn replay(
        goal: Goal,
        loads: Loads,
        start: &Start,
        trials: impl IntoIterator<Item = Trial>,
    ) -> Result<Self, SearchError> {
        let mut search = Self::new(goal, loads, start)?;
        for trial in trials {
            search.observe(trial)?;
        }
        Ok(search)
    }

    /// The next trial, or the result.
    pub fn next(&self) -> Next {
        match self.decide() {
            Wanted::Vote(step) => self.ask(step, Purpose::Vote),
            Wanted::Confirm(step) => self.ask(step, Purpose::Confirm),
            Wanted::Nothing(ending) => Next::Done(Box::new(self.summary(Some(ending)))),
        }
    }

    /// Takes a trial, no matter whether it was requested.
    ///
    /// # Errors
    /// The load is not in this search, or the loss ratio is invalid. The search is then unchanged.
    pub fn observe(&mut self, trial: Trial) -> Result<(), SearchError> {
        if !self.grid.contains(trial.step) {
            return Err(SearchError::Beyond(trial.step.0));
        }
        match self.counted(&trial.outcome) {
            Some(counted) if !(0.0..=1.0).contains(&counted.loss_ratio) => {
                return Err(SearchError::Lost(counted.loss_ratio));
            }
            Some(counted) => {
                let tally = self.tallies.entry(trial.step).or_default();
                match trial.purpose {
                    Purpose::Vote => tally.vote(&self.goal, counted),
                    Purpose::Confirm => tally.confirm(&self.goal, counted),
                }
                self.voids = 0;
            }
            None => self.voids += 1,
        }
        self.trials.push(trial);
        Ok(())
    }

    /// The result so far. The search need not have ended.
    pub fn so_far(&self) -> SearchSummary {
        match self.decide() {
            Wanted::Nothing(ending) => self.summary(Some(ending)),
            _ => self.summary(None),
        }
    }

    /// How an outcome counts; `None` for a void one.
    fn counted(&self, outcome: &Outcome) -> Option<Counted> {
        match *outcome {
            Outcome::Measured {
                loss_ratio,
                duration,
                kept,
            } => Some(Counted {
                good: kept && loss_ratio <= self.goal.loss_ratio,
                loss_ratio,
                duration,
            }),
            Outcome::Void { .. } => None,
        }
    }

    fn ask(&self, step: GridStep, purpose: Purpose) -> Next {
        Next::Trial(Asked {
            step,
            load: self.grid.load(step),
            duration: self.goal.trial_duration,
            purpose,
        })
    }

    fn decide(&self) -> Wanted {
        if self.voids >= VOIDS_MAX {
            return Wanted::Nothing(Ending::Refused);
        }
        let wanted = self.wanted();
        let done = matches!(wanted, Wanted::Nothing(_));
        if !done && self.trials.len() >= self.goal.trials_max {
            return Wanted::Nothing(Ending::Exhausted);
        }
        wanted
    }

    fn wanted(&self) -> Wanted {
        let (lower, upper) = self.relevant(Tally::class);
        if upper == Some(self.grid.min) {
            return Wanted::Nothing(match self.confirmation(self.grid.min) {
                Class::Upper => Ending::Unconfirmed,
                _ => Ending::Floor,
            });
        }
        if let (Some(confirm), Some(upper)) = (&self.goal.confirm, upper)
            && self.confirmation(upper) == Class::Upper
        {
            let refuted = |tally: &&Tally| tally.confirmation(&self.goal) == Class::Upper;
            if self.tallies.values().filter(refuted).count() >= confirm.broken_max {
                return Wanted::Nothing(Ending::Unconfirmed);
            }
            let below = lower.max(Some(self.grid.width_below(upper)));
            return self.confirmed(below.unwrap_or(self.grid.min), Ending::Bounded);
        }
        match (lower, upper) {
            (Some(low), Some(high)) if self.grid.narrow(low, high) => {
                self.confirmed(low, Ending::Bounded)
            }
            (Some(low), None) if low == self.grid.max => self.confirmed(low, Ending::Ceiling),
            _ => Wanted::Vote(self.between(lower, upper)),
        }
    }

    /// The end of the search, or the confirmation that it still needs.
    fn confirmed(&self, step: GridStep, ending: Ending) -> Wanted {
        match self.goal.confirm.is_some() && !self.is_confirmed(step) {
            true => Wanted::Confirm(step),
            false => Wanted::Nothing(ending),
        }
    }

    /// The load to vote on between bounds that are not adjacent. It has no class yet, because
    /// otherwise it would be one of the bounds.
    fn between(&self, lower: Option<GridStep>, upper: Option<GridStep>) -> GridStep {
        let open = |step: GridStep| {
            lower.is_none_or(|low| low < step) && upper.is_none_or(|high| step < high)
        };
        if let Some(&step) = self.candidates.iter().find(|&&step| open(step)) {
            return step;
        }
        match (lower, upper) {
            (Some(low), Some(high)) => self.grid.middle(low, high),
            (Some(low), None) => self.grid.double(low),
            (None, Some(high)) => self.grid.halve(high),
            (None, None) => self.grid.center(),
        }
    }

    /// The relevant bounds: the smallest upper bound, and the largest lower bound below it. If a
    /// greater load kept the promise by luck, it is not a bound.
    fn relevant(
        &self,
        class: impl Fn(&Tally, &Goal) -> Class,
    ) -> (Option<GridStep>, Option<GridStep>) {
        let mut lower = None;
        for (&step, tally) in &self.tallies {
            match class(tally, &self.goal) {
                Class::Lower => lower = Some(step),
                Class::Upper => return (lower, Some(step)),
                Class::Undecided => {}
            }
        }
        (lower, None)
    }

    fn is_confirmed(&self, step: GridStep) -> bool {
        self.confirmation(step) == Class::Lower
    }

    fn confirmation(&self, step: GridStep) -> Class {
        let tally = self.tallies.get(&step);
        tally.map_or(Class::Undecided, |tally| tally.confirmation(&self.goal))
    }
}

enum Wanted {
    Vote(GridStep),
    Confirm(GridStep),
    Nothing(Ending),
}

#[cfg(test)]
mod checks;
