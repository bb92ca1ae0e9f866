//! Locates agents' files, and the run's records in the results file.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use dyno_core::catalogue::names;
use dyno_core::record::{RunRecord, RunState};
use dyno_fleet::collect::{AgentFile, file_name};
use dyno_fleet::names::{AgentName, RunId};
use dyno_results::{Filter, Results, RunStage, Scope};
use dyno_run::Sinks;

use crate::fleet::part_file;
use crate::fleet::specs::AgentLocation;
use crate::fleet::ssh::{Remote, brought};
use crate::usage;

pub(super) fn opened(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<AgentFile>> {
    paths.map(|path| Ok(AgentFile::open(&path)?)).collect()
}

/// The run of these files in the results file.
pub(super) fn known(results: &Path, files: &[AgentFile]) -> Result<Option<RunRecord>> {
    let head = files.first().map(AgentFile::head);
    let Some(head) = head.filter(|_| results.is_file()) else {
        return Ok(None);
    };
    let results = Results::open_read(results)?;
    let mut unfinished = None;
    for id in results.with_fact(names::FLEET_RUN, head.run.as_str())? {
        let record = results.load(id, &Scope::whole())?;
        if record.summary.is_some() {
            return Ok(Some(record));
        }
        // The first is the coordinator's own.
        unfinished.get_or_insert(record);
    }
    Ok(unfinished)
}

/// The run of this name in the results file.
pub(super) fn named(path: &Path, run: &str) -> Result<RunRecord> {
    let results = Results::open_read(path)?;
    Ok(results.load(results.find(run)?, &Scope::whole())?)
}

/// The original of a collected run.
pub(super) fn original(path: &Path, record: RunRecord) -> Result<RunRecord> {
    let Some(run) = record
        .fact(names::FLEET_RUN)
        .filter(|_| record.fact(names::FLEET_COLLECTED).is_some())
    else {
        return Ok(record);
    };
    let results = Results::open_read(path)?;
    for id in results.with_fact(names::FLEET_RUN, run)? {
        let one = results.load(id, &Scope::whole())?;
        if one.fact(names::FLEET_COLLECTED).is_none() {
            return Ok(one);
        }
    }
    Ok(record)
}

/// The first collected record of a run, if there is one.
pub(super) fn collected_before(path: &Path, base: &RunRecord) -> Result<Option<RunRecord>> {
    let Some(run) = base
        .fact(names::FLEET_RUN)
        .filter(|_| base.summary.is_none())
    else {
        return Ok(None);
    };
    let results = Results::open_read(path)?;
    for id in results.with_fact(names::FLEET_RUN, run)? {
        let one = results.load(id, &Scope::whole())?;
        if one.summary.is_some() && one.fact(names::FLEET_COLLECTED).is_some() {
            return Ok(Some(one));
        }
    }
    Ok(None)
}

/// Rejects a run that is still going on.
pub(super) fn is_over(results: &Path, record: &RunRecord) -> Result<()> {
    if record.state != RunState::Running {
        return Ok(());
    }
    let lines = Results::open_read(results)?.runs(&Filter::default())?;
    let runs = |stage| stage == RunStage::Running;
    let line = lines.iter().find(|line| line.id == record.id);
    match line.is_some_and(|line| runs(line.stage)) {
        true => bail!("the run {} is still running", record.head.name),
        false => Ok(()),
    }
}

/// The files of a run's agents: the given ones, and those of other agents, which it fetches into a
/// folder with the given program, or else with the one in the run's record.
pub(super) fn gathered(
    record: &RunRecord,
    given: Vec<PathBuf>,
    (scratch, program): (&Path, Option<&str>),
    notices: &Sinks,
) -> Result<Vec<PathBuf>> {
    let name = &record.head.name;
    let run = record.fact(names::FLEET_RUN).ok_or_else(|| {
        usage(format!(
            "the run {name} had one load generator: there is nothing to collect"
        ))
    })?;
    let run = RunId::new(run)?;
    let own = record
        .fact(names::FLEET_COMMAND)
        .filter(|program| is_plain(program));
    let program = program.or(own).unwrap_or("dyno");
    let heads = opened(given.iter().cloned())?;
    let mut paths = given;
    let mut missing = Vec::new();
    for fact in &record.facts {
        let Some(agent) = names::FLEET_AGENT_EACH.part(&fact.name) else {
            continue;
        };
        let agent = AgentName::new(agent)?;
        if heads.iter().any(|file| file.head().agent == agent) {
            continue;
        }
        match had(&run, &agent, &fact.value, (scratch, program)) {
            Ok(path) => paths.push(path),
            Err(error) => missing.push(format!("{agent} ({}): {error:#}", fact.value)),
        }
    }
    for why in &missing {
        notices.warn(format!("no file from {why}"));
    }
    match paths.is_empty() {
        true => bail!("there is no file of any agent of the run {name}"),
        false => Ok(paths),
    }
}

/// Whether a program is a single shell word: the results file may come from someone else.
fn is_plain(program: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    !program.is_empty() && !program.starts_with('-') && program.chars().all(plain)
}

/// An agent's file, copied to this host if it is elsewhere.
fn had(
    run: &RunId,
    agent: &AgentName,
    place: &str,
    (scratch, program): (&Path, &str),
) -> Result<PathBuf> {
    let name = file_name(run, agent);
    match AgentLocation::one(place) {
        Ok(AgentLocation::Ssh(host)) => {
            let path = scratch.join(&name);
            let file = std::fs::File::create(&path)?;
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
        // An agent that joined may have stored its file on this host, too.
        place => {
            let folder = part_file::folder().context("$HOME is not set")?;
            let path = folder.join(&name);
            match (path.is_file(), place) {
                (true, _) => Ok(path),
                (false, Ok(AgentLocation::Local)) => bail!("{} does not exist", path.display()),
                (false, _) => bail!(
                    "it joined the bus itself: copy ~/.local/state/dyno/agents/{name} from its \
                     host, and add the copy to the command"
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_program_cannot_inject_shell_commands() {
        assert!(is_plain("/opt/dyno-0.1/bin/dyno"));
        for program in ["", "-x", "dyno; rm", "$(id)", "a b", "dyno\nid", "`id`"] {
            assert!(!is_plain(program), "{program}");
        }
    }
}
