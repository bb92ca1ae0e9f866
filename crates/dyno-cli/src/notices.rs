//! Prints a run's notices to standard error.

use std::time::Duration;

use dyno_core::text::number_of;
use dyno_core::units;
use dyno_run::{Notice, Sink, Sinks};

use crate::console;

/// Prints notices as lines.
pub(crate) struct Terminal {
    quiet: bool,
    has_agents: bool,
}

impl Terminal {
    /// Prints only warnings if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            has_agents: false,
        }
    }

    /// Like [`Self::new`], for a run on agents, which report some notices themselves.
    pub(crate) fn of_agents(quiet: bool) -> Self {
        Self {
            quiet,
            has_agents: true,
        }
    }
}

impl Sink for Terminal {
    fn notice(&mut self, notice: &Notice) {
        use Notice::{AgentsWarning, Calibrating, Starting, Step, TemporaryDatabase};
        let is_minor = matches!(
            notice,
            AgentsWarning(_) | Calibrating(_) | Starting { .. } | Step(_) | TemporaryDatabase
        );
        let is_theirs = self.has_agents && matches!(notice, Starting { .. });
        if !(is_minor && self.quiet || is_theirs) {
            console::note(&line(notice));
        }
    }
}

/// Sinks that only print warnings.
pub(crate) fn quiet() -> Sinks {
    Sinks::new(vec![Box::new(Terminal::new(true))])
}

/// A sentence with the time at which the load begins.
fn begins(unix_s: f64) -> String {
    let instant = jiff::Timestamp::from_second(unix_s as i64);
    let ahead_s = (unix_s - dyno_core::clock::wall_time().as_secs_f64()).max(0.0);
    let ahead = units::format_duration(Duration::from_secs(ahead_s.round() as u64));
    match instant {
        Ok(instant) => format!(" The load begins at {instant}, in {ahead}."),
        Err(_) => format!(" The load begins in {ahead}."),
    }
}

/// A notice in words.
pub(crate) fn line(notice: &Notice) -> String {
    match notice {
        Notice::Calibrating(length) => format!(
            "Calibrating: the same load on a null server, for {}.",
            units::format_duration(*length)
        ),
        Notice::Starting {
            sessions,
            warmup,
            connects,
            begin_unix_s,
        } => {
            let doing = if *connects { "Connecting" } else { "Starting" };
            let about = match warmup.is_zero() {
                true => String::new(),
                false => format!(", {} of warm-up first", units::format_duration(*warmup)),
            };
            let begin = begin_unix_s.map_or_else(String::new, begins);
            let sessions = number_of(*sessions, "session");
            format!("{doing} {sessions}{about}.{begin}")
        }
        Notice::Swept(swept) => swept.text(),
        Notice::ResultsBusy(path) => format!(
            "Waiting to write the end of the run to {}: another process may have locked it.",
            path.display()
        ),
        Notice::AwaitingAgents { run, names } => {
            format!("run {run}: waiting for {}, for a minute", names.join(", "))
        }
        Notice::TemporaryDatabase => "No --target: using a temporary SQLite database.".to_owned(),
        Notice::Step(text) | Notice::Hint(text) => text.clone(),
        Notice::Error(error) => format!("error: {error}"),
        Notice::AgentsWarning(warning) | Notice::Warning(warning) => format!("warning: {warning}"),
    }
}
