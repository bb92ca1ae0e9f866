//! The tests of the host: what they print compared with sysbench, and what they record.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{done, outcome};
use dyno_tests::command::{dyno_path, run};
use dyno_tests::{Output, sysbench};
use regex::Regex;
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(60);

/// Keeps a run short and silent.
const SHORT: &str = "--time 300ms --warmup 0 -q --observe off --results none";

/// Runs Dyno in a folder.
fn dyno_in(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(dyno_path());
    command.args(line.split_whitespace()).current_dir(folder);
    command
        .env_remove("DYNO_TARGET")
        .env("DYNO_RESULTS", "none");
    run(&mut command, LIMIT)
}

fn here(line: &str) -> Output {
    dyno_in(&std::env::temp_dir(), line)
}

/// Makes a run that must succeed, and returns its result.
fn result(line: &str) -> Value {
    let output = here(&format!("run {line} {SHORT} --json")).success();
    serde_json::from_str(&output.stdout).unwrap()
}

/// A figure of a test.
fn figure(result: &Value, name: &str) -> f64 {
    let figures = result["machine"]["figures"].as_array().unwrap();
    let found = figures.iter().find(|figure| figure["name"] == name);
    found.unwrap()["value"].as_f64().unwrap()
}

/// A report without its first line, its figures, and the number of its intervals, because sysbench
/// sometimes misses the last one.
fn shape(output: &Output) -> String {
    let (_, body) = output.stdout.split_once("\n\n").unwrap();
    let numbers = Regex::new(r" *[0-9]+(\.[0-9]+)?").unwrap();
    let text = numbers.replace_all(body, " N");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.dedup_by(|a, b| a == b && a.starts_with('['));
    lines.join("\n")
}

#[test]
fn reports_look_like_sysbenchs() {
    let lines = [
        "cpu --cpu-max-prime=500 --threads=2 --time=2 --report-interval=1 run",
        "cpu --cpu-max-prime=500 --events=50 --percentile=0 run",
        "memory --memory-block-size=4K --memory-total-size=64M run",
        "memory --memory-oper=read --memory-access-mode=rnd --memory-scope=local --time=1 run",
        "memory --memory-oper=none --memory-total-size=1M --threads=2 run",
        "threads --thread-yields=10 --thread-locks=2 --threads=3 --events=100 run",
        "mutex --mutex-num=8 --mutex-locks=100 --mutex-loops=10 --threads=3 run",
    ];
    for line in lines {
        let ours = here(&format!("sysbench {line}")).success();
        let theirs = sysbench(line.split_whitespace()).success();
        assert_eq!(shape(&ours), shape(&theirs), "{line}");
    }
}

/// Small files.
const FILES: &str = "--file-num=3 --file-total-size=3M";

#[test]
fn fileio_prints_the_same_as_sysbench() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    for own in [&ours, &theirs] {
        std::fs::create_dir(own).unwrap();
    }
    let program = std::env::var_os("DYNO_TEST_SYSBENCH").unwrap();
    for line in [
        "prepare",
        "--file-test-mode=rndrw --threads=2 --time=2 --report-interval=1 run",
        "--file-test-mode=rndrd --time=1 --file-fsync-freq=0 --file-fsync-end=off run",
        "--file-test-mode=seqrd --file-merged-requests=4 --file-extra-flags=direct --time=1 run",
        "--file-test-mode=rndwr --file-fsync-all=on --events=50 run",
        "--file-test-mode=seqrewr --file-io-mode=mmap --file-fsync-mode=fdatasync --time=1 run",
        "--file-test-mode=rndrd --file-io-mode=async --file-async-backlog=4 --time=1 run",
        "--file-test-mode=seqwr --time=1 run",
        "--file-test-mode=seqwr prepare",
        "cleanup",
    ] {
        let mut command = Command::new(&program);
        let words = format!("fileio {FILES} {line}");
        command.args(words.split_whitespace()).current_dir(&theirs);
        let theirs = run(&mut command, LIMIT).success();
        let ours = dyno_in(&ours, &format!("sysbench {words}")).success();
        assert_eq!(shape(&ours), shape(&theirs), "{line}");
    }
    // Neither tool leaves anything behind.
    for own in [&ours, &theirs] {
        assert_eq!(std::fs::read_dir(own).unwrap().count(), 0);
    }
}

#[test]
fn files_of_sysbench_and_dyno_are_interchangeable() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("fileio {FILES} prepare");
    let mut theirs = Command::new(std::env::var_os("DYNO_TEST_SYSBENCH").unwrap());
    theirs.args(line.split_whitespace());
    run(theirs.current_dir(folder.path()), LIMIT).success();
    let line = format!("run fileio {FILES} --file-test-mode=rndrd {SHORT}");
    dyno_in(folder.path(), &line).success();
}

#[test]
fn fileio_reports_each_operations_latency() {
    let folder = tempfile::tempdir().unwrap();
    dyno_in(
        folder.path(),
        &format!("prepare fileio {FILES} --validate=on"),
    )
    .success();
    let line = "--file-test-mode=rndrw --sessions 2 --validate=on --file-fsync-freq 20";
    let output = dyno_in(
        folder.path(),
        &format!("run fileio {FILES} {line} {SHORT} --json"),
    );
    let result: Value = serde_json::from_str(&output.success().stdout).unwrap();
    let counts = ["read", "write", "fsync"].map(|name| done(&result, name));
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let events = result["totals"]["events"].as_u64().unwrap();
    assert_eq!(counts.iter().sum::<u64>(), events);
    assert_eq!(result["totals"]["bytes_in"], counts[0] * 16_384);
    assert_eq!(result["totals"]["bytes_out"], counts[1] * 16_384);
    assert!(figure(&result, "read") > 0.0 && figure(&result, "written") > 0.0);
    let reads = &result["operations"][0]["service"];
    assert_eq!(reads["count"], counts[0]);
}

#[test]
fn reports_a_deep_queue_without_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    dyno_in(folder.path(), &format!("prepare fileio {FILES}")).success();
    for engine in ["libaio", "io_uring"] {
        let line = format!(
            "run fileio {FILES} --file-io-mode {engine} --file-test-mode=rndrd \
             --file-async-backlog 8 --file-extra-flags=direct {SHORT} --json"
        );
        let output = dyno_in(folder.path(), &line).success();
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(result["machine"]["depth"], 8, "{engine}");
        assert_eq!(outcome(&result, "work-done"), "pass", "{engine}");
        assert!(done(&result, "read") > 0, "{engine}");
        // It waits for arrivals and completions at the same time.
        let output = dyno_in(folder.path(), &format!("{line} --rate 2000")).success();
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(done(&result, "read") > 100, "{engine}");
        assert_eq!(result["events_unfinished"], 0, "{engine}");
    }
}

#[test]
fn fileio_reports_missing_input_before_anything_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let short = "--time 300ms --warmup 0 -q --observe off --results r.db";
    for (line, message) in [
        ("run fileio --file-test-mode=rndrd", "`dyno prepare fileio`"),
        ("run fileio", "--file-test-mode"),
    ] {
        let output = dyno_in(folder.path(), &format!("{line} {short}")).failure(1);
        assert!(output.stderr.contains(message), "{output:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn limits_are_exact() {
    let events = |line: &str| {
        let output = here(&format!("sysbench {line} run")).success();
        let found = Regex::new(r"total number of events: +(\d+)").unwrap();
        found.captures(&output.stdout).unwrap()[1].parse::<u64>()
    };
    assert_eq!(events("cpu --events=7 --threads=3 --time=0"), Ok(7));
    assert_eq!(events("mutex --mutex-locks=10 --threads=3"), Ok(3));
    // The last block is started, because the total is not reached without it.
    let memory = "memory --memory-block-size=1M --memory-total-size=5000K --threads=4";
    assert_eq!(events(memory), Ok(5));
    assert_eq!(events(&format!("{memory} --events=2")), Ok(2));
}

#[test]
fn a_run_reports_its_measurements() {
    let cpu = result("cpu --cpu-max-prime 2000 --sessions 2");
    assert!(cpu["totals"]["events"].as_u64().unwrap() > 0);
    assert!(figure(&cpu, "divisions") > 0.0);
    assert_eq!(cpu["drive"]["workers"], 2);
    assert_eq!(cpu["target"]["url"], "");

    let memory = result("memory --memory-block-size 64K --memory-oper read");
    let (events, bytes) = (&memory["totals"]["events"], &memory["totals"]["bytes_in"]);
    assert_eq!(events.as_u64().unwrap() * 65_536, bytes.as_u64().unwrap());
    assert!(figure(&memory, "read") > 0.0);
    let about = memory["machine"]["about"].to_string();
    assert!(
        about.contains("64 KiB") && about.contains("cache"),
        "{about}"
    );

    assert!(figure(&result("threads --thread-yields 10"), "yields") > 0.0);
    assert!(figure(&result("mutex --mutex-locks 10 --mutex-loops 5"), "locks") > 0.0);
}

#[test]
fn a_run_is_recorded_and_shown_again() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        "run cpu --cpu-max-prime 300 --time 300ms --warmup 0 -q --observe off --results r.db";
    dyno_in(folder.path(), line).success();
    let shown = dyno_in(folder.path(), "show last --results r.db").success();
    for part in ["cpu", "events", "divisions", "registers"] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    assert!(!shown.stdout.contains("transaction"), "{shown:?}");
}

#[test]
fn a_ladder_reports_the_gain_and_latency_of_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let short = "--time 200ms --warmup 0 -q --observe off --results r.db";
    let line = format!("saturate cpu --cpu-max-prime 500 --ladder 1,2,5 {short} --json");
    let output = dyno_in(folder.path(), &line).success();
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    let steps = found["steps"].as_array().unwrap();
    let sessions: Vec<_> = steps.iter().map(|step| &step["sessions"]).collect();
    assert_eq!(sessions, [1, 2, 5]);
    assert_eq!(steps[0]["latency_ratio"], 1.0);
    for (index, step) in steps.iter().enumerate() {
        assert!(step["events_per_s"].as_f64().unwrap() > 0.0, "{step}");
        // Each step is a separate run of the sequence.
        let show = format!("show {} --results r.db --json", step["run"]);
        let shown = dyno_in(folder.path(), &show).success();
        let run: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(run["phase"]["sequence"], found["sequence"]);
        assert_eq!(run["phase"]["number"], index + 1);
        assert_eq!(run["drive"]["sessions"], step["sessions"]);
    }
    let table = dyno_in(folder.path(), &line.replace("--json", "")).success();
    assert!(table.stdout.contains("knee"), "{table:?}");
    for (line, message) in [
        ("run cpu --ladder 1,2", "is an option of dyno saturate"),
        ("saturate cpu --ladder 4,2", "does not increase"),
        ("saturate cpu --ladder 1,x", "not a number of sessions"),
        ("saturate cpu --sessions 4", "not --sessions"),
    ] {
        let output = dyno_in(folder.path(), &format!("{line} {short}")).failure(2);
        assert!(output.stderr.contains(message), "{output:?}");
    }
}

#[test]
fn refuses_meaningless_options() {
    for (line, message) in [
        ("cpu --target sqlite:x.db", "--target does not apply to cpu"),
        ("cpu --workers 2", "its own thread"),
        ("cpu --rand-type zipfian", "uses no random distribution"),
        ("cpu --cpu-max-prime 3", "at least 4"),
        ("memory --memory-block-size 12", "not a multiple of 8"),
        ("memory --memory-oper erase", "not one of read, write, none"),
        ("threads --thread-locks 0", "at least 1"),
    ] {
        let output = here(&format!("run {line} {SHORT}")).failure(2);
        assert!(output.stderr.contains(message), "{line}: {output:?}");
    }
}
