//! Dyno's command line: its commands, their options, what is said on the terminal.
//!
//! Apart from the binary, since this runs once a command and is built for size: what a binary's own
//! crate is built for, the optimisation across all crates is.

mod background;
mod commands;
mod console;
mod definitions;
mod fleet;
mod fold;
mod input;
mod live;
mod loading;
mod memory;
mod metrics;
mod notices;
mod options;
mod output;
mod record_options;
mod run_store;
mod settings;
mod signals;
mod window;

use dyno_run::RunError;
use options::UsageError;

/// Nothing went wrong.
const STATUS_DONE: u8 = 0;
/// The run failed, or a check found a mismatch.
const STATUS_FAILED: u8 = 1;
/// The verdict is a refusal and the user asked to see it here, or the run was not begun because it
/// would be one.
const STATUS_REFUSED: u8 = 3;
/// A condition of `--fail-if` holds, or could not be told.
const STATUS_LIMIT: u8 = 4;
/// The command line makes no sense.
const STATUS_USAGE: u8 = 2;
/// The user ended the run early: 128 + SIGINT, as shells have it.
const STATUS_INTERRUPTED: u8 = 130;

#[global_allocator]
static ALLOCATOR: memory::Wiping = memory::Wiping;

/// Does what the command line of the process says, and ends the process.
pub fn main() -> ! {
    console::leave(status().into())
}

/// Does what the command line says, and answers the exit status.
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
            if is_usage(&error) {
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

/// Whether what was asked for makes no sense.
fn is_usage(error: &anyhow::Error) -> bool {
    let run = error.downcast_ref::<RunError>();
    error.is::<UsageError>() || run.is_some_and(RunError::is_usage)
}

/// The command line. The message does not quote it: an argument may be a password.
fn arguments() -> Result<Vec<String>, String> {
    let decode = |(index, arg): (usize, std::ffi::OsString)| {
        arg.into_string()
            .map_err(|_| format!("argument {index} is not UTF-8"))
    };
    std::env::args_os().enumerate().map(decode).collect()
}
