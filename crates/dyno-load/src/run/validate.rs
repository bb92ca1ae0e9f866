//! Checks of a run's configuration.

use std::time::Duration;

use dyno_core::plan::{Drive, Scheduled};
use dyno_core::session::Entry;

use super::{RunConfig, SESSIONS_MAX};
use crate::arrivals::RATE_MAX;
use crate::outcome::LoadError;

pub(super) fn validate(config: &RunConfig) -> Result<(), LoadError> {
    let drive = &config.drive;
    let refuse = |message: &str| Err(LoadError::Config(message.to_owned()));
    if drive.sessions == 0 || drive.workers == 0 {
        return refuse("a run needs at least one session and one worker");
    }
    if drive.sessions > SESSIONS_MAX {
        return Err(LoadError::Config(format!(
            "{} sessions are too many; a run can have at most {SESSIONS_MAX}",
            drive.sessions
        )));
    }
    if let Some(shard) = &drive.shard
        && (!shard.is_valid() || drive.own().sessions == 0)
    {
        return Err(LoadError::Config(format!(
            "shard {shard} has none of the run's {} sessions",
            drive.sessions
        )));
    }
    if drive.interval < Duration::from_millis(10) {
        return refuse("the reporting interval must be at least 10 ms");
    }
    if !matches!(config.entry, Entry::Run | Entry::Command(_)) {
        return refuse("a run's sessions can run the workload or a command, nothing else");
    }
    let cast: u64 = drive
        .roles
        .iter()
        .map(|role| u64::from(role.sessions))
        .sum();
    if !drive.roles.is_empty() && cast != u64::from(drive.sessions) {
        return refuse("the roles do not have as many sessions as the run");
    }
    if !drive.roles.is_empty() && drive.roles.iter().all(|role| role.background) {
        return refuse("a run needs at least one role in the foreground");
    }
    scheduled(drive)?;
    let rates = drive.roles.iter().filter_map(|role| role.pace);
    let rates = rates.map(|pace| pace.arrivals.per_second);
    let possible = |rate: f64| rate > 0.0 && rate <= RATE_MAX;
    if rates.into_iter().any(|rate| !possible(rate)) {
        return refuse("a role's rate must be above 0 and at most 10,000,000 per second");
    }
    match drive.open_loop {
        Some(open) if !possible(open.per_second) => refuse(
            "the rate must be above 0 and at most 10,000,000 events per second; \
             without a rate events follow each other as fast as they can",
        ),
        _ => Ok(()),
    }
}

/// Checks a schedule.
fn scheduled(drive: &Drive) -> Result<(), LoadError> {
    let refuse = |message: &str| Err(LoadError::Config(message.to_owned()));
    let Some(schedule) = &drive.schedule else {
        return Ok(());
    };
    schedule.validate().map_err(LoadError::Config)?;
    let time_s = drive.time.map(|time| time.as_secs_f64());
    if time_s.is_none_or(|time_s| (time_s - schedule.seconds()).abs() > 1e-6) {
        return refuse("a schedule's parts must add up to the length of the run");
    }
    match schedule.of {
        Scheduled::Rate if drive.open_loop.is_none() => {
            refuse("a schedule of the rate needs an open loop")
        }
        Scheduled::Rate if schedule.max() > RATE_MAX => {
            refuse("a schedule's rate must be at most 10,000,000 events per second")
        }
        Scheduled::Sessions if schedule.max() != f64::from(drive.sessions) => {
            refuse("a run has as many sessions as the most of its schedule")
        }
        Scheduled::Sessions if !drive.roles.is_empty() => refuse(
            "sessions cannot have a schedule where the script's roles say what each session does",
        ),
        Scheduled::Sessions if drive.open_loop.is_some() => {
            refuse("sessions cannot have a schedule in an open loop, where the rate is the load")
        }
        _ => Ok(()),
    }
}
