//! The stages of the test command: their times, their failures and their interruption.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_core::Clock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::minutes::Time;
use crate::say;
use crate::servers::process::ProcessId;

/// Runs stages and prints their durations.
pub(super) struct Stages {
    interrupted: Arc<AtomicBool>,
    /// A stage failed while another one ran.
    failed: AtomicBool,
    started_ns: u64,
    times: Mutex<Vec<Time>>,
}

impl Stages {
    pub(super) fn new() -> Result<Self> {
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
            times: Mutex::default(),
        })
    }

    pub(super) fn run<T>(&self, name: &str, stage: impl FnOnce() -> Result<T>) -> Result<T> {
        say(&format!("--- {name}"));
        let start_ns = Clock.now();
        let result = stage().with_context(|| format!("stage `{name}` failed"));
        let seconds = seconds_since(start_ns);
        say(&format!("--- {name}: {seconds:.1} s"));
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(Time {
            name: name.to_owned(),
            seconds,
        });
        drop(times);
        if result.is_ok() && self.interrupted.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        result
    }

    /// Runs two sequences of stages at the same time. The failure of one ends the other.
    pub(super) fn both(
        &self,
        one: impl FnOnce() -> Result<()> + Send,
        other: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let first = OnceLock::new();
        let note = |result: Result<()>| {
            if let Err(error) = result {
                // The other sequence then fails as well, which is not the reason.
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

    pub(super) fn command(&self, name: &str, command: &mut Command) -> Result<()> {
        self.run(name, || self.finish(command))
    }

    /// The durations so far, in the order in which the stages ended.
    pub(super) fn times(&self) -> Vec<Time> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.clone()
    }

    pub(super) fn print_total(&self) {
        let total = seconds_since(self.started_ns);
        say(&format!("--- all passed: {total:.1} s"));
    }

    /// Runs a command until it exits. An interruption, or a failure at the same time, ends it and
    /// all its descendants.
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
}

/// The time since a reading of the clock.
pub(super) fn seconds_since(start_ns: u64) -> f64 {
    Duration::from_nanos(Clock.now() - start_ns).as_secs_f64()
}
