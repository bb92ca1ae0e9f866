//! Dyno's own options, each defined once.

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

const fn bare(opt: Opt) -> Opt {
    Opt { bare: true, ..opt }
}

const LOAD: &str = "Load";
const TARGET: &str = "Target";
const ERRORS: &str = "Errors";
const RANDOM: &str = "Random numbers";
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
                "simulated users, each with a connection of its own [1]",
            ),
        ),
    ),
    short(
        't',
        also(
            &["duration"],
            opt(
                LOAD,
                "time",
                Some("TIME"),
                "how long to measure, e.g. 30s, 5m; 0 for no limit [10s]",
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
        "open loop: events arrive at this rate, whether or not earlier ones are done",
    ),
    opt(
        LOAD,
        "arrivals",
        Some("LAW"),
        "spacing of arrivals: poisson or constant [poisson]",
    ),
    opt(
        LOAD,
        "ramp-up",
        Some("TIME"),
        "start sessions evenly over this time [0]",
    ),
    opt(
        LOAD,
        "grace",
        Some("TIME"),
        "how long events under way may take to end after the time is up [1s]",
    ),
    opt(
        LOAD,
        "workers",
        Some("N|sessions"),
        "threads that drive the sessions; 'sessions' gives each its own, for scripts that block \
         [one per core]",
    ),
    opt(
        LOAD,
        "init-timeout",
        Some("TIME"),
        "how long sessions may take to connect [30s]",
    ),
    opt(
        LOAD,
        "ps-mode",
        Some("MODE"),
        "auto: prepare statements on the server; disable: put values into the text [auto]",
    ),
    opt(
        LOAD,
        "luajit-cmd",
        Some("CMD"),
        "as luajit -j: on, off, or optimisation flags",
    ),
    opt(
        ERRORS,
        "ignore-errors",
        Some("LIST"),
        "errors after which an event is run again: errnos, SQLSTATEs or 'all' \
         [deadlocks and serialisation failures]",
    ),
    opt(
        ERRORS,
        "lost-connections",
        Some("POLICY"),
        "reconnect: connect again and go on; stop: the run fails [reconnect]",
    ),
    opt(
        RANDOM,
        "seed",
        Some("N"),
        "seed of all random streams; 0 picks one and says which [0]",
    ),
    opt(
        RANDOM,
        "rand-type",
        Some("KIND"),
        "default distribution: uniform, gaussian, special, pareto or zipfian [uniform]",
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
        OUTPUT,
        "percentiles",
        Some("LIST"),
        "latency percentiles, each shown only where the samples carry it [50,95,99,99.9]",
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
    opt(
        OUTPUT,
        "no-color",
        None,
        "no colours (also $NO_COLOR, or output that is no terminal)",
    ),
    opt(
        OUTPUT,
        "plan",
        None,
        "print what would run, as JSON, and stop",
    ),
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

/// The options of `dyno list`.
pub const LIST: &[Opt] = &[
    opt(
        "Options",
        "show",
        Some("NAME"),
        "print the script of a workload, to read or to copy",
    ),
    short('h', opt("Options", "help", None, "this text")),
];

const GENERAL: &str = "General options";
const PSEUDO: &str = "Pseudo-Random Numbers Generator options";
const LOG: &str = "Log options";
const DB: &str = "General database options";
const MYSQL: &str = "mysql options";
const PGSQL: &str = "pgsql options";
/// The heading of what `dyno sysbench` takes beyond sysbench's options.
pub const DYNO: &str = "Options that sysbench does not have";

/// sysbench's options. Those without help text are 1.0.20's old names.
pub const SYSBENCH: &[Opt] = &[
    also(
        &["num-threads"],
        opt(
            GENERAL,
            "threads",
            Some("N"),
            "number of threads to use [1]",
        ),
    ),
    also(
        &["max-requests"],
        opt(
            GENERAL,
            "events",
            Some("N"),
            "limit for total number of events [0]",
        ),
    ),
    also(
        &["max-time"],
        opt(
            GENERAL,
            "time",
            Some("N"),
            "limit for total execution time in seconds [10]",
        ),
    ),
    opt(
        GENERAL,
        "warmup-time",
        Some("N"),
        "execute events for this many seconds with statistics disabled before the actual \
         benchmark run with statistics enabled [0]",
    ),
    bare(opt(
        GENERAL,
        "forced-shutdown",
        Some("STRING"),
        "number of seconds to wait after the --time limit before forcing shutdown, or 'off' to \
         disable [off]",
    )),
    opt(
        GENERAL,
        "thread-stack-size",
        Some("SIZE"),
        "size of stack per thread [64K]",
    ),
    opt(
        GENERAL,
        "thread-init-timeout",
        Some("N"),
        "wait time in seconds for worker threads to initialize [30]",
    ),
    also(
        &["tx-rate"],
        opt(
            GENERAL,
            "rate",
            Some("N"),
            "average transactions rate. 0 for unlimited rate [0]",
        ),
    ),
    opt(
        GENERAL,
        "report-interval",
        Some("N"),
        "periodically report intermediate statistics with a specified interval in seconds. 0 \
         disables intermediate reports [0]",
    ),
    opt(
        GENERAL,
        "report-checkpoints",
        Some("LIST"),
        "dump full statistics and reset all counters at specified points in time, in seconds []",
    ),
    bare(opt(
        GENERAL,
        "debug",
        Some("on|off"),
        "print more debugging info [off]",
    )),
    bare(opt(
        GENERAL,
        "validate",
        Some("on|off"),
        "perform validation checks where possible [off]",
    )),
    bare(opt(
        GENERAL,
        "help",
        Some("on|off"),
        "print help and exit [off]",
    )),
    bare(opt(
        GENERAL,
        "version",
        Some("on|off"),
        "print version and exit [off]",
    )),
    opt(
        GENERAL,
        "config-file",
        Some("FILENAME"),
        "File containing command line options",
    ),
    opt(
        GENERAL,
        "luajit-cmd",
        Some("STRING"),
        "perform LuaJIT control command, equivalent to 'luajit -j'",
    ),
    opt(GENERAL, "test", Some("STRING"), ""),
    opt(
        PSEUDO,
        "rand-type",
        Some("STRING"),
        "random numbers distribution {uniform, gaussian, special, pareto, zipfian} [uniform]",
    ),
    opt(
        PSEUDO,
        "rand-seed",
        Some("N"),
        "seed for random number generator. When 0, the current time is used [0]",
    ),
    opt(
        PSEUDO,
        "rand-pareto-h",
        Some("N"),
        "shape parameter for the Pareto distribution [0.2]",
    ),
    opt(
        PSEUDO,
        "rand-zipfian-exp",
        Some("N"),
        "shape parameter (exponent) for the Zipfian distribution [0.8]",
    ),
    opt(
        PSEUDO,
        "rand-spec-iter",
        Some("N"),
        "number of iterations for the special and gaussian distributions [12]",
    ),
    opt(
        PSEUDO,
        "rand-spec-pct",
        Some("N"),
        "percentage of the range where 'special' values fall [1]",
    ),
    opt(
        PSEUDO,
        "rand-spec-res",
        Some("N"),
        "percentage of 'special' values to use [75]",
    ),
    opt(
        LOG,
        "verbosity",
        Some("N"),
        "verbosity level {5 - debug, 0 - only critical messages} [3]",
    ),
    opt(
        LOG,
        "percentile",
        Some("N"),
        "percentile to calculate in latency statistics (1-100). Use the special value of 0 to \
         disable percentile calculations [95]",
    ),
    bare(opt(
        LOG,
        "histogram",
        Some("on|off"),
        "print latency histogram in report [off]",
    )),
    opt(
        DB,
        "db-driver",
        Some("STRING"),
        "database driver to use {mysql, pgsql, sqlite} [mysql]",
    ),
    opt(
        DB,
        "db-ps-mode",
        Some("STRING"),
        "prepared statements usage mode {auto, disable} [auto]",
    ),
    bare(opt(
        DB,
        "db-debug",
        Some("on|off"),
        "print database-specific debug information [off]",
    )),
    opt(
        MYSQL,
        "mysql-host",
        Some("LIST"),
        "MySQL server host [localhost]",
    ),
    opt(
        MYSQL,
        "mysql-port",
        Some("LIST"),
        "MySQL server port [3306]",
    ),
    opt(MYSQL, "mysql-socket", Some("LIST"), "MySQL socket"),
    opt(MYSQL, "mysql-user", Some("STRING"), "MySQL user [sbtest]"),
    opt(MYSQL, "mysql-password", Some("STRING"), "MySQL password []"),
    opt(
        MYSQL,
        "mysql-db",
        Some("STRING"),
        "MySQL database name [sbtest]",
    ),
    bare(opt(
        MYSQL,
        "mysql-ssl",
        Some("MODE"),
        "on, off, or disabled, preferred, required, verify_ca, verify_identity [off]",
    )),
    opt(
        MYSQL,
        "mysql-ssl-key",
        Some("FILENAME"),
        "path name of the client private key file",
    ),
    opt(
        MYSQL,
        "mysql-ssl-ca",
        Some("FILENAME"),
        "path name of the CA file",
    ),
    opt(
        MYSQL,
        "mysql-ssl-cert",
        Some("FILENAME"),
        "path name of the client public key file",
    ),
    opt(
        MYSQL,
        "mysql-ssl-cipher",
        Some("STRING"),
        "use specific cipher for SSL connections []",
    ),
    bare(opt(
        MYSQL,
        "mysql-compression",
        Some("on|off"),
        "use compression [off]",
    )),
    opt(
        MYSQL,
        "mysql-compression-algorithms",
        Some("LIST"),
        "compression algorithms to use []",
    ),
    bare(opt(
        MYSQL,
        "mysql-debug",
        Some("on|off"),
        "trace all client library calls [off]",
    )),
    opt(
        MYSQL,
        "mysql-ignore-errors",
        Some("LIST"),
        "list of errors to ignore, or \"all\" [1213,1020,1205]",
    ),
    bare(opt(
        MYSQL,
        "mysql-dry-run",
        Some("on|off"),
        "pretend that all MySQL client API calls are successful without executing them [off]",
    )),
    opt(
        PGSQL,
        "pgsql-host",
        Some("LIST"),
        "PostgreSQL server host [localhost]",
    ),
    opt(
        PGSQL,
        "pgsql-port",
        Some("LIST"),
        "PostgreSQL server port [5432]",
    ),
    opt(
        PGSQL,
        "pgsql-user",
        Some("STRING"),
        "PostgreSQL user [sbtest]",
    ),
    opt(
        PGSQL,
        "pgsql-password",
        Some("STRING"),
        "PostgreSQL password []",
    ),
    opt(
        PGSQL,
        "pgsql-db",
        Some("STRING"),
        "PostgreSQL database name [sbtest]",
    ),
    opt(
        PGSQL,
        "pgsql-sslmode",
        Some("STRING"),
        "PostgreSQL SSL mode [prefer]",
    ),
    opt(
        DYNO,
        "sqlite-db",
        Some("FILENAME"),
        "SQLite database file [sbtest.db]",
    ),
    opt(
        DYNO,
        "workers",
        Some("N|sessions"),
        "threads that drive the sessions ('threads' above); 'sessions' gives each its own, for \
         scripts that block [one per core]",
    ),
    opt(
        DYNO,
        "db-ignore-errors",
        Some("LIST"),
        "errors to ignore whatever the driver: errnos, SQLSTATEs or \"all\"",
    ),
    opt(
        DYNO,
        "report-style",
        Some("EDITION"),
        "general block as of 1.1 or of 1.0 [1.0]",
    ),
];

#[cfg(test)]
mod tests;
