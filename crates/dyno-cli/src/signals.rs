//! Ctrl-C: the first ends the run early with its report, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_load::{StopLevel, StopSignal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{STATUS_INTERRUPTED, console};

/// How long an abandoned run may take to end by itself.
const ABANDON: Duration = Duration::from_secs(2);
/// What the first signal is answered with.
const STOPPING: &str = "Stopping; a second Ctrl-C (or SIGTERM) ends at once.";

/// The last signal that came; 0 before one has.
static CAME: AtomicI32 = AtomicI32::new(0);

/// The name of the last signal that asked for an end, if one has.
pub fn came() -> Option<&'static str> {
    match CAME.load(Ordering::Relaxed) {
        SIGINT => Some("SIGINT"),
        SIGTERM => Some("SIGTERM"),
        SIGHUP => Some("SIGHUP"),
        _ => None,
    }
}

/// Makes a file that may not grow any more (`ulimit -f`) an error of the write, as a full disk is.
pub fn ignore_file_size_limit() {
    // SAFETY: it replaces the default action, which would end the process, by none.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether whoever started this process has it ignore a signal.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero is a valid sigaction, which the kernel fills; nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Makes SIGINT and SIGTERM raise the signal that is returned, and SIGHUP, which comes when the
/// terminal goes away, unless the user has it ignored (`nohup`).
///
/// # Errors
/// The system refuses handlers.
pub fn install() -> Result<Arc<StopSignal>> {
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
                    // A script that computes, or a server that is waited for, may take its time.
                    console::progress("");
                    console::note(STOPPING);
                }
                if level == StopLevel::Abandon {
                    // A script that blocks its worker would keep the process for ever.
                    std::thread::sleep(ABANDON);
                    console::leave(STATUS_INTERRUPTED.into());
                }
            }
        })
        .context("cannot start the signals' thread")?;
    Ok(stop)
}
