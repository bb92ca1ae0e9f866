//! Dyno's own options, each defined once.

mod agent;
mod import;
mod lab;
mod meaning;
mod results;
mod search;
mod server;
mod sysbench;
mod top;

pub use agent::{AGENT, FLEET};
pub use import::IMPORT;
pub use lab::LAB;
pub use meaning::means_something;
pub use results::{COMPARE, DOCTOR, EXPORT, LIST, PHASES, REPORT, RM, SHOW, TABLE, WAIVE};
pub use search::{NOT_OF_SEARCHES, OF_SEARCHES, search};
pub use server::SERVER;
pub use sysbench::{DYNO, SYSBENCH};
pub use top::TOP;

use crate::options::Opt;

const fn opt(
    group: &'static str,
    name: &'static str,
    value: Option<&'static str>,
    help: &'static str,
) -> Opt {
    Opt {
        name,
        short: None,
        aliases: &[],
        value,
        bare: false,
        leads: false,
        repeats: false,
        choices: &[],
        help,
        group,
    }
}

const fn short(letter: char, opt: Opt) -> Opt {
    Opt {
        short: Some(letter),
        ..opt
    }
}

const fn also(aliases: &'static [&'static str], opt: Opt) -> Opt {
    Opt { aliases, ..opt }
}

const fn repeated(
    group: &'static str,
    name: &'static str,
    value: Option<&'static str>,
    help: &'static str,
) -> Opt {
    Opt {
        repeats: true,
        ..opt(group, name, value, help)
    }
}

/// An option that takes one of these words.
const fn one_of(choices: &'static [&'static str], opt: Opt) -> Opt {
    Opt { choices, ..opt }
}

const fn bare(opt: Opt) -> Opt {
    Opt { bare: true, ..opt }
}

const fn leads(opt: Opt) -> Opt {
    Opt {
        leads: true,
        ..bare(opt)
    }
}

const LOAD: &str = "Load";
const TARGET: &str = "Target";
const ERRORS: &str = "Errors";
const RANDOM: &str = "Random numbers";
const RECORD: &str = "Record and verdict";
const OUTPUT: &str = "Output";

/// The options of `dyno run`, `prepare`, `check`, `cleanup` and a script's other commands.
pub const RUN: &[Opt] = &[
    short(
        'T',
        opt(
            TARGET,
            "target",
            Some("URL"),
            "Connect to this database: mysql://, mariadb://, postgres:// or sqlite:FILE; also \
             $DYNO_TARGET. Without it, use a temporary SQLite database",
        ),
    ),
    opt(
        TARGET,
        "ask-password",
        None,
        "Ask for the password on the terminal",
    ),
    short(
        'c',
        also(
            &["threads", "clients"],
            opt(
                LOAD,
                "sessions",
                Some("N"),
                "Run N simulated users, each with its own connection, or follow a schedule: '4 for \
                 30s, 8 for 30s', '1..64 over 5m' [1]",
            ),
        ),
    ),
    opt(
        LOAD,
        "ladder",
        Some("LIST"),
        "dyno saturate: session counts to measure, one run each [1,2,4,8,16,32,64]",
    ),
    opt(
        LOAD,
        "in-one-run",
        None,
        "dyno saturate: measure all steps within one run",
    ),
    short(
        't',
        also(
            &["duration"],
            opt(
                LOAD,
                "time",
                Some("TIME"),
                "Measure for this long, e.g. 30s, 5m; 0 for no limit [30s]",
            ),
        ),
    ),
    opt(
        LOAD,
        "warmup",
        Some("TIME"),
        "Run this long before measuring; no figure includes this time [2s]",
    ),
    opt(
        LOAD,
        "events",
        Some("N"),
        "Stop after N events across all sessions; 0 for no limit [0]",
    ),
    opt(
        LOAD,
        "rate",
        Some("N/s"),
        "Open loop: start events at this rate, whether or not earlier ones have finished, or \
         follow a schedule: '100/s for 30s, 200/s for 30s', '100/s..1000/s over 5m', 'sine \
         100/s..500/s every 1m for 10m'",
    ),
    one_of(
        &["poisson", "constant"],
        opt(
            LOAD,
            "arrivals",
            Some("DISTRIBUTION"),
            "Space the arrivals of --rate by this distribution: poisson or constant [poisson]",
        ),
    ),
    opt(
        LOAD,
        "latency-limit",
        Some("D"),
        "Count events slower than D; with --rate, skip events that would start later than D",
    ),
    opt(
        LOAD,
        "ramp-up",
        Some("TIME"),
        "Start the sessions evenly over this time [0]",
    ),
    opt(
        LOAD,
        "shard",
        Some("I/N"),
        "Act as load generator I of N: every Nth session, arrival and event; by weight I/W1:W2:…",
    ),
    opt(
        LOAD,
        "begin-at",
        Some("WHEN"),
        "Start the load at this instant, e.g. 2026-11-24T05:00:00Z, seconds since 1970, or now",
    ),
    opt(
        LOAD,
        "grace",
        Some("TIME"),
        "Wait this long for events in flight when the time is up [1s]",
    ),
    one_of(
        &["sessions"],
        opt(
            LOAD,
            "workers",
            Some("N|sessions"),
            "Threads that drive the sessions; 'sessions' gives each session its own, for scripts \
             that block [one per core]",
        ),
    ),
    opt(
        LOAD,
        "init-timeout",
        Some("TIME"),
        "Fail if the sessions need longer than this to connect [30s]",
    ),
    opt(
        LOAD,
        "call-timeout",
        Some("TIME"),
        "Limit each of the script's init(), ledger(), figures() and done() to this time [10m]",
    ),
    one_of(
        &["auto", "disable"],
        opt(
            LOAD,
            "ps-mode",
            Some("MODE"),
            "auto: prepare statements on the server; disable: send values in the query text [auto]",
        ),
    ),
    opt(
        LOAD,
        "luajit-cmd",
        Some("CMD"),
        "Control LuaJIT as luajit -j does: on, off, or optimiser flags",
    ),
    agent::AGENTS,
    agent::BUS,
    agent::BUS_KEY,
    agent::BUS_CA,
    agent::AGENTS_BY,
    agent::ON_AGENT_LOSS,
    agent::ALLOW_MIXED_VERSIONS,
    agent::ORPHAN,
    agent::AGENT_COMMAND,
    agent::NATS_SERVER,
    agent::SERVER_AGENT,
    opt(
        ERRORS,
        "ignore-errors",
        Some("LIST"),
        "Retry an event after these errors: kinds, error numbers, SQLSTATEs, 'all' or 'none' \
         [conflict; on PostgreSQL conflict,duplicate]",
    ),
    one_of(
        &["reconnect", "stop"],
        opt(
            ERRORS,
            "lost-connections",
            Some("POLICY"),
            "When a connection is lost: reconnect and go on, or stop and fail the run [reconnect]",
        ),
    ),
    opt(
        RANDOM,
        "seed",
        Some("N"),
        "Seed all random streams; 0 picks a seed and prints it [0]",
    ),
    one_of(
        &["uniform", "gaussian", "special", "pareto", "zipfian"],
        opt(
            RANDOM,
            "rand-type",
            Some("KIND"),
            "Default random distribution: uniform, gaussian, special, pareto or zipfian [uniform]",
        ),
    ),
    opt(
        RANDOM,
        "rand-pareto-h",
        Some("H"),
        "Shape of the pareto distribution, between 0 and 1 [0.2]",
    ),
    opt(
        RANDOM,
        "rand-zipfian-exp",
        Some("S"),
        "Exponent of the zipfian distribution, 0 or more [0.8]",
    ),
    opt(
        RANDOM,
        "rand-spec-iter",
        Some("N"),
        "Number of uniform draws that form a gaussian number [12]",
    ),
    opt(
        RANDOM,
        "rand-spec-pct",
        Some("N"),
        "Percentage of the range that is hot in the special distribution [1]",
    ),
    opt(
        RANDOM,
        "rand-spec-res",
        Some("N"),
        "Percentage of the special draws that fall into the hot range [75]",
    ),
    opt(
        RECORD,
        "results",
        Some("FILE"),
        "Results file that records the run, or none; also $DYNO_RESULTS [dyno.db]",
    ),
    opt(RECORD, "note", Some("TEXT"), "Attach a note to the run"),
    repeated(
        RECORD,
        "factor",
        Some("NAME=LEVEL"),
        "Record what you vary between runs, e.g. memory=5G, for `dyno table`, `list --where` and \
         `compare`; may be repeated",
    ),
    one_of(
        &["on", "off"],
        opt(
            RECORD,
            "observe",
            Some("WHAT"),
            "on: sample host, processes and database once a second; off: run only the load [on]",
        ),
    ),
    one_of(
        &["on", "full", "off"],
        opt(
            RECORD,
            "ledger",
            Some("WHETHER"),
            "Check that the database kept everything it acknowledged, if the workload keeps a \
             ledger. on: where reading it is cheap; full: also where it reads whole large tables \
             before and after the run; off: never [on]",
        ),
    ),
    one_of(
        &["in-memory", "on-disk", "cold", "warm"],
        opt(
            RECORD,
            "claim",
            Some("CACHE"),
            "State the cache condition to verify: in-memory, on-disk, cold or warm",
        ),
    ),
    repeated(
        RECORD,
        "expect",
        Some("NAME=VALUE"),
        "Require this server setting, e.g. sync_binlog=1; may be repeated",
    ),
    one_of(
        &["auto", "always", "never"],
        opt(
            RECORD,
            "calibrate",
            Some("WHEN"),
            "Measure the load generator's own ceiling for 2 s before the run: auto (workloads that \
             come with Dyno, unless it is known), always, never [auto]",
        ),
    ),
    repeated(
        RECORD,
        "waive",
        Some("CHECK=WHY"),
        "Exclude a finding from the verdict, with a reason that is printed; may be repeated",
    ),
    opt(
        RECORD,
        "force",
        None,
        "Run even if it is known beforehand that the verdict will be refused",
    ),
    opt(
        RECORD,
        "gate",
        None,
        "Exit with status 3 if the verdict is refused",
    ),
    repeated(
        RECORD,
        "fail-if",
        Some("LIMIT"),
        "Exit with status 4 if the condition is met, e.g. 'p99 > 20ms', 'rate < 1000', 'errors > \
         1%', 'new_order.p95 > 90ms'; may be repeated",
    ),
    opt(
        OUTPUT,
        "percentiles",
        Some("LIST"),
        "Latency percentiles to print; those with too few samples are omitted [50,95,99,99.9]",
    ),
    opt(
        OUTPUT,
        "statements",
        None,
        "Also report rate, rows, errors and latency of each statement shape",
    ),
    repeated(
        OUTPUT,
        "explain",
        Some("WHAT"),
        "Show the server's plan of each statement shape (all) or of one statement; may be repeated",
    ),
    opt(
        OUTPUT,
        "cpu-profile",
        None,
        "Profile the CPU time of server and client with perf, for `dyno report`",
    ),
    opt(
        OUTPUT,
        "metrics",
        Some("ADDRESS"),
        "Serve Prometheus metrics during the run at this loopback port or address:port, e.g. 9464",
    ),
    opt(
        OUTPUT,
        "metrics-linger",
        Some("TIME"),
        "Serve metrics up to this long after the run, until a scrape has seen its end [0]",
    ),
    opt(
        OUTPUT,
        "otlp",
        Some("URL"),
        "Push metrics to an OTLP receiver over HTTP once per interval, e.g. http://127.0.0.1:4318; \
         headers from $OTEL_EXPORTER_OTLP_HEADERS",
    ),
    opt(
        OUTPUT,
        "otlp-temporality",
        Some("KIND"),
        "Push sums as delta (per interval) or cumulative [delta; to Prometheus cumulative]",
    ),
    opt(
        OUTPUT,
        "interval",
        Some("TIME"),
        "Interval of recording and of the live line [1s]",
    ),
    bare(opt(
        OUTPUT,
        "json",
        Some("FILE"),
        "Print JSON instead of the summary, or write JSON to FILE and print the summary",
    )),
    Opt {
        group: OUTPUT,
        ..results::JUNIT
    },
    short(
        'q',
        opt(OUTPUT, "quiet", None, "Print no live lines and no progress"),
    ),
    short(
        'v',
        opt(
            OUTPUT,
            "verbose",
            None,
            "Print everything known about the run: distribution, findings with advice, costs, \
             set-up; also $DYNO_VERBOSE",
        ),
    ),
    opt(
        OUTPUT,
        "no-color",
        None,
        "Disable colours; also $NO_COLOR. $CLICOLOR_FORCE keeps them without a terminal",
    ),
    leads(opt(
        OUTPUT,
        "plan",
        Some("FILE"),
        "Print what would run, as JSON, and exit. With a FILE (- for standard input) and no \
         WORKLOAD, run the plan in it; other options override the plan",
    )),
    short(
        'h',
        opt(OUTPUT, "help", None, "Print help, or help on a WORKLOAD"),
    ),
    opt(OUTPUT, "help-all", None, "Print every option"),
];

#[cfg(test)]
mod tests;
