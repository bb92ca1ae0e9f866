//! A disk that is too full for the record of a run.

use std::process::Command;

use dyno_tests::Output;
use dyno_tests::command::{dyno_path, run};

use crate::common::{LIMIT, Lab, SHORT, has, sound};

/// Runs a shell script in its own mount namespace with a small file system at `disk`, which
/// disappears when the script ends.
fn on_small_disk(lab: &Lab, size: &str, script: &str) -> Output {
    std::fs::create_dir_all(lab.path("disk")).unwrap();
    let script = format!(
        "set -u\nmount -t tmpfs -o size={size} tmpfs disk || exit 77\n\
         dyno() {{ '{}' \"$@\"; }}\n{script}",
        dyno_path().display()
    );
    let mut command = Command::new("unshare");
    // SAFETY: a system call without arguments.
    let flags = match unsafe { libc::geteuid() } {
        0 => "-m",
        _ => "-Urm",
    };
    lab.prepare(command.args([flags, "sh", "-c", &script]));
    sound(run(&mut command, LIMIT))
}

#[test]
fn reports_a_full_disk_before_the_load() {
    let lab = Lab::new();
    let mark = lab.path("ran").display().to_string();
    let text = format!("function event() io.open('{mark}', 'w'):close() end");
    let script = lab.file("mark.lua", &text);
    let output = on_small_disk(
        &lab,
        "64k",
        &format!(
            "cat /dev/zero > disk/fill 2>/dev/null\n\
             dyno run {script} -t 1s --warmup 0 --results disk/dyno.db"
        ),
    );
    has(
        &output.failure(1),
        &[
            "did not start",
            "disk/dyno.db",
            "no space left",
            "free some space",
        ],
    );
    assert!(!lab.path("ran").exists(), "the load began");
}

#[test]
fn a_full_disk_loses_the_record_but_not_the_figures() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let run = format!(
        "run oltp_point_select {target} {SHORT} -t 5s --interval 100ms -q --results disk/dyno.db"
    );
    let output = on_small_disk(
        &lab,
        "4m",
        &format!(
            "(sleep 2; cat /dev/zero > disk/fill 2>/dev/null; echo filled >&2) &\n\
             dyno {run}; status=$?\n\
             wait; rm disk/fill\n\
             echo '== listed'; dyno list runs --json --results disk/dyno.db\n\
             echo '== shown'; dyno show --results disk/dyno.db\n\
             exit $status"
        ),
    )
    .failure(1);
    has(
        &output,
        &[
            "filled",
            "no space left",
            "the record of the run is incomplete",
        ],
    );
    let (printed, rest) = output.stdout.split_once("== listed").unwrap();
    let (listed, shown) = rest.split_once("== shown").unwrap();
    // The run must have continued to its end.
    assert!(printed.contains("measured      5 s"), "{printed}");
    assert!(printed.contains("transactions"), "{printed}");
    // The run is judged, and the verdict mentions the data that is missing.
    let flat = crate::common::flat(printed);
    for text in [
        "verdict ? doubtful",
        "record: The record is incomplete",
        "no space left",
    ] {
        assert!(flat.contains(text), "no '{text}' in {printed}");
    }
    // What was written before is there.
    assert!(listed.contains("\"unfinished\""), "{listed}");
    assert!(shown.contains("oltp_point_select"), "{shown}");
    assert!(shown.contains("transactions"), "{shown}");
}

#[test]
fn a_disk_that_has_space_again_at_the_end_keeps_the_verdict() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let run = format!(
        "run oltp_point_select {target} {SHORT} -t 6s --interval 100ms -q --results disk/dyno.db"
    );
    let output = on_small_disk(
        &lab,
        "4m",
        &format!(
            "(sleep 2; cat /dev/zero > disk/fill 2>/dev/null; sleep 1.5; rm disk/fill) &\n\
             dyno {run} || exit $?\n\
             wait\n\
             dyno show --findings --results disk/dyno.db"
        ),
    )
    .success();
    has(
        &output,
        &[
            "measured 6 s",
            "Everything recorded is in the results file.",
        ],
    );
    assert!(!output.stdout.contains("incomplete"), "{}", output.stdout);
    assert_eq!(
        output.stdout.matches("  verdict").count(),
        2,
        "{}",
        output.stdout
    );
}
