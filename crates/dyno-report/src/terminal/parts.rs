//! The parts of a load that changed over time.

use dyno_core::finding::Verdict;
use dyno_core::summary::{PartSummary, RunSummary};

use super::look::Ink;
use super::page::Page;
use super::table::{Align, Table};
use super::words::EventWord;
use crate::number::{latency, plain, rate, thousands};

/// The width of a table with all percentiles.
const WIDE: usize = 96;
/// The width without the median. Below it there is room only for rates and verdicts.
const USUAL: usize = 80;
/// Percentiles shown if there is room, and if there is little.
const PERCENTS: [f64; 3] = [50.0, 95.0, 99.0];
/// The most parts in the brief text.
const PARTS_MAX: usize = 16;

/// A line for each part; of very many the first ones, unless `all`.
pub(super) fn section(run: &RunSummary, all: bool, page: &mut Page) {
    if run.parts.is_empty() {
        return;
    }
    let narrow = page.width() < USUAL;
    let open = run.parts.iter().any(|part| part.offered_per_s.is_some());
    let percents = match page.width() {
        WIDE.. => &PERCENTS[..],
        _ => &PERCENTS[1..],
    };
    let names: Vec<&'static str> = percents.iter().map(|percent| name(*percent)).collect();
    let mut head = vec![("part", Align::Left), ("time", Align::Right)];
    if open {
        head.push(("offered/s", Align::Right));
    }
    let unit = match EventWord::of(run) {
        EventWord::Transaction => "tx/s",
        EventWord::Event => "events/s",
    };
    head.push((unit, Align::Right));
    head.extend(names.iter().map(|name| (*name, Align::Right)));
    head.extend([("errors", Align::Right), ("verdict", Align::Whole)]);
    if narrow {
        head = vec![
            ("part", Align::Left),
            (unit, Align::Right),
            ("verdict", Align::Whole),
        ];
    }
    let mut table = Table::new(&head);
    let shown = match all || run.parts.len() <= PARTS_MAX {
        true => run.parts.len(),
        false => PARTS_MAX,
    };
    for part in &run.parts[..shown] {
        let cells = cells(part, open, percents);
        table.row(match narrow {
            true => vec![
                cells[0].clone(),
                cells[2 + usize::from(open)].clone(),
                cells[cells.len() - 1].clone(),
            ],
            false => cells,
        });
    }
    page.blank();
    page.table(table);
    let rest = run.parts.len() - shown;
    if rest > 0 {
        let text = format!("{rest} more parts: -v shows them all");
        page.row("", Ink::Faint, &text);
    }
    page.blank();
    for part in run.parts.iter().filter(|part| !part.against.is_empty()) {
        if !all {
            break;
        }
        for against in &part.against {
            let text = format!("{}: {}: {}", part.label, against.check, against.evidence);
            page.row("against", Ink::Warning, &text);
        }
    }
}

fn name(percent: f64) -> &'static str {
    match percent {
        50.0 => "p50",
        95.0 => "p95",
        _ => "p99",
    }
}

fn cells(part: &PartSummary, open: bool, percents: &[f64]) -> Vec<(Ink, String)> {
    let nothing = || (Ink::Faint, "–".to_owned());
    let measured = part.is_measured();
    let figure = |ink: Ink, text: String| if measured { (ink, text) } else { nothing() };
    let time = format!("{}–{}s", plain(part.from_s), plain(part.to_s));
    let mut cells = vec![(Ink::Plain, part.label.clone()), (Ink::Faint, time)];
    if open {
        cells.push(
            part.offered_per_s
                .map_or_else(nothing, |offered| (Ink::Plain, rate(offered))),
        );
    }
    cells.push(figure(Ink::Strong, rate(part.rates.events_per_s)));
    for percent in percents {
        let known = part.latency.percentile_ms(*percent);
        cells.push(known.map_or_else(nothing, |ms| (Ink::Plain, latency(ms))));
    }
    let errors = part.totals.errors;
    let ink = if errors > 0 { Ink::Error } else { Ink::Plain };
    cells.push(figure(ink, thousands(errors)));
    let ink = match part.verdict {
        Some(Verdict::Valid) => Ink::Good,
        Some(Verdict::Doubtful) => Ink::Warning,
        Some(Verdict::Refused) => Ink::Error,
        None => Ink::Faint,
    };
    cells.push((ink, part.verdict_word().to_owned()));
    cells
}

#[cfg(test)]
mod tests {
    use crate::terminal::{Look, full, summary};
    use dyno_samples::summaries as samples;

    #[test]
    fn parts_stand_in_a_table() {
        let look = Look::default();
        insta::assert_snapshot!(summary(&samples::scheduled(), &look));
    }

    #[test]
    fn the_full_text_has_what_speaks_against_each() {
        let look = Look {
            columns: 120,
            ..Look::default()
        };
        let text = full(&samples::scheduled(), &look);
        let from = text.find("part ").unwrap();
        let lines: Vec<&str> = text[from..].lines().take(7).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
