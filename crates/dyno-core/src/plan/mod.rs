//! A plan: everything needed to run a workload, complete and printable before the run, stored with
//! the run, and enough to run it again. It contains no secret.

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

/// What to run, on what, how, and how to record and judge it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of this format: 1.
    pub plan_version: u32,
    /// The command line that it comes from.
    pub edition: Edition,
    /// The command, e.g. `run`, `prepare`, `saturate`.
    pub command: String,
    /// The workload: a built-in one's name, or the path of a script.
    pub workload: String,
    /// SHA-256 of the script's text, hexadecimal: a changed script is a different workload.
    pub script_sha256: String,
    /// The module files that the script loads, with the SHA-256 of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, String>,
    /// All options of the workload, including defaults. A value `***` was a secret.
    #[serde(with = "as_object")]
    #[cfg_attr(
        test,
        schemars(with = "std::collections::BTreeMap<String, OptionValue>")
    )]
    pub options: Vec<(String, OptionValue)>,
    /// The target; `null` if no database is used.
    pub target: Option<TargetPlan>,
    /// How the run is driven, without its roles.
    pub drive: Drive,
    /// `saturate`: the session counts, one run for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladder: Vec<u32>,
    /// The options of several load generators and of the server's agent, by name, such as `agents`;
    /// an option without a value is empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, String>,
    /// The roles from the script's `roles()`; empty if all sessions play the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// The phases, each a separate run; empty for a single run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhasePlan>,
    /// The random distributions.
    pub rand: RandPlan,
    /// How statements are sent and errors are handled.
    pub driver: DriverPlan,
    /// Recording and judging of the run.
    pub record: RecordPlan,
}

/// The command line in use; a few defaults differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Edition {
    /// `dyno run`: a test of the host repeats until the run's limits.
    Dyno,
    /// `dyno sysbench`: the same as sysbench.
    Sysbench,
}

/// A phase of a workload, which is a separate run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PhasePlan {
    /// The script's name for it.
    pub name: String,
    /// The workload's options that differ from the plan, by name.
    #[serde(with = "as_object")]
    #[cfg_attr(
        test,
        schemars(with = "std::collections::BTreeMap<String, OptionValue>")
    )]
    pub options: Vec<(String, OptionValue)>,
    /// How long to measure, in seconds; `null` means no limit.
    #[serde(rename = "time_s", with = "optional_seconds")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub time: Option<Duration>,
    /// Number of events; `null` means no limit.
    pub events: Option<u64>,
    /// The warm-up, in seconds.
    #[serde(rename = "warmup_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub warmup: Duration,
    /// Open loop; `null` means a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// The roles from the script's `roles()`; empty if all sessions play the same.
    pub roles: Vec<Role>,
    /// The script's commands to run before the phase, in order.
    pub before: Vec<String>,
    /// The script's command that undoes them if one failed or was stopped.
    pub undo: Option<String>,
    /// The unit of work in an event.
    pub unit: String,
    /// Units per event.
    pub per_event: f64,
}

/// How statements are sent and errors are handled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DriverPlan {
    /// Prepare statements on the server; else put the values into the text.
    pub prepare_on_server: bool,
    /// Errors after which an event is repeated: kinds, errnos, SQLSTATEs or `all`.
    pub ignored_errors: Vec<String>,
    /// Reconnect after a connection is lost; else the run fails.
    pub reconnect_lost_connections: bool,
    /// The timeout of each of the script's functions around the run, in seconds.
    #[serde(rename = "call_timeout_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub call_timeout: Duration,
    /// As `luajit -j`; `null` leaves LuaJIT unchanged.
    pub luajit_cmd: Option<String>,
}

/// How a run is recorded and judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordPlan {
    /// The results file; `null` for none.
    #[serde(rename = "results")]
    pub file: Option<PathBuf>,
    /// Whether to observe host, processes and database.
    pub observe: bool,
    /// How much of the workload's ledger to compare with the database.
    pub ledger: Compared,
    /// When to calibrate.
    pub calibrate: Calibrate,
    /// The claimed cache condition, to be verified.
    pub claim: Option<Claim>,
    /// Settings that the server must have.
    pub expected: Vec<RequestedSetting>,
    /// Findings excluded from the verdict.
    pub waivers: Vec<Waiver>,
    /// The user's note about the run.
    pub note: String,
    /// The factors that the user varies between runs, by name.
    #[serde(default)]
    pub factors: Factors,
    /// Whether to record figures of each statement shape.
    #[serde(default)]
    pub statements: bool,
    /// Statements to explain on the server after the run; `all` means those of the run.
    #[serde(default)]
    pub explain: Vec<String>,
    /// Whether to profile the CPU time of server and client.
    #[serde(default)]
    pub cpu_profile: bool,
    /// Percentiles to show, in percent.
    pub percentiles: Vec<f64>,
    /// Whether to run although the checks before the run refuse it.
    pub force: bool,
    /// Whether a refusal sets the exit status.
    pub gate: bool,
    /// Conditions under which the run fails, e.g. `p99 > 20ms`.
    #[serde(default)]
    pub fail_if: Vec<String>,
    /// The identity of the experiment's trial that this run is; `null` for a run with its own plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
    /// The settings that the factors of the trial's experiment change, or the beginnings of their
    /// names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub varied: Vec<String>,
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
            varied: Vec::new(),
        }
    }
}

/// When to calibrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Calibrate {
    /// Built-in workloads, unless already calibrated.
    Auto,
    /// Before this run.
    Always,
    /// Never; earlier calibrations are not used either.
    Never,
}

/// How much of the workload's ledger is compared with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Compared {
    /// Nothing.
    #[serde(rename = "off")]
    Nothing,
    /// What can be read quickly.
    #[serde(rename = "on")]
    Quick,
    /// All of it, even if whole tables must be read.
    #[serde(rename = "full")]
    Whole,
}

/// The cache condition that the user claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The data fits in the server's cache.
    InMemory,
    /// The data does not fit, and reads go to the disk.
    OnDisk,
    /// The caches were empty at the start.
    Cold,
    /// At the start, the caches had their steady-state content.
    Warm,
}

/// A setting that the server must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestedSetting {
    /// The server's name for it.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Plan {
    /// The plan for display and storage: secret option values, and secrets in the user's texts, are
    /// hidden.
    pub fn without_secrets(mut self) -> Self {
        self.options = redact::options(&self.options);
        for phase in &mut self.phases {
            phase.options = redact::options(&phase.options);
        }
        let hide = |text: &mut String| *text = redact::text(text);
        hide(&mut self.record.note);
        self.record.factors.values_mut().for_each(hide);
        self.agents.values_mut().for_each(hide);
        for waiver in &mut self.record.waivers {
            hide(&mut waiver.reason);
        }
        for setting in &mut self.record.expected {
            setting.value = redact::setting(&setting.name, &setting.value);
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

    /// The workload's options in this phase.
    ///
    /// # Errors
    /// The name of an option that the workload lacks.
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
