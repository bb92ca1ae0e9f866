//! Which options apply to which command on a workload.

use super::NOT_OF_SEARCHES;
use crate::options::Opt;

/// Options of [`RUN`](super::RUN) for the drive, measurement and verdict: commands that create,
/// check or drop tables do not use them.
const OF_RUNS: [&str; 36] = [
    "junit",
    "cpu-profile",
    "server-agent",
    "agents",
    "bus",
    "bus-key",
    "bus-ca",
    "agents-by",
    "on-agent-loss",
    "allow-mixed-versions",
    "orphan",
    "agent-command",
    "nats-server",
    "metrics",
    "metrics-linger",
    "otlp",
    "otlp-temporality",
    "statements",
    "explain",
    "rate",
    "arrivals",
    "latency-limit",
    "ramp-up",
    "shard",
    "begin-at",
    "grace",
    "warmup",
    "note",
    "factor",
    "claim",
    "expect",
    "calibrate",
    "waive",
    "gate",
    "fail-if",
    "percentiles",
];

/// Options for a run's results, which a calibration does not have.
const OF_RESULTS: [&str; 20] = [
    "junit",
    "cpu-profile",
    "metrics",
    "metrics-linger",
    "otlp",
    "otlp-temporality",
    "ladder",
    "in-one-run",
    "statements",
    "explain",
    "note",
    "factor",
    "claim",
    "expect",
    "calibrate",
    "waive",
    "gate",
    "fail-if",
    "percentiles",
    "verbose",
];

/// Options for a ladder of numbers of sessions.
const OF_LADDERS: [&str; 2] = ["ladder", "in-one-run"];

/// Whether an option of [`RUN`](super::RUN) has an effect on a command on a workload.
pub fn means_something(command: &str, opt: &Opt) -> bool {
    match command {
        "saturate" => opt.name != "sessions",
        "run" => !OF_LADDERS.contains(&opt.name),
        "calibrate" => !OF_RESULTS.contains(&opt.name),
        "search" => !NOT_OF_SEARCHES.iter().any(|(name, _)| *name == opt.name),
        _ => !OF_LADDERS.contains(&opt.name) && !OF_RUNS.contains(&opt.name),
    }
}
