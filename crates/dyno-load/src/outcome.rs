//! The result of a run.

mod together;

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::clock::Nanos;
use dyno_core::interval::{Counters, Interval, Latencies, OperationCounters, RoleCounters};
use dyno_core::states::{IdleIn, IdleTime, SessionState};
use dyno_core::summary::{AgentFinding, AgentSummary, RunEnd};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::message::WorkerEnd;
use crate::outages::Outage;
use crate::silences::Pauses;
use crate::statements::{ShapeFigures, StatementFacts};

/// A run's result. Instants are on [`dyno_core::Clock`], in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunOutcome {
    /// All measurements: events that began after the warm-up (in an open loop limited by events:
    /// were due then) and ended within the grace period. Complete, even if the observer got some of
    /// them late.
    pub totals: Interval,
    /// The part of `totals` after the deadline or the early end. Rates are over `totals -
    /// in_grace`.
    pub in_grace: Counters,
    /// The same for operations; shorter than `totals.operations` if the rest is empty.
    pub operations_in_grace: Vec<OperationCounters>,
    /// The same for roles.
    pub roles_in_grace: Vec<RoleCounters>,
    /// Each session's share, by `tid`; the last report for sessions of an unresponsive worker.
    pub sessions: Vec<SessionTotals>,
    /// Start of the measurement.
    pub measured_start: Nanos,
    /// Its end without the grace period: the deadline, the early stop, or the end of the last event
    /// if all sessions ended by themselves.
    pub measured_end: Nanos,
    /// From the start of the measurement to the end of the last event that counts.
    pub elapsed_ns: Nanos,
    /// Events still in flight when the grace period was over.
    pub unfinished: u64,
    /// Times without a successful connection, in order.
    pub outages: Vec<Outage>,
    /// When the target was silent, and when the generator was frozen.
    pub pauses: Pauses,
    /// Names in statements, including tables; `None` if incomplete.
    pub mentions: Option<BTreeSet<Box<str>>>,
    /// Whether statements differed, and what they changed.
    pub statements: StatementFacts,
    /// The statement shapes, by total time, largest first; empty unless requested.
    pub shapes: Vec<ShapeFigures>,
    /// Sums of the ramp-up and the warm-up.
    pub warmup: Counters,
    /// Work of sessions before the run: a script's `thread_init()`.
    pub before: Counters,
    /// Work of sessions after the run: a script's `thread_done()`.
    pub after: Counters,
    /// Open loop: how late events began although their session was free (as service times).
    pub pacing_lag: Option<Box<Latencies>>,
    /// Open loop: arrivals due but not started when new events stopped.
    pub backlog: u64,
    /// Open loop: the longest backlog, when the longest-waiting event began and at the ends of
    /// intervals.
    pub backlog_max: u64,
    /// Resource usage of the processes that made the load; empty if it was only this one.
    pub processes: Vec<ProcessUse>,
    /// Values counted by scripts, if this is a part of a run.
    pub counted: Counted,
    /// The agents, if there were several.
    pub agents: Vec<AgentSummary>,
    /// Problems with the agents.
    pub agent_findings: Vec<AgentFinding>,
    /// The workers, in order.
    pub workers: Vec<WorkerReport>,
    /// The failures: the session, if any, and the reason.
    pub failures: Vec<(Option<u32>, String)>,
    /// How it ended.
    pub end: RunEnd,
}

impl RunOutcome {
    /// Adds a worker's result.
    pub(crate) fn take(&mut self, end: &mut WorkerEnd) {
        self.outages.append(&mut end.outages);
        for session in &mut end.sessions {
            session.worker = end.worker as u32;
        }
        self.sessions.append(&mut end.sessions);
        self.unfinished += end.unfinished;
        self.warmup.merge(&end.warmup);
        self.before.merge(&end.outside.0);
        self.after.merge(&end.outside.1);
        if let (Some(sum), Some(lag)) = (&mut self.pacing_lag, end.lag.take()) {
            sum.merge(&lag);
        }
    }

    /// Sums within the measurement: the numerator of rates.
    pub fn in_window(&self) -> Counters {
        self.totals.counters.without(&self.in_grace)
    }

    /// Sums of an operation within the measurement.
    pub fn operation_in_window(&self, operation: usize) -> OperationCounters {
        let all = self.totals.operations.get(operation);
        let all = all.map(|all| all.counters).unwrap_or_default();
        let late = self.operations_in_grace.get(operation);
        all.without(&late.copied().unwrap_or_default())
    }

    /// The events of a role that ended within the measurement.
    pub fn role_events_in_window(&self, role: usize) -> u64 {
        let of = |roles: &[RoleCounters]| roles.get(role).map_or(0, |role| role.events);
        of(&self.totals.roles) - of(&self.roles_in_grace)
    }

    /// Sessions that had lost their connection when their run ended.
    pub fn disconnected(&self) -> usize {
        let sessions = self.sessions.iter();
        sessions.filter(|session| session.disconnected).count()
    }

    /// Events that ended within the grace period. Included in `totals`.
    pub fn events_in_grace(&self) -> u64 {
        self.in_grace.events
    }
}

/// Values that the scripts of one load generator counted for the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The sums of the ledger, in the order of declaration: acknowledged, then the negative and the
    /// positive amounts with an unknown result.
    pub sums: Vec<[i128; 3]>,
    /// Shared numbers that are added up, by name.
    pub numbers: BTreeMap<String, Vec<i64>>,
    /// Whether a session has used the database.
    pub driver_used: bool,
    /// The values of one of several load generators are missing.
    pub incomplete: bool,
}

impl Counted {
    pub(crate) fn add(&mut self, other: Self) {
        self.driver_used |= other.driver_used;
        self.incomplete |= other.incomplete;
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), [0; 3]);
        }
        for (own, other) in self.sums.iter_mut().zip(other.sums) {
            own.iter_mut()
                .zip(other)
                .for_each(|(own, other)| *own += other);
        }
        for (name, others) in other.numbers {
            let own = self.numbers.entry(name).or_default();
            if own.len() < others.len() {
                own.resize(others.len(), 0);
            }
            own.iter_mut()
                .zip(others)
                .for_each(|(own, other)| *own += other);
        }
    }
}

/// Resource usage of a process during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// CPU time in the program, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// Peak resident memory, in bytes.
    pub rss_max_bytes: u64,
}

/// A session's share of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTotals {
    /// The session.
    pub tid: u32,
    /// The worker that drives it, by its place in [`RunOutcome::workers`].
    pub worker: u32,
    /// Its events.
    pub events: u64,
    /// Its time in events.
    pub busy_ns: Nanos,
    /// Its shortest event; 0 without any.
    pub min_ns: Nanos,
    /// Its longest event.
    pub max_ns: Nanos,
    /// When it ended by itself; `None` if the end of the run stopped it.
    pub finished: Option<Nanos>,
    /// Its last known state, at the end of the measurement unless it is lost.
    pub state: SessionState,
    /// It had lost its connection when its run ended, including the grace period, and could not
    /// reconnect.
    pub disconnected: bool,
    /// Its run ended between two events with an open transaction.
    pub in_transaction: bool,
    /// When it was last seen to complete a statement or an event, or to wait for its next event's
    /// time; 0 before the measurement.
    pub active: Nanos,
    /// The longest idle time.
    pub idle: IdleTime,
}

impl SessionTotals {
    /// The totals of a session of an unresponsive worker, from its last report `known` at the
    /// instant `since`.
    pub(crate) fn lost(tid: u32, known: &[Self], since: Nanos, end: Nanos) -> Self {
        let known = known.iter().find(|session| session.tid == tid);
        let nothing = Self {
            tid,
            active: since,
            ..Self::default()
        };
        let known = known.copied().unwrap_or(nothing);
        let silence = IdleTime {
            from: since,
            to: end.max(since),
            idle_in: IdleIn::Worker,
            attempts: 0,
        };
        let longest = [known.idle, silence]
            .into_iter()
            .max_by_key(IdleTime::length_ns);
        Self {
            state: SessionState::Lost,
            idle: longest.unwrap_or(silence),
            ..known
        }
    }
}

/// The cost of driving the sessions of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// CPU time of its thread during the measurement, without spinning for due times.
    pub cpu_ns: Nanos,
    /// CPU time spent spinning for due times (open loop).
    pub spin_ns: Nanos,
    /// `cpu_ns` over the time it ran: 1 is a whole core.
    pub busy: f64,
    /// The longest time in which its loop did not serve its sockets; for an unresponsive worker,
    /// the time since its last response.
    pub stall_ns_max: Nanos,
    /// The share of time in which its loop did not serve its sockets for 10 ms or longer, 0 to 1.
    pub away: f64,
    /// Number of its sessions.
    pub sessions: u32,
    /// It did not return in time: its thread hangs in the script, or it panicked, as a failure
    /// reports. Its hand-overs count, the rest is lost.
    pub stuck: bool,
}

/// Why there is no result.
#[derive(Debug, Error, PartialEq)]
pub enum LoadError {
    /// Invalid settings.
    #[error("{0}")]
    Config(String),
    /// Threads, descriptors or programs could not be created.
    #[error("cannot start the workers: {0}")]
    Start(String),
    /// A session's initialisation failed.
    #[error("session {tid} could not be initialised: {why}")]
    Init {
        /// The session.
        tid: u32,
        /// The message of the script or the server.
        why: String,
    },
    /// Initialisation timed out.
    #[error(
        "only {ready} of {sessions} sessions were ready within {timeout_s} s: {waits}; is the \
         server reachable and its connection limit high enough? A longer initialisation timeout \
         gives them more time"
    )]
    InitTimeout {
        /// Ready sessions.
        ready: u32,
        /// All sessions.
        sessions: u32,
        /// The timeout, in seconds.
        timeout_s: f64,
        /// What the other sessions waited for.
        waits: String,
    },
    /// The requested start had passed when the sessions were ready.
    #[error(
        "the instant at which to begin had passed by {late_s:.3} s when all sessions were ready; \
         leave more time before it, for calibration and connecting"
    )]
    BeginPassed {
        /// The delay, in seconds.
        late_s: f64,
    },
    /// It is one of several load generators, and the start was called off.
    #[error("the run was called off before it began: {0}")]
    CalledOff(String),
    /// Stopped by the user before the measurement.
    #[error("stopped before the measurement began")]
    Interrupted,
}

impl WorkerReport {
    pub(crate) fn of(end: &WorkerEnd) -> Self {
        // Spinning is waiting; it says nothing about the worker's load.
        let cpu_ns = end.cpu_ns.saturating_sub(end.spin_ns);
        let share = |ns: Nanos| match end.span_ns {
            // A run that ended in its warm-up has no measurement.
            0 => 0.0,
            span_ns => ns as f64 / span_ns as f64,
        };
        Self {
            cpu_ns,
            spin_ns: end.spin_ns,
            busy: share(cpu_ns),
            stall_ns_max: end.stall_ns_max,
            away: share(end.away_ns).min(1.0),
            sessions: end.sessions.len() as u32,
            stuck: false,
        }
    }
}
