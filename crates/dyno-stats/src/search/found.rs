//! What a search has found, and everything that led to it.

use super::tally::{Class, Tally};
use super::{GridStep, Outcome, Purpose, Search, Trial};
use crate::Bounds;

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Why it ended; none while it goes on.
    pub ending: Option<Ending>,
    /// The relevant lower bound, the highest load that is known to keep the promise: the largest
    /// lower bound below `upper`.
    pub lower: Option<Bound>,
    /// The relevant upper bound: the smallest load that breaks the promise.
    pub upper: Option<Bound>,
    /// The relevant bounds as they were voted. They differ from the above where the confirming
    /// trials did not confirm the lower one.
    pub voted: (Option<Bound>, Option<Bound>),
    /// From a width below `lower` to a width above the upper bound that was voted. Near the limit
    /// votes are a matter of chance: in simulated searches for p99 with the defaults, where p99
    /// varies by 10 % from trial to trial, the bounds themselves hold the limit in three of four,
    /// these ends in all of a thousand, and in 95 % where p99 varies by 40 %.
    pub plausible: Option<Bounds>,
    /// What is correctly answered in time at `lower`, in its unit: the load without the loss that
    /// all but the allowed share of trials there do not exceed (the draft's Conditional
    /// Throughput). Two searches may differ in it by the goal's loss ratio for no reason.
    pub goodput: Option<f64>,
    /// Whether four of five confirming trials at `lower` kept the promise.
    pub confirmed: bool,
    /// Each load that was tried, ascending.
    pub loads: Vec<Tried>,
    /// Each trial, in the order in which they were observed.
    pub trials: Vec<Judged>,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The bounds are within the width. This is the only answer about the server's limit.
    Bounded,
    /// The greatest load kept the promise: what was found is the load generator's ceiling.
    Ceiling,
    /// The least load broke the promise.
    Floor,
    /// One load below the other was not confirmed, too often.
    Unconfirmed,
    /// A trial and its repetition were void.
    Refused,
    /// So many trials as were allowed decided nothing.
    Exhausted,
}

/// A load that bounds the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Which load.
    pub step: GridStep,
    /// The load: events per second, or a whole number.
    pub load: f64,
}

/// A load that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Which load.
    pub step: GridStep,
    /// The load: events per second, or a whole number.
    pub load: f64,
    /// What it is in the end.
    pub class: Class,
    /// What it was voted.
    pub voted: Class,
    /// Votes for the promise kept.
    pub good: usize,
    /// Votes for the promise broken.
    pub bad: usize,
    /// Confirming trials that kept the promise.
    pub confirmed: usize,
    /// Confirming trials that broke it.
    pub broken: usize,
    /// What is correctly answered in time, in the unit of the load: see [`Found::goodput`]. None
    /// where no trial was long, 0 where too little was measured to tell.
    pub goodput: Option<f64>,
}

/// A trial, and what it counted as.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The trial.
    pub trial: Trial,
    /// The load: events per second, or a whole number.
    pub load: f64,
    /// Whether it kept the promise; none of a void one.
    pub good: Option<bool>,
    /// Whether it lasted as long as trials are to; false for a void one.
    pub long: bool,
}

impl Found {
    /// The relevant bounds, where both were found; see [`Found::plausible`] for how far they can
    /// be believed.
    pub fn interval(&self) -> Option<Bounds> {
        Some(Bounds {
            low: self.lower?.load,
            high: self.upper?.load,
        })
    }

    /// How many trials said nothing about the server.
    pub fn void(&self) -> usize {
        let void = |judged: &&Judged| judged.good.is_none();
        self.trials.iter().filter(void).count()
    }

    /// How many trials there were for a purpose, void ones among them.
    pub fn trials_for(&self, purpose: Purpose) -> usize {
        let meant = |judged: &&Judged| judged.trial.purpose == purpose;
        self.trials.iter().filter(meant).count()
    }
}

impl Search {
    pub(super) fn found(&self, ending: Option<Ending>) -> Found {
        let bounds = |class: fn(&Tally, &super::Goal) -> Class| {
            let (lower, upper) = self.relevant(class);
            (
                lower.map(|step| self.bound(step)),
                upper.map(|step| self.bound(step)),
            )
        };
        let (lower, upper) = bounds(Tally::class);
        let voted = bounds(Tally::voted);
        let above = voted.1.or(upper);
        let loads = self.tallies.iter().map(|(&step, tally)| Tried {
            step,
            load: self.grid.load(step),
            class: tally.class(&self.goal),
            voted: tally.voted(&self.goal),
            good: tally.good,
            bad: tally.bad,
            confirmed: tally.confirmed,
            broken: tally.broken,
            goodput: self.goodput(step),
        });
        Found {
            ending,
            lower,
            upper,
            voted,
            plausible: lower
                .zip(above)
                .map(|(low, high)| self.grid.widened(low.step, high.step)),
            goodput: lower.and_then(|bound| self.goodput(bound.step)),
            confirmed: lower.is_some_and(|bound| self.is_confirmed(bound.step)),
            loads: loads.collect(),
            trials: self.trials.iter().map(|trial| self.judged(trial)).collect(),
        }
    }

    fn bound(&self, step: GridStep) -> Bound {
        let load = self.grid.load(step);
        Bound { step, load }
    }

    fn goodput(&self, step: GridStep) -> Option<f64> {
        let loss = self.tallies.get(&step)?.quantile_loss(&self.goal)?;
        Some(self.grid.load(step) * (1.0 - loss))
    }

    fn judged(&self, trial: &Trial) -> Judged {
        let long = match trial.outcome {
            Outcome::Measured { duration, .. } => duration >= self.goal.trial_duration,
            Outcome::Void { .. } => false,
        };
        Judged {
            trial: trial.clone(),
            load: self.grid.load(trial.step),
            good: self.counted(&trial.outcome).map(|counted| counted.good),
            long,
        }
    }
}
