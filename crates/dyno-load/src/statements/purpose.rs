//! Recognises by their first words statements that change rows or end transactions.

use dyno_core::db::StatementId;

use super::comments::comment;
use super::shapes::OwnShapes;

/// First words of statements that change rows, and MySQL's DO.
const CHANGES: [&[u8]; 6] = [b"UPDATE", b"DELETE", b"INSERT", b"REPLACE", b"MERGE", b"DO"];

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Change rows.
    Change,
    /// Commit.
    Commit,
    /// Roll back.
    Rollback,
    /// Roll back to a savepoint.
    RollbackToSavepoint,
}

/// What the statements of a connection do, and which one is in progress.
#[derive(Debug, Default)]
pub(crate) struct Purposes {
    /// Boxed, because there are many sessions and each should be small.
    known: Option<Box<Known>>,
    under_way: UnderWay,
}

#[derive(Debug, Default)]
struct Known {
    /// The prepared statements with a known purpose, in ascending order.
    prepared: Vec<(StatementId, Purpose)>,
    /// The shapes of prepared statements, if figures are recorded.
    shapes: OwnShapes,
    /// Statements queued in a pipeline.
    piped: Vec<UnderWay>,
}

#[derive(Clone, Copy, Debug, Default)]
enum UnderWay {
    /// It has no known purpose.
    #[default]
    Other,
    /// A text statement.
    Text(Purpose),
    /// The execution of a prepared statement.
    Prepared(StatementId),
    /// A statement being prepared.
    Prepares(Purpose),
}

impl Purposes {
    #[inline]
    pub(crate) fn query(&mut self, sql: &[u8]) {
        self.under_way = purpose_of(sql).map_or(UnderWay::Other, UnderWay::Text);
    }

    #[inline]
    pub(crate) fn execute(&mut self, statement: StatementId) {
        self.under_way = UnderWay::Prepared(statement);
    }

    pub(crate) fn prepare(&mut self, sql: &[u8]) {
        self.under_way = purpose_of(sql).map_or(UnderWay::Other, UnderWay::Prepares);
    }

    /// The driver begins or ends a transaction.
    pub(crate) fn ends(&mut self, purpose: Option<Purpose>) {
        self.under_way = purpose.map_or(UnderWay::Other, UnderWay::Text);
    }

    /// Queues the current statement in a pipeline.
    pub(crate) fn pipe(&mut self) {
        let under_way = self.under_way;
        self.known.get_or_insert_default().piped.push(under_way);
    }

    /// The purpose of a statement in the pipeline that has finished.
    pub(crate) fn piped(&self, index: usize) -> Option<Purpose> {
        self.of(*self.known.as_ref()?.piped.get(index)?)
    }

    pub(crate) fn forget_piped(&mut self) {
        if let Some(known) = &mut self.known {
            known.piped.clear();
            known.shapes.forget_piped();
        }
    }

    pub(crate) fn shapes(&mut self) -> &mut OwnShapes {
        &mut self.known.get_or_insert_default().shapes
    }

    pub(crate) fn prepared(&mut self, statement: StatementId) {
        let UnderWay::Prepares(purpose) = self.under_way else {
            return;
        };
        let prepared = &mut self.known.get_or_insert_default().prepared;
        match prepared.binary_search_by_key(&statement, |(number, _)| *number) {
            Ok(place) => prepared[place].1 = purpose,
            Err(place) => prepared.insert(place, (statement, purpose)),
        }
    }

    /// The purpose of the statement that has ended.
    pub(crate) fn ended(&self) -> Option<Purpose> {
        self.of(self.under_way)
    }

    #[inline]
    fn of(&self, statement: UnderWay) -> Option<Purpose> {
        match statement {
            UnderWay::Text(purpose) => Some(purpose),
            UnderWay::Prepared(statement) => {
                let prepared = &self.known.as_ref()?.prepared;
                let place = prepared.binary_search_by_key(&statement, |(number, _)| *number);
                Some(prepared[place.ok()?].1)
            }
            UnderWay::Other | UnderWay::Prepares(_) => None,
        }
    }
}

fn purpose_of(sql: &[u8]) -> Option<Purpose> {
    let (word, rest) = first_word(sql);
    let is = |known: &[u8]| word.eq_ignore_ascii_case(known);
    if is(b"COMMIT") || is(b"END") {
        return Some(Purpose::Commit);
    }
    if is(b"ROLLBACK") || is(b"ABORT") {
        let (next, rest) = first_word(rest);
        let noise = [&b"WORK"[..], b"TRANSACTION"];
        let next = match noise.iter().any(|noise| next.eq_ignore_ascii_case(noise)) {
            true => first_word(rest).0,
            false => next,
        };
        return Some(match next.eq_ignore_ascii_case(b"TO") {
            true => Purpose::RollbackToSavepoint,
            false => Purpose::Rollback,
        });
    }
    let changes = CHANGES.iter().any(|known| is(known));
    (changes && !(is(b"DO") && is_block(rest))).then_some(Purpose::Change)
}

/// The first word and what follows it.
fn first_word(sql: &[u8]) -> (&[u8], &[u8]) {
    let mut sql = sql.trim_ascii_start();
    while let Some(length) = comment(sql) {
        sql = sql[length..].trim_ascii_start();
    }
    let length = sql.iter().take_while(|byte| byte.is_ascii_alphabetic());
    sql.split_at(length.count())
}

/// PostgreSQL's DO is followed by a text, which may do anything.
fn is_block(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    let (word, _) = first_word(rest);
    rest.starts_with(b"$") || rest.starts_with(b"'") || word.eq_ignore_ascii_case(b"LANGUAGE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_first_words() {
        for (sql, expected) in [
            ("UPDATE t SET x = 1", Some(Purpose::Change)),
            (" delete from t", Some(Purpose::Change)),
            ("INSERT INTO t VALUES (1)", Some(Purpose::Change)),
            ("REPLACE t VALUES (1)", Some(Purpose::Change)),
            ("DO 1", Some(Purpose::Change)),
            ("/* 7 */ -- 8\n UPDATE t SET x = 1", Some(Purpose::Change)),
            ("do sleep(1)", Some(Purpose::Change)),
            ("COMMIT", Some(Purpose::Commit)),
            ("end", Some(Purpose::Commit)),
            ("Rollback", Some(Purpose::Rollback)),
            ("ROLLBACK WORK", Some(Purpose::Rollback)),
            ("ROLLBACK TO a", Some(Purpose::RollbackToSavepoint)),
            (
                "ROLLBACK WORK TO SAVEPOINT a",
                Some(Purpose::RollbackToSavepoint),
            ),
            ("", None),
            ("BEGIN", None),
            ("SET x = 1", None),
            ("SELECT 1", None),
            ("CALL pay(7)", None),
            ("DO $$ BEGIN END $$", None),
            ("DO LANGUAGE plpgsql 'BEGIN END'", None),
            ("DOUBLE", None),
            ("CREATE TABLE t (x INT)", None),
        ] {
            assert_eq!(purpose_of(sql.as_bytes()), expected, "{sql}");
        }
    }

    #[test]
    fn prepared_ones_are_known_by_their_number() {
        let mut own = Purposes::default();
        for (number, sql) in [(1, "SELECT 1"), (3, "UPDATE t SET x = 1"), (2, "COMMIT")] {
            own.prepare(sql.as_bytes());
            own.prepared(number);
            assert_eq!(own.ended(), None);
        }
        for (number, expected) in [
            (1, None),
            (2, Some(Purpose::Commit)),
            (3, Some(Purpose::Change)),
            (4, None),
        ] {
            own.execute(number);
            assert_eq!(own.ended(), expected, "{number}");
        }
        own.query(b"BEGIN");
        assert_eq!(own.ended(), None);
        own.query(b"UPDATE t SET x = 2");
        assert_eq!(own.ended(), Some(Purpose::Change));
        own.ends(Some(Purpose::Rollback));
        assert_eq!(own.ended(), Some(Purpose::Rollback));
        own.ends(None);
        assert_eq!(own.ended(), None);
    }
}
