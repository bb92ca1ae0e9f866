//! What exporting live metrics costs the client in addition to recording and observing: the metrics
//! are scraped once a second and pushed once a second in the same run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::load;
use super::recording::{cpu_us, url};
use crate::bench::Bench;
use crate::figures::Section;
use crate::options::RealServer;
use crate::tool::{Protocol, Tool};

/// The interval between scrapes.
const PERIOD: Duration = Duration::from_secs(1);
/// Seconds per run, long enough that the work at its start and end hardly matters.
const SHARE_S: u32 = 20;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    if bench.tools(&[Tool::Dyno], Protocol::Mysql).is_empty() {
        return Ok(section);
    }
    let folder = tempfile::tempdir().context("cannot make a folder for the results")?;
    let takers = Takers::start()?;
    let exporting = Exporting {
        bench,
        file: folder.path().join("dyno.db").display().to_string(),
        metrics: takers.scraped.to_string(),
        otlp: format!("http://127.0.0.1:{}", takers.pushed),
    };
    let null = bench.null_server(Protocol::Mysql)?;
    let target = url(
        &null.endpoint().socket.display().to_string(),
        "root",
        "sbtest",
    );
    let script = bench.script("select_one.lua").display().to_string();
    let both = exporting.both();
    exporting.shares(
        "null server, both",
        &target,
        (&[&script], &both),
        &mut section,
    )?;
    exporting.rounds(&target, &mut section)?;
    drop(null);
    if let Some(server) = &bench.options.mysql {
        exporting.of_tpcc(server, &mut section)?;
    }
    let counts = [&takers.scrapes, &takers.pushes].map(|count| count.load(Ordering::Relaxed));
    ensure!(
        counts.iter().all(|count| *count > 0),
        "{} scrapes and {} pushes arrived, so exporting was not measured",
        counts[0],
        counts[1]
    );
    Ok(section)
}

struct Exporting<'a> {
    bench: &'a Bench,
    /// The results file.
    file: String,
    metrics: String,
    otlp: String,
}

impl Exporting<'_> {
    fn scraped(&self) -> Vec<&str> {
        vec!["--metrics", &self.metrics]
    }

    fn pushed(&self) -> Vec<&str> {
        vec!["--otlp", &self.otlp]
    }

    fn both(&self) -> Vec<&str> {
        [self.scraped(), self.pushed()].concat()
    }

    /// With five operations, and all observed metrics of a real server.
    fn of_tpcc(&self, server: &RealServer, section: &mut Section) -> Result<()> {
        let execute = |sql: String| load::query(Protocol::Mysql, server, None, &sql);
        execute(format!("DROP DATABASE IF EXISTS {}", load::DATABASE))?;
        execute(format!("CREATE DATABASE {}", load::DATABASE))?;
        let target = url(&server.endpoint, &server.user, load::DATABASE);
        let mut prepare = Command::new(self.bench.path(Tool::Dyno));
        prepare.args(["prepare", "tpcc", "--scale", "1", "--target", &target]);
        self.bench.measure(prepare)?;
        let options = ["tpcc", "--scale", "1"];
        let done = [
            ("scraped", self.scraped()),
            ("pushed", self.pushed()),
            ("both", self.both()),
        ]
        .into_iter()
        .try_for_each(|(how, exports)| {
            let what = format!("tpcc, real server, {how}");
            self.shares(&what, &target, (&options, &exports), section)
        });
        execute(format!("DROP DATABASE {}", load::DATABASE))?;
        done
    }

    /// The share of the client's CPU time that exporting takes, from the record of the run. The
    /// exporting threads do nothing else, so their time is the whole cost except for cache
    /// pollution.
    fn shares(
        &self,
        what: &str,
        target: &str,
        (workload, exports): (&[&str], &[&str]),
        section: &mut Section,
    ) -> Result<()> {
        let (mut shares, mut each_s) = (Vec::new(), Vec::new());
        for round in 0..self.bench.options.rounds {
            let mut command = Command::new(self.bench.path(Tool::Dyno));
            let seconds = SHARE_S.to_string();
            command.arg("run").args(workload);
            command.args([
                "--target",
                target,
                "-c",
                "16",
                "--workers",
                "1",
                "-t",
                &seconds,
            ]);
            command.args([
                "--warmup",
                "1s",
                "--json",
                "--quiet",
                "--calibrate",
                "never",
            ]);
            command.args(["--results", &self.file]).args(exports);
            let outcome = self.bench.measure(command)?;
            let summary: Value = serde_json::from_str(&outcome.report)?;
            let client = &summary["client"];
            let client_s = number(&client["user_s"])? + number(&client["system_s"])?;
            let export_s = self.exporting_s()?;
            section.samples.push(json!({
                "case": what, "round": round, "client_cpu_s": client_s,
                "exporting_cpu_s": export_s, "measured_s": SHARE_S,
            }));
            shares.push(export_s / client_s * 100.0);
            each_s.push(export_s / f64::from(SHARE_S) * 1e3);
        }
        section.add(format!("exporting, {what}"), "ms CPU per second", &each_s);
        section.add(
            format!("exporting / client, {what}"),
            "% of its CPU",
            &shares,
        );
        Ok(())
    }

    /// The CPU time of the last run's exports, from its record.
    fn exporting_s(&self) -> Result<f64> {
        let mut command = Command::new(self.bench.path(Tool::Dyno));
        command.args([
            "export",
            "last",
            "--format",
            "json",
            "--results",
            &self.file,
        ]);
        let exported: Value = serde_json::from_str(&self.bench.measure(command)?.report)?;
        let facts = exported["facts"].as_array();
        let fact = facts.and_then(|facts| {
            let named = |fact: &&Value| fact["name"] == "observer.export.cpu_s";
            facts.iter().find(named)
        });
        let value = fact.and_then(|fact| fact["value"].as_str());
        value
            .and_then(|text| text.parse().ok())
            .context("the record does not hold what exporting took")
    }

    /// Compares the whole process with and without exporting, which is noisier.
    fn rounds(&self, target: &str, section: &mut Section) -> Result<()> {
        let recorded = ["--results", self.file.as_str()];
        let exporting = [
            &recorded[..],
            &["--metrics", &self.metrics, "--otlp", &self.otlp],
        ]
        .concat();
        let (mut on, mut off) = (Vec::new(), Vec::new());
        for round in 0..self.bench.options.rounds {
            let first = round % 2 == 0;
            for exports in [first, !first] {
                let more: &[&str] = if exports { &exporting } else { &recorded };
                let us = cpu_us(self.bench, target, more)?;
                let case = if exports { "on" } else { "off" };
                section.samples.push(json!({
                    "case": "null server", "exporting": case, "round": round,
                    "cpu_us_per_event": us,
                }));
                if exports { on.push(us) } else { off.push(us) }
            }
        }
        section.add("neither".to_owned(), "µs CPU per event", &off);
        section.add("both".to_owned(), "µs CPU per event", &on);
        section.add_ratio("both / neither".to_owned(), &on, &off);
        Ok(())
    }
}

fn number(value: &Value) -> Result<f64> {
    value
        .as_f64()
        .with_context(|| format!("{value} is no number"))
}

/// Replaces Prometheus and an OTLP receiver: it accepts every request.
struct Takers {
    /// The port to scrape, which is free until a run listens on it.
    scraped: u16,
    /// The port for pushes.
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
                // Between runs, nothing listens on the port.
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
    // The header that Prometheus itself sends.
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    write!(stream, "GET /metrics HTTP/1.0\r\nAccept: {accept}\r\n\r\n")?;
    stream.read_to_end(&mut Vec::new())
}

/// Reads a request from a persistent connection. `None` when it has ended.
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
