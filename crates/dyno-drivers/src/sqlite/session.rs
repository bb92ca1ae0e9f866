//! A session on a database.

use std::collections::VecDeque;
use std::os::fd::RawFd;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    Connection, DbError, ErrorKind, Outcome, OutcomeKind, Param, ParamKind, ParamValue, Row,
    Scratch, ServerInfo, StatementId, Submitted, TransactionStep,
};

use super::cache::Cache;
use super::raw::{Database, SCHEMA_TRIES, Statement, Stepped};
use super::rows::RowBuffer;
use super::split::skip_blank;
use super::{errors, load};

/// One session's connection.
pub(super) struct Session {
    /// By number; the number of a closed one is reused.
    statements: Vec<Option<Statement>>,
    cache: Cache,
    rows: RowBuffer,
    /// Results of the later statements of a text with several.
    following: VecDeque<(Outcome, RowBuffer)>,
    outcome: Outcome,
    /// The column names of the first result of the last text statement, if requested.
    names: Option<Vec<Vec<String>>>,
    server: ServerInfo,
    answer_max: u64,
    /// The last field, so that statements are finalised before it is closed.
    database: Option<Database>,
}

impl Session {
    /// Creates a session with this limit on the size of an answer, in bytes.
    pub(super) fn new(database: Database, answer_max: u64) -> Self {
        Self {
            statements: Vec::new(),
            cache: Cache::default(),
            rows: RowBuffer::default(),
            following: VecDeque::new(),
            outcome: Outcome::default(),
            names: None,
            server: ServerInfo {
                product: "SQLite".to_owned(),
                version: rusqlite::version().to_owned(),
                tls: None,
            },
            answer_max,
            database: Some(database),
        }
    }

    /// Discards the last operation's outcome and results.
    #[inline]
    fn begin(&mut self) {
        self.rows.clear();
        self.following.clear();
        self.outcome = Outcome::default();
    }

    #[inline]
    fn end(&mut self, result: Result<(), DbError>) -> Submitted {
        if let Err(error) = result {
            self.fail(error);
        }
        Submitted::Ready
    }

    #[cold]
    fn fail(&mut self, error: DbError) {
        self.rows.clear();
        if error.ends_connection {
            self.close();
        }
        self.outcome = failed(error);
    }

    /// Runs every statement of the text. An error in a later one becomes that one's outcome.
    fn query_all(&mut self, sql: &[u8]) -> Result<(), DbError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        if let Some(statement) = self.cache.find(sql) {
            self.outcome = run(database, statement, &mut self.rows, self.answer_max)?;
            if let Some(names) = &mut self.names {
                *names = vec![statement.names()];
            }
            return Ok(());
        }
        if let Some(names) = &mut self.names {
            names.clear();
        }
        let mut rest = skip_blank(sql);
        let mut first = true;
        loop {
            let mut rows = RowBuffer::default();
            let target = if first { &mut self.rows } else { &mut rows };
            let result = database
                .prepare(rest, false)
                .and_then(|(statement, taken)| {
                    let after = skip_blank(&rest[taken..]);
                    let Some(mut statement) = statement else {
                        return Ok((done(0), after));
                    };
                    let outcome = run(database, &mut statement, target, self.answer_max)?;
                    if let Some(names) = &mut self.names {
                        names.push(statement.names());
                    }
                    if first && after.is_empty() {
                        self.cache.keep(sql, statement);
                    }
                    Ok((outcome, after))
                });
            let (mut outcome, after) = match result {
                Ok(result) => result,
                Err(error) if first => return Err(error),
                // As on other servers, nothing after an error is run.
                Err(error) => (failed(error), &[][..]),
            };
            outcome.more = !after.is_empty();
            if first {
                self.outcome = outcome;
            } else {
                self.following.push_back((outcome, rows));
            }
            if after.is_empty() {
                return Ok(());
            }
            first = false;
            rest = after;
        }
    }

    fn prepare_one(&mut self, sql: &[u8]) -> Result<(), DbError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let (statement, taken) = database.prepare(sql, true)?;
        let statement =
            statement.ok_or_else(|| DbError::misuse("there is no statement to prepare"))?;
        if !skip_blank(&sql[taken..]).is_empty() {
            return Err(DbError::misuse(
                "only one statement can be prepared at a time",
            ));
        }
        self.outcome.kind = OutcomeKind::Prepared;
        self.outcome.columns = statement.columns() as u32;
        let free = self.statements.iter().position(Option::is_none);
        let index = free.unwrap_or(self.statements.len());
        if free.is_none() {
            self.statements.push(None);
        }
        self.statements[index] = Some(statement);
        self.outcome.statement = index as StatementId;
        Ok(())
    }

    #[inline]
    fn execute_one(&mut self, id: StatementId, params: &[&Param]) -> Result<(), DbError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let statement = self.statements.get_mut(id as usize);
        let Some(statement) = statement.and_then(Option::as_mut) else {
            return Err(no_statement(id));
        };
        if params.len() != statement.parameters() {
            return Err(DbError::misuse(format!(
                "the statement has {} parameters, but {} are bound",
                statement.parameters(),
                params.len()
            )));
        }
        let mut borrows = false;
        for (index, param) in params.iter().enumerate() {
            let value = param.value();
            borrows |= matches!(value, ParamValue::Bytes(_));
            // SAFETY: the parameters outlive this call; bytes are unbound at its end.
            if !unsafe { statement.bind(index, value) } {
                statement.unbind();
                return Err(errors::last(database));
            }
        }
        let result = run(database, statement, &mut self.rows, self.answer_max);
        if borrows {
            statement.unbind();
        }
        self.outcome = result?;
        Ok(())
    }
}

/// Runs a statement to its end and resets it.
#[inline]
fn run(
    database: &Database,
    statement: &mut Statement,
    rows: &mut RowBuffer,
    answer_max: u64,
) -> Result<Outcome, DbError> {
    let changes_before = database.total_changes();
    let mut count = 0;
    let mut tries = 0;
    loop {
        match statement.step() {
            Stepped::Row => {
                rows.push(statement, statement.columns());
                count += 1;
                if rows.len() > answer_max {
                    statement.reset();
                    return Err(errors::too_large(answer_max));
                }
            }
            Stepped::Done => break,
            Stepped::Failed => {
                tries += 1;
                // It was prepared again, and others have changed the schema once more.
                let again = count == 0 && tries < SCHEMA_TRIES && database.schema_changed();
                let error = errors::last(database);
                statement.reset();
                if !again {
                    return Err(error);
                }
            }
        }
    }
    // SQLite keeps the last count when a statement changes nothing, e.g. BEGIN.
    let changed = database.total_changes() != changes_before;
    let mut outcome = done(if changed { database.changes() } else { 0 });
    outcome.columns = statement.columns() as u32;
    if outcome.columns > 0 {
        outcome.kind = OutcomeKind::Rows;
        outcome.rows = count;
    }
    statement.reset();
    Ok(outcome)
}

#[inline]
fn done(affected: u64) -> Outcome {
    Outcome {
        kind: OutcomeKind::Done,
        affected,
        ..Outcome::default()
    }
}

fn failed(error: DbError) -> Outcome {
    Outcome {
        kind: OutcomeKind::Failed,
        error: Some(Box::new(error)),
        ..Outcome::default()
    }
}

fn closed() -> DbError {
    DbError::new(ErrorKind::Lost, "the connection is closed")
}

fn no_statement(id: StatementId) -> DbError {
    DbError::misuse(format!(
        "there is no prepared statement {id} on this connection"
    ))
}

impl Connection for Session {
    fn advance(&mut self, _scratch: &mut Scratch) -> Submitted {
        if self.outcome.kind == OutcomeKind::None {
            self.outcome.kind = OutcomeKind::Connected;
        }
        Submitted::Ready
    }

    fn transaction(&mut self, scratch: &mut Scratch, step: TransactionStep) -> Submitted {
        let sql: &[u8] = match step {
            // A transaction that reads before it writes can meet another writer when waiting no
            // longer helps.
            TransactionStep::Begin { read_only: false } => b"BEGIN IMMEDIATE",
            TransactionStep::Begin { read_only: true } => b"BEGIN",
            TransactionStep::Commit => b"COMMIT",
            // SQLite reports an error if no transaction is open.
            TransactionStep::Rollback
                if !self.database.as_ref().is_some_and(Database::in_transaction) =>
            {
                self.begin();
                self.outcome = done(0);
                return Submitted::Ready;
            }
            TransactionStep::Rollback => b"ROLLBACK",
        };
        self.query(scratch, sql)
    }

    #[inline]
    fn query(&mut self, _scratch: &mut Scratch, sql: &[u8]) -> Submitted {
        self.begin();
        let result = self.query_all(sql);
        self.end(result)
    }

    fn keep_names(&mut self) {
        self.names.get_or_insert_default();
    }

    fn names(&self) -> &[Vec<String>] {
        self.names.as_deref().unwrap_or_default()
    }

    fn prepare(&mut self, _scratch: &mut Scratch, sql: &[u8], _kinds: &[ParamKind]) -> Submitted {
        self.begin();
        let result = self.prepare_one(sql);
        self.end(result)
    }

    #[inline]
    fn execute(
        &mut self,
        _scratch: &mut Scratch,
        statement: StatementId,
        params: &[&Param],
    ) -> Submitted {
        self.begin();
        let result = self.execute_one(statement, params);
        self.end(result)
    }

    fn close_statement(&mut self, _scratch: &mut Scratch, statement: StatementId) -> Submitted {
        self.begin();
        let slot = self.statements.get_mut(statement as usize);
        let result = match slot.and_then(Option::take) {
            Some(_) => {
                self.outcome = done(0);
                Ok(())
            }
            None => Err(no_statement(statement)),
        };
        self.end(result)
    }

    fn bulk_load(&mut self, _scratch: &mut Scratch, load: BulkLoad) -> Submitted {
        self.begin();
        let result = match &self.database {
            Some(database) => load::load(database, load).map(done),
            None => Err(closed()),
        };
        let result = result.map(|outcome| self.outcome = outcome);
        self.end(result)
    }

    fn next_result(&mut self, _scratch: &mut Scratch) -> Submitted {
        match self.following.pop_front() {
            Some((outcome, rows)) => {
                self.outcome = outcome;
                self.rows = rows;
                Submitted::Ready
            }
            None => self.end(Err(DbError::misuse("there is no further result"))),
        }
    }

    #[inline]
    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn has_ended(&mut self, _scratch: &mut Scratch) -> bool {
        false
    }

    /// Operations end within their calls, so there is nothing to abort.
    fn abort(&mut self, why: &str) {
        self.outcome.kind = OutcomeKind::Failed;
        self.outcome.error = Some(Box::new(errors::lost(0, why.to_owned())));
        self.close();
    }

    fn next_row(&mut self, row: &mut Row) -> bool {
        self.rows.next(row)
    }

    fn free_result(&mut self) {
        self.rows.clear();
    }

    fn fd(&self) -> Option<RawFd> {
        None
    }

    fn wants_write(&self) -> bool {
        false
    }

    fn close(&mut self) {
        self.statements.clear();
        self.cache.clear();
        self.database = None;
    }

    fn server(&self) -> &ServerInfo {
        &self.server
    }

    fn in_transaction(&self) -> bool {
        self.database.as_ref().is_some_and(Database::in_transaction)
    }

    fn endpoint(&self) -> usize {
        0
    }
}
