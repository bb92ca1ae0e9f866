//! Search for the highest load that keeps a promise.
//!
//! A state machine without clock, I/O or randomness. [`Search::next`] requests a trial and
//! [`Search::observe`] takes its outcome, until `next` returns [`Next::Done`]. Loads are judged by
//! votes of equal trials as in MLRsearch (draft-ietf-bmwg-mlrsearch-15), so one bad or lucky trial
//! decides nothing. A load is tried until the rest of its trials cannot change the vote. The answer
//! is between the smallest load that broke the promise and the largest below it that kept it;
//! bisection brings these within a width of one another. Further trials at the lower one then
//! confirm it, or the search steps down by a width and confirms that load.
//!
//! The next trial depends on the trials at each load, not on their order, and on the number of void
//! trials at the end. So an interrupted search continues where it was after its recorded trials are
//! [replayed](Search::replay).

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
    /// The number of void trials at the end.
    voids: usize,
}

/// The next action of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Run this trial. The request repeats until the trial is observed.
    Trial(Asked),
    /// The search has ended.
    Done(Box<SearchSummary>),
}

/// A requested trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The load's number in the grid.
    pub step: GridStep,
    /// The load: events per second, or a whole number.
    pub load: f64,
    /// How long it should last.
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
        /// The share of the offered events not answered correctly in time: late ones, errors,
        /// events never begun, and events unfinished at the end. 0 to 1.
        loss_ratio: f64,
        /// How long it was meant to last, and did up to the accuracy of a clock.
        duration: Duration,
        /// Whether all promises other than the goal's loss ratio were kept; true without others.
        kept: bool,
    },
    /// The client invalidated it: it says nothing about the server and is repeated.
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

    /// A search that has observed these trials, in the order in which they were recorded.
    ///
    /// # Errors
    /// Those of [`Search::new`] and [`Search::observe`].
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

    /// Takes a trial, whether it was requested or not.
    ///
    /// # Errors
    /// A load outside this search, or an invalid loss ratio; the search is then unchanged.
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

    /// The result so far, whether the search has ended or not.
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

    /// The end, or the confirmation that must precede it.
    fn confirmed(&self, step: GridStep, ending: Ending) -> Wanted {
        match self.goal.confirm.is_some() && !self.is_confirmed(step) {
            true => Wanted::Confirm(step),
            false => Wanted::Nothing(ending),
        }
    }

    /// The load to vote on between bounds that are apart. It has no class yet, otherwise it would
    /// be one of the bounds.
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

    /// The relevant bounds: the smallest upper bound, and the largest lower bound below it. A
    /// greater load that kept the promise by luck is not a bound.
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
