//! Starts each load generator with the same work, and parses its report.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::bench::Bench;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// A minimal client, which shows the lowest possible cost of a point select.
    Floor,
    /// Dyno.
    Dyno,
    /// sysbench 1.0.
    Sysbench,
    /// pgbench with one thread.
    Pgbench,
}

/// A protocol, and the null server that speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// MySQL's.
    Mysql,
    /// PostgreSQL's.
    Postgres,
}

/// The limit of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// Seconds.
    Seconds(u32),
    /// Events of all sessions together.
    Events(u64),
}

/// A server's socket and, for PostgreSQL's clients, the directory of the socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NullEndpoint<'a> {
    pub protocol: Protocol,
    pub socket: &'a Path,
}

impl NullEndpoint<'_> {
    /// The directory of the socket.
    pub(crate) fn directory(self) -> String {
        let directory = self.socket.parent().unwrap_or(Path::new("/"));
        directory.display().to_string()
    }
}

impl Tool {
    /// The name in the figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Floor => "floor",
            Tool::Dyno => "dyno",
            Tool::Sysbench => "sysbench",
            Tool::Pgbench => "pgbench",
        }
    }

    /// Whether the load generator speaks a protocol.
    pub(crate) fn speaks(self, protocol: Protocol) -> bool {
        self != Tool::Pgbench || protocol == Protocol::Postgres
    }

    /// A run of prepared point selects in `sessions` sessions.
    pub(crate) fn point_select(
        self,
        bench: &Bench,
        endpoint: NullEndpoint,
        sessions: usize,
        limit: Limit,
    ) -> Command {
        match self {
            Tool::Floor => floor(bench, endpoint, sessions, limit),
            Tool::Pgbench => pgbench(bench, "point_select.pgbench", endpoint, sessions, limit),
            Tool::Dyno | Tool::Sysbench => {
                let mut command = self.script(bench, "oltp_point_select", sessions, limit);
                command.args(connection(endpoint));
                // The other tools draw uniformly; sysbench's default distribution costs more.
                command.args(["--rand-type=uniform", "--table-size=1000000", "run"]);
                command
            }
        }
    }

    /// A run of a pgbench script with prepared statements.
    pub(crate) fn pgbench_script(
        bench: &Bench,
        script: &str,
        endpoint: NullEndpoint,
        sessions: usize,
        limit: Limit,
    ) -> Command {
        pgbench(bench, script, endpoint, sessions, limit)
    }

    /// A sysbench script without the command word, for Dyno and sysbench only.
    pub(crate) fn script(
        self,
        bench: &Bench,
        script: &str,
        sessions: usize,
        limit: Limit,
    ) -> Command {
        let mut command = Command::new(bench.path(self));
        // The section `recording` measures what recording costs.
        command.env("DYNO_RESULTS", "none");
        if self == Tool::Dyno {
            command.args(["sysbench", "--workers=1"]);
        }
        command.arg(script).arg(format!("--threads={sessions}"));
        match limit {
            Limit::Seconds(seconds) => command.arg(format!("--time={seconds}")),
            Limit::Events(events) => {
                command.args([format!("--events={events}"), "--time=0".into()])
            }
        };
        command
    }

    /// The number of queries in the report of a point select run.
    pub(crate) fn queries(self, report: &str) -> Result<u64> {
        match self {
            Tool::Floor => number_after(report, "\"queries\":"),
            Tool::Dyno | Tool::Sysbench => number_after(report, " queries:"),
            Tool::Pgbench => number_after(report, "number of transactions actually processed:"),
        }
    }
}

impl Protocol {
    /// The name on the command lines of the null server and the floor.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Protocol::Mysql => "mysql",
            Protocol::Postgres => "postgres",
        }
    }
}

/// The number of events in the report of a script run.
pub(crate) fn events(report: &str) -> Result<u64> {
    number_after(report, "total number of events:")
}

/// The options that connect sysbench and Dyno to a null server.
pub(crate) fn connection(endpoint: NullEndpoint) -> Vec<String> {
    match endpoint.protocol {
        Protocol::Mysql => vec![
            "--db-driver=mysql".to_owned(),
            format!("--mysql-socket={}", endpoint.socket.display()),
            "--mysql-user=root".to_owned(),
        ],
        Protocol::Postgres => vec![
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={}", endpoint.directory()),
            "--pgsql-user=postgres".to_owned(),
        ],
    }
}

/// `1 session`, `16 sessions`.
pub(crate) fn sessions_text(sessions: usize) -> String {
    let ending = if sessions == 1 { "" } else { "s" };
    format!("{sessions} session{ending}")
}

fn floor(bench: &Bench, endpoint: NullEndpoint, sessions: usize, limit: Limit) -> Command {
    let mut command = Command::new(bench.path(Tool::Floor));
    command.args(["--protocol", endpoint.protocol.name(), "--socket"]);
    command
        .arg(endpoint.socket)
        .arg(format!("--sessions={sessions}"));
    command.arg(match limit {
        Limit::Seconds(seconds) => format!("--time={seconds}"),
        Limit::Events(events) => format!("--queries={events}"),
    });
    command
}

fn pgbench(
    bench: &Bench,
    script: &str,
    endpoint: NullEndpoint,
    sessions: usize,
    limit: Limit,
) -> Command {
    let mut command = Command::new(bench.path(Tool::Pgbench));
    command.args(["-n", "-M", "prepared", "-j", "1", "-U", "postgres", "-f"]);
    command.arg(bench.script(script));
    command.args(["-h", &endpoint.directory(), "-c", &sessions.to_string()]);
    match limit {
        Limit::Seconds(seconds) => command.args(["-T", &seconds.to_string()]),
        Limit::Events(events) => command.args(["-t", &(events / sessions as u64).to_string()]),
    };
    command.arg("sbtest");
    command
}

/// The whole number after `label` in a report.
fn number_after(report: &str, label: &str) -> Result<u64> {
    let (_, rest) = report
        .split_once(label)
        .with_context(|| format!("the report has no `{}`:\n{report}", label.trim()))?;
    let rest = rest.trim_start();
    let end = rest
        .find(|symbol: char| !symbol.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end]
        .parse()
        .with_context(|| format!("no number after `{}`:\n{report}", label.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let sysbench = "SQL statistics:\n    queries performed:\n        read: 7\n    \
                        queries:                             29508  (14701.69 per sec.)\n\
                        General statistics:\n    total number of events:              29507\n";
        assert_eq!(Tool::Sysbench.queries(sysbench).unwrap(), 29508);
        assert_eq!(events(sysbench).unwrap(), 29507);
        let pgbench = "number of transactions actually processed: 1600/1600\ntps = 1\n";
        assert_eq!(Tool::Pgbench.queries(pgbench).unwrap(), 1600);
        let floor = "{\"queries\":42,\"elapsed_s\":1.0}";
        assert_eq!(Tool::Floor.queries(floor).unwrap(), 42);
        assert!(Tool::Dyno.queries("nothing").is_err());
        assert!(Tool::Dyno.queries(" queries: many").is_err());
    }
}
