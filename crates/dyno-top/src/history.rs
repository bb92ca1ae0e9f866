//! Recent snapshots, to step back to.

use std::collections::VecDeque;
use std::sync::Arc;

use dyno_core::clock::Nanos;

use crate::figures::Values;
use crate::rates::Shown;

/// The maximum number of snapshots: two minutes at one per second.
const SNAPSHOTS_MAX: usize = 120;

/// The content of a screen at a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// Seconds since the Unix epoch.
    pub(crate) unix_s: f64,
    /// The values, and when they were read.
    pub(crate) now: Option<(Nanos, Arc<Values>)>,
    /// The values before.
    pub(crate) before: Option<(Nanos, Arc<Values>)>,
    /// The rows of each table.
    pub(crate) shown: Vec<Shown>,
}

/// The recent snapshots of a screen, and the one that is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    moments: VecDeque<Moment>,
    /// Steps back from the newest.
    back: usize,
}

impl History {
    /// Adds the newest snapshot, and shows it.
    pub(crate) fn add(&mut self, moment: Moment) {
        self.moments.push_back(moment);
        if self.moments.len() > SNAPSHOTS_MAX {
            self.moments.pop_front();
        }
        self.back = 0;
    }

    /// Steps to the snapshot before or after the shown one; at either end the shown one stays.
    pub(crate) fn step(&mut self, back: bool) -> Option<&Moment> {
        let oldest = self.moments.len().saturating_sub(1);
        self.back = match back {
            true => (self.back + 1).min(oldest),
            false => self.back.saturating_sub(1),
        };
        self.moments.get(oldest - self.back)
    }

    /// The newest snapshot, which is then shown.
    pub(crate) fn newest(&mut self) -> Option<&Moment> {
        self.back = 0;
        self.moments.back()
    }

    /// How long before the newest snapshot the shown one was made, in seconds.
    pub(crate) fn ago_s(&self) -> Option<f64> {
        let oldest = self.moments.len().saturating_sub(1);
        let shown = self.moments.get(oldest - self.back)?;
        let newest = self.moments.back()?;
        (self.back > 0).then_some(newest.unix_s - shown.unix_s)
    }
}
