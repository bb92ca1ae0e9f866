//! One of Dyno's servers: created, started with settings that are read back, stopped, removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dyno_core::ports::free_port;
use serde::{Deserialize, Serialize};

use crate::contract::Contract;
use crate::credentials::Password;
use crate::error::{OnPath, Result, failed, usage};
use crate::home::{Folder, Home};
use crate::kind::{Kind, check_settings};
use crate::kinds::{Product, mysql, postgres};
use crate::limits::Limits;
use crate::place::Place;
use crate::process::give;
use crate::settings::Settings;
use crate::supervisor::{self, Ended, Running};

/// How long a server may take to stop before it is killed, in seconds.
pub(crate) const GRACE_S: u64 = 120;
/// The record of a server.
pub(crate) const RECORD: &str = "server.json";

/// The context of a kind's programs.
pub(crate) struct Context<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) port: u16,
    pub(crate) settings: &'a Settings,
    /// MariaDB with MyRocks tables.
    pub(crate) rocks: bool,
    /// The server has not run yet.
    pub(crate) is_first: bool,
}

/// The persistent state of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The version of this format.
    format: u32,
    pub(crate) kind: Kind,
    pub(crate) port: u16,
    pub(crate) settings: Settings,
    /// The limits.
    #[serde(default)]
    pub(crate) limits: Limits,
    /// Additional environment variables.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// The data directory was created.
    pub(crate) is_made: bool,
    /// It has answered once.
    pub(crate) is_welcomed: bool,
}

/// One of Dyno's servers.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) folder: Folder,
    pub(crate) record: Record,
}

impl Server {
    /// Creates a server's folder with everything needed to start it. Leaves nothing on an error.
    ///
    /// # Errors
    /// The name is taken, a setting is invalid, or the server's programs fail.
    pub fn make(
        home: &Home,
        name: &str,
        kind: Kind,
        settings: Settings,
        port: Option<u16>,
    ) -> Result<Self> {
        Self::make_on(home, name, kind, settings, port, None)
    }

    /// Creates a server on a separate file system, which contains all of its files.
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
            None => free_port().on("find a port on", Path::new("127.0.0.1"))?,
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
        let created = server.install();
        if created.is_err() {
            let _ = crate::place::discard(&server.folder);
        }
        created.map(|()| server)
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

    /// Opens an existing server.
    ///
    /// # Errors
    /// The name is unknown; the message lists the existing ones.
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

    /// All existing servers, by name. Damaged ones, and those with an unmounted file system
    /// ([`Folder::is_unmounted`]), are returned as errors.
    ///
    /// # Errors
    /// The folder of servers is not readable.
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

    /// The requested settings.
    pub fn settings(&self) -> &Settings {
        &self.record.settings
    }

    /// Changes the settings from the server's next start on.
    ///
    /// # Errors
    /// An invalid setting, or one that belongs to the data.
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

    /// Replaces all settings.
    ///
    /// # Errors
    /// The file is not writable.
    pub fn put_settings(&mut self, settings: Settings) -> Result<()> {
        self.record.settings = settings;
        self.save()
    }

    /// Sets the additional environment variables from its next start on.
    ///
    /// # Errors
    /// The file is not writable.
    pub fn put_environment(&mut self, environment: BTreeMap<String, String>) -> Result<()> {
        self.record.environment = environment;
        self.save()
    }

    /// Writes a file into its folder that only the server can read. Returns the path.
    ///
    /// # Errors
    /// A name that is a path, or a file that is not writable.
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

    /// The processes that run it, if any.
    ///
    /// # Errors
    /// The file is not readable.
    pub fn running(&self) -> Result<Option<Running>> {
        supervisor::running(&self.folder)
    }

    /// How it last ended.
    ///
    /// # Errors
    /// The file is not readable.
    pub fn ended(&self) -> Result<Option<Ended>> {
        supervisor::ended(&self.folder)
    }

    /// Stops it; `None` if it did not run.
    ///
    /// # Errors
    /// It survives SIGKILL.
    pub fn stop(&self) -> Result<Option<Ended>> {
        let ended = supervisor::stop(&self.folder)?;
        crate::limits::forget(&self.folder)?;
        Ok(ended)
    }

    /// Stops it and removes all of its files. Returns the freed bytes.
    ///
    /// # Errors
    /// It does not stop, or its files cannot be removed.
    pub fn remove(self) -> Result<u64> {
        self.stop()?;
        crate::place::discard(&self.folder)
    }

    /// The URL for the load. For built-in kinds it has no password: clients read it from a file.
    ///
    /// # Errors
    /// Its kind does not report it.
    pub fn url(&self, tcp: bool) -> Result<String> {
        self.with(|contract, context| contract.url(context, tcp))
    }

    /// The size of its data in bytes, as allocated.
    ///
    /// # Errors
    /// Its kind does not report it.
    pub fn data_size(&self) -> Result<u64> {
        let size = self.with(|contract, context| contract.data_size(context))?;
        Ok(size.unwrap_or_else(|| crate::copy::size(&self.folder.data()).allocated))
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

/// A loopback port that can be used.
pub(crate) fn claim_port(port: u16) -> Result<u16> {
    match std::net::TcpListener::bind(("127.0.0.1", port)) {
        Ok(_) => Ok(port),
        Err(error) => failed(format!(
            "cannot use port {port} of 127.0.0.1: {error}; choose another with --port, or omit it \
             to get a free one"
        )),
    }
}
