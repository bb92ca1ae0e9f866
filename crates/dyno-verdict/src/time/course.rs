//! Checks 23 and 24: warm-up and steady state.

use dyno_analysis::stalls::Stalls;
use dyno_core::finding::Outcome;
use dyno_stats::dips::Dips;
use dyno_stats::intervals::Bounds;

use crate::check::{Check, Made, Threshold};
use crate::text;
use crate::view::View;

pub(super) const WARM_UP: Check = Check {
    number: 23,
    name: "warm-up",
    title: "Whether the warm-up was long enough",
    rule: "Doubt if sessions still started within the measurement, or if the rate of its first \
           3, 6, 12, … seconds, up to a fifth of it, differs from the rest by {0} % or more with \
           {1} % confidence, whatever the rate's autocorrelation; needs {2} whole seconds, \
           stalled ones not counted.",
    thresholds: &[EARLY, SURE, BINS],
    make: warm_up,
};

pub(super) const STEADY_STATE: Check = Check {
    number: 24,
    name: "steady-state",
    title: "Trend and changes of level of throughput, and of latency in an open loop",
    rule: "Passed if the 90 % interval of the rate's drift over the measurement lies within \
           {0} % of its mean either way, which one of 20 runs with such a drift does. Doubt if \
           the 99 % interval leaves out 0 and the drift is {1} % or more, or {0} % or more with \
           Kendall's tau of {5}; if the level changes or swings slowly by {0} % or more; if dips \
           that recur take {7} % of the throughput or more; if the latency of an open loop drifts \
           by {2} %; or if the run stood still for {6} % of the time. Else not checked, with the \
           length that would do. Needs {3} whole seconds, {4} for changes of level, 30 for dips, \
           600 for swings.",
    thresholds: &[
        DRIFT,
        SMALL_DRIFT,
        LATENCY_DRIFT,
        BINS,
        CHANGE_BINS,
        ORDER,
        STILL,
        DIPPED,
    ],
    make: steady_state,
};

const EARLY: Threshold = Threshold {
    name: "difference of the beginning",
    value: 10.0,
    unit: "percent",
    why: "a fifth of the measurement that is off by a tenth moves the mean by 2 %, as much as is \
          allowed between repetitions",
};
const SURE: Threshold = Threshold {
    name: "confidence in the difference",
    value: 99.0,
    unit: "percent",
    why: "one or two wrong doubts in a hundred runs, however many beginnings are tried",
};
const BINS: Threshold = Threshold {
    name: "whole seconds",
    value: 10.0,
    unit: "count",
    why: "fewer have neither a trend nor a beginning",
};
const DRIFT: Threshold = Threshold {
    name: "drift or change of level of the rate",
    value: 20.0,
    unit: "percent",
    why: "checkpoints and flushing move the rate of a healthy server by a tenth within half a \
          minute",
};
const SMALL_DRIFT: Threshold = Threshold {
    name: "drift that is surely one",
    value: 10.0,
    unit: "percent",
    why: "the first half of the run differs by half of it from the second, as much as is looked \
          for in comparisons",
};
const LATENCY_DRIFT: Threshold = Threshold {
    name: "drift of the latency",
    value: 50.0,
    unit: "percent",
    why: "latency swings more than throughput, for a queue multiplies small changes",
};
const CHANGE_BINS: Threshold = Threshold {
    name: "whole seconds for changes of level",
    value: 20.0,
    unit: "count",
    why: "there must be several parts of five seconds to exchange",
};
const STILL: Threshold = Threshold {
    name: "stalled time",
    value: 20.0,
    unit: "percent of the time",
    why: "as much of the mean is missing then as a drift may move it by",
};
const DIPPED: Threshold = Threshold {
    name: "lost in dips that recur",
    value: 5.0,
    unit: "percent of the throughput",
    why: "whoever compares must know whether the run holds as many of them as the other",
};
const ORDER: Threshold = Threshold {
    name: "Kendall's tau of a drift",
    value: 0.8,
    unit: "ratio",
    why: "nine of ten pairs of seconds stand in the drift's order, which a dozen seconds without \
          one reach in one of a thousand runs; the interval of a straight line's slope widens \
          where a ramp is curved",
};

fn warm_up(view: &View) -> Made {
    if let Some(made) = still_starting(view) {
        return made;
    }
    // A stall is no beginning, wherever it lies: it has a finding of its own.
    let still = |found: &Stalls| found.stalled.contains(&true);
    let stalls = view.stalls().ok().filter(still);
    let all = view.rates();
    let rates = stalls
        .as_ref()
        .map_or(all.clone(), |found| found.moving(&all));
    let Some(mean) = dyno_stats::mean(&rates).filter(|mean| *mean > 0.0) else {
        return Made::not_checked("No rate was recorded second by second.");
    };
    if (rates.len() as f64) < BINS.value {
        return Made::not_checked(format!(
            "{} whole seconds{} are too few to tell a beginning from the rest.",
            rates.len(),
            if stalls.is_some() { " that moved" } else { "" }
        ));
    }
    let Some(found) = dyno_stats::beginning(&rates).filter(|found| found.rest > 0.0) else {
        return Made::pass(format!(
            "The rate is {} per second from the first second to the last.",
            text::rate(mean)
        ));
    };
    let difference = (found.first / found.rest - 1.0) * 100.0;
    let off = difference.abs() >= EARLY.value && found.p <= 1.0 - SURE.value / 100.0;
    let length_s = found.length as f64 * view.usual_s();
    Made::of(
        if off { Outcome::Doubt } else { Outcome::Pass },
        format!(
            "The first {} had {} events per second and the rest {} ({} %, p = {}).",
            text::seconds(length_s),
            text::rate(found.first),
            text::rate(found.rest),
            text::signed(difference),
            text::plain(found.p)
        ),
        match difference < 0.0 {
            true => {
                "Warm up for longer (--warmup), until caches, plans and the CPU's frequency have \
                 settled."
            }
            false => {
                "It was faster at first: warm up for longer (--warmup), until logs and caches of \
                 writes are full, dirty pages are flushed and bursts are used up."
            }
        },
    )
    .with("beginning", length_s, "s")
    .with("its rate", found.first, "per second")
    .with("rest", found.rest, "per second")
    .with("difference", difference, "percent")
    .with("p", found.p, "probability")
}

/// Sessions that start within the measurement make a ramp of their own.
fn still_starting(view: &View) -> Option<Made> {
    let most = view.course.iter().map(|bin| bin.sessions).max()?;
    let fifth = (view.course.len() / 5).max(1);
    // A worker that has no CPU may miss a later interval: that is no start.
    let missing = view.course[..fifth]
        .iter()
        .take_while(|bin| bin.sessions < most)
        .count();
    let first = view.course.first()?.sessions;
    // The sessions of an imported log are not counted second by second.
    (missing > 0 && !view.imported()).then(|| {
        Made::doubt(
            format!(
                "Sessions still started within the measurement: {first} ran at the end of its \
                 first second and {most} later."
            ),
            "Let the warm-up (--warmup) last longer than the ramp (--ramp-up).",
        )
        .with("sessions, first second", first.into(), "count")
        .with("sessions, most", most.into(), "count")
    })
}

fn steady_state(view: &View) -> Made {
    let rates = view.rates();
    let seconds = rates.len();
    if (seconds as f64) < BINS.value {
        return Made::not_checked(format!("{seconds} whole seconds are too few for a trend."));
    }
    let Some(rate) = Trend::of(&rates) else {
        return Made::not_checked("The rate has no trend to compute.");
    };
    let latency = latency(view);
    let dips = recurring(view, &rates);
    let mut faults = unsteady(view, &rate, latency.as_ref());
    let trends = faults.len();
    let much = |dips: &&Dips| dips.lost * 100.0 >= DIPPED.value;
    faults.extend(dips.as_ref().filter(much).map(|dips| told(view, dips)));
    let dip = dips.as_ref().filter(|dips| !much(dips));
    let facts = rate.text(view, faults.is_empty(), dip);
    let steady = faults.is_empty();
    if steady && !rate.level() {
        return Made::not_checked(format!(
            "{facts} It is too short, or its rate too uneven, to exclude a drift of {} %: about \
             {} would do.",
            text::plain(DRIFT.value),
            text::seconds(rate.needs_s(view))
        ));
    }
    let (outcome, evidence) = match steady {
        true => (Outcome::Pass, facts),
        false => {
            let faults = text::sentence(&faults.join("; "));
            (Outcome::Doubt, format!("{faults} {facts}"))
        }
    };
    Made::of(
        outcome,
        evidence,
        match dips.as_ref().is_some_and(|dips| much(&dips)) && trends == 0 {
            true => {
                "Measure over many of their periods, and look at what the server does at that pace \
                 (checkpoints, purge, syncs)."
            }
            false => {
                "Measure longer and warm up longer; look at what changed in the server's series \
                 then (dirty pages, log, growth of the data)."
            }
        },
    )
    .with("drift", rate.drift, "percent of the mean")
    .with("drift, low", rate.sure.low, "percent of the mean")
    .with("drift, high", rate.sure.high, "percent of the mean")
    .with("Kendall's tau", rate.tau, "ratio")
    .with_some(
        "largest change of level",
        rate.change.map(|(_, by)| by),
        "percent",
    )
    .with_some("slow swing", rate.swing, "percent of the mean")
    .with_some(
        "period of dips",
        dips.map(|dips| dips.period * view.usual_s()),
        "s",
    )
    .with_some("second half over first", halves(&rates), "ratio")
    .with_some(
        "drift of the latency",
        latency.map(|trend| trend.drift),
        "percent of the mean",
    )
}

/// How long the run would have to be, in seconds, for its steadiness to be told; none if it could.
pub(super) fn undecided(view: &View) -> Option<f64> {
    let rates = view.rates();
    let made = steady_state(view);
    let enough = rates.len() as f64 >= BINS.value && made.outcome == Outcome::NotChecked;
    let rate = enough.then(|| Trend::of(&rates)).flatten()?;
    Some(rate.needs_s(view))
}

/// The mean of the second half over that of the first.
fn halves(rates: &[f64]) -> Option<f64> {
    let (first, second) = rates.split_at(rates.len() / 2);
    let first = dyno_stats::mean(first).filter(|mean| *mean > 0.0)?;
    Some(dyno_stats::mean(second)? / first)
}

/// Dips of the rate that recur. Stalls have a finding and a period of their own.
fn recurring(view: &View, rates: &[f64]) -> Option<Dips> {
    let Ok(found) = view.stalls() else {
        return dyno_stats::dips::dips(rates);
    };
    if found.period_s.is_some() {
        return None;
    }
    let usual = dyno_stats::median(&found.moving(rates))?;
    let with = rates.iter().zip(&found.stalled);
    let moving: Vec<f64> = with
        .map(|(x, still)| if *still { usual } else { *x })
        .collect();
    dyno_stats::dips::dips(&moving)
}

fn told(view: &View, dips: &Dips) -> String {
    format!(
        "it dips by {} % every {} ({} times), which takes {} % of the throughput",
        text::plain(dips.depth * 100.0),
        text::seconds(dips.period * view.usual_s()),
        dips.count,
        text::plain(dips.lost * 100.0)
    )
}

/// How the latency of an open loop goes.
fn latency(view: &View) -> Option<Trend> {
    let bins = view.course.iter().filter(|_| view.open_loop());
    let times: Vec<f64> = bins.filter_map(|bin| bin.latency_ms).collect();
    let enough = times.len() as f64 >= BINS.value;
    enough.then(|| Trend::of(&times)).flatten()
}

/// What speaks against a steady state.
fn unsteady(view: &View, rate: &Trend, latency: Option<&Trend>) -> Vec<String> {
    let mut faults = Vec::new();
    let still = view.stalls().ok();
    if let Some(found) = still.filter(|found| found.share() * 100.0 >= STILL.value) {
        faults.push(format!(
            "the rate stood still for {} of {}",
            text::seconds(found.stalled_s()),
            text::seconds(found.measured_s)
        ));
    }
    if rate.drifts(SMALL_DRIFT.value, DRIFT.value) {
        faults.push("the rate drifts".to_owned());
    }
    if let Some((index, change)) = rate.change.filter(|(_, by)| by.abs() >= DRIFT.value) {
        faults.push(format!(
            "its level changes by {} % at {}",
            text::signed(change),
            text::seconds(view.course[index].at_s - view.course[index].length_s)
        ));
    }
    if let Some(by) = rate.swing.filter(|by| *by >= DRIFT.value) {
        faults.push(format!("its level swings slowly by {} %", text::plain(by)));
    }
    if latency.is_some_and(|trend| trend.drifts(LATENCY_DRIFT.value, LATENCY_DRIFT.value)) {
        faults.push("the latency drifts".to_owned());
    }
    faults
}

/// How a series goes, in percent of its mean from its first value to its last.
struct Trend {
    drift: f64,
    /// Its 99 % interval, by which it is one.
    sure: Bounds,
    /// Its 90 % interval, by which there is none that matters: either side is left out with 95 %.
    likely: Bounds,
    /// Kendall's tau against time.
    tau: f64,
    /// The largest change of level: before which value, by how many percent.
    change: Option<(usize, f64)>,
    /// How far it swings slowly.
    swing: Option<f64>,
}

impl Trend {
    fn of(values: &[f64]) -> Option<Self> {
        let mean = dyno_stats::mean(values).filter(|mean| *mean > 0.0)?;
        let slope = dyno_stats::steady::slope_with(values, 0.99)?;
        let likely = dyno_stats::steady::slope_with(values, 0.90)?.bounds;
        let whole = |per_step: f64| per_step * (values.len() - 1) as f64 / mean * 100.0;
        let bounds = |bounds: Bounds| Bounds {
            low: whole(bounds.low),
            high: whole(bounds.high),
        };
        let changes = match (values.len() as f64) < CHANGE_BINS.value {
            true => Vec::new(),
            false => super::changes(values),
        };
        let change = changes
            .iter()
            .filter(|change| change.before_mean > 0.0)
            .map(|change| {
                let by = (change.after_mean / change.before_mean - 1.0) * 100.0;
                (change.index.min(values.len() - 1), by)
            })
            .max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()));
        Some(Self {
            drift: whole(slope.per_step),
            sure: bounds(slope.bounds),
            likely: bounds(likely),
            tau: dyno_stats::steady::tau(values).unwrap_or(0.0),
            change,
            swing: dyno_stats::steady::swing(values).map(|share| share * 100.0),
        })
    }

    /// What there is to say of it, with the interval that decided.
    fn text(&self, view: &View, steady: bool, dips: Option<&Dips>) -> String {
        let (level, bounds) = match steady {
            true => (90, self.likely),
            false => (99, self.sure),
        };
        format!(
            "Over the measurement the rate drifts by {} % of its mean ({level} % interval {} to \
             {} %){}{}.",
            text::signed(self.drift),
            text::signed(bounds.low),
            text::signed(bounds.high),
            pages(view),
            dips.map_or_else(String::new, |dips| format!("; {}", told(view, dips)))
        )
    }

    /// Surely by one bound, or in nearly all pairs of values by another.
    fn drifts(&self, sure: f64, ordered: f64) -> bool {
        let straight = self.sure.low > 0.0 || self.sure.high < 0.0;
        let by = self.drift.abs();
        (by >= sure && straight) || (by >= ordered && self.tau.abs() >= ORDER.value)
    }

    /// Whether a drift that matters is excluded.
    fn level(&self) -> bool {
        self.likely.low >= -DRIFT.value && self.likely.high <= DRIFT.value
    }

    /// At what length the interval is narrow enough to exclude one: it narrows with the square root
    /// of the length.
    fn needs_s(&self, view: &View) -> f64 {
        let half = (self.likely.high - self.likely.low) / 2.0;
        let room = (DRIFT.value - self.drift.abs()).max(DRIFT.value / 2.0);
        (view.length_s * (half / room).powi(2).max(1.0)).ceil()
    }
}

/// What the server had not written yet, at the beginning and at the end.
fn pages(view: &View) -> String {
    let dirty = view.ends("db.status.innodb_buffer_pool_pages_dirty");
    dirty.map_or_else(String::new, |(first, last)| {
        format!(
            "; dirty pages went from {} to {}",
            text::rate(first),
            text::rate(last)
        )
    })
}
