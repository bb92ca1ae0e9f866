//! The roles of sessions, and the latency limit.

use dyno_core::summary::{RoleSummary, RunSummary};

use super::look::{Ink, columns};
use super::page::Page;
use crate::number::{length, percent, plain, rate, thousands};

/// The width of a column of figures.
const WIDTH: usize = 12;
/// The width of names in a label.
const LABEL: usize = 13;
/// A role that achieves less than this share of its requested rate is marked.
const ACHIEVED: f64 = 0.95;

/// A row for each role.
pub(super) fn section(run: &RunSummary, page: &mut Page) {
    limit(run, page);
    if run.roles.is_empty() {
        return;
    }
    let heads = ["sessions", "events/s", "asked/s", "achieved", "per session"];
    let rows = run.roles.iter().map(figures).collect::<Vec<_>>();
    let widths = widths(&heads, &rows, page.body_width());
    let heads = heads.map(str::to_owned);
    page.line(
        "roles",
        Ink::Strong,
        &[(Ink::Faint, &cells(&heads, &widths))],
    );
    for (role, row) in run.roles.iter().zip(&rows) {
        let label = match columns(&role.name) + 2 > LABEL {
            true => role.name.clone(),
            false => format!("  {}", role.name),
        };
        let ink = match role.achieved_share() {
            Some(share) if share < ACHIEVED => Ink::Warning,
            _ => Ink::Plain,
        };
        page.line(&label, Ink::Plain, &[(ink, &cells(row, &widths))]);
        if columns(&label) > LABEL {
            page.row("", Ink::Plain, &format!("= {}", role.name));
        }
        let notes = notes(role);
        if !notes.is_empty() {
            page.row("", Ink::Plain, &notes.join(", "));
        }
    }
}

/// The widths of the columns that fit: equal if their figures allow it.
fn widths(heads: &[&str], rows: &[Vec<String>], room: usize) -> Vec<usize> {
    let widest = |column: usize, head: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        2 + cells
            .map(|cell| columns(cell))
            .fold(columns(head), usize::max)
    };
    let narrow = heads.iter().enumerate().map(|(i, head)| widest(i, head));
    let narrow = narrow.collect::<Vec<_>>();
    let even = narrow.iter().map(|&width| width.max(WIDTH));
    let even = even.collect::<Vec<_>>();
    let mut widths = match even.iter().sum::<usize>() <= room {
        true => even,
        false => narrow,
    };
    while widths.len() > 1 && widths.iter().sum::<usize>() > room {
        widths.pop();
    }
    widths
}

fn cells(texts: &[String], widths: &[usize]) -> String {
    let cell = |(text, width): (&String, &usize)| {
        let pad = width.saturating_sub(columns(text));
        " ".repeat(pad) + text
    };
    texts.iter().zip(widths).map(cell).collect()
}

fn figures(role: &RoleSummary) -> Vec<String> {
    let nothing = || "–".to_owned();
    let spread = match (role.events_min, role.events_max) {
        (min, max) if min == max => thousands(min),
        (min, max) => format!("{}–{}", thousands(min), thousands(max)),
    };
    vec![
        thousands(u64::from(role.sessions)),
        rate(role.events_per_s),
        role.asked_per_s.map_or_else(nothing, rate),
        role.achieved_share().map_or_else(nothing, percent),
        spread,
    ]
}

fn notes(role: &RoleSummary) -> Vec<String> {
    let mut notes = Vec::new();
    if role.background {
        notes.push("in the background: not included in the transactions above".to_owned());
    }
    if role.not_done > 0 {
        notes.push(format!("{} not done", thousands(role.not_done)));
    }
    if role.skipped > 0 {
        notes.push(format!(
            "{} dropped, too late to start",
            thousands(role.skipped)
        ));
    }
    if let (Some(first), Some(last)) = (role.finished_first_s, role.finished_last_s)
        && last > 0.0
    {
        notes.push(match role.sessions {
            1 => format!("finished after {}", length(last)),
            _ => format!("finished after {} to {}", length(first), length(last)),
        });
    }
    notes
}

/// The loop of a run with an unknown rate: a log may have response times, which indicate one.
pub(super) fn without_rate(run: &RunSummary) -> &'static str {
    match run.response {
        Some(_) => "open loop, unknown rate",
        None => "closed loop",
    }
}

fn limit(run: &RunSummary, page: &mut Page) {
    let Some(limit) = &run.latency_limit else {
        return;
    };
    let ended = run.totals.events;
    let share = |count: u64, of: u64| percent(count as f64 / of.max(1) as f64);
    let mut text = format!(
        "{} of {} events took longer than {} ms ({})",
        thousands(limit.above),
        thousands(ended),
        plain(limit.limit_ms),
        share(limit.above, ended)
    );
    // In an imported run the count alone may indicate a schedule.
    if run.open_loop.is_some() || limit.skipped > 0 {
        text += &format!(
            "; {} skipped, too late to start in time ({})",
            thousands(limit.skipped),
            share(limit.skipped, ended + limit.skipped)
        );
    }
    let ink = match limit.above + limit.skipped {
        0 => Ink::Plain,
        _ => Ink::Warning,
    };
    page.row("limit", ink, &text);
}
