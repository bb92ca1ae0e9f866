//! Built-in kinds of servers, and their programs.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dyno_core::db::Family;
use dyno_core::suggest::nearest;

use crate::error::{OnPath, Result, usage};
use crate::process::{Identity, become_user};

pub(crate) mod bootstrap;
mod builtin;
pub(crate) mod mysql;
pub(crate) mod postgres;
mod programs;
mod version;

pub(crate) use programs::locate;
pub use programs::{PATH_VARIABLE, installed};
pub use version::Version;

/// A product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    /// MariaDB.
    Mariadb,
    /// MySQL, or Percona Server.
    Mysql,
    /// PostgreSQL.
    Postgres,
}

/// All products.
pub const PRODUCTS: [Product; 3] = [Product::Mariadb, Product::Mysql, Product::Postgres];

impl Product {
    /// Its name as a kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
            Self::Postgres => "postgresql",
        }
    }

    /// Its protocol.
    pub fn family(self) -> Family {
        match self {
            Self::Mariadb | Self::Mysql => Family::Mysql,
            Self::Postgres => Family::Postgres,
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An installed server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The product.
    pub product: Product,
    /// Its version.
    pub version: Version,
    /// The program's version text, in one line.
    pub described: String,
    /// The server's program.
    pub program: PathBuf,
    /// The base folder of its other files.
    pub basedir: PathBuf,
}

impl Installation {
    /// A program of the server's package.
    pub(crate) fn tool(&self, names: &[&str]) -> Option<PathBuf> {
        let own = self.program.parent().map(Path::to_owned);
        let below = ["bin", "sbin", "scripts", "libexec"].map(|inner| self.basedir.join(inner));
        let folders: Vec<PathBuf> = own.into_iter().chain(below).collect();
        let named = names
            .iter()
            .flat_map(|name| folders.iter().map(move |f| f.join(name)));
        named.into_iter().find(|path| path.is_file())
    }

    /// Names of all settings that this server knows; `None` if it does not list them.
    pub fn settings(&self, identity: Option<Identity>) -> Option<BTreeSet<String>> {
        match self.product {
            Product::Postgres => postgres::known_settings(self, identity),
            Product::Mariadb | Product::Mysql => mysql::known_settings(self, identity),
        }
    }
}

/// The user's name for a kind: `mysql`, `mysql-9.7`, `mariadb`, `myrocks`, `postgresql-15`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindName {
    /// The product.
    pub product: Product,
    /// The requested version or a prefix of it.
    pub version: Option<String>,
    /// MariaDB with MyRocks as the default engine.
    pub rocks: bool,
}

const NAMES: [(&str, Product, bool); 7] = [
    ("mariadb", Product::Mariadb, false),
    ("myrocks", Product::Mariadb, true),
    ("mysql", Product::Mysql, false),
    ("percona", Product::Mysql, false),
    ("postgresql", Product::Postgres, false),
    ("postgres", Product::Postgres, false),
    ("pg", Product::Postgres, false),
];

impl KindName {
    /// Parses a kind's name.
    ///
    /// # Errors
    /// An unknown name; the message suggests the most similar one.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, version) = match text.split_once('-') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let digits = |v: &str| v.starts_with(|c: char| c.is_ascii_digit());
        let found = NAMES
            .iter()
            .find(|(known, ..)| known.eq_ignore_ascii_case(name));
        match (found, version) {
            (Some(_), Some(version)) if !digits(version) => usage(format!(
                "'{version}' in '{text}' is not a version; write for example {name}-10.11"
            )),
            (Some(&(_, product, rocks)), version) => Ok(Self {
                product,
                version: version.map(str::to_owned),
                rocks,
            }),
            (None, _) => usage(unknown(text, name)),
        }
    }
}

fn unknown(text: &str, name: &str) -> String {
    let near = nearest(&name.to_lowercase(), NAMES.iter().map(|(known, ..)| *known));
    let near = near.map(|known| format!("; did you mean {known}?"));
    format!(
        "unknown kind of server '{text}'{}; expected mariadb, myrocks, mysql or postgresql, \
         optionally with a version (mysql-9.7), or the path of a folder of executables \
         (./my-server)",
        near.unwrap_or_default()
    )
}

/// A program's version text, in one line.
pub(crate) fn describe(program: &Path) -> Result<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    let output = command.output().on("start", program)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Runs one of the server's programs as its user and returns its output.
pub(crate) fn output_of(command: &mut Command, identity: Option<Identity>) -> Option<String> {
    become_user(command, identity);
    command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/");
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_and_versions() {
        let parse = |text| KindName::parse(text);
        let kind = parse("mysql-9.7").expect("a kind");
        assert_eq!(
            (kind.product, kind.version.as_deref()),
            (Product::Mysql, Some("9.7"))
        );
        assert!(parse("myrocks").expect("a kind").rocks);
        assert_eq!(
            parse("postgres").expect("a kind").product,
            Product::Postgres
        );
        let message = |text| parse(text).expect_err("no kind").to_string();
        assert!(
            message("marriadb").contains("did you mean mariadb?"),
            "{}",
            message("marriadb")
        );
        assert!(message("mysql-new").contains("is not a version"));
        assert!(!message("oracle").contains("did you mean"));
    }
}
