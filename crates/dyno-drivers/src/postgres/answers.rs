//! Parsing answers: the common one in one pass, and the parts of the others.

use dyno_core::db::DbError;

use super::session::Activity;
use super::wire::{self, MESSAGE_LEN_MAX, Malformed, Reader};
use super::{Postgres, statements};

/// ReadyForQuery without its last byte, the transaction status.
const READY: &[u8; 5] = b"Z\0\0\0\x05";
const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";

impl Postgres {
    /// The common answer to an execution, all in one piece: BindComplete, rows, CommandComplete,
    /// ReadyForQuery. Returns false, and changes nothing, for anything else, which is then read
    /// message by message.
    #[inline(always)]
    pub(super) fn receive_usual(&mut self, input: &[u8]) -> bool {
        self.activity == Activity::Execute && self.usual_parts(input).is_some()
    }

    #[inline(always)]
    fn usual_parts(&mut self, input: &[u8]) -> Option<()> {
        let (before, end) = input.split_last_chunk::<6>()?;
        let [ready @ .., status] = *end;
        if ready != *READY || !matches!(status, b'I' | b'T' | b'E') {
            return None;
        }
        let rest = before.strip_prefix(BIND_COMPLETE)?;
        if self.failure.is_some() || !self.results.is_fresh() {
            return None;
        }
        let (length, rows) = self.results.scan_rows(rest).ok()?;
        let (rows_found, rest) = rest.split_at_checked(length)?;
        let message = wire::next_message(rest, MESSAGE_LEN_MAX).ok()??;
        let (0, tag) = message.body.split_last()? else {
            return None;
        };
        if message.tag != b'C' || message.wire_len() != rest.len() {
            return None;
        }
        let affected = match tag.first() {
            Some(b'S') if self.results.has_columns() => 0,
            _ => affected(tag, self.results.has_columns()),
        };
        self.results.push_rows(rows_found, rows);
        self.results.close(affected).ok()?;
        self.results.describe(&mut self.outcome);
        self.outcome.more = false;
        self.end_single(tag, status);
        Some(())
    }
}

/// The protocol terminates texts with NUL, so they must not contain one.
#[inline]
pub(super) fn check_text(sql: &[u8]) -> Result<(), DbError> {
    if sql.len() >= MESSAGE_LEN_MAX {
        return Err(statements::too_long(sql.len()));
    }
    if sql.contains(&0) {
        let message = "a statement contains a NUL byte, which PostgreSQL does not accept";
        return Err(DbError::misuse(message));
    }
    Ok(())
}

/// The number of columns in a RowDescription. Each takes at least 19 bytes: a NUL and 18 more.
pub(super) fn column_count(body: &[u8]) -> Result<u32, Malformed> {
    let mut reader = Reader(body);
    let count = reader.u16()?;
    reader.bytes(usize::from(count) * 19)?;
    Ok(u32::from(count))
}

/// The column names in a RowDescription.
pub(super) fn column_names(body: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut reader = Reader(body);
    let count = reader.u16()?;
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(String::from_utf8_lossy(reader.text()?).into_owned());
        reader.bytes(18)?;
    }
    Ok(names)
}

/// The number of parameters in a ParameterDescription.
pub(super) fn param_count(body: &[u8]) -> Result<u16, Malformed> {
    let mut reader = Reader(body);
    let count = reader.u16()?;
    reader.bytes(usize::from(count) * 4)?;
    reader.end()?;
    Ok(count)
}

/// Rows changed, from a command tag such as `INSERT 0 5`. A SELECT without a result set has stored
/// its rows (CREATE TABLE AS).
#[inline]
pub(super) fn affected(tag: &[u8], has_columns: bool) -> u64 {
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
