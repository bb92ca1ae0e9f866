//! The raw data: one JSON file per section in `bench/results/`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use dyno_core::clock::wall_time;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::figures::{Figure, Section};
use crate::quiet::Disturbed;
use crate::tool::Tool;

/// Writes the result of a section, with the data needed to judge and repeat it.
pub fn write(bench: &Bench, name: &str, section: &Section, disturbed: Disturbed) -> Result<()> {
    let path = path(bench, name);
    let versions = |tool: Tool| bench.version(tool);
    let content = json!({
        "section": name,
        "date": civil_date(wall_time().as_secs()),
        "command": bench.options.command,
        "rounds": bench.options.rounds,
        "machine": machine(),
        "disturbed": {
            "others_cores": disturbed.others_cores, "stolen_cores": disturbed.stolen_cores,
        },
        "versions": {
            "dyno": versions(Tool::Dyno),
            "sysbench": versions(Tool::Sysbench),
            "pgbench": versions(Tool::Pgbench),
        },
        "figures": section.figures.iter().map(Figure::to_json).collect::<Vec<_>>(),
        "samples": section.samples,
    });
    let folder = path.parent().context("a results file without a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let text = serde_json::to_string_pretty(&content)? + "\n";
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads the last result of a section; `None` if there is no file.
pub fn read(bench: &Bench, name: &str) -> Result<Option<Value>> {
    let path = path(bench, name);
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    Ok(Some(value))
}

fn path(bench: &Bench, name: &str) -> PathBuf {
    bench
        .root
        .join("bench/results")
        .join(format!("{name}.json"))
}

fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    json!({
        "cpu": model,
        "cores": std::thread::available_parallelism().ok().map(|cores| cores.get()),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
    })
}

/// The date of a Unix time, by Howard Hinnant's algorithm `civil_from_days`.
fn civil_date(unix_s: u64) -> String {
    let days = unix_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_civil() {
        assert_eq!(civil_date(0), "1970-01-01");
        assert_eq!(civil_date(951_782_400), "2000-02-29");
        assert_eq!(civil_date(1_767_225_599), "2025-12-31");
        assert_eq!(civil_date(1_767_225_600), "2026-01-01");
    }
}
