//! Just enough SQL to choose a canned answer.

use std::cell::Cell;

/// The text in every wide row: 119 characters, like a row of the usual test table.
pub(crate) const CELL: &[u8; 119] = b"68487932199-96439406143-93774651418-41631865787-96406072701-\
20604855487-25459966574-28203206787-41238978918-19503783441";

/// The value of every other cell, which is a valid number and an existing key.
pub(crate) const NARROW: &[u8] = b"1";

const COLUMNS_MAX: u16 = 200;

/// The kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One row.
    Select,
    /// A row with the server's variables, one column each.
    Variables,
    /// A number of rows.
    Count,
    /// The query by which a client tests whether `$$` quotes. This server answers that it does not.
    DollarQuote,
    /// Insert this many rows.
    Insert,
    /// Change or delete one row.
    Change,
    /// Load a file that the client sends.
    Load,
    /// Begin a transaction.
    Begin,
    /// End a transaction.
    End,
    /// Create or drop a table, which resets the count of loaded rows.
    Table,
    /// SHOW.
    Show,
    /// Any other statement.
    Other,
    /// An empty statement.
    Empty,
}

/// How many rows were loaded since the last table was created. This is the answer to a count, so
/// that a load can be verified.
#[derive(Default)]
pub(crate) struct Loaded(Cell<u64>);

impl Loaded {
    pub(crate) fn add(&self, rows: u64) {
        self.0.set(self.0.get() + rows);
    }

    pub(crate) fn reset(&self) {
        self.0.set(0);
    }

    /// The answer to `count(*)`. If nothing was loaded it is 1, the size of every table here.
    pub(crate) fn count(&self) -> u64 {
        self.0.get().max(1)
    }
}

/// The kind of a statement, from its first word or a little more.
pub(crate) fn kind_of(sql: &[u8]) -> Kind {
    let sql = sql.trim_ascii_start();
    let starts = |word: &str| {
        sql.get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
    };
    match sql.first().map(u8::to_ascii_lowercase) {
        None | Some(b';') => Kind::Empty,
        Some(b'c') if starts("create table") => Kind::Table,
        Some(b'd') if starts("drop table") => Kind::Table,
        Some(b's') if starts("select") => kind_of_select(sql),
        Some(b's') if starts("show") => Kind::Show,
        Some(b's') if starts("start") => Kind::Begin,
        Some(b'b') if starts("begin") => Kind::Begin,
        Some(b'c') if starts("commit") => Kind::End,
        Some(b'e') if starts("end") => Kind::End,
        Some(b'r') if starts("rollback") => Kind::End,
        Some(b'i') if starts("insert") => Kind::Insert,
        Some(b'r') if starts("replace") => Kind::Insert,
        Some(b'u') if starts("update") => Kind::Change,
        Some(b'd') if starts("delete") => Kind::Change,
        Some(b'l') if starts("load data local") => Kind::Load,
        Some(b'c') if starts("copy") && contains(sql, b"from stdin") => Kind::Load,
        _ => Kind::Other,
    }
}

/// The rows of an `INSERT`, which are the groups in parentheses after `VALUES`.
pub(crate) fn inserted_rows(sql: &[u8]) -> u64 {
    let Some(values) = find(sql, b"values") else {
        return 1;
    };
    let (mut rows, mut depth, mut quoted, mut escaped) = (0, 0u32, false, false);
    for &byte in &sql[values..] {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'\'' => quoted = !quoted,
            _ if quoted => {}
            b'(' => {
                rows += u64::from(depth == 0);
                depth += 1;
            }
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    rows
}

/// The number of narrow columns that a `SELECT` returns. 0 stands for the wide column of the usual
/// test table, which is recognised by its name.
pub(crate) fn narrow_columns(sql: &[u8]) -> u16 {
    let sql = sql.trim_ascii_start();
    let list = sql.get("select".len()..).unwrap_or_default();
    let (mut depth, mut columns, mut end) = (0_u32, 1_u16, list.len());
    for (at, byte) in list.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => columns = columns.saturating_add(1),
            b' ' if depth == 0 && starts_with(&list[at..], b" from ") => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let head = list[..end].trim_ascii();
    let head = match starts_with(head, b"distinct ") {
        true => head["distinct ".len()..].trim_ascii(),
        false => head,
    };
    match head {
        b"c" | b"C" | b"pad" | b"*" => 0,
        _ => columns.min(COLUMNS_MAX),
    }
}

fn starts_with(text: &[u8], lower: &[u8]) -> bool {
    let head = text.get(..lower.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(lower))
}

/// The number of line ends in `bytes`, which are the rows of a file.
pub(crate) fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The number of `?` outside of quotes.
pub(crate) fn question_marks(sql: &[u8]) -> u16 {
    let (mut count, mut quote) = (0, None);
    for &byte in sql {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if matches!(byte, b'\'' | b'"' | b'`') => quote = Some(byte),
            None => count += u16::from(byte == b'?'),
        }
    }
    count
}

/// The highest `$n` in a statement.
pub(crate) fn highest_dollar(sql: &[u8]) -> u16 {
    let mut highest = 0;
    for (at, _) in sql.iter().enumerate().filter(|(_, byte)| **byte == b'$') {
        let digits = sql[at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0u16, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(u16::from(digit - b'0'))
        });
        highest = highest.max(number);
    }
    highest
}

/// The items of a `SELECT` for variables, with their values.
pub(crate) fn variables(sql: &[u8]) -> impl Iterator<Item = (&[u8], &'static [u8])> {
    const VALUES: &[(&[u8], &[u8])] = &[
        (b"max_allowed_packet", b"16777216"),
        (b"version_comment", b"null-server"),
        (b"version", b"10.11.0-MariaDB-null"),
        (b"wait_timeout", b"28800"),
        (b"socket", b""),
        (b"sql_mode", b""),
        (b"isolation", b"REPEATABLE-READ"),
        (b"database", b"sbtest"),
    ];
    let sql = sql.trim_ascii_start();
    let list = sql.get("select".len()..).unwrap_or_default();
    let end = find(list, b" limit ").unwrap_or(list.len());
    list[..end].split(|byte| *byte == b',').map(|item| {
        let item = item.trim_ascii();
        let known = VALUES.iter().find(|(name, _)| contains(item, name));
        (item, known.map_or(b"1".as_slice(), |(_, value)| value))
    })
}

/// The file that a `LOAD DATA LOCAL` names, which is its first quoted text.
pub(crate) fn file_name(sql: &[u8]) -> &[u8] {
    sql.split(|byte| matches!(byte, b'\'' | b'"'))
        .nth(1)
        .unwrap_or_default()
}

fn kind_of_select(sql: &[u8]) -> Kind {
    let head = &sql[..sql.len().min(32)];
    let has = |lower: &[u8]| contains(head, lower);
    if has(b"@@") || has(b"version()") || has(b"database()") {
        Kind::Variables
    } else if has(b"count(*)") {
        Kind::Count
    } else if has(b"$$") {
        Kind::DollarQuote
    } else {
        Kind::Select
    }
}

fn contains(text: &[u8], lower: &[u8]) -> bool {
    find(text, lower).is_some()
}

fn find(text: &[u8], lower: &[u8]) -> Option<usize> {
    text.windows(lower.len())
        .position(|window| window.eq_ignore_ascii_case(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_determines_the_kind() {
        assert_eq!(kind_of(b" SELECT c FROM sbtest1 WHERE id=?"), Kind::Select);
        assert_eq!(
            kind_of(b"select @@version_comment limit 1"),
            Kind::Variables
        );
        assert_eq!(kind_of(b"INSERT INTO t VALUES (1)"), Kind::Insert);
        assert_eq!(kind_of(b"COPY t FROM STDIN"), Kind::Load);
        assert_eq!(
            kind_of(b"copy t (id, k) from stdin with (format csv)"),
            Kind::Load
        );
        assert_eq!(
            kind_of(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"),
            Kind::Load
        );
        assert_eq!(kind_of(b"BEGIN"), Kind::Begin);
        assert_eq!(kind_of(b"set names utf8"), Kind::Other);
        assert_eq!(kind_of(b"  "), Kind::Empty);
        assert_eq!(kind_of(b"DROP TABLE IF EXISTS t"), Kind::Table);
        assert_eq!(kind_of(b"select count(*) from t"), Kind::Count);
        assert_eq!(
            file_name(b"LOAD DATA LOCAL INFILE '/tmp/x' INTO TABLE t"),
            b"/tmp/x"
        );
    }

    #[test]
    fn rows_and_parameters_are_counted_outside_of_quotes() {
        assert_eq!(
            inserted_rows(b"INSERT INTO t(a, b) VALUES (1,'(x'),(2,'it\\'s ('),(f(3),'')"),
            3
        );
        assert_eq!(
            question_marks(b"UPDATE t SET c='?' WHERE id=? AND `?`=?"),
            2
        );
        assert_eq!(highest_dollar(b"SELECT $1, $12, $2"), 12);
    }

    #[test]
    fn columns_are_counted_to_from_and_outside_of_parentheses() {
        let cases: [(&[u8], u16); 8] = [
            (b"SELECT c FROM sbtest1 WHERE id=?", 0),
            (b"select distinct c from sbtest1 order by c", 0),
            (b"SELECT k FROM t", 1),
            (b"SELECT SUM(k) FROM t", 1),
            (b"SELECT a, b,c FROM t WHERE x IN (1, 2)", 3),
            (
                b"SELECT COALESCE(SUM(a), 0), (SELECT x, y FROM u) FROM t",
                2,
            ),
            (b"SELECT 1", 1),
            (b"SELECT", 1),
        ];
        for (sql, columns) in cases {
            assert_eq!(
                narrow_columns(sql),
                columns,
                "{}",
                String::from_utf8_lossy(sql)
            );
        }
    }

    #[test]
    fn variables_have_a_value_each() {
        let found: Vec<_> = variables(b"SELECT @@max_allowed_packet, @@x LIMIT 1").collect();
        assert_eq!(
            found,
            [
                (b"@@max_allowed_packet".as_slice(), b"16777216".as_slice()),
                (b"@@x".as_slice(), b"1".as_slice())
            ]
        );
    }
}
