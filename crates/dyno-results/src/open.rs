//! Opens a results file after checking what it is. A file of any other kind is left unchanged.

use std::fs::{File, FileType};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{At, Problem, ResultsError};
use crate::schema::{self, Kind, MIGRATIONS, Migration};

/// How long to wait for another process's lock. Transactions are short, so even many concurrent
/// writers are done well before this.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How long to pause between retries where SQLite itself does not wait.
const RETRY: Duration = Duration::from_millis(10);

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Offset of the application id in the file's header, big-endian.
const APPLICATION_ID_AT: usize = 68;

/// The page size of a new file in bytes. With large pages, histograms leave less space empty.
const PAGE_BYTES: i64 = 8192;
/// The size of a writer's page cache in KiB, which SQLite expects as a negative number. Appending
/// needs little. The default of 2 MB fills up over the first ten minutes, which looks like a leak.
const CACHE_KIB: i64 = -512;

/// How many bytes to check before SQLite opens the file.
const HEADER_BYTES: usize = 100;

/// An open results file.
#[derive(Debug)]
pub struct Results {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) patience: Duration,
}

impl Results {
    /// Opens a results file to write and read. Creates it if it is missing or empty, and upgrades
    /// it to the newest schema.
    ///
    /// # Errors
    /// The file is not a results file of a known version, is damaged, or cannot be written to. In
    /// that case nothing is written.
    pub fn open(path: &Path) -> Result<Self, ResultsError> {
        Self::open_with(path, PATIENCE, MIGRATIONS)
    }

    /// Opens an existing results file to read. Works on read-only files and folders, and while
    /// other processes write.
    ///
    /// # Errors
    /// The file is missing, is not a results file of a known version, or cannot be read.
    pub fn open_read(path: &Path) -> Result<Self, ResultsError> {
        Self::open_read_with(path, PATIENCE, MIGRATIONS)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn open_with(
        path: &Path,
        patience: Duration,
        migrations: &[Migration],
    ) -> Result<Self, ResultsError> {
        let at = at("open the results file", path, patience);
        let look = looked_at(at)?;
        if look == Look::Absent
            && let Some(folder) = path.parent()
            && !folder.as_os_str().is_empty()
            && !folder.exists()
        {
            return Err(at.error(Problem::NoFolder(folder.to_owned())));
        }
        if look == Look::Database {
            // Use a read-only connection for the check, because it leaves no trace.
            match read_only(at) {
                Ok(connection) => drop(known(at, &connection, migrations)?),
                // A crash left this behind in our own folder, and only a writer can repair it.
                Err(error) if matches!(error.problem, Problem::Denied(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if look == Look::Absent {
            make(at).map_err(|error| match error.problem {
                // The folder exists but does not permit new files, for example /proc.
                Problem::Missing => {
                    at.error(Problem::Denied("no file can be created there".into()))
                }
                _ => error,
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection =
            Connection::open_with_flags(path, flags).map_err(|error| at.sqlite(error))?;
        prepare(&mut connection, at, migrations)?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            patience,
        })
    }

    pub(crate) fn open_read_with(
        path: &Path,
        patience: Duration,
        migrations: &[Migration],
    ) -> Result<Self, ResultsError> {
        let at = at("read the results file", path, patience);
        match looked_at(at)? {
            Look::Absent => return Err(at.error(Problem::Missing)),
            Look::Empty => return Err(at.error(Problem::Empty)),
            Look::Database => {}
        }
        let connection = read_only(at)?;
        match known(at, &connection, migrations)? {
            Kind::Ours(version) if version < schema::newest(migrations) => {
                drop(connection);
                Self::open_with(path, patience, migrations)
                    .map_err(|_| at.error(Problem::Older { version }))
            }
            Kind::Ours(_) => Ok(Self {
                connection,
                path: path.to_owned(),
                patience,
            }),
            _ => Err(at.error(Problem::Empty)),
        }
    }

    pub(crate) fn at<'a>(&'a self, doing: &'a str) -> At<'a> {
        at(doing, &self.path, self.patience)
    }
}

fn at<'a>(doing: &'a str, path: &'a Path, patience: Duration) -> At<'a> {
    At {
        doing,
        path,
        patience_s: patience.as_secs_f64(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Absent,
    Empty,
    Database,
}

/// Checks the first bytes of a file without SQLite.
fn looked_at(at: At<'_>) -> Result<Look, ResultsError> {
    if at.path.is_dir() {
        return Err(at.error(Problem::Directory));
    }
    // Check the type first: opening a pipe blocks until its other end is opened, and opening a
    // device may have effects.
    let kind = match std::fs::metadata(at.path) {
        Ok(about) => about.file_type(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Look::Absent),
        Err(error) => return Err(at.io(&error)),
    };
    if !kind.is_file() {
        return Err(at.error(Problem::Special(special(kind))));
    }
    let file = File::open(at.path).map_err(|error| at.io(&error))?;
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64)
        .read_to_end(&mut header)
        .map_err(|error| at.io(&error))?;
    if header.is_empty() {
        return Ok(Look::Empty);
    }
    if !header.starts_with(MAGIC) {
        return Err(at.error(Problem::NotSqlite));
    }
    let length = std::fs::metadata(at.path)
        .map_err(|error| at.io(&error))?
        .len();
    let due = length_due(&header)
        .unwrap_or_default()
        .max(HEADER_BYTES as u64);
    // If there is a log next to the file, another process may be about to write the rest. But
    // SQLite treats a file shorter than one page as an empty database.
    if length < due && (!has_log(at.path) || length < page_bytes(&header).max(HEADER_BYTES as u64))
    {
        let why = format!("it has {length} bytes and should have {due}");
        return Err(at.error(Problem::Damaged(why)));
    }
    let mut id = [0; 4];
    id.copy_from_slice(&header[APPLICATION_ID_AT..APPLICATION_ID_AT + 4]);
    match i32::from_be_bytes(id) {
        // The id may still be in the log only.
        0 | schema::APPLICATION_ID => Ok(Look::Database),
        id => Err(at.error(Problem::Foreign(id))),
    }
}

/// The kind of a special file.
fn special(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    }
}

/// Creates the file for its owner only, because it will contain server settings and error messages.
/// SQLite gives the log and its index the same permissions.
fn make(at: At<'_>) -> Result<(), ResultsError> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    match options.open(at.path) {
        Ok(_) => Ok(()),
        // Another process created it first.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(at.io(&error)),
    }
}

/// How long a file with this header must be at least. `None` if the header does not say.
fn length_due(header: &[u8]) -> Option<u64> {
    let number = |from: usize| -> Option<u32> {
        let bytes = header.get(from..from + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    // See SQLite's file format: the size in pages is at offset 28. It is valid if the change
    // counter at 24 equals the number at 92, which is the counter's value when the size was
    // written.
    let (changes, pages, valid_for) = (number(24)?, number(28)?, number(92)?);
    let pages = if changes == valid_for { pages } else { 1 };
    Some(page_bytes(header) * u64::from(pages.max(1)))
}

/// The page size: two bytes at offset 16, where 1 means 65536.
fn page_bytes(header: &[u8]) -> u64 {
    match header.get(16..18) {
        Some([0, 1]) => 65_536,
        Some(&[high, low]) => u64::from(u16::from_be_bytes([high, low])),
        _ => HEADER_BYTES as u64,
    }
}

/// Opens a read-only connection. If SQLite cannot create its shared memory because the folder is
/// read-only, nobody else can be writing, and the file is read as it is.
fn read_only(at: At<'_>) -> Result<Connection, ResultsError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(at.path, flags)?;
        connection.busy_timeout(Duration::from_secs_f64(at.patience_s))?;
        schema::kind(&connection)?;
        Ok(connection)
    };
    let error = match open() {
        Ok(connection) => return Ok(connection),
        Err(error) => at.sqlite(error),
    };
    let settled =
        matches!(error.problem, Problem::Denied(_) | Problem::ReadOnly(_)) && !has_log(at.path);
    if !settled {
        return Err(error);
    }
    let immutable = || -> rusqlite::Result<Connection> {
        let uri = format!("{}?immutable=1", uri(at.path));
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri, flags)?;
        schema::kind(&connection)?;
        Ok(connection)
    };
    immutable().map_err(|error| at.sqlite(error))
}

/// Whether there is a log next to the file that is not empty.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// A path as SQLite's URI, with special characters escaped.
fn uri(path: &Path) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'.')
        .remove(b'-')
        .remove(b'_');
    // Keep relative paths relative, because a path after an authority would have to be absolute.
    format!(
        "file:{}",
        percent_encode(path.as_os_str().as_bytes(), ESCAPED)
    )
}

/// The kind of the database, if Dyno can use it.
fn known(
    at: At<'_>,
    connection: &Connection,
    migrations: &[Migration],
) -> Result<Kind, ResultsError> {
    let known = schema::newest(migrations);
    match schema::kind(connection).map_err(|error| at.sqlite(error))? {
        Kind::Foreign(id) => Err(at.error(Problem::Foreign(id))),
        Kind::Ours(version) if version > known => Err(at.error(Problem::Newer { version, known })),
        Kind::Ours(version) if version < schema::FIRST => {
            Err(at.error(Problem::BeforeFirst { version }))
        }
        kind => Ok(kind),
    }
}

/// Prepares a connection for writing and upgrades the schema.
fn prepare(
    connection: &mut Connection,
    at: At<'_>,
    migrations: &[Migration],
) -> Result<(), ResultsError> {
    let sqlite = |error| at.sqlite(error);
    connection
        .busy_timeout(Duration::from_secs_f64(at.patience_s))
        .map_err(sqlite)?;
    if connection.is_readonly("main").map_err(sqlite)? {
        let why = "the file's permissions do not allow it".to_owned();
        return Err(at.error(Problem::ReadOnly(why)));
    }
    let kind = known(at, connection, migrations)?;
    if kind == Kind::Empty {
        connection
            .pragma_update(None, "page_size", PAGE_BYTES)
            .map_err(sqlite)?;
    }
    // With write-ahead logging, readers and the writer do not block one another, and the file stays
    // intact if the process is killed.
    keep_a_log(connection, at).map_err(sqlite)?;
    // The log is not synced with each transaction. A power failure may lose the latest
    // transactions, but nothing else.
    connection
        .pragma_update(None, "synchronous", "normal")
        .and_then(|()| connection.pragma_update(None, "cache_size", CACHE_KIB))
        .map_err(sqlite)?;
    if kind != Kind::Ours(schema::newest(migrations)) {
        schema::migrate(connection, migrations)
            .map_err(sqlite)?
            .map_err(|problem| at.error(problem))?;
    }
    Ok(())
}

/// Switches to write-ahead logging. SQLite's busy timeout does not apply to this, so if two
/// processes created the file at once, one would fail without the retry.
fn keep_a_log(connection: &Connection, at: At<'_>) -> rusqlite::Result<()> {
    let clock = Clock;
    let deadline = clock.now() + Duration::from_secs_f64(at.patience_s).as_nanos() as Nanos;
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && clock.now() < deadline =>
            {
                std::thread::sleep(RETRY);
            }
            done => return done,
        }
    }
}
