//! Operations within events, and detached events.

use dyno_core::clock::Nanos;
use dyno_core::session::{Detached, OperationEnd, OperationId, SessionId};

use crate::recorder::{Class, Ended};
use crate::session::OpenOperation;
use crate::state::{State, now};

impl State {
    pub(crate) fn detach(&mut self, session: SessionId) -> Detached {
        let record = &mut self.sessions[session];
        // It stays among those in progress.
        record.detached += u32::from(record.in_event);
        record.in_event = false;
        Detached {
            started: record.started,
            scheduled: record.scheduled,
            measured: record.class == Class::Measured,
            work: record
                .work
                .take()
                .map(|work| (work.operation, work.started)),
        }
    }

    pub(crate) fn attach(&mut self, session: SessionId, event: Detached) {
        let record = &mut self.sessions[session];
        let Some(others) = record.detached.checked_sub(1) else {
            return;
        };
        record.detached = others;
        record.in_event = true;
        record.spoilt = false;
        record.started = event.started;
        record.scheduled = event.scheduled;
        record.class = match event.measured {
            true => Class::Measured,
            false => Class::Warmup,
        };
        record.work = event.work.map(|(operation, started)| OpenOperation {
            operation,
            retries: 0,
            started,
            first_ns: 0,
        });
        // It ends at a different instant.
        self.stamp = 0;
    }

    /// Ends the session's detached events without counting them. Returns their number.
    pub(crate) fn drop_detached(&mut self, session: SessionId) -> u64 {
        let record = &mut self.sessions[session];
        let count = std::mem::take(&mut record.detached);
        self.in_events -= count * u32::from(!record.background);
        u64::from(count)
    }

    pub(crate) fn begin_work(&mut self, session: SessionId, operation: OperationId) {
        let started = match self.stamp {
            0 => now(),
            stamp => stamp,
        };
        self.sessions[session].work = Some(OpenOperation {
            operation,
            retries: 0,
            started,
            first_ns: 0,
        });
    }

    pub(crate) fn repeat_work(&mut self, session: SessionId) {
        if let Some(work) = &mut self.sessions[session].work {
            if work.retries == 0 {
                work.first_ns = now() - work.started;
            }
            work.retries = work.retries.saturating_add(1);
        }
        self.tried_again(session);
    }

    /// A statement or an event was repeated.
    pub(crate) fn tried_again(&mut self, session: SessionId) {
        let is_early = self.sessions[session].class == Class::Warmup;
        if is_early && let Some(calendar) = &self.calendar {
            let at = now();
            if calendar.measures(at) {
                self.sessions[session].class = Class::Overlapping;
                if at >= self.next_mark {
                    self.pass_marks(at);
                }
            }
        }
        let class = self.sessions[session].class;
        self.recorder.counters(class).retries += 1;
    }

    /// An event ended without its work: it is counted separately.
    #[cold]
    pub(crate) fn end_spoilt(&mut self, session: SessionId, at: Nanos) {
        let record = &mut self.sessions[session];
        match record.class {
            Class::Measured => self.recorder.not_done(record.role, record.background),
            Class::Warmup | Class::Overlapping => {
                let foreground = u64::from(!record.background);
                self.recorder.counters(Class::Warmup).not_done += foreground;
                if self.calendar.as_ref().is_some_and(|c| c.measures(at)) {
                    record.class = Class::Measured;
                }
            }
            Class::Outside => {}
        }
    }

    pub(crate) fn end_work(&mut self, session: SessionId, end: OperationEnd) {
        let at = now();
        if at >= self.next_mark {
            self.pass_marks(at);
        }
        // Work that ends when the grace period is over, perhaps because its connection was closed,
        // is counted by the event.
        let gone = self.over || (self.stopping && at >= self.limit());
        let record = &mut self.sessions[session];
        let open = record.pacer.is_some();
        let Some(work) = record.work.take() else {
            return;
        };
        record.spoilt |= !end.counts();
        if record.class != Class::Measured || !record.in_event || gone {
            return;
        }
        let service_ns = at - work.started;
        // The event's first operation waited as long as the event did.
        let wait_ns = match work.started == record.started {
            true => record.started.saturating_sub(record.scheduled),
            false => 0,
        };
        self.recorder.operation(Ended {
            operation: work.operation,
            end,
            retries: work.retries,
            service_ns,
            response_ns: open.then_some(service_ns + wait_ns),
            first_ns: work.first_ns,
        });
    }
}
