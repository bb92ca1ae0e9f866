//! The test beds of the verdict campaign: one server, several servers, or a file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_core::ports::free_port;
use dyno_tests::{Client, Server as Address};
use xtask::servers::{Kind, Options, Server, initialize};

use crate::bed::dyno_command;
use crate::child::{Ended, Running};
use crate::relay::fault::Fault;
use crate::relay::{Relay, Script};

use super::case::On;

/// The database of the runs.
pub(super) const DATABASE: &str = "verdict";
/// The time limit of a command other than a run.
const LIMIT: Duration = Duration::from_secs(180);
/// The seed of a slow link's delays.
const SLOW_LINK: u64 = 7;

/// The arguments of a Galera node that listens at this port: the first node, or one that joins it.
fn galera(port: u16, first: Option<u16>) -> Result<Vec<String>> {
    let library = GALERA.iter().find(|path| Path::new(path).exists());
    let library = library.context("Galera is not installed (apt install galera-4 rsync)")?;
    let (transfer, joins) = (free_port()?, first.map(|port| format!("127.0.0.1:{port}")));
    let options = format!(
        "base_port={port};gmcast.listen_addr=tcp://127.0.0.1:{port};\
         ist.recv_addr=127.0.0.1:{};gcs.fc_limit=1;gcs.fc_factor=0.5;gcache.size=64M",
        free_port()?
    );
    Ok(vec![
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={library}"),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
        "--wsrep-sst-method=rsync".to_owned(),
        "--wsrep-slave-threads=1".to_owned(),
        format!("--wsrep-node-address=127.0.0.1:{port}"),
        format!("--wsrep-sst-receive-address=127.0.0.1:{transfer}"),
        format!("--wsrep-provider-options={options}"),
        format!(
            "--wsrep-cluster-address=gcomm://{}",
            joins.unwrap_or_default()
        ),
    ])
}
/// Paths of Galera's library.
const GALERA: [&str; 2] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
];

/// Where a run takes place.
pub(super) struct Bed {
    /// `None` for SQLite.
    pub server: Option<Server>,
    second: Option<Server>,
    /// A slow link to the server.
    pub relay: Option<Relay>,
    /// The `dyno` under test.
    pub dyno: PathBuf,
    on: On,
    // Dropped after the server, whose files are in it.
    files: tempfile::TempDir,
}

impl Bed {
    /// Starts a server with these arguments, or creates a folder for an SQLite file.
    ///
    /// # Errors
    /// It cannot be created.
    pub(super) fn make(on: On, arguments: &[&str], dyno: &Path) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        // The server's user must be able to enter the folder.
        builder
            .prefix("dyno-verdict-")
            .permissions(std::fs::Permissions::from_mode(0o755));
        let files = match on {
            On::SqliteInMemory => builder.tempdir_in("/dev/shm"),
            _ => builder.tempdir(),
        };
        let files = files.context("cannot create a folder for the server")?;
        let launch = |kind: Kind, name: &str, more: &[String]| {
            let arguments = arguments.iter().map(|&text| text.to_owned());
            let options = Options {
                arguments: arguments.chain(more.iter().cloned()).collect(),
                dies_with_thread: true,
                ..Options::default()
            };
            initialize(kind, &files.path().join(name))?.launch(options)
        };
        let (server, second) = match on {
            On::Server(kind) | On::Throttled(kind) => (Some(launch(kind, kind.tag(), &[])?), None),
            On::Two(kind) => {
                let first = launch(kind, "first", &[])?;
                (Some(first), Some(launch(kind, "second", &[])?))
            }
            On::Galera => {
                let ports = [free_port()?, free_port()?];
                let first = launch(Kind::Mariadb, "first", &galera(ports[0], None)?)?;
                let joins = galera(ports[1], Some(ports[0]))?;
                (Some(first), Some(launch(Kind::Mariadb, "second", &joins)?))
            }
            On::Sqlite | On::SqliteInMemory => (None, None),
        };
        let relay = match (on, &server) {
            (On::Throttled(_), Some(server)) => {
                let script = Script {
                    seed: SLOW_LINK,
                    faults: vec![Fault::Delay],
                    percent: 100,
                };
                Some(Relay::start(server.port(), script)?)
            }
            _ => None,
        };
        Ok(Self {
            server,
            second,
            relay,
            dyno: dyno.to_owned(),
            on,
            files,
        })
    }

    /// The name to print in the table.
    pub(super) fn name(&self) -> String {
        match self.on {
            On::Server(kind) => kind.to_string(),
            On::Two(kind) => format!("two of {kind}"),
            On::Throttled(kind) => format!("{kind}, also over a slow link"),
            On::Galera => "two nodes of Galera".to_owned(),
            On::Sqlite => "SQLite".to_owned(),
            On::SqliteInMemory => "SQLite in memory".to_owned(),
        }
    }

    /// Whether its server has InnoDB.
    pub(super) fn has_innodb(&self) -> bool {
        match self.on {
            On::Server(kind) | On::Two(kind) | On::Throttled(kind) => kind != Kind::Postgres,
            On::Galera => true,
            On::Sqlite | On::SqliteInMemory => false,
        }
    }

    /// Whether its server is PostgreSQL.
    pub(super) fn is_postgres(&self) -> bool {
        match self.on {
            On::Server(kind) | On::Two(kind) | On::Throttled(kind) => kind == Kind::Postgres,
            On::Galera | On::Sqlite | On::SqliteInMemory => false,
        }
    }

    /// The URL of the database, with all endpoints that get load.
    pub(super) fn url(&self) -> String {
        let second = match (&self.relay, &self.second) {
            (Some(relay), _) => Some(relay.port()),
            (None, Some(second)) if self.on != On::Galera => Some(second.port()),
            _ => None,
        };
        let ports = self.server.iter().map(Server::port).chain(second);
        self.url_of(&ports.collect::<Vec<_>>())
    }

    /// The URLs of the databases into which data must be loaded.
    pub(super) fn urls(&self) -> Vec<String> {
        let second = self.second.iter().filter(|_| self.on != On::Galera);
        match &self.server {
            Some(server) => [server]
                .into_iter()
                .chain(second)
                .map(|server| self.url_of(&[server.port()]))
                .collect(),
            None => vec![self.url_of(&[])],
        }
    }

    fn url_of(&self, ports: &[u16]) -> String {
        let Some(server) = &self.server else {
            return format!("sqlite:{}", self.files.path().join("file.db").display());
        };
        let (scheme, user) = (server.kind().scheme(), server.kind().administrator());
        let hosts = ports.iter().map(|port| format!("127.0.0.1:{port}"));
        let hosts = hosts.collect::<Vec<_>>().join(",");
        format!("{scheme}://{user}@{hosts}/{DATABASE}?sslmode=disable")
    }

    /// The folder for files.
    pub(super) fn folder(&self) -> &Path {
        self.files.path()
    }

    /// Creates an empty database in place of that of earlier runs.
    ///
    /// # Errors
    /// The server refuses it.
    pub(super) fn renew(&self) -> Result<()> {
        if self.server.is_none() {
            for ending in ["", "-wal", "-shm", "-journal"] {
                let path = self.files.path().join(format!("file.db{ending}"));
                if path.exists() {
                    std::fs::remove_file(&path)?;
                }
            }
            return Ok(());
        }
        // The second node of a cluster gets the database from the first.
        let second = self.second.iter().filter(|_| self.on != On::Galera);
        for server in self.server.iter().chain(second) {
            let mut administrator = Client::connect(&Address::from(server), None)?;
            administrator.execute(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
            administrator.execute(&format!("CREATE DATABASE {DATABASE}"))?;
        }
        Ok(())
    }

    /// Opens an administrator's connection, to the database if `inside`.
    ///
    /// # Errors
    /// The server refuses it, or there is no server.
    pub(super) fn administrator(&self, inside: bool) -> Result<Client> {
        let server = self.server.as_ref().context("SQLite has no server")?;
        Client::connect(&Address::from(server), inside.then_some(DATABASE))
    }

    /// Ends the sessions on the campaign's database, or only those whose statement is not one of
    /// the script of shapes.
    ///
    /// # Errors
    /// The server refuses it, or there is no server.
    pub(super) fn kill_sessions(&self, observers: bool) -> Result<()> {
        let mut administrator = self.administrator(false)?;
        match administrator {
            Client::Postgres(_) => {
                let those = match observers {
                    true => "AND query NOT LIKE 'SELECT 1%' AND query NOT LIKE 'SELECT v%'",
                    false => "",
                };
                administrator.execute(&format!(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE datname = '{DATABASE}' AND pid <> pg_backend_pid() {those}"
                ))
            }
            Client::Mysql(_) => {
                let sql = "SELECT id FROM information_schema.processlist \
                           WHERE id <> connection_id() AND command <> 'Daemon'";
                for id in administrator.query(sql)?.into_iter().flatten() {
                    administrator.kill_session(&id);
                }
                Ok(())
            }
        }
    }

    /// Runs a `dyno` command that must succeed.
    ///
    /// # Errors
    /// The command fails; the error contains its output.
    pub(super) fn dyno(&self, arguments: &[&str]) -> Result<Ended> {
        let mut command = dyno_command(&self.dyno);
        command.args(arguments).env("DYNO_RESULTS", "none");
        let ended = Running::start(&mut command)?.finish(LIMIT)?;
        if !ended.status.success() {
            bail!("dyno {arguments:?}: {}\n{}", ended.status, ended.stderr());
        }
        Ok(ended)
    }
}
