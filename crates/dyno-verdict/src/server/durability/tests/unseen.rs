//! Data that was not checked: tables that could not be read, files that statements attached, and
//! functions that change rows.

use dyno_core::finding::Finding;
use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::record::RunRecord;
use dyno_samples::{Product, assert_begins, assert_has, closed, fact, series, setting, values};

use crate::tests::{judged, summary};

fn durability(run: &RunRecord) -> Finding {
    judged(run, "durability")
}

/// A run on PostgreSQL with four sessions: commits, rows changed and syncs of the log per second.
pub(super) fn postgres(commits: f64, rows: f64, syncs: f64, writes: u64) -> RunRecord {
    let mut run = closed(&[1000.0; 20], Product::Postgres);
    series(&mut run, "db.database.xact_commit", &[commits; 20]);
    series(&mut run, "db.database.xact_rollback", &[0.0; 20]);
    series(&mut run, "db.database.tup_updated", &[rows; 20]);
    let zeros = "db.database.tup_inserted db.database.tup_deleted";
    fact(&mut run, "observer.always_zero", zeros);
    series(&mut run, "db.wal.syncs", &[syncs; 20]);
    setting(&mut run, "wal_sync_method", "fdatasync");
    setting(&mut run, "fsync", "on");
    setting(&mut run, "synchronous_commit", "on");
    summary(&mut run).totals.writes = writes;
    run
}

#[test]
fn functions_that_change_rows_commit_too() {
    let words = "Lost on process crash because 1,000 transactions per second wrote and committed \
                 while the log was synced 1.5 times";
    let weak = durability(&postgres(1000.0, 1000.0, 1.5, 0));
    assert_begins(&weak.evidence, words);
    // As many syncs as commits, hardly any changed rows, and few transactions.
    for (commits, rows, syncs) in [
        (1000.0, 1000.0, 900.0),
        (1000.0, 9.0, 1.5),
        (30.0, 1000.0, 1.5),
    ] {
        let found = durability(&postgres(commits, rows, syncs, 0));
        assert_begins(&found.evidence, "Each commit durable");
    }
    // Others may have changed them.
    let mut shared = postgres(1000.0, 1000.0, 1.5, 0);
    series(&mut shared, "db.other_sessions", &[1.0; 20]);
    let found = durability(&shared);
    assert_begins(&found.evidence, "Each commit durable");
}

#[test]
fn unreadable_tables_leave_durability_unchecked() {
    let refused = |writes: u64, rows: f64| {
        let mut run = postgres(1000.0, rows, 900.0, writes);
        run.not_observed
            .push(values::gap("db.tables", "permission denied"));
        run
    };
    let found = durability(&refused(20_000, 1000.0));
    assert_eq!(found.outcome, NotChecked, "{}", found.evidence);
    assert_eq!(found.durability, None);
    assert!(
        found
            .evidence
            .ends_with("; no table was examined: permission denied."),
        "{}",
        found.evidence
    );
    // By a function.
    assert_eq!(durability(&refused(0, 1000.0)).outcome, NotChecked);
    // A run that only reads loses nothing.
    assert_eq!(durability(&refused(0, 0.0)).outcome, Pass);
    // Known weaknesses count.
    let mut weaker = refused(20_000, 1000.0);
    setting(&mut weaker, "fsync", "off");
    assert_eq!(durability(&weaker).outcome, Doubt);
}

#[test]
fn unnamed_tables_leave_durability_unchecked() {
    // 1,000 rows per second by statements of the run, or by a function.
    for writes in [20_000, 0] {
        let mut run = postgres(1000.0, 1000.0, 900.0, writes);
        fact(&mut run, "db.table[part].persistence", "unlogged");
        fact(&mut run, "db.tables.named", "0");
        let found = durability(&run);
        assert_eq!(found.outcome, NotChecked, "{}", found.evidence);
        assert_eq!(found.durability, None);
        let words = "; no statement names a table that was examined.";
        assert!(found.evidence.ends_with(words), "{}", found.evidence);
        // Tables of other schemas are known by their names.
        fact(&mut run, "db.tables.used_elsewhere[unlogged]", "other.un");
        assert_eq!(durability(&run).outcome, Doubt);
    }
    let mut reads = postgres(1000.0, 0.0, 0.0, 0);
    fact(&mut reads, "db.tables.named", "0");
    assert_eq!(durability(&reads).outcome, Pass);
    let mut sqlite = closed(&[1000.0; 20], Product::Sqlite);
    summary(&mut sqlite).totals.writes = 500;
    fact(&mut sqlite, "db.file.changed", "yes");
    fact(&mut sqlite, "db.tables.named", "0");
    assert_eq!(durability(&sqlite).outcome, Pass);
}

#[test]
fn values_that_are_not_understood_leave_durability_unchecked() {
    let of = |run: &mut RunRecord, name: &str, values: &str| {
        fact(run, &format!("client.settings[{name}]"), values);
        durability(run)
    };
    let postgres = |syncs: f64| postgres(1000.0, 1000.0, syncs, 20_000);
    for (values, words) in [
        (
            "unknown",
            "; sessions set synchronous_commit to a value that their statements hide, which may \
             promise less.",
        ),
        (
            "e, on",
            "; sessions set synchronous_commit = e, which may promise less.",
        ),
    ] {
        let found = of(&mut postgres(300.0), "synchronous_commit", values);
        assert_eq!(found.outcome, NotChecked, "{}", found.evidence);
        assert_eq!(found.durability, None);
        assert!(found.evidence.ends_with(words), "{}", found.evidence);
        // Each commit had a sync, so the value does not matter.
        let found = of(&mut postgres(1000.0), "synchronous_commit", values);
        assert_begins(&found.evidence, "Each commit durable:");
        assert_has(&found.evidence, ", but the log was synced 1,000 times");
    }
    // The worst value is known already.
    let weak = of(&mut postgres(300.0), "synchronous_commit", "off, unknown");
    assert_begins(&weak.evidence, "Lost on process crash because sessions set");
    // Settings of logs promise nothing.
    let logs = of(&mut postgres(300.0), "log_statement", "unknown");
    assert_eq!(logs.outcome, Pass, "{}", logs.evidence);
    for (name, value, outcome) in [
        ("synchronous", "+", NotChecked),
        ("synchronous", "2", Pass),
        ("synchronous", "0", Doubt),
        ("journal_mode", "mem", NotChecked),
        ("journal_mode", "wal", Pass),
    ] {
        let mut run = closed(&[1000.0; 20], Product::Sqlite);
        summary(&mut run).totals.writes = 500;
        setting(&mut run, "synchronous", "2");
        setting(&mut run, "journal_mode", "wal");
        fact(&mut run, "db.file.changed", "yes");
        let found = of(&mut run, name, value);
        assert_eq!(found.outcome, outcome, "{name} {value} {}", found.evidence);
    }
}

#[test]
fn attached_files_leave_durability_unchecked() {
    let mut run = closed(&[1000.0; 20], Product::Sqlite);
    summary(&mut run).totals.writes = 500;
    fact(&mut run, "db.file.changed", "no");
    assert_eq!(durability(&run).outcome, Doubt);
    fact(&mut run, "client.statements.attaches", "yes");
    setting(&mut run, "synchronous", "1");
    let found = durability(&run);
    assert_eq!(found.outcome, NotChecked, "{}", found.evidence);
    assert_has(
        &found.evidence,
        "; statements attached another file, which was not examined",
    );
}

#[test]
fn runs_without_commits_claim_no_durability() {
    let mut sqlite = closed(&[1000.0; 20], Product::Sqlite);
    setting(&mut sqlite, "synchronous", "1");
    summary(&mut sqlite).totals.writes = 0;
    fact(&mut sqlite, "db.file.changed", "no");
    let mut mysql = closed(&[1000.0; 20], Product::Mysql);
    setting(&mut mysql, "innodb_flush_log_at_trx_commit", "2");
    summary(&mut mysql).totals.writes = 0;
    for change in ["inserted", "updated", "deleted"] {
        let name = format!("db.status.innodb_rows_{change}");
        series(&mut mysql, &name, &[0.0; 20]);
    }
    for run in [&mut sqlite, &mut mysql] {
        let found = durability(run);
        assert_eq!(found.outcome, Pass, "{}", found.evidence);
        assert_eq!(found.durability, None, "{}", found.evidence);
        assert_begins(&found.evidence, "The run committed no writes");
        // One that writes has the class of its settings.
        summary(run).totals.writes = 500;
        fact(run, "db.file.changed", "yes");
        let found = durability(run);
        assert!(found.durability.is_some(), "{}", found.evidence);
    }
}

#[test]
fn values_of_sessions_that_changed_no_commit_do_not_count() {
    let of = |run: &mut RunRecord, values: &str| {
        fact(run, "client.settings[synchronous_commit]", values);
        durability(run).evidence
    };
    let weak = "Lost on process crash because sessions set synchronous_commit = off";
    for (mut run, values, words) in [
        (postgres(1000.0, 1000.0, 300.0, 20_000), "off", weak),
        (
            postgres(1000.0, 1000.0, 300.0, 20_000),
            "default, off",
            "Lost on process crash because sessions set synchronous_commit = off and at some \
             time set it back",
        ),
        // Each commit had a sync, so the time of the setting does not matter.
        (
            postgres(1000.0, 1000.0, 1000.0, 20_000),
            "off",
            "Each commit durable:",
        ),
        // SET and RESET are also commits.
        (
            postgres(3000.0, 1000.0, 1000.0, 20_000),
            "default, off",
            "Each commit durable:",
        ),
        // Nothing was written; a function wrote; fewer syncs than commits prove nothing.
        (postgres(1000.0, 0.0, 0.0, 0), "off", "Each commit durable:"),
        (postgres(1000.0, 500.0, 900.0, 0), "off", weak),
        (postgres(100.0, 100.0, 90.0, 2_000), "off", weak),
    ] {
        let found = of(&mut run, values);
        assert_begins(&found, words);
    }
    let mut reads = postgres(1000.0, 0.0, 0.0, 0);
    let found = of(&mut reads, "off");
    let words = "; sessions set synchronous_commit = off, but the run changed no rows.";
    assert!(found.ends_with(words), "{found}");
}

#[test]
fn parts_of_the_sentence_read_on_their_own() {
    let mut run = postgres(1000.0, 1000.0, 900.0, 20_000);
    fact(&mut run, "db.table[part].persistence", "unlogged");
    fact(&mut run, "data.filesystem.type", "ext4");
    let found = durability(&run);
    assert!(
        found
            .evidence
            .ends_with(", data on ext4; which tables the run used is not known."),
        "{}",
        found.evidence
    );
}

#[test]
fn another_server_decides_about_foreign_tables() {
    let of = |facts: &[(&str, &str)], writes: u64| {
        let rows = if writes > 0 { 1000.0 } else { 0.0 };
        let mut run = postgres(1000.0, rows, 900.0, writes);
        for (name, value) in facts {
            fact(&mut run, name, value);
        }
        durability(&run)
    };
    let far = "TABLE public.far\ncolumn id integer\nkind: foreign table\npersistence: permanent";
    let far = ("db.table[far].definition", far);
    let part = "TABLE public.part\npartition part_1 FOR VALUES FROM (1) TO (9) FOREIGN TABLE\n\
                partition by: RANGE (id)";
    let part = [
        ("db.table[part].definition", part),
        ("db.table[part].used", "yes"),
    ];
    let used = [far, ("db.table[far].used", "yes")];
    for (facts, words) in [
        (&used[..], "; foreign table far: its server decides."),
        (
            &part,
            "; part has partitions that are foreign tables: their server decides.",
        ),
        (
            &[("db.tables.used_elsewhere[foreign]", "other.far")],
            "; foreign table other.far: its server decides.",
        ),
        (
            &[far],
            "; which tables the run used is not known; foreign table far: its server decides.",
        ),
    ] {
        let found = of(facts, 20_000);
        assert_eq!(found.outcome, NotChecked, "{}", found.evidence);
        assert_eq!(found.durability, None);
        assert!(found.evidence.ends_with(words), "{}", found.evidence);
    }
    let mut spider = closed(&[1000.0; 20], Product::Mysql);
    fact(&mut spider, "db.table[sbtest1].engine", "SPIDER");
    let found = durability(&spider);
    assert_eq!(found.outcome, NotChecked, "{}", found.evidence);
    assert_has(&found.evidence, "foreign table sbtest1: its server decides");
    // Its server counts the rows, and syncs them.
    for open in ["0 of 16", "16 of 16"] {
        let mut run = postgres(1000.0, 0.0, 1.5, 20_000);
        for (name, value) in used {
            fact(&mut run, name, value);
        }
        fact(&mut run, "client.sessions.in_transaction", open);
        let found = durability(&run);
        assert_eq!(found.outcome, NotChecked, "{}", found.evidence);
        assert_has(&found.evidence, "Each commit durable");
    }
    // Neither a table that the run did not use nor reads have anything to lose there.
    assert_eq!(
        of(&[far, ("db.table[far].used", "no")], 20_000).outcome,
        Pass
    );
    assert_eq!(of(&used, 0).outcome, Pass);
    // A weakness of this server still counts.
    let unlogged = ("db.table[un].persistence", "unlogged");
    assert_eq!(of(&[far, unlogged], 20_000).outcome, Doubt);
}

#[test]
fn counters_of_innodb_omit_the_rows_of_other_engines() {
    let mut run = closed(&[1000.0; 20], Product::Mysql);
    fact(&mut run, "db.table[sbtest1].engine", "ROCKSDB");
    setting(&mut run, "rocksdb_flush_log_at_trx_commit", "0");
    setting(&mut run, "rocksdb_manual_wal_flush", "ON");
    summary(&mut run).totals.writes = 0;
    for change in ["inserted", "updated", "deleted"] {
        let name = format!("db.status.innodb_rows_{change}");
        series(&mut run, &name, &[0.0; 20]);
    }
    // Procedures may have changed some.
    let found = durability(&run);
    let words = "Lost on process crash because rocksdb_flush_log_at_trx_commit = 0";
    assert_begins(&found.evidence, words);
    // BEGIN and COMMIT, and nothing else without a result.
    let others = summary(&mut run).totals.other;
    fact(
        &mut run,
        "client.statements.commits",
        &(others / 2).to_string(),
    );
    let found = durability(&run);
    assert_begins(&found.evidence, "The run committed no writes");
}
