//! The options of `dyno lab`.

use super::opt;
use crate::options::Opt;

const GROUP: &str = "Options";
const VARY: &str = "Without a file";

/// The options of `dyno lab`.
pub(crate) const LAB: &[Opt] = &[
    opt(
        GROUP,
        "scale",
        Some("NAME"),
        "Use this [scale.NAME] of the file, such as laptop; with --vary, an option of the workload",
    ),
    opt(
        GROUP,
        "name",
        Some("NAME"),
        "Name of the experiment in the results file [the file's name, and the scale]",
    ),
    opt(
        GROUP,
        "accept-changes",
        None,
        "run, resume: continue although the file has changed; finished trials that did not change \
         still count",
    ),
    opt(
        GROUP,
        "keep-servers",
        None,
        "run, resume: keep servers and data images when all is done",
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
        "run, resume: give up after N failed trials in a row [3]",
    ),
    opt(
        GROUP,
        "output",
        Some("FILE"),
        "report, bundle: write the page or the archive to FILE [the experiment's name and .html or \
         .tar.gz]",
    )
    .short('o'),
    opt(
        GROUP,
        "force",
        None,
        "report, bundle: replace an existing file; bundle: also pack scripts that have passwords \
         in URLs",
    ),
    opt(
        GROUP,
        "csv",
        Some("FOLDER"),
        "report: write each table as CSV to this folder",
    ),
    opt(
        GROUP,
        "equivalent",
        Some("PERCENT"),
        "report: test whether levels are the same within this margin, e.g. 2%; if undecided, \
         estimate the blocks needed",
    ),
    opt(
        GROUP,
        "gate",
        None,
        "report: exit with status 4 if a claim does not hold, 3 if one cannot be judged",
    ),
    opt(
        VARY,
        "vary",
        Some("NAME=A,B,…"),
        "Compare these values of a server setting, a workload option, sessions or rate; may be \
         repeated",
    )
    .repeats(),
    opt(
        VARY,
        "plan",
        None,
        "Show the trials, their order and their cost, without starting anything, as `dyno lab \
         plan` does",
    ),
    opt(
        VARY,
        "server",
        Some("KIND"),
        "Start this server, such as mariadb, mysql-9.7 or postgresql [the first installed]",
    ),
    opt(
        VARY,
        "set",
        Some("NAME=VALUE"),
        "Use this server setting in all trials; may be repeated",
    )
    .repeats(),
    opt(
        VARY,
        "target",
        Some("URL"),
        "Use a running server instead of starting one",
    )
    .short('T'),
    opt(
        VARY,
        "repeats",
        Some("N"),
        "Measure each combination N times [3]",
    ),
    opt(VARY, "sessions", Some("N"), "Run N simulated users [8]").short('c'),
    opt(
        VARY,
        "rate",
        Some("N/s"),
        "Open loop: start events at this rate",
    ),
    opt(
        VARY,
        "time",
        Some("TIME"),
        "Measure each trial for this long [30s]",
    )
    .short('t'),
    opt(
        VARY,
        "warmup",
        Some("TIME"),
        "Run each trial this long before measuring [5s]",
    ),
    opt(
        GROUP,
        "results",
        Some("FILE"),
        "Results file; also $DYNO_RESULTS [dyno.db]",
    ),
    opt(
        GROUP,
        "json",
        Some("FILE"),
        "plan, status, report: print JSON to standard output or write it to FILE",
    )
    .bare(),
    opt(
        GROUP,
        "quiet",
        None,
        "Print no lines about the trials, only those at the end",
    )
    .short('q'),
    opt(GROUP, "no-color", None, "Disable colours"),
    opt(GROUP, "help", None, "Print this help").short('h'),
];
