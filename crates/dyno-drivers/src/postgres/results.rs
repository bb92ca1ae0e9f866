//! The results of one request, waiting to be read.

use dyno_core::db::{Outcome, OutcomeKind, PipedResult, Row};

use super::wire::{self, MESSAGE_LEN_MAX, Malformed, Reader};

/// Maximum buffer memory that a connection keeps between large results: enough for a hundred rows
/// of a sysbench table, and little even on ten thousand connections.
const KEPT_LEN_MAX: usize = 16 * 1024;

/// A larger buffer is freed after this number of consecutive requests that did not need it: more
/// than the statements of a transaction, since one of them may have a large result.
const SMALL_IN_TURN_MAX: u8 = 200;

/// A buffer of at least this size is freed with its result.
const FREED_LEN_MIN: usize = 1024 * 1024;

/// Maximum number of results of one request: a result takes three times the memory of its message,
/// which `max_answer` limits.
const RESULTS_MAX: usize = 100_000;

/// The rows of all results of a request, and where each result ends.
#[derive(Default)]
pub(super) struct Results {
    /// DataRow messages, unparsed.
    bytes: Vec<u8>,
    /// The number of complete results, one for most requests.
    count: usize,
    first: Complete,
    later: Vec<Complete>,
    /// The number of results already stepped past.
    current: usize,
    /// The position of `next_row`.
    cursor: usize,
    /// The columns of the incomplete result, if it has rows.
    columns: Option<u32>,
    /// Its rows so far.
    rows: u64,
    /// Consecutive requests that needed no more than the kept memory.
    small_in_turn: u8,
}

#[derive(Clone, Copy, Default)]
struct Complete {
    columns: Option<u32>,
    rows: u64,
    affected: u64,
    /// Where its rows end in `bytes`.
    end: usize,
}

impl Results {
    /// Discards all results, and frees memory that has not been needed for long.
    #[inline]
    pub(super) fn reset(&mut self) {
        if self.bytes.capacity() > KEPT_LEN_MAX {
            self.shrink();
        }
        self.bytes.clear();
        self.count = 0;
        self.current = 0;
        self.cursor = 0;
        self.columns = None;
        self.rows = 0;
    }

    /// Keeps the buffer while large results keep coming, so that a steady state does not allocate.
    #[cold]
    fn shrink(&mut self) {
        if self.bytes.len() > KEPT_LEN_MAX {
            self.small_in_turn = 0;
            return;
        }
        self.small_in_turn += 1;
        if self.small_in_turn == SMALL_IN_TURN_MAX {
            self.small_in_turn = 0;
            self.bytes = Vec::new();
        }
    }

    /// Doubles the buffer, but does not exceed the kept size before that is needed.
    #[cold]
    fn grow(&mut self, additional: usize) {
        let needed = self.bytes.len() + additional;
        let mut wanted = needed.max(2 * self.bytes.capacity());
        if needed <= KEPT_LEN_MAX {
            wanted = wanted.min(KEPT_LEN_MAX);
        }
        self.bytes.reserve_exact(wanted - self.bytes.len());
    }

    /// Begins a result with rows of this number of columns.
    #[inline]
    pub(super) fn open(&mut self, columns: Option<u32>) {
        self.columns = columns;
    }

    /// Takes the rows at the front of `input` and returns their length in bytes.
    #[inline]
    pub(super) fn take_rows(&mut self, input: &[u8]) -> Result<usize, Malformed> {
        let (length, rows) = self.scan_rows(input)?;
        self.push_rows(&input[..length], rows);
        Ok(length)
    }

    /// The length and number of complete rows at the front of `input`. Their shape is checked here,
    /// so that reading them later cannot fail.
    #[inline(always)]
    pub(super) fn scan_rows(&self, input: &[u8]) -> Result<(usize, u64), Malformed> {
        let (mut length, mut rows) = (0, 0);
        while let Some([b'D', counted @ ..]) = input[length..].first_chunk::<5>() {
            // The length includes its own four bytes, but not the tag.
            let end = length + 1 + u32::from_be_bytes(*counted) as usize;
            let Some(body) = input.get(length + 5..end) else {
                break;
            };
            check_row(body, self.columns)?;
            length = end;
            rows += 1;
        }
        Ok((length, rows))
    }

    /// Keeps rows that [`Self::scan_rows`] has checked.
    #[inline(always)]
    pub(super) fn push_rows(&mut self, messages: &[u8], rows: u64) {
        if self.bytes.capacity() - self.bytes.len() < messages.len() {
            self.grow(messages.len());
        }
        self.bytes.extend_from_slice(messages);
        self.rows += rows;
    }

    /// Completes the current result.
    #[inline(always)]
    pub(super) fn close(&mut self, affected: u64) -> Result<(), Malformed> {
        let complete = Complete {
            columns: self.columns,
            rows: self.rows,
            affected,
            end: self.bytes.len(),
        };
        if self.count == 0 {
            self.first = complete;
        } else {
            self.push_later(complete)?;
        }
        self.count += 1;
        self.columns = None;
        self.rows = 0;
        Ok(())
    }

    #[cold]
    fn push_later(&mut self, complete: Complete) -> Result<(), Malformed> {
        if self.count == RESULTS_MAX {
            return Err(Malformed("a request has more than 100,000 results"));
        }
        self.later.truncate(self.count - 1);
        self.later.push(complete);
        Ok(())
    }

    /// Whether no part of an answer has arrived yet.
    #[inline]
    pub(super) fn is_fresh(&self) -> bool {
        self.count == 0 && self.rows == 0
    }

    #[inline(always)]
    fn complete(&self, index: usize) -> Option<&Complete> {
        match index {
            _ if index >= self.count => None,
            0 => Some(&self.first),
            _ => self.later.get(index - 1),
        }
    }

    /// Whether the incomplete result has rows.
    #[inline]
    pub(super) fn has_columns(&self) -> bool {
        self.columns.is_some()
    }

    /// Drops the part of a result before an error.
    pub(super) fn cut(&mut self) {
        let last = self.complete(self.count.wrapping_sub(1));
        let end = last.map_or(0, |last| last.end);
        self.bytes.truncate(end);
        self.columns = None;
        self.rows = 0;
    }

    /// The number of complete results.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// One result of a pipeline.
    pub(super) fn piped(&self, index: usize) -> Option<PipedResult> {
        let complete = self.complete(index)?;
        Some(PipedResult {
            has_rows: complete.columns.is_some(),
            rows: complete.rows,
            affected: complete.affected,
        })
    }

    /// The number of results after the current one.
    #[inline]
    pub(super) fn following(&self) -> usize {
        self.count.saturating_sub(self.current + 1)
    }

    /// Writes the current result into `outcome`. False if all were read.
    #[inline(always)]
    pub(super) fn describe(&self, outcome: &mut Outcome) -> bool {
        let Some(complete) = self.complete(self.current) else {
            return false;
        };
        outcome.kind = match complete.columns {
            Some(_) => OutcomeKind::Rows,
            None => OutcomeKind::Done,
        };
        outcome.rows = complete.rows;
        outcome.columns = complete.columns.unwrap_or(0);
        outcome.affected = complete.affected;
        true
    }

    /// Steps to the next result.
    pub(super) fn step(&mut self) {
        self.free_current();
        self.current += 1;
    }

    /// Skips the rows of the current result. The memory of a huge one is freed immediately, since
    /// the next operation may come late.
    pub(super) fn free_current(&mut self) {
        if let Some(complete) = self.complete(self.current) {
            self.cursor = complete.end;
        }
        if self.bytes.capacity() > FREED_LEN_MIN && self.following() == 0 {
            self.bytes = Vec::new();
        }
    }

    /// The next row of the current result.
    pub(super) fn next_row(&mut self, row: &mut Row) -> bool {
        row.clear();
        self.read_row(row).is_some()
    }

    fn read_row(&mut self, row: &mut Row) -> Option<()> {
        let end = self.complete(self.current)?.end;
        let rest = self.bytes.get(self.cursor..end)?;
        let message = wire::next_message(rest, MESSAGE_LEN_MAX).ok()??;
        let mut reader = Reader(message.body);
        self.cursor += message.wire_len();
        for _ in 0..reader.u16().ok()? {
            row.push(reader.field().ok()?);
        }
        Some(())
    }
}

/// Checks a row against its description.
#[inline(always)]
fn check_row(body: &[u8], columns: Option<u32>) -> Result<(), Malformed> {
    let Some(columns) = columns else {
        return Err(Malformed("a row came without a description"));
    };
    let mut reader = Reader(body);
    if u32::from(reader.u16()?) != columns {
        return Err(Malformed(
            "a row's number of columns differs from its description",
        ));
    }
    for _ in 0..columns {
        reader.field()?;
    }
    reader.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(results: &mut Results, rows: usize) {
        results.reset();
        results.open(Some(1));
        let row = [&b"D\0\0\0\x6e\0\x01\0\0\0\x64"[..], &[b'x'; 100]].concat();
        for _ in 0..rows {
            assert_eq!(results.take_rows(&row), Ok(row.len()));
        }
        assert_eq!(results.close(0), Ok(()));
    }

    #[test]
    fn results_are_bounded_in_number() {
        let mut results = Results::default();
        let taken = (0..RESULTS_MAX + 1).map_while(|_| results.close(0).ok());
        assert_eq!(taken.count(), RESULTS_MAX);
    }

    #[test]
    fn a_large_buffer_is_kept_while_it_is_needed_and_given_back_later() {
        let mut results = Results::default();
        for _ in 0..3 {
            fill(&mut results, 1000);
            let large = results.bytes.capacity();
            assert!(large >= 110_000);
            for _ in 1..SMALL_IN_TURN_MAX {
                fill(&mut results, 1);
                assert_eq!(results.bytes.capacity(), large);
            }
        }
        for _ in 0..3 {
            fill(&mut results, 1);
        }
        assert!(results.bytes.capacity() < 1000);
    }

    #[test]
    fn small_results_reuse_the_kept_buffer() {
        let mut results = Results::default();
        for rows in [1, 100, 146] {
            fill(&mut results, rows);
            assert!(results.bytes.capacity() <= KEPT_LEN_MAX);
        }
        let mut row = Row::default();
        let mut count = 0;
        while results.next_row(&mut row) {
            assert_eq!(row.field(0), Some(&[b'x'; 100][..]));
            count += 1;
        }
        assert_eq!(count, 146);
    }
}
