//! The result of a search, and how it was reached.

use super::tally::{Class, Tally};
use super::{GridStep, Outcome, Purpose, Search, Trial};
use crate::Bounds;

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchSummary {
    /// Why it ended; `None` while it continues.
    pub ending: Option<Ending>,
    /// The relevant lower bound, the highest load known to keep the promise: the largest lower
    /// bound below `upper`.
    pub lower: Option<Bound>,
    /// The relevant upper bound: the smallest load that breaks the promise.
    pub upper: Option<Bound>,
    /// The relevant bounds according to the votes. They differ from `lower` and `upper` if the
    /// confirming trials refuted the lower one.
    pub voted: (Option<Bound>, Option<Bound>),
    /// The interval from a width below `lower` to a width above the upper bound that was voted.
    /// Near the limit, votes are a matter of chance. In simulated searches for p99 with the
    /// defaults, the bounds contain the limit in three of four searches if p99 varies by 10 % from
    /// trial to trial. This interval contains it in all of a thousand searches, and in 95 % if p99
    /// varies by 40 %.
    pub plausible: Option<Bounds>,
    /// The goodput at `lower`, in the unit of the load: the load minus the loss that all trials
    /// there but the allowed share do not exceed (the draft's Conditional Throughput). Two searches
    /// may differ in it by the goal's loss ratio by chance.
    pub goodput: Option<f64>,
    /// Whether four of five confirming trials at `lower` kept the promise.
    pub confirmed: bool,
    /// The loads that were tried, in ascending order.
    pub loads: Vec<Tried>,
    /// The trials, in the order in which they were observed.
    pub trials: Vec<Judged>,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The bounds are within a width. Only this ending determines the server's limit.
    Bounded,
    /// The largest load kept the promise, so the search reached the load generator's ceiling.
    Ceiling,
    /// The smallest load broke the promise.
    Floor,
    /// Too many loads, each below the one before, were not confirmed, or the smallest one was not.
    Unconfirmed,
    /// A trial and its repetition were void.
    Refused,
    /// The maximum number of trials was reached without a decision.
    Exhausted,
}

/// A load that bounds the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The load's number in the grid.
    pub step: GridStep,
    /// The load: events per second, or a whole number.
    pub load: f64,
}

/// A load that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The load's number in the grid.
    pub step: GridStep,
    /// The load: events per second, or a whole number.
    pub load: f64,
    /// Its final class.
    pub class: Class,
    /// Its class by the votes.
    pub voted: Class,
    /// Votes that the promise was kept.
    pub good: usize,
    /// Votes that it was broken.
    pub bad: usize,
    /// Confirming trials that kept the promise.
    pub confirmed: usize,
    /// Confirming trials that broke it.
    pub broken: usize,
    /// The goodput, in the unit of the load, see [`SearchSummary::goodput`]. `None` if there was no
    /// long trial, and 0 if there is too little data.
    pub goodput: Option<f64>,
}

/// A trial and how it was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The trial.
    pub trial: Trial,
    /// The load: events per second, or a whole number.
    pub load: f64,
    /// Whether it kept the promise; `None` for a void one.
    pub good: Option<bool>,
    /// Whether it lasted at least [`Goal::trial_duration`](super::Goal::trial_duration); false for
    /// a void one.
    pub long: bool,
}

impl SearchSummary {
    /// The relevant bounds, if both were found. See [`SearchSummary::plausible`] for how reliable
    /// they are.
    pub fn interval(&self) -> Option<Bounds> {
        Some(Bounds {
            low: self.lower?.load,
            high: self.upper?.load,
        })
    }

    /// The number of void trials.
    pub fn void(&self) -> usize {
        let void = |judged: &&Judged| judged.good.is_none();
        self.trials.iter().filter(void).count()
    }

    /// The number of trials for a purpose, including void ones.
    pub fn trials_for(&self, purpose: Purpose) -> usize {
        let meant = |judged: &&Judged| judged.trial.purpose == purpose;
        self.trials.iter().filter(meant).count()
    }
}

impl Search {
    pub(super) fn summary(&self, ending: Option<Ending>) -> SearchSummary {
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
        SearchSummary {
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
