//! Repository chores: lint rules, test servers, the test command, and the release.
//!
//! This is a library as well as a program, so that end-to-end tests can start throw-away servers in
//! the same way.
//!
//! # Where to change what
//!
//! - A server that the tests need: `src/servers`, then `tests/src`.
//! - Linking, packing and verifying the release: `src/dist`. Manual pages and completions come from
//!   `dyno help --format json` (`crates/dyno-cli/src/commands/catalogue.rs`).
//! - The lint rules: `src/tidy`.
//! - What the quick tests leave out: `src/test/suites.rs`.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

pub mod dist;
pub mod packages;
pub mod servers;
pub mod sid;
pub mod test;
pub mod tidy;

/// The root of the repository in which cargo runs.
pub fn repository() -> PathBuf {
    // Checkouts may share a target directory, so the value that cargo sets at run time comes first.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let mut folders = manifest.ancestors();
    let root = folders.find(|folder| folder.join("Cargo.lock").exists());
    root.unwrap_or(&manifest).to_owned()
}

/// A cargo command in the repository, with the cargo that runs this program, or else the one in
/// `PATH`.
pub fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(repository());
    command
}

/// Prints a message for the developer on standard output.
pub fn say(message: &str) {
    // Ignore a reader that has closed the pipe, such as `head`.
    let _ = writeln!(io::stdout().lock(), "{message}");
}

/// Prints an error message for the developer on standard error.
pub fn complain(message: &str) {
    // There is nowhere to report a failure here.
    let _ = writeln!(io::stderr().lock(), "{message}");
}
