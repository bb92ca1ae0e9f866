//! Where the figures of a run go while it is running: the results file, a live line, exporters.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dyno_core::cpu_profile::CpuProfile;
use dyno_core::interval::Interval;
use dyno_core::record::{Event, Fact, NotObserved, RunHead, SeriesKey, SeriesKind};
use dyno_core::summary::{IntervalSummary, RunSummary};
use dyno_load::RunOutcome;

use crate::scratch::Swept;

/// An interval of a run.
#[derive(Clone, Copy, Debug)]
pub struct IntervalReport<'a> {
    /// The interval as recorded. Its counters and histograms can be merged without loss.
    pub interval: &'a Interval,
    /// Its rates and percentiles.
    pub summary: &'a IntervalSummary,
    /// The names of `interval.operations`.
    pub operations: &'a [String],
}

/// A step of a run other than its measurement, or a message for the user.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The load runs against a null server for this long.
    Calibrating(Duration),
    /// Sessions are connecting or, in a test of the host, starting.
    Starting {
        /// Number of sessions.
        sessions: u32,
        /// The warm-up that follows.
        warmup: Duration,
        /// Whether there is a target to connect to.
        connects: bool,
        /// The start that was requested, in seconds since 1970.
        begin_unix_s: Option<f64>,
    },
    /// Temporary folders of killed runs were removed.
    Swept(Swept),
    /// Another process keeps the end of the run from being written to this results file.
    ResultsBusy(PathBuf),
    /// The run cannot start before these agents have joined.
    AwaitingAgents {
        /// The name of the run on its bus.
        run: String,
        /// The names of the agents.
        names: Vec<String>,
    },
    /// There is no target: the run uses a temporary database.
    TemporaryDatabase,
    /// A step on the way to the result, in one line.
    Step(String),
    /// A problem with agents that is also in the result of the run, in one line.
    AgentsWarning(String),
    /// What to try after a failure, in one line.
    Hint(String),
    /// Why a run that has a result is a failure, in one line.
    Error(String),
    /// A problem that does not end the run, in one line.
    Warning(String),
}

/// Receives what a run reports. Several threads call it, but one at a time, in the order `head`,
/// `started`, `interval`…, `end`. Observations may come at any time between the first and the
/// last. A run that fails before its measurement has no `end`.
///
/// The threads that merge and observe call the sinks; those that generate the load never do. A sink
/// that may block needs its own thread and a bounded queue.
pub trait Sink: Send {
    /// A run is about to begin.
    fn head(&mut self, _head: &RunHead) {}
    /// The measurement begins at this instant, in seconds since the Unix epoch, which may be in the
    /// future.
    fn started(&mut self, _unix_s: f64) {}
    /// An interval has ended.
    fn interval(&mut self, _report: IntervalReport<'_>) {}
    /// Announces a series under this number, which is unique in the run.
    fn series(&mut self, _number: u32, _key: &SeriesKey, _kind: SeriesKind) {}
    /// Values of several series at one instant, by their numbers.
    fn samples(&mut self, _at_s: f64, _values: &[(u32, f64)]) {}
    /// Values of one series at several instants, in order.
    fn points(&mut self, _number: u32, _points: &[(f64, f64)]) {}
    /// Facts. A fact replaces an earlier one of the same name.
    fn facts(&mut self, _facts: &[Fact]) {}
    /// Settings of the server by name, either at the start or at the end of the run.
    fn settings(&mut self, _values: &[(String, String)], _at_end: bool) {}
    /// An event.
    fn event(&mut self, _event: &Event) {}
    /// Something that could not be observed.
    fn not_observed(&mut self, _gap: &NotObserved) {}
    /// The CPU profile of a process. It comes after the last interval.
    fn profile(&mut self, _profile: &CpuProfile) {}
    /// A message for the user.
    fn notice(&mut self, _notice: &Notice) {}
    /// The CPU time used so far in seconds, including that of its threads. This is the cost of
    /// exporting. 0 for sinks that only display.
    fn cpu_s(&self) -> f64 {
        0.0
    }
    /// The load has ended. Passes its outcome, and the summary before the verdict.
    fn outcome(&mut self, _outcome: &RunOutcome, _summary: &RunSummary) {}
    /// The run has ended and was judged.
    fn end(&mut self, _summary: &RunSummary) {}
}

/// Several sinks that receive the same calls.
#[derive(Clone, Default)]
pub struct Sinks(Arc<Mutex<Vec<Box<dyn Sink>>>>);

impl Sinks {
    /// Combines these sinks.
    pub fn new(sinks: Vec<Box<dyn Sink>>) -> Self {
        Self(Arc::new(Mutex::new(sinks)))
    }

    /// Calls each of them.
    pub fn each(&self, mut take: impl FnMut(&mut dyn Sink)) {
        for sink in self.lock().iter_mut() {
            take(sink.as_mut());
        }
    }

    /// The CPU time that all of them have used so far, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.lock().iter().map(|sink| sink.cpu_s()).sum()
    }

    /// Sends a message to the user.
    pub fn notice(&self, notice: &Notice) {
        self.each(|sink| sink.notice(notice));
    }

    /// Sends a warning to the user.
    pub fn warn(&self, warning: impl Into<String>) {
        self.notice(&Notice::Warning(warning.into()));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<dyn Sink>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
