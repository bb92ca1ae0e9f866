//! Client CPU per point select.

use anyhow::{Result, ensure};

use super::{PROTOCOLS, Series, sample};
use crate::bench::{Bench, Outcome};
use crate::figures::Section;
use crate::tool::{Limit, NullEndpoint, Protocol, Tool, sessions_text};

const TOOLS: [Tool; 4] = [Tool::Floor, Tool::Dyno, Tool::Sysbench, Tool::Pgbench];
const PAIRS: [(Tool, Tool); 6] = [
    (Tool::Dyno, Tool::Floor),
    (Tool::Dyno, Tool::Sysbench),
    (Tool::Dyno, Tool::Pgbench),
    (Tool::Floor, Tool::Sysbench),
    (Tool::Floor, Tool::Pgbench),
    (Tool::Pgbench, Tool::Sysbench),
];
/// Sessions, and the divisor of `--queries`: a single session mostly waits.
const SIZES: [(usize, u64); 3] = [(1, 10), (16, 1), (256, 1)];
/// Queries per session of the short run, which is subtracted from the long run: enough to compile
/// every session's script.
const SHORT_QUERIES: u64 = 100;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    for protocol in PROTOCOLS {
        let tools = bench.tools(&TOOLS, protocol);
        for (sessions, divisor) in SIZES {
            let size = Size::new(sessions, bench.options.queries / divisor);
            rounds(bench, protocol, size, &tools, &mut section)?;
        }
    }
    Ok(section)
}

/// A run's sessions, and the number of queries of the short and the long run.
#[derive(Clone, Copy)]
struct Size {
    sessions: usize,
    short: u64,
    long: u64,
}

impl Size {
    /// The long run makes `queries` more than the short one; both are the same for each session.
    fn new(sessions: usize, queries: u64) -> Size {
        let each = queries.div_ceil(sessions as u64);
        let short = SHORT_QUERIES * sessions as u64;
        Size {
            sessions,
            short,
            long: short + each * sessions as u64,
        }
    }
}

/// Limits the runs by queries, not by time, and subtracts a short one. This cancels the start-up
/// cost, in sysbench a millisecond of CPU per thread, whatever the speed of the machine.
fn rounds(
    bench: &Bench,
    protocol: Protocol,
    size: Size,
    tools: &[Tool],
    section: &mut Section,
) -> Result<()> {
    let server = bench.null_server(protocol)?;
    let what = format!("{}, {}", protocol.name(), sessions_text(size.sessions));
    let rounds = bench.options.rounds;
    let samples = &mut section.samples;
    let series = Series::alternate(bench, &what, tools, rounds, |tool, round| {
        let short = measured(bench, tool, server.endpoint(), size.sessions, size.short)?;
        let long = measured(bench, tool, server.endpoint(), size.sessions, size.long)?;
        for (queries, outcome) in [(size.short, &short), (size.long, &long)] {
            samples.push(sample(&what, tool, round, queries, outcome));
        }
        let cpu_us = long.cpu.total_us() - short.cpu.total_us();
        Ok(cpu_us / (size.long - size.short) as f64)
    });
    series.report(section, &what, "µs", &PAIRS);
    Ok(())
}

fn measured(
    bench: &Bench,
    tool: Tool,
    endpoint: NullEndpoint,
    sessions: usize,
    queries: u64,
) -> Result<Outcome> {
    let command = tool.point_select(bench, endpoint, sessions, Limit::Events(queries));
    let outcome = bench.measure(command)?;
    let made = tool.queries(&outcome.report)?;
    ensure!(made == queries, "{made} queries were made of {queries}");
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_runs_give_each_session_the_same() {
        let size = Size::new(256, 400_000);
        assert_eq!((size.short % 256, size.long % 256), (0, 0));
        assert!(size.long - size.short >= 400_000);
    }
}
