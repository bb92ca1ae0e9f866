//! Merges the workers' intervals by number and lets them out in order.

use std::collections::VecDeque;

use dyno_core::clock::Nanos;
use dyno_core::interval::{
    Counters, Interval, OperationCounters, RoleCounters, merge_errors, merge_roles,
};

use crate::arrivals::Generator;
use crate::calendar::Schedule;
use crate::recorder::Handover;

/// The merging side of interval recording. Totals take everything as it comes; an interval is let
/// out when all workers have handed it over, or when half an interval has passed since its end.
/// What comes later than that is in the totals only.
pub(crate) struct Merger {
    schedule: Schedule,
    seats: Vec<Seat>,
    /// Intervals not let out yet; the first one's number is `next`.
    pending: VecDeque<Interval>,
    next: u64,
    totals: Interval,
    in_grace: InGrace,
    /// Counts arrivals that are due.
    due: Option<Generator>,
    backlog_max: u64,
}

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

#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    complete_to: u64,
    begun: u64,
}

impl Merger {
    pub(crate) fn new(schedule: Schedule, workers: usize, due: Option<Generator>) -> Self {
        Self {
            schedule,
            seats: vec![Seat::default(); workers],
            pending: VecDeque::new(),
            next: 0,
            totals: Interval::default(),
            in_grace: InGrace::default(),
            due,
            backlog_max: 0,
        }
    }

    /// Takes in what a worker handed over.
    pub(crate) fn add(&mut self, handover: &Handover) {
        let interval = &handover.interval;
        merge(&mut self.totals, interval);
        if let Some(seat) = self.seats.get_mut(handover.worker) {
            seat.complete_to = seat.complete_to.max(handover.complete_to);
            seat.begun = seat.begun.max(handover.begun);
        }
        if handover.grace {
            self.in_grace.add(interval);
            return;
        }
        let Some(offset) = interval.index.checked_sub(self.next) else {
            return;
        };
        let boundary = self.start_of(interval.index + 1);
        while self.pending.len() as u64 <= offset {
            let pending = self.empty(self.next + self.pending.len() as u64);
            self.pending.push_back(pending);
        }
        let pending = &mut self.pending[offset as usize];
        merge(pending, interval);
        // Not in the totals, which would keep them all.
        pending.sessions.extend_from_slice(&interval.sessions);
        pending.running += interval.running;
        pending.concurrency += interval.concurrency;
        pending.end = pending.end.max(interval.end.min(boundary));
    }

    /// The worker hands nothing over any more.
    pub(crate) fn retire(&mut self, worker: usize) {
        if let Some(seat) = self.seats.get_mut(worker) {
            seat.complete_to = u64::MAX;
        }
    }

    /// When the next interval is let out at the latest.
    pub(crate) fn late_at(&self) -> Nanos {
        let end = self.start_of(self.next + 1);
        end.saturating_add(self.schedule.interval_ns / 2)
    }

    /// The next interval in order, if it is time for it.
    pub(crate) fn release(&mut self, now: Nanos) -> Option<Interval> {
        let complete = self.seats.iter().all(|seat| seat.complete_to > self.next);
        let finished = self.seats.iter().all(|seat| seat.complete_to == u64::MAX);
        let late = now >= self.late_at() && !self.ended_by(self.next);
        if self.pending.is_empty() && (finished || !(complete || late)) {
            return None;
        }
        if !complete && !late {
            return None;
        }
        self.let_out()
    }

    /// The next interval of those that are left, complete or not.
    pub(crate) fn release_rest(&mut self) -> Option<Interval> {
        (!self.pending.is_empty()).then(|| self.let_out()).flatten()
    }

    /// Arrivals that were due at `at` and had not begun when workers last said so.
    pub(crate) fn backlog(&mut self, at: Nanos) -> u64 {
        let begun: u64 = self.seats.iter().map(|seat| seat.begun).sum();
        let due = self.due.as_mut().map_or(0, |due| due.due_by(at));
        due.saturating_sub(begun)
    }

    /// Everything: totals, what of them came in the grace, and the longest backlog.
    pub(crate) fn into_totals(self) -> (Interval, InGrace, u64) {
        (self.totals, self.in_grace, self.backlog_max)
    }

    fn let_out(&mut self) -> Option<Interval> {
        let mut interval = match self.pending.pop_front() {
            Some(interval) => interval,
            None => self.empty(self.next),
        };
        self.next += 1;
        if interval.end <= interval.start {
            // Nobody handed anything over: a quiet or a late interval has its planned end.
            interval.end = self.start_of(interval.index + 1);
        }
        interval.backlog = self.backlog(interval.end);
        self.backlog_max = self.backlog_max.max(interval.backlog);
        Some(interval)
    }

    fn empty(&self, index: u64) -> Interval {
        let start = self.start_of(index);
        Interval {
            index,
            start,
            end: start,
            ..Interval::default()
        }
    }

    /// The start of an interval, which is its predecessor's end; the deadline cuts the last one.
    fn start_of(&self, index: u64) -> Nanos {
        let offset = index.saturating_mul(self.schedule.interval_ns);
        let start = self.schedule.measured.saturating_add(offset);
        start.min(self.schedule.deadline.unwrap_or(Nanos::MAX))
    }

    fn ended_by(&self, index: u64) -> bool {
        let deadline = self.schedule.deadline;
        deadline.is_some_and(|deadline| self.start_of(index) >= deadline)
    }
}

/// Adds an interval's sums to another's.
fn merge(into: &mut Interval, from: &Interval) {
    into.counters.merge(&from.counters);
    into.latencies.merge(&from.latencies);
    // Histograms are large. Where a worker shares this core, it need not wait for them all.
    std::thread::yield_now();
    merge_errors(&mut into.errors, &from.errors);
    if into.endpoints.len() < from.endpoints.len() {
        into.endpoints.resize(from.endpoints.len(), 0);
    }
    if into.operations.len() < from.operations.len() {
        into.operations
            .resize_with(from.operations.len(), Default::default);
    }
    for (sum, operation) in into.operations.iter_mut().zip(&from.operations) {
        sum.merge(operation);
    }
    merge_roles(&mut into.roles, &from.roles);
    for (sum, count) in into.endpoints.iter_mut().zip(&from.endpoints) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule() -> Schedule {
        Schedule {
            begin: 0,
            ramp_up_ns: 0,
            measured: 1000,
            deadline: Some(1000 + 10 * 100),
            grace_ns: 100,
            interval_ns: 100,
            sessions: 4,
            counts: false,
        }
    }

    fn handover(worker: usize, index: u64, complete_to: u64, events: u64) -> Handover {
        let mut interval = Interval {
            index,
            start: 1000 + index * 100,
            end: 1000 + index * 100 + 100,
            endpoints: vec![events],
            ..Interval::default()
        };
        interval.counters.events = events;
        for event in 0..events {
            interval.latencies.record_service(1 + event + index);
        }
        Handover {
            worker,
            interval,
            complete_to,
            begun: 0,
            grace: false,
        }
    }

    proptest! {
        #[test]
        fn totals_are_complete_and_intervals_come_in_order(
            // For each worker its hand-overs: how many intervals each covers, and its events.
            workers in proptest::collection::vec(
                proptest::collection::vec((1u64..4, 0u64..5), 1..8),
                1..5,
            ),
            // Which worker is next, and how much time passes.
            order in proptest::collection::vec((any::<u8>(), 0u64..120), 40),
        ) {
            let mut queues: Vec<VecDeque<Handover>> = Vec::new();
            let mut sum = 0;
            for (worker, lengths) in workers.iter().enumerate() {
                let mut index = 0;
                let mut queue = VecDeque::new();
                for (n, (length, events)) in lengths.iter().enumerate() {
                    if index >= 10 {
                        break;
                    }
                    let next = index + length;
                    let last = n + 1 == lengths.len() || next >= 10;
                    let complete_to = if last { u64::MAX } else { next };
                    queue.push_back(handover(worker, index, complete_to, *events));
                    sum += events;
                    index = next;
                }
                queues.push(queue);
            }
            let mut merger = Merger::new(schedule(), workers.len(), None);
            let mut seen: Vec<Interval> = Vec::new();
            let mut now = 1000;
            for (pick, elapsed) in order {
                now += elapsed;
                let worker = usize::from(pick) % queues.len();
                if let Some(handover) = queues[worker].pop_front() {
                    merger.add(&handover);
                }
                seen.extend(std::iter::from_fn(|| merger.release(now)));
            }
            for handover in queues.into_iter().flatten() {
                merger.add(&handover);
            }
            seen.extend(std::iter::from_fn(|| merger.release_rest()));
            prop_assert!(seen.len() <= 10);
            for (index, interval) in seen.iter().enumerate() {
                prop_assert_eq!(interval.index, index as u64);
                prop_assert_eq!(interval.start, 1000 + 100 * index as u64);
                prop_assert_eq!(interval.end, interval.start + 100);
                prop_assert_eq!(interval.latencies.service.len(), interval.counters.events);
            }
            let shown: u64 = seen.iter().map(|interval| interval.counters.events).sum();
            let (totals, in_grace, _) = merger.into_totals();
            prop_assert!(shown <= sum);
            prop_assert_eq!(totals.counters.events, sum);
            prop_assert_eq!(totals.latencies.service.len(), sum);
            prop_assert_eq!(totals.endpoints.iter().sum::<u64>(), sum);
            prop_assert_eq!(in_grace.counters, Counters::default());
        }
    }

    #[test]
    fn a_late_worker_holds_the_display_up_for_half_an_interval_only() {
        let mut merger = Merger::new(schedule(), 2, None);
        merger.add(&handover(0, 0, 1, 3));
        assert!(merger.release(1149).is_none());
        let interval = merger.release(1150).unwrap();
        assert_eq!((interval.index, interval.counters.events), (0, 3));
        merger.add(&handover(1, 0, 1, 4));
        merger.add(&handover(1, 1, 2, 5));
        assert!(merger.release(1201).is_none());
        merger.add(&handover(0, 1, 2, 1));
        assert_eq!(merger.release(1202).unwrap().counters.events, 6);
        assert_eq!(merger.into_totals().0.counters.events, 13);
    }

    #[test]
    fn the_grace_is_in_the_totals_but_in_no_interval() {
        let mut merger = Merger::new(schedule(), 1, None);
        merger.add(&handover(0, 9, u64::MAX, 2));
        let late = Handover {
            grace: true,
            ..handover(0, 9, u64::MAX, 7)
        };
        merger.add(&late);
        let intervals: Vec<u64> = std::iter::from_fn(|| merger.release(2001))
            .map(|interval| interval.counters.events)
            .collect();
        assert_eq!(intervals, [0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        let (totals, in_grace, _) = merger.into_totals();
        assert_eq!((totals.counters.events, in_grace.counters.events), (9, 7));
    }
}
