//! What a search looks for, how it is conducted, and between which loads.

use std::time::Duration;

use thiserror::Error;

/// A promise, and how surely its highest load is to be found.
///
/// The words are those of MLRsearch (draft-ietf-bmwg-mlrsearch-15): a trial is good when it kept
/// the promise and *long* when it lasted `trial_duration` or more.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The largest loss ratio of a good trial, 0 up to below 1: with p99 as the promise, 0.01.
    pub loss_ratio: f64,
    /// The share of trials at a load, by their durations, that may be bad: 0 up to below 1.
    pub exceed_ratio: f64,
    /// For how long in all a load is tried, unless it is decided sooner.
    pub duration_sum: Duration,
    /// How long a trial lasts. Shorter ones only count against a load.
    pub trial_duration: Duration,
    /// How near to one another the bounds come, as a share of the lower one: above 0, at most 1,
    /// and not below `loss_ratio`.
    pub width: f64,
    /// How the answer is confirmed, if it is.
    pub confirm: Option<Confirm>,
    /// A search that has seen so many trials, void ones among them, ends as it is.
    pub trials_max: usize,
}

/// How an answer is confirmed: by four of five further trials, which had no part in choosing it.
///
/// The votes choose the highest of several loads, and thereby also favour lucky trials. One long
/// trial in place of these would be stricter than the votes: an event that hits 7 % of the trials
/// costs few votes, but hits a trial ten times as long more often than not.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    /// The number of trials, each as long as a voting trial. At least 1. Four of five must keep the
    /// promise; they end early when the rest cannot change the outcome.
    pub trials: usize,
    /// After so many loads that were not confirmed, each a width below the one before, the search
    /// ends unconfirmed. At least 1.
    pub broken_max: usize,
}

/// An even share of bad votes is the easiest to explain, and searches vary least in length.
const EXCEED_RATIO: f64 = 0.5;
/// Votes on a load: of 400 simulated searches with 1, 3, 5, 7 and 11 votes the answers deviate by
/// 4.6, 1.9, 1.2, 0.5 and 0.4 %, and take 12, 26, 39, 53 and 81 trials.
const VOTES: u32 = 7;
/// One and a half times the number of votes.
const CONFIRM_TRIALS: usize = 10;
/// Five widths of 2 % are a tenth: further down the search has found something else.
const BROKEN_MAX: usize = 5;
/// Far more than a search takes whose trials are long enough.
const TRIALS_MAX: usize = 1000;

impl Goal {
    /// For a loss ratio: trials of 10 s, seven votes, bounds within 2 % or the loss ratio.
    pub fn new(loss_ratio: f64) -> Self {
        Self::of(loss_ratio, Duration::from_secs(10), 0.02)
    }

    /// For a loss ratio: trials of 60 s, seven votes, bounds within 1 % or the loss ratio.
    pub fn thorough(loss_ratio: f64) -> Self {
        Self::of(loss_ratio, Duration::from_secs(60), 0.01)
    }

    fn of(loss_ratio: f64, trial_duration: Duration, width: f64) -> Self {
        Self {
            loss_ratio,
            exceed_ratio: EXCEED_RATIO,
            duration_sum: trial_duration * VOTES,
            trial_duration,
            width: width.max(loss_ratio),
            confirm: Some(Confirm {
                trials: CONFIRM_TRIALS,
                broken_max: BROKEN_MAX,
            }),
            trials_max: TRIALS_MAX,
        }
    }

    /// # Errors
    /// What lies outside of the ranges above.
    pub(super) fn check(&self) -> Result<(), SearchError> {
        let share = |value: f64| (0.0..1.0).contains(&value);
        if !share(self.loss_ratio) {
            return Err(SearchError::LossRatio(self.loss_ratio));
        }
        if !share(self.exceed_ratio) {
            return Err(SearchError::ExceedRatio(self.exceed_ratio));
        }
        if !(self.width > 0.0 && self.width <= 1.0) {
            return Err(SearchError::Width(self.width));
        }
        if self.width < self.loss_ratio {
            return Err(SearchError::Narrow {
                width: self.width,
                loss_ratio: self.loss_ratio,
            });
        }
        let confirm = self.confirm.as_ref();
        if confirm.is_some_and(|confirm| confirm.trials == 0 || confirm.broken_max == 0) {
            return Err(SearchError::NoConfirmation);
        }
        for duration in [self.trial_duration, self.duration_sum] {
            if duration.is_zero() || duration < self.trial_duration {
                return Err(SearchError::Duration {
                    duration,
                    trial: self.trial_duration,
                });
            }
        }
        Ok(())
    }
}

/// The loads that may be tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loads {
    /// The least.
    pub min: f64,
    /// The greatest: what the load generator can make, with room to spare.
    pub max: f64,
    /// Which of those between.
    pub scale: Scale,
}

/// Which loads there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Rates in events per second: four to a width, evenly spaced by their logarithms.
    Rates,
    /// Whole numbers, such as those of sessions of a closed loop.
    Whole,
}

impl Loads {
    /// Rates from `min` to `max` events per second.
    pub fn rates(min: f64, max: f64) -> Self {
        let scale = Scale::Rates;
        Self { min, max, scale }
    }

    /// Whole numbers from `min` to `max`.
    pub fn whole(min: u32, max: u32) -> Self {
        Self {
            min: f64::from(min),
            max: f64::from(max),
            scale: Scale::Whole,
        }
    }
}

/// Where a search starts: loads that are tried first, smaller ones before greater ones, as long
/// as they may still be a bound. Without any it starts in the middle of the loads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// In any order; those beyond the loads count as the nearest of them.
    pub candidates: Vec<f64>,
}

impl Start {
    /// From the rate at the knee of a closed loop, which an open one seldom reaches: 0.5, 0.9 and
    /// 1.1 of it. The last one only matters where the one before it keeps the promise: it bounds
    /// the answer from above in a fifth fewer trials than twice that load, and gentler.
    pub fn from_knee(rate: f64) -> Self {
        Self {
            candidates: vec![0.5 * rate, 0.9 * rate, 1.1 * rate],
        }
    }
}

/// Why there is no search, or why it does not take a trial.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SearchError {
    /// See [`Goal::loss_ratio`].
    #[error("a loss ratio of {0} cannot be searched for: it must be 0 or more and below 1")]
    LossRatio(f64),
    /// See [`Goal::exceed_ratio`].
    #[error("an exceed ratio of {0} decides nothing: it must be 0 or more and below 1")]
    ExceedRatio(f64),
    /// See [`Goal::width`].
    #[error("bounds cannot come within {0} of one another: it must be above 0 and at most 1")]
    Width(f64),
    /// See [`Goal::width`].
    #[error(
        "bounds within {width} say more than a loss ratio of {loss_ratio} leaves open: ask for a \
         width of {loss_ratio} or more"
    )]
    Narrow {
        /// As asked for.
        width: f64,
        /// As asked for.
        loss_ratio: f64,
    },
    /// A duration that is 0 or shorter than a trial.
    #[error("{duration:?} is too short beside trials of {trial:?}, which must not be 0 either")]
    Duration {
        /// Of all trials at a load, or of one.
        duration: Duration,
        /// [`Goal::trial_duration`].
        trial: Duration,
    },
    /// See [`Confirm`].
    #[error("a confirmation needs at least one trial at one load")]
    NoConfirmation,
    /// Loads that are not positive, whole or ordered, or a candidate that is not positive.
    #[error("there is no load to try between {min} and {max}")]
    Loads {
        /// As asked for.
        min: f64,
        /// As asked for.
        max: f64,
    },
    /// A start that is no load.
    #[error("a search cannot start at a load of {0}")]
    Candidate(f64),
    /// A trial at a load that is not one of this search's.
    #[error("step {0} lies beyond the loads of this search")]
    Beyond(i64),
    /// A loss ratio of a trial that is none.
    #[error("a trial cannot have lost a share of {0}")]
    Lost(f64),
}
