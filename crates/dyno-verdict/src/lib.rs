//! The validity checks: from a recorded run to findings, the cost of an event, and comparisons of
//! runs. Nothing here reads a file or asks a server: the same record and the same context always
//! yield the same findings.
//!
//! # Where to change what
//!
//! - A check or its threshold: `src/registry.rs` lists all checks, and a test compares
//!   `docs/validity.md` with it. `dyno doctor`: `src/fitness`.
//! - Which finding explains which others, so that one cause yields one doubt: the table in
//!   `src/root_causes.rs`.
//! - Changes that may explain a lower rate: `src/time/causes.rs`; causes as values:
//!   `crates/dyno-core/src/finding/cause.rs`.
//! - Durability classes by setting, directory or counter: `src/server/durability`; the classes:
//!   `crates/dyno-core/src/finding/durability.rs`.
//! - Checks of the server's host: `src/server_host.rs`; its observer:
//!   `crates/dyno-conduct/src/fleet/server_agent.rs`, `crates/dyno-conduct/src/fleet/observer.rs`.
//! - Advice from counters and settings: `src/advice`, one rule each, by server.
//! - The values that a setting had during the measurement: `src/moments.rs`.
//! - Why a check does not apply to an imported log: `src/missing.rs`.
//! - Checks of its sides that matter to a duet: `src/duet.rs`.
//! - Parts of a scheduled load: `src/schedule.rs`. A part of a run: `src/part.rs`.
//! - Differences between runs: `src/compare`. Tables of factors: `src/pivot.rs`.

mod advice;
mod check;
mod compare;
mod conduct;
mod context;
mod costs;
mod data;
mod duet;
mod errors;
pub mod fitness;
mod generator;
mod limits;
mod machine;
mod missing;
mod moments;
mod pages_read;
mod part;
mod pivot;
mod registry;
mod root_causes;
mod schedule;
mod server;
mod server_host;
mod text;
mod time;
mod view;
mod waits;
mod waive;

use dyno_core::finding::Finding;
use dyno_core::record::RunRecord;
use dyno_core::summary::PartSummary;

pub use advice::{Advice, Counsel, advice};
pub use check::{Check, Threshold};
pub use compare::{
    Amount, Basis, Better, CompareError, CompareOptions, Comparison, DURING_RUN, Difference,
    EquivalenceTest, Metric, Needs, RunLabel, RunToRun, Side, changed_since, compare, described,
    leave_out_moved, poolable, waited,
};
pub use context::{Calibration, Claim, Context, Keeping, RequestedSetting, RowCount, SecretScan};
pub use costs::{cost_names, costs};
pub use data::too_few as too_few_rows;
pub use duet::concerns_ratio;
pub use errors::OTHER_LOCKS;
pub use generator::CEILING;
pub use limits::{backups, limits};
pub use pages_read::{counts_new_pages, without_new_pages};
pub use part::judge_part;
pub use pivot::{Base, Cell, Group, Layout, level, pivot, pooled};
pub use registry::checks;
pub use server::same_setting;
pub use server_host::{ON_IT as ON_SERVER_HOST, server_host, server_host_limit};
pub use waive::{UnknownCheck, waive};

use view::View;

/// Runs every check of [`checks`] on a run, in the order of their numbers. A check that does not
/// apply gives a finding with the reason.
pub fn judge(run: &RunRecord, context: &Context) -> Vec<Finding> {
    judge_with_parts(run, context).0
}

/// As [`judge`], plus the judged parts of a load that changed over time.
pub fn judge_with_parts(run: &RunRecord, context: &Context) -> (Vec<Finding>, Vec<PartSummary>) {
    let view = View::new(run, context);
    let mut findings: Vec<Finding> = checks().iter().map(|check| check.judge(&view)).collect();
    server_host::apply(run, context, &mut findings);
    duet::apply(run, &mut findings);
    let parts = schedule::judge(run, context, &mut findings);
    root_causes::apply(&view, &mut findings);
    (findings, parts)
}

#[cfg(test)]
mod tests;
