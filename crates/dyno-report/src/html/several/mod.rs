//! Several runs: the answer, each side's figures, overlaid curves, and the differences.

mod curves;
mod differs;
mod levels;
mod names;
mod pivot;
mod ratios;
mod side;
pub(super) mod spread;

use dyno_core::finding::{Finding, Outcome, Verdict};
use dyno_core::headline::HEADLINE_PERCENT;
use dyno_core::record::RunRecord;
use dyno_verdict::{CompareError, Comparison, poolable};
use maud::{Markup, html};

use super::markup::Text;
use super::page::Page;
use super::run::View;
use super::small_multiples::COLOURS;
use super::{Pivot, ReportInput};
use super::{blocks, duet, figures};
use crate::document::{self, interval, times};
use crate::number;
use crate::terminal::{answer, outcome as answer_in_a_word};

use side::{Side, bin_word};

/// The name of each run, in order: its side's name, with the run's number if the side has several.
pub(super) fn labels(input: &ReportInput<'_>) -> Vec<String> {
    let named = named(input);
    let label = |index: usize| {
        let side = input.sides.iter().position(|side| side.contains(&index));
        let id = input.runs[index].id;
        match side.map(|side| (&named[side], runs_of(input, &input.sides[side]))) {
            Some((name, runs)) if runs.len() == 1 => name.clone(),
            Some((name, runs)) if *name == names::numbers(&runs) => format!("run {id}"),
            Some((name, _)) => format!("{name}, run {id}"),
            None => format!("run {id}"),
        }
    };
    (0..input.runs.len()).map(label).collect()
}

fn named(input: &ReportInput<'_>) -> Vec<String> {
    let sides = input.sides.iter().map(|side| runs_of(input, side));
    let sides: Vec<Vec<&RunRecord>> = sides.collect();
    let of_duet = input.duet().and_then(|found| duet::names(&found, &sides));
    of_duet.unwrap_or_else(|| names::names(&sides))
}

fn runs_of<'a>(input: &ReportInput<'a>, side: &[usize]) -> Vec<&'a RunRecord> {
    side.iter()
        .filter_map(|index| input.runs.get(*index))
        .collect()
}

pub(super) fn sides<'v, 'a>(input: &ReportInput<'a>, views: &'v [View<'a>]) -> Vec<Side<'v, 'a>> {
    let names = named(input).into_iter().zip(input.sides);
    let side = |(index, (name, runs)): (usize, (String, &Vec<usize>))| Side {
        index,
        look: look(input.pivot, index, runs),
        name,
        pools: pools(&runs_of(input, runs)).is_ok(),
        views: runs.iter().filter_map(|run| views.get(*run)).collect(),
        compared: match index {
            // The base's figures are in every comparison.
            0 => input.compared.iter().find_map(|one| one.as_ref().ok()),
            _ => input
                .compared
                .get(index - 1)
                .and_then(|one| one.as_ref().ok()),
        },
    };
    names.enumerate().map(side).collect()
}

/// In a table a side has the colour of its column, and its row sets the dash style.
fn look(pivot: Option<&Pivot>, index: usize, runs: &[usize]) -> (usize, usize) {
    let by_number = (index, index / COLOURS);
    let Some(table) = pivot.filter(|table| table.columns.is_some()) else {
        return by_number;
    };
    let holds = |cell: &Vec<usize>| runs.first().is_some_and(|run| cell.contains(run));
    let cell = table.runs.iter().position(holds).map(|at| &table.cells[at]);
    cell.map_or(by_number, |cell| (cell.column, cell.row))
}

/// Why runs must not be pooled, compared or used, each reason once, in the words of `dyno compare`.
pub fn refusals(input: &ReportInput<'_>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |why: String| {
        if !all.contains(&why) {
            all.push(why);
        }
    };
    let is_duet = input.duet().is_some();
    for side in input.sides {
        if let Err(error) = pools(&runs_of(input, side)) {
            add(error.sentence());
        }
    }
    for compared in input.compared {
        match compared {
            Err(why) => add(why.clone()),
            // An experiment has its own rule for refused trials, and a duet its own verdict.
            Ok(_) if input.experiment.is_some() || is_duet => {}
            Ok(compared) => {
                let refuses = |finding: &&Finding| {
                    finding.outcome == Outcome::Refuse && finding.waived.is_none()
                };
                let found = compared.findings.iter().filter(refuses);
                found.for_each(|found| add(format!("{}: {}", found.check, found.evidence)));
            }
        }
    }
    all
}

/// Whether the figures of a side are those of all its runs together.
fn pools(runs: &[&RunRecord]) -> Result<(), CompareError> {
    match runs {
        [] | [_] => Ok(()),
        several => poolable(several),
    }
}

/// Writes the part before the individual runs.
pub(super) fn write(page: &mut Page, input: &ReportInput<'_>, views: &[View<'_>], title: &str) {
    let sides = sides(input, views);
    let in_duet = input.duet();
    // Experiments and duets already have answers by their own methods; a second one could differ.
    let is_judged = input.experiment.is_none() && in_duet.is_none();
    let is_answer = input.experiment.is_none();
    page.overview("runs", if is_answer { "Answer" } else { "Runs" });
    // A user's heading does not replace the answer of the runs' search.
    let searched = dyno_analysis::search::answer_of(input.runs);
    let against = against(&sides).filter(|_| is_judged && searched.is_none());
    page.put(html! {
        (eyebrow(views, &sides))
        h1 id="runs-h" { (Text(title)) }
        @if !input.title.is_empty() && is_judged {
            p class="lead" { (Text(sentence(&sides))) }
        }
        @if let Some(answer) = searched.filter(|_| !input.title.is_empty()) {
            p class="banner" { (Text(answer)) }
        }
        @if let Some(text) = against {
            p class="lead" { (Text(text)) }
        }
        @for why in refusals(input) {
            p class="banner" { (Text(why)) }
        }
    });
    if let Some(found) = &in_duet {
        if !input.title.is_empty() {
            page.put(html! { p class="lead" { (Text(document::duet_judged(found))) } });
        }
        duet::show(page, found);
        page.put(duet::about_runs(found));
    }
    page.put(table(&sides, is_judged));
    page.end_section();
    if let Some(table) = input.pivot {
        pivot::write(page, table, views);
    }
    // The ratios with their intervals are the answer in full.
    if is_judged {
        ratios::write(page, &sides);
    }
    levels::write(page, &sides, input.pivot);
    curves::write(page, views, &sides);
    spread::write(page, &sides, input.pivot, views);
    differs::write(page, &sides);
}

fn eyebrow(views: &[View<'_>], sides: &[Side<'_, '_>]) -> Markup {
    let mut workloads: Vec<String> = views.iter().map(View::title).collect();
    workloads.sort();
    workloads.dedup();
    let what = match workloads.as_slice() {
        [one] => one.clone(),
        several => format!("{} workloads or servers", several.len()),
    };
    let runs = match views.len() == sides.len() {
        true => format!("{} runs", views.len()),
        false => format!("{} runs, {} kinds", views.len(), sides.len()),
    };
    html! { p class="eyebrow" { (Text(what)) " · " (runs) } }
}

/// The answer in a sentence: from `compare` for two sides, else the range of throughput.
pub(super) fn sentence(sides: &[Side<'_, '_>]) -> String {
    let (Some(base), others) = (sides.first(), sides.get(1..).unwrap_or_default()) else {
        return "No runs".to_owned();
    };
    if let [only] = others {
        return match only.compared {
            Some(compared) => answer(compared),
            None => format!("{} and {}, which are not compared", base.name, only.name),
        };
    }
    range(sides).unwrap_or_else(|| format!("{} kinds of runs, which are not compared", sides.len()))
}

/// The outcomes of the comparisons, and the worst verdict on them and on their runs: `slower,
/// doubtful`, `2 faster, 1 undecided, valid`; `None` if nothing is compared.
pub(super) fn outcome(sides: &[Side<'_, '_>]) -> Option<String> {
    const OUTCOMES: [&str; 4] = ["faster", "slower", "same", "undecided"];
    let others = sides.get(1..).unwrap_or_default();
    let compared = || others.iter().filter_map(|side| side.compared);
    let outcomes: Vec<&str> = compared().map(answer_in_a_word).collect();
    let counts = OUTCOMES.map(|word| (word, outcomes.iter().filter(|own| **own == word).count()));
    let mut parts: Vec<String> = (counts.iter())
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| match others.len() {
            1 => (*word).to_owned(),
            _ => format!("{count} {word}"),
        })
        .collect();
    let verdicts = sides.iter().filter_map(Side::verdict);
    let worst = verdicts.chain(compared().map(judged)).max()?;
    if parts.is_empty() {
        return None;
    }
    parts.push(worst.word().to_owned());
    Some(parts.join(", "))
}

/// From the lowest to the highest throughput, and whether any difference from the base is
/// significant.
fn range(sides: &[Side<'_, '_>]) -> Option<String> {
    let compared = sides.iter().find_map(|side| side.compared);
    let is_open = compared.is_some_and(Comparison::is_open_loop);
    let figure = |side: &Side<'_, '_>| match is_open {
        true => side.percentile_ms(HEADLINE_PERCENT),
        false => side.mean_per_s(),
    };
    let rated = sides.iter().filter_map(|side| Some((side, figure(side)?)));
    let low = rated
        .clone()
        .min_by(|one, other| one.1.total_cmp(&other.1))?;
    let high = rated.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let words = |(side, value): (&Side<'_, '_>, f64)| match is_open {
        true => format!("{} ({})", figures::maybe(Some(value), "ms"), side.name),
        false => format!("{}/s ({})", figures::significant(value.round()), side.name),
    };
    let what = if is_open {
        format!("p{HEADLINE_PERCENT} response time")
    } else {
        "throughput".to_owned()
    };
    let (low, high) = (words(low), words(high));
    Some(match shown(sides) {
        Some((0, 0)) => format!("No significant difference in {what}: from {low} to {high}"),
        _ if is_open => format!("The {what} goes from {low} to {high}"),
        _ => format!("Throughput from {low} to {high}"),
    })
}

/// The numbers of sides with significantly less and with significantly more throughput than the
/// base; `None` if no ratio has an interval.
fn shown(sides: &[Side<'_, '_>]) -> Option<(usize, usize)> {
    let metrics = sides
        .iter()
        .skip(1)
        .filter_map(|side| side.compared?.subject());
    let mut known = metrics.filter(|metric| metric.low.is_some()).peekable();
    known.peek()?;
    let mut shown = (0, 0);
    for metric in known {
        let (low, high) = (metric.low, metric.high);
        shown.0 += usize::from(metric.significant && high.is_some_and(|high| high < 1.0));
        shown.1 += usize::from(metric.significant && low.is_some_and(|low| low > 1.0));
    }
    Some(shown)
}

/// How many differ from the base, if there are more than two.
fn against(sides: &[Side<'_, '_>]) -> Option<String> {
    let (base, others) = (
        sides.first()?,
        sides.len().checked_sub(1).filter(|n| *n > 1)?,
    );
    // Failed comparisons are reported elsewhere.
    sides.iter().find_map(|side| side.compared)?;
    let Some((lower, higher)) = shown(sides) else {
        return Some(
            "The runs have too few intervals to distinguish differences from chance.".to_owned(),
        );
    };
    let left = others - lower - higher;
    let counted = [
        (higher, "higher"),
        (lower, "lower"),
        (left, "not significantly different"),
    ];
    let parts = counted.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    Some(format!(
        "Of {others} set against {}: {}.",
        base.name,
        parts.join(", ")
    ))
}

fn table(sides: &[Side<'_, '_>], is_judged: bool) -> Markup {
    let columns = [
        "what differs",
        "runs",
        "verdict",
        "#mean /s",
        ratio_head(sides),
        "#median /s",
        "#varies by",
        "#p50",
        "#p99",
        "#errors",
        "#stalled",
    ];
    let rows = html! { @for side in sides { (row(side, is_judged)) } };
    let word = bin_word(sides.iter().flat_map(|side| side.views.iter().copied()));
    html! {
        div class="panel" {
            (blocks::table(&columns, &rows))
            p class="source" {
                "Mean, median " (word) ", variation and stalls are shown together because each \
                 hides what the others reveal. Varies by: standard deviation of the " (word)
                "s over their mean. "
                @if is_judged {
                    "Ratios compare the mean rate (in an open loop, the response time) and show \
                     the 95 % confidence interval."
                } @else {
                    "The answer above has the ratios."
                }
            }
        }
        "\n"
    }
}

/// The heading of the column of ratios.
fn ratio_head(sides: &[Side<'_, '_>]) -> &'static str {
    let compared = sides.iter().find_map(|side| side.compared);
    match compared.is_some_and(Comparison::is_open_loop) {
        true => "#response time to the first (95 %)",
        false => "#ratio to the first (95 %)",
    }
}

fn row(side: &Side<'_, '_>, is_judged: bool) -> Markup {
    let ms = |percent| figures::maybe(side.percentile_ms(percent), "ms");
    let per_s = |value| figures::maybe(value, "count");
    let ratio = match is_judged {
        true => ratio(side),
        false => "–".to_owned(),
    };
    let figures = [
        per_s(side.mean_per_s()),
        ratio,
        per_s(side.median_per_s()),
        side.variation().map_or("–".to_owned(), number::percent),
        ms(50.0),
        ms(99.0),
        side.errors().map_or("–".to_owned(), number::thousands),
        stalled(side.stalls()),
    ];
    html! {
        tr {
            th scope="row" { (swatch(side.look.0)) (Text(&side.name)) }
            td { (links(&side.views)) }
            td { (verdict_chip(side.verdict(), false)) }
            @for figure in figures { td class="n" { (Text(figure)) } }
        }
    }
}

/// Links to the parts of runs on the page.
fn links(views: &[&View<'_>]) -> Markup {
    html! {
        @for (number, view) in views.iter().enumerate() {
            @if number > 0 { ", " }
            a href={ "#" (view.id("overview")) } { (view.run.id) }
        }
    }
}

fn ratio(side: &Side<'_, '_>) -> String {
    if side.index == 0 {
        return "1".to_owned();
    }
    let Some((metric, ratio)) = side
        .compared
        .and_then(Comparison::subject)
        .and_then(|one| Some((one, one.ratio?)))
    else {
        return "–".to_owned();
    };
    let bounds = interval(metric, " – ").map_or_else(String::new, |bounds| format!(" ({bounds})"));
    format!("{}×{bounds}", times(ratio))
}

/// `0`, `2 stalls, 3.5 s`.
fn stalled(stalls: Option<(usize, f64)>) -> String {
    match stalls {
        None => "–".to_owned(),
        Some((0, _)) => "0".to_owned(),
        Some((count, length_s)) => format!("{count}×, {}", number::length(length_s)),
    }
}

/// A verdict in a box, with a mark for readers who do not see colours.
fn verdict_chip(verdict: Option<Verdict>, is_thin: bool) -> Markup {
    let marked = verdict.map(|verdict| document::marked(verdict, is_thin));
    let words = marked.map_or("not judged".to_owned(), |(_, words)| words);
    html! { span class={ "chip " (verdict.map_or("", Verdict::word)) } { (words) } }
}

/// A side's colour in every chart.
fn swatch(number: usize) -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" {
            rect class={ "f" (number % COLOURS) } width="10" height="10" rx="2" {}
        }
    }
}

/// The verdict on a comparison.
fn judged(comparison: &Comparison) -> Verdict {
    dyno_core::finding::verdict(&comparison.findings)
}
