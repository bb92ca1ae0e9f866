//! A port without a worker or database: for a script's top level and for report functions.

use std::io;
use std::os::fd::RawFd;

use dyno_core::clock::Nanos;
use dyno_core::db::{Connection, DbError, ErrorKind, Submitted};
use dyno_core::session::{
    ConnId, Counter, Detached, Next, OperationEnd, OperationId, Port, Request, SessionId,
};

pub(crate) struct NoPort;

impl Port for NoPort {
    fn connect(&mut self, _: SessionId) -> Result<(ConnId, Submitted), DbError> {
        Err(DbError::new(
            ErrorKind::Misuse,
            "there is no database connection at the top level: connect in a function",
        ))
    }

    fn submit(&mut self, _: SessionId, _: ConnId, _: Request<'_>) -> Option<Submitted> {
        None
    }

    fn wait(&mut self, _: SessionId, _: ConnId) {}

    fn connection(&mut self, _: SessionId, _: ConnId) -> Option<&mut dyn Connection> {
        None
    }

    fn disconnect(&mut self, _: SessionId, _: ConnId) {}

    fn next_event(&mut self, _: SessionId) -> Next {
        Next::Stop
    }

    fn wait_event(&mut self, _: SessionId) -> Next {
        Next::Stop
    }

    fn event_start(&mut self, _: SessionId) {}

    fn event_stop(&mut self, _: SessionId) {}

    // Scripts have one event at a time.
    fn event_detach(&mut self, _: SessionId) -> Detached {
        Detached::default()
    }

    fn event_attach(&mut self, _: SessionId, _: Detached) {}

    fn watch(&mut self, _: SessionId, _: RawFd) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn operation_start(&mut self, _: SessionId, _: OperationId) {}

    fn operation_retry(&mut self, _: SessionId) {}

    fn operation_stop(&mut self, _: SessionId, _: OperationEnd) {}

    fn think(&mut self, session: SessionId, duration_ns: Nanos) {
        self.sleep(session, duration_ns);
    }

    fn thought(&mut self, _: SessionId) -> bool {
        true
    }

    fn sleep(&mut self, _: SessionId, duration_ns: Nanos) {
        std::thread::sleep(std::time::Duration::from_nanos(duration_ns));
    }

    // `sleep` has waited already.
    fn wait_sleep(&mut self, _: SessionId) -> bool {
        true
    }

    fn count(&mut self, _: SessionId, _: Counter, _: u64) {}

    fn counted(&self, _: SessionId, _: Counter) -> u64 {
        0
    }

    fn error_not_ignored(&mut self, _: SessionId) {}

    fn count_retry(&mut self, _: SessionId) {}
}
