//! Observers: the host, the server's process, Dyno's own and the database's counters, once a
//! second.
//!
//! [`Observers::start`] puts one thread to work that reads `/proc` and `/sys`, and where there is a
//! database a second one that asks it, so that a server that hangs does not stop the samples of the
//! host. What they see comes out as [`Observation`]s, stamped with [`dyno_core::clock`]; when the
//! measurement begins is not their concern. What cannot be seen is said so
//! ([`Observation::NotObserved`]), and nothing is guessed.
//!
//! [`Profiler`] samples where the CPU time of server and client goes, with the system's `perf`.
//!
//! [`host_facts`] and [`host_gaps`] tell what is to be known of a host without a run.

mod affinity;
mod config;
mod data;
mod database;
mod helpers;
mod host;
mod observation;
mod observers;
mod place;
mod process;
mod profile;
mod sink;
mod text;

pub use config::Config;
pub use database::{Digests, explain, has_plan, server_facts, setting_query};
pub use helpers::Helpers;
pub use host::{host_facts, host_gaps};
pub use observation::{Cost, OBSERVATIONS_MAX, Observation};
pub use observers::{ObserveError, Observers};
pub use profile::{KnownServer, ProfileConfig, Profiled, Profiler};
