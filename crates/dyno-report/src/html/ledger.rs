//! The cost of events, their spread over sessions, and errors.

use std::collections::BTreeMap;

use super::page::Page;
use super::run::View;
use crate::document::{self, Block, Table, Value};
use crate::terminal::Ink;

/// Writes the sections on cost, on shares and on errors.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    costs(page, view);
    shares(page, view);
    errors(page, view);
}

fn costs(page: &mut Page, view: &View<'_>) {
    let mut blocks = vec![Block::Table(document::costs(view.costs))];
    let summary = view.run.summary.as_ref();
    blocks.extend(summary.and_then(document::client));
    let why = "The cost is unknown: the run has neither totals nor observed series.";
    page.panel(view, ("costs", "Cost of an event"), blocks, why);
}

fn shares(page: &mut Page, view: &View<'_>) {
    let mut blocks = Vec::new();
    if let Some(summary) = &view.run.summary {
        blocks = document::spread(summary);
        // Several agents have their own table.
        if summary.agents.is_empty() {
            blocks.push(Block::Table(workers(view)));
        }
    }
    let why = "The spread over sessions is unknown; a run records it when it ends.";
    page.panel(view, ("shares", "Spread of the work"), blocks, why);
}

fn workers(view: &View<'_>) -> Table {
    let mut events: BTreeMap<u32, u64> = BTreeMap::new();
    for share in &view.run.sessions {
        *events.entry(share.worker).or_default() += share.events;
    }
    let workers: Vec<(u32, u64)> = events.into_iter().collect();
    Table::of(&workers)
        .text("worker", 0, |(worker, _)| worker.to_string())
        .figure("events", 0, |(_, events)| Value::Count(*events))
        .source("shares of sessions.")
}

fn errors(page: &mut Page, view: &View<'_>) {
    let mut blocks = Vec::new();
    let mut why = "Errors by code are known only at the end of a run, and this run has not ended; \
                   see Throughput for their times.";
    if let Some(summary) = &view.run.summary {
        let gap = view.run.not_observed("errors");
        let unknown = gap.filter(|_| summary.errors_seen() == 0);
        blocks
            .extend(unknown.map(|why| Block::row("errors", Ink::Plain, format!("unknown: {why}"))));
        blocks.extend(document::errors(summary));
        blocks.extend(document::interruptions(summary));
        blocks.extend(document::cut_off(summary));
        blocks.push(Block::Table(document::error_codes(summary)));
        why = "There were no errors, and no work was cut off.";
    }
    page.panel(view, ("errors", "Errors"), blocks, why);
}

#[cfg(test)]
mod tests {
    use dyno_samples::summaries as samples;

    use crate::html::tests::{bare, page_of};

    #[test]
    fn errors_have_the_rows_of_the_terminal_and_a_table() {
        let mut run = bare();
        run.summary = Some(samples::errors());
        let page = page_of(&[run]);
        let (_, section) = page.split_once("id=\"r1-errors\"").unwrap();
        for text in [
            "<dt>errors</dt><dd>1,257 (1,244 conflicts, ",
            "<dt>sessions</dt><dd>2 working, 1 connecting, 1 lost at the end</dd>",
            "<dt>connects</dt><dd>31 attempts to connect failed: ",
            "<th scope=\"row\"><code>1213</code></th><td>",
        ] {
            assert!(section.contains(text), "{text}");
        }
    }

    #[test]
    fn conditions_of_the_run_are_on_the_first_screen() {
        let mut run = bare();
        run.summary = Some(samples::overloaded());
        let page = page_of(&[run]);
        assert!(page.contains("<b>✘ failed</b> p99.9 &gt; 2s: 3.02 s"));
    }
}
