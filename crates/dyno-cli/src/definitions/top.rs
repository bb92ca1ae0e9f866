//! The options of `dyno top`.

use super::opt;
use crate::options::Opt;

const WHAT: &str = "What to watch";
const HOW: &str = "Output";

/// The options of `dyno top`.
pub(crate) const TOP: &[Opt] = &[
    opt(
        WHAT,
        "target",
        Some("URL"),
        "Watch this server: mysql://, mariadb://, postgres:// or sqlite:FILE; also \
         $DYNO_TARGET",
    )
    .short('T'),
    opt(
        WHAT,
        "ask-password",
        None,
        "Ask for the password on the terminal",
    ),
    opt(
        WHAT,
        "run",
        Some("RUN"),
        "Watch a run from the results file, during the run or afterwards: last, a number or the \
         beginning of a name",
    ),
    opt(
        WHAT,
        "results",
        Some("FILE"),
        "Results file of --run; also $DYNO_RESULTS [dyno.db]",
    ),
    opt(
        WHAT,
        "proxysql",
        None,
        "Treat the target as ProxySQL's admin interface if it is not recognised",
    ),
    opt(
        WHAT,
        "pgbouncer",
        None,
        "Treat the target as pgbouncer's console if it is not recognised",
    ),
    opt(
        WHAT,
        "haproxy",
        Some("SOCKET"),
        "Watch HAProxy through its stats socket: a path, or HOST:PORT",
    ),
    opt(
        HOW,
        "interval",
        Some("TIME"),
        "Sample at this interval, 100ms to 1h [1s]",
    ),
    opt(
        HOW,
        "count",
        Some("N"),
        "Print N lines and exit, also on a terminal",
    ),
    opt(
        HOW,
        "json",
        None,
        "Print one JSON object per line, also on a terminal",
    ),
    opt(
        HOW,
        "no-color",
        None,
        "Disable colours; also $NO_COLOR. $CLICOLOR_FORCE keeps them without a terminal",
    ),
    opt(HOW, "help", None, "Print this help").short('h'),
];
