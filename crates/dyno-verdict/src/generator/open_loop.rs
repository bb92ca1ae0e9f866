//! Checks 3 to 5: an open loop's schedule, backlog and arrivals. They do not apply to a
//! closed loop.

use dyno_core::finding::Outcome;
use dyno_core::plan::{Arrivals, OpenLoop};
use dyno_core::summary::{LatencySummary, OpenLoopSummary};

use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::{Bin, View};

pub(super) const SCHEDULE_LAG: Check = Check {
    number: 3,
    name: "schedule-lag",
    title: "How late the generator started events",
    rule: "Doubt if the generator's own lag is {0} % of the mean response time and {1} ms, or {2} \
           % of a percentile up to p99 and {3} ms. Refusal from {4} % of the mean and {1} ms.",
    thresholds: &[LAG_MEAN, LAG_MS, LAG_PERCENTILE, LAG_TAIL_MS, LAG_REFUSE],
    make: schedule_lag,
};

pub(super) const OFFERED_RATE: Check = Check {
    number: 4,
    name: "offered-rate",
    title: "Achieved against offered rate, and backlog growth",
    rule: "Doubt if the achieved rate is below {0} % of the offered rate, or as far above it, and \
           chance does not explain that. Doubt if as large a share of the events, and at least \
           {2}, was left waiting. Doubt if the backlog grew from the first to the last third by \
           {1} % of the arrivals and more than one event: response times then depend on the run's \
           length.",
    thresholds: &[ACHIEVED, BACKLOG_GROWTH, LEFT_WAITING],
    make: offered_rate,
};

pub(super) const ARRIVALS: Check = Check {
    number: 5,
    name: "arrivals",
    title: "Arrivals against the declared distribution",
    rule: "Doubt if arrivals per second are not Poisson or constant, as declared. The test has \
           significance {0} and allows for {1} ms of disorder between intervals. It needs {2} \
           whole intervals with {3} arrivals each.",
    thresholds: &[SIGNIFICANCE, DISORDER_MS, INTERVALS, ARRIVALS_FEW],
    make: arrivals,
};

thresholds! {
    LAG_MEAN = 10.0, "percent", "lag in the mean response time":
        "comparisons usually look for differences of a tenth";
    LAG_PERCENTILE = 50.0, "percent", "lag's percentile against the response time's":
        "an upper bound: the slowest events need not start latest";
    LAG_MS = 1.0, "ms", "minimum lag": "less is timer slack and thread wake-up";
    LAG_TAIL_MS = 5.0, "ms", "minimum lag at a percentile": "a scheduler time slice on a busy host";
    LAG_REFUSE = 50.0, "percent", "lag in the mean response time, refusal":
        "the response times are the generator's own";
    ACHIEVED = 98.0, "percent", "achieved of offered":
        "events in flight at the end explain 1 %, not more";
    LEFT_WAITING = 10.0, "count", "events left waiting":
        "fewer may have become due at the end by chance";
    BACKLOG_GROWTH = 1.0, "percent of the arrivals", "growth of the backlog":
        "a queue that is served in time has no trend";
    SIGNIFICANCE = 0.001, "probability", "significance": "one good run in a thousand is doubted";
    DISORDER_MS = 10.0, "ms", "disorder between intervals":
        "workers end their intervals milliseconds apart";
    INTERVALS = 10.0, "count", "intervals": "fewer give no usable variance";
    ARRIVALS_FEW = 5.0, "count", "arrivals per interval":
        "below it the chi-square approximation fails";
}

const CLOSED: &str = "In a closed loop nothing is scheduled: the next event begins when the last \
                      one has ended.";
const UNKNOWN: &str = "How the run was driven is not known.";
const UNFINISHED: &str = "A run that never finished has no figures of its schedule.";

/// The open loop's figures, or why they are missing.
fn figures<'a>(view: &View<'a>) -> Result<&'a OpenLoopSummary, String> {
    if !view.open_loop() {
        return Err(without_schedule(view));
    }
    let open = view
        .summary()
        .and_then(|summary| summary.open_loop.as_ref());
    open.ok_or_else(|| match view.drive() {
        Some(_) if !view.imported() => UNFINISHED.to_owned(),
        Some(drive) if drive.open_loop.is_some() => Missing::Whole.sentence(),
        _ => without_schedule(view),
    })
}

/// Why there is no schedule of an open loop. Response times in a log show that there was one.
fn without_schedule(view: &View) -> String {
    match (view.imported(), view.drive()) {
        (true, _) if view.open_loop() => Missing::OfferedRate.sentence(),
        (true, None) => Missing::Driven.sentence(),
        (false, None) => UNKNOWN.to_owned(),
        (_, Some(_)) => CLOSED.to_owned(),
    }
}

fn schedule_lag(view: &View) -> CheckResult {
    let open = match figures(view) {
        Ok(open) => open,
        Err(why) => return CheckResult::not_checked(why),
    };
    let response = view.summary().and_then(|summary| summary.response.as_ref());
    let lag = open.pacing_lag.as_ref();
    let known = response.zip(lag).and_then(|(response, lag)| {
        let sum_ms = response.sum_ms.filter(|ms| *ms > 0.0)?;
        Some((response, lag, lag.mean_ms?, lag.sum_ms? / sum_ms * 100.0))
    });
    let Some((response, lag, mean_ms, mean_share)) = known else {
        return Missing::Lag.or(view, "No lag or no response time was recorded.");
    };
    // Only events that found a free session have a lag; the others waited for a session.
    let worst = worst_percentile(lag, response);
    let long = mean_ms >= LAG_MS.value;
    let tail = worst.is_some_and(|(_, lag_ms, share)| {
        share >= LAG_PERCENTILE.value && lag_ms >= LAG_TAIL_MS.value
    });
    let outcome = if long && mean_share >= LAG_REFUSE.value {
        Outcome::Refuse
    } else if (long && mean_share >= LAG_MEAN.value) || tail {
        Outcome::Doubt
    } else {
        Outcome::Pass
    };
    let percentile = worst.map_or_else(String::new, |(percent, ms, share)| {
        format!(
            "; its p{percent} is {}, {} % of the response time's",
            text::ms(ms),
            text::plain(share)
        )
    });
    CheckResult::of(
        outcome,
        format!(
            "The generator started events {} late on average, {} % of the mean response \
             time{percentile}.",
            text::ms(mean_ms),
            text::plain(mean_share)
        ),
        "Give the generator dedicated CPUs, or more --workers; look at the waits for a CPU in \
         client-cpu.",
    )
    .with("mean lag", mean_ms, "ms")
    .with("lag in the mean response time", mean_share, "percent")
    .with_some(
        "worst share of a percentile",
        worst.map(|(.., share)| share),
        "percent",
    )
}

/// The percentile with the largest share of lag in its response time: percentile, lag, share.
/// Beyond the 99th a few wake-ups decide.
fn worst_percentile(lag: &LatencySummary, response: &LatencySummary) -> Option<(f64, f64, f64)> {
    let common = response.percentiles.iter().filter(|p| p.percent <= 99.0);
    let shares = common.filter_map(|of_response| {
        let lag_ms = lag.percentile_ms(of_response.percent)?;
        let response_ms = of_response.value_ms?;
        (response_ms > 0.0).then(|| (of_response.percent, lag_ms, lag_ms / response_ms * 100.0))
    });
    shares.max_by(|one, other| one.2.total_cmp(&other.2))
}

/// Whether the generator began events late although a session was free: lag is recorded only then.
fn generator_is_late(open: &OpenLoopSummary, view: &View) -> bool {
    let response = view.summary().and_then(|summary| summary.response.as_ref());
    let sums = || {
        let lag = open.pacing_lag.as_ref()?;
        Some((lag.mean_ms?, lag.sum_ms?, response?.sum_ms?))
    };
    sums().is_some_and(|(mean_ms, lag_ms, response_ms)| {
        mean_ms >= LAG_MS.value && lag_ms >= response_ms * LAG_REFUSE.value / 100.0
    })
}

/// Whether an open loop was offered more than it could serve, as `offered-rate` reports.
pub(crate) fn overloaded(view: &View) -> bool {
    offered_rate(view).outcome == Outcome::Doubt
}

/// The random deviation of the achieved share, in percent: three standard deviations of a Poisson
/// count of this many arrivals; at a constant rate, one arrival.
fn chance(view: &View, arrivals: f64) -> f64 {
    match view.drive().and_then(|drive| drive.open_loop) {
        Some(OpenLoop {
            arrivals: Arrivals::Constant,
            ..
        }) => 100.0 / arrivals,
        _ => 300.0 / arrivals.sqrt(),
    }
}

fn offered_rate(view: &View) -> CheckResult {
    let open = match figures(view) {
        Ok(open) => open,
        Err(why) => return CheckResult::not_checked(why),
    };
    let arrivals = open.offered_per_s * view.length_s;
    if arrivals.is_nan() || arrivals < 1.0 {
        return CheckResult::not_checked("No event was due within the measurement.");
    }
    let achieved = open.achieved_per_s / open.offered_per_s * 100.0;
    let chance = chance(view, arrivals);
    let longer = open.backlog.and_then(|_| backlog_growth(view));
    let growth = longer.map(|longer| longer / arrivals * 100.0);
    // The number of unserved events is exact, although arrivals are random.
    let left = open.backlog.and_then(|backlog| left_waiting(view, backlog));
    let left_out = left.is_some_and(|left| {
        left >= LEFT_WAITING.value && left / arrivals * 100.0 >= 100.0 - ACHIEVED.value
    });
    let short = left_out || achieved < ACHIEVED.value - chance;
    // Events beyond those due must be left over from before.
    let catching_up = achieved > 200.0 - ACHIEVED.value + chance;
    // An event that is due at the end of an interval waits, but is not a queue.
    let growing = growth.is_some_and(|growth| growth >= BACKLOG_GROWTH.value)
        && longer.is_some_and(|longer| longer > 1.0);
    let outcome = doubt_if(short || growing || catching_up);
    let trend = match (growing, catching_up) {
        (true, _) => ", growing from second to second",
        (false, true) => ": a queue from before was being served",
        (false, false) => "",
    };
    CheckResult::of(
        outcome,
        format!(
            "{} of {} offered events per second were achieved ({} %){}{trend}.",
            text::rate(open.achieved_per_s),
            text::rate(open.offered_per_s),
            text::plain(achieved),
            waiting(open)
        ),
        match generator_is_late(open, view) {
            _ if catching_up => {
                "Look at a part that begins after the queue is served (--from): response times \
                 measure the queue that an earlier part of the load left."
            }
            true => {
                "Give the generator dedicated CPUs, or more --workers: it started events late \
                 (schedule-lag), so the missing events are its own."
            }
            false => {
                "Offer less, or use more sessions: the achieved rate is the capacity of the \
                 target, or of this number of sessions, and response times measure the queue."
            }
        },
    )
    .with("offered", open.offered_per_s, "per second")
    .with("achieved", open.achieved_per_s, "per second")
    .with("achieved of offered", achieved, "percent")
    .with("explained by chance", chance, "percent")
    .with_some(
        "backlog at the end",
        open.backlog.map(|backlog| backlog as f64),
        "count",
    )
    .with_some("growth of the backlog", growth, "percent of the arrivals")
}

/// The number of waiting events, as the end of a sentence.
fn waiting(open: &OpenLoopSummary) -> String {
    let Some(backlog) = open.backlog else {
        return "; the backlog is not known".to_owned();
    };
    let most = open.backlog_max.unwrap_or(backlog);
    format!(
        "; {} were waiting at the end, {} at most",
        text::count(backlog),
        text::count(most)
    )
}

/// The events that the measurement left waiting: those at its end beyond those at its beginning.
fn left_waiting(view: &View, backlog: u64) -> Option<f64> {
    let first = match begins_empty(view) {
        true => 0,
        false => view.bins.first()?.backlog?,
    };
    Some(backlog.saturating_sub(first) as f64)
}

/// Whether no event was due before the figures of a log: without a warm-up or an earlier part
/// (`--from`, which counts as one), its queue begins empty.
fn begins_empty(view: &View) -> bool {
    let drive = view.drive().filter(|_| view.imported());
    drive.is_some_and(|drive| drive.warmup.is_zero())
}

/// The growth of the backlog from its first to its last third, if the middle is in between: a
/// temporary queue after a short stall is not growth.
fn backlog_growth(view: &View) -> Option<f64> {
    let waiting = |bin: &Bin| bin.backlog.map(|backlog| backlog as f64);
    let backlog: Vec<f64> = view.bins.iter().map(waiting).collect::<Option<_>>()?;
    let third = backlog.len() / 3;
    if third == 0 {
        return None;
    }
    let [first, middle, last] = [
        &backlog[..third],
        &backlog[third..backlog.len() - third],
        &backlog[backlog.len() - third..],
    ]
    .map(|part| part.iter().sum::<f64>() / part.len() as f64);
    Some(if first <= middle && middle <= last {
        last - first
    } else {
        0.0
    })
}

fn arrivals(view: &View) -> CheckResult {
    let Some(open) = view.drive().and_then(|drive| drive.open_loop) else {
        return CheckResult::not_checked(without_schedule(view));
    };
    let errors: u64 = view.bins.iter().map(|bin| bin.counters.errors).sum();
    if errors > 0 {
        return CheckResult::not_checked(
            "Events with errors are retried, so completed events do not show arrivals.",
        );
    }
    let Some(counts) = arrivals_per_bin(view) else {
        return CheckResult::not_checked("The number of waiting and running events is not known.");
    };
    let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
    if (counts.len() as f64) < INTERVALS.value || mean < ARRIVALS_FEW.value {
        return CheckResult::not_checked(format!(
            "{} with {} arrivals each {} too few.",
            text::number_of(counts.len(), "whole interval"),
            text::plain(mean),
            text::verb(counts.len(), "is", "are")
        ));
    }
    let part = view.drive().and_then(|drive| drive.shard.as_ref());
    match (open.arrivals, part) {
        (Arrivals::Poisson, Some(part)) if part.of > 1 => CheckResult::not_checked(format!(
            "This load generator gets a regular part of the Poisson arrivals ({part}), so its own \
             arrivals are more even than a Poisson process."
        )),
        (Arrivals::Poisson, _) => poisson(&counts, mean),
        (Arrivals::Constant, _) => constant(&counts, mean),
    }
}

/// Arrivals in each bin except the first: the events that ended, plus the growth of waiting events
/// and events in flight; `None` if unknown. Bins of unusual length are omitted, so that counts are
/// comparable.
fn arrivals_per_bin(view: &View) -> Option<Vec<u64>> {
    let lengths: Vec<f64> = view.bins.iter().map(|bin| bin.length_s).collect();
    let usual = dyno_stats::median(&lengths).unwrap_or(1.0);
    view.bins
        .windows(2)
        .filter(|pair| (pair[1].length_s / usual - 1.0).abs() < 0.02)
        .map(|pair| {
            let inside = |bin: &Bin| Some(bin.backlog?.saturating_add(u64::from(bin.concurrency?)));
            let sum = (pair[1].counters.events).saturating_add(inside(&pair[1])?);
            Some(sum.saturating_sub(inside(&pair[0])?))
        })
        .collect()
}

fn poisson(counts: &[u64], mean: f64) -> CheckResult {
    let Some(test) = dyno_stats::poisson_dispersion(counts) else {
        return CheckResult::not_checked("The arrivals have no dispersion to test.");
    };
    let index = test.statistic / (counts.len() - 1) as f64;
    // An interval that ends late by this much takes as many arrivals from the next one.
    let disorder = 2.0 * mean * (DISORDER_MS.value / 1e3).powi(2);
    let outcome = doubt_if(test.p < SIGNIFICANCE.value && (index < 1.0 || index > 1.0 + disorder));
    CheckResult::of(
        outcome,
        format!(
            "The arrivals per interval have {} times the variance of a Poisson process (p = {}).",
            text::plain(index),
            text::plain(test.p)
        ),
        ARRIVALS_ADVICE,
    )
    .with("index of dispersion", index, "ratio")
    .with("p", test.p, "probability")
    .with("allowed for disorder", 1.0 + disorder, "ratio")
}

fn constant(counts: &[u64], mean: f64) -> CheckResult {
    // One arrival at either end, and those moved by late ends of intervals.
    let room = 2.0 + 3.0 * mean * DISORDER_MS.value / 1e3;
    let off = counts
        .iter()
        .map(|count| (*count as f64 - mean).abs())
        .fold(0.0, f64::max);
    let beyond = counts
        .iter()
        .filter(|count| (**count as f64 - mean).abs() > room)
        .count();
    // A single late interval affects itself and the next one.
    let outcome = doubt_if(beyond > 2 + counts.len() / 20);
    CheckResult::of(
        outcome,
        format!(
            "{} arrivals per interval on average, with a largest difference of {}; {beyond} of {} \
             intervals differ by more than {}.",
            text::plain(mean),
            text::plain(off),
            counts.len(),
            text::plain(room)
        ),
        ARRIVALS_ADVICE,
    )
    .with("mean", mean, "arrivals per interval")
    .with("largest difference", off, "arrivals")
    .with("allowed", room, "arrivals")
}

const ARRIVALS_ADVICE: &str = "Look at client-cpu and schedule-lag: the generator did not keep its \
                               schedule.";
