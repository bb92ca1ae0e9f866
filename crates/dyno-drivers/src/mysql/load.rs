//! Bulk loads: LOAD DATA LOCAL INFILE if the server accepts it, or else multi-row INSERTs.
//!
//! Both are sequences of ordinary statements of limited size, so that the size of a transaction
//! does not depend on that of the table.

use dyno_core::bulk::{BulkFormat, BulkLoad};
use dyno_core::db::{DbError, ErrorKind, OutcomeKind, Row, error_text};

use super::answers::Step;
use super::errors;
use super::session::{Mysql, State};
use super::wire::{self, Malformed};

/// The name that is sent in place of a file's.
const FILE: &str = "dyno-rows";

/// Bytes per packet of a LOAD DATA.
const PACKET_BYTES: usize = 64 * 1024;

/// Bytes per LOAD DATA, which is a transaction.
const LOAD_BYTES: usize = 16 * 1024 * 1024;

/// Bytes per INSERT.
const INSERT_BYTES: usize = 512 * 1024;

/// A bulk load in progress.
pub(super) struct Bulk {
    load: BulkLoad,
    phase: Phase,
    /// Rows in the current statement.
    rows: u64,
    /// Bytes of rows in the current statement.
    bytes: usize,
    /// Rows that the server has confirmed.
    loaded: u64,
    /// The most bytes of rows in a packet.
    packet_max: usize,
    /// Whether the session's SQL mode makes values that do not fit an error.
    strict: bool,
    /// Whether the session commits each statement. Servers do not report this reliably in their
    /// answers.
    autocommit: bool,
    /// Whether to use INSERTs for this load, no matter what the server permits.
    inserts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The packet limit, the SQL mode and autocommit are being queried.
    Settings,
    /// LOAD DATA was sent, and the server must now ask for the rows.
    Announced,
    /// The rows are being sent.
    Sending,
    /// The rows of a LOAD DATA were sent. `last` if it was the last statement.
    Sent { last: bool },
    /// The warnings of a LOAD DATA are being queried.
    Warned { last: bool },
    /// An INSERT was sent.
    Insert,
    /// COMMIT was sent after a statement. `last` if that was the last one of the load.
    Commit { last: bool },
}

impl Bulk {
    /// Whether the file that the server asks for is the announced one.
    pub(super) fn announced(&mut self, name: &[u8]) -> bool {
        let expected = self.phase == Phase::Announced && name == FILE.as_bytes();
        if expected {
            self.phase = Phase::Sending;
        }
        expected
    }

    fn columns(&self) -> String {
        if self.load.columns.is_empty() {
            return String::new();
        }
        format!(" ({})", self.load.columns.join(", "))
    }
}

impl Mysql {
    /// Starts a bulk load. First queries the settings that it depends on.
    pub(super) fn bulk_begin(&mut self, load: BulkLoad, output: &mut Vec<u8>) {
        let inserts = load.rows.by_inserts();
        self.bulk = Some(Box::new(Bulk {
            load,
            phase: Phase::Settings,
            rows: 0,
            bytes: 0,
            loaded: 0,
            packet_max: 0,
            strict: true,
            autocommit: true,
            inserts,
        }));
        self.command(output, |output| {
            output.extend_from_slice(b"SELECT @@max_allowed_packet, @@sql_mode, @@autocommit");
        });
    }

    /// Handles the end of one of the load's statements: starts the next one, or ends the load.
    pub(super) fn bulk_next(&mut self, output: &mut Vec<u8>) -> Result<Step, Malformed> {
        let Some(mut bulk) = self.bulk.take() else {
            return Ok(Step::Finished);
        };
        if self.more {
            return Err(Malformed("a bulk load's statement has several results"));
        }
        let failed = self.outcome.kind == OutcomeKind::Failed;
        if failed && bulk.phase == Phase::Announced && self.failed_by(&errors::NO_LOCAL_INFILE) {
            self.local_infile = false;
            self.outcome.error = None;
            return Ok(self.insert(bulk, output));
        }
        if failed
            && bulk.loaded == 0
            && matches!(bulk.phase, Phase::Sent { .. })
            && self.failed_by(&[errors::INVALID_TEXT])
        {
            bulk.load.rows.rewind();
            bulk.inserts = true;
            self.outcome.error = None;
            return Ok(self.insert(bulk, output));
        }
        if failed {
            return Ok(Step::Finished);
        }
        match bulk.phase {
            Phase::Settings => {
                self.read_settings(&mut bulk)?;
                Ok(self.bulk_statement(bulk, output))
            }
            Phase::Sent { last } if self.warnings > 0 => {
                bulk.loaded += self.outcome.affected;
                bulk.rows -= self.outcome.affected.min(bulk.rows);
                bulk.phase = Phase::Warned { last };
                self.command(output, |output| output.extend_from_slice(b"SHOW WARNINGS"));
                self.bulk = Some(bulk);
                Ok(Step::Continue)
            }
            Phase::Warned { last } => self.judge(bulk, last, output),
            Phase::Announced => Err(Malformed("the server loaded rows that were not sent")),
            Phase::Sending => Err(Malformed("a load ended before all its rows")),
            Phase::Sent { .. } | Phase::Insert => Ok(self.confirm(bulk, output)),
            Phase::Commit { last } => Ok(self.go_on(bulk, last, output)),
        }
    }

    fn failed_by(&self, codes: &[i32]) -> bool {
        let error = self.outcome.error.as_ref();
        error.is_some_and(|error| codes.contains(&error.code))
    }

    fn read_settings(&mut self, bulk: &mut Bulk) -> Result<(), Malformed> {
        let mut row = Row::default();
        self.result.next_row(&mut row);
        self.result.clear();
        let text = |field| {
            row.field(field)
                .and_then(|text| std::str::from_utf8(text).ok())
        };
        let limit = text(0).and_then(|text| text.parse::<usize>().ok());
        let limit = limit.ok_or(Malformed("max_allowed_packet is not a number"))?;
        // Half of what the server accepts, because the last row may exceed the requested size.
        bulk.packet_max = limit / 2;
        bulk.autocommit = text(2) != Some("0");
        bulk.strict = text(1).is_some_and(|mode| mode.contains("STRICT_"));
        Ok(())
    }

    /// Makes the load fail where an INSERT would have failed, because LOAD DATA LOCAL turns errors
    /// into warnings.
    fn judge(
        &mut self,
        bulk: Box<Bulk>,
        last: bool,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        let mut row = Row::default();
        let mut found = None;
        while found.is_none() && self.result.next_row(&mut row) {
            if row.field(0) != Some(b"Note") {
                let text = |field| error_text(row.field(field).unwrap_or_default());
                found = Some((text(1).parse().unwrap_or_default(), text(2)));
            }
        }
        self.result.clear();
        let skipped = bulk.rows;
        if skipped == 0 && (found.is_none() || !bulk.strict) {
            return Ok(self.keep(bulk, last, output));
        }
        let (code, why) = found.unwrap_or_default();
        let message = format!(
            "loading into {}: {why} ({skipped} rows skipped, {} loaded)",
            bulk.load.table, bulk.loaded
        );
        let mut error = DbError::new(errors::kind(code, ""), message);
        error.code = code;
        self.set_failed(error);
        Ok(Step::Finished)
    }

    fn confirm(&mut self, mut bulk: Box<Bulk>, output: &mut Vec<u8>) -> Step {
        let affected = self.outcome.affected;
        bulk.loaded += affected;
        if affected != bulk.rows {
            let message = format!(
                "loading into {}: the server took {affected} of {} rows and skipped the rest, \
                 probably because their keys already exist",
                bulk.load.table, bulk.rows
            );
            self.set_failed(DbError::new(ErrorKind::Other, message));
            return Step::Finished;
        }
        let last = bulk.phase == (Phase::Sent { last: true });
        self.keep(bulk, last, output)
    }

    /// Commits the loaded rows if the session has no autocommit.
    fn keep(&mut self, mut bulk: Box<Bulk>, last: bool, output: &mut Vec<u8>) -> Step {
        if bulk.autocommit {
            return self.go_on(bulk, last, output);
        }
        bulk.phase = Phase::Commit { last };
        self.command(output, |output| output.extend_from_slice(b"COMMIT"));
        self.bulk = Some(bulk);
        Step::Continue
    }

    fn go_on(&mut self, bulk: Box<Bulk>, last: bool, output: &mut Vec<u8>) -> Step {
        match last {
            true => self.complete(&bulk),
            false => self.bulk_statement(bulk, output),
        }
    }

    fn complete(&mut self, bulk: &Bulk) -> Step {
        self.outcome.kind = OutcomeKind::Done;
        self.outcome.affected = bulk.loaded;
        self.outcome.rows = 0;
        self.outcome.columns = 0;
        self.state = State::Idle;
        Step::Finished
    }

    /// Sends the next statement.
    fn bulk_statement(&mut self, bulk: Box<Bulk>, output: &mut Vec<u8>) -> Step {
        if self.local_infile && !bulk.inserts {
            self.announce(bulk, output)
        } else {
            self.insert(bulk, output)
        }
    }

    fn announce(&mut self, mut bulk: Box<Bulk>, output: &mut Vec<u8>) -> Step {
        (bulk.rows, bulk.bytes) = (0, 0);
        bulk.phase = Phase::Announced;
        let sql = format!(
            "LOAD DATA LOCAL INFILE '{FILE}' INTO TABLE {} CHARACTER SET utf8mb4{}",
            bulk.load.table,
            bulk.columns()
        );
        self.command(output, |output| output.extend_from_slice(sql.as_bytes()));
        self.bulk = Some(bulk);
        Step::Continue
    }

    fn insert(&mut self, mut bulk: Box<Bulk>, output: &mut Vec<u8>) -> Step {
        bulk.phase = Phase::Insert;
        let start = output.len();
        let max = bulk.packet_max.clamp(1, INSERT_BYTES);
        let sql = format!("INSERT INTO {}{} VALUES ", bulk.load.table, bulk.columns());
        let mut rows = 0;
        self.command(output, |output| {
            output.extend_from_slice(sql.as_bytes());
            rows = bulk.load.rows.fill(output, BulkFormat::SqlTuples, max);
        });
        if rows == 0 {
            output.truncate(start);
            return self.complete(&bulk);
        }
        bulk.rows = rows;
        self.bulk = Some(bulk);
        Step::Continue
    }

    /// Sends the next rows of a LOAD DATA.
    pub(super) fn bulk_send(&mut self, output: &mut Vec<u8>) {
        let Some(bulk) = &mut self.bulk else {
            return;
        };
        let max = bulk.packet_max.clamp(1, PACKET_BYTES);
        let start = wire::begin(output);
        let rows = bulk.load.rows.fill(output, BulkFormat::TabText, max);
        if rows > 0 {
            bulk.rows += rows;
            bulk.bytes += output.len() - start;
            self.sequence = wire::finish(output, start, self.sequence);
            if bulk.bytes < LOAD_BYTES {
                return;
            }
        } else {
            output.truncate(start);
        }
        // An empty packet ends the file.
        let start = wire::begin(output);
        self.sequence = wire::finish(output, start, self.sequence);
        bulk.phase = Phase::Sent { last: rows == 0 };
        self.state = State::Header;
    }

    /// Handles an answer that comes before the server has all rows. It can only be an error, and it
    /// is unknown what happened to the rows already sent, so the connection cannot be used any
    /// more.
    pub(super) fn interrupted(&mut self, payload: &[u8]) -> Result<Step, Malformed> {
        if !errors::is_error(payload) {
            return Err(Malformed("a load ended before all its rows"));
        }
        let error = errors::server_error(payload)?.at_the_end();
        self.break_off(error);
        Ok(Step::Finished)
    }
}
