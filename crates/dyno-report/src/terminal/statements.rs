//! What each shape of statement took.

use dyno_core::summary::{RunSummary, StatementSummary};

use super::look::{Ink, columns, cut};
use super::page::Page;
use crate::number::{latency, percent, rate, thousands};

/// Columns of a figure.
const WIDTH: usize = 9;
/// Columns of the share, which stands where labels do.
const SHARE: usize = 11;
/// Shapes that are listed unless all are wanted.
const LISTED_MAX: usize = 10;

/// A row for each shape, what took most of the time first; in full with each statement whole.
pub(super) fn section(run: &RunSummary, full: bool, page: &mut Page) {
    let Some(first) = run.statements.first() else {
        return;
    };
    let listed = if full { usize::MAX } else { LISTED_MAX };
    // The median and the highest that is carried.
    let percentiles = &first.latency.percentiles;
    let tail = percentiles.iter().rposition(|p| p.value_ms.is_some());
    let shown: Vec<usize> = match tail.unwrap_or(0) {
        0 => (0..percentiles.len().min(1)).collect(),
        tail => vec![0, tail],
    };
    let mut heads = vec!["/s".to_owned()];
    if full {
        heads.push("rows".to_owned());
    }
    heads.extend(
        shown
            .iter()
            .map(|index| format!("p{}", percentiles[*index].percent)),
    );
    let beside = page.body_width().saturating_sub(heads.len() * WIDTH + 2);
    if !full {
        heads.push("  statement".to_owned());
    }
    let label = format!("{:>SHARE$}", "time");
    page.line(&label, Ink::Faint, &[(Ink::Faint, &cells(&heads))]);
    for one in run.statements.iter().take(listed) {
        let share = percent(one.time_share);
        let share = " ".repeat(SHARE.saturating_sub(columns(&share))) + &share;
        let figures = cells(&figures(one, full, &shown));
        let text = match full {
            true => String::new(),
            false => format!("  {}", cut(&one.shape, beside)),
        };
        page.line(
            &share,
            Ink::Plain,
            &[(Ink::Plain, &figures), (Ink::Plain, &text)],
        );
        if full {
            page.row("", Ink::Plain, &one.shape);
        }
        if one.errors > 0 {
            let text = format!("{} failed", thousands(one.errors));
            page.row("", Ink::Error, &text);
        }
    }
    let left = run.statements.len().saturating_sub(listed);
    if left > 0 {
        page.row("", Ink::Faint, &format!("and {left} more, which -v has"));
    }
}

fn figures(one: &StatementSummary, full: bool, shown: &[usize]) -> Vec<String> {
    let mut figures = vec![rate(one.per_s)];
    if full {
        figures.push(rate(one.rows_mean));
    }
    figures.extend(shown.iter().map(|index| {
        let value = one.latency.percentiles.get(*index);
        let value = value.and_then(|percentile| percentile.value_ms);
        value.map_or_else(|| "–".to_owned(), latency)
    }));
    figures
}

fn cells(texts: &[String]) -> String {
    let cell = |text: &String| " ".repeat(WIDTH.saturating_sub(columns(text))) + text;
    texts.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use dyno_core::summary::{LatencySummary, Percentile};

    use super::super::{Look, summary};
    use super::*;
    use crate::samples;

    fn run() -> RunSummary {
        let one = |shape: &str, share, per_s, errors| StatementSummary {
            shape: shape.to_owned(),
            per_s,
            rows_mean: 1.0,
            errors,
            time_share: share,
            latency: LatencySummary {
                count: 10_000,
                percentiles: [(50.0, Some(0.213)), (99.0, Some(1.9)), (99.9, None)]
                    .map(|(percent, value_ms)| Percentile { percent, value_ms })
                    .into(),
                ..LatencySummary::default()
            },
        };
        RunSummary {
            statements: vec![
                one(
                    "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
                    0.41,
                    1_228.3,
                    0,
                ),
                one("UPDATE sbtestN SET k=k+? WHERE id=?", 0.03, 1_228.3, 12),
            ],
            ..samples::good()
        }
    }

    #[test]
    fn shapes_stand_with_their_figures() {
        let section = |columns, verbose| {
            let look = Look {
                columns,
                verbose,
                ..Look::default()
            };
            let text = summary(&run(), &look);
            let lines = text
                .lines()
                .skip_while(|line| !line.trim_start().starts_with("time "));
            let rows = lines.take(if verbose { 7 } else { 4 });
            rows.map(|line| format!("{line}\n")).collect::<String>()
        };
        insta::assert_snapshot!(section(80, false), @r"
               time          /s      p50      p99  statement
               41 %       1,228   213 µs  1.90 ms  SELECT c FROM sbtestN WHERE id BET…
              3.0 %       1,228   213 µs  1.90 ms  UPDATE sbtestN SET k=k+? WHERE id=?
                      12 failed
        ");
        insta::assert_snapshot!(section(60, true), @r"
               time          /s     rows      p50      p99
               41 %       1,228     1.00   213 µs  1.90 ms
                      SELECT c FROM sbtestN WHERE id BETWEEN ? AND
                      ? ORDER BY c
              3.0 %       1,228     1.00   213 µs  1.90 ms
                      UPDATE sbtestN SET k=k+? WHERE id=?
                      12 failed
        ");
    }
}
