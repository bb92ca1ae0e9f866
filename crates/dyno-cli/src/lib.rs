//! Dyno's command line: commands, their options, and what the terminal shows.
//!
//! This crate runs once per command and is built for size. It is separate from the binary, because
//! optimisation across all crates (LTO) uses the settings of the binary's own crate.
//!
//! # Where to change what
//!
//! Commands and options:
//!
//! - The code of a command: its file in `src/commands`.
//! - An option, and the commands, tests of the host and searches that use it: its row in
//!   `src/definitions`; the columns of a row: `src/options/opt.rs`. Parser, help, completion and
//!   manual pages come from it, and a test compares `docs/options.md` with it.
//! - From the command line to a plan: `src/commands/planned.rs`; from a plan to results:
//!   `src/commands/execute.rs` and `crates/dyno-conduct`. Trials of experiments and searches use
//!   the same code.
//! - Plans from options, and options from plans: `src/commands/plans.rs`.
//! - `dyno sysbench … run`: `src/commands/sysbench/run.rs`.
//! - `dyno server`: `src/commands/server`.
//! - `dyno import` (which files of a folder, which files next to them, what is stored):
//!   `src/commands/import`.
//! - Options of `--metrics` and `--otlp`: `src/metrics.rs`.
//! - The sides of a comparison: `src/commands/kinds.rs`. `dyno table`: `src/commands/pivot.rs`.
//! - `dyno history` (which runs are of one plan, their order, limits): `src/commands/history`; how
//!   changes are found: `crates/dyno-stats/src/change_points/levels.rs`.
//! - Completion: `src/commands/complete`; the shells' scripts: `src/shells`.
//! - The catalogue from which manual pages are made: `src/commands/catalogue.rs`.
//!
//! Terminal:
//!
//! - The live line: `src/live.rs`. Width, colours, pipes: `src/console.rs`.
//! - Notices and warnings during a run: `src/notices.rs`, `src/screen.rs`.
//! - `--json`: `src/output.rs`; `--junit`: `src/junit.rs`.
//!
//! Searches and experiments:
//!
//! - The command line of a search, and the lines that it prints: `src/commands/search`; its
//!   algorithm: `crates/dyno-conduct/src/search`; its result:
//!   `crates/dyno-report/src/terminal/search.rs`.
//! - The progress of an experiment: `src/commands/lab/progress.rs`; its execution:
//!   `crates/dyno-conduct/src/lab`.
//! - Figures of an experiment by name: `crates/dyno-conduct/src/lab/figures.rs`; tables and plots:
//!   a module each in `src/commands/lab`.
//! - Options of agents: `src/fleet_options.rs`; the agents: `crates/dyno-conduct/src/fleet`.

mod background;
mod commands;
mod config;
mod console;
mod definitions;
mod fleet_options;
mod fold;
mod input;
mod junit;
mod live;
mod loading;
mod memory;
mod metrics;
mod notices;
mod options;
mod output;
mod record_options;
mod run_store;
mod screen;
mod settings;
mod signals;
mod window;

use dyno_conduct::Outcome;
use dyno_run::RunError;

/// The commit that this program was built from.
const COMMIT: &str = env!("DYNO_BUILD_COMMIT");

/// Success.
const STATUS_DONE: u8 = 0;
/// The run failed, or a check found a mismatch.
const STATUS_FAILED: u8 = 1;
/// The verdict is a refusal and the user requested this status for it, or the run did not start
/// because it would be refused.
const STATUS_REFUSED: u8 = 3;
/// A condition of `--fail-if` holds, or could not be decided.
const STATUS_LIMIT: u8 = 4;
/// The command line is invalid.
const STATUS_USAGE: u8 = 2;
/// The user ended the run early: 128 + SIGINT, the shells' convention.
const STATUS_INTERRUPTED: u8 = 130;

#[global_allocator]
static ALLOCATOR: memory::Wiping = memory::Wiping;

/// Runs the command line of the process, and ends the process.
pub fn main() -> ! {
    console::leave(status().into())
}

/// Runs the command line and returns the exit status.
fn status() -> u8 {
    memory::map_large_blocks();
    console::unbuffer_c();
    signals::ignore_file_size_limit();
    let args: Vec<String> = match arguments() {
        Ok(args) => args,
        Err(message) => {
            console::note(&format!("error: {message}"));
            return STATUS_USAGE;
        }
    };
    memory::mask_command_line(&args);
    let program = args
        .first()
        .map_or("dyno", |name| name.rsplit('/').next().unwrap_or(name));
    let result = if program == "sysbench" {
        commands::sysbench::main(args)
    } else {
        commands::dispatch(args)
    };
    let status = match result {
        Ok(status) => status,
        Err(error) => {
            console::out("");
            console::note(&format!("error: {error:#}"));
            let run = error.downcast_ref::<RunError>();
            if run.is_some_and(RunError::is_usage) {
                STATUS_USAGE
            } else if run.is_some_and(RunError::is_refusal) {
                STATUS_REFUSED
            } else if run.is_some_and(RunError::is_interruption) {
                STATUS_INTERRUPTED
            } else {
                STATUS_FAILED
            }
        }
    };
    console::out("");
    if let Some(failure) = console::failure() {
        console::note(&format!("error: {failure}"));
        return status.max(STATUS_FAILED);
    }
    status
}

/// The exit status of a command whose runs ended so.
fn status_of(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Done => STATUS_DONE,
        Outcome::Failed => STATUS_FAILED,
        Outcome::Refused => STATUS_REFUSED,
        Outcome::Limit => STATUS_LIMIT,
        Outcome::Interrupted => STATUS_INTERRUPTED,
    }
}

/// The command line. The message does not quote it: an argument may be a password.
fn arguments() -> Result<Vec<String>, String> {
    let decode = |(index, arg): (usize, std::ffi::OsString)| {
        arg.into_string()
            .map_err(|_| format!("argument {index} is not UTF-8"))
    };
    std::env::args_os().enumerate().map(decode).collect()
}
