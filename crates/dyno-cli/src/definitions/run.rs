//! The options of `dyno run` and the other commands that take a workload.

use super::{agent, opt};
use crate::options::{Opt, Scope};

const LOAD: &str = "Load";
const TARGET: &str = "Target";
const ERRORS: &str = "Errors";
const RANDOM: &str = "Random numbers";
const RECORD: &str = "Record and verdict";
const OUTPUT: &str = "Output";

/// The options of `dyno run`, `prepare`, `check`, `cleanup` and a script's other commands.
pub(crate) const RUN: &[Opt] = &[
    opt(
        TARGET,
        "target",
        Some("URL"),
        "Connect to this database: mysql://, mariadb://, postgres:// or sqlite:FILE; also \
         $DYNO_TARGET. Without it, use a temporary SQLite database",
    )
    .short('T')
    .of_databases()
    .common(),
    opt(
        TARGET,
        "ask-password",
        None,
        "Ask for the password on the terminal",
    )
    .of_databases()
    .not_of_searches("each trial would ask; docs/targets.md lists other ways to give a password"),
    opt(
        LOAD,
        "sessions",
        Some("N"),
        "Run N simulated users, each with its own connection, or follow a schedule: '4 for \
         30s, 8 for 30s', '1..64 over 5m' [1]",
    )
    .also(&["threads", "clients"])
    .short('c')
    .of(Scope::SingleLoads)
    .common(),
    opt(
        LOAD,
        "ladder",
        Some("LIST"),
        "dyno saturate: session counts to measure, one run each [1,2,4,8,16,32,64]",
    )
    .of(Scope::Ladders)
    .common()
    .not_of_searches("'max sessions with …' searches for sessions")
    .not_with_agents("a ladder uses one load generator"),
    opt(
        LOAD,
        "in-one-run",
        None,
        "dyno saturate: measure all steps within one run",
    )
    .of(Scope::Ladders)
    .not_of_searches("each trial is a separate run")
    .not_with_agents("a ladder uses one load generator"),
    opt(
        LOAD,
        "time",
        Some("TIME"),
        "Measure for this long, e.g. 30s, 5m; 0 for no limit [30s]",
    )
    .also(&["duration"])
    .short('t')
    .common(),
    opt(
        LOAD,
        "warmup",
        Some("TIME"),
        "Run this long before measuring; no figure includes this time [2s]",
    )
    .of(Scope::Loads)
    .common(),
    opt(
        LOAD,
        "events",
        Some("N"),
        "Stop after N events across all sessions; 0 for no limit [0]",
    )
    .not_of_searches("--time sets how long each trial measures"),
    opt(
        LOAD,
        "rate",
        Some("N/s"),
        "Open loop: start events at this rate, whether or not earlier ones have finished, or \
         follow a schedule: '100/s for 30s, 200/s for 30s', '100/s..1000/s over 5m', 'sine \
         100/s..500/s every 1m for 10m'",
    )
    .of(Scope::Loads)
    .not_of_searches("--from sets the load to start at")
    .common(),
    opt(
        LOAD,
        "arrivals",
        Some("DISTRIBUTION"),
        "Space the arrivals of --rate by this distribution: poisson or constant [poisson]",
    )
    .one_of(&["poisson", "constant"])
    .of(Scope::Loads),
    opt(
        LOAD,
        "latency-limit",
        Some("D"),
        "Count events slower than D; with --rate, skip events that would start later than D",
    )
    .of(Scope::Loads)
    .not_of_searches("the promise sets the limit"),
    opt(
        LOAD,
        "spin",
        Some("TIME"),
        "With --rate, wake up this early and spin until an event is due; 0 saves CPU time, but \
         events start later [20us, or 0 if the server is on this host]",
    )
    .of(Scope::Loads)
    .not_of_searches("a search uses the default"),
    opt(
        LOAD,
        "ramp-up",
        Some("TIME"),
        "Start the sessions evenly over this time [0]",
    )
    .of(Scope::Loads)
    .not_of_searches("--warmup lets each trial settle"),
    opt(
        LOAD,
        "shard",
        Some("I/N"),
        "Act as load generator I of N: every Nth session, arrival and event; by weight I/W1:W2:…",
    )
    .of(Scope::Loads)
    .not_of_searches("it uses a single load generator")
    .not_with_agents("each agent gets its part"),
    opt(
        LOAD,
        "begin-at",
        Some("WHEN"),
        "Start the load at this instant, e.g. 2026-11-24T05:00:00Z, seconds since 1970, or now",
    )
    .of(Scope::Loads)
    .not_of_searches("its trials run one after the other")
    .not_with_agents("agents start together"),
    opt(
        LOAD,
        "grace",
        Some("TIME"),
        "Wait this long for events in flight when the time is up [1s]",
    )
    .of(Scope::Loads),
    opt(
        LOAD,
        "workers",
        Some("N|sessions"),
        "Threads that drive the sessions; 'sessions' gives each session its own, for scripts \
         that block [one per core]",
    )
    .one_of(&["sessions"])
    .of_databases(),
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
    opt(
        LOAD,
        "ps-mode",
        Some("MODE"),
        "auto: prepare statements on the server; disable: send values in the query text [auto]",
    )
    .one_of(&["auto", "disable"])
    .of_databases(),
    opt(
        LOAD,
        "luajit-cmd",
        Some("CMD"),
        "Control LuaJIT as luajit -j does: on, off, or optimiser flags",
    )
    .of_databases(),
    agent::AGENTS.of(Scope::Results),
    agent::BUS.of(Scope::Results),
    agent::BUS_KEY.of(Scope::Results),
    agent::BUS_CA.of(Scope::Results),
    agent::AGENTS_BY.of(Scope::Results),
    agent::ON_AGENT_LOSS.of(Scope::Results),
    agent::ALLOW_MIXED_VERSIONS.of(Scope::Results),
    agent::ORPHAN.of(Scope::Results),
    agent::AGENT_COMMAND.of(Scope::Results),
    agent::NATS_SERVER.of(Scope::Results),
    agent::SERVER_AGENT.of(Scope::Results),
    opt(
        ERRORS,
        "ignore-errors",
        Some("LIST"),
        "Retry an event after these errors: kinds, error numbers, SQLSTATEs, 'all' or 'none' \
         [conflict; on PostgreSQL conflict,duplicate]",
    )
    .of_databases(),
    opt(
        ERRORS,
        "lost-connections",
        Some("POLICY"),
        "When a connection is lost: reconnect and go on, or stop and fail the run [reconnect]",
    )
    .one_of(&["reconnect", "stop"])
    .of_databases(),
    opt(
        RANDOM,
        "seed",
        Some("N"),
        "Seed all random streams; 0 picks a seed and prints it [0]",
    ),
    opt(
        RANDOM,
        "rand-type",
        Some("KIND"),
        "Default random distribution: uniform, gaussian, special, pareto or zipfian [uniform]",
    )
    .one_of(&["uniform", "gaussian", "special", "pareto", "zipfian"])
    .of_draws(),
    opt(
        RANDOM,
        "rand-pareto-h",
        Some("H"),
        "Shape of the pareto distribution, between 0 and 1 [0.2]",
    )
    .of_draws(),
    opt(
        RANDOM,
        "rand-zipfian-exp",
        Some("S"),
        "Exponent of the zipfian distribution, 0 or more [0.8]",
    )
    .of_draws(),
    opt(
        RANDOM,
        "rand-spec-iter",
        Some("N"),
        "Number of uniform draws that form a gaussian number [12]",
    )
    .of_draws(),
    opt(
        RANDOM,
        "rand-spec-pct",
        Some("N"),
        "Percentage of the range that is hot in the special distribution [1]",
    )
    .of_draws(),
    opt(
        RANDOM,
        "rand-spec-res",
        Some("N"),
        "Percentage of the special draws that fall into the hot range [75]",
    )
    .of_draws(),
    opt(
        RECORD,
        "results",
        Some("FILE"),
        "Results file that records the run, or none; also $DYNO_RESULTS [dyno.db]",
    )
    .common(),
    opt(RECORD, "note", Some("TEXT"), "Attach a note to the run")
        .of(Scope::Results)
        .common(),
    opt(
        RECORD,
        "factor",
        Some("NAME=LEVEL"),
        "Record what you vary between runs, e.g. memory=5G, for `dyno table`, `list --where` and \
         `compare`; may be repeated",
    )
    .repeats()
    .of(Scope::Results)
    .common(),
    opt(
        RECORD,
        "observe",
        Some("WHAT"),
        "on: sample host, processes and database once a second; off: run only the load [on]",
    )
    .one_of(&["on", "off"]),
    opt(
        RECORD,
        "ledger",
        Some("WHETHER"),
        "Check that the database kept everything it acknowledged, if the workload keeps a \
         ledger. on: where reading it is cheap; full: also where it reads whole large tables \
         before and after the run; off: never [on]",
    )
    .one_of(&["on", "full", "off"])
    .of_databases(),
    opt(
        RECORD,
        "claim",
        Some("CACHE"),
        "State the cache condition to verify: in-memory, on-disk, cold or warm",
    )
    .one_of(&["in-memory", "on-disk", "cold", "warm"])
    .of(Scope::Results)
    .of_databases(),
    opt(
        RECORD,
        "expect",
        Some("NAME=VALUE"),
        "Require this server setting, e.g. sync_binlog=1; may be repeated",
    )
    .repeats()
    .of(Scope::Results)
    .of_databases(),
    opt(
        RECORD,
        "calibrate",
        Some("WHEN"),
        "Measure the load generator's own ceiling for 2 s before the run: auto (built-in \
         workloads, unless the ceiling is known), always, never [auto]",
    )
    .one_of(&["auto", "always", "never"])
    .of(Scope::Results)
    .of_databases(),
    opt(
        RECORD,
        "waive",
        Some("CHECK=WHY"),
        "Exclude a finding from the verdict, with a reason that is printed; may be repeated",
    )
    .repeats()
    .of(Scope::Results),
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
    )
    .of(Scope::Results)
    .not_of_searches("a refused search exits with status 3 without it"),
    opt(
        RECORD,
        "fail-if",
        Some("LIMIT"),
        "Exit with status 4 if the condition is met, e.g. 'p99 > 20ms', 'rate < 1000', 'errors > \
         1%', 'new_order.p95 > 90ms'; may be repeated",
    )
    .repeats()
    .of(Scope::Results)
    .not_of_searches("the promise replaces it")
    .common(),
    opt(
        OUTPUT,
        "percentiles",
        Some("LIST"),
        "Latency percentiles to print; those with too few samples are omitted [50,95,99,99.9]",
    )
    .of(Scope::Results),
    opt(
        OUTPUT,
        "statements",
        None,
        "Also report rate, rows, errors and latency of each statement shape",
    )
    .of_databases()
    .of(Scope::Results)
    .not_of_searches("use `dyno run --statements` at the rate that was found"),
    opt(
        OUTPUT,
        "explain",
        Some("WHAT"),
        "Show the server's plan of each statement shape (all) or of one statement; may be repeated",
    )
    .repeats()
    .of_databases()
    .of(Scope::Results)
    .not_of_searches("use `dyno run --explain` at the rate that was found"),
    opt(
        OUTPUT,
        "cpu-profile",
        None,
        "Profile the CPU time of server and client with perf, for `dyno report`",
    )
    .of(Scope::Results)
    .not_of_searches("use `dyno run --cpu-profile` at the rate that was found")
    .not_with_agents("it samples only this host: profile a run without agents"),
    opt(
        OUTPUT,
        "metrics",
        Some("ADDRESS"),
        "Serve Prometheus metrics during the run at this loopback port or address:port, e.g. 9464",
    )
    .of(Scope::Results),
    opt(
        OUTPUT,
        "metrics-linger",
        Some("TIME"),
        "Serve metrics up to this long after the run, until a scrape has seen its end [0]",
    )
    .of(Scope::Results)
    .not_of_searches("--metrics serves metrics during each of its trials"),
    opt(
        OUTPUT,
        "otlp",
        Some("URL"),
        "Push metrics to an OTLP receiver over HTTP once per interval, e.g. http://127.0.0.1:4318; \
         headers from $OTEL_EXPORTER_OTLP_HEADERS",
    )
    .of(Scope::Results),
    opt(
        OUTPUT,
        "otlp-temporality",
        Some("KIND"),
        "Push sums as delta (per interval) or cumulative [delta; to Prometheus cumulative]",
    )
    .of(Scope::Results),
    opt(
        OUTPUT,
        "interval",
        Some("TIME"),
        "Interval of recording and of the live line [1s]",
    ),
    opt(
        OUTPUT,
        "json",
        Some("FILE"),
        "Print JSON instead of the summary, or write JSON to FILE and print the summary",
    )
    .bare(),
    opt(
        OUTPUT,
        "junit",
        Some("FILE"),
        "Also write checks and conditions to FILE as JUnit XML, for build servers",
    )
    .of(Scope::Results)
    .not_of_searches("its result is a load; --json writes it to a file"),
    opt(OUTPUT, "quiet", None, "Print no live lines and no progress").short('q'),
    opt(
        OUTPUT,
        "verbose",
        None,
        "Print everything known about the run: distribution, findings with advice, costs, \
         set-up; also $DYNO_VERBOSE",
    )
    .short('v')
    .of(Scope::Shown)
    .not_of_searches("`dyno show RUN -v` prints everything about a trial")
    .common(),
    opt(
        OUTPUT,
        "no-color",
        None,
        "Disable colours; also $NO_COLOR. $CLICOLOR_FORCE keeps them without a terminal",
    ),
    opt(
        OUTPUT,
        "plan",
        Some("FILE"),
        "Print what would run, as JSON, and exit. With a FILE (- for standard input) and no \
         WORKLOAD, run the plan in it; other options override the plan",
    )
    .leads()
    .not_of_searches("it has no plan; `dyno show RUN --plan` prints the plan of a trial"),
    opt(OUTPUT, "help", None, "Print help, or help on a WORKLOAD")
        .short('h')
        .common(),
    opt(OUTPUT, "help-all", None, "Print every option"),
];
