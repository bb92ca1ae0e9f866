//! Options of runs on agents: which agents, how to reach them, and their NATS server (the bus).

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use dyno_conduct::Hosts;
use dyno_conduct::fleet::{AgentLocation, ExternalBus, Fleet, ServerAgent, Spec};
use dyno_core::{Secret, redact};
use dyno_fleet::coordinator::LossPolicy;
use dyno_fleet::server::COORDINATOR;

use crate::COMMIT;
use crate::definitions::RUN;
use crate::options::Parsed;
use crate::settings::{self, usage};

/// NATS's default port.
const PORT: u16 = 4222;
/// Default time that an agent continues its load without contact.
const ORPHAN: Duration = Duration::from_secs(10);
/// Below this, a short network outage would end a run.
const ORPHAN_MIN: Duration = Duration::from_secs(3);

/// The options that a plan keeps.
pub(crate) const OF_PLANS: [&str; 11] = [
    "agent-command",
    "agents",
    "agents-by",
    "allow-mixed-versions",
    "bus",
    "bus-ca",
    "bus-key",
    "nats-server",
    "on-agent-loss",
    "orphan",
    "server-agent",
];

/// The value of `--agents` that overrides the agents of a plan.
const NONE: &str = "none";

/// Whether agents generate the load.
pub(crate) fn has_agents(parsed: &Parsed) -> bool {
    parsed.value("agents").is_some_and(|list| list != NONE)
}

/// The options for a plan, by name.
pub(crate) fn of_plan(parsed: &Parsed) -> BTreeMap<String, String> {
    let of_agents = |name: &str| !["agent-command", "server-agent"].contains(&name);
    let given = OF_PLANS.into_iter().filter(|name| parsed.has(name));
    let given = given.filter(|name| has_agents(parsed) || !of_agents(name));
    given
        .map(|name| {
            let value = parsed.value(name).unwrap_or_default();
            (name.to_owned(), value.to_owned())
        })
        .collect()
}

/// The other hosts that take part in a command's runs.
///
/// # Errors
/// An invalid option.
pub(crate) fn hosts(parsed: &Parsed) -> Result<Hosts> {
    Ok(Hosts {
        fleet: fleet(parsed)?,
        server_agent: server_agent(parsed)?,
    })
}

/// The agents of a command's runs; `None` without agents.
fn fleet(parsed: &Parsed) -> Result<Option<Fleet>> {
    let Some(text) = parsed.value("agents") else {
        let idle = ["on-agent-loss", "allow-mixed-versions", "nats-server"];
        let idle = idle
            .into_iter()
            .chain(["orphan", "bus", "bus-key", "bus-ca", "agents-by"]);
        return match idle.into_iter().find(|name| parsed.has(name)) {
            Some(name) => Err(usage(format!("--{name} needs --agents"))),
            None => Ok(None),
        };
    };
    if text == NONE {
        return Ok(None);
    }
    refuse_meaningless(parsed)?;
    let on_loss = match parsed.value("on-agent-loss") {
        None | Some("fail") => LossPolicy::Fail,
        Some("degrade") => LossPolicy::Degrade,
        Some(other) => {
            return Err(usage(format!(
                "--on-agent-loss: '{other}' is neither fail nor degrade"
            )));
        }
    };
    let orphan = settings::duration(parsed, "orphan", ORPHAN)?;
    if orphan < ORPHAN_MIN {
        return Err(usage("--orphan must be 3s or longer"));
    }
    let bus = external_bus(parsed, "bus", ["bus-key", "bus-ca"])?;
    let specs = Spec::list(text, bus.is_some());
    let specs = specs.map_err(|why| usage(format!("--agents: {why}")))?;
    let by_capacity = match parsed.value("agents-by") {
        None | Some("weights") => false,
        Some("capacity") => true,
        Some(other) => {
            return Err(usage(format!(
                "--agents-by: '{other}' is neither weights nor capacity"
            )));
        }
    };
    if by_capacity && specs.iter().any(|spec| spec.weight != 1) {
        return Err(usage(
            "--agents-by capacity: the agents measure the weights, so =W cannot be given as well",
        ));
    }
    Ok(Some(Fleet {
        specs,
        by_capacity,
        bus,
        on_loss,
        mixed: parsed.has("allow-mixed-versions"),
        nats: parsed.value("nats-server").map(PathBuf::from),
        orphan,
        program: program(parsed),
        commit: COMMIT,
    }))
}

/// The program that starts Dyno on other hosts.
fn program(parsed: &Parsed) -> String {
    parsed.value("agent-command").unwrap_or("dyno").to_owned()
}

/// Rejects options that a run with several load generators does not use.
fn refuse_meaningless(parsed: &Parsed) -> Result<()> {
    for opt in RUN.iter().filter(|opt| parsed.has(opt.name)) {
        if let Some(why) = opt.not_with_agents {
            let name = opt.name;
            return Err(usage(format!(
                "--{name} cannot be used with --agents: {why}"
            )));
        }
    }
    Ok(())
}

/// The host of `--server-agent`, if it is given.
fn server_agent(parsed: &Parsed) -> Result<Option<ServerAgent>> {
    let Some(text) = parsed.value("server-agent") else {
        return Ok(None);
    };
    let place = AgentLocation::one(text).map_err(|why| usage(format!("--server-agent: {why}")))?;
    let program = program(parsed);
    Ok(Some(ServerAgent { place, program }))
}

/// The bus of an option, with its connection options.
///
/// # Errors
/// The address is invalid, or the key is missing or readable by others.
pub(crate) fn external_bus(
    parsed: &Parsed,
    option: &str,
    [key, ca]: [&str; 2],
) -> Result<Option<ExternalBus>> {
    let Some(url) = parsed.value(option) else {
        return match [key, ca].into_iter().find(|name| parsed.has(name)) {
            Some(name) => Err(usage(format!("--{name} needs --{option}"))),
            None => Ok(None),
        };
    };
    let wrong = || {
        usage(format!(
            "--{option}: '{url}' is not the address of a bus, such as \
             tls://bus.example.org:{PORT}, or nats://127.0.0.1:{PORT} on this host"
        ))
    };
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if rest.is_empty() || !rest.chars().all(plain) {
        return Err(wrong());
    }
    let authority = parsed.value(ca).map(PathBuf::from);
    match (scheme, &authority) {
        ("tls", Some(file)) => {
            let read = std::fs::read(file);
            read.with_context(|| format!("--{ca}: cannot read {}", file.display()))?;
        }
        ("tls", None) => {
            return Err(usage(format!(
                "--{option} needs --{ca} FILE, the authority that signed the bus's certificate"
            )));
        }
        ("nats", None) => {}
        ("nats", Some(_)) => {
            return Err(usage(format!(
                "--{ca} needs a tls:// bus, and '{url}' is not one"
            )));
        }
        _ => return Err(wrong()),
    }
    let Some(file) = parsed.value(key) else {
        return Err(usage(format!(
            "--{option} needs --{key} FILE, the key for the bus; `dyno fleet keys` creates keys"
        )));
    };
    if option == "join" && Path::new(file).ends_with(format!("{COORDINATOR}.nk")) {
        return Err(usage(format!(
            "--{key}: {file} is the coordinator's key; an agent's is NAME.nk in the same folder"
        )));
    }
    let has_port = rest
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok(Some(ExternalBus {
        address: match has_port {
            true => rest.to_owned(),
            false => format!("{rest}:{PORT}"),
        },
        key: key_in(Path::new(file)).with_context(|| format!("--{key}"))?,
        authority,
    }))
}

/// The key in a file that only the user can read.
fn key_in(file: &Path) -> Result<Secret> {
    let shown = file.display();
    let metadata = std::fs::metadata(file).with_context(|| format!("cannot read {shown}"))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        bail!("{shown} is readable by others: chmod 600 {shown}");
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let seed = text.trim();
    // A user seed in base 32.
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    if !seed.starts_with("SU") || !seed.chars().all(plain) {
        bail!("{shown} does not contain a NATS user key (SU…)");
    }
    let key = Secret::new(seed.to_owned());
    redact::learn(&key, &[]);
    Ok(key)
}
