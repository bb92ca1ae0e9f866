//! The stalls that the verdict has stored with a run. Reports, comparisons and tables show them,
//! and the view `where_did_it_stall` of the results file reads them.

use dyno_core::finding::Stall;
use dyno_core::record::RunRecord;

use super::{Shortest, Stalls, TooLittle, of_bins};
use crate::bins::{self, Bin, ROOM_S};

/// The stalls of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunStalls {
    /// The stalls in order of time.
    pub stalls: Vec<Stall>,
    /// The length of the whole seconds of the measurement.
    measured_s: f64,
}

impl RunStalls {
    /// The total length in seconds.
    pub fn stalled_s(&self) -> f64 {
        // `sum()` of an empty list is -0.0.
        let lengths = self.stalls.iter().map(Stall::length_s);
        lengths.fold(0.0, |a, b| a + b)
    }

    /// The length of the longest stall in seconds, or 0 without stalls.
    pub fn longest_s(&self) -> f64 {
        self.stalls.iter().map(Stall::length_s).fold(0.0, f64::max)
    }

    /// The share of the time, 0 to 1. `None` if the record has no whole second.
    pub fn share(&self) -> Option<f64> {
        let known = self.measured_s > 0.0;
        known.then(|| (self.stalled_s() / self.measured_s).min(1.0))
    }
}

/// The stalls that the verdict of the run has stored. Without a verdict, those in the record.
///
/// # Errors
/// [`TooLittle`] if none are stored and the record cannot show them.
pub fn of_run(run: &RunRecord) -> Result<RunStalls, TooLittle> {
    let bins = bins::of(run);
    let measured_s = bins.iter().map(|bin| bin.length_s).sum();
    let kept = run.findings.iter().find_map(|one| one.stalls.as_ref());
    let stalls = match kept {
        Some(kept) => kept.clone(),
        None => {
            let bins = levelled(run, bins);
            of_bins(&bins, &run.events, Shortest::of(run))?.list(&bins)
        }
    };
    Ok(RunStalls { stalls, measured_s })
}

impl Stalls {
    /// The stalls as the verdict stores them. No event ended in a silence; for whole seconds the
    /// number of events is in the record.
    pub fn list(&self, bins: &[Bin]) -> Vec<Stall> {
        let stall = |span: &super::Span| {
            let within =
                |bin: &&Bin| bin.from_s() >= span.from_s - ROOM_S && bin.at_s <= span.to_s + ROOM_S;
            let (mut events, mut length_s) = (0.0, 0.0);
            for bin in bins.iter().filter(within) {
                events += bin.events;
                length_s += bin.length_s;
            }
            let silent = self.silences.contains(span) || length_s <= 0.0;
            Stall {
                from_s: span.from_s,
                to_s: span.to_s,
                events_per_s: if silent { 0.0 } else { events / length_s },
                level_per_s: self.level_per_s,
            }
        };
        self.spans.iter().map(stall).collect()
    }
}

/// The whole seconds of a scheduled load, scaled to its mean level. Leaves out seconds with a
/// scheduled load of 0. Other loads are unchanged.
fn levelled(run: &RunRecord, bins: Vec<Bin>) -> Vec<Bin> {
    let drive = run.head.drive.as_ref();
    let Some(schedule) = drive.and_then(|drive| drive.schedule.as_ref()) else {
        return bins;
    };
    let mean = schedule.mean();
    let at_mean = |mut bin: Bin| {
        let level = schedule.mean_within(bin.from_s(), bin.at_s);
        bin.events *= mean / level;
        (level > 0.0).then_some(bin)
    };
    bins.into_iter().filter_map(at_mean).collect()
}
