//! A plan: everything a run needs to know, complete and printable before anything runs, kept with
//! the run, and enough to run it again. It holds no secret.

mod agents;
mod division;
mod drive;
mod option;
mod schedule;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::factors::Factors;
use crate::finding::Waiver;
use crate::redact;
use crate::target::TargetPlan;
use drive::{optional_seconds, seconds};

pub use agents::{AgentItem, AgentPlace, ssh_host};
pub use division::{AGENTS_MAX, Division, DivisionError, Portion, Shard};
pub use drive::{Arrivals, Drive, OpenLoop, Pace, RandKind, RandPlan, Role};
pub use option::{OptionValue, as_object};
pub use schedule::{LoadPart, LoadSchedule, LoadShape, PARTS_MAX, PlacedPart, Scheduled};

/// The version of a plan's JSON (`docs/schema/plan.json`).
pub const PLAN_VERSION: u32 = 1;

/// What is to be run, on what, how, and what is to be made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of this format: 1.
    pub plan_version: u32,
    /// Whose command line it comes from.
    pub edition: Edition,
    /// The command, e.g. `run`, `prepare`, `saturate`.
    pub command: String,
    /// The workload: a built-in one's name, or the path of a script.
    pub workload: String,
    /// SHA-256 of the script's text, hexadecimal: a changed script is another workload.
    pub script_sha256: String,
    /// The files of the modules that the script loads, with the SHA-256 of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, String>,
    /// All of the workload's options, those at their default too. A value `***` was a secret.
    #[serde(with = "as_object")]
    #[cfg_attr(
        test,
        schemars(with = "std::collections::BTreeMap<String, OptionValue>")
    )]
    pub options: Vec<(String, OptionValue)>,
    /// On what; `null` where no database is used.
    pub target: Option<TargetPlan>,
    /// How it is driven, but for its roles.
    pub drive: Drive,
    /// `saturate`: numbers of sessions, a run for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladder: Vec<u32>,
    /// What the script's `roles()` makes of the sessions; without any, all play the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// The phases, each of which is a run of its own; without any, there is one run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhasePlan>,
    /// The random numbers.
    pub rand: RandPlan,
    /// How statements are sent, and what becomes of errors.
    pub driver: DriverPlan,
    /// What is recorded, and how it is judged.
    pub record: RecordPlan,
}

/// Whose command line asks: a few defaults differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Edition {
    /// `dyno run`: what a test of the host repeats, it repeats until the run's limits.
    Dyno,
    /// `dyno sysbench`: as sysbench has it.
    Sysbench,
}

/// A phase of a workload: a run of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PhasePlan {
    /// As the script names it.
    pub name: String,
    /// The workload's options that are not as in the plan, by name.
    #[serde(with = "as_object")]
    #[cfg_attr(
        test,
        schemars(with = "std::collections::BTreeMap<String, OptionValue>")
    )]
    pub options: Vec<(String, OptionValue)>,
    /// How long it is measured, in seconds; `null` is without limit.
    #[serde(rename = "time_s", with = "optional_seconds")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub time: Option<Duration>,
    /// How many events it has; `null` is without limit.
    pub events: Option<u64>,
    /// How long it warms up, in seconds.
    #[serde(rename = "warmup_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub warmup: Duration,
    /// Open loop; `null` is a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// What the script's `roles()` makes of the sessions; without any, all play the same.
    pub roles: Vec<Role>,
    /// The script's commands that are run before it, in their order.
    pub before: Vec<String>,
    /// The script's command that takes back what those did, where one failed or was stopped.
    pub undo: Option<String>,
    /// What an event is made of.
    pub unit: String,
    /// How many of them an event is.
    pub per_event: f64,
}

/// How statements are sent, and what becomes of errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DriverPlan {
    /// Prepared statements are prepared on the server; else values are put into the text.
    pub prepare_on_server: bool,
    /// Errors after which an event is run again: kinds, errnos, SQLSTATEs or `all`.
    pub ignored_errors: Vec<String>,
    /// Lost connections are made again; else the run fails.
    pub reconnect_lost_connections: bool,
    /// How long each of the script's functions around the run may take, in seconds.
    #[serde(rename = "call_timeout_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub call_timeout: Duration,
    /// As `luajit -j`; `null` leaves LuaJIT as it is.
    pub luajit_cmd: Option<String>,
}

/// What is recorded of a run, and how it is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordPlan {
    /// The results file; `null` for none.
    #[serde(rename = "results")]
    pub file: Option<PathBuf>,
    /// Whether to observe host, processes and database.
    pub observe: bool,
    /// What of the workload's ledger to compare with the database.
    pub ledger: Compared,
    /// When to calibrate.
    pub calibrate: Calibrate,
    /// What is said of the caches.
    pub claim: Option<Claim>,
    /// Settings that the server must have.
    pub expected: Vec<RequestedSetting>,
    /// Findings that are not to count.
    pub waivers: Vec<Waiver>,
    /// The user's words about the run.
    pub note: String,
    /// What the user varies from run to run, by name.
    #[serde(default)]
    pub factors: Factors,
    /// Whether to keep figures of each shape of statement.
    #[serde(default)]
    pub statements: bool,
    /// Statements whose plans the server is asked for after the run; `all` stands for those of the
    /// run.
    #[serde(default)]
    pub explain: Vec<String>,
    /// Whether to sample where the CPU time of server and client goes.
    #[serde(default)]
    pub cpu_profile: bool,
    /// Percentiles to show, in percent.
    pub percentiles: Vec<f64>,
    /// Whether to run although it is known before that the run will be refused.
    pub force: bool,
    /// Whether a refusal is to show in the exit status.
    pub gate: bool,
    /// Conditions under which the run fails, e.g. `p99 > 20ms`.
    #[serde(default)]
    pub fail_if: Vec<String>,
    /// The identity of the trial of an experiment that the run is; a run that is given a plan of
    /// its own is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
}

impl Default for RecordPlan {
    fn default() -> Self {
        Self {
            file: None,
            observe: true,
            ledger: Compared::Quick,
            calibrate: Calibrate::Auto,
            claim: None,
            expected: Vec::new(),
            waivers: Vec::new(),
            note: String::new(),
            factors: Factors::new(),
            statements: false,
            explain: Vec::new(),
            cpu_profile: false,
            percentiles: vec![50.0, 95.0, 99.0, 99.9],
            force: false,
            gate: false,
            fail_if: Vec::new(),
            trial: None,
        }
    }
}

/// When to calibrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Calibrate {
    /// Built-in workloads, unless it was done before.
    Auto,
    /// Before this run.
    Always,
    /// Not at all; what is known from before is not used either.
    Never,
}

/// What of the workload's ledger is compared with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Compared {
    /// Nothing.
    #[serde(rename = "off")]
    Nothing,
    /// What is read quickly beside a run.
    #[serde(rename = "on")]
    Quick,
    /// All of it, though whole tables must be read.
    #[serde(rename = "full")]
    Whole,
}

/// What the user says of the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The data fits in the server's cache.
    InMemory,
    /// It does not, and reads go to the disk.
    OnDisk,
    /// The caches were empty at the start.
    Cold,
    /// They held at the start what they hold in the long run.
    Warm,
}

/// A setting that the user wants the server to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestedSetting {
    /// As the server names it.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Plan {
    /// As it may be shown and kept: values of options that are secrets are hidden, and secrets in
    /// texts of the user's.
    pub fn without_secrets(mut self) -> Self {
        self.options = redact::options(&self.options);
        for phase in &mut self.phases {
            phase.options = redact::options(&phase.options);
        }
        let hide = |text: &mut String| *text = redact::text(text);
        hide(&mut self.record.note);
        self.record.factors.values_mut().for_each(hide);
        for waiver in &mut self.record.waivers {
            hide(&mut waiver.reason);
        }
        for setting in &mut self.record.expected {
            hide(&mut setting.value);
        }
        self.driver.luajit_cmd.iter_mut().for_each(hide);
        self
    }
}

impl PhasePlan {
    /// Sets the limits and the pace of the phase.
    pub fn limit(&self, drive: &mut Drive) {
        drive.time = self.time;
        drive.events = self.events;
        drive.warmup = self.warmup;
        drive.open_loop = self.open_loop;
    }

    /// The workload's options as the phase has them; the name of one that the workload lacks.
    ///
    /// # Errors
    /// There is one.
    pub fn options<'a>(
        &'a self,
        own: &[(String, OptionValue)],
    ) -> Result<Vec<(String, OptionValue)>, &'a str> {
        let mut own = own.to_vec();
        for (name, value) in &self.options {
            match own.iter_mut().find(|(own, _)| own == name) {
                Some((_, own)) => *own = value.clone(),
                None => return Err(name),
            }
        }
        Ok(own)
    }
}

#[cfg(test)]
mod tests;
