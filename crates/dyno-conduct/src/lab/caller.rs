//! What the preparation of trials needs of its caller.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use dyno_load::StopSignal;
use dyno_server::{Kind, SupervisorCommand};

/// Follows the preparation of trials, and executes their command lines.
pub trait Caller {
    /// Something begins or has happened.
    fn event(&self, event: SiteEvent<'_>);
    /// Follows the restoring of data that begins now: the copied bytes, and all.
    fn restoring(&self) -> Box<dyn Fn(u64, u64)>;
    /// Executes a command line of [`super::line`] to its end.
    ///
    /// # Errors
    /// It cannot be executed, or fails.
    fn execute(&self, line: Vec<String>, quiet: bool, stop: &Arc<StopSignal>) -> Result<()>;
    /// The command that supervises a server.
    ///
    /// # Errors
    /// It is unknown.
    fn supervisor(&self) -> Result<SupervisorCommand>;
}

/// A step of the preparation.
#[derive(Clone, Copy)]
pub enum SiteEvent<'a> {
    /// A server's data directory is being created.
    CreatingData(&'a Kind),
    /// The data are being copied to another file system.
    CopyingData,
    /// The loaded data are being copied.
    KeepingCopy,
    /// The data were loaded and copied.
    Loaded {
        /// Their size.
        bytes: u64,
        /// How long it took.
        took: Duration,
    },
    /// A server is being started.
    Starting(&'a Kind),
    /// The server still works on this in the background.
    WaitingForQuiet(&'a str),
    /// Nothing runs for this long.
    Settling(Duration),
}
