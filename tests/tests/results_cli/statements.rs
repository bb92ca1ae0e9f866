//! Figures for each statement shape, compared with the server's own counters.

use std::collections::BTreeMap;

use dyno_tests::{Database, Kind, start_private_server_with};
use serde_json::Value;

use crate::common::{Lab, SHORT, has, prepared};

const EVENTS: u64 = 100;

/// How often the server says that it executed each statement shape. The keys are Dyno's shapes
/// without blanks.
fn digests(database: &Database) -> BTreeMap<String, u64> {
    let rows = database.query(&format!(
        "SELECT DIGEST_TEXT, COUNT_STAR \
         FROM performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME = '{}'",
        database.name
    ));
    let shape = |text: &str| {
        let bare: String = text.chars().filter(|c| !" `".contains(*c)).collect();
        // How the server names executions of prepared statements, and DISTINCT.
        let bare = bare.strip_prefix("EXECUTE").unwrap_or(&bare);
        let bare = bare.replace("DISTINCTROW", "DISTINCT");
        bare.replace("sbtest1", "sbtestN").replace("(...)", "(?,…)")
    };
    rows.iter()
        .map(|row| (shape(&row[0]), row[1].parse().unwrap()))
        .collect()
}

fn shapes(run: &Value) -> BTreeMap<String, u64> {
    let shapes = run["statements"].as_array().unwrap().iter();
    shapes
        .map(|one| {
            let shape = one["shape"].as_str().unwrap().replace(' ', "");
            (shape, one["latency"]["count"].as_u64().unwrap())
        })
        .collect()
}

#[test]
fn shapes_of_statements_are_those_that_the_server_counts() {
    let database = Database::new(Kind::Mysql);
    let lab = Lab::new();
    let tables = format!("--target {} --tables 1 --table-size 1000", database.url());
    lab.dyno(&format!("prepare oltp_read_write {tables} -q"))
        .success();
    for mode in ["auto", "disable"] {
        database.execute("TRUNCATE performance_schema.events_statements_summary_by_digest");
        let run = lab.json(&format!(
            "run oltp_read_write {tables} -t 0 --events {EVENTS} --warmup 0 --calibrate never \
             --observe off --ps-mode {mode} --statements --json -q"
        ));
        let (reported, counted) = (shapes(&run), digests(&database));
        assert_eq!(reported.len(), 11, "{reported:#?}");
        for (shape, count) in &reported {
            assert_eq!(
                counted.get(shape),
                Some(count),
                "{mode} {shape}: {counted:#?}"
            );
        }
        assert_eq!(reported["SELECTcFROMsbtestNWHEREid=?"], 10 * EVENTS);
        assert_eq!(server_agrees(&run), reported.len(), "{:#}", run["digests"]);
        let shares = run["statements"].as_array().unwrap().iter();
        let sum: f64 = shares.map(|one| one["time_share"].as_f64().unwrap()).sum();
        assert!((0.5..=1.0).contains(&sum), "{sum}");
    }
    // The record has them, and `show` prints them again.
    let shown = lab.dyno("show last").success();
    has(
        &shown,
        &["SELECT c FROM sbtestN WHERE id=?", "COMMIT", "/s rows p50"],
    );
}

/// The number of shapes for which the server and Dyno have the same count.
fn server_agrees(run: &Value) -> usize {
    let reported = shapes(run);
    let digests = run["digests"]["digests"].as_array().unwrap().iter();
    let agrees = |digest: &&Value| {
        let Some(shape) = digest["shape"].as_str() else {
            return false;
        };
        assert!(digest["total_ms"].as_f64().unwrap() > 0.0, "{digest}");
        digest["count"].as_u64() == reported.get(&shape.replace(' ', "")).copied()
    };
    digests.filter(agrees).count()
}

fn notes(run: &Value) -> String {
    run["digests"]["notes"].to_string()
}

const FEW: &str = "-t 0 --events 100 --warmup 0 --calibrate never --observe off --statements \
                   --json -q";

#[test]
fn digests_of_postgres_match_dynos_counts_or_report_a_gap() {
    let database = Database::new(Kind::Postgres);
    let lab = Lab::new();
    let line = format!(
        "oltp_read_write --target {} --tables 2 --table-size 1000",
        database.url()
    );
    lab.dyno(&format!("prepare {line} -q")).success();
    let run = lab.json(&format!("run {line} {FEW}"));
    assert!(notes(&run).contains("CREATE EXTENSION"), "{}", notes(&run));
    database.execute("CREATE EXTENSION pg_stat_statements");
    let run = lab.json(&format!("run {line} {FEW}"));
    // The server may count only the first one of prepared BEGIN and COMMIT.
    assert!(server_agrees(&run) >= 9, "{:#}", run["digests"]);
    assert_eq!(run["digests"]["source"], "pg_stat_statements");
    let shown = lab.dyno("show last -v").success();
    has(&shown, &["server: 1,000 executions, mean"]);
}

#[test]
fn mariadb_counts_by_its_digests_where_its_performance_schema_is_on() {
    let server = start_private_server_with(Kind::Mariadb, &["--performance-schema=ON"]);
    let lab = Lab::new();
    let admin = server.server();
    admin.execute(None, "CREATE DATABASE small");
    let line = |user: &str| {
        let port = admin.port;
        format!(
            "oltp_read_write --target mysql://{user}@127.0.0.1:{port}/small --tables 2 \
             --table-size 1000 --ps-mode disable"
        )
    };
    lab.dyno(&format!("prepare {} -q", line("root"))).success();
    let run = lab.json(&format!("run {} {FEW}", line("root")));
    assert_eq!(server_agrees(&run), 11, "{:#}", run["digests"]);
    // A user without the permission gets a note about what is missing.
    admin.execute(None, "CREATE USER blind@'%'");
    admin.execute(None, "GRANT ALL ON small.* TO blind@'%'");
    let run = lab.json(&format!("run {} {FEW}", line("blind")));
    assert!(
        notes(&run).contains("SELECT on performance_schema"),
        "{}",
        notes(&run)
    );
    assert!(run["statements"].as_array().unwrap().len() == 11, "{run}");
}

#[test]
fn mariadb_without_performance_schema_names_the_setting_to_enable() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    let run = lab.json(&format!("run oltp_read_only {target} {FEW}"));
    assert!(
        notes(&run).contains("start it with performance_schema=ON"),
        "{}",
        notes(&run)
    );
}

#[test]
fn statements_that_fail_are_counted_by_shape() {
    let lab = Lab::new();
    let script = lab.file(
        "fails.lua",
        "function event()\n\
           pcall(con.query, con, 'SELECT 1 FROM missing' .. sysbench.rand.uniform(1, 9))\n\
           con:query('SELECT 7')\n\
         end\n\
         function thread_init() con = sysbench.sql.driver():connect() end\n",
    );
    let run = lab.json(&format!(
        "run {script} --target sqlite:small.db -t 0 --events 20 --warmup 0 --calibrate never \
         --statements --json -q"
    ));
    let of = |shape: &str| {
        let mut all = run["statements"].as_array().unwrap().iter();
        all.find(|one| one["shape"] == shape).unwrap().clone()
    };
    assert_eq!(of("SELECT ? FROM missingN")["errors"], 20);
    assert_eq!(of("SELECT ?")["latency"]["count"], 20);
    assert_eq!(of("SELECT ?")["errors"], 0);
}

#[test]
fn a_table_cache_that_is_too_small_is_named_with_its_setting() {
    let server = start_private_server_with(Kind::Mariadb, &["--table-open-cache=10"]);
    let lab = Lab::new();
    server.server().execute(None, "CREATE DATABASE small");
    let target = format!("mysql://root@127.0.0.1:{}/small", server.server().port);
    let line = format!("oltp_read_only --target {target} --tables 40 --table-size 10 -c 8");
    lab.dyno(&format!("prepare {line} -q")).success();
    lab.dyno(&format!(
        "run {line} -t 4s --warmup 1s --calibrate never -q"
    ))
    .success();
    let printed = lab.dyno("show --advice").success();
    has(
        &printed,
        &[
            "look at",
            "table_open_cache = 10",
            "Table_open_cache_misses",
        ],
    );
    let counsel = lab.json("show last --advice --json");
    let settings = counsel["settings"].as_array().unwrap();
    let named: Vec<&str> = settings
        .iter()
        .map(|one| one["setting"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["table_open_cache"], "{counsel:#}");
    assert_eq!(settings[0]["value"], "10");
}

#[test]
fn counters_that_did_not_change_are_quiet() {
    for kind in Kind::ALL {
        let lab = Lab::new();
        let (_database, target) = prepared(&lab, kind);
        lab.dyno(&format!("run oltp_read_only {target} {SHORT} -q"))
            .success();
        let printed = lab.dyno("show --advice").success();
        let counter = match kind {
            Kind::Postgres => "database.temp_files",
            _ => "Sort_merge_passes",
        };
        has(&printed, &["Advice from the server's counters"]);
        let quiet = lab.json("show last --advice --json")["quiet"].to_string();
        assert!(quiet.contains(counter), "{kind}: {quiet}");
    }
}

/// The plans in a run by shape: the access method and the rows of each table.
fn plans(run: &Value) -> BTreeMap<String, String> {
    let plans = run["plans"].as_array().unwrap().iter();
    plans
        .map(|plan| {
            let ways = plan["accesses"].as_array().unwrap().iter().map(|way| {
                let word = |key: &str| way[key].as_str().unwrap_or("–").to_owned();
                format!("{} {} by {}", word("how"), word("table"), word("key"))
            });
            let shape = plan["shape"].as_str().unwrap().to_owned();
            (shape, ways.collect::<Vec<_>>().join(", "))
        })
        .collect()
}

#[test]
fn records_each_servers_plans_of_the_statements_that_ran() {
    let lab = Lab::new();
    let databases = [Kind::Mariadb, Kind::Mysql, Kind::Postgres].map(Database::new);
    let targets = databases.iter().map(Database::url);
    let targets: Vec<String> = targets.chain(["sqlite:plans.db".to_owned()]).collect();
    let ways = [
        ("const sbtestN by PRIMARY", "range sbtestN by PRIMARY"),
        ("const sbtestN by PRIMARY", "range sbtestN by PRIMARY"),
        (
            "Scan sbtestN by sbtestN_pkey",
            "Scan sbtestN by sbtestN_pkey",
        ),
        (
            "SEARCH sbtestN by PRIMARY KEY",
            "SEARCH sbtestN by PRIMARY KEY",
        ),
    ];
    for (target, (point, range)) in targets.iter().zip(ways) {
        let line = format!("oltp_read_only --target {target} --tables 1 --table-size 5000");
        lab.dyno(&format!("prepare {line} -q")).success();
        for mode in ["auto", "disable"] {
            let run = lab.json(&format!(
                "run {line} -t 0 --events 50 --warmup 0 --calibrate never --observe off \
                 --explain all --ps-mode {mode} --json -q"
            ));
            let explained = plans(&run);
            assert_eq!(explained.len(), 5, "{target}: {explained:#?}");
            // The scan that PostgreSQL chooses depends on statistics, which it may not have yet.
            let own = &explained["SELECT c FROM sbtestN WHERE id=?"];
            assert!(own.ends_with(point), "{target}: {own}");
            let sum = &explained["SELECT SUM(k) FROM sbtestN WHERE id BETWEEN ? AND ?"];
            assert!(sum.ends_with(range), "{target}: {sum}");
            // Even without --statements they have figures, which are needed to find examples.
            assert!(!run["statements"].as_array().unwrap().is_empty());
        }
    }
    let shown = lab.dyno("show last").success();
    has(&shown, &["plans", "SEARCH sbtestN.PRIMARY KEY"]);
}

#[test]
fn explains_a_named_statement_or_reports_why_not() {
    let lab = Lab::new();
    let line = "oltp_point_select --target sqlite:named.db --tables 1 --table-size 100";
    lab.dyno(&format!("prepare {line} -q")).success();
    let few = "-t 0 --events 5 --warmup 0 --calibrate never --json -q";
    let run = lab
        .command(&format!("run {line} {few}"))
        .args(["--explain", "SELECT pad FROM sbtest1 WHERE c = 'x'"])
        .args(["--explain", "SELECT 1 FROM missing"])
        .output()
        .unwrap();
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    let explained = plans(&run);
    assert_eq!(
        explained["SELECT pad FROM sbtestN WHERE c = ?"],
        "SCAN sbtestN by –"
    );
    let missing = &run["plans"][1];
    let why = missing["why_not"].as_str().unwrap();
    assert!(why.contains("no such table: missing"), "{why}");
    let output = lab
        .dyno(&format!("run {line} --explain everything"))
        .failure(2);
    has(&output, &["--explain 'everything': expected all"]);
    // Text after a semicolon would be executed.
    let several = lab
        .command(&format!("run {line} {few}"))
        .args(["--explain", "SELECT 1; DROP TABLE sbtest1"])
        .output()
        .unwrap();
    assert_eq!(several.status.code(), Some(2));
    let page = lab.dyno("report last -o plans.html").success();
    has(&page, &["plans.html"]);
    let page = std::fs::read_to_string(lab.path("plans.html")).unwrap();
    assert!(page.contains("The server's plans") || page.contains("The server&#39;s plans"));
}
