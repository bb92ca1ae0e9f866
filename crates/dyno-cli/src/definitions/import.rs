//! The options of `dyno import`.

use super::opt;
use super::results::{FROM, HELP, NO_COLOR, RESULTS, TO, VERBOSE};
use crate::options::Opt;

const GROUP: &str = "Options";

/// The options of `dyno import`.
pub(crate) const IMPORT: &[Opt] = &[
    opt(
        GROUP,
        "pattern",
        Some("PATTERN"),
        "In a folder, import the files whose path matches '…/{fs}-{binlog}/BP{memory}/res.txt': \
         parts in braces become factors, * matches any part of a name, … any folders",
    ),
    opt(
        GROUP,
        "vmstat",
        Some("FILE"),
        "Output of vmstat during the runs; may be repeated for several logs, each matched to the \
         log in its folder",
    )
    .repeats(),
    opt(
        GROUP,
        "iostat",
        Some("FILE"),
        "Output of iostat -x during the runs; may be repeated like --vmstat",
    )
    .repeats(),
    opt(
        GROUP,
        "mpstat",
        Some("FILE"),
        "Output of mpstat during the runs; may be repeated like --vmstat",
    )
    .repeats(),
    opt(
        GROUP,
        "sar",
        Some("FILE"),
        "Output of sar during the runs, or of sar on a sadc file; may be repeated like --vmstat",
    )
    .repeats(),
    opt(
        GROUP,
        "config",
        Some("FILE"),
        "The server's my.cnf, recorded with the runs as its configuration; may be repeated like \
         --vmstat",
    )
    .repeats(),
    opt(
        GROUP,
        "replace",
        None,
        "Import logs again that are already in the results file, and replace their runs",
    ),
    opt(GROUP, "quiet", None, "Do not print a summary of each run").short('q'),
    opt(
        GROUP,
        "started",
        Some("WHEN"),
        "Start of the first run's measurement, if its log has no times: 2026-11-21T12:45:12Z, \
         '2026-11-21 13:45:12' in the zone of --utc-offset, or seconds since 1970",
    ),
    opt(
        GROUP,
        "utc-offset",
        Some("OFFSET"),
        "Offset of the logs' times from UTC, if the logs do not state it: +02:00, =-5 [0]",
    ),
    opt(
        GROUP,
        "vmstat-interval",
        Some("TIME"),
        "vmstat's interval, for a log without -t [1s]",
    ),
    opt(
        GROUP,
        "iostat-interval",
        Some("TIME"),
        "iostat's interval, for a log without -t [1s]",
    ),
    opt(
        GROUP,
        "vmstat-unit",
        Some("UNIT"),
        "vmstat's unit (its option -S): k, K, m or M [K]",
    ),
    opt(
        GROUP,
        "first-report",
        None,
        "Also count the first report of vmstat and iostat, because they ran with -y",
    ),
    opt(
        GROUP,
        "percentile",
        Some("N"),
        "Percentile of the latencies in sysbench's CSV and JSON reports",
    ),
    opt(
        GROUP,
        "workload",
        Some("NAME"),
        "Name the workload if the log does not; only runs of one workload are compared",
    ),
    opt(
        GROUP,
        "server",
        Some("NAME"),
        "Name the server if the log does not: 'MariaDB 10.11.6'",
    ),
    opt(
        GROUP,
        "profile",
        Some("WORD"),
        "Profile of the workload: standard, or reference, which repeats the faults of the original \
         tool; runs of different profiles are not compared [standard]",
    )
    .one_of(&["standard", "reference"]),
    opt(
        GROUP,
        "warmup",
        Some("TIME"),
        "Treat this much of each run's beginning as warm-up, as --from does",
    ),
    FROM,
    TO,
    opt(GROUP, "note", Some("TEXT"), "Attach a note to the runs"),
    opt(
        GROUP,
        "factor",
        Some("NAME=LEVEL"),
        "Record what varies between the runs, e.g. memory=5G; may be repeated",
    )
    .repeats(),
    VERBOSE,
    RESULTS,
    NO_COLOR,
    HELP,
];
