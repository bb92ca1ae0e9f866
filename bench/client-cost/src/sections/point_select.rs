//! Client CPU time per point select.

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
/// Numbers of sessions, each with the divisor of `--queries`, because a single session mostly
/// waits.
const SIZES: [(usize, u64); 3] = [(1, 10), (16, 1), (256, 1)];
/// Queries per session of the short run, which is subtracted from the long run. They are enough to
/// compile the script of every session.
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

/// The sessions of a run, and how many queries the short and the long run make.
#[derive(Clone, Copy)]
struct Size {
    sessions: usize,
    short: u64,
    long: u64,
}

impl Size {
    /// The long run makes `queries` more than the short one. Both make the same number in each
    /// session.
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

/// Limits the runs by queries instead of time, and subtracts a short run from a long one. This
/// cancels the cost of starting up, which for sysbench is a millisecond of CPU time per thread,
/// however fast the machine is.
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
