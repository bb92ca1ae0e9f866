//! The results file: its schema, writing while a run goes on, reading, migration.
//!
//! A laboratory has one file, an SQLite database that anybody may query; `docs/results.md` explains
//! it. [`BackgroundWriter`] writes a run from a thread of its own, [`RunWriter`] from the caller's;
//! [`Results`] reads.

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
    Filter, IntervalDetail, Place, Progress, RunHeadline, RunLine, RunStage, SPANS_HELD_MAX,
    SampleOf, Scope,
};
pub use recorder::{BackgroundWriter, Feed, QUEUE_MAX, Receipt, THREAD_NAME};
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};
pub use write::{COARSE_S, Ending, FINE_S, PENDING_MAX, Record, RunWriter, SeriesId};
