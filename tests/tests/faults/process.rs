//! Dyno and its environment: signals, descriptors, pipes, files.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::{Running, dyno_path, run};
use dyno_tests::{Database, Kind, Output, kinds};

use crate::common::{LIMIT, command, dyno, has, sound};

/// Runs Dyno in a shell, after some setup.
fn shell(before: &str, line: &str) -> Output {
    let dyno = dyno_path();
    let script = format!("{before}; exec {} {line}", dyno.display());
    sound(run(Command::new("bash").args(["-c", &script]), LIMIT))
}

/// Interrupts a run this many times, half a second apart.
fn interrupted(line: &str, times: u32, first_after: Duration) -> Output {
    let running = Running::start(&mut command(line));
    thread::sleep(first_after);
    for _ in 0..times {
        running.signal(libc::SIGINT);
        thread::sleep(Duration::from_millis(500));
    }
    sound(running.finish(Duration::from_secs(20)))
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_interrupted_run_reports_its_measurements() {
    for kind in kinds() {
        let database = Database::new(kind);
        let table = format!("--target {} --table-size 100", database.url());
        dyno(&format!("prepare oltp_point_select {table}")).success();
        let line = format!("run oltp_point_select {table} -c 4 -t 600s --warmup 0 --json");
        let mut running = Running::start(&mut command(&line));
        running.measuring();
        running.signal(libc::SIGINT);
        let output = sound(running.finish(LIMIT)).failure(130);
        let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(result["end"]["how"], "interrupted", "{result}");
        assert!(
            result["totals"]["events"].as_u64().unwrap() > 100,
            "{result}"
        );
    }
}

#[test]
fn a_long_sysbench_command_stops_on_an_interrupt_and_reports_it() {
    let database = Database::new(Kind::Mariadb);
    let (port, name) = (database.server.port, &database.name);
    let target =
        format!("--mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=root --mysql-db={name}");
    let load = "--tables=2 --table-size=20000000 --threads=2";
    let line = format!("sysbench oltp_point_select {target} {load} prepare");
    let output = interrupted(&line, 1, SECOND).failure(1);
    has(&output, &["stopped by the user"]);
    dyno(&format!(
        "sysbench oltp_point_select {target} --table-size=100 cleanup"
    ));
    dyno(&format!(
        "sysbench oltp_point_select {target} --table-size=100 prepare"
    ))
    .success();
    let line = format!("sysbench oltp_point_select {target} --table-size=100 --time=60 run");
    let output = interrupted(&line, 1, 2 * SECOND).success();
    has(&output, &["dyno: interrupted after", "of 1m"]);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("init.lua");
    fs::write(&script, "function init() while true do end end").unwrap();
    let running = Running::start(&mut command(&format!("sysbench {} run", script.display())));
    thread::sleep(SECOND);
    running.signal(libc::SIGTERM);
    thread::sleep(2 * SECOND);
    running.signal(libc::SIGTERM);
    let output = sound(running.finish(Duration::from_secs(20)));
    has(&output, &["a second Ctrl-C (or SIGTERM) ends at once"]);
}

#[test]
fn a_temporary_database_is_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let slow = folder.path().join("slow.lua");
    fs::write(&slow, "function event() while true do end end").unwrap();
    let slow = slow.display();
    let lines = [
        ("run oltp_read_write -t 1s --warmup 0".to_owned(), 0),
        ("run oltp_read_write -t 600s".to_owned(), 1),
        (
            "run oltp_read_write -t 600s --table-size 90000000".to_owned(),
            1,
        ),
        (format!("run {slow} -t 600s --warmup 0 --grace 1s"), 1),
    ];
    // Once as soon as there is a run, and once while it is loading or running.
    let lines = lines.iter().flat_map(|line| [(line, 0), (line, 1000)]);
    for ((line, signals), ms) in lines {
        let home = tempfile::tempdir().unwrap();
        let mut command = command(line);
        let running = Running::start(command.env("TMPDIR", home.path()));
        if *signals > 0 {
            let deadline_ns = Clock.now() + 60_000_000_000;
            while fs::read_dir(home.path()).unwrap().count() != 1 {
                assert!(Clock.now() < deadline_ns, "{line}");
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(Duration::from_millis(ms));
            running.signal(libc::SIGINT);
        }
        sound(running.finish(LIMIT));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "{line}");
    }
}

#[test]
fn a_second_interrupt_ends_a_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::new(Kind::Postgres);
    let script = folder.path().join("slow.lua");
    let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                function event() con:query('SELECT pg_sleep(500)') end\n";
    fs::write(&script, text).unwrap();
    let target = database.url();
    let line = format!(
        "run {} --target {target} -t 600s --warmup 0 --grace 500s -c 2",
        script.display()
    );
    let output = interrupted(&line, 2, SECOND);
    assert!(matches!(output.status.code(), Some(1 | 130)), "{output:?}");
    has(&output, &["unfinished", "interrupted"]);
    // A script that blocks its worker cannot be asked to stop; the process must end anyway.
    let block = folder.path().join("block.lua");
    fs::write(&block, "function event() while true do end end").unwrap();
    let line = format!("run {} -t 600s --warmup 0 --grace 500s", block.display());
    let output = interrupted(&line, 2, SECOND);
    assert!(matches!(output.status.code(), Some(1 | 130)), "{output:?}");
}

#[test]
fn an_interrupted_load_fails_and_can_be_cleaned_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("t.db").display());
    let databases = Kind::ALL.map(Database::new);
    let targets = databases.iter().map(Database::url).chain([file]);
    for target in targets {
        for sessions in [1, 3] {
            let options = format!("--target {target} --tables 2 -c {sessions}");
            let line = format!("prepare oltp_point_select {options} --table-size 50000000");
            let output = interrupted(&line, 1, SECOND).failure(1);
            has(&output, &["stopped by the user"]);
            dyno(&format!("cleanup oltp_point_select {options}")).success();
        }
    }
}

#[test]
fn refuses_a_run_with_too_few_descriptors() {
    let database = Database::new(Kind::Mariadb);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("empty.lua");
    fs::write(&script, "function event() end").unwrap();
    let script = script.display();
    let target = format!("--target {}", database.url());
    for target in [target.as_str(), ""] {
        let line = format!("run {script} {target} -c 90 -t 1s --warmup 0");
        let output = shell("ulimit -n 100", &line).failure(1);
        has(
            &output,
            &[
                "file descriptors are needed",
                "may open only 100",
                "ulimit -Hn",
            ],
        );
        shell("ulimit -Sn 100", &line).success();
    }
}

#[test]
fn observes_many_processes_with_few_descriptors() {
    let database = Database::new(Kind::Postgres);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("empty.lua");
    let connects = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                    function event() con:query('SELECT 1') end";
    fs::write(&script, connects).unwrap();
    let line = format!(
        "run {} --target {} -c 60 --workers 2 --rate 20 -t 5s --warmup 0 --calibrate never \
         --results none --json",
        script.display(),
        database.url()
    );
    let output = shell("ulimit -Sn 140; ulimit -Hn 140", &line).success();
    let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let costs = result["costs"].as_array().unwrap();
    let cpu = costs.iter().find(|cost| cost["name"] == "server CPU");
    let us = cpu.and_then(|cpu| cpu["value"].as_f64());
    assert!(us.is_some_and(|us| us > 0.0), "{cpu:?}");
}

#[test]
fn survives_closed_and_full_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("empty.lua");
    fs::write(&script, "function event() end").unwrap();
    let run = format!("run {} --events 1000 --warmup 0", script.display());
    let sysbench = format!("sysbench {} --events=1000 run", script.display());
    for line in [run.as_str(), &sysbench, "list", "run --help"] {
        for redirection in [
            "exec >&-",
            "exec 2>&-",
            "exec >/dev/full",
            "exec 2>/dev/full",
        ] {
            shell(redirection, line);
        }
        let mut child = command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
    }
}

#[test]
fn checks_that_the_output_file_is_writable_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("mark.lua");
    let mark = folder.path().join("ran");
    let text = format!(
        "function event() io.open('{}', 'w'):close() end",
        mark.display()
    );
    fs::write(&script, text).unwrap();
    let line = format!("run {} --events 1 --warmup 0", script.display());
    let nowhere = folder.path().join("none/x.json");
    let output = dyno(&format!("{line} --json={}", nowhere.display())).failure(1);
    let expected = format!("cannot write {}: No such file", nowhere.display());
    has(&output, &[&expected]);
    assert!(!mark.exists());
    let file = folder.path().join("result.json");
    fs::write(&file, "x".repeat(100_000)).unwrap();
    dyno(&format!("{line} --json={}", file.display())).success();
    assert!(mark.exists());
    let written = fs::read_to_string(&file).unwrap();
    serde_json::from_str::<serde_json::Value>(&written).unwrap();
}

#[test]
fn reports_a_full_disk_for_the_temporary_database() {
    let output = shell("export TMPDIR=/no/such/folder", "run oltp_point_select").failure(1);
    has(
        &output,
        &["cannot create a folder for a temporary database"],
    );
    // A file size limit stands in for a full disk, which a test may not be able to create.
    let home = tempfile::tempdir().unwrap();
    let before = format!(
        "export TMPDIR={}; trap '' XFSZ; ulimit -f 512",
        home.path().display()
    );
    let output = shell(&before, "run oltp_point_select --table-size 100000").failure(1);
    has(
        &output,
        &["cannot prepare the temporary database", "TMPDIR"],
    );
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn refuses_arguments_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let mut command = command("run oltp_point_select");
    command.arg(std::ffi::OsStr::from_bytes(b"--x=\xff"));
    let output = sound(run(&mut command, LIMIT)).failure(2);
    has(&output, &["argument 5 is not UTF-8"]);
}

#[test]
fn prints_colours_only_to_terminals() {
    // The program `script` gives the run a terminal.
    let line = format!(
        "{} run oltp_point_select -t 1s --warmup 0 -q",
        dyno_path().display()
    );
    let on_terminal = |variable: Option<&str>| {
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm");
        command.env_remove("NO_COLOR");
        if let Some(value) = variable {
            command.env("NO_COLOR", value);
        }
        sound(run(&mut command, LIMIT)).success().stdout
    };
    assert!(on_terminal(None).contains("\x1b["));
    assert!(!on_terminal(Some("1")).contains("\x1b["));
    let piped = dyno("run oltp_point_select -t 1s --warmup 0").success();
    assert!(!piped.stdout.contains('\x1b') && !piped.stderr.contains('\x1b'));
}
