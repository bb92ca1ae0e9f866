//! Runs with a verdict, and the findings that they must have.

use std::fs;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use dyno_tests::command::{Running, dyno_path, run};
use dyno_tests::{Kind, Output, PrivateServer, start_private_server};
use serde_json::Value;

use crate::host::{Host, LOAD_SENSITIVE};

/// This percentage of the file system and this many GiB of free space are enough.
const FREE: (f64, f64) = (5.0, 1.0);

/// Whether the file system is so full that each run must say so.
fn is_nearly_full() -> bool {
    let folder = std::env::temp_dir();
    let path = std::ffi::CString::new(folder.into_os_string().into_encoded_bytes()).unwrap();
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a NUL-terminated path, and memory for the answer.
    let failed = unsafe { libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) };
    assert_eq!(failed, 0);
    // SAFETY: the call filled it.
    let stat = unsafe { stat.assume_init() };
    let free = stat.f_bavail as f64 * stat.f_frsize as f64;
    let share = free / (stat.f_blocks as f64 * stat.f_frsize as f64) * 100.0;
    share < FREE.0 || free < FREE.1 * (1_u64 << 30) as f64
}

/// How long a run may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

static TURN: RwLock<()> = RwLock::new(());

/// For tests of checks that other load on the host affects: waits until no other test runs.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    // A failed test leaves nothing behind that matters to the next one.
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// For tests of all other checks, which run in parallel, because they mostly wait for a run to end.
pub(crate) fn in_parallel() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// A script with options that set the shape of its events.
pub(crate) const SHAPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/shapes.lua");

/// A private server with a database, so that its counters include no other statements.
pub(crate) fn private(kind: Kind) -> (PrivateServer, String) {
    let private = start_private_server(kind);
    let url = with_database(&private);
    (private, url)
}

/// Creates the database of the tests on a private server.
pub(crate) fn with_database(private: &PrivateServer) -> String {
    let server = private.server();
    server.execute(None, "CREATE DATABASE verdict");
    server.url("verdict")
}

/// Arguments of the script of shapes on a database with its table: each statement reads a row.
pub(crate) fn shapes(url: &str) -> String {
    dyno(&format!("prepare {SHAPES} --target {url}"));
    format!("{SHAPES} --target {url} --reads=1")
}

/// A `dyno` command; blanks separate its arguments.
pub(crate) fn command(line: &str) -> Command {
    let mut command = Command::new(dyno_path());
    command.args(line.split_whitespace());
    command.env_remove("DYNO_TARGET");
    command
}

/// Runs a `dyno` command that must succeed.
pub(crate) fn dyno(line: &str) {
    run(&mut command(line), LIMIT).success();
}

/// A completed run and its findings.
pub(crate) struct Judged {
    pub result: Value,
    /// What the test itself observed of the host during the run.
    pub host: Host,
    line: String,
}

/// Runs `dyno run` with these arguments. By default it does not calibrate, because most of these
/// runs are not about the ceiling of the load generator.
pub(crate) fn judged(line: &str) -> Judged {
    judged_while(line, None, |_| {})
}

/// The same, with an action during the run. The CPU time of the process `server` does not count as
/// other load.
pub(crate) fn judged_while(
    line: &str,
    server: Option<u32>,
    act: impl FnOnce(&mut Running),
) -> Judged {
    judge(line, server, |_| {}, act)
}

/// The same, with a change to the command first.
pub(crate) fn judge(
    line: &str,
    server: Option<u32>,
    prepare: impl FnOnce(&mut Command),
    act: impl FnOnce(&mut Running),
) -> Judged {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results.db");
    let calibrate = match line.contains("--calibrate") {
        true => "",
        false => "--calibrate never",
    };
    let line = format!("run {line} {calibrate} --gate --json");
    let mut command = command(&line);
    command.args(["--results", &results.display().to_string()]);
    command.env("XDG_CACHE_HOME", cache(folder.path()));
    prepare(&mut command);
    let watch = Host::watch(server);
    let mut running = Running::start(&mut command);
    act(&mut running);
    let output = running.finish(LIMIT);
    let host = watch.finish();
    assert!(
        fs::metadata(&results).is_ok_and(|file| file.len() > 0),
        "{output:?}"
    );
    Judged {
        result: result(&output),
        host,
        line,
    }
}

/// The folder with the calibrations: that of the run, or one that the test has set.
fn cache(usual: &std::path::Path) -> std::path::PathBuf {
    CACHE.with_borrow(|cache| cache.clone().unwrap_or_else(|| usual.to_owned()))
}

thread_local! {
    static CACHE: std::cell::RefCell<Option<std::path::PathBuf>> =
        const { std::cell::RefCell::new(None) };
}

/// Makes all runs of this test use the same calibrations.
pub(crate) fn keep_calibrations(folder: &std::path::Path) {
    CACHE.set(Some(folder.to_owned()));
}

fn result(output: &Output) -> Value {
    let result: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output:?}"));
    let refused = result["verdict"] == "refused";
    // A run without events fails before it can be refused.
    let expected: &[i32] = match (refused, result["totals"]["events"] == 0) {
        (_, true) => &[1],
        (true, false) => &[3],
        (false, false) => &[0],
    };
    let status = output.status.code();
    assert!(
        status.is_some_and(|status| expected.contains(&status)),
        "{output:?}"
    );
    result
}

impl Judged {
    /// The finding of a check.
    pub(crate) fn finding(&self, check: &str) -> &Value {
        let findings = self.result["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["check"] == check);
        found.unwrap_or_else(|| panic!("no check {check}: {}", self.findings_text()))
    }

    /// The checks that doubt or refuse the run. Leaves out those about its length, because these
    /// runs are short to save time, and about a nearly full disk.
    pub(crate) fn against(&self) -> Vec<&str> {
        let short = self.result["measured_s"].as_f64().unwrap() < 29.9;
        let findings = self.result["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| is_against(finding))
            .filter_map(|finding| finding["check"].as_str())
            .filter(|check| !short || *check != "length")
            .filter(|check| *check != "disk" || !is_nearly_full())
            .collect()
    }

    /// Fails unless the check has this outcome and its evidence contains these words.
    pub(crate) fn caught(&self, check: &str, outcome: &str, words: &str) {
        let finding = self.finding(check);
        let evidence = finding["evidence"].as_str().unwrap();
        assert!(
            finding["outcome"] == outcome && evidence.to_lowercase().contains(words),
            "{check} should be {outcome} with '{words}': {}",
            self.findings_text()
        );
        let advice = finding["advice"].as_str().unwrap_or_default();
        assert!(!advice.is_empty(), "{check} gives no advice: {finding}");
    }

    /// Fails unless the check ran and passed.
    pub(crate) fn passed(&self, check: &str) {
        let excused = LOAD_SENSITIVE.contains(&check) && self.host.was_busy();
        let outcome = &self.finding(check)["outcome"];
        if excused && outcome != "pass" {
            eprintln!(
                "{check}: the host had other work ({:?}): {}",
                self.host,
                self.findings_text()
            );
            return;
        }
        assert!(
            outcome == "pass",
            "{check} should pass: {}",
            self.findings_text()
        );
    }

    /// Fails if any checks other than these doubt or refuse the run. Excuses the effects of other
    /// load on the host if the test itself saw such load.
    pub(crate) fn nothing_but(&self, allowed: &[&str]) {
        let excused: &[&str] = match self.host.was_busy() {
            true => LOAD_SENSITIVE,
            false => &[],
        };
        self.nothing_but_either(allowed, excused);
    }

    /// The same for tests that run in parallel. Always excuses the effects of other load, including
    /// those on the disk and on an observer that misses its deadline, which `restarts` reports.
    pub(crate) fn nothing_but_load_and(&self, allowed: &[&str]) {
        self.nothing_but_either(allowed, &[LOAD_SENSITIVE, &["disk", "restarts"]].concat());
    }

    fn nothing_but_either(&self, allowed: &[&str], excused: &[&str]) {
        let false_ones: Vec<&str> = self
            .against()
            .into_iter()
            .filter(|check| !allowed.contains(check) && !excused.contains(check))
            .collect();
        assert!(
            false_ones.is_empty(),
            "{false_ones:?} of {}",
            self.findings_text()
        );
    }

    /// The command and its findings, for messages.
    pub(crate) fn findings_text(&self) -> String {
        let findings = self.result["findings"].as_array().unwrap().iter();
        let lines: Vec<String> = findings
            .filter(|finding| finding["outcome"] != "not_checked")
            .map(|finding| {
                let [check, outcome, evidence] =
                    ["check", "outcome", "evidence"].map(|key| finding[key].as_str().unwrap());
                format!("  {outcome} {check}: {evidence}")
            })
            .collect();
        format!("{}\n{:?}\n{}", self.line, self.host, lines.join("\n"))
    }
}

fn is_against(finding: &Value) -> bool {
    finding["outcome"] == "doubt" || finding["outcome"] == "refuse"
}
