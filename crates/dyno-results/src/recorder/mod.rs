//! Recording from a thread of its own, so that a slow disk never holds up the load.

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

/// The thread's name.
pub const THREAD_NAME: &str = "dyno-results";

/// How many records may wait for the thread that writes. What comes beyond is lost, and counted:
/// whoever measures must not wait.
pub const QUEUE_MAX: usize = 1024;

/// How long records may lie unwritten where no interval ends, as in a warm-up.
const UNWRITTEN: Duration = Duration::from_secs(1);

/// How long the end of a run may take to be written before the user is told.
const END_NOTICE: Duration = Duration::from_secs(1);

/// How long it may take at all: more than two locks that are waited for.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// How often is looked whether it is written.
const END_LOOK: Duration = Duration::from_millis(10);

/// Records one run. Dropped without an ending, it leaves the run unfinished.
#[derive(Debug)]
pub struct BackgroundWriter {
    feed: Feed,
    run_id: i64,
    name: String,
    path: PathBuf,
    thread: JoinHandle<Result<Written, ResultsError>>,
    end: EndWait,
}

/// How the end of a run is waited for.
#[derive(Debug)]
struct EndWait {
    notice: Duration,
    patience: Duration,
    /// Called once, after `notice`.
    notify: Notify,
}

/// Is given the path of a file that others keep busy.
struct Notify(Box<dyn Fn(&Path) + Send>);

impl fmt::Debug for Notify {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Notify")
    }
}

/// A way into a recorder, for each thread that has something to record. Nothing here ever waits.
#[derive(Clone, Debug)]
pub struct Feed {
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
    series: Arc<AtomicU32>,
}

/// What became of a recorded run.
#[derive(Debug)]
pub struct Receipt {
    /// The run's number.
    pub run_id: i64,
    /// The run's name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Records that were lost because the file could not be written to fast enough, or at all.
    pub dropped: u64,
    /// What first kept records from being written, if any were lost by it.
    pub trouble: Option<ResultsError>,
}

impl Receipt {
    /// What the user must know about gaps in the record: a whole sentence; `None` without gaps.
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
                format!("{lost} lost, because {path} could not be written to as fast as they came")
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
    /// Opens the results file, enters the run and starts the thread that writes.
    ///
    /// # Errors
    /// The file cannot be used, or there can be no more threads.
    pub fn start(path: &Path, head: &RunHead) -> Result<Self, ResultsError> {
        Self::over(Results::open(path)?.begin(head)?)
    }

    /// The same with a run that was entered before. The writer's own series must not be mixed with
    /// those made through the recorder.
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

    /// Has `notify` called with the file's path where its end takes longer than a second to write.
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

    /// A way in, for any thread.
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// The run has ended: waits until everything is written, 30 s at most. `totals` are the
    /// latencies of the whole measurement by operation, `event` first. What is fed afterwards is
    /// lost.
    ///
    /// # Errors
    /// The ending could not be written: the run remains unfinished in the file.
    pub fn finish(
        self,
        summary: &RunSummary,
        state: RunState,
        totals: &[(&str, &Latencies)],
        sessions: &[SessionShare],
    ) -> Result<Receipt, ResultsError> {
        self.end(Ending::new(summary, state, totals, sessions))
    }

    /// The run failed before there was anything to sum up: waits until that is written.
    ///
    /// # Errors
    /// It could not be written.
    pub fn abandon(self, why: &str) -> Result<Receipt, ResultsError> {
        self.end(Ending::failed(why))
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
        // If nobody takes it, the thread has ended, and what it left tells why.
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
    /// Hands a record over, or counts it as lost if too many wait already.
    pub fn send(&self, record: Record) {
        if self.queue.try_send(Message::Record(record)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many records were lost on the way in so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The measurement began; seconds since the Unix epoch.
    pub fn started(&self, measure_start_unix_s: f64) {
        self.send(Record::Started(measure_start_unix_s));
    }

    /// What the target turned out to be.
    pub fn target(&self, target: &TargetSummary) {
        self.send(Record::Target(target.clone()));
    }

    /// An interval, with the latencies of each operation, `event` first.
    pub fn interval(&self, summary: &IntervalSummary, operations: &[(&str, &Latencies)]) {
        self.send(Record::interval(summary, operations));
    }

    /// A new series.
    pub fn series(&self, key: &SeriesKey, kind: SeriesKind) -> SeriesId {
        let id = SeriesId(self.series.fetch_add(1, Ordering::Relaxed));
        self.send(Record::Series(id, key.clone(), kind));
        id
    }

    /// Values at an instant, in seconds from the start of the measurement. What is not finite is
    /// passed over.
    pub fn sample(&self, at_s: f64, values: &[(SeriesId, f64)]) {
        self.send(Record::Samples(at_s, values.to_vec()));
    }

    /// Values of one series at several instants, together so that they are one record however many
    /// there are.
    pub fn points(&self, series: SeriesId, points: Vec<(f64, f64)>) {
        self.send(Record::Points(series, points));
    }

    /// Facts about the host, the server and the client, together so that they are one record.
    pub fn facts(&self, facts: Vec<Fact>) {
        self.send(Record::Facts(facts));
    }

    /// The server's settings as (name, value), all at once so that they are one record.
    pub fn settings(&self, values: Vec<(String, String)>, at_end: bool) {
        self.send(Record::Settings { values, at_end });
    }

    /// Something happened.
    pub fn event(&self, event: Event) {
        self.send(Record::Event(event));
    }

    /// Something could not be observed.
    pub fn not_observed(&self, gap: NotObserved) {
        self.send(Record::NotObserved(gap));
    }

    /// Where the CPU time of a process went.
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

/// What the thread does.
struct Scribe {
    writer: RunWriter,
    clock: Clock,
    written: Nanos,
    trouble: Option<ResultsError>,
    /// The file was locked at the last attempt, and that was waited for.
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
            // What was written at a later attempt is not worth a word.
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
            // A lock is waited for once: what comes meanwhile would wait in the queue, each record
            // for as long again.
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
