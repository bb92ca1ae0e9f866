//! Throughput in time.

use dyno_core::plan::LoadSchedule;
use dyno_core::states::SessionState;
use dyno_core::summary::IntervalSummary;
use dyno_core::unknown::{self, Of};

use super::chart::{Axis, Chart, Line, Look, Time};
use super::page::{Caption, Page, source_note};
use super::run::{View, middle_s, per_s};
use super::thin::{Keep, Thin, thin};
use crate::number;

/// As many points as an hour has seconds, so that an hour is drawn completely.
pub(super) const POINTS_MAX: usize = 3_600;

/// The main chart of a run: throughput with a high percentile over it.
pub(super) fn over_time(page: &mut Page, view: &View<'_>) {
    if view.rates.is_empty() {
        page.nothing("There is no chart over time: the run has no recorded intervals.");
        return;
    }
    let rates = thin(&view.rates, view.points(POINTS_MAX), Keep::Extremes);
    let unit = view.event().per_s();
    let mut lines = vec![page.line(unit, 0, &rates, Look::Area, 0)];
    lines.extend(offered(page, view, &rates));
    let mut axes = vec![Axis::new("throughput", "count/s")];
    let mut title = "Throughput".to_owned();
    if let Some(percent) = view.headline_percent() {
        let line = thin(
            &view.percentile_over_time(percent),
            view.points(POINTS_MAX),
            Keep::Extremes,
        );
        if line.y.iter().any(|ms| ms.is_finite()) {
            let name = format!("p{} {}", number::plain(percent), view.latency_word());
            lines.push(page.line(&name, 1, &line, Look::Line, 1));
            let mut axis = Axis::new(view.latency_word(), "ms");
            // On a linear axis, one stall would flatten the rest.
            axis.log = true;
            axes.push(axis);
            title = format!("Throughput and {name}");
        }
    }
    let caption = Caption {
        id: "over-time",
        title: &title,
        about: &legend(view, axes.len() > 1),
        source: &source_note("intervals of the run", &rates, Keep::Extremes),
        size: "tall",
    };
    let run = view.index;
    page.figure(
        view,
        &caption,
        Chart::Time(Time {
            run,
            axes,
            lines,
            slider: true,
        }),
    );
}

/// The rate that an open loop offered.
fn offered(page: &mut Page, view: &View<'_>, rates: &Thin) -> Option<Line> {
    let drive = view.run.head.drive.as_ref()?;
    let per_second = drive.open_loop.as_ref()?.per_second;
    let ends = [rates.x.first(), rates.x.last()];
    let ends: Vec<f64> = ends.into_iter().flatten().copied().collect();
    let (x, y) = match (drive.rate_schedule(), &ends[..]) {
        (Some(schedule), [from_s, to_s]) => levels(schedule, (*from_s, *to_s)),
        _ => (ends.clone(), vec![per_second; ends.len()]),
    };
    let points = Thin { of: x.len(), x, y };
    let mut line = page.line("offered/s", 0, &points, Look::Line, 6);
    line.dash = 1;
    Some(line)
}

/// A schedule's levels between two instants: the corners of its steps and ramps, and points close
/// to each other along its sines.
fn levels(schedule: &LoadSchedule, (from_s, to_s): (f64, f64)) -> (Vec<f64>, Vec<f64>) {
    /// Points per period.
    const POINTS: f64 = 24.0;
    let (mut x, mut y) = (vec![from_s], vec![schedule.level(from_s)]);
    for placed in schedule.placed() {
        let length_s = placed.to_s - placed.from_s;
        let pieces = match placed.part.period_s {
            // More points than a run's line has would not be visible.
            Some(period_s) => (length_s / period_s * POINTS).clamp(POINTS, POINTS_MAX as f64),
            None => 1.0,
        };
        for point in 0..=pieces as u32 {
            let into_s = length_s * f64::from(point) / pieces.floor();
            let at_s = placed.from_s + into_s;
            if at_s > from_s && at_s < to_s {
                x.push(at_s);
                y.push(placed.part.level(into_s));
            }
        }
    }
    x.push(to_s);
    y.push(schedule.level(to_s));
    (x, y)
}

/// The meaning of the marks in use.
fn legend(view: &View<'_>, latencies: bool) -> String {
    let mut parts = vec!["Each point is an interval.".to_owned()];
    if view.warmup_s().is_some() {
        parts.push("Grey: the warm-up.".to_owned());
    }
    if !view.part_marks().is_empty() {
        parts.push("Dotted: the start of each part of the load, numbered below.".to_owned());
    }
    if !view.stall_spans().is_empty() {
        parts.push("Red: stalls.".to_owned());
    }
    match view.run.events.len() {
        0 => {}
        1 => parts.push("Dashed: the event E1, listed below.".to_owned()),
        count => parts.push(format!("Dashed: the events E1 to E{count}, listed below.")),
    }
    if view.is_open() && view.run.head.drive.is_some() {
        parts.push("Grey dashes: the offered rate.".to_owned());
    }
    if latencies {
        parts.push("The latency axis is logarithmic.".to_owned());
    }
    parts.join(" ")
}

/// Events, queries and errors each second.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    page.section(view, "throughput", "Throughput");
    if view.rates.is_empty() {
        page.nothing("The run has no recorded intervals, so nothing is known over time.");
        page.end_section();
        return;
    }
    let rates = thin(&view.rates, view.points(POINTS_MAX), Keep::Extremes);
    let line = page.line(view.event().per_s(), 0, &rates, Look::Line, 0);
    figure(
        page,
        view,
        ("events", "Events"),
        "Finished events per second in each interval.",
        vec![line],
    );
    if view
        .run
        .intervals
        .iter()
        .any(|interval| interval.counters.queries() > 0)
    {
        let unknown = unknown::counters(&view.run.not_observed, Of::Intervals);
        let whole = !unknown.contains(&"other");
        let mut lines = Vec::new();
        if whole {
            lines.push(counted(page, view, ("queries/s", 0), |i| {
                i.counters.queries()
            }));
        }
        lines.push(counted(page, view, ("reads/s", 4), |i| i.counters.reads));
        lines.push(counted(page, view, ("writes/s", 1), |i| i.counters.writes));
        if whole {
            lines.push(counted(page, view, ("other/s", 6), |i| i.counters.other));
        }
        let about = "Finished statements per second in each interval: with a result set (reads), \
                     with changed rows (writes), other.";
        figure(page, view, ("queries", "Queries"), about, lines);
    }
    if view
        .run
        .intervals
        .iter()
        .any(|interval| interval.errors_seen > 0)
    {
        let line = counted(page, view, ("errors/s", 1), |i| i.errors_seen);
        let about = "Errors of all codes per second in each interval, ignored or not.";
        figure(
            page,
            view,
            ("errors-over-time", "Errors over time"),
            about,
            vec![line],
        );
    }
    session_states(page, view);
    page.end_section();
}

/// The session states, if any session was without a connection or lost.
fn session_states(page: &mut Page, view: &View<'_>) {
    let states = |interval: &IntervalSummary| interval.states.unwrap_or_default();
    let intervals = &view.run.intervals;
    if !intervals
        .iter()
        .any(|interval| states(interval).is_unusual())
    {
        return;
    }
    let mut lines = Vec::new();
    for (colour, state) in SessionState::ALL.into_iter().enumerate() {
        if intervals
            .iter()
            .all(|interval| states(interval).of(state) == 0)
        {
            continue;
        }
        let points: Vec<(f64, f64)> = intervals
            .iter()
            .map(|interval| (middle_s(interval), f64::from(states(interval).of(state))))
            .collect();
        let points = thin(&points, view.points(POINTS_MAX / 2), Keep::Extremes);
        lines.push(page.line(state.word(), 0, &points, Look::Stack, colour));
    }
    let thinned = thin(&view.rates, view.points(POINTS_MAX), Keep::Extremes);
    let caption = Caption {
        id: "session-states",
        title: "Sessions",
        about: "State of the sessions at the end of each interval: in an event, waiting for their \
                next event, reconnecting, lost (failed, or their worker did not respond), or \
                finished.",
        source: &source_note("intervals of the run", &thinned, Keep::Extremes),
        size: "",
    };
    let run = view.index;
    page.figure(
        view,
        &caption,
        Chart::Time(Time {
            run,
            axes: vec![Axis::new("sessions", "count")],
            lines,
            slider: false,
        }),
    );
}

fn counted(
    page: &mut Page,
    view: &View<'_>,
    (name, colour): (&str, usize),
    count: impl Fn(&IntervalSummary) -> u64,
) -> Line {
    let rates = view.rates.iter().zip(&view.run.intervals);
    let points: Vec<(f64, f64)> = rates
        .map(|((at, _), interval)| (*at, per_s(interval, count(interval))))
        .collect();
    page.line(
        name,
        0,
        &thin(&points, view.points(POINTS_MAX / 2), Keep::Extremes),
        Look::Line,
        colour,
    )
}

fn figure(
    page: &mut Page,
    view: &View<'_>,
    (id, title): (&str, &str),
    about: &str,
    lines: Vec<Line>,
) {
    let axes = vec![Axis::new(&title.to_lowercase(), "count/s")];
    let thinned = thin(&view.rates, view.points(POINTS_MAX), Keep::Extremes);
    let source = source_note("intervals of the run", &thinned, Keep::Extremes);
    let caption = Caption {
        id,
        title,
        about,
        source: &source,
        size: "",
    };
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
