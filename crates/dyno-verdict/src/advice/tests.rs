//! Counters against settings.

use super::*;
use crate::samples::{self, Product};

fn with(product: Product, values: &[(&str, f64)]) -> RunRecord {
    let mut run = samples::closed(&samples::noisy(30, 1_000.0, 0.02, 7), product);
    samples::drop_series(&mut run, "db.");
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
    let evidence = "120/s tables were opened that were not in the cache, 12 % of all.";
    assert_eq!(one.evidence, evidence);
}

#[test]
fn counters_that_hardly_moved_are_no_reason() {
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
            "deadlock_timeout",
        ),
    ] {
        assert_eq!(settings(&with(product, values)), [expected]);
    }
}

#[test]
fn without_counters_there_is_none() {
    assert_eq!(advice(&with(Product::Mysql, &[])), None);
    assert_eq!(advice(&samples::imported()), None);
}
