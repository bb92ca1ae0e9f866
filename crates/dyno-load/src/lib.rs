//! The hot path: workers that drive thousands of sessions each, pacing, recording, and the run's
//! clock. It is independent of databases and script languages: sessions run a
//! [`dyno_core::session::Program`], and connections come from a [`dyno_core::db::Connector`].
//!
//! Phases of a run: every session initialises; a barrier; the ramp-up, in which sessions start one
//! after another; the warm-up; the measurement; and after its deadline the grace period, in which
//! events in flight may end. An event belongs to the phase in which it started (in an open loop: in
//! which it was due), with all of its statements.
//!
//! Invariants: no allocation, lock or shared cache line per operation in the steady state; two time
//! stamps per operation; every queue has a named bound, and reaching it is counted; pacing is
//! absolute (next = previous + gap), and its lag is recorded.
//!
//! # Where to change what
//!
//! - When events begin, what counts, how a run ends: `src/worker.rs`, `src/port.rs`, `src/run.rs`;
//!   arrivals: `src/arrivals.rs`.
//! - A load that changes over time: `src/course.rs`, see `crates/dyno-core/src/plan/schedule.rs`.
//! - What workers record: `src/recorder.rs`; merging workers: `src/merger.rs`.
//! - Connections of a session (opening, readiness, counting, dropping): `src/connections.rs`;
//!   hang-ups and bounds of answers: `crates/dyno-drivers/src/channel`.
//! - Stalls and a frozen generator, to the millisecond: `src/silences.rs`,
//!   `crates/dyno-run/src/recording/events.rs`, the checks `stalls` and `client-cpu`.
//! - What a session counts as doing, and for how long it did nothing: `src/accounts.rs`,
//!   `crates/dyno-core/src/states.rs`, the check `idle-sessions`.
//! - The purpose of a statement (change rows, commit, roll back): `src/statements/purpose.rs`,
//!   `crates/dyno-run/src/recording/context.rs`, the checks `misses` and `durability`.
//! - Transactions that ended: `crates/dyno-drivers/src/postgres/transactions.rs`, `settle` in
//!   `src/connections.rs`, `crates/dyno-run/src/recording/context.rs`, the check `server-counters`.
//! - Shapes of statements: `src/statements/shapes.rs`, `src/statements/literals.rs`; shown by
//!   `crates/dyno-report/src/terminal/statements.rs` and
//!   `crates/dyno-report/src/html/statements.rs`.
//! - The statement that represents its shape in `--explain`: `src/statements/examples.rs`.
//! - Which tables statements use: `src/statements/names.rs`.
//! - Two loads that take turns: `src/duet`; the analysis of their slices:
//!   `crates/dyno-analysis/src/duet`.
//! - Roles: `src/roles.rs`, see `crates/dyno-script/src/roles.rs`.

mod accounts;
mod arrivals;
mod calendar;
mod connections;
mod course;
mod descriptors;
mod duet;
mod merger;
mod message;
mod outages;
mod outcome;
mod poller;
mod pool;
mod port;
mod progress;
mod quota;
mod recorder;
mod roles;
mod run;
mod session;
mod silences;
mod single;
mod state;
mod statements;
mod stop;
mod tally;
mod timers;
mod work;
mod worker;

pub use arrivals::RATE_MAX;
pub use descriptors::{DescriptorError, ensure_descriptors};
pub use duet::{BLOCK, Batches, Duet, DuetPart, PROFILE_PARTS, Side, SliceCount, Slices};
pub use outages::Outage;
pub use outcome::{Counted, LoadError, ProcessUse, RunOutcome, SessionTotals, WorkerReport};
pub use progress::{AgentInterval, Progress};
pub use run::{Gate, Run, RunConfig, SESSIONS_MAX};
pub use silences::{Pauses, TimeRange};
pub use single::Single;
pub use statements::{Ended, Literals, ShapeFigures, StatementFacts, comparable, is_single, shape};
pub use stop::{StopLevel, StopSignal};
