//! Calls that never return: functions of scripts at the start and end of a run, statements of an
//! embedded database, servers that stay down.

use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::Kind;
use dyno_tests::Output;
use dyno_tests::command::{Running, dyno_path};
use dyno_tests::private::{at_once, start_private_server};
use serde_json::Value;

use crate::common::{LIMIT, command, dyno, has, sound};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Reads the run in a results file as JSON.
fn recorded(results: &Path) -> Value {
    let line = format!("show last --results {} --json", results.display());
    json(&dyno(&line).success().stdout)
}

fn wait_for(path: &Path) {
    let deadline_ns = Clock.now() + LIMIT.as_nanos() as u64;
    while !path.exists() {
        assert!(Clock.now() < deadline_ns, "{} never came", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn abandons_functions_that_never_return_and_keeps_the_run() {
    let folder = tempfile::tempdir().unwrap();
    // The function that loops, and whether a run exists by then. `ledger` runs before and after the
    // load.
    let cases = [
        ("", "while true do end\n", false),
        ("init", "function init() while true do end end\n", false),
        ("ledger", "function ledger() while true do end end\n", false),
        (
            "ledger",
            "local calls = 0\n\
             function ledger()\n\
               calls = calls + 1\n\
               while calls > 1 do end\n\
               return {made = 0}\n\
             end\n",
            true,
        ),
        (
            "figures",
            "function figures() while true do end end\n",
            true,
        ),
        ("done", "function done() while true do end end\n", true),
    ];
    for (number, (function, text, runs)) in cases.into_iter().enumerate() {
        let script = folder.path().join(format!("{number}.lua"));
        let results = folder.path().join(format!("{number}.db"));
        let text = format!("dyno.sum('made')\nfunction event() dyno.sleep(0.005) end\n{text}");
        fs::write(&script, text).unwrap();
        let line = format!(
            "run {} --target sqlite:{} -t 1s --warmup 0 --call-timeout 1s --results {}",
            script.display(),
            folder.path().join("t.db").display(),
            results.display()
        );
        let output = dyno(&line).failure(1);
        let what = match function {
            "" => "the top level".to_owned(),
            function => format!("{function}()"),
        };
        let why = format!("{what} of {} did not return within 1s", script.display());
        has(&output, &[&why]);
        if runs {
            let run = recorded(&results);
            assert_eq!(run["end"]["how"], "completed", "{function}: {run}");
            assert!(run["totals"]["events"].as_u64() > Some(50), "{run}");
        }
    }
}

#[test]
fn an_interrupt_ends_a_report_function_that_never_returns() {
    let folder = tempfile::tempdir().unwrap();
    let (script, called) = (folder.path().join("r.lua"), folder.path().join("called"));
    let results = folder.path().join("r.db");
    let text = format!(
        "function event() dyno.sleep(0.005) end\n\
         sysbench.hooks.report_cumulative = function()\n\
           io.open('{}', 'w'):close()\n\
           while true do end\n\
         end\n",
        called.display()
    );
    fs::write(&script, text).unwrap();
    let line = format!("sysbench {} --time=1 --threads=2 run", script.display());
    let running = Running::start(command(&line).env("DYNO_RESULTS", &results));
    wait_for(&called);
    running.signal(libc::SIGINT);
    thread::sleep(Duration::from_millis(100));
    running.signal(libc::SIGINT);
    let output = sound(running.finish(LIMIT)).failure(1);
    has(
        &output,
        &["report_cumulative' function failed", "stopped by the user"],
    );
    let run = recorded(&results);
    assert_eq!(run["end"]["how"], "completed", "{run}");
    assert!(run["totals"]["events"].as_u64() > Some(50), "{run}");
}

/// A thread that reads from a pipe or writes to one holds the lock of the stream, which must not
/// block the rest of the process.
#[test]
fn scripts_that_wait_for_a_pipe_do_not_block_the_exit() {
    // The command must not keep the stderr open that the test reads.
    const SLEEP: &str = "exec sleep 100 2> /dev/null";
    let folder = tempfile::tempdir().unwrap();
    let (pipe, called) = (folder.path().join("pipe"), folder.path().join("called"));
    let path = CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the path is a C string that lives during the call.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    let mark = format!("io.open('{}', 'w'):close()", called.display());
    let read = format!("{mark} io.popen('{SLEEP}'):read('*a')");
    let write =
        format!("{mark} local p = io.popen('{SLEEP} > /dev/null', 'w'); p:write(('x'):rep(1e6))");
    let stdin = format!("{mark} io.read('*a')");
    let quick = "function event() dyno.sleep(0.005) end";
    let cases = [
        (format!("function event() {read} end"), "not responded"),
        (format!("function event() {write} end"), "not responded"),
        (format!("function event() {stdin} end"), "not responded"),
        (format!("{quick} function init() {read} end"), "init() of"),
        (format!("{quick} function done() {read} end"), "done() of"),
    ];
    for (number, (text, expected)) in cases.into_iter().enumerate() {
        let script = folder.path().join(format!("{number}.lua"));
        fs::write(&script, &text).unwrap();
        let line = |time: &str, grace: &str| {
            format!(
                "exec 3<>{}; exec {} run {} -t {time} --warmup 0 --call-timeout {grace} \
                 --grace {grace} <&3",
                pipe.display(),
                dyno_path().display(),
                script.display(),
            )
        };
        let shell = |line: &str| Running::start(Command::new("sh").args(["-c", line]));
        let output = shell(&line("1s", "1s")).finish(LIMIT).failure(1);
        has(&output, &[expected]);
        fs::remove_file(&called).unwrap();
        let time = if text.contains("done()") {
            "1s"
        } else {
            "500s"
        };
        let running = shell(&line(time, "500s"));
        wait_for(&called);
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(500));
            running.signal(libc::SIGTERM);
        }
        // The second signal works wherever the script is waiting.
        let output = running.finish(LIMIT);
        assert!(matches!(output.status.code(), Some(1 | 130)), "{output:?}");
    }
    let hook = folder.path().join("hook.lua");
    let text = format!("{quick}\nfunction sysbench.hooks.report_cumulative() {read} end");
    fs::write(&hook, text).unwrap();
    let line = format!("sysbench {} --time=1 run", hook.display());
    fs::remove_file(&called).unwrap();
    let running = Running::start(&mut command(&line));
    wait_for(&called);
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(500));
        running.signal(libc::SIGTERM);
    }
    let output = running.finish(LIMIT);
    assert!(matches!(output.status.code(), Some(1 | 130)), "{output:?}");
}

/// A query that takes SQLite about half an hour.
const COUNTS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
                      WHERE i < 10000000000) SELECT count(*) FROM n";

#[test]
fn a_statement_that_computes_ends_with_the_runs_grace() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("count.lua");
    // An error that the script catches must not turn the statement into an event.
    let text = format!(
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event(tid)\n\
           if tid > 0 then dyno.sleep(0.01) return end\n\
           pcall(con.query, con, '{COUNTS}')\n\
         end\n"
    );
    fs::write(&script, text).unwrap();
    let target = format!("sqlite:{}", folder.path().join("t.db").display());
    let line = format!(
        "run {} --target {target} -c 2 -t 1s --warmup 0 --grace 200ms --json",
        script.display()
    );
    let ended = |output: Output, how: &str| {
        let run = json(&output.stdout);
        assert_eq!(run["end"]["how"], how, "{run}");
        assert_eq!(run["events_unfinished"], 1, "{run}");
        assert_eq!(run["states"]["lost"], 0, "{run}");
        // The database did not fail.
        assert_eq!(run["errors"], json("{}"), "{run}");
        assert!(run["totals"]["events"].as_u64() > Some(10), "{run}");
    };
    ended(dyno(&line).success(), "completed");
    // The same must hold if the user ends the run.
    let mut running = Running::start(&mut command(&line.replace("-t 1s", "-t 600s")));
    running.measuring();
    thread::sleep(Duration::from_millis(500));
    running.signal(libc::SIGINT);
    ended(sound(running.finish(LIMIT)).failure(130), "interrupted");
}

#[test]
fn a_statement_that_computes_before_a_run_ends_with_the_call_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("count.lua");
    let text = format!(
        "function init() sysbench.sql.driver():connect():query('{COUNTS}') end\n\
         function event() dyno.sleep(0.01) end\n\
         function prepare() init() end\n"
    );
    fs::write(&script, text).unwrap();
    let database = folder.path().join("t.db");
    // An empty database: a run does not create it for a script with `prepare`.
    fs::write(&database, "").unwrap();
    let target = format!("sqlite:{}", database.display());
    let line = format!(
        "run {} --target {target} --call-timeout 1s",
        script.display()
    );
    let output = dyno(&line).failure(1);
    has(
        &output,
        &["init() failed: it did not end within 1s: it was in a statement"],
    );
    // A command has no time limit, so the user ends it.
    let line = format!(
        "prepare {} --target {target} --call-timeout 1s",
        script.display()
    );
    let running = Running::start(&mut command(&line));
    thread::sleep(Duration::from_secs(2));
    running.signal(libc::SIGINT);
    let output = sound(running.finish(LIMIT)).failure(1);
    has(&output, &["stopped by the user"]);
}

#[test]
fn a_statement_still_running_after_a_run_fails_it() {
    let folder = tempfile::tempdir().unwrap();
    let query = format!("sysbench.sql.driver():connect():query('{COUNTS}')");
    for (function, text) in [
        ("figures()", format!("function figures() {query} end")),
        (
            "ledger()",
            format!(
                "local calls = 0\n\
                 function ledger()\n\
                   calls = calls + 1\n\
                   if calls > 1 then {query} end\n\
                   return {{made = 0}}\n\
                 end"
            ),
        ),
        ("interrupted", format!("function thread_done() {query} end")),
    ] {
        let script = folder.path().join("after.lua");
        let text = format!("dyno.sum('made')\nfunction event() dyno.sleep(0.01) end\n{text}\n");
        fs::write(&script, text).unwrap();
        let line = format!(
            "run {} --target sqlite:{} -t 1s --warmup 0 --call-timeout 1s --grace 200ms",
            script.display(),
            folder.path().join("t.db").display()
        );
        has(&dyno(&line).failure(1), &[function]);
    }
}

#[test]
fn abandons_a_thread_done_that_never_returns_without_a_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("loop.lua");
    let text = "function event() end\nfunction thread_done() while true do end end\n";
    fs::write(&script, text).unwrap();
    let results = folder.path().join("r.db");
    let line = format!(
        "run {} --target sqlite:{} -c 3 --workers 3 --events 300 -t 0 --warmup 0 --grace 200ms \
         --results {}",
        script.display(),
        folder.path().join("t.db").display(),
        results.display()
    );
    let output = dyno(&line).failure(1);
    has(&output, &["has not responded"]);
    let run = recorded(&results);
    assert_eq!(run["totals"]["events"], 300, "{run}");
}

#[test]
fn ctrl_c_reaches_a_run_whose_script_runs_commands() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("commands.lua");
    // The status of a command is what C's system() returns.
    let text = "function event() assert(os.execute('sleep 0.2; exit 3') == 3 * 256) end\n\
                function init() assert(os.execute() ~= 0) end\n";
    fs::write(&script, text).unwrap();
    let line = format!(
        "run {} --target sqlite:{} -t 60s --warmup 0 --json",
        script.display(),
        folder.path().join("t.db").display()
    );
    let mut running = Running::start(&mut command(&line));
    running.measuring();
    thread::sleep(Duration::from_millis(1100));
    running.signal(libc::SIGINT);
    let began_ns = Clock.now();
    let run = json(&sound(running.finish(LIMIT)).failure(130).stdout);
    assert!(Clock.now() - began_ns < 20_000_000_000, "{run}");
    assert_eq!(run["end"]["how"], "interrupted", "{run}");
    assert!(run["totals"]["events"].as_u64() >= Some(3), "{run}");
}

#[test]
fn thread_done_has_its_own_time_limit() {
    let servers = [(Kind::Mariadb, "SLEEP"), (Kind::Postgres, "pg_sleep")];
    at_once(servers, |(kind, sleep)| {
        let server = start_private_server(kind);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("done.lua");
        let database = match kind {
            Kind::Postgres => "postgres",
            _ => "mysql",
        };
        let line = format!(
            "run {} --target {} -c 2 -t 1s --warmup 0 --grace 200ms --json",
            script.display(),
            server.server().url(database)
        );
        let run = |seconds: u32| {
            let text = format!(
                "function thread_init() con = sysbench.sql.driver():connect() end\n\
                 function event() con:query('SELECT 1') dyno.sleep(0.005) end\n\
                 function thread_done() con:query('SELECT {sleep}({seconds})') end\n"
            );
            fs::write(&script, text).unwrap();
            dyno(&line)
        };
        // Longer than the grace, and longer than the time after which a worker counts as
        // unresponsive.
        let result = json(&run(3).success().stdout);
        assert_eq!(result["end"]["how"], "completed", "{result}");
        assert_eq!(result["states"]["lost"], 0, "{result}");
        let output = run(60).failure(1);
        let expected = "thread_done() did not end within 10s after the grace: \
                    it was waiting for the answer of a statement";
        has(&output, &[expected]);
        let result = json(&output.stdout);
        assert_eq!(result["states"]["lost"], 2, "{result}");
        assert!(result["totals"]["events"].as_u64() > Some(50), "{result}");
    });
}

#[test]
fn sessions_without_a_connection_at_the_end_fail_the_run() {
    at_once([Kind::Mariadb, Kind::Postgres], |kind| {
        let mut server = start_private_server(kind);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("reads.lua");
        let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                    function event() con:query('SELECT 1') dyno.sleep(0.005) end\n";
        fs::write(&script, text).unwrap();
        let database = match kind {
            Kind::Postgres => "postgres",
            _ => "mysql",
        };
        let line = format!(
            "run {} --target {} -c 3 -t 3s --warmup 0 --grace 200ms --json",
            script.display(),
            server.server().url(database)
        );
        let mut running = Running::start(&mut command(&line));
        running.measuring();
        server.kill().unwrap();
        let output = sound(running.finish(LIMIT)).failure(1);
        has(
            &output,
            &["error: 3 of 3 sessions had lost a connection when the run ended"],
        );
        let result = json(&output.stdout);
        assert_eq!(result["end"]["how"], "completed", "{result}");
        assert_eq!(result["states"]["connecting"], 3, "{result}");
        // Without a server there is no load, and the result must say so.
        let findings = result["findings"].as_array().unwrap();
        let idle = findings
            .iter()
            .find(|finding| finding["check"] == "idle-sessions");
        assert_eq!(idle.unwrap()["outcome"], "refuse", "{idle:?}");
    });
}
