//! Turns a job into a plan, and a plan into a job.

use dyno_core::Target;
use dyno_core::db::Family;
use dyno_core::plan::{Drive, DriverPlan, Edition, OptionValue, PLAN_VERSION, Plan, RecordPlan};
use dyno_core::target::TargetPlan;
use dyno_core::text::hex;
use dyno_load::SESSIONS_MAX;
use dyno_script::SourceError;
use sha2::{Digest as _, Sha256};

use crate::EXPLAIN_ALL;
use crate::job::{Job, cores};
use crate::workload::Workload;

impl Job {
    /// The job of a plan. A plan contains no password, so the target is passed separately.
    ///
    /// # Errors
    /// The workload does not exist.
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

    /// The job with these workload options as a plan, including its roles but no phases.
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
            agents: Default::default(),
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

    /// How many workers drive this many sessions by default.
    pub fn workers_for(&self, sessions: u32) -> u32 {
        self.workers.unwrap_or_else(cores).min(sessions)
    }

    /// The script's own options and the engine's, with sysbench's names, as in `sysbench.opt`.
    pub fn all_options(&self, own: &[(String, OptionValue)]) -> Vec<(String, OptionValue)> {
        let mut options = engine_options(&self.drive);
        options.retain(|(name, _)| !own.iter().any(|(own, _)| own == name));
        options.extend(own.iter().cloned());
        options
    }
}

fn engine_options(drive: &Drive) -> Vec<(String, OptionValue)> {
    let number = |name: &str, value: f64| (name.to_owned(), OptionValue::Number(value));
    vec![
        number("threads", f64::from(drive.sessions)),
        number("time", drive.time.map_or(0.0, |time| time.as_secs_f64())),
        number("events", drive.events.unwrap_or(0) as f64),
        number("warmup_time", drive.warmup.as_secs_f64()),
        number("rate", drive.open_loop.map_or(0.0, |open| open.per_second)),
        number("rand_seed", drive.seed as f64),
        number("report_interval", drive.interval.as_secs_f64()),
    ]
}

/// Checks that a plan can be run on its own.
///
/// # Errors
/// What is wrong with the plan.
pub fn check_plan(plan: &Plan) -> Result<(), String> {
    if plan.edition == Edition::Sysbench {
        return Err("it comes from `dyno sysbench`; repeat its command line instead".to_owned());
    }
    if !plan.drive.roles.is_empty() {
        return Err("roles belong next to the drive, not inside it".to_owned());
    }
    if plan.target.is_none() && dyno_host::find(&plan.workload).is_none() {
        return Err("it names no target".to_owned());
    }
    plan.target.as_ref().map_or(Ok(()), reachable)?;
    if !(1..=SESSIONS_MAX).contains(&plan.drive.sessions) {
        return Err(format!(
            "drive.sessions: {} is not between 1 and {SESSIONS_MAX}",
            plan.drive.sessions
        ));
    }
    Ok(())
}

/// Checks that the target names its server, because otherwise a driver would use that of this host.
/// A plan contains no password.
fn reachable(target: &TargetPlan) -> Result<(), String> {
    let is_server = !target.temporary && target.family != Family::Sqlite;
    if is_server && target.endpoints.is_empty() {
        return Err("target.endpoints is empty; name the server's host and port".to_owned());
    }
    if target.parameters.contains_key("password") {
        return Err(
            "target.parameters: a plan cannot hold a password; use password_env, defaults_file or \
             passfile"
                .to_owned(),
        );
    }
    Ok(())
}
