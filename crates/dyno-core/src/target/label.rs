//! A target as a URL without secrets.

use std::path::Path;

use super::sqlite::SqliteOptions;
use super::url::encode;
use super::{CONNECT_TIMEOUT_MS, Endpoint, MAX_ANSWER_BYTES, Target, TlsMode};
use crate::db::Family;
use crate::units::format_duration;

pub(super) fn label(target: &Target) -> String {
    match target.family {
        Family::Sqlite => {
            let path = encode_path(&target.file);
            // Two slashes at the start would be taken for those of `sqlite://`.
            let slashes = if path.starts_with("//") { "//" } else { "" };
            let mut parameters = sqlite_parameters(&target.sqlite);
            if target.max_answer_bytes != MAX_ANSWER_BYTES {
                parameters.push(format!("max_answer={}", size(target.max_answer_bytes)));
            }
            with_query(format!("sqlite:{slashes}{path}"), &parameters)
        }
        Family::Mysql => server(target, "mysql"),
        Family::Postgres => server(target, "postgres"),
    }
}

impl TlsMode {
    /// As libpq spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Allow => "allow",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }
}

fn server(target: &Target, scheme: &str) -> String {
    // Sockets behind the last host go into a parameter, where they are readable, and where paths
    // that are not absolute are still taken for paths.
    let is_tcp = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp(..));
    let last_tcp = target.endpoints.iter().rposition(is_tcp);
    let (hosts, sockets) = target
        .endpoints
        .split_at(last_tcp.map_or(0, |last| last + 1));
    let authority: Vec<String> = hosts.iter().map(authority_of).collect();
    let sockets: Vec<String> = sockets
        .iter()
        .filter_map(|endpoint| match endpoint {
            Endpoint::Unix(path) => Some(encode_path(path)),
            Endpoint::Tcp(..) => None,
        })
        .collect();
    let mut parameters = Vec::new();
    if !sockets.is_empty() {
        parameters.push(format!("socket={}", sockets.join(",")));
    }
    parameters.extend(common_parameters(target));
    with_query(
        format!(
            "{scheme}://{}@{}/{}",
            encode(&target.user, ""),
            authority.join(","),
            encode(&target.database, "")
        ),
        &parameters,
    )
}

fn authority_of(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Tcp(host, port) if host.contains(':') => format!("[{host}]:{port}"),
        Endpoint::Tcp(host, port) => format!("{}:{port}", encode(host, "")),
        Endpoint::Unix(path) => encode(&path.to_string_lossy(), ""),
    }
}

fn common_parameters(target: &Target) -> Vec<String> {
    let mut parameters = Vec::new();
    let mut add = |name: &str, value: String| parameters.push(format!("{name}={value}"));
    let tls = &target.tls;
    // A CA file implies verify-ca, so that is the default then.
    let default_mode = match tls.ca {
        Some(_) => TlsMode::VerifyCa,
        None => TlsMode::default(),
    };
    if tls.mode != default_mode {
        add("sslmode", tls.mode.name().to_owned());
    }
    let sources = &target.sources;
    for (name, path) in [
        ("sslrootcert", &tls.ca),
        ("sslcert", &tls.cert),
        ("sslkey", &tls.key),
        ("defaults_file", &sources.defaults_file),
        ("passfile", &sources.passfile),
        ("server_public_key", &target.server_public_key),
    ] {
        if let Some(path) = path {
            add(name, encode_path(path));
        }
    }
    if let Some(name) = &sources.env {
        add("password_env", encode(name, ""));
    }
    if target.found_rows {
        add("found_rows", "1".to_owned());
    }
    if target.allow_cleartext_password {
        add("allow_cleartext_password", "1".to_owned());
    }
    if target.connect_timeout_ms != CONNECT_TIMEOUT_MS {
        add("connect_timeout", milliseconds(target.connect_timeout_ms));
    }
    if target.max_answer_bytes != MAX_ANSWER_BYTES {
        add("max_answer", size(target.max_answer_bytes));
    }
    parameters
}

fn sqlite_parameters(options: &SqliteOptions) -> Vec<String> {
    let default = SqliteOptions::default();
    let mut parameters = Vec::new();
    if options.busy_timeout_ms != default.busy_timeout_ms {
        parameters.push(format!(
            "busy_timeout={}",
            milliseconds(options.busy_timeout_ms)
        ));
    }
    if options.journal_mode != default.journal_mode {
        parameters.push(format!("journal_mode={}", options.journal_mode.name()));
    }
    if options.synchronous != default.synchronous {
        parameters.push(format!("synchronous={}", options.synchronous.name()));
    }
    parameters
}

fn size(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units
        .iter()
        .find(|(bits, _)| bytes.trailing_zeros() >= *bits);
    match unit {
        Some((bits, letter)) => format!("{}{letter}", bytes >> bits),
        None => bytes.to_string(),
    }
}

fn milliseconds(value: u64) -> String {
    format_duration(std::time::Duration::from_millis(value))
}

fn encode_path(path: &Path) -> String {
    encode(&path.to_string_lossy(), "/")
}

fn with_query(url: String, parameters: &[String]) -> String {
    match parameters {
        [] => url,
        parameters => format!("{url}?{}", parameters.join("&")),
    }
}
