//! Each check of the data: a run that passes, one that fails, and one that cannot be checked.

use dyno_core::db::ErrorKind;
use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass, Refuse};
use dyno_core::interval::ErrorCount;
use dyno_core::plan::RandKind;
use dyno_core::record::RunRecord;
use dyno_samples::{
    self as samples, assert_begins, assert_has, drop_series, fact, series, setting,
};

use crate::context::{Claim, RowCount};
use crate::tests::{check, expect, expect_with, judged, summary};

const REQUESTS: &str = "db.status.innodb_buffer_pool_read_requests";
const MISSES: &str = "db.status.innodb_buffer_pool_reads";
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

fn missing(run: &mut RunRecord, per_s: f64) {
    series(run, REQUESTS, &[100_000.0; 30]);
    series(run, MISSES, &[per_s; 30]);
}

#[test]
fn the_cache_of_innodb_says_nothing_about_other_engines() {
    let of = |engine: &'static str| {
        expect_with("cache", Pass, |run, _| {
            missing(run, 5000.0);
            fact(run, "db.table[sbtest1].engine", engine);
        })
    };
    let number = |engine: &'static str, name: &str| {
        let found = of(engine);
        let found = found.numbers.into_iter().find(|one| one.name == name);
        found.and_then(|one| one.value)
    };
    for name in ["misses", "server's cache"] {
        assert!(number("InnoDB", name).is_some(), "{name}");
        assert_eq!(number("ROCKSDB", name), None, "{name}");
    }
    let warm = expect("cold-or-warm", NotChecked, |run| {
        missing(run, 0.0);
        fact(run, "db.table[sbtest1].engine", "MyISAM");
    });
    assert_has(&warm.evidence, "too few to see a trend");
}

#[test]
fn the_cache_is_as_claimed() {
    for (claim, misses, outcome) in [
        (Some(Claim::InMemory), 10.0, Pass),
        (Some(Claim::InMemory), 5000.0, Doubt),
        (Some(Claim::OnDisk), 5000.0, Pass),
        (Some(Claim::OnDisk), 10.0, Doubt),
        (None, 5000.0, Pass),
    ] {
        expect_with("cache", outcome, |run, context| {
            context.claim = claim;
            missing(run, misses);
        });
    }
    // Without a miss ratio only the sizes count.
    expect_with("cache", Doubt, |run, context| {
        context.claim = Some(Claim::InMemory);
        drop_series(run, "db.status");
        series(run, "data.data", &[3.0 * GIB; 30]);
    });
    expect("cache", NotChecked, |run| {
        drop_series(run, "db.");
        drop_series(run, "data.");
    });
}

#[test]
fn a_cache_resized_during_the_run_counts_with_all_its_sizes() {
    for (claim, gib, end, outcome, cache) in [
        (Claim::InMemory, 0.5, "1073741824", Pass, "1 GiB"),
        (Claim::InMemory, 0.5, "268435456", Doubt, "256 MiB to 1 GiB"),
        (Claim::OnDisk, 3.0, "1073741824", Pass, "1 GiB"),
        (Claim::OnDisk, 3.0, "4294967296", Doubt, "1 GiB to 4 GiB"),
    ] {
        let found = expect_with("cache", outcome, |run, context| {
            context.claim = Some(claim);
            drop_series(run, "db.status");
            series(run, "data.data", &[gib * GIB; 30]);
            setting(run, "innodb_buffer_pool_size", "1073741824");
            let pool = run.settings.last_mut();
            pool.unwrap().end = Some(end.to_owned());
        });
        let expected = format!("the server's cache {cache}");
        assert_has(&found.evidence, &expected);
    }
}

#[test]
fn caches_claimed_to_be_warm_have_no_trend() {
    let warming: Vec<f64> = (0..30).map(|s| 9000.0 * 0.8_f64.powi(s)).collect();
    expect_with("cold-or-warm", Doubt, |run, context| {
        context.claim = Some(Claim::Warm);
        missing(run, 0.0);
        series(run, MISSES, &warming);
    });
    expect_with("cold-or-warm", Pass, |run, context| {
        context.claim = Some(Claim::Warm);
        missing(run, 2000.0);
    });
    expect_with("cold-or-warm", Pass, |run, context| {
        context.claim = Some(Claim::Cold);
        missing(run, 0.0);
        series(run, MISSES, &warming);
    });
    expect_with("cold-or-warm", Doubt, |run, context| {
        context.claim = Some(Claim::Cold);
        missing(run, 0.0);
    });
    // A few samples cannot show a trend, but can show that nothing missed.
    for (misses, outcome) in [(0.0, Doubt), (9000.0, Pass)] {
        expect_with("cold-or-warm", outcome, |run, context| {
            context.claim = Some(Claim::Cold);
            missing(run, misses);
            for series in &mut run.series {
                series.points.retain(|(at_s, _)| *at_s <= 4.0);
            }
        });
    }
    expect("cold-or-warm", Pass, |_| {});
    expect_with("cold-or-warm", NotChecked, |run, context| {
        context.claim = Some(Claim::Warm);
        drop_series(run, "db.status");
    });
}

#[test]
fn a_hot_set_in_the_cache_is_not_on_disk() {
    let even = expect("key-distribution", Pass, |_| {});
    assert_has(&even.evidence, "90 % of the keys");
    let skewed = |run: &mut RunRecord| {
        summary(run).rand.as_mut().unwrap().kind = RandKind::Pareto;
        series(run, "data.data", &[1.5 * GIB; 30]);
    };
    expect_with("key-distribution", Doubt, |run, context| {
        context.claim = Some(Claim::OnDisk);
        drop_series(run, "db.status.innodb_buffer_pool_reads");
        skewed(run);
    });
    // `cache` reports the misses.
    expect_with("key-distribution", Pass, |run, context| {
        context.claim = Some(Claim::OnDisk);
        skewed(run);
    });
    expect("key-distribution", Pass, skewed);
    expect("key-distribution", NotChecked, |run| run.summary = None);
    expect("key-distribution", NotChecked, |run| {
        let summary = summary(run);
        summary.rand.as_mut().unwrap().kind = RandKind::Zipfian;
        summary.workload.options.clear();
    });
}

#[test]
fn data_that_outgrows_its_cache_is_noticed() {
    let growing = |from: f64, to: f64| -> Vec<f64> {
        (0..30)
            .map(|s| from + (to - from) * f64::from(s) / 29.0)
            .collect()
    };
    expect("growth", Pass, |_| {});
    expect("growth", Pass, |run| {
        series(run, "data.data", &growing(2e7, 6e7))
    });
    let outgrown = expect("growth", Doubt, |run| {
        series(run, "data.data", &growing(0.9 * GIB, 1.1 * GIB))
    });
    let expected = "The data (the files of all tables and indexes) went from";
    assert_begins(&outgrown.evidence, expected);
    assert!(outgrown.evidence.ends_with("more than the server's cache."));
    expect("growth", Doubt, |run| {
        series(run, "data.data", &growing(4.0 * GIB, 6.0 * GIB))
    });
    expect("growth", NotChecked, |run| drop_series(run, "data."));
}

#[test]
fn a_larger_system_tablespace_is_no_data_unless_it_holds_the_tables() {
    let extended = |run: &mut RunRecord| {
        let mut system = vec![0.95 * GIB; 30];
        system[10..].fill(1.1 * GIB);
        series(run, "data.data", &[2e7; 30]);
        series(run, "data.system", &system);
    };
    expect("growth", Pass, extended);
    let holds = expect("growth", Doubt, |run| {
        extended(run);
        setting(run, "innodb_file_per_table", "OFF");
    });
    let expected = "The data (InnoDB's system tablespace) went";
    assert_begins(&holds.evidence, expected);
}

#[test]
fn a_purge_that_falls_behind_is_noticed() {
    let list = |per_s: f64, until: f64| -> Vec<f64> {
        let lengths = (0..30).map(|second| (f64::from(second) * per_s).min(until));
        lengths.collect()
    };
    let behind = expect("growth", Doubt, |run| {
        series(run, "db.innodb.history_list_length", &list(2_600.0, 1e6));
    });
    // A summary shows only the first sentence, which is the reason.
    let expected = "Purge fell behind: the history list went from 1,300 to 74,100. The data (";
    assert_begins(&behind.evidence, expected);
    assert!(behind.advice.contains("innodb_purge_threads"));
    // Known even if the size of the data is not.
    expect("growth", Doubt, |run| {
        drop_series(run, "data.");
        series(run, "db.innodb.history_list_length", &list(2_600.0, 1e6));
    });
    for (per_s, until) in [(200.0, 1e6), (2_600.0, 15_000.0)] {
        expect("growth", Pass, |run| {
            series(run, "db.innodb.history_list_length", &list(per_s, until));
        });
    }
}

#[test]
fn memory_that_grows_to_the_end_is_noticed() {
    let bytes = |per_s: f64, until_s: u32| -> Vec<f64> {
        let seconds = (0..30).map(|second| f64::from(second.min(until_s)));
        seconds.map(|second| 4e8 + second * per_s).collect()
    };
    let grows = |private: Vec<f64>, cached: f64| {
        let mut run = samples::good();
        series(&mut run, "server.memory.private", &private);
        let filled: Vec<f64> = (0..30).map(|second| f64::from(second) * cached).collect();
        series(&mut run, "db.status.innodb_buffer_pool_bytes_data", &filled);
        judged(&run, "growth")
    };
    let leak = grows(bytes(2e7, 30), 0.0);
    assert_eq!(leak.outcome, Doubt, "{}", leak.evidence);
    assert_begins(&leak.evidence, "The server's memory");
    let mut both = samples::good();
    series(&mut both, "server.memory.private", &bytes(2e7, 30));
    let none = [0.0; 30];
    series(&mut both, "db.status.innodb_buffer_pool_bytes_data", &none);
    let sizes = (0..30).map(|second| (4.0 + f64::from(second) / 10.0) * GIB);
    series(&mut both, "data.data", &sizes.collect::<Vec<f64>>());
    let both = judged(&both, "growth");
    assert_begins(
        &both.evidence,
        "The data (the files of all tables and indexes) went from 4",
    );
    assert_has(&both.evidence, "The server's memory");
    assert_eq!(grows(bytes(2e7, 30), 2e7).outcome, Pass, "a cache fills");
    assert_eq!(grows(bytes(2e7, 14), 0.0).outcome, Pass, "sessions began");
    assert_eq!(grows(bytes(1e5, 30), 0.0).outcome, Pass);
}

#[test]
fn tables_hold_the_rows_that_were_loaded() {
    let count = |found| RowCount {
        table: "sbtest1".to_owned(),
        expected: 100_000,
        found,
        probed: false,
    };
    for (found, outcome) in [
        (Some(100_000), Pass),
        (Some(100_001), Pass),
        (Some(99_999), Refuse),
        (Some(0), Refuse),
        (None, NotChecked),
    ] {
        let one = expect_with("row-counts", outcome, |_, context| {
            context.row_counts = vec![count(found)];
        });
        if outcome == Pass {
            assert_begins(&one.evidence, "1 of 1 table was counted");
        }
    }
    expect("row-counts", NotChecked, |_| {});
}

#[test]
fn filling_caches_are_reported_without_a_claim() {
    let warming: Vec<f64> = (0..30).map(|s| 9000.0 * 0.8_f64.powi(s)).collect();
    let cold = expect("cold-or-warm", Doubt, |run| {
        missing(run, 0.0);
        series(run, MISSES, &warming);
        let filling: Vec<f64> = (0..30).map(|s| 2_000.0 + 100.0 * f64::from(s)).collect();
        series(run, "db.status.innodb_buffer_pool_pages_data", &filling);
        series(
            run,
            "db.status.innodb_buffer_pool_pages_total",
            &[8_000.0; 30],
        );
        fact(run, "server.uptime_s.start", "12");
    });
    for part in [
        "The caches were still being filled",
        "the buffer pool went from 25 to 61.3 % full",
        "the server had been up for 12 s",
    ] {
        assert_has(&cold.evidence, part);
    }
    assert_has(&cold.advice, "--claim cold");
    // Data larger than the cache misses all the time.
    expect("cold-or-warm", Pass, |run| missing(run, 5000.0));
    // A few random samples are not a trend.
    let mut chance = vec![100.0; 30];
    chance[2] = 9_000.0;
    expect("cold-or-warm", Pass, |run| {
        missing(run, 0.0);
        series(run, MISSES, &chance);
    });
}

#[test]
fn changes_that_change_nothing_are_counted() {
    const NOTHING: &str = "client.statements.without_effect";
    let some = |run: &mut RunRecord, share: f64| {
        let writes = summary(run).totals.writes as f64;
        let without = (writes * share / (1.0 - share)).round();
        fact(run, NOTHING, &without.to_string());
    };
    expect("misses", Pass, |run| some(run, 0.0));
    expect("misses", Pass, |run| some(run, 0.2));
    let half = expect("misses", Doubt, |run| some(run, 0.5));
    let expected = "changing statements (50 %) changed no row.";
    assert!(half.evidence.ends_with(expected), "{}", half.evidence);
    expect("misses", Pass, |run| {
        some(run, 0.5);
        fact(run, "workload.misses", "nodes that are deleted already");
    });
    // Reported once.
    expect("work-done", Pass, |run| {
        some(run, 1.0 - 1e-9);
        summary(run).totals.rows = 0;
    });
    let writes_only = expect("misses", Pass, |run| {
        some(run, 0.0);
        summary(run).totals.reads = 0;
    });
    assert_begins(&writes_only.evidence, "0 of ");
}

#[test]
fn reads_that_find_nothing_are_counted() {
    let empty = |run: &mut RunRecord, share: f64| {
        let totals = &mut summary(run).totals;
        totals.reads_empty = (totals.reads as f64 * share) as u64;
    };
    let few = expect("misses", Pass, |run| empty(run, 0.02));
    assert_has(&few.evidence, "(2 %) found no row");
    let many = expect("misses", Doubt, |run| empty(run, 0.5));
    assert_has(&many.evidence, "(50 %)");
    let meant = expect("misses", Pass, |run| {
        empty(run, 0.5);
        fact(run, "workload.misses", "links that are not there");
    });
    assert_has(
        &meant.evidence,
        "as the workload declares: links that are not there",
    );
    // Reported once.
    expect("work-done", Pass, |run| {
        empty(run, 0.99);
        summary(run).totals.rows /= 100;
    });
    let taken = expect("misses", Pass, |run| {
        let error = ErrorCount {
            count: 7,
            kind: ErrorKind::Duplicate,
            sample: "Duplicate entry".to_owned(),
        };
        summary(run).errors.insert("1062".to_owned(), error);
    });
    assert_has(&taken.evidence, "7 keys already existed");
    expect("misses", NotChecked, |run| {
        let totals = &mut summary(run).totals;
        (totals.reads, totals.writes) = (0, totals.writes);
    });
    check(&samples::imported(), "misses", NotChecked);
}

#[test]
fn reports_a_query_cache_that_answers() {
    expect("query-cache", Pass, |_| {});
    let answers = expect("query-cache", Doubt, |run| {
        series(run, "db.status.qcache_hits", &[7_000.0; 30]);
        setting(run, "query_cache_type", "ON");
    });
    for part in [
        "answered 7,000 reads per second, 49.3 %",
        "query_cache_type = ON",
    ] {
        assert_has(&answers.evidence, part);
    }
    let none = expect("query-cache", Pass, |run| {
        drop_series(run, "db.status.qcache")
    });
    assert_has(&none.evidence, "has no query cache");
    expect("query-cache", NotChecked, |run| drop_series(run, "db."));
    let postgres = samples::closed(&[1000.0; 20], samples::Product::Postgres);
    check(&postgres, "query-cache", NotChecked);
}

/// Sampled statements that all name their rows in their text.
fn looked(run: &mut RunRecord, all: &str, different: &str) {
    fact(run, "client.statements.looked_at", all);
    fact(run, "client.statements.different", different);
    fact(run, "client.statements.by_text", all);
    fact(run, "client.statements.drawn", "0");
    let totals = &mut summary(run).totals;
    totals.rows = totals.reads;
}

#[test]
fn texts_that_name_no_rows_are_not_taken_for_the_same_rows() {
    // The text of an INSERT, or of a function call, does not show its rows.
    for (kind, count, outcome) in [
        ("by_text", "4000", Doubt),
        ("by_text", "499", Pass),
        ("drawn", "250", Doubt),
        ("drawn", "251", Pass),
    ] {
        expect("key-distribution", outcome, |run| {
            looked(run, "5000", "12");
            let name = format!("client.statements.{kind}");
            run.facts.retain(|fact| fact.name != name);
            fact(run, &name, count);
        });
    }
}

#[test]
fn reports_always_the_same_rows() {
    let same = expect("key-distribution", Doubt, |run| {
        looked(run, "5000", "12");
        series(run, "db.status.innodb_row_lock_waits", &[600.0; 30]);
    });
    for part in [
        "Of 5,000 examined statements only 12 differed",
        "waited 59.2 times per 100 events",
    ] {
        assert_has(&same.evidence, part);
    }
    let varied = expect("key-distribution", Pass, |run| looked(run, "5000", "4800"));
    assert_has(
        &varied.evidence,
        "Of 5,000 examined statements 4,800 differed",
    );
    expect("key-distribution", Pass, |run| looked(run, "100", "12"));
    // Queries over many rows repeat unchanged.
    expect("key-distribution", Pass, |run| {
        looked(run, "5000", "12");
        series(run, "db.status.handler_read_next", &[9e6; 30]);
    });
    expect("key-distribution", Pass, |run| {
        looked(run, "5000", "12");
        series(run, "db.status.handler_read_rnd_next", &[9e6; 30]);
    });
    // Other counters do not matter: these statements look nothing up.
    let reads = ["first", "key", "last", "next", "prev", "rnd", "rnd_next"];
    expect("key-distribution", Pass, |run| {
        looked(run, "5000", "1");
        for kind in reads {
            series(run, &format!("db.status.handler_read_{kind}"), &[3.0; 30]);
        }
    });
    // A count inside InnoDB, a full-text search and a sequence open a table but count no row.
    expect("key-distribution", Pass, |run| {
        looked(run, "5000", "1");
        series(run, "db.status.handler_read_key", &[3.0; 30]);
    });
    // The origin of rows in a table that the server creates is unknown.
    expect("key-distribution", Pass, |run| {
        looked(run, "5000", "1");
        series(run, "db.status.handler_read_key", &[3.0; 30]);
        series(run, "db.status.handler_read_rnd_next", &[20_000.0; 30]);
        series(run, "db.status.handler_tmp_write", &[19_000.0; 30]);
    });
    // Statements without look-ups are reported once.
    expect("key-distribution", Pass, |run| {
        looked(run, "5000", "1");
        series(run, "db.status.handler_read_key", &[3.0; 30]);
        series(run, "db.status.table_open_cache_hits", &[3.0; 30]);
    });
}
