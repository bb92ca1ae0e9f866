//! The recorded facts about the host, the server and the tables, which comparisons use.

use dyno_core::catalogue::names;
use dyno_core::record::Fact;
use dyno_core::tables::{TableGroup, groups};

use super::look::{Ink, Look};
use super::page::Page;
use crate::document;

/// All facts by scope, then the tables with their definitions.
pub fn facts(facts: &[Fact], look: &Look) -> String {
    let mut page = Page::new(*look);
    page.title("Facts");
    if facts.is_empty() {
        page.row(
            "",
            Ink::Faint,
            "No facts are recorded: nothing was observed.",
        );
    }
    let mut before = "";
    let table = document::facts(facts).texts();
    for row in table.iter().skip(1) {
        let (name, value) = (&row[0].1, &row[1].1);
        let (scope, name) = name.split_once('.').unwrap_or(("", name));
        let label = if scope == before { "" } else { scope };
        before = scope;
        page.row(label, Ink::Plain, &format!("{name}: {value}"));
    }
    let groups = groups(facts);
    if groups.is_empty() {
        return page.finish();
    }
    page.blank();
    page.title("Tables");
    for group in &groups {
        page.row("table", Ink::Strong, &described(group));
        page.row("", Ink::Faint, &group.definition);
    }
    if let Some(total) = facts.iter().find(|fact| fact.name == names::DB_TABLES) {
        let read: u32 = groups.iter().map(|group| group.tables).sum();
        let count = format!("{} in the database, {read} read", total.value);
        page.row("in all", Ink::Plain, &count);
    }
    page.finish()
}

fn described(group: &TableGroup) -> String {
    let mut parts = Vec::new();
    parts.extend(group.engine.clone());
    parts.extend(group.persistence.clone().filter(|kept| kept != "permanent"));
    let plural = |count: u32| if count == 1 { "" } else { "es" };
    parts.extend((group.indexes).map(|count| format!("{count} index{}", plural(count))));
    if group.primary_key == Some(false) {
        parts.push("no primary key".to_owned());
    }
    parts.extend(group.analysed.map(|count| match count {
        0 => "not analysed".to_owned(),
        count if count == group.tables => "analysed".to_owned(),
        count => format!("{count} of {} analysed", group.tables),
    }));
    if group.used == Some(false) {
        parts.push("not named by any statement".to_owned());
    }
    parts.push(format!("SHA-256 {:.12}…", group.sha256));
    format!("{}: {}", group.names, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_follow_the_facts_with_their_definitions() {
        let fact = |name, value| dyno_samples::values::fact(name, value, "/proc");
        let list = [
            fact("db.table[sbtest1..sbtest4].analysed", "0 of 4"),
            fact(
                "db.table[sbtest1..sbtest4].definition",
                "CREATE TABLE `sbtest1` (\n  `id` int\n) ENGINE=InnoDB",
            ),
            fact("db.table[sbtest1..sbtest4].engine", "InnoDB"),
            fact("db.table[sbtest1..sbtest4].indexes", "0"),
            fact("db.table[sbtest1..sbtest4].names", "sbtest1..sbtest4"),
            fact("db.table[sbtest1..sbtest4].primary_key", "no"),
            fact("db.table[sbtest1..sbtest4].sha256", "0123456789abcdef"),
            fact("db.tables", "9"),
            fact("host.cpu.model", "A CPU"),
            fact("host.kernel", "6.1"),
        ];
        insta::assert_snapshot!(facts(&list, &Look::default()), @r"
        Facts
          db            tables: 9
          host          cpu.model: A CPU
                        kernel: 6.1

        Tables
          table         sbtest1..sbtest4: InnoDB, 0 indexes, no primary key, not
                        analysed, SHA-256 0123456789ab…
                        CREATE TABLE `sbtest1` (
                        `id` int
                        ) ENGINE=InnoDB
          in all        9 in the database, 4 read
        ");
    }
}
