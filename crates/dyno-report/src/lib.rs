//! Reports: pure functions from a run's data ([`dyno_core::summary::RunSummary`],
//! [`dyno_core::interval::Interval`]) to text. Nothing here prints, reads a clock or knows how a
//! run is driven. The caller passes the terminal's width and whether to use colours.
//!
//! # Where to change what
//!
//! - Rows and tables of a run, a comparison and a history, for terminal, page and Markdown:
//!   `src/document`, one file per section. How a value is written: `src/terminal/table.rs`,
//!   `src/html/figures.rs`.
//! - The summary of a run, in short and in full: `src/terminal/brief.rs`, `src/terminal/mod.rs`.
//! - The HTML report: `src/html`, one file per section with its charts; their script: `assets`, of
//!   which `assets/build.sh` builds ECharts.
//! - Charts as stand-alone SVG files: `src/html/svg`, one file per kind of chart.
//! - The page of several runs, and the names of sides: `src/html/several`; which runs are sides:
//!   `crates/dyno-cli/src/commands/kinds.rs`; the table of factors:
//!   `crates/dyno-verdict/src/pivot.rs`.
//! - The page of an experiment: `src/html/experiment.rs`.
//! - Markdown: `src/terminal/markdown`, from the rows and tables of the terminal's text.
//! - Test results for build servers (`--junit`): `src/junit.rs`.
//! - Tables of phases: `src/phases`.
//! - sysbench's report: `src/sysbench`.
//! - The cost of a report on a run of one day: `examples/day_long_report.rs`.
//! - `--json`: `src/json.rs`; its content: `crates/dyno-core/src/summary.rs`,
//!   `docs/schema/run.json`.

mod document;
pub mod export;
pub mod html;
pub mod json;
pub mod junit;
mod number;
pub mod phases;
pub mod saturation;
pub mod sheet;
pub mod sysbench;
pub mod terminal;

pub use document::{
    FigureHistory, History, HistoryChange, HistoryRun, Pivot, equivalence_words,
    history_differences, others,
};
pub use number::latency;
pub use terminal::markdown;
