use super::Server::{MariaDb, MySql, Postgres};
use super::*;

#[test]
fn a_series_has_one_meaning_on_each_version() {
    let rows: Vec<&Counter> = all().collect();
    for (at, one) in rows.iter().enumerate() {
        for two in &rows[at + 1..] {
            let both = one
                .on
                .iter()
                .flat_map(|a| two.on.iter().map(move |b| (a, b)));
            let overlap = both.into_iter().any(|(a, b)| {
                a.server == b.server && a.since.max(b.since) < a.before.min(b.before)
            });
            assert!(one.series != two.series || !overlap, "{} twice", one.series);
        }
        assert!(!one.on.is_empty() && !one.source.is_empty(), "{one:?}");
        let state = one.reset == Reset::State;
        let gauge = matches!(one.class, Class::Gauge(_));
        assert!(
            !state || gauge,
            "{} is a state that is no gauge",
            one.series
        );
    }
}

fn counts(series: &str, server: Server, version: Version) -> Option<Counts> {
    Some(meaning(series, server, version)?.counts)
}

#[test]
fn requests_and_blocks_are_distinguished_by_version() {
    for (version, io) in [((15, 4), None), ((17, 2), Some(Counts::Block))] {
        assert_eq!(counts("pg_stat_io", Postgres, version), io);
        assert_eq!(counts("db.io.reads", Postgres, version), None);
    }
    for (series, version, expected) in [
        ("db.io.read_blocks", (17, 2), Some(Counts::Block)),
        ("db.io.read_blocks", (18, 0), None),
        ("db.io.reads", (18, 0), Some(Counts::Operation)),
    ] {
        assert_eq!(counts(series, Postgres, version), expected, "{series}");
    }
    let wal = |version| {
        meaning("pg_stat_io", Postgres, version)
            .unwrap()
            .includes(Also::Wal)
    };
    assert!(wal((18, 0)) && !wal((17, 0)));
    // An INSERT that adds 1,026 blocks to a table and its index counts 1,066 on 15.18, and 49 on
    // 18.6.
    let new = |series, version| includes(series, Postgres, version, Also::NewBlocks);
    let read = "db.database.blks_read";
    assert!(new(read, (15, 18)) && !new(read, (18, 6)));
    assert!(!new("db.database.blks_hit", (15, 18)) && !new("db.made_up", (15, 18)));
}

#[test]
fn counters_that_differ_from_their_names() {
    for server in [MariaDb, MySql] {
        let questions = meaning("db.status.questions", server, (10, 11)).unwrap();
        assert!(questions.includes(Also::Connections));
        let commits = counts("db.status.handler_commit", server, (10, 11));
        assert_eq!(commits, Some(Counts::Engine));
    }
    let scans = counts("db.tables.scans", Postgres, (15, 0));
    assert_eq!(scans, Some(Counts::Descent));
    assert_eq!(counts("db.status.binlog_commits", MySql, (9, 7)), None);
    // MariaDB removed these from its status.
    let rows_read = |server, version| counts("db.status.innodb_rows_read", server, version);
    assert_eq!(rows_read(MariaDb, (10, 11)), None);
    assert_eq!(rows_read(MariaDb, (10, 5)), Some(Counts::Row));
    assert_eq!(rows_read(MySql, (9, 7)), Some(Counts::Row));
}

#[test]
fn exact_names_take_precedence_over_prefixes() {
    assert_eq!(status("com_commit").unwrap().source, "Com_commit");
    assert_eq!(status("com_select").unwrap().source, "Com_…");
    let flushed = status("innodb_buffer_pool_pages_flushed").unwrap();
    assert_eq!(flushed.class, Class::Rate("count/s", 1.0));
    assert_eq!(status("made_up"), None);
}

#[test]
fn versions_are_parsed_from_version_strings() {
    for (text, expected) in [
        ("10.11.19-MariaDB-0+deb12u1", Some((10, 11))),
        ("9.7.4-2", Some((9, 7))),
        ("18.6 (Debian 18.6-1)", Some((18, 6))),
        ("18beta2", Some((18, 0))),
        ("", None),
        ("unknown", None),
    ] {
        assert_eq!(version(text), expected, "{text}");
    }
}

#[test]
fn spans_are_printed_in_words() {
    assert_eq!(Span::all(MySql).to_string(), "MySQL");
    assert_eq!(
        Span::before(MariaDb, (10, 6)).to_string(),
        "MariaDB before 10.6"
    );
    let both = Span::between(Postgres, (16, 0), (18, 0));
    assert_eq!(both.to_string(), "PostgreSQL since 16, before 18");
}
