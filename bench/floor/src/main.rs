//! The floor: what a point select costs a client that only speaks the protocol.
//!
//! One thread, edge-triggered epoll, one write and one read per query, a prepared statement whose
//! id changes, and a check that every answer is complete. No script, no latencies, no statistics.

mod link;
mod mysql;
mod postgres;
mod ticks;

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use dyno_core::Clock;
use dyno_sys::process::{alarm_after, alarmed};
use dyno_sys::socket::{recv, send};
use dyno_sys::{Args, Cpu, Epoll, Interest};

const USAGE: &str = "usage: floor --protocol mysql|postgres --socket PATH --sessions N \
(--queries N | --time SECONDS)\n       floor --ticks PER_SECOND --time SECONDS\n";

/// Maximum bytes per read. Only a server error is longer.
const READ_BYTES: usize = 4096;

/// The range of the ids.
const TABLE_ROWS: u32 = 1_000_000;

/// The part of a protocol that a point select needs.
trait Protocol: Sized {
    /// Logs in and prepares the statement.
    fn open(stream: &UnixStream) -> io::Result<Self>;

    /// Encodes a request for a row into `out` and returns its length.
    fn request(&mut self, id: u32, out: &mut [u8; 64]) -> usize;

    /// Whether `answer` is complete.
    ///
    /// # Errors
    /// The answer is an error of the server, or longer than one answer.
    fn is_whole(answer: &[u8]) -> io::Result<bool>;
}

/// The limit of a run.
#[derive(Clone, Copy)]
enum Limit {
    Queries(u64),
    Seconds(u32),
}

fn main() -> ExitCode {
    let error = match run() {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    // Ignore a closed stderr.
    let _ = write!(io::stderr(), "floor: {error}\n{USAGE}");
    ExitCode::FAILURE
}

fn run() -> Result<(), String> {
    let mut args = Args::parse(std::env::args().skip(1))?;
    if let Some(per_s) = args.take("ticks")? {
        let seconds = args.require("time")?;
        args.finish()?;
        return ticks::watch(per_s, seconds).map_err(|error| error.to_string());
    }
    let protocol: String = args.require("protocol")?;
    let socket: String = args.require("socket")?;
    let sessions: usize = args.require("sessions")?;
    let limit = match (args.take("queries")?, args.take("time")?) {
        (Some(queries), None) => Limit::Queries(queries),
        (None, Some(seconds)) => Limit::Seconds(seconds),
        _ => return Err("one of --queries and --time is needed".to_owned()),
    };
    args.finish()?;
    if sessions == 0 {
        return Err("--sessions must be at least 1".to_owned());
    }
    let files = sessions as u64 + 64;
    dyno_sys::process::raise_open_files(files)
        .map_err(|error| format!("cannot open {files} files: {error}"))?;
    let ended = match protocol.as_str() {
        "mysql" => drive::<mysql::Session>(&socket, sessions, limit),
        "postgres" => drive::<postgres::Session>(&socket, sessions, limit),
        other => {
            return Err(format!(
                "--protocol: `{other}` is neither mysql nor postgres"
            ));
        }
    };
    ended.map_err(|error| format!("{socket}: {error}"))
}

struct Client<P> {
    stream: UnixStream,
    protocol: P,
    /// The first bytes of an answer that is incomplete.
    partial: Vec<u8>,
}

fn drive<P: Protocol>(socket: &str, sessions: usize, limit: Limit) -> io::Result<()> {
    let mut epoll = Epoll::new()?;
    let mut clients = Vec::with_capacity(sessions);
    for token in 0..sessions {
        let stream = UnixStream::connect(socket)?;
        let protocol = P::open(&stream)?;
        stream.set_nonblocking(true)?;
        epoll.add(stream.as_raw_fd(), token as u64, Interest::Read)?;
        clients.push(Client {
            stream,
            protocol,
            partial: Vec::new(),
        });
    }
    let queries_max = match limit {
        Limit::Queries(count) => count,
        Limit::Seconds(seconds) => {
            alarm_after(seconds);
            u64::MAX
        }
    };
    let (cpu, begun_ns) = (Cpu::of_self()?, Clock.now());
    let queries = closed_loop(&mut epoll, &mut clients, queries_max)?;
    let elapsed_s = (Clock.now() - begun_ns) as f64 / 1e9;
    let cpu = Cpu::of_self()?.since(cpu);
    writeln!(
        io::stdout(),
        "{{\"queries\":{queries},\"elapsed_s\":{elapsed_s:.6},\"user_us\":{},\"system_us\":{},\
         \"cpu_us_per_query\":{:.4}}}",
        cpu.user_us,
        cpu.system_us,
        cpu.total_us() / queries.max(1) as f64
    )
}

/// Keeps one query in flight per session until the limit, waits for the last answers, and returns
/// how many there were.
fn closed_loop<P: Protocol>(
    epoll: &mut Epoll,
    clients: &mut [Client<P>],
    queries_max: u64,
) -> io::Result<u64> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut sent, mut done) = (0, 0);
    for client in clients.iter_mut().take(queries_max as usize) {
        client.send(random.id())?;
        sent += 1;
    }
    let mut buffer = [0; READ_BYTES];
    while done < sent {
        let count = epoll.wait()?;
        for index in 0..count {
            let client = &mut clients[epoll.event(index).token() as usize];
            if !client.receive(&mut buffer)? {
                continue;
            }
            done += 1;
            if sent < queries_max && !alarmed() {
                client.send(random.id())?;
                sent += 1;
            }
        }
    }
    Ok(done)
}

impl<P: Protocol> Client<P> {
    #[inline]
    fn send(&mut self, id: u32) -> io::Result<()> {
        let mut request = [0; 64];
        let length = self.protocol.request(id, &mut request);
        // A request is far smaller than the empty buffer of a socket.
        match send(self.stream.as_raw_fd(), &request[..length])? == length {
            true => Ok(()),
            false => Err(io::Error::other("the socket took only a part of a request")),
        }
    }

    /// Reads the available bytes and returns whether they complete the answer.
    #[inline]
    fn receive(&mut self, buffer: &mut [u8; READ_BYTES]) -> io::Result<bool> {
        let count = match recv(self.stream.as_raw_fd(), buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        if self.partial.is_empty() && P::is_whole(&buffer[..count])? {
            return Ok(true);
        }
        self.partial.extend_from_slice(&buffer[..count]);
        let whole = P::is_whole(&self.partial)?;
        if whole {
            self.partial.clear();
        }
        Ok(whole)
    }
}

/// Random numbers by xorshift.
struct Random(u64);

impl Random {
    #[inline]
    fn id(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(TABLE_ROWS)) >> 32) as u32 + 1
    }
}
