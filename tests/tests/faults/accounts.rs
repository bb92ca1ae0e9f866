//! Accounts for every session, and limits every wait at the start and end of a run.

use std::fs;
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::Running;
use dyno_tests::private::{at_once, start_private_server};
use dyno_tests::{Database, Kind, Output};
use serde_json::Value;

use crate::common::{LIMIT, command, dyno, has, sound};

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap()
}

/// Checks that the intervals, the grace and the totals agree, and so do states and sessions.
fn adds_up(result: &Value, sessions: u64) {
    let count = |value: &Value| value.as_u64().unwrap();
    let mut events = count(&result["events_in_grace"]);
    for interval in result["intervals"].as_array().unwrap() {
        events += count(&interval["counters"]["events"]);
        let states = interval["states"].as_object().unwrap();
        assert_eq!(
            states.values().map(count).sum::<u64>(),
            sessions,
            "{interval}"
        );
    }
    assert_eq!(events, count(&result["totals"]["events"]), "{result}");
}

fn finding<'a>(result: &'a Value, check: &str) -> &'a Value {
    let mut findings = result["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["check"] == check).unwrap()
}

#[test]
fn a_session_in_an_endless_loop_fails_the_run_and_is_named() {
    let database = Database::new(Kind::Mariadb);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("loop.lua");
    let text = "local from = dyno.now()\n\
                local made = dyno.sum('made')\n\
                function ledger() return {made = {there = 5}} end\n\
                function event(tid)\n\
                  if tid == 0 and dyno.now() > from + 1.5 then while true do end end\n\
                  made:add(1)\n\
                  dyno.sleep(0.005)\n\
                end\n";
    fs::write(&script, text).unwrap();
    let line = format!(
        "run {} --target {} -c 6 --workers 2 -t 8s --warmup 0 --grace 200ms --json",
        script.display(),
        database.url()
    );
    let result = json(&dyno(&line).failure(1));
    let why = result["end"]["why"].as_str().unwrap();
    assert!(
        why.starts_with("worker 0 with 3 sessions has not responded"),
        "{why}"
    );
    adds_up(&result, 6);
    assert_eq!(result["states"]["lost"], 3, "{result}");
    // A short silence counts as work, and a long one as a lost session.
    let intervals = result["intervals"].as_array().unwrap();
    assert_eq!(intervals[3]["states"]["working"], 3 + 3, "{result}");
    let last = intervals.last().unwrap();
    assert_eq!(last["states"]["lost"], 3, "{last}");
    let consistency = finding(&result, "consistency");
    assert_eq!(consistency["outcome"], "not_checked", "{consistency}");
    assert!(result["events_unfinished"].as_u64() >= Some(1), "{result}");
    let idle = finding(&result, "idle-sessions");
    assert_eq!(idle["outcome"], "not_checked", "{idle}");
    assert_eq!(finding(&result, "errors")["outcome"], "refuse", "{result}");
    assert_ne!(finding(&result, "record")["outcome"], "doubt", "{result}");
    // Its CPU time is visible from outside.
    let busy = result["client"]["worker_busy"][0].as_f64().unwrap();
    assert!(busy > 0.0, "{busy}");
}

#[test]
fn a_silent_server_at_the_ledger_does_not_block_the_run() {
    at_once([Kind::Mariadb, Kind::Postgres], |kind| {
        let server = start_private_server(kind);
        let folder = tempfile::tempdir().unwrap();
        let (asked, stands) = (folder.path().join("asked"), folder.path().join("stands"));
        let script = folder.path().join("ledger.lua");
        let text = format!(
            "local calls, con = 0, nil\n\
             local sum = dyno.sum('made')\n\
             function event() dyno.sleep(0.01) end\n\
             function ledger()\n\
               con = con or sysbench.sql.driver():connect()\n\
               calls = calls + 1\n\
               if calls == 2 then\n\
                 os.execute('touch {asked}; until [ -e {stands} ]; do sleep 0.01; done')\n\
               end\n\
               return {{made = {{there = con:query_row('SELECT 1')}}}}\n\
             end\n",
            asked = asked.display(),
            stands = stands.display(),
        );
        fs::write(&script, text).unwrap();
        let database = match kind {
            Kind::Postgres => "postgres",
            _ => "mysql",
        };
        let line = format!(
            "run {} --target {} -c 2 -t 1s --warmup 0 --call-timeout 1s",
            script.display(),
            server.server().url(database)
        );
        let running = Running::start(&mut command(&line));
        let deadline_ns = Clock.now() + LIMIT.as_nanos() as u64;
        while !asked.exists() {
            assert!(Clock.now() < deadline_ns, "{line}");
            thread::sleep(Duration::from_millis(5));
        }
        server.suspend();
        fs::write(&stands, "").unwrap();
        let output = sound(running.finish(LIMIT));
        server.resume();
        has(
            &output,
            &[
                "ledger() failed: it did not end within 1s",
                "it was waiting for the answer of a statement",
            ],
        );
    });
}

#[test]
fn a_locked_file_ends_the_statements_that_wait_for_it_when_the_run_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.db");
    let options = format!("tpcb --target sqlite:{}", file.display());
    dyno(&format!("prepare {options}")).success();
    let line = format!("run {options} -c 4 -t 2s --warmup 0 --grace 200ms --json");
    let mut running = Running::start(&mut command(&line));
    running.measuring();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.busy_timeout(LIMIT).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Release the lock after the run, when the ledger is read.
    thread::sleep(Duration::from_millis(4_500));
    other.execute_batch("ROLLBACK").unwrap();
    let result = json(&sound(running.finish(LIMIT)).success());
    assert_eq!(result["end"]["how"], "completed", "{result}");
    assert_eq!(result["events_unfinished"], 4, "{result}");
    let consistency = finding(&result, "consistency");
    assert_eq!(consistency["outcome"], "pass", "{consistency}");
    adds_up(&result, 4);
}

#[test]
fn a_session_that_cannot_yield_gives_its_connection_up_when_the_run_ends() {
    let mut server = start_private_server(Kind::Mariadb);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("nested.lua");
    let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                function event()\n\
                  local _ = ('x'):gsub('x', function() con:query('SELECT 1') end)\n\
                end\n";
    fs::write(&script, text).unwrap();
    let line = format!(
        "run {} --target {} -c 2 -t 3s --warmup 0 --grace 200ms --json",
        script.display(),
        server.server().url("mysql")
    );
    let mut running = Running::start(&mut command(&line));
    running.measuring();
    server.kill().unwrap();
    let result = json(&sound(running.finish(LIMIT)).failure(1));
    assert_eq!(result["events_unfinished"], 2, "{result}");
    assert_eq!(result["states"]["lost"], 0, "{result}");
}

#[test]
fn a_command_fails_if_its_server_stops() {
    let mut server = start_private_server(Kind::Mariadb);
    let folder = tempfile::tempdir().unwrap();
    let (began, script) = (folder.path().join("began"), folder.path().join("p.lua"));
    let text = format!(
        "function event() end\n\
         function prepare()\n\
           local con = sysbench.sql.driver():connect()\n\
           io.open('{}', 'w'):close()\n\
           while true do con:query('SELECT 1') end\n\
         end\n",
        began.display()
    );
    fs::write(&script, text).unwrap();
    let target = server.server().url("mysql");
    let line = format!("prepare {} --target {target}", script.display());
    let running = Running::start(&mut command(&line));
    let deadline_ns = Clock.now() + LIMIT.as_nanos() as u64;
    while !began.exists() {
        assert!(Clock.now() < deadline_ns, "{line}");
        thread::sleep(Duration::from_millis(5));
    }
    server.kill().unwrap();
    let output = sound(running.finish(LIMIT)).failure(1);
    has(&output, &["errno = 20"]);
}

/// Runs a script, and kills the second connection of each session after a second.
fn with_spares(kind: Kind, event: &str) -> (Value, Output) {
    let database = Database::new(kind);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("spare.lua");
    let (number, kill) = match kind {
        Kind::Postgres => ("pg_backend_pid()", "SELECT pg_terminate_backend(%d)"),
        _ => ("CONNECTION_ID()", "KILL %d"),
    };
    let text = format!(
        "local ended, from = false, dyno.now()\n\
         function thread_init()\n\
           con = sysbench.sql.driver():connect()\n\
           spare = sysbench.sql.driver():connect()\n\
           number = tonumber(spare:query_row('SELECT {number}'))\n\
         end\n\
         function event()\n\
           if not ended and dyno.now() > from + 1.5 then\n\
             ended = true\n\
             con:query(string.format('{kill}', number))\n\
             {event}\n\
           end\n\
           con:query('SELECT 1')\n\
           dyno.sleep(0.01)\n\
         end\n"
    );
    fs::write(&script, text).unwrap();
    let line = format!(
        "run {} --target {} -c 4 -t 4s --warmup 0 --calibrate never --json",
        script.display(),
        database.url()
    );
    let output = dyno(&line);
    (json(&output), output)
}

#[test]
fn a_held_connection_that_ends_unnoticed_fails_the_run() {
    at_once([Kind::Mariadb, Kind::Postgres], |kind| {
        let (result, output) = with_spares(kind, "");
        has(
            &output,
            &["error: 4 of 4 sessions had lost a connection when the run ended"],
        );
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        adds_up(&result, 4);
        assert_eq!(result["totals"]["reconnects"], 0, "{result}");
    });
}

#[test]
fn a_session_that_sleeps_in_an_event_without_a_connection_is_lost() {
    at_once([Kind::Mariadb, Kind::Postgres], |kind| {
        let (result, _) = with_spares(kind, "con:disconnect() dyno.sleep(60)");
        adds_up(&result, 4);
        let intervals = result["intervals"].as_array().unwrap();
        assert_eq!(intervals[3]["states"]["lost"], 4, "{result}");
    });
}
