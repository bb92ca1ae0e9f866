//! `cargo campaign`: faults, bad inputs and long runs, drawn from a seed, for any length of time.
//! Prints failures with everything needed to repeat them.
//!
//! # Where to change what
//!
//! - Kinds of campaign and their options: `src/lib.rs`.
//! - A campaign's actions and conditions: `src/faults`, `src/hostile`, `src/network.rs`,
//!   `src/soak.rs`, `src/verdict`, `src/versions.rs`.
//! - The servers, the `dyno` under test, and disturbed connections: `src/bed.rs`, `src/child.rs`,
//!   `src/relay`.
//! - The short campaigns of `cargo xtask test`: `tests/short.rs`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use dyno_core::Clock;
use signal_hook::consts::{SIGINT, SIGTERM};
use xtask::say;
use xtask::servers::programs::target_directory;

pub mod bed;
pub mod child;
pub mod faults;
pub mod hostile;
pub mod network;
pub mod relay;
pub mod result;
pub mod soak;
pub mod verdict;
pub mod versions;

const USAGE: &str = "\
cargo campaign faults|hostile|soak [--seed N] [--for 30m] [--case N] [--keep FOLDER]
cargo campaign verdict [--for 3h] [--case N[-M][,…]] [--keep FOLDER]
cargo campaign network [--seed N] [--for 30m] [--seeds N] [--keep FOLDER]
cargo campaign versions";

/// How long a campaign lasts by default.
const LENGTH: Duration = Duration::from_secs(60);
/// For a campaign that ends with its last seed.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A kind of campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Faults of connections, servers and Dyno itself.
    Faults,
    /// Malicious servers and inputs.
    Hostile,
    /// Long runs, which must not use more and more memory.
    Soak,
    /// The drivers on a simulated network.
    Network,
    /// Deliberately bad runs, good runs, and pairs of equal runs.
    Verdict,
    /// Kill tests on server versions that are not packaged.
    Versions,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Faults => "faults",
            Self::Hostile => "hostile",
            Self::Soak => "soak",
            Self::Network => "network",
            Self::Verdict => "verdict",
            Self::Versions => "versions",
        }
    }
}

/// The options of a campaign.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its kind.
    pub part: Part,
    /// The seed that determines everything.
    pub seed: u64,
    /// How long it lasts.
    pub length: Duration,
    /// Run only these cases.
    pub cases: Option<Vec<u64>>,
    /// How many seeds of the simulated network to try, starting with `seed`.
    pub seeds: Option<u64>,
    /// The `dyno` under test.
    pub dyno: PathBuf,
    /// The folder for failed cases.
    pub keep: PathBuf,
}

impl Options {
    /// Parses the command line.
    ///
    /// # Errors
    /// An argument is invalid.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let (part, mut rest) = match arguments {
            ["faults", rest @ ..] => (Part::Faults, rest),
            ["hostile", rest @ ..] => (Part::Hostile, rest),
            ["soak", rest @ ..] => (Part::Soak, rest),
            ["network", rest @ ..] => (Part::Network, rest),
            ["verdict", rest @ ..] => (Part::Verdict, rest),
            ["versions", rest @ ..] => (Part::Versions, rest),
            _ => bail!("name a campaign\n\n{USAGE}"),
        };
        let seed = Clock.now() ^ u64::from(std::process::id());
        let mut options = Self {
            part,
            seed: seed % 1_000_000,
            length: LENGTH,
            cases: None,
            seeds: None,
            dyno: PathBuf::new(),
            keep: target_directory().join("campaign"),
        };
        let mut length = None;
        while let [name, value, more @ ..] = rest {
            let number = || {
                let parsed = value.parse::<u64>();
                parsed.with_context(|| format!("`{value}` is not a number"))
            };
            match *name {
                "--seed" => options.seed = number()?,
                "--case" if part == Part::Verdict => options.cases = Some(numbers(value)?),
                "--case" if part != Part::Network => options.cases = Some(vec![number()?]),
                "--seeds" if part == Part::Network => options.seeds = Some(number()?),
                "--for" => length = Some(duration(value)?),
                "--keep" => options.keep = PathBuf::from(value),
                _ => bail!("unknown option `{name}`\n\n{USAGE}"),
            }
            rest = more;
        }
        if let [stray] = rest {
            bail!("`{stray}` needs a value, or is not an option\n\n{USAGE}");
        }
        let all = part == Part::Verdict || options.seeds.is_some();
        let until_tried = all.then_some(FOR_EVER);
        options.length = length.or(until_tried).unwrap_or(LENGTH);
        Ok(options)
    }
}

/// Parses `7`, `7-19`, or several of them separated by commas.
fn numbers(text: &str) -> Result<Vec<u64>> {
    let number = |part: &str| {
        let parsed = part.parse::<u64>();
        parsed.with_context(|| format!("`{part}` is not a number"))
    };
    let mut all = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        all.extend(number(first)?..=number(last)?);
    }
    Ok(all)
}

/// Parses `30s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration> {
    let unit = text.chars().last().unwrap_or(' ');
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => bail!("invalid duration `{text}`; examples are 30s, 5m and 1h"),
    };
    let number = text.trim_end_matches(unit).parse::<u64>();
    let number = number.with_context(|| format!("invalid duration `{text}`"))?;
    Ok(Duration::from_secs(number * seconds))
}

/// Builds dyno unless `DYNO_BIN` is set, and runs the campaign.
///
/// # Errors
/// The campaign had failures, or could not run.
pub fn run(mut options: Options) -> Result<()> {
    if options.part != Part::Network {
        options.dyno = dyno_binary()?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot handle signals")?;
    }
    let (part, seed) = (options.part.name(), options.seed);
    match options.part {
        Part::Network => say(&format!("campaign {part}, from seed {seed}")),
        _ => say(&format!("campaign {part}, seed {seed}, {:?}", options.dyno)),
    }
    let campaign = Campaign::new(options, stop)?;
    let done = match campaign.options.part {
        Part::Faults => faults::run(&campaign),
        Part::Hostile => hostile::run(&campaign),
        Part::Soak => soak::run(&campaign),
        Part::Network => return network::run(&campaign),
        Part::Verdict => verdict::run(&campaign),
        Part::Versions => return versions::run(&campaign),
    };
    let failures = campaign.print_totals();
    done?;
    match failures {
        0 => Ok(()),
        count => bail!("the campaign found {count} failures"),
    }
}

/// The `dyno` under test: `$DYNO_BIN`, or a release build of this repository.
fn dyno_binary() -> Result<PathBuf> {
    if let Some(path) = env::var_os("DYNO_BIN").map(PathBuf::from) {
        return path
            .canonicalize()
            .with_context(|| format!("DYNO_BIN names {}, which does not exist", path.display()));
    }
    let mut build = xtask::cargo();
    build.args(["build", "--release", "-p", "dyno"]);
    if !build.status().context("cannot run cargo")?.success() {
        bail!("dyno could not be built");
    }
    Ok(target_directory().join("release/dyno"))
}

/// A campaign in progress and its results so far.
pub struct Campaign {
    /// Its options.
    pub options: Options,
    stop: Arc<AtomicBool>,
    end_ns: u64,
    folder: PathBuf,
    tally: Mutex<Tally>,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    cases: u64,
    faults: u64,
    inputs: u64,
    failures: u64,
}

impl Campaign {
    /// Creates a campaign without running it.
    ///
    /// # Errors
    /// The folder for failed cases cannot be created.
    pub fn new(options: Options, stop: Arc<AtomicBool>) -> Result<Self> {
        let name = format!("{}-{}", options.part.name(), options.seed);
        let folder = std::path::absolute(&options.keep)?.join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let end_ns = Clock.now() + options.length.as_nanos() as u64;
        Ok(Self {
            options,
            stop,
            end_ns,
            folder,
            tally: Mutex::default(),
        })
    }

    /// Whether the campaign should end.
    pub fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Clock.now() > self.end_ns
    }

    /// Whether the user has stopped it.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The numbers of the cases: those requested, or all from 0.
    fn cases(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match &self.options.cases {
            Some(cases) => Box::new(cases.iter().copied()),
            None => Box::new(0..),
        }
    }

    /// Creates an empty folder for a case.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn case_folder(&self, number: u64) -> Result<PathBuf> {
        let folder = self.folder.join(format!("case-{number}"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("tmp"))
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// Counts a case, and prints its failures. Keeps its folder if it has any.
    pub fn close(&self, case: &Closed<'_>) {
        let mut tally = self.tally();
        tally.cases += 1;
        tally.faults += case.faults;
        tally.inputs += case.inputs;
        tally.failures += case.failures.len() as u64;
        if case.failures.is_empty() {
            // The next campaign with this seed overwrites whatever is left.
            let _ = fs::remove_dir_all(case.folder);
            return;
        }
        let (part, seed) = (self.options.part.name(), self.options.seed);
        let text = case.failures.join("\n");
        // If the write fails, the missing file shows it.
        let _ = fs::write(case.folder.join("failures"), format!("{text}\n"));
        for failure in case.failures {
            say(&format!(
                "FAILURE seed {seed} case {} ({}): {failure}\n  repeat: cargo campaign {part} \
                 --seed {seed} --case {}; kept: {}",
                case.number,
                case.what,
                case.number,
                case.folder.display()
            ));
        }
    }

    /// The number of failures so far.
    pub fn failures(&self) -> u64 {
        self.tally().failures
    }

    /// The number of completed cases.
    pub fn done(&self) -> u64 {
        self.tally().cases
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print_totals(&self) -> u64 {
        let tally = self.tally();
        say(&format!(
            "{} runs: {} faults, {} bad inputs, {} failures",
            tally.cases, tally.faults, tally.inputs, tally.failures
        ));
        tally.failures
    }
}

/// Runs the lanes of a campaign, each in a thread, until all have ended. Returns the first error.
fn in_parallel<L: FnOnce() -> Result<()> + Send>(lanes: impl Iterator<Item = L>) -> Result<()> {
    let ended: Vec<Result<()>> = thread::scope(|scope| {
        let lanes: Vec<_> = lanes.map(|lane| scope.spawn(lane)).collect();
        let joined = lanes.into_iter().map(|lane| {
            let lane = lane.join();
            lane.unwrap_or_else(|_| Err(anyhow!("a thread of the campaign panicked")))
        });
        joined.collect()
    });
    ended.into_iter().collect()
}

/// A completed case.
pub struct Closed<'a> {
    /// Its number.
    pub number: u64,
    /// A description in one line.
    pub what: &'a str,
    /// The folder with its files.
    pub folder: &'a Path,
    /// The number of faults.
    pub faults: u64,
    /// The number of bad inputs.
    pub inputs: u64,
    /// Its failures.
    pub failures: &'a [String],
}
