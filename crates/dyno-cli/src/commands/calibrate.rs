//! `dyno calibrate`: measure the load generator's own ceiling.

use anyhow::Result;
use dyno_core::plan::OptionValue;
use dyno_core::text::number_of;
use dyno_core::units;
use dyno_report::latency;

use crate::options::Parsed;
use crate::{STATUS_DONE, console, signals};
use dyno_run::Job;
use dyno_run::calibration::{self, Calibration};

/// Calibrates the job, stores the result for later runs, and prints it.
///
/// # Errors
/// The script or target cannot be calibrated.
pub(super) fn main(job: &Job, options: &[(String, OptionValue)], parsed: &Parsed) -> Result<u8> {
    let stop = signals::install()?;
    let calibrated = calibration::make(job, options, &stop, &crate::notices::quiet())?;
    if parsed.has("json") {
        console::json(&(serde_json::to_string_pretty(&calibrated)? + "\n"));
    } else {
        console::out(&text(&calibrated));
    }
    Ok(STATUS_DONE)
}

fn text(calibration: &Calibration) -> String {
    let rate = |per_s: f64| units::human_count(per_s.round() as u64);
    format!(
        "ceiling       {} tx/s: what {} could offer with a core each, over {}\n\
         client CPU    {:.2} µs per event\n\
         measured      {} tx/s with {}, while the null server used part of this host\n\
         jitter        p99.9 {}; longest stall of a worker {}\n\
         Above 70 % of the ceiling, a run is doubtful. Kept for the same script, options, sessions \
         and workers on this host.\n",
        rate(calibration.events_per_s_max),
        number_of(calibration.workers, "worker"),
        calibration.transport,
        calibration.cpu_us_per_event,
        rate(calibration.events_per_s),
        number_of(calibration.sessions, "session"),
        latency(calibration.p999_ms),
        latency(calibration.stall_ms_max),
    )
}
