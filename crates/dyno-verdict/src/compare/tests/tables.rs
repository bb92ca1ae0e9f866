//! Differences between the tables of two sides.

use dyno_core::finding::Outcome::{Doubt, Pass};
use dyno_core::record::RunRecord;
use dyno_core::target::TargetPlan;
use dyno_samples::{assert_has, fact};

use super::{outcome, run, sides, sides_with};
use crate::compare::{CompareOptions, Comparison};

const INNODB: &str = "CREATE TABLE `sbtest1` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `k` \
                      int(11) NOT NULL DEFAULT 0,\n  PRIMARY KEY (`id`),\n  KEY `k_1` (`k`)\n) \
                      ENGINE=InnoDB DEFAULT CHARSET=latin1";

fn on(tables: u32, definition: &str, seed: u64) -> RunRecord {
    let mut run = run(1000.0, seed);
    let label = match tables {
        1 => "sbtest1".to_owned(),
        tables => format!("sbtest1..sbtest{tables}"),
    };
    let mut add_fact = |what: &str, value: &str| {
        fact(&mut run, &format!("db.table[{label}].{what}"), value);
    };
    add_fact("definition", definition);
    add_fact("sha256", &format!("{:x}", definition.len()));
    add_fact("names", &label);
    add_fact("analysed", &format!("{tables} of {tables}"));
    fact(&mut run, "db.tables", &tables.to_string());
    fact(&mut run, "db.tables.read", &tables.to_string());
    run
}

fn lines(comparison: &Comparison) -> Vec<String> {
    let all = comparison.differences.iter();
    let tables = all.filter(|difference| difference.what.starts_with("table"));
    tables
        .map(|d| format!("{}: {} → {}", d.what, d.base, d.new))
        .collect()
}

#[test]
fn another_engine_index_or_collation_is_a_difference() {
    let same = sides(&[on(4, INNODB, 1)], &[on(4, INNODB, 2)]);
    assert!(lines(&same).is_empty());
    let environments = &same.findings[0];
    assert_has(&environments.evidence, "their tables are the same");
    let aria = INNODB.replace("InnoDB", "Aria") + " PAGE_CHECKSUM=1";
    let other = sides(&[on(4, INNODB, 1)], &[on(4, &aria, 2)]);
    assert_eq!(
        lines(&other),
        ["table sbtest1..sbtest4 ENGINE: InnoDB → Aria"]
    );
    // It was not declared. The durability class follows from it and is not listed separately.
    assert_eq!(outcome(&other, 42), Doubt, "{:?}", other.differences);
    assert_eq!(other.differences.len(), 1, "{:?}", other.differences);
    let bare = INNODB.replace(",\n  KEY `k_1` (`k`)", "");
    let index = sides(&[on(1, INNODB, 1)], &[on(1, &bare, 2)]);
    assert_eq!(
        lines(&index),
        ["table sbtest1 index k_1: KEY (`k`) → (not there)"]
    );
    assert_eq!(outcome(&index, 42), Doubt);
    let bin = INNODB.replace("latin1", "latin1 COLLATE=latin1_bin") + " ROW_FORMAT=COMPRESSED";
    let several = sides(&[on(4, INNODB, 1)], &[on(4, &bin, 2)]);
    assert_eq!(
        lines(&several),
        [
            "table sbtest1..sbtest4 COLLATE: (not there) → latin1_bin",
            "table sbtest1..sbtest4 ROW_FORMAT: (not there) → COMPRESSED",
        ]
    );
    assert_eq!(outcome(&several, 42), Doubt);
    let meant = CompareOptions {
        intended: vec!["tables".to_owned()],
        ..CompareOptions::default()
    };
    let meant = sides_with(&[on(4, INNODB, 1)], &[on(4, &bin, 2)], &meant);
    assert_eq!(outcome(&meant, 42), Pass);
}

#[test]
fn more_tables_of_one_definition_are_not_a_difference() {
    let more = sides(&[on(4, INNODB, 1)], &[on(8, INNODB, 2)]);
    assert!(lines(&more).is_empty(), "{:?}", lines(&more));
    let mut extended = on(4, INNODB, 2);
    fact(
        &mut extended,
        "db.table[notes].definition",
        "CREATE TABLE notes (id)",
    );
    fact(&mut extended, "db.table[notes].sha256", "ff");
    let other = sides(&[on(4, INNODB, 1)], &[extended.clone()]);
    assert_eq!(lines(&other), ["table notes: (not there) → there"]);
    // Tables that were not read are unknown.
    let mut part = on(4, INNODB, 1);
    fact(&mut part, "db.tables", "1000 or more");
    assert!(lines(&sides(&[part], &[extended.clone()])).is_empty());
    // Tables that no statement named do not matter to the run.
    fact(&mut extended, "db.table[notes].used", "no");
    assert!(lines(&sides(&[on(4, INNODB, 1)], &[extended.clone()])).is_empty());
    // A table that only the other side used still exists.
    let mut used = extended.clone();
    used.facts.retain(|fact| !fact.name.ends_with("].used"));
    assert!(lines(&sides(&[used], &[extended])).is_empty());
}

#[test]
fn statistics_count_where_both_sides_have_them() {
    let mut never = on(4, INNODB, 2);
    fact(&mut never, "db.table[sbtest1..sbtest4].analysed", "0 of 4");
    let other = sides(&[on(4, INNODB, 1)], &[never.clone()]);
    assert_eq!(
        lines(&other),
        ["table sbtest1..sbtest4 statistics: analysed → not analysed"]
    );
    let mut silent = on(4, INNODB, 1);
    silent.facts.retain(|fact| !fact.name.ends_with("analysed"));
    assert!(lines(&sides(&[silent], &[never])).is_empty());
}

#[test]
fn tables_that_were_not_read_are_not_called_the_same() {
    let unread = sides(&[run(1000.0, 1)], &[run(1000.0, 2)]);
    let evidence = &unread.findings[0].evidence;
    assert_has(evidence, "another storage engine");
}

#[test]
fn a_difference_that_follows_from_another_is_listed_once() {
    let placed = |kind: &str, seed: u64| {
        let mut run = on(4, INNODB, seed);
        for (name, value) in [
            ("host.filesystem.type", kind.to_owned()),
            ("data.filesystem.type", kind.to_owned()),
            ("data.filesystem.options", format!("rw,{kind}")),
            ("data.filesystem.device", format!("/dev/{kind}")),
            ("data.disk", format!("disk of {kind}")),
        ] {
            fact(&mut run, name, &value);
        }
        run
    };
    let other = sides(&[placed("ext4", 1)], &[placed("tmpfs", 2)]);
    let whats: Vec<&str> = other.differences.iter().map(|d| d.what.as_str()).collect();
    // The durability class also follows from it.
    assert_eq!(whats, ["data.filesystem.type"]);
    let built = |id: &str, seed: u64| {
        let mut run = on(4, INNODB, seed);
        fact(&mut run, "server.build_id", id);
        run
    };
    let other = sides(&[built("ab", 1)], &[built("cd", 2)]);
    assert_eq!(other.differences[0].what, "server.build_id");
    assert_eq!(outcome(&other, 42), Doubt);
}

#[test]
fn temporary_databases_do_not_differ_by_their_names() {
    let on = |file: &str, temporary: bool, seed: u64| {
        let mut run = run(1000.0, seed);
        let url = format!("sqlite:/tmp/{file}/temporary.db");
        run.head.target.url.clone_from(&url);
        run.summary.as_mut().unwrap().target.url = url;
        run.head.plan.as_mut().unwrap().target = Some(TargetPlan {
            temporary,
            ..TargetPlan::temporary()
        });
        run
    };
    let whats = |temporary: bool| -> Vec<String> {
        let sides = sides(&[on("a", temporary, 1)], &[on("b", temporary, 2)]);
        sides.differences.into_iter().map(|d| d.what).collect()
    };
    assert!(whats(true).is_empty());
    assert_eq!(whats(false), ["target"]);
}
