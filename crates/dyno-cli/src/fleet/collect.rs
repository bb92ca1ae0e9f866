//! A run put together again from the files that its agents kept on their hosts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_analysis::summarize;
use dyno_core::clock::{Nanos, wall_time};
use dyno_core::interval::Counters;
use dyno_core::plan::{Drive, Plan};
use dyno_core::record::{Fact, RunHead, RunRecord, RunState};
use dyno_core::summary::{IntervalSummary, RunSummary, TargetSummary, WorkloadSummary};
use dyno_core::{Target, redact};
use dyno_fleet::collect::{AgentFile, Collection, file_name};
use dyno_fleet::merge::Axis;
use dyno_fleet::names::{AgentName, RunId};
use dyno_load::RunOutcome;
use dyno_results::{Filter, Results, RunStage, Scope};
use dyno_run::CollectedRun;
use dyno_run::scratch::{self, Scratch};

use super::bundle::Bundle;
use super::kept;
use super::outcome::{Known, SENT_AT, operations, together};
use super::specs::Place;
use super::ssh::{Remote, brought};
use crate::options::Parsed;
use crate::settings::usage;
use crate::{console, run_store};

/// The fact that holds the name of a run on its bus.
pub const RUN: &str = "fleet.run";
/// How the facts begin that tell where agents ran.
pub const AGENT: &str = "fleet.agent.";

/// The fact that tells what started Dyno on other hosts.
pub const COMMAND: &str = "fleet.command";
/// The fact that a run was put together from files.
const COLLECTED: &str = "fleet.collected";

/// What came of collecting.
pub enum Collected {
    /// The run is in the results file now.
    Recorded(Box<RunSummary>),
    /// It was there already, and the files say the same.
    Same(String),
    /// They do not.
    Differs(String),
}

/// Puts a run together: the first word names a run of the results file or, as all others do, a
/// file.
///
/// # Errors
/// There is no such run, or no file of its agents.
pub fn collect(parsed: &Parsed, words: &[&str]) -> Result<Collected> {
    let (first, rest) = words
        .split_first()
        .ok_or_else(|| usage("dyno fleet collect needs a run, or the files of its agents"))?;
    let scratch = Scratch::make(
        &std::env::temp_dir(),
        &scratch::name(wall_time().as_nanos()),
    )?;
    if let Some(file) = words.iter().find(|word| is_missing_file(word)) {
        return Err(usage(format!(
            "dyno fleet collect: there is no file {file}"
        )));
    }
    let (results, base, files) = if Path::new(first).is_file() {
        let files = opened(words.iter().map(PathBuf::from))?;
        let results = run_store::required(parsed)?;
        (results.clone(), known(&results, &files)?, files)
    } else {
        let (results, record) = run_store::load(parsed, first, &Scope::whole())?;
        let record = original(&results, record)?;
        is_over(&results, &record)?;
        let given = rest.iter().map(PathBuf::from).collect();
        let paths = gathered(parsed, &record, given, scratch.path())?;
        (results, Some(record), opened(paths.into_iter())?)
    };
    if let Some(record) = &base {
        is_over(&results, record)?;
    }
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path().to_owned()).collect();
    whole(&results, base, files, &paths)
}

/// Whether a word names a file, which is not there.
fn is_missing_file(word: &str) -> bool {
    let is_file = word.ends_with(".dyno-agent") || word.contains('/') && !word.contains(':');
    is_file && !Path::new(word).is_file()
}

/// Adds up the files, and records or compares what comes of it.
fn whole(
    results: &Path,
    base: Option<RunRecord>,
    files: Vec<AgentFile>,
    paths: &[PathBuf],
) -> Result<Collected> {
    let collection = Collection::new(files)?;
    let head = collection.head().cloned();
    let head = head.ok_or_else(|| anyhow!("there is no file of an agent"))?;
    let plan = Bundle::plan_of(&head.assignment.plan)?;
    let (of, division) = (collection.agents(), collection.division().clone());
    let mut axis = axis(&plan.drive);
    let mut counted = Counted::of(base.as_ref(), axis.start + axis.warmup_ns);
    let (report, start_unix_ns) = collection.merge(axis, |merged| counted.add(&merged))?;
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
        if let (Some(why), RunState::Completed) = (&report.failed, base.state) {
            return Ok(Collected::Differs(format!("{}: {why}", base.head.name)));
        }
        return Ok(compared(base, &outcome, &counted, of));
    }
    let started_unix_s = (axis.start_unix_ns + axis.warmup_ns) as f64 / 1e9;
    let (name, facts) = match &base {
        Some(record) => (format!("{}-collected", record.head.name), Vec::new()),
        None => (
            dyno_run::new_name(&plan.workload, started_unix_s),
            vec![fact(RUN, head.run.to_string())],
        ),
    };
    let run_head = match &base {
        Some(record) => RunHead {
            name,
            ..record.head.clone()
        },
        None => bare_head(name, plan, started_unix_s),
    };
    let names = operations(&report)?;
    let origin = (measured, Some(started_unix_s));
    let run = CollectedRun::start(results, run_head, names, origin)?;
    let place = run.place();
    let all = division.agents();
    let mut facts = facts;
    facts.push(fact(COLLECTED, format!("{of} of {all} agents' files")));
    let finished = || {
        let run = recorded(run, base.as_ref(), (paths, axis))?;
        Ok(run.finish(&outcome, facts)?)
    };
    match finished() {
        Ok(summary) => Ok(Collected::Recorded(Box::new(summary))),
        Err(error) => {
            CollectedRun::remove(&place)?;
            Err(error)
        }
    }
}

/// The run with what was seen of it, and what its agents measured.
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

fn fact(name: &str, value: String) -> Fact {
    Fact {
        name: name.to_owned(),
        value,
        source: "the files that agents kept of the run".to_owned(),
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

fn opened(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<AgentFile>> {
    paths.map(|path| Ok(AgentFile::open(&path)?)).collect()
}

/// The run of these files in the results file, if it is there.
fn known(results: &Path, files: &[AgentFile]) -> Result<Option<RunRecord>> {
    let head = files.first().map(AgentFile::head);
    let Some(head) = head.filter(|_| results.is_file()) else {
        return Ok(None);
    };
    let results = Results::open_read(results)?;
    let mut unfinished = None;
    for id in results.with_fact(RUN, head.run.as_str())? {
        let record = results.load(id, &Scope::whole())?;
        if record.summary.is_some() {
            return Ok(Some(record));
        }
        // The first is the coordinator's own.
        unfinished.get_or_insert(record);
    }
    Ok(unfinished)
}

/// Of a run that was collected before, the one that it was collected for.
fn original(path: &Path, record: RunRecord) -> Result<RunRecord> {
    let Some(run) = record
        .fact(RUN)
        .filter(|_| record.fact(COLLECTED).is_some())
    else {
        return Ok(record);
    };
    let results = Results::open_read(path)?;
    for id in results.with_fact(RUN, run)? {
        let one = results.load(id, &Scope::whole())?;
        if one.fact(COLLECTED).is_none() {
            return Ok(one);
        }
    }
    Ok(record)
}

/// A run that goes on is not to be collected.
fn is_over(results: &Path, record: &RunRecord) -> Result<()> {
    if record.state != RunState::Running {
        return Ok(());
    }
    let lines = Results::open_read(results)?.runs(&Filter::default())?;
    let runs = |stage| stage == RunStage::Running;
    let line = lines.iter().find(|line| line.id == record.id);
    match line.is_some_and(|line| runs(line.stage)) {
        true => bail!("the run {} still goes on", record.head.name),
        false => Ok(()),
    }
}

/// The files of a run's agents: those that are given, and those that can be had.
fn gathered(
    parsed: &Parsed,
    record: &RunRecord,
    given: Vec<PathBuf>,
    scratch: &Path,
) -> Result<Vec<PathBuf>> {
    let name = &record.head.name;
    let run = record.fact(RUN).ok_or_else(|| {
        usage(format!(
            "the run {name} was made by one load generator: there is nothing to collect"
        ))
    })?;
    let run = RunId::new(run)?;
    let program = record.fact(COMMAND).filter(|program| is_plain(program));
    let heads = opened(given.iter().cloned())?;
    let mut paths = given;
    let mut missing = Vec::new();
    for fact in &record.facts {
        let Some(agent) = fact.name.strip_prefix(AGENT) else {
            continue;
        };
        let agent = AgentName::new(agent)?;
        if heads.iter().any(|file| file.head().agent == agent) {
            continue;
        }
        match had(parsed, &run, &agent, &fact.value, (scratch, program)) {
            Ok(path) => paths.push(path),
            Err(error) => missing.push(format!("{agent} ({}): {error:#}", fact.value)),
        }
    }
    for why in &missing {
        console::note(&format!("warning: no file of {}", redact::text(why)));
    }
    match paths.is_empty() {
        true => bail!("there is no file of any agent of the run {name}"),
        false => Ok(paths),
    }
}

/// Whether a program is one word to a shell: a results file may be somebody else's.
fn is_plain(program: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    !program.is_empty() && !program.starts_with('-') && program.chars().all(plain)
}

/// An agent's file, brought here where it is elsewhere.
fn had(
    parsed: &Parsed,
    run: &RunId,
    agent: &AgentName,
    place: &str,
    (scratch, program): (&Path, Option<&str>),
) -> Result<PathBuf> {
    match Place::one(place) {
        Ok(Place::Local) => {
            let folder = kept::folder().context("$HOME is not set")?;
            let path = folder.join(file_name(run, agent));
            match path.is_file() {
                true => Ok(path),
                false => bail!("{} is not there", path.display()),
            }
        }
        Ok(Place::Ssh(host)) => {
            let path = scratch.join(file_name(run, agent));
            let file = std::fs::File::create(&path)?;
            let program = parsed.value("agent-command").or(program).unwrap_or("dyno");
            let remote = Remote::new(&host, program);
            let mut command = remote.command(&format!("agent --print-file {run}.{agent}"));
            let said = scratch.join("ssh.err");
            command.stdin(Stdio::null()).stdout(file);
            command.stderr(std::fs::File::create(&said)?);
            let status = brought(&mut command, &path)?;
            let said = std::fs::read(&said)?;
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            if status.success() {
                return Ok(path);
            }
            let advice = remote.advice(status.code(), &said);
            let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
            bail!("ssh {host}: {status}: {said}{advice}")
        }
        _ => {
            let path = kept::folder().map(|folder| folder.join(file_name(run, agent)));
            match path.filter(|path| path.is_file()) {
                Some(path) => Ok(path),
                None => bail!(
                    "it joined by itself: copy ~/.local/state/dyno/agents/{} from its host, and \
                     name it",
                    file_name(run, agent)
                ),
            }
        }
    }
}

/// What all intervals together hold.
struct Counted<'a> {
    /// What of them is recorded.
    recorded: &'a [IntervalSummary],
    percentiles: &'a [f64],
    measured: Nanos,
    intervals: u64,
    events: u64,
    /// The first that is recorded as another.
    other: Option<u64>,
    /// When the last one ended.
    ended: Nanos,
}

impl<'a> Counted<'a> {
    fn of(base: Option<&'a RunRecord>, measured: Nanos) -> Self {
        Self {
            recorded: base.map_or(&[], |base| &base.intervals),
            percentiles: base.map_or(&[], |base| &base.head.percentiles),
            measured,
            intervals: 0,
            events: 0,
            other: None,
            ended: 0,
        }
    }

    fn add(&mut self, merged: &dyno_fleet::merge::Merged) {
        let found = summarize::interval(&merged.interval, self.measured, self.percentiles);
        let own = |one: &IntervalSummary| {
            let latencies = (one.percentiles.clone(), one.max_ms);
            (one.counters, one.errors_seen, latencies)
        };
        let recorded = self.recorded.get(self.intervals as usize);
        self.intervals += 1;
        if recorded.is_some_and(|one| own(one) != own(&found)) {
            self.other.get_or_insert(self.intervals);
        }
        self.events += merged.interval.counters.events;
        self.ended = self.ended.max(merged.interval.end);
    }
}

/// Whether the files say what the record says.
fn compared(base: &RunRecord, outcome: &RunOutcome, counted: &Counted<'_>, of: usize) -> Collected {
    let Some(summary) = &base.summary else {
        return Collected::Differs("the record has no summary".to_owned());
    };
    let name = &base.head.name;
    let own = &outcome.totals.counters;
    let recorded: u64 = base.intervals.iter().map(|one| one.counters.events).sum();
    let mut different = Vec::new();
    let mut look = |what: &str, kept: u64, found: u64| {
        if kept != found {
            different.push(format!(
                "{what}: {kept} in the record, {found} in the files"
            ));
        }
    };
    let (kept, found) = (by_name(&summary.totals), by_name(own));
    for (name, kept) in &kept {
        look(name, *kept, found.get(name).copied().unwrap_or_default());
    }
    look("intervals", base.intervals.len() as u64, counted.intervals);
    look("events within intervals", recorded, counted.events);
    if let Some(number) = counted.other.filter(|_| different.is_empty()) {
        different.push(format!(
            "interval {number} has other counts or latencies in the files"
        ));
    }
    match different.is_empty() {
        true => Collected::Same(format!(
            "{name}: the files of {of} agents add up to what is recorded: {} events, {} intervals",
            own.events, counted.intervals
        )),
        false => {
            let more = match own.events > summary.totals.events {
                true => {
                    "; the files alone, in a results file of their own (--results FILE), \
                         record what they hold"
                }
                false => "",
            };
            Collected::Differs(format!("{name}: {}{more}", different.join("; ")))
        }
    }
}

/// Counters by their names.
fn by_name(counters: &Counters) -> BTreeMap<String, u64> {
    let value = serde_json::to_value(counters).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten();
    let number =
        |(name, value): (&String, &serde_json::Value)| Some((name.clone(), value.as_u64()?));
    fields.filter_map(number).collect()
}

/// The head of a run of which there is no record: what the plan tells.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_program_is_no_command_line() {
        assert!(is_plain("/opt/dyno-0.1/bin/dyno"));
        for program in ["", "-x", "dyno; rm", "$(id)", "a b", "dyno\nid", "`id`"] {
            assert!(!is_plain(program), "{program}");
        }
    }
}
