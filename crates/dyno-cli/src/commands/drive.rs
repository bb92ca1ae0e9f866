//! Reads how to drive a run (its `Drive`) from the command line.

use std::time::Duration;

use anyhow::Result;
use dyno_core::clock::wall_time;
use dyno_core::plan::{Arrivals, Drive, LoadSchedule, OpenLoop, Portion, Scheduled, Shard};
use dyno_core::units::{self, format_duration};
use dyno_load::{RATE_MAX, SESSIONS_MAX};

use crate::fleet_options;
use crate::options::Parsed;
use crate::settings::{self, usage};
use dyno_run::cores;

/// Below this, an interval's overhead dominates.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// The longest spin before an arrival.
const SPIN_MAX: Duration = Duration::from_millis(1);

/// Default warm-up of `dyno run`.
const WARMUP: Duration = Duration::from_secs(2);

/// The `Drive` of `dyno run`'s options.
///
/// # Errors
/// Invalid values.
pub(super) fn drive(parsed: &Parsed) -> Result<Drive> {
    let usual = Drive::default();
    let schedule = schedule(parsed)?;
    let sessions = sessions(parsed, schedule.as_ref())?;
    let events = settings::count(parsed, "events", 0)?;
    // With a number of events, the run has a time limit only on request.
    let time = if events > 0 {
        Duration::ZERO
    } else {
        Duration::from_secs(30)
    };
    let time = match &schedule {
        Some(schedule) => Duration::try_from_secs_f64(schedule.seconds())
            .map_err(|_| usage("the schedule is longer than a run can be"))?,
        None => settings::duration(parsed, "time", time)?,
    };
    Ok(Drive {
        sessions,
        workers: settings::workers(parsed)?
            .unwrap_or_else(cores)
            .min(sessions),
        time: (!time.is_zero()).then_some(time),
        events: (events > 0).then_some(events),
        warmup: settings::duration(parsed, "warmup", WARMUP)?,
        grace: settings::duration(parsed, "grace", usual.grace)?,
        ramp_up: settings::duration(parsed, "ramp-up", usual.ramp_up)?,
        open_loop: open_loop(parsed, schedule.as_ref())?,
        schedule,
        latency_limit: latency_limit(parsed)?,
        spin: spin(parsed)?,
        roles: Vec::new(),
        init_timeout: settings::duration(parsed, "init-timeout", usual.init_timeout)?,
        interval: interval(parsed, usual.interval)?,
        seed: settings::seed(parsed, "seed")?,
        shard: shard(parsed, sessions)?,
        begin_unix_s: begin(parsed)?,
    })
}

/// A schedule of the rate or of the sessions.
fn schedule(parsed: &Parsed) -> Result<Option<LoadSchedule>> {
    let of = |name: &str, of: Scheduled| {
        let text = parsed.value(name).filter(|text| LoadSchedule::is_one(text));
        text.map(|text| (name.to_owned(), text.to_owned(), of))
    };
    let rate = of("rate", Scheduled::Rate);
    let (name, text, what) = match (rate, of("sessions", Scheduled::Sessions)) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(usage(
                "--rate and --sessions cannot both have a schedule; give it to one of them",
            ));
        }
        (Some(found), None) | (None, Some(found)) => found,
    };
    let time = match parsed.has("time") {
        true => Some(settings::duration(parsed, "time", Duration::ZERO)?),
        false => None,
    };
    if what == Scheduled::Sessions && parsed.has("rate") {
        return Err(usage(
            "--sessions has a schedule, but with --rate the load does not depend on the sessions; \
             give the schedule to --rate",
        ));
    }
    let ramp_up = settings::duration(parsed, "ramp-up", Duration::ZERO)?;
    if what == Scheduled::Sessions && !ramp_up.is_zero() {
        return Err(usage(
            "--ramp-up has no effect with a schedule of --sessions; make a ramp its first part",
        ));
    }
    if settings::count(parsed, "events", 0)? > 0 {
        return Err(usage(format!(
            "--events has no effect with a schedule of --{name}, which sets the length of the run"
        )));
    }
    let read = LoadSchedule::parse(&text, what, time);
    read.map(Some)
        .map_err(|why| usage(format!("--{name}: {why}")))
}

/// The number of sessions; with a schedule, its maximum.
fn sessions(parsed: &Parsed, schedule: Option<&LoadSchedule>) -> Result<u32> {
    let scheduled = schedule.filter(|schedule| schedule.of == Scheduled::Sessions);
    let sessions = match scheduled {
        Some(schedule) => schedule.max() as u64,
        None => settings::count(parsed, "sessions", 1)?,
    };
    let possible = u32::try_from(sessions)
        .ok()
        .filter(|sessions| (1..=SESSIONS_MAX).contains(sessions));
    possible.ok_or_else(|| {
        usage(format!(
            "--sessions: {sessions} is not between 1 and {SESSIONS_MAX}"
        ))
    })
}

/// The open loop; with a schedule, its mean rate.
fn open_loop(parsed: &Parsed, schedule: Option<&LoadSchedule>) -> Result<Option<OpenLoop>> {
    let Some(text) = parsed.value("rate") else {
        return match parsed.has("arrivals") {
            true => Err(usage("--arrivals needs --rate, whose events it spaces")),
            false => Ok(None),
        };
    };
    let per_second = match schedule {
        Some(schedule) => schedule.mean(),
        None => units::parse_rate(text).map_err(|error| usage(format!("--rate: {error}")))?,
    };
    let highest = schedule.map_or(per_second, LoadSchedule::max);
    if highest > RATE_MAX {
        return Err(usage(format!(
            "--rate: {} events per second are too many; at most {}",
            units::human_number(highest, 0),
            units::human_number(RATE_MAX, 0)
        )));
    }
    let arrivals = match parsed.value("arrivals") {
        None | Some("poisson") => Arrivals::Poisson,
        Some("constant") => Arrivals::Constant,
        Some(other) => {
            return Err(usage(format!(
                "--arrivals: '{other}' is neither poisson nor constant"
            )));
        }
    };
    Ok((per_second > 0.0).then_some(OpenLoop::new(per_second, arrivals)))
}

fn interval(parsed: &Parsed, usual: Duration) -> Result<Duration> {
    let interval = settings::duration(parsed, "interval", usual)?;
    if interval < INTERVAL_MIN {
        return Err(usage("--interval must be 10ms or longer"));
    }
    Ok(interval)
}

fn shard(parsed: &Parsed, sessions: u32) -> Result<Option<Shard>> {
    let Some(text) = parsed.value("shard") else {
        return Ok(None);
    };
    if fleet_options::has_agents(parsed) {
        return Err(usage(
            "--shard cannot be used with --agents: each agent gets its part",
        ));
    }
    let shard = Shard::parse(text).map_err(|error| usage(format!("--shard: {error}")))?;
    // 0 means a different seed each time.
    if settings::count(parsed, "seed", 0)? == 0 {
        return Err(usage(
            "--shard: give all load generators the same --seed above 0",
        ));
    }
    let portion = Portion::of(&shard);
    if portion.is_none_or(|own| own.count(sessions.into()) == 0) {
        return Err(usage(format!(
            "--shard {shard}: {} load generators need at least as many sessions in total, but \
             --sessions is {sessions}",
            shard.of
        )));
    }
    Ok(Some(shard))
}

/// A longer wait must be a mistake in the time.
const AHEAD_MAX_S: f64 = 100.0 * 365.0 * 24.0 * 3600.0;

/// The start of the run, in seconds since 1970.
fn begin(parsed: &Parsed) -> Result<Option<f64>> {
    let Some(text) = parsed.value("begin-at").filter(|text| *text != "now") else {
        return Ok(None);
    };
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let instant = || {
        let instant: jiff::Timestamp = text.parse().ok()?;
        Some(instant.as_duration().as_secs_f64())
    };
    let seconds = seconds
        .or_else(instant)
        .filter(|seconds| seconds.is_finite());
    let Some(unix_s) = seconds else {
        return Err(usage(format!(
            "--begin-at: '{text}' is not an instant such as 2026-11-24T05:00:00Z"
        )));
    };
    let late_s = wall_time().as_secs_f64() - unix_s;
    if late_s > 0.0 {
        return Err(usage(format!(
            "--begin-at: {text} was {late_s:.1} s ago; give a later instant, or now"
        )));
    }
    if -late_s > AHEAD_MAX_S {
        return Err(usage(format!(
            "--begin-at: {text} is more than a century ahead; give an earlier instant"
        )));
    }
    Ok(Some(unix_s))
}

/// How long to spin before an arrival.
fn spin(parsed: &Parsed) -> Result<Option<Duration>> {
    if !parsed.has("spin") {
        return Ok(None);
    }
    let spin = settings::duration(parsed, "spin", Duration::ZERO)?;
    if !parsed.has("rate") {
        return Err(usage("--spin needs an open loop: add --rate"));
    }
    if spin > SPIN_MAX {
        let longest = format_duration(SPIN_MAX);
        return Err(usage(format!(
            "--spin: at most {longest}; a longer spin only uses CPU"
        )));
    }
    Ok(Some(spin))
}

fn latency_limit(parsed: &Parsed) -> Result<Option<Duration>> {
    let limit = settings::duration(parsed, "latency-limit", Duration::ZERO)?;
    if parsed.has("latency-limit") && limit.is_zero() {
        return Err(usage("--latency-limit must be above 0, e.g. 100ms"));
    }
    Ok((!limit.is_zero()).then_some(limit))
}
