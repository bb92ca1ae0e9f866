//! Which statements of a connection are there to change rows, by their first word.

use dyno_core::db::StatementId;

/// What begins a statement that changes rows, and MySQL's that does nothing.
const WORDS: [&[u8]; 6] = [b"UPDATE", b"DELETE", b"INSERT", b"REPLACE", b"MERGE", b"DO"];

/// A connection's statements that are to change rows, and the one under way.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Of the prepared ones, if any; ascending. In a box, since sessions are many and small.
    #[allow(clippy::box_collection)]
    prepared: Option<Box<Vec<StatementId>>>,
    under_way: UnderWay,
}

#[derive(Clone, Copy, Debug, Default)]
enum UnderWay {
    /// None that is known.
    #[default]
    Other,
    /// One in text that is to change rows.
    Text,
    /// An execution.
    Prepared(StatementId),
    /// One is being prepared that is to change rows.
    Prepares,
}

impl Changes {
    /// A statement in text is sent.
    #[inline]
    pub(crate) fn query(&mut self, sql: &[u8]) {
        self.under_way = match changes_rows(sql) {
            true => UnderWay::Text,
            false => UnderWay::Other,
        };
    }

    /// A prepared one is executed.
    #[inline]
    pub(crate) fn execute(&mut self, statement: StatementId) {
        self.under_way = UnderWay::Prepared(statement);
    }

    /// One is to be prepared.
    pub(crate) fn prepare(&mut self, sql: &[u8]) {
        self.under_way = match changes_rows(sql) {
            true => UnderWay::Prepares,
            false => UnderWay::Other,
        };
    }

    /// Something else is done.
    pub(crate) fn other(&mut self) {
        self.under_way = UnderWay::Other;
    }

    /// It was prepared.
    pub(crate) fn prepared(&mut self, statement: StatementId) {
        if !matches!(self.under_way, UnderWay::Prepares) {
            return;
        }
        let prepared = self.prepared.get_or_insert_default();
        if let Err(place) = prepared.binary_search(&statement) {
            prepared.insert(place, statement);
        }
    }

    /// Whether the one that has ended was to change rows.
    pub(crate) fn was_one(&self) -> bool {
        match self.under_way {
            UnderWay::Text => true,
            UnderWay::Prepared(statement) => (self.prepared.as_ref())
                .is_some_and(|prepared| prepared.binary_search(&statement).is_ok()),
            UnderWay::Other | UnderWay::Prepares => false,
        }
    }
}

/// PostgreSQL's DO is followed by a text, and may do anything.
fn changes_rows(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii_start();
    let length = sql.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let (word, rest) = sql.split_at(length.count());
    let known = WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    let rest = rest.trim_ascii_start();
    let language = b"LANGUAGE";
    let is_block = rest.starts_with(b"$")
        || rest.starts_with(b"'")
        || (rest.get(..language.len())).is_some_and(|begin| begin.eq_ignore_ascii_case(language));
    known && !(is_block && word.len() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_rows_are_known_by_their_first_word() {
        for sql in [
            "UPDATE t SET x = 1",
            " delete from t",
            "INSERT INTO t VALUES (1)",
            "REPLACE t VALUES (1)",
            "DO 1",
            "do sleep(1)",
        ] {
            assert!(changes_rows(sql.as_bytes()), "{sql}");
        }
        for sql in [
            "",
            "BEGIN",
            "COMMIT",
            "SET x = 1",
            "SELECT 1",
            "CALL pay(7)",
            "DO $$ BEGIN END $$",
            "DO LANGUAGE plpgsql 'BEGIN END'",
            "DOUBLE",
            "CREATE TABLE t (x INT)",
        ] {
            assert!(!changes_rows(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn prepared_ones_are_known_by_their_number() {
        let mut own = Changes::default();
        for (number, sql) in [
            (1, "SELECT 1"),
            (3, "UPDATE t SET x = 1"),
            (2, "DELETE FROM t"),
        ] {
            own.prepare(sql.as_bytes());
            own.prepared(number);
            assert!(!own.was_one());
        }
        for (number, expected) in [(1, false), (2, true), (3, true), (4, false)] {
            own.execute(number);
            assert_eq!(own.was_one(), expected, "{number}");
        }
        own.query(b"COMMIT");
        assert!(!own.was_one());
        own.query(b"UPDATE t SET x = 2");
        assert!(own.was_one());
        own.other();
        assert!(!own.was_one());
    }
}
