//! Observers of the host, the server's processes, Dyno itself and the database's counters, once per
//! second.
//!
//! [`Observers::start`] starts one thread that reads `/proc` and `/sys`, and for a database a
//! second one that queries it, so that a server that hangs does not stop the host's samples.
//! Samples come out as [`Observation`]s, stamped with [`dyno_core::clock`]. Samples do not
//! depend on when the measurement begins, but all settings are then read again. Whatever cannot be
//! observed is reported ([`Observation::NotObserved`]); observers never guess.
//!
//! [`Profiler`] samples where server and client spend CPU time, with the system's `perf`.
//!
//! [`host_facts`] and [`host_gaps`] describe a host without a run.
//!
//! # Where to change what
//!
//! - What is observed: `src/host`, `src/process`, `src/database`; names, units and meanings:
//!   `crates/dyno-core/src/catalogue`, from which `docs/observers.md` is generated.
//! - The meaning of database counters: `crates/dyno-core/src/counters`.
//! - CPU profiles: `src/profile`, `crates/dyno-run/src/recording/profiling.rs`,
//!   `crates/dyno-report/src/html/profiles.rs`.
//! - Definitions of tables, and how two are distinguished: `src/database/tables`,
//!   `crates/dyno-core/src/tables`; which tables a run used:
//!   `crates/dyno-load/src/statements/names.rs`; differences:
//!   `crates/dyno-verdict/src/compare/tables.rs`.
//! - Plans of statements: `src/database/explain.rs`, `crates/dyno-run/src/explain.rs`,
//!   `crates/dyno-load/src/statements/examples.rs`.
//! - The server's digests: `src/database/digests.rs`, `crates/dyno-run/src/digests.rs`; the shape
//!   they belong to: `comparable` in `crates/dyno-load/src/statements/literals.rs`.

mod affinity;
mod config;
mod data;
mod database;
mod directories;
mod helpers;
mod host;
mod observation;
mod observers;
mod process;
mod profile;
mod sink;
mod text;

pub use config::Config;
pub use database::{Digests, explain, has_plan, setting_query};
pub use helpers::Helpers;
pub use host::{host_facts, host_gaps};
pub use observation::{Cost, OBSERVATIONS_MAX, Observation};
pub use observers::{ObserveError, Observers};
pub use profile::{KnownServer, ProfileConfig, Profiled, Profiler};
