//! The brief summary of a run: figures first, then one line for each finding against them. The full
//! text has the details.

use dyno_analysis::errors;
use dyno_core::finding::{Finding, Outcome, Tally, Verdict};
use dyno_core::plan::Arrivals;
use dyno_core::record::RESULTS_FILE;
use dyno_core::summary::{LatencySummary, RunEnd, RunSummary};
use dyno_core::text::{counted, shell_word};
use dyno_core::unknown;

use super::look::{DOT, Ink, Look, columns, cut, wrap};
use super::page::Page;
use super::words::EventWord;
use super::{latency, parts, sections, statements, verdict};
use crate::document::{self, Block};
use crate::number::{self, length, offered, percent, plain, rate, thousands};

/// The most lines of a finding, limit or warning; the full text has all of it.
const LINES_MAX: usize = 3;
/// The most error codes listed.
const ERROR_CODES_MAX: usize = 3;
/// The confidence level of the rate's interval.
const CONFIDENCE: f64 = 0.95;
/// Short names of costs, the most wanted first.
const COSTS: &[(&str, &str)] = &[
    ("server CPU", "server CPU"),
    ("client CPU", "client CPU"),
    ("written by the server", "written"),
    ("written to disks", "written to disks"),
    ("redo log syncs", "log syncs"),
    ("pages read", "pages read"),
    ("server context switches", "switches"),
];
/// The figures of a run and its verdict, in few lines.
pub(super) fn summary(run: &RunSummary, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    page.title(&title(run));
    page.show(document::ended(run, false));
    // Nothing was measured, and the reason has just been printed.
    if run.totals.events == 0 && matches!(run.end, RunEnd::Failed(_)) {
        where_recorded(run, &mut page);
        return page.finish();
    }
    figures(run, &mut page);
    page.show(document::unfinished(run));
    sections::over_time(run, &mut page);
    parts::section(run, false, &mut page);
    page.show(document::machine_figures(run));
    page.show(document::roles(run));
    page.show([document::agents(run)]);
    page.show(document::operations(run));
    statements::section(run, false, &mut page);
    page.show(document::figures(run));
    error_codes(run, &mut page);
    page.show(document::interruptions(run));
    sections::endpoints(run, &mut page);
    judged(run, &mut page);
    verdict::weak_durability(run, &mut page);
    page.show(document::thresholds(run));
    for remark in document::remarks(run) {
        if let Block::Row { label, ink, body } = remark {
            short(&label, ink, &body, &mut page);
        }
    }
    page.show(document::server_host(run));
    costs(run, &mut page);
    verdict::labels(run, &mut page);
    where_recorded(run, &mut page);
    page.finish()
}

/// Workload, target, sessions and length.
pub(super) fn title(run: &RunSummary) -> String {
    let mut parts = vec![sections::named(run)];
    let target = &run.target;
    if !target.product.is_empty() {
        // A distribution's suffix of the version says nothing about the server.
        let version = target.version.split(['-', ' ', '+']).next().unwrap_or("");
        parts.push(
            format!("{} {version}", target.product)
                .trim_end()
                .to_owned(),
        );
    }
    if let Some(phase) = &run.phase {
        parts.push(format!(
            "phase {} ({} of {})",
            phase.name, phase.number, phase.of
        ));
    }
    let known_s = unknown::length_s(run);
    let mut measured = known_s.map_or_else(|| "unknown length".to_owned(), length);
    if let Some(drive) = &run.drive {
        parts.push(document::sessions(drive));
        if let Some(open) = drive.open_loop {
            let arrivals = match open.arrivals {
                Arrivals::Poisson => "offered",
                Arrivals::Constant => "offered, evenly",
            };
            parts.push(match drive.rate_schedule() {
                Some(schedule) => format!("{} {arrivals}", schedule.short()),
                None => format!("{} {arrivals}", offered(open.per_second)),
            });
        }
        match drive.time.map(|time| time.as_secs_f64()) {
            Some(asked) if known_s.is_some_and(|known_s| known_s < asked * 0.99) => {
                measured += &format!(" of {}", length(asked));
            }
            _ => {}
        }
        if !drive.warmup.is_zero() && run.measured_s > 0.0 {
            measured += &format!(" (+{} warm-up)", length(drive.warmup.as_secs_f64()));
        }
    }
    parts.push(measured);
    parts.join(DOT)
}

/// Rates and errors in one line, latencies in the next.
fn figures(run: &RunSummary, page: &mut Page) {
    let word = EventWord::of(run);
    let mut events = format!("{} {}", rate(run.rates.events_per_s), word.per_s());
    if let Some(precision) = precision(run) {
        events += &format!(" {precision}");
    }
    let mut rates = vec![(Ink::Strong, events)];
    if let Some(queries) = run.rates.queries_per_s.filter(|queries| *queries > 0.0) {
        rates.push((Ink::Strong, format!("{} q/s", rate(queries))));
    }
    rates.extend(run.open_loop.as_ref().and_then(|open| {
        let backlog = open.backlog?;
        let behind = open.achieved_per_s < open.offered_per_s * 0.99 && backlog > 0;
        let ink = if behind { Ink::Warning } else { Ink::Plain };
        Some((ink, format!("{} waiting at the end", thousands(backlog))))
    }));
    rates.extend(error_count(run));
    page.items("", &rates);
    if run.service.count.max(run.latency().count) == 0 {
        page.row("latency", Ink::Warning, &latency::unknown(run));
        return;
    }
    match &run.response {
        None => page.items("latency", &percentiles(&run.service)),
        Some(response) => {
            page.items("response", &percentiles(response));
            // A log may have response times only.
            if run.service.count > 0 {
                page.items("service", &percentiles(&run.service));
            }
        }
    }
}

/// The precision of the mean rate, such as `±1.2 %`, or a note that it is useless.
pub(super) fn precision(run: &RunSummary) -> Option<String> {
    // A log with rates in whole numbers may show no variation at all.
    match half_width(run)? {
        half if half >= 1.0 => Some("(mean uncertain by 100 % or more)".to_owned()),
        half if half >= 0.0005 => Some(format!("±{}", percent(half))),
        _ => None,
    }
}

/// Half the width of the mean rate's interval, as a share of the rate.
fn half_width(run: &RunSummary) -> Option<f64> {
    // A changing load has no single rate.
    if run
        .drive
        .as_ref()
        .is_some_and(|drive| drive.schedule.is_some())
    {
        return None;
    }
    let rates = sections::interval_rates(run);
    let mean = dyno_stats::mean(&rates).filter(|mean| *mean > 0.0)?;
    let bounds = dyno_stats::intervals::mean_interval_correlated(&rates, CONFIDENCE)?;
    let half = (bounds.high - bounds.low) / 2.0 / mean;
    half.is_finite().then_some(half)
}

/// The number of errors; `None` if another tool's log does not say.
pub(super) fn errors_seen(run: &RunSummary) -> Option<u64> {
    let seen = run.errors_seen();
    (seen > 0 || run.client.is_some()).then_some(seen)
}

fn error_count(run: &RunSummary) -> Option<(Ink, String)> {
    let seen = errors_seen(run)?;
    let kinds = match errors::by_kind(&run.errors).first() {
        Some(sum) if sum.count == seen => format!("{} {}", thousands(seen), sum.kind.noun(seen)),
        _ => counted(seen, "error"),
    };
    let ink = if seen > 0 { Ink::Error } else { Ink::Plain };
    Some((ink, kinds))
}

/// Percentiles and the maximum, with a single unit if all have the same.
fn percentiles(summary: &LatencySummary) -> Vec<(Ink, String)> {
    let carried = summary.percentiles.iter().filter_map(|p| {
        let value = number::latency(p.value_ms?);
        Some((format!("p{}", plain(p.percent)), value))
    });
    let mut all: Vec<(String, String)> = carried.collect();
    let mean = summary.mean_ms.filter(|_| all.is_empty());
    for (name, ms) in [("mean", mean), ("max", summary.max_ms)] {
        all.extend(ms.map(|ms| (name.to_owned(), number::latency(ms))));
    }
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    let alike = all.windows(2).all(|two| unit(&two[0].1) == unit(&two[1].1));
    let last = all.len().saturating_sub(1);
    let cell = |(index, (name, value)): (usize, (String, String))| {
        let bare = value
            .rsplit_once(' ')
            .map_or(value.as_str(), |(bare, _)| bare);
        let shown = if alike && index < last { bare } else { &value };
        (Ink::Plain, format!("{name} {shown}"))
    };
    all.into_iter().enumerate().map(cell).collect()
}

/// The most frequent errors, with the first message of each.
fn error_codes(run: &RunSummary, page: &mut Page) {
    let codes = document::by_code(run);
    let mut label = "errors";
    for (code, error) in codes.iter().take(ERROR_CODES_MAX) {
        let message = document::message(run, code, error);
        let text = format!("{} × {code}: {message}", thousands(error.count));
        short(label, Ink::Error, &text, page);
        label = "";
    }
    if codes.len() > ERROR_CODES_MAX {
        let rest = codes[ERROR_CODES_MAX..].iter();
        let sum: u64 = rest.map(|(_, error)| error.count).sum();
        let text = format!("{} of other codes", thousands(sum));
        page.row("", Ink::Plain, &text);
    }
}

/// The verdict, and a line for each finding against the run.
fn judged(run: &RunSummary, page: &mut Page) {
    let Some(word) = run.verdict else {
        return;
    };
    let tally = Tally::of(&run.findings);
    let (ink, mark) = document::mark(word, tally.is_thin());
    let label = format!("{mark} {}", word.word());
    let against = document::against(&run.findings);
    let open: Vec<&&Finding> = against.iter().filter(|f| f.waived.is_none()).collect();
    match (word, &open[..]) {
        (Verdict::Valid, _) | (_, []) => {
            let thin = match tally.is_thin() && word == Verdict::Valid {
                true => "partly checked: ",
                false => "",
            };
            page.row(&label, ink, &format!("{thin}{}", tally.words()));
        }
        (_, findings) => {
            let mut label = label.as_str();
            let mut doubts = word == Verdict::Doubtful;
            for finding in findings {
                if finding.outcome == Outcome::Doubt && !doubts {
                    label = "? doubt";
                    doubts = true;
                }
                match finding.outcome {
                    Outcome::Refuse => {
                        let text = format!("{}: {}", finding.check, finding.evidence);
                        page.row(label, Ink::Error, &text);
                    }
                    _ => short(label, Ink::Warning, &sentence(finding), page),
                }
                label = "";
            }
        }
    }
    for finding in against.iter().filter(|finding| finding.waived.is_some()) {
        let reason = finding.waived.as_deref().unwrap_or_default();
        short(
            "- waived",
            Ink::Faint,
            &format!("{}: {reason}", finding.check),
            page,
        );
    }
}

/// A finding in one sentence.
fn sentence(finding: &Finding) -> String {
    format!("{}: {}", finding.check, first_sentence(&finding.evidence))
}

/// The text up to the first full stop that another sentence follows.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or("");
    let ends = line.match_indices(". ").map(|(at, _)| at);
    let mut ends = ends.filter(|at| line[at + 2..].starts_with(|c: char| c.is_uppercase()));
    match ends.next() {
        Some(at) => &line[..=at],
        None => line,
    }
}

/// A row of a few lines, with an ellipsis if there is more.
fn short(label: &str, ink: Ink, text: &str, page: &mut Page) {
    let width = page.body_width();
    let line = first_sentence(text).trim();
    let lines = wrap(line, width);
    let mut label = label;
    for (index, one) in lines.iter().take(LINES_MAX).enumerate() {
        let more = index + 1 == LINES_MAX && lines.len() > LINES_MAX;
        let shown = match more {
            true => {
                let cut = cut(one, width.saturating_sub(2));
                format!("{} …", cut.trim_end_matches('…').trim_end())
            }
            false => one.clone(),
        };
        page.line(label, ink, &[(Ink::Plain, &shown)]);
        label = "";
    }
}

/// The cost of one event: the known costs that fit in a line.
pub(super) fn costs(run: &RunSummary, page: &mut Page) {
    let known = |(name, word): &(&str, &str)| {
        let cost = run.costs.iter().find(|cost| cost.name == *name)?;
        let amount = verdict::amount(cost.value?, &cost.unit)?;
        Some((cost, format!("{amount} {word}")))
    };
    let mut line = String::new();
    let mut shown = Vec::new();
    for (cost, part) in COSTS.iter().filter_map(known) {
        let longer = match line.is_empty() {
            true => part,
            false => format!("{line}{DOT}{part}"),
        };
        if columns(&longer) > page.body_width() {
            break;
        }
        line = longer;
        shown.push(cost);
    }
    if !line.is_empty() {
        let label = format!("cost/{}", EventWord::of(run).short());
        page.row(&label, Ink::Plain, &line);
    }
    page.show(document::shared_costs(shown));
}

/// The location of the record, and commands that show more.
fn where_recorded(run: &RunSummary, page: &mut Page) {
    let Some(recorded) = &run.recorded else {
        if !document::against(&run.findings).is_empty() {
            page.row("", Ink::Faint, "-v shows the findings in full, with advice");
        }
        return;
    };
    let id = recorded.id;
    let text = match recorded.file.as_str() {
        RESULTS_FILE => {
            format!("in {RESULTS_FILE}{DOT}dyno show {id} -v{DOT}dyno report {id}")
        }
        // Not the default of the commands. Its path may be long, so it is printed only once.
        file => format!(
            "dyno report {id} --results {}{DOT}dyno show takes the same options",
            shell_word(file)
        ),
    };
    page.row(&format!("run {id}"), Ink::Faint, &text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::summaries;

    #[test]
    fn the_path_of_the_results_is_printed_once() {
        let look = Look {
            columns: 200,
            ..Look::default()
        };
        for file in [RESULTS_FILE, "/var/lib/benchmarks/november.db"] {
            let mut run = summaries::good();
            if let Some(recorded) = &mut run.recorded {
                file.clone_into(&mut recorded.file);
            }
            let text = summary(&run, &look);
            assert_eq!(text.matches(file).count(), 1, "{text}");
            assert!(text.contains("dyno report 12"), "{text}");
        }
    }

    #[test]
    fn a_mean_without_a_useful_interval_is_called_uncertain() {
        let mut run = summaries::good();
        let steady = precision(&run).unwrap_or_default();
        assert!(steady.starts_with('±'), "{steady}");
        let middle = run.intervals.len() / 2;
        for (index, interval) in run.intervals.iter_mut().enumerate() {
            interval.counters.events = if index == middle { 10_000 } else { 1 };
        }
        let wild = precision(&run);
        assert_eq!(wild.as_deref(), Some("(mean uncertain by 100 % or more)"));
    }

    #[test]
    fn a_sentence_ends_where_another_begins() {
        assert_eq!(first_sentence("One of 1.5 s. Two."), "One of 1.5 s.");
        assert_eq!(first_sentence("See e.g. this"), "See e.g. this");
        assert_eq!(first_sentence("Only one."), "Only one.");
        assert_eq!(first_sentence("One\nTwo"), "One");
        assert_eq!(first_sentence(""), "");
    }
}
