//! Runs a command with its progress on standard error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use dyno_core::Clock;
use dyno_report::terminal::{Progress, progress_line};

use crate::console;
use dyno_run::Ready;

/// Interval between redraws.
const REDRAW: Duration = Duration::from_millis(200);

/// Runs the script's command and shows the progress of its load.
///
/// # Errors
/// As [`Ready::command`].
pub(crate) fn with_progress(ready: &mut Ready, command: &str, quiet: bool) -> Result<()> {
    let over = Arc::new(AtomicBool::new(false));
    let watcher = (!quiet).then(|| {
        let (over, rows) = (Arc::clone(&over), ready.progress());
        std::thread::spawn(move || {
            let start = Clock.now();
            let look = console::live_look(true);
            let mut last = (0, 0);
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(REDRAW);
                let (total, done) = rows.read();
                if total > 0 && (total, done) != last {
                    let elapsed_s = (Clock.now() - start) as f64 / 1e9;
                    let rows_per_s = done as f64 / elapsed_s.max(1e-3);
                    console::progress(&progress_line(
                        &Progress {
                            label: "loading",
                            rows_done: done,
                            rows_total: total,
                            rows_per_s,
                            elapsed_s,
                        },
                        &look,
                    ));
                    last = (total, done);
                }
            }
            if last.0 > 0 {
                console::progress("");
            }
            let elapsed_s = (Clock.now() - start) as f64 / 1e9;
            let (total, done) = rows.read();
            (total > 0).then(|| {
                let digits = if elapsed_s < 1.0 { 3 } else { 1 };
                format!(
                    "Loaded {done} rows in {elapsed_s:.digits$} s ({:.0} rows/s).",
                    done as f64 / elapsed_s.max(1e-3)
                )
            })
        })
    });
    let result = ready.command(command, |_| {});
    over.store(true, Ordering::Relaxed);
    if let Some(watcher) = watcher {
        watcher.thread().unpark();
        if let (Ok(Some(line)), true) = (watcher.join(), result.is_ok()) {
            console::note(&line);
        }
    }
    result.map_err(Into::into)
}
