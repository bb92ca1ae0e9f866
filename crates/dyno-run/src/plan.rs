//! The plan of a job.

use dyno_core::plan::{DriverPlan, Edition, OptionValue, PLAN_VERSION, Plan, RecordPlan};
use sha2::{Digest as _, Sha256};

use crate::job::{Job, cores};
use crate::recording::hex;

impl Job {
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
            script_sha256: hex(&Sha256::digest(self.work.text())),
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
