//! The result of a duet.

use dyno_core::duet::{DuetAnswer, DuetEnd, DuetFigure, DuetMode, DuetSide, DuetSummary};
use dyno_core::finding::Outcome;
use dyno_core::reported::Better;
use dyno_core::text::number_of;
use dyno_stats::PAIRS_MIN;

use super::look::{Ink, Look};
use super::page::Page;
use crate::document::{self, Cell, Table, Value, times};
use crate::number::{amount, latency, length, rate};

/// The most differences shown by default.
const DIFFERENCES_SHOWN: usize = 10;
/// Below this p-value a difference is significant.
const SIGNIFICANT: f64 = 0.05;

/// The result: the answer in a sentence, the verdict, the sides, the figures with their ratios, and
/// findings. An empty line comes first and a line end last.
pub fn duet(summary: &DuetSummary, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    page.title(&duet_answer(summary));
    let (ink, word) = document::marked(summary.verdict, false);
    page.line("verdict", ink, &[(ink, &word)]);
    for (name, side) in ["A", "B"].into_iter().zip(&summary.sides) {
        page.row(name, Ink::Plain, &described(side));
    }
    page.row("slices", Ink::Plain, &slices(summary));
    page.row("end", Ink::Faint, &ended(summary));
    page.blank();
    let mut out = page.finish();
    out.push('\n');
    out.push_str(&figures(&summary.figures).finish(look));
    let mut page = Page::new(*look);
    page.blank();
    if let Some(own) = &summary.a_with_itself {
        page.row("A with A", Ink::Plain, &limit(own));
    }
    differences(summary, look.verbose, &mut page);
    for finding in &summary.findings {
        if finding.outcome == Outcome::Pass && !look.verbose {
            continue;
        }
        let (ink, word) = document::outcome(finding.outcome);
        let mut text = format!("{}: {}", finding.check, finding.evidence);
        if !finding.advice.is_empty() {
            text += &format!("\nTry: {}", finding.advice);
        }
        page.row(word, ink, &text);
    }
    out.push_str(&page.finish());
    out
}

/// The duet that a run is a side of, in a row: the answer, and the runs of both sides.
pub fn duet_row(summary: &DuetSummary, look: &Look) -> String {
    let runs = summary.sides.iter().filter_map(|side| side.run.as_ref());
    let runs: Vec<String> = runs.map(|run| run.id.to_string()).collect();
    let mut page = Page::new(*look);
    let answer = duet_answer(summary);
    let text = format!("{answer} (A and B are the runs {})", runs.join(" and "));
    page.row("duet", Ink::Plain, &text);
    page.finish()
}

/// What else differs between the sides.
fn differences(summary: &DuetSummary, all: bool, page: &mut Page) {
    let shown = if all { usize::MAX } else { DIFFERENCES_SHOWN };
    let mut lines: Vec<String> = (summary.differences.iter().take(shown))
        .map(|own| format!("{}: {} → {}", own.what, own.a, own.b))
        .collect();
    let more = summary.differences.len().saturating_sub(shown);
    if more > 0 {
        lines.push(format!("and {more} more (-v)"));
    }
    page.row("differs", Ink::Plain, &lines.join("\n"));
}

/// What a comparison of a side with itself shows.
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

/// What a figure is called in the answer, and the words for less and more of it.
fn subject(figure: &DuetFigure) -> (String, [&'static str; 2]) {
    match figure.better {
        Better::Higher => ("B".to_owned(), ["slower", "faster"]),
        Better::Lower => (format!("{} of B", figure.name), ["shorter", "longer"]),
    }
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

/// The figures of both sides.
fn figures(figures: &[DuetFigure]) -> Table {
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
        .source("")
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

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::duet::DuetDifference;
    use dyno_core::finding::Verdict;

    fn summary(ratio: f64, low: f64, high: f64, answer: DuetAnswer) -> DuetSummary {
        let figure = |name: &str, unit: &str, better| DuetFigure {
            name: name.to_owned(),
            unit: unit.to_owned(),
            better,
            a: Some(12_000.0),
            b: Some(12_000.0 * ratio),
            ratio: Some(ratio),
            low: Some(low),
            high: Some(high),
            p_corrected: Some(if low <= 1.0 && high >= 1.0 {
                0.5
            } else {
                0.001
            }),
            pairs: 480,
        };
        let side = |label: &str| DuetSide {
            label: label.to_owned(),
            server: "MariaDB 10.11.19".to_owned(),
            run: None,
            events: 1,
            verdict: None,
        };
        DuetSummary {
            schema_version: 1,
            tool: "dyno 0.1.0".to_owned(),
            name: "one".to_owned(),
            sides: vec![side("mysql://a/db"), side("mysql://b/db")],
            mode: DuetMode::Alternating,
            slice_ms: 50.0,
            cut_ms: 3.0,
            blocks: 480,
            measured_s: 240.0,
            end: DuetEnd::Precise,
            figures: vec![
                figure("rate", "per s", Better::Higher),
                figure("p95", "ms", Better::Lower),
            ],
            a_with_itself: None,
            differences: Vec::new(),
            margin: None,
            answer,
            findings: Vec::new(),
            verdict: Verdict::Valid,
        }
    }

    #[test]
    fn the_answer_is_a_sentence() {
        let slower = summary(0.979, 0.972, 0.986, DuetAnswer::Different);
        assert_eq!(
            duet_answer(&slower),
            "B is 2.1 % slower (1.4–2.8 %), 480 blocks in 4 min"
        );
        let mut same = summary(
            1.001,
            0.9995,
            1.0025,
            DuetAnswer::Same { measurable: false },
        );
        same.margin = Some(0.02);
        assert_eq!(
            duet_answer(&same),
            "A and B are the same within 2.0 %: B seems 0.10 % faster (−0.05 to +0.25 %), 480 \
             blocks in 4 min"
        );
        let undecided = DuetAnswer::Undecided {
            needs_s: Some(400.0),
        };
        assert_eq!(
            duet_answer(&summary(0.99, 0.97, 1.01, undecided)),
            "Undecided: B seems 1.0 % slower (−3.0 to +1.0 %), 480 blocks in 4 min; at this \
             ratio, a duet of about 7 min would decide"
        );
        let mut open = summary(1.021, 1.014, 1.028, DuetAnswer::Different);
        open.figures.remove(0);
        assert_eq!(
            duet_answer(&open),
            "p95 of B is 2.1 % longer (1.4–2.8 %), 480 blocks in 4 min"
        );
        let mut nothing = summary(1.0, 1.0, 1.0, DuetAnswer::Undecided { needs_s: None });
        nothing.figures[0].ratio = None;
        nothing.blocks = 3;
        nothing.measured_s = 1.5;
        assert_eq!(
            duet_answer(&nothing),
            "Undecided: 3 blocks in 1.5 s are too few; a ratio needs 20 blocks"
        );
    }

    #[test]
    fn differences_and_a_with_itself_have_rows() {
        let look = Look {
            columns: 80,
            ..Look::default()
        };
        let mut found = summary(0.979, 0.972, 0.986, DuetAnswer::Different);
        found.a_with_itself = found.figures.first().cloned();
        found.differences = vec![
            DuetDifference {
                what: "setting sync_binlog".to_owned(),
                a: "0".to_owned(),
                b: "1".to_owned(),
            };
            12
        ];
        let text = duet(&found, &look);
        assert!(
            text.contains("A with A      0.972 – 0.986, which excludes 1"),
            "{text}"
        );
        assert!(
            text.contains("differs       setting sync_binlog: 0 → 1"),
            "{text}"
        );
        assert!(text.contains("and 2 more (-v)"), "{text}");
        let row = duet_row(&found, &look);
        assert!(row.contains("duet          B is 2.1 % slower"), "{row}");
    }

    #[test]
    fn a_page_fits_80_columns() {
        let look = Look {
            columns: 80,
            ..Look::default()
        };
        let text = duet(&summary(0.979, 0.972, 0.986, DuetAnswer::Different), &look);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("worse") && text.contains("better"), "{text}");
        assert!(text.contains("0.972 – 0.986"), "{text}");
    }
}
