//! One run, or several.

use dyno_core::finding::{Finding, Outcome, Tally};
use dyno_core::summary::{LatencySummary, RunSummary};
use dyno_core::unknown::TOTALS_UNKNOWN;

use super::super::look::Ink;
use super::super::page::Page;
use super::super::pivot::title;
use super::super::verdict::{against, marked, weak_durability};
use super::super::words::EventWord;
use super::super::{brief, compare, ended, parts, sections, set_up, statements};
use super::markup::{headed, joined, labelled, rows, table, text};
use super::{cells, list, markup, ratios};
use crate::Pivot;
use crate::document;
use crate::html::{ReportInput, names};
use crate::number::{latency, plain, rate, thousands};

/// The cell of a missing figure.
const NONE: &str = "–";

/// One run: verdict, figures, findings and settings.
pub(super) fn one(title: &str, run: &RunSummary) -> String {
    let runs = std::slice::from_ref(run);
    let tally = Tally::of(&run.findings).words();
    joined([
        format!("## {}\n", text(title)),
        format!("**{}** – {}\n", text(word(run)), text(&tally)),
        tabulated(&figures(runs)),
        caption(runs),
        markup::sections(|page| remarks(run, page)),
        markup::sections(|page| parts::section(run, true, page)),
        markup::sections(|page| {
            page.show(document::roles(run));
            page.show([document::agents(run)]);
            page.show(document::operations(run));
            statements::section(run, false, page);
        }),
        headed("Findings", findings("", run)),
        headed("Settings", settings(runs, &[String::new()])),
    ])
}

/// Several runs: the answer, a row for each, and how they compare.
pub(super) fn several(input: &ReportInput<'_>, runs: &[RunSummary]) -> String {
    let (title, labels) = names(input);
    let numbers: Vec<String> = input.runs.iter().map(|run| run.id.to_string()).collect();
    let named: Vec<String> = numbers.iter().map(|id| format!("run {id}")).collect();
    let mut columns = vec![Column::of_texts("run", numbers.clone())];
    if labels != named {
        columns.push(Column::of_texts("what differs", labels));
    }
    columns.extend(figures(runs));
    let words = runs.iter().map(|run| word(run).to_owned());
    columns.push(Column::of_texts("verdict", words.collect()));
    let each = named.iter().zip(runs);
    let found = each
        .clone()
        .map(|(name, run)| findings(&format!("{name}: "), run));
    let noted = each.flat_map(|(name, run)| {
        let lines = rows(|page| remarks(run, page)).into_iter();
        lines.map(move |(label, body)| vec![name.clone(), label, body])
    });
    let compared = match input.compared {
        [Ok(only)] => ratios(only, false),
        _ => String::new(),
    };
    joined([
        format!("## {}\n", text(&title)),
        answers(input),
        tabulated(&columns),
        caption(runs),
        labelled(&noted.collect::<Vec<_>>()),
        input.pivot.map(by_factors).unwrap_or_default(),
        headed("Comparison", compared),
        headed("Findings", found.collect()),
        headed("Settings", settings(runs, &numbers)),
    ])
}

/// The answer of each comparison with the base, unless the title is the only one.
fn answers(input: &ReportInput<'_>) -> String {
    let is_title = input.compared.len() == 1 && input.title.is_empty();
    let lines = input.compared.iter().filter_map(|compared| match compared {
        Ok(_) if is_title => None,
        Ok(compared) => Some(compare::answer(compared)),
        Err(why) => Some(why.clone()),
    });
    list(&lines.collect::<Vec<_>>())
}

fn by_factors(table: &Pivot) -> String {
    headed(&text(&title(table)), cells(table))
}

fn word(run: &RunSummary) -> &'static str {
    match run.verdict {
        None => "not judged",
        Some(verdict) => marked(verdict, Tally::of(&run.findings).is_thin()).1,
    }
}

/// A column of the table of runs.
struct Column {
    name: String,
    is_figure: bool,
    /// One for each run.
    cells: Vec<String>,
}

impl Column {
    fn of_texts(name: &str, cells: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            is_figure: false,
            cells,
        }
    }

    fn of(runs: &[RunSummary], name: &str, figure: &dyn Fn(&RunSummary) -> Option<String>) -> Self {
        let cell = |run: &RunSummary| figure(run).unwrap_or_else(|| NONE.to_owned());
        Self {
            name: name.to_owned(),
            is_figure: true,
            cells: runs.iter().map(cell).collect(),
        }
    }
}

fn tabulated(columns: &[Column]) -> String {
    let head = columns.iter();
    let head: Vec<(String, bool)> = head
        .map(|column| (column.name.clone(), column.is_figure))
        .collect();
    let count = columns.first().map_or(0, |column| column.cells.len());
    let row = |run: usize| -> Vec<String> {
        let cells = columns.iter().map(|column| column.cells.get(run));
        cells
            .map(|cell| cell.cloned().unwrap_or_default())
            .collect()
    };
    table(&head, &(0..count).map(row).collect::<Vec<_>>())
}

/// Rates, latencies and errors; without columns that no run has.
fn figures(runs: &[RunSummary]) -> Vec<Column> {
    let is_event = |run: &RunSummary| EventWord::of(run) == EventWord::Event;
    let unit = match runs.iter().all(is_event) {
        true => "events/s",
        false => "tx/s",
    };
    let mut columns = vec![
        Column::of(runs, unit, &events),
        Column::of(runs, "q/s", &queries),
    ];
    for percent in percents(runs) {
        let name = format!("p{}", plain(percent));
        columns.push(Column::of(runs, &name, &|run: &RunSummary| {
            percentile(run, percent)
        }));
    }
    let longest = |run: &RunSummary| latencies(run).longest_ms().map(latency);
    let errors = |run: &RunSummary| brief::errors_seen(run).map(thousands);
    columns.push(Column::of(runs, "max", &longest));
    columns.push(Column::of(runs, "errors", &errors));
    columns.retain(|column| column.cells.iter().any(|cell| cell != NONE));
    columns
}

fn events(run: &RunSummary) -> Option<String> {
    let mut gaps = run.not_observed.iter();
    if run.totals.events == 0 && gaps.any(|gap| gap.what == TOTALS_UNKNOWN) {
        return None;
    }
    let mean = rate(run.rates.events_per_s);
    Some(match brief::precision(run) {
        None => mean,
        Some(precision) => format!("{mean} {precision}"),
    })
}

fn queries(run: &RunSummary) -> Option<String> {
    (run.totals.queries() > 0).then(|| rate(run.rates.queries_per_s))
}

/// The latencies that users would see.
fn latencies(run: &RunSummary) -> &LatencySummary {
    run.response.as_ref().unwrap_or(&run.service)
}

fn percents(runs: &[RunSummary]) -> Vec<f64> {
    let all = runs.iter().flat_map(|run| &latencies(run).percentiles);
    let mut percents: Vec<f64> = all.map(|one| one.percent).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    percents
}

fn percentile(run: &RunSummary, percent: f64) -> Option<String> {
    let mut all = latencies(run).percentiles.iter();
    let found = all.find(|one| one.percent == percent)?;
    found.value_ms.map(latency)
}

fn caption(runs: &[RunSummary]) -> String {
    match runs.iter().any(|run| run.response.is_some()) {
        true => "Latencies of an open loop are response times: from the scheduled start of an \
                 event to its end.\n"
            .to_owned(),
        false => String::new(),
    }
}

/// How the run ended, errors, conditions, other figures and limits.
fn remarks(run: &RunSummary, page: &mut Page) {
    ended(run, page);
    sections::machine_figures(run, page);
    page.show(document::figures(run));
    sections::trouble(run, page);
    sections::thresholds(run, page);
    weak_durability(run, page);
    for limit in &run.limits {
        page.row("limit", Ink::Strong, limit);
    }
    for warning in &run.warnings {
        page.row("warning", Ink::Warning, warning);
    }
    brief::costs(run, page);
    page.show(document::server_host(run));
}

/// The findings against a run, each after `lead`.
fn findings(lead: &str, run: &RunSummary) -> String {
    let lines = against(run).into_iter();
    lines
        .map(|finding| format!("- {}{}\n", text(lead), one_finding(finding)))
        .collect()
}

fn one_finding(finding: &Finding) -> String {
    let word = match (&finding.waived, finding.outcome) {
        (Some(_), _) => "waived",
        (None, Outcome::Refuse) => "refused",
        (None, _) => "doubt",
    };
    let (check, evidence) = (text(&finding.check), text(&finding.evidence));
    let mut out = format!("**{word}** {check}: {evidence}");
    match &finding.waived {
        Some(reason) => out += &format!("\n  Waived: {}", text(reason)),
        None if finding.advice.is_empty() => {}
        None => out += &format!("\n  Try: {}", text(&finding.advice)),
    }
    out
}

/// The settings that all runs have in common, then those that differ, with a row for each run.
fn settings(runs: &[RunSummary], names: &[String]) -> String {
    let all: Vec<Vec<(String, String)>> = runs
        .iter()
        .map(|run| rows(|page| setting_rows(run, page)))
        .collect();
    let mut labels: Vec<&str> = Vec::new();
    for (label, _) in all.iter().flatten() {
        if !labels.contains(&label.as_str()) {
            labels.push(label);
        }
    }
    // A script's facts may have the label of a setting.
    let value = |own: &Vec<(String, String)>, label: &str| -> String {
        let own = own.iter().filter(|(name, _)| name == label);
        let bodies: Vec<&str> = own.map(|(_, body)| body.as_str()).collect();
        match bodies.is_empty() {
            true => NONE.to_owned(),
            false => bodies.join("\n"),
        }
    };
    let values = |label: &str| -> Vec<String> { all.iter().map(|own| value(own, label)).collect() };
    let mut same = Vec::new();
    let mut differing = vec![Column::of_texts("run", names.to_vec())];
    for label in labels {
        let values = values(label);
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => {
                same.push(vec![label.to_owned(), first.clone()]);
            }
            _ => differing.push(Column::of_texts(label, values)),
        }
    }
    let apart = match differing.len() {
        1 => String::new(),
        _ => tabulated(&differing),
    };
    joined([labelled(&same), apart])
}

fn setting_rows(run: &RunSummary, page: &mut Page) {
    let target = &run.target;
    let server = format!("{} {}", target.product, target.version);
    page.row("workload", Ink::Plain, &sections::named(run));
    page.row("server", Ink::Plain, server.trim());
    set_up(run, page);
    page.row("tool", Ink::Plain, &run.tool);
}
