//! Servers for fault injection, and clients for them that share no code with Dyno.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mysql::prelude::Queryable;
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
/// The time limit of an administrator's statement.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The type of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// TCP without TLS.
    Plain,
    /// TCP with TLS and a verified server certificate.
    Tls,
    /// The UNIX socket.
    Socket,
}

/// A server with the tables of a campaign.
pub struct Bed<'a> {
    /// The server.
    pub server: &'a mut Server,
    /// The authority that signed its certificate.
    pub authority: PathBuf,
    /// The `dyno` under test.
    pub dyno: PathBuf,
}

impl Bed<'_> {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.server.kind()
    }

    /// The URL of a database, without the password, at a port (a relay's, or the server's own).
    pub fn url(&self, way: Way, port: u16, database: &str) -> String {
        let scheme = match self.kind() {
            Kind::Mariadb | Kind::Mysql => "mysql",
            Kind::Postgres => "postgres",
        };
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

    /// Creates user, database and tables.
    ///
    /// # Errors
    /// The server or dyno refuses.
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
        self.query(database, sql).map(|_| ())
    }

    /// Runs a query as the administrator; returns fields as text.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn query(&self, database: Option<&str>, sql: &str) -> Result<Vec<Vec<String>>> {
        self.administrator(database)?.query(sql)
    }

    /// An administrator's connection, which stays open when others can no longer connect.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn administrator(&self, database: Option<&str>) -> Result<Administrator> {
        let what = || format!("cannot connect to {} as its administrator", self.kind());
        let socket = self.server.socket();
        Ok(match self.kind() {
            Kind::Mariadb | Kind::Mysql => {
                let options = mysql::OptsBuilder::new()
                    .socket(Some(socket.to_string_lossy()))
                    .user(Some("root"))
                    .db_name(database)
                    .read_timeout(Some(ANSWER_LIMIT));
                Administrator::Mysql(Box::new(mysql::Conn::new(options).with_context(what)?))
            }
            Kind::Postgres => {
                let client = postgres::Config::new()
                    .host_path(socket.parent().unwrap_or(Path::new("/")))
                    .port(self.server.port())
                    .user("postgres")
                    .dbname(database.unwrap_or("postgres"))
                    .connect_timeout(ANSWER_LIMIT)
                    .connect(postgres::NoTls);
                Administrator::Postgres(Box::new(client.with_context(what)?))
            }
        })
    }

    /// Waits until Dyno's sessions have stopped working, so that all their commits are visible.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn settle(&self) -> Result<()> {
        let mut administrator = self.administrator(None)?;
        for _ in 0..300 {
            let sessions = administrator.sessions()?;
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

    /// The rows of tpcb's history, and its sums of money.
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
            let text = row.get(index).context("the ledger lacks a sum")?;
            text.parse().with_context(|| format!("`{text}` is no sum"))
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

/// An administrator's connection.
pub enum Administrator {
    /// MariaDB or MySQL.
    Mysql(Box<mysql::Conn>),
    /// PostgreSQL.
    Postgres(Box<postgres::Client>),
}

impl Administrator {
    /// Runs a statement; returns its rows, fields as text.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<String>>> {
        match self {
            Self::Mysql(client) => {
                let rows: Result<Vec<mysql::Row>, _> = client.query(sql);
                let rows = rows.with_context(|| sql.to_owned())?;
                Ok(rows.into_iter().map(mysql_fields).collect())
            }
            Self::Postgres(client) => {
                let messages = client.simple_query(sql);
                let messages = messages.with_context(|| sql.to_owned())?;
                Ok(messages.iter().filter_map(postgres_fields).collect())
            }
        }
    }

    /// The server's ids of Dyno's sessions.
    ///
    /// # Errors
    /// The server refuses to list them.
    pub fn sessions(&mut self) -> Result<Vec<String>> {
        let sql = match self {
            Self::Postgres(_) => {
                format!("SELECT pid FROM pg_stat_activity WHERE usename = '{USER}'")
            }
            Self::Mysql(_) => {
                format!("SELECT id FROM information_schema.processlist WHERE user = '{USER}'")
            }
        };
        Ok(self.query(&sql)?.into_iter().flatten().collect())
    }

    /// Ends one of Dyno's sessions. One that has already ended is ignored.
    pub fn kill_session(&mut self, id: &str) {
        let sql = match self {
            Self::Postgres(_) => format!("SELECT pg_terminate_backend({id})"),
            Self::Mysql(_) => format!("KILL {id}"),
        };
        // It may have ended by itself since the query.
        let _ = self.query(&sql);
    }
}

/// The contents of tpcb's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Rows of history: committed transactions.
    pub rows: i64,
    /// The sum of their amounts.
    pub history: i64,
    /// The sum of all accounts.
    pub accounts: i64,
    /// The sum of all tellers.
    pub tellers: i64,
    /// The sum of all branches.
    pub branches: i64,
}

/// A command for dyno, independent of the user's environment.
pub fn dyno_command(dyno: &Path) -> Command {
    let mut command = Command::new(dyno);
    command.env_remove("DYNO_TARGET").env_remove("DYNO_RESULTS");
    command.env(PASSWORD_VARIABLE, PASSWORD);
    command.env("NO_COLOR", "1");
    command
}

fn mysql_fields(row: mysql::Row) -> Vec<String> {
    let field = |value: mysql::Value| match value {
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        mysql::Value::NULL => "NULL".to_owned(),
        other => other.as_sql(true),
    };
    row.unwrap().into_iter().map(field).collect()
}

fn postgres_fields(message: &postgres::SimpleQueryMessage) -> Option<Vec<String>> {
    let postgres::SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let fields = (0..row.len()).map(|index| row.get(index).unwrap_or("NULL").to_owned());
    Some(fields.collect())
}
