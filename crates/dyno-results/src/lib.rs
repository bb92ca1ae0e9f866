//! The results file: its schema, how runs are written and read, and migrations.
//!
//! The file is a single SQLite database that anybody may query; `docs/results.md` explains it.
//! [`BackgroundWriter`] writes a run from its own thread, [`RunWriter`] from the caller's, and
//! [`Results`] reads.
//!
//! # Where to change what
//!
//! - A table or a view: `src/schema`; it needs a new version and its migration.
//! - Selecting runs: `src/read/list.rs`; the plans and costs of all runs: `src/read/history.rs`.
//! - What is stored of experiments: `src/experiments`.

mod codec;
mod decode;
mod error;
mod experiments;
mod open;
mod process;
mod read;
mod recorder;
mod schema;
mod write;

pub use codec::{Measured, SPAN_DIGITS};
pub use error::{Problem, ResultsError};
pub use experiments::{
    Attempt, AttemptEnd, Captured, ExperimentHead, Step, StoredExperiment, TrialRow, TrialState,
    Tried,
};
pub use open::{PATIENCE, Results};
pub use read::{
    Filter, IntervalDetail, PlanAndCosts, Progress, ReadPosition, RunHeadline, RunLine, RunStage,
    SPANS_HELD_MAX, SampleOf, Scope,
};
pub use recorder::{BackgroundWriter, Feed, QUEUE_MAX, Receipt};
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};
pub use write::{Ending, FINE_S, PENDING_MAX, Record, RunWriter, SeriesId};
