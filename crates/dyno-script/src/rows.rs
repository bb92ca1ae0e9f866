//! Rows of typed values, kept until they are loaded.

use std::io::Write as _;

use dyno_core::bulk::{BulkFormat, RowSource};

use crate::generate::{Backslash, escape_sql, escape_tab_text};

/// The kind of a value, stored before its bytes.
const NULL: u8 = 0;
const INT: u8 = 1;
const CENTS: u8 = 2;
const TEXT: u8 = 3;
const END: u8 = 4;

/// Rows under construction.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    values: Vec<u8>,
    count: u64,
}

impl Rows {
    pub(crate) fn null(&mut self) {
        self.values.push(NULL);
    }

    pub(crate) fn int(&mut self, value: i64) {
        self.values.push(INT);
        self.values.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn cents(&mut self, value: i64) {
        self.values.push(CENTS);
        self.values.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a text of this length, which `fill` writes.
    pub(crate) fn text(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) {
        self.values.push(TEXT);
        self.values.extend_from_slice(&(len as u64).to_le_bytes());
        let start = self.values.len();
        self.values.resize(start + len, 0);
        fill(&mut self.values[start..]);
    }

    /// Completes the row and returns the number of bytes waiting.
    pub(crate) fn end(&mut self) -> usize {
        self.values.push(END);
        self.count += 1;
        self.values.len()
    }

    /// Takes the complete rows for a load. With `whole_cents` money is written as whole numbers.
    pub(crate) fn take(&mut self, backslash: Backslash, whole_cents: bool) -> (u64, RowBatch) {
        let count = std::mem::take(&mut self.count);
        let rows = RowBatch {
            values: std::mem::take(&mut self.values),
            at: 0,
            backslash,
            whole_cents,
        };
        (count, rows)
    }
}

/// Complete rows being loaded.
#[derive(Debug)]
pub(crate) struct RowBatch {
    values: Vec<u8>,
    at: usize,
    backslash: Backslash,
    whole_cents: bool,
}

impl RowBatch {
    fn number(&self, at: usize) -> i64 {
        let bytes = self.values.get(at..at + 8);
        bytes.map_or(0, |bytes| {
            i64::from_le_bytes(bytes.try_into().unwrap_or_default())
        })
    }

    /// Writes one row and moves `at` to the next.
    fn write_row(&mut self, out: &mut Vec<u8>, format: BulkFormat) {
        let tuples = format == BulkFormat::SqlTuples;
        if tuples {
            out.push(b'(');
        }
        let mut first = true;
        while let Some(&kind) = self.values.get(self.at) {
            self.at += 1;
            if kind == END {
                break;
            }
            if !std::mem::take(&mut first) {
                out.push(if tuples { b',' } else { b'\t' });
            }
            match kind {
                INT | CENTS => {
                    let value = self.number(self.at);
                    self.at += 8;
                    // Writing to memory cannot fail.
                    let _ = match kind == CENTS && !self.whole_cents {
                        false => write!(out, "{value}"),
                        true => {
                            let (sign, cents) = (["", "-"][usize::from(value < 0)], value.abs());
                            write!(out, "{sign}{}.{:02}", cents / 100, cents % 100)
                        }
                    };
                }
                TEXT => {
                    let len = self.number(self.at) as usize;
                    let start = self.at + 8;
                    self.at = start + len;
                    let text = self.values.get(start..self.at).unwrap_or_default();
                    match tuples {
                        true => escape_sql(text, self.backslash, out),
                        false => escape_tab_text(text, out),
                    }
                }
                _ => out.extend_from_slice(if tuples { b"NULL" } else { b"\\N" }),
            }
        }
        out.push(if tuples { b')' } else { b'\n' });
    }
}

impl RowSource for RowBatch {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64 {
        let start = out.len();
        let mut rows = 0;
        while self.at < self.values.len() {
            if rows > 0 {
                if out.len() - start >= max_bytes {
                    break;
                }
                if format == BulkFormat::SqlTuples {
                    out.push(b',');
                }
            }
            self.write_row(out, format);
            rows += 1;
        }
        rows
    }

    fn rewind(&mut self) {
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        let mut rows = Rows::default();
        for n in 0..3 {
            rows.int(n - 1);
            rows.cents(-105 + 200 * n);
            rows.text(4, |out| out.copy_from_slice(b"a'\\\t"));
            rows.null();
            rows.end();
        }
        rows
    }

    fn all(source: &mut RowBatch, format: BulkFormat, max_bytes: usize) -> (u64, String) {
        let (mut out, mut count) = (Vec::new(), 0);
        loop {
            match source.fill(&mut out, format, max_bytes) {
                0 => return (count, String::from_utf8(out).unwrap()),
                more => count += more,
            }
            if format == BulkFormat::SqlTuples {
                out.push(b';');
            }
        }
    }

    #[test]
    fn rows_are_written_in_both_formats_and_again() {
        let (count, mut source) = rows().take(Backslash::Escapes, false);
        assert_eq!(count, 3);
        let tab = "-1\t-1.05\ta'\\\\\\t\t\\N\n0\t0.95\ta'\\\\\\t\t\\N\n1\t2.95\ta'\\\\\\t\t\\N\n";
        for max_bytes in [1, 30, 1000] {
            source.rewind();
            assert_eq!(
                all(&mut source, BulkFormat::TabText, max_bytes),
                (3, tab.to_owned())
            );
        }
        source.rewind();
        let tuple = "'a''\\\\\t',NULL)";
        let expected = format!("(-1,-1.05,{tuple},(0,0.95,{tuple},(1,2.95,{tuple};");
        assert_eq!(all(&mut source, BulkFormat::SqlTuples, 1000), (3, expected));
    }

    #[test]
    fn money_may_be_whole_cents_and_backslashes_plain() {
        let mut rows = rows();
        let (_, mut source) = rows.take(Backslash::Plain, true);
        let expected = "(-1,-105,'a''\\\t',NULL);(0,95,'a''\\\t',NULL);(1,295,'a''\\\t',NULL);";
        assert_eq!(
            all(&mut source, BulkFormat::SqlTuples, 1),
            (3, expected.to_owned())
        );
        assert_eq!(rows.take(Backslash::Plain, true).0, 0);
    }
}
