//! What is known of a run before it begins and after it has ended.

use std::time::Duration;

use dyno_core::db::ErrorKind;
use dyno_core::interval::{Counters, ErrorCount, OperationCounters};
use dyno_core::plan::{Arrivals, Drive, OpenLoop, OptionValue};
use dyno_core::record::*;
use dyno_core::summary::*;

use super::Shape;
use crate::values::{self, PERCENTS};

fn latency(span: Option<&Span>, response: bool) -> LatencySummary {
    let Some(span) = span else {
        return LatencySummary::default();
    };
    let histogram = if response {
        &span.response
    } else {
        &span.service
    };
    let ms = |ns: u64| ns as f64 / 1e6;
    let value = |percent: f64| {
        let ns = histogram.value_at_quantile(percent / 100.0);
        (percent, Some(ms(ns)))
    };
    LatencySummary {
        count: histogram.len(),
        min_ms: Some(ms(histogram.min())),
        mean_ms: Some(histogram.mean() / 1e6),
        max_ms: Some(ms(histogram.max())),
        sum_ms: Some(histogram.mean() / 1e6 * histogram.len() as f64),
        stddev_ms: Some(histogram.stdev() / 1e6),
        percentiles: values::percentiles(&PERCENTS.map(value)),
        buckets: vec![],
        clipped: 0,
    }
}

fn drive(shape: Shape) -> Drive {
    Drive {
        sessions: 64,
        workers: 4,
        time: Some(Duration::from_secs(shape.seconds.into())),
        warmup: Duration::from_secs(shape.warmup.into()),
        open_loop: shape
            .open
            .then_some(OpenLoop::new(4_000.0, Arrivals::Poisson)),
        seed: 20_261_121,
        ..Drive::default()
    }
}

pub(super) fn head(shape: Shape) -> RunHead {
    let words = "dyno run oltp_read_write --target mariadb://bench@db1.example.org:3306/sbtest \
                 -c 64 -t 20m --warmup 2m --tables 16 --table-size 10M";
    let ignored = OptionValue::List(vec!["1213".into(), "1020".into()]);
    let options = [
        ("tables", OptionValue::Number(16.0)),
        ("table_size", OptionValue::Number(10_000_000.0)),
        ("range_size", OptionValue::Number(100.0)),
        ("skip_trx", OptionValue::Bool(false)),
        ("mysql_ignore_errors", ignored),
    ];
    let name = format!("20261121-124512-oltp_read_write-3f9{}", shape.stream);
    let url = "mariadb://bench@db1.example.org:3306/sbtest";
    RunHead {
        argv: words.split_whitespace().map(Into::into).collect(),
        workload: values::workload(&options, &["tables", "table_size"]),
        target: TargetSummary {
            tls: Some("TLSv1.3".into()),
            ..values::target(url, "MariaDB", "10.11.6-MariaDB-0+deb12u1")
        },
        drive: Some(drive(shape)),
        note: "after the upgrade of the storage firmware".into(),
        ..values::head(&name)
    }
}

/// Two operations, one that ended in every way, and one that never ended.
fn named() -> Vec<OperationSummary> {
    let latency = LatencySummary {
        count: 90,
        min_ms: Some(1.0),
        mean_ms: Some(2.0),
        max_ms: Some(9.0),
        percentiles: values::percentiles(&[(95.0, Some(4.0))]),
        ..LatencySummary::default()
    };
    let totals = OperationCounters {
        done: 80,
        rolled_back: 10,
        given_up: 2,
        unknown: 1,
        duplicates: 4,
        retries: 30,
        retried: 12,
    };
    vec![
        OperationSummary {
            totals,
            first_tries: Some(latency.clone()),
            ..values::operation("NEW_ORDER", 1.5, latency)
        },
        values::operation("PAYMENT", 1.5, LatencySummary::default()),
    ]
}

fn ledger() -> Vec<LedgerEntry> {
    let entry = |database: &str, low, high, found| LedgerEntry {
        sum: "money".into(),
        database: database.into(),
        expected_low: low,
        expected_high: high,
        found,
    };
    vec![
        entry("accounts", -5, -5, Some(-5)),
        entry("branches", -5, 7, Some(8)),
        entry("history", 3, 3, None),
    ]
}

const DEADLOCK: &str = "Deadlock found when trying to get lock; try restarting transaction";

pub(super) fn summary(
    shape: Shape,
    head: &RunHead,
    intervals: &[IntervalSummary],
    operations: &[Operation],
) -> RunSummary {
    let mut totals = Counters::default();
    for interval in intervals.iter().filter(|interval| interval.at_s > 0.0) {
        totals.merge(&interval.counters);
    }
    let measured_s = f64::from(shape.seconds);
    let total = operations.first().and_then(|first| first.total.as_ref());
    let error = |count, sample: &str| ErrorCount {
        count,
        kind: ErrorKind::Conflict,
        sample: sample.into(),
    };
    RunSummary {
        started_unix_s: Some(1_795_265_234.0),
        elapsed_s: measured_s + 0.02,
        service: latency(total, false),
        response: shape.open.then(|| latency(total, true)),
        open_loop: shape
            .open
            .then(|| open_loop(total, totals.events as f64 / measured_s)),
        events_in_grace: Some(5),
        errors: [
            ("1213".to_owned(), error(totals.errors, DEADLOCK)),
            (
                "1205".to_owned(),
                error(4, "Lock wait timeout exceeded; try restarting transaction"),
            ),
        ]
        .into(),
        fairness: Some(fairness(totals.events, measured_s)),
        endpoints: vec![EndpointSummary {
            name: "db1.example.org:3306".into(),
            queries: totals.queries(),
        }],
        client: Some(client(measured_s)),
        limits: vec!["The disk of the server was busy for 97 % of the time.".into()],
        operations: named(),
        ledger: ledger(),
        warnings: vec!["TLS is on: its cost is part of every figure.".into()],
        ..values::summary(head, measured_s, totals)
    }
}

fn fairness(events: u64, measured_s: f64) -> Fairness {
    Fairness {
        events_mean: events as f64 / 64.0,
        events_stddev: 312.0,
        time_mean_s: measured_s * 0.99,
        time_stddev_s: 0.4,
        events_min: Some((events / 64).saturating_sub(900)),
        events_max: Some(events / 64 + 880),
    }
}

fn client(measured_s: f64) -> ClientCost {
    ClientCost {
        user_s: measured_s * 0.9,
        system_s: measured_s * 0.6,
        us_per_event: 360.0,
        us_per_query: Some(18.0),
        spin_s: 0.0,
        worker_busy: vec![0.41, 0.39, 0.40, 0.38],
        stall_max_ms: 1.2,
        worker_away: vec![0.0; 4],
        rss_max_bytes: 41_000_000,
    }
}

fn open_loop(total: Option<&Span>, achieved_per_s: f64) -> OpenLoopSummary {
    OpenLoopSummary {
        offered_per_s: 4_000.0,
        achieved_per_s,
        backlog: Some(12),
        backlog_max: Some(940),
        pacing_lag: Some(LatencySummary {
            count: 1_000,
            ..latency(total, false)
        }),
    }
}
