//! Comparison of two sides of runs: changes, confidence intervals, and other differences.

mod differences;
mod equivalence;
mod estimate;
mod judged;
mod metrics;
mod moved;
mod refusal;
mod settled;
mod tables;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use dyno_analysis::stalls::{RunStalls, of_run};
use dyno_core::finding::{Cause, Finding, Outcome, Tally, Verdict};
use dyno_core::headline::headline_percent;
use dyno_core::record::{RunRecord, RunState};
use dyno_stats::Margin;
use serde::Serialize;

use crate::context::Context;
use crate::text;
use crate::view::View;

pub use dyno_core::reported::Better;
pub use equivalence::{Amount, EquivalenceTest, Needs};
pub use moved::DURING_RUN;
pub use refusal::CompareError;
pub use settled::{leave_out_moved, waited};

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// The confidence of intervals, in (0, 1); the significance level is 1 minus this.
    pub confidence: f64,
    /// Intended differences, by the names of [`Difference::what`] or their last words, e.g.
    /// `sessions`, `setting innodb_flush_log_at_trx_commit`, `server.version`.
    pub intended: Vec<String>,
    /// Compare different workloads anyway.
    pub other_workload: bool,
    /// The run-to-run variation on this host, if measured.
    pub run_to_run: Option<RunToRun>,
    /// Test whether each figure is the same within this margin.
    pub equivalent: Option<Margin>,
}

/// The variation between equal runs (an A/A comparison).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunToRun {
    /// Standard deviation of the rate from run to run over its mean, 0 to 1.
    pub deviation: f64,
    /// The number of runs.
    pub runs: u32,
    /// When it was measured, seconds since the Unix epoch.
    pub when_unix_s: f64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            intended: Vec::new(),
            other_workload: false,
            run_to_run: None,
            equivalent: None,
        }
    }
}

/// The comparison of two sides. It and its parts are the content of `dyno compare --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The baseline.
    pub base: Side,
    /// The side to compare with it.
    pub new: Side,
    /// The basis of the intervals and tests.
    pub basis: Basis,
    /// The margin of the tests of equivalence, if requested: 0.02 is 2 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equivalent_within: Option<f64>,
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// Differences between the sides other than the figures.
    pub differences: Vec<Difference>,
    /// Whether the comparison includes the definitions of the tables.
    #[serde(skip)]
    pub tables_read: bool,
    /// Runs with a log that does not name the workload, which may therefore differ.
    #[serde(skip)]
    pub unknown_workloads: Vec<String>,
    /// Whether a run is a test of the host, whose events are no transactions.
    #[serde(skip)]
    pub host_test: bool,
    /// Checks 42 to 50.
    pub findings: Vec<Finding>,
}

impl Comparison {
    /// The main metric of the comparison: the throughput, or for an open loop, which has a
    /// requested rate, the response time at the percentile of headlines.
    pub fn subject(&self) -> Option<&Metric> {
        let called = |name: &str| self.metrics.iter().find(|metric| metric.name == name);
        let known = || self.metrics.iter().filter(|metric| metric.ratio.is_some());
        let percent = |metric: &Metric| {
            let number = metric.name.strip_prefix("response time, p")?;
            number.parse::<f64>().ok()
        };
        let headline = headline_percent(known().filter_map(percent));
        let open = match headline {
            Some(headline) => known().find(|metric| percent(metric) == Some(headline)),
            None => known().find(|metric| metric.name == "response time, mean"),
        };
        open.or_else(|| called("events"))
    }

    /// Whether the load was an open loop.
    pub fn is_open_loop(&self) -> bool {
        let mut metrics = self.metrics.iter();
        metrics.any(|metric| metric.name == "response time, mean")
    }

    /// For an open loop, further metrics that show whether it kept up: late events and the backlog,
    /// if any.
    pub fn kept_up(&self) -> Vec<&Metric> {
        let names = [metrics::LATE, metrics::BACKLOG];
        let some = |value: Option<f64>| value.is_some_and(|value| value > 0.0);
        let metrics = self.metrics.iter();
        metrics
            .filter(|metric| names.contains(&metric.name.as_str()))
            .filter(|metric| some(metric.base) || some(metric.new))
            .collect()
    }
}

/// The basis of intervals and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Basis {
    /// The variation between the runs of a side: at least three a side.
    BetweenRuns,
    /// The variation between the seconds within runs, which excludes the run-to-run variation.
    WithinRuns,
}

/// One side: its runs, with mean, median and stalls, because each figure alone hides something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The runs of this side.
    pub runs: Vec<RunLabel>,
    /// Mean events per second over all its seconds.
    pub mean_per_s: Option<f64>,
    /// The events of the median second; `None` if a run has only longer intervals.
    pub median_per_s: Option<f64>,
    /// The number of stalls of its runs; `None` if unknown for one.
    pub stalls: Option<u64>,
    /// The total length of its stalls, in seconds; `None` if unknown for a run.
    pub stalled_s: Option<f64>,
}

/// A run of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLabel {
    /// The run's number in its results file.
    pub id: i64,
    /// The run's name.
    pub name: String,
    /// How the run ended.
    #[serde(skip)]
    pub state: RunState,
    /// The run's verdict; `None` if it was not judged.
    pub verdict: Option<Verdict>,
    /// Whether hardly any check applied, so that "valid" needs a qualification.
    #[serde(skip)]
    pub thin: bool,
    /// The waived checks that had a doubt about it or refused it.
    pub waived: Vec<String>,
    /// The checks with a doubt about it, except those about the precision of its figures.
    #[serde(skip)]
    pub doubts: Vec<String>,
    /// The number of doubts about that precision.
    #[serde(skip)]
    pub more_doubts: usize,
    /// Start of the run, seconds since the Unix epoch; `None` if an imported log does not show it.
    #[serde(skip)]
    pub started_unix_s: Option<f64>,
}

/// The kind of a metric, which determines its interpretation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricKind {
    /// A mean, a rate, a share or a percentile of a distribution.
    #[default]
    Usual,
    /// A percentile that could only be averaged over several runs.
    Unmerged,
    /// The largest value: one event.
    Maximum,
    /// The median second, shown next to the mean, which is tested.
    MedianSecond,
    /// A single value per run: the share of late events, the backlog.
    OncePerRun,
}

/// One metric of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// E.g. `events`, `latency p95`.
    pub name: String,
    /// How to interpret the figure.
    #[serde(skip)]
    pub kind: MetricKind,
    /// The unit of the values, e.g. `per second`, `ms`.
    pub unit: String,
    /// Which direction is better.
    #[serde(skip)]
    pub better: Better,
    /// The base's value, over all its runs.
    pub base: Option<f64>,
    /// The new side's value.
    pub new: Option<f64>,
    /// new / base; `None` if one is missing or the base is 0.
    pub ratio: Option<f64>,
    /// Lower bound of the ratio at [`CompareOptions::confidence`].
    pub low: Option<f64>,
    /// Upper bound of the ratio; `None` with a lower bound means unbounded.
    pub high: Option<f64>,
    /// 1 − new/base of a rate: the lost share of the throughput. A ratio base/new of 1.30 is a
    /// penalty of 0.23.
    pub penalty: Option<f64>,
    /// The p-value of the difference.
    pub p: Option<f64>,
    /// The p-value, corrected for the number of metrics (Holm).
    pub p_corrected: Option<f64>,
    /// Whether the corrected p-value is below the significance level, and the difference above the
    /// run-to-run variation, if known.
    pub significant: bool,
    /// Whether it is the same on both sides, if that was tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equivalence: Option<EquivalenceTest>,
    /// Why something is missing, or how to read the value; may be empty.
    pub remark: String,
    /// The other work that the base's value includes, if any was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_includes: Option<Cause>,
    /// The other work that the new side's value includes, if any was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_includes: Option<Cause>,
}

impl Metric {
    /// Whether a limit or a table may use this name for it: for an open loop, a latency is the
    /// response time.
    pub fn is_called(&self, name: &str) -> bool {
        const OPEN: (&str, &str) = ("response time, ", "latency, ");
        let same = |own: &str, name: &str| own.eq_ignore_ascii_case(name);
        let parts = self
            .name
            .strip_prefix(OPEN.0)
            .zip(name.strip_prefix(OPEN.1));
        same(&self.name, name) || parts.is_some_and(|(own, name)| same(own, name))
    }
}

/// A difference between the sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What differs, e.g. `sessions`, `option table_size`, `setting sync_binlog`, `host.cpu.model`.
    pub what: String,
    /// The base's value.
    pub base: String,
    /// The new side's value.
    pub new: String,
    /// Whether the difference is intended.
    pub intended: bool,
    /// Whether one side lacks the value only because its log does not show it.
    #[serde(skip)]
    pub unrecorded: bool,
}

/// Compares the runs of two sides. All runs of a side count as repetitions.
///
/// # Errors
/// [`CompareError`] if the figures are not comparable: no runs, runs without events, different
/// profiles, workloads, operations or kinds of loop.
pub fn compare(
    base: &[&RunRecord],
    new: &[&RunRecord],
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    let context = Context::default();
    compared(&views(base, &context), &views(new, &context), options)
}

/// Whether the runs of a side may be pooled, by the rule of [`compare`].
///
/// # Errors
/// [`CompareError`] if they are not repetitions of each other.
pub fn poolable(runs: &[&RunRecord]) -> Result<(), CompareError> {
    let context = Context::default();
    let side = views(runs, &context);
    refusal::check(&side, &side, &CompareOptions::default())
}

/// The description of the runs of one side – server, load, options, facts, settings – by name, with
/// all values that occur. Factors are in the runs' heads.
pub fn described(runs: &[&RunRecord]) -> BTreeMap<String, BTreeSet<String>> {
    let context = Context::default();
    differences::side(&views(runs, &context))
}

/// How a run differs from the runs before it. Leaves out what already varied among these, or was
/// not recorded.
pub fn changed_since(before: &[&RunRecord], first: &RunRecord) -> Vec<Difference> {
    let context = Context::default();
    let (before, first) = (views(before, &context), views(&[first], &context));
    let known = differences::side(&before);
    let varied = |one: &Difference| known.get(&one.what).is_some_and(|values| values.len() > 1);
    let mut found = differences::differences(&before, &first, &CompareOptions::default());
    found.retain(|one| !one.unrecorded && !varied(one));
    found
}

/// The names of unintended differences between two runs, including their length and observation.
pub(crate) fn unlike(one: &RunRecord, other: &RunRecord) -> Vec<String> {
    let context = Context::default();
    let (one, other) = (views(&[one], &context), views(&[other], &context));
    let options = CompareOptions {
        intended: differences::varied(&one, &other),
        ..CompareOptions::default()
    };
    let found = differences::differences(&one, &other, &options).into_iter();
    let mut names: Vec<String> = found
        .filter(|found| !found.intended)
        .map(|found| found.what)
        .collect();
    let of = |views: &[View]| {
        let view = views.first()?;
        let drive = view.drive()?;
        let plan = view.run.head.plan.as_ref();
        let observed = plan.map(|plan| plan.record.observe);
        Some((drive.time, drive.warmup, observed))
    };
    if let Some((one, other)) = of(&one).zip(of(&other)) {
        let differ = [
            ("time", one.0 != other.0),
            ("warm-up", one.1 != other.1),
            ("--observe", one.2 != other.2),
        ];
        names.extend(
            differ
                .iter()
                .filter(|(_, differ)| *differ)
                .map(|(name, _)| (*name).to_owned()),
        );
    }
    names
}

fn views<'a>(runs: &[&'a RunRecord], context: &'a Context) -> Vec<View<'a>> {
    runs.iter().map(|run| View::new(run, context)).collect()
}

fn compared(
    base: &[View],
    new: &[View],
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    refusal::check(base, new, options)?;
    let mut options = options.clone();
    options.intended.extend(differences::varied(base, new));
    let options = &options;
    let basis = match base.len().min(new.len()) >= estimate::RUNS_MIN {
        true => Basis::BetweenRuns,
        false => Basis::WithinRuns,
    };
    let mut comparison = Comparison {
        base: side(base),
        new: side(new),
        metrics: metrics::metrics(base, new, basis, options),
        basis,
        equivalent_within: options.equivalent.map(Margin::share),
        differences: differences::differences(base, new, options),
        tables_read: tables::are_read(base) && tables::are_read(new),
        unknown_workloads: unknown_workloads(base, new),
        host_test: base.iter().chain(new).any(is_host_test),
        findings: Vec::new(),
    };
    comparison.findings = judged::findings(&comparison, options);
    Ok(comparison)
}

fn side(views: &[View]) -> Side {
    let stalls: Vec<_> = views
        .iter()
        .filter_map(|view| of_run(view.run).ok())
        .collect();
    let whole = !stalls.is_empty() && stalls.len() == views.len();
    Side {
        runs: views.iter().map(label).collect(),
        mean_per_s: metrics::pooled_rate(views, metrics::Counted::Events),
        median_per_s: dyno_stats::median(&metrics::seconds(views)),
        stalled_s: whole.then(|| {
            stalls
                .iter()
                .map(RunStalls::stalled_s)
                .fold(0.0, |a, b| a + b)
        }),
        stalls: whole.then(|| stalls.iter().map(|found| found.stalls.len() as u64).sum()),
    }
}

/// Whether it is about the precision of a run's figures, which the comparison's intervals include.
fn is_width(check: &str) -> bool {
    matches!(check, "length" | "samples")
}

fn label(view: &View) -> RunLabel {
    let run = view.run;
    let started_unix_s = match &run.summary {
        Some(summary) => summary.started_unix_s,
        None => (!view.imported()).then_some(run.head.created_unix_s),
    };
    let counts = |finding: &&Finding| {
        matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse) && finding.waived.is_some()
    };
    let waived = run.findings.iter().filter(counts);
    let doubted =
        |finding: &&Finding| finding.outcome == Outcome::Doubt && finding.waived.is_none();
    let doubted = run.findings.iter().filter(doubted);
    let (of_width, doubts): (Vec<_>, Vec<_>) =
        doubted.partition(|finding| is_width(&finding.check));
    RunLabel {
        id: run.id,
        name: run.head.name.clone(),
        state: run.state,
        verdict: run.verdict,
        thin: Tally::of(&run.findings).is_thin(),
        waived: waived.map(|finding| finding.check.clone()).collect(),
        doubts: doubts.iter().map(|one| one.check.clone()).collect(),
        more_doubts: of_width.len(),
        started_unix_s,
    }
}

impl Side {
    fn names(&self) -> String {
        let names: Vec<String> = self.runs.iter().map(|run| run.name.clone()).collect();
        text::few(&names, 3)
    }
}

fn is_host_test(view: &View) -> bool {
    view.summary().is_some_and(|run| run.machine.is_some())
}

fn unknown_workloads(base: &[View], new: &[View]) -> Vec<String> {
    let is_unknown = |view: &&View| view.run.head.workload.known().is_none();
    let unknown = base.iter().chain(new).filter(is_unknown);
    unknown.map(refusal::name).collect()
}
