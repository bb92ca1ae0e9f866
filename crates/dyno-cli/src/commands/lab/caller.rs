//! Shows the preparation of trials, and executes their command lines.

use std::sync::Arc;

use anyhow::Result;
use dyno_conduct::lab::{Caller, SiteEvent};
use dyno_core::units::human_size;
use dyno_load::StopSignal;
use dyno_server::SupervisorCommand;

use crate::commands::execute::execute;
use crate::commands::planned::PlannedCommand;
use crate::commands::server::copies::copy_progress;
use crate::commands::server::supervisor;
use crate::console;

/// The terminal; shows nothing if `quiet`.
pub(super) struct Terminal {
    /// Whether `--quiet` was given.
    pub quiet: bool,
}

impl Caller for Terminal {
    fn event(&self, event: SiteEvent<'_>) {
        if self.quiet {
            return;
        }
        let progress = match event {
            SiteEvent::CreatingData(kind) => {
                format!("creating the data directory of {}", kind.title())
            }
            SiteEvent::CopyingData => "copying the data to another file system".to_owned(),
            SiteEvent::KeepingCopy => "keeping a copy of the data".to_owned(),
            SiteEvent::Loaded { bytes, took } => {
                let (size, took_s) = (human_size(bytes), took.as_secs_f64());
                return console::note(&format!("data loaded and kept: {size}, {took_s:.1} s"));
            }
            SiteEvent::Starting(kind) => format!("starting {}", kind.title()),
            SiteEvent::WaitingForQuiet(left) => {
                format!("waiting until the server is quiet: {left}")
            }
            SiteEvent::Settling(time) => format!("settling for {:.0} s", time.as_secs_f64()),
        };
        console::progress(&progress);
    }

    fn restoring(&self) -> Box<dyn Fn(u64, u64)> {
        match self.quiet {
            true => Box::new(|_, _| {}),
            false => Box::new(copy_progress("restoring the data:")),
        }
    }

    fn execute(&self, mut line: Vec<String>, quiet: bool, stop: &Arc<StopSignal>) -> Result<()> {
        let command = line[1].clone();
        if quiet || self.quiet {
            line.push("--quiet".to_owned());
        }
        execute(PlannedCommand::of(line, &command)?, stop, &mut |_| {})?.finish(stop)?;
        Ok(())
    }

    fn supervisor(&self) -> Result<SupervisorCommand> {
        supervisor()
    }
}
