//! Engines, places, syncs and commits that settings alone do not show.

use dyno_core::finding::Outcome::{Doubt, Pass};
use dyno_core::record::RunRecord;
use dyno_samples::{
    Product, assert_begins, assert_has, closed, drop_series, fact, series, setting,
};

use super::{counted, engine};
use crate::tests::{check, expect, summary};

#[test]
fn settings_of_engines_that_no_table_has_promise_nothing() {
    let is_durable = |engine_of_tables: &str, name: &str, value: &str| {
        let found = expect("durability", Pass, |run| {
            setting(run, name, value);
            engine(run, "sbtest1", engine_of_tables);
        });
        found.evidence.starts_with("Each commit durable:")
    };
    let rocks = "rocksdb_flush_log_at_trx_commit";
    assert!(is_durable("InnoDB", rocks, "2"));
    assert!(!is_durable("ROCKSDB", rocks, "2"));
    assert!(is_durable("ROCKSDB", "innodb_flush_log_at_trx_commit", "0"));
    assert!(!is_durable("InnoDB", "innodb_flush_log_at_trx_commit", "0"));
}

#[test]
fn files_outside_the_data_directory_may_be_in_memory() {
    for (place, words) in [
        ("data.undo", "the undo log is on tmpfs"),
        ("data.system", "InnoDB's system tablespace is on tmpfs"),
        ("data.doublewrite", "the doublewrite buffer is on tmpfs"),
        ("data.database", "the database is on tmpfs"),
        ("data.global", "the shared catalog is on tmpfs"),
        ("data.transactions", "the transaction status is on tmpfs"),
    ] {
        let found = expect("durability", Doubt, |run| {
            fact(run, &format!("{place}.filesystem.type"), "tmpfs");
        });
        let words = format!("May be damaged because {words}, which is memory");
        assert!(found.evidence.starts_with(&words), "{}", found.evidence);
    }
    // The rest is intact, and recovery rolls back commits that the binary log does not contain.
    let binlog = expect("durability", Pass, |run| {
        fact(run, "data.binlog.filesystem.type", "tmpfs");
    });
    let words = "Last commits lost on OS crash because the binary log is on tmpfs";
    assert_begins(&binlog.evidence, words);
    // Logs of engines that no table uses do not matter.
    let aria = |run: &mut RunRecord| fact(run, "data.aria_log.filesystem.type", "tmpfs");
    expect("durability", Pass, aria);
    expect("durability", Doubt, |run| {
        aria(run);
        engine(run, "sbtest1", "Aria");
    });
}

#[test]
fn tables_may_be_in_memory() {
    let mariadb = "CREATE TABLE `t` (\n  `id` int\n) ENGINE=InnoDB DATA DIRECTORY='/fast/'";
    let postgres = "TABLE public.t\ncolumn id integer\ntablespace: fast";
    for (definition, place, words) in [
        (mariadb, "data.directory[/fast]", "t is in /fast on tmpfs"),
        (
            postgres,
            "data.tablespace[fast]",
            "t is in the tablespace fast on tmpfs",
        ),
    ] {
        let with = |kind: &'static str| {
            move |run: &mut RunRecord| {
                fact(run, "db.table[t].definition", definition);
                fact(run, &format!("{place}.filesystem.type"), kind);
            }
        };
        let found = expect("durability", Doubt, with("tmpfs"));
        let words = format!("May be damaged because {words}");
        assert!(found.evidence.starts_with(&words), "{}", found.evidence);
        expect("durability", Pass, with("xfs"));
        // A table that the run does not use does not matter.
        expect("durability", Pass, |run| {
            with("tmpfs")(run);
            fact(run, "db.table[t].used", "no");
        });
    }
}

#[test]
fn syncs_that_reach_no_disk_do_not_count() {
    let preloaded = expect("durability", Doubt, |run| {
        fact(run, "server.ignores_syncs", "libeatmydata.so.1.3.0");
    });
    let words = "May be damaged because the server runs with libeatmydata.so.1.3.0";
    assert_begins(&preloaded.evidence, words);
    let synced = |syncs: f64, writes: f64| {
        move |run: &mut RunRecord| {
            fact(run, "data.disk", "sda");
            fact(run, "server.same_host", "yes");
            drop_series(run, "host.disk[");
            series(run, "db.status.innodb_os_log_fsyncs", &[syncs; 30]);
            series(run, "host.disk[sda].writes", &[writes; 30]);
        }
    };
    let none = expect("durability", Doubt, synced(800.0, 12.0));
    let words = "the log was synced 800 times per second, and all disks together wrote 12 times";
    assert_has(&none.evidence, words);
    expect("durability", Pass, synced(800.0, 1700.0));
    // MyRocks syncs its own log.
    expect("durability", Doubt, |run| {
        synced(1.0, 12.0)(run);
        series(run, "db.rocksdb.wal_synced", &[800.0; 30]);
    });
    // A log on a network file system, or on a disk without requests; and one on another disk.
    for (disk, outcome) in [(None, Pass), (Some("pmem0"), Pass), (Some("sdb"), Doubt)] {
        expect("durability", outcome, |run| {
            synced(800.0, 12.0)(run);
            fact(run, "data.redo.filesystem.type", "some");
            if let Some(disk) = disk {
                fact(run, "data.redo.disk", disk);
            }
        });
    }
    // A few syncs of an idle log may fall between two looks.
    expect("durability", Pass, synced(3.0, 0.0));
    // A disk without requests has no counts, and the disks of another host are unknown.
    for (name, value) in [("data.disk", "pmem0"), ("server.same_host", "no")] {
        expect("durability", Pass, |run| {
            synced(800.0, 12.0)(run);
            fact(run, name, value);
        });
    }
}

#[test]
fn transactions_end_without_a_commit_statement() {
    let without_autocommit = |name: &'static str, rate: f64| {
        move |run: &mut RunRecord| {
            counted(run, 0.0, 0.0);
            setting(run, "autocommit", "OFF");
            series(run, name, &[rate; 30]);
        }
    };
    expect(
        "durability",
        Doubt,
        without_autocommit("db.status.com_xa_commit", 0.0),
    );
    expect(
        "durability",
        Pass,
        without_autocommit("db.status.com_xa_commit", 1000.0),
    );
    // BEGIN commits an open transaction.
    expect(
        "durability",
        Pass,
        without_autocommit("db.status.com_begin", 1000.0),
    );
    let undone = expect("durability", Doubt, |run| {
        counted(run, 2.0, 0.0);
        series(run, "db.status.com_xa_rollback", &[1000.0; 30]);
    });
    assert_begins(&undone.evidence, "Not committed");
    expect("durability", Doubt, |run| {
        counted(run, 0.0, 1000.0);
        series(run, "db.status.com_begin", &[1000.0; 30]);
    });
}

#[test]
fn the_end_of_a_connection_rolls_back() {
    let of = |connections: f64, outcome| {
        expect("durability", outcome, |run| {
            counted(run, 0.0, 0.0);
            series(run, "db.status.com_begin", &[1000.0; 30]);
            series(run, "db.status.connections", &[connections; 30]);
            fact(run, "client.statements.commits", "0");
            summary(run).totals.other = 30_000;
        })
    };
    of(1000.0, Doubt);
    // BEGIN commits the transaction before it.
    of(0.0, Pass);
    // PostgreSQL counts the log-ins as commits.
    for (sessions, outcome) in [(60.0, Doubt), (0.0, Pass)] {
        let mut run = closed(&[60.0; 20], Product::Postgres);
        series(&mut run, "db.database.xact_commit", &[70.0; 20]);
        series(&mut run, "db.database.xact_rollback", &[60.0; 20]);
        series(&mut run, "db.database.sessions", &[sessions; 20]);
        summary(&mut run).totals.writes = 1_200;
        summary(&mut run).totals.other = 1_200;
        check(&run, "durability", outcome);
    }
}

#[test]
fn a_commit_keeps_hundreds_of_events() {
    let of = |own: &str, outcome| {
        expect("durability", outcome, |run| {
            counted(run, 2.0, 0.0);
            summary(run).totals.writes = 30_000;
            setting(run, "autocommit", "OFF");
            fact(run, "client.statements.commits", own);
        })
    };
    let kept = of("60", Pass);
    assert_has(&kept.evidence, "2 commits per second");
    let lost = of("0", Doubt);
    assert_has(&lost.evidence, "autocommit = OFF");
}

#[test]
fn sessions_may_turn_the_log_off() {
    let rocks = |bytes: f64| {
        let finding = expect("durability", Pass, |run| {
            counted(run, 1000.0, 0.0);
            engine(run, "sbtest1", "ROCKSDB");
            series(run, "db.rocksdb.rows_inserted", &[1000.0; 30]);
            series(run, "db.rocksdb.wal_bytes", &[bytes; 30]);
        });
        finding.evidence
    };
    let without = rocks(0.0);
    let words = "Lost on process crash because MyRocks changed 1,000 rows per second";
    assert_begins(&without, words);
    assert!(rocks(60_000.0).starts_with("Each commit durable"));
}

#[test]
fn sessions_decide_about_their_own_autocommit() {
    for (server, own, outcome) in [
        ("OFF", "1", Pass),
        // Switching it on commits.
        ("OFF", "0, 1", Pass),
        ("ON", "0", Doubt),
        ("ON", "1", Pass),
    ] {
        expect("durability", outcome, |run| {
            counted(run, 0.0, 0.0);
            setting(run, "autocommit", server);
            fact(run, "client.settings[autocommit]", own);
        });
    }
}

#[test]
fn rollbacks_of_other_clients_are_not_the_runs() {
    let of = |commits: f64, own: &[(&str, &str)], others: bool, other_statements: bool, outcome| {
        expect("durability", outcome, |run| {
            counted(run, commits, 1000.0);
            for (name, count) in own {
                fact(run, &format!("client.statements.{name}"), count);
            }
            if others {
                series(run, "db.status.questions", &[40_000.0; 30]);
            }
            summary(run).totals.other = if other_statements { 30_000 } else { 0 };
        })
    };
    let none = [("commits", "0"), ("rollbacks", "0")];
    let all = [("commits", "0"), ("rollbacks", "30000")];
    // Statements with autocommit.
    of(0.0, &none, true, false, Pass);
    // `server-counters` would have found other clients, so a text of several statements ended with
    // a rollback.
    of(0.0, &none, false, false, Doubt);
    of(0.0, &none, true, true, Pass);
    // Without others, procedures rolled back.
    of(0.0, &none, false, true, Doubt);
    // Without the client's count, the server's may be that of others.
    of(0.0, &[], true, true, Pass);
    of(0.0, &[], false, true, Doubt);
    // Commits of others do not hide that the run rolled back.
    of(9_000.0, &all, true, true, Doubt);
}
