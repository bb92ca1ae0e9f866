//! PostgreSQL: creating the data directory and starting the server.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use dyno_core::text::sql_string;

use super::bootstrap::{environment, run};
use super::mysql::escaped;
use super::{Installation, output_of};
use crate::credentials::{DATABASE, Password, USER};
use crate::error::{Result, failed, usage};
use crate::home::Folder;
use crate::process::{Identity, give};
use crate::server::{Context, GRACE_S};
use crate::supervisor::{Launch, Stop};

/// The server's configuration file.
const CONFIGURATION: &str = "postgresql.conf";

/// Settings that Dyno sets and users cannot.
pub(crate) const RESERVED: [&str; 9] = [
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "port",
    "listen_addresses",
    "unix_socket_directories",
    "logging_collector",
    "external_pid_file",
];

/// Settings of the data directory, applied when it is created.
pub(crate) const OF_DATA: [&str; 2] = ["data_checksums", "wal_segment_size"];

/// Creates the data directory.
///
/// # Errors
/// The error output of `initdb`.
pub(crate) fn initialize(
    installation: &Installation,
    context: &Context<'_>,
    password: &Password,
) -> Result<()> {
    let folder = context.folder;
    let Some(initdb) = installation.tool(&["initdb"]) else {
        return failed(format!(
            "there is no initdb next to {}; install PostgreSQL's server package",
            installation.program.display()
        ));
    };
    let file = folder.write("run/password", password.expose(), 0o600)?;
    give(&file, folder.identity())?;
    // Before PostgreSQL 10 there is nothing better than md5.
    let method = match installation.version.is_at_least(&[10]) {
        true => "scram-sha-256",
        false => "md5",
    };
    let mut arguments: Vec<String> = ["-U", USER, "-A", method, "-E", "UTF8", "--locale=C"]
        .map(str::to_owned)
        .into();
    arguments.push(format!("--pwfile={}", file.display()));
    arguments.push(format!("--pgdata={}", folder.data().display()));
    arguments.extend(of_data(installation, context)?);
    let done = run(folder, &initdb, &arguments, "");
    folder.remove("run/password")?;
    done
}

fn of_data(installation: &Installation, context: &Context<'_>) -> Result<Vec<String>> {
    let mut arguments = Vec::new();
    if let Some(value) = context.settings.get("data_checksums") {
        let on = ["on", "true", "yes", "1"].contains(&value.to_ascii_lowercase().as_str());
        match (on, installation.version.is_at_least(&[18])) {
            (true, _) => arguments.push("--data-checksums".to_owned()),
            (false, true) => arguments.push("--no-data-checksums".to_owned()),
            // They are off by default.
            (false, false) => {}
        }
    }
    if let Some(value) = context.settings.get("wal_segment_size") {
        let bytes = dyno_core::units::parse_size(value);
        let Ok(bytes) = bytes else {
            return usage(format!(
                "wal_segment_size is '{value}', which is not a size; try 16M"
            ));
        };
        arguments.push(format!("--wal-segsize={}", bytes >> 20));
    }
    Ok(arguments)
}

/// The server's command.
///
/// # Errors
/// A setting that cannot be written into the configuration.
pub(crate) fn launch(installation: &Installation, context: &Context<'_>) -> Result<Launch> {
    let folder = context.folder;
    let data = folder.data();
    let mut text = format!("include '{}/{CONFIGURATION}'\n", data.display());
    let mut put = |name: &str, value: &str| {
        let _ = writeln!(text, "{name} = {}", sql_string(value));
    };
    put("port", &context.port.to_string());
    put("listen_addresses", "127.0.0.1");
    put(
        "unix_socket_directories",
        &folder.join("run").display().to_string(),
    );
    put("logging_collector", "off");
    for (name, value) in context.settings.iter() {
        if value.contains(['\n', '\r']) {
            return usage(format!(
                "the value of {name} contains a line break, which postgresql.conf cannot represent"
            ));
        }
        if !OF_DATA.contains(&name) {
            put(name, value);
        }
    }
    let path = folder.write(CONFIGURATION, &text, 0o644)?;
    Ok(Launch {
        command: vec![
            installation.program.display().to_string(),
            "-D".to_owned(),
            data.display().to_string(),
            "-c".to_owned(),
            format!("config_file={}", path.display()),
        ],
        environment: environment(folder),
        inherits: false,
        input: String::new(),
        identity: folder.identity(),
        // Fast shutdown: sessions are ended, a checkpoint is written.
        stop: Stop::Signal(libc::SIGINT),
        grace_s: GRACE_S,
        daemon: false,
        groups: Vec::new(),
    })
}

/// Names of all settings, as listed by the server.
pub(super) fn known_settings(
    installation: &Installation,
    identity: Option<Identity>,
) -> Option<BTreeSet<String>> {
    let mut command = Command::new(&installation.program);
    command.env("LC_ALL", "C").arg("--describe-config");
    let text = output_of(&mut command, identity)?;
    let name = |line: &str| line.split('\t').next().unwrap_or_default().to_lowercase();
    let names: BTreeSet<String> = text.lines().map(name).filter(|n| !n.is_empty()).collect();
    (!names.is_empty()).then_some(names)
}

/// The password file of this server's clients.
pub(crate) fn client_file(password: &Password) -> String {
    format!("*:*:*:{USER}:{}\n", password.expose())
}

/// The server's URL without the password, which clients read from a file.
pub(crate) fn url(folder: &Folder, port: u16, tcp: bool, database: Option<&str>) -> String {
    let file = escaped(&folder.join("pgpass"));
    let host = match tcp {
        true => "127.0.0.1".to_owned(),
        false => escaped(&folder.join("run")).replace('/', "%2F"),
    };
    let database = database.unwrap_or(DATABASE);
    format!("postgres://{USER}@{host}:{port}/{database}?passfile={file}")
}

/// Removes the marks of a running server: a `postmaster.pid` copied with the data directory, and
/// the socket's lock. The pid of a killed server may by now be a zombie's or another process's, and
/// would be believed.
pub(crate) fn forget_pid(folder: &Folder, port: u16) {
    let socket = folder.join(&format!("run/.s.PGSQL.{port}.lock"));
    for left in [folder.data().join("postmaster.pid"), socket] {
        let _ = fs::remove_file(left);
    }
}
