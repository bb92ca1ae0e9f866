//! A run from start to outcome: the coordinator's side.

mod validate;

use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use dyno_core::clock::simulated::{self, Member};
use dyno_core::clock::{Nanos, wall_time};
use dyno_core::db::Connector;
use dyno_core::plan::Drive;
use dyno_core::session::{Entry, Program};
use dyno_core::summary::RunEnd;
use dyno_core::text::number_of;

use crate::arrivals::{Generator, Span};
use crate::calendar::Schedule;
use crate::course::Course;
use crate::duet::DuetPart;
use crate::merger::Merger;
use crate::message::{Control, Message, Start, WorkerEnd};
use crate::outages;
use crate::outcome::{LoadError, RunOutcome, SessionTotals, WorkerReport};
use crate::pool::WorkerPool;
use crate::progress::Progress;
use crate::quota::Quota;
use crate::roles::Cast;
use crate::silences::{Heartbeat, TimeRange, pauses};
use crate::state::now;
use crate::statements::{Literals, Statements};
use crate::stop::{StopLevel, StopSignal};

use self::validate::validate;

/// How long after the grace period, or after the time for `thread_done`, a worker is considered
/// stuck.
const STUCK_NS: Nanos = 900_000_000;

/// Maximum number of sessions of a run: their records take some hundred megabytes.
pub const SESSIONS_MAX: u32 = 1 << 20;

/// Blocks until the start of the ready sessions is known, and returns it.
pub type Gate = Arc<dyn Fn() -> Result<Nanos, LoadError> + Send + Sync>;

/// The configuration of a run.
#[derive(Clone)]
pub struct RunConfig {
    /// How it is driven. At most `sessions` workers are started.
    pub drive: Drive,
    /// The source of connections; `None` for scripts without a database.
    pub connector: Option<Arc<dyn Connector>>,
    /// Ends it early.
    pub stop: Arc<StopSignal>,
    /// [`Entry::Run`]: every session initialises, runs within the drive's limits, and cleans up.
    /// [`Entry::Command`]: every session runs the command once, without limits, warm-up or pacing;
    /// a failing session does not end the others.
    pub entry: Entry,
    /// Number of operations that the script declares.
    pub operations: usize,
    /// Gives the start of the sessions, instead of the drive's instant.
    pub gate: Option<Gate>,
    /// The SQL syntax of values, if figures per statement shape are kept.
    pub shapes: Option<Literals>,
    /// Its part in a duet. Sessions begin when those of both sides are ready.
    pub duet: Option<DuetPart>,
}

/// A run.
pub struct Run;

impl Run {
    /// Runs to the end. `factory` makes each worker's program on the worker's thread, given the
    /// worker's number; sessions of a worker have the `tid`s `number, number + workers, …`.
    /// `observer` is called on the calling thread.
    ///
    /// The events limit is exact and works like sysbench's: an event takes its place within the
    /// limit when the session gets permission to go on, so an event that does not count afterwards
    /// (it returned true, or failed) has used a place. Warm-up events use none.
    ///
    /// # Errors
    /// Anything that keeps the run from starting. Later failures are in the outcome.
    pub fn start<P, F, O>(
        config: RunConfig,
        factory: F,
        mut observer: O,
    ) -> Result<RunOutcome, LoadError>
    where
        P: Program + 'static,
        F: Fn(usize) -> Result<P, String> + Send + Sync + 'static,
        O: FnMut(Progress<'_>),
    {
        validate(&config)?;
        let _member = Member::enter();
        let pool = WorkerPool::spawn(&config, factory)?;
        pool.initialise(config.drive.init_timeout, &config.stop)?;
        observer(Progress::Initialized);
        let begin = match (&config.duet, &config.gate) {
            (Some(part), _) => part.duet.arrive(part.side),
            (None, Some(gate)) => gate(),
            (None, None) => begin(config.drive.begin_unix_s),
        };
        let begin = match begin {
            Ok(begin) => begin,
            Err(error) => return Err(pool.shut_down(error, 0)),
        };
        Coordinator::new(config, pool, begin, observer).run()
    }
}

struct Coordinator<O> {
    config: RunConfig,
    pool: WorkerPool,
    observer: O,
    merger: Merger,
    schedule: Schedule,
    ends: Vec<Option<Box<WorkerEnd>>>,
    /// The workers whose threads reported a panic.
    panicked: Vec<bool>,
    at_work: usize,
    /// Workers with only background sessions still running.
    background_only: usize,
    failures: Vec<(Option<u32>, String)>,
    /// When the user or a failure ended the run.
    ended_early: Option<Nanos>,
    interrupted: bool,
    /// When workers that have not returned are considered stuck.
    patience: Nanos,
    /// The user abandoned the run.
    dropped: bool,
    /// The last sign of life of workers that run `thread_done`.
    done_heard: Vec<Option<Nanos>>,
    /// `None` if the system had no thread for it.
    heart: Option<Heartbeat>,
}

impl<O: FnMut(Progress<'_>)> Coordinator<O> {
    fn new(config: RunConfig, pool: WorkerPool, begin: Nanos, observer: O) -> Self {
        let drive = &config.drive;
        let schedule = match config.entry {
            Entry::Run => Schedule::new(drive, begin),
            _ => Schedule::unbounded(drive, begin),
        };
        let (arrivals, quota) = match config.entry {
            Entry::Run => (arrivals(drive, &schedule), drive.own().events),
            _ => (None, None),
        };
        // In an open loop the arrivals themselves are limited.
        let quota = quota.filter(|_| arrivals.is_none());
        let quota = quota.map(|events| Arc::new(Quota::new(events, pool.size())));
        let sessions: Vec<u32> = (0..pool.size())
            .map(|worker| pool.tids(worker).len() as u32)
            .collect();
        let merger = Merger::new(schedule, &sessions, arrivals.clone());
        let cast = Arc::new(match config.entry {
            Entry::Run => Cast::new(drive, &schedule, arrivals),
            _ => Cast::default(),
        });
        for worker in 0..pool.size() {
            let start = Start {
                schedule,
                cast: Arc::clone(&cast),
                quota: quota.clone(),
            };
            pool.post(worker, Control::Start(Box::new(start)));
        }
        let patience = schedule.deadline.map_or(Nanos::MAX, |deadline| {
            deadline
                .saturating_add(schedule.grace_ns)
                .saturating_add(STUCK_NS)
        });
        let done_heard = vec![None; pool.size()];
        Self {
            ends: (0..pool.size()).map(|_| None).collect(),
            panicked: vec![false; pool.size()],
            at_work: pool.size(),
            background_only: 0,
            pool,
            observer,
            merger,
            schedule,
            failures: Vec::new(),
            ended_early: None,
            interrupted: false,
            patience,
            dropped: false,
            done_heard,
            // It would use the real clock.
            heart: (!simulated::is_on())
                .then(Heartbeat::start)
                .and_then(Result::ok),
            config,
        }
    }

    fn run(mut self) -> Result<RunOutcome, LoadError> {
        (self.observer)(Progress::Started {
            measured: self.schedule.measured,
        });
        while self.at_work > 0 {
            let at = now();
            let patience = self.patience();
            if at >= patience {
                break;
            }
            let until = self.merger.late_at().max(at + 1_000_000).min(patience);
            match self.pool.receive(Duration::from_nanos(until - at)) {
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.let_out();
        }
        Ok(self.conclude())
    }

    /// Passes complete or overdue intervals to the observer.
    fn let_out(&mut self) {
        loop {
            // The observer takes time; messages that came in the meantime are not late.
            while let Ok(message) = self.pool.receive(Duration::ZERO) {
                self.handle(message);
            }
            let Some(interval) = self.merger.release(now()) else {
                return;
            };
            (self.observer)(Progress::Interval(&interval));
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Handover(mut handover) => {
                if let Some(heard) = &mut self.done_heard[handover.worker] {
                    *heard = now();
                }
                self.merger.add(&mut handover);
                self.pool.give_back(handover);
            }
            Message::Failed(tid, why) => {
                self.failures.push((tid, why));
                if self.config.entry == Entry::Run {
                    self.pool.post_all(|| Control::End);
                    self.end_early(self.schedule.grace_ns);
                }
            }
            Message::Ended(end) => {
                self.at_work -= 1;
                self.merger.retire(end.worker, Some(end.states));
                let worker = end.worker;
                self.ends[worker] = Some(end);
            }
            Message::Lost(worker) => {
                self.at_work -= 1;
                self.panicked[worker] = true;
                self.merger.retire(worker, None);
            }
            Message::BackgroundOnly => {
                self.background_only += 1;
                if self.background_only == self.pool.size() {
                    self.pool.post_all(|| Control::End);
                    self.end_early(self.schedule.grace_ns);
                }
            }
            Message::DoneBegun(worker) => self.done_heard[worker] = Some(now()),
            Message::Stopped => self.stopped(),
            Message::Ready | Message::Waits(_) => {}
        }
    }

    fn stopped(&mut self) {
        let before_deadline = self.schedule.deadline.is_none_or(|at| now() < at);
        match self.config.stop.level() {
            StopLevel::None => {}
            StopLevel::End => {
                self.interrupted |= before_deadline;
                self.end_early(self.schedule.grace_ns);
            }
            StopLevel::Abandon => {
                self.interrupted = true;
                self.dropped = true;
                self.end_early(0);
            }
        }
    }

    fn end_early(&mut self, grace_ns: Nanos) {
        let at = now();
        let deadline = self.schedule.deadline.unwrap_or(Nanos::MAX);
        self.ended_early.get_or_insert(at.min(deadline));
        self.merger.stop(at);
        let patience = at.saturating_add(grace_ns).saturating_add(STUCK_NS);
        self.patience = self.patience.min(patience);
    }

    /// When workers that have not ended are considered stuck. `thread_done` has its own timeout; in
    /// a run without a limit, its workers are checked at the end of each measured interval.
    fn patience(&self) -> Nanos {
        if self.dropped {
            return self.patience;
        }
        let (grace_ns, done_ns) = (self.schedule.grace_ns, self.schedule.done_ns());
        let of = |worker: usize| match self.done_heard[worker] {
            None => self.patience,
            Some(_) if self.patience < Nanos::MAX => self.patience.saturating_add(done_ns),
            Some(heard) => heard
                .max(self.schedule.measured)
                .saturating_add(self.schedule.interval_ns)
                .saturating_add(grace_ns)
                .saturating_add(done_ns)
                .saturating_add(STUCK_NS),
        };
        let at_work = (0..self.pool.size()).filter(|worker| self.ends[*worker].is_none());
        at_work.map(of).max().unwrap_or(self.patience)
    }

    fn conclude(mut self) -> RunOutcome {
        let (ended, measured_start) = (self.measured_end(), self.schedule.measured);
        let measured_end = ended.max(measured_start);
        let rest = std::iter::from_fn(|| self.merger.release_rest());
        rest.for_each(|interval| (self.observer)(Progress::Interval(&interval)));
        // If it ended in the warm-up, nothing was due.
        let backlog = self.merger.backlog(measured_end) * u64::from(ended >= measured_start);
        let unfinished = self.under_way();
        let (workers, lost) = self.reports(measured_end);
        let end = self.end();
        let ends: Vec<Box<WorkerEnd>> = self.ends.into_iter().flatten().collect();
        let last_event = ends.iter().map(|end| end.last_event_end).max();
        let waits = ends.iter().map(|end| end.longest_wait);
        let longest_wait = waits.max_by_key(TimeRange::length_ns).unwrap_or_default();
        let queue_max = self.merger.queue_behind(longest_wait);
        let (mut totals, in_grace, backlog_max) = self.merger.into_totals();
        totals.start = measured_start;
        totals.end = measured_end;
        totals.backlog = backlog;
        let mut outcome = RunOutcome {
            totals,
            in_grace: in_grace.counters,
            operations_in_grace: in_grace.operations,
            roles_in_grace: in_grace.roles,
            sessions: lost,
            elapsed_ns: last_event.unwrap_or(0).saturating_sub(measured_start),
            unfinished,
            pacing_lag: self.config.drive.open_loop.map(|_| Box::default()),
            backlog,
            backlog_max: backlog_max.max(backlog).max(queue_max),
            workers,
            failures: self.failures,
            end,
            ..RunOutcome::blank(measured_start, measured_end)
        };
        // A worker that did not end has no recorded silences.
        let mut silences = vec![Vec::new(); self.pool.size() - ends.len()];
        let mut statements = Statements::default();
        let all_ended = ends.len() == self.pool.size();
        for mut end in ends {
            outcome.take(&mut end);
            silences.push(end.silences);
            statements.merge(end.statements);
        }
        outcome.outages = outages::merged(outcome.outages);
        let frozen = self.heart.map(Heartbeat::finish).unwrap_or_default();
        let measured = TimeRange {
            from: measured_start,
            to: measured_end,
        };
        outcome.pauses = pauses(silences, frozen, measured);
        outcome.statements = statements.facts();
        let shapes = statements.shapes.take();
        outcome.shapes = shapes.map_or_else(Vec::new, |shapes| shapes.figures());
        // A worker that did not end may have named other tables.
        outcome.mentions = statements.names().filter(|_| all_ended);
        outcome.sessions.sort_by_key(|session| session.tid);
        outcome
    }

    /// Events in flight in workers that did not end, as far as visible from outside.
    fn under_way(&self) -> u64 {
        let silent = (0..self.pool.size()).filter(|worker| self.ends[*worker].is_none());
        silent
            .map(|worker| {
                let states = self.merger.last_states(worker);
                // It hangs in at least one of them.
                u64::from(states.working + states.connecting).max(1)
            })
            .sum()
    }

    /// The workers' results, and the known figures of sessions whose worker did not end.
    fn reports(&mut self, measured_end: Nanos) -> (Vec<WorkerReport>, Vec<SessionTotals>) {
        let mut lost = Vec::new();
        let mut reports = Vec::new();
        for worker in 0..self.pool.size() {
            let report = match &self.ends[worker] {
                Some(end) => WorkerReport::of(end),
                None => self.silent(worker, measured_end, &mut lost),
            };
            reports.push(report);
        }
        (reports, lost)
    }

    /// The report on a worker that did not end, as far as visible from outside.
    fn silent(
        &mut self,
        worker: usize,
        measured_end: Nanos,
        lost: &mut Vec<SessionTotals>,
    ) -> WorkerReport {
        let (known, since) = self.merger.last_report(worker);
        let sessions = self.pool.tids(worker);
        let count = sessions.len() as u32;
        lost.extend(sessions.map(|tid| SessionTotals {
            worker: worker as u32,
            ..SessionTotals::lost(tid, &known, since, measured_end)
        }));
        let at = now();
        let (cpu_ns, from) = self.pool.cpu_used(worker).unwrap_or_default();
        let span_ns = (at.saturating_sub(from.unwrap_or(self.schedule.begin))).max(1);
        if !self.panicked[worker] {
            let since_s = since.saturating_sub(self.schedule.measured) as f64 / 1e9;
            let why = format!(
                "worker {worker} with {} has not responded since second \
                 {since_s:.1}, and had used {:.1} s of CPU time when it was given up: its script \
                 blocks, or does not end. No figure includes its work since then",
                number_of(count, "session"),
                cpu_ns as f64 / 1e9,
            );
            self.failures.push((None, why));
        }
        WorkerReport {
            cpu_ns,
            spin_ns: 0,
            busy: cpu_ns as f64 / span_ns as f64,
            stall_ns_max: at.saturating_sub(since.max(self.schedule.begin)),
            away: at.saturating_sub(since.max(self.schedule.begin)) as f64 / span_ns as f64,
            sessions: count,
            stuck: true,
        }
    }

    /// The end of the measurement without the grace period.
    fn measured_end(&self) -> Nanos {
        let ends = || self.ends.iter().flatten();
        let mut stopped = ends().filter_map(|end| end.stopped).max();
        // Abandoned or stuck workers do not report when they stopped.
        if self.interrupted || self.ends.iter().any(Option::is_none) {
            stopped = stopped.max(self.ended_early.or(self.schedule.deadline));
        }
        let last_event = ends().map(|end| end.last_event_end).max();
        stopped.or(last_event).unwrap_or(0)
    }

    fn end(&self) -> RunEnd {
        match self.failures.first() {
            Some((Some(tid), why)) => RunEnd::Failed(format!("session {tid}: {why}")),
            Some((None, why)) => RunEnd::Failed(why.clone()),
            None if self.interrupted => RunEnd::Interrupted,
            None => RunEnd::Completed,
        }
    }
}

/// The instant of a wall-clock time; now if not given.
fn begin(unix_s: Option<f64>) -> Result<Nanos, LoadError> {
    let Some(unix_s) = unix_s else {
        return Ok(now());
    };
    let ahead_s = unix_s - wall_time().as_secs_f64();
    if ahead_s < 0.0 {
        return Err(LoadError::BeginPassed { late_s: -ahead_s });
    }
    Ok(now().saturating_add((ahead_s * 1e9) as Nanos))
}

fn arrivals(drive: &Drive, schedule: &Schedule) -> Option<Generator> {
    let span = Span {
        begin: schedule.begin,
        measured: schedule.measured,
        end: schedule.deadline,
        limit: drive.events,
    };
    let open = drive.open_loop?;
    let warmup_s = (schedule.measured - schedule.begin) as f64 / 1e9;
    let course = drive.rate_schedule();
    let course = course.map(|schedule| Course::new(schedule, warmup_s));
    Some(Generator::along(open, (drive.seed, 0), span, course).of(drive.portion()))
}
