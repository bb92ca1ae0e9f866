//! Which tables of the database the run used, those that its statements named, and whether it
//! ended what it had begun on them.

use std::collections::{BTreeSet, HashSet};

use dyno_core::record::Fact;
use dyno_core::tables::{TableGroup, groups, label_of, names_in};
use dyno_load::SessionTotals;

const SOURCE: &str = "the run's statements";
/// Statements that name no table but use some.
const CALLS: [&str; 2] = ["call", "exec"];

/// What observers told of tables, as far as it takes to know their names.
#[derive(Default)]
pub struct Seen(Vec<Fact>);

impl Seen {
    /// Remembers a fact, if it is one of a table's.
    pub fn fact(&mut self, fact: &Fact) {
        let value = match label_of(&fact.name) {
            Some((_, "names")) => fact.value.clone(),
            Some((_, "sha256")) => String::new(),
            _ => return,
        };
        self.0.push(Fact {
            value,
            ..fact.clone()
        });
    }

    /// Whether each was used, as facts; none where that is not known.
    pub fn used(&self, mentions: Option<&BTreeSet<Box<str>>>) -> Vec<Fact> {
        let Some(mentions) = mentions else {
            return Vec::new();
        };
        let mentioned: HashSet<String> = mentions.iter().map(|name| name.to_lowercase()).collect();
        if CALLS.iter().any(|call| mentioned.contains(*call)) {
            return Vec::new();
        }
        let groups = groups(&self.0);
        let is_used = |group: &TableGroup| {
            names_in(&group.names).iter().any(|name| {
                let name = name.to_lowercase();
                let own = name.rsplit('.').next().unwrap_or(&name);
                mentioned.contains(own) || mentioned.contains(&name)
            })
        };
        let used: Vec<bool> = groups.iter().map(is_used).collect();
        // A view's statements name the view.
        if !used.contains(&true) {
            return Vec::new();
        }
        let fact = |(group, used): (&TableGroup, bool)| Fact {
            name: TableGroup::fact_name(&group.label, "used"),
            value: if used { "yes" } else { "no" }.to_owned(),
            source: SOURCE.to_owned(),
        };
        groups.iter().zip(used).map(fact).collect()
    }
}

/// How many sessions ended their run, between two events, with a transaction open.
pub fn left_open(sessions: &[SessionTotals]) -> Fact {
    let open = sessions.iter().filter(|session| session.in_transaction);
    Fact {
        name: "client.sessions.in_transaction".to_owned(),
        value: format!("{} of {}", open.count(), sessions.len()),
        source: "the server's word with the session's last statement".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        let mut seen = Seen::default();
        for (label, what, value) in [
            ("sbtest1..sbtest4", "names", "sbtest1..sbtest4"),
            ("sbtest1..sbtest4", "sha256", "ab"),
            ("Customer", "sha256", "cd"),
            ("Customer", "definition", "CREATE TABLE"),
        ] {
            seen.fact(&Fact {
                name: TableGroup::fact_name(label, what),
                value: value.to_owned(),
                source: String::new(),
            });
        }
        seen
    }

    fn used(words: &[&str]) -> Vec<(String, String)> {
        let words: BTreeSet<Box<str>> = words.iter().map(|word| Box::from(*word)).collect();
        let facts = seen().used(Some(&words)).into_iter();
        facts.map(|fact| (fact.name, fact.value)).collect()
    }

    #[test]
    fn tables_count_where_a_statement_names_one_of_them() {
        let told = |customer: &str, sbtest: &str| {
            vec![
                ("db.table[Customer].used".to_owned(), customer.to_owned()),
                (
                    "db.table[sbtest1..sbtest4].used".to_owned(),
                    sbtest.to_owned(),
                ),
            ]
        };
        assert_eq!(used(&["SELECT", "sbtest3"]), told("no", "yes"));
        assert_eq!(used(&["customer", "c_id"]), told("yes", "no"));
        // What is not known is not told.
        assert_eq!(used(&["SELECT", "view_of_customers"]), []);
        assert_eq!(used(&["CALL", "sbtest1"]), []);
        assert_eq!(seen().used(None), []);
    }
}
