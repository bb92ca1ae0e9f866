//! Sample records for the tests of other crates.
//!
//! The runs listed first below have counters, latencies and series that agree with one another, and
//! pass every validity check. A test starts from `good` and changes the values that it is about.
//!
//! # Where to change what
//!
//! - Runs that pass the checks, by their rates: `src/run.rs`; their observations:
//!   `src/run/observed.rs`.
//! - Summaries of every kind of run, which the snapshots of reports show: `src/summaries.rs`.
//! - Runs of any length with everything that a page can show: `src/full.rs`.
//! - A small run with an example of everything, for exports: `src/small.rs`.
//! - The answer of a duet: `src/duet.rs`.
//! - Single values (facts, events, series, findings), with defaults for what rarely matters:
//!   `src/values.rs`.
//! - Assertions about texts: `src/texts.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a broken sample may well panic

pub mod duet;
pub mod full;
mod run;
pub mod small;
pub mod summaries;
mod texts;
pub mod values;

pub use run::{
    Product, closed, drop_fact, drop_series, fact, good, imported, noisy, open_loop, scale, series,
    setting,
};
pub use texts::{assert_begins, assert_has, assert_lacks};
