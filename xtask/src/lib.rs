//! Repository chores: lint rules, servers to test against, the test command, campaigns, the
//! release.
//!
//! A library as well as a program, so that end-to-end tests can start throw-away servers the same
//! way.
//!
//! # Where to change what
//!
//! - A server that the tests need: `src/servers`, then `tests/src`.
//! - What a campaign does, and what must hold: `src/campaign`.
//! - How the release is linked, packed and verified: `src/dist`. Manual pages and completions come
//!   from `dyno help --format json` (`crates/dyno-cli/src/commands/catalogue.rs`).
//! - The lint rules: `src/tidy`.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub mod campaign;
pub mod dist;
pub mod packages;
pub mod servers;
pub mod sid;
pub mod test;
pub mod tidy;

/// The root of the repository that cargo runs in.
pub fn repository() -> PathBuf {
    // Several checkouts may share a target directory, so cargo's word at run time goes first.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let parent = manifest.parent().map(Path::to_owned);
    parent.unwrap_or(manifest)
}

/// Tells the developer something, on standard output.
pub fn say(message: &str) {
    // A reader that went away (`| head`) is no reason to stop.
    let _ = writeln!(io::stdout().lock(), "{message}");
}

/// Tells the developer what went wrong, on standard error.
pub fn complain(message: &str) {
    // There is nowhere left to say that it could not be said.
    let _ = writeln!(io::stderr().lock(), "{message}");
}
