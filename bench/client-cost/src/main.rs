//! Compare Dyno with other load generators: `cargo run --release -p client-cost`.
//!
//! Runs the load generators in turn, round after round, pinned to one core against a null server on
//! the other, and writes their costs to `bench/results/` and `docs/performance.md`.

mod bars;
mod bench;
mod figures;
mod markdown;
mod options;
mod quiet;
mod results;
mod sections;
mod tool;

use std::io::Write;
use std::process::ExitCode;

use crate::bench::Bench;
use crate::options::Options;
use crate::quiet::{OTHERS_CORES_MAX, Watch};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help") {
        say(options::USAGE);
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(words) {
        Ok(options) => options,
        Err(error) => {
            say(&format!("client-cost: {error}\n\n{}", options::USAGE));
            return ExitCode::from(2);
        }
    };
    let problems = run(options).unwrap_or_else(|error| vec![format!("{error:#}")]);
    for problem in &problems {
        say(&format!("client-cost: PROBLEM: {problem}"));
    }
    if problems.is_empty() {
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// Runs the requested sections and returns the problems.
fn run(options: Options) -> anyhow::Result<Vec<String>> {
    let bench = Bench::new(options)?;
    for name in bench.options.only.clone() {
        say(&format!("== {name}"));
        let watch = Watch::begin()?;
        let section = match sections::run(name, &bench) {
            Ok(section) => section,
            Err(error) => {
                bench.problem(format!("{name}: {error:#}"));
                continue;
            }
        };
        let disturbed = watch.end()?;
        if disturbed.others_cores > OTHERS_CORES_MAX {
            let cores = disturbed.others_cores;
            say(&format!(
                "   other processes used {cores:.2} cores meanwhile: doubtful"
            ));
        }
        results::write(&bench, name, &section, disturbed)?;
        // Write after each section, so that an interrupted run keeps its results.
        markdown::write(&bench)?;
    }
    Ok(bench.into_problems())
}

/// Prints progress. Ignores a closed stderr.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
