//! The tables that the statements of a run named, and whether sessions left transactions open.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dyno_core::catalogue::names;
use dyno_core::record::Fact;
use dyno_core::tables::{TableGroup, groups, label_of, names_in};
use dyno_load::SessionTotals;

const SOURCE: &str = "the run's statements";
/// Statements that use tables without naming them.
const CALLS: [&str; 2] = ["call", "exec"];
/// Words that restrict the rows of a statement, or that find a row by an index.
const RESTRICTING: [&str; 11] = [
    "where", "join", "natural", "on", "using", "having", "limit", "offset", "fetch", "min", "max",
];
/// Words of statements that may change a table's columns or indexes.
const DEFINING: [&str; 4] = ["alter", "create", "drop", "rename"];
/// How observers report an unknown engine, and views.
const UNKNOWN: &str = "unknown";

/// What the observers report about tables, as far as it is needed to recognise their names.
#[derive(Default)]
pub(super) struct ObservedTables {
    tables: Vec<Fact>,
    are_read: bool,
    /// For a name in lower case, the other names that a statement with this name also uses.
    uses: BTreeMap<String, Vec<String>>,
    /// For an engine or a persistence, the tables that have it.
    elsewhere: BTreeMap<String, Vec<String>>,
    unread: Vec<String>,
}

/// The names in statements in lower case, and names that follow from them.
struct Mentioned {
    words: HashSet<String>,
    /// With their schemas, if these are not the target's.
    follow: HashSet<String>,
}

impl Mentioned {
    fn of(words: &BTreeSet<Box<str>>, uses: &BTreeMap<String, Vec<String>>) -> Self {
        let mut mentioned = Self {
            words: words.iter().map(|word| word.to_lowercase()).collect(),
            follow: HashSet::new(),
        };
        loop {
            let used = uses.iter().filter(|(name, _)| mentioned.name(name));
            let used: Vec<String> = used
                .flat_map(|(_, used)| used)
                .map(|name| name.to_lowercase())
                .filter(|name| !mentioned.follow.contains(name))
                .collect();
            if used.is_empty() {
                return mentioned;
            }
            mentioned.follow.extend(used);
        }
    }

    fn word(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Whether a statement uses this name, with its schema if it has one.
    fn name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let in_schema = || {
            let (schema, own) = name.split_once('.')?;
            Some(self.word(schema) && self.word(own))
        };
        self.follow.contains(&name) || self.word(&name) || in_schema().unwrap_or(false)
    }

    /// Whether a statement uses this table, whose schema need not be named.
    fn own(&self, name: &str) -> bool {
        let own = name.rsplit('.').next().unwrap_or(name);
        self.word(&own.to_lowercase()) || self.name(name)
    }
}

impl ObservedTables {
    /// Stores a fact if it is about a table.
    pub(super) fn fact(&mut self, fact: &Fact) {
        if let Some(name) = names::DB_TABLES_USES_EACH.part(&fact.name) {
            // A function may have the same name as a table.
            let used = self.uses.entry(name.to_lowercase()).or_default();
            used.extend(names_in(&fact.value));
        } else if let Some(kind) = names::DB_TABLES_ELSEWHERE_EACH.part(&fact.name) {
            self.elsewhere
                .insert(kind.to_owned(), names_in(&fact.value));
        } else if fact.name == names::DB_TABLES_ELSEWHERE_UNREAD {
            self.unread = names_in(&fact.value);
        }
        self.are_read |= fact.name == names::DB_TABLES_READ;
        let value = match label_of(&fact.name) {
            Some((_, "names")) => fact.value.clone(),
            Some((_, "sha256")) => String::new(),
            _ => return,
        };
        self.tables.push(Fact {
            value,
            ..fact.clone()
        });
    }

    /// The tables that were used, and other objects that were used but not observed, as facts.
    /// Empty if unknown.
    pub(super) fn used(&self, mentions: Option<&BTreeSet<Box<str>>>) -> Vec<Fact> {
        let Some(mentions) = mentions else {
            return Vec::new();
        };
        let mentioned = Mentioned::of(mentions, &self.uses);
        let mut facts = Vec::new();
        if DEFINING.iter().any(|word| mentioned.word(word)) {
            facts.push(Fact::new(names::CLIENT_STATEMENTS_DEFINE, "yes", SOURCE));
        }
        if CALLS.iter().any(|call| mentioned.word(call)) {
            return facts;
        }
        let groups = groups(&self.tables);
        let named = |group: &TableGroup| {
            let names = names_in(&group.names);
            names.iter().filter(|name| mentioned.own(name)).count()
        };
        let counts: Vec<usize> = groups.iter().map(named).collect();
        let named: usize = counts.iter().sum();
        // A statement of a function names that function.
        if named > 0 {
            let yes = |count: usize| if count > 0 { "yes" } else { "no" };
            let used = groups.iter().zip(counts).map(|(group, count)| {
                let name = TableGroup::fact_name(&group.label, "used");
                Fact::new(name, yes(count), SOURCE)
            });
            facts.extend(used);
        }
        // The queries in views and functions are not examined.
        let restrict = RESTRICTING.iter().any(|word| mentioned.word(word));
        if named > 0 && mentioned.word("from") && mentioned.follow.is_empty() && !restrict {
            facts.push(Fact::new(names::CLIENT_STATEMENTS_RESTRICT, "no", SOURCE));
        }
        if self.are_read {
            facts.push(Fact::new(names::DB_TABLES_NAMED, named.to_string(), SOURCE));
            facts.extend(self.others(&mentioned));
        }
        facts
    }

    /// Tables that are not the target's.
    fn others(&self, mentioned: &Mentioned) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut unseen = Vec::new();
        for (kind, names) in &self.elsewhere {
            let used = names.iter().filter(|name| mentioned.name(name));
            let used: Vec<String> = used.cloned().collect();
            if kind == UNKNOWN {
                unseen.extend(used);
            } else if !used.is_empty() {
                let name = names::DB_TABLES_USED_ELSEWHERE_EACH.of(kind);
                facts.push(Fact::new(name, used.join(", "), SOURCE));
            }
        }
        let schemas = self.unread.iter();
        let schemas = schemas.filter(|schema| mentioned.word(&schema.to_lowercase()));
        unseen.extend(schemas.map(|schema| format!("tables of the schema {schema}")));
        unseen.extend(created_table(mentioned).map(str::to_owned));
        if !unseen.is_empty() {
            facts.push(Fact::new(
                names::DB_TABLES_UNSEEN,
                unseen.join(", "),
                SOURCE,
            ));
        }
        facts
    }
}

/// A kind of table that did not exist before the run, recognised by the words that create it.
fn created_table(mentioned: &Mentioned) -> Option<&'static str> {
    let has = |word: &str| mentioned.word(word);
    match has("create") && has("table") {
        true if has("temporary") || has("temp") => Some("a TEMPORARY table"),
        true if !has("show") => Some("a table that a statement of the run created"),
        _ if has("attach") => Some("an attached database"),
        _ => None,
    }
}

/// How many sessions ended between two events with a transaction open.
pub(super) fn left_open(sessions: &[SessionTotals]) -> Fact {
    let open = sessions.iter().filter(|session| session.in_transaction);
    Fact::new(
        names::CLIENT_SESSIONS_IN_TRANSACTION,
        format!("{} of {}", open.count(), sessions.len()),
        "the server's reply to the session's last statement",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(facts: &[(&str, &str)]) -> ObservedTables {
        let mut seen = ObservedTables::default();
        for (name, value) in facts {
            seen.fact(&Fact::new(*name, *value, SOURCE));
        }
        seen
    }

    fn example() -> ObservedTables {
        observed(&[
            ("db.table[sbtest1..sbtest4].names", "sbtest1..sbtest4"),
            ("db.table[sbtest1..sbtest4].sha256", "ab"),
            ("db.table[Customer].sha256", "cd"),
            ("db.table[Customer].definition", "CREATE TABLE"),
        ])
    }

    fn used(seen: &ObservedTables, words: &[&str]) -> Vec<(String, String)> {
        let words: BTreeSet<Box<str>> = words.iter().map(|word| Box::from(*word)).collect();
        let facts = seen.used(Some(&words)).into_iter();
        facts.map(|fact| (fact.name, fact.value)).collect()
    }

    fn pairs(facts: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        facts.iter().map(pair).collect()
    }

    #[test]
    fn tables_count_where_a_statement_names_one_of_them() {
        let expected = |customer: &str, sbtest: &str| {
            pairs(&[
                ("db.table[Customer].used", customer),
                ("db.table[sbtest1..sbtest4].used", sbtest),
            ])
        };
        let seen = example();
        assert_eq!(used(&seen, &["SELECT", "sbtest3"]), expected("no", "yes"));
        assert_eq!(used(&seen, &["customer", "c_id"]), expected("yes", "no"));
        // Unknown facts are not reported.
        assert_eq!(used(&seen, &["SELECT", "view_of_customers"]), []);
        assert_eq!(used(&seen, &["CALL", "sbtest1"]), []);
        assert_eq!(seen.used(None), []);
    }

    #[test]
    fn tables_behind_views_are_used() {
        let seen = observed(&[
            ("db.tables.read", "2"),
            ("db.table[part].sha256", "ab"),
            ("db.table[un].sha256", "cd"),
            ("db.tables.uses[Vun]", "un"),
            ("db.tables.uses[outer_view]", "vun, eyes_b.mm"),
            ("db.tables.uses[add_row]", "part"),
            ("db.tables.uses[part]", "log_it"),
            ("db.tables.uses[log_it]", "un"),
            ("db.tables.elsewhere[MyISAM]", "eyes_b.mm, eyes_b.other"),
        ]);
        let of_view = [
            ("db.table[part].used", "no"),
            ("db.table[un].used", "yes"),
            ("db.tables.named", "1"),
        ];
        assert_eq!(used(&seen, &["INSERT", "vun"]), pairs(&of_view));
        let of_function = used(&seen, &["SELECT", "add_row"]);
        let both = [
            ("db.table[part].used", "yes"),
            ("db.table[un].used", "yes"),
            ("db.tables.named", "2"),
        ];
        assert_eq!(of_function, pairs(&both), "and what its trigger calls");
        let mut of_both = of_view.to_vec();
        of_both.push(("db.tables.used_elsewhere[MyISAM]", "eyes_b.mm"));
        assert_eq!(used(&seen, &["outer_view"]), pairs(&of_both));
        // Nothing is known about this function.
        let none = [("db.tables.named", "0")];
        assert_eq!(used(&seen, &["SELECT", "pay"]), pairs(&none));
    }

    #[test]
    fn statements_that_restrict_no_rows_are_found() {
        let seen = observed(&[
            ("db.tables.read", "1"),
            ("db.table[doc].sha256", "ab"),
            ("db.tables.uses[view]", "doc"),
        ]);
        let restrict = |words: &[&str]| {
            let facts = used(&seen, words);
            !facts.contains(&("client.statements.restrict".to_owned(), "no".to_owned()))
        };
        assert!(!restrict(&["SELECT", "count", "FROM", "doc"]));
        for words in [
            &["SELECT", "count", "FROM", "doc", "where", "n"][..],
            &["SELECT", "MAX", "n", "FROM", "doc"],
            &["SELECT", "id", "FROM", "doc", "ORDER", "BY", "n", "LIMIT"],
            &["SELECT", "n", "FROM", "view"],
            &["SELECT", "n", "FROM", "unknown"],
            &["SELECT", "n", "FROM", "doc", "CALL", "pay"],
        ] {
            assert!(restrict(words), "{words:?}");
        }
    }

    #[test]
    fn statements_that_may_change_tables_are_found() {
        let define = |words: &[&str]| {
            let facts = used(&example(), words);
            facts.contains(&("client.statements.define".to_owned(), "yes".to_owned()))
        };
        assert!(define(&["CREATE", "INDEX", "k_1", "ON", "sbtest1"]));
        assert!(define(&["CALL", "pay", "drop", "table", "old"]));
        assert!(!define(&["SELECT", "c", "FROM", "sbtest1"]));
        assert!(!define(&["CALL", "pay"]));
    }

    #[test]
    fn reports_tables_that_were_not_observed() {
        let seen = observed(&[
            ("db.tables.read", "1"),
            ("db.table[t].sha256", "ab"),
            ("db.tables.elsewhere[MEMORY]", "eyes_b.mm"),
            ("db.tables.elsewhere[unknown]", "eyes_b.v"),
            ("db.tables.elsewhere.unread", "large, shop"),
        ]);
        let others = |words: &[&str]| {
            let mut facts = used(&seen, words);
            facts.retain(|(name, _)| name.contains(".un") || name.contains("elsewhere"));
            facts
        };
        for (words, name, value) in [
            (
                &["INSERT", "Eyes_b", "mm"][..],
                "db.tables.used_elsewhere[MEMORY]",
                "eyes_b.mm",
            ),
            (&["eyes_b", "v"], "db.tables.unseen", "eyes_b.v"),
            (
                &["shop", "x"],
                "db.tables.unseen",
                "tables of the schema shop",
            ),
            (
                &["t", "CREATE", "TEMPORARY", "TABLE", "mine"],
                "db.tables.unseen",
                "a TEMPORARY table",
            ),
        ] {
            assert_eq!(others(words), pairs(&[(name, value)]), "{words:?}");
        }
        // A name without a schema is one of the target's.
        assert_eq!(others(&["mm", "v", "t"]), []);
        assert_eq!(others(&["show", "create", "table", "t"]), []);
    }
}
