//! Promises of settings that something else breaks.

mod elsewhere;
mod sessions;
mod unseen;

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::record::{Event, EventDetail, EventKind, RunRecord, SettingChange};
use dyno_samples::{Product, assert_begins, assert_has, closed, fact, series, setting, values};

use crate::tests::{check, expect, judged, summary};

fn engine(run: &mut RunRecord, table: &str, engine: &str) {
    fact(run, &format!("db.table[{table}].engine"), engine);
}

#[test]
fn durability_is_the_weakest_class_during_the_run() {
    let found = expect("durability", Pass, |run| {
        change(run, 5.0, "innodb_flush_log_at_trx_commit", ["1", "0"]);
    });
    let words = "Lost on process crash because innodb_flush_log_at_trx_commit = 0 from 5 s on";
    assert_begins(&found.evidence, words);
}

/// A change of a setting that the observer saw.
fn change(run: &mut RunRecord, at_s: f64, name: &str, [from, to]: [&str; 2]) {
    run.events.push(Event {
        detail: EventDetail::of_setting(SettingChange {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        }),
        ..values::event(at_s, None, EventKind::Setting, "somebody set something")
    });
}

#[test]
fn values_that_settings_had_before_a_change_count() {
    const FLUSH: &str = "innodb_flush_log_at_trx_commit";
    let of = |changes: &[(f64, &str, [&str; 2])], end: &str, words: &str| {
        let found = expect("durability", Pass, |run| {
            run.settings.retain(|setting| setting.name != FLUSH);
            run.settings.push(values::setting(FLUSH, "1", Some(end)));
            engine(run, "sbtest1", "InnoDB");
            for (at_s, name, values) in changes {
                change(run, *at_s, name, *values);
            }
        });
        assert_begins(&found.evidence, words);
    };
    let lost = "Lost on process crash because innodb_flush_log_at_trx_commit = 0";
    // Set while the sessions began, and set back in time or after the end.
    let there = (-2.0, FLUSH, ["1", "0"]);
    of(&[there, (8.97, FLUSH, ["0", "1"])], "1", lost);
    of(&[there], "1", lost);
    of(&[there, (1e4, FLUSH, ["0", "1"])], "1", lost);
    // Only the way back was seen.
    let until = format!("{lost} until 8.97 s");
    of(&[(8.97, FLUSH, ["0", "1"])], "1", &until);
    of(&[], "0", &format!("{lost} at the end"));
    // Set and set back before the measurement, and set after it.
    let durable = "Each commit durable:";
    of(&[there, (-1.0, FLUSH, ["0", "1"])], "1", durable);
    of(&[(1e4, FLUSH, ["1", "0"])], "0", durable);
    // Another setting may decide the cost of a value.
    let every = "innodb_flush_log_at_timeout";
    let changes = [(3.0, FLUSH, ["1", "2"]), (5.0, every, ["1", "100"])];
    let words = "Last commits lost on OS crash because innodb_flush_log_at_trx_commit = 2 from 3 s \
                 on and innodb_flush_log_at_trx_commit = 2 with innodb_flush_log_at_timeout = 100 \
                 from 5 s on";
    of(&changes, "2", words);
}

#[test]
fn settings_of_sessions_decide_the_class_of_their_commits() {
    for (name, values, outcome, words) in [
        (
            "synchronous_commit",
            "off",
            Pass,
            "Lost on process crash because sessions set synchronous_commit = off:",
        ),
        (
            "synchronous_commit",
            "on, false",
            Pass,
            "Lost on process crash",
        ),
        ("synchronous_commit", "local", Pass, "Each commit durable:"),
        ("sql_log_bin", "0", Pass, "Each commit durable:"),
        (
            "synchronous",
            "off",
            Doubt,
            "May be damaged because sessions set synchronous = off",
        ),
        (
            "journal_mode",
            "memory",
            Doubt,
            "May be damaged because sessions set journal_mode",
        ),
        // No table uses MyRocks.
        (
            "rocksdb_write_disable_wal",
            "1",
            Pass,
            "Each commit durable:",
        ),
    ] {
        let found = expect("durability", outcome, |run| {
            fact(run, &format!("client.settings[{name}]"), values);
            engine(run, "sbtest1", "InnoDB");
        });
        assert_begins(&found.evidence, words);
    }
}

#[test]
fn tables_that_become_unlogged_in_mid_run_are_not_durable() {
    for (name, now, outcome) in [
        ("sbtest1", "unlogged", Doubt),
        ("sbtest1", "MEMORY", Doubt),
        ("sbtest1", "permanent", Pass),
        // A table of another application.
        ("notes", "unlogged", Pass),
    ] {
        expect("durability", outcome, |run| {
            fact(run, "db.table[sbtest1].names", "sbtest1");
            fact(run, "db.table[sbtest1].sha256", "0");
            let name = format!("storage of table {name}");
            run.settings
                .push(values::setting(&name, "permanent", Some(now)));
        });
    }
}

#[test]
fn engines_without_a_log_promise_less_than_the_settings() {
    for (name, outcome, words) in [
        ("InnoDB", Pass, "Each commit durable:"),
        ("ROCKSDB", Pass, "Each commit durable:"),
        // PostgreSQL's access method, which only shares its name with MySQL's HEAP.
        ("heap", Pass, "Each commit durable:"),
        (
            "Aria",
            Pass,
            "Each statement durable, without transactions because",
        ),
        (
            "MyISAM",
            Doubt,
            "May be damaged because the engine MyISAM of sbtest1..sbtest4 has no log",
        ),
        ("Aria (not transactional)", Doubt, "May be damaged because"),
        ("MEMORY", Doubt, "Tables emptied by a crash because"),
    ] {
        let finding = expect("durability", outcome, |run| {
            engine(run, "sbtest1..sbtest4", name);
        });
        assert_begins(&finding.evidence, words);
    }
    let unlogged = expect("durability", Doubt, |run| {
        fact(run, "db.table[sbtest1].persistence", "unlogged");
    });
    assert_has(
        &unlogged.evidence,
        "Tables emptied by a crash because sbtest1 is UNLOGGED",
    );
    assert!(!unlogged.evidence.contains("empties"), "{unlogged:?}");
    // Only damage can be a matter of whole pages.
    let waive = "Or waive this with the reason why it does not matter, and state it";
    assert_has(&unlogged.advice, waive);
    // Tables that no statement named do not count.
    expect("durability", Pass, |run| {
        engine(run, "notes", "MyISAM");
        fact(run, "db.table[notes].used", "no");
    });
    // Rows of a temporary table disappear with their session.
    for (only, outcome) in [("yes", Doubt), ("no", Pass)] {
        let temporary = expect("durability", outcome, |run| {
            fact(run, "client.statements.temporary_tables", "scratch");
            fact(run, "client.statements.changes_temporary_only", only);
        });
        assert_has(&temporary.evidence, "scratch");
    }
    // It is reported even if no setting is known.
    expect("durability", Doubt, |run| {
        run.settings.clear();
        engine(run, "sbtest1", "MyISAM");
    });
}

#[test]
fn files_in_memory_are_not_durable() {
    let of = |name: &str, kind: &str, outcome| {
        expect("durability", outcome, |run| fact(run, name, kind))
    };
    let data = "data.filesystem.type";
    for kind in ["tmpfs", "ramfs"] {
        let finding = of(data, kind, Doubt);
        let words = format!("All data lost on OS crash because the data is on {kind}");
        assert!(finding.evidence.starts_with(&words), "{}", finding.evidence);
    }
    assert_has(
        &of("data.redo.filesystem.type", "tmpfs", Doubt).evidence,
        "the log is on",
    );
    assert!(of(data, "ext4", Pass).evidence.contains("data on ext4"));
    assert_has(&of(data, "overlay", Pass).evidence, "a container's layer");
    // The file system of the results does not matter.
    of("host.filesystem.type", "tmpfs", Pass);
}

fn counted(run: &mut RunRecord, commits: f64, rollbacks: f64) {
    series(run, "db.status.com_commit", &[commits; 30]);
    series(run, "db.status.com_rollback", &[rollbacks; 30]);
    summary(run).totals.writes = 1_000;
}

#[test]
fn uncommitted_work_is_not_a_transaction() {
    expect("durability", Pass, |run| counted(run, 1000.0, 4.0));
    let rolled_back = expect("durability", Doubt, |run| counted(run, 2.0, 1000.0));
    assert_begins(
        &rolled_back.evidence,
        "Not committed, for the most part, because the server counted",
    );
    let all = expect("durability", Doubt, |run| counted(run, 0.0, 1000.0));
    assert_begins(&all.evidence, "Not committed because the server counted");
    assert!(!all.advice.contains("whole pages"), "{}", all.advice);
    let unsafe_one = expect("durability", Doubt, |run| {
        setting(run, "innodb_doublewrite", "OFF");
    });
    let waive = "(a file system that writes whole pages, a copy";
    assert_has(&unsafe_one.advice, waive);
    let open = expect("durability", Doubt, |run| {
        counted(run, 0.0, 0.0);
        setting(run, "autocommit", "OFF");
    });
    assert_has(&open.evidence, "autocommit = OFF");
    // A script may have turned it off for its own session.
    let left = expect("durability", Doubt, |run| {
        counted(run, 0.0, 0.0);
        fact(run, "client.sessions.in_transaction", "4 of 4");
    });
    assert_has(&left.evidence, "4 of 4 sessions ended within");
    // Each statement commits for itself.
    expect("durability", Pass, |run| counted(run, 0.0, 0.0));
    // Reading needs no commit.
    expect("durability", Pass, |run| {
        counted(run, 0.0, 1000.0);
        summary(run).totals.writes = 0;
    });
    // Sessions may set synchronous_commit for themselves: four share 1.5 syncs a second.
    let pg = |syncs: f64| {
        let mut run = closed(&[1000.0; 20], Product::Postgres);
        series(&mut run, "db.database.xact_commit", &[1000.0; 20]);
        series(&mut run, "db.database.xact_rollback", &[0.0; 20]);
        series(&mut run, "db.wal.syncs", &[syncs; 20]);
        setting(&mut run, "wal_sync_method", "fdatasync");
        setting(&mut run, "fsync", "on");
        summary(&mut run).totals.writes = 20_000;
        judged(&run, "durability")
    };
    let unsynced = pg(1.5);
    assert_begins(
        &unsynced.evidence,
        "Lost on process crash because 1,000 transactions",
    );
    assert!(pg(300.0).evidence.starts_with("Each commit durable"));
    // Failed statements are rolled back; the errors report them.
    expect("durability", Pass, |run| {
        counted(run, 100.0, 900.0);
        let length_s = run.summary.as_ref().unwrap().measured_s;
        summary(run).totals.errors = (900.0 * length_s) as u64;
    });
}

/// A slow run on PostgreSQL: commits per second, rows changed per second, sessions left open.
fn slow(commits: f64, rows: Option<f64>, open: &str) -> RunRecord {
    let mut run = closed(&[91.0; 20], Product::Postgres);
    series(&mut run, "db.database.xact_commit", &[commits; 20]);
    series(&mut run, "db.database.xact_rollback", &[0.0; 20]);
    if let Some(rows) = rows {
        series(&mut run, "db.database.tup_updated", &[rows; 20]);
        let zeros = "db.database.tup_inserted db.database.tup_deleted";
        fact(&mut run, "observer.always_zero", zeros);
    }
    fact(&mut run, "client.sessions.in_transaction", open);
    summary(&mut run).totals.writes = 1_820;
    run
}

#[test]
fn commits_of_others_do_not_count() {
    let open = judged(&slow(3.85, Some(0.2), "4 of 4"), "durability");
    assert_eq!(open.outcome, Doubt, "{}", open.evidence);
    assert_begins(
        &open.evidence,
        "Not committed because 4 of 4 sessions ended within a transaction, and the server \
             counted 3.85 commits and 0.2 changed rows per second",
    );
    // Sessions that commit every twentieth event also end within a transaction.
    check(&slow(4.6, Some(91.0), "4 of 4"), "durability", Pass);
    check(&slow(3.85, Some(0.2), "0 of 4"), "durability", Pass);
    // Without the rows, the client's own count of COMMIT decides.
    check(&slow(3.85, None, "4 of 4"), "durability", Pass);
    let mut own = slow(3.85, None, "4 of 4");
    fact(&mut own, "client.statements.commits", "0");
    check(&own, "durability", Doubt);
    fact(&mut own, "client.statements.commits", "75");
    check(&own, "durability", Pass);
}

#[test]
fn work_rolled_back_to_a_savepoint_does_not_count() {
    let series_of = |undone: f64| {
        move |run: &mut RunRecord| {
            counted(run, 1000.0, 0.0);
            summary(run).totals.writes = 60_000;
            series(run, "db.status.com_rollback_to_savepoint", &[undone; 30]);
        }
    };
    let undone = expect("durability", Doubt, series_of(1000.0));
    assert_begins(
        &undone.evidence,
        "Not committed, for the most part, because the server counted 1,000 ROLLBACK TO SAVEPOINT \
         per second",
    );
    expect("durability", Pass, series_of(300.0));
    // PostgreSQL does not count them, but the client does.
    let mut run = slow(91.0, Some(91.0), "0 of 4");
    fact(&mut run, "client.statements.rollbacks_to_savepoint", "1820");
    check(&run, "durability", Doubt);
}

#[test]
fn rollbacks_on_sqlite_are_the_clients_count() {
    let of = |commits: &str, rollbacks: &str, outcome| {
        let mut run = closed(&[1000.0; 20], Product::Sqlite);
        summary(&mut run).totals.writes = 40_000;
        fact(&mut run, "db.file.changed", "yes");
        fact(&mut run, "client.statements.commits", commits);
        fact(&mut run, "client.statements.rollbacks", rollbacks);
        check(&run, "durability", outcome)
    };
    let undone = of("400", "19600", Doubt);
    assert_begins(
        &undone.evidence,
        "Not committed, for the most part, because the client counted 980 rollbacks and 20 commits",
    );
    of("19600", "400", Pass);
    of("0", "0", Pass);
}

#[test]
fn tables_that_no_statement_names_do_not_count() {
    let unlogged = "db.table[part].persistence";
    expect("durability", Pass, |run| {
        fact(run, unlogged, "unlogged");
        fact(run, "db.table[part].used", "no");
        fact(run, "db.tables.named", "1");
    });
    let unknown = expect("durability", Doubt, |run| fact(run, unlogged, "unlogged"));
    assert_has(&unknown.evidence, "which tables the run used is not known");
    let known = expect("durability", Doubt, |run| {
        fact(run, unlogged, "unlogged");
        fact(run, "db.table[part].used", "yes");
        fact(
            run,
            "db.table[part].definition",
            "TABLE public.part\npartition part_1 FOR VALUES FROM (1) TO (9) UNLOGGED\npartition \
             by: RANGE (id)",
        );
    });
    assert!(
        known
            .evidence
            .contains("part has partitions that are UNLOGGED")
            && !known.evidence.contains("not known"),
        "{}",
        known.evidence
    );
}

#[test]
fn tables_of_other_schemas_count_and_unseen_ones_are_named() {
    let other = expect("durability", Doubt, |run| {
        fact(run, "db.tables.used_elsewhere[MyISAM]", "eyes_b.mm");
    });
    assert_has(&other.evidence, "the engine MyISAM of eyes_b.mm has no log");
    let unlogged = expect("durability", Doubt, |run| {
        fact(run, "db.tables.used_elsewhere[unlogged]", "hidden.away");
    });
    assert_has(&unlogged.evidence, "hidden.away is UNLOGGED");
    let unseen = expect("durability", Pass, |run| {
        fact(run, "db.tables.unseen", "eyes_b.v, a TEMPORARY table");
    });
    assert_has(
        &unseen.evidence,
        "not examined: eyes_b.v, a TEMPORARY table",
    );
}

#[test]
fn unchanged_files_of_sqlite_contain_no_commits() {
    let mut run = closed(&[1000.0; 20], Product::Sqlite);
    summary(&mut run).totals.writes = 500;
    fact(&mut run, "db.file.changed", "yes");
    check(&run, "durability", Pass);
    fact(&mut run, "db.file.changed", "no");
    check(&run, "durability", Doubt);
}

#[test]
fn the_class_of_one_endpoint_is_not_that_of_the_others() {
    expect("durability", Pass, |_| {});
    let found = expect("durability", NotChecked, |run| {
        let endpoints = &mut summary(run).endpoints;
        let other = dyno_core::summary::EndpointSummary {
            name: "127.0.0.1:3307".to_owned(),
            ..endpoints[0].clone()
        };
        endpoints.push(other);
    });
    assert_eq!(found.durability, None);
    assert_has(&found.evidence, "2 endpoints");
}

#[test]
fn the_class_of_one_server_behind_a_proxy_is_not_that_of_the_others() {
    let found = expect("durability", NotChecked, |run| {
        series(run, "db.status.questions", &[6_700.0; 30]);
    });
    assert_eq!(found.durability, None);
    assert_has(&found.evidence, "did not reach the observed server");
    expect("durability", Doubt, |run| {
        series(run, "db.status.questions", &[6_700.0; 30]);
        setting(run, "innodb_doublewrite", "OFF");
    });
}
