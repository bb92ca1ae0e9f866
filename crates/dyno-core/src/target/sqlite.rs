//! How an SQLite database is opened.

/// SQLite's settings, each a parameter of the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// `busy_timeout`: how long a statement waits for another connection's lock, in milliseconds. 5
    /// s by default.
    pub busy_timeout_ms: u64,
    /// `journal_mode`.
    pub journal_mode: JournalMode,
    /// `synchronous`.
    pub synchronous: Synchronous,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            busy_timeout_ms: 5_000,
            journal_mode: JournalMode::Wal,
            synchronous: Synchronous::Normal,
        }
    }
}

/// How transactions are made atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalMode {
    /// A write-ahead log: readers do not wait for the writer. The default.
    Wal,
    /// A rollback journal, deleted at each commit: SQLite's own default.
    Delete,
    /// A rollback journal, truncated.
    Truncate,
    /// A rollback journal, overwritten.
    Persist,
    /// A rollback journal in memory: a crash corrupts the database.
    Memory,
    /// No journal: ROLLBACK is undefined.
    Off,
}

impl JournalMode {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Wal,
        Self::Delete,
        Self::Truncate,
        Self::Persist,
        Self::Memory,
        Self::Off,
    ];

    /// As SQLite spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
            Self::Truncate => "truncate",
            Self::Persist => "persist",
            Self::Memory => "memory",
            Self::Off => "off",
        }
    }
}

/// When SQLite waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Never: a power failure may corrupt the database.
    Off,
    /// In WAL mode only at checkpoints: a power failure may lose the last commits, but the
    /// database stays sound. The default here.
    Normal,
    /// At each commit: SQLite's own default.
    Full,
    /// At each commit, the directory too.
    Extra,
}

impl Synchronous {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Off, Self::Normal, Self::Full, Self::Extra];

    /// As SQLite spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Normal => "normal",
            Self::Full => "full",
            Self::Extra => "extra",
        }
    }
}
