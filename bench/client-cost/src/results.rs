//! The raw data: one JSON file per section in `bench/results/`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use dyno_core::clock::{civil, wall_time};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::figures::{Figure, Section};
use crate::quiet::Disturbed;
use crate::tool::Tool;

/// Writes the result of a section, with everything needed to judge and repeat it.
pub(crate) fn write(
    bench: &Bench,
    name: &str,
    section: &Section,
    disturbed: Disturbed,
) -> Result<()> {
    let path = path(bench, name);
    let versions = |tool: Tool| bench.version(tool);
    let content = json!({
        "section": name,
        "date": civil(wall_time().as_secs_f64(), "%Y-%m-%d"),
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
pub(crate) fn read(bench: &Bench, name: &str) -> Result<Option<Value>> {
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
