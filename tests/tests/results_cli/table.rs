//! Tables of runs by their factors.

use serde_json::Value;

use crate::common::{Lab, SHORT, has};

#[test]
fn a_table_matches_the_comparison_of_its_runs() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for (sessions, memory) in [(1, "10M"), (1, "9M"), (2, "10M"), (1, "10M")] {
        let run = format!("run oltp_point_select {target} {SHORT} -q -c {sessions}");
        lab.dyno(&format!("{run} --factor memory={memory} --factor fs=xfs"))
            .success();
    }
    let table = "table --rows memory --columns sessions --figure rate";
    let parsed = lab.json(&format!("{table} --json"));
    assert_eq!(parsed["rows"]["levels"], serde_json::json!(["9M", "10M"]));
    assert_eq!(parsed["base"], "sessions=1");
    let cell = |row: &str, column: &str| -> Value {
        let cells = parsed["cells"].as_array().unwrap();
        let found = cells
            .iter()
            .find(|c| c["row"] == row && c["column"] == column);
        found.cloned().unwrap_or_default()
    };
    assert_eq!(cell("10M", "1")["runs"], serde_json::json!([1, 4]));
    assert_eq!(cell("9M", "2"), Value::Null, "no run was like that");
    // Compare both sides with `compare`.
    let compared = lab.json("compare 1,4 3 --json");
    let metrics = compared[0]["metrics"].as_array().unwrap();
    let events = metrics.iter().find(|one| one["name"] == "events").unwrap();
    assert_eq!(cell("10M", "1")["value"], events["base"]);
    for field in ["ratio", "low", "high"] {
        assert_eq!(cell("10M", "2")[field], events[field], "{field}");
    }
    let text = lab.dyno(table).success();
    has(
        &text,
        &["ratios to sessions=1", "sessions 2", "no run", "✔ valid"],
    );
    let csv = lab
        .dyno(&format!("{table} --csv --where fs=xfs,memory=9M"))
        .success();
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "memory,sessions,runs,figure,unit,value,ratio,low,high,stalled_s,verdict,includes"
    );
    assert!(lines[1].starts_with("9M,1,2,rate,per second,"), "{lines:?}");
    assert_eq!(lines.len(), 2);
    // A margin adds a column.
    let csv = lab
        .dyno(&format!("{table} --csv --equivalent 2%"))
        .success();
    let head = csv.stdout.lines().next().unwrap();
    assert!(head.ends_with(",verdict,includes,equivalence"), "{head}");
    // Such short runs have no interval, and a single one has no spread.
    let answers = |line: &str| line.ends_with(",undecided");
    assert!(csv.stdout.lines().any(answers), "{}", csv.stdout);
    has(&csv, &["Undecided: ", "one run a side has no spread"]);
    let text = lab.dyno(&format!("{table} --equivalent 2%")).success();
    has(&text, &["undecided", "one run a side has no spread"]);
    let listed = lab.json("list runs --where memory=10M,sessions=1 --json");
    let ids: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["id"])
        .collect();
    assert_eq!(ids, [1, 4]);
    has(&lab.dyno("list runs").success(), &["fs=xfs"]);
    // The factors that vary are intended differences, and name the sides.
    let compared = lab.dyno("compare 1 2").success();
    has(&compared, &["memory 9M", "factor memory: 10M → 9M"]);
}

#[test]
fn reports_unknown_names_and_lists_known_ones() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let run = format!("run oltp_point_select {target} {SHORT} -q");
    lab.dyno(&format!("{run} --factor memory=1G")).success();
    for (line, why) in [
        ("table", "needs --rows"),
        (
            "table --rows memroy",
            "no run has a factor 'memroy'; there are memory, server,",
        ),
        ("table --rows memory --figure speed", "no run has 'speed'"),
        (
            "table --rows memory --base 2G",
            "memory has no level '2G'; it has 1G",
        ),
        (
            "table --rows memory --where memory=2G",
            "--where: memory has no level '2G'; it has 1G",
        ),
        (
            "table --rows memory --csv --json",
            "--csv and --json cannot be used together",
        ),
        ("list runs --where memory", "'memory' has no level"),
    ] {
        has(&lab.dyno(line).failure(2), &[why]);
    }
    let twice = lab.dyno(&format!("{run} --factor m=1 --factor m=2"));
    has(&twice.failure(2), &["m has two levels, 1 and 2"]);
}

#[test]
fn a_log_with_missing_seconds_has_its_printed_rate() {
    let lab = Lab::new();
    // The log has lines for 9 of its 12 s.
    let log = include_str!("../../../crates/dyno-import/fixtures/stopped.out");
    let log = lab.file("stopped.out", log);
    lab.dyno(&format!("import sysbench {log} --factor memory=1G -q"))
        .success();
    let parsed = lab.json("table --rows memory --json");
    let value = parsed["cells"][0]["value"].as_f64().unwrap();
    assert!(
        (value - 827.23).abs() < 0.05,
        "{value}: sysbench says 827.23"
    );
}

#[test]
fn reports_cells_of_unlike_runs_in_text_json_and_page() {
    let lab = Lab::new();
    let run = format!("run oltp_point_select {} {SHORT} -q", lab.sqlite());
    for binlog in ["on", "off"] {
        lab.dyno(&format!(
            "{run} --factor memory=1G --factor binlog={binlog}"
        ))
        .success();
    }
    let expected = "Runs of one cell differ in binlog (off, on) and count as repetitions";
    has(&lab.dyno("table --rows memory").success(), &[expected]);
    let json = lab.json("table --rows memory --json");
    assert!(
        json["pooled"].as_str().unwrap().starts_with(expected),
        "{json}"
    );
    lab.dyno("report --rows memory -o page.html").success();
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains(expected));
    let one = lab.json("table --rows memory --where binlog=on --json");
    assert!(one["pooled"].is_null(), "{one}");
}

#[test]
fn names_runs_that_cannot_be_compared() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let run = format!("run oltp_point_select {target} {SHORT} -q");
    for memory in ["1G", "2G"] {
        lab.dyno(&format!("{run} --factor memory={memory}"))
            .success();
    }
    lab.dyno(&format!("{run} --factor memory=1G --rate 50/s"))
        .success();
    let script = lab.file("broken.lua", "function event() error('broken') end");
    lab.dyno(&format!("run {script} {SHORT} -q --factor memory=1G"))
        .failure(1);
    let table = lab.dyno("table --rows memory").success();
    let no_event = "left out: run 4: no event ended";
    assert!(!table.stderr.contains("run 4"), "{}", table.stderr);
    let named = lab.dyno("table 1 2 3 4 --rows memory").success();
    assert!(named.stderr.contains(no_event), "{}", named.stderr);
    let other = "left out: run 3: an open loop is not compared with closed ones";
    assert!(table.stderr.contains(other), "{}", table.stderr);
    let cells = |line: &str| -> Vec<Value> {
        let table = lab.json(line);
        let cells = table["cells"].as_array().unwrap().iter();
        cells.map(|cell| cell["runs"].clone()).collect()
    };
    assert_eq!(
        cells("table --rows memory --json"),
        [serde_json::json!([1]), serde_json::json!([2])]
    );
    assert_eq!(
        cells("table 2 last --rows memory --json"),
        [serde_json::json!([2])]
    );
}

#[test]
fn advice_about_runs_that_cannot_be_compared_gives_a_table() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for line in [
        "oltp_point_select --factor memory=1G",
        "oltp_point_select --factor memory=2G",
        "oltp_point_select --factor memory=2G --point-selects 2",
        "oltp_point_select --factor memory=1G -c 2",
        "oltp_read_only --factor memory=1G",
    ] {
        lab.dyno(&format!("run {line} {target} {SHORT} -q"))
            .success();
    }
    for (asked, advice) in [
        ("table 1 2 3 --rows memory", "table 1 2 --rows memory"),
        (
            "table 1 2 4 --rows memory",
            "--rows memory --columns sessions",
        ),
        (
            "table 1 2 5 --rows memory",
            "--rows workload --columns memory",
        ),
        (
            "table 1 2 5 --rows sessions --columns workload",
            "--rows workload --columns sessions",
        ),
        (
            "table 1 2 3 --rows memory --columns sessions",
            "table 1 2 --rows memory --columns sessions",
        ),
    ] {
        let refused = lab.dyno(asked).failure(1);
        has(&refused, &[advice]);
        let followed = match advice.strip_prefix("--rows") {
            None => advice.to_owned(),
            Some(_) => format!("{} {advice}", asked.split(" --rows").next().unwrap()),
        };
        lab.dyno(&followed).success();
    }
    // Workloads are not compared, but their figures are listed.
    let workloads = lab.json("table 1 5 --rows workload --json");
    let joined = lab.json("table 1,5 --rows workload --json");
    assert_eq!(joined, workloads);
    let levels = serde_json::json!(["oltp_point_select", "oltp_read_only"]);
    assert_eq!(workloads["rows"]["levels"], levels);
    assert_eq!(workloads["base"], Value::Null);
    let cells = workloads["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["value"].is_number()));
    assert!(cells.iter().all(|cell| cell["ratio"].is_null()));
    let refused = lab.dyno("table 1 5 --rows workload --base oltp_point_select");
    has(&refused.failure(1), &["--rows workload --columns memory"]);
}

#[test]
fn where_takes_a_server_as_the_run_list_prints_it() {
    let lab = Lab::new();
    let target = lab.sqlite();
    lab.dyno(&format!("run oltp_point_select {target} {SHORT} -q"))
        .success();
    let listed = lab.json("list runs --json");
    let version = listed[0]["server_version"].as_str().unwrap().to_owned();
    let (short, _) = version.rsplit_once('.').unwrap();
    let server = format!("SQLite {version}");
    let runs = |server: &str| lab.dyno(&format!("list runs --where 'server={server}'"));
    for server in [server.clone(), server.to_lowercase(), "sqlite".to_owned()] {
        has(&runs(&server).success(), &["oltp_point_select"]);
    }
    has(
        &runs(&format!("SQLite {short}")).failure(2),
        &["has no level", &server],
    );
}

#[test]
fn a_setting_of_the_server_can_be_the_rows() {
    let lab = Lab::new();
    lab.sqlite();
    for synchronous in ["full", "off"] {
        let target = format!("sqlite:small.db?synchronous={synchronous}");
        let run = format!("run oltp_point_select --target {target} --table-size 1000 {SHORT} -q");
        lab.dyno(&run).success();
    }
    let names = lab.sql("SELECT DISTINCT name FROM setting WHERE name = 'synchronous'");
    assert_eq!(names.len(), 1, "{names:?}");
    let table = lab.json("table --rows synchronous --json");
    assert_eq!(
        table["rows"]["levels"].as_array().unwrap().len(),
        2,
        "{table}"
    );
}

#[test]
fn logs_that_do_not_name_workload_and_server_have_no_level() {
    let lab = Lab::new();
    for (name, events, words) in [
        ("a.out", 600, ""),
        ("b.out", 900, "--workload orders --server 'MariaDB 10.11.6'"),
    ] {
        let text = format!(
            "sysbench 1.0.20\n\nRunning the test with following options:\nNumber of threads: 4\n\n\
             SQL statistics:\n    transactions:       {events} ({}.00 per sec.)\n\n\
             General statistics:\n    total time:         60.0000s\n    \
             total number of events:    {events}\n",
            events / 60
        );
        let file = lab.file(name, &text);
        lab.dyno(&format!("import sysbench {file} {words} -q"))
            .success();
    }
    for (factor, level) in [("workload", "orders"), ("server", "MariaDB 10.11.6")] {
        let left_out = format!("left out: run 1: the {factor} is unknown; import the log again");
        let table = lab.dyno(&format!("table --rows {factor}")).success();
        has(&table, &[level, &left_out]);
        let table = lab.json(&format!("table --rows {factor} --json"));
        assert_eq!(table["rows"]["levels"], serde_json::json!([level]));
        let unknown = format!("no run's {factor} is known; to name the workload");
        has(
            &lab.dyno(&format!("table 1 --rows {factor}")).failure(2),
            &[&unknown],
        );
    }
}
