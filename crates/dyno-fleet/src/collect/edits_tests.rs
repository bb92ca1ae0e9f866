//! Tests files that were edited.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::tests::{AXIS, head, merged, written};
use super::*;
use crate::message::End;

fn end() -> Option<End> {
    Some(End::Completed)
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The error that an edited file of the only agent gives. The lines of the file: the head,
/// intervals 0 to 4, the outcome, and the end.
fn error_of_edit(change: impl FnOnce(&mut Vec<String>)) -> String {
    let folder = TempDir::new().unwrap();
    let path = written(&folder, 1, 1, 5, end()).path().to_owned();
    let mut all = lines(&path);
    let before = all.clone();
    change(&mut all);
    assert_ne!(all, before, "nothing was changed");
    fs::write(&path, all.join("\n") + "\n").unwrap();
    let files = vec![AgentFile::open(&path).unwrap()];
    let collected = Collection::new(files).and_then(|all| all.merge(AXIS, |_| {}));
    let error = collected.unwrap_err().to_string();
    let file = format!("{}: ", path.display());
    error.strip_prefix(&file).unwrap().to_owned()
}

fn edit(line: &mut String, from: &str, to: &str) {
    assert!(line.contains(from), "no {from} in {line}");
    *line = line.replace(from, to);
}

#[test]
fn lines_out_of_their_order_are_named() {
    let swapped = error_of_edit(|all| all.swap(2, 3));
    let expected = "interval 2 is where interval 1 should be";
    assert!(swapped.starts_with(expected), "{swapped}");
    let missing = error_of_edit(|all| drop(all.remove(3)));
    let expected = "interval 3 is where interval 2 should be";
    assert!(missing.starts_with(expected), "{missing}");
    let twice = error_of_edit(|all| all.insert(3, all[2].clone()));
    let expected = "interval 1 is where interval 2 should be";
    assert!(twice.starts_with(expected), "{twice}");
    let renumbered = error_of_edit(|all| edit(&mut all[3], "\"seq\":2", "\"seq\":7"));
    assert_eq!(renumbered, "record 7 has the interval 2");
    let far = error_of_edit(|all| {
        edit(&mut all[3], "\"seq\":2", "\"seq\":1152921504606846976");
        edit(&mut all[3], "\"index\":2", "\"index\":1152921504606846976");
    });
    assert!(far.starts_with("interval 1152921504606846976 is where"));
}

#[test]
fn instants_that_contradict_their_numbers_are_reported() {
    // Swap two lines, and adjust their numbers.
    let swapped = error_of_edit(|all| {
        all.swap(2, 3);
        for (line, from, to) in [(2, 2, 1), (3, 1, 2)] {
            for name in ["seq", "index"] {
                let (from, to) = (format!("\"{name}\":{from}"), format!("\"{name}\":{to}"));
                edit(&mut all[line], &from, &to);
            }
        }
    });
    assert_eq!(swapped, "interval 1 begins at 2 s, not at 1");
    let moved =
        error_of_edit(|all| edit(&mut all[3], "\"start\":2000000000", "\"start\":2100000000"));
    assert_eq!(moved, "interval 2 begins at 2.1 s, not at 2");
    let first = error_of_edit(|all| edit(&mut all[1], "\"start\":0", "\"start\":13000000000"));
    assert_eq!(first, "interval 0 begins at 13 s, not at 0");
    let long = error_of_edit(|all| edit(&mut all[3], "\"end\":3000000000", "\"end\":3500000000"));
    assert!(
        long.starts_with("interval 2 from 2 s ends at 3.5 s"),
        "{long}"
    );
    let civil = error_of_edit(|all| {
        for line in &mut all[1..=5] {
            edit(
                line,
                "\"start_unix_ns\":0",
                "\"start_unix_ns\":1800000000000000000",
            );
        }
    });
    assert!(
        civil.starts_with("the civil time of interval 1 is 1 s"),
        "{civil}"
    );
}

#[test]
fn reports_content_after_the_end() {
    let after = error_of_edit(|all| {
        let last = all.remove(5);
        all.push(last);
    });
    assert!(after.contains("follows"), "{after}");
    let after = error_of_edit(|all| {
        let end = all.pop().unwrap();
        all.insert(5, end);
    });
    // How many intervals it has does not matter in that case.
    assert_eq!(after, "interval 4 follows its end");
    assert_eq!(
        error_of_edit(|all| all.push(all[7].clone())),
        "it has two ends"
    );
    let piece = error_of_edit(|all| all.swap(6, 7));
    assert_eq!(piece, "a line follows its end");
    let few = error_of_edit(|all| edit(&mut all[7], "\"seq\":5", "\"seq\":4"));
    assert_eq!(few, "it has 5 intervals, but its end says 4");
}

#[test]
fn lines_of_another_process_or_agent_are_named() {
    let instance = error_of_edit(|all| edit(&mut all[3], "\"instance\":1", "\"instance\":2"));
    assert_eq!(instance, "it has lines of two processes, 1 and 2");
    let attempt = error_of_edit(|all| edit(&mut all[3], "\"attempt\":1", "\"attempt\":2"));
    assert_eq!(attempt, "it has lines of the starts 1 and 2");
    let agent = error_of_edit(|all| edit(&mut all[3], "\"gen1\"", "\"gen2\""));
    assert!(agent.contains("gen2"), "{agent}");
}

/// Two files of a run with two agents. The head of the second was edited.
fn pair(folder: &TempDir, change: impl FnOnce(&mut FileHead)) -> Vec<Result<AgentFile, FileError>> {
    let first = written(folder, 1, 2, 3, end());
    let second = written(folder, 2, 2, 3, end()).path().to_owned();
    let mut own = head(2, 2);
    change(&mut own);
    let mut all = lines(&second);
    all[0] = format!("dyno-agent {}", serde_json::to_string(&own).unwrap());
    if own.agent.as_str() != "gen2" {
        for line in &mut all[1..] {
            *line = line.replace("gen2", own.agent.as_str());
        }
    }
    let path: PathBuf = folder.path().join("second");
    fs::write(&path, all.join("\n") + "\n").unwrap();
    vec![Ok(first), AgentFile::open(&path)]
}

fn heads(change: impl FnOnce(&mut FileHead)) -> String {
    let folder = TempDir::new().unwrap();
    let files: Result<Vec<AgentFile>, FileError> = pair(&folder, change).into_iter().collect();
    let error = files.and_then(Collection::new).unwrap_err().to_string();
    let file = folder.path().join("second");
    let file = format!("{}: ", file.display());
    error.strip_prefix(&file).unwrap().to_owned()
}

#[test]
fn heads_that_are_not_of_one_run_are_named() {
    let name = heads(|head| head.agent = AgentName::new("gen1").unwrap());
    assert_eq!(name, "there are two files of agent gen1");
    let share = heads(|head| head.assignment.share.number = 1);
    assert_eq!(share, "there are two files of part 1");
    let beyond = heads(|head| head.assignment.share.number = 3);
    assert_eq!(beyond, "its share of the run is invalid");
    let of = heads(|head| head.assignment.share.of = 3);
    assert_eq!(of, "its run has 3 load generators, that of others 2");
    let changed = heads(|head| head.assignment.plan = "{ }".to_owned());
    assert!(changed.contains("SHA-256"), "{changed}");
    let other = heads(|head| {
        head.assignment.plan = "{ }".to_owned();
        head.assignment.plan_sha256 = sha256("{ }");
    });
    assert!(other.contains("its plan differs"), "{other}");
}

#[test]
fn collected_files_of_another_program_get_a_runs_finding() {
    let skewed = |mixed| {
        let folder = TempDir::new().unwrap();
        let files = pair(&folder, |head| {
            head.hello.build.binary_sha256 = "ab".repeat(32)
        });
        let files = files.into_iter().map(Result::unwrap).collect();
        let mut all = Collection::new(files).unwrap();
        if mixed {
            all.allow_mixed_versions();
        }
        all.merge(AXIS, |_| {}).unwrap().0
    };
    let report = skewed(false);
    let found = &report.findings[0];
    assert_eq!(
        (found.kind, found.outcome),
        (Kind::VersionSkew, Outcome::Refuse)
    );
    let expected = "gen2 runs a different build of Dyno than gen1: its executable is abababab, not \
                unknown";
    assert_eq!(report.failed.as_deref(), Some(expected));
    let report = skewed(true);
    assert_eq!(
        (report.failed, report.findings[0].outcome),
        (None, Outcome::Doubt)
    );
}

#[test]
fn later_work_of_a_lost_agent_is_counted_separately() {
    let folder = TempDir::new().unwrap();
    let files = vec![
        written(&folder, 1, 2, 5, end()),
        written(&folder, 2, 2, 5, None),
    ];
    let mut all = Collection::new(files).unwrap();
    all.was_lost(1, 900);
    let mut merged_intervals = Vec::new();
    let (report, beyond, _) = all
        .merge(AXIS, |one| merged_intervals.push(one.interval))
        .unwrap();
    assert_eq!((report.failed, merged_intervals.len()), (None, 5));
    let (agent, intervals, events) = (1, 3, 600);
    assert_eq!(
        beyond,
        [Beyond {
            agent,
            intervals,
            events
        }]
    );
    assert_eq!(report.total.counters.events, 5 * 300 + 900);
    assert!(report.agents[1].lost && report.agents[1].outcome.is_none());
    let later: Vec<u64> = merged_intervals
        .iter()
        .map(|one| one.counters.events)
        .collect();
    assert_eq!(later, [600, 600, 600, 300, 300]);
    // Without `was_lost`, a missing file fails the run.
    let (report, _) = merged(vec![
        AgentFile::open(&folder.path().join("r1.gen1.dyno-agent")).unwrap(),
    ]);
    assert!(report.failed.is_some());
}
