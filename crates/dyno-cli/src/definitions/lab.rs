//! The options of `dyno lab`.

use super::{bare, opt, repeated, short};
use crate::options::Opt;

const GROUP: &str = "Options";
const VARY: &str = "Without a file";

/// The options of `dyno lab`.
pub const LAB: &[Opt] = &[
    opt(
        GROUP,
        "scale",
        Some("NAME"),
        "the experiment in one of its [scale.NAME], such as laptop",
    ),
    opt(
        GROUP,
        "name",
        Some("NAME"),
        "what the experiment is called in the results file [the file's name, and the scale]",
    ),
    opt(
        GROUP,
        "accept-changes",
        None,
        "run, resume: go on although the file has changed; what is done stays where its trials are \
         the same",
    ),
    opt(
        GROUP,
        "keep-servers",
        None,
        "run, resume: leave servers and the images of their data when all is done",
    ),
    opt(
        GROUP,
        "reload",
        None,
        "run, resume: drop and reload the workload's tables on a running server",
    ),
    opt(
        GROUP,
        "max-failures",
        Some("N"),
        "run, resume: give up when so many trials in a row have failed [3]",
    ),
    short(
        'o',
        opt(
            GROUP,
            "output",
            Some("FILE"),
            "report: the page [the experiment's name and .html]",
        ),
    ),
    opt(GROUP, "force", None, "report: replace a file that is there"),
    opt(
        GROUP,
        "csv",
        Some("FOLDER"),
        "report: each table as CSV into this folder",
    ),
    opt(
        GROUP,
        "gate",
        None,
        "report: exit with status 4 if a claim differs, 3 if none can be told",
    ),
    repeated(
        VARY,
        "vary",
        Some("NAME=A,B,…"),
        "values of a server's setting, of an option of the workload, or of sessions or rate; may \
         be repeated",
    ),
    opt(
        VARY,
        "server",
        Some("KIND"),
        "a server of Dyno's own, such as mariadb, mysql-9.7 or postgresql [the first installed]",
    ),
    repeated(
        VARY,
        "set",
        Some("NAME=VALUE"),
        "a setting of the server's in all trials; may be repeated",
    ),
    short(
        'T',
        opt(
            VARY,
            "target",
            Some("URL"),
            "a server that runs already, in place of one of Dyno's own",
        ),
    ),
    opt(VARY, "repeats", Some("N"), "how often each is measured [3]"),
    short('c', opt(VARY, "sessions", Some("N"), "simulated users [8]")),
    opt(
        VARY,
        "rate",
        Some("N/s"),
        "open loop: events arrive at this rate",
    ),
    short(
        't',
        opt(
            VARY,
            "time",
            Some("TIME"),
            "how long each is measured [30s]",
        ),
    ),
    opt(VARY, "warmup", Some("TIME"), "how long before [5s]"),
    opt(
        GROUP,
        "results",
        Some("FILE"),
        "the results file [dyno.db]; also $DYNO_RESULTS",
    ),
    bare(opt(
        GROUP,
        "json",
        Some("FILE"),
        "plan, status, report: as JSON, to standard output or to a file",
    )),
    short('q', opt(GROUP, "quiet", None, "only the result")),
    opt(GROUP, "no-color", None, "no colours"),
    short('h', opt(GROUP, "help", None, "show this")),
];
