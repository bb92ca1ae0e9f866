//! Scripts: a LuaJIT host that offers sysbench's script interface and Dyno's additions to any
//! number of sessions of one worker.
//!
//! # Where to change what
//!
//! - What a script can call: `src/exports`, `src/prelude`. What it needs from below is a method of
//!   `Port` in `crates/dyno-core/src/session.rs`.
//! - Tables, statements and the mix of a built-in workload: `workloads/`. Statements per server:
//!   the script's `templates`, with golden files in `tests/workloads/golden`.
//! - Roles (which sessions do what, at what rate): a script's `roles()`, `src/roles.rs`,
//!   `crates/dyno-load/src/roles.rs`, the check `role-rates`.
//! - Phases (several runs from one command): a script's `phases()` and `phases_there()`,
//!   `crates/dyno-conduct/src/sequence.rs`; their tables: `crates/dyno-report/src/phases`.
//! - Facts, figures, warnings and the dataset that a script adds to its result: `src/reported.rs`,
//!   `src/prelude/reported.lua`, `crates/dyno-core/src/reported.rs`,
//!   `crates/dyno-run/src/reported.rs`.

mod bulk;
mod config;
mod context;
mod describe;

mod created_tables;
mod exports;
mod failure;
pub mod generate;
pub mod histogram;
mod host;
mod ledger;
mod no_port;
mod options;
mod prelude;
mod report;
mod reported;
mod roles;
mod rows;
mod source;

pub use dyno_core::distributions;

pub use config::{Barrier, Declared, HostConfig, LoadProgress, Prints, SharedNumbers};
pub use created_tables::CreatedTable;
pub use describe::Description;
pub use failure::DatabaseErrors;
pub use host::Host;
pub use ledger::{Ledger, Sum};
pub use options::{InvalidValue, OptionKind, ScriptOption, help};
pub use report::Stat;
pub use reported::{Reported, ScriptReport};
pub use roles::{AnswerError, Phase};
pub use source::{Builtins, Hint, Source, SourceError, find};
