//! Messages between the coordinator and its workers.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_core::Clock;
use dyno_core::clock::{Nanos, ThreadClock, simulated};
use dyno_core::interval::{Counters, Latencies};
use dyno_core::states::SessionStates;

use crate::calendar::Schedule;
use crate::outages::Outage;
use crate::outcome::SessionTotals;
use crate::poller::Waker;
use crate::quota::Quota;
use crate::recorder::Handover;
use crate::roles::Cast;
use crate::session::{Lifecycle, Session, Wait};
use crate::silences::TimeRange;
use crate::statements::Statements;
use crate::stop::{StopLevel, StopSignal};

/// From a worker (or the stop signal) to the coordinator.
pub(crate) enum Message {
    /// All sessions of this worker are initialised.
    Ready,
    /// An interval of one worker.
    Handover(Box<Handover>),
    /// A session failed; without a session, the worker itself did.
    Failed(Option<u32>, String),
    /// The waits of the sessions that are not ready.
    Waits(Waits),
    /// The worker has ended; its last message.
    Ended(Box<WorkerEnd>),
    /// A worker's thread panicked or could not start.
    Lost(usize),
    /// Only background sessions of this worker are still running.
    BackgroundOnly,
    /// The first session of this worker to do so runs `thread_done`.
    DoneBegun(usize),
    /// The stop signal was set.
    Stopped,
}

/// The waits of a worker's sessions during initialisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    pub(crate) ready: u32,
    pub(crate) connecting: u32,
    pub(crate) statement: u32,
    pub(crate) sleeping: u32,
    pub(crate) queued: u32,
}

impl Waits {
    pub(crate) fn of(sessions: &[Session]) -> Self {
        let mut waits = Self::default();
        for session in sessions {
            let count = match (session.stage, session.wait) {
                (Lifecycle::Ready, _) => &mut waits.ready,
                (_, Wait::Connect) => &mut waits.connecting,
                (_, Wait::Request) => &mut waits.statement,
                (_, Wait::Sleep) => &mut waits.sleeping,
                _ => &mut waits.queued,
            };
            *count += 1;
        }
        waits
    }
}

/// A worker's last hand-over.
#[derive(Debug)]
pub(crate) struct WorkerEnd {
    pub(crate) worker: usize,
    pub(crate) sessions: Vec<SessionTotals>,
    /// The final states of its sessions.
    pub(crate) states: SessionStates,
    pub(crate) outages: Vec<Outage>,
    pub(crate) silences: Vec<TimeRange>,
    pub(crate) statements: Statements,
    pub(crate) warmup: Counters,
    /// Work of its sessions before and after the run.
    pub(crate) outside: (Counters, Counters),
    pub(crate) unfinished: u64,
    /// The longest wait of a measured arrival, from its due time until a session took it up.
    pub(crate) longest_wait: TimeRange,
    pub(crate) last_event_end: Nanos,
    /// When new events stopped; `None` if all sessions ended earlier by themselves.
    pub(crate) stopped: Option<Nanos>,
    pub(crate) lag: Option<Box<Latencies>>,
    pub(crate) cpu_ns: Nanos,
    pub(crate) spin_ns: Nanos,
    pub(crate) span_ns: Nanos,
    pub(crate) stall_ns_max: Nanos,
    pub(crate) away_ns: Nanos,
}

/// From the coordinator to a worker.
pub(crate) enum Control {
    /// All sessions of all workers are ready: go.
    Start(Box<Start>),
    /// No new event begins from now on.
    End,
    /// Drop everything.
    Abandon,
    /// Report what the sessions wait for.
    Report,
}

/// The parameters of a worker's start.
pub(crate) struct Start {
    pub(crate) schedule: Schedule,
    pub(crate) cast: Arc<Cast>,
    pub(crate) quota: Option<Arc<Quota>>,
}

/// A worker's control queue, and the state that other threads can read.
pub(crate) struct Mailbox {
    pub(crate) waker: Waker,
    controls: Mutex<Vec<Control>>,
    pub(crate) cpu: CpuTime,
    /// When blocking operations of the worker's thread must stop waiting.
    pub(crate) limit: AtomicU64,
    /// How long they may continue after mail arrives; 0 before the run begins, so they stop at
    /// once.
    pub(crate) grace_ns: AtomicU64,
    /// A blocking operation was interrupted.
    gave_up: AtomicBool,
}

/// The CPU time of a worker's thread, readable by other threads.
#[derive(Default)]
pub(crate) struct CpuTime {
    /// The thread's clock; 0, which no thread has, before it began.
    clock: AtomicI32,
    /// CPU time and instant at the start of the measurement; 0 before.
    at_start: AtomicU64,
    since: AtomicU64,
}

impl CpuTime {
    /// Registers the calling thread as the worker's.
    pub(crate) fn begin(&self) {
        let clock = ThreadClock::own().map_or(0, ThreadClock::raw);
        self.clock.store(clock, Ordering::Release);
    }

    pub(crate) fn measure(&self, cpu_ns: Nanos, now: Nanos) {
        self.at_start.store(cpu_ns, Ordering::Relaxed);
        self.since.store(now, Ordering::Release);
    }

    /// CPU time since the start of the measurement, with that start; since the thread began if the
    /// worker did not reach the measurement.
    pub(crate) fn used(&self) -> Option<(Nanos, Option<Nanos>)> {
        let clock = self.clock.load(Ordering::Acquire);
        let used = ThreadClock::from_raw(clock).read().filter(|_| clock != 0)?;
        let since = self.since.load(Ordering::Acquire);
        let before = self.at_start.load(Ordering::Relaxed);
        Some((used.saturating_sub(before), (since > 0).then_some(since)))
    }
}

/// Sends a message to the coordinator. Fails silently if it has ended: it has its result by then.
pub(crate) fn send_message(coordinator: &Sender<Message>, message: Message) {
    let _ = coordinator.send(message);
    simulated::stir();
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            waker: Waker::new()?,
            controls: Mutex::default(),
            cpu: CpuTime::default(),
            limit: AtomicU64::new(Nanos::MAX),
            grace_ns: AtomicU64::new(0),
            gave_up: AtomicBool::new(false),
        }))
    }

    /// Queues a control message and wakes the worker.
    pub(crate) fn post(&self, control: Control) {
        self.locked().push(control);
        self.waker.wake();
    }

    pub(crate) fn take(&self) -> Vec<Control> {
        self.waker.clear();
        std::mem::take(&mut *self.locked())
    }

    /// A check for the worker's thread outside its loop: whether a blocking operation may continue.
    /// It may until the limit, for the grace period after it first saw unread mail, or until the
    /// user abandons the run.
    pub(crate) fn patience(self: &Arc<Self>, stop: &Arc<StopSignal>) -> Box<dyn Fn() -> bool> {
        let (mailbox, stop) = (Arc::clone(self), Arc::clone(stop));
        let unread = Cell::new(None);
        Box::new(move || {
            let at = Clock.now();
            if !mailbox.waker.is_pending() {
                unread.set(None);
            } else if unread.get().is_none() {
                unread.set(Some(at));
            }
            let since = unread.get().unwrap_or(at);
            let grace_ns = mailbox.grace_ns.load(Ordering::Relaxed);
            let called_off = unread.get().is_some() && at - since >= grace_ns;
            let goes_on = at < mailbox.limit.load(Ordering::Relaxed)
                && !called_off
                && stop.level() != StopLevel::Abandon;
            if !goes_on {
                mailbox.gave_up.store(true, Ordering::Relaxed);
            }
            goes_on
        })
    }

    /// Whether an operation was interrupted, so that later failures are a consequence.
    #[inline]
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Operations may block until this instant. Earlier mail does not affect them.
    pub(crate) fn renew(&self, limit: Nanos) {
        self.waker.clear();
        self.limit.store(limit, Ordering::Relaxed);
        self.gave_up.store(false, Ordering::Relaxed);
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Control>> {
        // A list of messages: valid even if a thread panicked.
        self.controls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
