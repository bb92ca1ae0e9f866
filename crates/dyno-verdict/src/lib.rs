//! The validity checks: findings, costs per event and comparisons from recorded runs. Nothing here
//! reads a file or asks a server: the same record and context always give the same findings.

mod advice;
mod check;
mod compare;
mod conduct;
mod context;
mod costs;
mod data;
mod errors;
pub mod fitness;
mod generator;
mod machine;
mod part;
mod pivot;
mod registry;
mod root_causes;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
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
    Basis, Better, CompareError, CompareOptions, Comparison, Difference, Metric, RunLabel,
    RunToRun, Side, compare, described,
};
pub use conduct::{EXPORT_CORES, PROFILE_CORES};
pub use context::{Calibration, Claim, Context, Keeping, RequestedSetting, RowCount, SecretScan};
pub use costs::{cost_names, costs};
pub use data::too_few as too_few_rows;
pub use generator::CEILING;
pub use part::{judge_part, steady_from};
pub use pivot::{Base, Cell, Group, Layout, level, pivot, pooled};
pub use registry::checks;
pub use server::same_setting;
pub use server_host::{ON_IT as ON_SERVER_HOST, server_host, server_host_limit};
pub use waits::waits;
pub use waive::{UnknownCheck, waive};

use view::View;

/// Runs every check of [`checks`] on a run, in the order of their numbers. A check that does not
/// apply gives a finding with the reason.
pub fn judge(run: &RunRecord, context: &Context) -> Vec<Finding> {
    judge_with_parts(run, context).0
}

/// The same, plus the judged parts of a load that changed over time.
pub fn judge_with_parts(run: &RunRecord, context: &Context) -> (Vec<Finding>, Vec<PartSummary>) {
    let view = View::new(run, context);
    let mut findings: Vec<Finding> = checks().iter().map(|check| check.made(&view)).collect();
    server_host::apply(run, context, &mut findings);
    let parts = schedule::judge(run, context, &mut findings);
    root_causes::apply(&view, &mut findings);
    (findings, parts)
}

#[cfg(test)]
mod tests;
