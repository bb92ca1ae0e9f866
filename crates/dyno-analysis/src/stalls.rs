//! What a stall is, for the verdict, the reports, comparisons and the results file alike.
//!
//! A second *moved* if its rate is more than [`STALL_SHARE`] of the rate of the second in which the
//! median event ended. The *level* is the median of the seconds that moved: a run that stood still
//! for most of its time has one too. A second is *stalled* if its rate is at most [`STALL_SHARE`]
//! of the level. The view `where_did_it_stall` of the results file says the same in SQL.

use std::fmt;

use dyno_core::record::RunRecord;
pub use dyno_stats::stalls::STALL_SHARE;

use crate::course::{self, Bin};

/// Fewer whole seconds have no level to speak of.
pub const SECONDS_MIN: usize = 5;

/// Below so many events a second a second without any may be chance: of twenty Poisson arrivals
/// one in a hundred million is.
pub const LEVEL_MIN_PER_S: f64 = 20.0;

/// A worker that was away from its sockets for so long held up its sessions, in milliseconds: ten
/// times what a scheduler keeps a thread waiting on a crowded host; scripts that block and frozen
/// machines reach it.
pub const WORKER_STALL_MS: f64 = 500.0;

/// A silence of the load generator's clock, in which no statement ended, is a stall from this
/// length on, in seconds: shorter ones are what a disk or a scheduler takes now and then.
pub const SILENCE_MIN_S: f64 = 0.2;

/// And if so many events would have ended meanwhile: fewer may take their time.
pub const SILENCE_EVENTS_MIN: f64 = 50.0;

/// Whether a silence is a stall, at so many events a second while events end.
pub fn is_stall(length_s: f64, level_per_s: f64) -> bool {
    length_s >= SILENCE_MIN_S && length_s * level_per_s >= SILENCE_EVENTS_MIN
}

/// The stalls of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalls {
    /// Events per second of the seconds that moved.
    pub level_per_s: f64,
    /// Stalled seconds in a row, in the order of time.
    pub spans: Vec<Span>,
    /// The length of the measurement's whole seconds.
    pub measured_s: f64,
    /// The time after which they recur, if they do so regularly.
    pub period_s: Option<f64>,
    /// Which of the run's whole seconds are stalled.
    pub stalled: Vec<bool>,
}

/// Stalled seconds in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Since the start of the measurement.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// Why stalls cannot be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TooLittle {
    /// So many whole seconds are fewer than [`SECONDS_MIN`].
    Seconds(usize),
    /// The level, below [`LEVEL_MIN_PER_S`].
    Level(f64),
    /// No event ended, so that nothing can have stopped.
    Nothing,
}

impl Span {
    /// How long it lasted.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

impl Stalls {
    /// How long all of them lasted together.
    pub fn stalled_s(&self) -> f64 {
        self.spans.iter().map(Span::length_s).sum()
    }

    /// How long the longest lasted, 0 without any.
    pub fn longest_s(&self) -> f64 {
        self.spans.iter().map(Span::length_s).fold(0.0, f64::max)
    }

    /// The share of the time, 0 to 1.
    pub fn share(&self) -> f64 {
        (self.stalled_s() / self.measured_s).min(1.0)
    }

    /// Of a value for each whole second, those of the seconds that were not stalled.
    pub fn moving(&self, values: &[f64]) -> Vec<f64> {
        let with = values.iter().zip(&self.stalled);
        with.filter(|(_, stalled)| !**stalled)
            .map(|(value, _)| *value)
            .collect()
    }
}

impl fmt::Display for TooLittle {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(
                to,
                "{seconds} whole second{} are too few to tell a stall; it needs {SECONDS_MIN}",
                if *seconds == 1 { "" } else { "s" }
            ),
            Self::Level(level) => write!(
                to,
                "at {level:.1} events per second a quiet second may be chance; it needs \
                 {LEVEL_MIN_PER_S}"
            ),
            Self::Nothing => write!(to, "no event ended, so that nothing can have stopped"),
        }
    }
}

/// The stalls of a run's measurement.
///
/// # Errors
/// [`TooLittle`] where they cannot be told.
pub fn of(run: &RunRecord) -> Result<Stalls, TooLittle> {
    of_course(&course::of(run))
}

/// The stalls of whole seconds.
///
/// # Errors
/// [`TooLittle`] where they cannot be told.
pub fn of_course(course: &[Bin]) -> Result<Stalls, TooLittle> {
    if course.len() < SECONDS_MIN {
        return Err(TooLittle::Seconds(course.len()));
    }
    let rates: Vec<f64> = course.iter().map(Bin::events_per_s).collect();
    let events: Vec<f64> = (course.iter())
        .map(|bin| bin.counters.events as f64)
        .collect();
    let found = dyno_stats::stalls::stalls(&rates, &events, STALL_SHARE);
    let found = found.ok_or(TooLittle::Nothing)?;
    if found.level < LEVEL_MIN_PER_S {
        return Err(TooLittle::Level(found.level));
    }
    let measured_s: f64 = course.iter().map(|bin| bin.length_s).sum();
    let usual_s = measured_s / course.len() as f64;
    let mut stalled = vec![false; course.len()];
    let mut spans = Vec::new();
    for run in &found.runs {
        let within = run.start..run.start + run.length;
        stalled[within.clone()].fill(true);
        if let [first, .., last] | [first @ last] = &course[within] {
            spans.push(Span {
                from_s: first.from_s(),
                to_s: last.at_s,
            });
        }
    }
    Ok(Stalls {
        level_per_s: found.level,
        spans,
        measured_s,
        period_s: found.period.map(|steps| steps * usual_s),
        stalled,
    })
}

#[cfg(test)]
mod tests;
