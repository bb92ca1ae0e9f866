//! Compares the load of `dyno prepare tpcc` with single-row INSERTs of the same rows: rows per
//! second on the same server, in the same number of sessions, in turn.
//!
//! `cargo run --release -p tpcc-load URL…`: the URLs name databases that may be overwritten, e.g.
//! `mysql://root@db1/bench`. Build Dyno first with `cargo build --release -p dyno`, or set
//! `DYNO_BIN`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

const USAGE: &str =
    "usage: tpcc-load [--sessions N] [--shrink N] [--rounds N] [--results FILE] URL…";

/// Rows per transaction of [`Way::Transactions`], about as many as Dyno sends at once.
const COMMIT_ROWS: u32 = 1000;

/// The ways to load the tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Dyno's loader.
    Dyno,
    /// One INSERT per row, with autocommit.
    Autocommit,
    /// One INSERT per row, many per transaction.
    Transactions,
}

const WAYS: [Way; 3] = [Way::Dyno, Way::Autocommit, Way::Transactions];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Dyno => "dyno prepare",
            Self::Autocommit => "single-row INSERT, autocommit",
            Self::Transactions => "single-row INSERT, 1000 to a transaction",
        }
    }
}

/// The options.
struct Bench {
    dyno: PathBuf,
    scripts: PathBuf,
    sessions: u32,
    shrink: u32,
    rounds: u32,
    results: Option<PathBuf>,
    urls: Vec<String>,
}

fn main() -> Result<()> {
    let bench = Bench::of(env::args().skip(1))?;
    let mut servers = Vec::new();
    for url in &bench.urls {
        servers.push(bench.compare(url)?);
    }
    let Some(path) = &bench.results else {
        return Ok(());
    };
    let results = json!({
        "section": "tpcc-load",
        "date": first_line("date", &["+%F"])?,
        "command": format!(
            "cargo run --release -p tpcc-load -- --sessions {} --shrink {} --rounds {} URL…",
            bench.sessions, bench.shrink, bench.rounds
        ),
        "kernel": first_line("uname", &["-r"])?,
        "cores": first_line("nproc", &[])?,
        "servers": servers,
    });
    let text = serde_json::to_string_pretty(&results)? + "\n";
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

impl Bench {
    fn of(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut bench = Self {
            dyno: env::var_os("DYNO_BIN")
                .map_or_else(|| here.join("../../target/release/dyno"), PathBuf::from),
            scripts: here.join("../scripts"),
            sessions: 2,
            shrink: 10,
            rounds: 3,
            results: None,
            urls: Vec::new(),
        };
        while let Some(word) = words.next() {
            let mut number = || -> Result<u32> {
                let value = words
                    .next()
                    .with_context(|| format!("{word} needs a number"))?;
                let number = value.parse().ok().filter(|&number| number > 0);
                number.with_context(|| format!("{word}: '{value}' is no number from 1 on"))
            };
            match word.as_str() {
                "--sessions" => bench.sessions = number()?,
                "--shrink" => bench.shrink = number()?,
                "--rounds" => bench.rounds = number()?,
                "--results" => bench.results = words.next().map(PathBuf::from),
                url if !url.starts_with('-') => bench.urls.push(word),
                _ => bail!("{word} is not known; {USAGE}"),
            }
        }
        ensure!(!bench.urls.is_empty(), "{USAGE}");
        Ok(bench)
    }

    /// Measures all ways on one server, round after round.
    #[allow(clippy::print_stdout)] // its result
    fn compare(&self, url: &str) -> Result<Value> {
        let mut rates: [Vec<f64>; 3] = Default::default();
        let mut server = String::new();
        for _ in 0..self.rounds {
            for (way, rates) in WAYS.iter().zip(&mut rates) {
                self.command("cleanup", "tpcc", url, &[])?;
                rates.push(self.load(*way, url)?);
                let checked = self.command("check", "tpcc", url, &[])?;
                ensure!(
                    !checked.contains("FAILED"),
                    "the rows are not right: {checked}"
                );
            }
        }
        let asked = self.command("run", "tpcc", url, &["--events", "1", "--json"]);
        if let Ok(Ok(run)) = asked.map(|text| serde_json::from_str::<Value>(&text)) {
            let target = &run["target"];
            server = format!(
                "{} {}",
                target["product"].as_str().unwrap_or_default(),
                target["version"].as_str().unwrap_or_default()
            );
        }
        self.command("cleanup", "tpcc", url, &[])?;
        println!(
            "{server}, {} sessions, --shrink {}",
            self.sessions, self.shrink
        );
        let mut ways = Vec::new();
        for (way, own) in WAYS.iter().zip(&rates) {
            let ratios = rates[0].iter().zip(own).map(|(dyno, own)| dyno / own);
            let (rate, ratio) = (Spread::of(own.iter().copied()), Spread::of(ratios));
            let comparison = match way {
                Way::Dyno => String::new(),
                _ => format!(
                    "  dyno is {:.1} times as fast ({:.1} – {:.1})",
                    ratio.median, ratio.low, ratio.high
                ),
            };
            println!(
                "  {:42} {:9.0} rows/s ({:.0} – {:.0}){comparison}",
                way.name(),
                rate.median,
                rate.low,
                rate.high
            );
            ways.push(json!({
                "way": way.name(), "rows_per_s": own, "median_rows_per_s": rate.median,
                "dyno_over_this": { "median": ratio.median, "low": ratio.low, "high": ratio.high },
            }));
        }
        Ok(json!({ "server": server, "ways": ways }))
    }

    /// Rows per second of a load, from before the tables are created until they are ready to use.
    fn load(&self, way: Way, url: &str) -> Result<f64> {
        let single = self.scripts.join("tpcc_single_rows.lua");
        let single = single.to_str().context("an odd path")?;
        let (sessions, commit_rows) = (self.sessions.to_string(), COMMIT_ROWS.to_string());
        let sessions = ["--sessions", sessions.as_str()];
        let output = match way {
            Way::Dyno => self.command("prepare", "tpcc", url, &sessions),
            Way::Autocommit => self.command("prepare", single, url, &sessions),
            Way::Transactions => {
                let more = [&sessions[..], &["--commit_rows", commit_rows.as_str()]].concat();
                self.command("prepare", single, url, &more)
            }
        }?;
        // `Loaded N rows in S s (R rows/s).`
        let line = output
            .lines()
            .rev()
            .find_map(|line| line.split_once("Loaded "));
        let mut words = line.context("dyno printed no time")?.1.split_whitespace();
        let rows: f64 = words.next().context("no rows")?.parse()?;
        let seconds: f64 = words.nth(2).context("no seconds")?.parse()?;
        ensure!(rows > 0.0 && seconds > 0.0, "nothing was loaded: {output}");
        Ok(rows / seconds)
    }

    /// The output of a Dyno command on stdout and stderr.
    fn command(&self, command: &str, workload: &str, url: &str, more: &[&str]) -> Result<String> {
        let shrink = self.shrink.to_string();
        let mut dyno = Command::new(&self.dyno);
        dyno.args([command, workload, "--shrink", &shrink, "--target", url]);
        if command == "prepare" {
            // Load the same rows each time.
            dyno.args(["--seed", "1"]);
        }
        if command == "run" {
            dyno.args([
                "-q",
                "--results",
                "none",
                "--calibrate",
                "never",
                "--observe",
                "off",
            ]);
        }
        let output = dyno.args(more).output();
        let output = output.with_context(|| format!("cannot run {}", self.dyno.display()))?;
        let [printed, error] = [&output.stdout, &output.stderr].map(|t| String::from_utf8_lossy(t));
        ensure!(
            output.status.success(),
            "dyno {command} {workload} failed: {printed}{error}"
        );
        Ok(match command {
            "run" => printed.into_owned(),
            _ => format!("{printed}{error}"),
        })
    }
}

/// How much the rounds spread.
struct Spread {
    median: f64,
    low: f64,
    high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => values[middle],
            _ => (values[middle - 1] + values[middle]) / 2.0,
        };
        Self {
            median,
            low: values.first().copied().unwrap_or(f64::NAN),
            high: values.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// The first line that a program prints.
fn first_line(program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program).args(words).output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
