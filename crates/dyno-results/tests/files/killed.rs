//! Processes that are killed while they write, and writers at the same time.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{head, interval, latencies, summary};
use dyno_core::Clock;
use dyno_core::record::{RunState, SeriesKind};
use dyno_results::{Filter, Results, RunStage, RunWriter, Scope};
use dyno_samples::values::key;
use tempfile::TempDir;

/// The path that the child process writes to. If it is set, this process is the child.
const CHILD_FILE: &str = "DYNO_TEST_CHILD_FILE";

/// How many intervals to write. Without it, the child writes until it is killed.
const CHILD_INTERVALS: &str = "DYNO_TEST_CHILD_INTERVALS";

/// Not a test itself: the process that other tests start, watch and kill. It prints each interval
/// that it has written.
#[test]
#[ignore = "the child process of the other tests, which start it"]
fn child() {
    let path = std::env::var_os(CHILD_FILE).expect("only the other tests run this");
    let intervals = std::env::var(CHILD_INTERVALS).map_or(u32::MAX, |text| text.parse().unwrap());
    let mut writer = Results::open(Path::new(&path))
        .unwrap()
        .begin(&head("child"))
        .unwrap();
    println!("begun {}", writer.id());
    let key = key("host.cpu.user", "percent");
    let cpu = writer.series(&key, SeriesKind::Gauge).unwrap();
    let event = latencies(20, 4);
    for number in 1..=intervals {
        // Start just before the end of the first hour, so that some rows are also written again.
        let number = number + 3590;
        writer.sample(f64::from(number), &[(cpu, 1.0)]).unwrap();
        writer
            .interval(&interval(number), &[("event", &event)])
            .unwrap();
        println!("wrote {number}");
        std::io::stdout().flush().unwrap();
    }
    finish(&mut writer);
}

fn finish(writer: &mut RunWriter) {
    writer
        .finish(&summary(), RunState::Completed, &[], &[])
        .unwrap();
}

fn start(path: &Path, intervals: Option<u32>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "killed::child", "--ignored", "--nocapture"])
        .env(CHILD_FILE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    if let Some(intervals) = intervals {
        command.env(CHILD_INTERVALS, intervals.to_string());
    }
    command.spawn().unwrap()
}

#[test]
fn a_killed_run_loses_at_most_one_interval() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    for round in 0..12 {
        let mut child = start(&path, None);
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut lines_printed = Vec::new();
        // In the first rounds, kill it while it is creating the file or entering the run.
        for (from_round, word) in [(4, "begun "), (8, "wrote ")] {
            if round >= from_round {
                lines_printed.extend(lines.by_ref().find(|line| line.contains(word)));
            }
        }
        // The last digits of the clock serve as a random delay.
        std::thread::sleep(Duration::from_micros(Clock.now() / 1000 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        lines_printed.extend(lines);
        let last_printed = last_number(&lines_printed, "wrote ").unwrap_or(3590);
        if let Some(id) = last_number(&lines_printed, "begun ") {
            check(&path, i64::from(id), last_printed);
        }
    }
    // If no child got far enough, nothing was tested.
    let results = Results::open(&path).unwrap();
    let lines = results.runs(&Filter::default()).unwrap();
    assert!(lines.len() >= 8, "{} runs were begun", lines.len());
    assert!(
        lines.iter().all(|line| line.stage == RunStage::Unfinished),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|line| line.events_per_s.is_some()),
        "{lines:?}"
    );
}

fn last_number(lines: &[String], word: &str) -> Option<u32> {
    // The test harness may have written to the same line.
    let number = |line: &String| line.split_once(word)?.1.trim().parse().ok();
    lines.iter().rev().find_map(number)
}

fn check(path: &Path, id: i64, last_printed: u32) {
    let verdict = integrity(path);
    assert_eq!(verdict, "ok");
    let results = Results::open_read(path).unwrap();
    let run = results.load(id, &Scope::every()).unwrap();
    assert_eq!(run.state, RunState::Running);
    let saved = run
        .intervals
        .last()
        .map_or(3590, |interval| interval.at_s as u32);
    // Everything that it printed as written must be in the file. One more interval may be there, if
    // it was killed before it printed that one.
    assert!(
        saved == last_printed || saved == last_printed + 1,
        "printed {last_printed}, saved {saved}"
    );
    assert_eq!(run.intervals.len() as u32, saved - 3590);
    let counted: u64 = run
        .operations
        .iter()
        .flat_map(|o| &o.spans)
        .map(|span| span.count)
        .sum();
    assert_eq!(counted, 20 * u64::from(saved - 3590));
    let last_sample = run
        .series("host.cpu.user")
        .and_then(|series| series.points.last());
    if saved > 3590 {
        assert_eq!(last_sample.map(|(at_s, _)| *at_s), Some(f64::from(saved)));
    }
}

fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn two_processes_write_at_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    // The file does not exist, so both try to create it.
    let children: Vec<Child> = (0..2).map(|_| start(&path, Some(200))).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
    }
    assert_eq!(integrity(&path), "ok");
    let results = Results::open_read(&path).unwrap();
    let lines = results.runs(&Filter::default()).unwrap();
    let names: Vec<_> = lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["child", "child-2"]);
    for line in lines {
        assert_eq!(line.stage, RunStage::Completed);
        let run = results.load(line.id, &Scope::every()).unwrap();
        assert_eq!(run.intervals.len(), 200);
        let counted: u64 = run.operations[0].spans.iter().map(|span| span.count).sum();
        assert_eq!(counted, 20 * 200);
    }
}
