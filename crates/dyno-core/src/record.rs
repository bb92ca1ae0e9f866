//! A run as it was recorded: what the results file holds, and what findings, reports, comparisons
//! and exports are made of. Runs of other tools, imported from their logs, take the same shape.
//!
//! Times named `at_s` are seconds from the start of the measurement; the warm-up is negative.

mod cost;
mod detail;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::cpu_profile::CpuProfile;
use crate::factors::Factors;
use crate::finding::{Finding, Verdict};
use crate::plan::{Drive, Plan};
use crate::states::{IdleIn, SessionState};
use crate::summary::{IntervalSummary, PhaseOf, RunSummary, TargetSummary, WorkloadSummary};

use cost::StoredCost;
pub use detail::{EventDetail, SettingChange};

/// The results file of whoever names none.
pub const RESULTS_FILE: &str = "dyno.db";

/// What made a run.
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
    /// The tool as it calls itself.
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

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Its writer has not finished it: it is going on, or its process died.
    Running,
    /// A limit was reached.
    Completed,
    /// The user ended it early.
    Interrupted,
    /// It failed; the figures cover what ran before.
    Failed,
    /// Read from another tool's log.
    Imported,
}

/// Whether the workload is the correct one or bug-compatible with the tool being reproduced.
/// The two never share a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Correct.
    #[default]
    Standard,
    /// As the tool being reproduced does it.
    Reference,
}

/// What is known of a run when it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// Unique for ever, e.g. `20261121-124512-oltp_read_write-3f9a`.
    pub name: String,
    /// What made it.
    pub source: Source,
    /// Its profile.
    pub profile: Profile,
    /// `dyno 0.1.0`.
    pub tool: String,
    /// When the process began to prepare the run, or when its log was imported, seconds since the
    /// Unix epoch. The start of the measurement is in the summary.
    pub created_unix_s: f64,
    /// What was planned: enough to run it again. `None` for imported runs, and for those of
    /// versions that kept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<Plan>>,
    /// The command line, without secrets.
    pub argv: Vec<String>,
    /// What runs.
    pub workload: WorkloadSummary,
    /// SHA-256 of the script's text, hexadecimal; empty where it is not known.
    pub script_sha256: String,
    /// On what. No secrets.
    pub target: TargetSummary,
    /// How it is driven; the seed is in it. `None` where an imported log does not tell.
    pub drive: Option<Drive>,
    /// Percentiles asked for, in percent.
    pub percentiles: Vec<f64>,
    /// What the user wrote about it (`--note`).
    pub note: String,
    /// What the user varied from run to run (`--factor memory=5G`).
    #[serde(default, skip_serializing_if = "Factors::is_empty")]
    pub factors: Factors,
    /// Of which sequence of runs it is a phase.
    #[serde(default)]
    pub phase: Option<PhaseOf>,
    /// The identity of the trial of an experiment that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
}

/// Something about the host, the server or the client that does not change during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Dotted, lower case, the scope first, e.g. `host.cpu.model`, `server.version`.
    pub name: String,
    /// As text, in the unit that the name or the source gives.
    pub value: String,
    /// Where it was read, e.g. `/proc/cpuinfo`, `SELECT version()`.
    pub source: String,
}

/// The name of the fact that holds the hash of the log that a run was imported from.
pub const LOG_DIGEST: &str = "import.sha256";

/// The name of the fact that holds who observed the server from its own host: `ssh:db1`.
pub const SERVER_OBSERVER: &str = "server.observer";

/// The name of the fact that an imported log lacks its end; its value is a sentence without its
/// point.
pub const LOG_CUT_OFF: &str = "import.cut_off";

/// The name of the fact that an imported log itself calls its load or rate unsteady. Its value is a
/// sentence without the full stop.
pub const LOG_UNSTEADY: &str = "import.unsteady";

/// One effective setting of the server, at the start and at the end of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// As the server names it.
    pub name: String,
    /// At the start.
    pub start: Option<String>,
    /// At the end; `None` where it was not read again.
    pub end: Option<String>,
}

/// How a series' values are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// The state at the moment.
    Gauge,
    /// The mean rate per second since the previous sample, divided by the real time between.
    Rate,
}

/// What a series is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SeriesKey {
    /// Dotted, lower case, the scope first (`host`, `client`, `server`, `db`, `data`, `observer`);
    /// a device in brackets, e.g. `host.cpu.user`, `host.disk[vda].read_bytes`.
    pub name: String,
    /// `percent`, `bytes`, `bytes/s`, `count`, `count/s`, `ms`, `s`, `cores`, `ratio`, `mhz`.
    pub unit: String,
    /// Where it is read, e.g. `/proc/stat`, `SHOW GLOBAL STATUS`.
    pub source: String,
}

/// Observed values in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it is.
    pub key: SeriesKey,
    /// How to read it.
    pub kind: SeriesKind,
    /// (at_s, value), in time order. A rate's value covers the time since the previous sample.
    pub points: Vec<(f64, f64)>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Something done to the target on purpose.
    Disturbance,
    /// The server was restarted, or a new one answered.
    Restart,
    /// An observer failed or came back.
    Observer,
    /// Nothing ended while work was under way, and the load generator was awake.
    Stall,
    /// The load generator itself was frozen: stopped, or on a machine that stood still.
    Frozen,
    /// A setting of the server moved.
    Setting,
    /// A note, of the user or of the tool.
    Note,
}

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it began.
    pub at_s: f64,
    /// When it ended; `None` for a moment.
    pub until_s: Option<f64>,
    /// Of what kind.
    pub kind: EventKind,
    /// In words.
    pub text: String,
    /// The values that checks need. The results file and JSON store them next to the text.
    #[serde(default, skip_serializing_if = "EventDetail::is_empty")]
    pub detail: EventDetail,
}

/// Something that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotObserved {
    /// What, as a name or the beginning of names of series or facts, e.g. `host.pressure`.
    pub what: String,
    /// Why, and what would be needed.
    pub why: String,
}

/// The latencies of one operation over some time.
#[derive(Clone, Debug)]
pub struct Span {
    /// From here.
    pub from_s: f64,
    /// To here.
    pub to_s: f64,
    /// How many operations ended.
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
    /// The whole measurement, the grace included, with three digits; `None` for a run that never
    /// finished (merge the spans instead).
    pub total: Option<Span>,
}

/// What one event cost, e.g. server CPU µs, KB written to disk, network bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredCost")]
pub struct Cost {
    /// What, e.g. `server CPU`.
    pub name: String,
    /// Per event; `None` where it was not observed.
    pub value: Option<f64>,
    /// Of the value, per event: `us`, `kb`, `count`, `bytes`.
    pub unit: String,
    /// The series it was made of, or why there is none.
    pub source: String,
    /// It was observed, but does not describe the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
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
    /// What it was doing at the end of the measurement; `None` where it is not known.
    pub state: Option<SessionState>,
    /// The longest time in which it did nothing; `None` where it is not known, or was there none.
    pub idle: Option<IdleSpan>,
}

/// A time in which a session completed no statement and no event, and did not wait for the time
/// of its next event. Both instants as seen once a second, at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleSpan {
    /// Since when.
    pub from_s: f64,
    /// Until when it was seen so.
    pub to_s: f64,
    /// What it was at.
    pub idle_in: IdleIn,
    /// Attempts to connect that it had begun then; 0 where it was not connecting.
    pub attempts: u32,
}

impl IdleSpan {
    /// Its length.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// A whole run as recorded.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// Its number within its results file, from 1.
    pub id: i64,
    /// How far it came.
    pub state: RunState,
    /// What was known at its beginning.
    pub head: RunHead,
    /// What the terminal summary shows; `None` for a run that never finished. Its `intervals` are
    /// empty: see [`RunRecord::intervals`].
    pub summary: Option<RunSummary>,
    /// What was measured, interval by interval.
    pub intervals: Vec<IntervalSummary>,
    /// Latencies in time, by operation; `event` first.
    pub operations: Vec<Operation>,
    /// What was observed.
    pub series: Vec<Series>,
    /// What could not be.
    pub not_observed: Vec<NotObserved>,
    /// The host, the server and the client.
    pub facts: Vec<Fact>,
    /// The server's effective configuration.
    pub settings: Vec<Setting>,
    /// What happened meanwhile.
    pub events: Vec<Event>,
    /// Each session's share; empty where it is not known.
    pub sessions: Vec<SessionShare>,
    /// Where the CPU time went, where that was asked for and could be seen.
    pub profiles: Vec<CpuProfile>,
    /// The findings, waived ones included.
    pub findings: Vec<Finding>,
    /// The verdict; `None` before it was judged.
    pub verdict: Option<Verdict>,
}

impl RunRecord {
    /// A run that has begun, of which nothing else is known.
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

    /// The series of this name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.key.name == name)
    }

    /// The fact of this name.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|fact| fact.name == name);
        fact.map(|fact| fact.value.as_str())
    }

    /// The setting of this name, as at the start.
    pub fn setting(&self, name: &str) -> Option<&str> {
        // Servers take names of settings in any case, and there are no two that differ in that.
        let setting = (self.settings.iter()).find(|one| one.name.eq_ignore_ascii_case(name));
        setting.and_then(|setting| setting.start.as_deref())
    }

    /// Why something was not observed, if it was said: of the longest beginning that fits.
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
