//! The plan of a job.

use dyno_core::Target;
use dyno_core::plan::{DriverPlan, Edition, OptionValue, PLAN_VERSION, Plan, RecordPlan};
use dyno_core::text::hex;
use dyno_script::SourceError;
use sha2::{Digest as _, Sha256};

use crate::EXPLAIN_ALL;
use crate::job::{Job, cores};
use crate::workload::Workload;

impl Job {
    /// The job of a plan. A plan contains no password, so the target comes with its own.
    ///
    /// # Errors
    /// There is no such workload.
    pub fn of_plan(plan: &Plan, target: Option<Target>) -> Result<Self, SourceError> {
        let driver = &plan.driver;
        let record = &plan.record;
        Ok(Self {
            target,
            drive: plan.drive.clone(),
            workers: Some(plan.drive.workers),
            rand: plan.rand.clone(),
            percentile: record.percentiles.last().copied().unwrap_or(95.0),
            ignored_errors: driver.ignored_errors.clone(),
            reconnect_lost: driver.reconnect_lost_connections,
            call_timeout: driver.call_timeout,
            emulate_prepared: !driver.prepare_on_server,
            luajit_cmd: driver.luajit_cmd.clone(),
            shapes: record.statements || record.explain.iter().any(|what| what == EXPLAIN_ALL),
            ..Self::of(Workload::find(&plan.workload, plan.edition)?)
        })
    }

    /// The job with these workload options as a plan, with its roles but without phases.
    pub fn plan(&self, workload: &str, own: &[(String, OptionValue)], record: RecordPlan) -> Plan {
        let mut drive = self.drive.clone();
        let roles = std::mem::take(&mut drive.roles);
        Plan {
            plan_version: PLAN_VERSION,
            edition: match self.sysbench {
                true => Edition::Sysbench,
                false => Edition::Dyno,
            },
            command: self.command.clone().unwrap_or_default(),
            workload: workload.to_owned(),
            script_sha256: hex(Sha256::digest(self.work.text())),
            modules: Default::default(),
            options: own.to_vec(),
            target: self.target.as_ref().map(dyno_core::Target::plan),
            drive,
            ladder: Vec::new(),
            roles,
            phases: Vec::new(),
            rand: self.rand.clone(),
            driver: DriverPlan {
                prepare_on_server: !self.emulate_prepared,
                ignored_errors: self.ignored_errors.clone(),
                reconnect_lost_connections: self.reconnect_lost,
                call_timeout: self.call_timeout,
                luajit_cmd: self.luajit_cmd.clone(),
            },
            record,
        }
    }

    /// The default number of workers for this number of sessions.
    pub fn workers_for(&self, sessions: u32) -> u32 {
        self.workers.unwrap_or_else(cores).min(sessions)
    }
}
