//! The cost of events, their spread over sessions, and errors.

use dyno_core::summary::Fairness;

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::document::{self, Block};
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
    let Some(summary) = &view.run.summary else {
        let why = "Errors by code are known only at the end of a run, and this run has not ended; \
                   see Throughput for their times.";
        page.panel_or(view, ("errors", "Errors"), Vec::new(), why);
        return;
    };
    let mut blocks: Vec<Block> = document::errors(summary).into_iter().collect();
    blocks.extend(document::interruptions(summary));
    blocks.extend(document::cut_off(summary));
    blocks.push(Block::Table(document::error_codes(summary)));
    let why = match view.run.not_observed("errors") {
        Some(why) => format!("Errors are unknown: {why}."),
        None => "There were no errors, and no work was cut off.".to_owned(),
    };
    page.panel_or(view, ("errors", "Errors"), blocks, &why);
}
