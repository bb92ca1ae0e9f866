//! The vocabulary that Dyno's crates share: targets, plans, units, the clock, secrets, and the two
//! contracts of the hot path ([`db::Connection`] between scripts and databases, [`session::Port`]
//! and [`session::Program`] between workers and scripts).
//!
//! # Where to change what
//!
//! - The content of a plan, and reading plans: `src/plan`, `src/target/plan.rs`.
//!   `docs/schema/plan.json` is generated from them. From and to options:
//!   `crates/dyno-cli/src/commands/plans.rs`.
//! - The grammar of target URLs: `src/target`; sources of passwords:
//!   `crates/dyno-drivers/src/credentials`.
//! - A load that changes over time: `src/plan/schedule.rs` (grammar),
//!   `crates/dyno-load/src/course.rs` (due times of arrivals, active sessions),
//!   `crates/dyno-verdict/src/schedule.rs` (verdicts of the parts),
//!   `crates/dyno-report/src/terminal/parts.rs` and `crates/dyno-report/src/html/parts.rs`.
//! - The content of an interval, and merging intervals: `src/interval.rs`; serialised:
//!   `src/interval/codec.rs`; as agents send it: `src/interval/sparse.rs`; merging workers:
//!   `crates/dyno-load/src/merger.rs`.
//! - A new counter per interval: `src/interval.rs`, which lists the other files.
//! - A new series or fact: its name, unit, meaning and source in `src/catalogue`, the source of
//!   tables in `docs/observers.md`; recorded in `crates/dyno-observe`.
//! - The meaning of a database counter by version, and what resets it: `src/counters`, another
//!   source of that guide.
//! - The values of an event (a changed setting, a kernel message, a stalled generator):
//!   `src/record/detail.rs`. Text is rendered from them and never parsed.
//! - The work that a crash may lose: the classes in `src/finding/durability.rs`; the class of a
//!   setting, directory or counter: `crates/dyno-verdict/src/server/durability`; tests with killed
//!   servers: `tests/tests/verdict/parallel/durability/matrix`.
//! - Factors of a run: `src/factors.rs`; selecting runs by them:
//!   `crates/dyno-results/src/read/list.rs`; tables: `crates/dyno-verdict/src/pivot.rs`,
//!   `crates/dyno-report/src/terminal/pivot.rs`, `crates/dyno-cli/src/commands/pivot.rs`.
//! - Named figures with their units: `src/figures.rs`; figures of a record:
//!   `crates/dyno-analysis/src/figures.rs`.
//! - Counts with nouns, quoting, digits: `src/text.rs` (words), `src/units` (quantities).
//! - The content of `--json`: `src/summary.rs` and `docs/schema/run.json`.
//! - Simulated time in tests of whole runs: `src/clock/simulated.rs`,
//!   `crates/dyno-load/tests/simulated.rs`, `crates/dyno-run/tests/simulated.rs`.

pub mod bulk;
pub mod catalogue;
pub mod clock;
pub mod counters;
pub mod cpu_profile;
pub mod db;
pub mod distributions;
pub mod drawn;
pub mod duet;
pub mod factors;
pub mod figures;
pub mod finding;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod headline;
pub mod interval;
pub mod mounts;
pub mod plan;
pub mod ports;
pub mod rand;
pub mod record;
pub mod redact;
pub mod reported;
pub mod scheduling;
pub mod secret;
pub mod session;
pub mod settings;
pub mod states;
pub mod suggest;
pub mod summary;
mod sums;
pub mod tables;
pub mod target;
pub mod text;
pub mod threshold;
pub mod units;
pub mod unknown;
pub mod visible;

pub use clock::Clock;
pub use secret::Secret;
pub use target::Target;
