//! What each procedure promises, as cases. The tests run as many trials as fit into a second;
//! `examples/error_rates.rs` prints the cases with ten thousand trials.

use super::{Source, share_of};

/// The share of the trials in which a case should hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Asked {
    AtLeast(f64),
    AtMost(f64),
}

pub(crate) struct Case {
    pub procedure: &'static str,
    /// The series, and the event that is counted.
    pub of: String,
    pub asked: Asked,
    pub trial: Box<dyn Fn(&mut Source) -> bool>,
}

impl Case {
    pub(crate) fn new(
        procedure: &'static str,
        of: impl Into<String>,
        asked: Asked,
        trial: impl Fn(&mut Source) -> bool + 'static,
    ) -> Self {
        Self {
            procedure,
            of: of.into(),
            asked,
            trial: Box::new(trial),
        }
    }

    pub(crate) fn measured(&self, trials: usize) -> f64 {
        let seed = self.of.bytes().fold(7, |seed: u64, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        share_of(trials, seed, |source| (self.trial)(source))
    }

    /// Fails if the share deviates from the expected one by more than three standard errors.
    #[track_caller]
    pub(crate) fn hold(&self, trials: usize) {
        let share = self.measured(trials);
        let room = |asked: f64| 3.0 * (asked * (1.0 - asked) / trials as f64).sqrt();
        let holds = match self.asked {
            Asked::AtLeast(asked) => share >= asked - room(asked),
            Asked::AtMost(asked) => share <= asked + room(asked),
        };
        let Self {
            procedure,
            of,
            asked,
            ..
        } = self;
        assert!(
            holds,
            "{procedure}, {of}: {share} of {trials}, asked {asked:?}"
        );
    }
}
