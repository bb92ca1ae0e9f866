//! Values that follow from a summary, and the summary that follows from a run's head.

use super::{LatencySummary, RunSummary, SCHEMA_VERSION};
use crate::record::RunHead;

impl RunSummary {
    /// What is known of a run from its head: no figures.
    pub fn of(head: &RunHead) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: head.tool.clone(),
            workload: head.workload.clone(),
            target: head.target.clone(),
            drive: head.drive.clone(),
            note: head.note.clone(),
            factors: head.factors.clone(),
            ..Self::default()
        }
    }

    /// The latencies that users would see: response times in an open loop, else service times.
    pub fn latency(&self) -> &LatencySummary {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// All errors, ignored or not; some imported logs count only their sum.
    pub fn errors_seen(&self) -> u64 {
        let by_code: u64 = self.errors.values().map(|error| error.count).sum();
        by_code.max(self.totals.errors)
    }

    /// The share of the due events that took longer than the latency limit, or were skipped for
    /// it, 0 to 1; `None` without a limit or a schedule.
    pub fn late_share(&self) -> Option<f64> {
        let limit = self.latency_limit?;
        let due = self.response.as_ref()?.count + limit.skipped;
        (due > 0).then(|| (limit.above + limit.skipped) as f64 / due as f64)
    }
}
