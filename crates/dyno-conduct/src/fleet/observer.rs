//! The observer on the server's host: a process that writes its observations to its parent.
//! JSON lines go both ways: clock requests in, clock answers and observations out.

use std::io::{BufRead as _, BufReader, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_core::clock::{Clock, Nanos};
use dyno_core::{Secret, Target, redact};
use dyno_observe::{Config, Observation, Observers};
use serde::{Deserialize, Serialize};

use super::agent;

/// The line that ends the observer. The end of its input is not enough: threads of its parent may
/// keep the pipe open.
pub(super) const END: &str = "end";
/// Sampling interval.
const PERIOD: Duration = Duration::from_secs(1);

/// The observer's configuration. It contains a secret.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObserverConfig {
    /// The protocol version.
    pub v: u32,
    /// The server's address on its own host.
    pub target: String,
    /// The password.
    pub password: Option<String>,
}

/// A line of the observer's output.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The answer to a clock request: the sender's time of sending, and the observer's time of
    /// arrival.
    Echo(Nanos, Nanos),
    /// An observation.
    #[serde(rename = "seen")]
    Observed(Observation),
}

/// Observes until standard input ends, and writes lines to `out`.
///
/// # Errors
/// The configuration is missing, or the observers cannot start.
pub fn observe(out: impl Write + Send + 'static) -> Result<()> {
    let config: ObserverConfig = agent::read("a configuration")?;
    let mut target = Target::parse(&config.target)?;
    target.password = config.password.map(Secret::new);
    if let Some(password) = &target.password {
        redact::learn(password, &[]);
    }
    let connector = dyno_drivers::connector(&target)?;
    let (observers, observations) = Observers::start(Config {
        target: Some(target),
        connector: Some(connector),
        period: PERIOD,
        ..Config::default()
    })?;
    let out = Arc::new(Mutex::new(out));
    let answers = Arc::clone(&out);
    let (ended, ends) = std::sync::mpsc::channel::<()>();
    std::thread::Builder::new()
        .name("questions".to_owned())
        .spawn(move || {
            for line in BufReader::new(std::io::stdin()).lines() {
                let now = Clock.now();
                let Ok(line) = line else { break };
                if line.trim() == END {
                    break;
                }
                if let Ok(sent) = line.trim().parse() {
                    say(&answers, &Line::Echo(sent, now));
                }
            }
            // The parent has ended, or requested the end.
            drop(ended);
        })
        .context("cannot start the thread that answers questions")?;
    let writer = std::thread::Builder::new().name("observed".to_owned());
    let writer = writer
        .spawn(move || {
            while let Ok(seen) = observations.recv() {
                say(&out, &Line::Observed(seen));
            }
        })
        .context("cannot start the thread that sends observations")?;
    let _ = ends.recv();
    observers.stop();
    // It ends with the observers.
    let _ = writer.join();
    Ok(())
}

fn say(out: &Mutex<impl Write>, line: &Line) {
    let Ok(text) = serde_json::to_string(line) else {
        return;
    };
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    // If the reader is gone, standard input ends as well.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
