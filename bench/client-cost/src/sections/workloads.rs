//! What Dyno's own workloads cost the client: a `tpcc` statement compared with a point select, and
//! `select_only` and a pipeline of ten statements compared with pgbench.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::PROTOCOLS;
use crate::bench::Bench;
use crate::figures::Section;
use crate::tool::{Limit, NullEndpoint, Protocol, Tool};

/// Sessions of each run.
const SESSIONS: usize = 16;
/// Statements in an average `tpcc` transaction, so that both runs take about equally long.
const TPCC_STATEMENTS: u64 = 30;
/// Statements per pipeline.
const PIPELINE_QUERIES: u64 = 10;
/// Events per session of the short run, which is subtracted from the long run.
const SHORT_EVENTS: u64 = 100;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    for protocol in PROTOCOLS {
        if bench.tools(&[Tool::Dyno], protocol).is_empty() {
            continue;
        }
        order_entry(bench, protocol, &mut section)?;
    }
    if !bench
        .tools(&[Tool::Dyno, Tool::Pgbench], Protocol::Postgres)
        .contains(&Tool::Pgbench)
    {
        return Ok(section);
    }
    select_only(bench, &mut section)?;
    pipelines(bench, &mut section)?;
    Ok(section)
}

/// Measures CPU time per statement of `tpcc` and of point selects, in turn.
fn order_entry(bench: &Bench, protocol: Protocol, section: &mut Section) -> Result<()> {
    let server = bench.null_server(protocol)?;
    let script = bench.script("tpcc.lua").display().to_string();
    let queries = bench.options.queries;
    let (mut tpcc, mut selects) = (Vec::new(), Vec::new());
    for round in 0..bench.options.rounds {
        let cases = [
            (script.as_str(), queries / TPCC_STATEMENTS, &mut tpcc),
            ("oltp_point_select", queries, &mut selects),
        ];
        for (workload, events, values) in cases {
            let us = per_query(bench, server.endpoint(), workload, events)?;
            section.samples.push(json!({
                "case": protocol.name(), "workload": workload.rsplit('/').next(),
                "round": round, "cpu_us_per_query": us,
            }));
            values.push(us);
        }
    }
    let name = protocol.name();
    section.add(format!("statement of tpcc, {name}"), "µs", &tpcc);
    section.add(format!("point select, {name}"), "µs", &selects);
    section.add_ratio(
        format!("tpcc / point select, per statement, {name}"),
        &tpcc,
        &selects,
    );
    Ok(())
}

/// Measures CPU time per transaction of `select_only` and of pgbench, in turn.
fn select_only(bench: &Bench, section: &mut Section) -> Result<()> {
    let server = bench.null_server(Protocol::Postgres)?;
    let script = bench.script("select_only.lua").display().to_string();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..bench.options.rounds {
        let us = per_query(bench, server.endpoint(), &script, bench.options.queries)?;
        ours.push(us);
        let peer = pgbench(bench, server.endpoint(), "select_only.pgbench", 1)?;
        theirs.push(peer);
        section.samples.push(json!({
            "case": "select_only", "round": round, "dyno_us": us, "pgbench_us": peer,
        }));
    }
    section.add("dyno, select_only".to_owned(), "µs", &ours);
    section.add("pgbench, select_only".to_owned(), "µs", &theirs);
    section.add_ratio("dyno / pgbench, select_only".to_owned(), &ours, &theirs);
    Ok(())
}

/// Measures CPU time per statement of a pipeline of ten, in turn: from a script, from an SQL file,
/// and from pgbench with the same file.
fn pipelines(bench: &Bench, section: &mut Section) -> Result<()> {
    let server = bench.null_server(Protocol::Postgres)?;
    let events = bench.options.queries / PIPELINE_QUERIES;
    let [script, file] =
        ["pipeline.lua", "pipeline.sql"].map(|name| bench.script(name).display().to_string());
    let (mut scripts, mut files, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.options.rounds {
        let of_script = per_query(bench, server.endpoint(), &script, events)?;
        let of_file = per_query(bench, server.endpoint(), &file, events)?;
        let peer = pgbench(bench, server.endpoint(), "pipeline.sql", PIPELINE_QUERIES)?;
        scripts.push(of_script);
        files.push(of_file);
        theirs.push(peer);
        section.samples.push(json!({
            "case": "pipeline", "round": round, "dyno_us": of_script, "dyno_file_us": of_file,
            "pgbench_us": peer,
        }));
    }
    section.add("dyno, pipeline of ten".to_owned(), "µs", &scripts);
    section.add(
        "dyno, pipeline of ten in a file of SQL".to_owned(),
        "µs",
        &files,
    );
    section.add("pgbench, pipeline of ten".to_owned(), "µs", &theirs);
    section.add_ratio(
        "dyno / pgbench, pipeline of ten".to_owned(),
        &scripts,
        &theirs,
    );
    section.add_ratio(
        "dyno / pgbench, pipeline of ten in a file of SQL".to_owned(),
        &files,
        &theirs,
    );
    Ok(())
}

/// The CPU time of the process per statement, without the cost of starting up.
fn per_query(bench: &Bench, endpoint: NullEndpoint, workload: &str, events: u64) -> Result<f64> {
    let short = dyno(bench, endpoint, workload, SHORT_EVENTS * SESSIONS as u64)?;
    let long = dyno(
        bench,
        endpoint,
        workload,
        SHORT_EVENTS * SESSIONS as u64 + events,
    )?;
    ensure!(
        long.1 > short.1,
        "the long run made no more statements than the short one"
    );
    Ok((long.0 - short.0) / (long.1 - short.1))
}

/// CPU time in microseconds, and the number of statements.
fn dyno(bench: &Bench, endpoint: NullEndpoint, workload: &str, events: u64) -> Result<(f64, f64)> {
    let socket = endpoint.socket.display();
    let target = match endpoint.protocol {
        Protocol::Mysql => format!("mysql://root@localhost/sbtest?socket={socket}"),
        Protocol::Postgres => {
            format!("postgres://postgres@/sbtest?host={}", endpoint.directory())
        }
    };
    let mut command = Command::new(bench.path(Tool::Dyno));
    command.args(["run", workload, "--target", &target, "--workers", "1"]);
    command.args(["-c", &SESSIONS.to_string(), "--events", &events.to_string()]);
    // The null server answers every query with the same row, which is not a connection limit.
    command.args([
        "--warmup", "0", "--ledger", "off", "--json", "--quiet", "--force",
    ]);
    command.args([
        "--calibrate",
        "never",
        "--results",
        "none",
        "--observe",
        "off",
    ]);
    let outcome = bench.measure(command)?;
    let summary: Value = serde_json::from_str(&outcome.report)
        .with_context(|| format!("`dyno run --json` is not JSON:\n{}", outcome.report))?;
    let totals = &summary["totals"];
    let statements = ["reads", "writes", "other"].map(|kind| totals[kind].as_f64());
    let statements: Option<f64> = statements.into_iter().sum();
    let statements = statements.context("the result does not tell its statements")?;
    ensure!(
        totals["events"] == events,
        "{} events were made of {events}",
        totals["events"]
    );
    Ok((outcome.cpu.total_us(), statements))
}

/// pgbench's CPU time in microseconds per statement, for a script of this many statements.
fn pgbench(bench: &Bench, endpoint: NullEndpoint, script: &str, queries: u64) -> Result<f64> {
    let count = |events: u64| -> Result<f64> {
        let limit = Limit::Events(events);
        let command = Tool::pgbench_script(bench, script, endpoint, SESSIONS, limit);
        Ok(bench.measure(command)?.cpu.total_us())
    };
    let sessions = SESSIONS as u64;
    let each = (bench.options.queries / queries).div_ceil(sessions) * sessions;
    let short = SHORT_EVENTS * sessions;
    Ok((count(short + each)? - count(short)?) / (each * queries) as f64)
}
