//! Statements that access tables, and statements that do not.

use dyno_core::finding::Cause;
use dyno_core::finding::Outcome::{Doubt, Pass};
use dyno_core::record::RunRecord;
use dyno_samples::{self as samples, Product, assert_has, closed};

use crate::tests::{expect, judged};

#[test]
fn statements_that_touch_no_table_are_reported() {
    let literals = |run: &mut RunRecord| {
        samples::series(run, "db.status.handler_read_key", &[150.0; 30]);
        samples::series(run, "db.status.table_open_cache_hits", &[160.0; 30]);
    };
    let untouched = expect("work-done", Doubt, literals);
    assert_has(&untouched.evidence, "% of the statements touch no table");
    // The query cache answers instead of tables, engines without indexes count rows, and full-text
    // searches, counts and sequences only open their tables.
    for (counter, per_s) in [
        ("db.status.qcache_hits", 13_000.0),
        ("db.status.handler_read_rnd_next", 9e5),
        ("db.status.table_open_cache_hits", 20_000.0),
    ] {
        expect("work-done", Pass, |run| {
            literals(run);
            samples::series(run, counter, &[per_s; 30]);
        });
    }
    // An old server does not count opened tables.
    for (requests, outcome) in [(40_000.0, Pass), (150.0, Doubt)] {
        expect("work-done", outcome, |run| {
            literals(run);
            samples::drop_series(run, "db.status.table_open");
            let pages = "db.status.innodb_buffer_pool_read_requests";
            samples::series(run, pages, &[requests; 30]);
        });
    }
}

#[test]
fn statements_without_a_scan_that_request_pages_touch_tables() {
    let of = |scans: f64, blocks: f64, fetched: f64| {
        let mut run = closed(&[1000.0; 20], Product::Postgres);
        samples::series(&mut run, "db.tables.scans", &[scans; 20]);
        samples::series(&mut run, "db.database.blks_hit", &[blocks; 20]);
        samples::series(&mut run, "db.database.tup_fetched", &[fetched; 20]);
        judged(&run, "work-done").outcome
    };
    assert_eq!(of(20_000.0, 200_000.0, 20_000.0), Pass);
    assert_eq!(of(30.0, 300.0, 30.0), Doubt, "SELECT 1");
    assert_eq!(of(30.0, 90_000.0, 30.0), Pass, "TABLESAMPLE, ctid, nextval");
    // Observers read the catalogs just before.
    let mut run = closed(&[1000.0; 4], Product::Postgres);
    samples::series(&mut run, "db.tables.scans", &[30.0; 4]);
    let blocks = [90_000.0, 60_000.0, 300.0, 300.0];
    samples::series(&mut run, "db.database.blks_hit", &blocks);
    samples::series(&mut run, "db.database.tup_fetched", &[30.0; 4]);
    let found = judged(&run, "work-done");
    assert_eq!(found.causes, [Cause::NoTable], "{}", found.evidence);
    // Only a third of the reads look up a row: all pages belong to that third.
    assert_eq!(of(4_000.0, 16_000.0, 4_000.0), Doubt);
}

#[test]
fn tables_of_other_servers_are_touched_there() {
    // A proxy answers most statements from its cache, or sends them elsewhere.
    let cached = expect("work-done", Pass, |run| {
        samples::series(run, "db.status.questions", &[900.0; 30]);
        samples::series(run, "db.status.handler_read_key", &[150.0; 30]);
        samples::series(run, "db.status.table_open_cache_hits", &[160.0; 30]);
    });
    assert!(cached.causes.is_empty(), "{cached:?}");
    let mut run = closed(&[1000.0; 20], Product::Postgres);
    samples::series(&mut run, "db.tables.scans", &[30.0; 20]);
    samples::series(&mut run, "db.database.blks_hit", &[300.0; 20]);
    samples::series(&mut run, "db.database.tup_fetched", &[30.0; 20]);
    assert_eq!(judged(&run, "work-done").outcome, Doubt);
    let far = "TABLE public.far\ncolumn id integer\nkind: foreign table";
    samples::fact(&mut run, "db.table[far].definition", far);
    samples::fact(&mut run, "db.table[far].used", "yes");
    assert_eq!(judged(&run, "work-done").outcome, Pass);
}
