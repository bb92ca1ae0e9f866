//! Finds servers' programs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Installation, KindName, Product, Version, describe};
use crate::error::{Result, failed, usage};

/// The environment variable with more folders of servers, separated by `:`.
pub const PATH_VARIABLE: &str = "DYNO_SERVER_PATH";
/// Where packages and archives install servers.
const USUAL: [&str; 4] = ["/usr", "/usr/local", "/usr/local/mysql", "/usr/local/pgsql"];
/// Folders with one server per subfolder.
const COLLECTIONS: [&str; 3] = ["/usr/lib/postgresql", "/opt", "/opt/mysql"];
/// Locations of a server's program below its folder.
const INNER: [&str; 7] = [
    "bin",
    "sbin",
    "libexec",
    "usr/sbin",
    "usr/bin",
    "usr/libexec",
    "",
];

/// All servers that Dyno can start here: those in `$DYNO_SERVER_PATH`, in the search path and in
/// the usual places; the newest of each product first.
pub fn installed() -> Vec<Installation> {
    let named = env::var_os(PATH_VARIABLE).unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&named)
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect();
    // A program in `/x/bin` has the base folder `/x`.
    folders.extend(env::split_paths(&path).filter_map(|bin| bin.parent().map(Path::to_owned)));
    folders.extend(USUAL.map(PathBuf::from));
    for collection in COLLECTIONS {
        let entries = fs::read_dir(collection).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path()));
    }
    let mut found: Vec<Installation> = Vec::new();
    for folder in folders {
        for server in in_folder(&folder) {
            let same = |a: &Installation| real(&a.program) == real(&server.program);
            if !found.iter().any(same) {
                found.push(server);
            }
        }
    }
    found.sort_by(|a, b| a.product.cmp(&b.product).then(b.version.cmp(&a.version)));
    found
}

/// The requested server: in `basedir` if given, else the newest installed one with the requested
/// version.
///
/// # Errors
/// No such server.
pub(crate) fn locate(kind: &KindName, basedir: Option<&Path>) -> Result<Installation> {
    let wanted = |server: &Installation| {
        let version = kind.version.as_deref();
        server.product == kind.product && version.is_none_or(|v| server.version.begins_with(v))
    };
    let product = kind.product;
    let version = kind
        .version
        .as_ref()
        .map(|v| format!(" {v}"))
        .unwrap_or_default();
    if let Some(basedir) = basedir {
        if !basedir.is_dir() {
            return usage(format!(
                "there is no folder {} (--basedir)",
                basedir.display()
            ));
        }
        let there = in_folder(basedir);
        let others: Vec<String> = there.iter().map(title).collect();
        return match there.into_iter().find(wanted) {
            Some(server) => Ok(server),
            None if others.is_empty() => usage(format!(
                "there is no server program in {0} (--basedir): neither {0}/bin nor {0}/sbin has \
                 mysqld, mariadbd or postgres",
                basedir.display()
            )),
            None => usage(format!(
                "{} contains {}, not {product}{version}",
                basedir.display(),
                others.join(", ")
            )),
        };
    }
    let all = installed();
    let others: Vec<String> = all.iter().map(title).collect();
    if let Some(server) = all.into_iter().find(wanted) {
        return Ok(server);
    }
    failed(format!(
        "there is no {product}{version} on this machine (found: {}); install one, or name its \
         folder with --basedir or ${PATH_VARIABLE}",
        match others.is_empty() {
            true => "no server at all".to_owned(),
            false => others.join(", "),
        }
    ))
}

fn title(server: &Installation) -> String {
    format!("{} {}", server.product, server.version)
}

fn in_folder(folder: &Path) -> Vec<Installation> {
    let mut found: Vec<Installation> = Vec::new();
    for inner in INNER {
        for name in ["mariadbd", "mysqld", "postgres"] {
            let program = folder.join(inner).join(name);
            if !program.is_file() || found.iter().any(|f| real(&f.program) == real(&program)) {
                continue;
            }
            found.extend(examine(&program, folder, inner));
        }
    }
    found
}

/// Identifies a program. `mysqld` may be MariaDB's; a program that does not identify itself is
/// ignored.
fn examine(program: &Path, folder: &Path, inner: &str) -> Option<Installation> {
    let described = describe(program).ok()?;
    let version = Version::find(&described)?;
    let product = match () {
        () if described.contains("MariaDB") => Product::Mariadb,
        () if described.contains("(PostgreSQL)") => Product::Postgres,
        () if described.contains(" Ver ") => Product::Mysql,
        () => return None,
    };
    let basedir = match inner.strip_prefix("usr/") {
        Some(_) => folder.join("usr"),
        None => folder.to_owned(),
    };
    Some(Installation {
        product,
        version,
        described,
        program: program.to_owned(),
        basedir,
    })
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
