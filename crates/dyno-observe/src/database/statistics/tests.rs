use dyno_core::counters::{Class, Counts, Server, Version, meaning, of};

use super::*;

/// The version-dependent columns of the servers.
const VERSIONS: [(Version, &[&str]); 3] = [
    (
        (15, 0),
        &[
            "pg_stat_bgwriter.checkpoints_timed",
            "pg_stat_bgwriter.buffers_clean",
            "pg_stat_bgwriter.buffers_backend",
            "pg_stat_bgwriter.buffers_backend_fsync",
            "pg_stat_database.sessions",
            "pg_stat_wal.wal_write",
            "pg_stat_wal.wal_sync",
            "pg_stat_wal.wal_bytes",
            "pg_stat_replication.replay_lag",
        ],
    ),
    (
        (17, 0),
        &[
            "pg_stat_checkpointer.num_timed",
            "pg_stat_bgwriter.maxwritten_clean",
            "pg_stat_wal.wal_sync",
            "pg_stat_io.object",
            "pg_stat_io.op_bytes",
            "pg_stat_io.reads",
            "pg_stat_io.writes",
            "pg_stat_io.extends",
            "pg_stat_io.hits",
            "pg_stat_io.fsyncs",
        ],
    ),
    (
        (18, 0),
        &[
            "pg_stat_checkpointer.num_timed",
            "pg_stat_wal.wal_fpi",
            "pg_stat_wal.wal_buffers_full",
            "pg_stat_io.object",
            "pg_stat_io.reads",
            "pg_stat_io.read_bytes",
            "pg_stat_io.writes",
            "pg_stat_io.write_bytes",
            "pg_stat_io.extends",
            "pg_stat_io.evictions",
            "pg_stat_io.writebacks",
        ],
    ),
];

#[test]
fn series_match_the_table_of_counters_on_each_version() {
    for (version, columns) in VERSIONS {
        let has = |column: &str| columns.contains(&column);
        for column in parts(&has).iter().flat_map(|part| &part.columns) {
            let (name, unit, gauge) = match &column.series {
                Series::Gauge(gauge) => (gauge.name(), gauge.unit(), true),
                Series::Rate(rate) => (rate.name(), rate.unit(), false),
            };
            let counter = meaning(name, Server::Postgres, version);
            let counter = counter.unwrap_or_else(|| panic!("{name} of {version:?}"));
            let expected = match counter.class {
                Class::Gauge(unit) => (unit, true),
                Class::Rate(unit, _) => (unit, false),
                Class::Ignored => ("none", false),
            };
            assert_eq!((unit, gauge), expected, "{name} of {version:?}");
        }
    }
}

#[test]
fn blocks_and_requests_have_different_names() {
    let names = |version: usize| -> Vec<String> {
        let has = |column: &str| VERSIONS[version].1.contains(&column);
        let io = io(&has).unwrap();
        assert!(io.sql().ends_with("WHERE object <> 'wal'"), "{}", io.sql());
        let names = io.columns.iter().map(|column| match &column.series {
            Series::Gauge(gauge) => gauge.name().to_owned(),
            Series::Rate(rate) => rate.name().to_owned(),
        });
        names.collect()
    };
    assert_eq!(names(1)[..2], ["db.io.read_blocks", "db.io.written_blocks"]);
    assert_eq!(names(2)[..2], ["db.io.reads", "db.io.writes"]);
    let both = "db.io.read_bytes".to_owned();
    assert!(names(1).contains(&both) && names(2).contains(&both));
    assert_eq!(of("db.io.reads").unwrap().counts, Counts::Operation);
}

fn texts(columns: &[&str]) -> Vec<String> {
    let has = |column: &str| columns.contains(&column);
    parts(&has).iter().map(Part::sql).collect()
}

#[test]
fn versions_have_different_views() {
    let old = texts(&["pg_stat_bgwriter.checkpoints_timed", "pg_stat_wal.wal_sync"]);
    assert!(
        old.iter()
            .any(|sql| sql.starts_with("SELECT checkpoints_timed AS c0"))
    );
    assert!(
        old.iter()
            .any(|sql| sql == "SELECT wal_sync AS c0 FROM pg_catalog.pg_stat_wal")
    );
    assert!(old.iter().all(|sql| !sql.contains("pg_stat_io")));
    let new = texts(&[
        "pg_stat_checkpointer.num_timed",
        "pg_stat_io.reads",
        "pg_stat_io.read_bytes",
    ]);
    assert!(
        new.iter()
            .any(|sql| sql.starts_with("SELECT num_timed AS c0"))
    );
    let io = new.iter().find(|sql| sql.contains("pg_stat_io")).unwrap();
    assert!(
        io.contains("sum(reads)") && io.contains("sum(read_bytes)"),
        "{io}"
    );
    // The query only asks for columns that this server has.
    assert!(!io.contains("writes") && !io.contains("op_bytes"), "{io}");
    let middle = texts(&["pg_stat_io.reads", "pg_stat_io.op_bytes"]);
    assert!(
        middle
            .iter()
            .any(|sql| sql.contains("sum(reads * op_bytes)"))
    );
}

#[test]
fn the_logs_syncs_are_counted_once_in_each_version() {
    let of_log = "WHERE object = 'wal'";
    let newest = texts(&["pg_stat_io.object", "pg_stat_wal.wal_bytes"]);
    let log = newest.iter().find(|sql| sql.contains(of_log)).unwrap();
    assert!(log.contains("sum(fsyncs)"), "{log}");
    // 16 and 17 have both views, and count the log's syncs in the older one.
    let both = texts(&["pg_stat_io.object", "pg_stat_wal.wal_sync"]);
    assert!(both.iter().all(|sql| !sql.contains(of_log)), "{both:?}");
}

#[test]
fn base_backups_of_any_program_are_counted_where_they_are_listed() {
    let of = |columns: &[&str]| {
        let all = texts(columns);
        let backups = all.iter().find(|sql| sql.contains("pg_basebackup"));
        backups.unwrap().clone()
    };
    assert!(!of(&[]).contains("pg_stat_progress_basebackup"));
    let listed = of(&["pg_stat_progress_basebackup.pid"]);
    let ending = "OR pid IN (SELECT pid FROM pg_catalog.pg_stat_progress_basebackup)) AS c2 FROM";
    assert!(listed.contains(ending), "{listed}");
}
