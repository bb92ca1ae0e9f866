//! Counters against settings.

use super::*;
use dyno_samples::{self as samples, Product};

fn with(product: Product, values: &[(&str, f64)]) -> RunRecord {
    let mut run = samples::closed(&samples::noisy(30, 1_000.0, 0.02, 7), product);
    samples::drop_series(&mut run, "db.");
    run.settings.clear();
    for (name, value) in values {
        samples::series(&mut run, name, &[*value; 30]);
    }
    run
}

fn settings(run: &RunRecord) -> Vec<&'static str> {
    let counsel = advice(run).unwrap();
    counsel.settings.iter().map(|one| one.setting).collect()
}

#[test]
fn a_small_table_cache_is_named_with_its_setting() {
    let misses = [
        ("db.status.table_open_cache_misses", 120.0),
        ("db.status.table_open_cache_hits", 880.0),
    ];
    let mut run = with(Product::Mysql, &misses);
    samples::setting(&mut run, "table_open_cache", "400");
    let counsel = advice(&run).unwrap();
    let [one] = &counsel.settings[..] else {
        panic!("{counsel:?}");
    };
    assert_eq!(one.setting, "table_open_cache");
    assert_eq!(one.value.as_deref(), Some("400"));
    let evidence = "120/s table opens missed the cache, 12 % of all.";
    assert_eq!(one.evidence, evidence);
}

#[test]
fn counters_that_hardly_moved_give_no_advice() {
    let quiet = [
        ("db.status.table_open_cache_misses", 2.0),
        ("db.status.table_open_cache_hits", 9_000.0),
        ("db.status.sort_merge_passes", 0.1),
        ("db.status.innodb_log_waits", 0.0),
        ("db.status.innodb_checkpoint_age", 5e6),
        ("db.status.innodb_checkpoint_max_age", 8e7),
    ];
    let counsel = advice(&with(Product::Mysql, &quiet)).unwrap();
    assert_eq!(counsel.settings, []);
    assert!(counsel.quiet.contains(&"Sort_merge_passes"), "{counsel:?}");
    assert!(!counsel.quiet.contains(&"Threads_created"), "not observed");
}

#[test]
fn each_counter_names_its_setting() {
    for (product, values, expected) in [
        (
            Product::Mysql,
            &[("db.status.sort_merge_passes", 3.0)][..],
            "sort_buffer_size",
        ),
        (
            Product::Mysql,
            &[("db.status.innodb_log_waits", 3.0)],
            "innodb_log_buffer_size",
        ),
        (
            Product::Mysql,
            &[
                ("db.status.innodb_checkpoint_age", 7.4e7),
                ("db.status.innodb_checkpoint_max_age", 8e7),
            ],
            "innodb_log_file_size",
        ),
        (
            Product::Mysql,
            &[
                ("db.status.created_tmp_disk_tables", 40.0),
                ("db.status.created_tmp_tables", 50.0),
            ],
            "tmp_table_size",
        ),
        (
            Product::Mysql,
            &[
                ("db.status.innodb_row_lock_waits", 40.0),
                ("db.status.innodb_row_lock_time", 2.5),
            ],
            "innodb_lock_wait_timeout",
        ),
        (
            Product::Postgres,
            &[
                ("db.database.blks_read", 40.0),
                ("db.database.blks_hit", 160.0),
            ],
            "shared_buffers",
        ),
        (
            Product::Postgres,
            &[
                ("db.database.temp_files", 2.0),
                ("db.database.temp_bytes", 1e7),
            ],
            "work_mem",
        ),
        (
            Product::Postgres,
            &[("db.checkpointer.requested", 0.07)],
            "max_wal_size",
        ),
        (
            Product::Postgres,
            &[("db.locks.waiting", 1.5)],
            "lock_timeout",
        ),
    ] {
        assert_eq!(settings(&with(product, values)), [expected]);
    }
}

#[test]
fn deadlock_timeout_is_named_only_after_deadlocks() {
    let waits = |deadlocks: f64| {
        let values = [
            ("db.locks.waiting", 1.5),
            ("db.database.deadlocks", deadlocks),
        ];
        settings(&with(Product::Postgres, &values))
    };
    assert_eq!(waits(0.0), ["lock_timeout"]);
    assert_eq!(waits(3.0), ["lock_timeout", "deadlock_timeout"]);
}

/// A series with its value in each second, and a setting.
fn named(
    product: Product,
    values: &[(&str, f64)],
    limit: Option<(&str, &str)>,
) -> Vec<&'static str> {
    let mut run = with(product, values);
    if let Some((name, value)) = limit {
        samples::setting(&mut run, name, value);
    }
    settings(&run)
}

#[test]
fn bounds_that_are_nearly_reached_name_their_settings() {
    let mysql = |values, limit| named(Product::Mysql, values, limit);
    let sessions = [("db.status.threads_connected", 90.0)];
    let connections = Some(("max_connections", "100"));
    assert_eq!(mysql(&sessions, connections), ["max_connections"]);
    assert_eq!(mysql(&sessions, Some(("max_connections", "200"))), [""; 0]);
    let refused = [
        ("db.status.connection_errors_max_connections", 2.0),
        ("db.status.threads_connected", 10.0),
    ];
    assert_eq!(mysql(&refused, connections), ["max_connections"]);
    let prepared = [("db.status.prepared_stmt_count", 90.0)];
    let limit = Some(("max_prepared_stmt_count", "100"));
    assert_eq!(mysql(&prepared, limit), ["max_prepared_stmt_count"]);
    assert_eq!(mysql(&prepared, None), [""; 0], "its bound is not known");
}

#[test]
fn a_small_redo_log_is_named_by_the_setting_that_the_server_has() {
    let mysql = |megabytes: f64| {
        let size = [("db.status.innodb_redo_log_logical_size", megabytes * 1e6)];
        named(
            Product::Mysql,
            &size,
            Some(("innodb_redo_log_capacity", "8000000")),
        )
    };
    assert_eq!(mysql(6.0), ["innodb_redo_log_capacity"]);
    assert_eq!(mysql(4.0), [""; 0]);
    assert_eq!(mysql(20.0), [""; 0], "its capacity is unknown");
    let age = [
        ("db.status.innodb_checkpoint_age", 7.4e7),
        ("db.status.innodb_checkpoint_max_age", 8e7),
    ];
    let mariadb = Some(("innodb_log_file_size", "100000000"));
    assert_eq!(
        named(Product::Mysql, &age, mariadb),
        ["innodb_log_file_size"]
    );
    let other = Some(("innodb_redo_log_capacity", "100000000"));
    assert_eq!(named(Product::Mysql, &age, other), [""; 0]);
}

#[test]
fn caches_and_buffers_name_their_settings() {
    for (values, expected) in [
        (
            &[
                ("db.status.innodb_buffer_pool_reads", 50.0),
                ("db.status.innodb_buffer_pool_read_requests", 1_000.0),
            ][..],
            "innodb_buffer_pool_size",
        ),
        (
            &[("db.status.innodb_buffer_pool_wait_free", 3.0)],
            "innodb_buffer_pool_size",
        ),
        (
            &[
                ("db.status.binlog_cache_disk_use", 5.0),
                ("db.status.binlog_cache_use", 100.0),
            ],
            "binlog_cache_size",
        ),
        (&[("db.status.threads_created", 4.0)], "thread_cache_size"),
        (&[("db.status.aborted_clients", 1.0)], "max_allowed_packet"),
    ] {
        assert_eq!(named(Product::Mysql, values, None), [expected]);
    }
    let cleaned = [("db.bgwriter.maxwritten_clean", 1.0)];
    assert_eq!(
        named(Product::Postgres, &cleaned, None),
        ["bgwriter_lru_maxpages"]
    );
    let full = [("db.wal.buffers_full", 12.0)];
    assert_eq!(named(Product::Postgres, &full, None), ["wal_buffers"]);
}

#[test]
fn a_run_without_counters_gets_no_advice() {
    assert_eq!(advice(&with(Product::Mysql, &[])), None);
    assert_eq!(advice(&samples::imported()), None);
}

#[test]
fn statements_that_scan_tables_are_named() {
    use dyno_core::summary::{DigestsSummary, RunSummary};
    let digest = |text: &str, no_index, examined, disk_tables| DigestSummary {
        text: text.to_owned(),
        count: 100,
        rows_examined: Some(examined),
        no_index: Some(no_index),
        disk_tables: Some(disk_tables),
        ..DigestSummary::default()
    };
    let mut run = with(Product::Mysql, &[("db.status.sort_merge_passes", 0.0)]);
    run.summary = Some(RunSummary {
        digests: Some(DigestsSummary {
            digests: vec![
                digest("a scan", 100, 500_000, 0),
                digest("a small scan", 100, 500, 0),
                digest("a lookup", 0, 100, 0),
                digest("on disk", 0, 100, 7),
            ],
            ..DigestsSummary::default()
        }),
        ..RunSummary::default()
    });
    let statements = advice(&run).unwrap().statements;
    assert_eq!(statements.len(), 2, "{statements:?}");
    assert!(statements[0].starts_with("100 of 100 executions used no index"));
    let scan = "each examined 5,000 rows on average (SUM_ROWS_EXAMINED): a scan";
    assert!(statements[0].ends_with(scan));
    assert!(statements[1].starts_with("7 temporary tables went to disk"));
}
