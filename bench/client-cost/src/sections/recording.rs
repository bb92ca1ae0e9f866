//! What recording and observing cost the client: the same binary, with both on and with both off.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::figures::Section;
use crate::options::RealServer;
use crate::tool::{Protocol, Tool};

/// Sessions of each run.
const SESSIONS: &str = "16";
/// Long enough that work done once a second weighs as much as in a long run.
const SECONDS_MIN: u32 = 10;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    if bench.tools(&[Tool::Dyno], Protocol::Mysql).is_empty() {
        return Ok(section);
    }
    let null = bench.null_server(Protocol::Mysql)?;
    let socket = null.endpoint().socket.display().to_string();
    rounds(
        bench,
        "null server",
        &url(&socket, "root", "sbtest"),
        &mut section,
    )?;
    if let Some(RealServer { endpoint, user, .. }) = &bench.options.mysql {
        let target = url(endpoint, user, "mysql");
        rounds(bench, "real server", &target, &mut section)?;
    }
    Ok(section)
}

pub(super) fn url(socket: &str, user: &str, database: &str) -> String {
    format!("mysql://{user}@localhost/{database}?socket={socket}")
}

fn rounds(bench: &Bench, what: &str, target: &str, section: &mut Section) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a folder for the results")?;
    let file = folder.path().join("dyno.db");
    let file = file.display().to_string();
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for round in 0..bench.options.rounds {
        // Alternate which of them goes first.
        let first = round % 2 == 0;
        for recorded in [first, !first] {
            let more: &[&str] = match recorded {
                true => &["--results", &file],
                false => &["--results", "none", "--observe", "off"],
            };
            let us = cpu_us(bench, target, more)?;
            let case = if recorded { "on" } else { "off" };
            section.samples.push(json!({
                "case": what, "recording": case, "round": round, "cpu_us_per_event": us,
            }));
            if recorded { on.push(us) } else { off.push(us) }
        }
    }
    section.add(format!("both off, {what}"), "µs CPU per event", &off);
    section.add(format!("both on, {what}"), "µs CPU per event", &on);
    section.add_ratio(format!("on / off, {what}"), &on, &off);
    Ok(())
}

/// CPU time of the whole process per measured event, with these additional options.
pub(super) fn cpu_us(bench: &Bench, target: &str, more: &[&str]) -> Result<f64> {
    let mut command = Command::new(bench.path(Tool::Dyno));
    command.arg("run").arg(bench.script("select_one.lua"));
    command.args([
        "--target",
        target,
        "-c",
        SESSIONS,
        "--workers",
        "1",
        "--warmup",
        "1s",
    ]);
    let seconds = bench.options.seconds.max(SECONDS_MIN);
    command.args([
        "-t",
        &format!("{seconds}s"),
        "--json",
        "--quiet",
        "--calibrate",
        "never",
    ]);
    command.args(more);
    let outcome = bench.measure(command)?;
    let summary: Value = serde_json::from_str(&outcome.report)
        .with_context(|| format!("`dyno run --json` is not JSON:\n{}", outcome.report))?;
    let number = |value: &Value| {
        value
            .as_f64()
            .with_context(|| format!("{value} is no number"))
    };
    let client = &summary["client"];
    let cpu_s = number(&client["user_s"])? + number(&client["system_s"])?;
    Ok(cpu_s * 1e6 / number(&summary["totals"]["events"])?)
}
