//! Ctrl-C: the first ends the run early with its report, the second immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_load::{StopLevel, StopSignal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{STATUS_INTERRUPTED, console};

/// Timeout for an abandoned run to end by itself.
const ABANDON: Duration = Duration::from_secs(2);
/// The message after the first signal.
const STOPPING: &str = "Stopping; a second Ctrl-C (or SIGTERM) ends at once.";

/// The last signal; 0 before any.
static CAME: AtomicI32 = AtomicI32::new(0);

/// The name of the last signal that requested the end.
pub(crate) fn came() -> Option<&'static str> {
    match CAME.load(Ordering::Relaxed) {
        SIGINT => Some("SIGINT"),
        SIGTERM => Some("SIGTERM"),
        SIGHUP => Some("SIGHUP"),
        _ => None,
    }
}

/// Turns the file size limit (`ulimit -f`) into a write error, like a full disk.
pub(crate) fn ignore_file_size_limit() {
    // SAFETY: it ignores the signal, whose default action would end the process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether the parent process made this one ignore a signal.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero is a valid sigaction, which the kernel fills; nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Makes SIGINT and SIGTERM, and SIGHUP when the terminal closes, raise the returned signal. An
/// ignored SIGHUP (`nohup`) remains ignored.
///
/// # Errors
/// The system refuses handlers.
pub(crate) fn install() -> Result<Arc<StopSignal>> {
    let stop = StopSignal::new();
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let handled = [SIGINT, SIGTERM].into_iter().chain(hangup);
    let mut signals = Signals::new(handled).context("cannot handle signals")?;
    let raised = Arc::clone(&stop);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                CAME.store(signal, Ordering::Relaxed);
                let level = raised.raise();
                if level == StopLevel::End {
                    // A busy script or a slow server may delay the end.
                    console::progress("");
                    console::note(STOPPING);
                }
                if level == StopLevel::Abandon {
                    // A script that blocks its worker would keep the process alive forever.
                    std::thread::sleep(ABANDON);
                    console::leave(STATUS_INTERRUPTED.into());
                }
            }
        })
        .context("cannot start the thread that handles signals")?;
    Ok(stop)
}
