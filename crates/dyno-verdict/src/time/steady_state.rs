//! Checks 23 and 24: warm-up and steady state.

mod logged;
mod spells;
mod trend;
mod why;

use dyno_analysis::stalls::{Span, Stalls};
use dyno_core::finding::{Cause, Outcome};
use dyno_stats::Beginning;
use dyno_stats::dips::Dips;

use super::causes::{self, Explained};
use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::generator::open_loop;
use crate::missing::Missing;
use crate::text;
use crate::view::View;
use trend::{Change, Trend};
use why::{causes_of, slower_part};

pub(super) const WARM_UP: Check = Check {
    number: 23,
    name: "warm-up",
    title: "Whether the warm-up was long enough",
    rule: "Doubt if sessions still started during the measurement, its beginning (3, 6, 12, … \
           seconds, up to a fifth) differs from the rest by {0} % with {1} % confidence, or the \
           rate steps within that fifth by {3} %. Not checked if the beginning differs by {4} % \
           and moves the mean by {5} %, but without that confidence, or if `steady-state` reports \
           a longer drift. If the rate steps later, only the part before the step is checked. \
           Needs {2} whole seconds without stalls.",
    thresholds: &[EARLY, SURE, BINS, DRIFT, UNDECIDED, MOVED],
    make: warm_up,
};

pub(super) const STEADY_STATE: Check = Check {
    number: 24,
    name: "steady-state",
    title: "Trends and level changes of throughput and open-loop latency",
    rule: "Doubt, unless `warm-up` reports it, if the rate drifts by {1} % for certain or by {0} % \
           steadily, or its level steps, changes several times or swings slowly by {0} %. Doubt if \
           recurring dips or low spells cost {7} % of the throughput, an open loop's latency \
           drifts by {2} % without overload, or an imported log reports an unsteady load or rate. \
           Pass if a drift of {9} % is excluded. Not checked if it is not excluded, stalls took \
           {6} % of the time, or there are fewer than {3} whole seconds.",
    thresholds: &[
        DRIFT,
        SMALL_DRIFT,
        LATENCY_DRIFT,
        BINS,
        CHANGE_BINS,
        ORDER,
        STILL,
        DIPPED,
        SURE,
        EXCLUDED,
        LONG_BINS,
    ],
    make: logged::steady_state,
};

thresholds! {
    EARLY = 10.0, "percent", "difference of the beginning":
        "a fifth that is off by a tenth moves the mean by 2 %";
    SURE = 99.0, "percent", "confidence in the difference":
        "one or two false doubts in a hundred runs";
    UNDECIDED = 30.0, "percent", "difference that must be excluded":
        "the same bound as for a drift";
    MOVED = 2.0, "percent of the mean", "effect of such a beginning":
        "a fifth that is off by a tenth has this effect";
    BINS = 10.0, "count", "whole seconds": "fewer show neither a trend nor a beginning";
    LONG_BINS = 6.0, "count", "intervals of 5 s or longer": "a step needs three means on each side";
}
const LONG_S: f64 = 5.0;
thresholds! {
    DRIFT = 20.0, "percent", "drift or level change of the rate":
        "checkpoints and flushing move a healthy server's rate by a tenth";
    EXCLUDED = 30.0, "percent", "excluded drift":
        "the halves of the run then differ by less than 15 %, within the mean's interval";
    SMALL_DRIFT = 10.0, "percent", "certain drift": "the two halves of the run then differ by 5 %";
    LATENCY_DRIFT = 50.0, "percent", "drift of the latency": "queues amplify small changes";
    CHANGE_BINS = 60.0, "count", "whole seconds for several level changes":
        "with fewer, permuting blocks finds a step in only one run of four";
    STILL = 20.0, "percent of the time", "stalled time":
        "stalls then lower the mean as much as a drift may";
    DIPPED = 5.0, "percent of the throughput", "lost in recurring dips or low spells":
        "runs can be compared only if they contain equally many";
    ORDER = 0.8, "ratio", "Kendall's tau of a drift":
        "without a drift, a dozen seconds reach it in one of a thousand runs";
}

fn warm_up(view: &View) -> CheckResult {
    if let Some(result) = still_starting(view) {
        return result;
    }
    // A stall is not a beginning: it has a separate finding.
    let still = |found: &Stalls| found.set_aside.contains(&true);
    let stalls = view.stalls().ok().filter(still);
    let all = view.rates();
    let rates = stalls
        .as_ref()
        .map_or(all.clone(), |found| found.moving(&all));
    let Some(mean) = dyno_stats::mean(&rates).filter(|mean| *mean > 0.0) else {
        return match view.imported() && all.is_empty() {
            true => Missing::Rates.result(),
            false => CheckResult::not_checked("No rate per second was recorded."),
        };
    };
    let step = Change::step(&rates).filter(Change::matters);
    if let Some(step) = step.filter(|step| step.is_beginning(rates.len())) {
        return beginning(view, &step.as_beginning(&rates));
    }
    // Values after a step are another level, not a fault of the beginning.
    let step = step.filter(|step| !step.is_early(rates.len()));
    let rates = &rates[..step.map_or(rates.len(), |step| step.index)];
    if (rates.len() as f64) < BINS.value {
        return CheckResult::not_checked(format!(
            "{}{}{} {} too few to distinguish a beginning from the rest.",
            view.whole(rates.len()),
            if stalls.is_some() { " that moved" } else { "" },
            if step.is_some() {
                " before the level steps"
            } else {
                ""
            },
            text::verb(rates.len(), "is", "are")
        ));
    }
    let Some(found) = dyno_stats::beginning(rates).filter(|found| found.rest > 0.0) else {
        return CheckResult::pass(format!(
            "The rate is {} per second from the first second to the last.",
            text::rate(mean)
        ));
    };
    let result = beginning(view, &found);
    let differs = (found.first / found.rest - 1.0).abs() * 100.0 >= EARLY.value;
    let passes = result.outcome == Outcome::Pass;
    if differs && step.is_none() && ((passes && trend::drifts(rates)) || trend::drifts_on(rates)) {
        return CheckResult::not_checked(
            "The rate keeps drifting after its beginning (see `steady-state`), so the beginning \
             is part of that drift.",
        );
    }
    if passes && let Some(large) = large_beginning(rates) {
        let found = beginning(view, &large).evidence;
        return CheckResult::not_checked(format!(
            "{found} The run is too short, or its rate too uneven, to distinguish that from chance."
        ));
    }
    if result.outcome == Outcome::Doubt
        && recurring(view, &all).is_some_and(|dips| lose_much(&dips))
    {
        return CheckResult::not_checked(
            "The rate dips repeatedly (see `steady-state`): a dip at the beginning is one of \
             these.",
        );
    }
    result
}

/// A beginning whose difference is large and affects the mean, so that it must not pass. In a few
/// uneven seconds it may be chance.
fn large_beginning(rates: &[f64]) -> Option<Beginning> {
    let is_large = |found: &Beginning| {
        let difference = (found.first / found.rest - 1.0).abs() * 100.0;
        let moved = difference * found.length as f64 / rates.len() as f64;
        found.rest > 0.0 && difference >= UNDECIDED.value && moved >= MOVED.value
    };
    let mut all = dyno_stats::beginnings(rates).into_iter();
    all.find(is_large)
}

/// The rate at the beginning, and whether it differs.
fn beginning(view: &View, found: &Beginning) -> CheckResult {
    let difference = (found.first / found.rest - 1.0) * 100.0;
    let off = difference.abs() >= EARLY.value && found.p <= 1.0 - SURE.value / 100.0;
    let length_s = found.length as f64 * view.usual_s();
    let causes = match off {
        true => slower_part(view, length_s, difference < 0.0),
        false => Explained::default(),
    };
    let usual_advice = match difference < 0.0 {
        true => {
            "Warm up for longer (--warmup), until caches, plans and the CPU's frequency have \
             settled."
        }
        false => {
            "Warm up for longer (--warmup), until logs and write caches are full, dirty pages are \
             flushed and bursts are used up: the rate was higher at first."
        }
    };
    let advice = causes::advice::of_beginning(view, &causes.causes, usual_advice);
    // The summary shows only the first sentence.
    let why = match (causes.differences.as_str(), difference < 0.0) {
        ("", _) => format!(".{}", causes.sentence),
        (differences, true) => format!("; at first: {differences}."),
        (differences, false) => format!("; from then on: {differences}."),
    };
    let steady = off.then(|| crate::part::steady_of(&view.bins)).flatten();
    let steady = steady.map_or_else(String::new, |from_s| {
        format!(
            " The rate is steady from second {from_s} of the measurement: `dyno show RUN --from \
             TIME` judges only that part."
        )
    });
    CheckResult::of(
        doubt_if(off),
        format!(
            "The first {} had {} events per second and the rest {} ({} %, p {}){why}",
            text::seconds(length_s),
            text::rate(found.first),
            text::rate(found.rest),
            text::signed(difference),
            text::chance(found.p)
        ),
        &format!("{advice}{steady}"),
    )
    .naming(causes.causes)
    .naming((off && difference < 0.0).then_some(Cause::SlowBeginning))
    .with("beginning", length_s, "s")
    .with("its rate", found.first, "per second")
    .with("rest", found.rest, "per second")
    .with("difference", difference, "percent")
    .with("p", found.p, "probability")
}

/// Sessions that start within the measurement cause a ramp.
fn still_starting(view: &View) -> Option<CheckResult> {
    let most = view.bins.iter().filter_map(|bin| bin.sessions).max()?;
    let fifth = (view.bins.len() / 5).max(1);
    // A worker without a CPU may miss a later interval: that is not a start.
    let missing = view.bins[..fifth]
        .iter()
        .take_while(|bin| bin.sessions.is_some_and(|sessions| sessions < most))
        .count();
    let first = view.bins.first()?.sessions?;
    let idle = causes::idle::during(
        view,
        Span {
            from_s: 0.0,
            to_s: view.bins[..missing].last().map_or(0.0, |bin| bin.at_s),
        },
    );
    let idle = Some(idle).filter(|idle| idle.len() >= most.saturating_sub(first) as usize);
    let idle = idle.and_then(|idle| causes::idle::describe(&idle));
    let (why, advice) = match &idle {
        Some(idle) => (format!(": {}", idle.words), causes::idle::ADVICE),
        None => (
            String::new(),
            "Let the warm-up (--warmup) last longer than the ramp (--ramp-up).",
        ),
    };
    // An imported log does not count its sessions every second.
    (missing > 0 && !view.imported()).then(|| {
        CheckResult::doubt(
            format!(
                "Sessions still started within the measurement: {first} ran at the end of its \
                 first second and {most} later{why}."
            ),
            advice,
        )
        .naming(idle.map(|idle| idle.cause))
        .with("sessions, first second", first.into(), "count")
        .with("sessions, most", most.into(), "count")
    })
}

const OF_DIPS: &str = "Measure over many periods of the dips, and look at what the server does at \
                       that pace (checkpoints, purge, syncs).";
const OF_TRENDS: &str = "Measure longer and warm up longer; look at what changed in the server's \
                         series then (dirty pages, log, growth of the data).";

fn steady_state(view: &View) -> CheckResult {
    let rates = view.rates();
    if !are_enough(view, &rates) {
        let few = view.whole_are(rates.len());
        return CheckResult::not_checked(format!("{few} too few for a trend."));
    }
    let Some(rate) = Trend::of(&without_stalls(view, &rates)) else {
        return CheckResult::not_checked("The rate's trend cannot be computed.");
    };
    let latency = latency(view);
    let dips = recurring(view, &rates);
    let change = change(view, &rates);
    let mut faults = unsteady(view, &rate, change, latency.as_ref());
    let trends = faults.len();
    let much = |dips: &&Dips| lose_much(dips);
    faults.extend(dips.as_ref().filter(much).map(|dips| dips_text(view, dips)));
    let spells = spells::of(view, &rates).filter(|_| faults.is_empty());
    faults.extend(spells.as_ref().map(|spells| spells::describe(view, spells)));
    match still(view) {
        Some(still) if faults.is_empty() => return CheckResult::not_checked(still),
        _ => {}
    }
    let dip = dips.as_ref().filter(|dips| !much(dips));
    let facts = rate.text(view, faults.is_empty() || spells.is_some(), dip);
    let steady = faults.is_empty();
    if steady && !rate.level() {
        return CheckResult::not_checked(format!(
            "{facts} The run is too short, or its rate too uneven, to exclude a drift of {} %: \
             about {} would be enough.",
            text::plain(EXCLUDED.value),
            text::seconds(rate.needs_s(view))
        ));
    }
    let (outcome, evidence, causes) = match steady {
        true => (Outcome::Pass, facts, Vec::new()),
        false => {
            let faults = text::sentence(&faults.join("; "));
            let why = match &spells {
                Some(spells) => spells::causes(view, spells),
                None => causes_of(view, &rate, change, dips.as_ref().filter(much)),
            };
            let evidence = format!("{faults} {facts}{}", why.sentence);
            (Outcome::Doubt, evidence, why.causes)
        }
    };
    let dips_only = trends == 0 && (spells.is_some() || dips.as_ref().is_some_and(|d| much(&d)));
    let (drift, bounds) = rate.decided(steady || spells.is_some());
    let period_s = dips.map(|dips| dips.period * view.usual_s());
    let advice = if dips_only { OF_DIPS } else { OF_TRENDS };
    let advice = causes::advice::advice(&causes, advice);
    let latency_drift = latency.map(|trend| trend.drift);
    let result = CheckResult::of(outcome, evidence, advice)
        .naming(causes)
        .with("drift", drift, "percent")
        .with("drift, low", bounds.low, "percent")
        .with("drift, high", bounds.high, "percent")
        .with("Kendall's tau", rate.tau, "ratio")
        .with_some("slow swing", rate.swing, "percent of the mean")
        .with_some("period of dips", period_s, "s")
        .with_some("second half over first", halves(&rates), "ratio")
        .with_some("drift of the latency", latency_drift, "percent");
    match change {
        Some(change) => result
            .with("largest change of level", change.by, "percent")
            .with_some("p of the step", change.p, "probability"),
        None => result,
    }
}

/// Whether the level of the rate moves, as these two checks or `stalls` report.
pub(super) fn level_moves(view: &View) -> bool {
    let results = [warm_up(view), steady_state(view)];
    still(view).is_some()
        || results
            .iter()
            .any(|result| result.outcome == Outcome::Doubt)
}

/// The length of the run, in seconds, that could decide its steadiness; `None` if it is decided.
pub(super) fn undecided(view: &View) -> Option<f64> {
    let rates = view.rates();
    let result = steady_state(view);
    let enough = are_enough(view, &rates) && result.outcome == Outcome::NotChecked;
    let enough = enough && still(view).is_none();
    let rate = enough
        .then(|| Trend::of(&without_stalls(view, &rates)))
        .flatten()?;
    Some(rate.needs_s(view))
}

fn are_enough(view: &View, rates: &[f64]) -> bool {
    let least = match view.usual_s() >= LONG_S {
        true => LONG_BINS.value,
        false => BINS.value,
    };
    rates.len() as f64 >= least
}

/// The mean of the second half over that of the first.
fn halves(rates: &[f64]) -> Option<f64> {
    let (first, second) = rates.split_at(rates.len() / 2);
    let first = dyno_stats::mean(first).filter(|mean| *mean > 0.0)?;
    Some(dyno_stats::mean(second)? / first)
}

fn lose_much(dips: &Dips) -> bool {
    dips.lost * 100.0 >= DIPPED.value
}

/// Recurring dips of the rate. Stalls have a separate finding and period.
fn recurring(view: &View, rates: &[f64]) -> Option<Dips> {
    let recur = view.stalls().is_ok_and(|found| found.period_s.is_some());
    match recur || view.has_long_events() {
        true => None,
        false => dyno_stats::dips::dips(&without_stalls(view, rates)),
    }
}

/// The largest change of level, unless `warm-up` reports it as a beginning. Excludes stalls.
fn change(view: &View, rates: &[f64]) -> Option<Change> {
    let change = Change::of(&without_stalls(view, rates))?;
    let reported = || warm_up(view).outcome == Outcome::Doubt;
    let is_beginning = change.is_early(rates.len()) && reported();
    (!is_beginning).then_some(change)
}

/// The rates with the usual one in place of stalled seconds.
fn without_stalls(view: &View, rates: &[f64]) -> Vec<f64> {
    let Ok(found) = view.stalls() else {
        return rates.to_vec();
    };
    let Some(usual) = dyno_stats::median(&found.moving(rates)) else {
        return rates.to_vec();
    };
    let with = rates.iter().zip(&found.set_aside);
    with.map(|(x, still)| if *still { usual } else { *x })
        .collect()
}

fn dips_text(view: &View, dips: &Dips) -> String {
    format!(
        "the rate dips by {} % every {} ({} times), which costs {} % of the throughput",
        text::plain(dips.depth * 100.0),
        text::seconds(dips.period * view.usual_s()),
        dips.count,
        text::plain(dips.lost * 100.0)
    )
}

/// A significant step of a rate: its index and its size in percent.
pub(super) fn step(rates: &[f64]) -> Option<(usize, f64)> {
    let step = Change::step(rates).filter(Change::matters)?;
    Some((step.index, step.by))
}

/// The trend of the latency of an open loop.
fn latency(view: &View) -> Option<Trend> {
    let bins = view.bins.iter().filter(|_| view.open_loop());
    let times: Vec<f64> = bins.filter_map(|bin| bin.latency_ms).collect();
    let enough = times.len() as f64 >= BINS.value;
    enough.then(|| Trend::of(&times)).flatten()
}

/// The stalled time as text, if too little other time is left to judge steadiness.
fn still(view: &View) -> Option<String> {
    let found = view.stalls().ok()?;
    (found.share() * 100.0 >= STILL.value).then(|| {
        format!(
            "The rate stalled for {} of {} (see `stalls`): the rest does not show whether it is \
             steady.",
            text::seconds(found.stalled_s()),
            text::seconds(found.measured_s)
        )
    })
}

/// Whether the rate drifts beyond its beginning, which `warm-up` checks.
fn drifts(view: &View, rate: &Trend) -> bool {
    let on = || trend::drifts_on(&without_stalls(view, &view.rates()));
    rate.drifts(SMALL_DRIFT.value, DRIFT.value) && (warm_up(view).outcome != Outcome::Doubt || on())
}

fn unsteady(
    view: &View,
    rate: &Trend,
    change: Option<Change>,
    latency: Option<&Trend>,
) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(change) = change.filter(Change::matters) {
        faults.push(change.text(view));
    } else if drifts(view, rate) {
        faults.push("the rate drifts".to_owned());
    }
    if let Some(by) = rate.swing.filter(|by| *by >= DRIFT.value) {
        faults.push(format!("the rate swings slowly by {} %", text::plain(by)));
    }
    let drifts = latency.filter(|trend| trend.drifts(LATENCY_DRIFT.value, LATENCY_DRIFT.value));
    // A growing queue explains the drift.
    if let Some(trend) = drifts.filter(|_| !open_loop::overloaded(view)) {
        faults.push(format!(
            "the latency drifts by {} %",
            text::plain(trend.drift)
        ));
    }
    faults
}
