//! Servers for fault injection, and the `dyno` commands that run against them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_tests::{Client, Server as Address};
use xtask::servers::set::Set;
use xtask::servers::{Kind, Server};

use crate::child::{Ended, Running};

/// Dyno's user.
pub const USER: &str = "campaign";
/// The user's password, which must never appear.
pub const PASSWORD: &str = "Kj7-canary-Qm4xw";
/// The environment variable with the password.
pub const PASSWORD_VARIABLE: &str = "DYNO_CAMPAIGN_PASSWORD";
/// The database to load.
pub const DATABASE: &str = "campaign";
/// The options of the tables of sysbench's workloads.
pub const TABLES: [&str; 4] = ["--tables", "2", "--table-size", "2000"];

/// How a connection reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// TCP without TLS.
    Plain,
    /// TCP with TLS and a verified server certificate.
    Tls,
    /// The UNIX socket.
    Socket,
}

/// A server that holds the tables of a campaign.
pub struct Bed<'a> {
    /// The server.
    pub server: &'a mut Server,
    /// The certificate authority that signed the server's certificate.
    pub authority: PathBuf,
    /// The `dyno` under test.
    pub dyno: PathBuf,
}

impl<'a> Bed<'a> {
    /// Creates one bed for each server of a set.
    pub fn all(set: &'a mut Set, dyno: &Path) -> Vec<Self> {
        let authority = set.authority().to_owned();
        let bed = |server| Self {
            server,
            authority: authority.clone(),
            dyno: dyno.to_owned(),
        };
        set.servers_mut().iter_mut().map(bed).collect()
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.server.kind()
    }

    /// The URL of a database, without the password. `port` is the relay's or the server's own.
    pub fn url(&self, way: Way, port: u16, database: &str) -> String {
        let scheme = self.kind().scheme();
        let password = format!("password_env={PASSWORD_VARIABLE}");
        let rest = match way {
            Way::Plain => format!("127.0.0.1:{port}/{database}?sslmode=disable"),
            Way::Tls => {
                let authority = self.authority.display();
                format!("127.0.0.1:{port}/{database}?sslmode=verify-full&sslrootcert={authority}")
            }
            Way::Socket => format!("/{database}?socket={}", self.server.socket().display()),
        };
        format!("{scheme}://{USER}@{rest}&{password}")
    }

    /// Creates the user, the database and the tables.
    ///
    /// # Errors
    /// The server or Dyno refuses.
    pub fn furnish(&self) -> Result<()> {
        let create = format!("CREATE DATABASE {DATABASE}");
        match self.kind() {
            Kind::Postgres => {
                self.execute(
                    None,
                    &format!("CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'"),
                )?;
                self.execute(None, &format!("{create} OWNER {USER}"))?;
            }
            _ => {
                self.execute(None, &create)?;
                for host in ["127.0.0.1", "localhost"] {
                    let user = format!("{USER}@'{host}'");
                    self.execute(
                        None,
                        &format!("CREATE USER {user} IDENTIFIED BY '{PASSWORD}'"),
                    )?;
                    self.execute(None, &format!("GRANT ALL ON {DATABASE}.* TO {user}"))?;
                    self.execute(None, &format!("GRANT PROCESS ON *.* TO {user}"))?;
                }
            }
        }
        let url = self.url(Way::Socket, 0, DATABASE);
        for line in [
            vec!["prepare", "oltp_read_write", "--target", &url]
                .into_iter()
                .chain(TABLES)
                .collect(),
            vec!["prepare", "tpcb", "--target", &url],
        ] {
            let ended = self.dyno(&line)?;
            if !ended.status.success() {
                bail!("dyno {line:?}: {}\n{}", ended.status, ended.stderr());
            }
        }
        Ok(())
    }

    /// Runs dyno until it exits, without a results file.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn dyno(&self, arguments: &[&str]) -> Result<Ended> {
        let mut command = dyno_command(&self.dyno);
        command.args(arguments).env("DYNO_RESULTS", "none");
        Running::start(&mut command)?.finish(Duration::from_secs(120))
    }

    /// Runs a statement as the administrator.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn execute(&self, database: Option<&str>, sql: &str) -> Result<()> {
        self.administrator(database)?.execute(sql)
    }

    /// Runs a query as the administrator and returns each field as text.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn query(&self, database: Option<&str>, sql: &str) -> Result<Vec<Vec<String>>> {
        self.administrator(database)?.query(sql)
    }

    /// Opens an administrator's connection, which stays usable when others can no longer connect.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn administrator(&self, database: Option<&str>) -> Result<Client> {
        Client::connect(&Address::from(&*self.server), database)
    }

    /// Ends Dyno's sessions and waits until none is left, so that all their commits are visible.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn settle(&self) -> Result<()> {
        let mut administrator = self.administrator(None)?;
        for _ in 0..300 {
            let sessions = administrator.sessions(USER)?;
            if sessions.is_empty() {
                return Ok(());
            }
            for id in &sessions {
                administrator.kill_session(id);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("{}: sessions of {USER} do not end", self.kind())
    }

    /// Counts the rows of tpcb's history and adds up its tables.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn ledger(&self) -> Result<Ledger> {
        let sql = "SELECT count(*), coalesce(sum(delta), 0), \
                   (SELECT sum(abalance) FROM pgbench_accounts), \
                   (SELECT sum(tbalance) FROM pgbench_tellers), \
                   (SELECT sum(bbalance) FROM pgbench_branches) FROM pgbench_history";
        let rows = self.query(Some(DATABASE), sql)?;
        let row = rows.first().context("the ledger has no row")?;
        let number = |index: usize| -> Result<i64> {
            let text = row.get(index).context("a sum of the ledger is missing")?;
            text.parse()
                .with_context(|| format!("`{text}` is not a number"))
        };
        Ok(Ledger {
            rows: number(0)?,
            history: number(1)?,
            accounts: number(2)?,
            tellers: number(3)?,
            branches: number(4)?,
        })
    }
}

/// The contents of tpcb's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Rows of the history, one per committed transaction.
    pub rows: i64,
    /// The sum of the amounts in the history.
    pub history: i64,
    /// The sum of all account balances.
    pub accounts: i64,
    /// The sum of all teller balances.
    pub tellers: i64,
    /// The sum of all branch balances.
    pub branches: i64,
}

/// A command for dyno, independent of the user's environment.
pub fn dyno_command(dyno: &Path) -> Command {
    isolated(Command::new(dyno))
}

/// Makes a command independent of the user's environment.
pub fn isolated(mut command: Command) -> Command {
    command.env_remove("DYNO_TARGET").env_remove("DYNO_RESULTS");
    command.env(PASSWORD_VARIABLE, PASSWORD);
    command.env("NO_COLOR", "1");
    command
}

/// Runs a command in the folder of its case.
pub fn in_folder<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command
        .env("TMPDIR", folder.join("tmp"))
        .current_dir(folder)
}
