//! Table scans, and other reads that count rows like a scan.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::record::RunRecord;
use dyno_samples::{self as samples, assert_has, drop_series, fact, series};

use crate::tests::{expect, judged, summary};

#[test]
fn scans_of_whole_tables_are_reported() {
    let table = |indexes: &'static str, analysed: &'static str, rows: f64| {
        move |run: &mut RunRecord| {
            for (what, value) in [
                ("definition", "CREATE TABLE `t` (\n  `id` int\n)"),
                ("sha256", "ab"),
                ("names", "t"),
                ("primary_key", "no"),
                ("indexes", indexes),
                ("analysed", analysed),
            ] {
                fact(run, &format!("db.table[t].{what}"), value);
            }
            series(run, "db.status.handler_read_rnd_next", &[rows; 30]);
        }
    };
    expect("statistics", NotChecked, |_| {});
    let bare = expect("statistics", Doubt, table("0", "1 of 1", 9e8));
    assert_has(&bare.evidence, "Without any index: t.");
    let unknown = expect("statistics", Doubt, table("1", "0 of 1", 9e8));
    let expected = "Not analysed: t; without a primary key: t.";
    assert!(unknown.evidence.ends_with(expected), "{}", unknown.evidence);
    // Indexes exist, but not the one that the statements need.
    let needless = expect("statistics", Doubt, table("1", "1 of 1", 9e8));
    let expected = " rows of whole tables on average, for 2.22 rows that it returned or changed.";
    assert_has(&needless.evidence, expected);
    // No scans, and no rows to return.
    let history = expect("statistics", Pass, table("0", "1 of 1", 4_000.0));
    let expected = "A statement scanned 0 rows of whole tables on average. Without any index: t.";
    assert_eq!(history.evidence, expected);
    // No index is missing if no statement restricts its rows.
    let meant = expect("statistics", Pass, |run| {
        table("0", "0 of 1", 9e8)(run);
        fact(run, "client.statements.restrict", "no");
    });
    let expected = ", and no statement restricts the rows that it reads. Without any index: t; not";
    assert_has(&meant.evidence, expected);
    // The server created the scanned table itself.
    for counter in ["handler_tmp_write", "handler_write"] {
        expect("statistics", Pass, |run| {
            table("0", "1 of 1", 9e8)(run);
            series(run, &format!("db.status.{counter}"), &[9e8; 30]);
        });
    }
    let inserted = expect("statistics", Doubt, |run| {
        table("0", "1 of 1", 9e8)(run);
        series(run, "db.status.handler_write", &[9e8; 30]);
        series(run, "db.status.innodb_rows_inserted", &[9e8; 30]);
    });
    assert!(inserted.evidence.contains("Without any index"));
    expect("statistics", Pass, |run| {
        table("1", "1 of 1", 9e8)(run);
        summary(run).totals.rows *= 1_000;
    });
    let silent = expect("statistics", NotChecked, |run| {
        table("0", "1 of 1", 0.0)(run);
        drop_series(run, "db.status.handler_read_rnd_next");
    });
    assert!(silent.evidence.ends_with("Without any index: t."));
}

#[test]
fn sampling_a_table_is_not_a_scan() {
    let scanned = |scans: f64, live: f64, rows: &[(f64, f64)]| {
        let mut run = samples::closed(&[1000.0; 20], samples::Product::Postgres);
        for (what, value) in [("sha256", "ab"), ("names", "t"), ("analysed", "0 of 1")] {
            fact(&mut run, &format!("db.table[t].{what}"), value);
        }
        series(&mut run, "db.tables.seq_scans", &[scans; 20]);
        series(&mut run, "db.tables.live_tuples", &[live; 20]);
        series(&mut run, "db.tables.seq_tuples", &[0.0; 20]);
        let tuples = run
            .series
            .iter_mut()
            .find(|series| series.key.name == "db.tables.seq_tuples");
        tuples.unwrap().points = rows.to_vec();
        judged(&run, "statistics")
    };
    // 18,000 statements per second read or change rows.
    let steady: Vec<(f64, f64)> = (1..=20).map(|s| (f64::from(s), 3.6e7)).collect();
    let doubt = scanned(18_000.0, 2_000.0, &steady);
    assert_eq!(doubt.outcome, Doubt, "{}", doubt.evidence);
    assert_has(&doubt.evidence, "scanned 2,000 rows");
    // TABLESAMPLE and ranges of ctid read rows without starting a scan.
    let sampled = scanned(0.0, 2_000.0, &steady);
    assert_eq!(sampled.outcome, Pass, "{}", sampled.evidence);
    assert!(sampled.evidence.contains("scanned 0 rows"));
    // A few scans explain some of the rows.
    let some = scanned(100.0, 2_000.0, &steady);
    assert_has(&some.evidence, "scanned 11.1 rows");
    // The server does not know the rows of a restored table.
    assert_eq!(scanned(18_000.0, 0.0, &steady).outcome, Doubt);
    // Sessions report late, so no single sample has its own counts.
    let late = [(2.0, 1e7), (4.0, 3.2e7), (6.0, 2.2e7), (9.0, 1.4e7)];
    let late = scanned(18_000.0, 2_000.0, &late);
    assert_has(&late.evidence, "scanned 1,190 rows");
}
