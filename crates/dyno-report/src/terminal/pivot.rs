//! Runs as a table of one or two factors.

use dyno_core::figures::MS;
use dyno_core::finding::Verdict;
use dyno_verdict::Cell;

use super::look::{Ink, Look, columns, cut};
use crate::number::{figure, latency, rate};
use crate::{Pivot, document};

/// Blanks between columns.
const GAP: usize = 3;
/// The smallest width to which a level is cut.
const LEVEL_MIN: usize = 6;

/// The table, and below it the meaning of its marks.
pub fn pivot(table: &Pivot, look: &Look) -> String {
    let mut out = String::from("\n");
    for line in super::look::wrap(&look.clean(&title(table)), look.width()) {
        out += &(look.paint(Ink::Strong, &line) + "\n");
    }
    out.push('\n');
    let texts = texts(table);
    for band in bands(table, &texts, look) {
        out += &lines(table, &texts, band, look);
    }
    if let Some(pooled) = &table.pooled {
        for line in super::look::wrap(&look.clean(pooled), look.width()) {
            out += &(look.paint(Ink::Warning, &line) + "\n");
        }
    }
    for line in super::look::wrap(&look.clean(&legend(table)), look.width()) {
        out += &(look.paint(Ink::Faint, &line) + "\n");
    }
    out
}

/// The figure and the base.
pub(super) fn title(table: &Pivot) -> String {
    // Each latency has its own unit.
    let unit = match table.unit.is_empty() || table.unit == MS {
        true => String::new(),
        false => format!(", {}", table.unit),
    };
    let base = match table.base.is_empty() {
        true => String::new(),
        false => format!("; ratios to {}", table.base),
    };
    format!("{}{unit}{base}", table.figure)
}

/// The texts of each cell: the figure with its mark, the ratio with its interval, and stalls.
pub(super) struct Texts {
    pub(super) column: usize,
    pub(super) row: usize,
    pub(super) lines: Vec<(Ink, String)>,
}

pub(super) fn texts(table: &Pivot) -> Vec<Texts> {
    let of = |cell: &Cell| {
        let (ink, mark) = mark(cell.verdict, cell.thin);
        let value = cell
            .value
            .map_or_else(|| "–".to_owned(), |value| number(value, &table.unit));
        let mut lines = vec![(ink, format!("{value} {mark}"))];
        let shared = cell.includes.map(document::with);
        lines.extend(shared.map(|text| (Ink::Warning, text)));
        lines.extend(ratio(cell).map(|text| (Ink::Faint, text)));
        let test = cell.equivalence.as_ref();
        lines.extend(test.map(|test| (Ink::Plain, document::equivalence_short(test))));
        if let Some(stalled_s) = cell.stalled_s.filter(|stalled_s| *stalled_s > 0.0) {
            lines.push((Ink::Warning, format!("stalled {} s", figure(stalled_s))));
        }
        Texts {
            column: cell.column,
            row: cell.row,
            lines,
        }
    };
    table.cells.iter().map(of).collect()
}

fn mark(verdict: Option<Verdict>, thin: bool) -> (Ink, &'static str) {
    let marked = verdict.map(|verdict| document::mark(verdict, thin));
    marked.unwrap_or((Ink::Faint, "–"))
}

fn number(value: f64, unit: &str) -> String {
    match unit {
        "per second" => rate(value),
        MS => latency(value),
        _ => figure(value),
    }
}

/// The ratio to the base, with its confidence interval if known.
fn ratio(cell: &Cell) -> Option<String> {
    let ratio = cell.ratio?;
    let bounds = match (cell.low, cell.high) {
        (Some(low), Some(high)) => format!(" ({low:.2} – {high:.2})"),
        (Some(low), None) => format!(" (from {low:.2})"),
        _ => String::new(),
    };
    Some(format!("{ratio:.2}×{bounds}"))
}

/// Bands of as many columns as fit next to the levels of the rows.
fn bands(table: &Pivot, texts: &[Texts], look: &Look) -> Vec<std::ops::Range<usize>> {
    let count = table.columns.as_ref().map_or(1, |(_, levels)| levels.len());
    let mut bands = Vec::new();
    let mut from = 0;
    while from < count {
        let mut left = look.width().saturating_sub(head_width(table));
        let mut to = from;
        while to < count {
            let width = GAP + width(table, texts, to);
            if width > left && to > from {
                break;
            }
            left = left.saturating_sub(width);
            to += 1;
        }
        bands.push(from..to);
        from = to;
    }
    bands
}

/// The width of the rows' levels.
fn head_width(table: &Pivot) -> usize {
    let (name, levels) = &table.rows;
    let widest = levels.iter().chain([name]).map(|text| columns(text)).max();
    widest.unwrap_or(0).clamp(LEVEL_MIN, 24)
}

fn width(table: &Pivot, texts: &[Texts], column: usize) -> usize {
    let own = texts.iter().filter(|text| text.column == column);
    let lines = own
        .flat_map(|text| &text.lines)
        .map(|(_, line)| columns(line));
    let head = columns(&table.head(column)).min(24);
    lines.chain([head]).max().unwrap_or(LEVEL_MIN)
}

fn lines(table: &Pivot, texts: &[Texts], band: std::ops::Range<usize>, look: &Look) -> String {
    let first = head_width(table);
    let widths: Vec<usize> = band
        .clone()
        .map(|column| width(table, texts, column))
        .collect();
    let line = |level: &str, cells: &[(Ink, String)]| {
        let level = cut(&look.clean(level), first);
        let mut line = format!("{level}{}", " ".repeat(first - columns(&level)));
        for ((ink, text), width) in cells.iter().zip(&widths) {
            let text = cut(&look.clean(text), *width);
            let pad = " ".repeat(GAP + width - columns(&text));
            line += &(pad + &look.paint(*ink, &text));
        }
        line.trim_end().to_owned() + "\n"
    };
    let heads: Vec<(Ink, String)> = band
        .clone()
        .map(|column| (Ink::Faint, table.head(column)))
        .collect();
    let mut out = line(&table.rows.0, &heads);
    for (row, level) in table.rows.1.iter().enumerate() {
        let cell = |column: usize| {
            let mut all = texts.iter();
            all.find(|text| text.row == row && text.column == column)
        };
        let height = band
            .clone()
            .filter_map(|column| Some(cell(column)?.lines.len()))
            .max()
            .unwrap_or(1);
        for number in 0..height {
            let cells: Vec<(Ink, String)> = band
                .clone()
                .map(|column| match cell(column) {
                    Some(text) => text.lines.get(number).cloned(),
                    None if number == 0 => Some((Ink::Faint, "no run".to_owned())),
                    None => None,
                })
                .map(|text| text.unwrap_or((Ink::Plain, String::new())))
                .collect();
            out += &line(if number == 0 { level } else { "" }, &cells);
        }
    }
    out + "\n"
}

/// The meaning of the marks.
pub(super) fn legend(table: &Pivot) -> String {
    let runs = table.cells.iter().map(|cell| cell.runs.len());
    let (fewest, most) = (runs.clone().min().unwrap_or(0), runs.max().unwrap_or(0));
    let runs = match (fewest, most) {
        (1, 1) => "1 run a cell".to_owned(),
        (fewest, most) if fewest == most => format!("{most} runs a cell"),
        (fewest, most) => format!("{fewest} to {most} runs a cell"),
    };
    let seen = match table.cells.iter().any(|cell| cell.thin) {
        true => ", ~ valid, partly checked",
        false => "",
    };
    let ratios = match table.base.is_empty() {
        true => "Different workloads are not compared: there are no ratios.",
        false => table.ratios_of(),
    };
    let mut tests = table.cells.iter().filter_map(|cell| cell.equivalence);
    let rule = tests.next().map_or_else(String::new, |test| {
        format!(" {}", document::equivalence_rule(test.margin))
    });
    let why = table.undecided();
    let why = why.map_or_else(String::new, |why| format!(" {why}"));
    let shared = table.cells.iter().find_map(|cell| cell.includes);
    let shared = shared.map_or_else(String::new, |cause| {
        let (with, work) = (document::with(cause), document::other_work(cause));
        format!(" Figures marked '{with}' include {work}.")
    });
    format!(
        "{runs}; ✔ valid{seen}, ? doubtful, ✘ refused: the worst of a cell. \
         {ratios}{rule}{why}{shared}"
    )
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Cause;

    use super::*;
    use dyno_stats::{Bounds, Margin, Tested};
    use dyno_verdict::{Amount, EquivalenceTest};

    fn cell(row: usize, column: usize, value: f64, ratio: Option<f64>) -> Cell {
        Cell {
            row,
            column,
            runs: vec![1, 2, 3],
            value: Some(value),
            ratio,
            low: ratio.map(|ratio| ratio * 0.95),
            high: ratio.map(|ratio| ratio * 1.05),
            equivalence: None,
            stalled_s: Some(if row == 1 { 2.5 } else { 0.0 }),
            verdict: Some(if column == 1 {
                Verdict::Doubtful
            } else {
                Verdict::Valid
            }),
            thin: false,
            includes: None,
        }
    }

    fn table() -> Pivot {
        Pivot {
            figure: "rate".to_owned(),
            unit: "per second".to_owned(),
            rows: ("memory".to_owned(), vec!["5G".to_owned(), "12G".to_owned()]),
            columns: Some((
                "engine".to_owned(),
                vec!["innodb".to_owned(), "myrocks".to_owned()],
            )),
            base: "engine=innodb".to_owned(),
            cells: vec![
                cell(0, 0, 1_228.4, None),
                cell(0, 1, 1_350.9, Some(1.1)),
                cell(1, 0, 28_051.0, None),
            ],
            runs: Vec::new(),
            by_block: false,
            pooled: None,
        }
    }

    #[test]
    fn figures_have_ratios_stalls_and_verdicts() {
        insta::assert_snapshot!("both", pivot(&table(), &Look::default()));
        let mut one = table();
        one.columns = None;
        one.base = "memory=5G".to_owned();
        one.cells = vec![cell(0, 0, 12.5, None), cell(1, 0, 10.0, Some(0.8))];
        one.unit = "ms".to_owned();
        insta::assert_snapshot!("one", pivot(&one, &Look::default()));
    }

    #[test]
    fn figures_with_the_work_of_other_clients_are_marked() {
        let mut of = table();
        let texts = |of: &Pivot| {
            let terminal = pivot(of, &Look::default()).replace('\n', " ");
            [terminal, crate::markdown::pivot(of)]
        };
        for text in texts(&of) {
            assert!(!text.contains("other clients"), "{text}");
        }
        of.cells[1].includes = Some(Cause::OtherClients);
        for text in texts(&of) {
            assert_eq!(text.matches("with other clients").count(), 2, "{text}");
            assert!(
                text.contains("include the work of other clients."),
                "{text}"
            );
        }
    }

    #[test]
    fn ratios_of_experiments_and_of_tables_name_their_estimators() {
        let mut of = table();
        for (by_block, words) in [
            (false, "Ratios of figures over all runs, with"),
            (true, "Ratios of paired trials, block by block, with"),
        ] {
            of.by_block = by_block;
            let terminal = pivot(&of, &Look::default()).replace('\n', " ");
            for text in [terminal, crate::markdown::pivot(&of)] {
                assert!(text.contains(words), "{text}");
            }
        }
    }

    #[test]
    fn workloads_have_no_ratios() {
        let mut of_workloads = table();
        of_workloads.columns = None;
        of_workloads.base = String::new();
        of_workloads.cells = vec![cell(0, 0, 12.5, None), cell(1, 0, 10.0, None)];
        let text = pivot(&of_workloads, &Look::default());
        assert!(text.starts_with("\nrate, per second\n"), "{text}");
        assert!(text.contains("are not compared: there are no ratios."));
    }

    #[test]
    fn cells_have_the_answers_of_a_margin() {
        let mut equal = table();
        let tested = Tested {
            ratio: 1.1,
            interval: Bounds {
                low: 0.99,
                high: 1.22,
            },
            inner: Bounds {
                low: 1.0,
                high: 1.21,
            },
        };
        let margin = Margin::new(0.02).unwrap();
        let test = EquivalenceTest::of(&tested, margin, Amount::Runs(3));
        equal.cells[1].equivalence = Some(test);
        let text = pivot(&equal, &Look::default());
        // The interval ends at 1 with 1.22 times as much data.
        assert!(text.contains("undecided: +1 run\n"), "{text}");
        let flat: Vec<&str> = text.split_whitespace().collect();
        let flat = flat.join(" ");
        assert!(
            flat.contains("interval. The same within 2 %: the 90 %"),
            "{flat}"
        );
        let plain = pivot(&table(), &Look::default());
        assert!(!plain.contains("same within"), "{plain}");
    }

    #[test]
    fn a_ratio_without_an_interval_is_undecided_for_a_reason() {
        assert_eq!(table().undecided(), None);
        let mut single = table();
        single
            .cells
            .iter_mut()
            .for_each(|cell| cell.runs.truncate(1));
        let cell = &mut single.cells[1];
        (cell.low, cell.high) = (None, None);
        cell.equivalence = Some(EquivalenceTest::without_interval(1.1, 0.02));
        let terminal = pivot(&single, &Look::default());
        assert!(terminal.contains("undecided\n"), "{terminal}");
        for text in [terminal, crate::markdown::pivot(&single)] {
            let flat: Vec<&str> = text.split_whitespace().collect();
            let flat = flat.join(" ");
            let why = "Undecided: the ratio has no interval, because one run a side has no \
                       spread. Use repeats: three or more runs a side.";
            assert!(flat.contains(why), "{flat}");
        }
    }

    #[test]
    fn every_width_is_kept() {
        let mut wide = table();
        let levels: Vec<String> = (0..9).map(|n| format!("level {n}")).collect();
        wide.cells = (0..9)
            .map(|column| cell(0, column, 1e6, Some(1.0)))
            .collect();
        wide.columns = Some(("engine".to_owned(), levels));
        for columns in [40, 60, 80, 120] {
            for ascii in [false, true] {
                let look = Look {
                    columns,
                    ascii,
                    ..Look::default()
                };
                let text = pivot(&wide, &look);
                for line in text.lines() {
                    let width = super::columns(line);
                    assert!(width <= columns, "{columns}: {line}");
                }
                assert_eq!(text.matches("level 8").count(), 1, "{text}");
            }
        }
    }
}
