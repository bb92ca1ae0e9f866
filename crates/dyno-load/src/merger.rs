//! Merges the workers' intervals by number and releases them in order.

use std::collections::VecDeque;

use dyno_core::clock::{Clock, Nanos, wall_time};
use dyno_core::interval::{Counters, Interval, OperationCounters, RoleCounters, merge_roles};
use dyno_core::states::{SessionState, SessionStates};

use crate::arrivals::Generator;
use crate::calendar::Schedule;
use crate::outcome::SessionTotals;
use crate::recorder::Handover;
use crate::silences::TimeRange;

/// The merging side of interval recording. Totals include everything at once. An interval is
/// released when all workers have handed it over, or half an interval after its end; later records
/// go into the next interval released. The last interval waits for all workers, so that the
/// intervals and the records after the deadline add up to the totals.
pub(crate) struct Merger {
    schedule: Schedule,
    workers: Vec<Reported>,
    /// Intervals not released yet; the first has the number `next`.
    pending: VecDeque<Pending>,
    next: u64,
    /// Records that came after their interval was released.
    late: Option<Box<Interval>>,
    /// How long to wait for workers after a freeze.
    patience: Nanos,
    /// When the run was ended before its deadline.
    stopped: Option<Nanos>,
    totals: Interval,
    in_grace: InGrace,
    /// Counts due arrivals.
    due: Option<Generator>,
    /// Earlier states of `due`, from which arrivals are counted again.
    marks: Vec<Generator>,
    backlog_max: u64,
    /// Wall-clock start of the measurement, in nanoseconds since 1970.
    measured_unix_ns: u64,
}

/// Maximum number of arrivals drawn again.
const REDRAWN_MAX: u64 = 10_000_000;

/// After this time without a message, a worker's sessions count as lost. Until then it may be in a
/// blocking statement or in the script.
const SILENT_NS: Nanos = 5_000_000_000;

/// Records after the deadline, within the grace period.
#[derive(Debug, Default)]
pub(crate) struct InGrace {
    pub(crate) counters: Counters,
    pub(crate) operations: Vec<OperationCounters>,
    pub(crate) roles: Vec<RoleCounters>,
}

impl InGrace {
    fn add(&mut self, interval: &Interval) {
        self.counters.merge(&interval.counters);
        if self.operations.len() < interval.operations.len() {
            self.operations
                .resize(interval.operations.len(), OperationCounters::default());
        }
        for (sum, operation) in self.operations.iter_mut().zip(&interval.operations) {
            sum.merge(&operation.counters);
        }
        merge_roles(&mut self.roles, &interval.roles);
    }
}

/// A caller later than this part of an interval was itself frozen.
const OVERSLEPT_PART: u64 = 20;

/// An incomplete interval.
#[derive(Debug, Default)]
struct Pending {
    /// Allocated only when needed, because its histograms are large.
    interval: Option<Box<Interval>>,
    /// The session states of each worker, as far as reported.
    states: Vec<Option<SessionStates>>,
}

/// The hand-overs of a worker.
#[derive(Clone, Debug, Default)]
struct Reported {
    /// Number of its sessions.
    sessions: u32,
    complete_to: u64,
    begun: u64,
    /// The last reported session states.
    states: SessionStates,
    /// Each session's sums at that time.
    totals: Vec<SessionTotals>,
}

impl Merger {
    /// For workers with these numbers of sessions.
    pub(crate) fn new(schedule: Schedule, sessions: &[u32], due: Option<Generator>) -> Self {
        // A worker that has reported nothing yet is in its sessions' first events.
        let reported = |sessions: &u32| Reported {
            sessions: *sessions,
            states: SessionStates::all(SessionState::Working, *sessions),
            ..Reported::default()
        };
        Self {
            schedule,
            workers: sessions.iter().map(reported).collect(),
            pending: VecDeque::new(),
            next: 0,
            late: None,
            patience: 0,
            stopped: None,
            totals: Interval::default(),
            in_grace: InGrace::default(),
            marks: due.iter().cloned().collect(),
            due,
            backlog_max: 0,
            measured_unix_ns: unix_ns(schedule.measured),
        }
    }

    /// Adds a worker's hand-over.
    pub(crate) fn add(&mut self, handover: &mut Handover) {
        let interval = &handover.interval;
        merge(&mut self.totals, interval);
        let Some(worker) = self.workers.get_mut(handover.worker) else {
            return;
        };
        let first = worker.complete_to;
        worker.complete_to = worker.complete_to.max(handover.complete_to);
        worker.begun = worker.begun.max(handover.begun);
        if handover.grace {
            self.in_grace.add(interval);
            return;
        }
        worker.states = interval.states;
        std::mem::swap(&mut worker.totals, &mut handover.totals);
        // Intervals that it skipped also ended before this.
        let last = match handover.complete_to {
            u64::MAX => interval.index,
            complete_to => complete_to.saturating_sub(1).max(interval.index),
        };
        for index in first.max(self.next)..=last {
            let workers = self.workers.len();
            let pending = self.pending(index);
            pending.states.resize(workers, None);
            pending.states[handover.worker] = Some(interval.states);
        }
        if interval.index < self.next {
            let late = self.late.get_or_insert_default();
            merge(late, interval);
            late.sessions.extend_from_slice(&interval.sessions);
            return;
        }
        let (start, boundary) = (
            self.start_of(interval.index),
            self.start_of(interval.index + 1),
        );
        let pending = self.pending(interval.index);
        let sum = pending.interval.get_or_insert_default();
        merge(sum, interval);
        // Not in the totals, which would accumulate them all.
        sum.sessions.extend_from_slice(&interval.sessions);
        sum.concurrency += interval.concurrency;
        sum.end = sum.end.max(start).max(interval.end.min(boundary));
    }

    /// The worker sends no more hand-overs; its sessions ended in these states, or are lost with
    /// it.
    pub(crate) fn retire(&mut self, worker: usize, states: Option<SessionStates>) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.complete_to = u64::MAX;
            worker.states =
                states.unwrap_or(SessionStates::all(SessionState::Lost, worker.sessions));
        }
    }

    /// No new event begins from this instant on.
    pub(crate) fn stop(&mut self, at: Nanos) {
        self.stopped.get_or_insert(at);
    }

    /// When the next interval is released at the latest.
    pub(crate) fn late_at(&self) -> Nanos {
        self.due_at().max(self.patience)
    }

    fn due_at(&self) -> Nanos {
        let end = self.start_of(self.next + 1);
        end.saturating_add(self.schedule.interval_ns / 2)
    }

    /// A caller that is late was itself frozen, and workers may have been, too: gives them time to
    /// hand over.
    fn be_patient(&mut self, now: Nanos) {
        let interval_ns = self.schedule.interval_ns;
        let overslept = now > self.due_at().saturating_add(interval_ns / OVERSLEPT_PART);
        if overslept && now > self.patience.saturating_add(interval_ns) {
            self.patience = now.saturating_add(interval_ns / 2);
        }
    }

    /// The next interval in order, if it is due.
    pub(crate) fn release(&mut self, now: Nanos) -> Option<Interval> {
        if self.never_began() {
            return None;
        }
        self.be_patient(now);
        let workers = || self.workers.iter();
        let complete = workers().all(|worker| worker.complete_to > self.next);
        let finished = workers().all(|worker| worker.complete_to == u64::MAX);
        // The last one is not released before all late records have come.
        let late = now >= self.late_at() && !self.ended_by(self.next + 1);
        if self.pending.is_empty() && (finished || !(complete || late)) {
            return None;
        }
        if !complete && !late {
            return None;
        }
        // A late caller has not read the workers' messages yet.
        let asked_late = now >= self.due_at().saturating_add(self.schedule.interval_ns);
        Some(self.let_out(asked_late))
    }

    /// The next remaining interval, complete or not.
    pub(crate) fn release_rest(&mut self) -> Option<Interval> {
        let left = !self.pending.is_empty() || self.late.is_some();
        (left && !self.never_began()).then(|| self.let_out(false))
    }

    /// Arrivals due at `at` that had not begun, as last reported by workers.
    pub(crate) fn backlog(&mut self, at: Nanos) -> u64 {
        let begun: u64 = self.workers.iter().map(|worker| worker.begun).sum();
        let due = self.due.as_mut().map_or(0, |due| due.due_by(at));
        if let (Some(now), Some(mark)) = (&self.due, self.marks.last())
            && now.drawn_since(mark) > REDRAWN_MAX
        {
            self.marks.push(now.clone());
        }
        due.saturating_sub(begun)
    }

    /// The backlog when an arrival was taken up after this wait: the arrival and those due since,
    /// because arrivals are taken up in order.
    pub(crate) fn queue_behind(&self, wait: TimeRange) -> u64 {
        let mut marks = self.marks.iter().rev();
        let before = marks.find(|mark| mark.comes_by(wait.from));
        before.map_or(0, |mark| {
            let mut arrivals = mark.clone();
            let due = arrivals.due_by(wait.from);
            arrivals.due_by(wait.to).saturating_sub(due) + 1
        })
    }

    /// A worker's last report, and the time until which it had handed everything over.
    pub(crate) fn last_report(&mut self, worker: usize) -> (Vec<SessionTotals>, Nanos) {
        let Some(worker) = self.workers.get_mut(worker) else {
            return Default::default();
        };
        let (totals, complete_to) = (std::mem::take(&mut worker.totals), worker.complete_to);
        (totals, self.start_of(complete_to))
    }

    /// A worker's last reported session states; all zero without a report.
    pub(crate) fn last_states(&self, worker: usize) -> SessionStates {
        let worker = self.workers.get(worker);
        let spoke = worker.filter(|worker| worker.complete_to > 0);
        spoke.map(|worker| worker.states).unwrap_or_default()
    }

    /// The totals, their part in the grace period, and the longest backlog.
    pub(crate) fn into_totals(self) -> (Interval, InGrace, u64) {
        (self.totals, self.in_grace, self.backlog_max)
    }

    fn let_out(&mut self, asked_late: bool) -> Interval {
        let pending = self.pending.pop_front().unwrap_or_default();
        let mut interval = *pending.interval.unwrap_or_default();
        interval.index = self.next;
        interval.start = self.start_of(self.next);
        let since_ns = interval.start.saturating_sub(self.schedule.measured);
        interval.start_unix_ns = self.measured_unix_ns.saturating_add(since_ns);
        self.next += 1;
        if interval.end <= interval.start {
            // Without a hand-over, an interval has its planned end.
            interval.end = self.start_of(self.next);
        }
        if let Some(late) = self.late.take() {
            merge(&mut interval, &late);
            interval.sessions.extend_from_slice(&late.sessions);
        }
        for (index, worker) in self.workers.iter().enumerate() {
            let said = pending.states.get(index).copied().flatten();
            let heard_to = self.start_of(worker.complete_to);
            let silent_ns = interval.end.saturating_sub(heard_to);
            let patience_ns = SILENT_NS.max(2 * self.schedule.interval_ns);
            let known = asked_late || silent_ns < patience_ns;
            let states = said.or_else(|| known.then_some(worker.states));
            let lost = SessionStates::all(SessionState::Lost, worker.sessions);
            interval.states.merge(&states.unwrap_or(lost));
        }
        interval.backlog = self.backlog(interval.end);
        self.backlog_max = self.backlog_max.max(interval.backlog);
        interval
    }

    /// The unreleased interval with this number.
    fn pending(&mut self, index: u64) -> &mut Pending {
        let offset = index.saturating_sub(self.next) as usize;
        while self.pending.len() <= offset {
            self.pending.push_back(Pending::default());
        }
        &mut self.pending[offset]
    }

    /// The start of an interval, which is its predecessor's end; the deadline truncates the last
    /// one.
    fn start_of(&self, index: u64) -> Nanos {
        let offset = index.saturating_mul(self.schedule.interval_ns);
        let start = self.schedule.measured.saturating_add(offset);
        start.min(self.schedule.deadline.unwrap_or(Nanos::MAX))
    }

    /// Whether the run ended before its measurement, so that it has no intervals.
    fn never_began(&self) -> bool {
        let early = self.stopped.is_some_and(|at| at <= self.schedule.measured);
        // Workers notice the end later, and may have begun to measure by then.
        early && self.totals.counters == self.in_grace.counters
    }

    /// Whether the run has ended when this interval begins.
    fn ended_by(&self, index: u64) -> bool {
        let deadline = self.schedule.deadline.unwrap_or(Nanos::MAX);
        self.start_of(index) >= self.stopped.unwrap_or(Nanos::MAX).min(deadline)
    }
}

/// The wall-clock time of an instant, by the current offset between the clocks.
fn unix_ns(at: Nanos) -> u64 {
    let (now, unix_ns) = (Clock.now(), wall_time().as_nanos() as u64);
    unix_ns.saturating_add(at).saturating_sub(now)
}

fn merge(into: &mut Interval, from: &Interval) {
    into.merge_sums(from);
    // Merging large histograms takes time; let a worker on this core run in between.
    std::thread::yield_now();
}

#[cfg(test)]
mod tests;
