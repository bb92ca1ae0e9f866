//! The command lines of each server's programs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Kind, programs};

/// The program that creates a data directory. `base` is the root of an unpacked server, or `None`
/// for the one installed on the machine.
pub(super) fn initializer(kind: Kind, base: Option<&Path>) -> Result<PathBuf> {
    if template(kind, base).is_some() {
        return copier();
    }
    match (kind, base) {
        (Kind::Mariadb, None) => {
            programs::locate(kind)?;
            match programs::find("mariadb-install-db") {
                Some(program) => Ok(program),
                None => bail!("mariadb-install-db is not installed; it comes with MariaDB"),
            }
        }
        (Kind::Mariadb, Some(base)) => one_of(base, &[INSTALL, "scripts/mysql_install_db"]),
        (Kind::Mysql, _) => programs::locate(kind),
        (Kind::Postgres, _) => Ok(postgres(base)?.join("initdb")),
    }
}

/// The program that copies a data directory.
pub(super) fn copier() -> Result<PathBuf> {
    programs::find("cp").context("`cp` is not installed")
}

/// A data directory that can be copied instead of creating one.
fn template(kind: Kind, base: Option<&Path>) -> Option<PathBuf> {
    match (kind, base) {
        // An old MySQL comes with a data directory.
        (Kind::Mysql, Some(base)) => Some(base.join("data")),
        (_, Some(_)) => None,
        (_, None) => programs::template(kind),
    }
}

/// MariaDB's program for creating a data directory, from 10.4 on.
const INSTALL: &str = "scripts/mariadb-install-db";

/// The server program.
pub(super) fn server(kind: Kind, base: Option<&Path>) -> Result<PathBuf> {
    match (kind, base) {
        (Kind::Mariadb | Kind::Mysql, None) => programs::locate(kind),
        (Kind::Mariadb | Kind::Mysql, Some(base)) => one_of(base, &["bin/mariadbd", "bin/mysqld"]),
        (Kind::Postgres, _) => Ok(postgres(base)?.join("postgres")),
    }
}

/// The folder of PostgreSQL's programs.
fn postgres(base: Option<&Path>) -> Result<PathBuf> {
    match base {
        Some(base) => Ok(base.join("bin")),
        None => programs::locate(Kind::Postgres),
    }
}

/// The first of these files that exists.
fn one_of(base: &Path, files: &[&str]) -> Result<PathBuf> {
    let mut paths = files.iter().map(|file| base.join(file));
    let found = paths.find(|path| path.is_file());
    found.with_context(|| format!("{} has none of {}", base.display(), files.join(", ")))
}

/// Arguments that create a data directory below `dir` with the user root (or postgres) and no
/// password.
pub(super) fn initialize(kind: Kind, dir: &Path, base: Option<&Path>) -> Result<Vec<String>> {
    let data = path(dir, "data");
    if let Some(template) = template(kind, base) {
        return Ok(strings(&["-r", &template.display().to_string(), &data]));
    }
    if let (Kind::Mariadb, Some(base)) = (kind, base) {
        let mut arguments = strings(&["--no-defaults", &format!("--datadir={data}")]);
        arguments.push(format!("--basedir={}", base.display()));
        if base.join(INSTALL).is_file() {
            arguments.push("--auth-root-authentication-method=normal".to_owned());
        }
        return Ok(arguments);
    }
    Ok(match kind {
        // By default only the machine's root may log in as root, but the server runs as another
        // user.
        Kind::Mariadb => strings(&[
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            &format!("--datadir={data}"),
        ]),
        Kind::Mysql => {
            let mut arguments = mysql_base()?;
            arguments.extend(strings(&[
                "--initialize-insecure",
                &format!("--datadir={data}"),
            ]));
            arguments
        }
        Kind::Postgres => strings(&[
            "-D",
            &data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            // `--no-sync`; before version 10 `--nosync`.
            "-N",
        ]),
    })
}

/// Arguments to serve that data directory. The server is small, but has room for the tests'
/// connections.
pub(super) fn serve(kind: Kind, dir: &Path, port: u16, base: Option<&Path>) -> Result<Vec<String>> {
    let mut arguments = match (kind, base) {
        (Kind::Postgres, _) => return Ok(serve_postgres(dir, port)),
        (Kind::Mysql, None) => mysql_base()?,
        _ => strings(&["--no-defaults", "--skip-name-resolve"]),
    };
    if let Some(base) = base {
        arguments.push(format!("--basedir={}", base.display()));
        if kind == Kind::Mariadb {
            // Some versions generate a key if TLS is on, which takes ten seconds.
            arguments.push("--skip-ssl".to_owned());
        }
    }
    arguments.extend(strings(&[
        "--bind-address=127.0.0.1",
        "--innodb-buffer-pool-size=256M",
        "--max-connections=1000",
        "--server-id=1",
        &format!("--port={port}"),
        &format!("--datadir={}", path(dir, "data")),
        &format!("--socket={}", path(dir, "sock")),
        &format!("--pid-file={}", path(dir, "pid")),
    ]));
    Ok(arguments)
}

fn serve_postgres(dir: &Path, port: u16) -> Vec<String> {
    let mut arguments = strings(&["-D", &path(dir, "data"), "-p", &port.to_string()]);
    for setting in [
        "listen_addresses=127.0.0.1",
        "max_connections=400",
        "shared_buffers=256MB",
        "logging_collector=off",
        "shared_preload_libraries=pg_stat_statements",
        &format!("unix_socket_directories={}", dir.display()),
    ] {
        arguments.extend(strings(&["-c", setting]));
    }
    arguments
}

/// MySQL is in a separate tree, so every path that is compiled in has to be given.
fn mysql_base() -> Result<Vec<String>> {
    let server = programs::locate(Kind::Mysql)?;
    let base = server
        .parent()
        .and_then(Path::parent)
        .with_context(|| format!("{} is not in a `sbin` folder", server.display()))?;
    Ok(strings(&[
        "--no-defaults",
        &format!("--basedir={}", base.display()),
        &format!("--plugin-dir={}", path(base, "lib/mysql/plugin")),
        &format!(
            "--character-sets-dir={}",
            path(base, "share/mysql/charsets")
        ),
        &format!("--lc-messages-dir={}", path(base, "share/mysql")),
        "--secure-file-priv=",
        "--mysqlx=OFF",
    ]))
}

fn path(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

fn strings(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&text| text.to_owned()).collect()
}
