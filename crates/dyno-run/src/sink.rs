//! Where a run's figures go while it goes on: the results file, a live line, exporters.

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
    /// As recorded: counters and histograms, which merge exactly.
    pub interval: &'a Interval,
    /// Its rates and percentiles.
    pub summary: &'a IntervalSummary,
    /// The names of `interval.operations`.
    pub operations: &'a [String],
}

/// What a run does besides measuring, and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The same load runs on a server that answers at once, for so long.
    Calibrating(Duration),
    /// Sessions connect or, in a test of the host, start.
    Starting {
        /// How many.
        sessions: u32,
        /// The warm-up that follows.
        warmup: Duration,
        /// Whether there is a target that they connect to.
        connects: bool,
        /// The instant that the run was told to begin at, in seconds since 1970.
        begin_unix_s: Option<f64>,
    },
    /// Temporary folders of runs that were killed were removed.
    Swept(Swept),
    /// Another process keeps this results file from taking the run's end.
    ResultsBusy(PathBuf),
    /// Something is wrong that does not end the run: one line.
    Warning(String),
}

/// Takes what a run says of itself. All calls come one at a time, from several threads, in the
/// order `head`, `started`, `interval`…, `end`; observations come at any time between the first
/// and the last. A run that fails before its measurement has no `end`.
///
/// A sink is called by the threads that merge and observe, never by those that make the load. One
/// that may block has a thread and a bounded queue of its own.
pub trait Sink: Send {
    /// A run is about to begin.
    fn head(&mut self, _head: &RunHead) {}
    /// The measurement begins at this instant, seconds since the Unix epoch, which may lie ahead.
    fn started(&mut self, _unix_s: f64) {}
    /// An interval is over.
    fn interval(&mut self, _report: IntervalReport<'_>) {}
    /// A series will come under this number, which no other series of the run has.
    fn series(&mut self, _number: u32, _key: &SeriesKey, _kind: SeriesKind) {}
    /// Values of several series at one instant, by their numbers.
    fn samples(&mut self, _at_s: f64, _values: &[(u32, f64)]) {}
    /// Values of one series at several instants, in order.
    fn points(&mut self, _number: u32, _points: &[(f64, f64)]) {}
    /// Facts. One of the same name replaces an earlier one.
    fn facts(&mut self, _facts: &[Fact]) {}
    /// Settings of the server by name, at the run's start or end.
    fn settings(&mut self, _values: &[(String, String)], _at_end: bool) {}
    /// Something happened.
    fn event(&mut self, _event: &Event) {}
    /// Something could not be observed.
    fn not_observed(&mut self, _gap: &NotObserved) {}
    /// Where the CPU time of a process went; after the last interval.
    fn profile(&mut self, _profile: &CpuProfile) {}
    /// For who watches.
    fn notice(&mut self, _notice: &Notice) {}
    /// The CPU time that it has taken so far, in seconds, its own threads' included: the cost of
    /// looking. 0 for who only shows.
    fn cpu_s(&self) -> f64 {
        0.0
    }
    /// The load has ended: what came of it, and its summary, which is not judged yet.
    fn outcome(&mut self, _outcome: &RunOutcome, _summary: &RunSummary) {}
    /// The run has ended and is judged.
    fn end(&mut self, _summary: &RunSummary) {}
}

/// Several sinks, which take the same.
#[derive(Clone, Default)]
pub struct Sinks(Arc<Mutex<Vec<Box<dyn Sink>>>>);

impl Sinks {
    /// These.
    pub fn new(sinks: Vec<Box<dyn Sink>>) -> Self {
        Self(Arc::new(Mutex::new(sinks)))
    }

    /// Has each of them take something.
    pub fn each(&self, mut take: impl FnMut(&mut dyn Sink)) {
        for sink in self.lock().iter_mut() {
            take(sink.as_mut());
        }
    }

    /// The CPU time that all have taken so far, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.lock().iter().map(|sink| sink.cpu_s()).sum()
    }

    /// Tells who watches.
    pub fn notice(&self, notice: &Notice) {
        self.each(|sink| sink.notice(notice));
    }

    /// Warns who watches.
    pub fn warn(&self, warning: impl Into<String>) {
        self.notice(&Notice::Warning(warning.into()));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<dyn Sink>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
