//! The options about load generators: those of runs, of `dyno agent` and of `dyno fleet`.

use super::results::{HELP, JSON, NO_COLOR, RESULTS, VERBOSE};
use super::{opt, short};
use crate::options::Opt;

const GENERATORS: &str = "Load generators, and the server's host";
const HOW: &str = "How it is told of a run";
const KEYS: &str = "keys: a bus of one's own";
const COLLECT: &str = "collect: a run from its agents' own files";

/// The load generators of a run.
pub(super) const AGENTS: Opt = opt(
    GENERATORS,
    "agents",
    Some("LIST"),
    "load generators that share the run: local:N on this host, ssh:HOST on another, with --bus \
     the names of those that join; =W after one gives it W shares",
);
/// What their parts go by.
pub(super) const AGENTS_BY: Opt = opt(
    GENERATORS,
    "agents-by",
    Some("WHAT"),
    "weights: as =W says; capacity: what each can offer at most, which they measure first \
     [weights]",
);
/// The bus that they join.
pub(super) const BUS: Opt = opt(
    GENERATORS,
    "bus",
    Some("URL"),
    "a NATS server that agents join by themselves, e.g. tls://bus.example.org:4222",
);
/// The coordinator's key on it.
pub(super) const BUS_KEY: Opt = opt(
    GENERATORS,
    "bus-key",
    Some("FILE"),
    "the coordinator's key on it",
);
/// The authority of its certificate.
pub(super) const BUS_CA: Opt = opt(
    GENERATORS,
    "bus-ca",
    Some("FILE"),
    "the authority of its certificate",
);
/// What becomes of a run that loses one.
pub(super) const ON_AGENT_LOSS: Opt = opt(
    GENERATORS,
    "on-agent-loss",
    Some("POLICY"),
    "fail: the run ends; degrade: the other agents go on with their own shares [fail]",
);
/// Whether they may be other builds.
pub(super) const ALLOW_MIXED_VERSIONS: Opt = opt(
    GENERATORS,
    "allow-mixed-versions",
    None,
    "let agents be other builds of Dyno, which is a doubt",
);
/// How long one goes on without a word of the run.
pub(super) const ORPHAN: Opt = opt(
    GENERATORS,
    "orphan",
    Some("TIME"),
    "an agent ends its load after so long without a word of the run [10s]",
);
/// How Dyno is called on other hosts.
pub(super) const AGENT_COMMAND: Opt = opt(
    GENERATORS,
    "agent-command",
    Some("COMMAND"),
    "how Dyno is called on the hosts of ssh agents [dyno]",
);
/// The program of the bus.
pub(super) const NATS_SERVER: Opt = opt(
    GENERATORS,
    "nats-server",
    Some("FILE"),
    "the program that carries the agents' messages [nats-server]",
);
/// Where the server is observed from.
pub(super) const SERVER_AGENT: Opt = opt(
    GENERATORS,
    "server-agent",
    Some("WHERE"),
    "observe the server's host and process from there: ssh:HOST, the server's own host, or local",
);

/// The options of `dyno agent`.
pub const AGENT: &[Opt] = &[
    opt(
        HOW,
        "join",
        Some("URL"),
        "wait on this NATS server for a run that names this agent, take part in it, and end",
    ),
    opt(
        HOW,
        "name",
        Some("NAME"),
        "the agent's name, as `--agents` has it",
    ),
    opt(HOW, "key", Some("FILE"), "its key on that server"),
    opt(
        HOW,
        "ca",
        Some("FILE"),
        "the authority of the server's certificate",
    ),
    opt(
        HOW,
        "wait",
        Some("TIME"),
        "wait so long for a run, and fail if none comes [for ever]",
    ),
    opt(
        HOW,
        "stdin-key",
        None,
        "be told by standard input: `dyno run --agents` starts agents so",
    ),
    opt(
        HOW,
        "observe",
        None,
        "observe the server on this host, told by standard input: --server-agent starts it so",
    ),
    opt(
        HOW,
        "print-file",
        Some("RUN.NAME"),
        "print what an agent of this host kept of a run: `dyno fleet collect` asks for it so",
    ),
    short('h', opt(HOW, "help", None, "this text")),
];

/// The options of `dyno fleet`.
pub const FLEET: &[Opt] = &[
    opt(
        KEYS,
        "listen",
        Some("ADDRESS:PORT"),
        "where the NATS server is to listen [127.0.0.1:4222]",
    ),
    opt(
        KEYS,
        "tls-cert",
        Some("FILE"),
        "its certificate, without which it is for this host only",
    ),
    opt(KEYS, "tls-key", Some("FILE"), "the certificate's key"),
    opt(
        COLLECT,
        "agent-command",
        Some("COMMAND"),
        "how Dyno is called on the hosts of ssh agents [dyno]",
    ),
    opt(
        COLLECT,
        "allow-mixed-versions",
        None,
        "let the files be of other builds of Dyno, which is a doubt",
    ),
    RESULTS,
    JSON,
    VERBOSE,
    NO_COLOR,
    HELP,
];
