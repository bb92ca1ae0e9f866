//! Merges the workers' intervals by number and lets them out in order.

use std::collections::VecDeque;

use dyno_core::clock::{Clock, Nanos, wall_time};
use dyno_core::interval::{Counters, Interval, OperationCounters, RoleCounters, merge_roles};
use dyno_core::states::{SessionState, SessionStates};

use crate::arrivals::Generator;
use crate::calendar::Schedule;
use crate::outcome::SessionTotals;
use crate::recorder::Handover;
use crate::silences::TimeRange;

/// The merging side of interval recording. Totals take everything as it comes; an interval is let
/// out when all workers have handed it over, or when half an interval has passed since its end.
/// What comes later than that is in the next interval let out. The last one waits for all workers,
/// so that the intervals and what was recorded after the deadline add up to the totals.
pub(crate) struct Merger {
    schedule: Schedule,
    workers: Vec<Reported>,
    /// Intervals not let out yet; the first one's number is `next`.
    pending: VecDeque<Pending>,
    next: u64,
    /// What came after its interval had been let out.
    late: Option<Box<Interval>>,
    /// Until when workers that stood still are waited for.
    patience: Nanos,
    /// When the run was ended before its deadline.
    stopped: Option<Nanos>,
    totals: Interval,
    in_grace: InGrace,
    /// Counts arrivals that are due.
    due: Option<Generator>,
    /// As it stood before: arrivals are counted again from there.
    marks: Vec<Generator>,
    backlog_max: u64,
    /// The civil time at which measuring begins, in nanoseconds since 1970.
    measured_unix_ns: u64,
}

/// So many arrivals are drawn again at most.
const REDRAWN_MAX: u64 = 10_000_000;

/// A worker that has said nothing for so long has lost its sessions, as far as anybody can tell.
/// Until then it is in a statement that blocks it, or in the script.
const SILENT_NS: Nanos = 5_000_000_000;

/// What was recorded after the deadline, within the grace.
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

/// Who asks later than it wanted to by more than this part of an interval stood still.
const OVERSLEPT_PART: u64 = 20;

/// An interval that is not complete.
#[derive(Debug, Default)]
struct Pending {
    /// Absent until there is something in it: its histograms are large.
    interval: Option<Box<Interval>>,
    /// What the sessions of each worker were doing, as far as it has said so.
    states: Vec<Option<SessionStates>>,
}

/// What a worker has handed over.
#[derive(Clone, Debug, Default)]
struct Reported {
    /// How many sessions it drives.
    sessions: u32,
    complete_to: u64,
    begun: u64,
    /// What its sessions were doing when it said so last.
    states: SessionStates,
    /// Each session's sums at that time.
    totals: Vec<SessionTotals>,
}

impl Merger {
    /// Of workers that drive so many sessions each.
    pub(crate) fn new(schedule: Schedule, sessions: &[u32], due: Option<Generator>) -> Self {
        // A worker that says nothing yet is in its sessions' first events.
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

    /// Takes in what a worker handed over.
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
        // Those that it passed over ended before this was said, too.
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
        // Not in the totals, which would keep them all.
        sum.sessions.extend_from_slice(&interval.sessions);
        sum.concurrency += interval.concurrency;
        sum.end = sum.end.max(start).max(interval.end.min(boundary));
    }

    /// The worker hands nothing over any more; its sessions ended like this, or are lost with it.
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

    /// When the next interval is let out at the latest.
    pub(crate) fn late_at(&self) -> Nanos {
        self.due_at().max(self.patience)
    }

    fn due_at(&self) -> Nanos {
        let end = self.start_of(self.next + 1);
        end.saturating_add(self.schedule.interval_ns / 2)
    }

    /// Who asks after the time at which it wanted to ask stood still itself, and workers may have
    /// done so, too: they get the time to hand over what they have.
    fn be_patient(&mut self, now: Nanos) {
        let interval_ns = self.schedule.interval_ns;
        let overslept = now > self.due_at().saturating_add(interval_ns / OVERSLEPT_PART);
        if overslept && now > self.patience.saturating_add(interval_ns) {
            self.patience = now.saturating_add(interval_ns / 2);
        }
    }

    /// The next interval in order, if it is time for it.
    pub(crate) fn release(&mut self, now: Nanos) -> Option<Interval> {
        if self.never_began() {
            return None;
        }
        self.be_patient(now);
        let workers = || self.workers.iter();
        let complete = workers().all(|worker| worker.complete_to > self.next);
        let finished = workers().all(|worker| worker.complete_to == u64::MAX);
        // The last one is not let out before all that is late has come.
        let late = now >= self.late_at() && !self.ended_by(self.next + 1);
        if self.pending.is_empty() && (finished || !(complete || late)) {
            return None;
        }
        if !complete && !late {
            return None;
        }
        // Who asks too late has not read what workers say.
        let asked_late = now >= self.due_at().saturating_add(self.schedule.interval_ns);
        Some(self.let_out(asked_late))
    }

    /// The next interval of those that are left, complete or not.
    pub(crate) fn release_rest(&mut self) -> Option<Interval> {
        let left = !self.pending.is_empty() || self.late.is_some();
        (left && !self.never_began()).then(|| self.let_out(false))
    }

    /// Arrivals that were due at `at` and had not begun when workers last said so.
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

    /// How many arrivals waited when the one was taken up that was due at the beginning of this
    /// wait: it and those due since, as arrivals are taken up in order.
    pub(crate) fn queue_behind(&self, wait: TimeRange) -> u64 {
        let mut marks = self.marks.iter().rev();
        let before = marks.find(|mark| mark.comes_by(wait.from));
        before.map_or(0, |mark| {
            let mut arrivals = mark.clone();
            let due = arrivals.due_by(wait.from);
            arrivals.due_by(wait.to).saturating_sub(due) + 1
        })
    }

    /// What a worker last said of its sessions, and until when it had handed everything over.
    pub(crate) fn last_report(&mut self, worker: usize) -> (Vec<SessionTotals>, Nanos) {
        let Some(worker) = self.workers.get_mut(worker) else {
            return Default::default();
        };
        let (totals, complete_to) = (std::mem::take(&mut worker.totals), worker.complete_to);
        (totals, self.start_of(complete_to))
    }

    /// What a worker's sessions were doing when it said so last; nothing of one that never did.
    pub(crate) fn last_states(&self, worker: usize) -> SessionStates {
        let worker = self.workers.get(worker);
        let spoke = worker.filter(|worker| worker.complete_to > 0);
        spoke.map(|worker| worker.states).unwrap_or_default()
    }

    /// Everything: totals, what of them came in the grace, and the longest backlog.
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
            // Nobody handed anything over: a quiet or a late interval has its planned end.
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

    /// The interval of this number, which is not let out yet.
    fn pending(&mut self, index: u64) -> &mut Pending {
        let offset = index.saturating_sub(self.next) as usize;
        while self.pending.len() <= offset {
            self.pending.push_back(Pending::default());
        }
        &mut self.pending[offset]
    }

    /// The start of an interval, which is its predecessor's end; the deadline cuts the last one.
    fn start_of(&self, index: u64) -> Nanos {
        let offset = index.saturating_mul(self.schedule.interval_ns);
        let start = self.schedule.measured.saturating_add(offset);
        start.min(self.schedule.deadline.unwrap_or(Nanos::MAX))
    }

    /// Whether the run was ended before its measurement, of which there are no intervals then.
    fn never_began(&self) -> bool {
        let early = self.stopped.is_some_and(|at| at <= self.schedule.measured);
        // Workers hear of the end later, and may have begun to measure by then.
        early && self.totals.counters == self.in_grace.counters
    }

    /// Whether the run has ended when this interval begins.
    fn ended_by(&self, index: u64) -> bool {
        let deadline = self.schedule.deadline.unwrap_or(Nanos::MAX);
        self.start_of(index) >= self.stopped.unwrap_or(Nanos::MAX).min(deadline)
    }
}

/// The civil time of an instant, as the clocks stand to one another now.
fn unix_ns(at: Nanos) -> u64 {
    let (now, unix_ns) = (Clock.now(), wall_time().as_nanos() as u64);
    unix_ns.saturating_add(at).saturating_sub(now)
}

/// Adds an interval's sums to another's.
fn merge(into: &mut Interval, from: &Interval) {
    into.merge_sums(from);
    // Histograms are large. Where a worker shares this core, it need not wait for them all.
    std::thread::yield_now();
}

#[cfg(test)]
mod tests;
