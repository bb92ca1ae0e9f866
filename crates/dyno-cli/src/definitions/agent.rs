//! Options for load generators: those of runs, of `dyno agent` and of `dyno fleet`.

use super::opt;
use super::results::{HELP, JSON, NO_COLOR, RESULTS, VERBOSE};
use crate::options::Opt;

const GENERATORS: &str = "Load generators, and the server's host";
const HOW: &str = "Run and connection";
const KEYS: &str = "keys: the NATS server";
const COLLECT: &str = "collect: reading the agents' files";

/// `--agents`: the load generators of a run.
pub(super) const AGENTS: Opt = opt(
    GENERATORS,
    "agents",
    Some("LIST"),
    "Share the run among these load generators: local:N on this host, ssh:HOST on another, with \
     --bus the names of agents that join. Append =W to set a weight",
);
/// How to divide the load among them.
pub(super) const AGENTS_BY: Opt = opt(
    GENERATORS,
    "agents-by",
    Some("WHAT"),
    "Divide the load by weights (=W), or by capacity, which the agents measure first [weights]",
);
/// The NATS server that agents join.
pub(super) const BUS: Opt = opt(
    GENERATORS,
    "bus",
    Some("URL"),
    "NATS server that agents join, e.g. tls://bus.example.org:4222",
);
/// The coordinator's key for that server.
pub(super) const BUS_KEY: Opt = opt(
    GENERATORS,
    "bus-key",
    Some("FILE"),
    "The coordinator's key for the bus",
);
/// The authority that signed that server's certificate.
pub(super) const BUS_CA: Opt = opt(
    GENERATORS,
    "bus-ca",
    Some("FILE"),
    "Certificate authority that signed the bus's certificate",
);
/// What to do when an agent is lost.
pub(super) const ON_AGENT_LOSS: Opt = opt(
    GENERATORS,
    "on-agent-loss",
    Some("POLICY"),
    "When an agent is lost: fail ends the run; degrade continues with the other agents, which keep \
     their own shares [fail]",
);
/// Whether to accept other builds.
pub(super) const ALLOW_MIXED_VERSIONS: Opt = opt(
    GENERATORS,
    "allow-mixed-versions",
    None,
    "Accept agents of other Dyno builds, which makes the run doubtful",
);
/// How long an agent continues without contact.
pub(super) const ORPHAN: Opt = opt(
    GENERATORS,
    "orphan",
    Some("TIME"),
    "Stop an agent's load after this long without contact [10s]",
);
/// The name of Dyno's program on other hosts.
pub(super) const AGENT_COMMAND: Opt = opt(
    GENERATORS,
    "agent-command",
    Some("COMMAND"),
    "Command that starts Dyno on the hosts of ssh agents [dyno]",
);
/// The program of the NATS server.
pub(super) const NATS_SERVER: Opt = opt(
    GENERATORS,
    "nats-server",
    Some("FILE"),
    "Program that carries the agents' messages [nats-server]",
);
/// The host that observes the server.
pub(super) const SERVER_AGENT: Opt = opt(
    GENERATORS,
    "server-agent",
    Some("WHERE"),
    "Observe the server's host and process from there: ssh:HOST (the server's own host) or local",
);

/// The options of `dyno agent`.
pub(crate) const AGENT: &[Opt] = &[
    opt(
        HOW,
        "join",
        Some("URL"),
        "Wait on this NATS server for a run that names this agent, take part in it, and exit",
    ),
    opt(
        HOW,
        "name",
        Some("NAME"),
        "The agent's name, as in --agents",
    ),
    opt(HOW, "key", Some("FILE"), "The agent's key for that server"),
    opt(
        HOW,
        "ca",
        Some("FILE"),
        "Certificate authority that signed the server's certificate",
    ),
    opt(
        HOW,
        "wait",
        Some("TIME"),
        "Wait this long for a run, and fail if none begins [no limit]",
    ),
    opt(
        HOW,
        "stdin-key",
        None,
        "Read instructions from standard input; `dyno run --agents` starts agents this way",
    ),
    opt(
        HOW,
        "observe",
        None,
        "Observe the server on this host, with instructions from standard input; --server-agent \
         starts it this way",
    ),
    opt(
        HOW,
        "print-file",
        Some("RUN.NAME"),
        "Print the file in which an agent on this host recorded its part of a run; `dyno fleet \
         collect` uses it",
    ),
    opt(HOW, "help", None, "Print this help").short('h'),
];

/// The options of `dyno fleet`.
pub(crate) const FLEET: &[Opt] = &[
    opt(
        KEYS,
        "listen",
        Some("ADDRESS:PORT"),
        "Address and port that the NATS server listens on [127.0.0.1:4222]",
    ),
    opt(
        KEYS,
        "tls-cert",
        Some("FILE"),
        "The NATS server's certificate; without it, only this host can connect",
    ),
    opt(KEYS, "tls-key", Some("FILE"), "The certificate's key"),
    opt(
        COLLECT,
        "agent-command",
        Some("COMMAND"),
        "Command that starts Dyno on the hosts of ssh agents [dyno]",
    ),
    opt(
        COLLECT,
        "allow-mixed-versions",
        None,
        "Accept files of other Dyno builds, which makes the run doubtful",
    ),
    RESULTS,
    JSON,
    VERBOSE,
    NO_COLOR,
    HELP,
];
