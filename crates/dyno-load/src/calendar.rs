//! The instants of a run: the starts of sessions and of measuring, the boundaries of intervals, the
//! deadline, and the end of the grace period. It reads no clock; callers pass the time.

use std::time::Duration;

use dyno_core::clock::Nanos;
use dyno_core::plan::Drive;

/// How long `thread_done` may take after the grace period, unless the grace is longer. A server
/// that hangs must not keep a run from ending.
const DONE_NS: Nanos = 10_000_000_000;

/// The schedule of a run, which all workers share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// When the first session may begin.
    pub(crate) begin: Nanos,
    /// Session i of n may begin at `begin + i / n * ramp_up_ns`.
    pub(crate) ramp_up_ns: Nanos,
    /// When measuring starts, which is after the ramp-up and the warm-up.
    pub(crate) measured: Nanos,
    /// No new event begins after this.
    pub(crate) deadline: Option<Nanos>,
    pub(crate) grace_ns: Nanos,
    pub(crate) interval_ns: Nanos,
    pub(crate) sessions: u32,
    /// Whether the limit is a number of measured arrivals and not a time.
    pub(crate) counts: bool,
}

impl Schedule {
    pub(crate) fn new(drive: &Drive, begin: Nanos) -> Self {
        let measured = begin
            .saturating_add(nanos(drive.ramp_up))
            .saturating_add(nanos(drive.warmup));
        Self {
            begin,
            ramp_up_ns: nanos(drive.ramp_up),
            measured,
            deadline: drive.time.map(|time| measured.saturating_add(nanos(time))),
            grace_ns: nanos(drive.grace),
            interval_ns: nanos(drive.interval).max(1),
            sessions: drive.sessions,
            counts: drive.events.is_some(),
        }
    }

    /// How long `thread_done` may take after the grace period.
    pub(crate) fn done_ns(&self) -> Nanos {
        self.grace_ns.max(DONE_NS)
    }

    /// A schedule without warm-up, deadline or grace, for entries without events.
    pub(crate) fn unbounded(drive: &Drive, begin: Nanos) -> Self {
        Self {
            ramp_up_ns: 0,
            measured: begin,
            deadline: None,
            grace_ns: 0,
            ..Self::new(drive, begin)
        }
    }

    pub(crate) fn begin_of(&self, tid: u32) -> Nanos {
        let share = u128::from(self.ramp_up_ns) * u128::from(tid);
        self.begin + (share / u128::from(self.sessions.max(1))) as Nanos
    }
}

/// Where a worker is in its schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    schedule: Schedule,
    stage: Stage,
    index: u64,
    start: Nanos,
    /// The instant of the next [`Mark`].
    next: Nanos,
    /// When new events stopped, at the deadline or at an early end.
    stopped: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Measuring,
    Stopped,
}

/// An instant that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Measuring begins.
    Measure,
    /// An interval has ended.
    Interval(Closed),
    /// No new event may begin. The last interval has ended, if one was running.
    Stop(Option<Closed>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) index: u64,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// The number of the interval that is now current. If the caller came late, it is more than
    /// `index + 1`, and the intervals between are empty.
    pub(crate) next_index: u64,
}

impl Calendar {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            stage: Stage::Before,
            index: 0,
            start: schedule.measured,
            next: schedule.measured,
            stopped: None,
        }
    }

    #[inline]
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// When to call [`Self::pass`] next.
    #[inline]
    pub(crate) fn next(&self) -> Nanos {
        self.next
    }

    /// Whether an event that begins at this instant is measured.
    #[inline]
    pub(crate) fn measures(&self, at: Nanos) -> bool {
        at >= self.schedule.measured
    }

    /// Whether to measure an event that begins at `at` for an arrival due at `due`. Arrivals that
    /// still wait in the queue when the measurement begins are served within it, and count like any
    /// other. If the number of arrivals is limited, only the due time decides, so that their number
    /// is exact.
    #[inline]
    pub(crate) fn measures_arrival(&self, due: Nanos, at: Nanos) -> bool {
        self.measures(if self.schedule.counts { due } else { at })
    }

    /// When new events stopped, if they have.
    #[inline]
    pub(crate) fn stopped(&self) -> Option<Nanos> {
        self.stopped
    }

    /// The number and the start of the current interval.
    pub(crate) fn running(&self) -> (u64, Nanos) {
        (self.index, self.start)
    }

    /// When events in flight are given up. This is never before the stop.
    pub(crate) fn grace_end(&self) -> Nanos {
        self.stop_at().saturating_add(self.schedule.grace_ns)
    }

    /// When `thread_done` is given up.
    pub(crate) fn done_end(&self) -> Nanos {
        self.grace_end().saturating_add(self.schedule.done_ns())
    }

    /// Returns a mark that is due at `now`. Call it until it returns `None`.
    pub(crate) fn pass(&mut self, now: Nanos) -> Option<Mark> {
        if now < self.next {
            return None;
        }
        match self.stage {
            Stage::Before => {
                self.stage = Stage::Measuring;
                self.settle();
                Some(Mark::Measure)
            }
            Stage::Measuring if self.next == self.stop_at() => {
                let end = self.next;
                Some(self.stop(end))
            }
            Stage::Measuring => {
                let (index, start, end) = (self.index, self.start, self.next);
                let until = now.min(self.stop_at().saturating_sub(1));
                self.index = (until - self.schedule.measured) / self.schedule.interval_ns;
                self.start = self.boundary(self.index);
                self.settle();
                let next_index = self.index;
                Some(Mark::Interval(Closed {
                    index,
                    start,
                    end,
                    next_index,
                }))
            }
            Stage::Stopped => None,
        }
    }

    /// Ends the run at `now`, before its deadline. `None` if the run has already ended.
    pub(crate) fn end_early(&mut self, now: Nanos) -> Option<Mark> {
        match self.stage {
            Stage::Stopped => None,
            Stage::Before => {
                self.stage = Stage::Stopped;
                self.stopped = Some(now);
                self.next = Nanos::MAX;
                Some(Mark::Stop(None))
            }
            Stage::Measuring => Some(self.stop(now)),
        }
    }

    fn stop(&mut self, end: Nanos) -> Mark {
        self.stage = Stage::Stopped;
        self.stopped = Some(end);
        self.next = Nanos::MAX;
        Mark::Stop(Some(Closed {
            index: self.index,
            start: self.start,
            end,
            next_index: u64::MAX,
        }))
    }

    fn settle(&mut self) {
        self.next = self.boundary(self.index + 1).min(self.stop_at());
    }

    fn boundary(&self, index: u64) -> Nanos {
        let offset = index.saturating_mul(self.schedule.interval_ns);
        self.schedule.measured.saturating_add(offset)
    }

    fn stop_at(&self) -> Nanos {
        let planned = self.schedule.deadline.unwrap_or(Nanos::MAX);
        self.stopped.unwrap_or(planned)
    }
}

/// A duration in nanoseconds, at most 292 years.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    duration.as_nanos().min(u128::from(Nanos::MAX / 2)) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(time: Option<Nanos>) -> Schedule {
        Schedule {
            begin: 1000,
            ramp_up_ns: 100,
            measured: 1300,
            deadline: time.map(|time| 1300 + time),
            grace_ns: 50,
            interval_ns: 10,
            sessions: 4,
            counts: false,
        }
    }

    fn closed(index: u64, end: Nanos, next_index: u64) -> Closed {
        Closed {
            index,
            start: 1300 + index * 10,
            end,
            next_index,
        }
    }

    fn interval(index: u64, end: Nanos, next_index: u64) -> Option<Mark> {
        Some(Mark::Interval(closed(index, end, next_index)))
    }

    fn stop(index: u64, end: Nanos) -> Option<Mark> {
        Some(Mark::Stop(Some(closed(index, end, u64::MAX))))
    }

    #[test]
    fn a_ramp_spreads_sessions_evenly() {
        let begins = [0, 1, 2, 3].map(|tid| schedule(None).begin_of(tid));
        assert_eq!(begins, [1000, 1025, 1050, 1075]);
    }

    #[test]
    fn intervals_are_absolute_and_the_last_one_ends_at_the_deadline() {
        let mut calendar = Calendar::new(schedule(Some(25)));
        assert_eq!(calendar.pass(1299), None);
        assert_eq!(calendar.pass(1300), Some(Mark::Measure));
        assert_eq!(calendar.pass(1309), None);
        assert_eq!(calendar.pass(1313), interval(0, 1310, 1));
        assert_eq!(calendar.next(), 1320);
        assert_eq!(calendar.pass(1320), interval(1, 1320, 2));
        assert_eq!(calendar.pass(1400), stop(2, 1325));
        assert_eq!(calendar.stopped(), Some(1325));
        assert_eq!(calendar.grace_end(), 1375);
        assert_eq!(calendar.pass(u64::MAX - 1), None);
    }

    #[test]
    fn a_late_call_skips_empty_intervals() {
        let mut calendar = Calendar::new(schedule(Some(60)));
        assert_eq!(calendar.pass(1300), Some(Mark::Measure));
        assert_eq!(calendar.pass(1345), interval(0, 1310, 4));
        assert_eq!(calendar.pass(1345), None);
        assert_eq!(calendar.running(), (4, 1340));
        assert_eq!(calendar.pass(9999), interval(4, 1350, 5));
        assert_eq!(calendar.pass(9999), stop(5, 1360));
    }

    #[test]
    fn a_deadline_on_a_boundary_closes_one_interval_only() {
        let mut calendar = Calendar::new(schedule(Some(10)));
        assert_eq!(calendar.pass(1310), Some(Mark::Measure));
        assert_eq!(calendar.pass(1310), stop(0, 1310));
    }

    #[test]
    fn an_early_end_starts_the_grace() {
        let mut calendar = Calendar::new(schedule(None));
        assert_eq!(calendar.end_early(1100), Some(Mark::Stop(None)));
        assert_eq!(calendar.grace_end(), 1150);
        let mut calendar = Calendar::new(schedule(Some(1000)));
        calendar.pass(1300);
        assert_eq!(calendar.end_early(1304), stop(0, 1304));
        assert_eq!(calendar.end_early(1305), None);
        assert_eq!(calendar.grace_end(), 1354);
    }
}
