//! What a run came to.

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
    /// Everything measured: events that began after the warm-up (in an open loop with a number of
    /// events: were due then) and ended before the grace was over. Complete, whatever the observer
    /// saw in time.
    pub totals: Interval,
    /// What of `totals` was recorded after the deadline or the early end. Rates are over
    /// `totals - in_grace`.
    pub in_grace: Counters,
    /// The same of the operations; shorter than `totals.operations` where nothing was.
    pub operations_in_grace: Vec<OperationCounters>,
    /// The same of the roles.
    pub roles_in_grace: Vec<RoleCounters>,
    /// Each session's share, by `tid`: of a worker that did not respond what it last reported.
    pub sessions: Vec<SessionTotals>,
    /// Start of the measurement.
    pub measured_start: Nanos,
    /// Its end without the grace: the deadline, the early stop, or the end of the last event when
    /// all sessions ended by themselves.
    pub measured_end: Nanos,
    /// From the start of the measurement to the end of the last event that counts.
    pub elapsed_ns: Nanos,
    /// Events begun and not ended when the grace was over.
    pub unfinished: u64,
    /// Times in which no connection could be made, in their order.
    pub outages: Vec<Outage>,
    /// When the target answered nothing, and when the generator was frozen.
    pub pauses: Pauses,
    /// Names that statements mention, tables' among them; `None` where they are not all known.
    pub mentions: Option<BTreeSet<Box<str>>>,
    /// Whether statements differed, and what they changed.
    pub statements: StatementFacts,
    /// What each shape of statement took, most of the time first; empty unless asked for.
    pub shapes: Vec<ShapeFigures>,
    /// What the ramp-up and the warm-up did.
    pub warmup: Counters,
    /// What sessions did before the run: a script's `thread_init()`.
    pub before: Counters,
    /// What they did after it: a script's `thread_done()`.
    pub after: Counters,
    /// Open loop: how late events began although their session was free (as service times).
    pub pacing_lag: Option<Box<Latencies>>,
    /// Open loop: arrivals due and not begun when new events stopped.
    pub backlog: u64,
    /// Open loop: the longest backlog, as the event that waited longest left it and at the ends of
    /// intervals.
    pub backlog_max: u64,
    /// What the processes that made the load used; empty where it was this one alone.
    pub processes: Vec<ProcessUse>,
    /// What scripts counted, where this is a part of a run.
    pub counted: Counted,
    /// The load generators, where they were several.
    pub agents: Vec<AgentSummary>,
    /// What is wrong, or odd, about them.
    pub agent_findings: Vec<AgentFinding>,
    /// The workers, in order.
    pub workers: Vec<WorkerReport>,
    /// What failed: the session, if it was one, and why.
    pub failures: Vec<(Option<u32>, String)>,
    /// How it ended.
    pub end: RunEnd,
}

impl RunOutcome {
    /// Takes what a worker came to.
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

    /// What ended within the measurement: the numerator of rates.
    pub fn in_window(&self) -> Counters {
        self.totals.counters.without(&self.in_grace)
    }

    /// What of an operation ended within the measurement.
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

    /// Events that ended after the deadline, within the grace. Contained in `totals`.
    pub fn events_in_grace(&self) -> u64 {
        self.in_grace.events
    }
}

/// What the scripts of one load generator counted for the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The sums of the ledger, in the order that the script declares them: acknowledged, and of
    /// what nobody knows whether it was kept the negative and the positive amounts.
    pub sums: Vec<[i128; 3]>,
    /// Numbers that sessions share and that are added up, by name.
    pub numbers: BTreeMap<String, Vec<i64>>,
    /// Whether a session has used the database.
    pub driver_used: bool,
    /// What one of several load generators counted is not known.
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
    /// The most memory that it had, in bytes.
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
    /// When it ended its run by itself; `None` where the run's end ended it.
    pub finished: Option<Nanos>,
    /// What it was doing when it was seen last, at the end of the measurement unless it is lost.
    pub state: SessionState,
    /// It had lost its connection when its run ended, the grace included, and could not make
    /// another.
    pub disconnected: bool,
    /// Its run ended between two events while a transaction of its own was open.
    pub in_transaction: bool,
    /// When it was last seen to have completed a statement or an event, or to wait for the time of
    /// its next event; 0 before the measurement.
    pub active: Nanos,
    /// The longest time in which it did nothing.
    pub idle: IdleTime,
}

impl SessionTotals {
    /// Those of a session whose worker does not respond: what was `known` of it at the instant
    /// `since`.
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

/// What driving its sessions cost a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// CPU time of its thread during the measurement, without spinning for due times.
    pub cpu_ns: Nanos,
    /// CPU time spent spinning for due times (open loop).
    pub spin_ns: Nanos,
    /// `cpu_ns` over the time it ran: 1 is a whole core.
    pub busy: f64,
    /// The longest time that its loop was kept from its sockets; for one that did not respond,
    /// the time since it responded last.
    pub stall_ns_max: Nanos,
    /// The share of the time that its loop was kept from its sockets for 10 ms or longer at a
    /// time, 0 to 1.
    pub away: f64,
    /// How many sessions it drove.
    pub sessions: u32,
    /// It did not return in time: its thread hangs in the script, or it panicked. A failure says
    /// so. What it had handed over counts, the rest is lost.
    pub stuck: bool,
}

/// Why there is no result.
#[derive(Debug, Error, PartialEq)]
pub enum LoadError {
    /// The settings make no sense.
    #[error("{0}")]
    Config(String),
    /// Threads, descriptors or programs could not be made.
    #[error("cannot start the workers: {0}")]
    Start(String),
    /// A session's initialisation failed.
    #[error("session {tid} could not be initialised: {why}")]
    Init {
        /// The session.
        tid: u32,
        /// In the script's or server's words.
        why: String,
    },
    /// Sessions took too long to initialise.
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
        /// What the others waited for.
        waits: String,
    },
    /// The instant at which to begin had passed when the sessions were ready.
    #[error(
        "the instant at which to begin had passed by {late_s:.3} s when all sessions were ready; \
         leave more time before it, for calibration and connecting"
    )]
    BeginPassed {
        /// By how much, in seconds.
        late_s: f64,
    },
    /// It is one of several load generators, which were told not to begin.
    #[error("the run was called off before it began: {0}")]
    CalledOff(String),
    /// Stopped by the user before anything was measured.
    #[error("stopped before the measurement began")]
    Interrupted,
}

impl WorkerReport {
    /// What a worker that ended had used.
    pub(crate) fn of(end: &WorkerEnd) -> Self {
        // Spinning is waiting awake; it says nothing about how much the worker has to do.
        let cpu_ns = end.cpu_ns.saturating_sub(end.spin_ns);
        let share = |ns: Nanos| match end.span_ns {
            // Of a run that ended in its warm-up nothing was measured.
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
