//! The load generator: whether it kept its schedule, and the resources that it used.

use dyno_core::summary::{OpenLoopSummary, RunSummary};

use super::Block;
use crate::number::{bytes, latency, percent, rate, thousands};
use crate::terminal::{EventWord, Ink};

/// Offered and achieved rates of an open loop, and its queue.
pub(crate) fn open_loop(open: &OpenLoopSummary) -> Block {
    let behind = open.achieved_per_s < open.offered_per_s * 0.99 && open.backlog != Some(0);
    let or_dash = |backlog: Option<u64>| backlog.map_or("–".to_owned(), thousands);
    let text = format!(
        "offered {} /s, achieved {} /s; backlog {} at the end, {} at most",
        rate(open.offered_per_s),
        rate(open.achieved_per_s),
        or_dash(open.backlog),
        or_dash(open.backlog_max),
    );
    let ink = if behind { Ink::Warning } else { Ink::Plain };
    Block::row("open loop", ink, text)
}

/// Resource usage of the load generator.
pub(crate) fn client(run: &RunSummary) -> Option<Block> {
    let client = run.client.as_ref()?;
    let mut parts = Vec::new();
    if client.us_per_event > 0.0 {
        let mut cpu = format!(
            "{} CPU per {}",
            latency(client.us_per_event / 1e3),
            EventWord::of(run).one()
        );
        if let Some(us) = client.us_per_query {
            cpu += &format!(", {} per query", latency(us / 1e3));
        }
        parts.push(cpu);
    }
    if !client.worker_busy.is_empty() {
        parts.push(busy(&client.worker_busy));
    }
    if client.spin_s > 0.0 && run.measured_s > 0.0 {
        let share = percent(client.spin_s / run.measured_s);
        parts.push(format!("spinning {share} of a CPU"));
    }
    if client.stall_max_ms > 0.0 {
        parts.push(format!("longest stall {}", latency(client.stall_max_ms)));
    }
    if client.rss_max_bytes > 0 {
        parts.push(bytes(client.rss_max_bytes));
    }
    Some(Block::row("client", Ink::Plain, parts.join("; ")))
}

fn busy(shares: &[f64]) -> String {
    let (low, high) = shares
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(low, high), &s| {
            (low.min(s), high.max(s))
        });
    match shares.len() {
        1 => format!("worker {} busy", percent(high)),
        _ if percent(low) == percent(high) => format!("workers {} busy", percent(high)),
        _ => format!("workers {} to {} busy", percent(low), percent(high)),
    }
}
