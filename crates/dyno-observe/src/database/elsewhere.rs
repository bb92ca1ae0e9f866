//! Files of MySQL and MariaDB outside the data directory: logs, tablespaces, tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;
use dyno_core::db::DbError;
use dyno_core::tables::{directory_of, tablespace, tablespace_of};

use super::Asking;
use crate::directories::ServerDirectory;

/// Settings that contain a directory, and the prefix of its facts.
const DIRECTORIES: [(&str, &str); 7] = [
    ("innodb_log_group_home_dir", names::DATA_REDO),
    ("innodb_undo_directory", names::DATA_UNDO),
    ("innodb_data_home_dir", names::DATA_SYSTEM),
    ("innodb_doublewrite_dir", names::DATA_DOUBLEWRITE),
    ("aria_log_dir_path", names::DATA_ARIA_LOG),
    ("rocksdb_datadir", names::DATA_ROCKSDB),
    ("rocksdb_wal_dir", names::DATA_ROCKSDB_WAL),
];
/// The directory of redo log files below the configured one, since MySQL 8.0.30.
const REDO: &str = "#innodb_redo";

/// The directories and files that settings name.
pub(super) fn of_settings(setting: impl Fn(&str) -> Option<String>) -> Vec<ServerDirectory> {
    let mut places = Vec::new();
    let mut add = |what: &str, path: PathBuf| {
        if !path.as_os_str().is_empty() {
            let what = what.to_owned();
            places.push(ServerDirectory { what, path });
        }
    };
    let value = |name: &str| setting(name).unwrap_or_default();
    for (name, what) in DIRECTORIES {
        add(what, value(name).into());
    }
    let redo = Path::new(&value("innodb_log_group_home_dir")).join(REDO);
    add(names::DATA_REDO, redo);
    let binlog = value("log_bin_basename");
    let binlog = Path::new(&binlog).parent().unwrap_or(Path::new(""));
    add(names::DATA_BINLOG, binlog.to_owned());
    // May list several files, with sizes: `ibdata1:12M;/fast/ibdata2:12M`.
    let home = PathBuf::from(value("innodb_data_home_dir"));
    for file in value("innodb_data_file_path").split(';') {
        let file = file.split(':').next().unwrap_or_default();
        if !file.is_empty() {
            add(names::DATA_SYSTEM, home.join(file));
        }
    }
    places
}

/// The directories in table definitions, by fact name, and the directory of the target's database,
/// which may be a link.
///
/// # Errors
/// The connection is lost.
pub(super) fn of_tables(
    asking: &mut Asking<'_>,
    named: &BTreeSet<String>,
) -> Result<Vec<ServerDirectory>, DbError> {
    let mut places = Vec::new();
    let mut add = |what: &str, path: PathBuf| {
        let what = what.to_owned();
        places.push(ServerDirectory { what, path });
    };
    if let Some(name) = asking.one_or_gap(names::DATA_DATABASE, "SELECT DATABASE()", "")? {
        add(names::DATA_DATABASE, file_name(&name).into());
    }
    for place in named {
        if let Some(path) = directory_of(place) {
            add(place, path.into());
        }
    }
    if named.iter().any(|place| tablespace_of(place).is_some()) {
        let sql = "SELECT TABLESPACE_NAME, FILE_NAME FROM information_schema.FILES \
                   WHERE FILE_TYPE = 'TABLESPACE'";
        for row in asking.rows_or_gap(names::DATA_TABLESPACES, sql, "")? {
            let [Some(name), Some(file)] = row.as_slice() else {
                continue;
            };
            let what = tablespace(name);
            if let Some(folder) = Path::new(file).parent().filter(|_| named.contains(&what)) {
                add(&what, folder.to_owned());
            }
        }
    }
    Ok(places)
}

/// The name of the directory of a database, in which MySQL encodes all characters but letters,
/// digits and underscores. Those beyond ASCII have other codes, and are left as they are.
fn file_name(database: &str) -> String {
    let mut name = String::with_capacity(database.len());
    for letter in database.chars() {
        match letter.is_ascii() && !letter.is_ascii_alphanumeric() && letter != '_' {
            true => name.push_str(&format!("@{:04x}", u32::from(letter))),
            false => name.push(letter),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_places() {
        let places = of_settings(|name| {
            let value = match name {
                "innodb_log_group_home_dir" => "./",
                "innodb_undo_directory" => "/fast/undo",
                "innodb_data_home_dir" | "rocksdb_wal_dir" => "",
                "innodb_data_file_path" => "ibdata1:12M;/fast/ibdata2:12M:autoextend",
                "log_bin_basename" => "/logs/binlog",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let found: Vec<(&str, &str)> = places
            .iter()
            .map(|place| (place.what.as_str(), place.path.to_str().unwrap()))
            .collect();
        let expected = [
            ("data.redo", "./"),
            ("data.undo", "/fast/undo"),
            ("data.redo", "./#innodb_redo"),
            ("data.binlog", "/logs"),
            ("data.system", "ibdata1"),
            ("data.system", "/fast/ibdata2"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_of_databases_are_encoded() {
        for (database, name) in [
            ("Shop_1", "Shop_1"),
            ("my-shop", "my@002dshop"),
            ("a.b$ c", "a@002eb@0024@0020c"),
        ] {
            assert_eq!(file_name(database), name);
        }
    }
}
