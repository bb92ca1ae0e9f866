//! The interface between a protocol and a channel.

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    DbError, Outcome, Param, ParamKind, PipedResult, Row, ServerInfo, StatementId, Submitted,
    TransactionStep,
};

/// The result of giving bytes to a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The number of bytes consumed: whole messages only. The rest is passed again with more
    /// appended.
    pub consumed: usize,
    /// What to do next.
    pub next: Next,
}

/// What a protocol needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More bytes.
    Input,
    /// The operation has ended; the outcome is set.
    Finished,
    /// Send `output` in the clear, start TLS, then call `tls_established`.
    StartTls,
}

/// A database protocol as a state machine without I/O. Every method may append to `output`, which
/// is sent afterwards. Errors are outcomes. It must never panic, whatever the input.
pub trait Protocol: Send {
    /// The socket is connected. Appends the greeting if the client speaks first.
    fn connected(&mut self, output: &mut Vec<u8>);

    /// Bytes have arrived.
    fn receive(&mut self, input: &[u8], output: &mut Vec<u8>) -> Received;

    /// TLS is established. `end_point` is the hash of the server's certificate for
    /// `tls-server-end-point` channel binding (RFC 5929), if one is defined.
    fn tls_established(&mut self, version: &str, end_point: Option<Vec<u8>>, output: &mut Vec<u8>);

    /// Handles bytes that arrived while no operation was under way. Returns the number of bytes
    /// consumed; the rest stays and is passed again with the next ones.
    ///
    /// # Errors
    /// The reason to end the connection: the server's reason for closing it, or bytes that would be
    /// taken for the next operation's answer.
    fn unasked(&mut self, input: &[u8]) -> Result<usize, DbError>;

    /// Whether the server still has to send results of the last request.
    fn is_answering(&self) -> bool {
        false
    }

    /// Everything was sent and the operation is still pending: appends more to send, if any (a bulk
    /// load in progress).
    fn produce(&mut self, output: &mut Vec<u8>);

    /// The connection is lost or refused for the given reason. The outcome becomes that failure,
    /// and the connection's statements and results are dropped.
    fn fail(&mut self, error: DbError);

    /// The connection was refused. Returns true to try once more on a new socket; the state is then
    /// the same as before `connected`.
    fn retry(&mut self) -> bool {
        false
    }

    /// Starts a request in the database's own language.
    fn query(&mut self, sql: &[u8], output: &mut Vec<u8>) -> Submitted;
    /// Starts a step of a transaction.
    fn transaction(&mut self, step: TransactionStep, output: &mut Vec<u8>) -> Submitted;
    /// Starts preparing a statement with `?` placeholders.
    fn prepare(&mut self, sql: &[u8], kinds: &[ParamKind], output: &mut Vec<u8>) -> Submitted;
    /// Starts executing a prepared statement.
    fn execute(
        &mut self,
        statement: StatementId,
        params: &[&Param],
        output: &mut Vec<u8>,
    ) -> Submitted;
    /// Starts closing a prepared statement.
    fn close_statement(&mut self, statement: StatementId, output: &mut Vec<u8>) -> Submitted;
    /// Starts a bulk load.
    fn bulk_load(&mut self, load: BulkLoad, output: &mut Vec<u8>) -> Submitted;
    /// Steps to the next result; sends nothing.
    fn next_result(&mut self, output: &mut Vec<u8>) -> Submitted;
    /// Queues the statements that follow until the pipeline ends.
    ///
    /// # Errors
    /// The database has no pipelines, or one cannot start now.
    fn start_pipeline(&mut self) -> Result<(), DbError> {
        Err(DbError::no_pipelines())
    }

    /// Sends the queued statements; fails outside of a pipeline.
    fn end_pipeline(&mut self, output: &mut Vec<u8>) -> Submitted {
        self.next_result(output)
    }

    /// Discards the queued statements.
    fn drop_pipeline(&mut self) {}

    /// The result of one statement of the last pipeline.
    fn piped(&self, _index: usize) -> Option<PipedResult> {
        None
    }

    /// Keeps the column names of text results from now on.
    fn keep_names(&mut self) {}

    /// The column names of each result of the last text statement.
    fn names(&self) -> &[Vec<String>] {
        &[]
    }

    /// Appends the message that ends the session.
    fn terminate(&mut self, output: &mut Vec<u8>);

    /// How the last operation ended.
    fn outcome(&self) -> &Outcome;
    /// The outcome, mutable: the channel adds the byte counts.
    fn outcome_mut(&mut self) -> &mut Outcome;
    /// The next row of the current result as text.
    fn next_row(&mut self, row: &mut Row) -> bool;
    /// Discards the rows of the current result.
    fn free_result(&mut self);
    /// What is known about the server.
    fn server(&self) -> &ServerInfo;

    /// Whether the server refuses every statement until the transaction is rolled back.
    fn transaction_failed(&self) -> bool {
        false
    }

    /// Whether a transaction is open, according to the last statement that returned no rows.
    fn in_transaction(&self) -> bool;
}
