//! Dyno, a dynamometer for databases: puts a load on a database server, measures what the server
//! does, and says how far the figures can be believed.

mod commands;
mod console;
mod definitions;
mod job;
mod loading;
mod options;
mod settings;
mod signals;
mod summary;
mod workloads;

use std::process::ExitCode;

use options::UsageError;

/// Nothing went wrong.
const STATUS_DONE: u8 = 0;
/// The run failed, or a check found a mismatch.
const STATUS_FAILED: u8 = 1;
/// The command line makes no sense.
const STATUS_USAGE: u8 = 2;

fn main() -> ExitCode {
    console::unbuffer_c();
    let args: Vec<String> = std::env::args_os()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let program = args
        .first()
        .map_or("dyno", |name| name.rsplit('/').next().unwrap_or(name));
    let result = if program == "sysbench" {
        commands::sysbench::main(&args)
    } else {
        commands::dispatch(&args)
    };
    let status = match result {
        Ok(status) => status,
        Err(error) => {
            console::out("");
            console::note(&format!("error: {error:#}"));
            if error.is::<UsageError>() {
                STATUS_USAGE
            } else {
                STATUS_FAILED
            }
        }
    };
    console::out("");
    ExitCode::from(status)
}
