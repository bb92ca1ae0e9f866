//! Finds the programs of the servers.

use std::env::{self, VarError};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Kind;
use super::process;
use crate::{repository, say};

/// The environment variable for the folder of the newest PostgreSQL's programs.
pub const NEWEST_POSTGRES: &str = "DYNO_TEST_PG_NEWEST_BIN";

/// The environment variable for the folder of new data directories, one for each kind of server.
pub const TEMPLATES: &str = "DYNO_TEST_TEMPLATES";

/// The environment variable for the kinds of servers that tests use, separated by commas.
pub const KINDS: &str = "DYNO_TEST_KINDS";

/// The environment variable that overrides the location of a server.
pub fn variable(kind: Kind) -> &'static str {
    match kind {
        Kind::Mariadb => "DYNO_TEST_MARIADBD",
        Kind::Mysql => "DYNO_TEST_MYSQLD",
        Kind::Postgres => "DYNO_TEST_PG_BIN",
    }
}

/// The server's program. For PostgreSQL this is the folder of its programs.
///
/// # Errors
/// The program is not found, or is not where the environment says.
pub fn locate(kind: Kind) -> Result<PathBuf> {
    let variable = variable(kind);
    if let Some(path) = env::var_os(variable).map(PathBuf::from) {
        if path.exists() {
            return Ok(path);
        }
        bail!("{variable} names {}, which does not exist", path.display());
    }
    let found = match kind {
        Kind::Mariadb => find("mariadbd"),
        Kind::Mysql => Some(mysql_tree().join("usr/sbin/mysqld")).filter(|path| path.exists()),
        Kind::Postgres => postgres_bin(),
    };
    match found {
        Some(path) => Ok(path),
        None => bail!(
            "there is no {kind} server on this machine; `cargo xtask servers up` installs what \
             it needs, or name one by {variable}"
        ),
    }
}

/// The kinds of servers that tests use: those that the environment names, else all.
///
/// # Errors
/// The environment names a kind that does not exist.
pub fn kinds() -> Result<Vec<Kind>> {
    match env::var(KINDS) {
        Ok(tags) => parse_kinds(&tags),
        Err(VarError::NotPresent) => Ok(Kind::ALL.to_vec()),
        Err(error) => bail!("{KINDS}: {error}"),
    }
}

fn parse_kinds(tags: &str) -> Result<Vec<Kind>> {
    let parse = |tag: &str| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.tag() == tag);
        kind.with_context(|| format!("{KINDS}={tags}: no kind of server is called `{tag}`"))
    };
    tags.split(',').map(parse).collect()
}

/// A new data directory to copy: creating one takes seconds of CPU time.
pub(super) fn template(kind: Kind) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os(TEMPLATES)?);
    Some(folder.join(kind.tag())).filter(|template| template.is_dir())
}

/// Finds a program in the search path and in the folders where servers are usually installed.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(system)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Finds a library in the machine's library folders.
pub fn library(name: &str) -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten();
    let paths = folders.map(|folder| folder.path().join(name));
    paths.into_iter().find(|path| path.exists())
}

/// Gives a folder to the servers' user.
///
/// # Errors
/// This process is root and there is no user for servers, or the folder belongs to another user.
pub fn give_to_servers(folder: &Path) -> Result<()> {
    process::give(folder, process::unprivileged()?)
}

/// Debian's PostgreSQL: version 15, with which the tests were verified, or else the newest.
pub fn postgres_bin() -> Option<PathBuf> {
    postgres_below(Path::new("/usr/lib/postgresql"))
}

/// Debian's newest PostgreSQL, which is unpacked into the same tree as MySQL.
pub fn newest_postgres_bin() -> Option<PathBuf> {
    match env::var_os(NEWEST_POSTGRES).map(PathBuf::from) {
        Some(path) => Some(path),
        None => postgres_below(&mysql_tree().join("usr/lib/postgresql")),
    }
}

/// The programs of version 15, or else of the newest version, in a folder of versions.
pub(crate) fn postgres_below(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let mut versions: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_by_key(|version| (*version == 15, *version));
    versions
        .into_iter()
        .rev()
        .map(|version| folder.join(format!("{version}/bin")))
        .find(|bin| bin.join("postgres").exists() && bin.join("initdb").exists())
}

/// The private tree of the unpacked MySQL.
pub fn mysql_tree() -> PathBuf {
    testbed().join("mysql/root")
}

/// The folder for downloads, which are kept between runs. This is `$DYNO_TESTBED_DIR`, or `testbed`
/// in the target directory, or `/var/tmp/dyno-testbed` if servers cannot enter that.
pub fn testbed() -> PathBuf {
    if let Some(path) = env::var_os("DYNO_TESTBED_DIR") {
        return absolute(Path::new(&path));
    }
    let testbed = target_directory().join("testbed");
    if !process::is_root() || process::is_reachable(&testbed) {
        return testbed;
    }
    PathBuf::from("/var/tmp/dyno-testbed")
}

/// Cargo's target directory.
pub fn target_directory() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(path) => absolute(Path::new(&path)),
        None => repository().join("target"),
    }
}

/// Prints where the test bed is, if that is not the usual place.
pub(crate) fn print_testbed() {
    let testbed = testbed();
    if env::var_os("DYNO_TESTBED_DIR").is_none() && !testbed.starts_with(target_directory()) {
        say(&format!(
            "{} is closed to the unprivileged user that servers run as: using {}",
            target_directory().display(),
            testbed.display()
        ));
    }
}

fn absolute(path: &Path) -> PathBuf {
    // This fails only for an empty path, which is then reported where it is used.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_by_their_tags() {
        let some = parse_kinds("mariadb,pg").unwrap();
        assert_eq!(some, [Kind::Mariadb, Kind::Postgres]);
        let all = Kind::ALL.map(Kind::tag).join(",");
        assert_eq!(parse_kinds(&all).unwrap(), Kind::ALL);
        for wrong in ["", "pg,", "oracle"] {
            let error = parse_kinds(wrong).unwrap_err().to_string();
            assert!(error.contains("no kind of server is called"), "{error}");
        }
    }
}
