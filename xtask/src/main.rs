//! `cargo xtask COMMAND`: repository chores.

use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use xtask::servers::Kind;
use xtask::servers::set::{self, Set};
use xtask::test::{Extent, binary};
use xtask::{dist, repository, say, test, tidy};

const USAGE: &str = "\
cargo xtask COMMAND

  test [--keep-servers]   install what is missing, start servers, run every check and test
  test --quick            the same, but only quick tests, on the debug program and without MySQL
  dist                    the release: a binary for old systems too, its Debian package, an archive
  servers up|env|down     servers to test against by hand: `eval \"$(cargo xtask servers env)\"`
  tidy                    hold the repository to its lint rules (sizes, words, lints)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            xtask::complain(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode> {
    // Cargo starts this during the test command.
    if let [binary::COMMAND, arguments @ ..] = arguments {
        return binary::run(arguments);
    }
    chore(arguments)?;
    Ok(ExitCode::SUCCESS)
}

fn chore(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["test"] => test::run(Extent::Whole, false),
        ["test", "--keep-servers"] => test::run(Extent::Whole, true),
        ["test", "--quick"] => test::run(Extent::Quick, false),
        ["servers", "up"] => servers_up(),
        ["servers", "env"] => {
            let environment = set::kept_environment()?;
            say(environment
                .context("no servers are running; start them with `cargo xtask servers up`")?
                .trim_end());
            Ok(())
        }
        ["servers", "down"] => {
            let ended = set::down(true)?;
            say(&format!("{ended} sets of servers were ended"));
            Ok(())
        }
        ["dist"] => dist::run(),
        ["tidy"] => tidy::enforce(&repository()),
        ["help" | "--help" | "-h"] => {
            say(USAGE);
            Ok(())
        }
        other => bail!("unknown command `{}`\n\n{USAGE}", other.join(" ")),
    }
}

fn servers_up() -> Result<()> {
    if let Some(environment) = set::kept_environment()? {
        say(&format!("# up already\n{}", environment.trim_end()));
        return Ok(());
    }
    test::install()?;
    set::down(true)?;
    Set::up_to_stay(&Kind::ALL)?.keep()?;
    say(set::kept_environment()?
        .context("the servers ended right after their start")?
        .trim_end());
    Ok(())
}
