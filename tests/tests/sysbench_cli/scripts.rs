//! How scripts are found, and which parts of them run.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{Output, dyno_path, run};

use super::{SCRIPTS, ours, script, theirs};

const LIMIT: Duration = Duration::from_secs(60);

/// Runs a line of shell in which `$DYNO` is the program under test.
fn shell(line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("DYNO", dyno_path());
    run(&mut command, LIMIT)
}

#[test]
fn a_script_may_come_from_standard_input() {
    for line in ["$DYNO sysbench", "$DYNO sysbench -"] {
        let output = shell(&format!("{line} < {}", script("top_level"))).success();
        assert!(output.stdout.ends_with("top\t0\tnil\tnil\n"), "{output:?}");
    }
}

#[test]
fn a_program_called_sysbench_is_sysbench() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("sysbench");
    symlink(dyno_path(), &link).expect("a link");
    let output = run(Command::new(&link).arg("--version"), LIMIT).success();
    assert!(output.stdout.starts_with("sysbench "), "{output:?}");
    // A script that starts with an interpreter line, which is not Lua.
    let copy = folder.path().join("options.lua");
    let line = format!(
        "cp {} {copy} && chmod +x {copy} && PATH={folder}:$PATH {copy} show",
        script("options"),
        copy = copy.display(),
        folder = folder.path().display(),
    );
    let output = shell(&line).success();
    assert!(output.stdout.contains("text\tstring\tabc\n"), "{output:?}");
}

#[test]
fn modules_are_found_along_lua_path() {
    let path = script("uses_module");
    let line = format!("LUA_PATH='{SCRIPTS}/modules/?.lua;;' $DYNO sysbench {path}");
    let output = shell(&line).success();
    assert!(output.stdout.ends_with("module\t42\n"), "{output:?}");
    let output = shell(&format!("$DYNO sysbench {path}")).failure(1);
    assert!(
        output.stdout.contains("module 'answers' not found:"),
        "{output:?}"
    );
}

#[test]
fn without_a_command_the_top_level_runs() {
    for output in [ours("top_level"), theirs("top_level")] {
        let output = output.success();
        assert!(output.stdout.ends_with("top\t0\tnil\tnil\n"), "{output:?}");
    }
}

#[test]
fn a_parallel_command_runs_in_every_thread() {
    for output in [
        ours("options --threads=3 for-each"),
        theirs("options --threads=3 for-each"),
    ] {
        let output = output.success();
        let mut tids: Vec<&str> = output
            .stdout
            .lines()
            .filter(|l| l.starts_with("tid"))
            .collect();
        tids.sort_unstable();
        assert_eq!(tids, ["tid\t0", "tid\t1", "tid\t2"]);
        assert!(output.stdout.contains("Initializing worker threads...\n\n"));
    }
    let alone = ours("options for-each").success();
    assert!(alone.stdout.ends_with("\n\ntid\t0\n"), "{alone:?}");
}

#[test]
fn draws_lie_in_their_ranges() {
    let output = ours("distributions").success();
    let names = "default gaussian pareto string uniform uniform_double uniform_uint64 unique \
                 varstring zipfian\n";
    assert!(output.stdout.ends_with(names), "{output:?}");
}

#[test]
fn a_seed_replays_every_session() {
    let draws = |seed: u32, workers: u32| {
        let line = format!("draws --threads=4 --rand-seed={seed} --workers={workers} run");
        let output = ours(&line).success();
        let lines = output
            .stdout
            .lines()
            .filter(|line| line.starts_with("tid "));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort_unstable();
        assert_eq!(lines.len(), 4, "{output:?}");
        lines
    };
    let once = draws(7, 1);
    assert_eq!(once, draws(7, 2));
    assert_ne!(once, draws(8, 1));
    let values = |line: &String| line.split_once(": ").expect("a list").1.to_owned();
    assert_ne!(values(&once[0]), values(&once[1]), "sessions draw apart");
}

#[test]
fn sleeping_sessions_do_not_hold_up_each_other() {
    let line = "sleeps --threads=20 --workers=1 --events=40 --time=0 run";
    let text = ours(line).success().stdout;
    assert!(overlap(&text) > 5.0, "{text}");
}

#[test]
fn blocking_scripts_run_in_parallel_with_one_worker_each() {
    let line = "blocks --threads=4 --workers=sessions --events=8 --time=0 run";
    let text = ours(line).success().stdout;
    assert!(overlap(&text) > 2.0, "{text}");
}

/// The number of events in flight on average.
fn overlap(text: &str) -> f64 {
    super::figure(text, "sum:") / 1000.0 / super::figure(text, "total time:")
}

#[test]
fn a_script_need_not_be_utf_8() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a script");
        path.display().to_string()
    };
    write("part.lua", b"-- Gr\xf6\xdfe\nreturn '\xf6'\n");
    let text = b"-- Gr\xf6\xdfe\nsysbench.cmdline.options = {word = {'W\xf6rt', '\xfe'}}\n\
        function event()\n  assert(require('part') == '\xf6')\nend\n";
    let path = write("latin1.lua", text);
    let part = folder.path().join("?.lua");
    let line = format!(
        "LUA_PATH='{};;' $DYNO sysbench {path} --events=3 --time=0 run",
        part.display()
    );
    let output = shell(&line).success();
    let total = "total number of events:              3";
    assert!(output.stdout.contains(total), "{output:?}");
    let compiled = write("compiled.lua", b"\x1bLJ\x02");
    let output = shell(&format!("$DYNO sysbench {compiled} run")).failure(1);
    let everything = format!("{}{}", output.stdout, output.stderr);
    assert!(everything.contains("it is compiled Lua"), "{output:?}");
}

#[test]
fn a_file_of_options_without_an_end_is_refused() {
    let output = shell("$DYNO sysbench --config-file=/dev/zero oltp_point_select run").failure(1);
    let everything = format!("{}{}", output.stdout, output.stderr);
    assert!(everything.contains("it has more than 1 MiB"), "{output:?}");
}
