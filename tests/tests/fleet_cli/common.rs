//! A database for a test's agents, and the processes of its run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dyno_core::Clock;
pub(super) use dyno_tests::command::has;
pub(super) use dyno_tests::own_servers::Lab;
use serde_json::Value;

/// How long a command may take on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// Writes a file into the folder of a test, and returns its path.
pub(super) fn file(lab: &Lab, name: &str, text: &str) -> String {
    fs::write(lab.path(name), text).unwrap();
    name.to_owned()
}

pub(super) fn last(lab: &Lab) -> Value {
    let shown = lab.dyno("show last --json").success();
    serde_json::from_str(&shown.stdout).unwrap()
}

/// The outcome and the evidence of the check `agents`.
pub(super) fn agents_check(run: &Value) -> (String, String) {
    let findings = run["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|one| one["check"] == "agents")
        .unwrap();
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    (text("outcome"), text("evidence"))
}

/// The child processes whose command line contains this word, as pids.
pub(super) fn children(parent: u32, word: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let file = |name: &str| {
            let path: PathBuf = entry.path().join(name);
            String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
        };
        let status = file("status");
        let parents = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let is_child = parents.is_some_and(|ppid| ppid.trim() == parent.to_string());
        if is_child && file("cmdline").contains(word) {
            found.push(pid);
        }
    }
    found.sort_unstable();
    found
}

pub(super) fn signal(pid: i32, signal: i32) {
    // SAFETY: kill has no memory effects; the process belongs to this test.
    unsafe { libc::kill(pid, signal) };
}

/// Whether a process exists and has not ended.
pub(super) fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

/// Waits until all processes are gone.
pub(super) fn wait_for_end(pids: &[i32], limit: Duration) {
    let until = Clock.now() + limit.as_nanos() as u64;
    while pids.iter().any(|pid| is_alive(*pid)) {
        assert!(Clock.now() < until, "still there: {pids:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
