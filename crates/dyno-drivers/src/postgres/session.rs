//! Statements: requests and their answers.

use std::mem;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{DbError, ErrorKind, OutcomeKind, Param, ParamKind, StatementId, Submitted};

use super::answers::{affected, check_text, column_count, column_names, param_count};
use super::load::Load;
use super::statements::{self, Statement};
use super::wire::{self, MESSAGE_LEN_MAX, Malformed, Message};
use super::{Postgres, errors, placeholders};

/// Sync, which ends every extended request.
pub(super) const SYNC: &[u8] = b"S\0\0\0\x04";

/// The effect of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing yet.
    More,
    /// The operation has ended.
    Finished,
    /// The server agreed to TLS.
    StartTls,
}

/// The connection's activity. A plain enum, because every operation checks it several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Connecting,
    Idle,
    /// A text of one or more statements.
    Query,
    /// A prepared statement.
    Execute,
    /// Statements are queued in a pipeline.
    Piping,
    /// A pipeline was sent.
    Pipeline,
    /// The one in [`Task`].
    Task,
    /// The connection is gone.
    Ended,
}

/// The state of rarer operations.
#[derive(Default)]
pub(super) enum Task {
    #[default]
    None,
    Prepare(Box<Preparing>),
    Close {
        statement: StatementId,
        closed: bool,
    },
    Load(Box<Load>),
}

/// The server's answers so far while a statement is being prepared.
pub(super) struct Preparing {
    name: u32,
    kinds: Box<[ParamKind]>,
    params: Option<u16>,
    /// `Some(None)` for a statement without a result set.
    columns: Option<Option<u32>>,
}

impl Activity {
    #[inline]
    fn has_results(self) -> bool {
        matches!(self, Self::Query | Self::Execute | Self::Pipeline)
    }
}

impl Postgres {
    /// Turns the result of starting an operation into the one for the caller.
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

    #[inline(always)]
    pub(super) fn begin(&mut self) -> Result<(), DbError> {
        if self.activity != Activity::Idle {
            return Err(self.busy());
        }
        self.results.reset();
        if self.failure.is_some() {
            self.failure = None;
        }
        self.outcome.error = None;
        self.outcome.more = false;
        Ok(())
    }

    #[cold]
    pub(super) fn busy(&self) -> DbError {
        if self.activity == Activity::Piping {
            return self.piping();
        }
        let (class, why) = match self.activity {
            Activity::Ended => (ErrorKind::Lost, "the connection has ended"),
            Activity::Connecting => (ErrorKind::Misuse, "the connection is not ready yet"),
            _ => (
                ErrorKind::Misuse,
                "another operation is in progress on this connection",
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
        if let Some(names) = &mut self.names {
            names.clear();
        }
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
            return Err(DbError::new(ErrorKind::Misuse, message));
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
        self.begin_task(Task::Prepare(Box::new(Preparing {
            name,
            kinds: kinds.into(),
            params: None,
            columns: None,
        })));
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
        // The description came with the prepare; it is not repeated.
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
        self.begin_task(Task::Close { statement, closed });
        Ok(())
    }

    fn begin_task(&mut self, task: Task) {
        self.activity = Activity::Task;
        self.task = task;
    }

    pub(super) fn start_load(
        &mut self,
        load: BulkLoad,
        output: &mut Vec<u8>,
    ) -> Result<(), DbError> {
        let (load, sql) = Load::new(load);
        self.start_query(sql.as_bytes(), output)?;
        self.begin_task(Task::Load(Box::new(load)));
        Ok(())
    }

    pub(super) fn step_to_next_result(&mut self) -> Result<(), DbError> {
        if self.activity != Activity::Idle {
            return Err(self.busy());
        }
        if self.results.following() > 0 {
            self.results.step();
            self.show_result();
            return Ok(());
        }
        let message = "there is no further result of this query";
        Err(DbError::new(ErrorKind::Misuse, message))
    }

    /// Reads the messages of an answer.
    #[inline]
    pub(super) fn receive_answer(
        &mut self,
        input: &[u8],
        consumed: &mut usize,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        while let Some(message) = wire::next_message(&input[*consumed..], MESSAGE_LEN_MAX)? {
            let start = *consumed;
            *consumed += message.wire_len();
            match message.tag {
                b'D' if self.activity.has_results() => {
                    if self.failure.is_none() {
                        *consumed = start + self.results.take_rows(&input[start..])?;
                    }
                }
                b'2' if self.activity == Activity::Execute => {}
                b'2' if self.activity == Activity::Pipeline => self.piped_answer()?,
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
            return Err(Malformed("a completion message is not terminated"));
        };
        self.note_tag(tag);
        if self.failure.is_some() {
            return Ok(());
        }
        if self.activity.has_results() {
            let affected = affected(tag, self.results.has_columns());
            if self.activity == Activity::Pipeline {
                self.piped_end();
            }
            return self.results.close(affected);
        }
        match &mut self.task {
            Task::Load(load) => load.complete(affected(tag, false)),
            _ => return Err(UNEXPECTED),
        }
        Ok(())
    }

    /// ReadyForQuery: the operation has ended.
    #[inline]
    fn ready(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let [status @ (b'I' | b'T' | b'E')] = body else {
            return Err(Malformed("an unknown transaction status"));
        };
        let ended = match self.activity {
            // An error overrides results before it: a prepared statement commits after its
            // completion, at Sync, and the statements of a text are one transaction, unless they
            // begin or end some themselves.
            Activity::Query | Activity::Execute if self.failure.is_none() => self.show_result(),
            Activity::Pipeline if self.failure.is_none() => {
                // An empty pipeline is answered by ReadyForQuery alone.
                self.pipeline_is_answered() && (self.show_result() || self.show_done(Some(0)))
            }
            _ => self.show_failure() || self.show_task(),
        };
        if !ended {
            return Err(Malformed("it reported ready without an answer"));
        }
        self.become_idle(*status);
        Ok(())
    }

    #[inline]
    fn show_result(&mut self) -> bool {
        self.outcome.more = self.results.following() > 0;
        self.results.describe(&mut self.outcome)
    }

    fn show_failure(&mut self) -> bool {
        let Some(failure) = self.failure.take() else {
            return false;
        };
        // The statements that a pipeline completed before count.
        if self.activity != Activity::Pipeline {
            self.results.reset();
        }
        self.task = Task::None;
        self.set_failed(failure);
        true
    }

    fn show_task(&mut self) -> bool {
        match mem::take(&mut self.task) {
            Task::Prepare(preparing) => self.show_prepared(*preparing),
            Task::Close { statement, closed } => {
                self.statements.remove(statement);
                self.show_done(closed.then_some(0))
            }
            Task::Load(load) => self.show_done(load.loaded()),
            Task::None => false,
        }
    }

    fn show_done(&mut self, affected: Option<u64>) -> bool {
        self.outcome.kind = OutcomeKind::Done;
        self.outcome.rows = 0;
        self.outcome.columns = 0;
        self.outcome.affected = affected.unwrap_or(0);
        affected.is_some()
    }

    fn show_prepared(&mut self, preparing: Preparing) -> bool {
        let (Some(params), Some(columns)) = (preparing.params, preparing.columns) else {
            return false;
        };
        self.note_work();
        let statement = Statement::new(preparing.name, preparing.kinds, params, columns);
        self.outcome.kind = OutcomeKind::Prepared;
        self.outcome.rows = 0;
        self.outcome.columns = columns.unwrap_or(0);
        self.outcome.affected = 0;
        self.outcome.statement = self.statements.insert(statement);
        true
    }

    /// Messages outside of the steady state.
    #[cold]
    fn rare_message(
        &mut self,
        message: Message<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        let body = message.body;
        let has_results = self.activity.has_results();
        let failed = self.failure.is_some();
        if self.activity == Activity::Pipeline
            && let Some(step) = self.piped_message(message)?
        {
            return Ok(step);
        }
        match (message.tag, &mut self.task) {
            // Notices, changed settings and notifications come at any time.
            (b'N' | b'S' | b'A', _) => {}
            (b'E', _) => return self.error(body),
            (b'T', _) if self.activity == Activity::Query && failed => {}
            (b'T', _) if self.activity == Activity::Query && !self.results.has_columns() => {
                self.results.open(Some(column_count(body)?));
                if let Some(names) = &mut self.names {
                    // The results before it had no columns.
                    names.resize(self.results.count(), Vec::new());
                    names.push(column_names(body)?);
                }
            }
            (b'T', Task::Prepare(preparing)) => {
                preparing.columns = Some(Some(column_count(body)?));
            }
            (b'n', Task::Prepare(preparing)) => preparing.columns = Some(None),
            (b't', Task::Prepare(preparing)) => preparing.params = Some(param_count(body)?),
            (b'1', Task::Prepare(_)) => {}
            (b'3', Task::Close { closed, .. }) => *closed = true,
            (b'I', _) if has_results && failed => {}
            (b'I', _) if has_results => {
                self.note_work();
                if self.activity == Activity::Pipeline {
                    self.piped_end();
                }
                self.results.close(0)?;
            }
            (b'G', Task::Load(load)) => load.begin(),
            (b'G' | b'H' | b'W', _) if has_results => self.refuse_copy(message.tag, output),
            // Rows of a COPY TO are skipped.
            (b'd' | b'c', _) if has_results && failed => {}
            _ => return Err(UNEXPECTED),
        }
        Ok(Step::More)
    }

    /// Notices, changed settings and notifications come at any time; an error then ends the
    /// connection.
    #[cold]
    pub(super) fn judge_unasked(&self, input: &[u8]) -> Result<usize, DbError> {
        let mut consumed = 0;
        while let Some(tag) = input.get(consumed) {
            if !b"NSAE".contains(tag) {
                return Err(self.broken(UNEXPECTED));
            }
            let message = wire::next_message(&input[consumed..], MESSAGE_LEN_MAX);
            let Some(message) = message.map_err(|malformed| self.broken(malformed))? else {
                break;
            };
            if message.tag == b'E' {
                let report = errors::parse(message.body);
                let error = report.map_err(|malformed| self.broken(malformed))?.error;
                return Err(error.at_the_end());
            }
            consumed += message.wire_len();
        }
        Ok(consumed)
    }

    fn error(&mut self, body: &[u8]) -> Result<Step, Malformed> {
        self.note_work();
        let mut report = errors::parse(body)?;
        errors::name_first(&mut report.error, self.aborted_by.as_deref());
        if report.fatal {
            self.end(report.error);
            return Ok(Step::Finished);
        }
        self.results.cut();
        self.failure.get_or_insert_with(|| Box::new(report.error));
        if let Task::Load(load) = &mut self.task {
            load.stop();
        }
        Ok(Step::More)
    }

    /// A script's own statement began a COPY. Ends it according to the protocol.
    fn refuse_copy(&mut self, tag: u8, output: &mut Vec<u8>) {
        let message = match tag {
            b'G' => "COPY FROM STDIN in a statement has no data to read; use a bulk load",
            b'H' => "COPY TO STDOUT in a statement is not supported; use SELECT",
            _ => "a statement began a replication stream, which is not supported",
        };
        self.results.cut();
        let failure = DbError::new(ErrorKind::Unsupported, message);
        self.failure.get_or_insert_with(|| Box::new(failure));
        match tag {
            b'G' => {
                wire::message(output, b'f', |body| wire::put_text(body, b"no data"));
                // The server discarded the Sync it had received when the COPY began.
                if self.activity == Activity::Execute {
                    output.extend_from_slice(SYNC);
                }
            }
            b'W' => wire::message(output, b'c', |_| {}),
            _ => {}
        }
    }
}

pub(super) const UNEXPECTED: Malformed = Malformed("an unexpected message");

/// Appends Describe or Close of a prepared statement, and Sync.
fn put_about_statement(output: &mut Vec<u8>, tag: u8, name: u32) {
    wire::message(output, tag, |body| {
        body.push(b'S');
        statements::put_name(body, name);
    });
    output.extend_from_slice(SYNC);
}
