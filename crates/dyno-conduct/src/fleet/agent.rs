//! An agent's configuration, read from standard input, and its life cycle.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::text::hex;
use dyno_core::{Clock, Secret};
use dyno_fleet::agent::{Agent, AgentConfig, Exit, LINGER_NS};
use dyno_fleet::bus::nats::{NatsBus, NatsConfig, Role};
use dyno_fleet::message::{Assignment, Build, Hello, PROTOCOL, Stage};
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::pump::{LoadReport, take_part, unix_ns};
use dyno_load::StopSignal;
use dyno_run::Sinks;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::load::{self, AgentLoad, Conditions, Orders};
use super::part_file::{Keeping, PartFile};
use crate::target::Password;

/// Maximum size of a configuration.
const BYTES_MAX: u64 = 64 << 10;
/// Timeout for the coordinator's first message.
const JOIN: Duration = Duration::from_secs(60);

/// The configuration that an agent needs to reach the bus. It contains secrets, and stays in
/// memory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchConfig {
    /// The protocol version.
    pub v: u32,
    /// The bus's address: host and port.
    pub bus: String,
    /// The run.
    pub run: RunId,
    /// The agent's name.
    pub name: AgentName,
    /// The seed of its key.
    pub key: String,
    /// The target's password, if the coordinator has one.
    #[serde(default)]
    pub password: Option<String>,
    /// Number of the run's agents that share this host's cores.
    pub sharing: u32,
    /// Whether the agent observes its host: the coordinator observes its own.
    pub observes: bool,
}

impl LaunchConfig {
    /// Reads a configuration from standard input, up to the end of its line.
    ///
    /// # Errors
    /// It is missing, or has another version.
    pub fn read() -> Result<Self> {
        read("a configuration")
    }
}

/// Reads the first line of standard input.
///
/// # Errors
/// It is missing, or has another version.
pub(super) fn read<T: DeserializeOwned>(what: &str) -> Result<T> {
    let mut bytes = Vec::new();
    // Byte by byte, to leave the following input unread.
    let mut input = std::io::stdin().lock().take(BYTES_MAX);
    let mut byte = [0];
    while input
        .read(&mut byte)
        .context("cannot read standard input")?
        == 1
        && byte[0] != b'\n'
    {
        bytes.push(byte[0]);
    }
    // Do not repeat the text: it may contain a key.
    let nothing =
        || anyhow!("standard input does not contain {what}: `dyno run` starts such agents itself");
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|_| nothing())?;
    if let Some(version) = value.get("v").and_then(serde_json::Value::as_u64)
        && version != u64::from(PROTOCOL)
    {
        bail!(
            "the coordinator uses version {version} of the protocol, and this Dyno uses \
             {PROTOCOL}: use the same Dyno everywhere"
        );
    }
    serde_json::from_value(value).map_err(|_| nothing())
}

/// Everything that an agent needs to take part in a run.
pub struct Membership {
    /// Its connection to the bus.
    pub bus: NatsConfig,
    /// Its name.
    pub name: AgentName,
    /// The source of the target's password.
    pub password: Password,
    /// The conditions of its load.
    pub conditions: Conditions,
    /// See [`AgentConfig::linger_ns`].
    pub linger_ns: u64,
    /// Whether its parent keeps its standard input open during the run.
    pub is_held: bool,
}

impl From<LaunchConfig> for Membership {
    fn from(config: LaunchConfig) -> Self {
        let key = Secret::new(config.key);
        dyno_core::redact::learn(&key, &[]);
        Self {
            bus: NatsConfig {
                address: config.bus,
                key,
                run: config.run,
                role: Role::Agent(config.name.clone()),
                authority: None,
            },
            name: config.name,
            password: Password::Provided(config.password.map(Secret::new)),
            conditions: Conditions {
                sharing: config.sharing,
                observes: config.observes,
            },
            // Its parent also started the bus, so the bus ends with the parent.
            linger_ns: LINGER_NS / 10,
            is_held: true,
        }
    }
}

/// Takes part in a run until it is over. Returns why the run did not complete; `None` if it did.
///
/// # Errors
/// The bus cannot be reached; the coordinator rejected this agent, or is gone.
pub fn serve(
    membership: Membership,
    commit: &str,
    stop: Arc<StopSignal>,
    notices: &Sinks,
) -> Result<Option<String>> {
    let run = membership.bus.run.clone();
    let (name, hello) = (membership.name, hello(commit));
    let file = Arc::new(PartFile::new(notices.clone()));
    let mut bus = Keeping::new(NatsBus::connect(membership.bus)?, &file);
    let config = AgentConfig {
        run: run.clone(),
        name: name.clone(),
        instance: instance(),
        hello: hello.clone(),
        linger_ns: membership.linger_ns,
        join_ns: u64::try_from(JOIN.as_nanos()).unwrap_or(u64::MAX),
    };
    let mut agent = Agent::new(config, Clock.now(), unix_ns());
    let (command, commands) = channel();
    let (report, reports) = channel();
    if membership.is_held {
        hold(report.clone())?;
    }
    let begins = Arc::clone(&file);
    let prepared = move |assignment: &Assignment| {
        begins.begin(&run, &name, hello.clone(), assignment);
    };
    let orders = Orders {
        commands,
        prepared: Box::new(prepared),
    };
    let part = AgentLoad::new(report, stop, membership.password, notices.clone());
    let load = load::start(orders, part, membership.conditions)?;
    let exit = take_part(&mut agent, &mut bus, &command, &reports)?;
    // Flushes the last messages to the bus.
    drop(bus);
    load.end();
    match exit {
        Exit::Done => Ok(not_completed(&agent)),
        Exit::Refused { why } => bail!("the coordinator refused this agent: {why}"),
        Exit::NotJoined => bail!("no coordinator answered on the bus"),
        Exit::Orphaned { unconfirmed } => bail!(
            "lost contact with the coordinator; {unconfirmed} message(s) with figures were not \
             received"
        ),
    }
}

/// Why the run of a finished agent did not complete; `None` if it did.
fn not_completed(agent: &Agent) -> Option<String> {
    let (why, called_off) = (agent.why(), agent.called_off());
    let is_own = agent.stage() == Stage::Failed || called_off.is_none();
    match is_own && !why.is_empty() {
        true => Some(format!("the run failed: {why}")),
        false => called_off.map(|why| format!("the run was cancelled: {why}")),
    }
}

/// Reports when standard input ends, because this process's parent or its ssh has ended. An agent
/// without a load then stops waiting.
fn hold(report: Sender<LoadReport>) -> Result<()> {
    let thread = std::thread::Builder::new().name("held".to_owned());
    let body = move || {
        // A read error means the same as the end of the input.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = report.send(LoadReport::LauncherGone);
    };
    let thread = thread.spawn(body);
    thread.context("cannot start the thread that watches standard input")?;
    Ok(())
}

/// Distinguishes this process from others with the same name.
fn instance() -> u64 {
    let seed = format!("{} {}", std::process::id(), unix_ns());
    let digest = Sha256::digest(seed.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// This program's build, from this commit.
pub(super) fn build(commit: &str) -> Build {
    let binary = std::fs::File::open("/proc/self/exe").and_then(|mut file| {
        let mut digest = Sha256::new();
        let mut block = vec![0; 1 << 16];
        loop {
            match file.read(&mut block)? {
                0 => return Ok(digest.finalize()),
                count => digest.update(&block[..count]),
            }
        }
    });
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit.to_owned(),
        binary_sha256: binary.map_or_else(|_| String::new(), hex),
        // The plan provides it.
        script_sha256: String::new(),
    }
}

/// The kernel's boot id, and the PID namespace of this process.
pub(super) fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), numbers.display())
}

fn hello(commit: &str) -> Hello {
    let read = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().to_owned()
    };
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| {
        let kib = line.strip_prefix("MemAvailable:")?.trim();
        kib.split(' ').next()?.parse::<u64>().ok()
    });
    Hello {
        build: build(commit),
        protocols: vec![PROTOCOL],
        host: read("/proc/sys/kernel/hostname"),
        machine: machine(),
        process: std::process::id(),
        cores: dyno_run::cores(),
        kernel: read("/proc/sys/kernel/osrelease"),
        clock_source: read(source),
        memory_bytes: available.unwrap_or_default() * 1024,
    }
}
