//! The drivers on a simulated network: runs the `dyno-drivers` tests of that name in an optimised
//! build, with any number of seeds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_core::Clock;
use serde_json::Value;
use xtask::say;

use crate::Campaign;
use crate::child::{Ended, Running};

/// Seeds per process and kind.
const ROUND: u64 = 2_000;
/// How long a round may take on the slowest machine.
const ROUND_LIMIT: Duration = Duration::from_secs(1_800);
/// How often to check whether a process has ended.
const LOOK: Duration = Duration::from_millis(500);
/// How many kinds run in parallel.
const THREADS: &str = "2";
/// Part of the names of the tests.
const TESTS: &str = "survives_any_network";
/// The prefix of the lines that the tests print.
const MARK: &str = "network: ";

/// Results for the seeds of one kind, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    seeds: u64,
    failures: u64,
}

/// Tries seeds until the requested number is reached, or the campaign is over.
///
/// # Errors
/// There were failures, or the tests cannot be built.
pub fn run(campaign: &Campaign) -> Result<()> {
    let tests = build()?;
    let began_ns = Clock.now();
    let first = campaign.options.seed;
    let end = campaign
        .options
        .seeds
        .map_or(u64::MAX, |count| first.saturating_add(count));
    let (mut seed, mut lost) = (first, 0);
    let mut kinds = BTreeMap::new();
    while seed < end && !campaign.over() {
        let count = ROUND.min(end - seed);
        let folder = campaign.case_folder(seed)?;
        let ended = try_round(&tests, campaign, seed, count, &folder)?;
        let reported = read(&ended.stdout(), &mut kinds);
        // An interrupted process has not failed.
        let broke = campaign_failure(&ended, &reported).filter(|_| !campaign.stopped());
        lost += u64::from(broke.is_some());
        for failure in reported.iter().chain(&broke) {
            say(&format!("FAILURE {failure}; kept: {}", folder.display()));
        }
        if reported.is_empty() && broke.is_none() {
            // The next campaign with this seed overwrites whatever is left.
            let _ = fs::remove_dir_all(&folder);
        }
        seed += count;
    }
    let mut all = Count {
        seeds: 0,
        failures: lost,
    };
    for (kind, count) in &kinds {
        say(&format!(
            "{kind}: {} seeds, {} failures",
            count.seeds, count.failures
        ));
        all.seeds += count.seeds;
        all.failures += count.failures;
    }
    let seconds = Clock.now().saturating_sub(began_ns) as f64 / 1e9;
    say(&format!(
        "{} seeds, {} failures in {seconds:.0} s",
        all.seeds, all.failures
    ));
    match all.failures {
        0 if all.seeds == 0 => bail!("no seed was tried"),
        0 => Ok(()),
        count => bail!("the campaign found {count} failures"),
    }
}

/// Builds the tests and returns the path of their executable.
fn build() -> Result<PathBuf> {
    let mut build = xtask::cargo();
    build.args(["test", "--release", "-p", "dyno-drivers", "--lib"]);
    build.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    build.stderr(Stdio::inherit());
    let output = build.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the tests of dyno-drivers could not be built");
    }
    program(&String::from_utf8_lossy(&output.stdout))
        .context("cargo did not print the path of the tests of dyno-drivers")
}

/// The path of the executable in cargo's messages.
fn program(messages: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    })
}

/// Tries a round of seeds on each kind.
fn try_round(
    tests: &Path,
    campaign: &Campaign,
    first: u64,
    count: u64,
    folder: &Path,
) -> Result<Ended> {
    let mut command = Command::new(tests);
    command
        .args(["--nocapture", "--test-threads", THREADS, TESTS])
        .env("DYNO_NETWORK_FIRST_SEED", first.to_string())
        .env("DYNO_NETWORK_SEEDS", count.to_string());
    let mut running = Running::start(&mut command)?;
    let limit_ns = Clock.now() + ROUND_LIMIT.as_nanos() as u64;
    while running.run_for(LOOK) && Clock.now() < limit_ns && !campaign.stopped() {}
    let ended = running.finish(Duration::ZERO)?;
    ended.keep(folder)?;
    Ok(ended)
}

/// Counts the seeds that the tests have tried. Returns the failures, with the commands that repeat
/// them.
fn read(output: &str, kinds: &mut BTreeMap<String, Count>) -> Vec<String> {
    let mut failures = Vec::new();
    // The test harness may print its own text before a line of the tests.
    let lines = output.lines().filter_map(|line| line.split_once(MARK));
    for (_, line) in lines {
        let Some((kind, rest)) = line.split_once(": ") else {
            continue;
        };
        let words: Vec<&str> = rest.split([' ', ',', ';']).collect();
        match words[..] {
            ["seed", seed, "failed:", ..] => failures.push(format!(
                "{kind}: {rest}\n  repeat: cargo campaign network --seed {seed} --seeds 1"
            )),
            [seeds, "seeds", "", failed, ..] => {
                let count: &mut Count = kinds.entry(kind.to_owned()).or_default();
                count.seeds += seeds.parse::<u64>().unwrap_or_default();
                count.failures += failed.parse::<u64>().unwrap_or_default();
            }
            _ => {}
        }
    }
    failures
}

/// A failure of the process that the tests did not report with a seed.
fn campaign_failure(ended: &Ended, reported: &[String]) -> Option<String> {
    if ended.overdue {
        return Some(format!("the tests did not end within {ROUND_LIMIT:?}"));
    }
    let broke = reported.is_empty() && !ended.status.success();
    broke.then(|| format!("the tests ended with {}", ended.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_and_failures_can_be_repeated() {
        let mut kinds = BTreeMap::new();
        let output = "running 6 tests\n\
            test network::mysql_survives_any_network ... network: MySQL: 9 seeds, 0 failures; x\n\
            network: PostgreSQL under TLS: seed 188 failed: Broken pipe, it said\n\
            network: PostgreSQL under TLS: 2000 seeds, 1 failures; SeedOutcome {}\n\
            network: MySQL: 7 seeds, 0 failures; x\n";
        let failures = read(output, &mut kinds);
        assert_eq!(failures.len(), 1);
        for part in [
            "PostgreSQL under TLS: seed 188 failed: Broken pipe, it said",
            "cargo campaign network --seed 188 --seeds 1",
        ] {
            assert!(failures[0].contains(part), "{failures:?}");
        }
        let count = |seeds, failures| Count { seeds, failures };
        assert_eq!(kinds["MySQL"], count(16, 0));
        assert_eq!(kinds["PostgreSQL under TLS"], count(2000, 1));
        assert_eq!(kinds.len(), 2);
    }

    #[test]
    fn the_program_is_the_last_one_in_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/t/dyno_drivers-1\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(program(messages), Some(PathBuf::from("/t/dyno_drivers-1")));
        assert_eq!(program("{}"), None);
    }
}
