//! Dyno's own options, each defined once.

mod agent;
mod lab;
mod meaning;
mod results;
mod search;
mod server;
mod sysbench;
mod top;

pub use agent::{AGENT, FLEET};
pub use lab::LAB;
pub use meaning::means_something;
pub use results::{COMPARE, DOCTOR, EXPORT, IMPORT, LIST, PHASES, REPORT, RM, SHOW, TABLE, WAIVE};
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

/// An option that may be repeated.
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

/// An option whose value is one of these words.
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
            "mysql://, mariadb://, postgres:// or sqlite:FILE; also $DYNO_TARGET; \
         without one, a temporary SQLite database",
        ),
    ),
    opt(
        TARGET,
        "ask-password",
        None,
        "ask for the password on the terminal",
    ),
    short(
        'c',
        also(
            &["threads", "clients"],
            opt(
                LOAD,
                "sessions",
                Some("N"),
                "simulated users, each with a connection of its own, or a schedule: \
                 '4 for 30s, 8 for 30s', '1..64 over 5m' [1]",
            ),
        ),
    ),
    opt(
        LOAD,
        "ladder",
        Some("LIST"),
        "dyno saturate: numbers of sessions, a run for each [1,2,4,8,16,32,64]",
    ),
    opt(
        LOAD,
        "in-one-run",
        None,
        "dyno saturate: climb within one run, whose parts are the steps",
    ),
    short(
        't',
        also(
            &["duration"],
            opt(
                LOAD,
                "time",
                Some("TIME"),
                "how long to measure, e.g. 30s, 5m; 0 for no limit [30s]",
            ),
        ),
    ),
    opt(
        LOAD,
        "warmup",
        Some("TIME"),
        "run so long before measuring; left out of all figures [2s]",
    ),
    opt(
        LOAD,
        "events",
        Some("N"),
        "end after so many events over all sessions; 0 for no limit [0]",
    ),
    opt(
        LOAD,
        "rate",
        Some("N/s"),
        "open loop: events arrive at this rate, whether or not earlier ones are done; or a \
         schedule: '100/s for 30s, 200/s for 30s', '100/s..1000/s over 5m', \
         'sine 100/s..500/s every 1m for 10m'",
    ),
    one_of(
        &["poisson", "constant"],
        opt(
            LOAD,
            "arrivals",
            Some("DISTRIBUTION"),
            "spacing of arrivals: poisson or constant [poisson]",
        ),
    ),
    opt(
        LOAD,
        "latency-limit",
        Some("D"),
        "count events that take longer; with --rate, skip those that cannot begin within it",
    ),
    opt(
        LOAD,
        "ramp-up",
        Some("TIME"),
        "start sessions evenly over this time [0]",
    ),
    opt(
        LOAD,
        "shard",
        Some("I/N"),
        "be load generator I of N, with every Nth session, arrival and event of the run; by \
         weights I/W1:W2:…",
    ),
    opt(
        LOAD,
        "begin-at",
        Some("WHEN"),
        "begin at this instant, e.g. 2026-11-24T05:00:00Z, seconds since 1970, or now",
    ),
    opt(
        LOAD,
        "grace",
        Some("TIME"),
        "how long events under way may take to end after the time is up [1s]",
    ),
    one_of(
        &["sessions"],
        opt(
            LOAD,
            "workers",
            Some("N|sessions"),
            "threads that drive the sessions; 'sessions' gives each its own, for scripts that block \
         [one per core]",
        ),
    ),
    opt(
        LOAD,
        "init-timeout",
        Some("TIME"),
        "how long sessions may take to connect [30s]",
    ),
    opt(
        LOAD,
        "call-timeout",
        Some("TIME"),
        "how long init(), ledger(), figures() and done() of a script may each take [10m]",
    ),
    one_of(
        &["auto", "disable"],
        opt(
            LOAD,
            "ps-mode",
            Some("MODE"),
            "auto: prepare statements on the server; disable: put values into the text [auto]",
        ),
    ),
    opt(
        LOAD,
        "luajit-cmd",
        Some("CMD"),
        "as luajit -j: on, off, or optimisation flags",
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
        "errors after which an event is run again: kinds, errnos, SQLSTATEs, 'all' or 'none' \
         [conflict; on PostgreSQL conflict,duplicate]",
    ),
    one_of(
        &["reconnect", "stop"],
        opt(
            ERRORS,
            "lost-connections",
            Some("POLICY"),
            "reconnect: connect again and go on; stop: the run fails [reconnect]",
        ),
    ),
    opt(
        RANDOM,
        "seed",
        Some("N"),
        "seed of all random streams; 0 picks one and says which [0]",
    ),
    one_of(
        &["uniform", "gaussian", "special", "pareto", "zipfian"],
        opt(
            RANDOM,
            "rand-type",
            Some("KIND"),
            "default distribution: uniform, gaussian, special, pareto or zipfian [uniform]",
        ),
    ),
    opt(
        RANDOM,
        "rand-pareto-h",
        Some("H"),
        "shape of pareto, between 0 and 1 [0.2]",
    ),
    opt(
        RANDOM,
        "rand-zipfian-exp",
        Some("S"),
        "exponent of zipfian, 0 or more [0.8]",
    ),
    opt(
        RANDOM,
        "rand-spec-iter",
        Some("N"),
        "draws that make a gaussian number [12]",
    ),
    opt(
        RANDOM,
        "rand-spec-pct",
        Some("N"),
        "percent of the range that special makes hot [1]",
    ),
    opt(
        RANDOM,
        "rand-spec-res",
        Some("N"),
        "percent of draws that special sends there [75]",
    ),
    opt(
        RECORD,
        "results",
        Some("FILE"),
        "the results file that keeps the run, or none; also $DYNO_RESULTS [dyno.db]",
    ),
    opt(
        RECORD,
        "note",
        Some("TEXT"),
        "what to remember of the run; kept with it",
    ),
    repeated(
        RECORD,
        "factor",
        Some("NAME=LEVEL"),
        "what is varied from run to run, e.g. memory=5G, for `dyno table`, `list --where` and \
         `compare`; may be repeated",
    ),
    one_of(
        &["on", "off"],
        opt(
            RECORD,
            "observe",
            Some("WHAT"),
            "on: host, processes and database, once a second; off: nothing but the load [on]",
        ),
    ),
    one_of(
        &["on", "full", "off"],
        opt(
            RECORD,
            "ledger",
            Some("WHETHER"),
            "on: compare what the server acknowledged with what the database holds, where the workload \
         keeps a ledger and reading it costs little; full: also where whole large tables must be \
         read, before and after the run; off: do not [on]",
        ),
    ),
    one_of(
        &["in-memory", "on-disk", "cold", "warm"],
        opt(
            RECORD,
            "claim",
            Some("CACHE"),
            "what is said of the caches, to be checked: in-memory, on-disk, cold or warm",
        ),
    ),
    repeated(
        RECORD,
        "expect",
        Some("NAME=VALUE"),
        "a setting that the server must have; may be repeated",
    ),
    one_of(
        &["auto", "always", "never"],
        opt(
            RECORD,
            "calibrate",
            Some("WHEN"),
            "measure what the client alone could do, in 2 s before the run: auto (workloads that come \
         with Dyno, unless it is known already), always, never [auto]",
        ),
    ),
    repeated(
        RECORD,
        "waive",
        Some("CHECK=WHY"),
        "a finding that is not to count, with the reason, which is printed; may be repeated",
    ),
    opt(
        RECORD,
        "force",
        None,
        "run although it is known before the load that the run will be refused",
    ),
    opt(
        RECORD,
        "gate",
        None,
        "exit with status 3 if the verdict is refused",
    ),
    repeated(
        RECORD,
        "fail-if",
        Some("LIMIT"),
        "exit with status 4 if e.g. 'p99 > 20ms', 'rate < 1000', 'errors > 1%', \
         'new_order.p95 > 90ms'; may be repeated",
    ),
    opt(
        OUTPUT,
        "percentiles",
        Some("LIST"),
        "latency percentiles, each shown only where the samples carry it [50,95,99,99.9]",
    ),
    opt(
        OUTPUT,
        "statements",
        None,
        "rate, rows, errors and latency of each shape of statement as well",
    ),
    repeated(
        OUTPUT,
        "explain",
        Some("WHAT"),
        "after the run, the server's plan of each shape of statement (all), or of a statement; \
         may be repeated",
    ),
    opt(
        OUTPUT,
        "cpu-profile",
        None,
        "sample with perf where the CPU time of server and client goes, for `dyno report`",
    ),
    opt(
        OUTPUT,
        "metrics",
        Some("ADDRESS"),
        "answer Prometheus at this port or address:port while the run goes on, e.g. 9464; a port \
         alone is one of this host's loopback",
    ),
    opt(
        OUTPUT,
        "metrics-linger",
        Some("TIME"),
        "keep answering so long after the run, until a scrape has seen its end [0]",
    ),
    opt(
        OUTPUT,
        "otlp",
        Some("URL"),
        "push the same to a receiver of OTLP over HTTP once an interval, e.g. \
         http://127.0.0.1:4318; headers from $OTEL_EXPORTER_OTLP_HEADERS",
    ),
    opt(
        OUTPUT,
        "otlp-temporality",
        Some("KIND"),
        "sums that are pushed: delta, of an interval, or cumulative [delta; to Prometheus \
         cumulative]",
    ),
    opt(
        OUTPUT,
        "interval",
        Some("TIME"),
        "interval of recording and of the live line [1s]",
    ),
    bare(opt(
        OUTPUT,
        "json",
        Some("FILE"),
        "print the result as JSON instead of the summary, or write it to FILE beside it",
    )),
    short(
        'q',
        opt(OUTPUT, "quiet", None, "no live lines and no progress"),
    ),
    short(
        'v',
        opt(
            OUTPUT,
            "verbose",
            None,
            "tell all of a run: distribution, findings in full with advice, costs, set-up; also \
             $DYNO_VERBOSE",
        ),
    ),
    opt(
        OUTPUT,
        "no-color",
        None,
        "no colours; also $NO_COLOR ($CLICOLOR_FORCE: colours without a terminal, too)",
    ),
    leads(opt(
        OUTPUT,
        "plan",
        Some("FILE"),
        "print what would run, as JSON, and stop; with a FILE (- for standard input) and no \
         WORKLOAD: run what the plan in it says, and what other options say beside it",
    )),
    short(
        'h',
        opt(
            OUTPUT,
            "help",
            None,
            "this text; after a workload's name, with its options",
        ),
    ),
];

#[cfg(test)]
mod tests;
