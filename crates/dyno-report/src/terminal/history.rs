//! The figures of one plan from run to run, with a chart of each.

use super::look::{Ink, Look, columns, wrap};
use super::spark::bars;
use crate::document::{FigureHistory, History, HistoryChange, percent};

/// The width of the figures' names.
const NAME: usize = 12;
/// The width that is left for the latest value, after a chart.
const LATEST: usize = 12;
/// The widest chart.
const CHART_MAX: usize = 60;
/// The least range of a chart, as a share of the highest value, so that noise does not fill it.
const RANGE_MIN: f64 = 0.05;

/// A chart of each figure with its latest value, and a line for each change.
pub fn history(of: &History, look: &Look) -> String {
    let mut out = String::from("\n");
    for line in wrap(&look.clean(&of.title()), look.width()) {
        out += &(look.paint(Ink::Strong, &line) + "\n");
    }
    let unfit = of.unfit();
    if !unfit.is_empty() {
        for line in wrap(&look.clean(&unfit), look.width()) {
            out += &(look.paint(Ink::Warning, &line) + "\n");
        }
    }
    for figure in &of.figures {
        out.push('\n');
        out += &drawn(figure, look);
        if figure.changes.is_empty() {
            out += &format!("  {}\n", look.paint(Ink::Faint, "no lasting change"));
        }
        for change in &figure.changes {
            let text = look.clean(&described(of, figure, change));
            for line in wrap(&text, look.width() - 2) {
                out += &format!("  {}\n", look.paint(figure.ink(change), &line));
            }
        }
    }
    out
}

/// The chart between the figure's name and its latest value, above marks of the changes.
fn drawn(figure: &FigureHistory, look: &Look) -> String {
    let width = look.width().saturating_sub(NAME + LATEST).min(CHART_MAX);
    let size = figure.values.len().div_ceil(width).max(1);
    let chart = look.clean(&bars(heights(figure, size)));
    let latest = figure.values.iter().rev().flatten().next();
    let latest = latest.map_or_else(String::new, |value| look.clean(&figure.shown(*value)));
    let name = look.clean(&figure.name);
    let pad = " ".repeat(NAME.saturating_sub(columns(&name)));
    let mut out = format!("{}{pad}{chart}  {latest}\n", look.paint(Ink::Strong, &name));
    let marked: Vec<usize> = figure
        .changes
        .iter()
        .map(|change| change.index / size)
        .collect();
    if let Some(last) = marked.last() {
        let mark = |at: usize| if marked.contains(&at) { '▲' } else { ' ' };
        let marks: String = (0..=*last).map(mark).collect();
        out += &format!("{}{}\n", " ".repeat(NAME), look.clean(&marks));
    }
    out
}

/// The means of groups of this many runs, as shares of the range.
fn heights(figure: &FigureHistory, size: usize) -> Vec<Option<f64>> {
    let mean = |group: &[Option<f64>]| {
        let known: Vec<f64> = group.iter().flatten().copied().collect();
        dyno_stats::mean(&known)
    };
    let means: Vec<Option<f64>> = figure.values.chunks(size).map(mean).collect();
    let known = || means.iter().flatten().copied();
    let (low, high) = (
        known().fold(f64::INFINITY, f64::min),
        known().fold(0.0, f64::max),
    );
    let range = (high - low).max(RANGE_MIN * high);
    let bottom = (low + high - range) / 2.0;
    let share = |mean: f64| ((mean - bottom) / range).clamp(0.0, 1.0);
    means.iter().map(|mean| mean.map(share)).collect()
}

/// A change in one line.
fn described(of: &History, figure: &FigureHistory, change: &HistoryChange) -> String {
    let word = match figure.improves(change) {
        true => "better",
        false => "worse",
    };
    format!(
        "{} {} ({}) from {}, {word}: {} before, {} after{}",
        figure.name,
        percent(change.ratio),
        change.interval(),
        of.beginning(change),
        figure.shown(change.before),
        figure.shown(change.after),
        change.first_differences(),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use dyno_core::catalogue::names;
    use dyno_core::figures::{MS, PER_SECOND};
    use dyno_core::finding::Verdict;
    use dyno_core::reported::Better;

    use dyno_verdict::Difference;

    use super::*;
    use crate::document::{HistoryRun, history_differences};

    pub(in crate::terminal) fn sample() -> History {
        let runs = (1..=20).map(|id| HistoryRun {
            id,
            started_unix_s: None,
            about: if id == 13 {
                "2026-11-20, 11.4.2".to_owned()
            } else {
                String::new()
            },
            verdict: Some(Verdict::Valid),
        });
        let change = HistoryChange {
            index: 12,
            run: 13,
            before: 1_320.0,
            after: 1_238.2,
            ratio: 0.938,
            low: 0.926,
            high: 0.95,
            gradual: false,
            differences: Vec::new(),
        };
        let rate = |at| if at < 12 { 1_320.0 } else { 1_238.0 };
        History {
            plan: "oltp_read_write on MariaDB, 8 sessions".to_owned(),
            by: "date".to_owned(),
            runs: runs.collect(),
            doubtful: 0,
            refused: 0,
            figures: vec![
                FigureHistory {
                    name: "rate".to_owned(),
                    unit: PER_SECOND.to_owned(),
                    better: Better::Higher,
                    values: (0..20).map(|at| Some(rate(at))).collect(),
                    changes: vec![change],
                },
                FigureHistory {
                    name: "p95".to_owned(),
                    unit: MS.to_owned(),
                    better: Better::Lower,
                    values: (0..20).map(|at| (at != 3).then_some(4.0)).collect(),
                    changes: Vec::new(),
                },
            ],
        }
    }

    #[test]
    fn a_chart_marks_the_changes_that_lines_describe() {
        let text = history(&sample(), &Look::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "",
                "oltp_read_write on MariaDB, 8 sessions: 20 runs (1 … 20) by date",
                "",
                "rate        ████████████▁▁▁▁▁▁▁▁  1,238/s",
                "                        ▲",
                "  rate −6.2 % (−7.4 % to −5.0 %) from run 13 (2026-11-20, 11.4.2), worse:",
                "  1,320/s before, 1,238/s after",
                "",
                "p95         ▅▅▅ ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅  4.00 ms",
                "  no lasting change",
            ]
        );
    }

    #[test]
    fn a_change_has_its_first_differences() {
        let difference = |what: &str, base: &str, new: &str| Difference {
            what: what.to_owned(),
            base: base.to_owned(),
            new: new.to_owned(),
            intended: false,
            unrecorded: false,
        };
        let found = vec![
            difference(names::HOST_KERNEL, "6.1", "6.12"),
            difference("setting sort_buffer_size", "1", "2"),
            difference("setting log_bin", "OFF", "ON"),
            difference("server", "MariaDB 10.11.19", "MariaDB 11.4.2"),
        ];
        let texts = |found: Vec<Difference>| {
            let mut of = sample();
            of.figures[0].changes[0].differences = history_differences(found);
            let terminal = history(&of, &Look::default());
            let terminal: Vec<&str> = terminal.split_whitespace().collect();
            [terminal.join(" "), crate::markdown::history(&of)]
        };
        let all = format!(
            "first differences: server MariaDB 10.11.19 → MariaDB 11.4.2, setting log_bin OFF → \
             ON, {} 6.1 → 6.12 and 1 more",
            names::HOST_KERNEL
        );
        for text in texts(found.clone()) {
            assert!(text.contains(&all), "{text}");
        }
        for text in texts(found[2..3].to_vec()) {
            let one = "; first differences: setting log_bin OFF → ON";
            assert!(text.contains(one) && !text.contains("more"), "{text}");
        }
        for text in texts(Vec::new()) {
            assert!(!text.contains("differences"), "{text}");
        }
    }

    #[test]
    fn doubtful_and_refused_runs_are_counted() {
        let third = |doubtful: usize, refused: usize| {
            let of = History {
                doubtful,
                refused,
                ..sample()
            };
            let text = history(&of, &Look::default());
            text.lines().nth(2).unwrap_or_default().to_owned()
        };
        assert_eq!(third(0, 0), "");
        assert_eq!(third(1, 0), "? 1 of 20 runs is doubtful");
        assert_eq!(third(0, 1), "✘ 1 refused run is left out");
        assert_eq!(
            third(3, 2),
            "? 3 of 20 runs are doubtful; ✘ 2 refused runs are left out"
        );
    }

    #[test]
    fn many_runs_fit_and_their_marks_move_along() {
        let mut of = sample();
        let rate = |at| if at < 600 { 100.0 } else { 110.0 };
        of.figures[0].values = (0..1_000).map(|at| Some(rate(at))).collect();
        of.figures[0].changes[0].index = 600;
        of.figures[0].changes[0].gradual = true;
        for ascii in [false, true] {
            let look = Look {
                columns: 50,
                ascii,
                ..Look::default()
            };
            let text = history(&of, &look);
            for line in text.lines() {
                assert!(columns(line) <= 50, "{line}");
            }
            assert!(!ascii || text.is_ascii(), "{text}");
        }
        // 26 columns for 1,000 runs are groups of 39, and run 600 is in the sixteenth.
        let look = Look {
            columns: 50,
            ..Look::default()
        };
        let text = history(&of, &look);
        let marks = text.lines().find(|line| line.contains('▲')).unwrap();
        assert_eq!(columns(marks), NAME + 16);
        assert!(
            text.replace("\n  ", " ")
                .contains("run 13, gradually, worse")
        );
    }
}
