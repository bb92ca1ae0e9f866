//! The sections, one per file.

mod events;
mod exporting;
mod instructions;
mod load;
mod many_sessions;
mod pacing;
mod point_select;
mod recording;
mod workloads;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::bench::{Bench, Outcome};
use crate::figures::Section;
use crate::tool::{Protocol, Tool};

/// Section names, in order.
pub(crate) const SECTIONS: &[&str] = &[
    "point-select",
    "instructions",
    "events",
    "load",
    "load-servers",
    "many-sessions",
    "pacing",
    "recording",
    "exporting",
    "workloads",
];

const PROTOCOLS: [Protocol; 2] = [Protocol::Mysql, Protocol::Postgres];

/// Runs one section.
pub(crate) fn run(name: &str, bench: &Bench) -> Result<Section> {
    match name {
        "point-select" => point_select::run(bench),
        "instructions" => instructions::run(bench),
        "events" => events::run(bench),
        "load" => load::run_null(bench),
        "load-servers" => load::run_real(bench),
        "many-sessions" => many_sessions::run(bench),
        "pacing" => pacing::run(bench),
        "recording" => recording::run(bench),
        "exporting" => exporting::run(bench),
        "workloads" => workloads::run(bench),
        other => bail!("there is no section `{other}`"),
    }
}

/// Values per round of several tools.
#[derive(Default)]
struct Series {
    values: Vec<(Tool, Vec<f64>)>,
}

impl Series {
    /// Measures the tools in turn, round after round. A tool that fails is reported as a problem
    /// and skipped in later rounds.
    fn alternate(
        bench: &Bench,
        what: &str,
        tools: &[Tool],
        rounds: usize,
        mut measure: impl FnMut(Tool, usize) -> Result<f64>,
    ) -> Series {
        let (mut series, mut tools) = (Series::default(), tools.to_vec());
        for round in 0..rounds {
            tools.retain(|&tool| match measure(tool, round) {
                Ok(value) => {
                    series.push(tool, value);
                    true
                }
                Err(error) => {
                    bench.problem(format!("{what}, {}: {error:#}", tool.name()));
                    false
                }
            });
        }
        series.values.retain(|(_, values)| values.len() == rounds);
        series
    }

    fn push(&mut self, tool: Tool, value: f64) {
        match self.values.iter_mut().find(|(known, _)| *known == tool) {
            Some((_, values)) => values.push(value),
            None => self.values.push((tool, vec![value])),
        }
    }

    fn of(&self, tool: Tool) -> &[f64] {
        let mut values = self.values.iter();
        values
            .find(|(known, _)| *known == tool)
            .map_or(&[], |(_, values)| values)
    }

    /// Adds the figure of each tool, and then the ratios of the pairs.
    fn report(
        &self,
        section: &mut Section,
        what: &str,
        unit: &'static str,
        pairs: &[(Tool, Tool)],
    ) {
        for (tool, values) in &self.values {
            section.add(format!("{}, {what}", tool.name()), unit, values);
        }
        for (over, under) in pairs {
            let name = format!("{} / {}, {what}", over.name(), under.name());
            section.add_ratio(name, self.of(*over), self.of(*under));
        }
    }
}

/// A single measurement for the raw data.
fn sample(case: &str, tool: Tool, round: usize, count: u64, outcome: &Outcome) -> Value {
    json!({
        "case": case, "tool": tool.name(), "round": round, "count": count,
        "user_us": outcome.cpu.user_us, "system_us": outcome.cpu.system_us,
        "elapsed_s": outcome.elapsed_s, "rss_max_bytes": outcome.rss_max_bytes,
    })
}
