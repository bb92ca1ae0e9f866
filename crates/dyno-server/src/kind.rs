//! Kinds of servers, and their settings.

use std::path::{Path, PathBuf};

use dyno_core::text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{OnPath, Result, usage};
use crate::executables::Executables;
use crate::home::Home;
use crate::kinds::{Installation, KindName, Product, Version, mysql, postgres};
use crate::limits::Limits;
use crate::settings::Settings;

/// How a server is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Programs known to Dyno.
    Programs {
        /// `mariadb`, `mysql` or `postgresql`.
        product: String,
        /// The program's version text.
        described: String,
        /// The server's program.
        program: PathBuf,
        /// The base folder of its other files.
        basedir: PathBuf,
        /// MariaDB with MyRocks tables.
        rocks: bool,
    },
    /// Unknown executables.
    Executables(Executables),
}

impl Kind {
    /// The kind meant by a user: a name, a folder of executables, or one on another host.
    ///
    /// # Errors
    /// An unknown kind, or a server that is not installed here.
    pub fn find(text: &str, basedir: Option<&Path>) -> Result<Self> {
        if text.contains('/') || text.starts_with("ssh:") {
            if basedir.is_some() {
                return usage("--basedir is for Dyno's own kinds of servers");
            }
            return Executables::find(text).map(Self::Executables);
        }
        let name = KindName::parse(text)?;
        let basedir = basedir.map(|path| std::path::absolute(path).on("find", path));
        let found = crate::kinds::locate(&name, basedir.transpose()?.as_deref())?;
        Ok(Self::Programs {
            product: found.product.name().to_owned(),
            described: found.described,
            program: found.program,
            basedir: found.basedir,
            rocks: name.rocks,
        })
    }

    /// A short description.
    pub fn title(&self) -> String {
        match self {
            Self::Programs { rocks, .. } => match self.installation() {
                Some(i) if *rocks => format!("myrocks {}", i.version),
                Some(i) => format!("{} {}", i.product, i.version),
                None => "unknown".to_owned(),
            },
            Self::Executables(Executables { path, host, .. }) => match host {
                Some(host) => format!("ssh:{host}:{}", path.display()),
                None => path.display().to_string(),
            },
        }
    }

    /// Rejects settings that Dyno sets itself, and unknown ones.
    ///
    /// # Errors
    /// The first such setting, with the most similar one that the server has.
    pub fn check(&self, settings: &Settings, home: &Home) -> Result<()> {
        check_settings(self, settings, home)
    }

    /// A hash that identifies the server's program file. `None` for executables on another host.
    ///
    /// # Errors
    /// The file is not readable.
    pub fn fingerprint(&self) -> Result<Option<String>> {
        let program = match self {
            Self::Programs { program, .. } => program.clone(),
            Self::Executables(Executables { host: Some(_), .. }) => return Ok(None),
            Self::Executables(Executables { path, .. }) => path.join("start"),
        };
        let mut file = std::fs::File::open(&program).on("read", &program)?;
        let mut hash = Sha256::new();
        std::io::copy(&mut file, &mut HashWriter(&mut hash)).on("read", &program)?;
        Ok(Some(hex(hash.finalize())))
    }

    /// Whether a setting belongs to the data directory, so that it cannot change later.
    pub fn is_of_data(&self, setting: &str) -> bool {
        let Some(installation) = self.installation() else {
            return false;
        };
        let name = setting.to_ascii_lowercase().replace('-', "_");
        match installation.product {
            Product::Postgres => postgres::OF_DATA.contains(&name.as_str()),
            Product::Mariadb | Product::Mysql => mysql::OF_DATA[..6].contains(&name.as_str()),
        }
    }

    /// The family of the server's protocol; `None` if only the server knows it.
    pub fn family(&self) -> Option<dyno_core::db::Family> {
        self.installation().map(|found| found.product.family())
    }

    /// Rejects limits for a server on another host.
    pub(crate) fn must_be_here(&self, limits: &Limits) -> Result<()> {
        match self {
            Self::Executables(Executables {
                host: Some(host), ..
            }) if !limits.is_empty() => usage(format!(
                "limits apply to this host, but the server runs on {host}"
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn installation(&self) -> Option<Installation> {
        let Self::Programs {
            product,
            described,
            program,
            basedir,
            ..
        } = self
        else {
            return None;
        };
        let product = crate::kinds::PRODUCTS
            .into_iter()
            .find(|p| p.name() == product)?;
        Some(Installation {
            product,
            version: Version::find(described)?,
            described: described.clone(),
            program: program.clone(),
            basedir: basedir.clone(),
        })
    }
}

/// Whether a setting belongs to the data directory on any server known to Dyno.
pub fn is_of_data(setting: &str) -> bool {
    let name = setting.to_ascii_lowercase().replace('-', "_");
    let name = name.as_str();
    postgres::OF_DATA.contains(&name) || mysql::OF_DATA[..6].contains(&name)
}

struct HashWriter<'a>(&'a mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Rejects settings that Dyno sets itself, and unknown ones.
pub(crate) fn check_settings(kind: &Kind, settings: &Settings, home: &Home) -> Result<()> {
    let Some(installation) = kind.installation() else {
        return Ok(());
    };
    let reserved: &[&str] = match installation.product {
        Product::Postgres => &postgres::RESERVED,
        Product::Mariadb | Product::Mysql => &mysql::RESERVED,
    };
    for (name, _) in settings.iter() {
        if reserved.contains(&name) {
            return usage(format!(
                "Dyno sets {name} itself: each server has its own folder, socket and port (--port)"
            ));
        }
    }
    let Some(known) = installation.settings(home.identity()) else {
        return Ok(());
    };
    // Plugins have settings that the program does not list without them.
    let extensible = settings
        .iter()
        .any(|(name, _)| name.starts_with("plugin_load"))
        || matches!(kind, Kind::Programs { rocks: true, .. });
    for (name, _) in settings.iter() {
        let bare = name.strip_prefix("loose_").unwrap_or(name);
        let is_free = name.starts_with("loose_") || bare.contains('.') || extensible;
        let of_data =
            installation.product == Product::Postgres && postgres::OF_DATA.contains(&bare);
        if known.contains(bare) || is_free || of_data {
            continue;
        }
        if bare
            .strip_prefix("skip_")
            .is_some_and(|rest| known.contains(rest))
        {
            continue;
        }
        let near = dyno_core::suggest::nearest(bare, known.iter().map(String::as_str));
        return usage(format!(
            "{} {} has no setting '{name}'{}",
            installation.product,
            installation.version,
            near.map(|other| format!("; did you mean {other}?"))
                .unwrap_or_default()
        ));
    }
    Ok(())
}
