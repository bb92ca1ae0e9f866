//! Check 26: seconds in which next to nothing ended, and what the server did then.

use dyno_core::finding::Outcome;
use dyno_core::record::{EventKind, Series};
use dyno_stats::stalls::Run;

use crate::check::{Check, Made, Threshold};
use crate::text;
use crate::view::View;

pub(super) const STALLS: Check = Check {
    number: 26,
    name: "stalls",
    title: "Seconds in which next to nothing ended, their period, and what the server did then",
    rule: "A stall second has at most {0} % of the median rate. Doubt if they are {1} % of the \
           time or more, last {2} s or longer in a row, or recur with a period; needs {3} whole \
           seconds with {4} events in the median.",
    thresholds: &[SHARE, TIME, LONG_S, BINS, EVENTS],
    make: stalls,
};

const SHARE: Threshold = Threshold {
    name: "rate of a stall second",
    value: 5.0,
    unit: "percent of the median",
    why: "a checkpoint slows a server down, a stall stops it",
};
const TIME: Threshold = Threshold {
    name: "stalled time",
    value: 0.5,
    unit: "percent",
    why: "the median does not show it, and the 99th percentile not yet",
};
const LONG_S: Threshold = Threshold {
    name: "longest stall",
    value: 3.0,
    unit: "s",
    why: "users and health checks notice",
};
const BINS: Threshold = Threshold {
    name: "whole seconds",
    value: 5.0,
    unit: "count",
    why: "fewer have no median that a stall would not move",
};
const EVENTS: Threshold = Threshold {
    name: "events in the median second",
    value: 20.0,
    unit: "count",
    why: "chance alone empties a second of twenty Poisson arrivals once in a hundred million",
};

fn stalls(view: &View) -> Made {
    let events: Vec<f64> = view
        .course
        .iter()
        .map(|bin| bin.counters.events as f64)
        .collect();
    if (events.len() as f64) < BINS.value {
        return Made::not_checked(format!("{} whole seconds are too few.", events.len()));
    }
    let median = dyno_stats::median(&events).unwrap_or(0.0);
    if median < EVENTS.value {
        return Made::not_checked(format!(
            "With {} events in the median second a quiet second may be chance.",
            text::plain(median)
        ));
    }
    let rates = view.rates();
    let Some(found) = dyno_stats::stalls::stalls(&rates, SHARE.value / 100.0) else {
        return Made::not_checked("The rate has no median to compare with.");
    };
    if found.runs.is_empty() {
        return Made::pass(format!(
            "In none of {} seconds the rate fell to {} % of its median, {} per second.",
            rates.len(),
            text::plain(SHARE.value),
            text::rate(dyno_stats::median(&rates).unwrap_or(0.0))
        ))
        .with("stalled", 0.0, "s");
    }
    let spans: Vec<(f64, f64)> = found.runs.iter().map(|run| span(view, run)).collect();
    let stalled: f64 = spans.iter().map(|(from, to)| to - from).sum();
    let longest = spans.iter().map(|(from, to)| to - from).fold(0.0, f64::max);
    let whole: f64 = view.course.iter().map(|bin| bin.length_s).sum();
    let share = stalled / whole * 100.0;
    let bad = share >= TIME.value || longest >= LONG_S.value || found.period.is_some();
    let usual = whole / view.course.len() as f64;
    let period = found.period.map(|steps| steps * usual);
    let recurring = period.map_or_else(String::new, |period| {
        format!(", every {}", text::seconds(period))
    });
    let listed: Vec<String> = spans.iter().map(|span| one(view, *span)).collect();
    Made::of(
        if bad { Outcome::Doubt } else { Outcome::Pass },
        format!(
            "{} stall{} of {}{}, {} % of the time{recurring}: {}.",
            spans.len(),
            text::plural(spans.len() as u64),
            text::seconds(stalled),
            if spans.len() > 1 { " together" } else { "" },
            text::plain(share),
            text::few(&listed, 3)
        ),
        "Averages hide them: look at the server's log and series at these times, and at the \
         disk's.",
    )
    .with("stalls", spans.len() as f64, "count")
    .with("stalled", stalled, "s")
    .with("longest", longest, "s")
    .with("share of the time", share, "percent")
    .with_some("period", period, "s")
}

fn span(view: &View, run: &Run) -> (f64, f64) {
    let last = (run.start + run.length)
        .min(view.course.len())
        .saturating_sub(1);
    let (first, last) = (&view.course[run.start.min(last)], &view.course[last]);
    (first.at_s - first.length_s, last.at_s)
}

/// When it was, how long it lasted and what else was unusual.
fn one(view: &View, (from, to): (f64, f64)) -> String {
    let signs = signs(view, from, to);
    let meanwhile = match signs.is_empty() {
        true => String::new(),
        false => format!(" ({})", text::list(&signs)),
    };
    format!(
        "{} from {}{meanwhile}",
        text::seconds(to - from),
        text::seconds(from.max(0.0))
    )
}

/// A series that tells what a stall was: which, from which value in it on, by which factor above
/// the rest of the time, and in words.
const SIGNS: [(&str, f64, f64, &str); 9] = [
    ("host.cpu.iowait", 10.0, 2.0, "the CPUs waited for the disk"),
    ("host.cpu.steal", 10.0, 2.0, "the hypervisor took the CPUs"),
    (
        "host.pressure.memory.full",
        10.0,
        2.0,
        "tasks waited for memory",
    ),
    ("host.swap.in", 1e6, 3.0, "pages came from swap"),
    (
        "db.status.innodb_buffer_pool_pages_flushed",
        50.0,
        3.0,
        "pages were flushed",
    ),
    (
        "db.status.innodb_data_fsyncs",
        50.0,
        3.0,
        "files were synced",
    ),
    (
        "db.status.innodb_buffer_pool_wait_free",
        1.0,
        3.0,
        "pages had to be freed first",
    ),
    (
        "db.checkpointer.requested",
        0.01,
        3.0,
        "a checkpoint was requested",
    ),
    ("db.checkpointer.timed", 0.01, 3.0, "a checkpoint was due"),
];

fn signs(view: &View, from: f64, to: f64) -> Vec<String> {
    let mut signs: Vec<String> = view
        .events(EventKind::Disturbance)
        .iter()
        .filter(|event| event.at_s <= to && event.until_s.unwrap_or(event.at_s) >= from)
        .map(|event| event.text.clone())
        .collect();
    if let Some(up) = view.run.series("db.up") {
        // In samples that stand for several seconds a silent one is a part.
        if within(up, from, to).iter().any(|up| *up < 1.0) {
            signs.push("the server did not answer its observer".to_owned());
        }
    }
    let cpu = ["server.cpu.user", "server.cpu.system"]
        .iter()
        .filter_map(|name| {
            let usual = dyno_stats::median(&view.values(name))?;
            let then = dyno_stats::mean(&within(view.run.series(name)?, from, to))?;
            Some((usual, then))
        })
        .reduce(|one, other| (one.0 + other.0, one.1 + other.1));
    if let Some((usual, then)) = cpu
        && usual > 0.05
        && then < usual * 0.1
    {
        signs.push("the server used no CPU".to_owned());
    }
    for (name, least, factor, words) in SIGNS {
        let usual = dyno_stats::median(&view.values(name));
        let then = view
            .run
            .series(name)
            .and_then(|series| dyno_stats::mean(&within(series, from, to)));
        if let (Some(usual), Some(then)) = (usual, then)
            && then >= least
            && then >= usual * factor
        {
            signs.push(words.to_owned());
        }
    }
    for (device, series) in view.devices("host.disk[", "].utilisation") {
        let then = dyno_stats::mean(&within(series, from, to));
        if then.is_some_and(|then| then >= 90.0) {
            signs.push(format!("{device} was busy"));
        }
    }
    signs
}

/// The values of a stall's seconds: what a sample says of the time before it.
fn within(series: &Series, from: f64, to: f64) -> Vec<f64> {
    let inside = |at: f64| at > from && at <= to + 1.0;
    let points = series
        .points
        .iter()
        .filter(|(at, value)| inside(*at) && value.is_finite());
    points.map(|(_, value)| *value).collect()
}
