//! What telling the figures while the run goes on adds to a client that records and observes:
//! scraped once a second, and pushed once a second, in the same run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::recording::{cpu_us, url};
use crate::bench::Bench;
use crate::figures::Section;
use crate::tool::{Protocol, Tool};

/// How often the endpoint is scraped.
const PERIOD: Duration = Duration::from_secs(1);

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    if bench.tools(&[Tool::Dyno], Protocol::Mysql).is_empty() {
        return Ok(section);
    }
    let null = bench.null_server(Protocol::Mysql)?;
    let target = url(&null.place().socket.display().to_string(), "root", "sbtest");
    let folder = tempfile::tempdir().context("cannot make a folder for the results")?;
    let file = folder.path().join("dyno.db").display().to_string();
    let takers = Takers::start()?;
    let metrics = takers.scraped.to_string();
    let otlp = format!("http://127.0.0.1:{}", takers.pushed);
    let recorded = ["--results", file.as_str()];
    let told = [&recorded[..], &["--metrics", &metrics, "--otlp", &otlp]].concat();
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for round in 0..bench.options.rounds {
        let first = round % 2 == 0;
        for tells in [first, !first] {
            let more: &[&str] = if tells { &told } else { &recorded };
            let us = cpu_us(bench, &target, more)?;
            let case = if tells { "on" } else { "off" };
            section.samples.push(json!({
                "case": "null server", "exporting": case, "round": round, "cpu_us_per_event": us,
            }));
            if tells { on.push(us) } else { off.push(us) }
        }
    }
    let taken = [&takers.scrapes, &takers.pushes].map(|count| count.load(Ordering::Relaxed));
    ensure!(
        taken.iter().all(|count| *count > 0),
        "{} scrapes and {} pushes were taken: nothing was told",
        taken[0],
        taken[1]
    );
    section.add("neither".to_owned(), "µs CPU per event", &off);
    section.add("both".to_owned(), "µs CPU per event", &on);
    section.add_ratio("both / neither".to_owned(), &on, &off);
    Ok(section)
}

/// Stand-ins for Prometheus and for a receiver of OTLP, which take what there is.
struct Takers {
    /// The port that is scraped, free until a run listens there.
    scraped: u16,
    /// The port that takes what is pushed.
    pushed: u16,
    scrapes: Arc<AtomicU64>,
    pushes: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Takers {
    fn start() -> Result<Self> {
        let scraped = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let receiver = TcpListener::bind("127.0.0.1:0")?;
        let takers = Self {
            scraped,
            pushed: receiver.local_addr()?.port(),
            scrapes: Arc::default(),
            pushes: Arc::default(),
            stop: Arc::default(),
        };
        let (scrapes, stop) = (Arc::clone(&takers.scrapes), Arc::clone(&takers.stop));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                // Between runs nobody listens.
                if scrape(scraped).is_ok_and(|bytes| bytes > 0) {
                    scrapes.fetch_add(1, Ordering::Relaxed);
                }
                thread::sleep(PERIOD);
            }
        });
        let pushes = Arc::clone(&takers.pushes);
        thread::spawn(move || {
            for stream in receiver.incoming().flatten() {
                let mut stream = BufReader::new(stream);
                while take(&mut stream).is_some() {
                    pushes.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Ok(takers)
    }
}

impl Drop for Takers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn scrape(port: u16) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PERIOD))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    stream.read_to_end(&mut Vec::new())
}

/// Takes a request of a connection that stays; `None` when there is no other.
fn take(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?;
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    stream.read_exact(&mut vec![0; length]).ok()?;
    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    stream.get_mut().write_all(reply).ok()
}
