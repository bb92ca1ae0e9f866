//! The command line.

use std::path::PathBuf;

use dyno_sys::Args;

use crate::sections::SECTIONS;

pub(crate) const USAGE: &str = "\
usage: client-cost [options]

  --only SECTION,…      point-select, instructions, events, load, load-servers, many-sessions,
                        pacing, recording, exporting [all; load-servers only with a server]
  --rounds N            alternating rounds [6]
  --queries N           queries of a point-select run [400000]
  --seconds N           length of a timed run [3]
  --client-core N       the core of the load generators [0]
  --server-core N       the core of the null server [1]
  --dyno PATH           [beside client-cost, as are the null server and the floor]
  --sysbench PATH       [sysbench]
  --pgbench PATH        [/usr/lib/postgresql/15/bin/pgbench]
  --mysql-socket PATH   a real MariaDB or MySQL for load-servers
  --mysql-user NAME     [root]
  --pgsql-host DIR      the socket directory or host of a real PostgreSQL for load-servers
  --pgsql-port N        [5432]
  --pgsql-user NAME     [postgres]
  --build yes|no        build Dyno, the null server and the floor first [yes]";

/// Debian's `pgbench` in `PATH` is a Perl wrapper, which would be measured as well.
const PGBENCH: &str = "/usr/lib/postgresql/15/bin/pgbench";

/// The parsed command line.
pub(crate) struct Options {
    /// The sections to run, in order.
    pub only: Vec<&'static str>,
    /// Alternating rounds.
    pub rounds: usize,
    /// Queries of a point-select run.
    pub queries: u64,
    /// Seconds of a timed run.
    pub seconds: u32,
    /// The load generators' core.
    pub client_core: usize,
    /// The null server's core.
    pub server_core: usize,
    /// Path of Dyno; by default, next to this program.
    pub dyno: Option<PathBuf>,
    /// Path of sysbench.
    pub sysbench: PathBuf,
    /// Path of pgbench.
    pub pgbench: PathBuf,
    /// A real MySQL or MariaDB server.
    pub mysql: Option<RealServer>,
    /// A real PostgreSQL server.
    pub postgres: Option<RealServer>,
    /// Whether to build first.
    pub build: bool,
    /// The command line as typed, for the results files.
    pub command: String,
}

/// A real server.
pub(crate) struct RealServer {
    /// Socket for MySQL; socket directory or host for PostgreSQL.
    pub endpoint: String,
    /// PostgreSQL only.
    pub port: u16,
    /// A user without a password that may create a database.
    pub user: String,
}

impl RealServer {
    pub(crate) fn new(endpoint: String, port: u16, user: &str) -> RealServer {
        let user = user.to_owned();
        RealServer {
            endpoint,
            port,
            user,
        }
    }
}

impl Options {
    /// Parses the arguments, without the program's name.
    pub(crate) fn parse(words: Vec<String>) -> Result<Options, String> {
        let command = format!("cargo run --release -p client-cost -- {}", words.join(" "));
        let mut args = Args::parse(words)?;
        let mysql_user = args.take("mysql-user")?.unwrap_or("root".to_owned());
        let mysql = args.take("mysql-socket")?.map(|endpoint| RealServer {
            endpoint,
            port: 0,
            user: mysql_user,
        });
        let port = args.take("pgsql-port")?.unwrap_or(5432);
        let user = args.take("pgsql-user")?.unwrap_or("postgres".to_owned());
        let postgres = args.take("pgsql-host")?.map(|endpoint| RealServer {
            endpoint,
            port,
            user,
        });
        let options = Options {
            only: sections(args.take("only")?, mysql.is_some() || postgres.is_some())?,
            rounds: args.take("rounds")?.unwrap_or(6),
            queries: args.take("queries")?.unwrap_or(400_000),
            seconds: args.take("seconds")?.unwrap_or(3),
            client_core: args.take("client-core")?.unwrap_or(0),
            server_core: args.take("server-core")?.unwrap_or(1),
            dyno: args.take("dyno")?,
            sysbench: args.take("sysbench")?.unwrap_or("sysbench".into()),
            pgbench: args.take("pgbench")?.unwrap_or(PGBENCH.into()),
            mysql,
            postgres,
            build: match args.take::<String>("build")?.as_deref() {
                None | Some("yes") => true,
                Some("no") => false,
                Some(other) => return Err(format!("--build: `{other}` is neither yes nor no")),
            },
            command: command.trim_end_matches(" -- ").to_owned(),
        };
        args.finish()?;
        if options.rounds == 0 || options.seconds == 0 || options.queries < 1000 {
            return Err("--rounds and --seconds must be at least 1, --queries 1000".to_owned());
        }
        Ok(options)
    }
}

fn sections(only: Option<String>, real: bool) -> Result<Vec<&'static str>, String> {
    let Some(only) = only else {
        let all = SECTIONS.iter().copied();
        return Ok(all.filter(|name| real || *name != "load-servers").collect());
    };
    only.split(',')
        .map(|asked| {
            let known = SECTIONS.iter().find(|name| **name == asked);
            known.copied().ok_or_else(|| {
                format!("--only: there is no section `{asked}`; there are {SECTIONS:?}")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn without_options_everything_runs_that_needs_no_server() {
        let options = parse("").unwrap();
        assert_eq!(options.rounds, 6);
        assert_eq!(options.only.len(), SECTIONS.len() - 1);
        assert_eq!(options.command, "cargo run --release -p client-cost");
        assert_eq!(parse("--pgsql-host /tmp").unwrap().only, SECTIONS);
    }

    #[test]
    fn unknown_sections_and_options_are_refused() {
        assert!(parse("--only point-select,nothing").is_err());
        assert!(parse("--round 3").is_err());
        assert!(parse("--rounds 0").is_err());
        assert!(parse("--build maybe").is_err());
    }
}
