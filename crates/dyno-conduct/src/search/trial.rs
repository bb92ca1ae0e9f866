//! One trial: a run, judged by the promise.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_analysis::search::{FACTOR, Searched};
use dyno_core::clock;
use dyno_core::plan::{Calibrate, Drive, RecordPlan};
use dyno_core::record::RunRecord;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_core::text::trim_zeros;
use dyno_load::{StopLevel, StopSignal};
use dyno_results::{Results, Scope};
use dyno_run::Sinks;
use dyno_stats::search::Outcome;

use super::ask::Ask;
use super::fault::{Fault, fault};
use super::promise::LatencyPromise;
use crate::command::execute;
use crate::hosts::Hosts;
use crate::outcome::{Executed, Outcome as Ending};
use crate::stage::Stage;

/// The factor with the load of each trial.
pub const OFFERED: &str = "offered";
/// The factor of the runs that find the start of the search.
pub(super) const CLIMB: &str = "search-climb";

/// Runs the trials of a search.
pub(super) struct Trials<'a> {
    /// The search.
    pub ask: &'a Ask,
    /// The other hosts that take part.
    pub hosts: &'a Hosts,
    /// Stops a trial and the search.
    pub stop: &'a Arc<StopSignal>,
    /// Follows the runs.
    pub stage: &'a mut dyn Stage,
    /// Number of runs so far.
    pub begun: u64,
}

/// A finished trial.
pub(super) struct Ended {
    /// Its run.
    pub run: RunSummary,
    /// Its vote on the promise.
    pub outcome: Outcome,
    /// Whether it is void because other processes took the load generator's CPU time.
    pub is_crowded: bool,
    /// The promises that it broke, except the first percentile's; may be empty.
    pub why: String,
}

impl Trials<'_> {
    /// Whether the user requested the end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.level() != StopLevel::None
    }

    /// Runs a trial at a load; `None` if the user ended it.
    ///
    /// # Errors
    /// The run failed.
    pub(super) fn at(&mut self, load: f64) -> Result<Option<Ended>> {
        let ask = self.ask;
        let terms = &ask.terms;
        let (load, level) = rounded(load);
        let mut drive = self.drive(terms.goal.trial_duration, terms.settle);
        match (terms.promise.of, &mut drive.open_loop) {
            (Searched::Rate, Some(open)) => {
                open.per_second = load;
                drive.sessions = terms.sessions;
            }
            _ => drive.sessions = load as u32,
        }
        let mut record = ask.base.plan.record.clone();
        record.factors.insert(FACTOR.to_owned(), ask.name.clone());
        record.factors.insert(OFFERED.to_owned(), level);
        let run = self.run(drive, record)?;
        run.map(|run| self.judged(run)).transpose()
    }

    /// Runs a short closed loop that is not a trial; `None` if the user ended it.
    ///
    /// # Errors
    /// The run failed.
    pub(super) fn climb(&mut self, sessions: u32, time: Duration) -> Result<Option<RunSummary>> {
        let drive = Drive {
            sessions,
            open_loop: None,
            ..self.drive(time, self.ask.terms.settle.min(time))
        };
        let mut record = self.ask.base.plan.record.clone();
        record
            .factors
            .insert(CLIMB.to_owned(), self.ask.name.clone());
        if self.ask.base.loaded.job.target.is_some() {
            // A calibration would take as long as the run; a test of the host has none.
            record.calibrate = Calibrate::Never;
        }
        self.run(drive, record)
    }

    fn drive(&self, time: Duration, settle: Duration) -> Drive {
        let terms = &self.ask.terms;
        Drive {
            time: Some(time),
            warmup: settle,
            latency_limit: Some(terms.promise.longest()),
            seed: seed(terms.seed, self.begun),
            ..self.ask.base.drive().clone()
        }
    }

    fn run(&mut self, drive: Drive, record: RecordPlan) -> Result<Option<RunSummary>> {
        let command = self.ask.base.under(drive, record, &Sinks::default())?;
        self.begun += 1;
        let executed = execute(command, self.hosts, self.stop, self.stage);
        let is_stopped = self.is_stopped();
        // An interrupted trial keeps what it has.
        let closed = executed
            .as_ref()
            .map_or(Ok(()), |_| self.stage.close(self.stop));
        if is_stopped {
            return closed.map(|()| None);
        }
        let Executed {
            mut runs,
            outcome,
            error,
            ..
        } = executed?;
        if let Some(error) = error {
            return Err(error);
        }
        closed?;
        let Some(run) = runs.pop() else {
            bail!("a trial ended without a result");
        };
        match &run.end {
            RunEnd::Failed(why) => Err(anyhow!("{why}")),
            RunEnd::Interrupted => Ok(None),
            // Its measurement is not at the requested load.
            RunEnd::Completed if outcome == Ending::Failed && has_measured(&run) => Err(anyhow!(
                "sessions had lost their connections when the trial ended"
            )),
            RunEnd::Completed => Ok(Some(run)),
        }
    }

    /// The vote of a finished run.
    ///
    /// # Errors
    /// Its record cannot be read.
    pub(super) fn judged(&self, run: RunSummary) -> Result<Ended> {
        let Ask { terms, .. } = self.ask;
        let promise = &terms.promise;
        let others = promise.latencies.iter();
        let record = match others.clone().any(|own| own.within != promise.longest()) {
            true => Some(record_of(&run)?),
            false => None,
        };
        let lost = |own: &LatencyPromise| loss_ratio(&run, record.as_ref(), own);
        let mut shares = others.map(|own| (own, lost(own)));
        let loss_ratio = shares.next().map_or(1.0, |(_, share)| share);
        let mut broken: Vec<String> = shares
            .filter(|(own, share)| *share > own.loss_ratio())
            .map(|(own, share)| format!("{own}: {:.1} % late", share * 100.0))
            .collect();
        broken.extend(promise.too_many_errors(&run));
        let kept = broken.is_empty();
        let holds = kept && loss_ratio <= terms.goal.loss_ratio;
        // A late generator can only make events later, so a promise that was kept counts as kept.
        let at_fault = match holds || self.ask.is_embedded {
            true => None,
            false => fault(&run.findings),
        };
        let is_crowded = at_fault.as_ref().is_some_and(|fault| fault.is_crowded);
        let outcome = match at_fault {
            Some(Fault { why, .. }) => Outcome::Void { why },
            None => Outcome::Measured {
                loss_ratio,
                duration: terms.goal.trial_duration,
                kept,
            },
        };
        Ok(Ended {
            run,
            outcome,
            is_crowded,
            why: broken.join(", "),
        })
    }
}

/// Reads the record of a run from its results file.
pub(super) fn record_of(run: &RunSummary) -> Result<RunRecord> {
    let kept = run
        .recorded
        .as_ref()
        .context("the trial was not recorded")?;
    let results = Results::open_read(kept.file.as_ref())?;
    Ok(results.load(kept.id, &Scope::terminal())?)
}

/// The seed of a run, from the search's: votes on a load must not repeat the same events.
fn seed(first: Option<u64>, begun: u64) -> u64 {
    first.map_or_else(clock::seed, |first| first.wrapping_add(begun).max(1))
}

/// Whether a search has set this factor of a run. `search` alone is the user's: a search's trials
/// have both `search` and `offered`, and an experiment's trials only the factors of its file.
pub fn is_of_search(record: &RecordPlan, name: &str) -> bool {
    let level = |name: &str| record.factors.get(name);
    let is_load = |level: &String| level.parse::<f64>().is_ok();
    match name {
        _ if record.trial.is_some() => false,
        CLIMB => true,
        FACTOR | OFFERED => level(FACTOR).is_some() && level(OFFERED).is_some_and(is_load),
        _ => false,
    }
}

/// Whether events ended within the measurement: an overloaded trial may drop all.
fn has_measured(run: &RunSummary) -> bool {
    run.totals.events > run.events_in_grace.unwrap_or(0)
}

/// A load as offered, and the level of its factor.
fn rounded(load: f64) -> (f64, String) {
    let level = shown(load);
    (level.parse().unwrap_or(load), level)
}

/// A load as its factor shows it: whole from 1000 on, four digits below.
pub fn shown(load: f64) -> String {
    let decimals = (3.0 - load.log10().floor()).clamp(0.0, 17.0) as usize;
    trim_zeros(&format!("{load:.decimals$}")).to_owned()
}

/// The fraction of all due events without a correct answer within the limit: late or failed ones,
/// dropped ones, and those waiting or in flight at the end.
pub(super) fn loss_ratio(
    run: &RunSummary,
    record: Option<&RunRecord>,
    own: &LatencyPromise,
) -> f64 {
    let limit = run.latency_limit.as_ref();
    let waiting = run
        .open_loop
        .as_ref()
        .map_or(0, |open| open.backlog.unwrap_or(0));
    let missing = run.totals.not_done
        + limit.map_or(0, |limit| limit.skipped)
        + waiting
        + run.events_unfinished.unwrap_or(0);
    let all = run.totals.events + missing;
    if all == 0 {
        return 1.0;
    }
    let counted = record.and_then(|record| above(record, run.open_loop.is_some(), own.within));
    let late = counted.unwrap_or_else(|| limit.map_or(0, |limit| limit.above));
    ((late + missing) as f64 / all as f64).clamp(0.0, 1.0)
}

/// Number of events that took longer, from the distribution of all.
fn above(record: &RunRecord, open: bool, within: Duration) -> Option<u64> {
    let mut all = record.operations.iter();
    let events = all.find(|operation| operation.name == "event")?;
    let total = events.total.as_ref()?;
    let histogram = match open {
        true => &total.response,
        false => &total.service,
    };
    let limit_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
    Some(
        histogram
            .len()
            .saturating_sub(histogram.count_between(0, limit_ns)),
    )
}

/// The load generator's ceiling according to the run's findings.
pub(super) fn ceiling(run: &RunSummary) -> Option<f64> {
    let mut findings = run.findings.iter();
    let own = findings.find(|own| own.check == "generator-ceiling")?;
    own.number(dyno_verdict::CEILING).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::summary::{LatencyLimit, OpenLoopSummary};

    #[test]
    fn each_run_has_its_own_seed() {
        assert_eq!((seed(Some(7), 0), seed(Some(7), 2)), (7, 9));
        assert_eq!(seed(Some(u64::MAX), 1), 1);
        assert!(seed(None, 0) > 0);
    }

    #[test]
    fn loads_have_the_digits_that_distinguish_them() {
        for (load, text) in [
            (8_449.93, "8450"),
            (12_345.6, "12346"),
            (845.123, "845.1"),
            (84.5, "84.5"),
            (0.845_12, "0.8451"),
            (64.0, "64"),
            (9_999.7, "10000"),
            (123_456.0, "123456"),
        ] {
            assert_eq!(shown(load), text);
        }
    }

    #[test]
    fn all_that_was_not_answered_in_time_is_lost() {
        let mut run = RunSummary::default();
        let own = LatencyPromise {
            percentile: 99.0,
            within: Duration::from_millis(10),
        };
        assert_eq!(loss_ratio(&run, None, &own), 1.0);
        run.totals.events = 900;
        run.totals.not_done = 10;
        run.events_unfinished = Some(5);
        run.latency_limit = Some(LatencyLimit {
            limit_ms: 10.0,
            above: 30,
            skipped: 60,
        });
        run.open_loop = Some(OpenLoopSummary {
            offered_per_s: 100.0,
            achieved_per_s: 90.0,
            backlog: Some(25),
            backlog_max: Some(25),
            pacing_lag: None,
        });
        // Of 1000: 30 late, 10 failed, 5 in flight, 60 dropped, 25 waiting.
        assert!((loss_ratio(&run, None, &own) - 0.13).abs() < 1e-12);
    }
}
