//! Converts sysbench's output to a record.

use std::time::Duration;

use dyno_core::catalogue::names;
use dyno_core::interval::{Counters, latency_histogram};
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::record::*;
use dyno_core::summary::{IntervalSummary, Percentile, PrintedRates, RunSummary};
use dyno_core::text::number_of;

use crate::coverage::{self, Coverage};
use crate::runs;
use crate::sysbench::head;
use crate::sysbench::model::{Draft, Point};
use crate::{Options, command, gaps, number, summary};

const NS_PER_MS: f64 = 1e6;

/// The record of a run, without its warnings.
pub(crate) fn record(draft: &mut Draft, options: &Options) -> RunRecord {
    let started = started_unix_s(draft, options);
    let mut intervals = intervals(draft, options);
    let measured_s = summary::measured_s(draft);
    let workload = command::workload(draft);
    let drive = drive(draft);
    let head = RunHead {
        name: runs::named(&workload.name, &draft.digest.hex()),
        source: Source::Sysbench,
        profile: options.profile,
        tool: match &draft.version {
            Some(version) => format!("sysbench {version}"),
            None => "sysbench".to_owned(),
        },
        created_unix_s: options.imported_unix_s,
        argv: draft.argv.clone(),
        workload,
        script_sha256: String::new(),
        target: command::target(&draft.argv),
        // Without them, the requested length is unknown.
        drive: (command::shows_limits(&draft.argv) && drive.sessions > 0).then(|| drive.clone()),
        percentiles: percents(draft, options),
        factors: Default::default(),
        note: String::new(),
        phase: None,
        trial: None,
        plan: None,
    };
    let operations = operations(draft, measured_s.unwrap_or_else(|| draft.last_s()));
    let not_observed = gaps::gaps(draft, &intervals, started.is_some());
    let of_report = summary::summary(
        draft,
        &head,
        drive.clone(),
        started,
        &operations,
        &not_observed,
    );
    let summary = of_report.or_else(|| {
        let window = summary::of_intervals(&head, drive, started, &intervals, &not_observed);
        window.map(|window| RunSummary {
            open_loop: summary::open_loop(draft, window.rates.events_per_s),
            rand: command::rand(draft),
            ..window
        })
    });
    if let Some(summary) = &summary {
        runs::end_with(&mut intervals, summary.measured_s);
    }
    RunRecord {
        id: 0,
        state: RunState::Imported,
        head,
        summary,
        intervals,
        operations,
        series: throughput(draft),
        not_observed,
        facts: facts(draft),
        settings: Vec::new(),
        events: events(draft),
        sessions: Vec::new(),
        profiles: Vec::new(),
        findings: Vec::new(),
        verdict: None,
    }
}

/// When the measurement began, if the log or the caller says so.
pub(crate) fn started_unix_s(draft: &Draft, options: &Options) -> Option<f64> {
    let printed = draft.started.or(draft.moment_before);
    printed
        .map(|moment| moment.unix_s(options.utc_offset_s))
        .or(options.started_unix_s)
}

/// How the run was driven, if that is printed. A thread of sysbench is a session and a worker.
fn drive(draft: &Draft) -> Drive {
    let argv = &draft.argv;
    let seconds = |text: &str| text.parse().ok().map(Duration::from_secs);
    let time = head::option(argv, &["time", "max-time"]).and_then(seconds);
    let events = head::option(argv, &["events", "max-requests"]).and_then(|n| n.parse().ok());
    let shown = draft.points.iter().filter_map(|point| point.threads).max();
    let typed = head::option(argv, &["threads", "num-threads"]).and_then(|n| n.parse().ok());
    let threads = draft.threads.or(shown).or(typed).unwrap_or(0);
    let duration = |s: Option<f64>| {
        s.and_then(|s| Duration::try_from_secs_f64(s).ok())
            .unwrap_or_default()
    };
    // By default, sysbench 1.0 stops after ten seconds, and 0.4 and 0.5 after ten thousand events.
    let old = draft.version.as_ref().is_some_and(|v| v.starts_with("0."));
    let said = !argv.is_empty() && !command::may_set_more(argv);
    Drive {
        time: match time {
            None if said && !old => Some(Duration::from_secs(10)),
            other => other.filter(|time| !time.is_zero()),
        },
        events: match events {
            None if said && old => Some(10_000),
            other => other.filter(|events| *events > 0),
        },
        warmup: duration(draft.warmup_s),
        open_loop: draft
            .rate_per_s
            .map(|per_second| OpenLoop::new(per_second, Arrivals::Poisson)),
        interval: duration(coverage::usual_s(draft)),
        seed: draft.seed.unwrap_or(0),
        ..runs::sessions(threads, threads)
    }
}

/// The percentiles that are printed anywhere.
fn percents(draft: &Draft, options: &Options) -> Vec<f64> {
    let mut percents: Vec<f64> = draft
        .report
        .iter()
        .flat_map(|report| report.percentiles.iter().map(|(percent, _)| *percent))
        .chain(
            draft
                .points
                .iter()
                .flat_map(|point| &point.latencies)
                .filter_map(|latency| latency.percent.or(unnamed_percent(draft, options))),
        )
        .collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    percents
}

/// The percentile of latencies printed without one: from the final report, the command line, or the
/// caller.
fn unnamed_percent(draft: &Draft, options: &Options) -> Option<f64> {
    let printed = draft.report.as_ref().map(|report| &report.percentiles);
    let only = printed.filter(|all| all.len() == 1).map(|all| all[0].0);
    let typed = head::option(&draft.argv, &["percentile"]).and_then(crate::number::decimal);
    only.or(typed).or(options.percentile)
}

/// Counts are rates times the length of the interval, because sysbench prints only rates, and times
/// in whole seconds.
fn intervals(draft: &mut Draft, options: &Options) -> Vec<IntervalSummary> {
    let lengths = Coverage::of(draft).lengths_s;
    let unnamed = unnamed_percent(draft, options);
    let mut nameless = false;
    let mut out = Vec::with_capacity(draft.points.len());
    for (point, length) in draft.points.iter().zip(lengths) {
        let mut percentiles = Vec::new();
        for latency in &point.latencies {
            match latency.percent.or(unnamed) {
                Some(percent) => percentiles.push(Percentile {
                    percent,
                    // Also printed without an event.
                    value_ms: Some(latency.ms).filter(|ms| *ms > 0.0),
                }),
                None => nameless = true,
            }
        }
        out.push(interval(point, length, percentiles));
    }
    if nameless {
        let line = draft.points.first().map(|point| point.line);
        let text = "nothing says which percentile the latencies are, so they are omitted; name it \
                    with --percentile"
            .to_owned();
        draft.warnings.push((line, text));
    }
    out
}

fn interval(point: &Point, length_s: f64, percentiles: Vec<Percentile>) -> IntervalSummary {
    let most = crate::number::COUNT_MAX as f64;
    let count = |rate: Option<f64>| (rate.unwrap_or(0.0) * length_s).round().min(most) as u64;
    let kinds = [point.reads, point.writes];
    let apart = kinds.iter().chain([&point.other]).any(Option::is_some);
    let known = number::sum(kinds.into_iter().flatten());
    // Count statements of unknown kind as other ones, so that the sum is right.
    let other = match (point.other, point.queries) {
        (Some(other), _) => Some(other),
        (None, Some(queries)) if !apart => Some(queries),
        (None, Some(queries)) => Some((queries - known).max(0.0)),
        (None, None) => None,
    };
    // sysbench 0.5 prints reads and writes only, so their sum is not that of all statements.
    let sum = other.filter(|_| apart);
    let sum = sum.map(|other| number::sum([known, other].into_iter()));
    let queries = point.queries.or(sum);
    let counters = Counters {
        events: count(point.tps),
        reads: count(point.reads),
        writes: count(point.writes),
        other: count(other),
        errors: count(point.errors),
        reconnects: count(point.reconnects),
        ..Counters::default()
    };
    IntervalSummary {
        at_s: point.at_s,
        length_s,
        sessions: point.threads,
        states: None,
        counters,
        printed: Some(PrintedRates {
            events_per_s: point.tps,
            queries_per_s: queries,
        }),
        errors_seen: counters.errors,
        percentiles,
        max_ms: None,
        backlog: point.queue,
        concurrency: point.concurrency,
    }
}

/// The latencies, if a histogram was printed.
fn operations(draft: &Draft, to_s: f64) -> Vec<Operation> {
    if draft.histogram.is_empty() {
        return Vec::new();
    }
    let mut latencies = latency_histogram();
    let ns = |ms: f64| (ms * NS_PER_MS).round().clamp(0.0, 1e18) as u64;
    let mut sum = 0_u64;
    for &(ms, count) in &draft.histogram {
        latencies.saturating_record_n(ns(ms), count);
        sum = sum.saturating_add(ns(ms).saturating_mul(count));
    }
    let report = draft.report.as_ref();
    let exact = |value: Option<f64>| value.map(ns);
    let first = draft.histogram.first().map_or(0, |row| ns(row.0));
    let last = draft.histogram.last().map_or(0, |row| ns(row.0));
    let total = Span {
        from_s: 0.0,
        to_s,
        count: latencies.len(),
        service_ns_sum: exact(report.and_then(|r| r.sum_ms)).unwrap_or(sum),
        service_ns_min: exact(report.and_then(|r| r.min_ms)).unwrap_or(first),
        service_ns_max: exact(report.and_then(|r| r.max_ms)).unwrap_or(last),
        service: latencies,
        response: latency_histogram(),
    };
    // With a rate, they include the wait in the queue.
    let total = match draft.rate_per_s {
        None => total,
        Some(_) => Span {
            service_ns_sum: 0,
            service_ns_min: 0,
            service_ns_max: 0,
            response: total.service,
            service: latency_histogram(),
            ..total
        },
    };
    vec![Operation {
        name: "event".to_owned(),
        spans: Vec::new(),
        total: Some(total),
    }]
}

/// The throughput that fileio and memory report each second.
fn throughput(draft: &Draft) -> Vec<Series> {
    type Pick = fn(&crate::sysbench::model::Throughput) -> Option<f64>;
    let kinds: [(&str, &str, &str, Pick); 4] = [
        (names::IMPORT_FILEIO_READ_BYTES, "bytes/s", "reads", |t| {
            t.read_bytes
        }),
        (names::IMPORT_FILEIO_WRITE_BYTES, "bytes/s", "writes", |t| {
            t.write_bytes
        }),
        (names::IMPORT_FILEIO_FSYNCS, "count/s", "fsyncs", |t| {
            t.fsyncs
        }),
        (names::IMPORT_MEMORY_BYTES, "bytes/s", "MiB/sec", |t| {
            t.memory_bytes
        }),
    ];
    let series = |(name, unit, label, pick): (&str, &str, &str, Pick)| {
        let points = draft.throughput.iter();
        let points = points.filter_map(|t| pick(t).map(|value| (t.at_s, value)));
        let points: Vec<(f64, f64)> = points.collect();
        (!points.is_empty()).then(|| Series {
            key: SeriesKey {
                name: name.to_owned(),
                unit: unit.to_owned(),
                source: format!("sysbench, {label}"),
            },
            kind: SeriesKind::Rate,
            points,
        })
    };
    kinds.into_iter().filter_map(series).collect()
}

fn facts(draft: &Draft) -> Vec<Fact> {
    let mut facts = vec![Fact::new(
        names::IMPORT_SOURCE,
        format!("{}:{}", draft.file, draft.line),
        "the imported log",
    )];
    facts.push(Fact::new(
        names::IMPORT_SHA256,
        draft.digest.hex(),
        "the imported log's lines",
    ));
    if let Some(version) = &draft.version {
        facts.push(Fact::new(
            names::CLIENT_VERSION,
            version.clone(),
            "sysbench's banner",
        ));
    }
    for (name, value, label) in draft.report.iter().flat_map(|report| &report.figures) {
        facts.push(Fact::new(
            *name,
            value.to_string(),
            format!("sysbench, {label}"),
        ));
    }
    facts
}

fn events(draft: &Draft) -> Vec<Event> {
    let event = |at_s, text| Event {
        at_s,
        until_s: None,
        kind: EventKind::Note,
        text,
        detail: EventDetail::default(),
    };
    let checkpoints = draft.checkpoints.iter().map(|(at_s, report)| {
        let events = report.events().unwrap_or(0);
        event(
            *at_s,
            format!(
                "sysbench's checkpoint: {} since the last one",
                number_of(events, "event")
            ),
        )
    });
    let complaints = draft.complaints.iter();
    let complaints = complaints.map(|(at_s, text)| event(*at_s, format!("sysbench: {text}")));
    let mut events: Vec<Event> = checkpoints.chain(complaints).collect();
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    events
}
