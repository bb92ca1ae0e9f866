//! A server of Dyno's own: made, started with settings that are read back, stopped, removed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::contract::Contract;
use crate::credentials::Password;
use crate::error::{Result, failed, usage};
use crate::home::{Folder, Home};
use crate::kind::{Kind, check_settings};
use crate::kinds::{Product, mysql, postgres};
use crate::limits::Limits;
use crate::place::Place;
use crate::process::give;
use crate::settings::Settings;
use crate::supervisor::{self, Ended, Running};

/// So long may a server take to end before it is killed.
pub(crate) const GRACE_S: u64 = 120;
/// What is known of a server.
pub(crate) const RECORD: &str = "server.json";

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
pub(crate) struct Record {
    /// The version of this format.
    format: u32,
    pub(crate) kind: Kind,
    pub(crate) port: u16,
    pub(crate) settings: Settings,
    /// What it may use at most.
    #[serde(default)]
    pub(crate) limits: Limits,
    /// Variables of its environment, beside those that it always has.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Its data directory is made.
    pub(crate) is_made: bool,
    /// It has answered once.
    pub(crate) is_welcomed: bool,
}

/// A server of Dyno's own.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) folder: Folder,
    pub(crate) record: Record,
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
        Self::make_on(home, name, kind, settings, port, None)
    }

    /// The same on a file system of its own, with all that is the server's within.
    ///
    /// # Errors
    /// As [`Server::make`], and as [`Place::check`].
    pub fn make_on(
        home: &Home,
        name: &str,
        kind: Kind,
        settings: Settings,
        port: Option<u16>,
        place: Option<&Place>,
    ) -> Result<Self> {
        if let Some(place) = place {
            place.check(home)?;
        }
        check_settings(&kind, &settings, home)?;
        let port = match port {
            Some(port) => claim_port(port)?,
            None => claim_port(0)?,
        };
        let folder = home.make_on(name, place)?;
        let mut server = Self {
            folder,
            record: Record {
                format: 1,
                kind,
                port,
                settings,
                limits: Limits::default(),
                environment: BTreeMap::new(),
                is_made: false,
                is_welcomed: false,
            },
        };
        let made = server.install();
        if made.is_err() {
            let _ = crate::place::discard(&server.folder);
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
        // After a reboot.
        folder.mount_again()?;
        match folder.read_json::<Record>(RECORD)? {
            Some(record) => Ok(Self { folder, record }),
            None => {
                let names: Vec<String> = home
                    .folders()?
                    .iter()
                    .map(|folder| folder.name().to_owned())
                    .collect();
                usage(match names.is_empty() {
                    true => {
                        format!("there is no server '{name}'; create one with `dyno server up`")
                    }
                    false => format!(
                        "there is no server '{name}'; there are {}",
                        names.join(", ")
                    ),
                })
            }
        }
    }

    /// All that are there, by name. What is damaged is told instead, and so are those whose file
    /// system is not mounted ([`Folder::is_unmounted`]).
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
                    "{name} is fixed when the data directory is created; create another server \
                     with it"
                ));
            }
        }
        for name in unset {
            if !self.record.settings.unset(name) {
                let names: Vec<&str> = self.record.settings.iter().map(|(name, _)| name).collect();
                return usage(format!(
                    "--unset {name}: you have not set it on this server; you have set {}",
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

    /// Variables of the environment that it has from its next start on.
    ///
    /// # Errors
    /// The file that keeps them cannot be written.
    pub fn put_environment(&mut self, environment: BTreeMap<String, String>) -> Result<()> {
        self.record.environment = environment;
        self.save()
    }

    /// Writes a file into its folder, which it can read and nobody else. Returns the path.
    ///
    /// # Errors
    /// A name that is a path, or a file that cannot be written.
    pub fn put_file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return usage(format!(
                "'{name}' is not a file name; use letters, digits, . - and _"
            ));
        }
        let path = self.folder.write(&format!("file-{name}"), text, 0o600)?;
        give(&path, self.folder.identity())?;
        Ok(path)
    }

    /// The processes that run it, if it runs.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn running(&self) -> Result<Option<Running>> {
        supervisor::running(&self.folder)
    }

    /// How it ended the last time.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn ended(&self) -> Result<Option<Ended>> {
        supervisor::ended(&self.folder)
    }

    /// Stops it; `None` where it did not run.
    ///
    /// # Errors
    /// It outlives even SIGKILL.
    pub fn stop(&self) -> Result<Option<Ended>> {
        let ended = supervisor::stop(&self.folder)?;
        crate::limits::forget(&self.folder)?;
        Ok(ended)
    }

    /// Stops it and removes all that is its own. Answers how many bytes that frees.
    ///
    /// # Errors
    /// It does not end, or its files cannot be removed.
    pub fn remove(self) -> Result<u64> {
        self.stop()?;
        crate::place::discard(&self.folder)
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

    pub(crate) fn save(&self) -> Result<()> {
        self.folder.write_json(RECORD, &self.record)
    }

    pub(crate) fn with<T>(
        &self,
        act: impl FnOnce(&dyn Contract, &Context<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_settings(&self.record.settings, act)
    }

    pub(crate) fn with_settings<T>(
        &self,
        settings: &Settings,
        act: impl FnOnce(&dyn Contract, &Context<'_>) -> Result<T>,
    ) -> Result<T> {
        match self.acted(settings, act) {
            Some(result) => result,
            None => failed(format!(
                "{} names a kind of server unknown to this version of Dyno",
                self.folder.join(RECORD).display()
            )),
        }
    }

    pub(crate) fn with_result(
        &self,
        act: impl FnOnce(&dyn Contract, &Context<'_>) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        self.acted(&self.record.settings, act)
            .unwrap_or_else(|| Err("its kind is unknown".to_owned()))
    }

    fn acted<T>(
        &self,
        settings: &Settings,
        act: impl FnOnce(&dyn Contract, &Context<'_>) -> T,
    ) -> Option<T> {
        let rocks = matches!(self.record.kind, Kind::Programs { rocks: true, .. });
        let context = Context {
            folder: &self.folder,
            port: self.record.port,
            settings,
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
pub(crate) fn claim_port(port: u16) -> Result<u16> {
    match std::net::TcpListener::bind(("127.0.0.1", port)).and_then(|l| l.local_addr()) {
        Ok(address) => Ok(address.port()),
        Err(error) => failed(format!(
            "cannot use port {port} of 127.0.0.1: {error}; choose another with --port, or omit it \
             to get a free one"
        )),
    }
}
