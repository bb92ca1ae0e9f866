//! The slices of a duet: as requested, or found by a pilot.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_analysis::duet::{Choice, choose};
use dyno_core::duet::DuetMode;
use dyno_load::{BLOCK, Slices, StopSignal};
use dyno_run::Notice;
use dyno_stats::PAIRS_MIN;

use super::DuetRequest;
use super::pilot::{self, PilotSide, pilot};
use super::settings::Switch;
use crate::stage::Stage;
use crate::usage;

/// The slices of a duet whose sides work together: they only divide the time for counting.
const SHARED_SLICE: Duration = Duration::from_millis(125);
/// How many pilots there are at most if a switch seems to disturb events for long.
const PILOTS_MAX: usize = 3;
/// The share of a requested slice that is cut.
const CUT: f64 = 0.1;

/// Rejects a time that has too few blocks for a ratio.
pub(super) fn refuse_too_short(slices: &Slices, time: Option<Duration>) -> Result<()> {
    let needed_ns = (PAIRS_MIN as u64 + 1) * BLOCK * slices.length_ns;
    let needed = Duration::from_nanos(needed_ns);
    match time.is_some_and(|time| time < needed) {
        false => Ok(()),
        true => Err(usage(format!(
            "the duet is too short: with slices of {} ms, a ratio needs {} s. Raise --at-most (in \
             an experiment, raise `time` to half of that), or set shorter slices (--slice)",
            slices.length_ns as f64 / 1e6,
            needed.as_secs_f64().ceil()
        ))),
    }
}

/// The slices: as requested, or found by a pilot.
pub(super) fn slices(
    sides: [PilotSide; 2],
    request: &DuetRequest,
    switch: Option<&Switch>,
    (stop, stage): (&Arc<StopSignal>, &mut dyn Stage),
) -> Result<Slices> {
    let (seed, time) = (sides[0].job.drive.seed, sides[0].job.drive.time);
    let of = |length: Duration, cut: Duration, together| Slices {
        length_ns: length.as_nanos() as u64,
        cut_ns: cut.as_nanos() as u64,
        together,
        seed,
    };
    if request.mode == DuetMode::Simultaneous {
        let length = request.slice.unwrap_or(SHARED_SLICE);
        return Ok(of(length, Duration::ZERO, true));
    }
    if let Some(length) = request.slice {
        let cut = length.mul_f64(CUT).max(changes(switch));
        return match cut < length {
            true => Ok(of(length, cut, false)),
            false => Err(usage(format!(
                "--slice: changing the settings takes up to {:.1} ms; use longer slices",
                cut.as_secs_f64() * 1e3
            ))),
        };
    }
    stage.notice(&Notice::Step(format!(
        "Running a pilot to choose the slice length ({} s).",
        (pilot::WARMUP + pilot::TIME).as_secs()
    )));
    let changes_ms = changes(switch).as_secs_f64() * 1e3;
    let blocks = (PAIRS_MIN as u64 + 1) * BLOCK;
    let longest_ms = time.map_or(f64::INFINITY, |time| {
        time.as_secs_f64() * 1e3 / blocks as f64
    });
    let mut shortest: Option<Choice> = None;
    for _ in 0..PILOTS_MAX {
        let pilots = pilot(sides.clone(), switch, stop)?;
        let found = choose(&pilots, changes_ms, longest_ms).map_err(|why| {
            usage(format!(
                "{why}; use --mode simultaneous or fewer sessions, or set --slice"
            ))
        })?;
        let is_shorter = shortest.is_none_or(|before| found.slice_ms < before.slice_ms);
        if is_shorter {
            shortest = Some(found);
        }
        // A long disturbance may come from outside; that of the switch is in every pilot.
        if !found.is_long_for_the_switch() {
            break;
        }
    }
    let found = shortest.context("there was no pilot")?;
    stage.notice(&Notice::Step(format!(
        "Slices of {} ms: a switch disturbs events for {:.1} ms, and events take {:.1} ms (p95).",
        found.slice_ms, found.switch_ms, found.p95_ms
    )));
    let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    Ok(of(ms(found.slice_ms), ms(found.cut_ms), false))
}

/// The time for changing settings at a switch, with a reserve; zero without settings.
fn changes(switch: Option<&Switch>) -> Duration {
    switch.map_or(Duration::ZERO, |switch| 2 * switch.took)
}
