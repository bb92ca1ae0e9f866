//! Figures per statement shape.

use dyno_core::interval::Counters;
use dyno_core::summary::{DigestsSummary, RunSummary};

use super::look::{Ink, cut};
use super::page::Page;
use crate::document::{self, Block, executions, of_server};
use crate::number::{latency, percent, thousands};

/// The most shapes listed by default.
const LISTED_MAX: usize = 10;
/// A column for the server's time needs this much room: four figures, and 20 for the statement.
const SERVER_MIN: usize = 4 * 9 + 2 + 20;

/// A row for each shape, by total time, largest first; `full` prints whole statements.
pub(super) fn section(run: &RunSummary, full: bool, page: &mut Page) {
    let mut table = document::statements(run, full);
    let has_server = table.heads.iter().any(|head| head.name == "server");
    let percentiles = document::median_and_tail(run);
    let [median, tail] = percentiles.each_ref().map(String::as_str);
    let figures = match full {
        true => ["rows", median, tail],
        false if has_server && page.body_width() >= SERVER_MIN => ["mean", "server", tail],
        false => [median, tail, tail],
    };
    let mut names = vec!["time", "/s"];
    names.extend(figures);
    names.extend(["statement", "by the server", "notes"]);
    names.dedup();
    table.pick(&names);
    let listed = if full { usize::MAX } else { LISTED_MAX };
    table.rows.truncate(listed);
    page.show([Block::Table(table)]);
    and_more(run.statements.len(), listed, page);
    digests(run, full, page);
    plans(run, full, page);
}

fn and_more(count: usize, listed: usize, page: &mut Page) {
    if count > listed {
        let text = format!("and {} more (-v shows them)", count - listed);
        page.row("", Ink::Faint, &text);
    }
}

/// The server's execution plans of each shape; `full` prints the server's own output.
fn plans(run: &RunSummary, full: bool, page: &mut Page) {
    let mut label = "plans";
    let listed = if full { usize::MAX } else { LISTED_MAX };
    for plan in run.plans.iter().take(listed) {
        let rows = match plan.accesses.is_empty() {
            true => String::new(),
            false => format!("; rows {}", plan.rows_words()),
        };
        let text = format!("{}{rows}", plan.words());
        let ink = match plan.why_not.is_empty() {
            true => Ink::Plain,
            false => Ink::Warning,
        };
        let shape = match full {
            true => plan.shape.clone(),
            false => cut(&plan.shape, page.body_width().saturating_sub(2)),
        };
        page.row(std::mem::take(&mut label), Ink::Plain, &shape);
        page.row("", ink, &format!("→ {text}"));
        if full {
            let room = page.body_width().saturating_sub(2);
            for line in plan.text.lines() {
                // The indentation is the structure of the plan.
                page.line("", Ink::Faint, &[(Ink::Faint, &cut(line, room))]);
            }
        }
    }
    and_more(run.plans.len(), listed, page);
}

/// Other digests of the server: with `full` those without a shape, and always why they are missing.
fn digests(run: &RunSummary, full: bool, page: &mut Page) {
    let Some(summary) = &run.digests else {
        return;
    };
    let mut label = "digests";
    if full && !summary.source.is_empty() {
        for line in other_digests(summary) {
            page.row(std::mem::take(&mut label), Ink::Plain, &line);
        }
    }
    for note in &summary.notes {
        page.row(std::mem::take(&mut label), Ink::Warning, note);
    }
}

/// The digests without a shape, and the sums of those not listed.
fn other_digests(summary: &DigestsSummary) -> Vec<String> {
    let mut lines = vec![format!("of the server, from {}", summary.source)];
    let rest = summary.digests.iter().filter(|one| one.shape.is_none());
    lines.extend(rest.map(|one| format!("{}: {}", of_server(one), one.text)));
    if summary.others > 0 {
        lines.push(format!(
            "digests that took less, {} of them: {}, {} in all",
            thousands(summary.others),
            executions(summary.others_count),
            latency(summary.others_ms)
        ));
    }
    lines.extend(document::elsewhere(summary));
    lines
}

/// The shares of the kinds of statements.
pub(super) fn kinds(totals: &Counters) -> String {
    let all = totals.queries() as f64;
    let empty = match totals.reads_empty {
        0 => String::new(),
        empty => {
            let share = percent(empty as f64 / totals.reads as f64);
            format!(" ({share} of them found no row)")
        }
    };
    let kinds: Vec<String> = [
        (totals.reads, "reads", empty.as_str()),
        (totals.writes, "writes", ""),
        (totals.other, "others", ""),
    ]
    .iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, name, more)| format!("{} {name}{more}", percent(*count as f64 / all)))
    .collect();
    format!(": {}", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use dyno_core::summary::{LatencySummary, StatementSummary};
    use dyno_samples::{summaries as samples, values};

    use super::super::{Look, summary};
    use super::*;

    fn run() -> RunSummary {
        let known = [(50.0, Some(0.213)), (99.0, Some(1.9)), (99.9, None)];
        let one = |shape: &str, share, per_s, errors| StatementSummary {
            shape: shape.to_owned(),
            per_s,
            rows_mean: 1.0,
            errors,
            time_share: share,
            latency: LatencySummary {
                count: if errors > 0 { 10_000 } else { 36_849 },
                mean_ms: Some(0.231),
                percentiles: values::percentiles(&known),
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
            digests: Some(samples::digests()),
            ..samples::good()
        }
    }

    #[test]
    fn shapes_have_their_figures() {
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
            let rows = lines.take(if verbose { 20 } else { 4 });
            rows.map(|line| format!("{line}\n")).collect::<String>()
        };
        insta::assert_snapshot!(section(80, false), @r"
               time          /s     mean   server      p99  statement
               41 %       1,228   231 µs   112 µs  1.90 ms  SELECT c FROM sbtestN…
              3.0 %       1,228   231 µs        –  1.90 ms  UPDATE sbtestN SET k=k+?…
                      12 failed
        ");
        insta::assert_snapshot!(section(60, true), @r"
               time          /s     rows      p50      p99
               41 %       1,228     1.00   213 µs  1.90 ms
                      SELECT c FROM sbtestN WHERE id BETWEEN ? AND
                      ? ORDER BY c
                      server: 36,851 executions, mean 112 µs, 200
                      rows examined by each
              3.0 %       1,228     1.00   213 µs  1.90 ms
                      UPDATE sbtestN SET k=k+? WHERE id=?
                      12 failed
        digests       of the server, from
                      performance_schema.events_statements_summary
                      _by_digest
                      30 executions, mean 3.10 ms, 10,000 rows
                      examined by each, 30 without an index:
                      DELETE FROM `queue` WHERE `done`
                      digests that took less, 3 of them: 1,204
                      executions, 12.4 ms in all
                      311 executions in other databases
                      64 executions on the server's catalogs and
                      settings, as Dyno's observers do
        ");
    }
}
