//! Converts the statistics at the end of a run to its summary.

use dyno_analysis::{summarize, summary};
use dyno_core::catalogue::names;
use dyno_core::interval::{Counters, LATENCY_NS_MAX, Latencies, carries};
use dyno_core::plan::Drive;
use dyno_core::record::{NotObserved, Operation, RunHead};
use dyno_core::summary::*;
use dyno_core::unknown::{self, Of};
use hdrhistogram::Histogram;

use crate::command;
use crate::runs::PERCENTS;
use crate::sysbench::model::{Counted, Draft, Report};

/// The length of the measurement: as printed, or as implied by a count and its rate.
pub(crate) fn measured_s(draft: &Draft) -> Option<f64> {
    draft.report.as_ref()?.time_s()
}

/// The summary, if the run's statistics contain the number of events and the time.
pub(crate) fn summary(
    draft: &Draft,
    head: &RunHead,
    drive: Drive,
    started: Option<f64>,
    operations: &[Operation],
    not_observed: &[NotObserved],
) -> Option<RunSummary> {
    let measured_s = measured_s(draft)?;
    let report = whole(draft)?;
    let events = report.events()?;
    let totals = totals(&report, events);
    let (service, response) = times(draft, latency(&report, events, operations));
    Some(RunSummary {
        started_unix_s: started,
        rand: command::rand(draft),
        measured_s,
        elapsed_s: measured_s,
        rates: rates(&report, &totals, measured_s),
        totals,
        service,
        response,
        open_loop: open_loop(draft, events as f64 / measured_s),
        events_unfinished: report.unfinished,
        fairness: fairness(&report),
        not_observed: not_observed.to_vec(),
        machine: machine(draft, &report),
        // Without sessions, the drive is unknown.
        drive: (drive.sessions > 0).then_some(drive),
        ..RunSummary::of(head)
    })
}

/// Whether the totals are the sums of the report lines: the statistics have no number of events, or
/// no time.
pub(crate) fn is_of_intervals(draft: &Draft) -> bool {
    let events = draft
        .report
        .as_ref()
        .is_some_and(|own| own.events().is_some());
    measured_s(draft).is_none() || !events
}

/// The summary from the report lines of a run without statistics; `None` without such lines. Rates
/// are over the time that the lines cover.
pub(crate) fn of_intervals(
    head: &RunHead,
    drive: Drive,
    started: Option<f64>,
    intervals: &[IntervalSummary],
    not_observed: &[NotObserved],
) -> Option<RunSummary> {
    let last = intervals.last()?;
    let all: Vec<&IntervalSummary> = intervals.iter().collect();
    let drive = Some(drive).filter(|drive| drive.sessions > 0);
    let sum = summary::of_intervals(head, drive.as_ref(), &all, &Latencies::default());
    let unknown = unknown::counters(not_observed, Of::Run);
    let queries_per_s = sum
        .rates
        .queries_per_s
        .filter(|_| !unknown.contains(&"other"));
    Some(RunSummary {
        started_unix_s: started,
        measured_s: last.at_s,
        elapsed_s: last.at_s,
        not_observed: not_observed.to_vec(),
        rates: Rates {
            queries_per_s,
            ..sum.rates
        },
        ..sum
    })
}

/// The statistics of the whole run. After a checkpoint sysbench prints only the part since then, so
/// counts are added up; a percentile of parts is not one of the whole, and is left out.
fn whole(draft: &Draft) -> Option<Report> {
    let last = draft.report.clone()?;
    if draft.checkpoints.is_empty() {
        return Some(last);
    }
    let mut sum = Report {
        total_time_s: last.total_time_s,
        unfinished: last.unfinished,
        figures: last.figures.clone(),
        ..Report::default()
    };
    let mut parts: Vec<&Report> = draft.checkpoints.iter().map(|(_, report)| report).collect();
    parts.push(&last);
    for part in parts {
        let add = |to: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *to = Some(to.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut sum.reads, part.reads);
        add(&mut sum.writes, part.writes);
        add(&mut sum.other, part.other);
        add(&mut sum.total, part.total);
        add(&mut sum.events, part.events);
        let add = |to: &mut Option<Counted>, more: Option<Counted>| {
            if let Some(more) = more {
                let sum = to.get_or_insert_default();
                sum.count = sum.count.saturating_add(more.count);
            }
        };
        add(&mut sum.transactions, part.transactions);
        add(&mut sum.queries, part.queries);
        add(&mut sum.errors, part.errors);
        add(&mut sum.reconnects, part.reconnects);
        let extreme = |to: &mut Option<f64>, other: Option<f64>, pick: fn(f64, f64) -> f64| {
            if let Some(other) = other {
                *to = Some(to.map_or(other, |value| pick(value, other)));
            }
        };
        extreme(&mut sum.min_ms, part.min_ms, f64::min);
        extreme(&mut sum.max_ms, part.max_ms, f64::max);
        extreme(&mut sum.sum_ms, part.sum_ms, |a, b| a + b);
    }
    Some(sum)
}

fn totals(report: &Report, events: u64) -> Counters {
    let count = |counted: Option<Counted>| counted.map_or(0, |counted| counted.count);
    // Count statements of unknown kind as other ones, so that the sum is right.
    let (reads, writes, other) = match (report.reads, report.writes, report.other) {
        (Some(reads), Some(writes), Some(other)) => (reads, writes, other),
        _ => (0, 0, report.statements().unwrap_or(0)),
    };
    Counters {
        events,
        reads,
        writes,
        other,
        errors: count(report.errors),
        reconnects: count(report.reconnects),
        ..Counters::default()
    }
}

/// Rates as printed, or counts over the length of the run.
fn rates(report: &Report, totals: &Counters, measured_s: f64) -> Rates {
    let printed = |counted: Option<Counted>| counted.and_then(|counted| counted.per_s);
    let per_s = |count: u64| count as f64 / measured_s;
    let counted =
        |counted: Option<Counted>| counted.map(|own| own.per_s.unwrap_or_else(|| per_s(own.count)));
    Rates {
        events_per_s: report
            .events_per_s()
            .unwrap_or_else(|| per_s(totals.events)),
        queries_per_s: printed(report.queries).or_else(|| report.statements().map(per_s)),
        errors_per_s: counted(report.errors),
        reconnects_per_s: counted(report.reconnects),
    }
}

/// The service and the response times. With `--rate`, sysbench adds the wait in its queue to each
/// latency (`sb_timer.h`), and prints no service time.
fn times(draft: &Draft, latency: LatencySummary) -> (LatencySummary, Option<LatencySummary>) {
    match draft.rate_per_s {
        Some(_) if latency.count > 0 => (LatencySummary::default(), Some(latency)),
        _ => (latency, None),
    }
}

fn latency(report: &Report, events: u64, operations: &[Operation]) -> LatencySummary {
    let statistics = [report.min_ms, report.avg_ms, report.max_ms, report.sum_ms];
    if statistics.iter().all(Option::is_none)
        && report.percentiles.is_empty()
        && operations.is_empty()
    {
        // Their number alone does not make them known.
        return LatencySummary::default();
    }
    // The sum has more digits than the printed mean. Below 5 us sysbench prints 0.00.
    let exact = |sum_ms: f64| sum_ms / events as f64;
    let known = |ms: Option<f64>| ms.filter(|ms| *ms > 0.0 && events > 0);
    let mean = known(report.sum_ms).map(exact);
    let whole = operations.first().and_then(|event| event.total.as_ref());
    let whole = whole.map(|whole| match whole.response.is_empty() {
        true => &whole.service,
        false => &whole.response,
    });
    let printed = report.percentiles.iter();
    let printed = printed.map(|&(percent, ms)| Percentile {
        percent,
        value_ms: known(Some(ms)),
    });
    let mut percentiles: Vec<Percentile> = printed.collect();
    // Without a printed percentile to compare with, the histogram itself may be wrong.
    let fits = !percentiles.is_empty() || report.percentiles_disabled;
    percentiles.extend(whole.filter(|_| fits).into_iter().flat_map(|histogram| {
        let max_ms = known(report.max_ms);
        of_histogram(histogram, max_ms, &report.percentiles)
    }));
    percentiles.sort_by(|a, b| a.percent.total_cmp(&b.percent));
    LatencySummary {
        count: events,
        min_ms: known(report.min_ms),
        mean_ms: known(report.avg_ms).or(mean),
        max_ms: known(report.max_ms),
        sum_ms: known(report.sum_ms),
        stddev_ms: None,
        percentiles,
        buckets: whole.map_or_else(Vec::new, summarize::buckets),
        clipped: 0,
    }
}

/// The usual percentiles that are not printed and have enough samples. A bucket's value may be
/// above the longest latency.
fn of_histogram(
    histogram: &Histogram<u64>,
    max_ms: Option<f64>,
    printed: &[(f64, f64)],
) -> Vec<Percentile> {
    let others = PERCENTS.into_iter().filter(|percent| {
        let is_printed = printed.iter().any(|own| own.0 == *percent);
        !is_printed && carries(histogram.len(), *percent)
    });
    let others: Vec<f64> = others.collect();
    let max_ns = max_ms.map_or(LATENCY_NS_MAX, |ms| (ms * 1e6) as u64);
    summarize::percentiles(histogram, 0, max_ns, &others)
}

/// The figures of tests of the host apart from events; `None` for a database test.
fn machine(draft: &Draft, report: &Report) -> Option<MachineSummary> {
    let figures = figures(report);
    let of_host = draft.kind.is_some_and(|kind| kind != "oltp");
    (of_host || !figures.is_empty()).then(|| MachineSummary {
        about: Vec::new(),
        figures,
        depth: 1,
    })
}

fn figures(report: &Report) -> Vec<MachineFigure> {
    const MACHINE_FIGURES: [(&str, &str, &str); 8] = [
        (names::IMPORT_FILEIO_READ_MIB_PER_S, "read", "MiB/s"),
        (names::IMPORT_FILEIO_WRITTEN_MIB_PER_S, "written", "MiB/s"),
        (names::IMPORT_FILEIO_READS_PER_S, "reads", "per second"),
        (names::IMPORT_FILEIO_WRITES_PER_S, "writes", "per second"),
        (names::IMPORT_FILEIO_FSYNCS_PER_S, "fsyncs", "per second"),
        (
            names::IMPORT_FILEIO_REQUESTS_PER_S,
            "requests",
            "per second",
        ),
        (names::IMPORT_MEMORY_MIB_PER_S, "memory", "MiB/s"),
        (names::IMPORT_MEMORY_MB_PER_S, "memory", "MB/s"),
    ];
    let figure = |(fact, name, unit): (&str, &str, &str)| {
        let printed = report.figures.iter().find(|(own, ..)| *own == fact);
        let value = printed.map(|(_, value, _)| *value);
        value
            .filter(|value| value.is_finite())
            .map(|value| MachineFigure {
                name: name.to_owned(),
                value,
                unit: unit.to_owned(),
            })
    };
    MACHINE_FIGURES.into_iter().filter_map(figure).collect()
}

/// sysbench prints mean and deviation over threads; without deviation, all threads are equal.
fn fairness(report: &Report) -> Option<Fairness> {
    // Without an event sysbench prints uninitialised memory.
    report.events().filter(|events| *events > 0)?;
    let (events_mean, events_stddev) = report.events_spread?;
    let (time_mean_s, time_stddev_s) = report.time_spread?;
    let same = events_stddev == 0.0 && events_mean.fract() == 0.0;
    let same = same.then_some(events_mean as u64);
    Some(Fairness {
        events_mean,
        events_stddev,
        time_mean_s,
        time_stddev_s,
        events_min: same,
        events_max: same,
    })
}

pub(crate) fn open_loop(draft: &Draft, achieved_per_s: f64) -> Option<OpenLoopSummary> {
    let queues = || draft.points.iter().filter_map(|point| point.queue);
    draft.rate_per_s.map(|offered_per_s| OpenLoopSummary {
        offered_per_s,
        achieved_per_s,
        backlog: queues().next_back(),
        backlog_max: queues().max(),
        pacing_lag: None,
    })
}
