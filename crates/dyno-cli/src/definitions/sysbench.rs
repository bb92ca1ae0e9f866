//! sysbench's options.

use super::opt;
use crate::options::Opt;

const GENERAL: &str = "General options";
const PSEUDO: &str = "Pseudo-Random Numbers Generator options";
const LOG: &str = "Log options";
const DB: &str = "General database options";
const MYSQL: &str = "mysql options";
const PGSQL: &str = "pgsql options";
/// Heading of Dyno's additional options.
pub(crate) const DYNO: &str = "Options that sysbench does not have";

/// sysbench's options. Those without help text are 1.0.20's old names.
pub(crate) const SYSBENCH: &[Opt] = &[
    opt(
        GENERAL,
        "threads",
        Some("N"),
        "number of threads to use [1]",
    )
    .also(&["num-threads"]),
    opt(
        GENERAL,
        "events",
        Some("N"),
        "limit for total number of events [0]",
    )
    .also(&["max-requests"]),
    opt(
        GENERAL,
        "time",
        Some("N"),
        "limit for total execution time in seconds [10]",
    )
    .also(&["max-time"]),
    opt(
        GENERAL,
        "warmup-time",
        Some("N"),
        "execute events for this many seconds with statistics disabled before the actual \
         benchmark run with statistics enabled [0]",
    ),
    opt(
        GENERAL,
        "forced-shutdown",
        Some("STRING"),
        "number of seconds to wait after the --time limit before forcing shutdown, or 'off' to \
         disable [off]",
    )
    .bare(),
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
    opt(
        GENERAL,
        "rate",
        Some("N"),
        "average transactions rate. 0 for unlimited rate [0]",
    )
    .also(&["tx-rate"]),
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
    opt(
        GENERAL,
        "debug",
        Some("on|off"),
        "print more debugging info [off]",
    )
    .bare(),
    opt(
        GENERAL,
        "validate",
        Some("on|off"),
        "perform validation checks where possible [off]",
    )
    .bare(),
    opt(GENERAL, "help", Some("on|off"), "print help and exit [off]").bare(),
    opt(
        GENERAL,
        "version",
        Some("on|off"),
        "print version and exit [off]",
    )
    .bare(),
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
    )
    .one_of(&["uniform", "gaussian", "special", "pareto", "zipfian"]),
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
    opt(
        LOG,
        "histogram",
        Some("on|off"),
        "print latency histogram in report [off]",
    )
    .bare(),
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
    opt(
        DB,
        "db-debug",
        Some("on|off"),
        "print database-specific debug information [off]",
    )
    .bare(),
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
    opt(
        MYSQL,
        "mysql-ssl",
        Some("MODE"),
        "on, off, or disabled, preferred, required, verify_ca, verify_identity [off]",
    )
    .bare(),
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
    opt(
        MYSQL,
        "mysql-compression",
        Some("on|off"),
        "use compression [off]",
    )
    .bare(),
    opt(
        MYSQL,
        "mysql-compression-algorithms",
        Some("LIST"),
        "compression algorithms to use []",
    ),
    opt(
        MYSQL,
        "mysql-debug",
        Some("on|off"),
        "trace all client library calls [off]",
    )
    .bare(),
    opt(
        MYSQL,
        "mysql-ignore-errors",
        Some("LIST"),
        "list of errors to ignore, or \"all\" [1213,1020,1205]",
    ),
    opt(
        MYSQL,
        "mysql-dry-run",
        Some("on|off"),
        "pretend that all MySQL client API calls are successful without executing them [off]",
    )
    .bare(),
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
    )
    .one_of(&["sessions"]),
    opt(
        DYNO,
        "db-ignore-errors",
        Some("LIST"),
        "errors to ignore with any driver: error numbers, SQLSTATEs, kinds or \"all\"",
    ),
    opt(
        DYNO,
        "allow-cleartext-password",
        Some("on|off"),
        "send the password in clear text to a server that asks for it and whose identity is not \
         verified [off]",
    )
    .bare(),
    opt(
        DYNO,
        "mysql-server-public-key",
        Some("FILENAME"),
        "the server's RSA key, for passwords on connections without TLS",
    ),
    opt(
        DYNO,
        "report-style",
        Some("EDITION"),
        "print the general block as sysbench 1.1 or 1.0 does [1.0]",
    ),
];
