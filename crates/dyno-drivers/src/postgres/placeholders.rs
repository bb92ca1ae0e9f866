//! Scripts write `?` for a parameter, for every database; PostgreSQL expects `$1`.

use std::borrow::Cow;

use dyno_core::db::DbError;

/// A statement in PostgreSQL's syntax, and its number of parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    pub(super) sql: Cow<'a, [u8]>,
    pub(super) params: usize,
}

/// Numbers the `?` outside of literals, quoted names and comments. A statement that already
/// contains `$1` is left unchanged: its `?` are operators (of jsonb, for example).
///
/// # Errors
/// More parameters than the protocol can count.
pub(super) fn number(sql: &[u8]) -> Result<Statement<'_>, DbError> {
    let found = Scanner::new(sql).run();
    let params = match found.numbered_max {
        0 => found.places.len(),
        numbered => numbered,
    };
    if params > usize::from(u16::MAX) {
        let message = format!("a statement has {params} parameters; PostgreSQL allows 65535");
        return Err(DbError::misuse(message));
    }
    if found.numbered_max > 0 || found.places.is_empty() {
        let sql = Cow::Borrowed(sql);
        return Ok(Statement { sql, params });
    }
    let sql = Cow::Owned(replace(sql, &found.places));
    Ok(Statement { sql, params })
}

fn replace(sql: &[u8], places: &[usize]) -> Vec<u8> {
    let mut numbered = Vec::with_capacity(sql.len() + places.len() * 6);
    let mut start = 0;
    for (index, place) in places.iter().enumerate() {
        numbered.extend_from_slice(&sql[start..*place]);
        start = place + 1;
        // `a?` must not become the name `a$1`, nor `?1` the parameter `$11`.
        if numbered.last().is_some_and(|byte| is_name(*byte)) {
            numbered.push(b' ');
        }
        numbered.push(b'$');
        numbered.extend_from_slice(itoa::Buffer::new().format(index + 1).as_bytes());
        if sql.get(start).is_some_and(|byte| is_name(*byte)) {
            numbered.push(b' ');
        }
    }
    numbered.extend_from_slice(&sql[start..]);
    numbered
}

/// Whether a byte can continue a name or a number.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

#[derive(Default)]
struct ScanResult {
    /// The positions of the `?`.
    places: Vec<usize>,
    /// The highest `$n`, or 0.
    numbered_max: usize,
}

/// Finds parameters by PostgreSQL's lexical rules, with `standard_conforming_strings` on.
struct Scanner<'a> {
    sql: &'a [u8],
    at: usize,
    found: ScanResult,
}

impl<'a> Scanner<'a> {
    fn new(sql: &'a [u8]) -> Self {
        let found = ScanResult::default();
        Self { sql, at: 0, found }
    }

    fn run(mut self) -> ScanResult {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'?' => {
                    self.found.places.push(self.at);
                    self.at += 1;
                }
                b'\'' => self.skip_string(false),
                b'"' => self.skip_past(b"\"", 1),
                b'-' if self.peek(1) == Some(b'-') => self.skip_past(b"\n", 2),
                b'/' if self.peek(1) == Some(b'*') => self.skip_comment(),
                b'$' => self.dollar(),
                _ if begins_name(byte) => self.name(),
                _ => self.at += 1,
            }
        }
        self.found
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.sql.get(self.at + ahead).copied()
    }

    /// Moves past the next `end` at least `from` bytes ahead, or to the end of the statement.
    fn skip_past(&mut self, end: &[u8], from: usize) {
        let start = (self.at + from).min(self.sql.len());
        let found = self.sql[start..]
            .windows(end.len())
            .position(|window| window == end);
        self.at = found.map_or(self.sql.len(), |place| start + place + end.len());
    }

    /// Skips a quoted literal. A doubled quote ends it and begins another, which is equivalent
    /// unless backslashes escape.
    fn skip_string(&mut self, escapes: bool) {
        if !escapes {
            return self.skip_past(b"'", 1);
        }
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\'' if self.peek(0) == Some(b'\'') => self.at += 1,
                b'\'' => match self.continuation() {
                    Some(quote) => self.at = quote + 1,
                    None => return,
                },
                _ => {}
            }
        }
    }

    /// A literal continues on the next line if only white space separates the parts.
    fn continuation(&self) -> Option<usize> {
        let rest = self.sql.get(self.at..)?;
        let blank = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let goes_on = rest[blank] == b'\'' && rest[..blank].contains(&b'\n');
        goes_on.then_some(self.at + blank)
    }

    /// Skips a comment; comments nest.
    fn skip_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'/', Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Skips `$1`, `$tag$ … $tag$`, or a lone dollar.
    fn dollar(&mut self) {
        let rest = &self.sql[self.at + 1..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            // The server refuses longer numbers too.
            let number = rest[..digits.min(9)]
                .iter()
                .fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
            self.found.numbered_max = self.found.numbered_max.max(number);
            self.at += 1 + digits;
            return;
        }
        let name = rest
            .iter()
            .take_while(|byte| is_name(**byte) && **byte != b'$')
            .count();
        if rest.get(name) == Some(&b'$') {
            let tag = &self.sql[self.at..self.at + name + 2];
            self.skip_past(tag, tag.len());
        } else {
            self.at += 1;
        }
    }

    /// A name may contain dollars, which then start nothing; `E` before a quote enables escapes.
    fn name(&mut self) {
        let rest = &self.sql[self.at..];
        let length = rest.iter().take_while(|byte| is_name(**byte)).count();
        let escapes = length == 1 && rest[0].eq_ignore_ascii_case(&b'e');
        self.at += length;
        if escapes && self.peek(0) == Some(b'\'') {
            self.skip_string(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbered(sql: &str) -> String {
        let statement = number(sql.as_bytes()).unwrap();
        String::from_utf8(statement.sql.into_owned()).unwrap()
    }

    #[test]
    fn placeholders_are_numbered_in_order() {
        assert_eq!(
            numbered("INSERT INTO t VALUES (?, ?,?)"),
            "INSERT INTO t VALUES ($1, $2,$3)"
        );
        assert_eq!(numbered("SELECT ??"), "SELECT $1 $2");
        assert_eq!(number(b"a ? b ? c").unwrap().params, 2);
    }

    #[test]
    fn quoted_and_commented_text_is_unchanged() {
        for sql in [
            "SELECT '?'",
            "SELECT 'it''s ?'",
            "SELECT '\\'",
            r"SELECT E'\'?'",
            r"SELECT e'a''?\\'",
            "SELECT E'a'\n  'b\\'?'",
            "SELECT \"a?\"\"?\"",
            "SELECT $$ ? $$, $a$ ? $$ ? $b$ ? $a$",
            "SELECT 1 -- ?\n",
            "SELECT 1 -- ?",
            "SELECT /* ? /* ? */ ? */ 1",
            "SELECT '?",
            "SELECT /* ?",
            "SELECT $x$ ?",
        ] {
            assert_eq!(numbered(sql), sql);
        }
    }

    #[test]
    fn text_that_only_looks_quoted_does_not_hide_placeholders() {
        assert_eq!(numbered(r"SELECT '\', ?"), r"SELECT '\', $1");
        assert_eq!(numbered(r"SELECT se'\', ?"), r"SELECT se'\', $1");
        assert_eq!(
            numbered("SELECT a$b$ + ? + c$b$"),
            "SELECT a$b$ + $1 + c$b$"
        );
        assert_eq!(numbered("SELECT E'' , ?"), "SELECT E'' , $1");
        assert_eq!(numbered("SELECT 1 - ? / ?"), "SELECT 1 - $1 / $2");
    }

    #[test]
    fn neighbours_do_not_grow_together() {
        assert_eq!(numbered("LIMIT?1"), "LIMIT $1 1");
        assert_eq!(numbered("(?)"), "($1)");
    }

    #[test]
    fn a_statement_with_numbered_placeholders_keeps_its_operators() {
        let statement = number(b"SELECT data ? $2 FROM t WHERE id = $1").unwrap();
        assert_eq!(statement.params, 2);
        assert!(matches!(statement.sql, Cow::Borrowed(_)));
    }

    #[test]
    fn too_many_placeholders_are_refused() {
        assert_eq!(number(&b"?,".repeat(65_535)).unwrap().params, 65_535);
        assert!(number(&b"?,".repeat(65_536)).is_err());
        assert!(number(b"SELECT $65536").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_scanned(sql in "[?'\"$aeE1 \\\\/*\n-]{0,40}") {
            let statement = number(sql.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            prop_assert!(statement.params <= sql.len() || sql.contains('$'));
        }

        #[test]
        fn scanning_numbered_text_finds_the_same_count(sql in "[?'aeE ,()\\\\\n-]{0,40}") {
            let statement = number(sql.as_bytes()).unwrap();
            prop_assert_eq!(number(&statement.sql).unwrap().params, statement.params);
        }
    }
}
