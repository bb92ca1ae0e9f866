//! Where the runs of the verdict's campaign run: a server of their own, or a file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mysql::prelude::Queryable;

use crate::servers::{Kind, Options, Server, initialize};

use super::super::bed::dyno_command;
use super::super::child::{Ended, Running};
use super::case::On;

/// The database of the runs.
pub const DATABASE: &str = "verdict";
/// How long a command that is no run may take.
const LIMIT: Duration = Duration::from_secs(180);

/// Where runs run.
pub struct Bed {
    /// `None` for SQLite.
    pub server: Option<Server>,
    /// The dyno under test.
    pub dyno: PathBuf,
    on: On,
    // Dropped after the server, which works in it.
    files: tempfile::TempDir,
}

impl Bed {
    /// Starts a server with these arguments, or makes a folder for files of SQLite's.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn make(on: On, arguments: &[&str], dyno: &Path) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        // The server's user must be able to enter.
        builder
            .prefix("dyno-verdict-")
            .permissions(std::fs::Permissions::from_mode(0o755));
        let files = match on {
            On::SqliteInMemory => builder.tempdir_in("/dev/shm"),
            _ => builder.tempdir(),
        };
        let files = files.context("cannot make a folder for the server")?;
        let server = match on {
            On::Server(kind) => {
                let options = Options {
                    arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
                    dies_with_thread: true,
                    ..Options::default()
                };
                let ready = initialize(kind, &files.path().join(kind.tag()))?;
                Some(ready.launch(options)?)
            }
            On::Sqlite | On::SqliteInMemory => None,
        };
        Ok(Self {
            server,
            dyno: dyno.to_owned(),
            on,
            files,
        })
    }

    /// Its name in the table.
    pub fn name(&self) -> String {
        match self.on {
            On::Server(kind) => kind.to_string(),
            On::Sqlite => "SQLite".to_owned(),
            On::SqliteInMemory => "SQLite in memory".to_owned(),
        }
    }

    /// The URL of its database.
    pub fn url(&self) -> String {
        let Some(server) = &self.server else {
            return format!("sqlite:{}", self.files.path().join("file.db").display());
        };
        let (scheme, user) = match server.kind() {
            Kind::Postgres => ("postgres", "postgres"),
            _ => ("mysql", "root"),
        };
        let port = server.port();
        format!("{scheme}://{user}@127.0.0.1:{port}/{DATABASE}?sslmode=disable")
    }

    /// An empty database in place of what earlier runs left.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn renew(&self) -> Result<()> {
        if self.server.is_none() {
            for ending in ["", "-wal", "-shm", "-journal"] {
                let path = self.files.path().join(format!("file.db{ending}"));
                if path.exists() {
                    std::fs::remove_file(&path)?;
                }
            }
            return Ok(());
        }
        let mut administrator = self.administrator(false)?;
        administrator.execute(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        administrator.execute(&format!("CREATE DATABASE {DATABASE}"))
    }

    /// A connection of the administrator's, to the database or beside it.
    ///
    /// # Errors
    /// The server does not let it in, or there is none.
    pub fn administrator(&self, inside: bool) -> Result<Administrator> {
        let server = self.server.as_ref().context("SQLite has no server")?;
        let socket = server.socket();
        Ok(match server.kind() {
            Kind::Mariadb | Kind::Mysql => {
                let options = mysql::OptsBuilder::new()
                    .socket(Some(socket.to_string_lossy()))
                    .user(Some("root"))
                    .db_name(inside.then_some(DATABASE));
                Administrator::Mysql(Box::new(mysql::Conn::new(options)?))
            }
            Kind::Postgres => {
                let client = postgres::Config::new()
                    .host_path(socket.parent().unwrap_or(Path::new("/")))
                    .port(server.port())
                    .user("postgres")
                    .dbname(if inside { DATABASE } else { "postgres" })
                    .connect(postgres::NoTls)?;
                Administrator::Postgres(Box::new(client))
            }
        })
    }

    /// Runs a command of dyno's that must succeed.
    ///
    /// # Errors
    /// It fails: with what it said.
    pub fn dyno(&self, arguments: &[&str]) -> Result<Ended> {
        let mut command = dyno_command(&self.dyno);
        command.args(arguments).env("DYNO_RESULTS", "none");
        let ended = Running::start(&mut command)?.finish(LIMIT)?;
        if !ended.status.success() {
            bail!("dyno {arguments:?}: {}\n{}", ended.status, ended.stderr());
        }
        Ok(ended)
    }
}

/// A connection of the administrator's.
pub enum Administrator {
    /// To MariaDB or MySQL.
    Mysql(Box<mysql::Conn>),
    /// To PostgreSQL.
    Postgres(Box<postgres::Client>),
}

impl Administrator {
    /// Runs a statement whose rows nobody wants.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        match self {
            Self::Mysql(client) => client.query_drop(sql).with_context(|| sql.to_owned()),
            Self::Postgres(client) => client.batch_execute(sql).with_context(|| sql.to_owned()),
        }
    }

    /// Ends the sessions on the campaign's database but this one, or those alone that ask other
    /// statements than a script of shapes.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn kill_sessions(&mut self, observers: bool) -> Result<()> {
        match self {
            Self::Postgres(client) => {
                let those = match observers {
                    true => "AND query NOT LIKE 'SELECT 1%' AND query NOT LIKE 'SELECT v%'",
                    false => "",
                };
                let sql = format!(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE datname = '{DATABASE}' AND pid <> pg_backend_pid() {those}"
                );
                client.batch_execute(&sql).context(sql)
            }
            Self::Mysql(client) => {
                let sql = "SELECT id FROM information_schema.processlist \
                           WHERE id <> connection_id() AND command <> 'Daemon'";
                let ids: Vec<u64> = client.query(sql)?;
                for id in ids {
                    // It may have ended by itself between the question and this.
                    let _ = client.query_drop(format!("KILL {id}"));
                }
                Ok(())
            }
        }
    }
}
