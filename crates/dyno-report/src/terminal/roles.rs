//! The roles that sessions played, and the limit on latencies.

use dyno_core::summary::{RoleSummary, RunSummary};

use super::look::{Ink, columns};
use super::page::Page;
use crate::number::{length, percent, plain, rate, thousands};

/// The width of a column of figures.
const WIDTH: usize = 12;
/// What of a name a label holds.
const LABEL: usize = 13;
/// An achieved share of the asked rate below which it is pointed at.
const ACHIEVED: f64 = 0.95;

/// A row for each role.
pub(super) fn section(run: &RunSummary, page: &mut Page) {
    limit(run, page);
    if run.roles.is_empty() {
        return;
    }
    let fit = (page.body_width() / WIDTH).max(1);
    let cells = |texts: &[String]| -> String {
        let cell = |text: &String| {
            let pad = WIDTH.saturating_sub(columns(text));
            " ".repeat(pad) + text
        };
        texts.iter().take(fit).map(cell).collect()
    };
    let heads = ["sessions", "events/s", "asked/s", "achieved", "per session"];
    let heads = heads.map(str::to_owned);
    page.line("roles", Ink::Strong, &[(Ink::Faint, &cells(&heads))]);
    for role in &run.roles {
        let label = match columns(&role.name) + 2 > LABEL {
            true => role.name.clone(),
            false => format!("  {}", role.name),
        };
        let share = role.achieved_share();
        let ink = match share {
            Some(share) if share < ACHIEVED => Ink::Warning,
            _ => Ink::Plain,
        };
        page.line(&label, Ink::Plain, &[(ink, &cells(&figures(role, share)))]);
        if columns(&label) > LABEL {
            page.row("", Ink::Plain, &format!("= {}", role.name));
        }
        let notes = notes(role);
        if !notes.is_empty() {
            page.row("", Ink::Plain, &notes.join(", "));
        }
    }
}

fn figures(role: &RoleSummary, share: Option<f64>) -> Vec<String> {
    let nothing = || "–".to_owned();
    let spread = match (role.events_min, role.events_max) {
        (min, max) if min == max => thousands(min),
        (min, max) => format!("{}–{}", thousands(min), thousands(max)),
    };
    vec![
        thousands(u64::from(role.sessions)),
        rate(role.events_per_s),
        role.asked_per_s.map_or_else(nothing, rate),
        share.map_or_else(nothing, percent),
        spread,
    ]
}

fn notes(role: &RoleSummary) -> Vec<String> {
    let mut notes = Vec::new();
    if role.background {
        notes.push("in the background: not among the transactions above".to_owned());
    }
    if role.not_done > 0 {
        notes.push(format!("{} not done", thousands(role.not_done)));
    }
    if role.skipped > 0 {
        notes.push(format!(
            "{} left out, too late to begin",
            thousands(role.skipped)
        ));
    }
    if let (Some(first), Some(last)) = (role.finished_first_s, role.finished_last_s)
        && last > 0.0
    {
        notes.push(match role.sessions {
            1 => format!("through after {}", length(last)),
            _ => format!("through after {} to {}", length(first), length(last)),
        });
    }
    notes
}

/// The loop of a run without a known rate: a log may tell by its response times that there was one.
pub(super) fn without_rate(run: &RunSummary) -> &'static str {
    match run.response {
        Some(_) => "open loop, its rate not told",
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
    // Of an imported run its count alone may tell that there was a schedule.
    if run.open_loop.is_some() || limit.skipped > 0 {
        text += &format!(
            "; {} skipped, too late to begin within it ({})",
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
