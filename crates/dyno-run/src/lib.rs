//! Runs a workload on a target: the load and its observers, the record, the ledger, and the
//! verdict. The caller describes the run with a [`Job`], and receives results through [`Sink`]s.
//! Nothing in this crate prints, or knows the command line.
//!
//! # Where to change what
//!
//! - The order of a run: `src/measure.rs`. sysbench's `run` has a different order:
//!   `crates/dyno-cli/src/commands/sysbench/run.rs`. Both share [`Watch`].
//! - What is recorded and when, and what is checked before a run: `src/recording`.
//! - Who receives figures during a run: `src/sink.rs`; the terminal's sinks:
//!   `crates/dyno-cli/src/notices.rs`, `crates/dyno-cli/src/screen.rs`.
//! - The comparison with the database after a run: a script's `ledger()`, `src/ledger.rs`, the
//!   check `consistency`.
//! - Facts, figures and warnings of a script: `src/reported.rs`, see
//!   `crates/dyno-script/src/reported.rs`.

pub mod builtins;
pub mod calibration;
mod digests;
mod error;
mod explain;
mod job;
mod ledger;
mod measure;
mod plan;
mod recording;
mod reported;
mod request;
pub mod scratch;
mod sink;
mod summary;
mod workload;

pub use dyno_load::is_single;
pub use dyno_observe::has_plan;
pub use dyno_script::Prints;
pub use error::{Result, RunError};
pub use explain::ALL as EXPLAIN_ALL;
pub use job::{CALL_TIMEOUT, Job, Loaded, Ready, Reporter, cores, default_ignored_errors};
pub use measure::{Load, LoadEnd, Measured, Watch, measure, measure_load};
pub use plan::check_plan;
pub use recording::{
    Clash, CollectedRun, Hidden, Recording, RemoteObserver, TablesThere, clash, new_name, sorted,
    tables_there, try_file,
};
pub use request::RunRequest;
pub use sink::{IntervalReport, Notice, Sink, Sinks};
pub use summary::disconnected;
pub use workload::{Workload, sources};
