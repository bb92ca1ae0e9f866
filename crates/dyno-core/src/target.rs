//! Targets: the server under test, named by a URL.

use std::path::PathBuf;

use crate::Secret;
use crate::db::Family;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host name or address, and port.
    Tcp(String, u16),
    /// A UNIX-domain socket. For PostgreSQL the full path of the socket file.
    Unix(PathBuf),
}

/// How connections are protected, in libpq's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TlsMode {
    /// Never TLS.
    Disable,
    /// TLS only if the server insists.
    Allow,
    /// TLS if the server offers it; no verification.
    #[default]
    Prefer,
    /// TLS or nothing; no verification.
    Require,
    /// TLS with a certificate that a trusted authority signed.
    VerifyCa,
    /// The same, and issued to the host that was asked for.
    VerifyFull,
}

/// TLS settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// How strict.
    pub mode: TlsMode,
    /// A PEM file of trusted authorities; the system's when absent.
    pub ca: Option<PathBuf>,
    /// The client's certificate chain, PEM.
    pub cert: Option<PathBuf>,
    /// The client's key, PEM.
    pub key: Option<PathBuf>,
}

/// A database to load. `Display` and `Debug` never show the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The family.
    pub family: Family,
    /// Where; sessions are spread over them round-robin. Empty for SQLite.
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
    /// MySQL: count rows that an UPDATE found, not those it changed (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// How long a connection attempt may take, in milliseconds.
    pub connect_timeout_ms: u64,
}
