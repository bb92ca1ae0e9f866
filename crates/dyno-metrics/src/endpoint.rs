//! The HTTP endpoint that Prometheus scrapes. It runs on a dedicated thread.
//!
//! It serves two paths with GET and HEAD. It uses only the standard library, because the available
//! HTTP server crates are unmaintained or bring a runtime.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_core::clock::{Clock, Nanos, thread_cpu, wall_time};

use crate::figures::{Figures, Over};
use crate::protobuf;
use crate::text::{self, Version};

/// The figures of a run. Its recorder writes them, and exporters read them.
pub type Shared = Arc<Mutex<Figures>>;

const REQUEST_MAX: usize = 8 * 1024;
const CLIENTS_MAX: usize = 32;
/// How long reading a request may take, and how long writing the response may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// A page is rebuilt after each interval, and when it is this old.
const FRESH: Duration = Duration::from_secs(1);

/// Parses `PORT`, `:PORT`, `HOST` or `HOST:PORT`. The default host is loopback. The default port is
/// 9464, from the specification of OpenTelemetry's Prometheus exporter.
///
/// # Errors
/// A message, if the text has none of these forms or its host name cannot be resolved.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    const PORT: u16 = 9464;
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::new(loopback, port));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(host) = text.trim_start_matches('[').trim_end_matches(']').parse() {
        return Ok(SocketAddr::new(host, PORT));
    }
    let expected = "expected PORT or ADDRESS:PORT, such as 9464 or 0.0.0.0:9464";
    // The system's resolver would accept a bare number as an address.
    if port.chars().all(|digit| digit.is_ascii_digit()) {
        return Err(expected.to_owned());
    }
    let known = match text.contains(':') {
        true => text.to_socket_addrs(),
        false => (text, PORT).to_socket_addrs(),
    };
    let mut known = known.map_err(|error| format!("{error}; {expected}"))?;
    known
        .next()
        .ok_or_else(|| format!("no such host; {expected}"))
}

/// Answers scrapes until it is dropped.
pub struct Endpoint {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    stop: AtomicBool,
    scrapes: AtomicU64,
    /// Whether a scrape has seen the run's end.
    end_seen: AtomicBool,
    cpu_ns: AtomicU64,
    /// Number of clients being served.
    clients: AtomicUsize,
}

impl Endpoint {
    /// Listens at this address; port 0 picks a free port.
    ///
    /// # Errors
    /// Dyno cannot listen at the address or start a thread.
    pub fn start(address: SocketAddr, figures: Shared) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let state = Arc::<State>::default();
        let served = Arc::clone(&state);
        let serve = move || {
            let pages = Arc::new(Mutex::new(Pages {
                figures,
                kept: None,
            }));
            for stream in listener.incoming() {
                if served.stop.load(Ordering::Acquire) {
                    return;
                }
                // Above the limit, close the connection: no legitimate scraper opens this many.
                let Ok(stream) = stream else { continue };
                if served.clients.load(Ordering::Relaxed) >= CLIENTS_MAX {
                    continue;
                }
                served.clients.fetch_add(1, Ordering::Relaxed);
                let (pages, state) = (Arc::clone(&pages), Arc::clone(&served));
                let serve = move || {
                    // Errors here affect only this client.
                    let _ = answer(stream, &pages, &state);
                    state.cpu_ns.fetch_add(thread_cpu(), Ordering::Relaxed);
                    state.clients.fetch_sub(1, Ordering::Relaxed);
                };
                // One thread per client, so that a slow client does not block others.
                let thread = thread::Builder::new().name("dyno-scrape".to_owned());
                if thread.spawn(serve).is_err() {
                    served.clients.fetch_sub(1, Ordering::Relaxed);
                }
            }
        };
        let thread = thread::Builder::new()
            .name("dyno-metrics".to_owned())
            .spawn(serve)?;
        Ok(Self {
            address,
            state,
            thread: Some(thread),
        })
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of scrapes so far.
    pub fn scrapes(&self) -> u64 {
        self.state.scrapes.load(Ordering::Relaxed)
    }

    /// Whether a scrape has seen the run's end.
    pub fn end_seen(&self) -> bool {
        self.state.end_seen.load(Ordering::Relaxed)
    }

    /// Resets [`end_seen`](Self::end_seen) for the next run.
    pub fn begins(&self) {
        self.state.end_seen.store(false, Ordering::Relaxed);
    }

    /// A handle that reports the CPU time of its threads.
    pub fn cpu(&self) -> CpuTime {
        CpuTime(Arc::clone(&self.state))
    }
}

/// The CPU time of an endpoint's threads.
pub struct CpuTime(Arc<State>);

impl CpuTime {
    /// CPU time so far, in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.0.cpu_ns.load(Ordering::Relaxed)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Release);
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(match own.is_ipv4() {
                true => Ipv4Addr::LOCALHOST.into(),
                false => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        // Wake up the thread, which waits for a connection. If it is serving a slow client, it ends
        // after that.
        if TcpStream::connect_timeout(&own, PATIENCE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let begun = Clock.now();
            while !thread.is_finished() && Clock.since(begun) < PATIENCE {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Text(Version),
    Protobuf,
}

impl Format {
    /// The first supported format in the `Accept` header.
    fn accepted(accept: &str) -> Self {
        for one in accept.split(',') {
            let mut parts = one.split(';').map(str::trim);
            match parts.next() {
                Some("application/vnd.google.protobuf")
                    if one.contains("delimited")
                        && one.contains("io.prometheus.client.MetricFamily") =>
                {
                    return Self::Protobuf;
                }
                Some("application/openmetrics-text") => return Self::Text(Version::OpenMetrics),
                Some("text/plain") => return Self::Text(Version::Plain),
                _ => {}
            }
        }
        Self::Text(Version::Plain)
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Text(version) => version.content_type(),
            Self::Protobuf => protobuf::CONTENT_TYPE,
        }
    }
}

struct CachedPage {
    format: Format,
    changes: u64,
    made: Nanos,
    page: Arc<Vec<u8>>,
}

struct Pages {
    figures: Shared,
    kept: Option<CachedPage>,
}

impl Pages {
    /// A page, and whether it shows the end of the run.
    fn page(&mut self, format: Format) -> (Arc<Vec<u8>>, bool) {
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let (changes, over) = (figures.changes(), figures.is_over());
        let holds = |kept: &CachedPage| {
            let same = kept.format == format && kept.changes == changes;
            same && Clock.since(kept.made) < FRESH
        };
        if !self.kept.as_ref().is_some_and(holds) {
            let families = figures.families(Over::Run, wall_time().as_secs_f64());
            drop(figures);
            let page = match format {
                Format::Text(version) => text::encode(&families, version).into_bytes(),
                Format::Protobuf => protobuf::encode(&families),
            };
            self.kept = Some(CachedPage {
                format,
                changes,
                made: Clock.now(),
                page: Arc::new(page),
            });
        }
        let page = self.kept.as_ref().map(|kept| Arc::clone(&kept.page));
        (page.unwrap_or_default(), over)
    }
}

fn answer(mut stream: TcpStream, pages: &Mutex<Pages>, state: &State) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(request) = Request::read(&stream)? else {
        return reply(
            &mut stream,
            "400 Bad Request",
            "text/plain",
            b"Bad request\n",
            true,
        );
    };
    let body = request.method != "HEAD";
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        let text = b"Only GET and HEAD\n";
        return reply(
            &mut stream,
            "405 Method Not Allowed",
            "text/plain",
            text,
            true,
        );
    }
    match request.path.as_str() {
        "/metrics" => {
            let format = Format::accepted(&request.accept);
            let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
            let (page, over) = pages.page(format);
            drop(pages);
            reply(&mut stream, "200 OK", format.content_type(), &page, body)?;
            if body {
                state.scrapes.fetch_add(1, Ordering::Relaxed);
                state.end_seen.fetch_or(over, Ordering::Relaxed);
            }
            Ok(())
        }
        "/" => {
            let page = b"<!DOCTYPE html><title>dyno</title><a href=\"/metrics\">Metrics</a>\n";
            reply(
                &mut stream,
                "200 OK",
                "text/html; charset=utf-8",
                page,
                body,
            )
        }
        _ => {
            let text = b"See /metrics\n";
            reply(&mut stream, "404 Not Found", "text/plain", text, body)
        }
    }
}

fn reply(
    stream: &mut TcpStream,
    status: &str,
    content_type: &str,
    page: &[u8],
    body: bool,
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes())?;
    if body {
        stream.write_all(page)?;
    }
    stream.flush()
}

struct Request {
    method: String,
    path: String,
    accept: String,
}

impl Request {
    /// Returns `None` if the request is malformed, too long or too slow.
    fn read(mut stream: &TcpStream) -> io::Result<Option<Self>> {
        let begun = Clock.now();
        let mut bytes = Vec::new();
        let mut chunk = [0; 1024];
        while !ends(&bytes) {
            // The timeout is for the whole request: a client may send one byte at a time.
            let left = PATIENCE.saturating_sub(Clock.since(begun));
            if left.is_zero() || bytes.len() > REQUEST_MAX {
                return Ok(None);
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut chunk)? {
                0 => return Ok(None),
                count => bytes.extend_from_slice(&chunk[..count]),
            }
        }
        Ok(std::str::from_utf8(&bytes).ok().and_then(Self::of))
    }

    fn of(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut words = lines.next()?.split_ascii_whitespace();
        let (method, target) = (words.next()?, words.next()?);
        words
            .next()
            .filter(|version| version.starts_with("HTTP/"))?;
        let mut headers = lines.filter_map(|line| line.split_once(':'));
        let accept = headers.find(|(name, _)| name.eq_ignore_ascii_case("accept"));
        Some(Self {
            method: method.to_owned(),
            path: target.split('?').next().unwrap_or_default().to_owned(),
            accept: accept.map_or_else(String::new, |(_, value)| value.trim().to_owned()),
        })
    }
}

/// Whether a request's headers are complete.
fn ends(bytes: &[u8]) -> bool {
    [&b"\r\n\r\n"[..], b"\n\n"]
        .iter()
        .any(|end| bytes.windows(end.len()).any(|part| part == *end))
}
