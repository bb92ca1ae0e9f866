//! Disk space used by the server's files, by purpose.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::db::Family;

use crate::sink::{Gauge, SampleBuffer, Sink};

/// The shortest pause after a walk, in multiples of the walk's duration, so that walks take a
/// hundredth of the time. Most take a millisecond or two.
const PAUSES: u64 = 100;
/// Maximum number of files and directories in one walk; a server with more is not walked again.
const ENTRIES_MAX: usize = 20_000;
/// The deepest path of data: PostgreSQL's `pg_tblspc/LINK/VERSION/DATABASE/FILE`.
const DEPTH_MAX: usize = 6;

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Class {
    Data,
    /// InnoDB's system tablespace: it grows by 64 MiB at once, mostly for undo logs.
    System,
    Redo,
    Binlog,
    Undo,
    Temp,
    Other,
}

const CLASSES: [(Class, &str); 7] = [
    (Class::Data, names::DATA_DATA),
    (Class::System, names::DATA_SYSTEM),
    (Class::Redo, names::DATA_REDO),
    (Class::Binlog, names::DATA_BINLOG),
    (Class::Undo, names::DATA_UNDO),
    (Class::Temp, names::DATA_TEMP),
    (Class::Other, names::DATA_OTHER),
];

pub(crate) struct Data {
    folder: PathBuf,
    family: Family,
    sizes: [Gauge; CLASSES.len()],
    total: Gauge,
    due: Nanos,
    is_given_up: bool,
}

impl Data {
    pub(crate) fn new(folder: PathBuf, family: Family) -> Self {
        let gauge =
            |name: &str| Gauge::new(name, "bytes", "stat of the files below the data directory");
        Self {
            folder,
            family,
            sizes: CLASSES.map(|(_, name)| gauge(name)),
            total: gauge(names::DATA_TOTAL),
            due: 0,
            is_given_up: false,
        }
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, sink: &Sink) {
        let began = Clock.now();
        if self.is_given_up || began < self.due {
            return;
        }
        let sizes = walk(&self.folder, self.family);
        let ended = Clock.now();
        self.due = ended + (ended - began) * PAUSES;
        let Some(sizes) = sizes else {
            self.is_given_up = true;
            let why = format!("the data directory has more than {ENTRIES_MAX} files");
            sink.gap("data", why);
            return;
        };
        for (gauge, (class, _)) in self.sizes.iter_mut().zip(CLASSES) {
            let bytes = sizes.get(&class).map(|bytes| *bytes as f64);
            gauge.put_some(recorder, bytes);
        }
        self.total.put(recorder, sizes.values().sum::<u64>() as f64);
    }
}

/// Allocated bytes by class; `None` if there are too many files. Files that disappear meanwhile do
/// not count.
fn walk(folder: &Path, family: Family) -> Option<HashMap<Class, u64>> {
    let mut sizes = HashMap::new();
    let mut entries = 0;
    let mut folders = vec![(folder.to_owned(), PathBuf::new(), 0)];
    while let Some((folder, relative, depth)) = folders.pop() {
        let Ok(list) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in list.flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                return None;
            }
            let relative = relative.join(entry.file_name());
            // Links lead to other locations of the data: a tablespace, a log on a separate disk.
            let Ok(found) = std::fs::metadata(entry.path()) else {
                continue;
            };
            if found.is_dir() {
                if depth + 1 < DEPTH_MAX {
                    folders.push((entry.path(), relative, depth + 1));
                }
            } else if found.is_file() {
                let class = class_of(family, &relative.to_string_lossy());
                *sizes.entry(class).or_insert(0) += found.blocks() * 512;
            }
        }
    }
    Some(sizes)
}

/// The purpose of a file, by its path below the data directory.
fn class_of(family: Family, path: &str) -> Class {
    match family {
        Family::Postgres => of_postgres(path),
        _ => of_mysql(path),
    }
}

fn of_postgres(path: &str) -> Class {
    let first = path.split('/').next().unwrap_or(path);
    match first {
        _ if path.contains("pgsql_tmp") => Class::Temp,
        "base" | "global" | "pg_tblspc" => Class::Data,
        "pg_wal" | "pg_xlog" => Class::Redo,
        _ => Class::Other,
    }
}

fn of_mysql(path: &str) -> Class {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let numbered = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_digit());
    if name.starts_with("ibtmp") || path.starts_with("#innodb_temp/") || name.starts_with("#sql") {
        return Class::Temp;
    }
    if name.starts_with("ib_logfile") || path.starts_with("#innodb_redo/") {
        return Class::Redo;
    }
    if path.starts_with("#rocksdb/") || path.starts_with(".rocksdb/") {
        return if extension == "log" {
            Class::Redo
        } else {
            Class::Data
        };
    }
    if extension == "ibu" || name.starts_with("undo_") || is_numbered(name, "undo") {
        return Class::Undo;
    }
    // Their base name is configurable; only they have a number after the dot.
    if numbered && !stem.contains("relay") && !stem.starts_with("aria_log") {
        return Class::Binlog;
    }
    match extension {
        "ibd" | "MYD" | "MYI" | "MAD" | "MAI" | "frm" => Class::Data,
        _ if name.starts_with("ibdata") => Class::System,
        _ => Class::Other,
    }
}

fn is_numbered(name: &str, beginning: &str) -> bool {
    let rest = name.strip_prefix(beginning);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{recorder, values};

    #[test]
    fn files_have_their_classes() {
        for (path, class) in [
            ("db/t1.ibd", Class::Data),
            ("ibdata1", Class::System),
            ("ibdata2", Class::System),
            ("mysql.ibd", Class::Data),
            ("db/t.MAI", Class::Data),
            ("ib_logfile0", Class::Redo),
            ("#innodb_redo/#ib_redo7", Class::Redo),
            ("undo_001", Class::Undo),
            ("undo002", Class::Undo),
            ("binlog.000001", Class::Binlog),
            ("host-bin.000123", Class::Binlog),
            ("host-relay-bin.000123", Class::Other),
            ("aria_log.00000001", Class::Other),
            ("ibtmp1", Class::Temp),
            ("#innodb_temp/temp_1.ibt", Class::Temp),
            ("#ib_16384_0.dblwr", Class::Other),
            ("#rocksdb/000010.sst", Class::Data),
            ("#rocksdb/000011.log", Class::Redo),
        ] {
            assert_eq!(class_of(Family::Mysql, path), class, "{path}");
        }
        for (path, class) in [
            ("base/5/1249", Class::Data),
            ("base/pgsql_tmp/pgsql_tmp7.0", Class::Temp),
            ("pg_tblspc/16385/PG_15_202209061/5/16386", Class::Data),
            ("pg_wal/000000010000000000000001", Class::Redo),
            ("pg_xact/0000", Class::Other),
        ] {
            assert_eq!(class_of(Family::Postgres, path), class, "{path}");
        }
    }

    #[test]
    fn the_directory_is_walked_as_often_as_a_hundredth_of_the_time_allows() {
        let (mut recorder, seen) = recorder();
        let mut data = Data::new(std::env::temp_dir().join("no-such"), Family::Mysql);
        let sink = recorder.sink().clone();
        for (at, due) in [(1, 0), (2, Nanos::MAX), (3, 0)] {
            data.due = due;
            recorder.begin(at);
            let before = Clock.now();
            data.sample(&mut recorder, &sink);
            let took = Clock.now() - before;
            recorder.finish();
            let room = before + took * (PAUSES + 1);
            assert!(data.due <= room || due == Nanos::MAX, "{} {room}", data.due);
        }
        assert_eq!(values(&seen)["data.total"].len(), 2);
    }

    #[test]
    fn blocks_are_summed_by_class() {
        let folder = std::env::temp_dir().join(format!("dyno-data-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("db")).unwrap();
        std::fs::write(folder.join("db/t.ibd"), vec![1; 10_000]).unwrap();
        std::fs::write(folder.join("ib_logfile0"), vec![1; 20_000]).unwrap();
        std::fs::write(folder.join("ibdata1"), vec![1; 40_000]).unwrap();
        let sizes = walk(&folder, Family::Mysql).unwrap();
        let on_disk = |path: &str| std::fs::metadata(folder.join(path)).unwrap().blocks() * 512;
        assert_eq!(sizes[&Class::Data], on_disk("db/t.ibd"));
        assert_eq!(sizes[&Class::Redo], on_disk("ib_logfile0"));
        assert_eq!(sizes[&Class::System], on_disk("ibdata1"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
