//! External buses: their addresses and keys.

use std::path::PathBuf;

use dyno_core::Secret;
use dyno_fleet::bus::nats::{NatsConfig, Role};
use dyno_fleet::names::RunId;

/// A bus that the user runs.
#[derive(Clone, Debug)]
pub struct ExternalBus {
    /// Its host and port.
    pub address: String,
    /// The seed of this process's key.
    pub key: Secret,
    /// The file of the authority that signed its certificate; `None` without TLS.
    pub authority: Option<PathBuf>,
}

impl ExternalBus {
    /// The command that starts these agents.
    pub(crate) fn start_by(&self, names: &[String]) -> String {
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
