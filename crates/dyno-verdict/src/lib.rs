//! The validity checks: from a recorded run to findings, what one event cost, and two sides of
//! runs compared. Nothing here reads a file or asks a server: the same record and the same context
//! give the same findings for ever.

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
mod registry;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod server;
mod text;
mod time;
mod view;
mod waits;
mod waive;

use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::RunRecord;

pub use check::{Check, Threshold};
pub use compare::{
    Basis, Better, CompareError, CompareOptions, Comparison, Difference, Metric, RunLabel,
    RunToRun, Side, compare,
};
pub use context::{Calibration, Claim, Context, Keeping, RequestedSetting, RowCount, SecretScan};
pub use costs::costs;
pub use data::too_few as too_few_rows;
pub use registry::checks;
pub use server::same_setting;
pub use waits::waits;
pub use waive::{UnknownCheck, waive};

use view::View;

/// Every check of [`checks`] made on a run, in the order of their numbers. A check that cannot be
/// made says so and why; none is left out.
pub fn judge(run: &RunRecord, context: &Context) -> Vec<Finding> {
    let view = View::new(run, context);
    let mut findings: Vec<Finding> = checks().iter().map(|check| check.made(&view)).collect();
    if server::restarted(&view).is_some() {
        findings.iter_mut().for_each(told_by_restarts);
    }
    findings
}

/// What a server that goes away and comes back does to the rate and to who observes it.
const OF_RESTARTS: [&str; 6] = [
    "warm-up",
    "steady-state",
    "stalls",
    "length",
    "idle-sessions",
    "observers",
];

/// One cause is told once: what a restart brings about is no doubt of its own.
fn told_by_restarts(finding: &mut Finding) {
    if finding.outcome == Outcome::Doubt && OF_RESTARTS.contains(&finding.check.as_str()) {
        finding.outcome = Outcome::NotChecked;
        finding.advice.clear();
        finding.evidence = format!(
            "The server was restarted, as `restarts` tells. {}",
            finding.evidence
        );
    }
}

#[cfg(test)]
mod tests;
