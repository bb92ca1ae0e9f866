//! Agents together do the same work as one load generator does.

use std::collections::BTreeMap;

use dyno_tests::log::LoggingServer;
use dyno_tests::{Database, Kind};
use serde_json::Value;

use super::common::{Lab, agents_check, file, has, last};

/// Each session runs a fixed number of events with its own random numbers, whatever else runs.
const FIXED: &str = "\
local ffi = require('ffi')
local con
function thread_init()
  con = sysbench.sql.driver():connect()
end
function thread_run(tid)
  for i = 1, 40 do
    ffi.C.sb_event_start(tid)
    con:query(string.format('SELECT /* did */ %d, %d', sysbench.tid,
      sysbench.rand.uniform(1, 1000000000)))
    ffi.C.sb_event_stop(tid)
  end
end
";

/// Runs `work` and returns the statements of the sessions, and how often each was sent.
fn statements(server: &LoggingServer, work: impl FnOnce()) -> BTreeMap<String, u64> {
    let sql = "SELECT argument FROM mysql.general_log WHERE argument LIKE '%/* did */%' AND \
               user_host LIKE 'oracle[%' AND command_type = 'Query'";
    let admin = server.server();
    admin.execute(None, "TRUNCATE mysql.general_log");
    work();
    let mut all = BTreeMap::new();
    for row in admin.query(None, sql) {
        *all.entry(row[0].clone()).or_default() += 1;
    }
    all
}

#[test]
fn four_agents_send_the_same_as_one_load_generator() {
    let lab = Lab::new();
    let server = LoggingServer::start(Kind::Mariadb);
    let script = file(&lab, "fixed.lua", FIXED);
    let line = format!(
        "run {script} --target mysql://oracle@127.0.0.1:{}/test -c 8 -t 60s --warmup 0 --seed 7 \
         --calibrate never --observe off",
        server.server().port
    );
    server
        .server()
        .execute(None, "CREATE DATABASE IF NOT EXISTS test");
    let one = statements(&server, || {
        lab.dyno(&line).success();
    });
    assert_eq!(one.values().sum::<u64>(), 8 * 40);
    for agents in ["local:4", "local:1=3,local:2=1"] {
        let several = statements(&server, || {
            lab.dyno(&format!("{line} --agents {agents}")).success();
        });
        assert_eq!(several, one, "{agents}");
    }
}

#[test]
fn sums_of_agents_match_the_run_and_the_server() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let lab = Lab::new();
        let database = Database::new(kind);
        database.execute("CREATE TABLE done (session INT, number INT)");
        let script = file(
            &lab,
            "insert.lua",
            "local con\n\
             function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event()\n\
             con:query(string.format('INSERT INTO done VALUES (%d, %d)', sysbench.tid,\n\
             sysbench.rand.uniform(1, 1000000)))\nend\n",
        );
        let line = format!(
            "run {script} --target {} -c 6 -t 60s --events 1500 --warmup 0 --seed 3 \
             --calibrate never --agents local:3 --statements --interval 100ms",
            database.url()
        );
        let printed = lab.dyno(&line).success();
        has(&printed, &["agent local1 on", "2 sessions, 500 events"]);
        assert_eq!(database.query_one("SELECT COUNT(*) FROM done"), "1500");
        let sessions = "SELECT COUNT(DISTINCT session) FROM done WHERE session < 6";
        assert_eq!(database.query_one(sessions), "6");
        let run = last(&lab);
        assert_eq!(run["totals"]["events"], 1500);
        assert_eq!(run["totals"]["writes"], 1500);
        let agents = run["agents"].as_array().unwrap();
        let events: Vec<u64> = (agents.iter())
            .map(|agent| agent["events"].as_u64().unwrap())
            .collect();
        assert_eq!(events.iter().sum::<u64>(), 1500, "{events:?}");
        // Events that ended after the last interval of an agent are only in the totals.
        let in_grace = run["events_in_grace"].as_u64().unwrap();
        let intervals = run["intervals"].as_array().unwrap();
        let in_intervals: u64 = (intervals.iter())
            .map(|one| one["counters"]["events"].as_u64().unwrap())
            .sum();
        assert_eq!(in_intervals + in_grace, 1500);
        assert_eq!(in_series(&lab, intervals), in_intervals);
        let of_statements = run["statements"].as_array().unwrap();
        assert_eq!(of_statements.len(), 1, "{of_statements:?}");
        assert_eq!(agents_check(&run).0, "pass", "{run:#}");
    }
}

#[test]
fn shows_the_output_of_scripts() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let text = "function thread_init() print('session ' .. sysbench.tid .. ' is here') end\n\
                function event() dyno.sleep(0.01) end\n";
    let script = file(&lab, "prints.lua", text);
    let line = format!(
        "run {script} --target {} -c 2 -t 1s --warmup 0 --calibrate never --agents local:2",
        database.url()
    );
    let printed = lab.dyno(&line).success();
    for (agent, session) in [("local1", 0), ("local2", 1)] {
        has(
            &printed,
            &[&format!("agent {agent} said: session {session} is here")],
        );
    }
}

/// The events in all agents' series, which have the rates at the ends of intervals.
fn in_series(lab: &Lab, intervals: &[Value]) -> u64 {
    let exported = lab.dyno("export last --format json").success();
    let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
    let of_agents = exported["series"].as_array().unwrap().iter().filter(|one| {
        let name = one["name"].as_str().unwrap();
        name.starts_with("agent[") && name.ends_with("].events")
    });
    let length_s = |at_s: &Value| {
        let ends = |one: &&Value| one["at_s"] == *at_s;
        let interval = intervals.iter().find(ends).unwrap();
        interval["length_s"].as_f64().unwrap()
    };
    let points = of_agents.flat_map(|one| one["points"].as_array().unwrap());
    let events: Vec<f64> = points
        .map(|point| point[1].as_f64().unwrap() * length_s(&point[0]))
        .collect();
    assert!(!events.is_empty());
    events.iter().sum::<f64>().round() as u64
}

#[test]
fn shares_can_follow_measured_capacity() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000 --tables 1", database.url());
    lab.dyno(&format!("prepare oltp_point_select {options}"))
        .success();
    let line = format!("run oltp_point_select {options} -c 16 -t 3s --warmup 0 --agents local:2");
    let printed = lab.dyno(&format!("{line} --agents-by capacity")).success();
    has(&printed, &["The agents measure their capacity"]);
    let run = last(&lab);
    let agents = run["agents"].as_array().unwrap();
    let of = |name: &str| -> Vec<f64> {
        let values = agents.iter().map(|agent| agent[name].as_f64().unwrap());
        values.collect()
    };
    let (fractions, sessions) = (of("fraction"), of("sessions"));
    // Two processes on the same cores have about the same ceiling as one.
    assert!(
        fractions.iter().all(|share| (0.2..0.8).contains(share)),
        "{fractions:?}"
    );
    assert_eq!(sessions.iter().sum::<f64>(), 16.0);
    for (share, sessions) in fractions.iter().zip(&sessions) {
        assert!(
            (share * 16.0 - sessions).abs() <= 1.0,
            "{fractions:?} {sessions:?}"
        );
    }
    // The run's ceiling is the sum of both.
    let findings = run["findings"].as_array().unwrap();
    let ceiling = findings
        .iter()
        .find(|one| one["check"] == "generator-ceiling");
    let ceiling = ceiling.unwrap();
    assert_ne!(ceiling["outcome"], "not_checked", "{ceiling}");
    let wrong = format!("run oltp_point_select {options} --agents local:1=2 --agents-by capacity");
    let wrong = lab.dyno(&wrong);
    has(&wrong.failure(2), &["=W cannot be given as well"]);
}

#[test]
fn latencies_of_agents_are_merged_and_not_averaged() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    // One session in four takes 30 ms, the others 1 ms, so the third quartile is in between.
    let script = file(
        &lab,
        "slow.lua",
        "local con\n\
         function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event()\n\
         con:query(sysbench.tid % 4 == 0 and 'DO SLEEP(0.03)' or 'DO SLEEP(0.001)')\nend\n",
    );
    let line = format!(
        "run {script} --target {} -c 8 -t 6s --warmup 0 --seed 3 --calibrate never \
         --agents local:4 --percentiles 50,90,99",
        database.url()
    );
    lab.dyno(&line).success();
    let run = last(&lab);
    let agents = run["agents"].as_array().unwrap();
    let slow = agents[0]["p50_ms"].as_f64().unwrap();
    let quick = agents[1]["p50_ms"].as_f64().unwrap();
    assert!(slow >= 30.0 && quick < 15.0, "{agents:?}");
    let whole = &run["service"]["percentiles"];
    let at = |index: usize| whole[index]["value_ms"].as_f64().unwrap();
    // Most events are fast; a mean of medians would be at least 8 ms.
    assert!(at(0) < 7.0 && at(2) >= 30.0, "{whole}");
    let (outcome, evidence) = agents_check(&run);
    assert_eq!(outcome, "doubt", "{evidence}");
    assert!(evidence.contains("local1 did"), "{evidence}");
}

#[test]
fn the_ledger_of_agents_matches_the_run() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --scale 1 --tables 1", database.url());
    lab.dyno(&format!("prepare tpcc {options}")).success();
    let line = format!("run tpcc {options} -c 4 -t 5s --warmup 0 --calibrate never");
    lab.dyno(&format!("{line} --agents local:2")).success();
    let run = last(&lab);
    let entries = run["ledger"].as_array().unwrap();
    assert!(!entries.is_empty());
    let findings = run["findings"].as_array().unwrap();
    let ledger = findings
        .iter()
        .find(|one| one["check"] == "consistency")
        .unwrap();
    assert_eq!(ledger["outcome"], "pass", "{ledger:#}");
    // Shared values are refused, except those that describe each agent's own mean.
    let script = file(
        &lab,
        "shares.lua",
        "function thread_init() dyno.shared('next') end function event() end",
    );
    let target = database.url();
    let refused = lab.dyno(&format!(
        "run {script} --target {target} -c 2 -t 1s --calibrate never --agents local:2"
    ));
    has(
        &refused.failure(1),
        &["several load generators cannot share 'next'"],
    );
}
