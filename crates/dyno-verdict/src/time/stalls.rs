//! Check 26: seconds in which almost nothing ended, and the server's state in them.

use dyno_analysis::stalls::{
    LEVEL_MIN_PER_S, SECONDS_MIN, SHORT_MIN_S, SHORT_SHARE, SILENCE_EVENTS_MIN, SILENCE_MIN_S,
    STALL_SHARE, Span, Stalls,
};
use dyno_core::finding::Cause;

use super::causes::{self, Moved, Seconds};
use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::errors;
use crate::text;
use crate::view::View;

pub(super) const STALLS: Check = Check {
    number: 26,
    name: "stalls",
    title: "Seconds in which almost nothing ended",
    rule: "Doubt if stalled seconds, at {0} % of the level or less, take {1} % of the time, last \
           {2} s in a row, or recur regularly. Doubt if silences of {5} s with {6} events missed \
           take {9} % of the time or recur regularly, {7} silences of {8} s take {1} %, or \
           silences of {10} s take {11} %. A rate that stays so low until the end is not a stall.",
    thresholds: &[
        SHARE,
        TIME,
        LONG_S,
        BINS,
        EVENTS,
        SHORT,
        MISSED,
        MANY,
        SILENCE,
        MUCH,
        SHORTER,
        SHORTER_SHARE,
    ],
    make: stalls,
};

/// The largest number of causes to report per stall.
const CAUSES_MAX: usize = 5;

thresholds! {
    SHARE = STALL_SHARE * 100.0, "percent of the level", "rate of a stalled second":
        "a checkpoint only slows a server down";
    TIME = 0.5, "percent", "stalled time": "the median does not show it, nor does p99";
    LONG_S = 3.0, "s", "longest stall": "users and health checks notice";
    BINS = SECONDS_MIN as f64, "count", "whole seconds": "fewer do not show a level";
    EVENTS = LEVEL_MIN_PER_S, "per second", "level":
        "by chance, a second of twenty Poisson arrivals is empty only once in 500 million";
    SHORT = SILENCE_MIN_S, "s", "shortest silence":
        "disk flushes and schedulers sometimes take as long";
    MISSED = SILENCE_EVENTS_MIN, "count", "events missed in a silence":
        "rare events may take as long";
    MANY = 3.0, "count", "silences": "one or two may come from other work on the disk";
    SILENCE = 0.5, "s", "long silence": "users notice; p99.9 of a minute does not show one";
    SHORTER = SHORT_MIN_S, "s", "short silence": "shorter ones are scheduler time slices";
    SHORTER_SHARE = SHORT_SHARE * 100.0, "percent", "time in short silences":
        "the server then works in bursts";
    MUCH = 5.0, "percent", "time in silences": "the mean rate is off by as much";
}
fn stalls(view: &View) -> CheckResult {
    let found = match view.stalls() {
        Ok(found) => found,
        Err(why) => return CheckResult::not_checked(text::sentence(&why.to_string())),
    };
    if found.spans.is_empty() {
        return none_found(view, &found);
    }
    let (stalled, longest) = (found.stalled_s(), found.longest_s());
    let share = found.share() * 100.0;
    let long = (found.silences.iter()).filter(|one| one.length_s() >= SILENCE.value);
    let long: Vec<f64> = long.map(Span::length_s).collect();
    let long_share = long.iter().sum::<f64>() / found.measured_s * 100.0;
    let many = long.len() as f64 >= MANY.value && long_share >= TIME.value;
    let bad = found.whole_s / found.measured_s * 100.0 >= TIME.value
        || many
        || share >= MUCH.value
        || longest >= LONG_S.value
        || found.period_s.is_some();
    let recurring = found.period_s.map_or_else(String::new, |period| {
        format!(", every {}", text::seconds(period))
    });
    let mut named = Vec::new();
    let one = |span: &Span| {
        let moved = moved(view, &found, *span);
        named.extend(moved.iter().map(|one| one.cause));
        one(*span, &moved)
    };
    let listed: Vec<String> = found.spans.iter().map(one).collect();
    if found.spans.iter().all(|span| locked_out(view, *span)) {
        named.push(Cause::DatabaseLocked);
    }
    let nothing = match named.is_empty() && causes::watched(view, &found.spans) {
        true => {
            named.push(Cause::Unexplained);
            format!(" Meanwhile {}.", causes::NOTHING)
        }
        false => String::new(),
    };
    CheckResult::of(
        doubt_if(bad),
        format!(
            "{} stall{} of {}{}, {} % of the time{recurring}, at a level of {} per second: \
             {}.{nothing}",
            found.spans.len(),
            text::plural(found.spans.len() as u64),
            text::seconds(stalled),
            if listed.len() > 1 { " together" } else { "" },
            text::plain(share),
            text::rate(found.level_per_s),
            text::few(&listed, 3)
        ),
        advice(&named),
    )
    .naming(named)
    .stalled(found.list(&view.bins))
    .with("stalls", found.spans.len() as f64, "count")
    .with("stalled", stalled, "s")
    .with("longest", longest, "s")
    .with("share of the time", share, "percent")
    .with("level", found.level_per_s, "per second")
    .with_some("period", found.period_s, "s")
}

fn advice(causes: &[Cause]) -> &'static str {
    if causes.contains(&Cause::ServerSilent) {
        "See the server's log and the kernel's (dmesg) for what stopped the whole server: a signal \
         or a debugger, swapping, a frozen virtual machine, a disk that hung."
    } else if causes.contains(&Cause::Backup) {
        causes::backups::ADVICE
    } else if causes.contains(&Cause::LockWaits) {
        "Find who held the lock at these times: a session with an open transaction, LOCK TABLES, a \
         schema change, a backup. Averages hide stalls."
    } else {
        "Look at the server's log and series at these times, and at the disk's. Averages hide \
         stalls."
    }
}

fn none_found(view: &View, found: &Stalls) -> CheckResult {
    let but = match found.own.is_empty() {
        true => "",
        false => ", except while the generator itself paused",
    };
    CheckResult::pass(format!(
        "In none of {} did the rate fall to {} % of its level, {} per second{but}.",
        view.whole(found.stalled.len()),
        text::plain(SHARE.value),
        text::rate(found.level_per_s)
    ))
    .stalled(Vec::new())
    .with("stalled", 0.0, "s")
    .with("level", found.level_per_s, "per second")
}

/// Other unusual values during a stall.
fn moved(view: &View, found: &Stalls, span: Span) -> Vec<Moved> {
    let seconds = Seconds {
        slower: &[span],
        unusual: &found.spans,
    };
    let mut moved = causes::disturbances(view, span);
    moved.extend(causes::of(view, &seconds));
    moved
}

/// Whether sessions gave up waiting for SQLite's file in this time, or in the second after it.
fn locked_out(view: &View, span: Span) -> bool {
    let mut bins = view
        .bins
        .iter()
        .filter(|bin| bin.at_s > span.from_s && bin.from_s() <= span.to_s + bin.length_s);
    errors::is_locked(view) && bins.any(|bin| bin.counters.errors + bin.counters.retries > 0)
}

/// Describes the time, the length and the causes of a stall.
fn one(span: Span, moved: &[Moved]) -> String {
    let meanwhile = match moved.is_empty() {
        true => String::new(),
        false => format!(" ({})", causes::few(moved, CAUSES_MAX)),
    };
    format!(
        "{} from {}{meanwhile}",
        text::seconds(span.length_s()),
        text::seconds(span.from_s.max(0.0))
    )
}
