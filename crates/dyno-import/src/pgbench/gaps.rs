//! Values missing in pgbench's output.

use dyno_core::record::{NotObserved, RunRecord};

use super::output::Output;
use super::record::{rate, throttled};
use super::single::Single;
use super::sums::Sums;
use crate::gaps::{Gaps, HOST, OBSERVER};

/// Values missing in this run's output. Fields with these names are zero if their type allows
/// nothing else.
pub(super) fn gaps(
    output: &Output,
    run: &RunRecord,
    single: Option<&Single>,
    sums: &Sums,
    start_known: bool,
) -> Vec<NotObserved> {
    let hides_retries = single.is_some_and(Single::hides_retries);
    let single = single.is_some();
    let mut gaps = Gaps::of(&[
        ("client", "pgbench does not print its own resource usage"),
        ("server", "pgbench does not describe the server"),
        ("db", "pgbench does not print the server's counters"),
        ("data", "pgbench does not print the data size"),
        OBSERVER,
        HOST,
        (
            "errors.by_code",
            "pgbench counts errors without their codes",
        ),
        (
            "counters.queries",
            "pgbench counts transactions, not statements",
        ),
        ("counters.rows", "pgbench counts neither rows nor bytes"),
        ("counters.reconnects", "pgbench does not count reconnects"),
        ("rand", "the output does not show the distribution of keys"),
    ]);
    of_latencies(output, run, single, sums, &mut gaps);
    let whole = "only the transaction log shows the spread over clients";
    gaps.add(!single, "fairness", whole);
    gaps.add(
        hides_retries,
        "counters.retries",
        "the log's extra column may be the number of tries",
    );
    gaps.add(!start_known, "started_unix_s", "the log has no time of day");
    gaps.add(
        run.intervals.is_empty(),
        "intervals",
        "no progress lines; pgbench's option --progress=1 prints them",
    );
    gaps.add(
        run.head.drive.is_none(),
        "drive",
        "the log does not show the clients",
    );
    gaps.add(
        (throttled(output) || sums.throttled()) && rate(output).is_none(),
        "open_loop",
        "pgbench does not print the requested rate; a command line in the log shows it",
    );
    gaps.add(
        rate(output).is_some(),
        "open_loop.backlog",
        "pgbench does not print how many transactions were waiting for their start",
    );
    gaps.all
}

/// Missing latencies and failures.
fn of_latencies(output: &Output, run: &RunRecord, single: bool, sums: &Sums, gaps: &mut Gaps) {
    let log = "only pgbench's option --log writes single latencies; without it only the mean and \
               standard deviation are known";
    let service = run.summary.as_ref().map(|summary| &summary.service);
    let extremes = service.is_some_and(|service| service.max_ms.is_some());
    for what in ["service.min_ms", "service.max_ms"] {
        gaps.add(!extremes, what, log);
    }
    let mean = service.is_some_and(|service| service.mean_ms.is_some());
    gaps.add(!mean, "service.mean_ms", "the log has no latency");
    for what in ["service.percentiles", "service.buckets"] {
        gaps.add(!single, what, log);
    }
    let of_sums = !sums.is_empty() && output.points.is_empty();
    gaps.add(!single && !of_sums, "intervals.max_ms", log);
    let failed = single || output.processed.is_some() || !output.points.is_empty();
    gaps.add(
        !failed && !sums.counts_failed(),
        "errors",
        "a log of --aggregate-interval contains failures only with --failures-detailed",
    );
    gaps.add(!single, "intervals.percentiles", log);
    if !single && !sums.counts_failed() {
        of_failures(output, gaps);
    }
}

/// Failures and retries missing in a report of which only some lines were kept. Versions from 15 on
/// print the failures of every run with a transaction, and the retries unless there is one try.
fn of_failures(output: &Output, gaps: &mut Gaps) {
    let counted = output.processed.is_some_and(|processed| processed > 0);
    if !counted || !output.is_recent() {
        return;
    }
    let lines = || output.points.iter();
    let printed = output.failed.is_some() || lines().any(|point| point.failed.is_some());
    let why = "the report lacks the number of failed transactions";
    gaps.add(!printed, "errors", why);
    let printed = output.retries.is_some() || lines().any(|point| point.retries.is_some());
    let why = "the report lacks the number of retries";
    gaps.add(!printed && output.tries != Some(1), "counters.retries", why);
}
