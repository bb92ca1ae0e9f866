//! The interface for following the runs of a command.

use anyhow::Result;
use dyno_load::StopSignal;
use dyno_run::{Measured, Notice, Ready, Sinks};

/// Follows the runs of a command: shows them, exports their figures.
pub trait Stage {
    /// The target answers, and the first run is about to begin.
    ///
    /// # Errors
    /// The stage cannot follow the runs.
    fn open(&mut self) -> Result<()>;
    /// Takes a message between runs.
    fn notice(&mut self, notice: &Notice);
    /// Shows the progress of several runs at once in one line; empty to clear it.
    fn progress(&mut self, _line: &str) {}
    /// Runs a command of the workload, such as `prepare`, and shows its progress.
    ///
    /// # Errors
    /// The command failed.
    fn command(&mut self, ready: &mut Ready, name: &str) -> Result<()>;
    /// A run is about to begin. Returns where its figures and notices go.
    fn begin(&mut self, ready: &Ready) -> Sinks;
    /// The run is over; `None` if it has no result.
    fn end(&mut self, measured: Option<&Measured>);
    /// The command is over, and its results have been taken: the stage writes its files, and may
    /// wait until its figures have been read.
    ///
    /// # Errors
    /// A file cannot be written.
    fn close(&mut self, _stop: &StopSignal) -> Result<()> {
        Ok(())
    }
}
