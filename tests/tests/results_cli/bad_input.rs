//! Each mistake on the command line gets a one-line answer: what is wrong, what was expected, and
//! the closest match. Nothing is run, created or changed.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{Lab, has};

/// A command line, its exit status, and its standard error.
const LINES: &[(&str, i32, &str)] = &[
    ("rnu x", 2, "unknown command 'rnu'; did you mean 'run'?"),
    (
        "run oltp_point_selct -T sqlite:t.db",
        2,
        "there is no workload 'oltp_point_selct', neither built in nor as a file or \
         module; did you mean 'oltp_point_select'?",
    ),
    (
        "run oltp_point_select -T mysql://me@127.0.0.1:1",
        2,
        "mysql://me@127.0.0.1:1/ names no database, and oltp_point_select needs one for its \
         tables: add it to the URL (mysql://USER@HOST/bench). To create it: CREATE DATABASE IF \
         NOT EXISTS bench; GRANT ALL ON bench.* TO 'me'@'HOST';",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --sesions 4",
        2,
        "unknown option --sesions; did you mean --sessions?",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --thread 4",
        2,
        "unknown option --thread; did you mean --threads?",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 \
         --table-sise 4",
        2,
        "unknown option --table-sise; did you mean --table-size?",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 -c 0",
        2,
        "--sessions: 0 is not between 1 and 1048576",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 -c many",
        2,
        "--sessions: 'many' is not a count: it must start with a number; write for example 10000, \
         100k or 1M (powers of 1000)",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 -t 10q",
        2,
        "--time: '10q' is not a duration: there is no unit 'q'; write for example \
         250ms, 10s, 5m or 1h30m",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --rate 0.5x",
        2,
        "--rate: '0.5x' is not a rate: 'x' is not one of k, M and G; write for \
         example 1000/s, 0.5/s or 20k/s",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --rate \
         '100/s for 30s, 200/s'",
        2,
        "--rate: part 2: '200/s' has no length: expected '100/s for 30s', '100/s..1000/s over 5m' \
         or 'sine 100/s..500/s every 1m for 10m'",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 -c \
         '4 for 30s, 1.5..9 over 1m'",
        2,
        "--sessions: part 2: '1.5' is not a count: it is not a whole number; write \
         for example 10000, 100k or 1M (powers of 1000)",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 -t 20s -c \
         '4 for 30s'",
        2,
        "--sessions: its parts take 30s, but --time is 20s: omit --time",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --rate \
         '5/s for 3s' -c '4 for 3s'",
        2,
        "--rate and --sessions cannot both have a schedule; give it to one of them",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 -c '1..4 over 3s' \
         --ramp-up 3s",
        2,
        "--ramp-up has no effect with a schedule of --sessions; make a ramp its first part",
    ),
    (
        "saturate oltp_point_select -T sqlite:t.db --rate '5/s for 3s'",
        2,
        "--rate: dyno saturate compares numbers of sessions at one rate; use a schedule \
         with dyno run",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --in-one-run",
        2,
        "--in-one-run is an option of dyno saturate; dyno run takes --sessions",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --arrivals \
         even --rate 5/s",
        2,
        "--arrivals: 'even' is neither poisson nor constant",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --rand-type \
         zipf",
        2,
        "--rand-type: 'zipf' is not one of uniform, gaussian, special, pareto, zipfian",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 \
         --percentiles 50,x",
        2,
        "--percentiles: 'x' is not a percentile (above 0, at most 100)",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --fail-if \
         'p99 ~ 3'",
        2,
        "--fail-if: 'p99 ~ 3' is not a threshold: a relation is missing: <, <=, > or >=; write for \
         example 'p99 > 20ms' or 'rate < 1000'",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --fail-if \
         'new_order.p99 > 3ms'",
        2,
        "--fail-if 'new_order.p99 > 3ms': the run has no operation and no role, and \
         no 'new_order'",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --expect \
         foo",
        2,
        "--expect: 'foo' is not NAME=VALUE, e.g. \
         --expect='innodb_flush_log_at_trx_commit=1'",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --waive \
         lenght=x",
        2,
        "there is no check 'lenght' to waive; did you mean 'length'? `dyno show \
         --findings` and docs/validity.md list all",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --factor \
         memory",
        2,
        "--factor: 'memory' has no level; write for example memory=5G",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --claim hot",
        2,
        "--claim: 'hot' is not one of in-memory, on-disk, cold, warm",
    ),
    (
        "run oltp_point_select -T mysq://x/y",
        2,
        "bad target URL: it must start with mysql:, mariadb:, postgres:, postgresql: or sqlite:; \
         write for example mysql://user@host:3306/db, postgres://user@host:5432/db or \
         sqlite:file.db",
    ),
    (
        "run empty -T sqlite:t.db",
        2,
        "there is no workload 'empty', neither built in nor as a file or module; it is a \
         directory; a workload is a Lua or SQL file",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 extra",
        2,
        "unexpected argument 'extra' after oltp_point_select",
    ),
    (
        "run oltp_point_select -T sqlite:t.db --tables 1 --table-size 100 --plan \
         missing.json",
        2,
        "unexpected argument 'missing.json' after oltp_point_select; to run a plan: \
         dyno run --plan FILE, without a workload",
    ),
    (
        "prepare oltp_point_select -T sqlite:t.db --rate 5/s",
        2,
        "--rate is an option of dyno run; dyno prepare does not use it",
    ),
    (
        "show 9",
        1,
        "cannot find a run in dyno.db: there is no run `9` in it; name a run by `last`, its \
         number, or a unique beginning of its name",
    ),
    (
        "show --finding",
        2,
        "unknown option --finding; did you mean --findings?",
    ),
    (
        "compare 1 --base 2",
        2,
        "unknown option --base; the first run is the base: dyno compare BASE NEW",
    ),
    (
        "compare 1",
        2,
        "dyno compare needs a NEW run to compare with the base",
    ),
    (
        "compare 1 1 --fail-if 'rate < 0.9'",
        2,
        "--fail-if: rate < 0.9/s is not a ratio; write e.g. 'rate < 0.95x', or use it \
         with `dyno run`",
    ),
    (
        "table --rows memmory",
        2,
        "no run has a factor 'memmory'; there are memory, server, sessions, workload",
    ),
    (
        "table --rows memory --figure p98",
        2,
        "--figure: no run has 'p98'; there are rate, median_rate, queries, errors, \
         mean, max and percentiles such as p99",
    ),
    (
        "list runs --where memory",
        2,
        "--where: 'memory' has no level; write for example memory=5G",
    ),
    (
        "list runs --where memori=1G",
        2,
        "no run has a factor 'memori'; there are memory, server, sessions, workload",
    ),
    (
        "list runs --verdict good",
        2,
        "--verdict: 'good' is not one of valid, doubtful, refused",
    ),
    (
        "report 1 -o empty",
        1,
        "cannot write empty: it is a directory",
    ),
    (
        "export 1 --format xml",
        2,
        "--format: 'xml' is not one of json, csv, series, hlog, openmetrics, folded, svg",
    ),
    ("export 1 --chart heat", 2, "--chart needs --format svg"),
    (
        "import sysbench nothere.log",
        1,
        "cannot read nothere.log: No such file or directory (os error 2)",
    ),
    (
        "import sysbench notalog.txt",
        1,
        "cannot import notalog.txt: nothing in it looks like sysbench's report lines, statistics, \
         histogram, CSV or JSON; give sysbench's standard output",
    ),
    (
        "import .",
        2,
        "'.' is a folder: name the tool of its logs first, e.g. `dyno import sysbench .`; \
         tools are sysbench, pgbench, fio, hammerdb",
    ),
    (
        "import ycsb notalog.txt",
        2,
        "'ycsb' is not one of the tools whose logs can be imported: sysbench, pgbench, fio, \
         hammerdb",
    ),
    (
        "import sysbench . --pattern '{a}/{a}.txt'",
        2,
        "--pattern: '{a}/{a}.txt' has {a} twice; a factor has one level",
    ),
    (
        "import sysbench . --pattern '{a/x.txt'",
        2,
        "--pattern: '{a/x.txt' has a { without a }; write for example {memory}",
    ),
    (
        "show 1 --from 5q",
        2,
        "--from: '5q' is not a duration: there is no unit 'q'; write for example \
         250ms, 10s, 5m or 1h30m",
    ),
    (
        "show 1 --from 9s",
        2,
        "run 1: the window begins at 9 s, but the measurement is only 1 s long",
    ),
    (
        "rm 9",
        1,
        "cannot find a run in dyno.db: there is no run `9` in it; name a run by `last`, its \
         number, or a unique beginning of its name",
    ),
    (
        "waive 1 lenght=x",
        2,
        "there is no check 'lenght' to waive; did you mean 'length'? `dyno show \
         --findings` and docs/validity.md list all",
    ),
    (
        "saturate oltp_point_select -T sqlite:t.db --ladder 4,2",
        2,
        "--ladder: 4,2 does not increase from step to step",
    ),
    (
        "doctor x",
        2,
        "unexpected argument 'x'; name a server with --target URL",
    ),
    (
        "run --table-size 1000",
        2,
        "no workload is named: --table-size looks like an option of a workload, and '1000' like \
         its value; name the workload first: dyno run WORKLOAD --table-size 1000",
    ),
    (
        "prepare -T sqlite:t.db --tables 4 --table_size 1000 oltp_read_only",
        2,
        "no workload is named: --tables looks like an option of a workload, and '4' like its \
         value; name the workload first: dyno prepare oltp_read_only --tables 4",
    ),
    (
        "search -T sqlite:t.db --table-size 1000 'p99 < 10ms'",
        2,
        "no workload is named: --table-size looks like an option of a workload, and '1000' like \
         its value; name the workload first: dyno search WORKLOAD --table-size 1000",
    ),
    (
        "run --vus 10 oltp_point_select",
        2,
        "unknown option --vus; the option here is --sessions",
    ),
    (
        "run oltp_point_select -j 2",
        2,
        "unknown option -j; the option here is --workers",
    ),
    (
        "run oltp_point_select --bs 4k",
        2,
        "unknown option --bs; the option of the workload fileio is --file-block-size",
    ),
    (
        "run oltp_point_select -T 60",
        2,
        "--target: '60' is not a URL; the length of a run is --time or -t",
    ),
    (
        "run oltp_point_select -T mysql://me@127.0.0.1:1/d --tables 0",
        2,
        "--tables must be a whole number from 1 to 1000000, not 0",
    ),
    (
        "run oltp_point_select -T sqlite:none.db --table-size=-5",
        2,
        "--table-size must be a whole number from 1 to 2147483647, not -5",
    ),
    (
        "run oltp_read_write -T mysql://me@127.0.0.1:1/d --table-size 0",
        2,
        "--table-size must be a whole number from 1 to 2147483647, not 0",
    ),
    (
        "prepare oltp_point_select -T sqlite:none.db --table_size 0.5",
        2,
        "--table_size must be a whole number from 0 to 2147483647, not 0.5",
    ),
    (
        "run many_tables -T sqlite:none.db --max-retries many",
        2,
        "invalid value 'many' for --max-retries: expected a number",
    ),
    (
        "run many_tables -T sqlite:none.db --phase ladder --active-tables 2",
        2,
        "--phase ladder takes its active tables from --rungs, not from --active, \
         --active-schemas and --active-tables",
    ),
    (
        "run oltp_point_select -T sqlite:none.db --tables 1 --table-size 100",
        1,
        "there is no file none.db: run `dyno prepare oltp_point_select --target 'sqlite:none.db'` \
         with the same options first",
    ),
    (
        "check tpcc -T sqlite:none.db",
        1,
        "there is no file none.db: run `dyno prepare tpcc --target 'sqlite:none.db'` with the \
         same options first",
    ),
    (
        "saturate oltp_point_select -T sqlite:none.db --ladder 1,2",
        1,
        "there is no file none.db: run `dyno prepare oltp_point_select --target 'sqlite:none.db'` \
         with the same options first",
    ),
    ("completions ksh", 2, "'ksh' is not one of bash, zsh, fish"),
];

#[test]
fn only_prepare_creates_a_missing_database() {
    let lab = Lab::new();
    let cleaned = lab.dyno("cleanup tpcc -T sqlite:none.db").success();
    has(&cleaned, &["There is no file none.db"]);
    lab.dyno("run tpcc -T sqlite:none.db").failure(1);
    assert!(!lab.path("none.db").exists());
    lab.dyno("prepare oltp_point_select -T sqlite:none.db --table-size 10")
        .success();
    assert!(lab.path("none.db").exists());
    // A script without `prepare` may create its own tables.
    let script = lab.file("own.lua", "function event() end");
    lab.dyno(&format!(
        "run {script} -T sqlite:own.db --events 1 --warmup 0 -q"
    ))
    .success();
    assert!(lab.path("own.db").exists());
}

#[test]
fn the_whole_help_has_every_command_and_option() {
    let lab = Lab::new();
    let help = lab.dyno("--help-all").success().stdout;
    for text in [
        "Usage: dyno <command>",
        "Usage: dyno run WORKLOAD",
        "--rand-zipfian-exp",
        "Usage: dyno compare",
        "Usage: dyno table",
        "Usage: dyno history",
        "Usage: dyno fleet",
    ] {
        assert!(help.contains(text), "{text}: {help}");
    }
    assert_eq!(lab.dyno("help --help-all").success().stdout, help);
}

#[test]
fn each_mistake_is_answered_by_one_line() {
    let lab = Lab::new();
    fs::create_dir(lab.path("empty")).unwrap();
    lab.file("notalog.txt", "hello\n");
    let tables = "-T sqlite:t.db --tables 1 --table-size 100";
    lab.dyno(&format!("prepare oltp_point_select {tables} -q"))
        .success();
    lab.dyno(&format!(
        "run oltp_point_select {tables} -t 1s --warmup 0 --calibrate never -q --factor memory=1G"
    ))
    .success();
    // SQLite leaves the WAL index of a reader behind.
    let own = |name: &str| !name.ends_with("-shm") && !name.ends_with("-wal");
    let files = || {
        let all = fs::read_dir(lab.path("")).unwrap();
        let names = all.map(|one| one.unwrap().file_name().into_string().unwrap());
        names.filter(|name| own(name)).collect::<BTreeSet<String>>()
    };
    let before = files();
    for (line, status, expected) in LINES {
        let output = lab.dyno(line).failure(*status);
        assert_eq!(output.stderr, format!("error: {expected}\n"), "dyno {line}");
        assert_eq!(output.stdout, "", "dyno {line}");
    }
    assert_eq!(files(), before, "a file was made");
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1.0);
}
