//! Assembles a run from the files that its agents stored on their hosts.

mod checks;
mod files;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use dyno_core::Target;
use dyno_core::catalogue::names;
use dyno_core::clock::wall_time;
use dyno_core::plan::{Drive, Plan};
use dyno_core::record::{Fact, RunHead, RunRecord};
use dyno_core::summary::{RunSummary, TargetSummary, WorkloadSummary};
use dyno_fleet::collect::{AgentFile, Collection};
use dyno_fleet::coordinator::Report;
use dyno_fleet::merge::{Axis, Merged};
use dyno_load::RunOutcome;
use dyno_run::scratch::{self, Scratch};
use dyno_run::{CollectedRun, Sinks};

use self::checks::{Counted, FileContents, compared, own_sessions};
use self::files::{collected_before, gathered, is_over, known, named, opened, original};
use super::bundle::Bundle;
use super::outcome::{Known, SENT_AT, operations, together};

/// The source of the facts of a run that was assembled from files.
const KEPT: &str = "the files that agents kept of the run";

/// The outcome of a collection.
pub enum Collected {
    /// The run was added to the results file.
    Recorded(Box<RunSummary>),
    /// It already existed, and the files agree.
    Same(String),
    /// It already existed, and the files differ.
    Differs(String),
}

/// A run to assemble.
pub struct CollectRequest {
    /// The results file.
    pub results: PathBuf,
    /// A run in it; `None` to use the run that the files name.
    pub run: Option<String>,
    /// The files of its agents, or those that cannot be fetched.
    pub files: Vec<PathBuf>,
    /// Whether to accept other versions of Dyno.
    pub mixed: bool,
    /// The program that starts Dyno on other hosts; `None` for the run's own.
    pub program: Option<String>,
}

/// Assembles a run.
///
/// # Errors
/// The run, or all files of its agents, are missing.
pub fn collect(request: CollectRequest, notices: &Sinks) -> Result<Collected> {
    let CollectRequest {
        results,
        run,
        files,
        mixed,
        program,
    } = request;
    let scratch = Scratch::make(
        &std::env::temp_dir(),
        &scratch::name(wall_time().as_nanos()),
    )?;
    let (mut base, files) = match run {
        None => {
            let files = opened(files.into_iter())?;
            (known(&results, &files)?, files)
        }
        Some(run) => {
            let record = original(&results, named(&results, &run)?)?;
            is_over(&results, &record)?;
            let elsewhere = (scratch.path(), program.as_deref());
            let paths = gathered(&record, files, elsewhere, notices)?;
            (Some(record), opened(paths.into_iter())?)
        }
    };
    if let Some(record) = &base {
        is_over(&results, record)?;
        // A second copy would add nothing.
        if let Some(before) = collected_before(&results, record)? {
            base = Some(before);
        }
    }
    let mixed = mixed || base.as_ref().is_some_and(is_mixed);
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path().to_owned()).collect();
    whole(&results, base, files, (&paths, mixed))
}

/// Adds up the files, then records the sums or compares them with the record.
fn whole(
    results: &Path,
    base: Option<RunRecord>,
    files: Vec<AgentFile>,
    (paths, mixed): (&[PathBuf], bool),
) -> Result<Collected> {
    let mut collection = Collection::new(files)?;
    if mixed {
        collection.allow_mixed_versions();
    }
    lost(&mut collection, base.as_ref());
    let head = collection.head().cloned();
    let head = head.ok_or_else(|| anyhow!("no agent's file was found"))?;
    let plan = Bundle::plan_of(&head.assignment.plan)?;
    let (of, division) = (collection.agents(), collection.division().clone());
    let mut axis = axis(&plan.drive);
    let mut counted = Counted::of(base.as_ref(), axis.start + axis.warmup_ns);
    let count = |merged: Merged| counted.add(&merged);
    let (report, beyond, start_unix_ns) = collection.merge(axis, count)?;
    own_sessions(&report, plan.drive.sessions)?;
    axis.start_unix_ns = start_unix_ns.unwrap_or(head.unix_ns);
    let measured = axis.start + axis.warmup_ns;
    let known = Known {
        division: &division,
        sessions: plan.drive.sessions,
        start: SENT_AT,
        measured,
        ended: counted.ended,
        interrupted: false,
        machine: "",
    };
    let outcome = together(&report, &known)?;
    if let Some(base) = base.as_ref().filter(|base| base.summary.is_some()) {
        let found = FileContents {
            report: &report,
            outcome: &outcome,
            counted: &counted,
            beyond: &beyond,
            files: of,
        };
        return Ok(compared(base, &found));
    }
    let entry = Entry {
        base,
        plan,
        run: head.run.to_string(),
        files: format!("{of} of {} agents' files", division.agents()),
        axis,
    };
    entry.enter(results, (&report, &outcome), paths)
}

/// A run to record.
struct Entry {
    base: Option<RunRecord>,
    plan: Plan,
    run: String,
    files: String,
    axis: Axis,
}

impl Entry {
    fn enter(
        self,
        results: &Path,
        (report, outcome): (&Report, &RunOutcome),
        paths: &[PathBuf],
    ) -> Result<Collected> {
        let Self {
            base,
            plan,
            run,
            files,
            axis,
        } = self;
        let measured = axis.start + axis.warmup_ns;
        let started_unix_s = (axis.start_unix_ns + axis.warmup_ns) as f64 / 1e9;
        let (name, mut facts) = match &base {
            Some(record) => (format!("{}-collected", record.head.name), Vec::new()),
            None => (
                dyno_run::new_name(&plan.workload, started_unix_s),
                vec![Fact::new(names::FLEET_RUN, run, KEPT)],
            ),
        };
        let run_head = match &base {
            Some(record) => RunHead {
                name,
                ..record.head.clone()
            },
            None => bare_head(name, plan, started_unix_s),
        };
        let names = operations(report)?;
        let origin = (measured, Some(started_unix_s));
        let run = CollectedRun::start(results, run_head, names, origin)?;
        let place = run.location();
        facts.push(Fact::new(names::FLEET_COLLECTED, files, KEPT));
        let finished = || {
            let run = recorded(run, base.as_ref(), (paths, axis))?;
            Ok(run.finish(outcome, facts)?)
        };
        match finished() {
            Ok(summary) => Ok(Collected::Recorded(Box::new(summary))),
            Err(error) => {
                CollectedRun::remove(&place)?;
                Err(error)
            }
        }
    }
}

/// Whether the run accepted agents of other builds.
fn is_mixed(base: &RunRecord) -> bool {
    const OPTION: &str = "allow-mixed-versions";
    let allowed = |word: &String| word.trim_start_matches('-').replace('_', "-") == OPTION;
    base.head.argv.iter().any(allowed)
}

/// Marks the agents that the recorded run lost, with the number of their events in the record.
fn lost(collection: &mut Collection, base: Option<&RunRecord>) {
    let own = base.filter(|base| base.fact(names::FLEET_COLLECTED).is_none());
    let agents = own.and_then(|base| Some(&base.summary.as_ref()?.agents));
    for (index, agent) in agents.into_iter().flatten().enumerate() {
        if agent.lost {
            collection.was_lost(index, agent.events);
        }
    }
}

/// Records the run with its observations and its agents' measurements.
fn recorded(
    mut run: CollectedRun,
    base: Option<&RunRecord>,
    (paths, axis): (&[PathBuf], Axis),
) -> Result<CollectedRun> {
    if let Some(base) = base {
        run.observed(base)?;
    }
    let again = Collection::new(opened(paths.iter().cloned())?)?;
    let mut failed = None;
    again.merge(axis, |merged| {
        if failed.is_none() {
            failed = run.interval(&merged.interval).err();
        }
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(run),
    }
}

fn axis(drive: &Drive) -> Axis {
    let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Axis {
        start: SENT_AT,
        start_unix_ns: 0,
        warmup_ns: ns(drive.ramp_up + drive.warmup),
        interval_ns: ns(drive.interval),
    }
}

/// The head of a run without a record, from the plan.
fn bare_head(name: String, plan: Plan, unix_s: f64) -> RunHead {
    let url = plan.target.as_ref().and_then(|target| target.url());
    let target = url.and_then(|url| Target::parse(&url).ok());
    let family = target.as_ref().map(|target| target.family);
    RunHead {
        name,
        source: dyno_core::record::Source::Dyno,
        profile: dyno_core::record::Profile::Standard,
        tool: concat!("dyno ", env!("CARGO_PKG_VERSION")).to_owned(),
        created_unix_s: unix_s,
        argv: Vec::new(),
        workload: WorkloadSummary {
            name: plan.workload.clone(),
            command: "run".to_owned(),
            ..WorkloadSummary::default()
        },
        script_sha256: plan.script_sha256.clone(),
        target: TargetSummary {
            url: target.map(|target| target.label()).unwrap_or_default(),
            family,
            ..TargetSummary::default()
        },
        drive: Some(plan.drive.own()),
        percentiles: plan.record.percentiles.clone(),
        note: plan.record.note.clone(),
        factors: plan.record.factors.clone(),
        phase: None,
        trial: plan.record.trial.clone(),
        plan: Some(Box::new(plan)),
    }
}
