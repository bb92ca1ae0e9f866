//! Statements: how they are asked for, and what comes back.

use std::mem;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{DbError, ErrorClass, OutcomeKind, Param, ParamKind, StatementId, Submitted};

use super::load::Load;
use super::statements::{self, Statement};
use super::wire::{self, MESSAGE_LEN_MAX, Malformed, Message, Reader};
use super::{Postgres, errors, placeholders};

/// Sync, which ends every extended request.
const SYNC: &[u8] = b"S\0\0\0\x04";

/// What a message led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing yet.
    More,
    /// The operation has ended.
    Finished,
    /// The server agreed to TLS.
    StartTls,
}

/// What the connection is doing.
pub(super) enum Activity {
    Idle,
    /// A text of statements.
    Query,
    /// A prepared statement.
    Execute,
    Prepare(Box<Preparing>),
    Close {
        statement: StatementId,
        closed: bool,
    },
    Load(Box<Load>),
    /// The connection is gone.
    Ended,
}

/// What the server has said so far of a statement that is being prepared.
pub(super) struct Preparing {
    name: u32,
    kinds: Box<[ParamKind]>,
    params: Option<u16>,
    /// `Some(None)` for a statement without a result set.
    columns: Option<Option<u32>>,
}

impl Activity {
    /// For messages: "the server did so `while running a query`".
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Self::Idle => "between operations",
            Self::Query => "during a query",
            Self::Execute => "during the execution of a prepared statement",
            Self::Prepare(_) => "while preparing a statement",
            Self::Close { .. } => "while closing a statement",
            Self::Load(_) => "during a bulk load",
            Self::Ended => "after the connection had ended",
        }
    }

    #[inline]
    fn has_results(&self) -> bool {
        matches!(self, Self::Query | Self::Execute)
    }
}

impl Postgres {
    /// Turns the result of a start into what the caller waits for.
    #[inline]
    pub(super) fn submitted(&mut self, result: Result<(), DbError>) -> Submitted {
        match result {
            Ok(()) => Submitted::Pending,
            Err(error) => {
                self.set_failed(Box::new(error));
                Submitted::Ready
            }
        }
    }

    #[inline]
    fn begin(&mut self) -> Result<(), DbError> {
        if self.handshake.is_some() || !matches!(self.activity, Activity::Idle) {
            return Err(self.busy());
        }
        self.results.reset();
        self.failure = None;
        self.outcome.error = None;
        self.outcome.more = false;
        Ok(())
    }

    #[cold]
    fn busy(&self) -> DbError {
        let (class, why) = match (&self.activity, &self.handshake) {
            (Activity::Ended, _) => (ErrorClass::Lost, "the connection has ended"),
            (_, Some(_)) => (ErrorClass::Misuse, "the connection is not ready yet"),
            _ => (
                ErrorClass::Misuse,
                "another operation is under way on this connection",
            ),
        };
        DbError::new(class, why)
    }

    #[inline]
    pub(super) fn start_query(&mut self, sql: &[u8], output: &mut Vec<u8>) -> Result<(), DbError> {
        self.begin()?;
        check_text(sql)?;
        output.reserve(sql.len() + 6);
        output.push(b'Q');
        output.extend_from_slice(&(sql.len() as u32 + 5).to_be_bytes());
        wire::put_text(output, sql);
        self.activity = Activity::Query;
        Ok(())
    }

    pub(super) fn start_prepare(
        &mut self,
        sql: &[u8],
        kinds: &[ParamKind],
        output: &mut Vec<u8>,
    ) -> Result<(), DbError> {
        self.begin()?;
        check_text(sql)?;
        let statement = placeholders::number(sql)?;
        if kinds.len() > statement.params {
            let message = format!(
                "{} parameters are bound to a statement with {} placeholders",
                kinds.len(),
                statement.params
            );
            return Err(DbError::new(ErrorClass::Misuse, message));
        }
        let name = self.statements.new_name();
        wire::message(output, b'P', |body| {
            statements::put_name(body, name);
            wire::put_text(body, &statement.sql);
            body.extend_from_slice(&(kinds.len() as u16).to_be_bytes());
            for kind in kinds {
                body.extend_from_slice(&statements::type_oid(*kind).to_be_bytes());
            }
        });
        put_about_statement(output, b'D', name);
        self.activity = Activity::Prepare(Box::new(Preparing {
            name,
            kinds: kinds.into(),
            params: None,
            columns: None,
        }));
        Ok(())
    }

    #[inline]
    pub(super) fn start_execute(
        &mut self,
        statement: StatementId,
        params: &[&Param],
        output: &mut Vec<u8>,
    ) -> Result<(), DbError> {
        self.begin()?;
        let statement = self.statements.find(statement)?;
        statement.put_execute(params, output)?;
        // The description came when it was prepared; it does not come again.
        self.results.open(statement.columns);
        self.activity = Activity::Execute;
        Ok(())
    }

    pub(super) fn start_close(
        &mut self,
        statement: StatementId,
        output: &mut Vec<u8>,
    ) -> Result<(), DbError> {
        self.begin()?;
        put_about_statement(output, b'C', self.statements.find(statement)?.name);
        let closed = false;
        self.activity = Activity::Close { statement, closed };
        Ok(())
    }

    pub(super) fn start_load(
        &mut self,
        load: BulkLoad,
        output: &mut Vec<u8>,
    ) -> Result<(), DbError> {
        let (load, sql) = Load::new(load);
        self.start_query(sql.as_bytes(), output)?;
        self.activity = Activity::Load(Box::new(load));
        Ok(())
    }

    pub(super) fn step_to_next_result(&mut self) -> Result<(), DbError> {
        if !matches!(self.activity, Activity::Idle) {
            return Err(self.busy());
        }
        if self.results.following() > 0 {
            self.results.step();
            self.show_result();
            return Ok(());
        }
        match self.failure.take() {
            Some(failure) => {
                self.results.reset();
                Err(*failure)
            }
            None => {
                let message = "there is no further result of this query";
                Err(DbError::new(ErrorClass::Misuse, message))
            }
        }
    }

    /// Takes in the messages of an answer.
    #[inline]
    pub(super) fn receive_answer(
        &mut self,
        input: &[u8],
        consumed: &mut usize,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        let mut rest = input;
        while let Some(message) = wire::next_message(rest, MESSAGE_LEN_MAX)? {
            *consumed += message.wire_len();
            rest = &rest[message.wire_len()..];
            match message.tag {
                b'D' if self.activity.has_results() => {
                    if self.failure.is_none() {
                        self.results.push_row(message.body)?;
                    }
                }
                b'2' if matches!(self.activity, Activity::Execute) => {}
                b'C' => self.command_complete(message.body)?,
                b'Z' => {
                    self.ready(message.body)?;
                    return Ok(Step::Finished);
                }
                _ => {
                    if self.rare_message(message, output)? == Step::Finished {
                        return Ok(Step::Finished);
                    }
                }
            }
        }
        Ok(Step::More)
    }

    #[inline]
    fn command_complete(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let Some((0, tag)) = body.split_last() else {
            return Err(Malformed("a completion has no end"));
        };
        match &mut self.activity {
            _ if self.failure.is_some() => {}
            Activity::Query | Activity::Execute => {
                let affected = affected(tag, self.results.has_columns());
                self.results.close(affected);
            }
            Activity::Load(load) => load.complete(affected(tag, false)),
            _ => return Err(UNEXPECTED),
        }
        Ok(())
    }

    /// ReadyForQuery: the operation is over.
    #[inline]
    fn ready(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let [status @ (b'I' | b'T' | b'E')] = body else {
            return Err(Malformed("an unknown transaction status"));
        };
        let ended = match &self.activity {
            // The transaction of a single statement commits behind its completion, at Sync: its
            // error then overrides the result. A text of statements commits before it completes.
            Activity::Execute if self.failure.is_none() => self.show_result(),
            Activity::Query => self.show_result() || self.show_failure(),
            _ if self.failure.is_some() => self.show_failure(),
            Activity::Prepare(_) => self.show_prepared(),
            Activity::Close { closed, statement } => {
                let (closed, statement) = (*closed, *statement);
                self.statements.remove(statement);
                self.show_done(closed.then_some(0))
            }
            Activity::Load(load) => self.show_done(load.loaded()),
            Activity::Execute | Activity::Idle | Activity::Ended => false,
        };
        if !ended {
            return Err(Malformed("it was ready without having answered"));
        }
        self.activity = Activity::Idle;
        self.status = *status;
        Ok(())
    }

    #[inline]
    fn show_result(&mut self) -> bool {
        self.outcome.more = self.results.following() > 0 || self.failure.is_some();
        self.results.describe(&mut self.outcome)
    }

    fn show_failure(&mut self) -> bool {
        let failure = self.failure.take();
        let failed = failure.is_some();
        if let Some(failure) = failure {
            self.results.reset();
            self.set_failed(failure);
        }
        failed
    }

    fn show_done(&mut self, affected: Option<u64>) -> bool {
        self.outcome.kind = OutcomeKind::Done;
        self.outcome.rows = 0;
        self.outcome.columns = 0;
        self.outcome.affected = affected.unwrap_or(0);
        affected.is_some()
    }

    fn show_prepared(&mut self) -> bool {
        let Activity::Prepare(preparing) = &mut self.activity else {
            return false;
        };
        let (Some(params), Some(columns)) = (preparing.params, preparing.columns) else {
            return false;
        };
        let kinds = mem::take(&mut preparing.kinds);
        let statement = Statement::new(preparing.name, kinds, params, columns);
        self.outcome.kind = OutcomeKind::Prepared;
        self.outcome.rows = 0;
        self.outcome.columns = columns.unwrap_or(0);
        self.outcome.affected = 0;
        self.outcome.statement = self.statements.insert(statement);
        true
    }

    /// Messages that a steady state does not bring.
    #[cold]
    fn rare_message(
        &mut self,
        message: Message<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        let body = message.body;
        match (message.tag, &mut self.activity) {
            // Notices, changed settings and notifications come at any time.
            (b'N' | b'S' | b'A', _) => {}
            (b'E', _) => return self.error(body),
            (b'T', Activity::Query) if self.failure.is_some() => {}
            (b'T', Activity::Query) if !self.results.has_columns() => {
                self.results.open(Some(column_count(body)?));
            }
            (b'T', Activity::Prepare(preparing)) => {
                preparing.columns = Some(Some(column_count(body)?));
            }
            (b'n', Activity::Prepare(preparing)) => preparing.columns = Some(None),
            (b't', Activity::Prepare(preparing)) => preparing.params = Some(param_count(body)?),
            (b'1', Activity::Prepare(_)) => {}
            (b'3', Activity::Close { closed, .. }) => *closed = true,
            (b'I', Activity::Query | Activity::Execute) if self.failure.is_some() => {}
            (b'I', Activity::Query | Activity::Execute) => self.results.close(0),
            (b'G', Activity::Load(load)) => load.begin(),
            (b'G' | b'H' | b'W', Activity::Query | Activity::Execute) => {
                self.refuse_copy(message.tag, output);
            }
            // What a COPY TO sends is passed over.
            (b'd' | b'c', Activity::Query | Activity::Execute) if self.failure.is_some() => {}
            _ => return Err(UNEXPECTED),
        }
        Ok(Step::More)
    }

    fn error(&mut self, body: &[u8]) -> Result<Step, Malformed> {
        let report = errors::parse(body)?;
        if report.fatal {
            self.end(report.error);
            return Ok(Step::Finished);
        }
        self.results.cut();
        self.failure.get_or_insert_with(|| Box::new(report.error));
        if let Activity::Load(load) = &mut self.activity {
            load.stop();
        }
        Ok(Step::More)
    }

    /// A statement of the script's own began a COPY. It is ended as the protocol wants it.
    fn refuse_copy(&mut self, tag: u8, output: &mut Vec<u8>) {
        let message = match tag {
            b'G' => "COPY FROM STDIN in a statement has no data to read; use a bulk load",
            b'H' => "COPY TO STDOUT in a statement is not supported; use SELECT",
            _ => "a statement began a replication stream, which is not supported",
        };
        self.results.cut();
        let failure = DbError::new(ErrorClass::Unsupported, message);
        self.failure.get_or_insert_with(|| Box::new(failure));
        match tag {
            b'G' => {
                wire::message(output, b'f', |body| wire::put_text(body, b"no data"));
                // The server dropped the Sync that it had when the COPY began.
                if matches!(self.activity, Activity::Execute) {
                    output.extend_from_slice(SYNC);
                }
            }
            b'W' => wire::message(output, b'c', |_| {}),
            _ => {}
        }
    }
}

const UNEXPECTED: Malformed = Malformed("a message came that has no place there");

/// Describe or Close of a prepared statement, and Sync.
fn put_about_statement(output: &mut Vec<u8>, tag: u8, name: u32) {
    wire::message(output, tag, |body| {
        body.push(b'S');
        statements::put_name(body, name);
    });
    output.extend_from_slice(SYNC);
}

/// The protocol ends texts with NUL, so none may be inside.
#[inline]
fn check_text(sql: &[u8]) -> Result<(), DbError> {
    if sql.len() >= MESSAGE_LEN_MAX {
        return Err(statements::too_long(sql.len()));
    }
    if sql.contains(&0) {
        let message = "a statement holds a NUL byte, which PostgreSQL cannot take";
        return Err(DbError::new(ErrorClass::Misuse, message));
    }
    Ok(())
}

/// Columns by a RowDescription. Each has a name's NUL and 18 bytes at least.
fn column_count(body: &[u8]) -> Result<u32, Malformed> {
    let mut reader = Reader(body);
    let count = reader.u16()?;
    reader.bytes(usize::from(count) * 19)?;
    Ok(u32::from(count))
}

/// Parameters by a ParameterDescription.
fn param_count(body: &[u8]) -> Result<u16, Malformed> {
    let mut reader = Reader(body);
    let count = reader.u16()?;
    reader.bytes(usize::from(count) * 4)?;
    reader.end()?;
    Ok(count)
}

/// Rows changed by a command's tag, e.g. `INSERT 0 5`. A SELECT that gives no rows has stored them
/// (CREATE TABLE AS).
#[inline]
fn affected(tag: &[u8], has_columns: bool) -> u64 {
    let counts = match tag.first() {
        Some(b'S') => !has_columns && tag.starts_with(b"SELECT "),
        Some(b'I' | b'U' | b'D' | b'C') => true,
        Some(b'M') => tag.starts_with(b"MERGE "),
        _ => false,
    };
    if !counts {
        return 0;
    }
    let digits = tag
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    tag[tag.len() - digits..].iter().fold(0_u64, |sum, digit| {
        sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affected_rows_are_read_from_the_tag() {
        assert_eq!(affected(b"INSERT 0 5", false), 5);
        assert_eq!(affected(b"INSERT 0 2", true), 2);
        assert_eq!(affected(b"UPDATE 0", false), 0);
        assert_eq!(affected(b"DELETE 12", false), 12);
        assert_eq!(affected(b"MERGE 3", false), 3);
        assert_eq!(affected(b"COPY 1000000", false), 1_000_000);
        assert_eq!(affected(b"SELECT 7", true), 0);
        assert_eq!(affected(b"SELECT 7", false), 7);
        for tag in [&b"BEGIN"[..], b"CREATE TABLE", b"MOVE 3", b"FETCH 3", b""] {
            assert_eq!(affected(tag, false), 0);
        }
    }
}
