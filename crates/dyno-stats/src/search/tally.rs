//! The combined result of the trials at one load.
//!
//! The formulas are those of draft-ietf-bmwg-mlrsearch-15, appendices "Load Classification Code"
//! and "Conditional Throughput Code".

use std::time::Duration;

use super::goal::Goal;

/// The class of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The load kept the promise, and the missing trials cannot change that.
    Lower,
    /// The load broke the promise, and the missing trials cannot change that.
    Upper,
    /// The missing trials decide.
    Undecided,
}

/// A trial that counts, with its loss ratio, its duration, and whether it kept the promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) good: bool,
    pub(super) loss_ratio: f64,
    pub(super) duration: Duration,
}

/// The trials at a load. Sums are exact, so that the order of trials cannot matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    sums: Sums,
    pub(super) good: usize,
    pub(super) bad: usize,
    /// All long trials, including the confirming ones: good ones first, then by ascending loss.
    long: Vec<Counted>,
    pub(super) confirmed: usize,
    pub(super) broken: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Sums {
    good_long: Duration,
    bad_long: Duration,
    good_short: Duration,
    bad_short: Duration,
}

/// One in this many confirming trials may break the promise. A majority would say no more than a
/// coin toss: by chance alone, six or more of ten trials keep it in 38 of 100 cases, but eight or
/// more only in 5.
const BROKEN_SHARE: usize = 5;
/// Rounding error of a share of a duration.
const ROUNDING: f64 = 1e-9;

impl Tally {
    pub(super) fn vote(&mut self, goal: &Goal, trial: Counted) {
        let sums = &mut self.sums;
        let long = trial.duration >= goal.trial_duration;
        let sum = match (trial.good, long) {
            (true, true) => &mut sums.good_long,
            (false, true) => &mut sums.bad_long,
            (true, false) => &mut sums.good_short,
            (false, false) => &mut sums.bad_short,
        };
        *sum = sum.saturating_add(trial.duration);
        if trial.good {
            self.good += 1;
        } else {
            self.bad += 1;
        }
        self.keep(goal, trial);
    }

    /// Adds a trial that confirms or refutes the class that was voted. A short trial can only count
    /// against the load.
    pub(super) fn confirm(&mut self, goal: &Goal, trial: Counted) {
        if !trial.good {
            self.broken += 1;
        } else if trial.duration >= goal.trial_duration {
            self.confirmed += 1;
        }
        self.keep(goal, trial);
    }

    fn keep(&mut self, goal: &Goal, trial: Counted) {
        if trial.duration < goal.trial_duration {
            return;
        }
        let key = |trial: &Counted| (!trial.good, trial.loss_ratio, trial.duration);
        let before = |other: &Counted| key(other) <= key(&trial);
        let at = self.long.partition_point(before);
        self.long.insert(at, trial);
    }

    pub(super) fn voted(&self, goal: &Goal) -> Class {
        let [good_long, bad_long, good_short, bad_short] = [
            self.sums.good_long,
            self.sums.bad_long,
            self.sums.good_short,
            self.sums.bad_short,
        ]
        .map(|sum| sum.as_secs_f64());
        let exceed = goal.exceed_ratio;
        // Short trials only count against a load, by those bad ones that no good ones offset.
        let excess = bad_long + (bad_short - good_short * exceed / (1.0 - exceed)).max(0.0);
        let whole = (good_long + excess).max(goal.duration_sum.as_secs_f64());
        let allowed = (exceed + ROUNDING) * whole;
        if excess > allowed {
            Class::Upper
        } else if whole - good_long <= allowed {
            Class::Lower
        } else {
            Class::Undecided
        }
    }

    /// The result of the confirming trials, if the missing ones cannot change it. At most one in
    /// [`BROKEN_SHARE`] of them may break the promise.
    pub(super) fn confirmation(&self, goal: &Goal) -> Class {
        let Some(confirm) = &goal.confirm else {
            return Class::Undecided;
        };
        let whole = (self.confirmed + self.broken).max(confirm.trials);
        let allowed = whole / BROKEN_SHARE;
        if self.broken > allowed {
            Class::Upper
        } else if self.confirmed >= whole - allowed {
            Class::Lower
        } else {
            Class::Undecided
        }
    }

    /// The final class, from the confirming trials or else from the votes.
    pub(super) fn class(&self, goal: &Goal) -> Class {
        match self.confirmation(goal) {
            Class::Undecided => self.voted(goal),
            class => class,
        }
    }

    /// The loss ratio that all long trials but the allowed share do not exceed. Missing duration
    /// counts as lost. `None` if there is no long trial.
    pub(super) fn quantile_loss(&self, goal: &Goal) -> Option<f64> {
        let durations = self.long.iter().map(|trial| trial.duration);
        let measured = durations.fold(Duration::ZERO, Duration::saturating_add);
        let whole = measured.max(goal.duration_sum).as_secs_f64();
        let mut remaining = whole * (1.0 - goal.exceed_ratio - ROUNDING);
        let mut quantile = None;
        for trial in &self.long {
            if quantile.is_some() && remaining <= 0.0 {
                return quantile;
            }
            quantile = Some(trial.loss_ratio);
            remaining -= trial.duration.as_secs_f64();
        }
        if remaining > 0.0 {
            return quantile.map(|_| 1.0);
        }
        quantile
    }
}

/// The draft's "Example Search": four goals, six points in time, one load.
#[cfg(test)]
mod vectors {
    use super::*;

    fn goal(trial: u64, sum: u64, loss_ratio: f64, exceed_ratio: f64) -> Goal {
        Goal {
            exceed_ratio,
            duration_sum: Duration::from_secs(sum),
            trial_duration: Duration::from_secs(trial),
            ..Goal::new(loss_ratio)
        }
    }

    fn goals() -> [Goal; 4] {
        [
            goal(60, 60, 0.0, 0.0),
            goal(60, 120, 0.0, 0.5),
            goal(1, 120, 0.005, 0.5),
            goal(60, 60, 0.005, 0.2),
        ]
    }

    /// Count, seconds and loss ratio of the trials added at each point.
    const ADDED: [(usize, u64, f64); 6] = [
        (59, 1, 0.0),
        (1, 1, 0.01),
        (59, 1, 0.01),
        (1, 1, 0.0),
        (1, 60, 0.001),
        (1, 60, 0.0),
    ];

    fn add(tally: &mut Tally, goal: &Goal, (count, seconds, loss_ratio): (usize, u64, f64)) {
        for _ in 0..count {
            let trial = Counted {
                good: loss_ratio <= goal.loss_ratio,
                loss_ratio,
                duration: Duration::from_secs(seconds),
            };
            tally.vote(goal, trial);
        }
    }

    /// The draft's table calls the load a lower bound for the last goal at the last two points, but
    /// gives exceed ratios of 43 and 27 % there, for a goal of 20 %. Its code computes an upper
    /// bound, which this test expects.
    #[test]
    fn classifications_of_the_draft() {
        use Class::{Lower, Undecided, Upper};
        let expected = [
            [Undecided, Upper, Upper, Upper, Upper, Upper],
            [Undecided, Undecided, Undecided, Undecided, Undecided, Lower],
            [Undecided, Undecided, Undecided, Lower, Lower, Lower],
            [Undecided, Undecided, Upper, Upper, Upper, Upper],
        ];
        for (goal, expected) in goals().iter().zip(expected) {
            let mut tally = Tally::default();
            let found = ADDED.map(|added| {
                add(&mut tally, goal, added);
                tally.voted(goal)
            });
            assert_eq!(found, expected, "{goal:?}");
        }
    }

    #[test]
    fn conditional_rates_of_the_draft() {
        let found = goals().map(|goal| {
            let mut tally = Tally::default();
            for added in ADDED {
                add(&mut tally, &goal, added);
            }
            let loss = tally.quantile_loss(&goal).unwrap();
            (1e6 * (1.0 - loss)).round()
        });
        assert_eq!(found[1..], [1_000_000.0, 1_000_000.0, 999_000.0]);
    }

    /// A server limited to 100 keeps a loss ratio of 0.5 % up to 100.5025.
    #[test]
    fn a_hard_limit_shows_in_the_conditional_rate() {
        let goal = goal(1, 3, 0.005, 0.5);
        let load = 100.0 / 0.995;
        let mut tally = Tally::default();
        add(&mut tally, &goal, (3, 1, 0.005));
        assert_eq!(tally.voted(&goal), Class::Lower);
        let rate = load * (1.0 - tally.quantile_loss(&goal).unwrap());
        assert!((rate - 100.0).abs() < 1e-9);
    }

    #[test]
    fn unmeasured_trials_count_as_lost() {
        let goal = goal(10, 70, 0.01, 0.5);
        let mut tally = Tally::default();
        assert_eq!(tally.quantile_loss(&goal), None);
        add(&mut tally, &goal, (3, 10, 0.0));
        assert_eq!(tally.quantile_loss(&goal), Some(1.0));
        add(&mut tally, &goal, (1, 10, 0.005));
        assert_eq!(tally.quantile_loss(&goal), Some(0.005));
        assert_eq!(tally.voted(&goal), Class::Lower);
    }

    /// A trial that broke another promise must not improve the rate because it lost nothing.
    #[test]
    fn good_trials_make_the_conditional_rate() {
        let goal = goal(10, 70, 0.01, 0.5);
        let mut tally = Tally::default();
        add(&mut tally, &goal, (1, 10, 0.009));
        add(&mut tally, &goal, (3, 10, 0.006));
        for _ in 0..3 {
            let trial = Counted {
                good: false,
                loss_ratio: 0.0,
                duration: Duration::from_secs(10),
            };
            tally.vote(&goal, trial);
        }
        assert_eq!(tally.voted(&goal), Class::Lower);
        assert_eq!(tally.quantile_loss(&goal), Some(0.009));
    }

    /// The seventh vote decides at the latest; four equal votes decide at the earliest.
    #[test]
    fn votes_end_when_the_rest_cannot_change_them() {
        let goal = goal(10, 70, 0.01, 0.5);
        let mut tally = Tally::default();
        add(&mut tally, &goal, (3, 10, 0.0));
        add(&mut tally, &goal, (3, 10, 1.0));
        assert_eq!(tally.voted(&goal), Class::Undecided);
        let mut kept = tally.clone();
        add(&mut kept, &goal, (1, 10, 0.0));
        assert_eq!(kept.voted(&goal), Class::Lower);
        add(&mut tally, &goal, (1, 10, 1.0));
        assert_eq!(tally.voted(&goal), Class::Upper);
    }
}
