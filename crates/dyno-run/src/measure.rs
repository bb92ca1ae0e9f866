//! Makes one run: records, observes and judges it.

use dyno_analysis::summarize;
use dyno_core::plan::Compared;
use dyno_core::scheduling;
use dyno_core::summary::{IntervalSummary, RunEnd, RunSummary};
use dyno_load::{Progress, RunOutcome};

use crate::calibration::Calibration;
use crate::digests::Reader;
use crate::error::{Context as _, Result, RunError};
use crate::job::Ready;
use crate::ledger::Before;
use crate::recording::Recording;
use crate::recording::store::not_begun;
use crate::reported;
use crate::request::RunRequest;
use crate::sink::{Notice, Sinks};
use crate::summary::{StartReadings, disconnected, summarise};

/// A finished run.
pub struct Measured {
    /// Its summary.
    pub summary: RunSummary,
    /// An error after the measurement. The summary is valid all the same.
    pub trouble: Option<RunError>,
    /// A message about sessions that had no connection at the end, so that the run is not a
    /// success.
    pub disconnected: Option<String>,
}

/// The result of a load.
pub struct LoadEnd {
    /// The result of the load itself.
    pub outcome: RunOutcome,
    /// The ceiling of the load generators, if they have reported it.
    pub calibration: Option<Calibration>,
}

/// Generates the load of a run that is ready. Reports its progress and returns its result.
pub type Load<'a> = dyn FnMut(&Ready, &mut dyn FnMut(Progress<'_>)) -> Result<LoadEnd> + 'a;

/// Runs the workload.
///
/// # Errors
/// Anything that prevents a result.
pub fn measure(ready: &mut Ready, request: &RunRequest, sinks: &Sinks) -> Result<Measured> {
    // It merges, and its threads observe and record.
    scheduling::yield_quickly();
    if ready.gate.is_some() {
        return measure_part(ready, request, sinks);
    }
    let own: &mut Load<'_> = &mut |ready, observer| {
        ready.run(observer).map(|outcome| LoadEnd {
            outcome,
            calibration: None,
        })
    };
    measured(ready, request, sinks, (true, own))
}

/// Measures a load that other load generators produce. They also calibrate.
///
/// # Errors
/// Anything that prevents a result.
pub fn measure_load(
    ready: &mut Ready,
    request: &RunRequest,
    sinks: &Sinks,
    load: &mut Load<'_>,
) -> Result<Measured> {
    measured(ready, request, sinks, (false, load))
}

fn measured(
    ready: &mut Ready,
    request: &RunRequest,
    sinks: &Sinks,
    (calibrates, load): (bool, &mut Load<'_>),
) -> Result<Measured> {
    let drive = &ready.job.drive;
    // Other load generators change the same rows, which this one does not know.
    let ledger = match &drive.shard {
        Some(shard) if shard.of > 1 => Compared::Nothing,
        _ => request.plan.record.ledger,
    };
    let mut recording = Recording::start(ready, request, sinks.clone()).map_err(not_begun)?;
    if let Some(observer) = ready.remote_observer.take() {
        recording.watch(observer)?;
    }
    if let Err(error) = ready.call("init").context("init() failed") {
        recording.abandon(ready, &error);
        return Err(error);
    }
    if calibrates {
        recording.calibrate(ready);
    }
    let before = Before::read(ready, ledger, sinks);
    if let Err(error) = ready.alive() {
        // A script that is still running would take a core from the measurement.
        recording.abandon(ready, &error);
        return Err(error);
    }
    sinks.notice(&Notice::Starting {
        sessions: ready.job.drive.own().sessions,
        warmup: ready.job.drive.warmup,
        connects: ready.plan().is_none(),
        begin_unix_s: ready.job.drive.begin_unix_s,
    });
    let mut watch = Watch::new(recording, &request.plan.record.percentiles);
    if request.plan.record.statements {
        watch.digests = Reader::begin(ready);
    }
    let ended = load(ready, &mut |progress| watch.take(&progress));
    let LoadEnd {
        outcome,
        calibration,
    } = match ended {
        Ok(ended) => ended,
        Err(error) => {
            watch.abandon(ready, &error);
            return Err(error);
        }
    };
    if let Some(made) = calibration {
        watch.recording.calibrated(&made);
    }
    ready.count(&outcome.counted);
    let (summary, recorded) = watch.finish(ready, request, &outcome, before, sinks);
    let done = ready.alive().and_then(|()| match outcome.end {
        RunEnd::Completed => ready.call("done").context("done() failed"),
        _ => Ok(()),
    });
    let recorded =
        recorded.context("the figures above are right, but the record of the run is incomplete");
    Ok(Measured {
        summary,
        trouble: recorded.and(done).and(ready.in_time()).err(),
        disconnected: disconnected(&outcome),
    })
}

/// Generates one part of a run's load. Leaves out what exists once per run: the script's `init()`
/// and `done()`, its ledger, and the server's plans and digests.
fn measure_part(ready: &mut Ready, request: &RunRequest, sinks: &Sinks) -> Result<Measured> {
    let recording = Recording::start(ready, request, sinks.clone()).map_err(not_begun)?;
    let mut watch = Watch::new(recording, &request.plan.record.percentiles);
    let mut outcome = match ready.run(|progress| watch.take(&progress)) {
        Ok(outcome) => outcome,
        Err(error) => {
            watch.abandon(ready, &error);
            return Err(error);
        }
    };
    outcome.counted = ready.counted();
    let (summary, recorded) = watch.finish_part(ready, request, &outcome, sinks);
    Ok(Measured {
        summary,
        trouble: recorded.err(),
        disconnected: disconnected(&outcome),
    })
}

/// Records the progress of a load, and keeps what its summary needs.
pub struct Watch {
    recording: Recording,
    start: StartReadings,
    intervals: Vec<IntervalSummary>,
    percentiles: Vec<f64>,
    origin: u64,
    /// The server's digests, if statement figures are wanted.
    digests: Option<Reader>,
}

impl Watch {
    /// Starts watching a run that has no measurements yet.
    pub fn new(recording: Recording, percentiles: &[f64]) -> Self {
        Self {
            recording,
            start: StartReadings::at(0),
            intervals: Vec::new(),
            percentiles: percentiles.to_vec(),
            origin: 0,
            digests: None,
        }
    }

    /// Takes a progress report of the load.
    pub fn take(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Initialized => {}
            Progress::Started { measured } => {
                self.start = StartReadings::at(*measured);
                self.origin = *measured;
                self.recording.begins(*measured);
                if let Some(digests) = &mut self.digests {
                    digests.again_at(*measured);
                }
            }
            Progress::Interval(interval) => {
                self.start.interval_ended();
                let summary = summarize::interval(interval, self.origin, &self.percentiles);
                self.recording.interval(interval, &summary);
                self.intervals.push(summary);
            }
            Progress::Agents(agents) => {
                if let Some(last) = self.intervals.last() {
                    self.recording.agents(agents, last);
                }
            }
            Progress::Facts(facts) => self.recording.facts(facts),
        }
    }

    /// The load has ended. Returns its judged summary, and whether the record is complete.
    pub fn finish(
        self,
        ready: &mut Ready,
        request: &RunRequest,
        outcome: &RunOutcome,
        before: Option<Before>,
        sinks: &Sinks,
    ) -> (RunSummary, Result<()>) {
        self.recording.load_ended();
        let digests = self.digests.map(Reader::finish);
        let mut summary = summarise(ready, outcome, &self.start, request, self.intervals);
        let asked = &request.plan.record.explain;
        summary.plans = crate::explain::plans(ready, asked, &outcome.shapes);
        summary.digests =
            digests.map(|observed| crate::digests::matched(observed, &summary, ready));
        let known =
            !outcome.counted.incomplete && !outcome.workers.iter().any(|worker| worker.stuck);
        let compare = |before: Before| before.compare(ready, known, sinks);
        summary.ledger = before.map_or_else(Vec::new, compare);
        reported::complete(ready, &mut summary, sinks);
        sinks.each(|sink| sink.outcome(outcome, &summary));
        let recorded = self.recording.finish(&mut summary, outcome);
        (summary, recorded)
    }

    /// Completes the record of part of a run's load.
    fn finish_part(
        self,
        ready: &mut Ready,
        request: &RunRequest,
        outcome: &RunOutcome,
        sinks: &Sinks,
    ) -> (RunSummary, Result<()>) {
        let mut summary = summarise(ready, outcome, &self.start, request, self.intervals);
        sinks.each(|sink| sink.outcome(outcome, &summary));
        let recorded = self.recording.finish(&mut summary, outcome);
        (summary, recorded)
    }

    /// The run ended with this error and has no result.
    pub fn abandon(self, ready: &Ready, error: &RunError) {
        self.recording.abandon(ready, error);
    }
}
