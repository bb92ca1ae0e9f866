//! Users and passwords, and the places they are read from.
//!
//! | source | for | comes before |
//! |---|---|---|
//! | the URL | all | everything |
//! | the environment variable named by `password_env` | all | files |
//! | `PGPASSWORD` | PostgreSQL | files |
//! | the file of `passfile`, else of `PGPASSFILE`, else `~/.pgpass` | PostgreSQL | |
//! | the section `[client]` of the file of `defaults_file`, else of `~/.my.cnf` | MySQL | |
//!
//! MySQL's option file also supplies the user, host, port and socket that the URL lacks.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use dyno_core::db::{DbError, Family};
use dyno_core::target::{Endpoint, MYSQL_PORT};
use dyno_core::{Secret, Target};
use zeroize::Zeroizing;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod my_cnf;
mod pgpass;
#[cfg(test)]
mod tests;

/// Larger credential files are refused: they must be something else.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Fills in what the target's URL omits, from the sources above. Returns warnings about sources
/// that were skipped. If the password is still absent, no source has one.
///
/// # Errors
/// A source that the URL names but that does not exist; a password given twice.
pub fn complete(target: &mut Target) -> Result<Vec<String>, DbError> {
    complete_in(target, &|name| std::env::var(name).ok())
}

/// Like [`complete`], with the given environment.
///
/// # Errors
/// As [`complete`].
pub fn complete_in(
    target: &mut Target,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, DbError> {
    let mut warnings = Vec::new();
    if let Some(name) = &target.sources.env {
        if target.password.is_some() {
            return Err(DbError::misuse(format!(
                "the target has a password in its URL and another in the environment variable \
                 {name} (password_env); use only one"
            )));
        }
        let value = variable(name).ok_or_else(|| {
            DbError::misuse(format!(
                "the environment variable {} (password_env) is not set, or not UTF-8",
                named(name)
            ))
        })?;
        target.password = Some(Secret::new(value));
    }
    let home = variable("HOME").filter(|home| !home.is_empty());
    match target.family {
        Family::Mysql => from_my_cnf(target, home.as_deref(), &mut warnings)?,
        Family::Postgres => from_pgpass(target, home.as_deref(), variable, &mut warnings)?,
        // No known password files for the others.
        _ => {}
    }
    Ok(warnings)
}

/// The variable's name for messages. An invalid name may be the password itself.
fn named(name: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name.chars().all(is_name) {
        true => name,
        false => "that was given, which is not a variable name,",
    }
}

fn from_my_cnf(
    target: &mut Target,
    home: Option<&str>,
    warnings: &mut Vec<String>,
) -> Result<(), DbError> {
    let named = target.sources.defaults_file.clone();
    let Some(path) = named.clone().or_else(|| in_home(home, ".my.cnf")) else {
        return Ok(());
    };
    let Some((text, mode)) = read(&path, named.is_some(), "defaults_file", warnings)? else {
        return Ok(());
    };
    // As MySQL's clients do: anybody could have written the file.
    if mode & 0o002 != 0 {
        warnings.push(format!(
            "{} is ignored because everybody can write to it; restrict it with chmod 0600",
            path.display()
        ));
        return Ok(());
    }
    let client = my_cnf::parse(&text);
    if client.includes {
        warnings.push(format!(
            "!include lines in {} are not followed",
            path.display()
        ));
    }
    let port = match client.port.as_deref().map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) if port > 0 => Some(port),
        Some(_) => {
            let message = format!(
                "the port in {} is not a number from 1 to 65535",
                path.display()
            );
            return Err(DbError::misuse(message));
        }
    };
    apply_endpoint(target, client.host, port, client.socket.map(PathBuf::from));
    if let Some(user) = client.user.filter(|_| target.implied.user) {
        target.user = user;
        target.implied.user = false;
    }
    if target.password.is_none() {
        target.password = client.password;
    }
    Ok(())
}

fn apply_endpoint(
    target: &mut Target,
    host: Option<String>,
    port: Option<u16>,
    socket: Option<PathBuf>,
) {
    let implied = target.implied;
    let host = host.filter(|_| implied.host);
    let local = match &host {
        Some(host) => host == "localhost",
        None => implied.socket,
    };
    if let Some(socket) = socket.filter(|_| local) {
        target.endpoints = vec![Endpoint::Unix(socket)];
    } else if let Some(host) = host.filter(|_| !local) {
        let port_given = match target.endpoints.first() {
            Some(Endpoint::Tcp(_, port)) if !implied.port => Some(*port),
            _ => port,
        };
        target.endpoints = vec![Endpoint::Tcp(host, port_given.unwrap_or(MYSQL_PORT))];
    } else if let Some(port) = port.filter(|_| implied.port) {
        for endpoint in &mut target.endpoints {
            if let Endpoint::Tcp(_, old) = endpoint {
                *old = port;
            }
        }
    }
}

fn from_pgpass(
    target: &mut Target,
    home: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Result<(), DbError> {
    let given = |name| variable(name).filter(|value| !value.is_empty());
    let named = target.sources.passfile.clone();
    if target.password.is_some() {
        return Ok(());
    }
    // A file named by the URL comes before a variable that the URL does not name.
    if named.is_none()
        && let Some(password) = given("PGPASSWORD")
    {
        target.password = Some(Secret::new(password));
        return Ok(());
    }
    let usual = || in_home(home, ".pgpass");
    let path = named
        .clone()
        .or_else(|| given("PGPASSFILE").map(PathBuf::from))
        .or_else(usual);
    let Some(path) = path else {
        return Ok(());
    };
    let Some((text, mode)) = read(&path, named.is_some(), "passfile", warnings)? else {
        return Ok(());
    };
    if mode & 0o077 != 0 {
        warnings.push(format!(
            "{} is ignored because users other than its owner can access it; restrict it with \
             chmod 0600",
            path.display()
        ));
        return Ok(());
    }
    let mut found: Option<Secret> = None;
    for endpoint in &target.endpoints {
        let password = pgpass::find(&text, endpoint, &target.database, &target.user);
        match (&found, password) {
            (_, None) => {}
            (None, password) => found = password,
            (Some(one), Some(other)) if *one == other => {}
            _ => {
                return Err(DbError::misuse(format!(
                    "{} has different passwords for the hosts of this target, which can have only \
                     one; set it with password_env",
                    path.display()
                )));
            }
        }
    }
    target.password = found;
    Ok(())
}

fn in_home(home: Option<&str>, name: &str) -> Option<PathBuf> {
    home.map(|home| Path::new(home).join(name))
}

/// The file's text and permissions; `None` if a default file does not exist.
fn read(
    path: &Path,
    named: bool,
    parameter: &str,
    warnings: &mut Vec<String>,
) -> Result<Option<(Zeroizing<String>, u32)>, DbError> {
    match try_read(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if named => Err(DbError::misuse(format!(
            "cannot read {} ({parameter}): {error}",
            path.display()
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            warnings.push(format!("{} is ignored: {error}", path.display()));
            Ok(None)
        }
    }
}

fn try_read(path: &Path) -> std::io::Result<(Zeroizing<String>, u32)> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    if about.size() > FILE_BYTES_MAX {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    // Full capacity, so that growing the buffer leaves no copy of the password behind.
    let mut text = Zeroizing::new(String::with_capacity(about.size() as usize + 1));
    let file = std::fs::File::open(path)?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok((text, about.permissions().mode()))
}
