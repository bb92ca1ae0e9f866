//! Runs the trials of an experiment one after the other, and plans more if its file requests a
//! precision or a confirmation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dyno_core::clock::{Clock, Nanos};
use dyno_core::duet::DuetSummary;
use dyno_core::redact;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_lab::{Cell, Next, Outcome, Progress, Schedule};
use dyno_load::{StopLevel, StopSignal};
use dyno_results::{AttemptEnd, Results, Step};

use super::capture::Capture;
use super::duets;
use super::search::search;
use super::site::{Site, since};
use super::there::Mode;
use super::{Caller, Lab, LabEvent, Pace, line};
use crate::Command;

/// The name of the workloads' row fingerprint.
const FINGERPRINT: &str = "dataset.fingerprint";
/// Letters of a trial's identity in the name of its search.
const SEARCH_NAME: usize = 12;

/// The user's decisions about an experiment.
#[derive(Clone, Debug)]
pub struct LabSettings {
    /// Limit of failed trials in a row.
    pub failures_max: usize,
    /// Servers and images remain after the last trial.
    pub keeps_servers: bool,
    /// What Dyno may do to the tables of running servers, by URL.
    pub tables: BTreeMap<String, Mode>,
}

/// How an experiment ended.
#[derive(Debug)]
pub enum LabEnd {
    /// All trials are done.
    Done {
        /// Bytes of removed servers and images.
        freed: u64,
    },
    /// Some trials are left.
    Early {
        /// Number of finished trials.
        done: usize,
        /// Whether the user ended it, or the error that ended it.
        interrupted: Result<bool>,
    },
}

/// Runs the rest of an experiment.
///
/// # Errors
/// The results file cannot be used, or a server cannot be restored or removed.
pub fn conduct<C: Caller>(
    lab: &mut Lab,
    results: &mut Results,
    settings: &LabSettings,
    stop: &Arc<StopSignal>,
    caller: &C,
) -> Result<LabEnd> {
    loop {
        if let Some(early) = planned(lab, results, settings, stop, caller)? {
            return Ok(early);
        }
        if !lab.is_precise(results)? {
            // Add blocks until the ratios are precise enough.
            lab.plan(Some(lab.blocks() + 1));
        } else if !lab.rerun_best(results)? {
            break;
        }
    }
    let freed = match settings.keeps_servers {
        true => 0,
        false => {
            let mut site = Site::new(lab, Arc::clone(stop), caller, results.path())?;
            let freed = site.remove_images()?;
            site.is_second = true;
            freed + site.remove_images()?
        }
    };
    Ok(LabEnd::Done { freed })
}

/// Runs the rest of the planned trials. Returns the end if it did not run all of them.
fn planned<C: Caller>(
    lab: &Lab,
    results: &mut Results,
    settings: &LabSettings,
    stop: &Arc<StopSignal>,
    caller: &C,
) -> Result<Option<LabEnd>> {
    let id = results.keep_experiment(&lab.head, &lab.rows())?;
    let states = lab.states(results)?;
    let (begun, pace) = (Clock.now(), Pace::of(lab, &states));
    let name = &lab.head.name;
    caller.event(LabEvent::Begun { name, pace });
    let mut site = Site::new(lab, Arc::clone(stop), caller, results.path())?;
    site.tables.clone_from(&settings.tables);
    let mut running = Running {
        lab,
        id,
        site,
        other: None,
        caller,
        results,
        begun,
        spent_before_s: pace.took_s,
        pace,
        rows: BTreeMap::new(),
        unseen: BTreeSet::new(),
    };
    let interrupted = running.all(&lab.progress(&states), settings.failures_max);
    let Running {
        mut site,
        other,
        pace,
        ..
    } = running;
    let mut left = site.leave();
    // Images remain for the next block, or for `resume`.
    drop(site);
    if let Some(mut other) = other {
        left = left.and(other.leave());
    }
    left?;
    if pace.left() == 0 && interrupted.is_ok() {
        return Ok(None);
    }
    let done = pace.done;
    Ok(Some(LabEnd::Early { done, interrupted }))
}

pub(super) struct Running<'a, C> {
    pub(super) lab: &'a Lab,
    /// The experiment's number in the results file.
    id: i64,
    pub(super) site: Site<'a, C>,
    /// The servers of side B of duets, if they have their own.
    pub(super) other: Option<Site<'a, C>>,
    pub(super) caller: &'a C,
    results: &'a mut Results,
    begun: Nanos,
    /// Total time of the trials of earlier processes, in seconds.
    spent_before_s: f64,
    pub(super) pace: Pace,
    /// The fingerprints of the rows, by their origin.
    rows: BTreeMap<String, String>,
    /// Settings that could not be read back and were reported.
    unseen: BTreeSet<String>,
}

/// A trial, or both trials of a duet, in words.
fn label_of(lab: &Lab, next: &Next) -> String {
    match next.sides {
        Some(sides) => duets::label(lab, sides),
        None => lab.planned[next.trial].label.clone(),
    }
}

/// What was measured.
enum Measured {
    /// The runs of a trial.
    Runs(Vec<RunSummary>),
    /// Both trials of a duet.
    Duet(Box<DuetSummary>),
}

impl<C: Caller> Running<'_, C> {
    /// Runs the trials. Returns whether the user ended one.
    fn all(&mut self, progress: &[Progress], failures_max: usize) -> Result<bool> {
        let lab = self.lab;
        let mut schedule = Schedule::new(&lab.experiment, &lab.trials, progress);
        let (mut failures, mut block) = (0, None);
        while let Some(next) = schedule.next() {
            if self.is_stopped() {
                return Ok(true);
            }
            let own = lab.trials.trials[next.trial].block;
            if block.replace(own) != Some(own) && self.is_spent() {
                break;
            }
            match self.attempt(&next)? {
                AttemptEnd::Done => {
                    failures = 0;
                    schedule.ended(Outcome::Done);
                }
                AttemptEnd::Interrupted => return Ok(true),
                AttemptEnd::Failed(why) => {
                    failures += 1;
                    self.site.down();
                    self.other.iter_mut().for_each(Site::down);
                    let label = &label_of(lab, &next);
                    self.caller.event(LabEvent::Failed { label, why: &why });
                    schedule.ended(Outcome::Failed);
                    if failures >= failures_max {
                        bail!("{failures} trials in a row failed, the last one: {why}");
                    }
                }
            }
        }
        Ok(false)
    }

    fn is_stopped(&self) -> bool {
        self.site.stop.level() != StopLevel::None
    }

    /// Whether the budget does not cover another block. It may not even cover the first.
    fn is_spent(&self) -> bool {
        let Some(budget) = &self.lab.experiment.design.budget else {
            return false;
        };
        let block_s = self.pace.all_s() / self.lab.blocks().max(1) as f64;
        let spent_s = self.spent_before_s + since(self.begun);
        let is_spent = spent_s + block_s > budget.value().as_secs_f64();
        if is_spent {
            self.caller.event(LabEvent::Spent { spent_s });
        }
        is_spent
    }

    /// Runs one trial, or both trials of a duet, and records how that ended.
    fn attempt(&mut self, next: &Next) -> Result<AttemptEnd> {
        let lab = self.lab;
        let label = &label_of(lab, next);
        let begun = Clock.now();
        self.caller.event(LabEvent::Preparing {
            label,
            pace: self.pace,
            again: next.out_of_order,
        });
        let trials = next.sides.map_or(vec![next.trial], Vec::from);
        let mut attempts = Vec::with_capacity(trials.len());
        for trial in trials {
            let identity = lab.planned[trial].identity.to_string();
            attempts.push(self.results.begin_attempt(self.id, &identity)?);
        }
        let measured = match next.sides {
            Some(sides) => {
                let duet = self.measure_duet(sides, next.change, label);
                duet.map(|duet| Measured::Duet(Box::new(duet)))
            }
            None => self.measure(next).map(Measured::Runs),
        };
        let end = match &measured {
            Ok(_) => AttemptEnd::Done,
            Err(_) if self.is_stopped() => AttemptEnd::Interrupted,
            Err(error) => AttemptEnd::Failed(redact::text(&format!("{error:#}"))),
        };
        let trials = attempts.len();
        for attempt in attempts {
            self.results.end_attempt(attempt, &end, &self.site.done)?;
        }
        if let Ok(measured) = &measured {
            self.pace.add(trials, since(begun));
            let pace = self.pace;
            self.caller.event(match measured {
                Measured::Runs(runs) => LabEvent::Measured { label, runs, pace },
                Measured::Duet(duet) => LabEvent::Compared { label, duet, pace },
            });
        }
        Ok(end)
    }

    /// Reports settings that could not be read back, each once.
    pub(super) fn report_unread(&mut self) {
        for step in &self.site.done {
            if let Step::NotReadBack { not_read_back } = step
                && self.unseen.insert(not_read_back.clone())
            {
                self.caller.event(LabEvent::NotReadBack(step));
            }
        }
    }

    /// The path of the results file, as an option's value.
    pub(super) fn results_file(&self) -> Result<&str> {
        let path = self.results.path();
        path.to_str().with_context(|| {
            format!(
                "the path of the results file is not UTF-8: {}",
                path.display()
            )
        })
    }

    /// Prepares and measures one trial.
    fn measure(&mut self, next: &Next) -> Result<Vec<RunSummary>> {
        let (lab, caller, stop) = (self.lab, self.caller, Arc::clone(&self.site.stop));
        let cell = lab.cell(next.trial);
        let identity = lab.planned[next.trial].identity.to_string();
        let target = self.site.make_ready(cell, next.change)?;
        self.report_unread();
        let line = line::run(cell, target.as_deref(), self.results_file()?, &lab.base);
        let line = line.context("the trial has no workload")?;
        let (trial, options) = caller.plan(line)?;
        let mut trial = self.at_the_limit(cell, (trial, &options), &identity)?;
        trial.plan.record.trial = Some(identity);
        trial.plan.record.varied = lab.experiment.varied();
        let (label, pace) = (&lab.planned[next.trial].label, self.pace);
        caller.event(LabEvent::Measuring { label, pace });
        let capture = self.site.capture(cell)?;
        let executed = caller.execute(trial, options, &stop);
        let captured = capture.map(Capture::end);
        if self.site.has_died() {
            bail!("the server ended while it was loaded");
        }
        let (runs, outcome) = caller.results(executed?, &stop)?;
        let mut ends = runs.iter().map(|run| &run.end);
        if let Some(RunEnd::Failed(why)) = ends.find(|end| matches!(end, RunEnd::Failed(_))) {
            bail!("{why}");
        }
        let whole = !runs.is_empty() && runs.iter().all(|run| run.end == RunEnd::Completed);
        if let Some(captured) = captured.transpose()?.flatten() {
            self.site.done.push(Step::Captured { captured });
        }
        self.same_data(cell, &runs)?;
        match whole && outcome.is_complete() {
            true => Ok(runs),
            false => Err(caller.incomplete(outcome)),
        }
    }

    /// Searches for the load of a trial, if it has a promise, and returns the trial at that load.
    fn at_the_limit(
        &mut self,
        cell: &Cell,
        (trial, options): (Command, &C::Options),
        identity: &str,
    ) -> Result<Command> {
        let Some(promise) = &cell.effective.search else {
            return Ok(trial);
        };
        self.caller.event(LabEvent::Searching(promise));
        let name = identity.chars().take(SEARCH_NAME).collect();
        let stop = &self.site.stop;
        let (trial, found) = search(self.caller, (&trial, options), promise, name, stop)?;
        self.site.done.push(Step::Text(found));
        Ok(trial)
    }

    /// Checks that the rows match those of earlier trials of the same image.
    pub(super) fn same_data(&mut self, cell: &Cell, runs: &[RunSummary]) -> Result<()> {
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
}
