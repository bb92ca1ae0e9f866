//! Increasing numbers of sessions: throughput, latency, and the saturation point.

use dyno_core::finding::Verdict;
use dyno_core::summary::{LatencySummary, PartSummary, Rates, RunSummary};
use serde::Serialize;

use crate::terminal::EventWord;

/// One number of sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Sessions.
    pub sessions: u32,
    /// The run's number in the results file; `None` if it is not recorded.
    pub run: Option<i64>,
    /// Events per second.
    pub events_per_s: f64,
    /// Events per second relative to the first step.
    pub throughput_ratio: Option<f64>,
    /// Mean latency; of response times in an open loop.
    pub mean_ms: Option<f64>,
    /// Mean latency relative to the first step.
    pub latency_ratio: Option<f64>,
    /// 99th percentile, if there are enough samples.
    pub p99_ms: Option<f64>,
    /// Whether the figures are valid.
    pub verdict: Option<Verdict>,
}

/// The steps of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Saturation {
    /// The workload, as typed.
    pub workload: String,
    /// The word for its events.
    #[serde(skip)]
    pub event: EventWord,
    /// The common name of the steps' runs.
    pub sequence: String,
    /// In the order of execution.
    pub steps: Vec<Step>,
    /// The index of the step with the best ratio of throughput to latency; `None` with fewer than
    /// two candidates.
    pub knee: Option<usize>,
    /// The steps are parts of one run: each began in the state that the previous one left.
    pub in_one_run: bool,
}

impl Saturation {
    /// From the summaries of runs with increasing numbers of sessions.
    pub fn of(runs: &[RunSummary]) -> Self {
        let first = runs.first();
        let own = |run: &RunSummary| Step {
            sessions: run.drive.as_ref().map_or(0, |drive| drive.sessions),
            run: run.recorded.as_ref().map(|kept| kept.id),
            verdict: run.verdict,
            ..Step::of(&run.rates, run.latency())
        };
        let steps = against_the_first(runs.iter().map(own).collect());
        Self {
            workload: first.map_or_else(String::new, |run| run.workload.name.clone()),
            event: EventWord::of_all(runs.iter().map(EventWord::of)),
            sequence: first
                .and_then(|run| run.phase.as_ref())
                .map_or_else(String::new, |phase| phase.sequence.clone()),
            knee: knee(&steps),
            steps,
            in_one_run: false,
        }
    }

    /// From a run with an increasing number of sessions.
    pub fn of_parts(run: &RunSummary) -> Self {
        // Parts that were not reached have no figures.
        let begun = run.parts.iter().filter(|part| part.is_measured());
        let own = |part: &PartSummary| Step {
            sessions: part.sessions,
            run: run.recorded.as_ref().map(|kept| kept.id),
            verdict: part.verdict,
            ..Step::of(&part.rates, &part.latency)
        };
        let steps = against_the_first(begun.map(own).collect());
        Self {
            workload: run.workload.name.clone(),
            event: EventWord::of(run),
            sequence: String::new(),
            knee: knee(&steps),
            steps,
            in_one_run: true,
        }
    }
}

impl Step {
    fn of(rates: &Rates, latency: &LatencySummary) -> Self {
        Self {
            sessions: 0,
            run: None,
            events_per_s: rates.events_per_s,
            throughput_ratio: None,
            mean_ms: latency.mean_ms,
            latency_ratio: None,
            p99_ms: latency.percentile_ms(99.0),
            verdict: None,
        }
    }
}

/// The steps with their ratios to the first.
fn against_the_first(mut steps: Vec<Step>) -> Vec<Step> {
    let first = steps.first();
    let base = first.map(|step| (step.events_per_s, step.mean_ms));
    let ratio = |value: f64, base: f64| (base > 0.0).then(|| value / base);
    for step in &mut steps {
        step.throughput_ratio = base.and_then(|(rate, _)| ratio(step.events_per_s, rate));
        step.latency_ratio = base.and_then(|(_, mean_ms)| ratio(step.mean_ms?, mean_ms?));
    }
    steps
}

/// The step of the greatest power, which is throughput over latency (L. Kleinrock, "Power and
/// deterministic rules of thumb for probabilistic problems in computer communications", 1979): up
/// to it throughput grows faster than latency, beyond it latency grows faster.
fn knee(steps: &[Step]) -> Option<usize> {
    let power = |step: &Step| {
        let mean_ms = step.mean_ms.filter(|ms| *ms > 0.0);
        mean_ms.map_or(0.0, |ms| step.events_per_s / ms)
    };
    let mut best: Option<(usize, f64)> = None;
    for (index, step) in steps.iter().enumerate() {
        let own = power(step);
        if own > best.map_or(0.0, |(_, power)| power) {
            best = Some((index, own));
        }
    }
    best.map(|(index, _)| index).filter(|_| steps.len() > 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use dyno_samples::summaries as samples;

    /// Runs of a server that takes 1 ms for an event and has a number of workers.
    pub(crate) fn ladder(workers: u32, sessions: &[u32]) -> Vec<RunSummary> {
        let run = |sessions: &u32| {
            let mut run = samples::good();
            let rate = f64::from((*sessions).min(workers)) * 1000.0;
            run.rates.events_per_s = rate;
            run.service.mean_ms = Some(f64::from(*sessions) / rate * 1e3);
            if let Some(drive) = &mut run.drive {
                drive.sessions = *sessions;
            }
            run
        };
        sessions.iter().map(run).collect()
    }

    #[test]
    fn the_knee_is_where_the_workers_are_all_busy() {
        for workers in [1, 4, 16] {
            let saturation = Saturation::of(&ladder(workers, &[1, 2, 4, 8, 16, 32]));
            let knee = saturation
                .knee
                .map(|index| saturation.steps[index].sessions);
            assert_eq!(knee, Some(workers));
        }
    }

    #[test]
    fn ratios_are_to_the_first_step() {
        let saturation = Saturation::of(&ladder(4, &[2, 4, 8]));
        let ratios = |of: fn(&Step) -> Option<f64>| -> Vec<f64> {
            saturation.steps.iter().filter_map(of).collect()
        };
        assert_eq!(ratios(|step| step.throughput_ratio), [1.0, 2.0, 2.0]);
        assert_eq!(ratios(|step| step.latency_ratio), [1.0, 1.0, 2.0]);
    }

    #[test]
    fn a_ladder_without_measurements_has_no_knee() {
        assert_eq!(Saturation::of(&[]).knee, None);
        assert_eq!(Saturation::of(&ladder(4, &[1])).knee, None);
        let mut silent = ladder(4, &[1, 2]);
        for run in &mut silent {
            run.rates.events_per_s = 0.0;
            run.service.mean_ms = None;
        }
        let saturation = Saturation::of(&silent);
        assert_eq!(saturation.knee, None);
        assert_eq!(saturation.steps[1].latency_ratio, None);
    }
}
