//! User-space instructions per point select, which other processes do not affect.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{PROTOCOLS, Series};
use crate::bench::Bench;
use crate::figures::Section;
use crate::tool::{Limit, NullEndpoint, Tool, sessions_text};

const TOOLS: [Tool; 4] = [Tool::Floor, Tool::Dyno, Tool::Sysbench, Tool::Pgbench];
const PAIRS: [(Tool, Tool); 3] = [
    (Tool::Dyno, Tool::Sysbench),
    (Tool::Dyno, Tool::Pgbench),
    (Tool::Dyno, Tool::Floor),
];
const SESSIONS: usize = 16;
/// Counts hardly vary, and the second round shows by how much.
const ROUNDS: usize = 2;
/// Both are far more than it takes to compile the script, and multiples of the number of sessions.
const EVENTS: [u64; 2] = [32_000, 96_000];

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    for protocol in PROTOCOLS {
        let server = bench.null_server(protocol)?;
        let what = format!("{}, {}", protocol.name(), sessions_text(SESSIONS));
        let tools = bench.tools(&TOOLS, protocol);
        let samples = &mut section.samples;
        let series = Series::alternate(bench, &what, &tools, ROUNDS, |tool, round| {
            let less = instructions(bench, tool, server.endpoint(), EVENTS[0])?;
            let more = instructions(bench, tool, server.endpoint(), EVENTS[1])?;
            ensure!(more > less, "{more} instructions are not above {less}");
            samples.push(json!({
                "case": what, "tool": tool.name(), "round": round,
                "events": EVENTS, "instructions": [less, more],
            }));
            Ok((more - less) as f64 / (EVENTS[1] - EVENTS[0]) as f64)
        });
        series.report(&mut section, &what, "instructions", &PAIRS);
    }
    Ok(section)
}

/// The instructions of a whole run.
fn instructions(bench: &Bench, tool: Tool, endpoint: NullEndpoint, events: u64) -> Result<u64> {
    let bare = tool.point_select(bench, endpoint, SESSIONS, Limit::Events(events));
    let mut command = Command::new("valgrind");
    command.env("DYNO_RESULTS", "none");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(bare.get_program()).args(bare.get_args());
    let outcome = bench.measure(command)?;
    let queries = tool.queries(&outcome.report)?;
    ensure!(queries == events, "{queries} queries were made of {events}");
    collected(&outcome.messages)
}

/// The sum that callgrind prints when it ends.
fn collected(messages: &str) -> Result<u64> {
    let (_, rest) = messages
        .rsplit_once("Collected :")
        .with_context(|| format!("callgrind gave no sum:\n{messages}"))?;
    let number = rest.split_whitespace().next().unwrap_or_default();
    number
        .parse()
        .with_context(|| format!("callgrind's sum is `{number}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_read() {
        let messages = "==7== Events    : Ir\n==7== Collected : 4163933\n==7== \n";
        assert_eq!(collected(messages).unwrap(), 4_163_933);
        assert!(collected("==7== killed").is_err());
    }
}
