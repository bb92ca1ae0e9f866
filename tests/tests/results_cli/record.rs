//! The record of a run, and how Dyno shows and lists it.

use std::fs;

use dyno_tests::{Kind, kinds};
use serde_json::Value;

use crate::common::{LIMIT, Lab, SHORT, has, prepared, worst};

#[test]
fn a_run_is_shown_as_it_was_first_printed() {
    let lab = Lab::new();
    let databases = kinds().into_iter().map(|kind| prepared(&lab, kind));
    let databases: Vec<_> = databases.collect();
    let mut targets: Vec<String> = databases.iter().map(|(_, target)| target.clone()).collect();
    targets.push(lab.sqlite());
    for (index, target) in targets.iter().enumerate() {
        let id = index + 1;
        let rate = if index == 0 { "--rate 40/s" } else { "" };
        let line = format!(
            "run oltp_point_select {target} {SHORT} -c 2 {rate} -q --json=first.json \
             --note 'as it was'"
        );
        let printed = lab.dyno(&line).success();
        let expected = ["verdict", "note as it was", &format!("run {id} in dyno.db")];
        has(&printed, &expected);
        let shown = lab.dyno("show").success();
        assert_eq!(shown.stdout, printed.stdout, "{target}");
        let first: Value =
            serde_json::from_str(&fs::read_to_string(lab.path("first.json")).unwrap()).unwrap();
        assert_eq!(lab.json(&format!("show {id} --json")), first, "{target}");
        assert_eq!(first["schema_version"], 2, "{target}");
        assert_eq!(first["note"], "as it was", "{target}");
        assert_eq!(first["verdict"], worst(&first), "{first:#}");
        let name = first["recorded"]["name"].as_str().unwrap();
        let by_name = lab.dyno(&format!("show {name}")).success();
        assert_eq!(by_name.stdout, printed.stdout, "{name}");
        has_parts(&lab, id, &first, index < databases.len());
    }
    // Show runs of another file by giving its name.
    fs::copy(lab.path("dyno.db"), lab.path("other.db")).unwrap();
    let here = lab.dyno("show 1").success();
    let there = lab.dyno("show other.db:1").success();
    assert_eq!(here.stdout.replace("dyno.db", "other.db"), there.stdout);
    let findings = lab.dyno("show 1 --findings").success();
    has(&findings, &["Findings", "pass", "not checked", "stalls:"]);
}

/// Checks that the tables of the results file have all parts of a run, with the figures of its
/// summary.
fn has_parts(lab: &Lab, id: usize, result: &Value, server: bool) {
    let one = |sql: &str| lab.number(&sql.replace('?', &id.to_string()));
    assert!(one("SELECT count(*) FROM interval WHERE run_id = ?") >= 2.0);
    let events = result["totals"]["events"].as_f64().unwrap();
    assert_eq!(one("SELECT events FROM run WHERE id = ?"), events);
    // Events that ended in the grace may not be in any interval.
    let late = result["events_in_grace"].as_f64().unwrap();
    let recorded = one("SELECT sum(events) FROM interval WHERE run_id = ?");
    assert!(
        recorded <= events && recorded + late >= events,
        "{recorded} of {events}"
    );
    assert_eq!(one("SELECT count FROM total WHERE run_id = ?"), events);
    assert_eq!(
        one("SELECT events_per_s FROM run WHERE id = ?"),
        result["rates"]["events_per_s"].as_f64().unwrap()
    );
    let count = |table: &str| one(&format!("SELECT count(*) FROM {table} WHERE run_id = ?"));
    let findings = result["findings"].as_array().unwrap().len() as f64;
    assert_eq!(count("finding"), findings);
    assert_eq!(count("session"), 2.0);
    assert!(count("fact") > 20.0, "{}", count("fact"));
    assert!(count("sample") > 100.0, "{}", count("sample"));
    if server {
        assert!(count("setting") > 100.0, "{}", count("setting"));
        let moved = "SELECT count(*) FROM what_did_the_server_do WHERE run_id = ?";
        assert!(one(moved) > 10.0);
    }
}

#[test]
fn lists_the_requested_runs() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let (_database, server) = prepared(&lab, Kind::Postgres);
    for line in [
        format!("run oltp_point_select {target} {SHORT} -q --note 'before the change'"),
        format!("run oltp_point_select {target} {SHORT} -q --note 'after the change'"),
        format!("run oltp_read_only {server} {SHORT} -q --expect fsync=off --force --note refused"),
    ] {
        lab.dyno(&line).success();
    }
    let ids = |filter: &str| -> Vec<u64> {
        let lines = lab.json(&format!("list runs --json {filter}"));
        let lines = lines.as_array().unwrap();
        lines
            .iter()
            .map(|line| line["id"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(ids(""), [1, 2, 3]);
    assert_eq!(ids("--note after"), [2]);
    assert_eq!(ids("--note change"), [1, 2]);
    assert_eq!(ids("--workload read_only"), [3]);
    // `--limit` counts the runs that pass the other filters.
    assert_eq!(ids("--workload POINT --limit 1"), [2]);
    assert_eq!(ids("--state completed"), [1, 2, 3]);
    assert!(ids("--state unfinished").is_empty());
    let all = "--workload point --target small.db --state completed --since 1h --note after";
    assert_eq!(ids(all), [2]);
    assert!(ids(&format!("{all} --verdict refused")).is_empty());
    assert_eq!(ids("--target small.db"), [1, 2]);
    assert_eq!(ids("--target postgres"), [3]);
    assert_eq!(ids("--verdict refused"), [3]);
    assert_eq!(ids("--since 1h"), [1, 2, 3]);
    assert!(ids("--since 1ms").is_empty());
    assert_eq!(ids("--limit 2"), [2, 3]);
    assert_eq!(ids("--note change --limit 1"), [2]);
    let text = lab.dyno("list runs").success();
    has(&text, &["oltp_point_select", "oltp_read_only", "refused"]);
    let none = lab.dyno("list runs --note nothing").success();
    has(&none, &["No run in dyno.db matches."]);
    for (filter, expected) in [
        ("--verdict good", "not one of valid, doubtful, refused"),
        ("--since yesterday", "--since: 'yesterday'"),
        ("--limit some", "--limit"),
        (
            "--state ready",
            "not one of running, unfinished, completed, interrupted, failed, imported",
        ),
    ] {
        has(
            &lab.dyno(&format!("list runs {filter}")).failure(2),
            &[expected],
        );
    }
}

#[test]
fn results_none_records_nothing() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let before = fs::read_dir(lab.path("")).unwrap().count();
    let line = format!("run oltp_point_select {target} {SHORT} -q");
    let by_option = lab.dyno(&format!("{line} --results none")).success();
    let mut command = lab.command(&line);
    let running = dyno_tests::command::Running::start(command.env("DYNO_RESULTS", "none"));
    for output in [by_option, running.finish(LIMIT).success()] {
        has(&output, &["verdict"]);
        assert!(!output.stdout.contains("recorded"), "{}", output.stdout);
    }
    assert_eq!(fs::read_dir(lab.path("")).unwrap().count(), before);
    has(
        &lab.dyno("show --results none").failure(2),
        &["this needs a results file"],
    );
    // The option takes precedence over the environment variable.
    let mut command = lab.command(&format!("{line} --results kept.db"));
    let running = dyno_tests::command::Running::start(command.env("DYNO_RESULTS", "none"));
    has(&running.finish(LIMIT).success(), &["run 1 in kept.db"]);
    assert!(lab.path("kept.db").exists());
}

#[test]
fn reports_missing_runs() {
    let lab = Lab::new();
    has(
        &lab.dyno("show").failure(1),
        &[
            "cannot read the results file dyno.db",
            "there is no such file",
        ],
    );
    assert!(!lab.path("dyno.db").exists());
    let target = lab.sqlite();
    lab.dyno(&format!("run oltp_point_select {target} {SHORT} -q"))
        .success();
    for word in ["7", "nothing", "2026x"] {
        has(
            &lab.dyno(&format!("show {word}")).failure(1),
            &[&format!("there is no run `{word}`"), "`last`, its number"],
        );
    }
    has(
        &lab.dyno("show 1 1 --json").failure(2),
        &["one run at a time"],
    );
}

#[test]
fn two_runs_at_once_share_a_file() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let line = format!("run oltp_point_select {target} -t 3s --warmup 0 --interval 100ms -q");
    let running: Vec<_> = ["one", "two", "three"]
        .iter()
        .map(|note| lab.start(&format!("{line} --note {note} --json")))
        .collect();
    let mut names = Vec::new();
    for running in running {
        let output = running.finish(LIMIT).success();
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(!output.stderr.contains("lost"), "{}", output.stderr);
        let id = result["recorded"]["id"].as_u64().unwrap();
        let intervals = result["intervals"].as_array().unwrap().len() as f64;
        let kept = lab.number(&format!(
            "SELECT count(*) FROM interval WHERE run_id = {id}"
        ));
        assert_eq!(kept, intervals);
        names.push(result["recorded"]["name"].clone());
    }
    let lines = lab.json("list runs --json");
    let mut listed: Vec<Value> = lines
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["name"].clone())
        .collect();
    listed.sort_by_key(Value::to_string);
    names.sort_by_key(Value::to_string);
    assert_eq!(listed, names);
}

#[test]
fn tables_too_large_to_count_are_probed() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let change = |sql: &str| {
        let database = rusqlite::Connection::open(lab.path("small.db")).unwrap();
        database.execute(sql, []).unwrap();
    };
    let run = format!("run oltp_point_select {target} --table-size 1100000 -t 1s --warmup 0 -q");
    let output = lab.dyno(&run).failure(3);
    has(
        &output,
        &["sbtest1 has about 1,000 rows instead of 1,100,000"],
    );
    // The last row exists, but most others do not.
    let sql = "INSERT INTO sbtest1 SELECT 1100000, k, c, pad FROM sbtest1 LIMIT 1";
    change(sql);
    has(&lab.dyno(&run).failure(3), &["sbtest1 has about"]);
    // A table that may be complete causes no warning.
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n
                                       WHERE i < 1099999)
               INSERT INTO sbtest1 SELECT i, i, '', '' FROM n";
    change(sql);
    lab.dyno(&run).success();
}

#[test]
fn the_error_that_ends_a_session_was_not_ignored() {
    let lab = Lab::new();
    let target = "--target sqlite:own.db";
    let script = |text: &str| {
        let text =
            format!("function event()\nlocal c = sysbench.sql.driver():connect()\n{text}\nend");
        lab.file("bad.lua", &text)
    };
    let bad = "c:query('SELECT * FROM nosuch')";
    let line = |script: &str, end: &str| format!("run {script} {target} {end} --warmup 0 --json");
    let output = lab.dyno(&line(&script(bad), "--events 3 -t 0")).failure(1);
    let result: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(result["totals"]["errors"], 0, "{result}");
    // An error that the script catches counts as one that was ignored.
    let passed = script("pcall(c.query, c, 'SELECT * FROM nosuch')\nc:disconnect()");
    let result = lab.json(&line(&passed, "--events 3 -t 0"));
    assert_eq!(result["totals"]["errors"], 3, "{result}");
}

#[test]
fn a_scripts_own_command_is_run_by_its_name() {
    let lab = Lab::new();
    let script = "sysbench.cmdline.options = {n = {'a number', 1}}
        function hello() print('hello ' .. sysbench.opt.n) end
        sysbench.cmdline.commands = {hello = {hello}}
        function event() end";
    let script = lab.file("own.lua", script);
    let target = "--target sqlite:own.db";
    let output = lab
        .dyno(&format!("hello {script} {target} --n 7"))
        .success();
    assert!(
        format!("{}{}", output.stdout, output.stderr).contains("hello 7"),
        "{output:?}"
    );
    let output = lab.dyno(&format!("goodbye {script} {target}")).failure(1);
    assert!(
        output.stderr.contains("the 'goodbye' command"),
        "{output:?}"
    );
    let output = lab.dyno(&format!("rnu {script} {target}")).failure(2);
    assert!(output.stderr.contains("did you mean 'run'"), "{output:?}");
}

#[test]
fn a_broken_limit_has_its_own_exit_status() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let run = format!("run oltp_point_select {target} {SHORT} -q");
    let limits = "--fail-if 'p99 > 1us' --fail-if 'rate < 1' --fail-if 'errors > 0%'";
    let printed = lab
        .dyno(&format!("{run} {limits} --junit limits.xml"))
        .failure(4);
    has(&printed, &["✘ failed p99 > 1us: ", "✔ kept rate < 1/s: "]);
    let written = std::fs::read_to_string(lab.path("limits.xml")).unwrap();
    let reported = lab.dyno("report last --format junit").success().stdout;
    for file in [&written, &reported] {
        for part in [
            ".conditions\" name=\"p99 &gt; 1us\"><failure message=",
            ".conditions\" name=\"rate &lt; 1/s\"><system-out>",
            ".run\" name=\"completed\"/>",
            ".checks\" name=\"stalls\"",
        ] {
            assert!(file.contains(part), "no '{part}' in {file}");
        }
    }
    // They are part of the plan, and `show` prints them again.
    let shown = lab.json("show --json");
    let failed: Vec<bool> = (shown["thresholds"].as_array().unwrap().iter())
        .map(|one| one["failed"].as_bool().unwrap())
        .collect();
    assert_eq!(failed, [true, false, false]);
    let kept = lab.dyno(&format!("{run} --fail-if 'p99.99 > 1h'"));
    // A percentile that has too few samples is omitted.
    let carried = !kept.stdout.contains("too few samples for this percentile");
    assert_eq!(
        kept.status.code(),
        Some(if carried { 0 } else { 4 }),
        "{kept:?}"
    );
    for (limit, why) in [
        ("p99", "a relation is missing"),
        ("p99 > 20", "has no unit"),
        ("rat < 3", "did you mean 'rate'"),
        ("rate < 0.95x", "dyno compare --fail-if"),
        // A typo is reported before the load.
        ("new_order.p99 > 1s", "the run has no operation and no role"),
    ] {
        let printed = lab.dyno(&format!("{run} --fail-if '{limit}'")).failure(2);
        has(&printed, &[why]);
    }
}

#[test]
fn a_phase_whose_end_raises_an_error_is_in_the_json() {
    let lab = Lab::new();
    let script = lab.file(
        "late.lua",
        "function phases() return {{name = 'one', events = 3}, {name = 'two', events = 3}} end\n\
         function event() end\n\
         function done() error('too late') end\n",
    );
    let options = "--target sqlite:late.db -t 0 --warmup 0 --calibrate never -q --json";
    let printed = lab.dyno(&format!("run {script} {options}")).failure(1);
    has(&printed, &["the phase one failed", "too late"]);
    let runs: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs:#}");
    assert_eq!(runs[0]["phase"]["name"], "one");
}

/// An event that began in the warm-up and never ends is not counted, but its errors are.
#[test]
fn errors_of_an_event_that_is_repeated_since_the_warm_up_are_counted() {
    let lab = Lab::new();
    let script = lab.file(
        "stuck.lua",
        "function thread_init()
           con = sysbench.sql.driver():connect()
           con:query('CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY)')
           con:query('INSERT OR IGNORE INTO t VALUES (1)')
         end
         function event()
           con:query(sysbench.tid == 0 and 'INSERT INTO t VALUES (1)' or 'SELECT 1')
         end",
    );
    let line = format!(
        "run {script} --target sqlite:stuck.db -c 2 -t 2s --warmup 1s --grace 100ms \
         --calibrate never --ignore-errors all -q"
    );
    lab.dyno(&line);
    let run = lab.json("show --json");
    let count = |name: &str| run["totals"][name].as_u64().unwrap();
    assert!(count("errors") > 10, "{run:#}");
    assert!(count("retries") > 10, "{run:#}");
    assert_eq!(run["events_unfinished"], 1, "{run:#}");
}
