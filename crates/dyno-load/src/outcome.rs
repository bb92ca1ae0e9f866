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
    /// Everything that was measured: the events that began after the warm-up and ended within the
    /// grace period. In an open loop limited by events, those that were due after the warm-up.
    /// Counters also include events that began in the warm-up, from their first retry after it.
    /// Complete, even if the observer got some of them late.
    pub totals: Interval,
    /// The part of `totals` that came after the deadline or the early end. Rates are computed from
    /// `totals - in_grace`.
    pub in_grace: Counters,
    /// `in_grace` for operations. Shorter than `totals.operations` if the rest is empty.
    pub operations_in_grace: Vec<OperationCounters>,
    /// `in_grace` for roles.
    pub roles_in_grace: Vec<RoleCounters>,
    /// The share of each session, by `tid`. If a worker does not respond, the last report on its
    /// sessions.
    pub sessions: Vec<SessionTotals>,
    /// Start of the measurement.
    pub measured_start: Nanos,
    /// When the measurement ended, without the grace period: at the deadline, at the early stop,
    /// or, if all sessions ended by themselves, with the last event.
    pub measured_end: Nanos,
    /// From the start of the measurement to the end of the last event that counts.
    pub elapsed_ns: Nanos,
    /// Events still in flight when the grace period was over.
    pub unfinished: u64,
    /// The times when no connection succeeded, in order.
    pub outages: Vec<Outage>,
    /// When the target was silent, and when the generator was frozen.
    pub pauses: Pauses,
    /// The names in statements, among them those of tables. `None` if incomplete.
    pub mentions: Option<BTreeSet<Box<str>>>,
    /// Whether statements differed, and what they changed.
    pub statements: StatementFacts,
    /// The statement shapes, those with the most total time first. Empty unless requested.
    pub shapes: Vec<ShapeFigures>,
    /// The sums of the ramp-up and the warm-up.
    pub warmup: Counters,
    /// What sessions did before the run, in the script's `thread_init()`.
    pub before: Counters,
    /// What sessions did after the run, in the script's `thread_done()`.
    pub after: Counters,
    /// Open loop: how late events began although their session was free. Stored as service times.
    pub pacing_lag: Option<Box<Latencies>>,
    /// Open loop: arrivals that were due but had not started when new events stopped.
    pub backlog: u64,
    /// Open loop: the longest backlog. It is measured whenever the event that has waited longest
    /// begins, and at the end of each interval.
    pub backlog_max: u64,
    /// The resources used by the processes that generated the load. Empty if this was the only one.
    pub processes: Vec<ProcessUse>,
    /// What scripts have counted, if this is part of a run.
    pub counted: Counted,
    /// The agents, if there were several.
    pub agents: Vec<AgentSummary>,
    /// Problems with the agents.
    pub agent_findings: Vec<AgentFinding>,
    /// The workers, in order.
    pub workers: Vec<WorkerReport>,
    /// The failures: the session, if it was one, and the reason.
    pub failures: Vec<(Option<u32>, String)>,
    /// How the run ended.
    pub end: RunEnd,
}

impl RunOutcome {
    /// Adds the result of a worker.
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

    /// The sums within the measurement, from which rates are computed.
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

    /// How many sessions had lost their connection when their run ended.
    pub fn disconnected(&self) -> usize {
        let sessions = self.sessions.iter();
        sessions.filter(|session| session.disconnected).count()
    }

    /// The events that ended within the grace period. They are included in `totals`.
    pub fn events_in_grace(&self) -> u64 {
        self.in_grace.events
    }
}

/// What the scripts of one load generator have counted for the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The sums of the ledger, in the order of declaration: the acknowledged amount, and then the
    /// negative and the positive amounts whose outcome is unknown.
    pub sums: Vec<[i128; 3]>,
    /// Shared numbers that are added up, by name.
    pub numbers: BTreeMap<String, Vec<i64>>,
    /// Whether a session has used the database.
    pub driver_used: bool,
    /// Whether the counts of one of several load generators are missing.
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

/// What a process used during the measurement.
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
    /// The worker that drives it, as an index into [`RunOutcome::workers`].
    pub worker: u32,
    /// Events of the session.
    pub events: u64,
    /// Time that the session spent in events, nanoseconds.
    pub busy_ns: Nanos,
    /// Shortest event, nanoseconds; 0 without any.
    pub min_ns: Nanos,
    /// Longest event, nanoseconds.
    pub max_ns: Nanos,
    /// When it ended by itself. `None` if the end of the run stopped it.
    pub finished: Option<Nanos>,
    /// The last known state: at the end of the measurement, unless the session is lost.
    pub state: SessionState,
    /// Whether it had lost its connection when its run ended, including the grace period, and could
    /// not reconnect.
    pub disconnected: bool,
    /// Whether its run ended between two events while a transaction was open.
    pub in_transaction: bool,
    /// When it last completed a statement or an event, or was waiting for the time of its next
    /// event. 0 if that was before the measurement.
    pub active: Nanos,
    /// The longest idle time.
    pub idle: IdleTime,
}

impl SessionTotals {
    /// The totals of a session whose worker does not respond, from its last report `known` at the
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

/// What it cost a worker to drive its sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// The CPU time of its thread during the measurement, without the time spent spinning until
    /// events were due.
    pub cpu_ns: Nanos,
    /// The CPU time spent spinning until events were due (open loop).
    pub spin_ns: Nanos,
    /// `cpu_ns` over the time it ran: 1 is a whole core.
    pub busy: f64,
    /// The longest time without serving its sockets. For a worker that does not respond, the time
    /// since its last response.
    pub stall_ns_max: Nanos,
    /// The share of the time, 0 to 1, without serving its sockets. Counts only gaps of 10 ms or
    /// longer.
    pub away: f64,
    /// Number of its sessions.
    pub sessions: u32,
    /// Whether it did not return in time: its thread hangs in the script, or has panicked, which a
    /// failure reports. Figures that it handed over count; the rest is lost.
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
    /// The requested start had already passed when the sessions were ready.
    #[error(
        "all sessions were ready only {late_s:.3} s after the requested start; leave more time \
         for calibration and connecting"
    )]
    BeginPassed {
        /// How late it was, in seconds.
        late_s: f64,
    },
    /// This is one of several load generators, and the start was cancelled.
    #[error("the run was cancelled before it began: {0}")]
    CalledOff(String),
    /// Stopped by the user before the measurement.
    #[error("stopped before the measurement began")]
    Interrupted,
}

impl WorkerReport {
    pub(crate) fn of(end: &WorkerEnd) -> Self {
        // Spinning is waiting, and says nothing about how busy the worker is.
        let cpu_ns = end.cpu_ns.saturating_sub(end.spin_ns);
        let share = |ns: Nanos| match end.span_ns {
            // A run that ended during its warm-up has no measurement.
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
