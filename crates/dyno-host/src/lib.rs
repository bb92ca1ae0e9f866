//! Tests of the database's host: cores, memory, scheduler, locks and files.
//!
//! They are sysbench's tests of those names, driven by Dyno's workers. Each session has its own
//! thread, and the compiler cannot optimise an event's work away.
//!
//! # Where to change what
//!
//! - A test: its module (`src/cpu.rs`, `src/memory`, `src/threads.rs`, `src/mutex.rs`,
//!   `src/fileio`); options: `src/options.rs`.
//! - sysbench's text for a test: `crates/dyno-report/src/sysbench/host.rs`.

mod cache;
mod cpu;
pub mod fileio;
pub mod memory;
mod mutex;
mod options;
mod plan;
mod program;
mod threads;

pub use options::{Definition, Edition, Kind};
pub use plan::{Figure, NotReady, Plan, Setting};
pub use program::Program;

/// A test of the host.
#[derive(Debug)]
pub struct Test {
    /// Its name on the command line.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Its options.
    pub options: &'static [Definition],
    /// The operations within its events.
    pub operations: &'static [&'static str],
    /// Its commands other than `run`.
    pub commands: &'static [&'static str],
    /// Whether it uses the distributions of `--rand-type`.
    pub draws_places: bool,
    /// Changes whenever the work of an event changes: only runs of the same revision are
    /// comparable.
    pub revision: u32,
}

/// All tests, in the order of listings.
pub const TESTS: [&Test; 5] = [
    &cpu::TEST,
    &memory::TEST,
    &threads::TEST,
    &mutex::TEST,
    &fileio::TEST,
];

/// Finds a test by name.
pub fn find(name: &str) -> Option<&'static Test> {
    TESTS.into_iter().find(|test| test.name == name)
}
