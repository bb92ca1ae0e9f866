//! What changed on a server during a run of one side.

use dyno_core::finding::Outcome::{Doubt, Pass};
use dyno_core::record::{Event, EventDetail, EventKind, RunRecord, SettingChange};
use dyno_samples::{assert_has, fact, setting, values};

use super::{outcome, run, sides, sides_with};
use crate::compare::{CompareOptions, Comparison};

fn with_tables(seed: u64) -> RunRecord {
    let mut run = run(1000.0, seed);
    fact(&mut run, "db.tables.compared", "2");
    run
}

fn at_end(run: &mut RunRecord, name: &str, end: &str) {
    let found = run.settings.iter_mut().find(|setting| setting.name == name);
    found.unwrap().end = Some(end.to_owned());
}

fn lines(comparison: &Comparison) -> Vec<String> {
    let all = comparison.differences.iter();
    all.map(|d| format!("{}: {} → {}", d.what, d.base, d.new))
        .collect()
}

#[test]
fn a_setting_that_moved_during_one_run_has_both_values() {
    let mut new = run(1000.0, 2);
    at_end(&mut new, "max_connections", "500");
    let found = sides(&[run(1000.0, 1)], &[new.clone()]);
    assert_eq!(
        lines(&found),
        ["during the run, setting max_connections: unchanged → 151, then 500"]
    );
    assert_eq!(outcome(&found, 42), Doubt);
    let evidence = &found.findings[0].evidence;
    assert_has(
        evidence,
        "max_connections (unchanged against 151, then 500)",
    );
    let meant = CompareOptions {
        intended: vec!["max_connections".to_owned()],
        ..CompareOptions::default()
    };
    let meant = sides_with(&[run(1000.0, 1)], &[new.clone()], &meant);
    assert_eq!(outcome(&meant, 42), Pass);
    // It is not a difference if it moved on both sides.
    let mut base = run(1000.0, 1);
    at_end(&mut base, "max_connections", "500");
    assert!(lines(&sides(&[base], &[new.clone()])).is_empty());
    // The other side's settings were not read again.
    let mut base = run(1000.0, 1);
    for setting in &mut base.settings {
        setting.end = None;
    }
    assert_eq!(
        lines(&sides(&[base], &[new])),
        ["during the run, setting max_connections: not known → 151, then 500"]
    );
}

#[test]
fn a_setting_that_moved_back_is_a_difference_and_the_servers_own_are_not() {
    let change = |at_s: f64, from: &str, to: &str| Event {
        detail: EventDetail::of_setting(SettingChange {
            name: "max_connections".to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        }),
        ..values::event(at_s, None, EventKind::Setting, "without values")
    };
    let mut base = run(1000.0, 1);
    let events = [change(3.0, "151", "500"), change(5.0, "500", "151")];
    base.events.extend(events);
    at_end(&mut base, "gtid_binlog_pos", "0-1-900");
    assert_eq!(
        lines(&sides(&[base], &[run(1000.0, 2)])),
        ["during the run, setting max_connections: 151, then 500, then 151 → unchanged"]
    );
}

#[test]
fn a_setting_that_moved_before_the_measurement_is_a_difference() {
    let mut new = run(1000.0, 2);
    let detail = EventDetail::of_setting(SettingChange {
        name: "max_connections".to_owned(),
        from: "151".to_owned(),
        to: "500".to_owned(),
    });
    let event = values::event(-2.0, None, EventKind::Setting, "without values");
    new.events.push(Event { detail, ..event });
    at_end(&mut new, "max_connections", "151");
    assert_eq!(
        lines(&sides(&[run(1000.0, 1)], &[new])),
        ["during the run, setting max_connections: unchanged → 151, then 500, then 151"]
    );
}

#[test]
fn an_index_dropped_during_one_run_is_named() {
    let mut new = with_tables(2);
    for table in ["sbtest1", "sbtest2"] {
        let name = format!("db.tables.changed[{table}]");
        fact(&mut new, &name, "index k was dropped");
    }
    let found = sides(&[with_tables(1)], &[new.clone()]);
    assert_eq!(
        lines(&found),
        ["during the run, table sbtest1..sbtest2: unchanged → index k was dropped"]
    );
    assert_eq!(outcome(&found, 42), Doubt);
    let unread = sides(&[run(1000.0, 1)], &[new.clone()]);
    assert_eq!(
        lines(&unread),
        ["during the run, table sbtest1..sbtest2: not known → index k was dropped"]
    );
    // Its own statements may do that.
    fact(&mut new, "client.statements.define", "yes");
    assert!(lines(&sides(&[with_tables(1)], &[new])).is_empty());
}

#[test]
fn tables_and_changes_are_named_before_settings() {
    let mut new = with_tables(2);
    fact(&mut new, "db.tables.changed[t]", "index k was dropped");
    for name in [
        "innodb_buffer_pool_size",
        "innodb_doublewrite",
        "innodb_flush_method",
        "log_bin",
        "max_connections",
        "sync_binlog",
    ] {
        setting(&mut new, name, "7");
    }
    let found = sides(&[with_tables(1)], &[new]);
    let evidence = &found.findings[0].evidence;
    assert_has(evidence, "7 things that were not declared: during the run");
}
