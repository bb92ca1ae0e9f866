//! External buses: their addresses and keys.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use dyno_core::{Secret, redact};
use dyno_fleet::bus::nats::{NatsConfig, Role};
use dyno_fleet::names::RunId;
use dyno_fleet::server::COORDINATOR;

use crate::options::Parsed;
use crate::settings::usage;

/// NATS's default port.
const PORT: u16 = 4222;

/// A bus that the user runs.
#[derive(Clone, Debug)]
pub struct ExternalBus {
    address: String,
    key: Secret,
    authority: Option<PathBuf>,
}

impl ExternalBus {
    /// The bus of an option, with its connection options.
    ///
    /// # Errors
    /// The address is invalid, or the key is missing or readable by others.
    pub fn read(parsed: &Parsed, option: &str, [key, ca]: [&str; 2]) -> Result<Option<Self>> {
        let Some(url) = parsed.value(option) else {
            return match [key, ca].into_iter().find(|name| parsed.has(name)) {
                Some(name) => Err(usage(format!("--{name} needs --{option}"))),
                None => Ok(None),
            };
        };
        let wrong = || {
            usage(format!(
                "--{option}: '{url}' is not the address of a bus, such as \
                 tls://bus.example.org:{PORT}, or nats://127.0.0.1:{PORT} on this host"
            ))
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if rest.is_empty() || !rest.chars().all(plain) {
            return Err(wrong());
        }
        let authority = parsed.value(ca).map(PathBuf::from);
        match (scheme, &authority) {
            ("tls", Some(file)) => {
                let read = std::fs::read(file);
                read.with_context(|| format!("--{ca}: cannot read {}", file.display()))?;
            }
            ("tls", None) => {
                return Err(usage(format!(
                    "--{option} needs --{ca} FILE, the authority that signed the bus's certificate"
                )));
            }
            ("nats", None) => {}
            ("nats", Some(_)) => {
                return Err(usage(format!(
                    "--{ca} needs a tls:// bus, and '{url}' is not one"
                )));
            }
            _ => return Err(wrong()),
        }
        let Some(file) = parsed.value(key) else {
            return Err(usage(format!(
                "--{option} needs --{key} FILE, the key for the bus; `dyno fleet keys` creates \
                 keys"
            )));
        };
        if option == "join" && Path::new(file).ends_with(format!("{COORDINATOR}.nk")) {
            return Err(usage(format!(
                "--{key}: {file} is the coordinator's key; an agent's is NAME.nk in the same \
                 folder"
            )));
        }
        let has_port = rest
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Ok(Some(Self {
            address: match has_port {
                true => rest.to_owned(),
                false => format!("{rest}:{PORT}"),
            },
            key: key_in(Path::new(file)).with_context(|| format!("--{key}"))?,
            authority,
        }))
    }

    /// The command that starts these agents.
    pub fn start_by(&self, names: &[String]) -> String {
        let (scheme, ca) = match self.authority {
            Some(_) => ("tls", " --ca FILE"),
            None => ("nats", ""),
        };
        let [name, more @ ..] = names else {
            return String::new();
        };
        let whom = match more {
            [] => "it".to_owned(),
            _ => format!("each, as {name}"),
        };
        let url = format!("{scheme}://{}", self.address);
        format!("start {whom} with: dyno agent --join {url} --name {name} --key {name}.nk{ca}")
    }

    /// The connection settings for a role.
    pub fn config(&self, run: RunId, role: Role) -> NatsConfig {
        NatsConfig {
            address: self.address.clone(),
            key: self.key.clone(),
            run,
            role,
            authority: self.authority.clone(),
        }
    }
}

/// The key in a file that only the user can read.
fn key_in(file: &Path) -> Result<Secret> {
    let shown = file.display();
    let metadata = std::fs::metadata(file).with_context(|| format!("cannot read {shown}"))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        bail!("{shown} is readable by others: chmod 600 {shown}");
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let seed = text.trim();
    // A user seed in base 32.
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    if !seed.starts_with("SU") || !seed.chars().all(plain) {
        bail!("{shown} does not contain a NATS user key (SU…)");
    }
    let key = Secret::new(seed.to_owned());
    redact::learn(&key, &[]);
    Ok(key)
}
