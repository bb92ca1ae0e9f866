//! `dyno lab run` and `resume`: run the trials one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use dyno_conduct::lab::beside::Beside;
use dyno_conduct::lab::{Lab, Site, line, there, took_s};
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_lab::{Outcome, Progress, Schedule};
use dyno_load::{StopLevel, StopSignal};
use dyno_results::{AttemptEnd, Results, Step, StoredExperiment, Tried};

use super::caller::Terminal;
use super::definition::{self, planned};
use super::progress::Announcer;
use super::{count, options, results_file};
use crate::commands::execute::execute;
use crate::commands::planned::PlannedCommand;
use crate::options::Parsed;
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_FAILED, STATUS_INTERRUPTED, console, signals, status_of};

/// The name of the workloads' row fingerprint.
const FINGERPRINT: &str = "dataset.fingerprint";
/// Letters of a trial's identity in the name of its search.
const SEARCH_NAME: usize = 12;
/// Default limit of failed trials in a row.
const FAILURES_MAX: usize = 3;

/// Runs the rest of an experiment.
///
/// # Errors
/// The file cannot be run, another process runs it, the file was edited and the changes were not
/// accepted, or trials failed too often.
pub(super) fn main(parsed: &Parsed, words: &[String], resumes: bool) -> Result<u8> {
    let failures_max = count(parsed, "max-failures", FAILURES_MAX)?;
    let is_stored = resumes && words.is_empty() && !parsed.has("vary");
    let mut lab = match is_stored {
        true => definition::of_stored(parsed, &Results::open_read(&results_file(parsed)?)?)?,
        false => definition::of(parsed, words)?,
    };
    let path = results_file(parsed)?;
    let results = Results::open(&path)?;
    let before = results.experiment(&lab.head.name)?;
    lab.plan_as_before(before.as_ref());
    let done = count_done(&lab.progress(&lab.states(&results)?));
    may_begin(parsed, &lab, before.as_ref(), (resumes, done))?;
    nobody_runs(&results)?;
    warn_of_killed(&results, &lab)?;
    let tables = match done < lab.planned.len() {
        false => BTreeMap::new(),
        true => there::look(&lab, parsed.has("reload"), &planned)?,
    };
    if before.is_none() && done > 0 {
        console::note(&format!(
            "{done} of {} trials are already in {} as trials of other experiments, and count here, \
             too; use another --results file to start over",
            lab.planned.len(),
            path.display()
        ));
    }
    let stop = signals::install()?;
    let mut file = File {
        path,
        results,
        failures_max,
        stop,
        quiet: parsed.has("quiet"),
        keeps: parsed.has("keep-servers"),
        options: options(parsed),
        tables,
    };
    loop {
        if let Some(status) = file.blocks(&lab)? {
            return Ok(status);
        }
        if lab.is_precise(&file.results)? {
            match lab.rerun_best(&file.results)? {
                true => continue,
                false => break,
            }
        }
        // Add blocks until the ratios are precise enough.
        lab.plan(Some(lab.blocks() + 1));
    }
    file.finish(&lab)
}

/// Rejects a second process: concurrent trials would disturb each other, and might be the same.
fn nobody_runs(results: &Results) -> Result<()> {
    for name in results.experiments()? {
        if let Some(stored) = results.experiment(&name)?
            && let Some(pid) = results.who_runs(stored.id)?
        {
            bail!("{name} is already running, in process {pid}");
        }
    }
    Ok(())
}

/// Warns of changes that a killed process has left on a running server: the next trial would take
/// them for the server's own settings.
fn warn_of_killed(results: &Results, lab: &Lab) -> Result<()> {
    let states = lab.states(results)?;
    for (number, planned) in lab.planned.iter().enumerate() {
        let effective = &lab.cell(number).effective;
        let changes = !effective.online.is_empty() || !effective.sql.is_empty();
        if effective.server.url.is_none() || !changes {
            continue;
        }
        let state = states.get(&planned.identity.to_string());
        if state.is_none_or(|state| state.tried != Tried::Begun) {
            continue;
        }
        let names = effective.online.keys().map(String::as_str);
        let names: Vec<&str> = names
            .chain(effective.undo.iter().map(String::as_str))
            .collect();
        console::note(&format!(
            "warning: Dyno was killed during the trial {} and may not have restored the server; \
             check: {}",
            planned.label,
            names.join(", ")
        ));
    }
    Ok(())
}

fn count_done(progress: &[Progress]) -> usize {
    let done = progress.iter().filter(|one| **one == Progress::Done);
    done.count()
}

/// State common to the runs of an experiment.
struct File {
    path: PathBuf,
    results: Results,
    failures_max: usize,
    stop: Arc<StopSignal>,
    quiet: bool,
    keeps: bool,
    /// Options of the experiment and its results file, for suggested commands.
    options: String,
    /// What Dyno may do to the tables of running servers, by URL.
    tables: BTreeMap<String, there::Mode>,
}

impl File {
    /// Runs the rest of the planned trials. Returns the exit status if it did not run all of them.
    fn blocks(&mut self, lab: &Lab) -> Result<Option<u8>> {
        let id = self.results.keep_experiment(&lab.head, &lab.rows())?;
        let states = lab.states(&self.results)?;
        let (progress, spent_s) = (lab.progress(&states), took_s(&states));
        let done = (count_done(&progress), spent_s);
        let announcer = Announcer::new(lab, done, self.quiet, self.options.clone());
        announcer.begin();
        let caller = Terminal { quiet: self.quiet };
        let site = Site::new(lab, Arc::clone(&self.stop), &caller, &self.path)?
            .with_tables(self.tables.clone());
        let mut running = Running {
            lab,
            id,
            site,
            file: self,
            announcer,
            spent_s,
            rows: BTreeMap::new(),
            unseen: BTreeSet::new(),
        };
        let ended = running.all(&progress);
        let Running {
            mut site,
            announcer,
            ..
        } = running;
        let left = site.leave();
        // Images remain for the next block, or for `resume`.
        drop(site);
        left?;
        if announcer.left() == 0 && ended.is_ok() {
            return Ok(None);
        }
        announcer.stopped();
        ended?;
        Ok(Some(match announcer.is_interrupted() {
            true => STATUS_INTERRUPTED,
            false => STATUS_FAILED,
        }))
    }

    /// All trials are done: removes servers and images, unless they are to be kept.
    fn finish(&self, lab: &Lab) -> Result<u8> {
        let caller = Terminal { quiet: self.quiet };
        let site = Site::new(lab, Arc::clone(&self.stop), &caller, &self.path)?;
        let freed = if self.keeps { 0 } else { site.remove_images()? };
        Announcer::new(
            lab,
            (lab.planned.len(), 0.0),
            self.quiet,
            self.options.clone(),
        )
        .end(&self.results, freed)?;
        Ok(STATUS_DONE)
    }
}

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
                "{name} was not started with this results file; start it with `dyno lab run`"
            ))),
        };
    };
    let (changes, all) = (lab.changes(stored), lab.planned.len());
    if let Some(changes) = &changes
        && !parsed.has("accept-changes")
    {
        let (over, how) = match lab.head.file.is_empty() {
            true => ("make it another experiment", "--name NAME"),
            false => ("start over", "another --results file"),
        };
        return Err(usage(format!(
            "{name} has changed since it was planned:\n{changes}{done} of {all} trials are done \
             and unchanged. To go on with the change: --accept-changes; to {over}: {how}"
        )));
    }
    if !resumes && done < all && done > 0 && changes.is_none() {
        return Err(usage(format!(
            "{name} was already started: {done} of {all} trials are done; continue with `dyno lab \
             resume`, or start over with another --results file"
        )));
    }
    Ok(())
}

struct Running<'a> {
    lab: &'a Lab,
    id: i64,
    site: Site<'a>,
    file: &'a mut File,
    announcer: Announcer<'a>,
    /// Total of all trials so far, in seconds.
    spent_s: f64,
    /// The fingerprints of the rows, by their origin.
    rows: BTreeMap<String, String>,
    /// Settings that could not be read back and were reported.
    unseen: BTreeSet<String>,
}

impl Running<'_> {
    fn all(&mut self, progress: &[Progress]) -> Result<()> {
        let lab = self.lab;
        let mut schedule = Schedule::new(&lab.experiment, &lab.trials, progress);
        let mut failures = 0;
        let mut block = None;
        while let Some(next) = schedule.next() {
            if self.file.stop.level() != StopLevel::None {
                break;
            }
            let own = lab.trials.trials[next.trial].block;
            if block.replace(own) != Some(own) && self.is_spent() {
                break;
            }
            let identity = lab.planned[next.trial].identity.to_string();
            self.announcer.next(next.trial, next.out_of_order);
            let attempt = self.file.results.begin_attempt(self.id, &identity)?;
            let outcome = self.one(&next, &identity);
            let interrupted = self.file.stop.level() != StopLevel::None;
            let end = match &outcome {
                Ok(_) => AttemptEnd::Done,
                Err(_) if interrupted => AttemptEnd::Interrupted,
                Err(error) => AttemptEnd::Failed(dyno_core::redact::text(&format!("{error:#}"))),
            };
            self.file
                .results
                .end_attempt(attempt, &end, self.site.done())?;
            match outcome {
                Ok(runs) => {
                    failures = 0;
                    self.announcer.measured(next.trial, &runs);
                    schedule.ended(Outcome::Done);
                }
                Err(_) if interrupted => {
                    self.announcer.interrupted();
                    break;
                }
                Err(error) => {
                    failures += 1;
                    self.site.down();
                    self.announcer.failed(next.trial, &error);
                    schedule.ended(Outcome::Failed);
                    if failures >= self.file.failures_max {
                        bail!("{failures} trials in a row failed, the last one: {error:#}");
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the budget does not cover another block. The first always runs.
    fn is_spent(&mut self) -> bool {
        let Some(budget) = &self.lab.experiment.design.budget else {
            return false;
        };
        let blocks = self.lab.blocks().max(1) as f64;
        let block_s = self.announcer.estimate_s() / blocks;
        let spent_s = self.spent_s + self.announcer.here_s();
        let is_spent = spent_s > 0.0 && spent_s + block_s > budget.value().as_secs_f64();
        if is_spent {
            self.announcer.spent(spent_s);
        }
        is_spent
    }

    /// Checks that the rows match those of earlier trials of the same image.
    fn same_data(&mut self, cell: &dyno_lab::Cell, runs: &[RunSummary]) -> Result<()> {
        let mut facts = runs.iter().flat_map(|run| &run.facts);
        let Some(own) = facts.find(|fact| fact.name == FINGERPRINT) else {
            return Ok(());
        };
        let image = serde_json::to_string(&self.lab.experiment.image_of(cell).data)?;
        let known = self.rows.entry(image).or_insert_with(|| own.value.clone());
        match *known == own.value {
            true => Ok(()),
            false => bail!(
                "the rows differ from the image: their fingerprint is {}, that of earlier trials \
                 {known}",
                own.value
            ),
        }
    }

    /// Searches for the load of a trial, if it has a promise, and returns the trial at that load.
    fn at_the_limit(
        &mut self,
        cell: &dyno_lab::Cell,
        trial: PlannedCommand,
        identity: &str,
    ) -> Result<PlannedCommand> {
        let Some(text) = &cell.effective.search else {
            return Ok(trial);
        };
        if !self.file.quiet {
            console::progress(&format!("searching: {text}"));
        }
        let name: String = identity.chars().take(SEARCH_NAME).collect();
        let (trial, found) =
            super::search::search(&trial, text, (&name, self.file.quiet), &self.file.stop)?;
        self.site.add_step(Step::Text(found));
        Ok(trial)
    }

    /// Prepares and runs one trial.
    fn one(&mut self, next: &dyno_lab::Next, identity: &str) -> Result<Vec<RunSummary>> {
        let cell = self.lab.cell(next.trial);
        let target = self.site.make_ready(cell, next.change)?;
        for step in self.site.done() {
            if let Step::NotReadBack { not_read_back } = step
                && self.unseen.insert(not_read_back.clone())
                && !self.file.quiet
            {
                console::note(&step.to_string());
            }
        }
        let file = shown(&self.file.path)?;
        let line = line::run(cell, target.as_deref(), file, &self.lab.base);
        let line = line.ok_or_else(|| anyhow!("the trial has no workload"))?;
        let trial = PlannedCommand::of(line, "run")?;
        let mut trial = self.at_the_limit(cell, trial, identity)?;
        trial.command.plan.record.trial = Some(identity.to_owned());
        self.announcer.measuring(next.trial);
        let beside = self.site.beside(cell)?;
        let executed = execute(trial, &self.file.stop, &mut |_| {});
        let captured = beside.map(Beside::end);
        if self.site.has_died() {
            bail!("the server ended while it was loaded");
        }
        let (runs, outcome) = executed?.results(&self.file.stop)?;
        if let Some(RunEnd::Failed(why)) = runs
            .iter()
            .map(|run| &run.end)
            .find(|end| matches!(end, RunEnd::Failed(_)))
        {
            bail!("{why}");
        }
        let whole = !runs.is_empty() && runs.iter().all(|run| run.end == RunEnd::Completed);
        if let Some(captured) = captured.transpose()?.flatten() {
            self.site.add_step(Step::Captured { captured });
        }
        self.same_data(cell, &runs)?;
        match whole && outcome.is_complete() {
            true => Ok(runs),
            false => bail!("the run ended with status {}", status_of(outcome)),
        }
    }
}

fn shown(path: &Path) -> Result<&str> {
    let text = path.to_str();
    text.ok_or_else(|| {
        anyhow!(
            "the path of the results file is not UTF-8: {}",
            path.display()
        )
    })
}
