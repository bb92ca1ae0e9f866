//! The load generators: how each is asked for the same work, and how its report is read.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::bench::Bench;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The least that a point select can cost.
    Floor,
    /// Ours.
    Dyno,
    /// sysbench 1.0.
    Sysbench,
    /// pgbench, one thread.
    Pgbench,
}

/// A protocol, which is also a null server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// MySQL's.
    Mysql,
    /// PostgreSQL's.
    Postgres,
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// After so many seconds.
    Seconds(u32),
    /// After so many events in all.
    Events(u64),
}

/// Where a server is: its socket and, for PostgreSQL's clients, the directory that holds it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The protocol.
    pub protocol: Protocol,
    /// The socket.
    pub socket: &'a Path,
}

impl Place<'_> {
    /// The directory that holds the socket.
    pub fn directory(self) -> String {
        let directory = self.socket.parent().unwrap_or(Path::new("/"));
        directory.display().to_string()
    }
}

impl Tool {
    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Floor => "floor",
            Tool::Dyno => "dyno",
            Tool::Sysbench => "sysbench",
            Tool::Pgbench => "pgbench",
        }
    }

    /// Whether it speaks a protocol.
    pub fn speaks(self, protocol: Protocol) -> bool {
        self != Tool::Pgbench || protocol == Protocol::Postgres
    }

    /// Prepared point selects, `sessions` at a time.
    pub fn point_select(
        self,
        bench: &Bench,
        place: Place,
        sessions: usize,
        limit: Limit,
    ) -> Command {
        match self {
            Tool::Floor => floor(bench, place, sessions, limit),
            Tool::Pgbench => pgbench(bench, "point_select.pgbench", place, sessions, limit),
            Tool::Dyno | Tool::Sysbench => {
                let mut command = self.script(bench, "oltp_point_select", sessions, limit);
                command.args(connection(place));
                // The other tools draw uniformly, and sysbench's default costs more than that.
                command.args(["--rand-type=uniform", "--table-size=1000000", "run"]);
                command
            }
        }
    }

    /// A script of pgbench's, with prepared statements.
    pub fn pgbench_script(
        bench: &Bench,
        script: &str,
        place: Place,
        sessions: usize,
        limit: Limit,
    ) -> Command {
        pgbench(bench, script, place, sessions, limit)
    }

    /// A sysbench script, without its command word. For Dyno and sysbench only.
    pub fn script(self, bench: &Bench, script: &str, sessions: usize, limit: Limit) -> Command {
        let mut command = Command::new(bench.path(self));
        // What recording costs is a section of its own.
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

    /// How many queries a point select run says it made.
    pub fn queries(self, report: &str) -> Result<u64> {
        match self {
            Tool::Floor => number_after(report, "\"queries\":"),
            Tool::Dyno | Tool::Sysbench => number_after(report, " queries:"),
            Tool::Pgbench => number_after(report, "number of transactions actually processed:"),
        }
    }
}

impl Protocol {
    /// Its name, as the null server and the floor know it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Mysql => "mysql",
            Protocol::Postgres => "postgres",
        }
    }
}

/// How many events a script run says it made.
pub fn events(report: &str) -> Result<u64> {
    number_after(report, "total number of events:")
}

/// The options that lead sysbench and Dyno to a null server.
pub fn connection(place: Place) -> Vec<String> {
    match place.protocol {
        Protocol::Mysql => vec![
            "--db-driver=mysql".to_owned(),
            format!("--mysql-socket={}", place.socket.display()),
            "--mysql-user=root".to_owned(),
        ],
        Protocol::Postgres => vec![
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={}", place.directory()),
            "--pgsql-user=postgres".to_owned(),
        ],
    }
}

/// `1 session`, `16 sessions`.
pub fn sessions_text(sessions: usize) -> String {
    let ending = if sessions == 1 { "" } else { "s" };
    format!("{sessions} session{ending}")
}

fn floor(bench: &Bench, place: Place, sessions: usize, limit: Limit) -> Command {
    let mut command = Command::new(bench.path(Tool::Floor));
    command.args(["--protocol", place.protocol.name(), "--socket"]);
    command
        .arg(place.socket)
        .arg(format!("--sessions={sessions}"));
    command.arg(match limit {
        Limit::Seconds(seconds) => format!("--time={seconds}"),
        Limit::Events(events) => format!("--queries={events}"),
    });
    command
}

fn pgbench(bench: &Bench, script: &str, place: Place, sessions: usize, limit: Limit) -> Command {
    let mut command = Command::new(bench.path(Tool::Pgbench));
    command.args(["-n", "-M", "prepared", "-j", "1", "-U", "postgres", "-f"]);
    command.arg(bench.script(script));
    command.args(["-h", &place.directory(), "-c", &sessions.to_string()]);
    match limit {
        Limit::Seconds(seconds) => command.args(["-T", &seconds.to_string()]),
        Limit::Events(events) => command.args(["-t", &(events / sessions as u64).to_string()]),
    };
    command.arg("sbtest");
    command
}

/// The whole number that stands after `label` in a report.
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
