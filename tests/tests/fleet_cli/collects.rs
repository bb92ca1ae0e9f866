//! Runs that are put together from the records of their agents.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dyno_tests::{Database, Kind};

use super::common::{LIMIT, Lab, agents_check, children, file, has, last, signal, wait_for_end};

/// Each event inserts a row.
const INSERT: &str = "\
local con
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query(string.format('INSERT INTO done VALUES (%d, %d)', sysbench.tid,
    sysbench.rand.uniform(1, 1000000)))
end
";

/// A database with a table, a script that fills it, and the options of its runs.
fn prepared(lab: &Lab) -> (Database, String) {
    let database = Database::new(Kind::Mariadb);
    database.execute("CREATE TABLE done (session INT, number INT)");
    let script = file(lab, "insert.lua", INSERT);
    let line = format!(
        "run {script} --target {} -c 4 --warmup 0 --calibrate never --rate 200/s --orphan 3s",
        database.url()
    );
    (database, line)
}

/// The files of the agents in a test.
fn agent_files(lab: &Lab) -> Vec<PathBuf> {
    let entries = fs::read_dir(lab.path("state/dyno/agents")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn agents_files_match_the_record() {
    let lab = Lab::new();
    let (database, line) = prepared(&lab);
    lab.dyno(&format!("{line} -t 60s --events 600 --agents local:3"))
        .success();
    let printed = lab.dyno("fleet collect last").success();
    has(
        &printed,
        &["the files of 3 agents match the record: 600 events"],
    );
    let same = lab.dyno("fleet collect dyno.db:last --results other.db");
    has(&same.success(), &["match the record"]);
    assert!(!lab.path("other.db").exists());
    // A collection fails if the record has changed, even in a single interval.
    let other_longest = "UPDATE interval SET max_ms = -max_ms WHERE number = 0";
    assert_eq!(rusqlite(&lab, other_longest), 1);
    let printed = lab.dyno("fleet collect last").failure(1);
    has(
        &printed,
        &["interval 1 has other counts or latencies in the files"],
    );
    rusqlite(&lab, other_longest);
    let changed = rusqlite(
        &lab,
        "UPDATE run SET summary = replace(summary, ':600,', ':601,')",
    );
    assert!(changed > 0);
    let printed = lab.dyno("fleet collect last").failure(1);
    has(&printed, &["601 in the record, 600 in the files"]);
    // Without the record, the agents' files still contain the whole run.
    let files = agent_files(&lab);
    let names: Vec<String> = files.iter().map(|one| one.display().to_string()).collect();
    let other = "--results other.db";
    lab.dyno(&format!("fleet collect {} {other}", names.join(" ")))
        .success();
    let shown = lab.dyno(&format!("show last --json {other}")).success();
    let run: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(run["totals"]["events"], 600);
    assert_eq!(run["agents"].as_array().unwrap().len(), 3);
    assert_eq!(run["end"]["how"], "completed");
    assert_eq!(database.query_one("SELECT COUNT(*) FROM done"), "600");
    // A missing file is an error.
    let printed = lab.dyno(&format!(
        "fleet collect {} {} --results third.db",
        names[0], names[2]
    ));
    let printed = printed.failure(1);
    has(&printed, &["the file of load generator 2 of 3 is missing"]);
}

#[test]
fn collects_a_run_whose_coordinator_was_killed() {
    let lab = Lab::new();
    let (database, line) = prepared(&lab);
    let mut run = lab.start(&format!("{line} -t 60s --agents local:2"));
    run.measuring();
    let agents = children(run.pid(), "--stdin-key");
    let early = lab.dyno("fleet collect last").failure(1);
    has(&early, &["is still running"]);
    std::thread::sleep(Duration::from_secs(3));
    run.signal(libc::SIGKILL);
    let _ = run.finish(LIMIT);
    let early = lab.dyno("fleet collect last").failure(1);
    has(&early, &["its agent is still writing it"]);
    wait_for_end(&agents, Duration::from_secs(30));
    let printed = lab.dyno("fleet collect last").failure(1);
    has(&printed, &["lost contact with the coordinator"]);
    // A run cannot be collected twice, whichever way it is named.
    for run in ["last", "1", "2"] {
        let printed = lab.dyno(&format!("fleet collect {run}")).success();
        let already = ["already collected as run 2", "the files add up to it"];
        has(&printed, &already);
    }
    let run = last(&lab);
    // Exactly the rows that the agents wrote.
    let rows: u64 = database
        .query_one("SELECT COUNT(*) FROM done")
        .parse()
        .unwrap();
    assert_eq!(run["totals"]["events"].as_u64().unwrap(), rows);
    assert_eq!(run["verdict"], "refused");
    let (outcome, evidence) = agents_check(&run);
    assert_eq!(outcome, "refuse", "{evidence}");
    let intervals = run["intervals"].as_array().unwrap();
    assert!(intervals.len() >= 3, "{}", intervals.len());
    // What the host was observed to do until then is there as well.
    let facts = lab.dyno("show last --facts").success();
    has(&facts, &["collected: 2 of 2 agents' files", "kernel:"]);
    // If the files have more events than were collected, the collection is not complete.
    let fewer = format!(
        "UPDATE run SET summary = replace(summary, ':{rows},', ':{},') WHERE id = 2",
        rows - 1
    );
    assert_eq!(rusqlite(&lab, &fewer), 1);
    let printed = lab.dyno("fleet collect last").failure(1);
    let differs = format!("{} in the record, {rows} in the files", rows - 1);
    has(&printed, &[&differs, "`dyno rm 2` and collect again"]);
}

#[test]
fn a_killed_agent_leaves_its_measurements() {
    let lab = Lab::new();
    let (_database, line) = prepared(&lab);
    let mut run = lab.start(&format!("{line} -t 60s --agents local:2"));
    run.measuring();
    let agents = children(run.pid(), "--stdin-key");
    std::thread::sleep(Duration::from_secs(3));
    signal(agents[0], libc::SIGKILL);
    run.finish(LIMIT).failure(1);
    let files = agent_files(&lab);
    let names: Vec<String> = files.iter().map(|one| one.display().to_string()).collect();
    let other = "--results other.db";
    let printed = lab.dyno(&format!("fleet collect {} {other}", names.join(" ")));
    has(
        &printed.failure(1),
        &["the file of local1 ends before its load did"],
    );
    for wrong in [
        ("fleet collect", "needs a run"),
        (
            "fleet collect nothing.dyno-agent",
            "there is no file nothing.dyno-agent",
        ),
        ("fleet collect insert.lua", "it is not an agent's file"),
    ] {
        let printed = lab.dyno(wrong.0);
        assert!(!printed.status.success(), "{}", wrong.0);
        has(&printed, &[wrong.1]);
    }
}

/// Executes a statement on the results file and returns how many rows it changed.
fn rusqlite(lab: &Lab, sql: &str) -> usize {
    let file = rusqlite::Connection::open(lab.path("dyno.db")).unwrap();
    file.execute(sql, []).unwrap()
}
