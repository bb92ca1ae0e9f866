//! A search: the run to repeat at different loads, and the terms.

use std::time::Duration;

use anyhow::Result;
use dyno_analysis::search::Searched;
use dyno_core::plan::{Arrivals, OpenLoop, RecordPlan};
use dyno_run::{Sinks, cores};
use dyno_stats::search::Goal;

use super::promise::Promise;
use crate::command::Command;
use crate::fleet::Fleet;
use crate::hosts::Hosts;
use crate::usage;

/// Default settling time of each trial.
const SETTLE: Duration = Duration::from_secs(3);
/// Default number of sessions of an open loop.
const SESSIONS: u32 = 64;
/// Default number of votes on a load.
const VOTES: u64 = 7;
/// An open loop whose rate each trial replaces.
const OPEN_LOOP: OpenLoop = OpenLoop {
    per_second: 1.0,
    arrivals: Arrivals::Poisson,
};

/// A search.
pub struct Ask {
    /// A run of the workload, whose load each trial replaces.
    pub base: Command,
    /// The factor level that identifies its runs.
    pub name: String,
    /// The promise, and how to judge whether a load keeps it.
    pub terms: Terms,
    /// No database runs outside the load generator, so late events cannot be attributed to one of
    /// them.
    pub is_embedded: bool,
}

impl Ask {
    /// A search that runs this workload.
    ///
    /// # Errors
    /// The workload has phases, or a setting is invalid.
    pub fn new(
        base: Command,
        hosts: &Hosts,
        promise: Promise,
        name: String,
        settings: &SearchSettings,
    ) -> Result<Self> {
        if !base.plan.phases.is_empty() {
            return Err(usage(format!(
                "{} has phases, each a separate run: dyno search cannot run it",
                base.plan.workload
            )));
        }
        let fleet = hosts.fleet.as_ref();
        let fewest = fleet.map_or(Ok(1), Fleet::fewest_sessions)?;
        let target = base.loaded.job.target.as_ref();
        let is_embedded = target.is_none_or(|target| target.family.is_embedded());
        let usual = if is_embedded { cores() } else { SESSIONS };
        Ok(Self {
            terms: Terms::new(promise, settings, fewest, usual)?,
            is_embedded,
            base,
            name,
        })
    }

    /// The search for the load of an experiment's trial.
    ///
    /// # Errors
    /// A script raised an error, or as for [`Self::new`].
    pub fn of_trial(
        trial: &Command,
        hosts: &Hosts,
        promise: Promise,
        name: String,
        settings: &SearchSettings,
    ) -> Result<Self> {
        let mut drive = trial.drive().clone();
        if promise.of == Searched::Rate {
            drive.open_loop = drive.open_loop.or(Some(OPEN_LOOP));
        }
        let record = RecordPlan {
            statements: false,
            explain: Vec::new(),
            cpu_profile: false,
            ..trial.plan.record.clone()
        };
        let base = trial.under(drive, record, &Sinks::default())?;
        Self::new(base, hosts, promise, name, settings)
    }
}

/// The user's settings. Missing ones have defaults.
#[derive(Clone, Debug, Default)]
pub struct SearchSettings {
    /// The first load.
    pub from: Option<f64>,
    /// The largest gap between the bounds, as a share of the lower one.
    pub width: Option<f64>,
    /// Number of votes on a load.
    pub votes: Option<u64>,
    /// Longer trials and a smaller width.
    pub thorough: bool,
    /// The measured time of each trial.
    pub time: Option<Duration>,
    /// Settling time of each trial.
    pub settle: Option<Duration>,
    /// Sessions of an open loop.
    pub sessions: Option<u64>,
    /// The seed of the first run; each later one has the next.
    pub seed: Option<u64>,
}

/// The promise of a search, and how to judge whether a load keeps it.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The promise to keep.
    pub promise: Promise,
    /// The required confidence.
    pub goal: Goal,
    /// Number of votes on a load.
    pub votes: u32,
    /// Settling time of each trial.
    pub settle: Duration,
    /// Sessions of an open loop.
    pub sessions: u32,
    /// Minimum sessions of a run: one for each load generator.
    pub fewest: u32,
    /// The first load; `None` to find one.
    pub from: Option<f64>,
    /// The seed of the first run, each later one has the next; `None` for one from the clock.
    pub seed: Option<u64>,
}

impl Terms {
    /// The terms for a promise, with the minimum and the default number of sessions.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn new(
        promise: Promise,
        settings: &SearchSettings,
        fewest: u32,
        usual: u32,
    ) -> Result<Self> {
        let (goal, votes) = goal(&promise, settings)?;
        // A closed loop's sessions are its load.
        let sessions = settings.sessions.filter(|_| promise.of == Searched::Rate);
        Ok(Self {
            settle: settings.settle.unwrap_or(SETTLE),
            sessions: possible(sessions.unwrap_or(usual.max(fewest).into()), fewest)?,
            fewest,
            from: settings.from,
            seed: settings.seed,
            promise,
            goal,
            votes,
        })
    }
}

/// The required confidence and the number of votes.
fn goal(promise: &Promise, settings: &SearchSettings) -> Result<(Goal, u32)> {
    let loss_ratio = promise
        .latencies
        .first()
        .map_or(0.01, |own| own.loss_ratio());
    let usual = match settings.thorough {
        true => Goal::thorough(loss_ratio),
        false => Goal::new(loss_ratio),
    };
    let time = settings.time.unwrap_or(usual.trial_duration);
    if time.is_zero() {
        return Err(usage("--time, the length of each trial, must be above 0"));
    }
    let votes = u32::try_from(settings.votes.unwrap_or(VOTES))
        .ok()
        .filter(|votes| (1..=1001).contains(votes));
    let votes = votes.ok_or_else(|| usage("--votes must be between 1 and 1001"))?;
    let width = settings.width.unwrap_or(usual.width);
    if width < loss_ratio {
        return Err(usage(format!(
            "--width: {} % is too narrow for a promise that allows {} % of the events to be late; \
             give at least that much",
            width * 100.0,
            loss_ratio * 100.0
        )));
    }
    let goal = Goal {
        trial_duration: time,
        duration_sum: time * votes,
        width,
        ..usual
    };
    Ok((goal, votes))
}

fn possible(sessions: u64, fewest: u32) -> Result<u32> {
    let possible = u32::try_from(sessions).ok();
    possible
        .filter(|sessions| (1..=dyno_load::SESSIONS_MAX).contains(sessions))
        .filter(|sessions| *sessions >= fewest)
        .ok_or_else(|| usage(format!("--sessions: {sessions} is out of range")))
}
