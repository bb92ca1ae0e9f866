//! A worker's records, handed over at each interval's end.
//!
//! A worker writes into its own buffers: counters and histograms of the current interval. At a
//! boundary it sends the buffer to the coordinator and continues with a recycled one, so that the
//! steady state has no allocation, no lock and no shared cache line per operation.

use std::sync::mpsc::{Receiver, Sender};

use dyno_core::clock::Nanos;
use dyno_core::db::DbError;
use dyno_core::interval::{
    Counters, Interval, Latencies, OperationInterval, RoleCounters, SessionCount, count_error,
};
use dyno_core::session::{OperationEnd, OperationId};
use dyno_core::states::SessionStates;

use crate::calendar::Closed;
use crate::message::{Message, send_message};
use crate::outcome::SessionTotals;

/// Maximum number of intervals handed over but not yet merged. At this limit a worker continues in
/// the same buffer: that interval is then handed over late, together with the next.
const UNMERGED_MAX: usize = 8;

/// The sums to which something belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// None: initialisation and clean-up.
    Outside,
    Warmup,
    /// An event that began in the warm-up and is repeated in the measurement: its errors and
    /// statements are measured from then on, the event is not.
    Overlapping,
    Measured,
}

/// The records of one worker in an interval.
#[derive(Debug)]
pub(crate) struct Handover {
    pub(crate) worker: usize,
    pub(crate) interval: Interval,
    /// All intervals before this one have been handed over.
    pub(crate) complete_to: u64,
    /// Arrivals begun since the start of the run, warm-up included.
    pub(crate) begun: u64,
    /// Records after the deadline, not an interval.
    pub(crate) grace: bool,
    /// Each session's sums so far; empty if it is not an interval.
    pub(crate) totals: Vec<SessionTotals>,
}

/// The dimensions of a worker's records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Endpoints of the target.
    pub(crate) endpoints: usize,
    /// Operations of the script.
    pub(crate) operations: usize,
    /// Roles of its sessions.
    pub(crate) roles: usize,
}

impl Handover {
    fn new(worker: usize, shape: Shape) -> Box<Self> {
        let operations = std::iter::repeat_with(OperationInterval::default);
        let interval = Interval {
            endpoints: vec![0; shape.endpoints],
            operations: operations.take(shape.operations).collect(),
            roles: vec![RoleCounters::default(); shape.roles],
            ..Interval::default()
        };
        Box::new(Self {
            worker,
            interval,
            complete_to: 0,
            begun: 0,
            grace: false,
            totals: Vec::new(),
        })
    }

    /// Clears everything, keeping the memory.
    pub(crate) fn clear(&mut self) {
        clear_latencies(&mut self.interval.latencies);
        self.interval.counters = Counters::default();
        self.interval.errors.clear();
        self.interval.connect_errors.clear();
        self.interval.endpoints.fill(0);
        self.interval.roles.fill(RoleCounters::default());
        self.interval.sessions.clear();
        self.totals.clear();
        for operation in &mut self.interval.operations {
            operation.counters = Default::default();
            clear_latencies(&mut operation.latencies);
            if let Some(first_tries) = &mut operation.first_tries {
                clear_latencies(first_tries);
            }
        }
        self.grace = false;
    }
}

/// Clears latencies without touching the memory of unused histograms.
fn clear_latencies(latencies: &mut Latencies) {
    if !latencies.response.is_empty() || !latencies.service.is_empty() {
        latencies.clear();
    }
}

/// The state of a worker's sessions at an interval's end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) states: SessionStates,
    pub(crate) concurrency: u32,
    pub(crate) begun: u64,
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) operation: OperationId,
    pub(crate) end: OperationEnd,
    /// Number of retries.
    pub(crate) retries: u16,
    /// From the start of the first try to the end.
    pub(crate) service_ns: Nanos,
    /// The same including the event's wait, in an open loop.
    pub(crate) response_ns: Option<Nanos>,
    /// Duration of the first try.
    pub(crate) first_ns: Nanos,
}

pub(crate) struct Recorder {
    current: Box<Handover>,
    warmup: Counters,
    before: Counters,
    outside: Counters,
    spares: Receiver<Box<Handover>>,
    messages: Sender<Message>,
    /// Buffers handed over and not returned yet.
    away: usize,
    spare: Option<Box<Handover>>,
    worker: usize,
    shape: Shape,
    last_event_end: Nanos,
    /// Open loop only.
    lag: Option<Box<Latencies>>,
}

impl Recorder {
    pub(crate) fn new(
        worker: usize,
        shape: Shape,
        messages: Sender<Message>,
        spares: Receiver<Box<Handover>>,
    ) -> Self {
        Self {
            current: Handover::new(worker, shape),
            warmup: Counters::default(),
            before: Counters::default(),
            outside: Counters::default(),
            spares,
            messages,
            away: 0,
            spare: Some(Handover::new(worker, shape)),
            worker,
            shape,
            last_event_end: 0,
            lag: None,
        }
    }

    #[inline]
    pub(crate) fn counters(&mut self, class: Class) -> &mut Counters {
        match class {
            Class::Measured | Class::Overlapping => &mut self.current.interval.counters,
            Class::Warmup => &mut self.warmup,
            Class::Outside => &mut self.outside,
        }
    }

    #[inline]
    pub(crate) fn role(&mut self, role: u16) -> &mut RoleCounters {
        &mut self.current.interval.roles[usize::from(role)]
    }

    pub(crate) fn background_event(&mut self, role: u16) {
        self.role(role).events += 1;
    }

    /// A measured event ended without its work.
    pub(crate) fn not_done(&mut self, role: u16, background: bool) {
        self.role(role).not_done += 1;
        self.current.interval.counters.not_done += u64::from(!background);
    }

    #[inline]
    pub(crate) fn event(
        &mut self,
        role: u16,
        now: Nanos,
        service_ns: Nanos,
        response_ns: Option<Nanos>,
    ) {
        self.role(role).events += 1;
        let interval = &mut self.current.interval;
        interval.counters.events += 1;
        interval.latencies.record_service(service_ns);
        if let Some(response_ns) = response_ns {
            interval.latencies.record_response(response_ns);
        }
        self.last_event_end = now;
    }

    /// A measured operation ended.
    pub(crate) fn operation(&mut self, ended: Ended) {
        let operations = &mut self.current.interval.operations;
        let Some(sums) = operations.get_mut(usize::from(ended.operation)) else {
            return;
        };
        sums.counters.retries += u64::from(ended.retries);
        match ended.end {
            OperationEnd::Done => sums.counters.done += 1,
            OperationEnd::RolledBack => sums.counters.rolled_back += 1,
            OperationEnd::GivenUp => return sums.counters.given_up += 1,
            OperationEnd::Unknown => return sums.counters.unknown += 1,
            OperationEnd::Duplicate => return sums.counters.duplicates += 1,
        }
        sums.latencies.record_service(ended.service_ns);
        if let Some(response_ns) = ended.response_ns {
            sums.latencies.record_response(response_ns);
        }
        if ended.retries > 0 {
            sums.counters.retried += 1;
            let first_tries = sums.first_tries.get_or_insert_default();
            first_tries.record_service(ended.first_ns);
        }
    }

    /// An event began late although its session was free.
    #[inline]
    pub(crate) fn lag(&mut self, lag_ns: Nanos) {
        if let Some(lag) = &mut self.lag {
            lag.record_service(lag_ns);
        }
    }

    /// Enables the recording of lags: the loop is open.
    pub(crate) fn keep_lags(&mut self) {
        self.lag.get_or_insert_default();
    }

    #[inline]
    pub(crate) fn statement(&mut self, class: Class, endpoint: usize) {
        if class.is_measured()
            && let Some(count) = self.current.interval.endpoints.get_mut(endpoint)
        {
            *count += 1;
        }
    }

    #[cold]
    pub(crate) fn error(&mut self, class: Class, error: &DbError) {
        if class.is_measured() {
            let errors = &mut self.current.interval.errors;
            count_error(errors, &error.key(), error.kind, 1, || error.to_string());
        }
    }

    #[cold]
    pub(crate) fn connect_failed(&mut self, class: Class, error: Option<&DbError>) {
        self.counters(class).connects_failed += 1;
        if let (true, Some(error)) = (class.is_measured(), error) {
            let errors = &mut self.current.interval.connect_errors;
            count_error(errors, &error.key(), error.kind, 1, || error.to_string());
        }
    }

    /// Closes an interval and hands it over, if the coordinator keeps up. Then calls `count` for
    /// the sessions' events and sums.
    pub(crate) fn close(
        &mut self,
        closed: Closed,
        standing: Standing,
        count: impl FnOnce(&mut Vec<SessionCount>, &mut Vec<SessionTotals>),
    ) {
        while let Ok(mut spare) = self.spares.try_recv() {
            self.away -= 1;
            spare.clear();
            self.spare = Some(spare);
        }
        let last = closed.next_index == u64::MAX;
        if self.away >= UNMERGED_MAX && !last {
            return;
        }
        let spare = self.spare.take();
        let next = spare.unwrap_or_else(|| Handover::new(self.worker, self.shape));
        let mut done = std::mem::replace(&mut self.current, next);
        done.interval.index = closed.index;
        done.interval.start = closed.start;
        done.interval.end = closed.end;
        done.complete_to = closed.next_index;
        count(&mut done.interval.sessions, &mut done.totals);
        self.send(done, standing);
        self.current.grace = last;
    }

    /// Hands over the rest at the end of the run.
    pub(crate) fn finish(&mut self, index: u64, start: Nanos, end: Nanos, begun: u64) {
        let nothing = Shape {
            endpoints: 0,
            operations: 0,
            roles: self.shape.roles,
        };
        let next = Handover::new(self.worker, nothing);
        let mut done = std::mem::replace(&mut self.current, next);
        done.interval.index = index;
        done.interval.start = start;
        done.interval.end = end;
        done.complete_to = u64::MAX;
        let standing = Standing {
            begun,
            ..Standing::default()
        };
        self.send(done, standing);
    }

    /// The end of the last measured event; 0 without any.
    pub(crate) fn last_event_end(&self) -> Nanos {
        self.last_event_end
    }

    pub(crate) fn warmup(&self) -> Counters {
        self.warmup
    }

    /// The run begins: everything counted outside so far came before it.
    pub(crate) fn run_begins(&mut self) {
        self.before = std::mem::take(&mut self.outside);
    }

    /// Work of sessions before and after the run.
    pub(crate) fn outside(&self) -> (Counters, Counters) {
        (self.before, self.outside)
    }

    pub(crate) fn take_lag(&mut self) -> Option<Box<Latencies>> {
        self.lag.take()
    }

    fn send(&mut self, mut handover: Box<Handover>, standing: Standing) {
        handover.interval.states = standing.states;
        handover.interval.concurrency = standing.concurrency;
        handover.begun = standing.begun;
        self.away += 1;
        // If the coordinator has ended, it has its result and does not need the message.
        send_message(&self.messages, Message::Handover(handover));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use dyno_core::interval::OperationCounters;

    use super::*;

    const SHAPE: Shape = Shape {
        endpoints: 1,
        operations: 2,
        roles: 1,
    };

    fn closed(index: u64) -> Closed {
        Closed {
            index,
            start: index * 10,
            end: index * 10 + 10,
            next_index: index + 1,
        }
    }

    #[test]
    fn buffers_are_bounded_and_nothing_is_lost_when_the_coordinator_is_slow() {
        let (sender, messages) = channel();
        let (returned, spares) = channel();
        let mut recorder = Recorder::new(0, SHAPE, sender, spares);
        let handed_over = || {
            messages.try_iter().map(|message| match message {
                Message::Handover(handover) => handover,
                _ => panic!("only hand-overs are expected"),
            })
        };
        for index in 0..20 {
            recorder.event(0, index * 10 + 5, 1, None);
            recorder.statement(Class::Measured, 0);
            recorder.close(closed(index), Standing::default(), |_, _| {});
        }
        let first: Vec<_> = handed_over().collect();
        assert_eq!(first.len(), UNMERGED_MAX);
        let events = |handover: &Handover| handover.interval.counters.events;
        assert!(first.iter().all(|handover| events(handover) == 1));
        for handover in first {
            returned.send(handover).unwrap();
        }
        recorder.close(closed(20), Standing::default(), |_, _| {});
        let late: Vec<_> = handed_over().collect();
        assert_eq!(late.len(), 1);
        assert_eq!(events(&late[0]), 20 - UNMERGED_MAX as u64);
        assert_eq!(late[0].interval.latencies.service.len(), events(&late[0]));
        assert_eq!(late[0].interval.endpoints, [events(&late[0])]);
        // A recycled buffer is empty.
        recorder.close(closed(21), Standing::default(), |_, _| {});
        let next: Vec<_> = handed_over().collect();
        assert_eq!(events(&next[0]), 0);
        assert!(next[0].interval.latencies.service.is_empty());
        assert_eq!(next[0].interval.endpoints, [0]);
    }

    #[test]
    fn work_is_counted_by_outcome_and_only_completed_work_has_latencies() {
        let (sender, messages) = channel();
        let (_returned, spares) = channel();
        let mut recorder = Recorder::new(0, SHAPE, sender, spares);
        let ended = |end, retries| Ended {
            operation: 1,
            end,
            retries,
            service_ns: 900,
            response_ns: Some(1000),
            first_ns: 300,
        };
        recorder.operation(ended(OperationEnd::Done, 0));
        recorder.operation(ended(OperationEnd::Done, 2));
        recorder.operation(ended(OperationEnd::RolledBack, 0));
        recorder.operation(ended(OperationEnd::GivenUp, 9));
        recorder.operation(ended(OperationEnd::Unknown, 0));
        recorder.operation(ended(OperationEnd::Duplicate, 1));
        // An undeclared operation is dropped.
        recorder.operation(Ended {
            operation: 7,
            ..ended(OperationEnd::Done, 0)
        });
        recorder.close(closed(0), Standing::default(), |_, _| {});
        let Ok(Message::Handover(handover)) = messages.try_recv() else {
            panic!("nothing was handed over");
        };
        let [none, sums] = &handover.interval.operations[..] else {
            panic!("there are two operations");
        };
        assert_eq!(none.counters, OperationCounters::default());
        let expected = OperationCounters {
            done: 2,
            rolled_back: 1,
            given_up: 1,
            unknown: 1,
            duplicates: 1,
            retries: 12,
            retried: 1,
        };
        assert_eq!(sums.counters, expected);
        assert_eq!(sums.latencies.service.len(), 3);
        assert_eq!(sums.latencies.response_ns_sum, 3000);
        assert_eq!(sums.first_tries.as_ref().unwrap().service_ns_sum, 300);
    }

    #[test]
    fn events_outside_the_measurement_are_not_recorded() {
        let (sender, messages) = channel();
        let (_returned, spares) = channel();
        let mut recorder = Recorder::new(0, SHAPE, sender, spares);
        let error = DbError::new(dyno_core::db::ErrorKind::Other, "no");
        for class in [Class::Outside, Class::Warmup] {
            recorder.counters(class).reads += 1;
            recorder.statement(class, 0);
            recorder.error(class, &error);
        }
        recorder.error(Class::Measured, &error);
        recorder.close(closed(0), Standing::default(), |_, _| {});
        let Ok(Message::Handover(handover)) = messages.try_recv() else {
            panic!("nothing was handed over");
        };
        assert_eq!(handover.interval.counters, Counters::default());
        assert_eq!(handover.interval.endpoints, [0]);
        assert_eq!(handover.interval.errors["HY000"].count, 1);
        assert_eq!(recorder.warmup().reads, 1);
    }
}
