//! Checks 23 and 24: warm-up and steady state.

use dyno_core::finding::Outcome;

use crate::check::{Check, Made, Threshold};
use crate::text;
use crate::view::View;

pub(super) const WARM_UP: Check = Check {
    number: 23,
    name: "warm-up",
    title: "Whether the warm-up was long enough",
    rule: "Doubt if sessions still started within the measurement, or if the rate of its first \
           three seconds or of its first fifth differs from the rest by {0} % or more and by {1} \
           standard errors or more; needs {2} whole seconds.",
    thresholds: &[EARLY, ERRORS, BINS],
    make: warm_up,
};

pub(super) const STEADY_STATE: Check = Check {
    number: 24,
    name: "steady-state",
    title: "Trend and changes of level of throughput, and of latency in an open loop",
    rule: "Doubt if the rate drifts by {0} % or more of its mean over the measurement with 99 % \
           confidence or with Kendall's tau of {4}, if its level changes by as much, if the \
           latency of an open loop does by {1} %, or if it stood still for {5} % of the time; \
           needs {2} whole seconds, {3} for changes of level.",
    thresholds: &[DRIFT, LATENCY_DRIFT, BINS, CHANGE_BINS, ORDER, STILL],
    make: steady_state,
};

const EARLY: Threshold = Threshold {
    name: "difference of the beginning",
    value: 10.0,
    unit: "percent",
    why: "a fifth of the measurement that is off by a tenth moves the mean by 2 %, as much as is \
          allowed between repetitions",
};
const ERRORS: Threshold = Threshold {
    name: "standard errors of the difference",
    value: 3.5,
    unit: "count",
    why: "two tests of a dozen seconds with a variance that is estimated from them stay below one \
          wrong doubt in a hundred runs",
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
    let stalls = view.stalls().ok().filter(|found| !found.spans.is_empty());
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
    let cuts = [3, rates.len() / 5];
    let parts = cuts.iter().filter(|cut| **cut >= 3);
    let worst = parts
        .filter_map(|cut| Beginning::of(&rates, *cut))
        .max_by(|one, other| one.errors.total_cmp(&other.errors));
    let Some(worst) = worst else {
        return Made::pass(format!(
            "The rate is {} per second from the first second to the last.",
            text::rate(mean)
        ));
    };
    let off = worst.difference.abs() >= EARLY.value && worst.errors >= ERRORS.value;
    Made::of(
        if off { Outcome::Doubt } else { Outcome::Pass },
        format!(
            "The first {} seconds had {} events per second and the rest {} ({} %, {} standard \
             errors).",
            worst.seconds,
            text::rate(worst.first),
            text::rate(worst.rest),
            text::signed(worst.difference),
            text::plain(worst.errors)
        ),
        "Warm up for longer (--warmup), until caches, plans and the CPU's frequency have settled.",
    )
    .with("first seconds", worst.first, "per second")
    .with("rest", worst.rest, "per second")
    .with("difference", worst.difference, "percent")
    .with("standard errors", worst.errors, "count")
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

/// How the beginning differs from the rest.
struct Beginning {
    seconds: usize,
    first: f64,
    rest: f64,
    /// In percent of the rest.
    difference: f64,
    /// In standard errors, autocorrelation included.
    errors: f64,
}

impl Beginning {
    fn of(rates: &[f64], cut: usize) -> Option<Self> {
        let (first, rest) = rates.split_at_checked(cut)?;
        let seen = dyno_stats::describe(rest)?;
        let mean = dyno_stats::mean(first)?;
        if seen.mean <= 0.0 || seen.sd <= 0.0 {
            return None;
        }
        let memory = dyno_stats::autocorrelation::autocorrelation_time(rest).unwrap_or(1.0);
        let share = 1.0 / first.len() as f64 + 1.0 / rest.len() as f64;
        let error = seen.sd * (share * memory.max(1.0)).sqrt();
        Some(Self {
            seconds: cut,
            first: mean,
            rest: seen.mean,
            difference: (mean / seen.mean - 1.0) * 100.0,
            errors: ((mean - seen.mean) / error).abs(),
        })
    }
}

fn steady_state(view: &View) -> Made {
    let rates = view.rates();
    if (rates.len() as f64) < BINS.value {
        return Made::not_checked(format!(
            "{} whole seconds are too few to see a trend.",
            rates.len()
        ));
    }
    let Some(rate) = Trend::of(&rates) else {
        return Made::not_checked("The rate has no trend to compute.");
    };
    let times: Vec<f64> = match view.open_loop() {
        true => view
            .course
            .iter()
            .filter_map(|bin| bin.latency_ms)
            .collect(),
        false => Vec::new(),
    };
    let latency = match (times.len() as f64) < BINS.value {
        true => None,
        false => Trend::of(&times),
    };
    let faults = unsteady(view, &rate, latency.as_ref());
    let halves = rates.split_at(rates.len() / 2);
    let ratio = dyno_stats::mean(halves.1)
        .zip(dyno_stats::mean(halves.0).filter(|mean| *mean > 0.0))
        .map(|(second, first)| second / first);
    let facts = format!(
        "Over the measurement the rate drifts by {} % of its mean (99 % interval {} to {} %){}.",
        text::signed(rate.drift),
        text::signed(rate.low),
        text::signed(rate.high),
        pages(view)
    );
    let evidence = match faults.is_empty() {
        true => facts,
        false => format!("{} {facts}", text::sentence(&faults.join("; "))),
    };
    Made::of(
        if faults.is_empty() {
            Outcome::Pass
        } else {
            Outcome::Doubt
        },
        evidence,
        "Measure longer and warm up longer; look at what changed in the server's series then \
         (dirty pages, log, growth of the data).",
    )
    .with("drift", rate.drift, "percent of the mean")
    .with("drift, low", rate.low, "percent of the mean")
    .with("drift, high", rate.high, "percent of the mean")
    .with("Kendall's tau", rate.tau, "ratio")
    .with_some(
        "largest change of level",
        rate.change.map(|(_, by)| by),
        "percent",
    )
    .with_some("second half over first", ratio, "ratio")
    .with_some(
        "drift of the latency",
        latency.map(|trend| trend.drift),
        "percent of the mean",
    )
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
    if rate.drifts(DRIFT.value) {
        faults.push("the rate drifts".to_owned());
    }
    if let Some((index, change)) = rate.change.filter(|(_, by)| by.abs() >= DRIFT.value) {
        faults.push(format!(
            "its level changes by {} % at {}",
            text::signed(change),
            text::seconds(view.course[index].at_s - view.course[index].length_s)
        ));
    }
    if latency.is_some_and(|trend| trend.drifts(LATENCY_DRIFT.value)) {
        faults.push("the latency drifts".to_owned());
    }
    faults
}

/// How a series goes, in percent of its mean from its first value to its last.
struct Trend {
    drift: f64,
    low: f64,
    high: f64,
    /// Kendall's tau against time.
    tau: f64,
    /// The largest change of level: before which value, by how many percent.
    change: Option<(usize, f64)>,
}

impl Trend {
    fn of(values: &[f64]) -> Option<Self> {
        let mean = dyno_stats::mean(values).filter(|mean| *mean > 0.0)?;
        let slope = dyno_stats::steady::slope_with(values, 0.99)?;
        let whole = |per_step: f64| per_step * (values.len() - 1) as f64 / mean * 100.0;
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
            low: whole(slope.bounds.low),
            high: whole(slope.bounds.high),
            tau: dyno_stats::steady::tau(values).unwrap_or(0.0),
            change,
        })
    }

    fn drifts(&self, bound: f64) -> bool {
        let straight = self.low > 0.0 || self.high < 0.0;
        self.drift.abs() >= bound && (straight || self.tau.abs() >= ORDER.value)
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
