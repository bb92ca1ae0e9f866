//! The cost of events, their spread over sessions, and errors.

use dyno_core::summary::Fairness;

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::document::{Block, Table, Value};
use crate::number;

/// Writes the sections on cost, on shares and on errors.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    costs(page, view);
    shares(page, view);
    errors(page, view);
}

fn costs(page: &mut Page, view: &View<'_>) {
    page.section(view, "costs", "Cost of an event");
    let client = (view.run.summary.as_ref()).and_then(|summary| summary.client.as_ref());
    if view.costs.is_empty() && client.is_none() {
        page.nothing("The cost is unknown: the run has neither totals nor observed series.");
        page.end_section();
        return;
    }
    put!(page, "<div class=\"panel\">");
    page.table(&["what", "#per event", "source"]);
    for cost in view.costs {
        put!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"why\">{}</td></tr>",
            Text(&cost.name),
            Text(figures::maybe(cost.value, &cost.unit)),
            Text(match cost.left_out {
                true => format!("left out: {}", cost.source),
                false => cost.source.clone(),
            })
        );
    }
    if let Some(client) = client {
        let figure = |us: f64| {
            if us > 0.0 {
                figures::value(us, "us")
            } else {
                "–".to_owned()
            }
        };
        put!(
            page,
            "<tr><th scope=\"row\">Dyno's own CPU</th><td class=\"n\">{}</td><td \
                class=\"why\">user and system time of the process / events</td></tr>",
            figure(client.us_per_event)
        );
        put!(
            page,
            "<tr><th scope=\"row\">Dyno's own CPU, per statement</th><td class=\"n\">{}</td><td \
                class=\"why\">the same / statements</td></tr>",
            figure(client.us_per_query.unwrap_or(0.0))
        );
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">1 kB is 1,000 bytes, 1 KiB 1,024. A host's \
         counters include everything that ran on it.</p></div>\n"
    );
    page.end_section();
}

fn sessions(page: &mut Page, fair: &Fairness) {
    // Other tools print only the mean and the deviation.
    let ends = match fair.events_max {
        0 => String::new(),
        max => format!(
            ", fewest {}, most {}",
            number::thousands(fair.events_min),
            number::thousands(max)
        ),
    };
    put!(
        page,
        "<dt>Events per session</dt><dd>mean {}, standard deviation {}{ends}</dd><dt>Time in \
            events per session</dt><dd>mean {}, standard deviation {}</dd>",
        figures::significant(fair.events_mean),
        figures::significant(fair.events_stddev),
        number::length(fair.time_mean_s),
        number::length(fair.time_stddev_s)
    );
}

fn shares(page: &mut Page, view: &View<'_>) {
    page.section(view, "shares", "Spread of the work");
    let Some(summary) = &view.run.summary else {
        page.nothing(
            "The spread over sessions is known only at the end of a run, and this run has not \
             ended.",
        );
        page.end_section();
        return;
    };
    put!(page, "<div class=\"panel\"><dl class=\"facts\">");
    match &summary.fairness {
        Some(fair) => sessions(page, fair),
        None => put!(page, "<dt>Events per session</dt><dd>not known</dd>"),
    }
    for endpoint in &summary.endpoints {
        put!(
            page,
            "<dt>Statements to {}</dt><dd>{}</dd>",
            Text(&endpoint.name),
            number::thousands(endpoint.queries)
        );
    }
    // Several agents have their own table.
    let alone = summary.agents.is_empty();
    for (worker, events) in by_worker(view).into_iter().filter(|_| alone) {
        put!(
            page,
            "<dt>Events of worker {worker}</dt><dd>{}</dd>",
            number::thousands(events)
        );
    }
    put!(
        page,
        "</dl><p class=\"source\">Source: summary; shares of sessions.</p></div>\n"
    );
    page.end_section();
}

fn by_worker(view: &View<'_>) -> std::collections::BTreeMap<u32, u64> {
    let mut workers = std::collections::BTreeMap::new();
    for share in &view.run.sessions {
        *workers.entry(share.worker).or_default() += share.events;
    }
    workers
}

fn errors(page: &mut Page, view: &View<'_>) {
    page.section(view, "errors", "Errors by code");
    let Some(summary) = &view.run.summary else {
        page.nothing(
            "Errors by code are known only at the end of a run, and this run has not ended; see \
             Throughput for their times.",
        );
        page.end_section();
        return;
    };
    if summary.errors.is_empty() {
        let totals = &summary.totals;
        let unknown = view
            .run
            .not_observed("errors")
            .filter(|_| totals.errors == 0);
        page.nothing(&match unknown {
            Some(why) => format!("Errors are unknown: {why}."),
            None => format!(
                "No errors by code are recorded. Ignored errors: {}, reconnects: {}.",
                number::thousands(totals.errors),
                number::thousands(totals.reconnects)
            ),
        });
        page.end_section();
        return;
    }
    let mut errors: Vec<_> = summary.errors.iter().collect();
    errors.sort_by_key(|(_, error)| std::cmp::Reverse(error.count));
    let table = Table::of(&errors)
        .text("code", 0, |(code, _)| Value::Code((*code).clone()))
        .text("kind", 0, |(_, error)| error.kind.short().to_owned())
        .figure("count", 0, |(_, error)| Value::Count(error.count))
        .text("first message", 0, |(_, error)| error.sample.clone())
        .source("");
    put!(page, "<div class=\"panel\">");
    page.show([Block::Table(table)]);
    put!(
        page,
        "<p class=\"source\">Errors of all codes, ignored or not, during the \
         measurement and its grace period. Ignored: {}; events repeated: {}; events not done: {}; \
         reconnects: {}. Source: summary.</p></div>\n",
        number::thousands(summary.totals.errors),
        number::thousands(summary.totals.retries),
        number::thousands(summary.totals.not_done),
        number::thousands(summary.totals.reconnects)
    );
    page.end_section();
}
