//! The agents of a run.

use dyno_core::summary::AgentSummary;

use super::figures;
use super::markup::Text;
use super::observed::{PLAIN, Plot, devices, pair};
use super::page::{Page, put};
use super::run::View;
use crate::number;

/// The most agents in a chart.
const SHOWN_MAX: usize = 8;

/// Writes the section, if there are several agents.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let Some(summary) = &view.run.summary else {
        return;
    };
    if summary.agents.is_empty() {
        return;
    }
    page.section(view, "agents", "Load generators");
    put!(page, "<div class=\"panel\">");
    page.table(&[
        "agent",
        "host",
        "#share",
        "#sessions",
        "#events /s",
        "#errors",
        "#service median",
        "#service p99",
        "#CPU cores",
        "#CPU of its host",
        "#started late by",
        "#clock error at most",
        "#drift",
        "#wall clock ahead",
    ]);
    for agent in &summary.agents {
        let name = match agent.lost {
            true => format!("{} (lost)", agent.name),
            false => agent.name.clone(),
        };
        put!(page, "<tr><th scope=\"row\">{}</th>", Text(&name));
        put!(page, "<td>{}</td>", Text(&agent.host));
        for cell in cells(agent) {
            put!(page, "<td class=\"n\">{}</td>", Text(&cell));
        }
        put!(page, "</tr>");
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: the agents' records, which add up to \
         the run's. The run's percentiles are those of all samples together.</p>"
    );
    for finding in &summary.agent_findings {
        put!(
            page,
            "<p>{}: {}</p>",
            Text(&finding.kind),
            Text(&finding.evidence)
        );
    }
    put!(page, "</div>\n");
    let names = devices(view, "agent");
    if !names.is_empty() {
        over_time(page, view, &names);
    }
    page.end_section();
}

/// Each agent's work, second by second.
fn over_time(page: &mut Page, view: &View<'_>, names: &[String]) {
    let names = &names[..names.len().min(SHOWN_MAX)];
    let [events, service] = ["events", "service_mean"].map(|what| -> Vec<String> {
        let series = names.iter().map(|name| format!("agent[{name}].{what}"));
        series.collect()
    });
    let rate = Plot {
        id: "agents-events",
        title: "Events of each load generator",
        about: "Events per second, by the agents' own counters. Shows at most 8.",
        axis: "events",
        lines: &lines(&events, names),
        size: "short",
        ..PLAIN
    };
    let mean = Plot {
        id: "agents-service",
        title: "Mean service time of each load generator",
        about: "From the start to the end of an event. Identical generators should see the same.",
        axis: "time",
        lines: &lines(&service, names),
        size: "short",
        ..PLAIN
    };
    pair(page, view, &rate, &mean);
}

/// Each series with the name and the colour of its agent.
fn lines<'a>(series: &'a [String], names: &'a [String]) -> Vec<(&'a str, &'a str, usize)> {
    let named = series.iter().zip(names).enumerate();
    let line = |(colour, (series, name)): (usize, (&'a String, &'a String))| {
        (series.as_str(), name.as_str(), colour)
    };
    named.map(line).collect()
}

fn cells(agent: &AgentSummary) -> Vec<String> {
    let maybe = |value: Option<f64>, unit: &str| figures::maybe(value, unit);
    let clock = agent.clock;
    vec![
        number::percent(agent.fraction),
        number::thousands(u64::from(agent.sessions)),
        figures::significant(agent.events_per_s),
        number::thousands(agent.errors),
        maybe(agent.p50_ms, "ms"),
        maybe(agent.p99_ms, "ms"),
        (agent.cpu_cores).map_or_else(|| "–".to_owned(), figures::significant),
        (agent.host_cpu_percent)
            .map_or_else(|| "–".to_owned(), |share| number::percent(share / 100.0)),
        maybe(agent.late_ms, "ms"),
        maybe(clock.map(|clock| clock.bound_ms), "ms"),
        maybe(clock.and_then(|clock| clock.drift_ppm), "ppm"),
        maybe(clock.and_then(|clock| clock.civil_ahead_ms), "ms"),
    ]
}
