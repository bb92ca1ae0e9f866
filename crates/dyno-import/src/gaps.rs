//! Values missing in sysbench's output. Fields with these names are zero or a default if their type
//! allows nothing else.

use dyno_core::record::NotObserved;
use dyno_core::summary::{IntervalSummary, Rates};
use dyno_core::unknown::{self, KINDS_UNKNOWN, OTHER_OF_INTERVALS_UNKNOWN, OTHER_UNKNOWN, Of};

use crate::summary;
use crate::sysbench::model::{Draft, Point};

/// Values missing in a log of any tool, without a host's log.
pub(crate) const OBSERVER: (&str, &str) = ("observer", "nothing was observed during the run");
pub(crate) const HOST: (&str, &str) = (
    "host",
    "no log of the host (vmstat, iostat, mpstat, sar) was imported with the run",
);

/// Values missing in every log of sysbench.
const ALWAYS: [(&str, &str); 11] = [
    ("client", "sysbench does not print its own resource usage"),
    ("server", "sysbench does not describe the server"),
    ("db", "sysbench does not print the server's counters"),
    ("data", "sysbench does not print the data size"),
    OBSERVER,
    HOST,
    (
        "errors.by_code",
        "sysbench counts errors without their codes",
    ),
    ("counters.rows", "sysbench counts neither rows nor bytes"),
    (
        "counters.retries",
        "sysbench does not count repeated events",
    ),
    ("intervals.max_ms", "report lines have no maximum latency"),
    (
        "service.stddev_ms",
        "sysbench prints no standard deviation of latencies",
    ),
];

/// Values missing in this run's output.
pub(crate) fn gaps(
    draft: &Draft,
    intervals: &[IntervalSummary],
    start_known: bool,
) -> Vec<NotObserved> {
    let mut gaps = Gaps::of(&ALWAYS);
    gaps.add(!start_known, "started_unix_s", "the log has no time of day");
    let why = draft.histogram_left_out.unwrap_or(
        "the distribution of latencies was not printed; sysbench's option --histogram prints it",
    );
    gaps.add(draft.histogram.is_empty(), "service.buckets", why);
    gaps.add(
        intervals.is_empty(),
        "intervals",
        "no report lines with rates; sysbench's option --report-interval=1 prints them",
    );
    gaps.add(
        !crate::command::shows_limits(&draft.argv),
        "drive",
        match draft.argv.is_empty() {
            true => {
                "the log does not show the command line, so the time and event limits are unknown"
            }
            false => "the file of --config-file may set the time and event limits",
        },
    );
    gaps.add(
        crate::command::rand(draft).is_none(),
        "rand",
        match crate::command::draws_no_keys(draft) {
            true => "the workload draws no keys",
            false => "the log does not show the distribution of keys",
        },
    );
    let spread = draft
        .report
        .as_ref()
        .and_then(|report| report.events_spread);
    gaps.add(
        !matches!(spread, Some((_, 0.0))),
        "fairness.events_min",
        "sysbench prints mean and deviation of events per thread, not minimum and maximum",
    );
    let times = draft.report.as_ref().and_then(|report| report.time_spread);
    gaps.add(
        spread.is_none() || times.is_none(),
        "fairness",
        "the log has no mean and deviation over threads",
    );
    of_schedule(draft, &mut gaps);
    let report = draft.report.as_ref();
    for (what, value) in [
        ("service.min_ms", report.and_then(|report| report.min_ms)),
        (
            "service.mean_ms",
            report.and_then(|report| report.avg_ms.or(report.sum_ms)),
        ),
        ("service.max_ms", report.and_then(|report| report.max_ms)),
        ("service.sum_ms", report.and_then(|report| report.sum_ms)),
    ] {
        gaps.add(value.is_none(), what, "the log has no statistics for it");
    }
    of_statements(draft, &mut gaps);
    of_intervals(draft, &mut gaps);
    gaps.all
}

/// Values missing in a run with a rate.
fn of_schedule(draft: &Draft, gaps: &mut Gaps) {
    let scheduled = draft.rate_per_s.is_some();
    gaps.add(
        scheduled,
        "service",
        "with --rate, sysbench prints latencies since events were queued, which are response times",
    );
    gaps.add(
        scheduled,
        "open_loop.pacing_lag",
        "sysbench does not print how late it started its events",
    );
    gaps.add(
        scheduled && draft.points.iter().all(|point| point.queue.is_none()),
        "open_loop.backlog",
        "sysbench prints how many events are waiting only with --report-interval",
    );
}

/// Statement counts missing in the statistics.
fn of_statements(draft: &Draft, gaps: &mut Gaps) {
    let Some(report) = draft.report.as_ref().filter(|own| own.events().is_some()) else {
        return;
    };
    let some = report.statements().is_some();
    gaps.add(
        report.errors.is_none(),
        "errors",
        "the statistics do not show the number of ignored errors",
    );
    gaps.add(
        report.errors.is_some() && report.reconnects.is_none(),
        "counters.reconnects",
        "the statistics do not show the number of reconnects",
    );
    // Only database tests have them.
    let sql = report.transactions.is_some() || report.has_kinds();
    let in_points = draft.points.iter().any(|point| point.queries.is_some());
    gaps.add(
        sql && !some && !in_points,
        "counters.queries",
        "the statistics do not show the number of statements",
    );
    gaps.add(
        (some || in_points) && !report.has_all_kinds(),
        KINDS_UNKNOWN,
        "the statistics do not distinguish reads, writes and other statements",
    );
}

/// Values missing in the report lines.
fn of_intervals(draft: &Draft, gaps: &mut Gaps) {
    let without =
        |pick: fn(&Point) -> bool| !draft.points.is_empty() && !draft.points.iter().any(pick);
    gaps.add(
        without(|point| point.errors.is_some()),
        "intervals.errors",
        "the intermediate reports contain no errors",
    );
    gaps.add(
        without(|point| point.queries.is_some() || point.reads.is_some()),
        "intervals.queries",
        "the intermediate reports contain no statements",
    );
    let without_other = draft.points.iter().any(Point::lacks_other);
    let why = "the intermediate reports contain reads and writes, but no other statements";
    gaps.add(without_other, OTHER_OF_INTERVALS_UNKNOWN, why);
    // Without statistics, the totals are the sums of the intervals.
    let summed = summary::is_of_intervals(draft);
    gaps.add(without_other && summed, OTHER_UNKNOWN, why);
    gaps.add(
        without(|point| point.threads.is_some()),
        "intervals.sessions",
        "the intermediate reports do not show how many threads ran",
    );
    gaps.add(
        without(|point| !point.latencies.is_empty()),
        "intervals.percentiles",
        "the intermediate reports contain no latency",
    );
}

/// Rates of what the log does not count are unknown.
pub(crate) fn forget_unknown_rates(rates: &mut Rates, gaps: &[NotObserved]) {
    let unknown = unknown::counters(gaps, Of::Run);
    if unknown.contains(&"other") {
        rates.queries_per_s = None;
    }
    if unknown.contains(&"errors") {
        rates.errors_per_s = None;
    }
    if unknown.contains(&"reconnects") {
        rates.reconnects_per_s = None;
    }
}

/// Values missing in a log, with the reasons.
pub(crate) struct Gaps {
    pub(crate) all: Vec<NotObserved>,
}

impl Gaps {
    /// The values that every log of a tool lacks.
    pub(crate) fn of(always: &[(&str, &str)]) -> Self {
        let all = always.iter().map(|(what, why)| gap(what, why)).collect();
        Self { all }
    }

    /// Adds a value if it is missing.
    pub(crate) fn add(&mut self, missing: bool, what: &str, why: &str) {
        if missing {
            self.all.push(gap(what, why));
        }
    }
}

pub(crate) fn gap(what: &str, why: &str) -> NotObserved {
    NotObserved {
        what: what.to_owned(),
        why: why.to_owned(),
    }
}
