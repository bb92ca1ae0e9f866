//! Figures per statement shape.

use dyno_core::interval::Counters;
use dyno_core::summary::{DigestSummary, DigestsSummary, Percentile, RunSummary, StatementSummary};

use super::look::{Ink, columns, cut};
use super::page::Page;
use crate::number::{latency, percent, rate, thousands};

/// The width of a figure.
const WIDTH: usize = 9;
/// The width of the share, which is in the label's place.
const SHARE: usize = 11;
/// The most shapes listed by default.
const LISTED_MAX: usize = 10;

/// A column for the server's time requires this much room for the statements.
const STATEMENT_MIN: usize = 20;

/// A row for each shape, by total time, largest first; `full` prints whole statements.
pub(super) fn section(run: &RunSummary, full: bool, page: &mut Page) {
    let Some(first) = run.statements.first() else {
        digests(run, full, page);
        plans(run, full, page);
        return;
    };
    let listed = if full { usize::MAX } else { LISTED_MAX };
    let percentiles = &first.latency.percentiles;
    let shown = median_and_tail(percentiles);
    let name = |index: &usize| format!("p{}", percentiles[*index].percent);
    let mut heads = vec!["/s".to_owned()];
    if full {
        heads.push("rows".to_owned());
    }
    heads.extend(shown.iter().map(name));
    let room = |heads: usize, page: &Page| page.body_width().saturating_sub(heads * WIDTH + 2);
    let served = |one: &StatementSummary| run.digests.as_ref()?.of_shape(&one.shape);
    let has_server = !full
        && run.statements.iter().any(|one| served(one).is_some())
        && room(heads.len() + 1, page) >= STATEMENT_MIN;
    if has_server {
        // The server knows only a mean, which is compared with the mean.
        heads = ["/s", "mean", "server"].map(str::to_owned).into();
        heads.extend(shown.last().map(name));
    }
    let beside = room(heads.len(), page);
    if !full {
        heads.push("  statement".to_owned());
    }
    let label = format!("{:>SHARE$}", "time");
    page.line(&label, Ink::Faint, &[(Ink::Faint, &cells(&heads))]);
    for one in run.statements.iter().take(listed) {
        let share = percent(one.time_share);
        let share = " ".repeat(SHARE.saturating_sub(columns(&share))) + &share;
        let served = served(one);
        let figures = match has_server {
            true => with_server(one, served, shown.last().copied()),
            false => figures(one, full, &shown),
        };
        let figures = cells(&figures);
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
            let server = served.map(|server| beside_shape(one, server));
            page.row("", Ink::Faint, &server.unwrap_or_default());
        }
        if one.errors > 0 {
            let text = format!("{} failed", thousands(one.errors));
            page.row("", Ink::Error, &text);
        }
    }
    let left = run.statements.len().saturating_sub(listed);
    if left > 0 {
        page.row("", Ink::Faint, &format!("and {left} more (-v shows them)"));
    }
    digests(run, full, page);
    plans(run, full, page);
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
    let left = run.plans.len().saturating_sub(listed);
    if left > 0 {
        page.row("", Ink::Faint, &format!("and {left} more (-v shows them)"));
    }
}

/// The indices of the median and of the highest percentile with enough samples.
fn median_and_tail(percentiles: &[Percentile]) -> Vec<usize> {
    let tail = percentiles.iter().rposition(|p| p.value_ms.is_some());
    match tail.unwrap_or(0) {
        0 => (0..percentiles.len().min(1)).collect(),
        tail => vec![0, tail],
    }
}

/// The server's statistics of a shape, if they differ from Dyno's.
fn beside_shape(one: &StatementSummary, server: &DigestSummary) -> String {
    let mut text = format!("server: {}", of_server(server));
    if !agrees(one, server) {
        text += ", where Dyno counted ";
        text += &thousands(one.latency.count + one.errors);
    }
    text
}

/// Whether both have similar counts; the server's mean over a few executions represents only those.
fn agrees(one: &StatementSummary, server: &DigestSummary) -> bool {
    const APART_MAX: f64 = 0.1;
    let own = (one.latency.count + one.errors) as f64;
    (server.count as f64 - own).abs() <= own * APART_MAX
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
    for (count, place) in [
        (summary.elsewhere_count, "in other databases"),
        (
            summary.catalogs_count,
            "on the server's catalogs and settings, as Dyno's observers do",
        ),
    ] {
        if count > 0 {
            lines.push(format!("{} {place}", executions(count)));
        }
    }
    lines
}

fn executions(count: u64) -> String {
    match count {
        1 => "1 execution".to_owned(),
        count => format!("{} executions", thousands(count)),
    }
}

fn of_server(one: &DigestSummary) -> String {
    let mean = latency(one.mean_ms());
    let mut text = format!("{}, mean {mean}", executions(one.count));
    let each = |rows: u64| rate(rows as f64 / (one.count as f64).max(1.0));
    text += &match one.rows_examined {
        Some(rows) => format!(", {} rows examined by each", each(rows)),
        None => format!(", {} rows of each", each(one.rows)),
    };
    for (count, what) in [
        (one.no_index, "without an index"),
        (one.disk_tables, "temporary tables on disk"),
    ] {
        if let Some(count) = count.filter(|count| *count > 0) {
            text += &format!(", {} {what}", thousands(count));
        }
    }
    text
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

/// The rate, the client's mean, the server's mean and the tail.
fn with_server(
    one: &StatementSummary,
    server: Option<&DigestSummary>,
    tail: Option<usize>,
) -> Vec<String> {
    let or_dash = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), latency);
    let known = one.latency.count > 0;
    let server = server.filter(|server| agrees(one, server));
    let tail = tail.and_then(|index| one.latency.percentiles.get(index));
    vec![
        rate(one.per_s),
        or_dash(known.then_some(one.latency.mean_ms)),
        or_dash(server.map(DigestSummary::mean_ms)),
        or_dash(tail.and_then(|percentile| percentile.value_ms)),
    ]
}

fn cells(texts: &[String]) -> String {
    let cell = |text: &String| " ".repeat(WIDTH.saturating_sub(columns(text))) + text;
    texts.iter().map(cell).collect()
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
    use dyno_core::summary::LatencySummary;
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
                mean_ms: 0.231,
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
               41 %       1,228   231 µs   112 µs  1.90 ms  SELECT c FROM sbtestN WHE…
              3.0 %       1,228   231 µs        –  1.90 ms  UPDATE sbtestN SET k=k+? …
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
