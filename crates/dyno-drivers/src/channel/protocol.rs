//! What a protocol is to a channel.

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    DbError, Outcome, Param, ParamKind, PipedResult, Row, ServerInfo, StatementId, Submitted,
    TransactionStep,
};

/// What a protocol made of the bytes it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// How many bytes it consumed: whole messages only. The rest is given again with more behind.
    pub consumed: usize,
    /// How it goes on.
    pub next: Next,
}

/// How a protocol goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More bytes must come.
    Input,
    /// The operation has ended; the outcome is set.
    Finished,
    /// `output` must be sent in the clear, then TLS begins, then `tls_established` is called.
    StartTls,
}

/// A database protocol as a state machine without I/O. Every method may append to `output`, which
/// is sent afterwards. Errors are outcomes. It must never panic, whatever the input.
pub trait Protocol: Send {
    /// The socket is connected: send the greeting, if it is the client that greets.
    fn connected(&mut self, output: &mut Vec<u8>);

    /// Bytes have arrived.
    fn receive(&mut self, input: &[u8], output: &mut Vec<u8>) -> Received;

    /// TLS stands. `end_point` is the hash of the server's certificate for `tls-server-end-point`
    /// channel binding (RFC 5929), where one is defined.
    fn tls_established(&mut self, version: &str, end_point: Option<Vec<u8>>, output: &mut Vec<u8>);

    /// Bytes have arrived while no operation was under way, whole messages or not: how many of them
    /// belong there. The rest stays and is judged again with the next.
    ///
    /// # Errors
    /// What ends the connection: the server's reason for closing it, or bytes that answer nothing
    /// and would be taken for the next operation's answer.
    fn unasked(&mut self, input: &[u8]) -> Result<usize, DbError>;

    /// Whether further results of the last request are still to come from the server.
    fn is_answering(&self) -> bool {
        false
    }

    /// Everything was sent and the operation is still pending: more to send, if there is any (a
    /// bulk load in progress).
    fn produce(&mut self, output: &mut Vec<u8>);

    /// The connection is lost or refused, for the reason given: the outcome becomes that failure,
    /// and statements and results of the connection are gone.
    fn fail(&mut self, error: DbError);

    /// The connection was refused. True if the protocol would like to try once more on a new
    /// socket: it is then as it was before `connected`.
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
    /// Starts forgetting a prepared statement.
    fn close_statement(&mut self, statement: StatementId, output: &mut Vec<u8>) -> Submitted;
    /// Starts a bulk load.
    fn bulk_load(&mut self, load: BulkLoad, output: &mut Vec<u8>) -> Submitted;
    /// Steps to the next result; sends nothing.
    fn next_result(&mut self, output: &mut Vec<u8>) -> Submitted;
    /// From now on statements wait until the pipeline ends.
    ///
    /// # Errors
    /// The database has no pipelines, or it cannot begin one now.
    fn start_pipeline(&mut self) -> Result<(), DbError> {
        Err(DbError::no_pipelines())
    }

    /// Sends what waits; fails where there is no pipeline.
    fn end_pipeline(&mut self, output: &mut Vec<u8>) -> Submitted {
        self.next_result(output)
    }

    /// Forgets what waits.
    fn drop_pipeline(&mut self) {}

    /// What a statement of the last pipeline came to.
    fn piped(&self, _index: usize) -> Option<PipedResult> {
        None
    }

    /// From now on the names of columns are kept of results of statements in text.
    fn keep_names(&mut self) {}

    /// The names of the columns of each result of the last statements in text.
    fn names(&self) -> &[Vec<String>] {
        &[]
    }

    /// A polite goodbye.
    fn terminate(&mut self, output: &mut Vec<u8>);

    /// How the last operation ended.
    fn outcome(&self) -> &Outcome;
    /// The same, to be changed: the channel adds the byte counts.
    fn outcome_mut(&mut self) -> &mut Outcome;
    /// The next row of the current result as text.
    fn next_row(&mut self, row: &mut Row) -> bool;
    /// Forgets the current result's rows.
    fn free_result(&mut self);
    /// The server.
    fn server(&self) -> &ServerInfo;

    /// Whether the server refuses everything until the transaction is rolled back.
    fn transaction_failed(&self) -> bool {
        false
    }

    /// Whether a transaction is open, as the server said with the last statement that returned no
    /// rows.
    fn in_transaction(&self) -> bool;
}
