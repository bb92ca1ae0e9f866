//! `dyno agent`: join a run as one of its load generators.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use dyno_conduct::fleet::{Conditions, LaunchConfig, Membership, observe, open_part_file, serve};
use dyno_conduct::target::Password;
use dyno_fleet::agent::LINGER_NS;
use dyno_fleet::bus::nats::{Role, await_call};
use dyno_fleet::names::{AgentName, RunId};

use crate::definitions::AGENT;
use crate::fleet_options::external_bus;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::{self, usage};
use crate::{COMMIT, STATUS_DONE, console, notices, signals};

/// Takes part in a run until it is over.
///
/// # Errors
/// No run to join, or the run rejected this agent.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, AGENT, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno agent --join URL --name NAME --key FILE [--ca FILE]\n\n\
             Run a share of a run's load: wait on a bus until a run names this agent, take part, \
             and exit.\n\
             The exit status is 1 if the run failed or was cancelled.\n\
             `dyno run --agents local:N,ssh:HOST` starts agents without this command.\n\
             {}",
            help(AGENT, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    if let Some(word) = parsed.words.first() {
        return Err(usage(format!("unexpected argument '{word}'")));
    }
    if let Some(word) = parsed.value("print-file") {
        print_file(word)?;
        return Ok(STATUS_DONE);
    }
    if parsed.has("observe") {
        observe(std::io::stdout())?;
        return Ok(STATUS_DONE);
    }
    let membership = match (parsed.has("stdin-key"), parsed.has("join")) {
        (true, false) => LaunchConfig::read()?.into(),
        (false, true) => joined(&parsed)?,
        (true, true) => {
            return Err(usage("--join and --stdin-key cannot be used together"));
        }
        (false, false) => {
            return Err(usage(
                "dyno agent needs --join URL; `dyno run --agents` starts agents by itself",
            ));
        }
    };
    let joined = parsed.has("join").then(|| membership.name.clone());
    let failure = serve(membership, COMMIT, signals::install()?, &notices::quiet())?;
    // The parent of another agent knows the run's outcome.
    if let Some(name) = joined {
        if let Some(signal) = signals::came() {
            bail!("ended by {signal}");
        }
        if let Some(why) = failure {
            bail!("{why}");
        }
        console::note(&format!("agent {name} is done: the run is complete"));
    }
    Ok(STATUS_DONE)
}

/// Writes the file of an agent on this host, `RUN.NAME`, to standard output.
fn print_file(word: &str) -> Result<()> {
    let parts = word.split_once('.');
    let parts =
        parts.and_then(|(run, name)| Some((RunId::new(run).ok()?, AgentName::new(name).ok()?)));
    let (run, name) =
        parts.ok_or_else(|| usage(format!("--print-file: '{word}' is not RUN.NAME")))?;
    let mut file = open_part_file(&run, &name)?;
    let mut out = std::io::stdout().lock();
    std::io::copy(&mut file, &mut out)?;
    Ok(out.flush()?)
}

/// Waits for a run on a bus.
fn joined(parsed: &Parsed) -> Result<Membership> {
    let name = parsed.value("name");
    let name = name.ok_or_else(|| usage("--join needs --name NAME, the name of this agent"))?;
    let name = AgentName::new(name).map_err(|error| usage(format!("--name: {error}")))?;
    let limit = settings::duration(parsed, "wait", Duration::ZERO)?;
    let limit = match parsed.has("wait") {
        true => limit,
        false => Duration::MAX,
    };
    let bus = external_bus(parsed, "join", ["key", "ca"])?;
    let bus = bus.ok_or_else(|| usage("dyno agent needs --join URL, the address of the bus"))?;
    let role = Role::Agent(name.clone());
    let waiting = bus.config(RunId::new("any")?, role.clone());
    let waits = || console::note(&format!("agent {name} is connected and waits for a run"));
    let Some(run) = await_call(&waiting, limit, waits)? else {
        bail!("no run named the agent {name} in time");
    };
    console::note(&format!("agent {name} takes part in run {run}"));
    Ok(Membership {
        bus: bus.config(run, role),
        name,
        password: Password::Own,
        conditions: Conditions {
            sharing: 1,
            observes: true,
        },
        linger_ns: LINGER_NS,
        is_held: false,
    })
}
