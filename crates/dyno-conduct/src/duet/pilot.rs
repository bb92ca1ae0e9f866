//! Runs both sides briefly in long slices, to see how long a switch disturbs events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_analysis::duet::Pilot;
use dyno_core::plan::{Drive, OptionValue};
use dyno_load::{Duet, DuetPart, RunOutcome, Side, Slices, StopSignal};
use dyno_run::{Job, Loaded};

use super::settings::Switch;
use super::{both, joined};
use crate::hints::with_hint;

/// The length of its slices.
const SLICE: Duration = Duration::from_millis(250);
/// The measured time.
pub(super) const TIME: Duration = Duration::from_secs(4);
/// The time before that.
pub(super) const WARMUP: Duration = Duration::from_secs(1);

/// A side: its job, the options of its scripts, and the workload as typed.
#[derive(Clone)]
pub(super) struct PilotSide {
    pub job: Job,
    pub options: Vec<(String, OptionValue)>,
    pub workload: String,
}

/// Runs both sides.
///
/// # Errors
/// A side cannot be loaded, or the user has stopped it.
pub(super) fn pilot(
    sides: [PilotSide; 2],
    switch: Option<&Switch>,
    stop: &Arc<StopSignal>,
) -> Result<[Pilot; 2]> {
    let duet = Duet::new(Slices {
        length_ns: SLICE.as_nanos() as u64,
        cut_ns: 0,
        together: false,
        seed: sides[0].job.drive.seed,
    });
    let [of_a, of_b] = sides;
    let over = AtomicBool::new(false);
    let (a, b, switched) = std::thread::scope(|scope| {
        let switched = switch.map(|switch| scope.spawn(|| switch.follow(&duet, &over)));
        let a = scope.spawn(|| load(of_a, Side::A, &duet, stop));
        let b = load(of_b, Side::B, &duet, stop);
        let a = joined(a);
        over.store(true, Ordering::Relaxed);
        (a, b, switched.map_or(Ok(()), joined))
    });
    let (a, b) = both(a, b, &duet)?;
    switched?;
    Ok([(Side::A, a), (Side::B, b)].map(|(side, outcome)| shown(&duet, side, &outcome)))
}

fn load(
    side: PilotSide,
    place: Side,
    duet: &Arc<Duet>,
    stop: &Arc<StopSignal>,
) -> Result<RunOutcome> {
    let outcome = loaded(side, place, duet, stop);
    if outcome.is_err() {
        duet.give_up(place);
    }
    outcome
}

fn loaded(
    side: PilotSide,
    place: Side,
    duet: &Arc<Duet>,
    stop: &Arc<StopSignal>,
) -> Result<RunOutcome> {
    let PilotSide {
        mut job,
        options,
        workload,
    } = side;
    job.drive = Drive {
        time: Some(TIME),
        warmup: WARMUP,
        ramp_up: Duration::ZERO,
        ..job.drive
    };
    job.shapes = false;
    let mut ready = Loaded::new(job)?.ready(options, Arc::clone(stop))?;
    ready.duet = Some(DuetPart {
        duet: Arc::clone(duet),
        side: place,
        name: String::new(),
        settings: Vec::new(),
        has_one_server: false,
    });
    let outcome = (ready.call("init").map_err(Into::into)).and_then(|()| {
        let outcome = ready.run(|_| {})?;
        match outcome.failures.first() {
            Some((_, why)) => Err(anyhow::anyhow!("{why}")),
            None => Ok(outcome),
        }
    });
    outcome
        .map_err(|error| with_hint(error, &ready, &workload))
        .context("the pilot failed")
}

fn shown(duet: &Duet, side: Side, outcome: &RunOutcome) -> Pilot {
    let slice_s = SLICE.as_secs_f64();
    let service = &outcome.totals.latencies.service;
    let counts = duet.counts(side);
    let events: u64 = counts.values().map(|count| count.events).sum();
    Pilot {
        profiles: duet.profiles(side),
        slice_ms: slice_s * 1e3,
        per_s: match counts.len() {
            0 => 0.0,
            slices => events as f64 / (slices as f64 * slice_s),
        },
        p95_ms: service.value_at_quantile(0.95) as f64 / 1e6,
    }
}
