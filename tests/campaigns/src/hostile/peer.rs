//! A server that relays the answers of a null server until its turn comes, and then misbehaves.

use std::fmt;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use dyno_core::rand::Stream;
use dyno_null::{Listeners, Speaks};

use super::payload::Payload;

/// How long a connection stays open after a payload: longer than any of these runs lasts.
const STAYS: Duration = Duration::from_secs(90);

/// Null servers for both protocols, which run until the process ends.
pub(super) struct Upstream {
    mysql: u16,
    postgres: u16,
}

impl Upstream {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let start = |speaks, name: &str| -> Result<u16> {
            let socket = folder.join(name).display().to_string();
            let listeners = Listeners::bind(&socket, Some(0))
                .map_err(|error| anyhow!("null server: {error}"))?;
            let port = listeners.port().context("the null server has no port")?;
            // The result does not matter: it serves until the process ends.
            thread::spawn(move || dyno_null::serve(listeners, speaks, None));
            Ok(port)
        };
        Ok(Self {
            mysql: start(Speaks::Mysql, "mysql")?,
            postgres: start(Speaks::Postgres, "postgres")?,
        })
    }
}

/// A hostile server.
pub(super) struct Peer {
    port: u16,
    speaks: Speaks,
    turn: Turn,
    over: Arc<AtomicBool>,
    /// Whether it has sent its payload.
    struck: Arc<AtomicBool>,
}

/// When it starts to misbehave, and how.
#[derive(Clone, Copy, Debug)]
struct Turn {
    payload: Payload,
    /// How many pieces of the null server's answers to relay first.
    after: u64,
    /// How many bytes of the next piece to relay before the payload replaces the rest.
    within: u64,
    seed: u64,
}

impl Peer {
    pub(super) fn draw(upstream: &Upstream, draws: &mut Stream) -> Result<Self> {
        let speaks = match draws.below(2) {
            0 => Speaks::Mysql,
            _ => Speaks::Postgres,
        };
        let turn = Turn {
            payload: Payload::draw(draws),
            after: match draws.below(4) {
                0 => 0,
                1 => draws.below(4),
                2 => draws.below(20),
                _ => draws.below(300),
            },
            within: match draws.below(3) {
                0 => draws.below(40),
                _ => 0,
            },
            seed: draws.next_u64(),
        };
        let to = match speaks {
            Speaks::Mysql => upstream.mysql,
            Speaks::Postgres => upstream.postgres,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (over, struck) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (ends, strikes) = (Arc::clone(&over), Arc::clone(&struck));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let (ends, strikes) = (Arc::clone(&ends), Arc::clone(&strikes));
                // An error means that the client has disconnected.
                thread::spawn(move || {
                    let _ = serve(&client, to, speaks, turn, &ends, &strikes);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        Ok(Self {
            port,
            speaks,
            turn,
            over,
            struck,
        })
    }

    /// Completes a command that connects to this server.
    pub(super) fn command(&self, command: &mut Command, draws: &mut Stream) {
        let (scheme, driver) = match self.speaks {
            Speaks::Mysql => ("mysql", "mysql"),
            Speaks::Postgres => ("postgres", "pgsql"),
        };
        let port = self.port;
        let url = format!("{scheme}://u@127.0.0.1:{port}/d?connect_timeout=1s&sslmode=disable");
        let sessions = (1 + draws.below(8)).to_string();
        match draws.below(6) {
            0 => {
                let name = |option: &str| format!("--{driver}-{option}");
                command.args(["sysbench", "oltp_point_select", "--time=2"]);
                command.arg(format!("--db-driver={driver}"));
                command.arg(format!("{}=127.0.0.1", name("host")));
                command.arg(format!("{}={port}", name("port")));
                command.arg(format!("{}=u", name("user")));
                command.args(["--thread-init-timeout=5", "--forced-shutdown=2"]);
                command.arg(format!("--threads={sessions}")).arg("run");
            }
            1 => {
                command.args(["prepare", "oltp_read_write", "--table-size", "1000"]);
                command.args(["--target", &url]);
            }
            2 => {
                command.args(["run", "tpcb", "--calibrate", "never", "-t", "2s"]);
                command.args(["--warmup", "0", "--target", &url, "-c", &sessions]);
                command.args(["--call-timeout", "5s"]);
            }
            _ => {
                command.args([
                    "run",
                    "oltp_point_select",
                    "--calibrate",
                    "never",
                    "-t",
                    "2s",
                ]);
                command.args(["--warmup", "0", "--target", &url, "-c", &sessions]);
                command.args(["--init-timeout", "5s"]);
                if draws.below(2) == 0 {
                    command.args(["--observe", "off"]);
                }
            }
        }
    }

    /// Whether a run must fail because it cannot even log in.
    pub(super) fn must_fail(&self) -> bool {
        self.turn.after == 0
    }

    /// Whether a client has received the payload.
    pub(super) fn has_struck(&self) -> bool {
        self.struck.load(Ordering::Relaxed)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Turn {
            payload,
            after,
            within,
            ..
        } = self.turn;
        write!(
            f,
            "{:?}: {payload:?} after {after} answers, at byte {within}",
            self.speaks
        )
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wake up the listener.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(
    mut client: &TcpStream,
    to: u16,
    speaks: Speaks,
    turn: Turn,
    over: &AtomicBool,
    struck: &AtomicBool,
) -> std::io::Result<()> {
    let upstream = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    let (mut requests, mut answered) = (client.try_clone()?, upstream.try_clone()?);
    thread::spawn(move || {
        // The copy ends when the client disconnects.
        let _ = std::io::copy(&mut requests, &mut answered);
        let _ = answered.shutdown(Shutdown::Both);
    });
    let mut bytes = vec![0; 64 * 1024];
    for _ in 0..turn.after {
        let length = (&upstream).read(&mut bytes)?;
        if length == 0 {
            return Ok(());
        }
        client.write_all(&bytes[..length])?;
    }
    let length = (&upstream).read(&mut bytes)?;
    let head = (turn.within as usize).min(length);
    struck.store(true, Ordering::Relaxed);
    client.write_all(&bytes[..head])?;
    turn.payload.send(&mut client, speaks, turn.seed)?;
    if turn.payload.stays(turn.seed) {
        for _ in 0..STAYS.as_millis() / 100 {
            if over.load(Ordering::Relaxed) {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}
