//! Several runs one after the other, each recorded: the phases of a workload, or the steps of a
//! ladder.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dyno_core::clock::{Clock, wall_time};
use dyno_core::plan::{OptionValue, PhasePlan, Plan};
use dyno_core::redact;
use dyno_core::summary::{PhaseOf, Preparation, RunEnd, RunSummary};
use dyno_load::StopSignal;
use dyno_run::{Job, Loaded, Notice, Ready, RunRequest, new_name};

use crate::hints::with_hint;
use crate::hosts::Hosts;
use crate::measure::measure;
use crate::outcome::{Executed, Outcome};
use crate::plans::phase_options;
use crate::stage::Stage;

/// State common to all runs of a sequence.
pub(crate) struct Sequence<'a> {
    /// The plan and other inputs of the summary.
    pub request: RunRequest,
    /// The job, without the script's own options.
    pub job: Job,
    /// The script's own options.
    pub own: Vec<(String, OptionValue)>,
    /// Stops the run and the sequence.
    pub stop: Arc<StopSignal>,
    /// The other hosts that take part.
    pub hosts: &'a Hosts,
}

impl Sequence<'_> {
    /// Runs the phases.
    pub(crate) fn phases(&self, stage: &mut dyn Stage) -> Executed {
        let phases = &self.request.plan.phases;
        self.all(phases, "phase", stage, |phase, place, stage| {
            let place = PhaseOf {
                name: phase.name.clone(),
                unit: phase.unit.clone(),
                per_event: phase.per_event,
                ..place
            };
            let (name, number, of) = (&place.name, place.number, place.of);
            stage.notice(&Notice::Step(format!("Phase {number} of {of}: {name}")));
            let failed = || format!("the phase {} failed", phase.name);
            let (summary, outcome) = self.phase(phase, place, stage).with_context(failed)?;
            Ok((summary, outcome.with_context(failed)))
        })
    }

    /// Runs the steps of the ladder, each with its number of sessions.
    pub(crate) fn ladder(&self, stage: &mut dyn Stage) -> Executed {
        let ladder = &self.request.plan.ladder;
        self.all(ladder, "step", stage, |sessions, place, stage| {
            let place = PhaseOf {
                name: format!("{sessions} sessions"),
                ..place
            };
            let failed = || format!("the step of {sessions} sessions");
            let (summary, outcome) = self.step(*sessions, place, stage).with_context(failed)?;
            Ok((summary, outcome.with_context(failed)))
        })
    }

    /// Runs all parts, until one does not complete. An error ends the sequence; what was measured
    /// before is kept.
    fn all<T>(
        &self,
        parts: &[T],
        what: &str,
        stage: &mut dyn Stage,
        run: impl Fn(&T, PhaseOf, &mut dyn Stage) -> Result<(RunSummary, Result<Outcome>)>,
    ) -> Executed {
        let sequence = new_name(&self.request.plan.workload, wall_time().as_secs_f64());
        let mut executed = Executed::default();
        for (part, number) in parts.iter().zip(1..) {
            let place = PhaseOf {
                sequence: sequence.clone(),
                name: String::new(),
                number,
                of: parts.len() as u32,
                unit: "events".to_owned(),
                per_event: 1.0,
                before: None,
            };
            let (summary, outcome) = match run(part, place, stage) {
                Ok(ended) => ended,
                Err(error) => return executed.failed(error),
            };
            let completed = summary.end == RunEnd::Completed;
            executed.add(summary, outcome);
            if executed.error.is_some() {
                return executed;
            }
            if !completed {
                break;
            }
        }
        let left = parts.len() - executed.runs.len();
        if left > 0 {
            stage.notice(&Notice::Step(format!("{left} {what}(s) did not run.")));
        }
        executed
    }

    fn phase(
        &self,
        phase: &PhasePlan,
        mut place: PhaseOf,
        stage: &mut dyn Stage,
    ) -> Result<(RunSummary, Result<Outcome>)> {
        let mut job = self.job.clone();
        phase.limit(&mut job.drive);
        let own = phase_options(&self.own, phase)?;
        let options = job.all_options(&own);
        let mut ready = Loaded::new(job)?.ready(options, Arc::clone(&self.stop))?;
        if ready.job.drive.roles != phase.roles {
            bail!("the plan's roles differ from those of the script with the phase's options");
        }
        if !phase.before.is_empty() {
            place.before = Some(self.prepare(&mut ready, phase, stage)?);
        }
        let plan = Plan {
            phases: vec![phase.clone()],
            ..self.request.plan.clone()
        };
        let request = RunRequest {
            phase: Some(place),
            ..RunRequest::new(plan, &own, self.request.server.clone(), &ready)
        };
        measure(&mut ready, &request, self.hosts, stage)
    }

    /// Runs the commands before a phase, and rolls back if one fails.
    fn prepare(
        &self,
        ready: &mut Ready,
        phase: &PhasePlan,
        stage: &mut dyn Stage,
    ) -> Result<Preparation> {
        let (mut all_s, mut answers) = (0.0, Vec::new());
        for before in &phase.before {
            stage.notice(&Notice::Step(format!("Running '{before}' first.")));
            let since = Clock.now();
            if let Err(error) = stage.command(ready, before) {
                if let Some(undo) = &phase.undo
                    && let Err(trouble) = ready.undo(undo)
                {
                    let why = format!("'{undo}' failed too: {trouble:#}");
                    stage.notice(&Notice::Warning(why));
                }
                return Err(with_hint(error, ready, &self.request.plan.workload));
            }
            let seconds = Clock.now().saturating_sub(since) as f64 / 1e9;
            let answer = match ready.in_all_sessions(before) {
                // Each session has its own answer.
                true => None,
                false => ready.last_answer(),
            };
            let answer = redact::text(&answer.unwrap_or_default());
            let rest = match answer.as_str() {
                "" => String::new(),
                answer => format!(": {answer}"),
            };
            let took = format!("'{before}' took {seconds:.1} s{rest}");
            stage.notice(&Notice::Step(took));
            all_s += seconds;
            answers.extend((!answer.is_empty()).then_some(answer));
        }
        Ok(Preparation {
            command: phase.before.join(", "),
            seconds: all_s,
            messages: answers.join("; "),
        })
    }

    fn step(
        &self,
        sessions: u32,
        place: PhaseOf,
        stage: &mut dyn Stage,
    ) -> Result<(RunSummary, Result<Outcome>)> {
        let mut job = self.job.clone();
        job.drive.sessions = sessions;
        job.drive.workers = job.workers_for(sessions);
        let mut plan = self.request.plan.clone();
        // Each step is an ordinary run.
        plan.command = "run".to_owned();
        plan.ladder.clear();
        plan.drive.sessions = sessions;
        let options = job.all_options(&self.own);
        let mut ready = Loaded::new(job)?.ready(options, Arc::clone(&self.stop))?;
        plan.roles.clone_from(&ready.job.drive.roles);
        plan.drive.workers = ready.job.drive.workers;
        let request = RunRequest {
            plan,
            phase: Some(place),
            ..self.request.clone()
        };
        measure(&mut ready, &request, self.hosts, stage)
    }
}
