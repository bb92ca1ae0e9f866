//! Each check of the data: a run that passes, one that does not, one that cannot tell.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass, Refuse};
use dyno_core::plan::RandKind;
use dyno_core::record::RunRecord;

use crate::context::{Claim, RowCount};
use crate::samples::{drop_series, series};
use crate::tests::{expect, expect_with, summary};

const REQUESTS: &str = "db.status.innodb_buffer_pool_read_requests";
const MISSES: &str = "db.status.innodb_buffer_pool_reads";
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

fn missing(run: &mut RunRecord, per_s: f64) {
    series(run, REQUESTS, &[100_000.0; 30]);
    series(run, MISSES, &[per_s; 30]);
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
    // Without a miss ratio the sizes alone can speak.
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
    expect("cold-or-warm", NotChecked, |_| {});
    expect_with("cold-or-warm", NotChecked, |run, context| {
        context.claim = Some(Claim::Warm);
        drop_series(run, "db.status");
    });
}

#[test]
fn a_hot_set_in_the_cache_is_not_on_disk() {
    let even = expect("key-distribution", Pass, |_| {});
    assert!(
        even.evidence.contains("90 % of the keys"),
        "{}",
        even.evidence
    );
    let skewed = |run: &mut RunRecord| {
        summary(run).rand.as_mut().unwrap().kind = RandKind::Pareto;
        series(run, "data.data", &[1.5 * GIB; 30]);
    };
    expect_with("key-distribution", Doubt, |run, context| {
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
    expect("growth", Doubt, |run| {
        series(run, "data.data", &growing(0.9 * GIB, 1.1 * GIB))
    });
    expect("growth", Doubt, |run| {
        series(run, "data.data", &growing(4.0 * GIB, 6.0 * GIB))
    });
    expect("growth", NotChecked, |run| drop_series(run, "data."));
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
        expect_with("row-counts", outcome, |_, context| {
            context.row_counts = vec![count(found)];
        });
    }
    expect("row-counts", NotChecked, |_| {});
}

#[test]
fn what_needs_more_than_a_record_says_so() {
    expect("misses", NotChecked, |_| {});
    expect("statistics", NotChecked, |_| {});
}
