//! MariaDB and MySQL: creating data directories and starting servers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::bootstrap::{environment, run};
use super::{Installation, Product, output_of};
use crate::credentials::{DATABASE, Password, USER};
use crate::error::{OnPath, Result, failed, usage};
use crate::home::Folder;
use crate::process::{Identity, give};
use crate::server::{Context, GRACE_S};
use crate::settings::Settings;
use crate::supervisor::{Launch, Stop};

/// The server's configuration file.
const CONFIGURATION: &str = "my.cnf";
/// Statements of the first start, before any connection.
const FIRST_SQL: &str = "run/first.sql";

/// Settings that Dyno sets and users cannot.
pub(crate) const RESERVED: [&str; 8] = [
    "datadir",
    "socket",
    "port",
    "pid_file",
    "bind_address",
    "basedir",
    "init_file",
    "tmpdir",
];

/// Settings of the data directory, applied when it is created.
pub(crate) const OF_DATA: [&str; 9] = [
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_undo_directory",
    "innodb_checksum_algorithm",
    "innodb_log_files_in_group",
    "lower_case_table_names",
    "character_set_server",
    "collation_server",
];

/// Creates the data directory.
///
/// # Errors
/// The program's error output.
pub(crate) fn initialize(installation: &Installation, context: &Context<'_>) -> Result<()> {
    let folder = context.folder;
    let of_data = |name: &str| OF_DATA.contains(&name);
    let settings = context.settings.iter().filter(|(name, _)| of_data(name));
    let settings: Settings = settings
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect();
    let text = configuration(installation, context, &settings, false)?;
    let path = folder.write("init.cnf", &text, 0o644)?;
    let defaults = format!("--defaults-file={}", path.display());
    let data = folder.data();
    let at = format!("--datadir={}", data.display());
    let version = &installation.version;
    if installation.product == Product::Mysql && version.is_at_least(&[5, 7]) {
        let arguments = [defaults, "--initialize-insecure".to_owned()];
        return run(folder, &installation.program, &arguments, "");
    }
    let installer = installation.tool(&["mariadb-install-db", "mysql_install_db"]);
    if let Some(installer) = installer.filter(|_| installation.product == Product::Mariadb) {
        let base = format!("--basedir={}", installation.basedir.display());
        let mut arguments = vec![defaults, base, at];
        if version.is_at_least(&[10, 4]) {
            // By default root is the machine's root, which the server's user is not.
            arguments.push("--auth-root-authentication-method=normal".to_owned());
            arguments.push("--skip-test-db".to_owned());
        }
        return run(folder, &installer, &arguments, "");
    }
    from_tables(folder, installation, &defaults)
}

/// As `mysql_install_db` before MySQL 5.7, or from the archive's data directory.
fn from_tables(folder: &Folder, installation: &Installation, defaults: &str) -> Result<()> {
    let shares = ["share", "share/mysql"].map(|inner| installation.basedir.join(inner));
    let scripts = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"];
    if let Some(share) = shares.iter().find(|share| share.join(scripts[0]).is_file()) {
        let system = folder.make_owned("data/mysql")?;
        let mut input = "use mysql;\n".to_owned();
        for script in scripts {
            let path = share.join(script);
            input += &fs::read_to_string(&path).on("read", &path)?;
            input.push('\n');
        }
        let done = run(
            folder,
            &installation.program,
            &[defaults, "--bootstrap", "--skip-grant-tables"],
            &input,
        );
        return done.inspect_err(|_| drop(fs::remove_dir_all(&system)));
    }
    let ready = installation.basedir.join("data");
    if ready.join("mysql").is_dir() {
        return crate::copy::tree(&ready, &folder.data(), folder.identity(), &|_| {}).map(drop);
    }
    failed(format!(
        "{} {} in {} has neither mysql_install_db nor share/mysql_system_tables.sql, so a data \
         directory cannot be created",
        installation.product,
        installation.version,
        installation.basedir.display()
    ))
}

/// The server's command; the first time, it also creates the users.
///
/// # Errors
/// A setting that cannot be written into the configuration.
pub(crate) fn launch(
    installation: &Installation,
    context: &Context<'_>,
    first: Option<&Password>,
) -> Result<Launch> {
    let folder = context.folder;
    let mut text = configuration(installation, context, context.settings, true)?;
    if let Some(password) = first {
        let path = folder.join(FIRST_SQL);
        let _ = fs::remove_file(&path);
        let path = folder.write(FIRST_SQL, &first_sql(installation, password), 0o600)?;
        give(&path, folder.identity())?;
        let _ = writeln!(text, "init_file={}", path.display());
    }
    let path = folder.write(CONFIGURATION, &text, 0o644)?;
    Ok(Launch {
        command: vec![
            installation.program.display().to_string(),
            format!("--defaults-file={}", path.display()),
        ],
        environment: environment(folder),
        inherits: false,
        input: String::new(),
        identity: folder.identity(),
        stop: Stop::Signal(libc::SIGTERM),
        grace_s: GRACE_S,
        daemon: false,
        groups: Vec::new(),
    })
}

/// Removes files used only by the first start.
pub(crate) fn forget_first(folder: &Folder) -> Result<()> {
    folder.remove(FIRST_SQL)
}

fn configuration(
    installation: &Installation,
    context: &Context<'_>,
    settings: &Settings,
    serves: bool,
) -> Result<String> {
    let folder = context.folder;
    let mut text = "[mysqld]\n".to_owned();
    let mut put = |name: &str, value: &str| {
        let _ = writeln!(text, "{name}={value}");
    };
    let base = &installation.basedir;
    put("basedir", &base.display().to_string());
    for (name, file, places) in SHARED {
        // Programs built for another location look for these there.
        let found = places
            .iter()
            .map(|place| base.join(place))
            .find(|p| p.join(file).exists());
        if let Some(found) = found {
            put(name, &found.display().to_string());
        }
    }
    for (name, inner) in [
        ("datadir", "data"),
        ("socket", "run/sock"),
        ("pid_file", "run/pid"),
        ("tmpdir", "tmp"),
    ] {
        put(name, &folder.join(inner).display().to_string());
    }
    put("port", &context.port.to_string());
    put("bind_address", "127.0.0.1");
    put("skip_name_resolve", "ON");
    put("secure_file_priv", "");
    for (name, value) in defaults(installation) {
        if !settings.contains(name) {
            put(name, value);
        }
    }
    // Data directories are created by InnoDB and Aria only.
    if context.rocks && serves {
        put("plugin_load_add", "ha_rocksdb");
        put("default_storage_engine", "ROCKSDB");
    }
    for (name, value) in settings.iter() {
        let _ = writeln!(text, "{}", line(name, value)?);
    }
    Ok(text)
}

/// Folders recognised by a file: the setting, a file in the folder, possible locations.
const SHARED: [(&str, &str, &[&str]); 3] = [
    (
        "plugin_dir",
        "",
        &["lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin"],
    ),
    (
        "lc_messages_dir",
        "english",
        &["share/mysql", "share", "share/mariadb"],
    ),
    (
        "character_sets_dir",
        "Index.xml",
        &["share/mysql/charsets", "share/charsets"],
    ),
];

/// Settings for which Dyno's default differs from the server's: a server that fills its cache at
/// start is neither cold nor warm.
fn defaults(installation: &Installation) -> Vec<(&'static str, &'static str)> {
    let version = &installation.version;
    let mut defaults = Vec::new();
    if version.is_at_least(&[5, 6]) {
        defaults.push(("innodb_buffer_pool_dump_at_shutdown", "OFF"));
        defaults.push(("innodb_buffer_pool_load_at_startup", "OFF"));
    }
    if installation.product == Product::Mysql && version.is_at_least(&[8, 0]) {
        defaults.push(("mysqlx", "OFF"));
    }
    defaults
}

/// A line of an option file.
fn line(name: &str, value: &str) -> Result<String> {
    if name == "log_bin" {
        // "On" is an option without a value, because a value would be the name of the file.
        match value.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => return Ok("log_bin".to_owned()),
            "false" | "off" | "0" => return Ok("skip_log_bin".to_owned()),
            _ => {}
        }
    }
    if value.contains(['\n', '\r', '"']) {
        return usage(format!(
            "the value of {name} contains a line break or a double quote, which an option file \
             cannot represent"
        ));
    }
    let value = match value {
        "true" => "ON",
        "false" => "OFF",
        other => other,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,%=+".contains(c);
    Ok(match value.chars().all(plain) {
        true => format!("{name}={value}"),
        false => format!("{name}=\"{}\"", value.replace('\\', "\\\\")),
    })
}

/// The statements of the first start, one per line: users with the password, the database.
fn first_sql(installation: &Installation, password: &Password) -> String {
    let version = &installation.version;
    let modern = match installation.product {
        Product::Mariadb => version.is_at_least(&[10, 2]),
        _ => version.is_at_least(&[5, 7, 6]),
    };
    let secret = password.expose();
    let mut sql = "SET SESSION sql_log_bin=0;\n".to_owned();
    for host in ["localhost", "%"] {
        let user = format!("'{USER}'@'{host}'");
        let _ = match modern {
            true => writeln!(
                sql,
                "CREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{secret}';\n\
                 GRANT ALL PRIVILEGES ON *.* TO {user} WITH GRANT OPTION;"
            ),
            false => writeln!(
                sql,
                "GRANT ALL PRIVILEGES ON *.* TO {user} IDENTIFIED BY '{secret}' WITH GRANT OPTION;"
            ),
        };
    }
    let _ = match modern {
        true => writeln!(
            sql,
            "ALTER USER 'root'@'localhost' IDENTIFIED BY '{secret}';"
        ),
        false => writeln!(
            sql,
            "DELETE FROM mysql.user WHERE User='' OR User='root';\nFLUSH PRIVILEGES;"
        ),
    };
    let _ = writeln!(sql, "CREATE DATABASE IF NOT EXISTS {DATABASE};");
    sql
}

/// Names of all settings, from the server's help output, without those of plugins that are not
/// loaded.
pub(super) fn known_settings(
    installation: &Installation,
    identity: Option<Identity>,
) -> Option<BTreeSet<String>> {
    let mut command = Command::new(&installation.program);
    command.env("LC_ALL", "C").arg("--no-defaults");
    let messages = &SHARED[1];
    let places = messages
        .2
        .iter()
        .map(|place| installation.basedir.join(place));
    if let Some(found) = places
        .into_iter()
        .find(|path: &PathBuf| path.join(messages.1).exists())
    {
        command.arg(format!("--lc-messages-dir={}", found.display()));
    }
    command.args(["--verbose", "--help"]);
    let text = output_of(&mut command, identity)?;
    let names = names_in(&text);
    (!names.is_empty()).then_some(names)
}

/// Options are listed as `--name` or `--name=value`, variables in a table below a line of dashes.
fn names_in(help: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut in_table = false;
    for line in help.lines() {
        in_table = (in_table || line.starts_with("-----")) && !line.is_empty();
        let words = line.split_whitespace().take(if in_table { 1 } else { 2 });
        for word in words {
            let name = match word.strip_prefix("--") {
                Some(option) => option.split(['=', '[']).next().unwrap_or_default(),
                None if in_table => word,
                None => continue,
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !name.is_empty() && name.chars().all(plain) && !name.starts_with('-') {
                names.insert(name.replace('-', "_"));
            }
        }
    }
    names
}

/// The server's socket.
pub(crate) fn socket(folder: &Folder) -> PathBuf {
    folder.join("run/sock")
}

/// The credentials file of this server's clients.
pub(crate) fn client_file(folder: &Folder, password: &Password) -> String {
    format!(
        "[client]\nuser={USER}\npassword=\"{}\"\nsocket={}\n",
        password.expose(),
        socket(folder).display()
    )
}

/// The server's URL without the password, which clients read from a file.
pub(crate) fn url(product: Product, folder: &Folder, port: u16, tcp: bool) -> String {
    let file = escaped(&folder.join("client.cnf"));
    let name = product.name();
    match tcp {
        true => format!("{name}://{USER}@127.0.0.1:{port}/{DATABASE}?defaults_file={file}"),
        false => format!(
            "{name}://{USER}@localhost/{DATABASE}?socket={}&defaults_file={file}",
            escaped(&socket(folder))
        ),
    }
}

/// A path, encoded as a URL parameter.
pub(crate) fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                text.push(char::from(*byte));
            }
            other => {
                let _ = write!(text, "%{other:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_lines() {
        let line = |name, value| line(name, value).expect("a line");
        assert_eq!(line("sync_binlog", "1"), "sync_binlog=1");
        assert_eq!(line("log_bin", "true"), "log_bin");
        assert_eq!(line("log_bin", "false"), "skip_log_bin");
        assert_eq!(line("log_bin", "name"), "log_bin=name");
        assert_eq!(
            line("innodb_doublewrite", "false"),
            "innodb_doublewrite=OFF"
        );
        assert_eq!(
            line("init_connect", "SET a=1 # b"),
            "init_connect=\"SET a=1 # b\""
        );
        assert!(super::line("a", "x\ny").is_err());
    }

    #[test]
    fn names_come_from_the_help() {
        let help = "  --allow-suspicious-udfs \n  -a, --ansi          Use ANSI\n  \
                    --binlog-cache-size=# \n\nVariables (--variable-name=value)\n\
                    ---- ----\nautocommit  TRUE\nmax-connections   151\n\nTo see 10 --x";
        let help = help.replace("---- ----", "----------------------- -----");
        let names = names_in(&help);
        for name in ["ansi", "binlog_cache_size", "autocommit", "max_connections"] {
            assert!(names.contains(name), "{name} in {names:?}");
        }
        assert!(!names.contains("To") && !names.contains("see"), "{names:?}");
    }
}
