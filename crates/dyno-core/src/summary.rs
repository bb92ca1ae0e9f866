//! The summary of a finished run: the content of the terminal summary and of `--json`. Durations
//! are seconds, latencies milliseconds, as the field names say.

mod agents;
mod derived;
mod digests;
mod intervals;
mod ledger;
mod parts;
mod phase;
mod plans;
mod roles;
mod server_host;
mod statements;

use serde::{Deserialize, Serialize};

use crate::db::Family;
use crate::factors::Factors;
use crate::finding::{Finding, Verdict};
use crate::interval::{Counters, ErrorsByCode, OperationCounters};
use crate::plan::{Drive, OptionValue, RandPlan};
use crate::record::{Cost, Fact, NotObserved};
use crate::reported::Figure;
use crate::states::SessionStates;
use crate::tables::TableGroup;
use crate::threshold::ThresholdResult;

pub use agents::{AgentClock, AgentFinding, AgentSummary};
pub use digests::{DigestSummary, DigestsSummary};
pub use intervals::{IntervalSummary, PrintedRates};
pub use ledger::LedgerEntry;
pub use parts::{Against, PartSummary};
pub use phase::PhaseOf;
pub use plans::{Access, StatementPlan};
pub use roles::RoleSummary;
pub use server_host::ServerHost;
pub use statements::StatementSummary;

/// The version of the JSON schema (`docs/schema/run.json`).
pub const SCHEMA_VERSION: u32 = 2;

/// A whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunSummary {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `dyno 0.1.0`.
    pub tool: String,
    /// Start of the measurement, seconds since the Unix epoch; `None` if an imported log does not
    /// say.
    pub started_unix_s: Option<f64>,
    /// How it ended.
    pub end: RunEnd,
    /// The workload.
    pub workload: WorkloadSummary,
    /// The target.
    pub target: TargetSummary,
    /// How it was driven; `None` if an imported log does not say.
    pub drive: Option<Drive>,
    /// The default distribution and its shape; `None` if an imported log does not say.
    pub rand: Option<RandPlan>,
    /// The length of the measurement, without warm-up and grace.
    pub measured_s: f64,
    /// From the start of the measurement to the last event that counts.
    pub elapsed_s: f64,
    /// Sums over the measurement, the grace included.
    pub totals: Counters,
    /// Rates over `measured_s`, without the grace period.
    pub rates: Rates,
    /// Start to end of each event.
    pub service: LatencySummary,
    /// Scheduled to end; only in an open loop.
    pub response: Option<LatencySummary>,
    /// Open loop only.
    pub open_loop: Option<OpenLoopSummary>,
    /// Events that ended within the grace period. Included in `totals`. `None` if a log lacks them,
    /// or the record its end.
    pub events_in_grace: Option<u64>,
    /// Events still in flight when the grace period was over. `None` if a log lacks them, or the
    /// record its end.
    pub events_unfinished: Option<u64>,
    /// Errors by code, ignored or not.
    pub errors: ErrorsByCode,
    /// Errors of failed connection attempts, by code; not among the errors.
    #[serde(default)]
    pub connect_errors: ErrorsByCode,
    /// The session states at the end of the measurement; `None` if unknown.
    #[serde(default)]
    pub states: Option<SessionStates>,
    /// Spread over sessions; `None` if unknown.
    pub fairness: Option<Fairness>,
    /// Statements per endpoint.
    pub endpoints: Vec<EndpointSummary>,
    /// Resource usage of the load generator; `None` if unknown.
    pub client: Option<ClientCost>,
    /// What limits the figure, as far as visible; whole sentences.
    pub limits: Vec<String>,
    /// Warnings about the figures; whole sentences.
    pub warnings: Vec<String>,
    /// Whether the figures are valid; `None` if not judged.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The script's named operations, in the order of declaration; empty without any.
    #[serde(default)]
    pub operations: Vec<OperationSummary>,
    /// The statement shapes, by total time, largest first; empty unless requested.
    #[serde(default)]
    pub statements: Vec<StatementSummary>,
    /// The server's execution plans; empty unless requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<StatementPlan>,
    /// The parts of a load that changed over time, each judged; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartSummary>,
    /// The server's statement statistics for the run; `None` unless requested.
    #[serde(default)]
    pub digests: Option<DigestsSummary>,
    /// Place of the run in a sequence of runs; `None` if it is not a phase.
    #[serde(default)]
    pub phase: Option<PhaseOf>,
    /// The roles of the sessions; empty if all played the same.
    #[serde(default)]
    pub roles: Vec<RoleSummary>,
    /// The agents, if there were several; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSummary>,
    /// Problems with the agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_findings: Vec<AgentFinding>,
    /// The server's host; `None` unless observed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<ServerHost>,
    /// The latency limit; `None` without one.
    #[serde(default)]
    pub latency_limit: Option<LatencyLimit>,
    /// Other measurements of a host test; `None` if a database was loaded.
    #[serde(default)]
    pub machine: Option<MachineSummary>,
    /// What the server acknowledged against what it contains; empty if the script keeps no ledger.
    #[serde(default)]
    pub ledger: Vec<LedgerEntry>,
    /// The script's facts about its data and constants; also among the record's facts.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// The script's figures.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// The tables of the target's database before the run; empty if not read.
    #[serde(default)]
    pub tables: Vec<TableGroup>,
    /// All findings behind the verdict, worst first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The cost of one event, as far as observed.
    #[serde(default)]
    pub costs: Vec<Cost>,
    /// The conditions under which the run was to fail, with their results.
    #[serde(default)]
    pub thresholds: Vec<ThresholdResult>,
    /// What could not be observed, and why.
    #[serde(default)]
    pub not_observed: Vec<NotObserved>,
    /// The user's note; may be empty.
    #[serde(default)]
    pub note: String,
    /// The factors that the user varied between runs (`--factor memory=5G`).
    #[serde(default, skip_serializing_if = "Factors::is_empty")]
    pub factors: Factors,
    /// Where the run is recorded; `None` if it is not.
    #[serde(default)]
    pub recorded: Option<Recorded>,
    /// The measurements, interval by interval.
    pub intervals: Vec<IntervalSummary>,
}

/// The location of a recorded run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The results file.
    pub file: String,
    /// The run's number in it.
    pub id: i64,
    /// The run's name, unique for ever.
    pub name: String,
}

/// The script's commands that ran before a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// The commands' names, e.g. `settle` or `statistics, settle`.
    pub command: String,
    /// Their total time, in seconds.
    pub seconds: f64,
    /// Their messages; may be empty.
    #[serde(rename = "told")]
    pub messages: String,
}

impl PhaseOf {
    /// A rate of events, converted to the phase's unit.
    pub fn rate(&self, events_per_s: f64) -> f64 {
        events_per_s * self.per_event
    }
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "why")]
pub enum RunEnd {
    /// A limit was reached.
    #[default]
    Completed,
    /// The user stopped it early.
    Interrupted,
    /// A session failed; figures cover what ran before.
    Failed(String),
}

/// The workload of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSummary {
    /// As typed.
    pub name: String,
    /// The command, e.g. `run`.
    pub command: String,
    /// The script's options with their values.
    #[serde(with = "crate::plan::as_object")]
    pub options: Vec<(String, OptionValue)>,
    /// Names of the options that differ from the script's defaults.
    pub changed: Vec<String>,
}

impl WorkloadSummary {
    /// The name; `None` if an imported log does not name it.
    pub fn known(&self) -> Option<&str> {
        (!self.name.is_empty()).then_some(self.name.as_str())
    }

    /// The name for display.
    pub fn shown(&self) -> &str {
        self.known().unwrap_or("unknown workload")
    }
}

/// The target of a run, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// The target's URL without its password.
    pub url: String,
    /// The database family; `None` without a database, or if unknown.
    #[serde(default)]
    pub family: Option<Family>,
    /// The product name; empty if the script never connected.
    pub product: String,
    /// The version that the server reports.
    pub version: String,
    /// The TLS version; `None` for plaintext.
    pub tls: Option<String>,
}

/// Per second of the measurement.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rates {
    /// Events (sysbench: transactions).
    pub events_per_s: f64,
    /// Statements; `None` if an imported log does not count them.
    pub queries_per_s: Option<f64>,
    /// Ignored errors; `None` if an imported log does not count them.
    pub errors_per_s: Option<f64>,
    /// Reconnects; `None` if an imported log does not count them.
    pub reconnects_per_s: Option<f64>,
}

/// A latency distribution, in milliseconds. Its figures are `None` without an event, and if an
/// imported log does not have them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Number of events.
    pub count: u64,
    /// Exact.
    pub min_ms: Option<f64>,
    /// Exact.
    pub mean_ms: Option<f64>,
    /// Exact.
    pub max_ms: Option<f64>,
    /// Exact.
    pub sum_ms: Option<f64>,
    /// Standard deviation, from the histogram; `None` without one.
    pub stddev_ms: Option<f64>,
    /// The requested percentiles.
    pub percentiles: Vec<Percentile>,
    /// The distribution in logarithmic buckets, lowest first, without empty buckets at the ends.
    pub buckets: Vec<Bucket>,
    /// Latencies beyond the histogram's bound of one hour.
    pub clipped: u64,
}

impl LatencySummary {
    /// A percentile; `None` if it was not requested, or has too few samples.
    pub fn percentile_ms(&self, percent: f64) -> Option<f64> {
        Percentile::of(&self.percentiles, percent)
    }
}

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Percent.
    pub percent: f64,
    /// `None` if there are too few samples.
    pub value_ms: Option<f64>,
}

impl Percentile {
    /// The value of one of these; `None` if it is missing, or has too few samples.
    pub fn of(all: &[Self], percent: f64) -> Option<f64> {
        all.iter().find(|one| one.percent == percent)?.value_ms
    }
}

/// One bucket of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Lower bound of the bucket, milliseconds.
    pub from_ms: f64,
    /// Upper bound of the bucket, milliseconds.
    pub to_ms: f64,
    /// Number of events.
    pub count: u64,
}

/// A named operation over the measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationSummary {
    /// As the script names it, e.g. `new_order`.
    pub name: String,
    /// Sums over the measurement, the grace included.
    pub totals: OperationCounters,
    /// Done per second of the measurement, without the grace.
    pub done_per_s: f64,
    /// Start of the first try to the end, for operations done or rolled back.
    pub service: LatencySummary,
    /// Scheduled to end; only in an open loop.
    pub response: Option<LatencySummary>,
    /// Duration of the first try, for operations that took several; `None` without them.
    pub first_tries: Option<LatencySummary>,
}

impl OperationSummary {
    /// Response times in an open loop, which include the wait; else service times.
    pub fn latency(&self) -> &LatencySummary {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Operations done per second; `None` if an imported log does not say.
    pub fn per_s(&self) -> Option<f64> {
        let known = self.done_per_s > 0.0 || self.totals.done == 0;
        known.then_some(self.done_per_s)
    }
}

/// The result of a latency limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyLimit {
    /// The limit.
    pub limit_ms: f64,
    /// Events that took longer, including the wait in an open loop; accurate to 0.1 % of the limit.
    pub above: u64,
    /// Open loop: events dropped because they could not start within the limit.
    pub skipped: u64,
}

/// Measurements of a host test, in addition to events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSummary {
    /// What an event does, and what its speed measures; whole sentences.
    pub about: Vec<String>,
    /// The figures, per second of the measurement without the grace period.
    pub figures: Vec<MachineFigure>,
    /// Maximum number of events that a session has in progress at a time.
    pub depth: u32,
}

/// A figure of a host test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFigure {
    /// What the figure is, e.g. `written`.
    pub name: String,
    /// The value, in `unit`.
    pub value: f64,
    /// The unit, e.g. `MiB/s`.
    pub unit: String,
}

/// Figures specific to an open loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenLoopSummary {
    /// Offered load.
    pub offered_per_s: f64,
    /// Completed within the measurement.
    pub achieved_per_s: f64,
    /// Due but not started at the end; `None` if an imported log does not say.
    pub backlog: Option<u64>,
    /// The longest backlog at the end of any interval; `None` if an imported log does not say.
    pub backlog_max: Option<u64>,
    /// How late events began although a session was free, which is the generator's own lag; `None`
    /// if unknown.
    pub pacing_lag: Option<LatencySummary>,
}

/// Spread over sessions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Fairness {
    /// Mean events per session.
    pub events_mean: f64,
    /// Population standard deviation of it.
    pub events_stddev: f64,
    /// Mean seconds in events per session.
    pub time_mean_s: f64,
    /// Population standard deviation of it.
    pub time_stddev_s: f64,
    /// The fewest events of a session; `None` if an imported log does not have it.
    pub events_min: Option<u64>,
    /// The most; `None` if an imported log does not have it.
    pub events_max: Option<u64>,
}

/// One endpoint of the target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointSummary {
    /// Host and port, or socket.
    pub name: String,
    /// Statements sent there.
    pub queries: u64,
}

/// Resource usage of the load generator during the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientCost {
    /// User CPU seconds of the process.
    pub user_s: f64,
    /// System CPU seconds of the process.
    pub system_s: f64,
    /// CPU microseconds per event.
    pub us_per_event: f64,
    /// CPU microseconds per statement; `None` without statements.
    pub us_per_query: Option<f64>,
    /// CPU seconds of workers spinning until events were due (open loop). Only `user_s` and
    /// `system_s` also include it.
    #[serde(default)]
    pub spin_s: f64,
    /// Share of one core that each worker used, 0 to 1.
    pub worker_busy: Vec<f64>,
    /// The longest time in which a worker's loop did not serve its sockets, in milliseconds.
    pub stall_max_ms: f64,
    /// Share of time in which each worker's loop did not serve its sockets for 1 ms or longer, 0 to
    /// 1; empty if not measured.
    #[serde(default)]
    pub worker_away: Vec<f64>,
    /// The peak resident memory, in bytes.
    pub rss_max_bytes: u64,
}
