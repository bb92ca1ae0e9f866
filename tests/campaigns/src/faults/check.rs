//! Conditions that must hold after every case.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use dyno_tests::schema::violations;
use serde_json::Value;
use xtask::servers::Kind;

use crate::bed::{Bed, Ledger, PASSWORD, Way, dyno_command};
use crate::child::{Ended, Running, find};
use crate::result::{list, outcome};

use super::case::{Blow, Case, Harm, SCRATCH, ServerFault, Work};
use super::record;
use super::run::{Evidence, SLACK};

/// Descriptors allowed in addition to one per session: files, pipes, and those of workers and
/// observers.
const DESCRIPTORS_BESIDE: u64 = 100;
/// Threads allowed: workers (one per core), the recorder, observers, and one for each session that
/// resolves a name.
const THREADS_BESIDE: u64 = 40;
const MEMORY_MAX_KIB: u64 = 512 << 10;
const OUTPUT_MAX: u64 = 1 << 20;
/// The time limit in seconds after a second interrupt, on a busy machine.
const AT_ONCE_S: f64 = 10.0;

/// Checks a case and returns all failures.
pub(super) fn check(bed: &Bed<'_>, seen: &Evidence<'_>) -> Vec<String> {
    let mut failures = Vec::new();
    let case = seen.case;
    process(seen, &mut failures);
    if let Some(missing) = &seen.missing {
        failures.push(missing.clone());
    }
    let result = if case.is_run() {
        result(seen, &mut failures)
    } else {
        None
    };
    status(seen, result.as_ref(), &mut failures);
    if let Some(result) = &result {
        sums(seen, result, &mut failures);
        hanging(seen, result, &mut failures);
    }
    if let (Some(before), Some(after)) = (seen.before, seen.after) {
        ledger(seen, result.as_ref(), before, after, &mut failures);
    }
    if case.is_run() {
        record::check(bed, seen, result.as_ref(), &mut failures);
    }
    left_behind(bed, seen, &mut failures);
    secrets(seen, &mut failures);
    failures
}

/// Checks that the tables of a disturbed `prepare` can be dropped and created again.
pub(super) fn prepared(bed: &Bed<'_>) -> Vec<String> {
    let url = bed.url(Way::Socket, 0, SCRATCH);
    let mut failures = Vec::new();
    for (command, size) in [
        ("cleanup", "100000"),
        ("prepare", "100"),
        ("cleanup", "100"),
    ] {
        let line = [
            command,
            "oltp_read_write",
            "--target",
            &url,
            "--tables",
            "4",
            "--table-size",
            size,
        ];
        match bed.dyno(&line) {
            Ok(ended) if ended.status.success() => {}
            Ok(ended) => failures.push(format!(
                "`{command}` after it: {}: {}",
                ended.status,
                brief(&ended.stderr())
            )),
            Err(error) => failures.push(format!("`{command}` after it: {error:#}")),
        }
    }
    failures
}

/// Checks that a run whose sessions hung long enough to be noticed is not valid.
fn hanging(seen: &Evidence<'_>, result: &Value, failures: &mut Vec<String>) {
    let hung = seen.hung;
    if hung > 0 && seen.hung_long && result["verdict"] == "valid" {
        failures.push(format!("{hung} sessions hang, but the run is `valid`"));
    }
}

/// The end of a text, on one line.
pub(super) fn brief(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let skip = flat.chars().count().saturating_sub(600);
    flat.chars().skip(skip).collect()
}

fn process(seen: &Evidence<'_>, failures: &mut Vec<String>) {
    let (case, ended) = (seen.case, &seen.ended);
    if ended.overdue {
        failures.push(format!(
            "it did not end within {} s of when it should: {}",
            SLACK.as_secs(),
            brief(&ended.stderr())
        ));
    }
    for text in ["panicked at", "RUST_BACKTRACE"] {
        if find(&ended.stderr, text.as_bytes()) || find(&ended.stdout, text.as_bytes()) {
            failures.push(format!("it panicked: {}", brief(&ended.stderr())));
        }
    }
    let signal = ended.status.signal();
    let expected = match &case.harm {
        Harm::Dyno { blow, .. } => match blow {
            Blow::Kill => Some(libc::SIGKILL),
            Blow::Terminate => Some(libc::SIGTERM),
            Blow::Interrupt | Blow::InterruptTwice => Some(libc::SIGINT),
        },
        _ => None,
    };
    if signal.is_some() && !ended.overdue && signal != expected {
        failures.push(format!("it was ended by a signal: {}", ended.status));
    }
    if let Harm::Dyno {
        blow: Blow::InterruptTwice,
        ..
    } = case.harm
        && ended.late_s > AT_ONCE_S
    {
        let late_s = ended.late_s;
        failures.push(format!(
            "it took {late_s:.1} s to end after a second interrupt"
        ));
    }
    let beside = case.sessions;
    let each = match case.work {
        // A database file, its log, the log's index, and a temporary file.
        Work::Temporary => 4,
        // Plus the files that PostgreSQL's backend of the observers' open session has open.
        _ if case.kind == Kind::Postgres => 6,
        _ => 2,
    };
    for (what, found, bound) in [
        (
            "descriptors",
            ended.seen.descriptors,
            each * beside + DESCRIPTORS_BESIDE,
        ),
        ("threads", ended.seen.threads, beside + THREADS_BESIDE),
        ("KiB of memory", ended.seen.memory_kib, MEMORY_MAX_KIB),
        ("bytes of output", ended.written, OUTPUT_MAX),
    ] {
        if found > bound {
            failures.push(format!("{found} {what}, more than {bound}"));
        }
    }
}

/// The result, which must exist and match the published schema.
fn result(seen: &Evidence<'_>, failures: &mut Vec<String>) -> Option<Value> {
    let path = seen.folder.join("run.json");
    let text = match seen.case.harm {
        Harm::DiskFull { .. } => seen.ended.stdout(),
        _ => fs::read_to_string(path).unwrap_or_default(),
    };
    let complete = !matches!(
        seen.case.harm,
        Harm::Dyno {
            blow: Blow::Kill | Blow::InterruptTwice,
            ..
        } | Harm::DiskFull { .. }
    ) && !seen.ended.overdue;
    if text.trim().is_empty() {
        if complete && seen.measured {
            failures.push(format!("no result: {}", brief(&seen.ended.stderr())));
        }
        return None;
    }
    let result: Value = match serde_json::from_str(&text) {
        Ok(result) => result,
        Err(error) => {
            if complete {
                failures.push(format!("the result is not JSON: {error}"));
            }
            return None;
        }
    };
    match violations("run.json", &result) {
        Ok(errors) if errors.is_empty() => {}
        Ok(errors) => {
            let first = &errors[..errors.len().min(5)];
            failures.push(format!("the result breaks its schema: {first:?}"));
        }
        Err(error) => failures.push(format!("the schema cannot be used: {error:#}")),
    }
    Some(result)
}

fn status(seen: &Evidence<'_>, result: Option<&Value>, failures: &mut Vec<String>) {
    let (case, ended) = (seen.case, &seen.ended);
    if ended.overdue || ended.status.signal().is_some() {
        return;
    }
    let code = ended.code();
    let how = result.map_or("", |result| result["end"]["how"].as_str().unwrap_or(""));
    let error_text = || brief(&ended.stderr());
    // A server that comes back too late for the end of the run is not a success.
    let disconnected = (ended.stderr()).contains("had lost a connection when the run ended");
    // The run fails if the server stops answering during the ledger's statement, which has a
    // timeout.
    let silent = case.harm == Harm::Server(ServerFault::SilentEnd)
        && ended
            .stderr()
            .contains("ledger() failed: it did not end within");
    // A run that the user ends early counts neither as a failure nor as a success.
    let owed = if how == "interrupted" { 130 } else { 0 };
    if case.must_succeed() && seen.measured && code != owed && !disconnected && !silent {
        failures.push(format!(
            "status {code}, but the run could have continued: {}",
            error_text()
        ));
    }
    let consistent = match how {
        "completed" if disconnected || silent => code == 1,
        // The interrupt may have arrived after the load had ended.
        "completed" => {
            let blow = matches!(case.harm, Harm::Dyno { .. }) && matches!(code, 1 | 130);
            code == 0 || blow || matches!(case.harm, Harm::DiskFull { .. })
        }
        "interrupted" => matches!(code, 1 | 130),
        "failed" => matches!(code, 1 | 130),
        _ => matches!(code, 0..=2 | 130),
    };
    if !consistent {
        failures.push(format!(
            "status {code}, but the result has `{how}`: {}",
            error_text()
        ));
    }
    if case.is_run() && code == 0 && result.is_none() {
        failures.push(format!("status 0 without a result: {}", error_text()));
    }
    if code != 0 && code != 130 && ended.written == 0 && result.is_none() {
        failures.push(format!("status {code} without a message"));
    }
}

/// Checks that intervals, totals and sessions agree.
fn sums(seen: &Evidence<'_>, result: &Value, failures: &mut Vec<String>) {
    let total = count(&result["totals"]["events"]);
    let in_them: u64 = list(&result["intervals"])
        .iter()
        .map(|interval| count(&interval["counters"]["events"]))
        .sum();
    let in_grace = count(&result["events_in_grace"]);
    let is_reported = outcome(result, "record").is_some_and(|outcome| outcome != "pass");
    if in_them + in_grace != total && !is_reported {
        failures.push(format!(
            "{in_them} events in the intervals and {in_grace} in the grace, {total} in total, but \
             the check `record` passes"
        ));
    }
    if let Some(states) = result["sessions"].as_object() {
        let counted: u64 = states.values().filter_map(Value::as_u64).sum();
        if counted != seen.case.sessions {
            let sessions = seen.case.sessions;
            failures.push(format!(
                "{counted} of {sessions} sessions are accounted for"
            ));
        }
    }
}

pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Compares Dyno's commits with the database, read through another client.
fn ledger(
    seen: &Evidence<'_>,
    result: Option<&Value>,
    before: Ledger,
    after: Ledger,
    failures: &mut Vec<String>,
) {
    if seen.case.is_altered() {
        return;
    }
    let moved = after.history - before.history;
    let mut sums = vec![("accounts", after.accounts - before.accounts)];
    if seen.case.work == Work::Tpcb {
        sums.push(("tellers", after.tellers - before.tellers));
        sums.push(("branches", after.branches - before.branches));
    }
    for (table, changed) in sums {
        if changed != moved {
            failures.push(format!("history moved {moved}, the {table} {changed}"));
        }
    }
    let rows = (after.rows - before.rows).max(0) as u64;
    let Some(result) = result else { return };
    let operations = list(&result["operations"]);
    let sum = |name: &str| -> u64 {
        let each = operations.iter().map(|one| count(&one["totals"][name]));
        each.sum()
    };
    let (done, unknown) = (sum("done"), sum("unknown"));
    let unfinished = count(&result["events_unfinished"]);
    if rows < done {
        failures.push(format!(
            "{done} transactions were acknowledged, but {rows} are there"
        ));
    }
    if rows > done + unknown + unfinished {
        failures.push(format!(
            "{rows} transactions are there, but only {done} done, {unknown} unknown and \
             {unfinished} unfinished are reported"
        ));
    }
    let agrees = rows >= done && rows <= done + unknown + unfinished;
    if agrees && outcome(result, "consistency") == Some("refuse") {
        let ledger = &result["ledger"];
        failures.push(format!(
            "the ledger reports a difference, but it agrees: {rows} rows, {ledger}"
        ));
    }
}

/// Checks for leftover temporary files and processes.
fn left_behind(bed: &Bed<'_>, seen: &Evidence<'_>, failures: &mut Vec<String>) {
    let temporary = seen.folder.join("tmp");
    let left = || -> Vec<String> {
        let entries = fs::read_dir(&temporary).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let dies = seen.ended.status.signal().is_some() || seen.ended.overdue;
    if dies && !left().is_empty() {
        let mut next = dyno_command(&bed.dyno);
        next.args(["run", "oltp_point_select", "--events", "3", "--warmup", "0"]);
        next.args(["--calibrate", "never", "--results", "none"]);
        next.env("TMPDIR", &temporary);
        let ended = Running::start(&mut next).and_then(|next| next.finish(SLACK));
        if let Ok(Ended { status, .. }) = ended
            && !status.success()
        {
            failures.push(format!("the next run: {status}"));
        }
    }
    let left = left();
    if !left.is_empty() {
        let when = if dies { "after the next run" } else { "behind" };
        failures.push(format!("temporary files are left {when}: {left:?}"));
    }
}

/// Checks that the password is in nothing that others can read.
fn secrets(seen: &Evidence<'_>, failures: &mut Vec<String>) {
    let password = PASSWORD.as_bytes();
    for (what, bytes) in [
        ("standard output", &seen.ended.stdout),
        ("standard error", &seen.ended.stderr),
    ] {
        if find(bytes, password) {
            failures.push(format!("the password is in the {what}"));
        }
    }
    let given = seen.case.work == Work::Sysbench;
    if !given && seen.ended.seen.command_line.contains(PASSWORD) {
        failures.push("the password is in the command line of the process".to_owned());
    }
    for entry in fs::read_dir(seen.folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let own = matches!(&*name, "command" | "case" | "relay" | "stdout" | "stderr");
        if !own && fs::read(entry.path()).is_ok_and(|bytes| find(&bytes, password)) {
            failures.push(format!("the password is in the file {name}"));
        }
    }
}

/// How long `show` may take on a run of a case.
pub(super) const SHOW_MAX: Duration = Duration::from_secs(60);

/// Whether the results file must contain everything that was printed.
pub(super) fn keeps_all(case: &Case) -> bool {
    !matches!(case.harm, Harm::DiskFull { .. })
}
