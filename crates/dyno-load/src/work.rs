//! Named pieces of work within events.

use dyno_core::session::{OperationEnd, OperationId, Port, SessionId};

use crate::recorder::{Class, Ended};
use crate::session::Work;
use crate::state::{State, now};

impl State {
    pub(crate) fn begin_work(&mut self, session: SessionId, operation: OperationId) {
        let started = match self.stamp {
            0 => now(),
            stamp => stamp,
        };
        self.sessions[session].work = Some(Work {
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
        self.count_retry(session);
    }

    pub(crate) fn end_work(&mut self, session: SessionId, end: OperationEnd) {
        let at = now();
        if at >= self.next_mark {
            self.pass_marks(at);
        }
        // What ends when the grace is over, perhaps because its connection was taken away, is the
        // event's to tell.
        let gone = self.over || (self.stopping && at >= self.limit());
        let record = &mut self.sessions[session];
        let open = record.pacer.is_some();
        let Some(work) = record.work.take() else {
            return;
        };
        if record.class != Class::Measured || !record.in_event || gone {
            return;
        }
        let service_ns = at - work.started;
        // The event's first piece of work waited as long as the event did.
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
