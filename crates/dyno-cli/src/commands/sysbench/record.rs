//! Records a run of sysbench's command line. sysbench's report does not mention it: one line on
//! standard error names the file and the verdict.

use anyhow::Result;
use dyno_core::finding::{Outcome, Verdict};
use dyno_core::plan::{Calibrate, Compared, RecordPlan};
use dyno_core::summary::RunSummary;
use dyno_load::{Progress, RunOutcome, StopLevel};

use super::args::Settings;
use crate::{console, notices, run_store};
use dyno_core::record::RESULTS_FILE;
use dyno_core::redact;
use dyno_run::{Ready, Recording, RunError, RunRequest, Watch};

/// Percentiles in the record, in addition to the one of sysbench's option.
const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// An open record of a run.
pub(super) struct Record {
    watch: Watch,
    request: RunRequest,
}

impl Record {
    /// Starts a record, if wanted: `dyno sysbench` writes to `dyno.db`, a binary called `sysbench`
    /// only if `$DYNO_RESULTS` names a file. If recording fails, the run goes on without a record.
    pub(super) fn begin(settings: &Settings, ready: &Ready) -> Option<Self> {
        let otherwise = (!called_sysbench()).then_some(RESULTS_FILE);
        let file = run_store::named(None, otherwise)?;
        let record_plan = RecordPlan {
            file: Some(file),
            ledger: Compared::Nothing,
            percentiles: percentiles(settings),
            // It would delay a run that others time.
            calibrate: Calibrate::Never,
            // sysbench's run goes on whatever happens to the record.
            force: true,
            ..RecordPlan::default()
        };
        let begun = request(record_plan, ready).and_then(|request| {
            let recording = Recording::start(ready, &request, notices::quiet())?;
            let watch = Watch::new(recording, &request.plan.record.percentiles);
            Ok(Self { watch, request })
        });
        begun
            .inspect_err(|error| {
                let why = redact::text(&format!("{error:#}"));
                console::note(&format!(
                    "dyno: this run is not recorded: {why}; it runs anyway. DYNO_RESULTS names \
                     another file, or is none for no record"
                ));
            })
            .ok()
    }

    /// Records the load's progress.
    pub(super) fn progress(&mut self, progress: &Progress<'_>) {
        self.watch.take(progress);
    }

    /// Ends the record of a run that did not begin.
    pub(super) fn abandon(self, ready: &Ready, error: &RunError) {
        self.watch.abandon(ready, error);
    }

    /// Judges the finished run and prints the verdict to standard error.
    pub(super) fn finish(self, ready: &mut Ready, outcome: &RunOutcome) {
        let sinks = notices::quiet();
        let (summary, recorded) = self
            .watch
            .finish(ready, &self.request, outcome, None, &sinks);
        match recorded {
            Ok(()) => console::note(&line(&summary)),
            Err(error) => {
                let why = redact::text(&format!("{error:#}"));
                console::note(&format!(
                    "dyno: the record of this run is incomplete: {why}"
                ));
            }
        }
    }
}

/// A line such as `dyno: run 3 in dyno.db is doubtful (stalls, steady-state); …`.
fn line(summary: &RunSummary) -> String {
    let Some(kept) = &summary.recorded else {
        return String::new();
    };
    let verdict = summary.verdict.unwrap_or(Verdict::Valid);
    let against: Vec<&str> = summary
        .findings
        .iter()
        .filter(|finding| matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse))
        .map(|finding| finding.check.as_str())
        .collect();
    let why = match against.as_slice() {
        [] => String::new(),
        against => format!(" ({})", against.join(", ")),
    };
    format!(
        "dyno: run {} in {} is {}{why}; see `dyno show {}` and `dyno report {}`",
        kept.id,
        kept.file,
        verdict.word(),
        kept.id,
        kept.id
    )
}

fn called_sysbench() -> bool {
    let program = std::env::args_os().next().unwrap_or_default();
    std::path::Path::new(&program)
        .file_name()
        .is_some_and(|name| name == "sysbench")
}

fn percentiles(sysbench: &Settings) -> Vec<f64> {
    let mut percentiles = PERCENTILES.to_vec();
    if sysbench.percentile > 0 {
        percentiles.push(f64::from(sysbench.percentile));
    }
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    percentiles
}

fn request(record_plan: RecordPlan, ready: &Ready) -> Result<RunRequest> {
    let server = match (&ready.connector, &ready.job.target) {
        (Some(connector), Some(target)) => {
            // Scripts without a database still get the default driver's target.
            let stopped = || ready.stop.level() != StopLevel::None;
            let timeout_ms = target.connect_timeout_ms;
            dyno_drivers::probe(connector.as_ref(), timeout_ms, &stopped).unwrap_or_default()
        }
        _ => Default::default(),
    };
    let declared = ready.description.options.clone().unwrap_or_default();
    let own: Vec<_> = ready
        .job
        .options
        .iter()
        .filter(|(name, _)| declared.iter().any(|option| option.key() == *name))
        .cloned()
        .collect();
    let work = &ready.job.work;
    let name = work.name().unwrap_or_else(|| work.path());
    let plan = ready.job.plan(name, &own, record_plan);
    Ok(RunRequest::new(plan, &own, server, ready))
}
