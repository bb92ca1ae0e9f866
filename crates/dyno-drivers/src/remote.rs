//! Connections to database servers.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dyno_core::clock::Nanos;
use dyno_core::db::{Connection, Connector, DbError, ErrorClass, Family};
use dyno_core::target::{Endpoint, TlsMode};
use dyno_core::{Clock, Target};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::channel::{Channel, Protocol, Socket};
use crate::mysql::Mysql;
use crate::postgres::{Postgres, PostgresOptions};
use crate::socket;
use crate::tls::{TlsSetup, client_config};

mod speech;

use speech::{Speech, Way};

/// How long a connection waits for room in the queue of a UNIX socket. Meanwhile its worker does
/// nothing else.
const QUEUE_PATIENCE_MS_MAX: u64 = 1_000;

/// How long one of several addresses of a host may take to answer before the next is tried.
const PROBE_MS_MAX: u64 = 3_000;

/// A target's endpoints, ready to be connected to.
pub(crate) struct Remote {
    endpoints: Vec<Place>,
    tls: Option<Arc<ClientConfig>>,
    speech: Speech,
    timeout: Duration,
    answer_max: u64,
}

/// One endpoint.
struct Place {
    name: String,
    address: Address,
    /// Absent where there is no TLS.
    server_name: Option<ServerName<'static>>,
}

enum Address {
    Tcp {
        /// In the resolver's order.
        all: Vec<SocketAddr>,
        /// The one that answered last, or behind one that did not.
        preferred: Arc<AtomicUsize>,
    },
    Unix(PathBuf),
}

impl Remote {
    pub(crate) fn new(target: &Target) -> Result<Self, DbError> {
        let timeout = Duration::from_millis(target.connect_timeout_ms);
        let endpoints = target
            .endpoints
            .iter()
            .map(|endpoint| place(target, endpoint, timeout))
            .collect::<Result<Vec<_>, _>>()?;
        if endpoints.is_empty() {
            return Err(misuse("the target names no host".to_owned()));
        }
        let tls = match endpoints.iter().any(|place| place.server_name.is_some()) {
            true => Some(client_config(&target.tls)?),
            false => None,
        };
        Ok(Self {
            endpoints,
            tls,
            speech: Speech::new(target)?,
            timeout,
            answer_max: target.max_answer_bytes,
        })
    }

    fn channel<P: Protocol + 'static>(
        &self,
        protocol: P,
        socket: Box<dyn Socket>,
        endpoint: usize,
    ) -> Box<dyn Connection> {
        Box::new(self.plain_channel(protocol, socket, endpoint))
    }

    fn plain_channel<P: Protocol>(
        &self,
        protocol: P,
        socket: Box<dyn Socket>,
        endpoint: usize,
    ) -> Channel<P> {
        let place = &self.endpoints[endpoint];
        let setup = self.tls_setup(endpoint);
        let channel = Channel::new(protocol, socket, setup, endpoint, place.name.clone())
            .with_answer_max(self.answer_max);
        match &place.address {
            Address::Tcp { all, preferred } if all.len() > 1 => {
                let (preferred, count) = (Arc::clone(preferred), all.len());
                let tried = preferred.load(Ordering::Relaxed);
                channel.if_unreachable(Box::new(move || {
                    // Unless another attempt has found out already.
                    let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
                    let _ = preferred.compare_exchange(tried, (tried + 1) % count, set, get);
                }))
            }
            Address::Tcp { .. } | Address::Unix(_) => channel,
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

    /// PostgreSQL decides on a session only when it knows who wants it, with TLS or without; the
    /// other way needs another socket.
    fn postgres(
        &self,
        options: &PostgresOptions,
        socket: Box<dyn Socket>,
        endpoint: usize,
    ) -> Result<Box<dyn Connection>, DbError> {
        let channel = self.plain_channel(Postgres::new(options)?, socket, endpoint);
        let Address::Tcp { all, preferred } = &self.endpoints[endpoint].address else {
            return Ok(Box::new(channel));
        };
        if !matches!(options.tls, TlsMode::Allow | TlsMode::Prefer) {
            return Ok(Box::new(channel));
        }
        let address = all[preferred.load(Ordering::Relaxed)];
        let setup = self.tls_setup(endpoint);
        Ok(Box::new(channel.with_second_attempt(Box::new(move || {
            let socket: Box<dyn Socket> = Box::new(socket::tcp(address)?);
            Ok((socket, setup))
        }))))
    }
}

impl Connector for Remote {
    fn connect(&self, sequence: u64) -> Result<Box<dyn Connection>, DbError> {
        let endpoint = (sequence % self.endpoints.len() as u64) as usize;
        let place = &self.endpoints[endpoint];
        let (socket, way): (Box<dyn Socket>, Way) = match &place.address {
            Address::Tcp { all, preferred } => begin(all, preferred, &place.name)?,
            Address::Unix(path) => {
                let patience = self
                    .timeout
                    .min(Duration::from_millis(QUEUE_PATIENCE_MS_MAX));
                let socket = socket::unix(path, patience)
                    .map_err(|error| cannot_connect(&place.name, &error))?;
                (Box::new(socket), Way::Unix)
            }
        };
        Ok(match &self.speech {
            Speech::Mysql(by) => self.channel(Mysql::new(by.of(way)), socket, endpoint),
            Speech::Postgres(by) => self.postgres(by.of(way), socket, endpoint)?,
        })
    }

    fn endpoints(&self) -> Vec<String> {
        let names = self.endpoints.iter().map(|place| place.name.clone());
        names.collect()
    }

    fn family(&self) -> Family {
        match self.speech {
            Speech::Mysql(_) => Family::Mysql,
            Speech::Postgres(_) => Family::Postgres,
        }
    }

    fn blocks(&self) -> bool {
        false
    }

    fn connect_timeout(&self) -> Option<Duration> {
        Some(self.timeout)
    }
}

fn place(target: &Target, endpoint: &Endpoint, timeout: Duration) -> Result<Place, DbError> {
    let name = endpoint.to_string();
    let (address, host) = match endpoint {
        Endpoint::Tcp(host, port) => (resolve(host, *port, &name, timeout)?, host.as_str()),
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
        return Err(misuse(format!(
            "PostgreSQL has no TLS on UNIX sockets, so sslmode={} cannot be met on {name}; leave \
             it out, or connect by TCP",
            target.tls.mode.name()
        )));
    }
    let allow = target.family == Family::Postgres && target.tls.mode == TlsMode::Allow;
    let never = matches!(target.tls.mode, TlsMode::Disable | TlsMode::Allow) && !allow;
    let without_tls = postgres_unix || never;
    let server_name = match without_tls {
        true => None,
        false => Some(ServerName::try_from(host.to_owned()).map_err(|_| {
            misuse(format!(
                "the host name '{host}' cannot stand in a certificate; use another, or \
                 sslmode=disable"
            ))
        })?),
    };
    Ok(Place {
        name,
        address,
        server_name,
    })
}

/// Resolves a host, and where it has several addresses finds the first that answers.
fn resolve(host: &str, port: u16, name: &str, timeout: Duration) -> Result<Address, DbError> {
    let found = (host, port).to_socket_addrs().map_err(|error| {
        lost(format!(
            "cannot find the address of host '{host}' (for {name}): {error}; check the name and \
             this host's resolver"
        ))
    })?;
    let mut all: Vec<SocketAddr> = Vec::new();
    for address in found {
        // The resolver may repeat an address, once per entry in the hosts file.
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if all.is_empty() {
        return Err(lost(format!("host '{host}' (for {name}) has no address")));
    }
    let preferred = match all.as_slice() {
        [_] => 0,
        // None answers now; the first one's error is told when a session connects.
        addresses => first_to_answer(addresses, timeout).unwrap_or(0),
    };
    Ok(Address::Tcp {
        all,
        preferred: Arc::new(AtomicUsize::new(preferred)),
    })
}

/// The first address that answers. All together have as long as one attempt to connect may take:
/// each its share of what the others left.
fn first_to_answer(addresses: &[SocketAddr], timeout: Duration) -> Option<usize> {
    let deadline = Clock.now() + timeout.as_nanos() as Nanos;
    // `localhost` is often ::1 first, and servers often listen on 127.0.0.1 alone.
    addresses.iter().enumerate().position(|(index, address)| {
        let left = deadline.saturating_sub(Clock.now());
        let share = Duration::from_nanos(left / (addresses.len() - index) as u64);
        let share = share.min(Duration::from_millis(PROBE_MS_MAX));
        !share.is_zero() && TcpStream::connect_timeout(address, share).is_ok()
    })
}

/// Begins to connect to the preferred address, or the next that is not refused at once.
fn begin(
    all: &[SocketAddr],
    preferred: &AtomicUsize,
    name: &str,
) -> Result<(Box<dyn Socket>, Way), DbError> {
    let start = preferred.load(Ordering::Relaxed);
    let mut first_error = None;
    for step in 0..all.len() {
        let index = (start + step) % all.len();
        match socket::tcp(all[index]) {
            Ok(socket) => {
                if step > 0 {
                    preferred.store(index, Ordering::Relaxed);
                }
                return Ok((Box::new(socket), Way::to(all[index])));
            }
            Err(error) => {
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
    DbError::new(ErrorClass::Lost, message)
}

fn misuse(message: String) -> DbError {
    DbError::new(ErrorClass::Misuse, message)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use dyno_core::db::{OutcomeKind, Scratch, Submitted};

    use super::*;
    use crate::connector;

    fn refuse(url: &str) -> DbError {
        connector(&Target::parse(url).unwrap()).err().unwrap()
    }

    /// How a connection fails, at once or later: that is the kernel's choice.
    fn failure(connection: Result<Box<dyn Connection>, DbError>) -> DbError {
        let mut connection = match connection {
            Ok(connection) => connection,
            Err(error) => return error,
        };
        let mut scratch = Scratch::default();
        while connection.advance(&mut scratch) == Submitted::Pending {
            std::thread::yield_now();
        }
        assert_eq!(connection.outcome().kind, OutcomeKind::Failed);
        DbError::clone(connection.outcome().error.as_ref().unwrap())
    }

    fn closed_port() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    }

    #[test]
    fn a_refused_connection_names_the_endpoint_and_what_to_try() {
        let port = closed_port();
        for scheme in ["mysql", "postgres"] {
            let url = format!("{scheme}://u:hunter2@127.0.0.1:{port}");
            let remote = connector(&Target::parse(&url).unwrap()).unwrap();
            let error = failure(remote.connect(0));
            assert_eq!(error.class, ErrorClass::Lost);
            let text = error.to_string();
            assert!(
                text.contains(&format!("cannot connect to 127.0.0.1:{port}: ")),
                "{text}"
            );
            assert!(text.contains("is the server running"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
        let remote = connector(&Target::parse("mysql://u@/?socket=/nowhere/s").unwrap()).unwrap();
        let text = remote.connect(0).err().unwrap().to_string();
        assert!(text.contains("cannot connect to /nowhere/s: "), "{text}");
    }

    #[test]
    fn after_an_address_that_does_not_answer_the_next_is_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let live = listener.local_addr().unwrap();
        let dead = SocketAddr::from(([127, 0, 0, 2], live.port()));
        let url = format!("mysql://u@{live}?max_answer=5K");
        let mut remote = Remote::new(&Target::parse(&url).unwrap()).unwrap();
        remote.endpoints[0].address = Address::Tcp {
            all: vec![dead, live],
            preferred: Arc::default(),
        };
        failure(remote.connect(0));
        let mut connection = remote.connect(1).unwrap();
        let _peer = listener.accept().unwrap();
        assert_eq!(
            connection.advance(&mut Scratch::default()),
            Submitted::Pending
        );
        // An attempt that was given up says so too.
        connection.abort("no answer");
        drop(remote.connect(2).unwrap());
        listener.accept().unwrap();
    }

    #[test]
    fn addresses_share_the_time_of_one_attempt() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let live = listener.local_addr().unwrap();
        let dead = SocketAddr::from(([127, 0, 0, 2], live.port()));
        let timeout = Duration::from_secs(10);
        assert_eq!(first_to_answer(&[dead, live], timeout), Some(1));
        assert_eq!(first_to_answer(&[dead, dead], timeout), None);
        assert_eq!(first_to_answer(&[live], Duration::ZERO), None);
    }

    #[test]
    fn settings_that_cannot_work_are_refused_at_once() {
        let unknown = refuse("mysql://u@no-such-host.invalid");
        assert!(
            unknown.message.contains("host 'no-such-host.invalid'"),
            "{unknown}"
        );
        let socket = refuse("postgres://u@/?host=/tmp&sslmode=require");
        assert!(
            socket.message.contains("no TLS on UNIX sockets"),
            "{socket}"
        );
        let ca = refuse("mysql://u@127.0.0.1?sslrootcert=/nowhere/ca.pem");
        assert!(ca.message.contains("/nowhere/ca.pem"), "{ca}");
    }

    #[test]
    fn endpoints_take_turns() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("mysql://u@127.0.0.1:{port},localhost:{port},127.0.0.1:{port}");
        let remote = connector(&Target::parse(&url).unwrap()).unwrap();
        let names = remote.endpoints();
        assert_eq!(names[1], format!("localhost:{port}"));
        // `localhost` may be ::1 first, where nobody listens: the next address is taken.
        for sequence in 0..7 {
            let connection = remote.connect(sequence).unwrap();
            assert_eq!(connection.endpoint() as u64, sequence % 3);
            assert!(connection.fd().is_some() && connection.wants_write());
        }
        assert!(!remote.blocks());
        assert_eq!(remote.family(), Family::Mysql);
    }

    /// How a connection with TLS fails on a server that first expects `expected` bytes and then
    /// says `bytes`, and what the client sent after that.
    fn answered(scheme: &str, expected: usize, bytes: &[u8]) -> (DbError, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("{scheme}://u@127.0.0.1:{port}?sslmode=require");
        let remote = connector(&Target::parse(&url).unwrap()).unwrap();
        let connection = remote.connect(0);
        let (mut peer, _) = listener.accept().unwrap();
        let bytes = bytes.to_vec();
        let server = std::thread::spawn(move || {
            peer.read_exact(&mut vec![0; expected]).unwrap();
            peer.write_all(&bytes).unwrap();
            let mut rest = Vec::new();
            // The client may reset the connection; what came before that is what counts.
            let _ = peer.read_to_end(&mut rest);
            rest.len()
        });
        (failure(connection), server.join().unwrap())
    }

    #[test]
    fn data_in_the_clear_is_not_smuggled_into_tls() {
        let (error, sent) = answered("postgres", 8, b"SR\0\0\0\x08\0\0\0\0");
        assert_eq!(error.class, ErrorClass::Protocol);
        assert!(error.message.contains("unencrypted"), "{error}");
        assert_eq!(sent, 0);

        // A greeting that offers TLS, with an OK packet behind it.
        let mut greeting = b"\x0a8.0.0\0\x01\0\0\x0012345678\0".to_vec();
        greeting.extend([0x00, 0x8a, 45, 2, 0, 0x08, 0, 21]);
        greeting.extend([0; 10]);
        greeting.extend(b"123456789012\0mysql_native_password\0");
        let mut bytes = vec![greeting.len() as u8, 0, 0, 0];
        bytes.extend(greeting);
        bytes.extend(b"\x07\0\0\x02\0\0\0\x02\0\0\0");
        let (error, sent) = answered("mysql", 0, &bytes);
        assert_eq!(error.class, ErrorClass::Protocol);
        assert!(error.message.contains("in the clear"), "{error}");
        // The request for TLS and nothing else: a header and 32 bytes.
        assert!(sent <= 36, "{sent}");
    }

    #[test]
    fn a_server_that_hangs_up_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("mysql://u@127.0.0.1:{port}");
        let remote = connector(&Target::parse(&url).unwrap()).unwrap();
        let connection = remote.connect(0);
        drop(listener.accept().unwrap());
        let error = failure(connection);
        assert!(
            error.message.contains(&format!("127.0.0.1:{port}")),
            "{error}"
        );
    }
}
