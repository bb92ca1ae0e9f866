//! One run, or several.

use dyno_core::finding::{Finding, Tally};
use dyno_core::summary::{LatencySummary, RunSummary};
use dyno_core::unknown::TOTALS_UNKNOWN;

use super::super::look::Ink;
use super::super::page::Page;
use super::super::pivot::title;
use super::super::verdict::weak_durability;
use super::super::words::EventWord;
use super::super::{brief, compare, parts, sections, set_up, statements};
use super::markup::{headed, joined, labelled, rows, tabulated, text};
use super::{cells, duet, list, markup, ratios};
use crate::Pivot;
use crate::document::{self, Table, Value};
use crate::html::{ReportInput, names, refusals};
use crate::number::rate;

/// The cell of a missing figure.
const NONE: &str = "–";

/// One run: verdict, figures, findings and settings.
pub(super) fn one(title: &str, run: &RunSummary) -> String {
    let runs = std::slice::from_ref(run);
    let row = Named {
        number: "",
        label: "",
        run,
    };
    let tally = Tally::of(&run.findings).words();
    joined([
        format!("## {}\n", text(title)),
        format!("**{}** – {}\n", text(&word(run)), text(&tally)),
        tabulated(figures(&[row])),
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
    let labelled_runs = numbers.iter().zip(&labels).zip(runs);
    let all: Vec<Named<'_>> = labelled_runs
        .map(|((number, label), run)| Named {
            number,
            label: if labels == named { "" } else { label },
            run,
        })
        .collect();
    let each = named.iter().zip(runs);
    let found = each
        .clone()
        .map(|(name, run)| findings(&format!("{name}: "), run));
    let noted = each.flat_map(|(name, run)| {
        let lines = rows(|page| remarks(run, page)).into_iter();
        lines.map(move |(label, body)| vec![name.clone(), label, body])
    });
    let in_duet = input.duet();
    let compared = match (input.compared, &in_duet) {
        ([Ok(only)], None) => ratios(only, false),
        _ => String::new(),
    };
    joined([
        format!("## {}\n", text(&title)),
        answers(input),
        in_duet.as_ref().map(duet).unwrap_or_default(),
        tabulated(figures(&all)),
        caption(runs),
        labelled(&noted.collect::<Vec<_>>()),
        input.pivot.map(by_factors).unwrap_or_default(),
        headed("Comparison", compared),
        headed("Findings", found.collect()),
        headed("Settings", settings(runs, &numbers)),
    ])
}

/// The answer of each comparison with the base, unless the title is the only one, and why others
/// have none.
fn answers(input: &ReportInput<'_>) -> String {
    let is_title = input.compared.len() == 1 && input.title.is_empty() || input.duet().is_some();
    let found = input.compared.iter().flatten().filter(|_| !is_title);
    let answers = found.map(compare::answer);
    list(&answers.chain(refusals(input)).collect::<Vec<_>>())
}

fn by_factors(table: &Pivot) -> String {
    headed(&text(&title(table)), cells(table))
}

fn word(run: &RunSummary) -> String {
    match run.verdict {
        None => "not judged".to_owned(),
        Some(verdict) => document::marked(verdict, Tally::of(&run.findings).is_thin()).1,
    }
}

/// A run with its name in a table of several runs.
struct Named<'a> {
    number: &'a str,
    label: &'a str,
    run: &'a RunSummary,
}

/// Rates, latencies and errors; without columns that no run has.
fn figures(rows: &[Named<'_>]) -> Table {
    let unit = EventWord::of_all(rows.iter().map(|row| EventWord::of(row.run))).per_s();
    let several = rows.len() > 1;
    let mut columns = Table::of(rows);
    if several {
        columns = columns.text("run", 0, |row| row.number.to_owned());
    }
    if rows.iter().any(|row| !row.label.is_empty()) {
        columns = columns.text("what differs", 0, |row| row.label.to_owned());
    }
    columns = columns
        .figure(unit, 0, |row| events(row.run).map(Value::Text))
        .figure("q/s", 0, |row| queries(row.run).map(Value::Rate));
    for percent in percents(rows) {
        columns = columns.percentile(percent, 0, latencies);
    }
    columns = columns.longest(0, latencies).figure("errors", 0, |row| {
        brief::errors_seen(row.run).map(Value::Count)
    });
    if several {
        columns = columns.text("verdict", 0, |row| word(row.run));
    }
    let mut table = columns.source("");
    table.drop_empty();
    table
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

fn queries(run: &RunSummary) -> Option<f64> {
    run.rates.queries_per_s.filter(|queries| *queries > 0.0)
}

/// The latencies that users would see.
fn latencies<'a>(row: &'a Named<'_>) -> &'a LatencySummary {
    row.run.latency()
}

fn percents(rows: &[Named<'_>]) -> Vec<f64> {
    let all = rows.iter().flat_map(|row| &latencies(row).percentiles);
    let mut percents: Vec<f64> = all.map(|one| one.percent).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    percents
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
    page.show(document::ended(run, true));
    page.show(document::machine_figures(run));
    page.show(document::figures(run));
    sections::trouble(run, page);
    page.show(document::thresholds(run));
    weak_durability(run, page);
    page.show(document::remarks(run));
    brief::costs(run, page);
    page.show(document::server_host(run));
}

/// The findings against a run, each after `lead`.
fn findings(lead: &str, run: &RunSummary) -> String {
    let item = |finding: &Finding| {
        let (_, word) = document::counts_as(finding);
        let lines = document::explained(finding);
        let lines: Vec<String> = lines.iter().map(|line| text(line)).collect();
        format!("- {}**{word}** {}\n", text(lead), lines.join("\n  "))
    };
    let against = document::against(&run.findings);
    against.into_iter().map(item).collect()
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
    let places: Vec<usize> = (0..runs.len()).collect();
    let mut differing = Table::of(&places).text("run", 0, |at| names[*at].clone());
    let mut differs = false;
    for label in labels {
        let values = values(label);
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => {
                same.push(vec![label.to_owned(), first.clone()]);
            }
            _ => {
                differing = differing.text(label, 0, |at| values[*at].clone());
                differs = true;
            }
        }
    }
    let apart = match differs {
        true => tabulated(differing.source("")),
        false => String::new(),
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
