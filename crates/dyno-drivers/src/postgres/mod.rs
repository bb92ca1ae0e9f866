//! PostgreSQL, by version 3.0 of its protocol.
//!
//! An operation ends when the answer up to ReadyForQuery has arrived. Rows are copied once,
//! unparsed, into a buffer that the connection reuses, and are split into fields on demand. The
//! results of several statements in one query wait in that buffer.
//!
//! `connect` greets and authenticates (with `auth`), `session` runs statements (encoded by
//! `statements`, their placeholders numbered by `placeholders`, read by `answers`), `pipeline`
//! sends several together, `load` copies rows in, `results` stores the results, `wire` frames the
//! messages, `errors` parses the server's errors, `transactions` counts those that ended.

mod answers;
mod auth;
mod connect;
mod errors;
mod load;
mod pipeline;
mod placeholders;
mod results;
mod session;
mod statements;
mod transactions;
mod wire;

#[cfg(test)]
mod tests;

use dyno_core::Secret;
use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    DbError, ErrorKind, Outcome, OutcomeKind, Param, ParamKind, PipedResult, Row, ServerInfo,
    StatementId, Submitted, TransactionStep,
};
use dyno_core::target::TlsMode;

use crate::channel::{Next, Protocol, Received};
use crate::disclosure::Disclosure;
use connect::Handshake;
use pipeline::Pipeline;
use results::Results;
use session::{Activity, Step, Task};
use statements::Statements;
use transactions::Last;
use wire::Malformed;

/// Connection settings.
#[derive(Clone, Debug, Default)]
pub struct PostgresOptions {
    /// The user.
    pub user: String,
    /// The password, in case the server asks for one.
    pub password: Option<Secret>,
    /// The database; if empty, the server uses the user's name.
    pub database: String,
    /// The TLS mode.
    pub tls: TlsMode,
    /// The socket is a UNIX socket: no TLS, whatever the mode.
    pub unix_socket: bool,
    /// Whether the server may receive the password in readable form.
    pub disclosure: Disclosure,
    /// The name in the server's activity views; not sent if empty.
    pub application_name: String,
}

/// The protocol on one connection.
pub struct Postgres {
    /// Present until the connection is ready for use.
    handshake: Option<Box<Handshake>>,
    /// The second attempt to connect, after the first was refused.
    second: Option<Box<Handshake>>,
    activity: Activity,
    task: Task,
    outcome: Outcome,
    results: Results,
    /// The server's first error since the operation began; it surfaces at ReadyForQuery.
    failure: Option<Box<DbError>>,
    statements: Statements,
    /// The column names of each result of the last text statement, if requested.
    names: Option<Vec<Vec<String>>>,
    /// `None` before the first one.
    pipeline: Option<Box<Pipeline>>,
    /// Transaction status as of the last ReadyForQuery: idle, in a transaction, or in a failed one.
    status: u8,
    /// What the server did last in the current request.
    last: Last,
    /// The error that aborted the transaction, until the transaction ends.
    aborted_by: Option<Box<DbError>>,
    server: ServerInfo,
}

impl Postgres {
    /// Creates the state of a connection that is not connected yet.
    ///
    /// # Errors
    /// A name or password with a NUL byte, which the protocol cannot transmit.
    pub fn new(options: &PostgresOptions) -> Result<Self, DbError> {
        Ok(Self {
            handshake: Some(Box::new(Handshake::new(options)?)),
            second: None,
            activity: Activity::Connecting,
            task: Task::None,
            outcome: Outcome::default(),
            results: Results::default(),
            failure: None,
            statements: Statements::default(),
            names: None,
            pipeline: None,
            status: b'I',
            last: Last::End,
            aborted_by: None,
            server: ServerInfo {
                product: "PostgreSQL".to_owned(),
                ..ServerInfo::default()
            },
        })
    }

    /// Ends the connection with an error and drops its state.
    fn end(&mut self, mut error: DbError) {
        if let Some(handshake) = self.handshake.take() {
            self.second = handshake.second_attempt(&mut error);
        }
        self.activity = Activity::Ended;
        self.task = Task::None;
        self.results.reset();
        self.statements = Statements::default();
        self.pipeline = None;
        self.failure = None;
        self.aborted_by = None;
        self.last = Last::End;
        self.set_failed(Box::new(error));
    }

    #[inline]
    fn note_abort(&mut self) {
        if self.status == b'E' || self.aborted_by.is_some() {
            self.note_abort_now();
        }
    }

    #[cold]
    fn note_abort_now(&mut self) {
        match self.status {
            b'E' if self.aborted_by.is_none() => {
                self.aborted_by.clone_from(&self.outcome.error);
            }
            b'E' => {}
            _ => self.aborted_by = None,
        }
    }

    /// The server violated the protocol.
    fn end_malformed(&mut self, malformed: Malformed) {
        self.end(self.broken(malformed));
    }

    fn broken(&self, malformed: Malformed) -> DbError {
        let doing = self.doing();
        let message = format!(
            "the server broke the PostgreSQL protocol {doing}: {}; is it a PostgreSQL server?",
            malformed.0
        );
        DbError::new(ErrorKind::Protocol, message)
    }

    /// For messages: "the server did so `during a query`".
    fn doing(&self) -> &'static str {
        match (self.activity, &self.task) {
            (Activity::Connecting, _) => "while connecting",
            (Activity::Idle, _) => "between operations",
            (Activity::Query, _) => "during a query",
            (Activity::Execute, _) => "during the execution of a prepared statement",
            (Activity::Piping | Activity::Pipeline, _) => "during a pipeline",
            (Activity::Task, Task::Prepare(_)) => "while preparing a statement",
            (Activity::Task, Task::Load(_)) => "during a bulk load",
            (Activity::Task, _) => "while closing a statement",
            (Activity::Ended, _) => "after the connection had ended",
        }
    }

    fn receive_messages(&mut self, input: &[u8], output: &mut Vec<u8>) -> Received {
        let mut consumed = 0;
        let step = if self.activity == Activity::Connecting {
            self.receive_greeting(input, &mut consumed, output)
        } else {
            self.receive_answer(input, &mut consumed, output)
        };
        let next = match step {
            Ok(Step::More) => Next::Input,
            Ok(Step::Finished) => Next::Finished,
            Ok(Step::StartTls) => Next::StartTls,
            Err(malformed) => {
                self.end_malformed(malformed);
                consumed = input.len();
                Next::Finished
            }
        };
        Received { consumed, next }
    }

    fn set_failed(&mut self, error: Box<DbError>) {
        self.outcome.kind = OutcomeKind::Failed;
        self.outcome.rows = 0;
        self.outcome.columns = 0;
        self.outcome.affected = 0;
        self.outcome.more = false;
        self.outcome.error = Some(error);
    }
}

impl Protocol for Postgres {
    fn connected(&mut self, output: &mut Vec<u8>) {
        if let Some(handshake) = &mut self.handshake {
            handshake.begin(output);
        }
    }

    #[inline]
    fn receive(&mut self, input: &[u8], output: &mut Vec<u8>) -> Received {
        if self.receive_usual(input) {
            return Received {
                consumed: input.len(),
                next: Next::Finished,
            };
        }
        self.receive_messages(input, output)
    }

    fn tls_established(&mut self, version: &str, end_point: Option<Vec<u8>>, output: &mut Vec<u8>) {
        self.server.tls = Some(version.to_owned());
        if let Some(handshake) = &mut self.handshake {
            handshake.tls_established(end_point, output);
        }
    }

    fn unasked(&mut self, input: &[u8]) -> Result<usize, DbError> {
        self.judge_unasked(input)
    }

    fn produce(&mut self, output: &mut Vec<u8>) {
        if let Task::Load(load) = &mut self.task {
            load.produce(output);
        }
    }

    fn fail(&mut self, mut error: DbError) {
        // The server's last message explains more than the broken connection does.
        if let Some(said) = self.failure.take() {
            error.message = format!("{}; before that the server said: {said}", error.message);
        }
        self.end(error);
    }

    fn retry(&mut self) -> bool {
        let Some(handshake) = self.second.take() else {
            return false;
        };
        self.handshake = Some(handshake);
        self.activity = Activity::Connecting;
        self.server.tls = None;
        self.outcome.kind = OutcomeKind::None;
        self.outcome.error = None;
        true
    }

    fn transaction(&mut self, step: TransactionStep, output: &mut Vec<u8>) -> Submitted {
        let sql: &[u8] = match step {
            TransactionStep::Begin { read_only: false } => b"BEGIN",
            TransactionStep::Begin { read_only: true } => b"BEGIN READ ONLY",
            TransactionStep::Commit => b"COMMIT",
            TransactionStep::Rollback => b"ROLLBACK",
        };
        self.query(sql, output)
    }

    #[inline]
    fn query(&mut self, sql: &[u8], output: &mut Vec<u8>) -> Submitted {
        if self.activity == Activity::Piping {
            let result = self.pipe_text(sql);
            return self.piped_or_failed(result);
        }
        let result = self.start_query(sql, output);
        self.submitted(result)
    }

    fn prepare(&mut self, sql: &[u8], kinds: &[ParamKind], output: &mut Vec<u8>) -> Submitted {
        let result = self.start_prepare(sql, kinds, output);
        self.submitted(result)
    }

    #[inline]
    fn execute(
        &mut self,
        statement: StatementId,
        params: &[&Param],
        output: &mut Vec<u8>,
    ) -> Submitted {
        if self.activity == Activity::Piping {
            let result = self.pipe_execute(statement, params);
            return self.piped_or_failed(result);
        }
        let result = self.start_execute(statement, params, output);
        self.submitted(result)
    }

    fn close_statement(&mut self, statement: StatementId, output: &mut Vec<u8>) -> Submitted {
        let result = self.start_close(statement, output);
        self.submitted(result)
    }

    fn bulk_load(&mut self, load: BulkLoad, output: &mut Vec<u8>) -> Submitted {
        let result = self.start_load(load, output);
        self.submitted(result)
    }

    fn next_result(&mut self, _output: &mut Vec<u8>) -> Submitted {
        if let Err(error) = self.step_to_next_result() {
            self.set_failed(Box::new(error));
        }
        Submitted::Ready
    }

    fn start_pipeline(&mut self) -> Result<(), DbError> {
        self.begin_pipeline()
    }

    fn end_pipeline(&mut self, output: &mut Vec<u8>) -> Submitted {
        let result = self.send_pipeline(output);
        self.submitted(result)
    }

    fn drop_pipeline(&mut self) {
        self.forget_pipeline();
    }

    fn piped(&self, index: usize) -> Option<PipedResult> {
        self.piped_result(index)
    }

    fn keep_names(&mut self) {
        self.names.get_or_insert_default();
    }

    fn names(&self) -> &[Vec<String>] {
        self.names.as_deref().unwrap_or_default()
    }

    fn terminate(&mut self, output: &mut Vec<u8>) {
        wire::message(output, b'X', |_| {});
    }

    #[inline]
    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    #[inline]
    fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    fn next_row(&mut self, row: &mut Row) -> bool {
        self.results.next_row(row)
    }

    fn free_result(&mut self) {
        self.results.free_current();
    }

    fn server(&self) -> &ServerInfo {
        &self.server
    }

    #[inline]
    fn transaction_failed(&self) -> bool {
        self.status == b'E'
    }

    fn in_transaction(&self) -> bool {
        self.status != b'I'
    }
}
