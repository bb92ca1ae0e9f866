//! Targets: the server under test, given as a URL.
//!
//! | URL | meaning |
//! |---|---|
//! | `mysql://user:password@host:3306/db` (also `mariadb://`) | MySQL or MariaDB |
//! | `postgres://user:password@host:5432/db` (also `postgresql://`) | PostgreSQL |
//! | `sqlite:PATH`, `sqlite:/abs/path`, `sqlite:///abs/path` | an SQLite file |
//!
//! Hosts are a list: `h1:3306,h2,[::1]:3307`; sessions are spread over them round-robin. User,
//! password, hosts, database and values may be percent-encoded; `@ / ? # % & ,` and `:` must be. A
//! host that is an absolute path (`%2Frun%2Fpostgresql`) is a UNIX socket. [`Target::parse`]
//! documents the parameters after `?`.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::Secret;
use crate::db::Family;

mod label;
mod parameters;
mod parse;
mod plan;
mod sqlite;
mod url;

pub use parse::Environment;
pub use plan::{EndpointPlan, TargetPlan};
pub use sqlite::{JournalMode, SqliteOptions, Synchronous};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host name or address, and port.
    Tcp(String, u16),
    /// A UNIX socket. For PostgreSQL the full path of the socket file.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How connections are protected, with libpq's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TlsMode {
    /// Never TLS.
    Disable,
    /// TLS only if the server insists.
    Allow,
    /// TLS if the server offers it; no verification.
    #[default]
    Prefer,
    /// TLS is required; no verification.
    Require,
    /// TLS with a certificate from a trusted authority.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must match the host name.
    VerifyFull,
}

/// TLS settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// The TLS mode.
    pub mode: TlsMode,
    /// A PEM file of trusted authorities; the system's if absent.
    pub ca: Option<PathBuf>,
    /// The client's certificate chain, PEM.
    pub cert: Option<PathBuf>,
    /// The client's key, PEM.
    pub key: Option<PathBuf>,
}

impl TlsOptions {
    /// Whether an accepted certificate proves the server's identity. System authorities issue
    /// certificates to anybody for their own hosts, so without a check of the host name they prove
    /// nothing.
    pub fn identifies(&self) -> bool {
        match self.mode {
            TlsMode::VerifyFull => true,
            TlsMode::VerifyCa => self.ca.is_some(),
            TlsMode::Disable | TlsMode::Allow | TlsMode::Prefer | TlsMode::Require => false,
        }
    }
}

/// Sources of the password other than the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordSources {
    /// The environment variable with the password.
    pub env: Option<String>,
    /// MySQL: an option file instead of `~/.my.cnf`.
    pub defaults_file: Option<PathBuf>,
    /// PostgreSQL: a password file instead of `PGPASSFILE` or `~/.pgpass`.
    pub passfile: Option<PathBuf>,
}

/// Parts that the URL left out. Their defaults may be replaced by a credentials file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Implied {
    /// The user.
    pub user: bool,
    /// All hosts and sockets.
    pub host: bool,
    /// Ports and sockets.
    pub port: bool,
    /// MySQL: the server is local (no host or `localhost`, and no port), so the endpoint is the
    /// socket that is found.
    pub socket: bool,
}

/// A database to load. `Display` and `Debug` never show the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The family.
    pub family: Family,
    /// The endpoints; sessions are spread over them round-robin. Empty for SQLite.
    pub endpoints: Vec<Endpoint>,
    /// The file of an SQLite database.
    pub file: PathBuf,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Option<Secret>,
    /// The database or schema.
    pub database: String,
    /// TLS.
    pub tls: TlsOptions,
    /// MySQL: count rows found by an UPDATE, not rows changed (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// Timeout of a connection attempt, in milliseconds.
    pub connect_timeout_ms: u64,
    /// Maximum number of bytes that one operation may receive.
    pub max_answer_bytes: u64,
    /// Other sources of the password.
    pub sources: PasswordSources,
    /// Whether to send the cleartext password to a server with an unproven identity.
    pub allow_cleartext_password: bool,
    /// MySQL: a PEM file with the server's RSA key, for passwords on connections without TLS.
    pub server_public_key: Option<PathBuf>,
    /// Parts that the URL left to defaults.
    pub implied: Implied,
    /// How an SQLite database is opened.
    pub sqlite: SqliteOptions,
}

/// Default timeout of a connection attempt, in milliseconds.
pub const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// Default limit of the bytes that one operation may receive.
pub const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;
/// MySQL's port.
pub const MYSQL_PORT: u16 = 3306;
/// PostgreSQL's port.
pub const POSTGRES_PORT: u16 = 5432;

impl Target {
    /// Parses a URL. Parameters, in addition to those of each family:
    ///
    /// | parameter | meaning |
    /// |---|---|
    /// | `host`, `port` | as before the `?`; lists |
    /// | `user`, `password`, `dbname` | as before the `?` |
    /// | `socket` | paths of UNIX sockets, added to the hosts; on MySQL it is the local host's |
    /// | `sslmode` | one of [`TlsMode`] in libpq's spelling or MySQL's; `prefer` when absent |
    /// | `sslrootcert`, `sslcert`, `sslkey` | PEM files; `sslrootcert` alone means `verify-ca` |
    /// | `connect_timeout` | a duration, 10 s when absent |
    /// | `max_answer` | a size, 64 MiB when absent |
    /// | `password_env` | the environment variable with the password |
    /// | `allow_cleartext_password` | send the cleartext password to any server that asks for it |
    /// | `found_rows`, `defaults_file`, `server_public_key` | MySQL only |
    /// | `passfile` | PostgreSQL only |
    /// | `busy_timeout`, `journal_mode`, `synchronous` | SQLite only; see [`SqliteOptions`] |
    ///
    /// Defaults: the user is the operating system's; the database is the user's name on PostgreSQL,
    /// none on MySQL; the server is the local one, by its usual UNIX socket if that exists, else by
    /// TCP. As in MySQL's clients, `localhost` means the same unless a port is given.
    ///
    /// # Errors
    /// What cannot be understood; the message never contains the password.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        parse::parse(url, &Environment::of_process())
    }

    /// Parses a URL with the given environment.
    ///
    /// # Errors
    /// As [`Target::parse`].
    pub fn parse_in(url: &str, environment: &Environment) -> Result<Self, TargetError> {
        parse::parse(url, environment)
    }

    /// The URL without its password and without defaults. Parses back to the same target, except
    /// for the password.
    pub fn label(&self) -> String {
        label::label(self)
    }

    /// The SQLite file, if it does not exist; opening it would create it.
    pub fn missing_file(&self) -> Option<&Path> {
        let is_file = !self.file.as_os_str().is_empty() && self.file != Path::new(":memory:");
        let is_missing = self.family.is_embedded() && is_file;
        (is_missing && matches!(self.file.try_exists(), Ok(false))).then_some(&*self.file)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

/// Why a URL is not a valid target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad target URL: {0}")]
pub struct TargetError(pub String);

#[cfg(test)]
mod tests;
