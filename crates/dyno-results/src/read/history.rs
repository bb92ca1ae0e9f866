//! The plan and the costs of each run, for the history of a plan.

use dyno_core::catalogue::names::DUET_SIDE;
use std::collections::BTreeMap;

use dyno_core::record::Cost;

use crate::error::ResultsError;
use crate::open::Results;

/// The requested load of a finished run, and what an event cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanAndCosts {
    /// Equal for runs with the same profile, command, phase, script options, key distribution,
    /// sessions, workers, pace and driver settings. Lengths and the seed may differ, and so may the
    /// workload, target and factors, which [`crate::RunLine`] has.
    pub plan: String,
    /// The costs of one event; empty if they were not observed.
    pub costs: Vec<Cost>,
}

/// An array in JSON; null for what a run lacks.
const PLAN: &str = "json_extract(head, '$.profile', '$.workload.command', '$.phase.name',
    '$.workload.options', '$.plan.rand', '$.drive.sessions', '$.drive.workers', '$.drive.open_loop',
    '$.drive.schedule', '$.drive.roles', '$.plan.driver.prepare_on_server',
    '$.plan.driver.ignored_errors', '$.plan.driver.reconnect_lost_connections')";

impl Results {
    /// The plans and costs of all completed and imported runs, by the number of the run, without
    /// loading the runs.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn plans_and_costs(&self) -> Result<BTreeMap<i64, PlanAndCosts>, ResultsError> {
        let read = || -> rusqlite::Result<BTreeMap<i64, PlanAndCosts>> {
            let sql = format!(
                "SELECT id, {PLAN}, json_extract(summary, '$.costs') FROM run
                 WHERE state IN ('completed', 'imported')
                 AND id NOT IN (SELECT run_id FROM fact WHERE name = '{DUET_SIDE}')"
            );
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map([], |row| {
                let costs: Option<String> = row.get(2)?;
                let costs = costs.and_then(|text| serde_json::from_str(&text).ok());
                let of_run = PlanAndCosts {
                    plan: row.get(1)?,
                    costs: costs.unwrap_or_default(),
                };
                Ok((row.get(0)?, of_run))
            })?;
            rows.collect()
        };
        read().map_err(|error| self.at("read plans and costs in").sqlite(error))
    }
}
