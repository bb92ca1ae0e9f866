//! How a command line has a run driven.

use std::time::Duration;

use anyhow::Result;
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::units;

use crate::options::Parsed;
use crate::settings::{self, usage};
use dyno_run::cores;

/// How long `dyno run` warms up unless told otherwise.
const WARMUP: Duration = Duration::from_secs(2);

/// The drive that `dyno run`'s options describe.
///
/// # Errors
/// Values that make no sense.
pub fn drive(parsed: &Parsed) -> Result<Drive> {
    let usual = Drive::default();
    let sessions = settings::count(parsed, "sessions", 1)?;
    let sessions = u32::try_from(sessions)
        .ok()
        .filter(|sessions| *sessions > 0)
        .ok_or_else(|| usage("--sessions must be at least 1"))?;
    let events = settings::count(parsed, "events", 0)?;
    // With a number of events, time is no limit unless it is asked for.
    let time = if events > 0 {
        Duration::ZERO
    } else {
        Duration::from_secs(30)
    };
    let time = settings::duration(parsed, "time", time)?;
    let open_loop = match parsed.value("rate") {
        None => None,
        Some(text) => {
            let per_second =
                units::parse_rate(text).map_err(|error| usage(format!("--rate: {error}")))?;
            let arrivals = match parsed.value("arrivals") {
                None | Some("poisson") => Arrivals::Poisson,
                Some("constant") => Arrivals::Constant,
                Some(other) => {
                    return Err(usage(format!(
                        "--arrivals: '{other}' is neither poisson nor constant"
                    )));
                }
            };
            (per_second > 0.0).then_some(OpenLoop {
                per_second,
                arrivals,
            })
        }
    };
    if !parsed.has("rate") && parsed.has("arrivals") {
        return Err(usage(
            "--arrivals says how --rate's events are spaced: give a --rate as well",
        ));
    }
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
        open_loop,
        latency_limit: latency_limit(parsed)?,
        roles: Vec::new(),
        init_timeout: settings::duration(parsed, "init-timeout", usual.init_timeout)?,
        interval: settings::duration(parsed, "interval", usual.interval)?,
        seed: settings::seed(parsed, "seed")?,
    })
}

fn latency_limit(parsed: &Parsed) -> Result<Option<Duration>> {
    let limit = settings::duration(parsed, "latency-limit", Duration::ZERO)?;
    if parsed.has("latency-limit") && limit.is_zero() {
        return Err(usage("--latency-limit must be above 0, e.g. 100ms"));
    }
    Ok((!limit.is_zero()).then_some(limit))
}
