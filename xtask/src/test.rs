//! The test command: all checks and tests, or the quick ones, against real servers.

use std::env;
use std::fs;
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use crate::servers::programs::{mysql_tree, print_testbed, target_directory, testbed, variable};
use crate::servers::set::{Set, down};
use crate::servers::{Kind, programs};
use crate::sid::Tree;
use crate::{dist, packages, repository, say, tidy};

pub mod binary;
mod minutes;
mod stages;
mod suites;

use binary::Records;
use stages::Stages;

/// How much to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything, against the release binary.
    Whole,
    /// Every crate's tests and some end-to-end tests, against the debug binary and one server of
    /// each kind. The table in `suites.rs` says which.
    Quick,
}

impl Extent {
    /// The servers to start.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Whole => &Kind::ALL,
            // MySQL has MariaDB's driver, and costs a download and the longest start.
            Self::Quick => &[Kind::Mariadb, Kind::Postgres],
        }
    }

    /// The `dyno` under test.
    fn program(self) -> PathBuf {
        match self {
            Self::Whole => dist::build::binary(),
            Self::Quick => target_directory().join("debug/dyno"),
        }
    }
}

/// Installs missing packages, starts servers, runs the checks and tests, and prints where the
/// minutes went. The servers are stopped in any case, unless `keep_servers` is set.
///
/// # Errors
/// The first stage that fails.
pub fn run(extent: Extent, keep_servers: bool) -> Result<()> {
    let stages = Stages::new()?;
    let records = Records::new()?;
    let tested = test(&stages, &records, extent, keep_servers);
    say(&minutes::table(&stages.times(), &records.read()?));
    tested?;
    stages.print_total();
    Ok(())
}

/// Installs packages and fetches MySQL, if they are missing.
///
/// # Errors
/// A server cannot be installed, with the reason.
pub fn install() -> Result<()> {
    install_for(&Kind::ALL)
}

fn install_for(kinds: &[Kind]) -> Result<()> {
    print_testbed();
    let testbed = testbed();
    fs::create_dir_all(&testbed).with_context(|| format!("cannot create {}", testbed.display()))?;
    if !kinds.contains(&Kind::Mysql) {
        return packages::install(&testbed);
    }
    if env::var_os(variable(Kind::Mysql)).is_some() {
        packages::install(&testbed)?;
        return programs::locate(Kind::Mysql).map(|_| ());
    }
    let folder = mysql_tree().parent().map(ToOwned::to_owned);
    let tree = Tree::new(folder.context("the MySQL tree has no folder")?);
    if tree.is_ready() {
        return packages::install(&testbed);
    }
    // The servers' user must be able to enter, whatever the umask was.
    fs::set_permissions(&testbed, fs::Permissions::from_mode(0o755))?;
    packages::install(&testbed)?;
    tree.fetch()?;
    tree.patch()
}

fn test(stages: &Stages, records: &Records, extent: Extent, keep_servers: bool) -> Result<()> {
    stages.run("install", || install_for(extent.kinds()))?;
    let set = stages.run("start servers", || {
        down(false)?;
        if keep_servers {
            Set::up_to_stay(extent.kinds())
        } else {
            Set::up(extent.kinds())
        }
    })?;
    let checked = set.environment().and_then(|mut environment| {
        let program = extent.program().display().to_string();
        environment.push(("DYNO_BIN".to_owned(), program));
        check(stages, records, extent, &environment)
    });
    if keep_servers {
        set.keep()?;
        say("The servers stay: `cargo xtask servers env` tells where, `… down` ends them.");
    } else {
        stages.run("stop servers", || {
            drop(set);
            Ok(())
        })?;
    }
    checked
}

/// Names and values of environment variables.
type Environment = [(String, String)];

fn check(
    stages: &Stages,
    records: &Records,
    extent: Extent,
    environment: &Environment,
) -> Result<()> {
    let cargo = |words: &str| run_cargo(stages, words, environment);
    cargo("fmt --all --check")?;
    stages.run("tidy", || tidy::enforce(&repository()))?;
    match extent {
        Extent::Whole => {
            stages.run("fetch the release's tools", dist::build::install_tools)?;
            // The optimisation of the release across crates uses one CPU for minutes.
            stages.both(
                || release(stages),
                || {
                    cargo(CLIPPY)?;
                    cargo(&format!("{TESTS} --no-run"))
                },
            )?;
        }
        Extent::Quick => {
            cargo(CLIPPY)?;
            cargo(QUICK_BUILD)?;
        }
    }
    let mut command = cargo_command(TESTS, environment);
    // Cargo starts each test binary through this program, which records its time.
    command.arg("--config").arg(records.runner(extent)?);
    stages.command(&format!("cargo {TESTS}"), &mut command)?;
    match extent {
        Extent::Whole => Ok(()),
        Extent::Quick => suites::all_seen(&records.read()?),
    }
}

const CLIPPY: &str = "clippy --workspace --all-targets --all-features -- -D warnings";

/// Without the examples, which clippy checks.
const TESTS: &str = "test --workspace --all-features --tests";

/// The same with the programs under test, in one command so that nothing is built twice. Without
/// this program, which is running.
const QUICK_BUILD: &str = "build --workspace --all-features --tests --bin dyno --bin null-server";

fn release(stages: &Stages) -> Result<()> {
    let mut build = dist::build::command()?;
    // Two bars on one terminal overwrite each other.
    build.env("CARGO_TERM_PROGRESS_WHEN", "never");
    stages.command("build the release", &mut build)?;
    stages.run("strip the release", dist::build::finish)?;
    stages.run("pack the release", dist::pack)
}

fn run_cargo(stages: &Stages, words: &str, environment: &Environment) -> Result<()> {
    let mut command = cargo_command(words, environment);
    stages.command(&format!("cargo {words}"), &mut command)
}

fn cargo_command(words: &str, environment: &Environment) -> Command {
    let mut command = crate::cargo();
    command.args(words.split(' '));
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    // Code that is compiled once does not need gigabytes for the next time.
    if env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command.env("RUST_TEST_THREADS", test_threads().to_string());
    command
}

/// Most end-to-end tests wait for servers, so two of them per CPU run at a time; those that measure
/// run one at a time.
fn test_threads() -> usize {
    2 * thread::available_parallelism().map_or(1, NonZero::get)
}
