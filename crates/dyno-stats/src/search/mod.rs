//! The highest load that keeps a promise: which load is tried next, and what was found.
//!
//! A state machine without clock, I/O or chance. [`Search::next`] says which trial is wanted,
//! [`Search::observe`] takes what came of it, until `next` is [`Next::Done`]. Loads are judged by
//! votes of equal trials as in MLRsearch (draft-ietf-bmwg-mlrsearch-15): one bad trial, or one
//! lucky one, decides nothing. A load is tried until the rest of its trials cannot change the
//! vote. The answer lies between the smallest load that broke the promise and the largest below
//! it that kept it; these come within a width of one another by bisection. Further trials at the
//! lower one then confirm it by their majority, or have the search step down by a width and confirm
//! that.
//!
//! What is tried next depends on the trials at each load, not on their order, and on how many of
//! the last ones were void. So a search that was interrupted goes on where it was, once its
//! recorded trials were [replayed](Search::replay).

use std::collections::BTreeMap;
use std::time::Duration;

mod found;
mod goal;
mod grid;
mod tally;

pub use found::{Bound, Ending, Found, Judged, Tried};
pub use goal::{Confirm, Goal, Loads, Scale, SearchError, Start};
pub use grid::GridStep;
pub use tally::Class;

use grid::Grid;
use tally::{Counted, Tally};

/// A trial and its repetition: when both are void, the search cannot go on.
const VOIDS_MAX: usize = 2;

/// A search under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    goal: Goal,
    grid: Grid,
    /// Ascending.
    candidates: Vec<GridStep>,
    trials: Vec<Trial>,
    tallies: BTreeMap<GridStep, Tally>,
    /// How many of the last trials were void.
    voids: usize,
}

/// What a search wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A trial. Asked again before it was observed, the search wants the same one.
    Trial(Asked),
    /// Nothing more.
    Done(Box<Found>),
}

/// A trial that is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Which load, as a number.
    pub step: GridStep,
    /// The load: events per second, or a whole number.
    pub load: f64,
    /// How long it is to last.
    pub duration: Duration,
    /// What for.
    pub purpose: Purpose,
}

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It has a vote on its load.
    Vote,
    /// It confirms what was voted.
    Confirm,
}

/// A trial that has ended: what is to be recorded, to go on with later.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Which load.
    pub step: GridStep,
    /// What for.
    pub purpose: Purpose,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It says something about the server.
    Measured {
        /// The share of the offered events that were not answered correctly in time: late ones,
        /// errors, those never begun and those unfinished at the end. 0 to 1.
        loss_ratio: f64,
        /// How long it was to last, and did but for the accuracy of a clock.
        duration: Duration,
        /// Whether all promises were kept, beside the goal's loss ratio; true without others.
        kept: bool,
    },
    /// It says nothing about the server, by the client's fault: it is repeated.
    Void {
        /// Why, for the reader.
        why: String,
    },
}

impl Asked {
    /// This trial with what came of it.
    pub fn ended(self, outcome: Outcome) -> Trial {
        Trial {
            step: self.step,
            purpose: self.purpose,
            outcome,
        }
    }
}

impl Search {
    /// A search that has seen nothing yet.
    ///
    /// # Errors
    /// A goal outside its ranges, loads between which there is none to try, or a start that is no
    /// load.
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

    /// A search that has seen these trials, in the order in which they were recorded.
    ///
    /// # Errors
    /// As those of [`Search::new`] and [`Search::observe`].
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

    /// Which trial is wanted now, or what was found.
    pub fn next(&self) -> Next {
        match self.decide() {
            Wanted::Vote(step) => self.ask(step, Purpose::Vote),
            Wanted::Confirm(step) => self.ask(step, Purpose::Confirm),
            Wanted::Nothing(ending) => Next::Done(Box::new(self.found(Some(ending)))),
        }
    }

    /// Takes a trial, whether it was asked for or not.
    ///
    /// # Errors
    /// A load that is not one of this search's, or a loss ratio that is none; the search is then
    /// as it was before.
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

    /// What was found so far, whether the search has ended or not.
    pub fn so_far(&self) -> Found {
        match self.decide() {
            Wanted::Nothing(ending) => self.found(Some(ending)),
            _ => self.found(None),
        }
    }

    /// What an outcome counts as; none of a void one.
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

    /// What the measured trials leave open.
    fn wanted(&self) -> Wanted {
        let (lower, upper) = self.relevant(Tally::class);
        if upper == Some(self.grid.min) {
            return Wanted::Nothing(Ending::Floor);
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

    /// The end, or the confirmation that it waits for.
    fn confirmed(&self, step: GridStep, ending: Ending) -> Wanted {
        match self.goal.confirm.is_some() && !self.is_confirmed(step) {
            true => Wanted::Confirm(step),
            false => Wanted::Nothing(ending),
        }
    }

    /// The load to vote on between bounds that are apart. It has no class yet, or it were one of
    /// the bounds.
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
    /// greater load that kept the promise by luck is none.
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

/// What a search wants, before it is put into words.
enum Wanted {
    Vote(GridStep),
    Confirm(GridStep),
    Nothing(Ending),
}

#[cfg(test)]
mod checks;
