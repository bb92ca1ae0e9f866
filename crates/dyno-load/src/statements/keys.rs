//! Determines from the text of a statement how it chooses the rows that it reads or changes.

use super::names::names;

/// Only this many bytes of a statement are examined.
const BYTES_MAX: usize = 4_096;

/// How a statement chooses its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rows {
    /// It chooses none, such as an INSERT with values.
    #[default]
    None,
    /// The text and the parameters choose them: the same text and parameters give the same rows.
    ByText,
    /// A function, a variable, or the result of other statements chooses them: the same text may
    /// give other rows each time.
    Drawn,
}

/// Words that may come before a parenthesis, and deterministic functions.
#[rustfmt::skip]
const NOT_DRAWN: [&str; 91] = [
    "all", "and", "any", "array", "as", "between", "by", "case", "conflict", "distinct", "div",
    "else", "except", "exists", "filter", "for", "from", "group", "having", "in", "index",
    "intersect", "interval", "into", "is", "join", "key", "lateral", "like", "limit",
    "materialized", "not", "offset", "on", "only", "or", "over", "partition", "returning", "row",
    "select", "set", "some", "then", "union", "using", "values", "when", "where", "xor", "bigint",
    "binary", "char", "decimal", "int", "integer", "numeric", "text", "varchar", "abs", "avg",
    "cast", "ceil", "ceiling", "coalesce", "concat", "convert", "count", "floor", "greatest",
    "group_concat", "ifnull", "least", "left", "length", "char_length", "lower", "max", "min",
    "mod", "nullif", "replace", "right", "round", "string_agg", "substr", "substring", "sum",
    "total", "trim", "upper",
];
/// Words without parentheses that have a different value each time.
const DRAWN: [&str; 7] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "rownum",
    "skip",
];
/// Words by which a change chooses existing rows, so that the next change finds others.
const OF_WHAT_IS_LEFT: [&str; 2] = ["limit", "select"];

impl Rows {
    /// Examines a statement without its comments. Allocates nothing for valid text, because it runs
    /// for every statement.
    pub(super) fn of(sql: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&sql[..sql.len().min(BYTES_MAX)]);
        let is =
            |word: &str, known: &[&str]| known.iter().any(|one| word.eq_ignore_ascii_case(one));
        let mut words = names(&text).peekable();
        let first = words.next().unwrap_or_default();
        let (inserts, changes) = (
            is(first, &["insert"]),
            is(first, &["update", "delete", "replace"]),
        );
        let reads = is(first, &["select", "with", "table", "values", "merge"]);
        if is(first, &["call", "do", "execute"]) {
            return Self::Drawn;
        }
        if !reads && !inserts && !changes && !is(first, &["set"]) {
            return Self::None;
        }
        // A parenthesis after the table of an INSERT contains its columns.
        let mut in_head = inserts || is(first, &["replace"]);
        let mut names_rows = changes || is(first, &["table", "merge"]);
        while let Some(word) = words.next() {
            in_head &= !is(word, &["values", "value", "select", "set", "default"]);
            let calls = !in_head && is_called(&text, word) && !is(word, &NOT_DRAWN);
            let of_sequence =
                is(word, &["next"]) && words.peek().is_some_and(|next| is(next, &["value"]));
            let of_what_is_left = changes && is(word, &OF_WHAT_IS_LEFT);
            if calls
                || of_sequence
                || of_what_is_left
                || is(word, &DRAWN)
                || is_variable(&text, word)
            {
                return Self::Drawn;
            }
            // `ON CONFLICT` and `ON DUPLICATE KEY` choose the existing row.
            names_rows |= match inserts {
                true => is(word, &["select", "conflict", "duplicate"]),
                false => is(word, &["from"]),
            };
        }
        match names_rows {
            true => Self::ByText,
            false => Self::None,
        }
    }
}

/// Whether a parenthesis follows a word of the text.
fn is_called(text: &str, word: &str) -> bool {
    let end = start_of(text, word) + word.len();
    let rest = text[end..].trim_start_matches(['`', '"']);
    rest.trim_start().starts_with('(')
}

/// Whether a word of the text is a variable's name: `@id`, `@@session.x`.
fn is_variable(text: &str, word: &str) -> bool {
    text[..start_of(text, word)].ends_with('@')
}

fn start_of(text: &str, word: &str) -> usize {
    word.as_ptr() as usize - text.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_choose_their_rows_by_text_are_known() {
        for (sql, expected) in [
            ("SELECT c FROM t WHERE id = 1", Rows::ByText),
            (
                "select sum(k) from t where id between 1 and 9",
                Rows::ByText,
            ),
            (
                "SELECT c FROM t WHERE (a) IN (1, 2) AND (b = 'f(x)')",
                Rows::ByText,
            ),
            (
                "WITH a AS (SELECT 1) SELECT * FROM a JOIN t USING (id)",
                Rows::ByText,
            ),
            ("UPDATE t SET k = k + 1 WHERE id = 1", Rows::ByText),
            ("DELETE FROM t WHERE id = 1", Rows::ByText),
            ("REPLACE INTO t (id, c) VALUES (1, 'x')", Rows::ByText),
            (
                "INSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET k = 1",
                Rows::ByText,
            ),
            (
                "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE k = VALUES(k)",
                Rows::ByText,
            ),
            ("INSERT INTO t (id) SELECT id FROM u", Rows::ByText),
            ("INSERT INTO t (id) VALUES (1), (2)", Rows::None),
            ("INSERT INTO s.\"t\" DEFAULT VALUES", Rows::None),
            ("INSERT t SET id = 1", Rows::None),
            ("SELECT 1", Rows::None),
            ("SELECT 'a row FROM t'", Rows::None),
            ("BEGIN", Rows::None),
            ("COMMIT", Rows::None),
            ("CREATE TABLE t (id INT)", Rows::None),
            ("SET x = 1", Rows::None),
            ("", Rows::None),
            ("select f(1 + (random() * 19000)::int)", Rows::Drawn),
            (
                "SELECT c FROM t WHERE id = floor(rand() * 100)",
                Rows::Drawn,
            ),
            ("SELECT c FROM t WHERE at > now () - 5", Rows::Drawn),
            ("SELECT c FROM t WHERE at > CURRENT_TIMESTAMP", Rows::Drawn),
            ("SELECT * FROM \"f\"(7)", Rows::Drawn),
            ("SELECT c FROM t TABLESAMPLE SYSTEM (1)", Rows::Drawn),
            ("SELECT c FROM t WHERE id = @id", Rows::Drawn),
            ("SET @id = floor(rand() * 100)", Rows::Drawn),
            (
                "SELECT c FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
                Rows::Drawn,
            ),
            ("UPDATE t SET k = nextval('s') WHERE id = 1", Rows::Drawn),
            ("INSERT INTO t VALUES (NEXT VALUE FOR s)", Rows::Drawn),
            ("INSERT INTO t (id) VALUES (uuid())", Rows::Drawn),
            ("DELETE FROM q ORDER BY id LIMIT 1", Rows::Drawn),
            (
                "UPDATE q SET k = 1 WHERE id = (SELECT min(id) FROM q)",
                Rows::Drawn,
            ),
            ("CALL pay", Rows::Drawn),
            ("DO $$ BEGIN END $$", Rows::Drawn),
        ] {
            assert_eq!(Rows::of(sql.as_bytes()), expected, "{sql}");
        }
    }
}
