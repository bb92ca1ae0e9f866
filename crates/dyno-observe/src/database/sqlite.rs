//! SQLite: settings at both ends, and its files. Its counters are private to each connection, and a
//! query would take locks of the database under test.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::db::{DbError, Family};

use super::tables::{Schema, schema_of_sqlite};
use super::watch::beside;
use super::{Asking, Collector};
use crate::directories::ServerDirectory;
use crate::process::{Claim, report_ignored_syncs};
use crate::sink::{Gauge, SampleBuffer};

/// Settings that affect its behaviour; a connection's settings are the same for all connections
/// made from the target's URL.
const PRAGMAS: [&str; 19] = [
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "encoding",
    "foreign_keys",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "mmap_size",
    "page_count",
    "page_size",
    "synchronous",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
];

pub(super) struct Sqlite {
    file: PathBuf,
    log: PathBuf,
    file_size: Gauge,
    log_size: Gauge,
    /// The files' stamps at the start.
    before: Option<[Stamp; 2]>,
    schema: Schema,
}

/// The modification time and length of a file; `None` if it is missing or empty.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let found = std::fs::metadata(path).ok()?;
    (found.len() > 0).then_some((found.modified().ok()?, found.len()))
}

impl Sqlite {
    pub(super) fn new(file: PathBuf) -> Self {
        let size = |name: &str| Gauge::new(name, "bytes", "stat");
        // SQLite writes its log next to the target of a link.
        let file = std::fs::canonicalize(&file).unwrap_or(file);
        Self {
            log: beside(&file, "-wal"),
            file,
            file_size: size(names::DB_FILE_SIZE),
            log_size: size(names::DB_WAL_SIZE),
            before: None,
            schema: Schema::default(),
        }
    }

    fn stamps(&self) -> [Stamp; 2] {
        [&self.file, &self.log].map(|path| stamp(path))
    }
}

impl Collector for Sqlite {
    fn report(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        for name in PRAGMAS {
            let value = asking.one_or_gap("settings", &format!("PRAGMA {name}"), "")?;
            if let Some(value) = value {
                asking.setting(name, &value, at_end);
            }
        }
        if at_end {
            let before = self.before.as_ref();
            let changed = before.map(|before| match *before == self.stamps() {
                true => "no".to_owned(),
                false => "yes".to_owned(),
            });
            let source = "stat of the file and its log";
            asking.fact(names::DB_FILE_CHANGED, changed, source);
            let queries = schema_of_sqlite();
            return self.schema.compare(asking, &queries, "sqlite_master");
        }
        self.before = Some(self.stamps());
        let version = asking.one("SELECT sqlite_version()")?;
        asking.fact(names::SERVER_VERSION, version, "sqlite_version()");
        let rows = asking.rows_or_gap(names::SERVER_BUILD, "PRAGMA compile_options", "")?;
        let options: Vec<String> = rows.into_iter().flatten().flatten().collect();
        let debug = options.iter().any(|option| option == "DEBUG");
        let build = if debug { "debug" } else { "release" };
        let (sink, source) = (asking.sink, "PRAGMA compile_options");
        sink.fact(names::SERVER_BUILD, build, source);
        sink.fact(names::SERVER_COMPILE_OPTIONS, options.join(" "), source);
        sink.fact(names::SERVER_SAME_HOST, "yes", "embedded");
        report_ignored_syncs(asking.sink, std::process::id().cast_signed());
        let why = "SQLite counts hits, misses and spills per connection, and only that connection \
                   can read them";
        asking.sink.gap(names::DB_PAGE_CACHE, why);
        let why = "SQLite runs inside this process: see client.cpu and related series";
        asking.sink.gap("server", why);
        Ok(())
    }

    fn tables(&mut self, asking: &mut Asking<'_>) -> Result<Vec<ServerDirectory>, DbError> {
        super::tables::of_sqlite(asking)?;
        self.schema = Schema::read(asking, &schema_of_sqlite())?;
        Ok(Vec::new())
    }

    fn sample(
        &mut self,
        _asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        recorder.begin(Clock.now());
        let size = |path: &PathBuf| std::fs::metadata(path).ok().map(|data| data.len() as f64);
        self.file_size.put_some(recorder, size(&self.file));
        // A missing file is the same as an empty one: no log.
        self.log_size.put(recorder, size(&self.log).unwrap_or(0.0));
        Ok(())
    }

    fn claim(&mut self, _asking: &mut Asking<'_>) -> Result<Claim, DbError> {
        Ok(Claim {
            family: Family::Sqlite,
            backend: None,
            age_s: None,
            sound_s: None,
            data_directory: None,
            elsewhere: Vec::new(),
        })
    }

    fn restart(&mut self) {}

    fn always_zero(&self) -> Vec<String> {
        self.log_size
            .always_zero()
            .map(str::to_owned)
            .into_iter()
            .collect()
    }
}
