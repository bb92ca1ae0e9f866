//! Records a run on its own thread, so that a slow disk never delays the load.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::cpu_profile::CpuProfile;
use dyno_core::interval::Latencies;
use dyno_core::record::{
    Event, Fact, NotObserved, RunHead, RunState, SeriesKey, SeriesKind, SessionShare,
};
use dyno_core::summary::{IntervalSummary, RunSummary, TargetSummary};

use crate::error::{Problem, ResultsError};
use crate::open::Results;
use crate::write::{Ending, Record, RunWriter, SeriesId};

/// The name of the thread.
const THREAD_NAME: &str = "dyno-results";

/// Maximum number of records that may wait for the writing thread. Any more are dropped and
/// counted, because the measuring threads must not wait.
pub const QUEUE_MAX: usize = 1024;

/// How long records may stay unwritten while no interval ends, for example during a warm-up.
const UNWRITTEN: Duration = Duration::from_secs(1);

/// Tell the user if writing the end of a run takes longer than this.
const END_NOTICE: Duration = Duration::from_secs(1);

/// How long writing the end of a run may take. This is longer than waiting for two locks.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// How often to check whether the end was written.
const END_LOOK: Duration = Duration::from_millis(10);

/// Records one run. If it is dropped before the run's end is written, the run stays unfinished.
#[derive(Debug)]
pub struct BackgroundWriter {
    feed: Feed,
    run_id: i64,
    name: String,
    path: PathBuf,
    thread: JoinHandle<Result<Written, ResultsError>>,
    end: EndWait,
}

/// How to wait for the end of a run.
#[derive(Debug)]
struct EndWait {
    notice: Duration,
    patience: Duration,
    /// Called once, after `notice` has passed.
    notify: Notify,
}

/// Called with the path of a file that other processes keep locked.
struct Notify(Box<dyn Fn(&Path) + Send>);

impl fmt::Debug for Notify {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Notify")
    }
}

/// A handle for the threads that record. Its methods never block.
#[derive(Clone, Debug)]
pub struct Feed {
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
    series: Arc<AtomicU32>,
}

/// What was recorded of a run.
#[derive(Debug)]
pub struct Receipt {
    /// The run's number.
    pub run_id: i64,
    /// The run's name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Records that were lost because the file could not be written to, or not fast enough.
    pub dropped: u64,
    /// The first error in writing, if records were lost.
    pub trouble: Option<ResultsError>,
}

impl Receipt {
    /// A sentence that warns the user about gaps in the record. `None` if there are no gaps.
    pub fn warning(&self) -> Option<String> {
        let lost = match self.dropped {
            0 => return None,
            1 => "a record of the run was".to_owned(),
            dropped => format!("{dropped} records of the run were"),
        };
        let path = self.path.display();
        Some(match &self.trouble {
            Some(error) => format!("{lost} lost: {error}"),
            None => {
                format!("{lost} lost, because writing to {path} was too slow")
            }
        })
    }
}

#[derive(Debug)]
enum Message {
    Record(Record),
    End(Box<Ending>),
}

#[derive(Debug)]
struct Written {
    lost: u64,
    trouble: Option<ResultsError>,
}

impl BackgroundWriter {
    /// Opens the results file, enters the run, and starts the writing thread.
    ///
    /// # Errors
    /// The file cannot be used, or the thread cannot be started.
    pub fn start(path: &Path, head: &RunHead) -> Result<Self, ResultsError> {
        Self::over(Results::open(path)?.begin(head)?)
    }

    /// Starts a recorder for a run that was entered earlier. Do not mix series that the writer
    /// itself has defined with those defined through the recorder.
    pub(crate) fn over(writer: RunWriter) -> Result<Self, ResultsError> {
        let (queue, records) = sync_channel(QUEUE_MAX);
        let feed = Feed {
            queue,
            dropped: Arc::default(),
            series: Arc::default(),
        };
        let (run_id, name) = (writer.id(), writer.name().to_owned());
        let path = writer.path().to_owned();
        let thread = std::thread::Builder::new()
            .name(THREAD_NAME.to_owned())
            .spawn(move || Scribe::new(writer).run(&records))
            .map_err(|error| no_writer(&path, error.to_string()))?;
        Ok(Self {
            feed,
            run_id,
            name,
            path,
            thread,
            end: EndWait {
                notice: END_NOTICE,
                patience: END_PATIENCE,
                notify: Notify(Box::new(|_| {})),
            },
        })
    }

    /// Calls `notify` with the file's path if writing the end takes longer than a second.
    pub fn on_wait(mut self, notify: impl Fn(&Path) + Send + 'static) -> Self {
        self.end.notify = Notify(Box::new(notify));
        self
    }

    /// The run's number.
    pub fn run_id(&self) -> i64 {
        self.run_id
    }

    /// The run's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A handle for any thread.
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// Ends the run. Waits at most 30 s until everything is written. `totals` are the latencies of
    /// the whole measurement by operation, with `event` first. Records that arrive later are lost.
    ///
    /// # Errors
    /// The end could not be written. The run stays unfinished in the file.
    pub fn finish(
        self,
        summary: &RunSummary,
        state: RunState,
        totals: &[(&str, &Latencies)],
        sessions: &[SessionShare],
    ) -> Result<Receipt, ResultsError> {
        self.end(Ending::new(summary, state, totals, sessions))
    }

    /// Ends a run that failed or was interrupted before it had any results. Waits until that is
    /// written.
    ///
    /// # Errors
    /// The end could not be written.
    pub fn abandon(self, state: RunState, why: &str) -> Result<Receipt, ResultsError> {
        self.end(Ending::without_results(state, why))
    }

    fn end(self, ending: Ending) -> Result<Receipt, ResultsError> {
        let begun = Clock.now();
        let mut notified = false;
        let mut check = || {
            let waited = Duration::from_nanos(Clock.now() - begun);
            if waited >= self.end.notice && !std::mem::replace(&mut notified, true) {
                (self.end.notify.0)(&self.path);
            }
            if waited < self.end.patience {
                return Ok(());
            }
            let why = format!(
                "it did not end within {} s",
                self.end.patience.as_secs_f64()
            );
            Err(no_writer(&self.path, why))
        };
        let mut message = Message::End(Box::new(ending));
        // If nobody receives it, the thread has ended and has left the reason.
        while let Err(TrySendError::Full(back)) = self.feed.queue.try_send(message) {
            message = back;
            check()?;
            std::thread::sleep(END_LOOK);
        }
        while !self.thread.is_finished() {
            check()?;
            std::thread::sleep(END_LOOK);
        }
        let Ok(written) = self.thread.join() else {
            return Err(no_writer(&self.path, "it ended early".to_owned()));
        };
        let written = written?;
        Ok(Receipt {
            run_id: self.run_id,
            name: self.name.clone(),
            path: self.path.clone(),
            dropped: written.lost + self.feed.dropped.load(Ordering::Relaxed),
            trouble: written.trouble,
        })
    }
}

impl Feed {
    /// Queues a record, or counts it as lost if the queue is full.
    pub fn send(&self, record: Record) {
        if self.queue.try_send(Message::Record(record)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many records the queue has dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Records the start of the measurement, in seconds since the Unix epoch.
    pub fn started(&self, measure_start_unix_s: f64) {
        self.send(Record::Started(measure_start_unix_s));
    }

    /// Records the target's identity.
    pub fn target(&self, target: &TargetSummary) {
        self.send(Record::Target(target.clone()));
    }

    /// Records an interval, with the latencies of each operation, `event` first.
    pub fn interval(&self, summary: &IntervalSummary, operations: &[(&str, &Latencies)]) {
        self.send(Record::interval(summary, operations));
    }

    /// Defines a series.
    pub fn series(&self, key: &SeriesKey, kind: SeriesKind) -> SeriesId {
        let id = SeriesId(self.series.fetch_add(1, Ordering::Relaxed));
        self.send(Record::Series(id, key.clone(), kind));
        id
    }

    /// Records values at an instant, in seconds from the start of the measurement. Values that are
    /// not finite are skipped.
    pub fn sample(&self, at_s: f64, values: &[(SeriesId, f64)]) {
        self.send(Record::Samples(at_s, values.to_vec()));
    }

    /// Records values of one series at several instants, as a single record.
    pub fn points(&self, series: SeriesId, points: Vec<(f64, f64)>) {
        self.send(Record::Points(series, points));
    }

    /// Records facts about the host, the server and the client, as a single record.
    pub fn facts(&self, facts: Vec<Fact>) {
        self.send(Record::Facts(facts));
    }

    /// Records the server's settings as (name, value), as a single record.
    pub fn settings(&self, values: Vec<(String, String)>, at_end: bool) {
        self.send(Record::Settings { values, at_end });
    }

    /// Records an event.
    pub fn event(&self, event: Event) {
        self.send(Record::Event(event));
    }

    /// Records that something could not be observed.
    pub fn not_observed(&self, gap: NotObserved) {
        self.send(Record::NotObserved(gap));
    }

    /// Records the CPU profile of a process.
    pub fn profile(&self, profile: CpuProfile) {
        self.send(Record::Profile(Box::new(profile)));
    }
}

fn no_writer(path: &Path, why: String) -> ResultsError {
    ResultsError {
        doing: "record a run in".to_owned(),
        path: path.to_owned(),
        problem: Problem::NoWriter(why),
    }
}

struct Scribe {
    writer: RunWriter,
    clock: Clock,
    written: Nanos,
    trouble: Option<ResultsError>,
    /// Whether the last attempt ran into a timeout while it waited for a lock.
    locked: bool,
}

impl Scribe {
    fn new(writer: RunWriter) -> Self {
        let clock = Clock;
        Self {
            writer,
            clock,
            written: clock.now(),
            trouble: None,
            locked: false,
        }
    }

    fn run(mut self, records: &Receiver<Message>) -> Result<Written, ResultsError> {
        loop {
            match records.recv_timeout(UNWRITTEN) {
                Ok(Message::Record(record)) => self.take(record),
                Ok(Message::End(ending)) => {
                    self.writer.wait_for_locks(true);
                    self.writer.end(&ending)?;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.flush();
                    break;
                }
            }
        }
        let lost = self.writer.lost();
        Ok(Written {
            lost,
            // If later attempts succeeded, there is no trouble to report.
            trouble: self.trouble.filter(|_| lost > 0),
        })
    }

    fn take(&mut self, record: Record) {
        let interval = matches!(record, Record::Interval(..));
        let result = self.writer.write(record);
        if interval {
            self.note(result);
        } else if self.clock.now() - self.written >= UNWRITTEN.as_nanos() as Nanos {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let result = self.writer.flush();
        self.note(result);
    }

    fn note(&mut self, result: Result<(), ResultsError>) {
        self.written = self.clock.now();
        let locked =
            matches!(&result, Err(error) if matches!(error.problem, Problem::Locked { .. }));
        if locked != self.locked {
            // Wait for a lock only once, because the queue would overflow if each attempt waited.
            self.writer.wait_for_locks(!locked);
            self.locked = locked;
        }
        if let Err(error) = result {
            self.trouble.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests;
