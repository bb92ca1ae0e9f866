//! The test command: runs all checks and tests against real servers.

use std::fs;
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_core::Clock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::servers::process::ProcessId;
use crate::servers::programs::{mysql_tree, print_testbed, testbed, variable};
use crate::servers::set::{Set, down};
use crate::servers::{Kind, programs};
use crate::sid::Tree;
use crate::{dist, packages, repository, say, tidy};

/// Installs missing packages, starts servers, and runs every check and test. Stops the servers in
/// any case, unless `keep_servers` is set.
///
/// # Errors
/// The first stage that fails.
pub fn run(keep_servers: bool) -> Result<()> {
    let stages = Stages::new()?;
    stages.run("install", install)?;
    let set = stages.run("start servers", || {
        down(false)?;
        if keep_servers {
            Set::up_to_stay()
        } else {
            Set::up()
        }
    })?;
    let checked = check(&stages, &set.environment()?);
    if keep_servers {
        set.keep()?;
        say("Still running: `cargo xtask servers env` prints where, `… down` stops them.");
    } else {
        stages.run("stop servers", || {
            drop(set);
            Ok(())
        })?;
    }
    checked?;
    stages.print_total();
    Ok(())
}

/// Installs packages and fetches MySQL if they are missing.
///
/// # Errors
/// A server cannot be installed; the error says why.
pub fn install() -> Result<()> {
    print_testbed();
    let testbed = testbed();
    fs::create_dir_all(&testbed).with_context(|| format!("cannot create {}", testbed.display()))?;
    if std::env::var_os(variable(Kind::Mysql)).is_some() {
        packages::install(&testbed)?;
        return programs::locate(Kind::Mysql).map(|_| ());
    }
    let folder = mysql_tree().parent().map(ToOwned::to_owned);
    let tree = Tree::new(folder.context("the MySQL tree has no folder")?);
    if tree.is_ready() {
        return packages::install(&testbed);
    }
    // The servers' user must be able to enter, no matter what the umask was.
    fs::set_permissions(&testbed, fs::Permissions::from_mode(0o755))?;
    packages::install(&testbed)?;
    tree.fetch()?;
    tree.patch()
}

fn check(stages: &Stages, environment: &[(String, String)]) -> Result<()> {
    let cargo = |words: &str| stages.cargo(words, environment);
    cargo("fmt --all --check")?;
    stages.run("tidy", || tidy::enforce(&repository()))?;
    stages.run("fetch the release's tools", dist::build::install_tools)?;
    // Link-time optimisation of the release uses one CPU for minutes.
    stages.both(
        || release(stages),
        || {
            cargo("clippy --workspace --all-targets --all-features -- -D warnings")?;
            cargo(&format!("{TESTS} --no-run"))
        },
    )?;
    cargo(TESTS)
}

/// Without the examples, which clippy checks anyway.
const TESTS: &str = "test --workspace --all-features --tests";

fn release(stages: &Stages) -> Result<()> {
    let mut build = dist::build::command()?;
    // Two progress bars in one terminal overwrite each other.
    build.env("CARGO_TERM_PROGRESS_WHEN", "never");
    stages.command("build the release", &mut build)?;
    stages.run("strip the release", dist::build::finish)?;
    stages.run("pack the release", dist::pack)
}

/// Most end-to-end tests wait for servers, so run two of them per CPU. Tests that measure run one
/// at a time.
fn test_threads() -> usize {
    2 * thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs stages and prints how long they take.
struct Stages {
    interrupted: Arc<AtomicBool>,
    /// Whether a stage has failed while another one was running.
    failed: AtomicBool,
    started_ns: u64,
}

impl Stages {
    fn new() -> Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .context("cannot handle signals")?;
        }
        let started_ns = Clock.now();
        Ok(Self {
            interrupted,
            failed: AtomicBool::new(false),
            started_ns,
        })
    }

    fn run<T>(&self, name: &str, stage: impl FnOnce() -> Result<T>) -> Result<T> {
        say(&format!("--- {name}"));
        let start_ns = Clock.now();
        let result = stage().with_context(|| format!("stage `{name}` failed"));
        say(&format!("--- {name}: {:.1} s", seconds_since(start_ns)));
        if result.is_ok() && self.interrupted.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        result
    }

    /// Runs two sequences of stages at the same time. If one fails, the other is ended.
    fn both(
        &self,
        one: impl FnOnce() -> Result<()> + Send,
        other: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let first = OnceLock::new();
        let note = |result: Result<()>| {
            if let Err(error) = result {
                // The other sequence then fails as well, but that is not the reason.
                let _ = first.set(error);
                self.failed.store(true, Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| note(one()));
            note(other());
        });
        first.into_inner().map_or(Ok(()), Err)
    }

    fn cargo(&self, words: &str, environment: &[(String, String)]) -> Result<()> {
        let mut command = crate::cargo();
        command.args(words.split(' '));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        // Code that is compiled only once does not need gigabytes of incremental data.
        if std::env::var_os("CARGO_INCREMENTAL").is_none() {
            command.env("CARGO_INCREMENTAL", "0");
        }
        command.env("DYNO_BIN", dist::build::binary());
        command.env("RUST_TEST_THREADS", test_threads().to_string());
        self.command(&format!("cargo {words}"), &mut command)
    }

    fn command(&self, name: &str, command: &mut Command) -> Result<()> {
        self.run(name, || self.finish(command))
    }

    /// Runs a command until it exits. Ends the command and all of its descendants if the user
    /// interrupts it, or if another stage fails meanwhile.
    fn finish(&self, command: &mut Command) -> Result<()> {
        let mut child = command
            .process_group(0)
            .spawn()
            .context("cannot run cargo")?;
        let group = ProcessId::of(child.id());
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            let must_end = [&*self.interrupted, &self.failed];
            if must_end.iter().any(|flag| flag.load(Ordering::Relaxed))
                && let Some(group) = group
            {
                group.signal_group(libc::SIGTERM);
            }
            thread::sleep(Duration::from_millis(50));
        };
        if self.interrupted.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        if !status.success() {
            bail!("{status}");
        }
        Ok(())
    }

    fn print_total(&self) {
        let total = seconds_since(self.started_ns);
        say(&format!("--- all passed: {total:.1} s"));
    }
}

fn seconds_since(start_ns: u64) -> f64 {
    Duration::from_nanos(Clock.now() - start_ns).as_secs_f64()
}
