//! A blocking connection for tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};
use dyno_core::db::{
    Connection, DbError, Outcome, OutcomeKind, Param, ParamKind, Row, Scratch, StatementId,
    Submitted,
};

/// The timeout of any single wait, in milliseconds.
const PATIENCE_MS: i32 = 60_000;

/// The value of a required environment variable.
pub(crate) fn needed(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("set {name}: this test needs a server"))
}

/// A connection that waits for its answers.
pub(crate) struct Blocking {
    pub connection: Box<dyn Connection>,
    scratch: Scratch,
}

/// A row as text, `None` for NULL.
pub(crate) type TextRow = Vec<Option<String>>;

impl Blocking {
    /// Waits until the connection is made.
    pub(crate) fn connect(connection: Box<dyn Connection>) -> Result<Self, DbError> {
        let mut this = Self {
            connection,
            scratch: Scratch::default(),
        };
        let submitted = this.connection.advance(&mut this.scratch);
        this.finish(submitted)?;
        assert_eq!(this.outcome().kind, OutcomeKind::Connected);
        Ok(this)
    }

    /// Keeps the column names of text results from now on.
    pub(crate) fn keep_names(&mut self) {
        self.connection.keep_names();
    }

    /// The column names of the last text, result by result.
    pub(crate) fn names(&self) -> &[Vec<String>] {
        self.connection.names()
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        self.connection.outcome()
    }

    pub(crate) fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<&Outcome, DbError> {
        let submitted = self.connection.query(&mut self.scratch, sql.as_ref());
        self.finish(submitted)
    }

    pub(crate) fn prepare(
        &mut self,
        sql: &str,
        kinds: &[ParamKind],
    ) -> Result<StatementId, DbError> {
        let sql = sql.as_bytes();
        let submitted = self.connection.prepare(&mut self.scratch, sql, kinds);
        let outcome = self.finish(submitted)?;
        assert_eq!(outcome.kind, OutcomeKind::Prepared);
        Ok(outcome.statement)
    }

    pub(crate) fn execute(
        &mut self,
        id: StatementId,
        params: &[&Param],
    ) -> Result<&Outcome, DbError> {
        let submitted = self.connection.execute(&mut self.scratch, id, params);
        self.finish(submitted)
    }

    pub(crate) fn close_statement(&mut self, id: StatementId) -> Result<&Outcome, DbError> {
        let submitted = self.connection.close_statement(&mut self.scratch, id);
        self.finish(submitted)
    }

    pub(crate) fn end_pipeline(&mut self) -> Result<&Outcome, DbError> {
        let submitted = self.connection.end_pipeline(&mut self.scratch);
        self.finish(submitted)
    }

    pub(crate) fn next_result(&mut self) -> Result<&Outcome, DbError> {
        let submitted = self.connection.next_result(&mut self.scratch);
        self.finish(submitted)
    }

    pub(crate) fn bulk_load(&mut self, load: BulkLoad) -> Result<&Outcome, DbError> {
        let submitted = self.connection.bulk_load(&mut self.scratch, load);
        self.finish(submitted)
    }

    /// The current result's rows that were not fetched yet.
    pub(crate) fn rows(&mut self) -> Vec<TextRow> {
        let mut rows = Vec::new();
        let mut row = Row::default();
        while self.connection.next_row(&mut row) {
            let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
            let fields = 0..row.ends.len();
            rows.push(fields.map(|index| row.field(index).map(text)).collect());
        }
        rows
    }

    /// A query's rows.
    pub(crate) fn select(&mut self, sql: &str) -> Vec<TextRow> {
        self.query(sql).unwrap();
        self.rows()
    }

    /// A query's first field.
    pub(crate) fn single(&mut self, sql: &str) -> String {
        self.select(sql)[0][0].clone().unwrap()
    }

    fn finish(&mut self, mut submitted: Submitted) -> Result<&Outcome, DbError> {
        while submitted == Submitted::Pending {
            self.wait();
            submitted = self.connection.advance(&mut self.scratch);
        }
        let outcome = self.connection.outcome();
        assert_eq!(outcome.kind == OutcomeKind::Failed, outcome.error.is_some());
        match &outcome.error {
            Some(error) => Err(DbError::clone(error)),
            None => Ok(outcome),
        }
    }

    fn wait(&self) {
        let write = if self.connection.wants_write() {
            libc::POLLOUT
        } else {
            0
        };
        let mut poll = libc::pollfd {
            fd: self.connection.fd().expect("a pending connection is open"),
            events: libc::POLLIN | write,
            revents: 0,
        };
        // SAFETY: `poll` is one valid pollfd.
        let ready = unsafe { libc::poll(&raw mut poll, 1, PATIENCE_MS) };
        assert_eq!(ready, 1, "the server does not answer");
    }
}

/// Rows of a number and a text for bulk loads, from `first` up to `end`.
pub(crate) struct Numbered {
    pub first: u64,
    pub end: u64,
    next: u64,
}

impl Numbered {
    pub(crate) fn new(first: u64, end: u64) -> Self {
        Self {
            first,
            end,
            next: first,
        }
    }

    /// The text of a row: every third one is NULL, the others contain characters that need escapes.
    pub(crate) fn text(number: u64) -> Option<String> {
        (!number.is_multiple_of(3)).then(|| format!("it's\ta \\ \"{number}\" é\n"))
    }

    fn push(out: &mut Vec<u8>, format: BulkFormat, number: u64) {
        let text = Self::text(number);
        match (format, text) {
            (BulkFormat::TabText, None) => out.extend(format!("{number}\t\\N\n").bytes()),
            (BulkFormat::TabText, Some(text)) => {
                let text = text.replace('\\', "\\\\");
                let text = text.replace('\t', "\\t").replace('\n', "\\n");
                out.extend(format!("{number}\t{text}\n").bytes());
            }
            (BulkFormat::SqlTuples, None) => out.extend(format!("({number},NULL)").bytes()),
            (BulkFormat::SqlTuples, Some(text)) => {
                let text = text.replace('\\', "\\\\").replace('\'', "''");
                out.extend(format!("({number},'{text}')").bytes());
            }
        }
    }
}

impl RowSource for Numbered {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64 {
        let (start, first) = (out.len(), self.next);
        while self.next < self.end && (self.next == first || out.len() - start < max_bytes) {
            if format == BulkFormat::SqlTuples && self.next > first {
                out.push(b',');
            }
            Self::push(out, format, self.next);
            self.next += 1;
        }
        self.next - first
    }

    fn rewind(&mut self) {
        self.next = self.first;
    }
}
