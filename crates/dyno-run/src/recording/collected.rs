//! Records a finished run from what its agents have kept.

use std::path::{Path, PathBuf};

use dyno_analysis::summarize;
use dyno_core::clock::Nanos;
use dyno_core::interval::Interval;
use dyno_core::record::{Fact, RunHead, RunRecord};
use dyno_core::summary::{IntervalSummary, Recorded, RunSummary};
use dyno_load::RunOutcome;
use dyno_results::{Record, Results, RunWriter, Scope};
use dyno_verdict::Context;

use super::store::with_event;
use super::{context, events, judge, shares, state_of};
use crate::error::{OrFailed as _, Result};
use crate::summary::{Subject, summarise_others};

/// A run that is recorded after its end.
pub struct CollectedRun {
    writer: RunWriter,
    head: RunHead,
    /// The names of its operations.
    operations: Vec<String>,
    intervals: Vec<IntervalSummary>,
    origin: Nanos,
    started_unix_s: Option<f64>,
}

impl CollectedRun {
    /// Adds a run to a results file, under the name in its head or that name with a number.
    /// `origin` is the start of its measurement by the clock of its intervals.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn start(
        file: &Path,
        head: RunHead,
        operations: Vec<String>,
        (origin, started_unix_s): (Nanos, Option<f64>),
    ) -> Result<Self> {
        let mut writer = Results::open(file)?.begin(&head)?;
        if let Some(unix_s) = started_unix_s {
            writer.started(unix_s)?;
        }
        Ok(Self {
            writer,
            head,
            operations,
            intervals: Vec::new(),
            origin,
            started_unix_s,
        })
    }

    /// The results file, and the number of the run in it.
    pub fn location(&self) -> (PathBuf, i64) {
        (self.writer.path().to_owned(), self.writer.id())
    }

    /// Removes a run that has no result from its file.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn remove((file, id): &(PathBuf, i64)) -> Result<()> {
        Results::open(file)?.remove(&[*id])?;
        Ok(())
    }

    /// Adds what was observed of the run.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn observed(&mut self, before: &RunRecord) -> Result<()> {
        for series in &before.series {
            let id = self.writer.series(&series.key, series.kind)?;
            self.writer
                .write(Record::Points(id, series.points.clone()))?;
        }
        self.writer.write(Record::Facts(before.facts.clone()))?;
        for setting in &before.settings {
            for (value, at_end) in [(&setting.start, false), (&setting.end, true)] {
                if let Some(value) = value {
                    self.writer.setting(&setting.name, value, at_end)?;
                }
            }
        }
        for event in &before.events {
            self.writer.event(event)?;
        }
        for gap in &before.not_observed {
            self.writer.not_observed(gap)?;
        }
        Ok(self.writer.flush()?)
    }

    /// Adds the next interval.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn interval(&mut self, interval: &Interval) -> Result<()> {
        let percentiles = &self.head.percentiles;
        let summary = summarize::interval(interval, self.origin, percentiles);
        let operations = with_event(&self.operations, &interval.latencies, &interval.operations);
        self.writer.interval(&summary, &operations)?;
        self.intervals.push(summary);
        Ok(())
    }

    /// Adds the result of the run and judges it.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn finish(mut self, outcome: &RunOutcome, facts: Vec<Fact>) -> Result<RunSummary> {
        let plan = self.head.plan.as_deref();
        let plan = plan.or_failed("the run has no plan")?.clone();
        let used = outcome.counted.driver_used;
        let subject = Subject {
            workload: self.head.workload.clone(),
            target: match used {
                true => self.head.target.clone(),
                false => Default::default(),
            },
            drive: &plan.drive,
            rand: plan.rand.clone(),
            operations: &self.operations,
            percentiles: &self.head.percentiles,
            phase: self.head.phase.clone(),
            started_unix_s: self.started_unix_s,
        };
        let mut summary = summarise_others(subject, outcome, std::mem::take(&mut self.intervals));
        self.writer.write(Record::Facts(facts))?;
        let statements = context::statements(outcome);
        self.writer.write(Record::Facts(statements))?;
        for event in events::of(outcome) {
            self.writer.event(&event)?;
        }
        self.writer.flush()?;
        let totals = &outcome.totals;
        let operations = with_event(&self.operations, &totals.latencies, &totals.operations);
        let (file, id) = (self.writer.path().to_owned(), self.writer.id());
        let name = self.writer.name().to_owned();
        let state = state_of(&summary.end);
        let shares = shares(outcome);
        self.writer.finish(&summary, state, &operations, &shares)?;
        let mut results = Results::open(&file)?;
        let mut record = results.load(id, &Scope::whole())?;
        let wanted = &plan.record;
        let known = Context {
            claim: wanted.claim,
            requested_settings: wanted.expected.clone(),
            ..Context::default()
        };
        judge(&mut record, &known, wanted, &mut summary)?;
        summary.recorded = Some(Recorded {
            file: file.display().to_string(),
            id,
            name,
        });
        let verdict = dyno_core::finding::verdict(&summary.findings);
        results.judge(id, &summary.findings, verdict, &wanted.waivers)?;
        results.set_summary(id, &summary)?;
        Ok(summary)
    }
}
