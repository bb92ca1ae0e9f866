//! The goal of a search, its rules, and its range of loads.

use std::time::Duration;

use thiserror::Error;

/// A promise, such as a latency limit, and how certain the highest load that keeps it must be.
///
/// The terms are those of MLRsearch (draft-ietf-bmwg-mlrsearch-15). A trial is good if it kept the
/// promise, and *long* if it lasted `trial_duration` or more.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The largest loss ratio of a good trial, from 0 to below 1. If the promise is about p99, it
    /// is 0.01.
    pub loss_ratio: f64,
    /// The share of the trials at a load, by duration, that may be bad, from 0 to below 1.
    pub exceed_ratio: f64,
    /// The total duration of the trials at a load, unless they decide sooner.
    pub duration_sum: Duration,
    /// The duration of a trial. A shorter trial can only count against a load.
    pub trial_duration: Duration,
    /// The largest distance between the final bounds, as a share of the lower one. It is above 0,
    /// at most 1, and not below `loss_ratio`.
    pub width: f64,
    /// How to confirm the answer; `None` skips the confirmation.
    pub confirm: Option<Confirm>,
    /// The largest number of trials, including void ones.
    pub trials_max: usize,
}

/// How to confirm an answer with further trials, which had no part in choosing it.
///
/// The votes choose the highest of several loads, and so they also favour lucky trials. A single
/// long trial would be stricter than the votes: an event that hits 7 % of the trials costs few
/// votes, but hits a trial ten times as long more often than not.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    /// How many trials to make, each as long as a voting trial. At least 1. Four of five must keep
    /// the promise. They end early if the rest cannot change the outcome.
    pub trials: usize,
    /// After this many unconfirmed loads, each a width below the one before, the search ends
    /// unconfirmed. At least 1.
    pub broken_max: usize,
}

/// A majority vote is the easiest to explain, and search lengths vary least with it.
const EXCEED_RATIO: f64 = 0.5;
/// Votes on a load. In 400 simulated searches with 1, 3, 5, 7 and 11 votes, the answers deviate by
/// 4.6, 1.9, 1.2, 0.5 and 0.4 %, and take 12, 26, 39, 53 and 81 trials.
const VOTES: u32 = 7;
/// One and a half times as many as votes.
const CONFIRM_TRIALS: usize = 10;
/// Five widths of 2 % are a tenth. An answer further down would be a different one.
const BROKEN_MAX: usize = 5;
/// Far more than a search with long enough trials takes.
const TRIALS_MAX: usize = 1000;

impl Goal {
    /// Trials of 10 s, seven votes, and bounds within 2 %, or within the loss ratio if that is
    /// larger.
    pub fn new(loss_ratio: f64) -> Self {
        Self::of(loss_ratio, Duration::from_secs(10), 0.02)
    }

    /// Trials of 60 s, seven votes, and bounds within 1 %, or within the loss ratio if that is
    /// larger.
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
    /// A value is out of range.
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

/// The range of loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loads {
    /// The smallest load.
    pub min: f64,
    /// The largest load: the load generator's ceiling, with headroom.
    pub max: f64,
    /// The spacing between them.
    pub scale: Scale,
}

/// The spacing of loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Rates in events per second: four per width, evenly spaced by their logarithms.
    Rates,
    /// Whole numbers, such as the sessions of a closed loop.
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

/// Where a search starts. Candidates are tried first, smaller ones before greater ones, as long as
/// they can still be a bound. Without candidates, the search starts in the middle of the range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// In any order. A candidate out of range counts as the nearest load.
    pub candidates: Vec<f64>,
}

impl Start {
    /// Candidates from the rate at the saturation point of a closed loop, which an open loop rarely
    /// reaches: 0.5, 0.9 and 1.1 of it. The last one only matters if the one before keeps the
    /// promise. It then bounds the answer from above in a fifth fewer trials than twice that load
    /// would, and puts less load on the server.
    pub fn from_knee(rate: f64) -> Self {
        Self {
            candidates: vec![0.5 * rate, 0.9 * rate, 1.1 * rate],
        }
    }
}

/// Why a search cannot start, or why it does not accept a trial.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SearchError {
    /// See [`Goal::loss_ratio`].
    #[error("a loss ratio of {0} is invalid: it must be 0 or more and below 1")]
    LossRatio(f64),
    /// See [`Goal::exceed_ratio`].
    #[error("an exceed ratio of {0} is invalid: it must be 0 or more and below 1")]
    ExceedRatio(f64),
    /// See [`Goal::width`].
    #[error("a width of {0} is invalid: it must be above 0 and at most 1")]
    Width(f64),
    /// See [`Goal::width`].
    #[error(
        "a width of {width} is below the loss ratio of {loss_ratio}: ask for a width of \
         {loss_ratio} or more"
    )]
    Narrow {
        /// The requested width.
        width: f64,
        /// The requested loss ratio.
        loss_ratio: f64,
    },
    /// A duration that is 0 or shorter than a trial.
    #[error("{duration:?} is too short for trials of {trial:?}, which must be longer than 0")]
    Duration {
        /// The total duration of the trials at a load, or that of one trial.
        duration: Duration,
        /// [`Goal::trial_duration`].
        trial: Duration,
    },
    /// See [`Confirm`].
    #[error("a confirmation needs at least one trial at one load")]
    NoConfirmation,
    /// Loads that are not positive, whole or ordered.
    #[error("there is no load to try between {min} and {max}")]
    Loads {
        /// The requested minimum.
        min: f64,
        /// The requested maximum.
        max: f64,
    },
    /// A candidate that is not a valid load.
    #[error("a search cannot start at a load of {0}")]
    Candidate(f64),
    /// A trial at a load outside this search.
    #[error("step {0} is outside the loads of this search")]
    Beyond(i64),
    /// An invalid loss ratio of a trial.
    #[error("a trial cannot have a loss ratio of {0}")]
    Lost(f64),
}
