//! Checks 42 to 50: the reliability of a comparison.

use dyno_core::finding::{Finding, Outcome, Verdict};
use dyno_core::record::RunState;

use crate::check::CheckResult;
use crate::compare::tables::TABLE;
use crate::compare::{
    Basis, CompareOptions, Comparison, DURING_RUN, Metric, MetricKind, RunLabel, Side,
};
use crate::registry::COMPARISON;
use crate::text;

pub(super) fn findings(comparison: &Comparison, options: &CompareOptions) -> Vec<Finding> {
    let results = [
        environments(comparison),
        order(comparison),
        run_to_run(comparison, options),
        autocorrelation(comparison),
        many(comparison),
        intervals(comparison),
        percentiles(comparison),
        statistic(comparison),
        listed(comparison),
    ];
    COMPARISON
        .iter()
        .zip(results)
        .map(|(check, result)| check.finding(result))
        .collect()
}

fn environments(comparison: &Comparison) -> CheckResult {
    let all = &comparison.differences;
    let (intended, mut other): (Vec<_>, Vec<_>) =
        all.iter().partition(|difference| difference.intended);
    // A dropped index explains more than any setting, and only the first few are named.
    other.sort_by_key(|one| !is_of_data(&one.what));
    let named = |differences: &[&crate::compare::Difference]| -> Vec<String> {
        let one =
            |d: &&crate::compare::Difference| format!("{} ({} against {})", d.what, d.base, d.new);
        differences.iter().map(one).collect()
    };
    let on_purpose = match intended.is_empty() {
        true => String::new(),
        false => format!(
            "; declared differences: {}",
            text::few(&named(&intended), 3)
        ),
    };
    // A difference in Dyno's command line counts as declared. For anything else, such as a table's
    // engine, Dyno cannot know the intention.
    let factor = intended.is_empty() && matches!(other.as_slice(), [only] if is_typed(&only.what));
    let unknown = &comparison.unknown_workloads;
    let outcome = match (other.is_empty() || factor) && unknown.is_empty() {
        true => Outcome::Pass,
        false => Outcome::Doubt,
    };
    let mut evidence = if all.is_empty() {
        match comparison.tables_read {
            true => "The sides have no recorded differences, and their tables are the same.",
            false => {
                "The sides have no recorded differences. Their table definitions were not \
                 recorded, so another storage engine or a missing index would not show."
            }
        }
        .to_owned()
    } else if other.is_empty() {
        format!(
            "The sides differ only as declared, in {}.",
            text::few(&named(&intended), 3)
        )
    } else if factor {
        format!("The sides differ only in {}.", text::list(&named(&other)))
    } else {
        format!(
            "The sides differ in {} not declared: {}{on_purpose}.",
            match other.len() {
                1 => "one thing that was".to_owned(),
                several => format!("{several} things that were"),
            },
            text::few(&named(&other), 5)
        )
    };
    if !unknown.is_empty() {
        evidence = format!(
            "The logs of {} do not name their workload, so their workloads may differ. {evidence}",
            text::few(unknown, 3)
        );
    }
    let advice = match other.is_empty() && !unknown.is_empty() {
        true => "Name the workload of a log: dyno import … --workload NAME --replace.",
        false => "Declare intended differences with --factor, and make the rest the same.",
    };
    CheckResult::of(outcome, evidence, advice)
        .with("intended differences", intended.len() as f64, "count")
        .with("other differences", other.len() as f64, "count")
}

/// Whether a table differs, or something that changed during a run.
fn is_of_data(what: &str) -> bool {
    what.starts_with(TABLE) || what.starts_with(DURING_RUN)
}

/// Whether the command lines differ in this: an option, the load, the workload.
fn is_typed(what: &str) -> bool {
    const TYPED: [&str; 9] = [
        "sessions", "rate", "arrivals", "workload", "script", "target", "workers", "time", "events",
    ];
    what.starts_with("option ") || what.starts_with("factor ") || TYPED.contains(&what)
}

fn order(comparison: &Comparison) -> CheckResult {
    let (base, new) = (&comparison.base.runs, &comparison.new.runs);
    if base.len().max(new.len()) < 2 {
        return CheckResult::not_checked(
            "With one run a side nothing can be interleaved: whatever changed on the host between \
             the runs is part of the difference.",
        );
    }
    let side = |runs: &[RunLabel], is_new: bool| -> Option<Vec<(f64, bool)>> {
        let started = runs.iter().map(|run| Some((run.started_unix_s?, is_new)));
        started.collect()
    };
    let (Some(mut all), Some(other)) = (side(base, false), side(new, true)) else {
        return CheckResult::not_checked("The start times of some runs are not known.");
    };
    all.extend(other);
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let switches = all.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    let outcome = if switches > 1 {
        Outcome::Pass
    } else {
        Outcome::Doubt
    };
    let how = match outcome {
        Outcome::Pass => "interleaved",
        _ => "one side after the other",
    };
    let order: String = all
        .iter()
        .map(|(_, new)| if *new { 'B' } else { 'A' })
        .collect();
    CheckResult::of(
        outcome,
        format!("The runs were {how}: {order} (A base, B new)."),
        "Alternate the sides (A B B A …), so that slow changes on the host affect both.",
    )
    .with("changes of side", switches as f64, "count")
}

fn run_to_run(comparison: &Comparison, options: &CompareOptions) -> CheckResult {
    let counts = format!(
        "{} and {} runs",
        comparison.base.runs.len(),
        comparison.new.runs.len()
    );
    if comparison.basis == Basis::BetweenRuns {
        return CheckResult::pass(format!(
            "Intervals and tests use the run-to-run variance of the {counts}."
        ));
    }
    if let Some(known) = options.run_to_run {
        return CheckResult::pass(format!(
            "Repeated runs differ by {} on this host (standard deviation of {} runs); a difference \
             below {} is not called an effect.",
            text::percent(known.deviation),
            known.runs,
            text::percent(2.0 * std::f64::consts::SQRT_2 * known.deviation)
        ))
        .with(
            "standard deviation from run to run",
            known.deviation,
            "ratio",
        );
    }
    CheckResult::doubt(
        format!(
            "With {counts} the run-to-run variance is not known{}.",
            match comparison.metrics.iter().any(|metric| metric.low.is_some()) {
                true => {
                    ": the intervals include only the variation within runs, and are too narrow"
                }
                false => ", and the runs have too few intervals to compute bounds",
            }
        ),
        "Make at least three runs a side, in alternating order.",
    )
}

fn autocorrelation(comparison: &Comparison) -> CheckResult {
    if comparison.basis == Basis::BetweenRuns {
        return CheckResult::pass(
            "Each run counts as one value, so correlation within runs does not matter.",
        );
    }
    if comparison.metrics.iter().all(|metric| metric.p.is_none()) {
        return CheckResult::not_checked("No metric has values over time.");
    }
    CheckResult::pass(
        "Intervals and tests use the long-run variance of the seconds, not their plain variance.",
    )
}

fn many(comparison: &Comparison) -> CheckResult {
    let tested = comparison
        .metrics
        .iter()
        .filter(|metric| metric.p.is_some());
    let count = tested.count();
    if count == 0 {
        return CheckResult::not_checked("No metric was tested.");
    }
    CheckResult::pass(match count {
        1 => "1 metric was tested, so its p-value needs no correction.".to_owned(),
        count => {
            format!("{count} metrics were tested; their p-values are corrected by Holm's method.")
        }
    })
    .with("metrics tested", count as f64, "count")
}

fn intervals(comparison: &Comparison) -> CheckResult {
    let ratios = || {
        comparison
            .metrics
            .iter()
            .filter(|metric| metric.ratio.is_some())
    };
    let bare: Vec<String> = ratios()
        .filter(|metric| metric.low.is_none())
        .filter(|metric| !extreme(metric) && !beside_the_mean(metric) && !counted_once(metric))
        .map(|metric| metric.name.clone())
        .collect();
    let all = ratios().count();
    if all == 0 {
        return CheckResult::not_checked("No ratio could be computed.");
    }
    let evidence = match bare.is_empty() {
        true => format!(
            "Each of {} has an interval, except those of maxima and medians of seconds.",
            text::number_of(all, "ratio")
        ),
        false => format!(
            "{} of {} {} no interval: {}. Maxima and medians of seconds never have one.",
            bare.len(),
            text::number_of(all, "ratio"),
            text::verb(bare.len(), "has", "have"),
            bare.join("; ")
        ),
    };
    CheckResult::of(
        if bare.is_empty() {
            Outcome::Pass
        } else {
            Outcome::Doubt
        },
        evidence,
        "Measure at least 30 intervals, or make at least three runs a side: a few intervals vary \
         too much to judge.",
    )
    .with("ratios without interval", bare.len() as f64, "count")
}

fn extreme(metric: &Metric) -> bool {
    metric.kind == MetricKind::Maximum
}

/// Whether it is the median second, shown next to the mean, which has an interval and a test.
fn beside_the_mean(metric: &Metric) -> bool {
    metric.kind == MetricKind::MedianSecond
}

/// Whether a run has only one value: the share of late events, the backlog.
fn counted_once(metric: &Metric) -> bool {
    metric.kind == MetricKind::OncePerRun
}

fn percentiles(comparison: &Comparison) -> CheckResult {
    let left_out = comparison
        .metrics
        .iter()
        .any(|metric| metric.kind == MetricKind::Unmerged);
    CheckResult::pass(match left_out {
        true => "Percentiles that could only be averaged are left out.",
        false => "Each side's percentiles come from its merged distribution, or from its only run.",
    })
}

fn statistic(comparison: &Comparison) -> CheckResult {
    CheckResult::pass(format!(
        "Both sides use all of their runs, {} and {}; neither shows a best of several.",
        comparison.base.runs.len(),
        comparison.new.runs.len()
    ))
}

fn listed(comparison: &Comparison) -> CheckResult {
    let bad: Vec<String> = [&comparison.base, &comparison.new]
        .into_iter()
        .flat_map(|side| &side.runs)
        .filter_map(unfit)
        .collect();
    let names = |side: &Side| side.names();
    let listed = format!(
        "Base: {}; new: {}. Deleted runs are not known.",
        names(&comparison.base),
        names(&comparison.new)
    );
    let runs = || [&comparison.base, &comparison.new].map(|side| &side.runs);
    let refused = |run: &RunLabel| run.verdict == Some(Verdict::Refused);
    let outcome = match runs().into_iter().flatten().any(refused) {
        true => Outcome::Refuse,
        false if bad.is_empty() => Outcome::Pass,
        false => Outcome::Doubt,
    };
    CheckResult::of(
        outcome,
        match bad.is_empty() {
            true => listed,
            false => text::sentence(&text::few(&bad, 4)),
        },
        "Leave out runs that must not be used, and say so. Check doubtful ones with `dyno show`: \
         what affected only one side is part of the ratio.",
    )
    .with("unfit runs", bad.len() as f64, "count")
}

fn unfit(run: &RunLabel) -> Option<String> {
    let why = match (run.state, run.verdict) {
        (_, Some(Verdict::Refused)) => "was refused".to_owned(),
        (RunState::Failed, _) => "failed".to_owned(),
        (RunState::Running, _) => "never finished".to_owned(),
        _ if !run.doubts.is_empty() => {
            let more = match run.more_doubts {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("is doubtful ({}{more})", run.doubts.join(", "))
        }
        _ => return None,
    };
    Some(format!("run {} {why}", run.id))
}
