//! Reads the latencies of a run. Merges them if all of them would take too much memory.

use dyno_core::record::{Operation, Span};
use rusqlite::Row;

use super::load::Scope;
use crate::decode::{Decoder, Exact, Merging};
use crate::error::{Problem, ResultsError};
use crate::open::Results;

pub(super) const COLUMNS: &str =
    "operation, from_s, to_s, count, sum_ns, min_ns, max_ns, service, response";

/// A failure to read: from SQLite, or from a histogram.
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Content(Problem),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Results {
    /// Calls `visit` with every span of a run as stored, and with the name of its operation, in the
    /// order in which they were recorded. Only one span is in memory at a time.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn spans(&self, id: i64, mut visit: impl FnMut(&str, Span)) -> Result<(), ResultsError> {
        let doing = "read the latencies in";
        self.check_run(id, doing)?;
        let names = self
            .operation_names(id)
            .map_err(|e| self.at(doing).sqlite(e))?;
        let mut decoder = Decoder::new();
        self.each_span(doing, id, |operation, row| {
            let (Some(name), Some(span)) = (names.get(operation), whole(row, &mut decoder)?) else {
                return Ok(());
            };
            visit(name, span);
            Ok(())
        })
    }

    /// All operations with their totals, and the spans that the scope allows.
    pub(super) fn operations(
        &self,
        id: i64,
        scope: &Scope,
        doing: &str,
    ) -> Result<Vec<Operation>, ResultsError> {
        let names = self
            .operation_names(id)
            .map_err(|e| self.at(doing).sqlite(e))?;
        let mut operations: Vec<Operation> = names
            .into_iter()
            .map(|name| Operation {
                name,
                spans: Vec::new(),
                total: None,
            })
            .collect();
        let mut decoder = Decoder::new();
        let sql = format!("SELECT {COLUMNS} FROM total WHERE run_id = ?1");
        self.each(&sql, doing, id, |operation, row| {
            if let Some(operation) = operations.get_mut(operation) {
                operation.total = Some(total(row, &mut decoder)?);
            }
            Ok(())
        })?;
        if scope.spans_held_max > 0 {
            let slots = self
                .slots(id, operations.len(), scope)
                .map_err(|error| self.at(doing).sqlite(error))?;
            self.read_spans(id, slots, &mut operations, doing)?;
        }
        // Put `event` first, in whatever order they were recorded.
        operations.sort_by_key(|operation| operation.name != "event");
        Ok(operations)
    }

    fn read_spans(
        &self,
        id: i64,
        slots: Option<Slots>,
        operations: &mut [Operation],
        doing: &str,
    ) -> Result<(), ResultsError> {
        let mut decoder = Decoder::new();
        let mut merging: Vec<Merging> = Vec::new();
        merging.resize_with(operations.len(), Merging::default);
        let mut number = 0;
        self.each_span(doing, id, |operation, row| {
            let (Some(known), Some(merging)) =
                (operations.get_mut(operation), merging.get_mut(operation))
            else {
                return Ok(());
            };
            number += 1;
            let mut next = exact(row)?;
            next.slot = slots.as_ref().map_or(number, |slots| slots.of(&next));
            let blobs = [blob(row, 7)?, blob(row, 8)?];
            let before = merging.add(next, blobs, &mut decoder);
            known.spans.extend(before.map_err(Failure::Content)?);
            Ok(())
        })?;
        for (operation, mut open) in operations.iter_mut().zip(merging) {
            operation.spans.extend(open.take());
        }
        Ok(())
    }

    /// The time slots in which spans are merged so that their number stays within the limit. `None`
    /// if they need not be merged.
    fn slots(&self, id: i64, operations: usize, scope: &Scope) -> rusqlite::Result<Option<Slots>> {
        let sql = "SELECT count(service) + count(response), count(response), min(from_s),
                       max(to_s) - min(from_s) FROM span WHERE run_id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let (held, responses, from_s, length_s): (i64, i64, Option<f64>, Option<f64>) =
            statement.query_row([id], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
        let (Some(from_s), Some(length_s)) = (from_s, length_s) else {
            return Ok(None);
        };
        if held as usize <= scope.spans_held_max {
            return Ok(None);
        }
        let each = if responses > 0 { 2 } else { 1 };
        let per_operation = (scope.spans_held_max / each / operations.max(1))
            .clamp(1, scope.merged_per_operation_max.max(1));
        Ok(Some(Slots {
            from_s,
            width_s: length_s / per_operation as f64,
            last: per_operation as u64 - 1,
        }))
    }

    pub(super) fn operation_names(&self, id: i64) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT name FROM operation WHERE run_id = ?1 ORDER BY number";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([id], |row| row.get(0))?;
        rows.collect()
    }

    fn each_span(
        &self,
        doing: &str,
        id: i64,
        visit: impl FnMut(usize, &Row<'_>) -> Result<(), Failure>,
    ) -> Result<(), ResultsError> {
        let sql = format!("SELECT {COLUMNS} FROM span WHERE run_id = ?1 ORDER BY number");
        self.each(&sql, doing, id, visit)
    }

    fn each(
        &self,
        sql: &str,
        doing: &str,
        id: i64,
        mut visit: impl FnMut(usize, &Row<'_>) -> Result<(), Failure>,
    ) -> Result<(), ResultsError> {
        let mut read = || -> Result<(), Failure> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([id])?;
            while let Some(row) = rows.next()? {
                visit(row.get::<_, u32>(0)? as usize, row)?;
            }
            Ok(())
        };
        read().map_err(|failure| match failure {
            Failure::Sqlite(error) => self.at(doing).sqlite(error),
            Failure::Content(problem) => self.at(doing).error(problem),
        })
    }
}

/// Equal slots of a run's time.
struct Slots {
    from_s: f64,
    width_s: f64,
    last: u64,
}

impl Slots {
    /// The slot in which the middle of the span is, because a span may go slightly beyond a bound.
    fn of(&self, span: &Exact) -> u64 {
        let middle_s = f64::midpoint(span.from_s, span.to_s) - self.from_s;
        // Casting NaN gives 0.
        ((middle_s / self.width_s) as u64).min(self.last)
    }
}

/// Reads the columns of [`COLUMNS`] except for the histograms. The caller sets the slot.
fn exact(row: &Row<'_>) -> rusqlite::Result<Exact> {
    let whole = |index| row.get(index).map(|value: i64| value.max(0) as u64);
    Ok(Exact {
        slot: 0,
        from_s: row.get(1)?,
        to_s: row.get(2)?,
        count: whole(3)?,
        sum_ns: whole(4)?,
        min_ns: whole(5)?,
        max_ns: whole(6)?,
    })
}

fn blob<'a>(row: &'a Row<'_>, index: usize) -> Result<Option<&'a [u8]>, Failure> {
    let bytes = row.get_ref(index)?.as_blob_or_null();
    Ok(bytes.map_err(rusqlite::Error::from)?)
}

/// A span that is not merged, with two digits.
pub(super) fn whole(row: &Row<'_>, decoder: &mut Decoder) -> Result<Option<Span>, Failure> {
    let mut alone = Merging::default();
    let blobs = [blob(row, 7)?, blob(row, 8)?];
    let added = alone.add(exact(row)?, blobs, decoder);
    added.map_err(Failure::Content)?;
    Ok(alone.take())
}

/// The latencies of a whole run with full precision.
fn total(row: &Row<'_>, decoder: &mut Decoder) -> Result<Span, Failure> {
    let exact = exact(row)?;
    let mut histogram = |index| {
        let read = decoder.histogram(blob(row, index)?);
        read.map_err(Failure::Content)
    };
    Ok(Span {
        from_s: exact.from_s,
        to_s: exact.to_s,
        count: exact.count,
        service_ns_sum: exact.sum_ns,
        service_ns_min: exact.min_ns,
        service_ns_max: exact.max_ns,
        service: histogram(7)?,
        response: histogram(8)?,
    })
}
