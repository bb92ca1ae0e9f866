//! The agents of a run.

use dyno_core::catalogue::{Family, names};

use super::observed::{PLAIN, Plot, devices, pair};
use super::page::Page;
use super::run::View;
use crate::document::{self, Block};
use crate::terminal::Ink;

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
    let findings = summary.agent_findings.iter();
    let findings = findings.map(|one| Block::row(&one.kind, Ink::Plain, &*one.evidence));
    page.boxed([document::agents(summary)].into_iter().chain(findings));
    let names = devices(view, "agent");
    if !names.is_empty() {
        over_time(page, view, &names);
    }
    page.end_section();
}

/// Each agent's throughput, second by second.
fn over_time(page: &mut Page, view: &View<'_>, names: &[String]) {
    let names = &names[..names.len().min(SHOWN_MAX)];
    let of_each =
        |series: Family| -> Vec<String> { names.iter().map(|name| series.of(name)).collect() };
    let events = of_each(names::AGENT_EVENTS);
    let service = of_each(names::AGENT_SERVICE_MEAN);
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
