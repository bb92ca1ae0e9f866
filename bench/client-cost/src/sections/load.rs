//! Loading one table: what it costs the client, and how fast real servers are.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{PROTOCOLS, Series, sample};
use crate::bench::{Bench, describe};
use crate::figures::Section;
use crate::options::RealServer;
use crate::tool::{self, Limit, NullEndpoint, Protocol, Tool};

const TOOLS: [Tool; 2] = [Tool::Dyno, Tool::Sysbench];
const PAIRS: [(Tool, Tool); 1] = [(Tool::Dyno, Tool::Sysbench)];
const ROWS: u64 = 1_000_000;
/// The database that is created on real servers.
pub(super) const DATABASE: &str = "dyno_client_cost";

/// Measures the client's CPU time per row against null servers, which count the rows they receive.
pub(super) fn run_null(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    for protocol in PROTOCOLS {
        let what = format!("CPU per row, {}", protocol.name());
        let rounds = bench.options.rounds;
        let tools = bench.tools(&TOOLS, protocol);
        let samples = &mut section.samples;
        let series = Series::alternate(bench, &what, &tools, rounds, |tool, round| {
            let server = bench.null_server(protocol)?;
            let mut options = tool::connection(server.endpoint());
            options.push("prepare".to_owned());
            let outcome = bench.measure(prepare(bench, tool, &options))?;
            expect_rows(protocol, &as_real(server.endpoint()), "sbtest")?;
            samples.push(sample(&what, tool, round, ROWS, &outcome));
            Ok(outcome.cpu.total_us() / ROWS as f64)
        });
        series.report(&mut section, &what, "µs", &PAIRS);
    }
    Ok(section)
}

/// Measures rows per second into the real servers that the options name.
pub(super) fn run_real(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    let servers = [
        (Protocol::Mysql, &bench.options.mysql),
        (Protocol::Postgres, &bench.options.postgres),
    ];
    let mut any = false;
    for (protocol, server) in servers {
        let Some(server) = server else {
            continue;
        };
        any = true;
        real_rounds(bench, protocol, server, &mut section)
            .with_context(|| format!("{} at {}", protocol.name(), server.endpoint))?;
    }
    ensure!(any, "needs --mysql-socket or --pgsql-host");
    Ok(section)
}

fn real_rounds(
    bench: &Bench,
    protocol: Protocol,
    server: &RealServer,
    section: &mut Section,
) -> Result<()> {
    let what = format!("rows per second, {}", protocol.name());
    query(
        protocol,
        server,
        None,
        &format!("DROP DATABASE IF EXISTS {DATABASE}"),
    )?;
    query(
        protocol,
        server,
        None,
        &format!("CREATE DATABASE {DATABASE}"),
    )?;
    let rounds = bench.options.rounds;
    let tools = bench.tools(&TOOLS, protocol);
    let samples = &mut section.samples;
    let series = Series::alternate(bench, &what, &tools, rounds, |tool, round| {
        let mut options = real_options(protocol, server);
        options.push("prepare".to_owned());
        let prepared = bench.measure(prepare(bench, tool, &options));
        let rows = expect_rows(protocol, server, DATABASE);
        // Remove what a failed load left behind.
        query(
            protocol,
            server,
            Some(DATABASE),
            "DROP TABLE IF EXISTS sbtest1",
        )?;
        let outcome = prepared?;
        rows?;
        samples.push(sample(&what, tool, round, ROWS, &outcome));
        Ok(ROWS as f64 / outcome.elapsed_s)
    });
    query(protocol, server, None, &format!("DROP DATABASE {DATABASE}"))?;
    series.report(section, &what, "rows/s", &PAIRS);
    Ok(())
}

/// A null server as the clients see it.
fn as_real(endpoint: NullEndpoint) -> RealServer {
    let socket = endpoint.socket.display().to_string();
    match endpoint.protocol {
        Protocol::Mysql => RealServer::new(socket, 0, "root"),
        Protocol::Postgres => RealServer::new(endpoint.directory(), 5432, "postgres"),
    }
}

fn prepare(bench: &Bench, tool: Tool, options: &[String]) -> Command {
    let mut command = tool.script(bench, "oltp_read_write", 1, Limit::Events(0));
    command.arg(format!("--table-size={ROWS}")).args(options);
    command
}

fn real_options(protocol: Protocol, server: &RealServer) -> Vec<String> {
    let RealServer {
        endpoint,
        port,
        user,
    } = server;
    match protocol {
        Protocol::Mysql => vec![
            "--db-driver=mysql".to_owned(),
            format!("--mysql-socket={endpoint}"),
            format!("--mysql-user={user}"),
            format!("--mysql-db={DATABASE}"),
        ],
        Protocol::Postgres => vec![
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={endpoint}"),
            format!("--pgsql-port={port}"),
            format!("--pgsql-user={user}"),
            format!("--pgsql-db={DATABASE}"),
        ],
    }
}

/// Checks the number of rows, because a load that loses rows would look fast.
fn expect_rows(protocol: Protocol, server: &RealServer, database: &str) -> Result<()> {
    let answer = query(
        protocol,
        server,
        Some(database),
        "SELECT count(*) FROM sbtest1",
    )?;
    ensure!(
        answer.trim() == ROWS.to_string(),
        "{} rows were loaded of {ROWS}",
        answer.trim()
    );
    Ok(())
}

/// Runs a statement with the server's own client and returns its output.
pub(super) fn query(
    protocol: Protocol,
    server: &RealServer,
    database: Option<&str>,
    statement: &str,
) -> Result<String> {
    let RealServer {
        endpoint,
        port,
        user,
    } = server;
    let mut command = match protocol {
        Protocol::Mysql => {
            let mut command = Command::new("mysql");
            command.args(["--no-defaults", "-N", "-B", "-S", endpoint, "-u", user]);
            command.args(["-e", statement]).args(database);
            command
        }
        Protocol::Postgres => {
            let mut command = Command::new("psql");
            command.args(["-X", "-A", "-t", "-q", "-h", endpoint, "-U", user]);
            command.args(["-p", &port.to_string(), "-c", statement]);
            command.arg(database.unwrap_or("postgres"));
            command
        }
    };
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", describe(&command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("{}: {}", describe(&command), stderr.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
