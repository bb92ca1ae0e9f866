//! Ten thousand sessions on one worker: memory and throughput.

use anyhow::{Result, ensure};

use super::{PROTOCOLS, sample};
use crate::bench::Bench;
use crate::figures::Section;
use crate::tool::{Limit, Protocol, Tool};

const FEW: usize = 1_000;
const MANY: usize = 10_000;
/// File descriptors for the load generator, which inherits the limit of this process.
const OPEN_FILES: u64 = 11_000;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    dyno_sys::process::raise_open_files(OPEN_FILES)?;
    let mut section = Section::default();
    for protocol in PROTOCOLS {
        for tool in bench.tools(&[Tool::Dyno, Tool::Floor], protocol) {
            if let Err(error) = rounds(bench, protocol, tool, &mut section) {
                bench.problem(format!("{}, {}: {error:#}", protocol.name(), tool.name()));
            }
        }
    }
    Ok(section)
}

fn rounds(bench: &Bench, protocol: Protocol, tool: Tool, section: &mut Section) -> Result<()> {
    let (mut kibibytes, mut ratios, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.options.rounds {
        let one = measured(bench, protocol, tool, round, 1, section)?;
        let few = measured(bench, protocol, tool, round, FEW, section)?;
        let many = measured(bench, protocol, tool, round, MANY, section)?;
        let grown = many.rss_max_bytes as f64 - one.rss_max_bytes as f64;
        kibibytes.push(grown / (MANY - 1) as f64 / 1024.0);
        ratios.push(many.per_second / few.per_second);
        rates.push(many.per_second);
    }
    let (tool, protocol) = (tool.name(), protocol.name());
    section.add(
        format!("{tool}, memory per session, {protocol}"),
        "KiB",
        &kibibytes,
    );
    section.add(
        format!("{tool}, throughput of {MANY} over {FEW} sessions, {protocol}"),
        "ratio",
        &ratios,
    );
    section.add(
        format!("{tool}, queries per second of {MANY} sessions, {protocol}"),
        "/s",
        &rates,
    );
    Ok(())
}

struct Measured {
    per_second: f64,
    rss_max_bytes: u64,
}

fn measured(
    bench: &Bench,
    protocol: Protocol,
    tool: Tool,
    round: usize,
    sessions: usize,
    section: &mut Section,
) -> Result<Measured> {
    let server = bench.null_server(protocol)?;
    let limit = Limit::Seconds(bench.options.seconds);
    let command = tool.point_select(bench, server.endpoint(), sessions, limit);
    let outcome = bench.measure(command)?;
    let queries = tool.queries(&outcome.report)?;
    ensure!(queries > 0, "{} made no query", tool.name());
    let case = format!("{}, {sessions} sessions", protocol.name());
    section
        .samples
        .push(sample(&case, tool, round, queries, &outcome));
    Ok(Measured {
        // Both numbers of sessions run for the same time once all sessions are connected.
        per_second: queries as f64 / f64::from(bench.options.seconds),
        rss_max_bytes: outcome.rss_max_bytes,
    })
}
