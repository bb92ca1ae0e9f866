//! The options of the commands that read and write results files.

use super::opt;
use crate::options::Opt;

const GROUP: &str = "Options";

pub(super) const RESULTS: Opt = opt(
    GROUP,
    "results",
    Some("FILE"),
    "Results file; also $DYNO_RESULTS [dyno.db]",
);
pub(super) const JSON: Opt = opt(
    GROUP,
    "json",
    Some("FILE"),
    "Print JSON instead of the text, or write JSON to FILE and print the text",
)
.bare();
const FACTOR: Opt = opt(
    GROUP,
    "factor",
    Some("NAME"),
    "Declare an intended difference: an option, a setting or a fact, by its name or the beginning \
     of it; may be repeated",
)
.repeats();
const WHERE: Opt = opt(
    GROUP,
    "where",
    Some("NAME=LEVEL,…"),
    "Select runs with these factor levels; workload, server and sessions are factors, too",
);
pub(super) const FROM: Opt = opt(
    GROUP,
    "from",
    Some("TIME"),
    "Compute figures and verdict from this time of the measurement on; what came before counts as \
     warm-up [0s]",
);
pub(super) const TO: Opt = opt(
    GROUP,
    "to",
    Some("TIME"),
    "Stop at this time of the measurement [its end]",
);
const ROWS: Opt = opt(
    GROUP,
    "rows",
    Some("NAME"),
    "Factor whose levels are the rows",
);
const COLUMNS: Opt = opt(
    GROUP,
    "columns",
    Some("NAME"),
    "Factor whose levels are the columns",
);
const BASE: Opt = opt(
    GROUP,
    "base",
    Some("LEVEL"),
    "Level of the columns (without columns, of the rows) that ratios compare with [the first]",
);
pub(super) const EQUIVALENT: Opt = opt(
    GROUP,
    "equivalent",
    Some("PERCENT"),
    "Test whether figures are the same within this margin, e.g. 2%; if undecided, estimate the \
     time or the runs needed",
);
const FORMAT: Opt = opt(
    GROUP,
    "format",
    Some("FORMAT"),
    "Print text, or markdown for a pull request or a wiki [text]",
)
.one_of(&["text", "markdown"]);
const JUNIT: Opt = opt(
    GROUP,
    "junit",
    Some("FILE"),
    "Also write checks and conditions to FILE as JUnit XML, for build servers",
);
const REPLACE: Opt = opt(GROUP, "force", None, "Replace an existing file");
pub(super) const NO_COLOR: Opt = opt(
    GROUP,
    "no-color",
    None,
    "Disable colours; also $NO_COLOR. $CLICOLOR_FORCE keeps them without a terminal",
);
pub(super) const VERBOSE: Opt = opt(
    GROUP,
    "verbose",
    None,
    "Print everything known about the run: distribution, findings with advice, costs, set-up; \
     also $DYNO_VERBOSE",
)
.short('v');
pub(super) const HELP: Opt = opt(GROUP, "help", None, "Print this help").short('h');

/// The options of `dyno show`.
pub(crate) const SHOW: &[Opt] = &[
    opt(
        GROUP,
        "findings",
        None,
        "Print all checks with their evidence, rules and advice",
    ),
    opt(
        GROUP,
        "facts",
        None,
        "Print the recorded facts about the host, the server and the tables, with their \
         definitions",
    ),
    opt(
        GROUP,
        "advice",
        None,
        "Print what the server's counters during the run suggest about its settings",
    ),
    opt(
        GROUP,
        "cpu-profile",
        None,
        "Print the functions of server and client that used most of the CPU time",
    ),
    opt(
        GROUP,
        "plan",
        None,
        "Print the run's plan as JSON; `dyno run --plan FILE` repeats the run",
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
pub(crate) const LIST: &[Opt] = &[
    opt(
        GROUP,
        "show",
        Some("NAME"),
        "Print a workload's script, to read or copy",
    ),
    RESULTS,
    opt(
        GROUP,
        "workload",
        Some("TEXT"),
        "Select runs whose workload contains the text",
    ),
    opt(
        GROUP,
        "target",
        Some("TEXT"),
        "Select runs whose target or server contains the text",
    ),
    opt(
        GROUP,
        "note",
        Some("TEXT"),
        "Select runs whose note contains the text",
    ),
    WHERE,
    opt(
        GROUP,
        "verdict",
        Some("WORD"),
        "Select runs that are valid, doubtful or refused",
    )
    .one_of(&["valid", "doubtful", "refused"]),
    opt(
        GROUP,
        "state",
        Some("WORD"),
        "Select runs that are running, unfinished (their process died), completed, \
         interrupted, failed or imported",
    )
    .one_of(&[
        "running",
        "unfinished",
        "completed",
        "interrupted",
        "failed",
        "imported",
    ]),
    opt(
        GROUP,
        "since",
        Some("TIME"),
        "Select runs that began within this time, e.g. 7d, 12h",
    ),
    opt(
        GROUP,
        "limit",
        Some("N"),
        "List at most the latest N runs; 0 for all [50]",
    ),
    JSON,
    HELP,
];

/// The options of `dyno report`.
pub(crate) const REPORT: &[Opt] = &[
    opt(
        GROUP,
        "format",
        Some("FORMAT"),
        "Write html (one offline page), markdown (for a pull request or a wiki) or junit (test \
         results for a build server) [html]",
    )
    .one_of(&["html", "markdown", "junit"]),
    opt(
        GROUP,
        "output",
        Some("FILE"),
        "Write to FILE; - is standard output [for html the run's name and .html, for other formats \
         standard output]",
    )
    .short('o'),
    opt(
        GROUP,
        "title",
        Some("TEXT"),
        "Title of the page [the workload and the server; for several runs the answer]",
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
pub(crate) const COMPARE: &[Opt] = &[
    FACTOR,
    WHERE,
    opt(
        GROUP,
        "all",
        None,
        "Print every difference in settings and facts, not only the most important ones",
    ),
    opt(
        GROUP,
        "force",
        None,
        "Compare runs of different workloads, and say so",
    ),
    EQUIVALENT,
    opt(
        GROUP,
        "fail-if",
        Some("LIMIT"),
        "Exit with status 4 if the whole interval of a ratio meets the condition: 'rate < 0.95x', \
         'p99 > 1.1x'; may be repeated",
    )
    .repeats(),
    opt(
        GROUP,
        "gate",
        None,
        "Exit with status 3 if the comparison is refused",
    ),
    FORMAT,
    JUNIT,
    FROM,
    TO,
    RESULTS,
    JSON,
    NO_COLOR,
    HELP,
];

/// The figures of `dyno table`, last an example of a percentile.
pub(crate) const FIGURES: [&str; 7] = [
    "rate",
    "median_rate",
    "queries",
    "errors",
    "mean",
    "max",
    "p99",
];

/// The options of `dyno table`.
pub(crate) const TABLE: &[Opt] = &[
    ROWS,
    COLUMNS,
    opt(
        GROUP,
        "figure",
        Some("NAME"),
        "Figure to show in the cells: rate, median_rate, queries, errors, mean, max or a \
         percentile such as p99 [rate]",
    )
    .one_of(&FIGURES),
    BASE,
    EQUIVALENT,
    WHERE,
    opt(
        GROUP,
        "csv",
        None,
        "Print comma-separated values, one line per cell",
    ),
    opt(
        GROUP,
        "force",
        None,
        "Put runs of different workloads in one table",
    ),
    FORMAT,
    FROM,
    TO,
    RESULTS,
    JSON,
    NO_COLOR,
    HELP,
];

/// The options of `dyno history`.
pub(crate) const HISTORY: &[Opt] = &[
    opt(
        GROUP,
        "by",
        Some("NAME"),
        "Order the runs by date, version, commit (in the order first measured) or another \
         factor [date]",
    )
    .one_of(&["date", "version", "commit"]),
    WHERE,
    opt(
        GROUP,
        "limit",
        Some("N"),
        "Use only the latest N runs of each plan; 0 for all [0]",
    ),
    opt(
        GROUP,
        "fail-if",
        Some("LIMIT"),
        "Exit with status 4 if the whole interval of the last change meets the condition, or if \
         no plan has enough runs to judge it: 'rate < 0.97x', 'server_cpu > 1.05x'; may be \
         repeated",
    )
    .repeats(),
    FORMAT,
    RESULTS,
    JSON,
    NO_COLOR,
    HELP,
];

/// The options of `dyno phases`.
pub(crate) const PHASES: &[Opt] = &[
    opt(
        GROUP,
        "html",
        Some("FILE"),
        "Also write the tables as one offline HTML page",
    ),
    opt(
        GROUP,
        "tsv",
        Some("FILE"),
        "Also write the tables as tab-separated values; - prints only these",
    ),
    RESULTS,
    NO_COLOR,
    HELP,
];

/// The options of `dyno export`.
pub(crate) const EXPORT: &[Opt] = &[
    opt(
        GROUP,
        "format",
        Some("FORMAT"),
        "Format: json (schema: docs/schema/export.json), csv (one line per interval), series \
         (observed series as CSV), hlog (HdrHistogram's interval log), openmetrics (with \
         timestamps), folded (stacks of the CPU profile) or svg (a chart of the report) [json]",
    )
    .one_of(&[
        "json",
        "csv",
        "series",
        "hlog",
        "openmetrics",
        "folded",
        "svg",
    ]),
    opt(
        GROUP,
        "chart",
        Some("NAME"),
        "With --format svg, draw this chart, such as over-time or heat; an unknown NAME lists the \
         charts of the run",
    ),
    opt(
        GROUP,
        "output",
        Some("FILE"),
        "Write to FILE, completely or not at all [standard output]",
    )
    .short('o'),
    WHERE,
    REPLACE,
    RESULTS,
    HELP,
];

/// The options of `dyno doctor`.
pub(crate) const DOCTOR: &[Opt] = &[
    opt(
        GROUP,
        "target",
        Some("URL"),
        "Check this server as well; also $DYNO_TARGET",
    )
    .short('T'),
    opt(
        GROUP,
        "ask-password",
        None,
        "Ask for the password on the terminal",
    ),
    opt(
        GROUP,
        "time",
        Some("TIME"),
        "Measure interruptions by other work for this long [3s]",
    ),
    opt(
        GROUP,
        "gate",
        None,
        "Exit with status 3 if the host or the server is not fit for measuring",
    ),
    JSON,
    NO_COLOR,
    HELP,
];

/// The options of `dyno rm`.
pub(crate) const RM: &[Opt] = &[RESULTS, NO_COLOR, HELP];

/// The options of `dyno waive`.
pub(crate) const WAIVE: &[Opt] = &[RESULTS, NO_COLOR, HELP];
