//! Valid runs that are built from their rates, so that counters, latencies and series are
//! consistent.

mod observed;

use std::time::Duration;

use dyno_core::db::Family;
use dyno_core::interval::Counters;
use dyno_core::plan::{
    Arrivals, Drive, DriverPlan, Edition, OpenLoop, PLAN_VERSION, Plan, RandPlan, RecordPlan,
};
use dyno_core::rand::Stream;
use dyno_core::record::*;
use dyno_core::states::{SessionState, SessionStates};
use dyno_core::summary::*;
use dyno_core::target::{EndpointPlan, TargetPlan};
use hdrhistogram::Histogram;

use crate::values;
pub use observed::{drop_fact, drop_series, fact, series, setting};

const SESSIONS: u32 = 16;
const WORKERS: u32 = 2;
const PERCENTS: [f64; 3] = [50.0, 95.0, 99.0];
/// Statements per event. Half of them read; the others write or begin and end the transaction.
const STATEMENTS: u64 = 20;
/// The latencies of a second as multiples of its mean, with how often each occurs.
const SHAPE: [(f64, f64); 6] = [
    (0.6, 0.3),
    (0.9, 0.4),
    (1.4, 0.2),
    (2.0, 0.07),
    (3.0, 0.025),
    (5.0, 0.005),
];

/// The database of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// MariaDB over TCP on the same host.
    Mysql,
    /// PostgreSQL over TCP on the same host.
    Postgres,
    /// SQLite inside the client.
    Sqlite,
}

/// A valid run of half a minute.
pub fn good() -> RunRecord {
    closed(&noisy(30, 1000.0, 0.04, 1), Product::Mysql)
}

/// Rates of this many seconds around a mean with this relative noise.
pub fn noisy(seconds: usize, mean: f64, noise: f64, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, 0);
    let mut normal = || (0..12).map(|_| stream.next_f64()).sum::<f64>() - 6.0;
    (0..seconds)
        .map(|_| (mean * (1.0 + noise * normal())).max(0.0))
        .collect()
}

/// A closed loop with these rates, one per second.
pub fn closed(rates: &[f64], product: Product) -> RunRecord {
    let drive = Drive {
        sessions: SESSIONS,
        workers: WORKERS,
        time: Some(Duration::from_secs(rates.len() as u64)),
        warmup: Duration::from_secs(2),
        seed: 42,
        ..Drive::default()
    };
    recorded(rates, product, drive)
}

/// An open loop whose Poisson arrivals at this rate are served at once.
pub fn open_loop(seconds: usize, offered: f64, seed: u64) -> RunRecord {
    let mut stream = Stream::new(seed, 1);
    let mut gap = || -(1.0 - stream.next_f64()).ln() / offered;
    let mut counts = vec![0.0; seconds];
    let mut at = gap();
    while at < seconds as f64 {
        counts[at as usize] += 1.0;
        at += gap();
    }
    let drive = Drive {
        sessions: SESSIONS,
        workers: WORKERS,
        time: Some(Duration::from_secs(seconds as u64)),
        warmup: Duration::from_secs(2),
        open_loop: Some(OpenLoop::new(offered, Arrivals::Poisson)),
        seed,
        ..Drive::default()
    };
    let mut run = recorded(&counts, Product::Mysql, drive);
    let achieved = run.summary.as_ref().map_or(0.0, |s| s.rates.events_per_s);
    if let Some(summary) = &mut run.summary {
        let mut response = summary.service.clone();
        response.count = summary.totals.events;
        let mut lag = response.clone();
        scale(&mut lag, 0.01);
        summary.response = Some(response);
        summary.open_loop = Some(OpenLoopSummary {
            offered_per_s: offered,
            achieved_per_s: achieved,
            backlog: Some(0),
            backlog_max: Some(2),
            pacing_lag: Some(lag),
        });
    }
    run
}

/// A run with no more than sysbench's report and its lines, one per second, contain.
pub fn imported() -> RunRecord {
    let mut run = good();
    run.state = RunState::Imported;
    run.head.source = Source::Sysbench;
    run.head.drive = None;
    run.head.script_sha256 = String::new();
    run.head.tool = "sysbench 1.0.20".to_owned();
    run.head.target = TargetSummary::default();
    run.head.plan = None;
    run.series.clear();
    run.facts.clear();
    run.settings.clear();
    run.sessions.clear();
    for operation in &mut run.operations {
        operation.spans.clear();
        operation.total = None;
    }
    run.not_observed = vec![values::gap("client.cpu", "sysbench does not print it")];
    if let Some(summary) = &mut run.summary {
        summary.client = None;
        summary.target.url = String::new();
        summary.target.family = None;
        summary.totals.rows = 0;
        summary.totals.bytes_in = 0;
        summary.totals.bytes_out = 0;
        summary.service.percentiles.retain(|p| p.percent == 95.0);
        summary.service.buckets.clear();
    }
    run
}

/// Multiplies every duration of a distribution.
pub fn scale(latency: &mut LatencySummary, factor: f64) {
    for ms in [
        &mut latency.min_ms,
        &mut latency.mean_ms,
        &mut latency.max_ms,
        &mut latency.sum_ms,
        &mut latency.stddev_ms,
    ] {
        *ms = ms.map(|ms| ms * factor);
    }
    for percentile in &mut latency.percentiles {
        percentile.value_ms = percentile.value_ms.map(|ms| ms * factor);
    }
}

fn recorded(rates: &[f64], product: Product, drive: Drive) -> RunRecord {
    let seconds = rates.len() as f64;
    let spans: Vec<Span> = rates
        .iter()
        .enumerate()
        .map(|(second, rate)| span(second as f64, *rate, &drive))
        .collect();
    let total = whole(&spans, seconds);
    let intervals: Vec<IntervalSummary> = spans.iter().map(|span| interval(span, &drive)).collect();
    let mut totals = Counters::default();
    for interval in &intervals {
        totals.merge(&interval.counters);
    }
    let sessions = shares(totals.events, total.service_ns_sum);
    let head = head(drive, target(product));
    let mut run = RunRecord {
        id: 1,
        state: RunState::Completed,
        summary: Some(summary(&head, &total, totals, seconds)),
        intervals,
        operations: vec![Operation {
            name: "event".to_owned(),
            spans,
            total: Some(total),
        }],
        sessions,
        ..RunRecord::new(head)
    };
    observed::healthy(&mut run, rates, product);
    run
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, dyno_core::interval::LATENCY_NS_MAX, 3).unwrap()
}

/// A second whose latencies follow Little's law in a closed loop, and are short in an open loop.
fn span(second: f64, rate: f64, drive: &Drive) -> Span {
    let mean_ns = match drive.open_loop {
        Some(_) => 2e6,
        None => f64::from(drive.sessions) / rate.max(1.0) * 1e9,
    };
    let weights: f64 = SHAPE.iter().map(|(at, share)| at * share).sum();
    let mut service = histogram();
    let mut sum = 0_u64;
    for (at, share) in SHAPE {
        let count = (rate * share).round() as u64;
        let ns = (mean_ns * at / weights) as u64;
        sum += ns * count;
        service.saturating_record_n(ns.max(1), count);
    }
    let response = match drive.open_loop {
        Some(_) => service.clone(),
        None => histogram(),
    };
    timed(second, second + 1.0, sum, service, response)
}

fn whole(spans: &[Span], seconds: f64) -> Span {
    let mut service = histogram();
    let mut response = histogram();
    for span in spans {
        service.add(&span.service).unwrap();
        response.add(&span.response).unwrap();
    }
    let sum = spans.iter().map(|span| span.service_ns_sum).sum();
    timed(0.0, seconds, sum, service, response)
}

fn timed(
    from_s: f64,
    to_s: f64,
    service_ns_sum: u64,
    service: Histogram<u64>,
    response: Histogram<u64>,
) -> Span {
    Span {
        from_s,
        to_s,
        count: service.len(),
        service_ns_sum,
        service_ns_min: service.min(),
        service_ns_max: service.max(),
        service,
        response,
    }
}

fn percentiles(histogram: &Histogram<u64>) -> Vec<Percentile> {
    let value = |percent: f64| {
        let beyond = histogram.len() as f64 * (1.0 - percent / 100.0);
        (beyond >= 5.0).then(|| histogram.value_at_quantile(percent / 100.0) as f64 / 1e6)
    };
    values::percentiles(&PERCENTS.map(|percent| (percent, value(percent))))
}

fn interval(span: &Span, drive: &Drive) -> IntervalSummary {
    let statements = span.count * STATEMENTS;
    IntervalSummary {
        sessions: Some(drive.sessions),
        states: Some(SessionStates::all(SessionState::Working, drive.sessions)),
        counters: Counters {
            events: span.count,
            reads: statements * 7 / 10,
            writes: statements / 5,
            other: statements / 10,
            rows: statements * 2,
            bytes_in: statements * 400,
            bytes_out: statements * 60,
            ..Counters::default()
        },
        percentiles: percentiles(&span.service),
        max_ms: (span.count > 0).then_some(span.service_ns_max as f64 / 1e6),
        backlog: Some(0),
        concurrency: Some(if drive.open_loop.is_some() {
            2
        } else {
            drive.sessions
        }),
        ..values::interval(span.to_s, span.count)
    }
}

fn shares(events: u64, busy_ns: u64) -> Vec<SessionShare> {
    let busy_s = busy_ns as f64 / 1e9 / f64::from(SESSIONS);
    let share = |session: u32| {
        let events = events / u64::from(SESSIONS) + u64::from(session % 3);
        SessionShare {
            state: Some(SessionState::Working),
            ..values::share(session, session % WORKERS, events, busy_s)
        }
    };
    (0..SESSIONS).map(share).collect()
}

fn target(product: Product) -> TargetSummary {
    let (family, name, version) = match product {
        Product::Mysql => (Family::Mysql, "MariaDB", "10.11.6"),
        Product::Postgres => (Family::Postgres, "PostgreSQL", "15.5"),
        Product::Sqlite => (Family::Sqlite, "SQLite", "3.46.0"),
    };
    let url = target_plan(family).url().unwrap_or_default();
    TargetSummary {
        family: Some(family),
        ..values::target(&url, name, version)
    }
}

fn head(drive: Drive, target: TargetSummary) -> RunHead {
    let head = RunHead {
        target,
        percentiles: PERCENTS.to_vec(),
        ..values::head("20261121-124512-oltp_read_write-3f9a")
    };
    RunHead {
        plan: Some(Box::new(plan(&drive, &head))),
        drive: Some(drive),
        ..head
    }
}

fn plan(drive: &Drive, head: &RunHead) -> Plan {
    Plan {
        modules: Default::default(),
        plan_version: PLAN_VERSION,
        edition: Edition::Dyno,
        command: "run".to_owned(),
        workload: head.workload.name.clone(),
        script_sha256: head.script_sha256.clone(),
        options: head.workload.options.clone(),
        target: head.target.family.map(target_plan),
        drive: drive.clone(),
        ladder: Vec::new(),
        agents: Default::default(),
        roles: Vec::new(),
        phases: Vec::new(),
        rand: RandPlan::default(),
        driver: DriverPlan {
            prepare_on_server: true,
            ignored_errors: Vec::new(),
            reconnect_lost_connections: true,
            call_timeout: Duration::from_secs(600),
            luajit_cmd: None,
        },
        record: RecordPlan::default(),
    }
}

fn target_plan(family: Family) -> TargetPlan {
    let server = |port| TargetPlan {
        family,
        endpoints: vec![EndpointPlan::Tcp {
            host: "127.0.0.1".to_owned(),
            port,
        }],
        user: "bench".to_owned(),
        database: "bench".to_owned(),
        temporary: false,
        ..TargetPlan::temporary()
    };
    match family {
        Family::Mysql => server(3306),
        Family::Postgres => server(5432),
        Family::Sqlite => TargetPlan {
            temporary: false,
            file: Some("/tmp/bench.db".into()),
            ..TargetPlan::temporary()
        },
    }
}

fn summary(head: &RunHead, total: &Span, totals: Counters, measured_s: f64) -> RunSummary {
    let events = totals.events as f64 / f64::from(SESSIONS);
    RunSummary {
        service: latency(total),
        fairness: Some(Fairness {
            events_mean: events,
            events_stddev: 1.0,
            time_mean_s: measured_s,
            time_stddev_s: 0.01,
            events_min: Some(events as u64),
            events_max: Some(events as u64 + 2),
        }),
        client: Some(ClientCost {
            user_s: 3.0,
            system_s: 4.0,
            us_per_event: 120.0,
            us_per_query: Some(6.0),
            spin_s: 0.0,
            worker_busy: vec![0.14, 0.15],
            stall_max_ms: 8.0,
            worker_away: vec![0.01; 2],
            rss_max_bytes: 30_000_000,
        }),
        ..values::summary(head, measured_s, totals)
    }
}

fn latency(total: &Span) -> LatencySummary {
    LatencySummary {
        count: total.count,
        min_ms: Some(total.service_ns_min as f64 / 1e6),
        mean_ms: Some(total.service_ns_sum as f64 / 1e6 / (total.count as f64).max(1.0)),
        max_ms: Some(total.service_ns_max as f64 / 1e6),
        sum_ms: Some(total.service_ns_sum as f64 / 1e6),
        stddev_ms: Some(total.service.stdev() / 1e6),
        percentiles: percentiles(&total.service),
        buckets: Vec::new(),
        clipped: 0,
    }
}
