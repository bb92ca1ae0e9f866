//! Connections to database servers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{Connection, Connector, DbError, ErrorKind, Family};
use dyno_core::target::{Endpoint, TlsMode};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::channel::{Channel, Loss, Protocol, Socket};
use crate::mysql::Mysql;
use crate::postgres::{Postgres, PostgresOptions};
use crate::socket;
use crate::tls::{TlsSetup, client_config};

mod host;
mod resolving;
mod speech;
#[cfg(test)]
mod tests;

use host::{Host, Resolver};
use resolving::Resolving;
use speech::{Speech, Way};

/// How long a connection waits for room in the queue of a UNIX socket, in milliseconds. It blocks
/// its worker meanwhile.
const QUEUE_PATIENCE_MS_MAX: u64 = 1_000;

/// A target's endpoints, ready for connections.
pub(crate) struct Remote {
    parts: Arc<Parts>,
}

/// The parts of a connection.
struct Parts {
    endpoints: Vec<RemoteEndpoint>,
    tls: Option<Arc<ClientConfig>>,
    speech: Speech,
    timeout: Duration,
    answer_max: u64,
}

/// One endpoint.
struct RemoteEndpoint {
    name: String,
    address: Address,
    /// `None` without TLS.
    server_name: Option<ServerName<'static>>,
}

enum Address {
    Tcp(Arc<Host>),
    Unix(PathBuf),
}

/// A socket that is connecting.
struct Opened {
    socket: Box<dyn Socket>,
    way: Way,
    /// The TCP address it connects to.
    to: Option<(Arc<Host>, SocketAddr)>,
}

impl Remote {
    pub(crate) fn new(target: &Target) -> Result<Self, DbError> {
        Self::by(target, &Resolver::default())
    }

    fn by(target: &Target, resolver: &Resolver) -> Result<Self, DbError> {
        let timeout = Duration::from_millis(target.connect_timeout_ms);
        let endpoints = target
            .endpoints
            .iter()
            .map(|endpoint| remote_endpoint(target, endpoint, timeout, resolver))
            .collect::<Result<Vec<_>, _>>()?;
        if endpoints.is_empty() {
            return Err(DbError::misuse("the target names no host"));
        }
        let tls = match endpoints.iter().any(|place| place.server_name.is_some()) {
            true => Some(client_config(&target.tls)?),
            false => None,
        };
        let parts = Parts {
            endpoints,
            tls,
            speech: Speech::new(target)?,
            timeout,
            answer_max: target.max_answer_bytes,
        };
        Ok(Self {
            parts: Arc::new(parts),
        })
    }
}

impl Parts {
    /// Starts a connection to the known addresses.
    fn open(&self, endpoint: usize) -> Result<Box<dyn Connection>, DbError> {
        let place = &self.endpoints[endpoint];
        let opened = match &place.address {
            Address::Tcp(host) => begin(host, &place.name)?,
            Address::Unix(path) => {
                let patience = self
                    .timeout
                    .min(Duration::from_millis(QUEUE_PATIENCE_MS_MAX));
                let socket = socket::unix(path, patience)
                    .map_err(|error| cannot_connect(&place.name, &error))?;
                Opened {
                    socket: Box::new(socket),
                    way: Way::Unix,
                    to: None,
                }
            }
        };
        let way = opened.way;
        Ok(match &self.speech {
            Speech::Mysql(by) => Box::new(self.channel(Mysql::new(by.of(way)), opened, endpoint)),
            Speech::Postgres(by) => self.postgres(by.of(way), opened, endpoint)?,
        })
    }

    fn channel<P: Protocol>(&self, protocol: P, opened: Opened, endpoint: usize) -> Channel<P> {
        let setup = self.tls_setup(endpoint);
        let name = self.endpoints[endpoint].name.clone();
        let channel = Channel::new(protocol, opened.socket, setup, endpoint, name)
            .with_answer_max(self.answer_max);
        match opened.to {
            Some((host, address)) if host.may_change() => {
                channel.if_lost(Box::new(move |loss| host.lost(address, loss)))
            }
            _ => channel,
        }
    }

    fn tls_setup(&self, endpoint: usize) -> Option<Box<TlsSetup>> {
        let server_name = self.endpoints[endpoint].server_name.as_ref();
        let setup = self.tls.as_ref().zip(server_name);
        setup.map(|(config, server_name)| {
            Box::new(TlsSetup {
                config: Arc::clone(config),
                server_name: server_name.clone(),
            })
        })
    }

    /// PostgreSQL accepts or refuses a session with or without TLS only once it knows the user;
    /// trying the other way needs another socket.
    fn postgres(
        &self,
        options: &PostgresOptions,
        opened: Opened,
        endpoint: usize,
    ) -> Result<Box<dyn Connection>, DbError> {
        let address = opened.to.as_ref().map(|(_, address)| *address);
        let channel = self.channel(Postgres::new(options)?, opened, endpoint);
        let Some(address) = address else {
            return Ok(Box::new(channel));
        };
        if !matches!(options.tls, TlsMode::Allow | TlsMode::Prefer) {
            return Ok(Box::new(channel));
        }
        let setup = self.tls_setup(endpoint);
        Ok(Box::new(channel.with_second_attempt(Box::new(move || {
            let socket: Box<dyn Socket> = Box::new(socket::tcp(address)?);
            Ok((socket, setup))
        }))))
    }
}

impl Connector for Remote {
    fn connect(&self, sequence: u64) -> Result<Box<dyn Connection>, DbError> {
        let parts = &self.parts;
        let endpoint = (sequence % parts.endpoints.len() as u64) as usize;
        let looked_up = match &parts.endpoints[endpoint].address {
            Address::Tcp(host) => Host::look_up(host),
            Address::Unix(_) => None,
        };
        match looked_up {
            Some(waits) => Ok(Box::new(Resolving::new(Arc::clone(parts), endpoint, waits))),
            None => parts.open(endpoint),
        }
    }

    fn endpoints(&self) -> Vec<String> {
        let names = self.parts.endpoints.iter().map(|place| place.name.clone());
        names.collect()
    }

    fn family(&self) -> Family {
        self.parts.speech.family()
    }

    fn blocks(&self) -> bool {
        false
    }

    fn connect_timeout(&self) -> Option<Duration> {
        Some(self.parts.timeout)
    }
}

fn remote_endpoint(
    target: &Target,
    endpoint: &Endpoint,
    timeout: Duration,
    resolver: &Resolver,
) -> Result<RemoteEndpoint, DbError> {
    let name = endpoint.to_string();
    let (address, host) = match endpoint {
        Endpoint::Tcp(host, port) => {
            let found = Host::find(host, *port, &name, timeout, resolver)?;
            (Address::Tcp(Arc::new(found)), host.as_str())
        }
        // On a UNIX socket the server can only be the local one.
        Endpoint::Unix(path) => (Address::Unix(path.clone()), "localhost"),
    };
    let is_unix = matches!(address, Address::Unix(_));
    let strict = matches!(
        target.tls.mode,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull
    );
    let postgres_unix = is_unix && target.family == Family::Postgres;
    if postgres_unix && strict {
        return Err(DbError::misuse(format!(
            "PostgreSQL has no TLS on UNIX sockets, so sslmode={} is impossible on {name}; omit \
             it, or connect by TCP",
            target.tls.mode.name()
        )));
    }
    let allow = target.family == Family::Postgres && target.tls.mode == TlsMode::Allow;
    let never = matches!(target.tls.mode, TlsMode::Disable | TlsMode::Allow) && !allow;
    let without_tls = postgres_unix || never;
    let server_name = match without_tls {
        true => None,
        false => Some(ServerName::try_from(host.to_owned()).map_err(|_| {
            DbError::misuse(format!(
                "the host name '{host}' is not valid in a certificate; use another, or \
                 sslmode=disable"
            ))
        })?),
    };
    Ok(RemoteEndpoint {
        name,
        address,
        server_name,
    })
}

/// Starts connecting to the preferred address, or to the next that is not refused immediately.
fn begin(host: &Arc<Host>, name: &str) -> Result<Opened, DbError> {
    let mut first_error = None;
    for address in host.addresses() {
        match socket::tcp(address) {
            Ok(socket) => {
                if first_error.is_some() {
                    host.prefer(address);
                }
                return Ok(Opened {
                    socket: Box::new(socket),
                    way: Way::to(address),
                    to: Some((Arc::clone(host), address)),
                });
            }
            Err(error) => {
                host.lost(address, Loss::Unreachable);
                first_error.get_or_insert(error);
            }
        }
    }
    let error = first_error.unwrap_or_else(|| std::io::Error::other("there is no address"));
    Err(cannot_connect(name, &error))
}

fn cannot_connect(name: &str, error: &std::io::Error) -> DbError {
    lost(format!(
        "cannot connect to {name}: {error}{}",
        socket::advice(error)
    ))
}

fn lost(message: String) -> DbError {
    DbError::new(ErrorKind::Lost, message)
}
