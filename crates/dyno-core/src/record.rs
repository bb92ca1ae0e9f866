//! A recorded run: the content of the results file, and the input of findings, reports, comparisons
//! and exports. Runs imported from other tools' logs have the same form.
//!
//! Times named `at_s` are seconds from the start of the measurement; negative during the warm-up.

mod cost;
mod detail;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::cpu_profile::CpuProfile;
use crate::factors::Factors;
use crate::finding::{Cause, Finding, Verdict};
use crate::plan::{Drive, Plan};
use crate::states::{IdleIn, SessionState};
use crate::summary::{IntervalSummary, PhaseOf, RunSummary, TargetSummary, WorkloadSummary};

use cost::StoredCost;
pub use detail::{EventDetail, SettingChange};

/// The default results file.
pub const RESULTS_FILE: &str = "dyno.db";

/// The tool that produced a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// This tool.
    Dyno,
    /// sysbench's or sysbench-tpcc's printed output, imported.
    Sysbench,
    /// pgbench's printed output and logs of transactions, imported.
    Pgbench,
    /// fio's JSON, imported.
    Fio,
    /// HammerDB's log, imported.
    Hammerdb,
}

impl Source {
    /// The tool's own name.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Dyno => "Dyno",
            Self::Sysbench => "sysbench",
            Self::Pgbench => "pgbench",
            Self::Fio => "fio",
            Self::Hammerdb => "HammerDB",
        }
    }
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Not finished: it is still running, or its process died.
    Running,
    /// A limit was reached.
    Completed,
    /// The user stopped it early.
    Interrupted,
    /// It failed; the figures cover what ran before.
    Failed,
    /// Read from another tool's log.
    Imported,
}

/// Whether the workload is the correct one or bug-compatible with the tool being reproduced. The
/// two never share a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Correct.
    #[default]
    Standard,
    /// Bug-compatible with the reproduced tool.
    Reference,
}

/// Data of a run known at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// Unique for ever, e.g. `20261121-124512-oltp_read_write-3f9a`.
    pub name: String,
    /// The tool that produced it.
    pub source: Source,
    /// Whether the workload is correct or reproduces the bugs of another tool.
    pub profile: Profile,
    /// `dyno 0.1.0`.
    pub tool: String,
    /// When the process began to prepare the run or the log was imported, in seconds since the Unix
    /// epoch. The start of the measurement is in the summary.
    pub created_unix_s: f64,
    /// The plan: enough to run it again. `None` for imported runs, and for versions that recorded
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<Plan>>,
    /// The command line, without secrets.
    pub argv: Vec<String>,
    /// The workload.
    pub workload: WorkloadSummary,
    /// SHA-256 of the script's text, hexadecimal; empty if unknown.
    pub script_sha256: String,
    /// The target, without secrets.
    pub target: TargetSummary,
    /// How it is driven, including the seed. `None` if an imported log does not say.
    pub drive: Option<Drive>,
    /// Requested percentiles, in percent.
    pub percentiles: Vec<f64>,
    /// The user's note (`--note`).
    pub note: String,
    /// The factors that the user varied between runs (`--factor memory=5G`).
    #[serde(default, skip_serializing_if = "Factors::is_empty")]
    pub factors: Factors,
    /// Place of the run in a sequence of runs, if it is a phase.
    #[serde(default)]
    pub phase: Option<PhaseOf>,
    /// The identity of its trial, if it belongs to an experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
}

/// A constant property of the host, the server or the client during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Dotted, lower case, the scope first, e.g. `host.cpu.model`, `server.version`.
    pub name: String,
    /// As text, in the unit that the name or the source gives.
    pub value: String,
    /// Where it was read, e.g. `/proc/cpuinfo`, `SELECT version()`.
    pub source: String,
}

impl Fact {
    /// A fact with its source.
    pub fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            source: source.into(),
        }
    }
}

/// One effective setting of the server, at the start and at the end of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The server's name for it.
    pub name: String,
    /// The setting's value at the start.
    pub start: Option<String>,
    /// The setting's value at the end; `None` if it was not read again.
    pub end: Option<String>,
}

/// The meaning of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// The state at the moment.
    Gauge,
    /// The mean rate per second since the previous sample, over the actual time between them.
    Rate,
}

/// A series' identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SeriesKey {
    /// Dotted, lower case, the scope first (`host`, `client`, `server`, `db`, `data`, `observer`);
    /// a device in brackets, e.g. `host.cpu.user`, `host.disk[vda].read_bytes`.
    pub name: String,
    /// `percent`, `bytes`, `bytes/s`, `count`, `count/s`, `ms`, `s`, `cores`, `ratio`, `mhz`.
    pub unit: String,
    /// Where the values come from, e.g. `/proc/stat`, `SHOW GLOBAL STATUS`.
    pub source: String,
}

/// A time series of observed values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name, unit and source of the series.
    pub key: SeriesKey,
    /// The meaning of its values.
    pub kind: SeriesKind,
    /// (at_s, value), in time order. A rate covers the time since the previous sample.
    pub points: Vec<(f64, f64)>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A deliberate disturbance of the target.
    Disturbance,
    /// The server was restarted.
    Restart,
    /// An observer failed or came back.
    Observer,
    /// Nothing ended although work was under way and the load generator was running.
    Stall,
    /// The load generator itself was frozen: stopped, or on a paused machine.
    Frozen,
    /// A setting of the server changed.
    Setting,
    /// A note by the user or the tool.
    Note,
}

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it began.
    pub at_s: f64,
    /// When it ended; `None` if it was instantaneous.
    pub until_s: Option<f64>,
    /// Kind of the event.
    pub kind: EventKind,
    /// A description.
    pub text: String,
    /// The values that checks need. The results file and JSON store them next to the text.
    #[serde(default, skip_serializing_if = "EventDetail::is_empty")]
    pub detail: EventDetail,
}

/// Something that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotObserved {
    /// A name, or a prefix of names, of series or facts, e.g. `host.pressure`.
    pub what: String,
    /// The reason, and how to make it observable.
    pub why: String,
}

/// The latencies of one operation over some time.
#[derive(Clone, Debug)]
pub struct Span {
    /// Start.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
    /// Number of operations that ended.
    pub count: u64,
    /// The exact sum of service times.
    pub service_ns_sum: u64,
    /// The exact shortest service time; 0 without operations.
    pub service_ns_min: u64,
    /// The exact longest service time.
    pub service_ns_max: u64,
    /// Service times: start to end, nanoseconds.
    pub service: Histogram<u64>,
    /// Response times: scheduled to end, nanoseconds; empty in a closed loop.
    pub response: Histogram<u64>,
}

/// One named class of work with its latencies.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `event`, or the script's own name for it, e.g. `NEW_ORDER`.
    pub name: String,
    /// In time order. The histograms have at least two significant digits.
    pub spans: Vec<Span>,
    /// The whole measurement including the grace period, with three digits; `None` for a run that
    /// never finished (merge the spans instead).
    pub total: Option<Span>,
}

/// The cost of one event, e.g. server CPU µs, KB written to disk, network bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredCost")]
pub struct Cost {
    /// Name of the resource, e.g. `server CPU`.
    pub name: String,
    /// Per event; `None` if it was not observed.
    pub value: Option<f64>,
    /// The unit per event: `us`, `kb`, `count`, `bytes`.
    pub unit: String,
    /// The source series, or why the value is missing.
    pub source: String,
    /// It was observed, but does not describe the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// Whose work the value includes besides that of the run, if any was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub includes: Option<Cause>,
}

/// One session's share of the work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionShare {
    /// The session's number.
    pub session: u32,
    /// The worker that drove it.
    pub worker: u32,
    /// Events that ended within the measurement.
    pub events: u64,
    /// Seconds within events.
    pub busy_s: f64,
    /// State at the end of the measurement; `None` if unknown.
    pub state: Option<SessionState>,
    /// Longest idle time; `None` if unknown or zero.
    pub idle: Option<IdleSpan>,
}

/// A time in which a session completed no statement and no event, and did not wait for its next
/// event's start time. Both instants are sampled at most once a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleSpan {
    /// Start.
    pub from_s: f64,
    /// Last time it was seen idle.
    pub to_s: f64,
    /// What the session did when it was last seen.
    pub idle_in: IdleIn,
    /// Connection attempts so far; 0 if it was not connecting.
    pub attempts: u32,
}

impl IdleSpan {
    /// Length of the idle time, seconds.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// A whole run as recorded.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The run's number within its results file, from 1.
    pub id: i64,
    /// The run's state.
    pub state: RunState,
    /// Data known at its start.
    pub head: RunHead,
    /// The terminal summary; `None` for a run that never finished. Its `intervals` are empty: see
    /// [`RunRecord::intervals`].
    pub summary: Option<RunSummary>,
    /// The measurements, interval by interval.
    pub intervals: Vec<IntervalSummary>,
    /// Latencies over time, by operation; `event` first.
    pub operations: Vec<Operation>,
    /// The observed series.
    pub series: Vec<Series>,
    /// What could not be observed.
    pub not_observed: Vec<NotObserved>,
    /// Facts about the host, the server and the client.
    pub facts: Vec<Fact>,
    /// The server's effective configuration.
    pub settings: Vec<Setting>,
    /// Events during the run.
    pub events: Vec<Event>,
    /// Each session's share; empty if unknown.
    pub sessions: Vec<SessionShare>,
    /// CPU profiles, if requested and available.
    pub profiles: Vec<CpuProfile>,
    /// The findings, including waived ones.
    pub findings: Vec<Finding>,
    /// The verdict; `None` before it was judged.
    pub verdict: Option<Verdict>,
}

impl RunRecord {
    /// A run that has only begun.
    pub fn new(head: RunHead) -> Self {
        Self {
            id: 0,
            state: RunState::Running,
            head,
            summary: None,
            intervals: Vec::new(),
            operations: Vec::new(),
            series: Vec::new(),
            not_observed: Vec::new(),
            facts: Vec::new(),
            settings: Vec::new(),
            events: Vec::new(),
            sessions: Vec::new(),
            profiles: Vec::new(),
            findings: Vec::new(),
            verdict: None,
        }
    }

    /// The series with this name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.key.name == name)
    }

    /// The fact with this name.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|fact| fact.name == name);
        fact.map(|fact| fact.value.as_str())
    }

    /// The setting with this name, at the start.
    pub fn setting(&self, name: &str) -> Option<&str> {
        // Setting names are case-insensitive, and no two differ only in case.
        let setting = (self.settings.iter()).find(|one| one.name.eq_ignore_ascii_case(name));
        setting.and_then(|setting| setting.start.as_deref())
    }

    /// Why something was not observed, if recorded: the longest matching prefix wins.
    pub fn not_observed(&self, what: &str) -> Option<&str> {
        self.not_observed
            .iter()
            .filter(|gap| what.starts_with(gap.what.as_str()))
            .max_by_key(|gap| gap.what.len())
            .map(|gap| gap.why.as_str())
    }
}

impl Series {
    /// The mean of the points within `from_s..=to_s`; `None` without points there.
    pub fn mean(&self, from_s: f64, to_s: f64) -> Option<f64> {
        let within = |at: f64| at > from_s && at <= to_s;
        let (mut sum, mut count) = (0.0, 0_u32);
        for (_, value) in self.points.iter().filter(|(at, _)| within(*at)) {
            sum += value;
            count += 1;
        }
        (count > 0).then(|| sum / f64::from(count))
    }
}
