//! Figures that are derived from the measurements of a run. They are computed in one place for
//! everything that shows, judges or compares runs.
//!
//! # Where to change what
//!
//! - A rate, a percentile, a share, what counts as a stall: `src/summarize.rs`, `src/stalls.rs`.
//! - The figures, findings and answer of a duet, and the choice of its slices: `src/duet`.
//! - The named figures of a record: `src/figures.rs`.
//! - The summary of a record: `src/summary.rs`.
//! - The result of a search, and the facts that its runs record: `src/search.rs`.
//! - A part of a run (`--from`, `--to`): `src/window.rs`; its findings:
//!   `crates/dyno-verdict/src/part.rs`.

pub mod bins;
pub mod duet;
pub mod errors;
pub mod figures;
pub mod search;
pub mod stalls;
pub mod summarize;
pub mod summary;
pub mod window;
