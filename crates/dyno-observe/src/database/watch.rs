//! The thread that queries the database: its connection, its schedule, and its behaviour when the
//! server is gone.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_core::catalogue::names;
use dyno_core::clock::{Nanos, thread_cpu};
use dyno_core::db::{Connector, DbError, Family};
use dyno_core::record::EventKind;
use dyno_core::{Clock, Target};
use dyno_drivers::Control;

use super::mysql::Mysql;
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use super::{Asking, Collector, starts};
use crate::observers::own_descriptors;
use crate::process::{Placed, locate, nodelay_of};
use crate::sink::{Gauge, SampleBuffer, Sink};

/// How often the timeout at the end may be extended.
const END_SPANS_MAX: u32 = 5;

/// State shared by the two threads.
#[derive(Default)]
pub(crate) struct Shared {
    connected: AtomicBool,
    /// When the unanswered query was sent; 0 without one.
    asked_at: AtomicU64,
    cpu_ns: AtomicU64,
    tid: AtomicI32,
}

impl Shared {
    /// Whether the database answers: it is connected, and no query has waited longer than
    /// `patience_ns`.
    pub(crate) fn is_up(&self, patience_ns: Nanos) -> bool {
        let asked_at = self.asked_at.load(Ordering::Relaxed);
        let waits = asked_at > 0 && Clock.now().saturating_sub(asked_at) > patience_ns;
        self.connected.load(Ordering::Relaxed) && !waits
    }

    pub(crate) fn cpu_ns(&self) -> Nanos {
        self.cpu_ns.load(Ordering::Relaxed)
    }

    /// The thread's number, once it runs.
    pub(crate) fn tid(&self) -> Option<i32> {
        Some(self.tid.load(Ordering::Relaxed)).filter(|tid| *tid > 0)
    }
}

/// The thread as seen by others.
pub(crate) struct Watch {
    pub(crate) shared: Arc<Shared>,
    /// The server's process, each time it was found.
    pub(crate) found: Receiver<Placed>,
    stop: Sender<()>,
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Makes it report the state at the end; false if it did not finish in time. The timeout
    /// `patience` restarts whenever it reported something within the last one, up to
    /// `END_SPANS_MAX` times: reading many settings of a busy server takes longer than the silence
    /// of one that hangs. A thread that is then still waiting for the server is abandoned.
    pub(crate) fn stop(mut self, patience: Duration, sink: &Sink) -> bool {
        let _ = self.stop.send(());
        let mut taken = sink.taken_so_far();
        for _ in 0..END_SPANS_MAX {
            match self.ended.recv_timeout(patience) {
                Err(RecvTimeoutError::Timeout) => {
                    let before = std::mem::replace(&mut taken, sink.taken_so_far());
                    if before == taken {
                        return false;
                    }
                }
                // It ended, with or without a panic.
                Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                    let joined = self.thread.take().map(JoinHandle::join);
                    return joined.is_none_or(|result| result.is_ok());
                }
            }
        }
        false
    }
}

/// Starts the thread.
pub(crate) fn watch(config: &crate::Config, sink: &Sink) -> std::io::Result<Option<Watch>> {
    let (Some(target), Some(connector)) = (&config.target, &config.connector) else {
        return Ok(None);
    };
    let shared = Arc::new(Shared::default());
    let (stop, stopped) = channel();
    let (ended, end) = sync_channel(1);
    let (finder, found) = channel();
    let watcher = Watcher {
        target: target.clone(),
        connector: Arc::clone(connector),
        period: config.period,
        answer_timeout: config.answer_timeout,
        connect_timeout: config.connect_timeout,
        begins: Arc::clone(&config.begins),
        has_begun: false,
        shared: Arc::clone(&shared),
        stopped,
        finder,
        sink: sink.clone(),
        recorder: SampleBuffer::new(sink.clone(), true),
        round_trip: Gauge::new(names::DB_ROUND_TRIP, "ms", "SELECT 1"),
        control: None,
        collector: None,
        started_s: None,
        answered_at: 0,
        lost_at: None,
        is_refused: false,
    };
    let thread = std::thread::Builder::new().name("dyno-observe-db".to_owned());
    let (owning, owned) = channel::<()>();
    let body = move || {
        // Workers copy the process's descriptors, and would keep this thread's connection open. Not
        // with an embedded database, whose file locks belong to the table.
        match watcher.connector.blocks() {
            true => drop(owning),
            false => own_descriptors(owning),
        }
        watcher.work(ended);
    };
    let thread = thread.spawn(body)?;
    // Nothing is sent: this returns when the other end is dropped.
    let _ = owned.recv();
    Ok(Some(Watch {
        shared,
        found,
        stop,
        ended: end,
        thread: Some(thread),
    }))
}

/// The query for a setting; `None` for an invalid name.
pub fn setting_query(family: Family, name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    Some(match family {
        Family::Mysql => format!("SHOW GLOBAL VARIABLES WHERE Variable_name = '{name}'"),
        Family::Postgres => format!(
            "SELECT name, current_setting(name, true) FROM pg_catalog.pg_settings \
             WHERE lower(name) = lower('{name}')"
        ),
        // For an unknown pragma SQLite returns no rows.
        Family::Sqlite => format!("PRAGMA {name}"),
    })
}

/// The collector for this server.
fn collector(target: &Target, control: &Control) -> Box<dyn Collector> {
    let several = target.endpoints.len() > 1;
    match target.family {
        Family::Mysql => Box::new(Mysql::new(control.server(), several)),
        Family::Postgres => Box::new(Postgres::new(several)),
        Family::Sqlite => Box::new(Sqlite::new(target.file.clone())),
    }
}

struct Watcher {
    target: Target,
    connector: Arc<dyn Connector>,
    period: Duration,
    answer_timeout: Duration,
    connect_timeout: Duration,
    /// When the measurement begins; 0 as long as that is unknown.
    begins: Arc<AtomicU64>,
    has_begun: bool,
    shared: Arc<Shared>,
    stopped: Receiver<()>,
    finder: Sender<Placed>,
    sink: Sink,
    recorder: SampleBuffer,
    round_trip: Gauge,
    control: Option<Control>,
    /// Present since the first connection.
    collector: Option<Box<dyn Collector>>,
    /// When the server started, in seconds of the monotonic clock.
    started_s: Option<f64>,
    /// When it last answered.
    answered_at: Nanos,
    lost_at: Option<Nanos>,
    /// The refusal of samples was reported.
    is_refused: bool,
}

impl Watcher {
    fn work(mut self, ended: SyncSender<()>) {
        // SAFETY: a call without pointers. C libraries have a function for it only since glibc
        // 2.30.
        let tid = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
        self.shared.tid.store(tid, Ordering::Relaxed);
        let period_ns = (self.period.as_nanos() as Nanos).max(1_000_000);
        let mut due = Clock.now();
        loop {
            self.turn();
            self.shared.cpu_ns.store(thread_cpu(), Ordering::Relaxed);
            let now = Clock.now();
            due += period_ns;
            due += now.saturating_sub(due).div_ceil(period_ns) * period_ns;
            let wait = Duration::from_nanos(due.saturating_sub(now));
            if !matches!(
                self.stopped.recv_timeout(wait),
                Err(RecvTimeoutError::Timeout)
            ) {
                break;
            }
        }
        self.finish();
        self.shared.cpu_ns.store(thread_cpu(), Ordering::Relaxed);
        // The receiver may have stopped waiting.
        let _ = ended.send(());
    }

    /// One period: connects if necessary, and samples.
    fn turn(&mut self) {
        if self.control.is_none() && !self.connect() {
            return;
        }
        if let Err(error) = self.sample() {
            self.lose(&error);
        }
    }

    fn connect(&mut self) -> bool {
        // Connecting would create an embedded database that does not exist.
        if self.target.family == Family::Sqlite && !self.target.file.exists() {
            return false;
        }
        match Control::connect(self.connector.as_ref(), self.connect_timeout) {
            Ok(control) => self.control = Some(control),
            Err(error) => {
                self.lose(&error);
                return false;
            }
        }
        self.shared.connected.store(true, Ordering::Relaxed);
        if let Err(error) = self.greet() {
            self.lose(&error);
            return false;
        }
        if let Some(lost_at) = self.lost_at.take() {
            let now = Clock.now();
            let seconds = (now - lost_at) as f64 / 1e9;
            let text = format!("the database answers its observer again, after {seconds:.1} s");
            self.sink
                .event(lost_at, Some(now), EventKind::Observer, text);
        }
        true
    }

    /// The steps after connecting: facts the first time, and the server's process each time.
    fn greet(&mut self) -> Result<(), DbError> {
        let Some(control) = &mut self.control else {
            return Ok(());
        };
        let first = self.collector.is_none();
        let mut collector = match self.collector.take() {
            Some(collector) => collector,
            None => collector(&self.target, control),
        };
        let socket = control.fd();
        let tls = control.server().tls.clone();
        let mut asking = Asking {
            control,
            timeout: self.answer_timeout,
            sink: &self.sink,
        };
        self.shared.asked_at.store(Clock.now(), Ordering::Relaxed);
        let reported = match first {
            true => collector.report(&mut asking, false),
            false => Ok(()),
        };
        let mut claim = reported.and_then(|()| collector.claim(&mut asking));
        // None of the many short queries about tables counts as unanswered.
        self.shared.asked_at.store(0, Ordering::Relaxed);
        if first && let Ok(claim) = &mut claim {
            match collector.tables(&mut asking) {
                Ok(places) => claim.elsewhere.extend(places),
                // They are queried once; the next sample notices a lost connection.
                Err(error) => self.sink.gap(names::DB_TABLES, error.to_string()),
            }
        }
        let claim = match claim {
            Ok(claim) => claim,
            Err(error) => {
                // The facts are reported again with the next connection.
                self.collector = (!first).then_some(collector);
                return Err(error);
            }
        };
        if first {
            let several = self.connector.endpoints().len() > 1;
            introduce(&self.sink, tls, socket, several);
        }
        if let Some((kind, text)) = starts::changed(&claim, &mut self.started_s, self.answered_at) {
            collector.restart();
            self.sink.event(Clock.now(), None, kind, text);
        }
        self.answered_at = Clock.now();
        self.collector = Some(collector);
        if self.connector.blocks() {
            // An embedded database checkpoints its log when its last connection closes, which must
            // not have to wait for this one.
            control.close();
        } else {
            // The observers may have ended.
            let _ = self.finder.send(locate(&claim, socket, &self.sink));
        }
        Ok(())
    }

    fn sample(&mut self) -> Result<(), DbError> {
        let (Some(control), Some(collector)) = (&mut self.control, &mut self.collector) else {
            return Ok(());
        };
        let asked_at = Clock.now();
        let begins = self.begins.load(Ordering::Acquire);
        if !self.has_begun && begins > 0 && asked_at >= begins {
            self.has_begun = true;
            collector.begin();
        }
        self.shared.asked_at.store(asked_at, Ordering::Relaxed);
        let answered = match self.connector.blocks() {
            true => Ok(None),
            false => control
                .query("SELECT 1", self.answer_timeout)
                .map(|_| Some(Clock.now())),
        };
        let mut asking = Asking {
            control,
            timeout: self.answer_timeout,
            sink: &self.sink,
        };
        let sampled = answered.and_then(|answered_at| {
            collector.sample(&mut asking, &mut self.recorder)?;
            let round_trip_ms = answered_at.map(|at| (at - asked_at) as f64 / 1e6);
            self.round_trip.put_some(&mut self.recorder, round_trip_ms);
            self.recorder.finish();
            Ok(())
        });
        self.shared.asked_at.store(0, Ordering::Relaxed);
        if sampled.is_ok() {
            self.answered_at = Clock.now();
        }
        match sampled {
            Err(error) if !super::is_lost(&error) => {
                if !std::mem::replace(&mut self.is_refused, true) {
                    let text = format!("the database refused a sample to its observer: {error}");
                    self.sink
                        .event(Clock.now(), None, EventKind::Observer, text);
                }
                Ok(())
            }
            other => other,
        }
    }

    /// The connection is lost or was never made: reported once, and retried every period.
    fn lose(&mut self, error: &DbError) {
        self.control = None;
        self.shared.connected.store(false, Ordering::Relaxed);
        self.shared.asked_at.store(0, Ordering::Relaxed);
        if self.lost_at.is_none() {
            let now = Clock.now();
            self.lost_at = Some(now);
            let text = format!(
                "the database's observer has no connection and retries every {:.0} s: {error}",
                self.period.as_secs_f64().max(1.0)
            );
            self.sink.event(now, None, EventKind::Observer, text);
        }
    }

    fn finish(&mut self) {
        if let Some(lost_at) = self.lost_at.take() {
            let now = Clock.now();
            let seconds = (now - lost_at) as f64 / 1e9;
            let text = format!(
                "the database stopped answering its observer {seconds:.1} s before the end"
            );
            self.sink
                .event(lost_at, Some(now), EventKind::Observer, text);
        }
        let Some(mut collector) = self.collector.take() else {
            let why = "the observer never connected to the database; see the events";
            self.sink.gap("db", why);
            return;
        };
        if self.connector.blocks()
            && let Some(control) = &mut self.control
            && let Err(error) = control.reconnect(self.connector.as_ref(), self.connect_timeout)
        {
            self.sink.gap("settings.end", error.to_string());
            self.control = None;
        }
        let reported = match &mut self.control {
            Some(control) => collector.report(
                &mut Asking {
                    control,
                    timeout: self.answer_timeout,
                    sink: &self.sink,
                },
                true,
            ),
            None => {
                let why = "the database did not answer at the end of the run";
                self.sink.gap("settings.end", why);
                Ok(())
            }
        };
        if let Err(error) = reported {
            let why = format!("the database did not answer at the end of the run: {error}");
            self.sink.gap("settings.end", why);
        }
        let zero = collector.always_zero();
        if !zero.is_empty() {
            self.sink
                .fact(names::OBSERVER_ALWAYS_ZERO, zero.join(" "), "the observer");
        }
    }
}

/// The path of a file next to an SQLite database.
pub(super) fn beside(file: &std::path::Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

/// Reports facts about the observers' own connection.
fn introduce(sink: &Sink, tls: Option<String>, socket: Option<RawFd>, several: bool) {
    let source = "the observer's connection";
    let tls = tls.unwrap_or_else(|| "none".to_owned());
    sink.fact(names::CLIENT_TLS, tls, source);
    if let Some(on) = socket.and_then(nodelay_of) {
        let on = if on { "on" } else { "off" };
        sink.fact(names::CLIENT_TCP_NODELAY, on, source);
    }
    if several {
        let why = "the target has several endpoints: only the first one is observed";
        sink.gap(names::DB_ENDPOINTS, why);
    }
}
