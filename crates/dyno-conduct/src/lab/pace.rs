//! The progress of an experiment, and the time its trials take.

use std::collections::BTreeMap;

use dyno_lab::Progress;
use dyno_results::TrialState;

use super::Lab;

/// Numbers of trials, and their time.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Number of trials.
    pub all: usize,
    /// Number of finished trials, including those of earlier processes.
    pub done: usize,
    /// Total time of the finished trials, including those of earlier processes, in seconds.
    pub took_s: f64,
    /// The plan's time for all trials, in seconds.
    planned_s: f64,
}

/// How many trials run during the same time: two in a duet.
fn trials_at_once(lab: &Lab) -> usize {
    lab.experiment.duet().map_or(1, |_| 2)
}

impl Pace {
    /// The progress of an experiment whose trials are in these states.
    pub fn of(lab: &Lab, states: &BTreeMap<String, TrialState>) -> Self {
        let progress = lab.progress(states).into_iter();
        let took_ms = states.values().filter_map(|state| state.took_ms);
        Self {
            all: lab.planned.len(),
            done: progress.filter(|one| *one == Progress::Done).count(),
            took_s: took_ms.sum::<u64>() as f64 / 1e3 / trials_at_once(lab) as f64,
            planned_s: lab.trials.cost.time.as_secs_f64(),
        }
    }

    /// Number of trials left.
    pub fn left(&self) -> usize {
        self.all.saturating_sub(self.done)
    }

    /// Estimated time of the trials left, in seconds.
    pub fn left_s(&self) -> f64 {
        self.left() as f64 * self.each_s()
    }

    /// Estimated time of all trials, in seconds.
    pub(super) fn all_s(&self) -> f64 {
        self.all as f64 * self.each_s()
    }

    /// Adds finished trials, which took this long together.
    pub(super) fn add(&mut self, trials: usize, took_s: f64) {
        self.done += trials;
        self.took_s += took_s;
    }

    /// A trial's expected time, in seconds: the mean of the finished ones, which `dyno lab status`
    /// shows, or the plan's if none has finished.
    fn each_s(&self) -> f64 {
        match self.done {
            done if done > 0 && self.took_s > 0.0 => self.took_s / done as f64,
            _ => self.planned_s / self.all.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_counts_until_a_trial_is_done() {
        let mut pace = Pace {
            all: 4,
            done: 0,
            took_s: 0.0,
            planned_s: 40.0,
        };
        assert_eq!((pace.left(), pace.left_s(), pace.all_s()), (4, 40.0, 40.0));
        pace.add(1, 30.0);
        pace.add(1, 10.0);
        assert_eq!((pace.left(), pace.left_s(), pace.all_s()), (2, 40.0, 80.0));
    }
}
