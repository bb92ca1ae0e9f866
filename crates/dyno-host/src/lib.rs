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
    /// One line about it.
    pub about: &'static str,
    /// Its options.
    pub options: &'static [Definition],
    /// The named pieces of work within its events.
    pub operations: &'static [&'static str],
    /// Its commands besides `run`.
    pub commands: &'static [&'static str],
    /// Whether it draws places from the distributions of `--rand-type`.
    pub draws_places: bool,
    /// Changes whenever an event does other work than before: runs are comparable within one.
    pub revision: u32,
}

/// All tests, in the order in which they are listed.
pub const TESTS: [&Test; 5] = [
    &cpu::TEST,
    &memory::TEST,
    &threads::TEST,
    &mutex::TEST,
    &fileio::TEST,
];

/// The test of this name.
pub fn find(name: &str) -> Option<&'static Test> {
    TESTS.into_iter().find(|test| test.name == name)
}
