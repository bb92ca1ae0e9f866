//! A connection to a host whose name is being looked up.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    Connection, DbError, ErrorKind, Outcome, OutcomeKind, Param, ParamKind, PipedResult, Row,
    Scratch, ServerInfo, StatementId, Submitted, TransactionStep,
};

use super::host::Timer;
use super::{Parts, lost};

/// Waits for the look-up, then acts as the connection.
pub(super) struct Resolving {
    parts: Arc<Parts>,
    endpoint: usize,
    stage: Stage,
    /// The outcome while there is no connection.
    outcome: Outcome,
    server: ServerInfo,
}

enum Stage {
    Waits(Timer),
    Connection(Box<dyn Connection>),
    Failed,
}

impl Resolving {
    pub(super) fn new(parts: Arc<Parts>, endpoint: usize, waits: Timer) -> Self {
        Self {
            parts,
            endpoint,
            stage: Stage::Waits(waits),
            outcome: Outcome::default(),
            server: ServerInfo::default(),
        }
    }

    #[inline]
    fn connection(&self) -> Option<&dyn Connection> {
        match &self.stage {
            Stage::Connection(connection) => Some(connection.as_ref()),
            Stage::Waits(_) | Stage::Failed => None,
        }
    }

    /// Starts an operation on the connection, if it exists.
    #[inline]
    fn start(&mut self, operation: impl FnOnce(&mut dyn Connection) -> Submitted) -> Submitted {
        match &mut self.stage {
            Stage::Connection(connection) => operation(connection.as_mut()),
            Stage::Waits(_) => {
                let message = "the connection is not ready yet";
                self.outcome.kind = OutcomeKind::Failed;
                let error = DbError::new(ErrorKind::Misuse, message);
                self.outcome.error = Some(Box::new(error));
                Submitted::Ready
            }
            Stage::Failed => self.fail(lost("the connection is closed".to_owned())),
        }
    }

    fn fail(&mut self, error: DbError) -> Submitted {
        self.stage = Stage::Failed;
        self.outcome.kind = OutcomeKind::Failed;
        self.outcome.error = Some(Box::new(error));
        Submitted::Ready
    }
}

impl Connection for Resolving {
    #[inline]
    fn advance(&mut self, scratch: &mut Scratch) -> Submitted {
        match &mut self.stage {
            Stage::Connection(connection) => connection.advance(scratch),
            Stage::Failed => Submitted::Ready,
            Stage::Waits(timer) if !timer.is_over() => Submitted::Pending,
            Stage::Waits(_) => match self.parts.open(self.endpoint) {
                Ok(connection) => {
                    // The waiter must switch to another descriptor.
                    self.stage = Stage::Connection(connection);
                    Submitted::Pending
                }
                Err(error) => self.fail(error),
            },
        }
    }

    fn peer_closed(&mut self) {
        if let Stage::Connection(connection) = &mut self.stage {
            connection.peer_closed();
        }
    }

    fn has_ended(&mut self, scratch: &mut Scratch) -> bool {
        match &mut self.stage {
            Stage::Connection(connection) => connection.has_ended(scratch),
            _ => false,
        }
    }

    fn abort(&mut self, why: &str) {
        if let Stage::Connection(connection) = &mut self.stage {
            return connection.abort(why);
        }
        let name = &self.parts.endpoints[self.endpoint].name;
        let error = lost(format!("cannot connect to {name}: {why}"));
        let _ = self.fail(error);
    }

    #[inline]
    fn query(&mut self, scratch: &mut Scratch, sql: &[u8]) -> Submitted {
        self.start(|connection| connection.query(scratch, sql))
    }

    fn transaction(&mut self, scratch: &mut Scratch, step: TransactionStep) -> Submitted {
        self.start(|connection| connection.transaction(scratch, step))
    }

    fn prepare(&mut self, scratch: &mut Scratch, sql: &[u8], kinds: &[ParamKind]) -> Submitted {
        self.start(|connection| connection.prepare(scratch, sql, kinds))
    }

    #[inline]
    fn execute(
        &mut self,
        scratch: &mut Scratch,
        statement: StatementId,
        params: &[&Param],
    ) -> Submitted {
        self.start(|connection| connection.execute(scratch, statement, params))
    }

    fn close_statement(&mut self, scratch: &mut Scratch, statement: StatementId) -> Submitted {
        self.start(|connection| connection.close_statement(scratch, statement))
    }

    fn bulk_load(&mut self, scratch: &mut Scratch, load: BulkLoad) -> Submitted {
        self.start(|connection| connection.bulk_load(scratch, load))
    }

    fn next_result(&mut self, scratch: &mut Scratch) -> Submitted {
        self.start(|connection| connection.next_result(scratch))
    }

    fn start_pipeline(&mut self) -> Result<(), DbError> {
        match &mut self.stage {
            Stage::Connection(connection) => connection.start_pipeline(),
            _ => Err(lost("the connection is not ready yet".to_owned())),
        }
    }

    fn end_pipeline(&mut self, scratch: &mut Scratch) -> Submitted {
        self.start(|connection| connection.end_pipeline(scratch))
    }

    fn drop_pipeline(&mut self) {
        if let Stage::Connection(connection) = &mut self.stage {
            connection.drop_pipeline();
        }
    }

    fn piped(&self, index: usize) -> Option<PipedResult> {
        self.connection()?.piped(index)
    }

    fn keep_names(&mut self) {
        if let Stage::Connection(connection) = &mut self.stage {
            connection.keep_names();
        }
    }

    fn names(&self) -> &[Vec<String>] {
        self.connection()
            .map_or(&[], |connection| connection.names())
    }

    #[inline]
    fn outcome(&self) -> &Outcome {
        match &self.stage {
            Stage::Connection(connection) => connection.outcome(),
            Stage::Waits(_) | Stage::Failed => &self.outcome,
        }
    }

    fn next_row(&mut self, row: &mut Row) -> bool {
        match &mut self.stage {
            Stage::Connection(connection) => connection.next_row(row),
            Stage::Waits(_) | Stage::Failed => false,
        }
    }

    fn free_result(&mut self) {
        if let Stage::Connection(connection) = &mut self.stage {
            connection.free_result();
        }
    }

    fn fd(&self) -> Option<RawFd> {
        match &self.stage {
            Stage::Connection(connection) => connection.fd(),
            Stage::Waits(timer) => Some(timer.0.as_raw_fd()),
            Stage::Failed => None,
        }
    }

    #[inline]
    fn wants_write(&self) -> bool {
        self.connection().is_some_and(Connection::wants_write)
    }

    fn close(&mut self) {
        match &mut self.stage {
            Stage::Connection(connection) => connection.close(),
            Stage::Waits(_) | Stage::Failed => self.stage = Stage::Failed,
        }
    }

    fn server(&self) -> &ServerInfo {
        self.connection()
            .map_or(&self.server, |connection| connection.server())
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }

    #[inline]
    fn transaction_failed(&self) -> bool {
        self.connection()
            .is_some_and(Connection::transaction_failed)
    }

    fn in_transaction(&self) -> bool {
        self.connection().is_some_and(Connection::in_transaction)
    }
}
