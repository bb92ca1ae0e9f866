//! Compares equal runs: `compare` must not find differences more often than its confidence level
//! allows.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xtask::say;
use xtask::servers::Kind;

use crate::bed::dyno_command;
use crate::child::Running;
use crate::{Campaign, Closed};

use super::bed::Bed;
use super::case::On;

/// The runs of a group. One half is compared with the other, for every possible split.
const RUNS: usize = 6;
/// The total number of comparisons.
const COMPARISONS: usize = 400;
/// The accepted percentage of intervals that exclude 1. Intervals of 95 % exclude it in 3 to 7 % of
/// the cases, and with this many comparisons chance moves that by 1 % either way.
const SHARE: [f64; 2] = [2.0, 8.0];
const RUN: &str = "oltp_point_select --table-size 10000 -c 4 -t 6s --warmup 1s";
const LIMIT: Duration = Duration::from_secs(120);

/// Makes groups of runs on all servers in turn, and compares every split of each.
///
/// # Errors
/// A server cannot be started, or a comparison is refused.
pub(super) fn run(campaign: &Campaign, number: u64) -> Result<()> {
    if campaign.options.cases.is_some() && !super::wanted(campaign, number) {
        return Ok(());
    }
    let splits = splits();
    let dyno = &campaign.options.dyno;
    let mut beds = Vec::new();
    for kind in Kind::ALL {
        let bed = Bed::make(On::Server(kind), &[], dyno)?;
        bed.renew()?;
        let url = bed.url();
        bed.dyno(&[
            "prepare",
            "oltp_point_select",
            "--table-size",
            "10000",
            "--target",
            &url,
        ])?;
        beds.push(bed);
    }
    let folder = campaign.case_folder(number)?;
    let (mut compared, mut excluded, mut claimed) = (0_usize, 0_usize, 0_usize);
    for (group, bed) in beds.iter().cycle().enumerate() {
        if compared >= COMPARISONS || campaign.over() {
            break;
        }
        let results = folder.join(format!("{group}.db"));
        for _ in 0..RUNS {
            measure(bed, &results)?;
        }
        for split in &splits {
            let outcome = compare(dyno, &results, split)?;
            compared += 1;
            excluded += usize::from(outcome.excluded);
            claimed += usize::from(outcome.claimed);
        }
    }
    let share = |count: usize| 100.0 * count as f64 / compared.max(1) as f64;
    let line = format!(
        "{compared} comparisons of equal runs: the interval of the rate excludes 1 \
         in {:.1} %, some figure is called better or worse in {:.1} %",
        share(excluded),
        share(claimed)
    );
    say(&line);
    let within = (SHARE[0]..=SHARE[1]).contains(&share(excluded));
    let failures = match compared < COMPARISONS || within {
        true => Vec::new(),
        false => vec![format!("not within {} to {} %: {line}", SHARE[0], SHARE[1])],
    };
    campaign.close(&Closed {
        number,
        what: "pairs",
        folder: &folder,
        faults: 0,
        inputs: 0,
        failures: &failures,
    });
    Ok(())
}

fn measure(bed: &Bed, results: &Path) -> Result<()> {
    let mut command = dyno_command(&bed.dyno);
    command.arg("run").args(RUN.split_whitespace());
    command.args([
        "--target",
        &bed.url(),
        "-q",
        "--calibrate",
        "never",
        "--results",
    ]);
    command.arg(results);
    let ended = Running::start(&mut command)?.finish(LIMIT)?;
    if !ended.status.success() {
        bail!("a run failed: {}", ended.stderr());
    }
    Ok(())
}

/// The result of a comparison of two equal sides.
struct Outcome {
    /// Whether the interval of the rate excludes 1.
    excluded: bool,
    /// Whether a figure is called better or worse.
    claimed: bool,
}

fn compare(dyno: &Path, results: &Path, split: &[usize]) -> Result<Outcome> {
    let side = |taken: bool| -> String {
        let runs = (1..=RUNS).filter(|run| split.contains(run) == taken);
        runs.map(|run| run.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    let mut command = dyno_command(dyno);
    command.args(["compare", &side(true), &side(false), "--json", "--results"]);
    command.arg(results);
    let ended = Running::start(&mut command)?.finish(LIMIT)?;
    let result: Value = serde_json::from_slice(&ended.stdout)
        .with_context(|| format!("no comparison: {}", ended.stderr()))?;
    let metrics = find(&result, "metrics").context("a comparison without figures")?;
    let metrics = metrics.as_array().context("the figures are not a list")?;
    let rate = metrics.iter().find(|metric| metric["name"] == "events");
    let rate = rate.context("a comparison without a rate")?;
    let bound = |name: &str| rate[name].as_f64();
    let (low, high) = (bound("low"), bound("high"));
    Ok(Outcome {
        excluded: low.is_some_and(|low| low > 1.0) || high.is_some_and(|high| high < 1.0),
        claimed: metrics.iter().any(|metric| metric["significant"] == true),
    })
}

/// The first value with this name, at any depth.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            let own = fields.get(name);
            own.or_else(|| fields.values().find_map(|value| find(value, name)))
        }
        Value::Array(values) => values.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

/// All ways to select half of the runs. Leaves out mirror images: each selection has the first run.
fn splits() -> Vec<Vec<usize>> {
    let mut splits = Vec::new();
    for second in 2..=RUNS {
        for third in second + 1..=RUNS {
            splits.push(vec![1, second, third]);
        }
    }
    splits
}
