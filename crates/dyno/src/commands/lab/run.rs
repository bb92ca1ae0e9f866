//! `dyno lab run` and `resume`: the trials, one after the other.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_lab::{Changes, Identity, Outcome, Planned, Progress, Schedule};
use dyno_load::{StopLevel, StopSignal};
use dyno_results::{AttemptEnd, Results, StoredExperiment, Tried};

use super::definition::Lab;
use super::progress::Told;
use super::site::Site;
use super::{count, line, results_file};
use crate::commands::run::{self, Within};
use crate::options::Parsed;
use crate::output::Kept;
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_FAILED, STATUS_INTERRUPTED, signals};

/// How often in a row trials may fail, unless told otherwise.
const FAILURES_MAX: usize = 3;

/// Runs what is left of an experiment.
///
/// # Errors
/// A file that cannot be run, another process at it, an edited file whose changes were not
/// accepted, trials that failed too often.
pub fn main(parsed: &Parsed, words: &[String], resumes: bool) -> Result<u8> {
    let failures_max = count(parsed, "max-failures", FAILURES_MAX)?;
    let lab = Lab::of(parsed, words)?;
    let path = results_file(parsed)?;
    let mut results = Results::open(&path)?;
    let before = results.experiment(&lab.head.name)?;
    let states = states(&results, &lab)?;
    let done = states
        .iter()
        .filter(|state| **state == Progress::Done)
        .count();
    may_begin(parsed, &lab, before.as_ref(), (resumes, done))?;
    if let Some(stored) = &before
        && let Some(pid) = results.who_runs(stored.id)?
    {
        bail!("{} is being run already, by process {pid}", lab.head.name);
    }
    let id = results.keep_experiment(&lab.head, &lab.rows())?;
    let stop = signals::install()?;
    let quiet = parsed.has("quiet");
    let told = Told::new(&lab, done, quiet);
    told.begin();
    let mut running = Running {
        lab: &lab,
        id,
        site: Site::new(&lab, Arc::clone(&stop), quiet)?,
        file: path.clone(),
        results,
        stop,
        told,
        failures_max,
    };
    let ended = running.all(&states);
    let Running { site, told, .. } = running;
    let left = told.left();
    if left > 0 || ended.is_err() {
        // Images stay for whoever resumes.
        drop(site);
        let name = &lab.head.file;
        let name = if name.is_empty() { "…" } else { name };
        told.stopped(name);
        return ended.and(Ok(match told.is_interrupted() {
            true => STATUS_INTERRUPTED,
            false => STATUS_FAILED,
        }));
    }
    let freed = site.finish(parsed.has("keep-servers"))?;
    told.end(freed);
    Ok(STATUS_DONE)
}

/// How far each trial is.
fn states(results: &Results, lab: &Lab) -> Result<Vec<Progress>> {
    let identities: Vec<String> = lab.planned.iter().map(|p| p.identity.to_string()).collect();
    let identities: Vec<&str> = identities.iter().map(String::as_str).collect();
    let states = results.trial_states(&identities)?;
    let of = |identity: &&str| match states.get(*identity).map(|state| &state.tried) {
        Some(Tried::Done { .. }) => Progress::Done,
        None | Some(Tried::Not) => Progress::Open,
        Some(_) => Progress::Attempted,
    };
    Ok(identities.iter().map(of).collect())
}

/// Whether this may begin, or go on.
fn may_begin(
    parsed: &Parsed,
    lab: &Lab,
    before: Option<&StoredExperiment>,
    (resumes, done): (bool, usize),
) -> Result<()> {
    let name = &lab.head.name;
    let Some(stored) = before else {
        return match resumes {
            false => Ok(()),
            true => Err(usage(format!(
                "{name} was not begun with this results file; `dyno lab run` begins it"
            ))),
        };
    };
    let planned = |row: &dyno_results::TrialRow| Planned {
        identity: Identity::of_text(&row.identity),
        made_of: row.made_of.clone(),
        label: row.label.clone(),
    };
    let old: Vec<Planned> = stored.trials.iter().map(planned).collect();
    let new: Vec<Planned> = lab.rows().iter().map(planned).collect();
    let changes = Changes::between(&old, &new);
    let same = old.len() == new.len()
        && old
            .iter()
            .zip(&new)
            .all(|(old, new)| old.identity == new.identity);
    if !same && !parsed.has("accept-changes") {
        return Err(usage(format!(
            "{name} was planned otherwise before:\n{changes}{done} of {} trials are done as they \
             are now. To go on with the file as it is: --accept-changes; to begin a new \
             experiment: --name",
            new.len()
        )));
    }
    if !resumes && done < new.len() && done > 0 && same {
        return Err(usage(format!(
            "{name} was begun: {done} of {} trials are done; `dyno lab resume` goes on, --name \
             begins another one",
            new.len()
        )));
    }
    Ok(())
}

/// An experiment that runs.
struct Running<'a> {
    lab: &'a Lab,
    id: i64,
    site: Site<'a>,
    file: std::path::PathBuf,
    results: Results,
    stop: Arc<StopSignal>,
    told: Told<'a>,
    failures_max: usize,
}

impl Running<'_> {
    fn all(&mut self, states: &[Progress]) -> Result<()> {
        let lab = self.lab;
        let mut schedule = Schedule::new(&lab.experiment, &lab.trials, states);
        let mut failures = 0;
        while let Some(next) = schedule.next() {
            if self.stop.level() != StopLevel::None {
                break;
            }
            let identity = lab.planned[next.trial].identity.to_string();
            self.told.next(next.trial, next.out_of_order);
            let attempt = self.results.begin_attempt(self.id, &identity)?;
            let outcome = self.one(&next, &identity);
            let interrupted = self.stop.level() != StopLevel::None;
            let end = match &outcome {
                Ok(_) => AttemptEnd::Done,
                Err(_) if interrupted => AttemptEnd::Interrupted,
                Err(error) => AttemptEnd::Failed(dyno_core::redact::text(&format!("{error:#}"))),
            };
            self.results.end_attempt(attempt, &end, self.site.done())?;
            match outcome {
                Ok(runs) => {
                    failures = 0;
                    self.told.measured(next.trial, &runs);
                    schedule.ended(Outcome::Done);
                }
                Err(_) if interrupted => {
                    self.told.interrupted();
                    break;
                }
                Err(error) => {
                    failures += 1;
                    self.site.down();
                    self.told.failed(next.trial, &error);
                    schedule.ended(Outcome::Failed);
                    if failures >= self.failures_max {
                        bail!("{failures} trials in a row failed, the last one: {error:#}");
                    }
                }
            }
        }
        Ok(())
    }

    /// One trial: what it needs, then its runs.
    fn one(&mut self, next: &dyno_lab::Next, identity: &str) -> Result<Vec<RunSummary>> {
        let cell = self.lab.cell(next.trial);
        let target = self.site.make_ready(cell, next.change)?;
        let file = shown(&self.file)?;
        let line = line::run(cell, target.as_deref(), file, &self.lab.base);
        let line = line.ok_or_else(|| anyhow!("the trial has no workload"))?;
        self.told.measuring(next.trial);
        let within = Within {
            trial: Some(identity.to_owned()),
            stop: Arc::clone(&self.stop),
            kept: Kept::default(),
            plans_only: false,
        };
        let ran = run::run(line, "run", Some(&within));
        let runs = within.kept.take();
        if self.site.has_died() {
            bail!("the server ended while it was loaded");
        }
        let status = ran?;
        if let Some(RunEnd::Failed(why)) = runs
            .iter()
            .map(|run| &run.end)
            .find(|end| matches!(end, RunEnd::Failed(_)))
        {
            bail!("{why}");
        }
        let whole = !runs.is_empty() && runs.iter().all(|run| run.end == RunEnd::Completed);
        match whole && [STATUS_DONE, crate::STATUS_REFUSED, crate::STATUS_LIMIT].contains(&status) {
            true => Ok(runs),
            false => bail!("the run ended with status {status}"),
        }
    }
}

/// A path as text.
fn shown(path: &Path) -> Result<&str> {
    let text = path.to_str();
    text.ok_or_else(|| {
        anyhow!(
            "the path of the results file is no text: {}",
            path.display()
        )
    })
}
