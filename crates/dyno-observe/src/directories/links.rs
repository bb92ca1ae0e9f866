//! Links in a server's directories: the files behind them may be on another file system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;

use super::ServerDirectory;

/// Maximum number of files to examine in a directory.
const ENTRIES_MAX: usize = 20_000;
/// Maximum number of links in a path, as in Linux.
const LINKS_MAX: usize = 40;
/// The length of the name of a PostgreSQL WAL segment.
const SEGMENT: usize = 24;

/// The links in these directories that lead to logs and data, with the prefix of their facts.
pub(super) fn within(root: &Path, places: &[ServerDirectory]) -> Vec<ServerDirectory> {
    let mut found = Vec::new();
    for place in places {
        let path = resolved(root, &place.path);
        let Ok(list) = std::fs::read_dir(inside(root, &path)) else {
            continue;
        };
        for entry in list.flatten().take(ENTRIES_MAX) {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let name = entry.file_name();
            if is_link && let Some(what) = purpose(&place.what, &name.to_string_lossy()) {
                found.push(ServerDirectory {
                    what: what.to_owned(),
                    path: path.join(&name),
                });
            }
        }
    }
    found
}

/// The path without links, as a process with this root sees it. An unreadable entry does not count
/// as a link.
pub(super) fn resolved(root: &Path, path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut rest = parts(&path);
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        // An absolute link starts over at the root.
        let next = done.join(&part);
        match std::fs::read_link(inside(root, &next)) {
            Ok(target) if part != "/" && links < LINKS_MAX => {
                links += 1;
                rest.extend(parts(&target));
            }
            _ => done = next,
        }
    }
    done
}

/// An absolute path of a process with this root, as this process sees it.
pub(super) fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// The prefix of the facts of a file or directory with this name, in this directory.
fn purpose(place: &str, name: &str) -> Option<&'static str> {
    let own = [
        names::DATA_DATABASE,
        names::DATA_GLOBAL,
        names::DATA_ROCKSDB_WAL,
        names::DATA_TRANSACTIONS,
    ];
    if let Some(own) = own.into_iter().find(|own| *own == place) {
        return Some(own);
    }
    if place == names::DATA_ROCKSDB {
        return Some(match name.ends_with(".log") {
            true => names::DATA_ROCKSDB_WAL,
            false => names::DATA_ROCKSDB,
        });
    }
    let is_segment = name.len() == SEGMENT && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if place == names::DATA_REDO && is_segment {
        return Some(names::DATA_REDO);
    }
    of_mysql(name)
}

fn of_mysql(name: &str) -> Option<&'static str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_numbered = |start: &str| name.strip_prefix(start).is_some_and(is_number);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    Some(match () {
        () if name == "#innodb_redo" || is_numbered("ib_logfile") => names::DATA_REDO,
        () if name.starts_with("#ib_redo") => names::DATA_REDO,
        () if is_numbered("undo") || is_numbered("undo_") || extension == "ibu" => names::DATA_UNDO,
        () if is_numbered("ibdata") || name == "mysql.ibd" => names::DATA_SYSTEM,
        () if extension == "dblwr" => names::DATA_DOUBLEWRITE,
        () if stem == "aria_log" || name == "aria_log_control" => names::DATA_ARIA_LOG,
        () if name == "#rocksdb" || name == ".rocksdb" => names::DATA_ROCKSDB,
        () if is_number(extension) && !stem.contains("relay") => names::DATA_BINLOG,
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_purpose() {
        for (place, name, what) in [
            ("data", "ib_logfile0", Some("data.redo")),
            ("data", "#innodb_redo", Some("data.redo")),
            ("data.redo", "#ib_redo7", Some("data.redo")),
            ("data.redo", "000000010000000000000001", Some("data.redo")),
            ("data", "undo001", Some("data.undo")),
            ("data.undo", "undo_002", Some("data.undo")),
            ("data", "ibdata1", Some("data.system")),
            ("data", "#ib_16384_0.dblwr", Some("data.doublewrite")),
            ("data", "aria_log.00000001", Some("data.aria_log")),
            ("data", "binlog.000001", Some("data.binlog")),
            ("data", "#rocksdb", Some("data.rocksdb")),
            ("data.rocksdb", "000011.log", Some("data.rocksdb_wal")),
            ("data.rocksdb", "000010.sst", Some("data.rocksdb")),
            ("data.database", "t.ibd", Some("data.database")),
            ("data.transactions", "0000", Some("data.transactions")),
            ("data", "shop", None),
            ("data", "undo_stack", None),
            ("data", "host-relay-bin.000123", None),
            ("data.tablespace[fast]", "PG_15_202209061", None),
        ] {
            assert_eq!(purpose(place, name), what, "{place} {name}");
        }
    }

    #[test]
    fn links_begin_at_the_root_of_the_process() {
        let root = std::env::temp_dir().join(format!("dyno-root-{}", std::process::id()));
        std::fs::create_dir_all(root.join("var/lib")).unwrap();
        let link = |target: &str, at: &str| {
            std::os::unix::fs::symlink(target, root.join(at)).unwrap();
        };
        link("/fast/db", "var/lib/db");
        link("../lib/db", "var/lib/again");
        link("round", "var/lib/round");
        let found = ["/var/lib/db/x", "/var/lib/again", "/var/lib/round", "/"]
            .map(|path| resolved(&root, Path::new(path)));
        std::fs::remove_dir_all(&root).unwrap();
        let expected = ["/fast/db/x", "/fast/db", "/var/lib/round", "/"];
        assert_eq!(found, expected.map(PathBuf::from));
    }
}
