//! Results files that cannot be used: nothing is overwritten, and no load starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use dyno_tests::command::{dyno_path, run};
use rusqlite::Connection;

use crate::common::{LIMIT, Lab, SHORT, has, sound};

/// A folder with a recorded run, and a script that creates a file when it runs.
fn recorded_run_and_script() -> (Lab, String) {
    let lab = Lab::new();
    let target = lab.sqlite();
    lab.dyno(&format!("run oltp_point_select {target} {SHORT} -q"))
        .success();
    let mark = lab.path("ran").display().to_string();
    let text = format!("function event() io.open('{mark}', 'w'):close() end");
    let script = lab.file("mark.lua", &text);
    (lab, script)
}

#[test]
fn leaves_other_files_unchanged() {
    let (lab, script) = recorded_run_and_script();
    let whole = fs::read(lab.path("dyno.db")).unwrap();
    fs::write(lab.path("short.db"), &whole[..5000]).unwrap();
    fs::write(lab.path("stump.db"), &whole[..50]).unwrap();
    let mut torn = whole.clone();
    for page in torn.chunks_mut(4096).skip(1) {
        page.fill(0xa5);
    }
    fs::write(lab.path("torn.db"), torn).unwrap();
    lab.file("text.db", "These are my notes.\n");
    fs::create_dir(lab.path("folder.db")).unwrap();
    Connection::open(lab.path("foreign.db"))
        .and_then(|other| other.execute_batch("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)"))
        .unwrap();
    fs::write(lab.path("newer.db"), &whole).unwrap();
    Connection::open(lab.path("newer.db"))
        .and_then(|newer| newer.pragma_update(None, "user_version", 99))
        .unwrap();
    for (name, texts) in [
        ("short.db", &["it is damaged", ".recover"][..]),
        ("stump.db", &["it is damaged", "it has 50 bytes"]),
        ("torn.db", &["it is damaged"]),
        (
            "text.db",
            &["it is not an SQLite database", "name another file"],
        ),
        ("folder.db", &["it is a directory", "name a file within it"]),
        ("foreign.db", &["an SQLite database of another program"]),
        (
            "newer.db",
            &["its schema has version 99", "use the newer program"],
        ),
        ("no/such/dyno.db", &["no"]),
    ] {
        let before = fs::read(lab.path(name)).ok();
        let refused = lab
            .dyno(&format!("run {script} -t 1s --warmup 0 --results {name}"))
            .failure(1);
        has(&refused, texts);
        has(
            &refused,
            &["the run did not start because it cannot be recorded", name],
        );
        for line in ["show", "list runs", "compare 1 1", "waive 1 stalls=why"] {
            let output = lab.dyno(&format!("{line} --results {name}")).failure(1);
            has(&output, &[name]);
        }
        assert_eq!(fs::read(lab.path(name)).ok(), before, "{name}");
        assert!(!lab.path("ran").exists(), "{name}: the load began");
    }
}

#[test]
fn a_run_that_cannot_be_recorded_does_not_start() {
    let (lab, script) = recorded_run_and_script();
    lab.file("text.db", "These are my notes.\n");
    let gone = lab.dyno("run oltp_point_select -t 1s --results no/such/dyno.db");
    has(
        &gone.failure(1),
        &["there is no folder no/such", "create it first"],
    );
    // A run without a target creates tables, but must not do so here.
    let refused = lab
        .dyno("run oltp_point_select -t 1s --results text.db")
        .failure(1);
    assert!(
        !format!("{refused:?}").contains("Creating table"),
        "{refused:?}"
    );
    // An empty file can be taken over.
    lab.file("empty.db", "");
    let show = lab.dyno("show --results empty.db").failure(1);
    has(&show, &["the file is empty"]);
    lab.dyno(&format!(
        "run {script} -t 1s --warmup 0 --results empty.db -q"
    ))
    .success();
    lab.dyno("show --results empty.db").success();
}

/// Runs `dyno` as a user who owns none of these files.
fn as_nobody(lab: &Lab, dyno: &Path, line: &str) -> dyno_tests::Output {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    lab.prepare(command.arg(dyno).args(line.split_whitespace()));
    sound(run(&mut command, LIMIT))
}

#[test]
fn reads_a_read_only_file() {
    // SAFETY: a system call without arguments.
    assert_eq!(unsafe { libc::geteuid() }, 0, "these tests run as root");
    let (lab, script) = recorded_run_and_script();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    // Other users may not be able to enter the folders above the program.
    let dyno = lab.path("dyno");
    fs::copy(dyno_path(), &dyno).unwrap();
    open(&dyno, 0o755).unwrap();
    open(&lab.path(""), 0o755).unwrap();
    open(&lab.path("dyno.db"), 0o644).unwrap();
    for left in ["dyno.db-wal", "dyno.db-shm"] {
        // Readers may have left these behind.
        let _ = fs::remove_file(lab.path(left));
    }
    let before = fs::read(lab.path("dyno.db")).unwrap();
    let owners = lab.dyno("show").success();
    for left in ["dyno.db-wal", "dyno.db-shm"] {
        let _ = fs::remove_file(lab.path(left));
    }
    let shown = as_nobody(&lab, &dyno, "show").success();
    assert_eq!(shown.stdout, owners.stdout);
    has(
        &as_nobody(&lab, &dyno, "list runs").success(),
        &["oltp_point_select"],
    );
    as_nobody(&lab, &dyno, "compare 1 1").success();
    let line = format!("run {script} -t 1s --warmup 0");
    for line in [line.as_str(), "waive 1 other-processes=why"] {
        let refused = as_nobody(&lab, &dyno, line).failure(1);
        has(&refused, &["dyno.db", "check the permissions"]);
    }
    let other = format!("{line} --results new.db");
    let refused = as_nobody(&lab, &dyno, &other).failure(1);
    has(
        &refused,
        &["did not start", "new.db", "check the permissions"],
    );
    open(&lab.path("dyno.db"), 0o600).unwrap();
    let shut = as_nobody(&lab, &dyno, "show").failure(1);
    has(&shut, &["dyno.db", "check the permissions"]);
    assert_eq!(fs::read(lab.path("dyno.db")).unwrap(), before);
    assert!(!lab.path("ran").exists(), "the load began");
    let empty = lab.file("empty.lua", "function event() end");
    let line = format!("run {empty} -t 1s --warmup 0 --results none -q");
    as_nobody(&lab, &dyno, &line).success();
}
