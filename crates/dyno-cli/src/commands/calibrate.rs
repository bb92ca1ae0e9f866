//! `dyno calibrate`: measure the load generator's own ceiling.

use std::sync::PoisonError;

use anyhow::Result;
use dyno_core::plan::{Calibrate, OptionValue, Plan};
use dyno_core::units;

use super::within::Within;
use crate::options::Parsed;
use crate::{STATUS_DONE, console, signals};
use dyno_run::Job;
use dyno_run::calibration::{self, Calibration};

/// Calibrates the job, stores the result for later runs, and prints it. As a part of a larger
/// command it prints nothing and reuses a stored calibration, unless the plan requests a new one.
///
/// # Errors
/// The script or target cannot be calibrated.
pub fn main(
    job: &Job,
    options: &[(String, OptionValue)],
    (parsed, plan): (&Parsed, &Plan),
    within: Option<&Within>,
) -> Result<u8> {
    if let Some((within, place)) =
        within.and_then(|within| Some((within, within.calibration.as_ref()?)))
    {
        let again = plan.record.calibrate == Calibrate::Always;
        let kept = calibration::kept(job, options).filter(|_| !again);
        let made = match kept {
            Some(kept) => kept,
            None => calibration::make(job, options, &within.stop, &crate::notices::quiet())?,
        };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        return Ok(STATUS_DONE);
    }
    let stop = signals::install()?;
    let made = calibration::make(job, options, &stop, &crate::notices::quiet())?;
    if parsed.has("json") {
        console::json(&(serde_json::to_string_pretty(&made)? + "\n"));
    } else {
        console::out(&text(&made));
    }
    Ok(STATUS_DONE)
}

fn text(made: &Calibration) -> String {
    let rate = |per_s: f64| units::human_count(per_s.round() as u64);
    format!(
        "ceiling       {} events/s: what {} could offer with a core each, over {}\n\
         client CPU    {:.2} µs per event\n\
         measured      {} events/s with {}, while the null server used part of this host\n\
         jitter        p99.9 {:.3} ms; longest stall of a worker {:.2} ms\n\
         Above 70 % of the ceiling, a run is doubtful. Kept for the same script, options, sessions \
         and workers on this host.\n",
        rate(made.events_per_s_max),
        counted(made.workers, "worker"),
        made.transport,
        made.cpu_us_per_event,
        rate(made.events_per_s),
        counted(made.sessions, "session"),
        made.p999_ms,
        made.stall_ms_max,
    )
}

fn counted(count: u32, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
