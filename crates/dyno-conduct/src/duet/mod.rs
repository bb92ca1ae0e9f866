//! Conducts a duet: two loads in this process, in turns or together, until their ratio is known.

mod blocks;
mod clocks;
mod pilot;
mod result;
mod settings;
pub(crate) mod side;
mod slices;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_analysis::duet::{CONFIDENCE, DuetMeasurement};
use dyno_core::Clock;
use dyno_core::clock::{Nanos, wall_time};
use dyno_core::duet::{DuetEnd, DuetMode, DuetSummary};
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_load::{BLOCK, Duet, Side, StopLevel, StopSignal};
use dyno_run::{Measured, Notice, Sink, Sinks, new_name};
use dyno_server::Settings;
use dyno_stats::PairedRatio;
use dyno_stats::stopping::early_confidence;

use self::blocks::{Counted, measurement};
use self::clocks::{Readings, ServerPid};
use self::pilot::PilotSide;
use self::settings::Switch;
use self::side::{Prepared, forwarded};
use self::slices::{refuse_too_short, slices};
use crate::command::Command;
use crate::outcome::Outcome;
use crate::stage::Stage;

/// How often the ratio is computed and shown.
const LOOK: Duration = Duration::from_millis(500);
/// Blocks before the first decision to stop.
const BLOCKS_MIN: usize = 40;
/// The shortest measured time before a decision to stop.
const LEAST: Duration = Duration::from_secs(5);
/// Slices that workers may not have reported yet: a worker reports a slice two of its slices later.
const UNREPORTED: u64 = 3 * BLOCK;

/// A requested duet.
#[derive(Clone, Debug)]
pub struct DuetRequest {
    /// What differs between the sides, as typed.
    pub labels: [String; 2],
    /// How they share the time.
    pub mode: DuetMode,
    /// The length of a slice; `None` to find it.
    pub slice: Option<Duration>,
    /// Stop when the ratio is known this precisely: 0.01 is 1 %.
    pub precision: f64,
    /// The margin within which the sides count as the same.
    pub margin: Option<f64>,
    /// Settings of the server that both sides use, changed at each switch.
    pub settings: [Settings; 2],
}

/// A finished duet.
pub struct DuetExecuted {
    /// Its result.
    pub summary: DuetSummary,
    /// The runs of both sides, A first.
    pub runs: [RunSummary; 2],
    /// How it ended.
    pub outcome: Outcome,
}

/// Executes a duet of two commands. Their time limit is that of the duet.
///
/// # Errors
/// The request does not fit the workloads, a target cannot be used, or there is no result.
pub fn execute(
    sides: [Command; 2],
    request: &DuetRequest,
    stop: &Arc<StopSignal>,
    stage: &mut dyn Stage,
) -> Result<DuetExecuted> {
    for (command, name) in sides.iter().zip(["A", "B"]) {
        side::refuse(command, request.mode).with_context(|| format!("side {name}"))?;
    }
    let pilots = [&sides[0], &sides[1]].map(|command| {
        let (job, options) = command.job();
        PilotSide {
            job: job.clone(),
            options,
            workload: command.plan.workload.clone(),
        }
    });
    let file = sides[0].plan.record.file.clone();
    let [a, b] = sides;
    let prepared = [
        side::prepare(a, stop, stage).context("side A")?,
        side::prepare(b, stop, stage).context("side B")?,
    ];
    stage.open()?;
    let switch = match request.settings.iter().all(Settings::is_empty) {
        true => None,
        false => {
            let target = side::common_target(&prepared, request.mode)?;
            let switch = Switch::prepare(target, &request.settings, file)?;
            stage.notice(&Notice::Step(switch.described()));
            Some(switch)
        }
    };
    let executed = conducted(prepared, pilots, request, switch.as_ref(), (stop, stage));
    // Restore the server's settings even if the duet failed.
    match switch.map_or(Ok(()), Switch::undo) {
        Ok(()) => executed,
        Err(error) => executed.and(Err(error)),
    }
}

/// Runs a duet whose sides are prepared.
fn conducted(
    mut prepared: [Prepared; 2],
    pilots: [PilotSide; 2],
    request: &DuetRequest,
    switch: Option<&Switch>,
    (stop, stage): (&Arc<StopSignal>, &mut dyn Stage),
) -> Result<DuetExecuted> {
    let slices = slices(pilots, request, switch, (stop, stage))?;
    refuse_too_short(&slices, prepared[0].time())?;
    let duet = Duet::new(slices);
    let name = new_name(&prepared[0].workload(), wall_time().as_secs_f64());
    let has_one_label = prepared[0].server_label() == prepared[1].server_label();
    let conductor = Conductor {
        duet: &duet,
        request,
        stop,
        warmup: prepared[0].warmup().max(prepared[1].warmup()),
        subject: prepared[0].subject(),
        at_most: prepared[0].time(),
        switch,
        has_one_label,
        readings: Readings::default(),
        pids: Default::default(),
    };
    for (own, side) in prepared.iter_mut().zip(Side::BOTH) {
        let settings = switch.map(|switch| switch.values[side as usize].clone());
        let settings = settings.unwrap_or_default();
        own.join(&duet, side, &name, settings, has_one_label);
    }
    let (measured, end) = conductor.run(prepared, stage)?;
    conductor.conclude(measured, end, &name, stage)
}

/// A duet in progress.
struct Conductor<'a> {
    duet: &'a Arc<Duet>,
    request: &'a DuetRequest,
    stop: &'a Arc<StopSignal>,
    /// The time before both sides are measured.
    warmup: Duration,
    /// See [`DuetMeasurement::subject`].
    subject: Option<f64>,
    /// The longest measurement.
    at_most: Option<Duration>,
    switch: Option<&'a Switch>,
    /// The targets of both sides have the same endpoints.
    has_one_label: bool,
    readings: Readings,
    pids: [ServerPid; 2],
}

impl Conductor<'_> {
    /// Runs both sides to their end.
    fn run(&self, sides: [Prepared; 2], stage: &mut dyn Stage) -> Result<([Measured; 2], DuetEnd)> {
        let over = AtomicBool::new(false);
        let (notices, taken) = channel();
        let [of_a, of_b] = sides;
        let sinks = Side::BOTH.map(|side| {
            let forward = forwarded(side, notices.clone());
            let pid = self.pids[side as usize].clone();
            let both: Vec<Box<dyn Sink>> = vec![Box::new(forward), Box::new(pid)];
            Sinks::new(both)
        });
        drop(notices);
        let (a, b, switched, end) = std::thread::scope(|scope| {
            let over = &over;
            scope.spawn(move || self.readings.fill(self.duet, &self.pids, over));
            let switched = self
                .switch
                .map(|switch| scope.spawn(move || switch.follow(self.duet, over)));
            let [sinks_a, sinks_b] = sinks;
            let a = scope.spawn(move || of_a.measure(&sinks_a, (self.duet, Side::A)));
            // B starts once A is ready: a calibration must not share the machine.
            while !a.is_finished() && !self.duet.awaits(Side::A, Duration::from_millis(50)) {
                forward(&taken, stage);
            }
            let b = scope.spawn(move || of_b.measure(&sinks_b, (self.duet, Side::B)));
            let mut watch = Watch::default();
            while !(a.is_finished() && b.is_finished()) {
                std::thread::sleep(LOOK.min(Duration::from_millis(100)));
                forward(&taken, stage);
                if a.is_finished() != b.is_finished() {
                    self.duet.end_at(Clock.now());
                }
                self.look(&mut watch, stage);
            }
            over.store(true, Ordering::Relaxed);
            forward(&taken, stage);
            stage.progress("");
            let switched = switched.map_or(Ok(()), joined);
            (joined(a), joined(b), switched, watch.end)
        });
        let (a, b) = both(a, b, self.duet)?;
        switched?;
        let measured = [a, b];
        let is_stopped = self.stop.level() != StopLevel::None;
        let failed = |own: &Measured| matches!(own.summary.end, RunEnd::Failed(_));
        let end = match end {
            _ if measured.iter().any(failed) => DuetEnd::Failed,
            _ if is_stopped => DuetEnd::Interrupted,
            Some(end) => end,
            None => DuetEnd::TimeUp,
        };
        Ok((measured, end))
    }

    /// The slices counted so far.
    fn counted(&self, now: Nanos) -> Option<Counted> {
        let last = self.duet.begin()? + nanos(self.warmup);
        let last = self.at_most.map_or(Nanos::MAX, |time| last + nanos(time));
        let to = self.duet.slice_at(now.min(last))?;
        let length_ns = self.duet.slices().length_ns.max(1);
        Some(Counted {
            from: nanos(self.warmup).div_ceil(length_ns),
            to,
        })
    }

    fn measured_by(&self, now: Nanos, unreported: u64) -> Option<DuetMeasurement> {
        let mut counted = self.counted(now)?;
        counted.to = counted.to.saturating_sub(unreported);
        // A server may have several addresses.
        let [a, b] = [&self.pids[0], &self.pids[1]].map(ServerPid::get);
        let is_one_server = self.has_one_label || a.is_some() && a == b;
        (counted.to > counted.from).then(|| DuetMeasurement {
            subject: self.subject,
            ..measurement(self.duet, counted, &self.readings, is_one_server)
        })
    }

    /// Shows the ratio so far, and ends the duet once it is known precisely enough.
    fn look(&self, watch: &mut Watch, stage: &mut dyn Stage) {
        let now = Clock.now();
        let is_stopped = self.stop.level() != StopLevel::None;
        if is_stopped || watch.end.is_some() || now < watch.next {
            return;
        }
        watch.next = now + LOOK.as_nanos() as Nanos;
        let Some(found) = self.measured_by(now, UNREPORTED) else {
            return;
        };
        let block_s = (BLOCK * self.duet.slices().length_ns) as f64 / 1e9;
        let measured_s = found.blocks.len() as f64 * block_s;
        let ratio = found.ratio();
        stage.progress(&progress(ratio.as_ref(), measured_s, found.blocks.len()));
        let is_long = found.blocks.len() >= BLOCKS_MIN && measured_s >= LEAST.as_secs_f64();
        let known = ratio.and_then(|ratio| ratio.precision(early_confidence(CONFIDENCE)));
        if is_long && known.is_some_and(|known| known <= self.request.precision) {
            watch.end = Some(DuetEnd::Precise);
            self.duet.end_at(now);
        }
    }

    /// The result of both sides.
    fn conclude(
        &self,
        measured: [Measured; 2],
        end: DuetEnd,
        name: &str,
        stage: &mut dyn Stage,
    ) -> Result<DuetExecuted> {
        let ends = measured.iter().map(|own| own.summary.elapsed_s);
        let shortest_s = ends.fold(f64::INFINITY, f64::min);
        let begin = self.duet.begin().context("the duet did not begin")?;
        let whole_s = shortest_s + self.warmup.as_secs_f64();
        let last = begin + (whole_s.max(0.0) * 1e9) as Nanos;
        let found = self.measured_by(last, 0).unwrap_or_default();
        let slices = self.duet.slices();
        let request = self.request;
        let mut summary = result::summary(&found, &measured, request, (slices, end, name));
        let mut outcome = result::outcome(&measured, end);
        // The ratio does not depend on these.
        match result::differences(&measured, request) {
            Ok(differences) => summary.differences = differences,
            Err(error) => {
                let why = format!("cannot list what else differs between the sides: {error:#}");
                stage.notice(&Notice::Warning(why));
            }
        }
        if let Err(error) = result::store(&summary) {
            let why = format!("the result was not stored with the runs: {error:#}");
            stage.notice(&Notice::Error(why));
            outcome = outcome.max(Outcome::Failed);
        }
        for (side, own) in Side::BOTH.into_iter().zip(&measured) {
            for why in result::failures(own) {
                let why = format!("side {}: {why}", side.name());
                stage.notice(&Notice::Error(why));
            }
        }
        Ok(DuetExecuted {
            summary,
            runs: measured.map(|own| own.summary),
            outcome,
        })
    }
}

fn nanos(duration: Duration) -> Nanos {
    duration.as_nanos() as Nanos
}

/// When to look next, and whether to end.
#[derive(Debug, Default)]
struct Watch {
    next: Nanos,
    end: Option<DuetEnd>,
}

fn progress(ratio: Option<&PairedRatio>, measured_s: f64, blocks: usize) -> String {
    let known = ratio.and_then(|own| Some((own.ratio(), own.precision(CONFIDENCE)?)));
    match known {
        Some((ratio, precision)) => format!(
            "{measured_s:>5.0} s  {blocks} blocks  B/A {ratio:.4} ± {:.2} %",
            precision * 100.0
        ),
        None => format!("{measured_s:>5.0} s  {blocks} blocks"),
    }
}

/// Forwards the notices of both sides.
fn forward(taken: &Receiver<Notice>, stage: &mut dyn Stage) {
    for notice in taken.try_iter() {
        stage.notice(&notice);
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Both sides, or the error of the side that failed first: the other one has only waited for it.
fn both<T>(a: Result<T>, b: Result<T>, duet: &Duet) -> Result<(T, T)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(a), Err(_)) if duet.given_up() != Some(Side::B) => Err(a.context("side A failed")),
        (Err(a), Ok(_)) => Err(a.context("side A failed")),
        (_, Err(b)) => Err(b.context("side B failed")),
    }
}
