//! `cargo xtask COMMAND`: repository chores.

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};
use xtask::{repository, say, tidy};

const USAGE: &str = "\
cargo xtask COMMAND

  tidy    hold the repository to its written law (sizes, words, lints, ARCHITECTURE.md)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["tidy"] => run_tidy(),
        ["help" | "--help" | "-h"] => {
            say(USAGE);
            Ok(())
        }
        other => bail!("unknown command `{}`\n\n{USAGE}", other.join(" ")),
    }
}

fn run_tidy() -> Result<()> {
    let breaches = tidy::check(&repository())?;
    for breach in &breaches {
        say(&breach.to_string());
    }
    match breaches.len() {
        0 => Ok(()),
        count => bail!("{count} breaches of the written law (CONTRIBUTING.md says what it is)"),
    }
}
