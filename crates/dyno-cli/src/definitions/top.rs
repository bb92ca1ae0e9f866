//! The options of `dyno top`.

use super::{opt, short};
use crate::options::Opt;

const WHAT: &str = "What is watched";
const HOW: &str = "How";

/// The options of `dyno top`.
pub const TOP: &[Opt] = &[
    short(
        'T',
        opt(
            WHAT,
            "target",
            Some("URL"),
            "a server: mysql://, mariadb://, postgres:// or sqlite:FILE; also $DYNO_TARGET",
        ),
    ),
    opt(
        WHAT,
        "ask-password",
        None,
        "ask for the password on the terminal",
    ),
    opt(
        WHAT,
        "run",
        Some("RUN"),
        "a run while it goes on, or after it, from the results file: last, a number or the \
         beginning of a name",
    ),
    opt(
        WHAT,
        "results",
        Some("FILE"),
        "the results file of --run; also $DYNO_RESULTS [dyno.db]",
    ),
    opt(
        WHAT,
        "proxysql",
        None,
        "the target is ProxySQL's admin interface, should it not be recognised",
    ),
    opt(
        WHAT,
        "pgbouncer",
        None,
        "the target is pgbouncer's console, should it not be recognised",
    ),
    opt(
        WHAT,
        "haproxy",
        Some("SOCKET"),
        "HAProxy by its stats socket: a path, or HOST:PORT",
    ),
    opt(
        HOW,
        "interval",
        Some("TIME"),
        "how often is asked, 100ms to 1h [1s]",
    ),
    opt(
        HOW,
        "count",
        Some("N"),
        "print so many lines and end, also on a terminal",
    ),
    opt(
        HOW,
        "json",
        None,
        "print a JSON object a line, also on a terminal",
    ),
    opt(
        HOW,
        "no-color",
        None,
        "no colours; also $NO_COLOR ($CLICOLOR_FORCE: colours without a terminal, too)",
    ),
    short('h', opt(HOW, "help", None, "this text")),
];
