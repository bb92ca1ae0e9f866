//! A target as a URL without secrets.

use std::path::Path;

use super::plan::{EndpointPlan, TargetPlan};
use super::sqlite::SqliteOptions;
use super::url::{self, encode};
use super::{CONNECT_TIMEOUT_MS, Endpoint, MAX_ANSWER_BYTES, Target, TlsMode};
use crate::db::Family;
use crate::units::{format_duration, format_size};

pub(super) fn label(target: &Target) -> String {
    let parameters = parameters(target);
    let parts = Parts {
        family: target.family,
        endpoints: &target.endpoints,
        file: &target.file,
        user: &target.user,
        database: &target.database,
    };
    let pairs = parameters
        .iter()
        .map(|(name, value)| (*name, value.as_str()));
    parts.url(pairs)
}

/// The URL of a target that is not temporary.
pub(super) fn of_plan(plan: &TargetPlan) -> String {
    let endpoint = |endpoint: &EndpointPlan| match endpoint {
        EndpointPlan::Tcp { host, port } => Endpoint::Tcp(host.clone(), *port),
        EndpointPlan::Unix { socket } => Endpoint::Unix(socket.clone()),
    };
    let endpoints: Vec<Endpoint> = plan.endpoints.iter().map(endpoint).collect();
    let parts = Parts {
        family: plan.family,
        endpoints: &endpoints,
        file: plan.file.as_deref().unwrap_or(Path::new("")),
        user: &plan.user,
        database: &plan.database,
    };
    let pairs = plan.parameters.iter();
    parts.url(pairs.map(|(name, value)| (name.as_str(), value.as_str())))
}

/// Non-default values by the names of the URL's parameters, decoded.
pub(super) fn parameters(target: &Target) -> Vec<(&'static str, String)> {
    if !target.family.is_embedded() {
        return common_parameters(target);
    }
    let mut parameters = sqlite_parameters(&target.sqlite);
    if target.max_answer_bytes != MAX_ANSWER_BYTES {
        parameters.push(("max_answer", format_size(target.max_answer_bytes)));
    }
    parameters
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

/// The parts before the parameters.
struct Parts<'a> {
    family: Family,
    endpoints: &'a [Endpoint],
    file: &'a Path,
    user: &'a str,
    database: &'a str,
}

impl Parts<'_> {
    fn url<'a>(&self, parameters: impl Iterator<Item = (&'a str, &'a str)>) -> String {
        let encoded = parameters.map(|(name, value)| format!("{name}={}", url::encode_path(value)));
        let scheme = self.family.name();
        if self.family.is_embedded() {
            let path = encode_path(self.file);
            // Two slashes at the start would be read as those of `sqlite://`.
            let slashes = if path.starts_with("//") { "//" } else { "" };
            return with_query(
                format!("{scheme}:{slashes}{path}"),
                &encoded.collect::<Vec<_>>(),
            );
        }
        // Sockets after the last host go into a parameter, where they are readable, and where
        // relative paths are still paths.
        let is_tcp = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp(..));
        let last_tcp = self.endpoints.iter().rposition(is_tcp);
        let (hosts, sockets) = self.endpoints.split_at(last_tcp.map_or(0, |last| last + 1));
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
        parameters.extend(encoded);
        with_query(
            format!(
                "{scheme}://{}@{}/{}",
                encode(self.user),
                authority.join(","),
                encode(self.database)
            ),
            &parameters,
        )
    }
}

fn authority_of(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Tcp(host, port) if host.contains(':') => format!("[{host}]:{port}"),
        Endpoint::Tcp(host, port) => format!("{}:{port}", encode(host)),
        Endpoint::Unix(path) => encode(&path.to_string_lossy()),
    }
}

fn common_parameters(target: &Target) -> Vec<(&'static str, String)> {
    let mut parameters = Vec::new();
    let mut add = |name: &'static str, value: String| parameters.push((name, value));
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
            add(name, path.to_string_lossy().into_owned());
        }
    }
    if let Some(name) = &sources.env {
        add("password_env", name.clone());
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
        add("max_answer", format_size(target.max_answer_bytes));
    }
    parameters
}

fn sqlite_parameters(options: &SqliteOptions) -> Vec<(&'static str, String)> {
    let default = SqliteOptions::default();
    let mut parameters = Vec::new();
    if options.busy_timeout_ms != default.busy_timeout_ms {
        parameters.push(("busy_timeout", milliseconds(options.busy_timeout_ms)));
    }
    if options.journal_mode != default.journal_mode {
        parameters.push(("journal_mode", options.journal_mode.name().to_owned()));
    }
    if options.synchronous != default.synchronous {
        parameters.push(("synchronous", options.synchronous.name().to_owned()));
    }
    parameters
}

fn milliseconds(value: u64) -> String {
    format_duration(std::time::Duration::from_millis(value))
}

fn encode_path(path: &Path) -> String {
    url::encode_path(&path.to_string_lossy())
}

fn with_query(url: String, parameters: &[String]) -> String {
    match parameters {
        [] => url,
        parameters => format!("{url}?{}", parameters.join("&")),
    }
}
