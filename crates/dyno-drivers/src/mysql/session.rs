//! The protocol's state machine: states and requests. Answers are handled in `answers`.

use std::sync::Arc;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    DbError, ErrorKind, Outcome, OutcomeKind, Param, ParamKind, Row, ServerInfo, StatementId,
    Submitted, TransactionStep,
};

use super::connect::{Handshake, MysqlOptions};
use super::errors::{self, client_error};
use super::load::Bulk;
use super::rows::ResultSet;
use super::statements::Statements;
use super::wire::{self, Malformed};
use crate::channel::{Next, Protocol, Received};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_CLOSE: u8 = 0x19;

/// A connection to MySQL or MariaDB, without I/O.
pub struct Mysql {
    pub(super) state: State,
    /// The expected number of the server's next packet.
    pub(super) sequence: u8,
    /// The server ends rows with an OK packet and sends nothing after column definitions.
    pub(super) deprecate_eof: bool,
    /// Another result of the last request follows.
    pub(super) more: bool,
    /// A transaction is open, according to the last OK packet.
    pub(super) in_transaction: bool,
    /// Whether LOAD DATA LOCAL is worth trying.
    pub(super) local_infile: bool,
    unix_socket: bool,
    /// The answer belongs to an execution.
    pub(super) binary: bool,
    /// Unread results of an earlier execution that precede the answer.
    pub(super) rest: Option<Rest>,
    /// The statement that those further results belong to is closed.
    abandoned: bool,
    /// The number of warnings of the last statement without a result set.
    pub(super) warnings: u16,
    /// Packets of the current row so far, if it continues in the next packet.
    pub(super) row_packets: u8,
    /// Definitions of columns and parameters that are still to come.
    pub(super) definitions: u32,
    /// The statement being executed.
    pub(super) executing: StatementId,
    pub(super) outcome: Outcome,
    pub(super) result: ResultSet,
    pub(super) statements: Statements,
    pub(super) server: ServerInfo,
    pub(super) handshake: Option<Box<Handshake>>,
    pub(super) bulk: Option<Box<Bulk>>,
    /// The local file that the server asked for and was refused.
    pub(super) refused_file: Option<Box<str>>,
    /// The column names of each result of the last text statement, if requested.
    pub(super) names: Option<Vec<Vec<String>>>,
}

/// The kind of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// None: the socket is not connected yet.
    Connecting,
    /// One of the handshake.
    Handshake,
    /// None: no request is under way.
    Idle,
    /// The first of an answer.
    Header,
    /// The first of an unread result.
    Rest,
    /// A column's definition.
    Columns,
    /// A row, or the end of them.
    Rows,
    /// The first of the response to a prepare.
    Prepared,
    /// A definition in that response.
    Definitions,
    /// None, unless something fails: the rows of a bulk load are being sent.
    Sending,
    /// None: the connection is gone.
    Closed,
}

/// Unread results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// The number of their next packet; while they are being read, of the answer's first packet.
    pub(super) sequence: u8,
    /// While they are being read: the answer's first state, and whether it belongs to an execution.
    pub(super) answer: Option<(State, bool)>,
}

impl Mysql {
    /// Creates the state of a connection that is not connected yet.
    pub fn new(options: &Arc<MysqlOptions>) -> Self {
        Self {
            state: State::Connecting,
            sequence: 0,
            deprecate_eof: false,
            more: false,
            in_transaction: false,
            local_infile: false,
            unix_socket: options.unix_socket,
            binary: false,
            rest: None,
            abandoned: false,
            warnings: 0,
            row_packets: 0,
            definitions: 0,
            executing: 0,
            outcome: Outcome::default(),
            result: ResultSet::default(),
            statements: Statements::default(),
            server: ServerInfo::default(),
            handshake: Some(Box::new(Handshake::new(Arc::clone(options)))),
            bulk: None,
            refused_file: None,
            names: None,
        }
    }

    /// Whether a request about a statement may be sent; if not, the outcome says why.
    #[inline]
    fn begin(&mut self, statement: Option<StatementId>) -> bool {
        self.result.clear();
        if self.state == State::Idle && !self.more || self.passes_over_rest(statement) {
            return true;
        }
        self.refuse();
        false
    }

    /// Whether unread results of an execution come first. Executing the statement again, or closing
    /// it, discards them, as in libmysqlclient. The server has sent them, or sends them before it
    /// sees the request.
    #[cold]
    fn passes_over_rest(&mut self, statement: Option<StatementId>) -> bool {
        if !self.has_rest_of(statement) {
            return false;
        }
        self.more = false;
        self.abandoned = false;
        self.rest = Some(Rest {
            sequence: self.sequence,
            answer: None,
        });
        true
    }

    fn has_rest_of(&self, statement: Option<StatementId>) -> bool {
        let theirs = self.abandoned || statement == Some(self.executing);
        self.state == State::Idle && self.more && self.binary && theirs
    }

    #[cold]
    fn refuse(&mut self) {
        let misuse = |message| client_error(ErrorKind::Misuse, errors::OUT_OF_SYNC, message);
        let error = match self.state {
            State::Idle => misuse(
                "commands out of sync: the previous request has further results, which must be \
                 read first",
            ),
            State::Closed => {
                let message = "the connection is closed";
                client_error(ErrorKind::Lost, errors::GONE_AWAY, message)
            }
            _ => misuse("commands out of sync: another request is in progress"),
        };
        self.set_failed(error);
        self.outcome.more = self.more;
    }

    pub(super) fn set_failed(&mut self, error: DbError) {
        self.outcome.kind = OutcomeKind::Failed;
        self.outcome.error = Some(Box::new(error));
    }

    /// Sends a text statement, or starts to: `write` appends it.
    #[inline]
    pub(super) fn command(&mut self, output: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = wire::begin(output);
        output.push(COM_QUERY);
        write(output);
        self.sequence = wire::finish(output, start, 0);
        self.binary = false;
        self.state = State::Header;
    }

    fn receive_packets(&mut self, input: &[u8], output: &mut Vec<u8>) -> Received {
        let mut consumed = 0;
        match self.read(input, &mut consumed, output) {
            Ok(next) => Received { consumed, next },
            Err(what) => {
                self.break_off(errors::malformed(what));
                Received {
                    consumed: input.len(),
                    next: Next::Finished,
                }
            }
        }
    }

    #[cold]
    pub(super) fn break_off(&mut self, error: DbError) {
        self.close();
        self.set_failed(error);
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.more = false;
        self.rest = None;
        self.abandoned = false;
        self.outcome.more = false;
        self.result = ResultSet::default();
        self.statements.clear();
        self.handshake = None;
        self.bulk = None;
        self.refused_file = None;
    }
}

impl Protocol for Mysql {
    fn connected(&mut self, _output: &mut Vec<u8>) {
        self.state = State::Handshake;
    }

    #[inline]
    fn receive(&mut self, input: &[u8], output: &mut Vec<u8>) -> Received {
        match self.whole_result(input) {
            Some(consumed) => Received {
                consumed,
                next: Next::Finished,
            },
            None => self.receive_packets(input, output),
        }
    }

    fn tls_established(
        &mut self,
        version: &str,
        _end_point: Option<Vec<u8>>,
        output: &mut Vec<u8>,
    ) {
        if let Some(handshake) = &mut self.handshake {
            self.sequence = handshake.tls_established(version, output);
        }
    }

    fn unasked(&mut self, input: &[u8]) -> Result<usize, DbError> {
        if input.is_empty() {
            return Ok(0);
        }
        // Unasked, a server only says why it ends the connection.
        Err(match wire::packet(input) {
            Some(packet) if errors::is_error(packet.payload) => {
                let error = errors::server_error(packet.payload).map_err(errors::malformed)?;
                error.at_the_end()
            }
            // The rest of it comes instead of the next answer.
            None if input.get(wire::HEADER) == Some(&wire::ERR) => return Ok(0),
            None if input.len() <= wire::HEADER => {
                let message = "the server began to send unrequested data";
                client_error(ErrorKind::Lost, errors::GONE_AWAY, message)
            }
            _ => errors::malformed(Malformed("a packet answers no request")),
        })
    }

    fn is_answering(&self) -> bool {
        self.state == State::Idle && (self.more || self.rest.is_some())
    }

    fn produce(&mut self, output: &mut Vec<u8>) {
        if self.state == State::Sending {
            self.bulk_send(output);
        }
    }

    fn fail(&mut self, mut error: DbError) {
        if error.code == 0 {
            error.sqlstate = "HY000".to_owned();
            error.code = match (error.kind, self.state) {
                (ErrorKind::TooLarge, _) => errors::TOO_LARGE,
                (ErrorKind::Protocol, _) => errors::TLS,
                (_, State::Connecting) if self.unix_socket => errors::CANNOT_CONNECT_SOCKET,
                (_, State::Connecting) => errors::CANNOT_CONNECT_HOST,
                (_, State::Idle | State::Closed) => errors::GONE_AWAY,
                _ => errors::LOST,
            };
        }
        self.break_off(error);
    }

    fn transaction(&mut self, step: TransactionStep, output: &mut Vec<u8>) -> Submitted {
        let sql: &[u8] = match step {
            TransactionStep::Begin { read_only: false } => b"BEGIN",
            TransactionStep::Begin { read_only: true } => b"START TRANSACTION READ ONLY",
            TransactionStep::Commit => b"COMMIT",
            TransactionStep::Rollback => b"ROLLBACK",
        };
        self.query(sql, output)
    }

    #[inline]
    fn query(&mut self, sql: &[u8], output: &mut Vec<u8>) -> Submitted {
        if !self.begin(None) {
            return Submitted::Ready;
        }
        self.command(output, |output| output.extend_from_slice(sql));
        if let Some(names) = &mut self.names {
            names.clear();
        }
        Submitted::Pending
    }

    fn keep_names(&mut self) {
        self.names.get_or_insert_default();
    }

    fn names(&self) -> &[Vec<String>] {
        self.names.as_deref().unwrap_or_default()
    }

    fn prepare(&mut self, sql: &[u8], _kinds: &[ParamKind], output: &mut Vec<u8>) -> Submitted {
        if !self.begin(None) {
            return Submitted::Ready;
        }
        let start = wire::begin(output);
        output.push(COM_STMT_PREPARE);
        output.extend_from_slice(sql);
        self.sequence = wire::finish(output, start, 0);
        self.binary = false;
        self.state = State::Prepared;
        Submitted::Pending
    }

    #[inline]
    fn execute(
        &mut self,
        statement: StatementId,
        params: &[&Param],
        output: &mut Vec<u8>,
    ) -> Submitted {
        if !self.begin(Some(statement)) {
            return Submitted::Ready;
        }
        match self.statements.encode_execute(statement, params, output) {
            Ok(sequence) => self.sequence = sequence,
            Err(error) => {
                self.set_failed(error);
                return Submitted::Ready;
            }
        }
        self.executing = statement;
        self.binary = true;
        self.state = State::Header;
        Submitted::Pending
    }

    fn close_statement(&mut self, statement: StatementId, output: &mut Vec<u8>) -> Submitted {
        // It has no answer, so it may be sent before the unread results.
        self.abandoned = self.has_rest_of(Some(statement));
        if !self.abandoned && !self.begin(None) {
            return Submitted::Ready;
        }
        let Some(server_id) = self.statements.remove(statement) else {
            self.set_failed(super::statements::no_statement(statement));
            return Submitted::Ready;
        };
        let start = wire::begin(output);
        output.push(COM_STMT_CLOSE);
        output.extend_from_slice(&server_id.to_le_bytes());
        wire::finish(output, start, 0);
        // The server does not answer.
        self.outcome.kind = OutcomeKind::Done;
        self.outcome.affected = 0;
        self.outcome.rows = 0;
        Submitted::Ready
    }

    fn bulk_load(&mut self, load: BulkLoad, output: &mut Vec<u8>) -> Submitted {
        if !self.begin(None) {
            return Submitted::Ready;
        }
        self.bulk_begin(load, output);
        Submitted::Pending
    }

    fn next_result(&mut self, _output: &mut Vec<u8>) -> Submitted {
        self.result.clear();
        if self.state != State::Idle {
            self.refuse();
            return Submitted::Ready;
        }
        if !self.more {
            let message = "there is no further result";
            let error = client_error(ErrorKind::Misuse, errors::OUT_OF_SYNC, message);
            self.set_failed(error);
            return Submitted::Ready;
        }
        self.more = false;
        self.state = State::Header;
        Submitted::Pending
    }

    fn terminate(&mut self, output: &mut Vec<u8>) {
        let start = wire::begin(output);
        output.push(COM_QUIT);
        wire::finish(output, start, 0);
        self.close();
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
        self.result.next_row(row)
    }

    fn free_result(&mut self) {
        self.result.clear();
    }

    fn server(&self) -> &ServerInfo {
        &self.server
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }
}
