//! A target as part of a plan: split into its parts, without its password.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::label;
use super::{Endpoint, Target};
use crate::db::Family;

/// A target without its password: the parts of its URL, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TargetPlan {
    /// The database family.
    pub family: Family,
    /// A database is created for this run and dropped at its end; all other fields are empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub temporary: bool,
    /// The server's endpoints; sessions are spread over them round-robin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointPlan>,
    /// SQLite: the database's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The user; empty for SQLite.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The database or schema; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub database: String,
    /// Non-default values, by the names of the URL's parameters. They include the password's source
    /// (`password_env`, `defaults_file`, `passfile`), never the password.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum EndpointPlan {
    /// By TCP.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// By a UNIX-domain socket.
    Unix {
        /// Its path.
        socket: PathBuf,
    },
}

impl TargetPlan {
    /// A database that is created for one run.
    pub fn temporary() -> Self {
        Self {
            family: Family::Sqlite,
            temporary: true,
            endpoints: Vec::new(),
            file: None,
            user: String::new(),
            database: String::new(),
            parameters: BTreeMap::new(),
        }
    }

    /// An endpoint that is local to each host: a socket, or the loopback interface.
    pub fn own_host(&self) -> Option<String> {
        self.endpoints.iter().find_map(|endpoint| match endpoint {
            EndpointPlan::Tcp { host, .. } => {
                let address = host
                    .parse()
                    .map(|ip: IpAddr| ip.to_canonical().is_loopback());
                (host == "localhost" || address == Ok(true)).then(|| host.clone())
            }
            EndpointPlan::Unix { socket } => Some(socket.display().to_string()),
        })
    }

    /// The TLS mode, with libpq's names; `None` if not given.
    pub fn tls_mode(&self) -> Option<&str> {
        let implied = self.parameters.get("sslrootcert").map(|_| "verify-ca");
        let explicit = self.parameters.get("sslmode").map(String::as_str);
        explicit.or(implied)
    }

    /// The target's URL; `None` for a temporary database.
    pub fn url(&self) -> Option<String> {
        (!self.temporary).then(|| label::of_plan(self))
    }
}

impl Target {
    /// The target without its password.
    pub fn plan(&self) -> TargetPlan {
        let endpoint = |endpoint: &Endpoint| match endpoint {
            Endpoint::Tcp(host, port) => EndpointPlan::Tcp {
                host: host.clone(),
                port: *port,
            },
            Endpoint::Unix(socket) => EndpointPlan::Unix {
                socket: socket.clone(),
            },
        };
        let embedded = self.family == Family::Sqlite;
        TargetPlan {
            family: self.family,
            temporary: false,
            endpoints: self.endpoints.iter().map(endpoint).collect(),
            file: embedded.then(|| self.file.clone()),
            user: self.user.clone(),
            database: self.database.clone(),
            parameters: label::parameters(self)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_an_endpoint_that_each_host_has_separately() {
        let own = |url: &str| Target::parse(url).unwrap().plan().own_host();
        assert_eq!(own("mysql://u@db1:3306/d"), None);
        assert_eq!(own("postgresql://u@10.0.0.1/d"), None);
        assert_eq!(own("sqlite:/tmp/x.db"), None);
        assert_eq!(own("mysql://u@127.0.0.2/d"), Some("127.0.0.2".to_owned()));
        assert_eq!(own("postgresql://u@[::1]/d"), Some("::1".to_owned()));
        assert_eq!(
            own("postgresql://u@localhost:5432/d"),
            Some("localhost".to_owned())
        );
        assert_eq!(
            own("mysql://u@db1,127.0.0.1/d"),
            Some("127.0.0.1".to_owned())
        );
    }
}
