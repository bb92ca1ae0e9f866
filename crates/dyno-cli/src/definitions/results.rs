//! The options of the commands that read and write results files.

use super::{bare, one_of, opt, repeated, short};
use crate::options::Opt;

const GROUP: &str = "Options";

pub(super) const RESULTS: Opt = opt(
    GROUP,
    "results",
    Some("FILE"),
    "the results file; also $DYNO_RESULTS [dyno.db]",
);
pub(super) const JSON: Opt = bare(opt(
    GROUP,
    "json",
    Some("FILE"),
    "print JSON instead, or write it to FILE beside the text",
));
const FACTOR: Opt = repeated(
    GROUP,
    "factor",
    Some("NAME"),
    "what was meant to differ: an option, a setting or a fact by its name, or the beginning \
         of names; may be repeated",
);
const WHERE: Opt = opt(
    GROUP,
    "where",
    Some("NAME=LEVEL,…"),
    "runs with these levels of their factors; workload, server and sessions are factors, too",
);
const FROM: Opt = opt(
    GROUP,
    "from",
    Some("TIME"),
    "figures and verdict from this time of the measurement on; what was before is warm-up [0s]",
);
const TO: Opt = opt(GROUP, "to", Some("TIME"), "and up to this time [its end]");
const ROWS: Opt = opt(
    GROUP,
    "rows",
    Some("NAME"),
    "the factor whose levels are the rows",
);
const COLUMNS: Opt = opt(
    GROUP,
    "columns",
    Some("NAME"),
    "the factor whose levels are the columns",
);
const BASE: Opt = opt(
    GROUP,
    "base",
    Some("LEVEL"),
    "the level of the columns, or of the rows where there are none, that ratios are to [the \
         first]",
);
const REPLACE: Opt = opt(GROUP, "force", None, "replace a file that is there already");
pub(super) const NO_COLOR: Opt = opt(
    GROUP,
    "no-color",
    None,
    "no colours; also $NO_COLOR ($CLICOLOR_FORCE: colours without a terminal, too)",
);
pub(super) const VERBOSE: Opt = short(
    'v',
    opt(
        GROUP,
        "verbose",
        None,
        "tell all of a run: distribution, findings in full with advice, costs, set-up; also \
         $DYNO_VERBOSE",
    ),
);
pub(super) const HELP: Opt = short('h', opt(GROUP, "help", None, "this text"));

/// The options of `dyno show`.
pub const SHOW: &[Opt] = &[
    opt(
        GROUP,
        "findings",
        None,
        "all checks with their evidence, rules and advice",
    ),
    opt(
        GROUP,
        "facts",
        None,
        "what is on record of the host, the server and the tables, with their definitions",
    ),
    opt(
        GROUP,
        "advice",
        None,
        "what the server's counters during the run say of its settings",
    ),
    opt(
        GROUP,
        "cpu-profile",
        None,
        "the functions of server and client that took most of the CPU time",
    ),
    opt(
        GROUP,
        "plan",
        None,
        "print the run's plan instead, as JSON: dyno run --plan FILE repeats the run",
    ),
    FROM,
    TO,
    WHERE,
    RESULTS,
    VERBOSE,
    JSON,
    NO_COLOR,
    HELP,
];

/// The options of `dyno list`.
pub const LIST: &[Opt] = &[
    opt(
        GROUP,
        "show",
        Some("NAME"),
        "print the script of a workload, to read or to copy",
    ),
    RESULTS,
    opt(
        GROUP,
        "workload",
        Some("TEXT"),
        "runs whose workload contains the text",
    ),
    opt(
        GROUP,
        "target",
        Some("TEXT"),
        "runs whose target or server contains the text",
    ),
    opt(
        GROUP,
        "note",
        Some("TEXT"),
        "runs whose note contains the text",
    ),
    WHERE,
    one_of(
        &["valid", "doubtful", "refused"],
        opt(
            GROUP,
            "verdict",
            Some("WORD"),
            "runs that are valid, doubtful or refused",
        ),
    ),
    one_of(
        &[
            "running",
            "unfinished",
            "completed",
            "interrupted",
            "failed",
            "imported",
        ],
        opt(
            GROUP,
            "state",
            Some("WORD"),
            "runs that are running, unfinished (their process died), completed, interrupted, failed \
         or imported",
        ),
    ),
    opt(
        GROUP,
        "since",
        Some("TIME"),
        "runs begun within so long, e.g. 7d, 12h",
    ),
    opt(
        GROUP,
        "limit",
        Some("N"),
        "so many runs at most, the latest; 0 for all [50]",
    ),
    JSON,
    HELP,
];

/// The options of `dyno report`.
pub const REPORT: &[Opt] = &[
    short(
        'o',
        opt(
            GROUP,
            "output",
            Some("FILE"),
            "the HTML file to write, - for standard output [the run's name with .html]",
        ),
    ),
    opt(
        GROUP,
        "title",
        Some("TEXT"),
        "the page's title [the workload and the server; of several runs the answer]",
    ),
    WHERE,
    ROWS,
    COLUMNS,
    BASE,
    FACTOR,
    FROM,
    TO,
    REPLACE,
    RESULTS,
    HELP,
];

/// The options of `dyno compare`.
pub const COMPARE: &[Opt] = &[
    FACTOR,
    WHERE,
    opt(
        GROUP,
        "all",
        None,
        "every difference of settings and facts, not only those that matter most",
    ),
    opt(
        GROUP,
        "force",
        None,
        "compare runs of different workloads all the same, and say so",
    ),
    repeated(
        GROUP,
        "fail-if",
        Some("LIMIT"),
        "exit with status 4 if the whole interval of a ratio says so: 'rate < 0.95x', \
         'p99 > 1.1x'; may be repeated",
    ),
    opt(
        GROUP,
        "gate",
        None,
        "exit with status 3 if the comparison is refused",
    ),
    FROM,
    TO,
    RESULTS,
    JSON,
    NO_COLOR,
    HELP,
];

/// The options of `dyno table`.
pub const TABLE: &[Opt] = &[
    ROWS,
    COLUMNS,
    one_of(
        &[
            "rate",
            "median_rate",
            "queries",
            "errors",
            "mean",
            "max",
            "p99",
        ],
        opt(
            GROUP,
            "figure",
            Some("NAME"),
            "what stands in the cells: rate, median_rate, queries, errors, mean, max or a percentile \
         such as p99 [rate]",
        ),
    ),
    BASE,
    WHERE,
    opt(
        GROUP,
        "csv",
        None,
        "a line per cell with commas between, for spreadsheets",
    ),
    opt(
        GROUP,
        "force",
        None,
        "runs of different workloads in one table all the same",
    ),
    FROM,
    TO,
    RESULTS,
    JSON,
    NO_COLOR,
    HELP,
];

/// The options of `dyno phases`.
pub const PHASES: &[Opt] = &[
    opt(
        GROUP,
        "html",
        Some("FILE"),
        "the tables as one offline HTML page as well",
    ),
    opt(
        GROUP,
        "tsv",
        Some("FILE"),
        "the tables with tabs between figures as well; - for standard output alone",
    ),
    RESULTS,
    NO_COLOR,
    HELP,
];

/// The options of `dyno export`.
pub const EXPORT: &[Opt] = &[
    one_of(
        &["json", "csv", "series", "hlog", "openmetrics", "folded"],
        opt(
            GROUP,
            "format",
            Some("FORMAT"),
            "json (by docs/schema/export.json), csv (a line per interval), series (CSV of what was \
         observed), hlog (HdrHistogram's interval log), openmetrics (with time stamps) or folded \
         (stacks of the CPU profile) [json]",
        ),
    ),
    short(
        'o',
        opt(
            GROUP,
            "output",
            Some("FILE"),
            "where to write, whole or not at all [standard output]",
        ),
    ),
    WHERE,
    REPLACE,
    RESULTS,
    HELP,
];

/// The options of `dyno import`.
pub const IMPORT: &[Opt] = &[
    opt(
        GROUP,
        "pattern",
        Some("PATTERN"),
        "of a folder, the files whose path below it is like '…/{fs}-{binlog}/BP{memory}/res.txt': \
         the parts in braces become factors, * is any part of a name, … any folders",
    ),
    repeated(
        GROUP,
        "vmstat",
        Some("FILE"),
        "what vmstat printed meanwhile; with several logs it may be repeated, each for the log in \
         its folder",
    ),
    opt(
        GROUP,
        "iostat",
        Some("FILE"),
        "what iostat -x printed meanwhile; repeated as --vmstat",
    ),
    opt(
        GROUP,
        "mpstat",
        Some("FILE"),
        "what mpstat printed meanwhile; repeated as --vmstat",
    ),
    opt(
        GROUP,
        "sar",
        Some("FILE"),
        "what sar printed meanwhile, or of a file of sadc; repeated as --vmstat",
    ),
    opt(
        GROUP,
        "config",
        Some("FILE"),
        "the server's my.cnf, kept with the runs as what was configured; repeated as --vmstat",
    ),
    opt(
        GROUP,
        "replace",
        None,
        "import logs that are in the results file already anew, in place of their runs",
    ),
    short('q', opt(GROUP, "quiet", None, "no summary of each run")),
    opt(
        GROUP,
        "started",
        Some("WHEN"),
        "when the first run's measurement began, where its log has no times: 2026-11-21T12:45:12Z, \
         '2026-11-21 13:45:12' in the zone of --utc-offset, or seconds since 1970",
    ),
    opt(
        GROUP,
        "utc-offset",
        Some("OFFSET"),
        "how far the logs' times are ahead of UTC, where they do not say it: +02:00, =-5 [0]",
    ),
    opt(
        GROUP,
        "vmstat-interval",
        Some("TIME"),
        "the delay that vmstat was given, for a log without -t [1s]",
    ),
    opt(
        GROUP,
        "iostat-interval",
        Some("TIME"),
        "the delay that iostat was given, for a log without -t [1s]",
    ),
    opt(
        GROUP,
        "vmstat-unit",
        Some("UNIT"),
        "the unit that vmstat was given with -S: k, K, m or M [K]",
    ),
    opt(
        GROUP,
        "first-report",
        None,
        "count the first report of vmstat and iostat, too: they ran with -y",
    ),
    opt(
        GROUP,
        "percentile",
        Some("N"),
        "which percentile the latencies of sysbench's CSV and JSON reports are",
    ),
    opt(
        GROUP,
        "workload",
        Some("NAME"),
        "name the workload if the log does not (only runs of one workload are compared)",
    ),
    opt(
        GROUP,
        "server",
        Some("NAME"),
        "name the server if the log does not: 'MariaDB 10.11.6'",
    ),
    one_of(
        &["standard", "reference"],
        opt(
            GROUP,
            "profile",
            Some("WORD"),
            "standard, or reference for a workload with the faults of the tool that it copies; the two \
         are not compared [standard]",
        ),
    ),
    opt(
        GROUP,
        "warmup",
        Some("TIME"),
        "so much of each run's beginning is warm-up and in no figure, as --from",
    ),
    FROM,
    TO,
    opt(
        GROUP,
        "note",
        Some("TEXT"),
        "what to remember of the runs; kept with them",
    ),
    repeated(
        GROUP,
        "factor",
        Some("NAME=LEVEL"),
        "what the runs vary, e.g. memory=5G; kept with them, may be repeated",
    ),
    VERBOSE,
    RESULTS,
    NO_COLOR,
    HELP,
];

/// The options of `dyno doctor`.
pub const DOCTOR: &[Opt] = &[
    short(
        'T',
        opt(
            GROUP,
            "target",
            Some("URL"),
            "a server to look at as well; also $DYNO_TARGET",
        ),
    ),
    opt(
        GROUP,
        "ask-password",
        None,
        "ask for the password on the terminal",
    ),
    opt(
        GROUP,
        "time",
        Some("TIME"),
        "how long to listen for noise [3s]",
    ),
    opt(
        GROUP,
        "gate",
        None,
        "exit with status 3 if the host or the server is not fit to be measured",
    ),
    JSON,
    NO_COLOR,
    HELP,
];

/// The options of `dyno rm`.
pub const RM: &[Opt] = &[RESULTS, NO_COLOR, HELP];

/// The options of `dyno waive`.
pub const WAIVE: &[Opt] = &[RESULTS, NO_COLOR, HELP];
