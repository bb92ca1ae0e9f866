//! Checks the results file without Dyno's code.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::bed::{Bed, PASSWORD, dyno_command};
use crate::child::{Ended, Running, find};
use crate::result::outcome;

use super::check::{SHOW_MAX, brief, count, keeps_all};
use super::power_cut;
use super::run::Evidence;

/// Checks the record of a case and returns all failures.
pub(super) fn check(
    bed: &Bed<'_>,
    seen: &Evidence<'_>,
    result: Option<&Value>,
    failures: &mut Vec<String>,
) {
    let path = seen.folder.join("dyno.db");
    let size = fs::metadata(&path).map_or(0, |data| data.len());
    if size == 0 {
        if seen.measured && keeps_all(seen.case) {
            failures.push("the run was measured, but there is no results file".to_owned());
        }
        return;
    }
    if seen.case.is_killed()
        && let Err(error) = power_cut::check(seen.folder, seen.case.seed)
    {
        failures.push(format!("after a power cut: {error:#}"));
    }
    // Let Dyno read it first: Dyno must cope with the state that a kill leaves.
    let shown = show(bed, seen, &["show", "last"]);
    let listed = show(bed, seen, &["list", "runs"]);
    let read = Recorded::read(&path);
    let recorded = match read {
        Ok(recorded) => recorded,
        Err(error) => {
            if keeps_all(seen.case) || !error.to_string().contains("no run") {
                failures.push(format!("the results file: {error:#}"));
            }
            return;
        }
    };
    if let Some(recorded) = recorded {
        for (what, ended) in [("show last", shown), ("list runs", listed)] {
            match ended {
                Ok(ended) if ended.status.success() => {}
                Ok(ended) => failures.push(format!(
                    "`dyno {what}` after it: {}: {}",
                    ended.status,
                    brief(&ended.stderr())
                )),
                Err(error) => failures.push(format!("`dyno {what}` after it: {error:#}")),
            }
        }
        compare(seen, result, &recorded, failures);
        report(bed, seen, failures);
    } else if seen.measured && keeps_all(seen.case) {
        failures.push("the run was measured, but is not in the results file".to_owned());
    }
}

fn show(bed: &Bed<'_>, seen: &Evidence<'_>, arguments: &[&str]) -> Result<Ended> {
    let mut command = dyno_command(&bed.dyno);
    command.args(arguments).args(["--results", "dyno.db"]);
    command.current_dir(seen.folder);
    let ended = Running::start(&mut command)?.finish(SHOW_MAX)?;
    if ended.overdue {
        bail!("it did not end within {SHOW_MAX:?}");
    }
    if find(&ended.stdout, PASSWORD.as_bytes()) || find(&ended.stderr, PASSWORD.as_bytes()) {
        bail!("it prints the password");
    }
    Ok(ended)
}

/// Creates an HTML report for one run in four.
fn report(bed: &Bed<'_>, seen: &Evidence<'_>, failures: &mut Vec<String>) {
    if !seen.case.seed.is_multiple_of(4) {
        return;
    }
    match show(bed, seen, &["report", "last", "-o", "report.html"]) {
        Ok(ended) if ended.status.success() => {
            if !seen.folder.join("report.html").exists() {
                failures.push("`dyno report` wrote no page".to_owned());
            }
        }
        Ok(ended) => failures.push(format!(
            "`dyno report` after it: {}: {}",
            ended.status,
            brief(&ended.stderr())
        )),
        Err(error) => failures.push(format!("`dyno report` after it: {error:#}")),
    }
}

/// A run as another program reads it.
struct Recorded {
    state: String,
    events: Option<u64>,
    intervals: u64,
    in_intervals: u64,
    in_sessions: u64,
    sessions: u64,
}

impl Recorded {
    /// The only run of the file, if any.
    fn read(path: &std::path::Path) -> Result<Option<Self>> {
        let file = power_cut::sound(path)?;
        let tables: i64 = file.query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'run'",
            [],
            |row| row.get(0),
        )?;
        if tables == 0 {
            return Ok(None);
        }
        let number = |sql: &str| -> Result<u64> {
            let number: Option<i64> = file.query_row(sql, [], |row| row.get(0))?;
            Ok(number.unwrap_or_default().max(0) as u64)
        };
        match number("SELECT count(*) FROM run")? {
            0 => return Ok(None),
            1 => {}
            runs => bail!("the file has {runs} runs instead of one"),
        }
        let (state, events) = file.query_row("SELECT state, events FROM run", [], |row| {
            let events: Option<i64> = row.get(1)?;
            Ok((row.get(0)?, events.map(|events| events.max(0) as u64)))
        })?;
        Ok(Some(Self {
            state,
            events,
            intervals: number("SELECT count(*) FROM interval")?,
            in_intervals: number("SELECT sum(events) FROM interval")?,
            in_sessions: number("SELECT sum(events) FROM session")?,
            sessions: number("SELECT count(*) FROM session")?,
        }))
    }
}

fn compare(
    seen: &Evidence<'_>,
    result: Option<&Value>,
    recorded: &Recorded,
    failures: &mut Vec<String>,
) {
    let died = seen.ended.status.signal().is_some() || seen.ended.overdue;
    // A line that the kill truncated does not count as shown.
    let stderr = seen.ended.stderr();
    let whole = stderr.rsplit_once('\n').map_or("", |(lines, _)| lines);
    let shown = whole.lines().filter(|line| line.contains(" tx/s ")).count() as u64;
    let lost = u64::from(died);
    let kept = recorded.intervals;
    if keeps_all(seen.case) && kept + lost < shown {
        failures.push(format!(
            "{shown} intervals were shown, but {kept} are recorded"
        ));
    }
    let Some(result) = result.filter(|_| !died) else {
        return;
    };
    if !keeps_all(seen.case) {
        return;
    }
    let how = result["end"]["how"].as_str().unwrap_or_default();
    let state = &recorded.state;
    if state != how {
        failures.push(format!("the result has `{how}`, the record `{state}`"));
    }
    let total = count(&result["totals"]["events"]);
    let in_grace = count(&result["events_in_grace"]);
    let in_all = recorded.in_intervals + in_grace;
    let intact = outcome(result, "record").is_none_or(|outcome| outcome == "pass");
    let events = recorded.events.unwrap_or_default();
    if events != total || (in_all != total && intact) {
        failures.push(format!(
            "{total} events in the result, {events} in the record, {} in its intervals and \
             {in_grace} in the grace",
            recorded.in_intervals
        ));
    }
    if recorded.sessions > 0 && recorded.in_sessions != total {
        let in_sessions = recorded.in_sessions;
        failures.push(format!(
            "{total} events in total, but {in_sessions} in its sessions"
        ));
    }
}
