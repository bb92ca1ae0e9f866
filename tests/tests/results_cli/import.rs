//! Imports logs of real sysbench runs.

use std::fs;
use std::process::{Child, Command, Stdio};

use dyno_tests::{Database, Kind, sysbench};
use serde_json::Value;

use crate::common::{Lab, SHORT, has, query};

/// The number that follows a label in sysbench's report.
fn printed(log: &str, label: &str) -> f64 {
    let line = log.lines().find(|line| line.trim().starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no '{label}' in\n{log}"));
    let number = line.trim()[label.len()..].split_whitespace().next();
    let number = number.unwrap_or_default().trim_end_matches('s');
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number in '{line}'"))
}

/// Runs sysbench on the database of a test, and returns its log.
fn log_of(lab: &Lab, database: &Database, seconds: u32) -> String {
    let options = format!("--target {} --table-size 1000", database.url());
    lab.dyno(&format!("prepare oltp_read_write {options}"))
        .success();
    let line = format!(
        "--table-size=1000 --threads=2 --time={seconds} --report-interval=1 --percentile=95 \
         oltp_read_write run"
    );
    let words = line.split_whitespace().map(str::to_owned);
    let words: Vec<String> = database
        .sysbench_options()
        .into_iter()
        .chain(words)
        .collect();
    // As `set -x` prints it, because the log does not contain the command otherwise.
    let command = format!("+ sysbench {}\n", words.join(" "));
    command + &sysbench(words).success().stdout
}

/// Starts a monitoring program that writes once a second to a file.
fn start_monitor(lab: &Lab, name: &str, arguments: &[&str]) -> Child {
    let file = fs::File::create(lab.path(&format!("{name}.log"))).unwrap();
    Command::new(name)
        .args(arguments)
        .env("LC_ALL", "C")
        .env("S_TIME_FORMAT", "ISO")
        .stdout(file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{name} cannot be started: {error}"))
}

fn near(value: &Value, expected: f64, slack: f64) {
    let value = value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"));
    assert!(
        (value - expected).abs() <= slack,
        "{value} instead of {expected}"
    );
}

#[test]
fn an_imported_log_has_the_printed_figures() {
    let lab = Lab::new();
    for (index, kind) in [Kind::Mariadb, Kind::Postgres].into_iter().enumerate() {
        let database = Database::new(kind);
        let log = log_of(&lab, &database, 4);
        let file = lab.file("sysbench.log", &log);
        let output = lab
            .dyno(&format!("import sysbench {file} --note 'an old log'"))
            .success();
        let id = index + 1;
        has(
            &output,
            &[
                "oltp_read_write",
                "verdict",
                &format!("run {id} in dyno.db"),
            ],
        );
        assert_eq!(lab.dyno("show").success().stdout, output.stdout);
        let result = lab.json("show --json");
        let total_s = printed(&log, "total time:");
        let events = printed(&log, "transactions:");
        near(&result["totals"]["events"], events, 0.0);
        near(&result["totals"]["reads"], printed(&log, "read:"), 0.0);
        near(&result["totals"]["writes"], printed(&log, "write:"), 0.0);
        near(&result["totals"]["other"], printed(&log, "other:"), 0.0);
        near(&result["measured_s"], total_s, 0.001);
        let line = log.lines().find(|line| line.contains("transactions:"));
        let rate = line.unwrap().split(['(', ')']).nth(1).unwrap();
        let rate = rate.trim_end_matches(" per sec.").parse().unwrap();
        near(&result["rates"]["events_per_s"], rate, 0.0);
        let service = &result["service"];
        near(&service["min_ms"], printed(&log, "min:"), 0.0);
        near(&service["mean_ms"], printed(&log, "avg:"), 0.01);
        near(&service["max_ms"], printed(&log, "max:"), 0.0);
        near(
            &service["percentiles"][0]["value_ms"],
            printed(&log, "95th percentile:"),
            0.0,
        );
        assert_eq!(service["percentiles"][0]["percent"], 95.0);
        let lines = log
            .lines()
            .filter(|line| line.starts_with("[ ") && line.contains(" tps: "));
        let counted = lines.count();
        assert!(counted >= 3, "{log}");
        assert_eq!(result["intervals"].as_array().unwrap().len(), counted);
        let listed = lab.json("list runs --json --note 'old log'");
        assert_eq!(listed[index]["source"], "sysbench");
    }
    // Compare a run of Dyno with one of sysbench: the reasons why they differ are printed.
    let database = Database::new(Kind::Mariadb);
    let target = format!("--target {} --table-size 1000", database.url());
    lab.dyno(&format!("prepare oltp_read_write {target}"))
        .success();
    lab.dyno(&format!("run oltp_read_write {target} {SHORT} -c 2 -q"))
        .success();
    let compared = lab.dyno("compare 1 last").success();
    has(
        &compared,
        &["run 3 (", "tool: sysbench", "dyno 0", "environments"],
    );
}

#[test]
fn imports_host_logs_next_to_a_log() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let mut vmstat = start_monitor(&lab, "vmstat", &["-t", "-n", "1", "9"]);
    let log = log_of(&lab, &database, 4);
    vmstat.wait().unwrap();
    let file = lab.file("sysbench.log", &log);
    lab.dyno(&format!("import sysbench {file} --vmstat vmstat.log"))
        .success();
    let cpu = lab.number("SELECT count(*) FROM what_did_the_host_do WHERE series LIKE '%cpu%'");
    assert!(cpu >= 3.0, "{cpu}");
    let text = lab.dyno("show --findings").success();
    has(&text, &["stalls:"]);
}

#[test]
fn does_not_invent_values_missing_from_a_log() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let log = log_of(&lab, &database, 2);
    // Without the command line, the client and the distribution are unknown.
    let (_, bare) = log.split_once('\n').unwrap();
    let file = lab.file("bare.log", bare);
    let output = lab.dyno(&format!("import sysbench {file}")).success();
    let printed = crate::common::flat(&output.stdout);
    // Two seconds are too short for a better verdict.
    assert!(printed.contains("doubtful – "), "{printed}");
    let all = format!(" of {} checks ran: ", dyno_verdict::checks().len());
    assert!(printed.contains(&all), "{printed}");
    let result = lab.json("show --json");
    for name in ["started_unix_s", "client", "rand"] {
        assert!(result[name].is_null(), "{name}: {result:#}");
    }
    assert!(result["service"]["stddev_ms"].is_null(), "{result:#}");
    has(&lab.dyno("list runs").success(), &["not known"]);
    assert!(lab.json("list runs --json")[0]["started_unix_s"].is_null());
    assert_eq!(lab.json("list runs --json --since 1h")[0]["id"], 1);
    lab.dyno("report 1 -o report.html").success();
    let page = fs::read_to_string(lab.path("report.html")).unwrap();
    assert!(page.contains("start not known"));
    let exported = lab.dyno("export 1 --format csv").success();
    for text in [&output.stdout, &page, &exported.stdout] {
        assert!(!text.contains("1970-"), "{text}");
    }

    // The user may know the command line.
    let mut other = bare.replace("Initializing", "initializing");
    other.push('\n');
    let file = lab.file("other.log", &other);
    let line = format!("import sysbench {file} --utc-offset=+02:00");
    let when = "--started '2026-11-21 14:45:12'";
    lab.dyno(&format!("{line} {when} --profile reference"))
        .success();
    let result = lab.json("show --json");
    near(&result["started_unix_s"], 1_795_265_112.0, 0.0);
    has(&lab.dyno("list runs").success(), &["2026-11-21 12:45"]);
    for (option, expected) in [
        (
            "--started noon",
            "--started: 'noon' is neither a date with a time",
        ),
        ("--utc-offset here", "--utc-offset: 'here' is not an offset"),
        ("--vmstat-interval 0", "--vmstat-interval must be above 0"),
        ("--iostat-interval x", "--iostat-interval"),
        ("--percentile 101", "--percentile must be above 0"),
        ("--profile odd", "--profile: 'odd' is neither"),
    ] {
        has(
            &lab.dyno(&format!("{line} {option}")).failure(2),
            &[expected],
        );
    }
}

#[test]
fn refused_files_do_not_change_the_results() {
    let lab = Lab::new();
    let garbage = lab.file("garbage.log", "lorem ipsum\n\u{0}dolor\n");
    let empty = lab.file("empty.log", "");
    let database = Database::new(Kind::Mariadb);
    let good = lab.file("good.log", &log_of(&lab, &database, 2));
    let absent = lab.path("absent.log").display().to_string();
    let bad = [
        format!("import sysbench {garbage}"),
        format!("import sysbench {empty}"),
        format!("import sysbench {absent}"),
        format!("import sysbench {good} {garbage}"),
        format!("import sysbench {good} {absent}"),
        format!("import sysbench {good} --vmstat {absent}"),
        format!("import sysbench {good} --vmstat {garbage}"),
        format!("import sysbench {good} --iostat {garbage}"),
    ];
    let refused = |line: &str| {
        let output = lab.dyno(line).failure(1);
        let named = line.split_whitespace().last().unwrap();
        has(&output, &[named.trim_end_matches('/')]);
    };
    for line in &bad {
        refused(line);
        assert!(!lab.path("dyno.db").exists(), "{line}");
    }
    lab.dyno(&format!("import sysbench {good}")).success();
    let before = fs::read(lab.path("dyno.db")).unwrap();
    for line in &bad {
        refused(line);
        assert_eq!(fs::read(lab.path("dyno.db")).unwrap(), before, "{line}");
    }
    assert_eq!(query(&lab.path("dyno.db"), "SELECT id FROM run"), [["1"]]);
    for (line, expected) in [
        ("import", "dyno import needs a TOOL"),
        ("import ycsb x", "'ycsb' is not one of the tools"),
        ("import sysbench", "no file to import"),
    ] {
        has(&lab.dyno(line).failure(2), &[expected]);
    }
}

/// What sysbench prints in a run of this length at this rate, which has two decimals.
fn printed_log(seconds: u32, per_s: f64) -> String {
    let mut log = "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nRunning the test with \
                   following options:\nNumber of threads: 4\nReport intermediate results every 1 \
                   second(s)\n\nThreads started!\n\n"
        .to_owned();
    let mut events = 0.0;
    for second in 1..=seconds {
        // The first quarter is slow. After that, the rate varies slightly around its mean.
        let swing = f64::from(second * 37 % 21) / 100.0 - 0.1;
        let rate = if second <= seconds / 4 {
            per_s / 4.0
        } else {
            per_s + swing
        };
        events += rate;
        log += &format!(
            "[ {second}s ] thds: 4 tps: {rate:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat \
             (ms,95%): 9.50 err/s: 0.00 reconn/s: 0.00\n",
            rate * 20.0,
            rate * 14.0,
            rate * 4.0,
            rate * 2.0
        );
    }
    log += &format!(
        "SQL statistics:\n    transactions:                        {events:.0} ({:.2} per sec.)\n\n\
         General statistics:\n    total time:                          {seconds}.0000s\n    total \
         number of events:              {events:.0}\n\nThreads fairness:\n    events \
         (avg/stddev):           {:.4}/1.00\n    execution time (avg/stddev):   \
         {seconds}.0000/0.00\n",
        events / f64::from(seconds),
        events / 4.0
    );
    log
}

fn vmstat_log(seconds: u32) -> String {
    let mut log =
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
            .to_owned();
    for _ in 0..=seconds {
        log +=
            " 1  0      0 2135977  19700 241029    0    0     8   960  253  389 24  3 70  3  0\n";
    }
    log
}

fn below(lab: &Lab, path: &str, text: &str) {
    let path = lab.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Six logs with their companion files, one of them compressed, and one file that is not a log.
fn folder_of_logs(lab: &Lab) {
    for (fs, rate) in [("ext4", 400.0), ("xfs", 500.0)] {
        for memory in [5_u32, 10, 128] {
            let folder = format!("old/{fs}-off/BP{memory}");
            let log = printed_log(80, rate + f64::from(memory));
            below(lab, &format!("{folder}/res.txt"), &log);
            below(lab, &format!("{folder}/vmstat.txt"), &vmstat_log(80));
            let settings = "[mysqld]\nsync-binlog = 0\nmaster_password = canary-5731\n";
            below(lab, &format!("{folder}/my.cnf"), settings);
        }
    }
    let gzipped = lab.path("old/xfs-off/BP128/res.txt");
    assert!(
        Command::new("gzip")
            .arg(&gzipped)
            .status()
            .unwrap()
            .success()
    );
    below(lab, "old/xfs-off/BP256/res.txt", "lorem ipsum\n");
}

#[test]
fn imports_a_folder_with_its_factors_and_reports_damaged_logs() {
    let lab = Lab::new();
    folder_of_logs(&lab);
    let pattern = "'…/{fs}-{binlog}/BP{memory}/res.txt'";
    let line = format!(
        "import sysbench {} --pattern {pattern}",
        lab.path("old").display()
    );
    let output = lab.dyno(&line).failure(1);
    has(
        &output,
        &[
            "6 of 7 logs imported into",
            "6 new runs",
            "not imported: cannot import",
            "BP256/res.txt: nothing in it looks like",
        ],
    );
    let listed = lab.json("list runs --json --where memory=128,fs=xfs");
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    assert_eq!(listed[0]["factors"]["binlog"], "off");
    assert!(
        listed[0]["name"]
            .as_str()
            .unwrap()
            .contains("xfs-off-BP128-res.txt")
    );
    let table = lab.dyno("table --rows memory --columns fs --figure median_rate --csv");
    let table = table.success().stdout;
    assert_eq!(table.lines().count(), 7, "{table}");
    // The facts come from the files next to each log.
    let facts =
        "SELECT count(*) FROM fact WHERE name = 'server.configured.sync_binlog' AND value = '0'";
    assert_eq!(lab.number(facts), 6.0);
    let secret = "SELECT count(*) FROM fact WHERE value LIKE '%canary%'";
    assert_eq!(lab.number(secret), 0.0);
    let idle = "SELECT count(DISTINCT run_id) FROM series WHERE name = 'host.cpu.idle'";
    assert_eq!(lab.number(idle), 6.0);

    // Importing the folder again adds nothing.
    let again = lab.dyno(&line).failure(1);
    has(&again, &["0 new runs", "6 runs already imported"]);
    lab.dyno(&format!("{line} --replace -q")).failure(1);
    assert_eq!(lab.number("SELECT count(*) FROM run"), 6.0);

    for (options, expected) in [
        ("--pattern 'BP{memory'", "has a { without a }"),
        ("--pattern '{a}/{a}'", "has {a} twice"),
        ("--pattern 'xfs-off/BP{m}/rse.txt'", "the nearest are"),
        ("--vmstat x", "--vmstat applies to one log"),
    ] {
        let line = format!("import sysbench {} {options}", lab.path("old").display());
        has(&lab.dyno(&line).failure(2), &[expected]);
    }
    has(
        &lab.dyno(&format!("{line} --factor fs=zfs")).failure(2),
        &["a factor has one level"],
    );
}

#[test]
fn a_window_has_its_own_figures_and_verdict() {
    let lab = Lab::new();
    let file = lab.file("res.txt", &printed_log(80, 437.67));
    lab.dyno(&format!("import sysbench {file}")).success();
    has(
        &lab.dyno("show --findings").success(),
        &["of the measurement: `dyno show RUN --from TIME`"],
    );
    // The rate is exactly as printed, because its variation averages 0.
    let part = lab.json("show --json --from 20s --to 62s");
    near(&part["measured_s"], 42.0, 1e-9);
    near(&part["rates"]["events_per_s"], 437.67, 1e-6);
    let first = &part["intervals"][20];
    near(&first["at_s"], 1.0, 1e-9);
    let swing = f64::from(21 * 37 % 21) / 100.0 - 0.1;
    near(&first["printed"]["events_per_s"], 437.67 + swing, 0.005);
    let compared = lab.json("compare 1 1 --json --from 20s --to 62s");
    near(&compared[0]["base"]["median_per_s"], 437.67, 1e-9);
    lab.dyno(&format!("import sysbench {file} --warmup 20s --replace"))
        .success();
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1.0);
    let result = lab.json("show --json");
    near(&result["measured_s"], 60.0, 1e-9);
    for (line, expected) in [
        ("show --from 99s", "the measurement is only 60 s long"),
        ("show --from 5s --to 2s", "must end after its start"),
        ("compare 1 1 --to soon", "--to: 'soon' is not a duration"),
    ] {
        has(&lab.dyno(line).failure(2), &[expected]);
    }
}

#[test]
fn a_log_is_imported_only_once() {
    let lab = Lab::new();
    let file = lab.file("res.txt", &printed_log(12, 50.0));
    let vmstat = lab.file("vmstat.txt", &vmstat_log(12));
    lab.dyno(&format!("import sysbench {file}")).success();
    let line = format!("import sysbench {file} --note again");
    has(&lab.dyno(&line).failure(1), &["as run 1", "--replace"]);
    lab.dyno(&format!("{line} --replace")).success();
    assert_eq!(
        query(&lab.path("dyno.db"), "SELECT note FROM run"),
        [["again"]]
    );
    let twice = format!("{line} --vmstat {vmstat} --vmstat {vmstat}");
    has(
        &lab.dyno(&twice).failure(2),
        &["--vmstat is given more than once"],
    );
    let wrong = lab.dyno(&format!("import sysbench {vmstat}")).failure(1);
    has(&wrong, &["it looks like a log of vmstat"]);
}

/// Damaged companion files do not prevent the import of a log.
#[test]
fn imports_a_log_although_files_next_to_it_are_damaged() {
    let lab = Lab::new();
    let damaged = "lorem ipsum\n".to_owned();
    for (folder, rate, beside) in [
        ("sound", 400.0, vmstat_log(80)),
        ("damaged", 401.0, damaged),
    ] {
        below(
            &lab,
            &format!("old/{folder}/res.txt"),
            &printed_log(80, rate),
        );
        below(&lab, &format!("old/{folder}/vmstat.txt"), &beside);
    }
    let line = format!(
        "import sysbench {} --pattern '{{which}}/res.txt'",
        lab.path("old").display()
    );
    let output = lab.dyno(&line).failure(1);
    has(
        &output,
        &[
            "2 of 2 logs imported",
            "without the files next to it: damaged/res.txt",
        ],
    );
    let idle = "SELECT count(DISTINCT run_id) FROM series WHERE name = 'host.cpu.idle'";
    assert_eq!(lab.number(idle), 1.0);
}
