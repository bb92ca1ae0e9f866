//! Parses a URL into a target.

use std::ffi::CStr;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use super::parameters::{Parameters, tls_options};
use super::url::{Parts, decode, split, split_host};
use super::{
    CONNECT_TIMEOUT_MS, Endpoint, Implied, MYSQL_PORT, POSTGRES_PORT, PasswordSources,
    SqliteOptions, Target, TargetError, TlsOptions,
};
use crate::Secret;
use crate::db::Family;

/// The environment on which a URL's meaning depends.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The operating system's name of the current user.
    pub user: Option<String>,
    /// Whether a file exists, used for the usual sockets.
    pub exists: fn(&Path) -> bool,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        Self {
            user: current_user(),
            exists: Path::exists,
        }
    }
}

/// The local server's socket in the packages of Debian and of Red Hat.
const MYSQL_SOCKETS: [&str; 2] = ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock"];
/// Where Debian's libpq looks for sockets.
const POSTGRES_SOCKET_DIR: &str = "/var/run/postgresql";

pub(super) fn parse(url: &str, environment: &Environment) -> Result<Target, TargetError> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(TargetError(no_scheme()));
    };
    let Some(family) = Family::of_scheme(&scheme.to_ascii_lowercase()) else {
        return Err(TargetError(no_scheme()));
    };
    if family.is_embedded() {
        return sqlite(rest);
    }
    let Some(rest) = rest.strip_prefix("//") else {
        return Err(TargetError(format!(
            "'{scheme}:' must be followed by '//'; {EXAMPLES}"
        )));
    };
    server(family, split(rest)?, environment)
}

const EXAMPLES: &str = "write for example mysql://user@host:3306/db, \
     postgres://user@host:5432/db or sqlite:file.db";

/// Does not quote the scheme: `user:password@host` has a password in its place.
fn no_scheme() -> String {
    format!("it must start with mysql:, mariadb:, postgres:, postgresql: or sqlite:; {EXAMPLES}")
}

fn server(
    family: Family,
    parts: Parts<'_>,
    environment: &Environment,
) -> Result<Target, TargetError> {
    let mut parameters = Parameters::parse(family, parts.query)?;
    let given = |text: Option<&str>, what| text.map(|text| decode(text, what)).transpose();
    let user = given(parts.user, "user name")?;
    let user = parameters.either("user", user)?;
    let password = given(parts.password, "password")?;
    let password = parameters.either("password", password)?;
    let database = given(Some(parts.path).filter(|path| !path.is_empty()), "database")?;
    let database = parameters.either("dbname", database)?;

    let (endpoints, mut implied) = endpoints(family, &parts.hosts, &mut parameters, environment)?;
    implied.user = user.is_none();
    let user = user.or_else(|| environment.user.clone()).ok_or_else(|| {
        TargetError("it names no user, and the operating system's user name is unknown".to_owned())
    })?;
    let database = database.unwrap_or_else(|| match family {
        Family::Postgres => user.clone(),
        _ => String::new(),
    });
    Ok(Target {
        family,
        endpoints,
        file: PathBuf::new(),
        user,
        password: password.map(Secret::new),
        database,
        tls: tls_options(&mut parameters)?,
        found_rows: parameters.flag("found_rows")?.unwrap_or(false),
        allow_cleartext_password: parameters
            .flag("allow_cleartext_password")?
            .unwrap_or(false),
        server_public_key: parameters.path("server_public_key"),
        connect_timeout_ms: match parameters.milliseconds("connect_timeout")? {
            None => CONNECT_TIMEOUT_MS,
            Some(0) => {
                return Err(TargetError(
                    "connect_timeout must be at least 1ms".to_owned(),
                ));
            }
            Some(timeout_ms) => timeout_ms,
        },
        max_answer_bytes: parameters.max_answer()?,
        sources: PasswordSources {
            env: parameters.take("password_env"),
            defaults_file: parameters.path("defaults_file"),
            passfile: parameters.path("passfile"),
        },
        implied,
        sqlite: SqliteOptions::default(),
    })
}

/// All endpoints in order: hosts, the parameter `host`, `socket`.
fn endpoints(
    family: Family,
    hosts: &[&str],
    parameters: &mut Parameters,
    environment: &Environment,
) -> Result<(Vec<Endpoint>, Implied), TargetError> {
    let mut given: Vec<(String, Option<u16>)> = Vec::new();
    for host in hosts {
        let (host, port) = split_host(host)?;
        given.push((decode(host, "host")?, port.map(parse_port).transpose()?));
    }
    for host in parameters.list("host")? {
        given.push((host, None));
    }
    let ports = parameters.list("port")?;
    apply_ports(&mut given, &ports)?;
    let nameless = given.iter().filter(|(host, _)| host.is_empty()).count();
    if nameless > 0 && given.len() > 1 {
        return Err(TargetError("a host in the list is empty".to_owned()));
    }
    let colon = |host: &str| {
        host.contains(':') && !host.starts_with('/') && host.parse::<Ipv6Addr>().is_err()
    };
    if given.iter().any(|(host, _)| colon(host)) {
        return Err(TargetError(
            "a host with a colon that is not an IPv6 address".to_owned(),
        ));
    }
    let sockets = parameters.list("socket")?;
    let implied = Implied {
        user: false,
        host: given.iter().all(|(host, _)| host.is_empty()) && sockets.is_empty(),
        port: given.iter().all(|(_, port)| port.is_none()) && sockets.is_empty(),
        socket: family == Family::Mysql
            && sockets.is_empty()
            && given
                .iter()
                .all(|(host, port)| is_local(host) && port.is_none()),
    };
    if given.is_empty() && sockets.is_empty() {
        given.push((String::new(), None));
    }
    if family == Family::Mysql && !sockets.is_empty() {
        // For MySQL's clients `localhost` without a port is the local server's socket, and the URL
        // names that socket.
        given.retain(|(host, port)| !is_local(host) || port.is_some());
    }
    let mut endpoints = Vec::new();
    for (host, port) in given {
        endpoints.push(endpoint(family, host, port, environment));
    }
    for socket in sockets {
        endpoints.push(Endpoint::Unix(socket_path(family, socket, None)));
    }
    Ok((endpoints, implied))
}

fn is_local(host: &str) -> bool {
    host.is_empty() || host == "localhost"
}

/// The parameter `port`: one for all hosts without a port, or one for each.
fn apply_ports(
    given: &mut Vec<(String, Option<u16>)>,
    ports: &[String],
) -> Result<(), TargetError> {
    let ports = ports
        .iter()
        .map(|port| parse_port(port))
        .collect::<Result<Vec<u16>, _>>()?;
    if ports.is_empty() {
        return Ok(());
    }
    if given.is_empty() {
        given.push((String::new(), None));
    }
    if ports.len() != 1 && ports.len() != given.len() {
        return Err(TargetError(format!(
            "{} ports for {} hosts; give one for all or one for each",
            ports.len(),
            given.len()
        )));
    }
    for (index, (_, port)) in given.iter_mut().enumerate() {
        if port.is_some() {
            return Err(TargetError(
                "a port is given twice: after its host and as a parameter".to_owned(),
            ));
        }
        *port = Some(ports[index.min(ports.len() - 1)]);
    }
    Ok(())
}

fn endpoint(
    family: Family,
    host: String,
    port: Option<u16>,
    environment: &Environment,
) -> Endpoint {
    if host.starts_with('/') {
        return Endpoint::Unix(socket_path(family, host, port));
    }
    let default_port = match family {
        Family::Postgres => POSTGRES_PORT,
        Family::Mysql | Family::Sqlite => MYSQL_PORT,
    };
    let usual: Option<PathBuf> = match family {
        Family::Mysql if is_local(&host) && port.is_none() => MYSQL_SOCKETS
            .iter()
            .map(PathBuf::from)
            .find(|path| (environment.exists)(path)),
        Family::Postgres if host.is_empty() => {
            let dir = POSTGRES_SOCKET_DIR.to_owned();
            Some(socket_path(family, dir, port)).filter(|path| (environment.exists)(path))
        }
        _ => None,
    };
    if let Some(path) = usual {
        return Endpoint::Unix(path);
    }
    let host = match host.as_str() {
        "" => "localhost".to_owned(),
        _ => host,
    };
    Endpoint::Tcp(host, port.unwrap_or(default_port))
}

/// PostgreSQL's sockets are given by directory and port, or by full path.
fn socket_path(family: Family, path: String, port: Option<u16>) -> PathBuf {
    let path = PathBuf::from(path);
    let is_file = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(".s.PGSQL."));
    match family {
        Family::Postgres if !is_file => {
            path.join(format!(".s.PGSQL.{}", port.unwrap_or(POSTGRES_PORT)))
        }
        _ => path,
    }
}

/// Does not quote the text, which may be part of a password that was not percent-encoded.
fn parse_port(text: &str) -> Result<u16, TargetError> {
    match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(TargetError(
            "the text after a host's colon is not a port (1 to 65535); if it belongs to a \
             password, write user:password@host with @ as %40, / as %2F and ? as %3F"
                .to_owned(),
        )),
    }
}

fn sqlite(rest: &str) -> Result<Target, TargetError> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // `sqlite:///abs` is the usual form of an absolute path, `sqlite://file` of a relative one.
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = decode(path, "path")?;
    if path == ":memory:" {
        return Err(TargetError(
            "with sqlite::memory: each session would have a separate database; name a file, for \
             example sqlite:/dev/shm/test.db"
                .to_owned(),
        ));
    }
    if path.is_empty() {
        return Err(TargetError(
            "it names no file; write for example sqlite:test.db".to_owned(),
        ));
    }
    let mut parameters = Parameters::parse(Family::Sqlite, query)?;
    let default = SqliteOptions::default();
    Ok(Target {
        family: Family::Sqlite,
        endpoints: Vec::new(),
        file: PathBuf::from(path),
        user: String::new(),
        password: None,
        database: String::new(),
        tls: TlsOptions::default(),
        found_rows: false,
        allow_cleartext_password: false,
        server_public_key: None,
        connect_timeout_ms: CONNECT_TIMEOUT_MS,
        max_answer_bytes: parameters.max_answer()?,
        sources: PasswordSources::default(),
        implied: Implied::default(),
        sqlite: SqliteOptions {
            busy_timeout_ms: parameters
                .milliseconds("busy_timeout")?
                .unwrap_or(default.busy_timeout_ms),
            journal_mode: parameters.journal_mode()?.unwrap_or(default.journal_mode),
            synchronous: parameters.synchronous()?.unwrap_or(default.synchronous),
        },
    })
}

/// The user's name from the user database, else from `USER`.
fn current_user() -> Option<String> {
    let mut buffer = vec![0 as libc::c_char; 16 * 1024];
    // SAFETY: a passwd of zeros is a valid value of that plain C structure.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found: *mut libc::passwd = std::ptr::null_mut();
    // SAFETY: all pointers are valid for the call, and the length is the buffer's.
    let status = unsafe {
        libc::getpwuid_r(
            libc::geteuid(),
            &raw mut entry,
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        )
    };
    if status == 0 && !found.is_null() {
        // SAFETY: on success pw_name points to a C string in `buffer`, which is still alive.
        let name = unsafe { CStr::from_ptr(entry.pw_name) };
        return name.to_str().ok().map(str::to_owned);
    }
    std::env::var("USER").ok().filter(|name| !name.is_empty())
}
