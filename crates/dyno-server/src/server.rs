//! A server of Dyno's own: made, started with settings that are read back, stopped, removed.

use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use serde::{Deserialize, Serialize};

use crate::contract::Contract;
use crate::credentials::Password;
use crate::error::{OnPath, Result, failed, usage};
use crate::home::{Folder, Home};
use crate::keeper::{self, Ended, KeeperCommand, Lifeline, Running};
use crate::kind::{Kind, check_settings};
use crate::kinds::bootstrap::{excerpt, last_lines};
use crate::kinds::{Product, mysql, postgres};
use crate::process::since;
use crate::settings::{ReadBack, Settings, read_back};

/// So long may a server take to end before it is killed.
pub(crate) const GRACE_S: u64 = 120;
/// What is known of a server.
const RECORD: &str = "server.json";
/// So many lines of a server's log an error shows.
const LOG_LINES: usize = 12;
/// Between two questions whether a server answers.
const READY_POLL: Duration = Duration::from_millis(50);

/// What a kind's programs are told.
pub(crate) struct Context<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) port: u16,
    pub(crate) settings: &'a Settings,
    /// MariaDB's tables are MyRocks'.
    pub(crate) rocks: bool,
    /// The server has not run yet.
    pub(crate) is_first: bool,
}

/// What is known of a server that does not run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    /// The version of this format.
    format: u32,
    kind: Kind,
    port: u16,
    settings: Settings,
    /// Its data directory is made.
    is_made: bool,
    /// It has answered once.
    is_welcomed: bool,
}

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// How Dyno starts itself to run the server.
    pub keeper: &'a KeeperCommand,
    /// So long may it take until it answers.
    pub limit: Duration,
}

/// A server that answers.
#[derive(Debug)]
pub struct Started {
    /// Holds the server.
    pub lifeline: Lifeline,
    /// How long it took to answer.
    pub ready_in: Duration,
    /// Settings that the server shows no value of.
    pub unseen: Vec<String>,
}

/// A server of Dyno's own.
#[derive(Clone, Debug)]
pub struct Server {
    folder: Folder,
    record: Record,
}

impl Server {
    /// Makes a server's folder with what it needs to be started. On an error nothing is left.
    ///
    /// # Errors
    /// The name is taken, a setting is none, or the server's programs fail.
    pub fn make(
        home: &Home,
        name: &str,
        kind: Kind,
        settings: Settings,
        port: Option<u16>,
    ) -> Result<Self> {
        check_settings(&kind, &settings, home)?;
        let port = match port {
            Some(port) => claim_port(port)?,
            None => claim_port(0)?,
        };
        let folder = home.make(name)?;
        let mut server = Self {
            folder,
            record: Record {
                format: 1,
                kind,
                port,
                settings,
                is_made: false,
                is_welcomed: false,
            },
        };
        let made = server.install();
        if made.is_err() {
            let _ = std::fs::remove_dir_all(server.folder.path());
        }
        made.map(|()| server)
    }

    fn install(&mut self) -> Result<()> {
        self.save()?;
        if matches!(self.record.kind, Kind::Programs { .. }) {
            Password::generate()?.keep(&self.folder)?;
        }
        self.with(|contract, context| contract.install(context))?;
        self.record.is_made = true;
        self.save()
    }

    /// One that is there.
    ///
    /// # Errors
    /// There is none of that name; those there are stand in the message.
    pub fn open(home: &Home, name: &str) -> Result<Self> {
        let folder = home.folder(name)?;
        match folder.read_json::<Record>(RECORD)? {
            Some(record) => Ok(Self { folder, record }),
            None => {
                let names: Vec<String> = home
                    .folders()?
                    .iter()
                    .map(|folder| folder.name().to_owned())
                    .collect();
                usage(match names.is_empty() {
                    true => format!("there is no server '{name}'; `dyno server up` makes one"),
                    false => format!(
                        "there is no server '{name}'; there are {}",
                        names.join(", ")
                    ),
                })
            }
        }
    }

    /// All that are there, by name. What is damaged is told instead.
    ///
    /// # Errors
    /// The folder of servers cannot be read.
    pub fn all(home: &Home) -> Result<Vec<std::result::Result<Self, Folder>>> {
        let folders = home.folders()?.into_iter();
        Ok(folders
            .map(|folder| match folder.read_json::<Record>(RECORD) {
                Ok(Some(record)) => Ok(Self { folder, record }),
                _ => Err(folder),
            })
            .collect())
    }

    /// Its folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Its kind.
    pub fn kind(&self) -> &Kind {
        &self.record.kind
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.record.port
    }

    /// The settings that were asked for.
    pub fn settings(&self) -> &Settings {
        &self.record.settings
    }

    /// Changes the settings that the server has from its next start on.
    ///
    /// # Errors
    /// A setting that is none, or one that belongs to the data.
    pub fn change(&mut self, set: &Settings, unset: &[String], home: &Home) -> Result<()> {
        check_settings(&self.record.kind, set, home)?;
        if let Kind::Programs { product, .. } = &self.record.kind {
            let of_data: &[&str] = match product == Product::Postgres.name() {
                true => &postgres::OF_DATA,
                false => &mysql::OF_DATA[..6],
            };
            let names = set.iter().map(|(name, _)| name);
            if let Some(name) = names.into_iter().find(|name| of_data.contains(name)) {
                return usage(format!(
                    "{name} belongs to the data directory and cannot change on a server that has \
                     one; make another server with it"
                ));
            }
        }
        for name in unset {
            if !self.record.settings.unset(name) {
                let names: Vec<&str> = self.record.settings.iter().map(|(name, _)| name).collect();
                return usage(format!(
                    "--unset {name}: the server has no such setting of yours; it has {}",
                    match names.is_empty() {
                        true => "none".to_owned(),
                        false => names.join(", "),
                    }
                ));
            }
        }
        for (name, value) in set.iter() {
            self.record.settings.put(&format!("{name}={value}"))?;
        }
        self.save()
    }

    /// Puts settings in the place of all there are.
    ///
    /// # Errors
    /// The file that keeps them cannot be written.
    pub fn put_settings(&mut self, settings: Settings) -> Result<()> {
        self.record.settings = settings;
        self.save()
    }

    /// The processes that run it, if it runs.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn running(&self) -> Result<Option<Running>> {
        keeper::running(&self.folder)
    }

    /// How it ended the last time.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn ended(&self) -> Result<Option<Ended>> {
        keeper::ended(&self.folder)
    }

    /// Starts it and waits until it answers; then its settings are read back. One that does not
    /// answer, or has other settings than it was to have, is stopped again.
    ///
    /// # Errors
    /// It does not start, with the last lines of its log; or a setting was changed or ignored.
    pub fn start(&mut self, how: &Start<'_>) -> Result<Started> {
        if let Some(running) = self.running()? {
            return usage(format!(
                "server '{}' is running already (pid {})",
                self.folder.name(),
                running.server.pid
            ));
        }
        if !self.record.is_made {
            return failed(format!(
                "making server '{0}' was interrupted; `dyno server down {0}` removes what there \
                 is",
                self.folder.name()
            ));
        }
        let port = self.record.port;
        if claim_port(port).is_err() {
            return failed(format!(
                "port {port} of server '{}' is taken",
                self.folder.name()
            ));
        }
        crate::snapshot::must_be_whole(&self.folder)?;
        let log_begins = std::fs::metadata(self.folder.log()).map_or(0, |data| data.len());
        let launch = self.with(|contract, context| contract.launch(context))?;
        let begun = Clock.now();
        let lifeline = keeper::start(&self.folder, &launch, how.keeper)?;
        let ready = self.finish_start(begun, how.limit, log_begins);
        match ready {
            Ok((ready_in, unseen)) => Ok(Started {
                lifeline,
                ready_in,
                unseen,
            }),
            Err(error) => {
                drop(lifeline);
                let _ = self.stop();
                Err(error)
            }
        }
    }

    fn finish_start(
        &mut self,
        begun: Nanos,
        limit: Duration,
        log_begins: u64,
    ) -> Result<(Duration, Vec<String>)> {
        self.wait_ready(begun, limit, log_begins)?;
        let ready_in = since(begun);
        if !self.record.is_welcomed {
            self.with(|contract, context| contract.welcome(context))?;
            self.record.is_welcomed = true;
            self.save()?;
        }
        let back = self.read_back()?;
        if !back.mismatches.is_empty() {
            let lines = back.mismatches.iter().map(|mismatch| {
                format!(
                    "\n  {}: asked for {}, the server has {}",
                    mismatch.name, mismatch.asked, mismatch.has
                )
            });
            return failed(format!(
                "server '{}' does not have the settings that it was given:{}\nIt changed or \
                 ignored them; ask for values that it can have",
                self.folder.name(),
                lines.collect::<String>()
            ));
        }
        Ok((ready_in, back.unseen))
    }

    fn wait_ready(&self, begun: Nanos, limit: Duration, log_begins: u64) -> Result<()> {
        loop {
            let why = match self.with_result(|contract, context| contract.ready(context)) {
                Ok(()) => return Ok(()),
                Err(why) => why,
            };
            let name = self.folder.name();
            if let Some(ended) = self.ended()? {
                return failed(format!(
                    "server '{name}' did not start: {}. From its log:\n{}",
                    ended.how,
                    self.log_since(log_begins)
                ));
            }
            if since(begun) >= limit {
                return failed(format!(
                    "server '{name}' did not answer within {} s ({why}). From its \
                     log:\n{}",
                    limit.as_secs(),
                    self.log_since(log_begins)
                ));
            }
            std::thread::sleep(READY_POLL);
        }
    }

    /// The last lines of what the server has said since its log was so long.
    fn log_since(&self, begins: u64) -> String {
        let path = self.folder.log();
        let text = std::fs::read(&path).unwrap_or_default();
        let new = usize::try_from(begins)
            .ok()
            .and_then(|begins| text.get(begins..));
        let new = String::from_utf8_lossy(new.unwrap_or_default()).into_owned();
        match new.trim().is_empty() {
            true => last_lines(&path, LOG_LINES),
            false => excerpt(&new, LOG_LINES),
        }
    }

    /// Reads the settings of the running server back.
    ///
    /// # Errors
    /// It does not answer.
    pub fn read_back(&self) -> Result<ReadBack> {
        let asked = match &self.record.kind {
            Kind::Programs { .. } => self.record.settings.clone(),
            Kind::Executables(_) if self.record.settings.is_empty() => {
                return Ok(ReadBack::default());
            }
            Kind::Executables(_) => self.record.settings.clone(),
        };
        let reported = self.with(|contract, context| contract.settings(context))?;
        Ok(match reported {
            Some(reported) => read_back(&asked, &reported),
            None => ReadBack {
                unseen: asked.iter().map(|(name, _)| name.to_owned()).collect(),
                ..ReadBack::default()
            },
        })
    }

    /// Stops it; `None` where it did not run.
    ///
    /// # Errors
    /// It outlives even SIGKILL.
    pub fn stop(&self) -> Result<Option<Ended>> {
        keeper::stop(&self.folder)
    }

    /// Stops it and removes all that is its own. Answers how many bytes that frees.
    ///
    /// # Errors
    /// It does not end, or its files cannot be removed.
    pub fn remove(self) -> Result<u64> {
        self.stop()?;
        let bytes = crate::copy::size(self.folder.path()).allocated;
        let path = self.folder.path();
        std::fs::remove_dir_all(path).on("remove", path)?;
        Ok(bytes)
    }

    /// The URL by which it is loaded, without a password for Dyno's own kinds: those of their
    /// clients read it from a file beside the server.
    ///
    /// # Errors
    /// Its kind does not tell.
    pub fn url(&self, tcp: bool) -> Result<String> {
        self.with(|contract, context| contract.url(context, tcp))
    }

    /// The size of its data in bytes, as allocated.
    ///
    /// # Errors
    /// Its kind does not tell.
    pub fn data_size(&self) -> Result<u64> {
        let told = self.with(|contract, context| contract.data_size(context))?;
        Ok(told.unwrap_or_else(|| crate::copy::size(&self.folder.data()).allocated))
    }

    pub(crate) fn copies_by_itself(&self, name: &str, restores: bool) -> Result<bool> {
        self.with(|contract, context| match restores {
            true => contract.restore(context, name),
            false => contract.snapshot(context, name),
        })
    }

    fn save(&self) -> Result<()> {
        self.folder.write_json(RECORD, &self.record)
    }

    fn with<T>(&self, act: impl FnOnce(&dyn Contract, &Context<'_>) -> Result<T>) -> Result<T> {
        match self.acted(act) {
            Some(result) => result,
            None => failed(format!(
                "{} names a kind of server that this Dyno does not know",
                self.folder.join(RECORD).display()
            )),
        }
    }

    fn with_result(
        &self,
        act: impl FnOnce(&dyn Contract, &Context<'_>) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        self.acted(act)
            .unwrap_or_else(|| Err("its kind is unknown".to_owned()))
    }

    fn acted<T>(&self, act: impl FnOnce(&dyn Contract, &Context<'_>) -> T) -> Option<T> {
        let rocks = matches!(self.record.kind, Kind::Programs { rocks: true, .. });
        let context = Context {
            folder: &self.folder,
            port: self.record.port,
            settings: &self.record.settings,
            rocks,
            is_first: !self.record.is_welcomed,
        };
        match &self.record.kind {
            Kind::Programs { .. } => Some(act(&self.record.kind.installation()?, &context)),
            Kind::Executables(executables) => Some(act(executables, &context)),
        }
    }
}

/// A free port of loopback; 0 for any.
fn claim_port(port: u16) -> Result<u16> {
    match std::net::TcpListener::bind(("127.0.0.1", port)).and_then(|l| l.local_addr()) {
        Ok(address) => Ok(address.port()),
        Err(error) => failed(format!(
            "port {port} of 127.0.0.1 cannot be had: {error}; choose another one by --port, or \
             leave it out for any that is free"
        )),
    }
}
