//! The components of latency: the server's, the queue's and the generator's time.

use dyno_core::record::{RunRecord, Source};
use dyno_core::summary::LatencySummary;

use super::chart::{Axis, Chart, Look, Time};
use super::page::{Caption, Page, source_note};
use super::run::{View, middle_s};
use super::thin::{Keep, thin};
use super::throughput::POINTS_MAX;
use crate::document::{self, Block};

/// Writes the section on service, response and lag.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    page.section(view, "times", "Service and response time");
    let Some(summary) = &view.run.summary else {
        page.nothing("There are no totals: the run never finished.");
        page.end_section();
        return;
    };
    let mut rows: Vec<(&str, &str, &LatencySummary)> = Vec::new();
    // A log may have response times only.
    if summary.service.count > 0 || summary.response.is_none() {
        rows.push(("service time", "start to end", &summary.service));
    }
    if let Some(response) = &summary.response {
        rows.push(("response time", "scheduled to end", response));
    }
    let open = summary.open_loop.as_ref();
    if let Some(lag) = open.and_then(|open| open.pacing_lag.as_ref()) {
        rows.push((
            "pacing lag",
            "from schedule to start although a session was free: caused by Dyno",
            lag,
        ));
    }
    let table = Block::Table(document::latencies(&rows));
    page.boxed(open.map(document::open_loop).into_iter().chain([table]));
    if view.is_open() {
        backlog(page, view);
    } else if is_closed(view.run) {
        page.nothing(
            "A closed loop: each session starts its next event when the previous one ends, so \
             nothing queues and response time equals service time. When the server stalls, so does \
             the load. An open loop (--rate) shows how long users would wait.",
        );
    }
    page.end_section();
}

/// Whether the loop is known to be closed. Part of a log may lack the response times that show an
/// open loop.
fn is_closed(run: &RunRecord) -> bool {
    let drive = run.head.drive.as_ref();
    run.head.source == Source::Dyno && drive.is_some_and(|drive| drive.open_loop.is_none())
}

fn backlog(page: &mut Page, view: &View<'_>) {
    if view.run.intervals.is_empty() {
        page.nothing("The run has no recorded intervals, so its queue over time is unknown.");
        return;
    }
    if view.run.not_observed("open_loop.backlog").is_some() {
        page.nothing("The log does not show how many events were waiting.");
        return;
    }
    let intervals = || view.run.intervals.iter();
    let waiting: Vec<_> = intervals()
        .filter_map(|i| Some((middle_s(i), i.backlog? as f64)))
        .collect();
    let under_way: Vec<_> = intervals()
        .filter_map(|i| Some((middle_s(i), f64::from(i.concurrency?))))
        .collect();
    let waiting = thin(&waiting, view.points(POINTS_MAX), Keep::Extremes);
    let under_way = thin(&under_way, view.points(POINTS_MAX), Keep::Extremes);
    let lines = vec![
        page.line("due, not started", 0, &waiting, Look::Area, 1),
        page.line("under way", 0, &under_way, Look::Line, 0),
    ];
    let caption = Caption {
        id: "backlog",
        title: "Queue of the open loop",
        about: "Events due but not started, and events in flight, at the end of each interval. A \
                growing queue means that the server cannot keep up.",
        source: &source_note("intervals of the run", &waiting, Keep::Extremes),
        size: "short",
    };
    let axes = vec![Axis::new("events", "count")];
    let run = view.index;
    page.figure(
        view,
        &caption,
        Chart::Time(Time {
            run,
            axes,
            lines,
            slider: false,
        }),
    );
}
