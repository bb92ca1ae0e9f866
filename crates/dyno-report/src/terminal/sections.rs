//! The parts of the summary except latencies.

use dyno_core::summary::{IntervalSummary, RunSummary};
use dyno_core::text::counted;
use dyno_core::unknown::{self, KINDS_UNKNOWN, TOTALS_UNKNOWN};

use super::latency::table;
use super::look::{Ink, columns, wrap};
use super::page::Page;
use super::spark::{grouped, mean, sparkline};
use super::statements::kinds;
use super::words::EventWord;
use crate::document;
use crate::number::{length, rate, thousands};

/// The most error codes listed; the rest is summed.
const ERROR_CODES_MAX: usize = 10;
/// The most columns of a sparkline with its bounds, in a wide terminal or a pipe.
const BARS_MAX: usize = 120;
/// The most endpoints listed.
const ENDPOINTS_MAX: usize = 16;

/// The workload, with its command unless it is `run`.
pub(super) fn named(run: &RunSummary) -> String {
    match run.workload.command.as_str() {
        "run" | "" => run.workload.shown().to_owned(),
        other => format!("{} {other}", run.workload.shown()),
    }
}

/// The workload's options that differ from the script's defaults.
pub(super) fn options(run: &RunSummary, page: &mut Page) {
    let workload = &run.workload;
    let changed: Vec<String> = workload
        .options
        .iter()
        .filter(|(name, _)| workload.changed.contains(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !changed.is_empty() {
        page.row("options", Ink::Plain, &changed.join("  "));
    }
}

/// The text for a value that an imported log lacks.
const UNKNOWN: &str = "not known: the log does not show it";

fn measured_length(run: &RunSummary) -> String {
    unknown::length_s(run).map_or_else(|| UNKNOWN.to_owned(), length)
}

/// How the run was driven, and its length.
pub(super) fn drive(run: &RunSummary, page: &mut Page) {
    let Some(drive) = &run.drive else {
        page.row("load", Ink::Plain, UNKNOWN);
        page.row("measured", Ink::Plain, &measured_length(run));
        return;
    };
    page.row("load", Ink::Plain, &document::load(drive, Some(run)));
    let mut measured = measured_length(run);
    let known_s = unknown::length_s(run);
    match drive.time.map(|time| time.as_secs_f64()) {
        Some(asked) if known_s.is_some_and(|known_s| known_s < asked * 0.99) => {
            measured += &format!(" of {}", length(asked));
        }
        _ => {}
    }
    if let Some(events) = drive.events {
        measured += &format!(", at most {}", counted(events, EventWord::of(run).one()));
    }
    // A run that ended before its measurement may have ended in the warm-up.
    if !drive.warmup.is_zero() && run.measured_s > 0.0 {
        measured += &format!(", after {} of warm-up", length(drive.warmup.as_secs_f64()));
    }
    if document::has_workers(run) || drive.seed != 0 {
        measured += &format!(", seed {}", drive.seed);
    }
    page.row("measured", Ink::Plain, &measured);
}

/// Rates, and how they changed over time.
pub(super) fn throughput(run: &RunSummary, page: &mut Page) {
    let (totals, rates) = (&run.totals, &run.rates);
    let unknown = |what: &str| run.not_observed.iter().any(|gap| gap.what == what);
    if unknown(TOTALS_UNKNOWN) && totals.events == 0 {
        page.row(EventWord::of(run).many(), Ink::Plain, "–");
        return;
    }
    let mut rows = vec![(
        EventWord::of(run).many(),
        rates.events_per_s,
        match unknown::has_length(&run.not_observed) {
            true => thousands(totals.events) + " in all",
            false => "for an unknown time".to_owned(),
        },
    )];
    if let Some(queries) = rates.queries_per_s.filter(|queries| *queries > 0.0) {
        let mut all = thousands(totals.queries()) + " in all";
        if !unknown(KINDS_UNKNOWN) {
            all += &kinds(totals);
        }
        rows.push(("queries", queries, all));
    }
    let figures: Vec<String> = rows.iter().map(|row| rate(row.1)).collect();
    let width = figures.iter().map(|f| columns(f)).max().unwrap_or(0);
    for ((label, _, all), figure) in rows.iter().zip(&figures) {
        let mut pieces = vec![
            (Ink::Strong, format!("{figure:>width$}")),
            (Ink::Plain, " /s   ".to_owned()),
        ];
        let indent = width + 6;
        let mut label = *label;
        for part in wrap(all, page.body_width().saturating_sub(indent)) {
            pieces.push((Ink::Faint, part));
            let borrowed: Vec<_> = pieces.iter().map(|(ink, text)| (*ink, &**text)).collect();
            page.line(label, Ink::Strong, &borrowed);
            pieces = vec![(Ink::Plain, " ".repeat(indent))];
            label = "";
        }
    }
    over_time(run, page);
    let Some(open) = &run.open_loop else {
        return;
    };
    page.show([document::open_loop(open)]);
    if let Some(lag) = open.pacing_lag.as_ref().filter(|lag| lag.count > 0) {
        table("pacing", &[("  lag", lag)], page);
    }
}

/// Errors, and work that was cut off.
pub(super) fn trouble(run: &RunSummary, page: &mut Page) {
    page.show(document::errors(run));
    error_codes(run, page);
    page.show(document::interruptions(run));
    page.show(document::cut_off(run));
}

fn error_codes(run: &RunSummary, page: &mut Page) {
    let codes = document::by_code(run);
    for (code, error) in codes.iter().take(ERROR_CODES_MAX) {
        let count = format!("{:>9}  ", thousands(error.count));
        page.indented(
            &format!("  {code}"),
            &count,
            &document::message(run, code, error),
        );
    }
    if codes.len() > ERROR_CODES_MAX {
        let rest = &codes[ERROR_CODES_MAX..];
        let sum: u64 = rest.iter().map(|(_, error)| error.count).sum();
        let text = format!("{:>9}  of {} other codes", thousands(sum), rest.len());
        page.line("", Ink::Plain, &[(Ink::Plain, &text)]);
    }
}

/// The spread over endpoints, if there are several.
pub(super) fn endpoints(run: &RunSummary, page: &mut Page) {
    if run.endpoints.len() < 2 {
        return;
    }
    let mut table = document::endpoints(run);
    table.pick(&["endpoint", "queries", "share"]);
    let mut label = "endpoints";
    for row in table.texts().iter().skip(1).take(ENDPOINTS_MAX) {
        if let [(ink, name), (_, queries), (_, share)] = &row[..] {
            let figures = format!("{queries:>13} queries {share:>6}  ");
            page.line(label, *ink, &[(*ink, &figures), (*ink, name)]);
        }
        label = "";
    }
    if run.endpoints.len() > ENDPOINTS_MAX {
        let text = format!("and {} more", run.endpoints.len() - ENDPOINTS_MAX);
        page.row("", Ink::Plain, &text);
    }
}

/// Events per second in each interval of the measurement.
pub(super) fn interval_rates(run: &RunSummary) -> Vec<f64> {
    // The last interval may be short, with a noisy rate, and the grace period is not part of it.
    let nominal = (run.drive.as_ref()).map_or(0.0, |drive| drive.interval.as_secs_f64());
    let counts = |i: &&IntervalSummary| {
        // The warm-up is not shown either.
        i.at_s > i.length_s * 0.5
            && i.length_s > 0.0
            && i.length_s >= nominal * 0.5
            && i.at_s <= run.measured_s + nominal * 0.5
    };
    let counted = run.intervals.iter().filter(counts);
    counted.map(|i| i.events_per_s()).collect()
}

/// Events per second over the run, as a sparkline from zero.
pub(super) fn over_time(run: &RunSummary, page: &mut Page) {
    let rates = interval_rates(run);
    if rates.len() < 2 {
        return;
    }
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    let bounds = format!(" {} – {} /s", rate(low), rate(high));
    let width = page
        .body_width()
        .min(BARS_MAX)
        .saturating_sub(columns(&bounds));
    let bars = sparkline(&grouped(&rates, width, mean));
    page.line(
        "over time",
        Ink::Plain,
        &[(Ink::Good, &bars), (Ink::Faint, &bounds)],
    );
}
