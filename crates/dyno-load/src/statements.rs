//! A sample of the statements: whether they differ, in text or parameters, and which names they
//! contain. Also counts, over all statements, those that changed nothing or ended transactions, and
//! the transactions that ended.

mod comments;
mod examples;
mod keys;
mod literals;
mod names;
mod purpose;
mod settings;
mod shapes;
mod temporary;
mod values;

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use dyno_core::db::{EndedTransactions, Param, ParamValue, StatementId};
use serde::{Deserialize, Serialize};

pub use examples::is_single;
use keys::Rows;
pub use literals::{Literals, comparable, shape};
use names::Names;
pub(crate) use purpose::{Purpose, Purposes};
use settings::Settings;
pub use shapes::ShapeFigures;
pub(crate) use shapes::Shapes;
use temporary::Temporary;

/// A worker examines its first statements up to this number.
const FIRST: u32 = 1_024;
/// Then one in this many.
const EVERY: u32 = 256;
/// With this many different statements there is no need to examine more.
const DIFFERENT_MAX: usize = 1_024;
/// Maximum number of prepared statements that are read for names: each session has its own.
const PREPARED_MAX: u32 = 20_000;

/// The examined statements.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    seen: u32,
    looked_at: u64,
    /// How many choose rows by their text, and how many draw them.
    by_text: u64,
    drawn: u64,
    /// Of their texts or their parameters.
    hashes: HashSet<u64>,
    prepared: u32,
    /// The same for all prepared statements: an execution cannot be assigned to its statement, so
    /// one that draws its rows counts for all.
    executes: Rows,
    names: Names,
    temporary: Temporary,
    settings: Settings,
    ended: Ended,
    /// The figures of each shape, if requested.
    pub(crate) shapes: Option<Box<Shapes>>,
}

/// How much statements differed, and what they changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementFacts {
    /// Examined statements, in text or prepared.
    pub looked_at: u64,
    /// Different ones among them.
    pub different: u64,
    /// Those that choose their rows by text and parameters.
    #[serde(default)]
    pub by_text: u64,
    /// Statements that call functions or use variables, and so may choose other rows each time.
    #[serde(default)]
    pub drawn: u64,
    /// Of all in the measurement.
    pub ended: Ended,
    /// Temporary tables that statements created and changed, by name.
    pub temporary: Vec<String>,
    /// Whether no other table was changed.
    pub only_temporary: bool,
    /// Settings that statements changed for their session, with their values in lower case.
    #[serde(default)]
    pub settings: Vec<(String, Vec<String>)>,
    /// Whether one attached a file to an embedded database.
    #[serde(default)]
    pub attaches: bool,
}

/// Statements of the measurement, by their first words, and the transactions that they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Those that should change rows but changed none.
    pub without_effect: u64,
    /// COMMIT, and END.
    pub commits: u64,
    /// ROLLBACK.
    pub rollbacks: u64,
    /// ROLLBACK TO a savepoint.
    pub rollbacks_to_savepoint: u64,
    /// Transactions that ended, by the server's answers. 0 if the driver does not count them.
    #[serde(default)]
    pub transactions: u64,
    /// Further ones that the answers do not rule out.
    #[serde(default)]
    pub transactions_possible: u64,
}

impl Statements {
    /// `shapes` is the SQL syntax of values, if figures per statement shape are kept.
    pub(crate) fn new(shapes: Option<Literals>) -> Self {
        Self {
            shapes: shapes.map(|literals| Box::new(Shapes::new(literals))),
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn query(&mut self, sql: &[u8]) {
        if settings::sets(sql) {
            self.settings.note(sql);
        }
        if self.is_next() {
            self.text(sql);
        }
    }

    #[cold]
    fn text(&mut self, sql: &[u8]) {
        // Comments and spaces do not make a different statement.
        let bare = comments::stripped(sql);
        self.names.note(&bare);
        self.temporary.note(&bare);
        // A SET may follow another statement, or a comment.
        self.settings.note(&bare);
        self.look(Rows::of(&bare), |hasher| bare.hash(hasher));
    }

    pub(crate) fn prepare(&mut self, sql: &[u8]) {
        self.prepared = self.prepared.saturating_add(1);
        if settings::sets(sql) {
            self.settings.note(sql);
        }
        if self.prepared <= PREPARED_MAX {
            let bare = comments::stripped(sql);
            self.names.note(&bare);
            self.temporary.note(&bare);
            // A SET may follow a comment.
            self.settings.note(&bare);
            self.executes = self.executes.max(Rows::of(&bare));
        }
    }

    /// The execution of a prepared statement. With parameters, the statement itself does not
    /// matter: each session has its own. Without parameters, sessions number theirs alike.
    #[inline]
    pub(crate) fn execute(&mut self, statement: StatementId, params: &[&Param]) {
        if self.is_next() {
            self.look(self.executes, |hasher| {
                if params.is_empty() {
                    statement.hash(hasher);
                }
                for param in params {
                    match param.value() {
                        ParamValue::Null => 0_u8.hash(hasher),
                        ParamValue::Int(value) => value.hash(hasher),
                        ParamValue::Double(value) => value.to_bits().hash(hasher),
                        ParamValue::Bytes(bytes) => bytes.hash(hasher),
                    }
                }
            });
        }
    }

    /// A statement ended that neither found nor changed rows.
    #[inline]
    pub(crate) fn ended(&mut self, purpose: Purpose) {
        let count = match purpose {
            Purpose::Change => &mut self.ended.without_effect,
            Purpose::Commit => &mut self.ended.commits,
            Purpose::Rollback => &mut self.ended.rollbacks,
            Purpose::RollbackToSavepoint => &mut self.ended.rollbacks_to_savepoint,
        };
        *count += 1;
    }

    /// An operation ended transactions.
    #[inline]
    pub(crate) fn transactions(&mut self, ended: EndedTransactions) {
        self.ended.transactions += u64::from(ended.certain);
        self.ended.transactions_possible += u64::from(ended.possible);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.looked_at += other.looked_at;
        self.by_text += other.by_text;
        self.drawn += other.drawn;
        self.hashes.extend(other.hashes);
        self.names.merge(other.names);
        self.temporary.merge(other.temporary);
        self.settings.merge(other.settings);
        self.ended.without_effect += other.ended.without_effect;
        self.ended.commits += other.ended.commits;
        self.ended.rollbacks += other.ended.rollbacks;
        self.ended.rollbacks_to_savepoint += other.ended.rollbacks_to_savepoint;
        self.ended.transactions += other.ended.transactions;
        self.ended.transactions_possible += other.ended.transactions_possible;
        if let Some(theirs) = other.shapes {
            self.shapes.get_or_insert_default().merge(*theirs);
        }
    }

    /// The names they contain; `None` if incomplete.
    pub(crate) fn names(self) -> Option<BTreeSet<Box<str>>> {
        self.names.all()
    }

    pub(crate) fn facts(&self) -> StatementFacts {
        let (temporary, only_temporary) = self.temporary.changed();
        StatementFacts {
            looked_at: self.looked_at,
            different: self.hashes.len() as u64,
            by_text: self.by_text,
            drawn: self.drawn,
            ended: self.ended,
            temporary,
            only_temporary,
            settings: self.settings.all().collect(),
            attaches: self.settings.attaches(),
        }
    }

    #[inline]
    fn is_next(&mut self) -> bool {
        self.seen = self.seen.wrapping_add(1);
        self.seen <= FIRST || self.seen.is_multiple_of(EVERY)
    }

    #[cold]
    fn look(&mut self, rows: Rows, what: impl FnOnce(&mut DefaultHasher)) {
        if self.hashes.len() >= DIFFERENT_MAX {
            return;
        }
        let mut hasher = DefaultHasher::new();
        what(&mut hasher);
        self.looked_at += 1;
        match rows {
            Rows::ByText => self.by_text += 1,
            Rows::Drawn => self.drawn += 1,
            Rows::None => {}
        }
        self.hashes.insert(hasher.finish());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_texts_and_parameters() {
        let mut own = Statements::default();
        for round in 0..2_000 {
            own.query(b"SELECT c FROM t WHERE id = 1");
            own.query(format!("SELECT c FROM t WHERE id = {}", round % 3).as_bytes());
        }
        assert_eq!(own.facts().different, 3);
        let mut other = Statements::default();
        let mut param = Param::int(0);
        for id in 0..100 {
            param.int = id % 5;
            other.execute(StatementId::default(), &[&param]);
            other.execute(StatementId::default(), &[]);
        }
        let expected = StatementFacts {
            looked_at: 200,
            different: 6,
            ..StatementFacts::default()
        };
        assert_eq!(other.facts(), expected);
        let looked_at = own.facts().looked_at + 200;
        own.merge(other);
        let both = own.facts();
        assert_eq!((both.looked_at, both.different), (looked_at, 9));
    }

    #[test]
    fn statements_that_choose_rows_by_text_are_counted() {
        let mut own = Statements::default();
        for _ in 0..10 {
            own.query(b"BEGIN");
            own.query(b"SELECT c FROM t WHERE id = 1 -- f(x)");
            own.query(b"INSERT INTO t VALUES (1)");
        }
        let mut other = Statements::default();
        let execute = |own: &mut Statements| own.execute(StatementId::default(), &[]);
        other.prepare(b"UPDATE t SET k = 1 WHERE id = ?");
        other.prepare(b"INSERT INTO t VALUES (?)");
        execute(&mut other);
        other.prepare(b"SELECT f(random())");
        execute(&mut other);
        own.merge(other);
        let found = own.facts();
        assert_eq!((found.looked_at, found.by_text, found.drawn), (32, 11, 1));
    }

    #[test]
    fn comments_make_no_difference() {
        let mut own = Statements::default();
        for id in 0..200 {
            own.query(format!("/* {id} */ SELECT c FROM t WHERE id = 1 -- {id}").as_bytes());
        }
        let found = own.facts();
        assert_eq!((found.looked_at, found.different), (200, 1));
    }

    #[test]
    fn examines_a_limited_number_of_statements() {
        let mut own = Statements::default();
        for id in 0..200_000 {
            own.query(format!("SELECT c FROM t WHERE id = {id}").as_bytes());
        }
        let found = own.facts();
        assert_eq!((found.looked_at, found.different), (1_024, 1_024));
        // Of identical statements, one in many is examined.
        let mut same = Statements::default();
        for _ in 0..(FIRST + 2_560) {
            same.query(b"SELECT 1");
        }
        assert_eq!(same.facts().looked_at, u64::from(FIRST) + 10);
    }

    #[test]
    fn names_of_a_sample_and_of_all_prepared_statements_are_known() {
        let mut own = Statements::default();
        for number in 0..10_000 {
            own.query(format!("SELECT c FROM sbtest{}", number % 10).as_bytes());
        }
        own.query(b"SELECT c FROM late");
        let mut other = Statements::default();
        other.prepare(b"SELECT c FROM prepared");
        own.merge(other);
        let names = own.names().unwrap();
        assert!(names.contains("sbtest9") && names.contains("prepared"));
        assert!(!names.contains("late"));
    }

    #[test]
    fn settings_behind_a_comment_are_known() {
        let text: &[u8] = b"/* app */ SET synchronous_commit = off";
        let (mut own, mut other) = (Statements::default(), Statements::default());
        own.query(text);
        other.prepare(text);
        let expected = [("synchronous_commit".to_owned(), vec!["off".to_owned()])];
        for found in [own.facts(), other.facts()] {
            assert_eq!(found.settings, expected);
        }
    }
}
