//! The result of a duet.

use dyno_core::catalogue::names;
use dyno_core::duet::{DuetAnswer, DuetEnd, DuetFigure, DuetMode, DuetSide, DuetSummary};
use dyno_core::finding::Outcome;
use dyno_core::record::RunRecord;
use dyno_core::reported::Better;
use dyno_core::text::number_of;
use dyno_stats::PAIRS_MIN;

use super::{Block, Cell, Table, Value, outcome, times};
use crate::number::{amount, latency, length, rate};
use crate::terminal::Ink;

/// The most differences shown by default.
const DIFFERENCES_SHOWN: usize = 10;
/// Below this p-value a difference is significant.
const SIGNIFICANT: f64 = 0.05;

/// The duet that a run is a side of.
pub(crate) fn duet_of(run: &RunRecord) -> Option<DuetSummary> {
    let answer = run.fact(names::DUET_ANSWER)?;
    serde_json::from_str(answer).ok()
}

/// The duet whose sides these two runs are.
pub(crate) fn duet_of_both(runs: &[RunRecord]) -> Option<DuetSummary> {
    let [a, b] = runs else {
        return None;
    };
    let (of_a, of_b) = (duet_of(a)?, duet_of(b)?);
    (of_a == of_b && a.id != b.id).then_some(of_a)
}

/// The answer in a sentence: `B is 2.1 % slower (1.4–2.8 %), 480 blocks in 4 min`.
pub fn duet_answer(summary: &DuetSummary) -> String {
    let took = format!(
        "{} in {}",
        number_of(summary.blocks, "block"),
        length(summary.measured_s)
    );
    let first = summary.figures.first();
    let Some((first, (ratio, low, high))) =
        first.and_then(|own| Some((own, (own.ratio?, own.low?, own.high?))))
    else {
        return format!("Undecided: {took} are too few; a ratio needs {PAIRS_MIN} blocks");
    };
    let (b, words) = subject(first);
    let change = change((ratio, low, high), words);
    match (summary.answer, summary.margin) {
        (DuetAnswer::Different, _) => format!("{b} is {change}, {took}"),
        (DuetAnswer::Same { measurable }, margin) => {
            let within = share(margin.unwrap_or(0.0), 0.01);
            let but = match measurable {
                true => format!(", but the difference is measurable: {b} is"),
                false => format!(": {b} seems"),
            };
            format!("A and B are the same within {within}{but} {change}, {took}")
        }
        (DuetAnswer::Undecided { needs_s }, _) => {
            let needs = needs_s.map_or_else(String::new, |needs_s| {
                let needs = length(whole_minutes(needs_s));
                format!("; at this ratio, a duet of about {needs} would decide")
            });
            format!("Undecided: {b} seems {change}, {took}{needs}")
        }
    }
}

/// The answer with the verdict.
pub(crate) fn duet_judged(summary: &DuetSummary) -> String {
    format!("{} – {}", duet_answer(summary), summary.verdict.word())
}

/// The sides, how durable their commits are if that differs, how they shared the time, and how the
/// duet ended.
pub(crate) fn duet_sides(summary: &DuetSummary) -> Vec<Block> {
    let sides = ["A", "B"].into_iter().zip(&summary.sides);
    let mut blocks: Vec<Block> = sides
        .map(|(name, side)| Block::row(name, Ink::Plain, described(side)))
        .collect();
    blocks.extend(summary.durabilities().map(|(a, b)| {
        let text = format!("{} → {}", a.name(), b.name());
        Block::row("durability", Ink::Warning, text)
    }));
    blocks.push(Block::row("slices", Ink::Plain, slices(summary)));
    blocks.push(Block::row("end", Ink::Faint, ended(summary)));
    blocks
}

/// The figures of both sides.
pub(crate) fn duet_figures(figures: &[DuetFigure]) -> Table {
    let number = |figure: &DuetFigure, value: Option<f64>| {
        value.map(|value| {
            Value::Text(match figure.unit.as_str() {
                "ms" => latency(value),
                "us" => amount(value, "us"),
                _ => rate(value),
            })
        })
    };
    Table::of(figures)
        .text("", 0, |figure| match figure.unit.as_str() {
            "per s" => "events/s".to_owned(),
            _ => figure.name.clone(),
        })
        .figure("A", 0, |figure| number(figure, figure.a))
        .figure("B", 0, |figure| number(figure, figure.b))
        .figure("B/A", 0, |figure| {
            figure.ratio.map(|ratio| Value::Text(times(ratio)))
        })
        .figure("95 % interval", 0, |figure| {
            let ends = figure.low.zip(figure.high);
            ends.map(|(low, high)| Value::Text(format!("{} – {}", times(low), times(high))))
        })
        .figure("pairs", 1, |figure| Value::Count(figure.pairs))
        .word("", 0, direction)
        .source("slices in which the side works; ratios from pairs of neighbouring blocks.")
}

/// The comparison of a side with itself, what else differs between the sides, and findings. Long
/// lists of differences are cut and passed checks left out, unless `all` is set.
pub(crate) fn duet_notes(summary: &DuetSummary, all: bool) -> Vec<Block> {
    let own = summary.a_with_itself.as_ref();
    let own = own.map(|own| Block::row("A with A", Ink::Plain, limit(own)));
    let differs = Block::row("differs", Ink::Plain, differences(summary, all));
    let findings = summary.findings.iter();
    let findings = findings.filter(|finding| all || finding.outcome != Outcome::Pass);
    let findings = findings.map(|finding| {
        let (ink, word) = outcome(finding.outcome);
        let mut text = format!("{}: {}", finding.check, finding.evidence);
        if !finding.advice.is_empty() {
            text += &format!("\nTry: {}", finding.advice);
        }
        Block::row(word, ink, text)
    });
    own.into_iter().chain([differs]).chain(findings).collect()
}

fn differences(summary: &DuetSummary, all: bool) -> String {
    let shown = if all { usize::MAX } else { DIFFERENCES_SHOWN };
    let mut lines: Vec<String> = (summary.differences.iter().take(shown))
        .map(|own| format!("{}: {} → {}", own.what, own.a, own.b))
        .collect();
    let more = summary.differences.len().saturating_sub(shown);
    if more > 0 {
        lines.push(format!("and {more} more (-v)"));
    }
    lines.join("\n")
}

/// The interval of a comparison of a side with itself.
fn limit(own: &DuetFigure) -> String {
    let Some((low, high)) = own.low.zip(own.high) else {
        return "too few blocks for an interval".to_owned();
    };
    let chance = match low > 1.0 || high < 1.0 {
        true => ", which excludes 1; by chance, 1 in 20 such intervals does",
        false => "",
    };
    format!("{} – {}{chance}", times(low), times(high))
}

/// The name of a figure in the answer, and the words for less and more of it.
fn subject(figure: &DuetFigure) -> (String, [&'static str; 2]) {
    match figure.better {
        Better::Higher => ("B".to_owned(), ["slower", "faster"]),
        Better::Lower => (format!("{} of B", figure.name), ["shorter", "longer"]),
    }
}

/// Rounds an estimate of two minutes or more up to whole minutes.
fn whole_minutes(seconds: f64) -> f64 {
    match seconds < 120.0 {
        true => seconds.ceil(),
        false => (seconds / 60.0).ceil() * 60.0,
    }
}

/// `2.1 % slower (1.4–2.8 %)`; with signs if the interval contains no change.
fn change((ratio, low, high): (f64, f64, f64), [less, more]: [&str; 2]) -> String {
    let precision = (high - low) / 2.0;
    let word = if ratio < 1.0 { less } else { more };
    let size = share((ratio - 1.0).abs(), precision);
    let plain = |off: f64| {
        share(off.abs(), precision)
            .trim_end_matches(" %")
            .to_owned()
    };
    let range = if high < 1.0 {
        format!("{}–{} %", plain(1.0 - high), plain(1.0 - low))
    } else if low > 1.0 {
        format!("{}–{} %", plain(low - 1.0), plain(high - 1.0))
    } else {
        format!("−{} to +{} %", plain(1.0 - low), plain(high - 1.0))
    };
    format!("{size} {word} ({range})")
}

/// A share in percent, with a second decimal if it is known to less than 0.2 %.
fn share(share: f64, precision: f64) -> String {
    match precision < 0.002 {
        true => format!("{:.2} %", share * 100.0),
        false => format!("{:.1} %", share * 100.0),
    }
}

fn described(side: &DuetSide) -> String {
    let mut parts = vec![side.label.clone()];
    parts.extend(Some(side.server.clone()).filter(|server| !server.is_empty()));
    let run = side.run.as_ref();
    parts.extend(run.map(|run| format!("run {} in {}", run.id, run.file)));
    parts.join(" – ")
}

fn slices(summary: &DuetSummary) -> String {
    let slice = latency(summary.slice_ms);
    match summary.mode {
        DuetMode::Simultaneous => "both sides at the same time".to_owned(),
        DuetMode::Alternating => format!(
            "{slice} each, in random order ABBA or BAAB; the first {} after a switch do not count",
            latency(summary.cut_ms)
        ),
    }
}

fn ended(summary: &DuetSummary) -> String {
    match summary.end {
        DuetEnd::Precise => "the ratio was precise enough (--precision)",
        DuetEnd::TimeUp => "the time was up (--at-most)",
        DuetEnd::Interrupted => "interrupted",
        DuetEnd::Failed => "a side failed",
    }
    .to_owned()
}

/// The significant direction of a figure.
fn direction(figure: &DuetFigure) -> Cell {
    let significant = figure.p_corrected.is_some_and(|p| p < SIGNIFICANT);
    let Some(ratio) = figure.ratio.filter(|_| significant) else {
        return String::new().into();
    };
    match (figure.better, ratio > 1.0) {
        (Better::Higher, true) | (Better::Lower, false) => (Ink::Good, "better".to_owned()).into(),
        _ => (Ink::Warning, "worse".to_owned()).into(),
    }
}
