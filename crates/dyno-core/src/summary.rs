//! What is known of a run when it has ended: the content of the terminal summary and of `--json`.
//! Durations are seconds, latencies milliseconds, as their names say.

mod agents;
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
use crate::threshold::Held;

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
    /// Start of the measurement, seconds since the Unix epoch; `None` where an imported log does
    /// not tell it.
    pub started_unix_s: Option<f64>,
    /// How it ended.
    pub end: RunEnd,
    /// What ran.
    pub workload: WorkloadSummary,
    /// On what.
    pub target: TargetSummary,
    /// How it was driven; `None` where an imported log does not tell.
    pub drive: Option<Drive>,
    /// The default distribution and its shape; `None` where an imported log does not tell.
    pub rand: Option<RandPlan>,
    /// The length of the measurement, without warm-up and grace.
    pub measured_s: f64,
    /// From the start of the measurement to the last event that counts.
    pub elapsed_s: f64,
    /// Sums over the measurement, the grace included.
    pub totals: Counters,
    /// Rates over `measured_s` of what ended within it.
    pub rates: Rates,
    /// Start to end of each event.
    pub service: LatencySummary,
    /// Scheduled to end; only in an open loop.
    pub response: Option<LatencySummary>,
    /// Open loop only.
    pub open_loop: Option<OpenLoopSummary>,
    /// Events that ended after the time limit, within the grace. Contained in `totals`.
    pub events_in_grace: u64,
    /// Events begun and not ended when the grace was over.
    pub events_unfinished: u64,
    /// Errors by code, ignored or not.
    pub errors: ErrorsByCode,
    /// Why attempts to connect failed, by code; not among the errors.
    #[serde(default)]
    pub connect_errors: ErrorsByCode,
    /// What the sessions were doing at the end of the measurement; `None` where it is not known.
    #[serde(default)]
    pub states: Option<SessionStates>,
    /// Spread over sessions; `None` where it is not known.
    pub fairness: Option<Fairness>,
    /// Statements per endpoint.
    pub endpoints: Vec<EndpointSummary>,
    /// What the load generator itself used; `None` where it is not known.
    pub client: Option<ClientCost>,
    /// What limits the figure, as far as it can be seen; whole sentences.
    pub limits: Vec<String>,
    /// What the reader should know before believing the figure; whole sentences.
    pub warnings: Vec<String>,
    /// Whether to believe the figures; `None` where nobody judged them.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The script's named pieces of work, in the order it declares them; empty without any.
    #[serde(default)]
    pub operations: Vec<OperationSummary>,
    /// What each shape of statement took, most of the time first; empty unless asked for.
    #[serde(default)]
    pub statements: Vec<StatementSummary>,
    /// How the server meant to execute statements; empty unless asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<StatementPlan>,
    /// The parts of a load that changed over time, each judged; empty where it did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartSummary>,
    /// What the server itself counted of statements meanwhile; `None` unless asked for.
    #[serde(default)]
    pub digests: Option<DigestsSummary>,
    /// Of which sequence of runs it is a phase; `None` where it stands alone.
    #[serde(default)]
    pub phase: Option<PhaseOf>,
    /// The roles that sessions played; empty where all played the same.
    #[serde(default)]
    pub roles: Vec<RoleSummary>,
    /// The load generators, where several made the load; empty where one did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSummary>,
    /// What is wrong, or odd, about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_findings: Vec<AgentFinding>,
    /// The server's host; `None` where nobody observed it from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<ServerHost>,
    /// The limit on latencies; `None` without one.
    #[serde(default)]
    pub latency_limit: Option<LatencyLimit>,
    /// What a test of the host measured besides events; `None` where a database was loaded.
    #[serde(default)]
    pub machine: Option<MachineSummary>,
    /// What the server acknowledged against what it holds; empty where the script keeps no ledger.
    #[serde(default)]
    pub ledger: Vec<LedgerEntry>,
    /// What the script tells of its data and constants; also among the record's facts.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// What the script makes of the measurement.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// The tables of the target's database as they were before the run; empty where they were not
    /// read.
    #[serde(default)]
    pub tables: Vec<TableGroup>,
    /// What the verdict rests on, all checks, worst first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What one event cost, as far as it was observed.
    #[serde(default)]
    pub costs: Vec<Cost>,
    /// The conditions under which the run was to fail, and what came of them.
    #[serde(default)]
    pub thresholds: Vec<Held>,
    /// What could not be observed, and why.
    #[serde(default)]
    pub not_observed: Vec<NotObserved>,
    /// What the user wrote about the run; perhaps empty.
    #[serde(default)]
    pub note: String,
    /// What the user varied from run to run (`--factor memory=5G`).
    #[serde(default, skip_serializing_if = "Factors::is_empty")]
    pub factors: Factors,
    /// Where the run is kept; `None` where it is not.
    #[serde(default)]
    pub recorded: Option<Recorded>,
    /// What was measured, interval by interval.
    pub intervals: Vec<IntervalSummary>,
}

/// Where a run is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The results file.
    pub file: String,
    /// The run's number in it.
    pub id: i64,
    /// The run's name, unique for ever.
    pub name: String,
}

/// The commands of the script that were run before a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// The commands' names, e.g. `settle` or `statistics, settle`.
    pub command: String,
    /// How long they took in all, in seconds.
    pub seconds: f64,
    /// What they say that they did; perhaps empty.
    pub told: String,
}

impl PhaseOf {
    /// A rate of events in the phase's own unit.
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

/// What ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSummary {
    /// As typed.
    pub name: String,
    /// The command, e.g. `run`.
    pub command: String,
    /// The script's own options with their values.
    #[serde(with = "crate::plan::as_object")]
    pub options: Vec<(String, OptionValue)>,
    /// Names of those options whose value is not the script's default.
    pub changed: Vec<String>,
}

impl WorkloadSummary {
    /// Its name; `None` if an imported log does not name it.
    pub fn known(&self) -> Option<&str> {
        (!self.name.is_empty()).then_some(self.name.as_str())
    }

    /// Its name for a reader.
    pub fn shown(&self) -> &str {
        self.known().unwrap_or("unknown workload")
    }
}

/// What it ran on. No secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// The target's URL without its password.
    pub url: String,
    /// Which protocol it speaks; `None` where no database was used, or nobody told.
    #[serde(default)]
    pub family: Option<Family>,
    /// The product by name, empty if the script never connected.
    pub product: String,
    /// The server's version as it says itself.
    pub version: String,
    /// How connections are protected; `None` in the clear.
    pub tls: Option<String>,
}

/// Per second of the measurement.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rates {
    /// Events (sysbench: transactions).
    pub events_per_s: f64,
    /// Statements.
    pub queries_per_s: f64,
    /// Ignored errors.
    pub errors_per_s: f64,
    /// Reconnects.
    pub reconnects_per_s: f64,
}

/// A latency distribution, in milliseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LatencySummary {
    /// How many events.
    pub count: u64,
    /// Exact.
    pub min_ms: f64,
    /// Exact.
    pub mean_ms: f64,
    /// Exact.
    pub max_ms: f64,
    /// Exact.
    pub sum_ms: f64,
    /// Standard deviation, from the histogram; `None` without one.
    pub stddev_ms: Option<f64>,
    /// Those asked for.
    pub percentiles: Vec<Percentile>,
    /// The distribution in logarithmic buckets, lowest first, without empty ends.
    pub buckets: Vec<Bucket>,
    /// Latencies beyond the histogram's bound of one hour.
    pub clipped: u64,
}

impl LatencySummary {
    /// The shortest; `None` where an imported log tells neither it nor the longest.
    pub fn shortest_ms(&self) -> Option<f64> {
        self.longest_ms().map(|_| self.min_ms)
    }

    /// The longest; `None` where an imported log does not tell it.
    pub fn longest_ms(&self) -> Option<f64> {
        // Where the mean is above zero, some latency is.
        let known = self.max_ms > 0.0 || self.mean_ms <= 0.0;
        (self.count > 0 && known).then_some(self.max_ms)
    }
}

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Percent.
    pub percent: f64,
    /// `None` where there are too few samples to carry it.
    pub value_ms: Option<f64>,
}

/// One bucket of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Its lower bound.
    pub from_ms: f64,
    /// Its upper bound.
    pub to_ms: f64,
    /// How many events.
    pub count: u64,
}

/// A named piece of work over the measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationSummary {
    /// As the script names it, e.g. `new_order`.
    pub name: String,
    /// Sums over the measurement, the grace included.
    pub totals: OperationCounters,
    /// Done per second of the measurement, without the grace.
    pub done_per_s: f64,
    /// First try's start to end, of those done or rolled back.
    pub service: LatencySummary,
    /// Scheduled to end; only in an open loop.
    pub response: Option<LatencySummary>,
    /// How long the first try took, of those that took more than one; `None` where all took one.
    pub first_tries: Option<LatencySummary>,
}

impl OperationSummary {
    /// How many were done each second; `None` if an imported log does not say.
    pub fn per_s(&self) -> Option<f64> {
        let known = self.done_per_s > 0.0 || self.totals.done == 0;
        known.then_some(self.done_per_s)
    }
}

/// What a limit on latencies found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyLimit {
    /// The limit.
    pub limit_ms: f64,
    /// Events that took longer, the wait in an open loop included; to 0.1 % of the limit.
    pub above: u64,
    /// Open loop: events that could not be begun within the limit and were left out.
    pub skipped: u64,
}

/// What a test of the host measured besides its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSummary {
    /// What an event did and whose speed that is; whole sentences.
    pub about: Vec<String>,
    /// What came of it, per second of the measurement without the grace.
    pub figures: Vec<MachineFigure>,
    /// Events that a session has under way at a time, at most.
    pub depth: u32,
}

/// One figure of a test of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFigure {
    /// What it is of, e.g. `written`.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what, e.g. `MiB/s`.
    pub unit: String,
}

/// An open loop's own figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenLoopSummary {
    /// Asked for.
    pub offered_per_s: f64,
    /// Ended within the measurement.
    pub achieved_per_s: f64,
    /// Due and not begun at the end; `None` if an imported log does not say.
    pub backlog: Option<u64>,
    /// The longest backlog seen at the end of an interval; likewise.
    pub backlog_max: Option<u64>,
    /// How late events began although a session was free: the generator's own lag; `None` where it
    /// is not known.
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
    /// The fewest events of a session.
    pub events_min: u64,
    /// The most.
    pub events_max: u64,
}

/// One endpoint of the target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointSummary {
    /// Host and port, or socket.
    pub name: String,
    /// Statements sent there.
    pub queries: u64,
}

/// What the load generator itself used during the measurement.
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
    /// Share of one core that each worker used, 0 to 1.
    pub worker_busy: Vec<f64>,
    /// The longest time a worker's loop was kept from its sockets, in milliseconds.
    pub stall_max_ms: f64,
    /// Share of the time that each worker's loop was kept from its sockets for 1 ms or longer at
    /// a time, 0 to 1; empty where it was not measured.
    #[serde(default)]
    pub worker_away: Vec<f64>,
    /// The largest resident size, in bytes.
    pub rss_max_bytes: u64,
}
