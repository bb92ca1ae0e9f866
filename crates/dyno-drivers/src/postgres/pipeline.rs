//! Pipelines: queued statements that are sent together with one Sync and answered in order.
//!
//! The connection buffers the queued bytes, because other connections use the worker's shared
//! buffers in the meantime.

use dyno_core::db::{DbError, ErrorKind, OutcomeKind, Param, PipedResult, StatementId, Submitted};

use super::Postgres;
use super::answers::{check_text, column_count};
use super::session::{Activity, SYNC, Step};
use super::wire::{self, Malformed, Message};

/// Statements that wait to be sent, or to be answered.
#[derive(Default)]
pub(super) struct Pipeline {
    bytes: Vec<u8>,
    /// The number of result columns of each statement, as far as known before its answer: text
    /// statements report theirs in the answer.
    expected: Vec<Option<u32>>,
    /// The number of statements answered.
    answered: usize,
}

impl Postgres {
    pub(super) fn begin_pipeline(&mut self) -> Result<(), DbError> {
        if self.activity != Activity::Idle {
            return Err(self.busy());
        }
        let pipeline = self.pipeline.get_or_insert_default();
        pipeline.bytes.clear();
        pipeline.expected.clear();
        pipeline.answered = 0;
        self.activity = Activity::Piping;
        Ok(())
    }

    pub(super) fn forget_pipeline(&mut self) {
        if self.activity == Activity::Piping {
            self.activity = Activity::Idle;
        }
    }

    /// Queues an execution.
    #[inline]
    pub(super) fn pipe_execute(
        &mut self,
        statement: StatementId,
        params: &[&Param],
    ) -> Result<(), DbError> {
        let statement = self.statements.find(statement)?;
        let Some(pipeline) = &mut self.pipeline else {
            return Ok(());
        };
        statement.put_execute(params, &mut pipeline.bytes)?;
        pipeline.bytes.truncate(pipeline.bytes.len() - SYNC.len());
        pipeline.expected.push(statement.columns);
        Ok(())
    }

    /// Queues a text statement. It uses the unnamed statement and portal, since the simple protocol
    /// would end the pipeline.
    pub(super) fn pipe_text(&mut self, sql: &[u8]) -> Result<(), DbError> {
        check_text(sql)?;
        let Some(pipeline) = &mut self.pipeline else {
            return Ok(());
        };
        let bytes = &mut pipeline.bytes;
        wire::message(bytes, b'P', |body| {
            body.push(0);
            wire::put_text(body, sql);
            body.extend_from_slice(&[0; 2]);
        });
        wire::message(bytes, b'B', |body| body.extend_from_slice(&[0; 8]));
        wire::message(bytes, b'D', |body| body.extend_from_slice(b"P\0"));
        wire::message(bytes, b'E', |body| body.extend_from_slice(&[0; 5]));
        pipeline.expected.push(None);
        Ok(())
    }

    /// Sends the queued statements and a Sync.
    pub(super) fn send_pipeline(&mut self, output: &mut Vec<u8>) -> Result<(), DbError> {
        if self.activity != Activity::Piping {
            // Do not count the last one's results again.
            if let Some(pipeline) = &mut self.pipeline {
                pipeline.answered = 0;
            }
            let message = "no pipeline was started on this connection";
            return Err(DbError::misuse(message));
        }
        self.activity = Activity::Idle;
        self.begin()?;
        if let Some(pipeline) = &self.pipeline {
            output.reserve(pipeline.bytes.len() + SYNC.len());
            output.extend_from_slice(&pipeline.bytes);
        }
        output.extend_from_slice(SYNC);
        self.activity = Activity::Pipeline;
        Ok(())
    }

    /// BindComplete: the next statement's answer begins.
    #[inline]
    pub(super) fn piped_answer(&mut self) -> Result<(), Malformed> {
        let pipeline = self.pipeline.as_ref();
        let columns = pipeline.and_then(|own| own.expected.get(own.answered));
        let Some(columns) = columns else {
            return Err(Malformed("more answers than requests in a pipeline"));
        };
        self.results.open(*columns);
        Ok(())
    }

    /// A statement is complete.
    #[inline]
    pub(super) fn piped_end(&mut self) {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.answered += 1;
        }
    }

    /// The outcome of queueing a statement.
    #[inline]
    pub(super) fn piped_or_failed(&mut self, result: Result<(), DbError>) -> Submitted {
        match result {
            Ok(()) => {
                self.outcome.kind = OutcomeKind::Piped;
                self.outcome.more = false;
            }
            Err(error) => self.set_failed(Box::new(error)),
        }
        Submitted::Ready
    }

    /// Messages that only occur in a pipeline.
    pub(super) fn piped_message(
        &mut self,
        message: Message<'_>,
    ) -> Result<Option<Step>, Malformed> {
        let failed = self.failure.is_some();
        match message.tag {
            b'T' if !failed => self.results.open(Some(column_count(message.body)?)),
            b'n' if !failed => self.results.open(None),
            b'T' | b'n' | b'1' => {}
            b'G' | b'H' | b'W' => {
                self.refuse_piped_copy();
                return Ok(Some(Step::Finished));
            }
            _ => return Ok(None),
        }
        Ok(Some(Step::More))
    }

    /// Whether all statements were answered.
    pub(super) fn pipeline_is_answered(&self) -> bool {
        let pipeline = self.pipeline.as_ref();
        pipeline.is_some_and(|own| own.answered == own.expected.len())
    }

    pub(super) fn piped_result(&self, index: usize) -> Option<PipedResult> {
        let answered = self.pipeline.as_ref()?.answered;
        (index < answered).then(|| self.results.piped(index))?
    }

    /// A COPY cannot be ended in the middle of queued statements.
    pub(super) fn refuse_piped_copy(&mut self) {
        let message = "COPY is not allowed in a pipeline; the connection was closed because the \
                       server waits for data";
        self.end(DbError::new(ErrorKind::Unsupported, message));
    }

    /// The error for a prepare, close or copy within a pipeline.
    #[cold]
    pub(super) fn piping(&self) -> DbError {
        let message = "a pipeline can only execute statements; prepare and load before it";
        DbError::misuse(message)
    }
}
