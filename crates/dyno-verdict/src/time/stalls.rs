//! Check 26: seconds in which next to nothing ended, and what the server did then.

mod signs;

use dyno_analysis::stalls::{
    LEVEL_MIN_PER_S, SECONDS_MIN, SILENCE_EVENTS_MIN, SILENCE_MIN_S, STALL_SHARE, Span, Stalls,
};
use dyno_core::finding::Outcome;
use dyno_core::record::{Event, EventKind};

use crate::check::{Check, Made, Threshold};
use crate::text;
use crate::view::View;

pub(super) const STALLS: Check = Check {
    number: 26,
    name: "stalls",
    title: "Seconds in which next to nothing ended, their period, and what the server did then",
    rule: "A second is stalled at {0} % of the level or less; the level is the median of the \
           seconds above {0} % of the rate at which the median event ended. Doubt if stalls are \
           {1} % of the time or more, last {2} s or longer in a row, or recur with a period; \
           needs {3} whole seconds and a level of {4} events per second. Silences that the \
           generator saw to the millisecond, of {5} s or longer while {6} events were missed, are \
           stalls whatever seconds they lie in: doubt if {7} of {8} s or longer are {1} % of the \
           time, if all are {9} %, or if they recur.",
    thresholds: &[
        SHARE, TIME, LONG_S, BINS, EVENTS, SHORT, MISSED, MANY, SILENCE, MUCH,
    ],
    make: stalls,
};

const SHARE: Threshold = Threshold {
    name: "rate of a stalled second",
    value: STALL_SHARE * 100.0,
    unit: "percent of the level",
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
    value: SECONDS_MIN as f64,
    unit: "count",
    why: "fewer have no level to speak of",
};
const EVENTS: Threshold = Threshold {
    name: "level",
    value: LEVEL_MIN_PER_S,
    unit: "per second",
    why: "chance alone empties a second of twenty Poisson arrivals once in a hundred million",
};

const SHORT: Threshold = Threshold {
    name: "shortest silence",
    value: SILENCE_MIN_S,
    unit: "s",
    why: "a disk's flush and a scheduler take as long now and then",
};
const MISSED: Threshold = Threshold {
    name: "events missed in a silence",
    value: SILENCE_EVENTS_MIN,
    unit: "count",
    why: "where events are rare, each may take as long",
};
const MANY: Threshold = Threshold {
    name: "silences",
    value: 3.0,
    unit: "count",
    why: "one or two may be somebody else's work on the disk",
};
const SILENCE: Threshold = Threshold {
    name: "long silence",
    value: 0.5,
    unit: "s",
    why: "users notice, and the 99.9th percentile of a minute does not show a single one",
};
const MUCH: Threshold = Threshold {
    name: "time in silences",
    value: 5.0,
    unit: "percent",
    why: "the mean rate is off by as much",
};
/// Gaps between silences are the same if they differ by no more than this share.
const SAME: f64 = 0.2;
/// So many gaps make a period.
const GAPS_MIN: usize = 4;

fn stalls(view: &View) -> Made {
    let found = view.stalls();
    let silences = silences(view);
    let course = match (&found, silences.is_empty()) {
        (Ok(found), _) => Some(found),
        (Err(_), false) => None,
        (Err(why), true) => {
            return Made::not_checked(format!("{}.", text::sentence(&why.to_string())));
        }
    };
    let seconds = course.map_or(&[][..], |found| &found.spans);
    let (own, seconds): (Vec<Span>, Vec<Span>) = seconds
        .iter()
        .partition(|span| touches_any(span, &frozen(view)));
    let spans = exact(&seconds, &silences);
    if let (Some(found), true) = (course, spans.is_empty()) {
        return none_found(found, &own);
    }
    let level = course.map(|found| found.level_per_s);
    let measured_s = course.map_or(view.length_s, |found| found.measured_s);
    let stalled: f64 = spans.iter().map(Span::length_s).sum();
    let longest = spans.iter().map(Span::length_s).fold(0.0, f64::max);
    let share = (stalled / measured_s * 100.0).min(100.0);
    let period = course.and_then(|found| found.period_s);
    let period = period.or_else(|| period_of(&silences));
    let whole = seconds.iter().map(Span::length_s).sum::<f64>();
    let whole = whole / measured_s * 100.0 >= TIME.value;
    let long = silences
        .iter()
        .filter(|one| one.length_s() >= SILENCE.value);
    let many = long.count() as f64 >= MANY.value && share >= TIME.value;
    let bad = whole || many || share >= MUCH.value || longest >= LONG_S.value || period.is_some();
    let recurring = period.map_or_else(String::new, |period| {
        format!(", every {}", text::seconds(period))
    });
    let listed: Vec<String> = spans.iter().map(|span| one(view, course, *span)).collect();
    let at_level = level.map_or_else(String::new, |level| {
        format!(", at a level of {} per second", text::rate(level))
    });
    Made::of(
        if bad { Outcome::Doubt } else { Outcome::Pass },
        format!(
            "{} stall{} of {}{}, {} % of the time{recurring}{at_level}: {}.",
            spans.len(),
            text::plural(spans.len() as u64),
            text::seconds(stalled),
            if listed.len() > 1 { " together" } else { "" },
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
    .with_some("level", level, "per second")
    .with_some("period", period, "s")
}

fn none_found(found: &Stalls, own: &[Span]) -> Made {
    let but = match own.is_empty() {
        true => "",
        false => ", but for those in which the generator itself stood still",
    };
    Made::pass(format!(
        "In none of {} seconds the rate fell to {} % of its level, {} per second{but}.",
        found.stalled.len(),
        text::plain(SHARE.value),
        text::rate(found.level_per_s)
    ))
    .with("stalled", 0.0, "s")
    .with("level", found.level_per_s, "per second")
}

/// What the generator's workers saw to the millisecond; nothing of an import.
fn silences(view: &View) -> Vec<Span> {
    spans_of(view, EventKind::Stall)
}

/// When the generator itself stood still. Its clock's second is late by as much.
fn frozen(view: &View) -> Vec<Span> {
    let mut frozen = spans_of(view, EventKind::Frozen);
    frozen.iter_mut().for_each(|span| span.from_s -= 0.5);
    frozen
}

fn spans_of(view: &View, kind: EventKind) -> Vec<Span> {
    let events = view.events(kind);
    let span = |event: &&Event| Span {
        from_s: event.at_s.max(0.0),
        to_s: event.until_s.unwrap_or(event.at_s).min(view.length_s),
    };
    events.iter().map(span).collect()
}

/// Stalled seconds, those of which the exact time is known by that.
fn exact(seconds: &[Span], silences: &[Span]) -> Vec<Span> {
    let unknown = seconds
        .iter()
        .filter(|second| !touches_any(second, silences));
    let mut spans: Vec<Span> = unknown.chain(silences).copied().collect();
    spans.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    spans
}

fn touches_any(span: &Span, others: &[Span]) -> bool {
    (others.iter()).any(|other| other.from_s < span.to_s && other.to_s > span.from_s)
}

/// The time from one to the next, if that is nearly always the same.
fn period_of(silences: &[Span]) -> Option<f64> {
    let gaps: Vec<f64> = silences
        .windows(2)
        .map(|pair| pair[1].from_s - pair[0].from_s)
        .collect();
    let usual = dyno_stats::median(&gaps)?;
    let same = |gap: &f64| (gap / usual - 1.0).abs() <= SAME;
    (gaps.len() >= GAPS_MIN && gaps.iter().all(same)).then_some(usual)
}

/// When it was, how long it lasted and what else was unusual.
fn one(view: &View, found: Option<&Stalls>, span: Span) -> String {
    let signs = found.map_or_else(Vec::new, |found| signs::of(view, found, span));
    let meanwhile = match signs.is_empty() {
        true => String::new(),
        false => format!(" ({})", text::list(&signs)),
    };
    format!(
        "{} from {}{meanwhile}",
        text::seconds(span.length_s()),
        text::seconds(span.from_s.max(0.0))
    )
}
