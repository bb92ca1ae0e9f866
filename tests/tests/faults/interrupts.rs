//! Ctrl-C: what it does, how soon, and what Dyno prints.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::{Running, dyno_path};
use dyno_tests::{Database, Kind, Output};

use crate::common::{LIMIT, command, has, sound};

fn sysbench(database: &Database, line: &str) -> Command {
    let mut command = Command::new(dyno_path());
    command.arg("sysbench").args(database.sysbench_options());
    command.args(line.split_whitespace());
    command
}

fn await_file(path: &Path) {
    let deadline_ns = Clock.now() + 60_000_000_000;
    while !path.exists() {
        assert!(Clock.now() < deadline_ns, "{} is not made", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Interrupts a command once. It must end long before its work would.
fn interrupted(running: Running) -> Output {
    running.signal(libc::SIGINT);
    sound(running.finish(Duration::from_secs(20)))
}

#[test]
fn the_first_interrupt_ends_a_load_of_dyno_sysbench() {
    // Two threads load in parallel, or the main state loads alone.
    for (kind, threads) in [
        (Kind::Mariadb, 2),
        (Kind::Mysql, 2),
        (Kind::Postgres, 2),
        (Kind::Postgres, 1),
    ] {
        let database = Database::new(kind);
        let line =
            format!("oltp_read_write --tables=4 --table-size=50000000 --threads={threads} prepare");
        let running = Running::start(&mut sysbench(&database, &line));
        thread::sleep(Duration::from_secs(2));
        let output = interrupted(running).failure(1);
        has(&output, &["stopped by the user"]);
    }
}

#[test]
fn the_first_interrupt_ends_a_script_command_that_waits() {
    for (kind, sleep) in [
        (Kind::Mysql, "SELECT SLEEP(300)"),
        (Kind::Postgres, "SELECT pg_sleep(300)"),
    ] {
        let database = Database::new(kind);
        let folder = tempfile::tempdir().unwrap();
        let (script, mark) = (folder.path().join("wait.lua"), folder.path().join("mark"));
        let text = format!(
            "function wait()\n\
               local con = sysbench.sql.driver():connect()\n\
               io.open('{}', 'w'):close()\n\
               con:query('{sleep}')\n\
             end\n\
             sysbench.cmdline.commands = {{wait = {{wait, \
             sysbench.cmdline.PARALLEL_COMMAND}}}}\n",
            mark.display()
        );
        fs::write(&script, text).unwrap();
        let line = format!("{} --threads=2 wait", script.display());
        let running = Running::start(&mut sysbench(&database, &line));
        await_file(&mark);
        let output = interrupted(running).failure(1);
        has(&output, &["stopped by the user"]);
    }
}

#[test]
fn a_command_that_computes_in_all_sessions_was_stopped_and_did_not_fail() {
    let folder = tempfile::tempdir().unwrap();
    let (script, mark) = (folder.path().join("loop.lua"), folder.path().join("mark"));
    let text = format!(
        "function compute() io.open('{}', 'w'):close() while true do end end\n\
         sysbench.cmdline.commands = {{compute = {{compute, \
         sysbench.cmdline.PARALLEL_COMMAND}}}}\n",
        mark.display()
    );
    fs::write(&script, text).unwrap();
    let line = format!("{} --threads=2 compute", script.display());
    let running = Running::start(&mut sysbench(&Database::new(Kind::Mariadb), &line));
    await_file(&mark);
    let output = interrupted(running).failure(1);
    has(&output, &["stopped by the user"]);
    assert!(!output.stdout.contains("responded"), "{output:?}");
}

#[test]
fn acknowledges_the_first_interrupt_while_a_script_computes() {
    let folder = tempfile::tempdir().unwrap();
    let (script, mark) = (folder.path().join("loop.lua"), folder.path().join("mark"));
    let text = format!(
        "local function compute() io.open('{}', 'w'):close() while true do end end\n\
         init, prepare = compute, compute\n\
         function event() end\n",
        mark.display()
    );
    fs::write(&script, text).unwrap();
    let (database, path) = (Database::new(Kind::Mariadb), script.display());
    let target = database.url();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        for mut command in [
            command(&format!("run {path} -t 1s --warmup 0")),
            command(&format!("prepare {path} --target {target}")),
            sysbench(&database, &format!("{path} --time=1 run")),
            sysbench(&database, &format!("{path} prepare")),
        ] {
            let _ = fs::remove_file(&mark);
            let mut running = Running::start(&mut command);
            await_file(&mark);
            running.signal(signal);
            running.prints("Stopping; a second Ctrl-C (or SIGTERM) ends at once.");
            running.signal(signal);
            let output = sound(running.finish(LIMIT));
            assert!(!output.status.success(), "{output:?}");
        }
    }
}

#[test]
fn an_interrupted_sysbench_run_reports_the_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("event.lua");
    fs::write(&script, "function event() end\n").unwrap();
    let database = Database::new(Kind::Mariadb);
    for (limit, ending) in [("600", " of 10m"), ("0", "s")] {
        let line = format!(
            "{} --db-driver={} --time={limit} run",
            script.display(),
            Kind::Mariadb.driver()
        );
        let running = Running::start(&mut sysbench(&database, &line));
        thread::sleep(Duration::from_secs(2));
        let output = interrupted(running).failure(0);
        let line = output
            .stderr
            .lines()
            .find(|line| line.starts_with("dyno: interrupted after "));
        let line = line.unwrap_or_else(|| panic!("{output:?}"));
        assert!(line.ends_with(ending), "{line}");
        assert!(!output.stdout.contains("interrupted"), "{output:?}");
        has(&output, &["total number of events:"]);
    }
    let line = format!("{} --time=1 run", script.display());
    let whole = sound(Running::start(&mut sysbench(&database, &line)).finish(LIMIT)).success();
    assert!(!whole.stderr.contains("interrupted"), "{whole:?}");
}

/// There is no grace, because no work has started.
#[test]
fn the_first_interrupt_ends_the_wait_for_a_silent_server() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = format!("mysql://x@127.0.0.1:{port}/b?connect_timeout=60");
    for line in ["run", "prepare", "saturate", "cleanup"] {
        let arguments = [line, "oltp_point_select", "--target", &target];
        let mut dyno = Command::new(dyno_path());
        dyno.args(arguments).args(["--results", "none"]);
        if matches!(line, "prepare" | "cleanup") {
            dyno = Command::new(dyno_path());
            dyno.args(arguments);
        }
        let running = Running::start(&mut dyno);
        thread::sleep(Duration::from_secs(1));
        let output = interrupted(running).failure(1);
        has(&output, &["interrupted before"]);
    }
}

#[test]
fn a_closed_terminal_ends_a_run_unless_sighup_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("event.lua");
    fs::write(&script, "function event() dyno.sleep(0.01) end\n").unwrap();
    let run = |ignored: bool, time: &str| {
        let line = format!("run {} -t {time} --warmup 0 -q", script.display());
        let mut command = command(&line);
        if ignored {
            // SAFETY: a system call without pointers, between fork and exec.
            unsafe {
                command.pre_exec(|| {
                    libc::signal(libc::SIGHUP, libc::SIG_IGN);
                    Ok(())
                });
            }
        }
        let running = Running::start(&mut command);
        thread::sleep(Duration::from_secs(2));
        running.signal(libc::SIGHUP);
        running
    };
    let ended = sound(run(false, "60s").finish(Duration::from_secs(20)));
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    has(&ended, &["interrupted", "transactions"]);
    let went_on = sound(run(true, "4s").finish(LIMIT)).success();
    has(&went_on, &["transactions"]);
}
