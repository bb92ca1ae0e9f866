//! What the coordinator and its workers tell each other.

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
    /// What sessions that are not ready wait for.
    Waits(Waits),
    /// The worker is done; it sends nothing more.
    Ended(Box<WorkerEnd>),
    /// A worker's thread has panicked, or could not begin.
    Lost(usize),
    /// No session of this worker is at work any more but those in the background.
    BackgroundOnly,
    /// A session of this worker runs `thread_done`, the first one that does.
    DoneBegun(usize),
    /// The stop signal was set.
    Stopped,
}

/// What a worker's sessions wait for while they initialise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    pub(crate) ready: u32,
    pub(crate) connecting: u32,
    pub(crate) statement: u32,
    pub(crate) sleeping: u32,
    pub(crate) queued: u32,
}

impl Waits {
    /// What these wait for.
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

/// What a worker hands over at its end.
#[derive(Debug)]
pub(crate) struct WorkerEnd {
    pub(crate) worker: usize,
    pub(crate) sessions: Vec<SessionTotals>,
    /// What became of its sessions.
    pub(crate) states: SessionStates,
    pub(crate) outages: Vec<Outage>,
    pub(crate) silences: Vec<TimeRange>,
    pub(crate) statements: Statements,
    pub(crate) warmup: Counters,
    /// What its sessions did before the run, and after theirs.
    pub(crate) outside: (Counters, Counters),
    pub(crate) unfinished: u64,
    /// Of a measured arrival, from when it was due to when a session took it up.
    pub(crate) longest_wait: TimeRange,
    pub(crate) last_event_end: Nanos,
    /// When new events stopped; `None` when all sessions ended by themselves before.
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
    /// Tell what sessions wait for.
    Report,
}

/// What a worker needs to know to start.
pub(crate) struct Start {
    pub(crate) schedule: Schedule,
    pub(crate) cast: Arc<Cast>,
    pub(crate) quota: Option<Arc<Quota>>,
}

/// A worker's control queue, and what can be read of it without its help.
pub(crate) struct Mailbox {
    pub(crate) waker: Waker,
    controls: Mutex<Vec<Control>>,
    pub(crate) cpu: CpuTime,
    /// When operations that block the worker's thread are to give up waiting.
    pub(crate) limit: AtomicU64,
    /// How long they may go on once there is mail; they give up at once before the run begins.
    pub(crate) grace_ns: AtomicU64,
    /// One of them was told to give up.
    gave_up: AtomicBool,
}

/// The CPU time of a worker's thread, for those who cannot ask it.
#[derive(Default)]
pub(crate) struct CpuTime {
    /// The thread's clock; 0, which is no thread's, before it began.
    clock: AtomicI32,
    /// CPU time at the start of the measurement, and that instant; 0 before.
    at_start: AtomicU64,
    since: AtomicU64,
}

impl CpuTime {
    /// The calling thread is the worker's.
    pub(crate) fn begin(&self) {
        let clock = ThreadClock::own().map_or(0, ThreadClock::raw);
        self.clock.store(clock, Ordering::Release);
    }

    /// The measurement begins.
    pub(crate) fn measure(&self, cpu_ns: Nanos, now: Nanos) {
        self.at_start.store(cpu_ns, Ordering::Relaxed);
        self.since.store(now, Ordering::Release);
    }

    /// CPU time since the start of the measurement, or since the thread began where the worker
    /// did not come so far, and since when that is.
    pub(crate) fn used(&self) -> Option<(Nanos, Option<Nanos>)> {
        let clock = self.clock.load(Ordering::Acquire);
        let used = ThreadClock::from_raw(clock).read().filter(|_| clock != 0)?;
        let since = self.since.load(Ordering::Acquire);
        let before = self.at_start.load(Ordering::Relaxed);
        Some((used.saturating_sub(before), (since > 0).then_some(since)))
    }
}

/// Tells the coordinator. One that left has its result already.
pub(crate) fn tell(coordinator: &Sender<Message>, message: Message) {
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

    /// Leaves something and wakes the worker.
    pub(crate) fn post(&self, control: Control) {
        self.locked().push(control);
        self.waker.wake();
    }

    /// Takes everything out.
    pub(crate) fn take(&self) -> Vec<Control> {
        self.waker.clear();
        std::mem::take(&mut *self.locked())
    }

    /// Tells the worker's thread, without its loop, whether an operation that blocks it may go on:
    /// until the limit, for the grace from when it first saw mail that nobody reads, or until the
    /// user wants everything dropped.
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

    /// Whether an operation was told to give up: what fails from then on fails because of that.
    #[inline]
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Operations may block until this instant. Mail that came before does not concern them.
    pub(crate) fn renew(&self, limit: Nanos) {
        self.waker.clear();
        self.limit.store(limit, Ordering::Relaxed);
        self.gave_up.store(false, Ordering::Relaxed);
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Control>> {
        // A list of messages: valid whatever a panicking thread did.
        self.controls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
