//! The cost of a script's event without a database.

use anyhow::{Result, ensure};

use super::{Series, sample};
use crate::bench::Bench;
use crate::figures::Section;
use crate::tool::{self, Limit, Protocol, Tool};

const PAIRS: [(Tool, Tool); 1] = [(Tool::Dyno, Tool::Sysbench)];

/// Name, script with its options, and number of events.
const CASES: [(&str, &str, &[&str], u64); 3] = [
    ("empty event", "empty.lua", &[], 10_000_000),
    (
        "random text of 119 characters",
        "random_strings.lua",
        &["--texts=1", "--numbers=0"],
        2_000_000,
    ),
    (
        "ten random numbers",
        "random_strings.lua",
        &["--texts=0", "--numbers=10", "--rand-type=uniform"],
        4_000_000,
    ),
];

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    // There is no server; the protocol only selects the tools.
    let tools = bench.tools(&[Tool::Dyno, Tool::Sysbench], Protocol::Mysql);
    for (what, script, options, events) in CASES {
        let script = bench.script(script).display().to_string();
        let rounds = bench.options.rounds;
        let samples = &mut section.samples;
        let series = Series::alternate(bench, what, &tools, rounds, |tool, round| {
            let mut command = tool.script(bench, &script, 1, Limit::Events(events));
            command.args(options).arg("run");
            let outcome = bench.measure(command)?;
            let done = tool::events(&outcome.report)?;
            ensure!(done == events, "{done} events were made of {events}");
            samples.push(sample(what, tool, round, done, &outcome));
            Ok(outcome.cpu.total_us() / events as f64)
        });
        series.report(&mut section, what, "µs", &PAIRS);
    }
    Ok(section)
}
