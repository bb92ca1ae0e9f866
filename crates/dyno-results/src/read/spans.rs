//! The latencies of a run, thinned out where holding all of them would take too much memory.

use dyno_core::record::{Operation, Span};
use hdrhistogram::Histogram;
use rusqlite::Row;

use crate::codec::{Decoder, span_histogram};
use crate::error::{Problem, ResultsError};
use crate::open::Results;

const COLUMNS: &str = "operation, from_s, to_s, count, sum_ns, min_ns, max_ns, service, response";

/// What a failure to read may be: SQLite's, or a histogram's.
enum Failure {
    Sqlite(rusqlite::Error),
    Content(Problem),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Results {
    /// Hands every span of a run as it is stored to `visit`, with the operation's name, in the
    /// order in which they were recorded. Takes the memory of one span.
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
            let span = span(row, &mut decoder)?;
            if let Some(name) = names.get(operation) {
                visit(name, span);
            }
            Ok(())
        })
    }

    /// All operations with their totals, and at most about `held_max` histograms in their spans.
    pub(super) fn operations(
        &self,
        id: i64,
        held_max: usize,
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
            let span = span(row, &mut decoder)?;
            if let Some(operation) = operations.get_mut(operation) {
                operation.total = Some(span);
            }
            Ok(())
        })?;
        if held_max > 0 {
            let width_s = self
                .width_s(id, operations.len(), held_max)
                .map_err(|error| self.at(doing).sqlite(error))?;
            self.read_spans(id, width_s, &mut operations, doing)?;
        }
        // Whatever was recorded first.
        operations.sort_by_key(|operation| operation.name != "event");
        Ok(operations)
    }

    fn read_spans(
        &self,
        id: i64,
        width_s: Option<f64>,
        operations: &mut [Operation],
        doing: &str,
    ) -> Result<(), ResultsError> {
        let mut decoder = Decoder::new();
        let mut merging: Vec<Option<Merging>> = Vec::new();
        merging.resize_with(operations.len(), || None);
        self.each_span(doing, id, |number, row| {
            let Some(operation) = operations.get_mut(number) else {
                return Ok(());
            };
            let span = span(row, &mut decoder)?;
            let Some(width_s) = width_s else {
                operation.spans.push(span);
                return Ok(());
            };
            let slot = (f64::midpoint(span.from_s, span.to_s) / width_s).floor();
            match &mut merging[number] {
                Some(merging) if merging.slot == slot => merging.add(&span),
                open => {
                    let next = Merging::new(slot, span);
                    operation
                        .spans
                        .extend(open.replace(next).map(Merging::span));
                }
            }
            Ok(())
        })?;
        for (operation, open) in operations.iter_mut().zip(merging) {
            operation.spans.extend(open.map(Merging::span));
        }
        Ok(())
    }

    /// How long merged spans must be so that not more than about `held_max` histograms are held;
    /// `None` if all of them may be held as they are.
    fn width_s(
        &self,
        id: i64,
        operations: usize,
        held_max: usize,
    ) -> rusqlite::Result<Option<f64>> {
        let sql = "SELECT count(service) + count(response), count(response),
                       max(to_s) - min(from_s) FROM span WHERE run_id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let (held, responses, length_s): (i64, i64, Option<f64>) =
            statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        if held as usize <= held_max {
            return Ok(None);
        }
        let each = if responses > 0 { 2 } else { 1 };
        let per_operation = (held_max / each / operations.max(1)).max(1);
        Ok(length_s.map(|length_s| length_s / per_operation as f64))
    }

    fn operation_names(&self, id: i64) -> rusqlite::Result<Vec<String>> {
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

/// The columns named in [`COLUMNS`].
fn span(row: &Row<'_>, decoder: &mut Decoder) -> Result<Span, Failure> {
    let whole = |index| row.get(index).map(|value: i64| value.max(0) as u64);
    let mut histogram = |index| -> Result<Histogram<u64>, Failure> {
        let bytes = row
            .get_ref(index)?
            .as_blob_or_null()
            .map_err(rusqlite::Error::from)?;
        decoder.histogram(bytes).map_err(Failure::Content)
    };
    Ok(Span {
        from_s: row.get(1)?,
        to_s: row.get(2)?,
        count: whole(3)?,
        service_ns_sum: whole(4)?,
        service_ns_min: whole(5)?,
        service_ns_max: whole(6)?,
        service: histogram(7)?,
        response: histogram(8)?,
    })
}

/// Several spans on their way to become one.
struct Merging {
    slot: f64,
    span: Span,
}

impl Merging {
    fn new(slot: f64, span: Span) -> Self {
        Self { slot, span }
    }

    fn add(&mut self, next: &Span) {
        let span = &mut self.span;
        span.to_s = next.to_s;
        if next.count > 0 {
            span.service_ns_min = match span.count {
                0 => next.service_ns_min,
                _ => span.service_ns_min.min(next.service_ns_min),
            };
        }
        span.service_ns_max = span.service_ns_max.max(next.service_ns_max);
        span.count += next.count;
        span.service_ns_sum = span.service_ns_sum.saturating_add(next.service_ns_sum);
        add(&mut span.service, &next.service);
        add(&mut span.response, &next.response);
    }

    fn span(self) -> Span {
        self.span
    }
}

/// Adds a histogram to one that grows where it must.
fn add(sum: &mut Histogram<u64>, next: &Histogram<u64>) {
    if next.is_empty() {
        return;
    }
    if sum.is_empty() {
        *sum = next.clone();
        return;
    }
    if sum.add(next).is_err() {
        // Not of the same shape and too narrow.
        let mut wider = span_histogram(next.max().max(sum.max()));
        for part in [&*sum, next] {
            for bin in part.iter_recorded() {
                wider.saturating_record_n(bin.value_iterated_to(), bin.count_at_value());
            }
        }
        *sum = wider;
    }
}
