//! The types of an experiment's file.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::level::Level;
use super::reports::{Claim, Disturb, Plot, Probe, Table};
use super::values::{OneOrMany, Rate, Scalar, Size, Time};

/// Names with values.
pub type Values = BTreeMap<String, Scalar>;
/// Levels by factor: a selection of cells.
pub type Where = BTreeMap<String, Spanned<OneOrMany<Scalar>>>;
/// `Where` for the schema.
#[cfg(test)]
pub(crate) type PlainWhere = BTreeMap<String, OneOrMany<Scalar>>;

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The version of the file format: 1.
    #[cfg_attr(test, schemars(with = "u32"))]
    pub experiment: Spanned<u32>,
    /// The question that the experiment answers.
    pub question: String,
    /// The source of the experiment.
    pub cite: Option<String>,
    /// The server of all trials.
    #[serde(default)]
    pub server: Server,
    /// The data to load before the trials.
    #[serde(default)]
    pub data: Data,
    /// The load to measure.
    #[serde(default)]
    pub load: Load,
    /// The factors to vary.
    #[serde(default, rename = "factor")]
    pub factors: Vec<Factor>,
    /// Which trials to run, in which order.
    #[serde(default)]
    pub design: Design,
    /// What to reset before each trial.
    #[serde(default)]
    pub reset: Reset,
    /// Additional observations.
    #[serde(default)]
    pub observe: Observe,
    /// The agents that share the load of each trial; by default this process generates it.
    #[cfg_attr(test, schemars(with = "Option<Agents>"))]
    pub agents: Option<Spanned<Agents>>,
    /// Small operations at a fixed rate.
    #[serde(default, rename = "probe")]
    pub probes: Vec<Probe>,
    /// Disturbances of the servers during the measurement.
    #[serde(default, rename = "disturb")]
    pub disturbances: Vec<Disturb>,
    /// The report's tables.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
    /// The report's plots.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
    /// Claims to check.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Prices: `date`, `hours_per_month`, `nodes`, and components by name.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, serde_json::Value>"))]
    pub price: BTreeMap<String, Spanned<toml::Value>>,
    /// Search for the highest rate within a limit instead of a fixed load: "max rate with p99
    /// < 10ms".
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub search: Option<Spanned<String>>,
    /// Keep the execution plans of these statements with each trial: `true` for those of the load.
    pub explain: Option<Explain>,
    /// Smaller versions of the experiment: values by dotted key.
    #[serde(default)]
    #[cfg_attr(
        test,
        schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>")
    )]
    pub scale: BTreeMap<String, BTreeMap<String, toml::Value>>,
    /// Whether it was read in one of its scales.
    #[serde(skip)]
    pub is_scaled: bool,
}

/// The agents that share the load of each trial, as in `dyno run`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Agents {
    /// The agents: `local:2`, `ssh:gen1`, `ssh:gen2=3` with three parts, or the names of those that
    /// join the bus.
    pub hosts: Vec<String>,
    /// What to do with a trial that loses an agent: `fail` or `degrade`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_loss: Option<String>,
    /// How to divide the load: by `weights` of the hosts, or by `capacity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The Dyno command on other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The NATS server that agents join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
    /// The coordinator's key for the NATS server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_key: Option<String>,
    /// The certificate authority of the NATS server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_ca: Option<String>,
}

impl Agents {
    /// The equivalent options of `dyno run`.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = vec![("agents", self.hosts.join(","))];
        let others = [
            ("on-agent-loss", &self.on_loss),
            ("agents-by", &self.by),
            ("agent-command", &self.command),
            ("bus", &self.bus),
            ("bus-key", &self.bus_key),
            ("bus-ca", &self.bus_ca),
        ];
        let given = others
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)));
        options.extend(given);
        options
    }
}

/// Additional observations; everything else is observed once a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Rate, rows and latency of each statement shape, and the server's digests.
    #[serde(default)]
    pub statements: bool,
    /// Sample the CPU time of server and client with `perf`.
    // Skipped by default, so that trials without it keep their identity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpu_profile: bool,
}

/// The statements to keep execution plans of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(
    untagged,
    expecting = "expected true, a statement or a list of statements"
)]
pub enum Explain {
    /// `true` for the statements of the load, `false` for none.
    All(bool),
    /// These statements.
    Statements(OneOrMany<String>),
}

/// A server, or the changes that a level makes to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The kind of a sandbox server, such as `mysql` or `mariadb-11.4`.
    pub kind: Option<String>,
    /// The address of a server that is already running.
    pub url: Option<String>,
    /// How its nodes are connected.
    pub topology: Option<Topology>,
    /// The number of nodes.
    pub nodes: Option<u32>,
    /// The directory of its programs.
    pub basedir: Option<String>,
    /// Its settings.
    #[serde(default)]
    pub set: Values,
    /// Its plugins.
    #[serde(default)]
    pub plugins: Vec<String>,
    /// Its environment variables, such as `LD_PRELOAD`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: Values,
    /// Files for it, by name; `{file NAME}` in a setting is the path of one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: Values,
    /// A proxy in front of it.
    pub proxy: Option<Values>,
}

/// How a server's nodes are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// One node.
    Single,
    /// A source and replicas.
    Replication,
    /// MySQL Group Replication.
    GroupReplication,
    /// Galera.
    Galera,
    /// PostgreSQL's streaming replication.
    Streaming,
}

/// The data to load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The workload that loads it.
    pub workload: Option<String>,
    /// Its options.
    #[serde(default)]
    pub options: Values,
    /// The seed of the rows.
    pub seed: Option<u64>,
    /// Load no data.
    #[serde(default)]
    pub none: bool,
    /// How to put the data on another file system; the fastest way by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<LoadedBy>,
}

/// How to put data on another file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoadedBy {
    /// The workload loads them there.
    Sql,
    /// Copy files that were loaded elsewhere.
    Copy,
}

/// The load to measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The workload.
    pub workload: Option<String>,
    /// The number of sessions.
    pub sessions: Option<u32>,
    /// The number of clients of a multi-step workload.
    pub clients: Option<u32>,
    /// Arrivals per second, for an open loop.
    pub rate: Option<Rate>,
    /// The duration of the warm-up.
    pub warmup: Option<Time>,
    /// The duration of the measurement.
    pub time: Option<Time>,
    /// The workload's options.
    #[serde(default)]
    pub options: Values,
    /// Percentiles of the latency to report.
    #[serde(default)]
    pub percentiles: Vec<f64>,
    /// The cache condition to verify.
    pub claim: Option<Cache>,
    /// No load except the probes.
    #[serde(default)]
    pub none: bool,
}

/// The cache condition to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// Derived from the sizes of memory and data.
    Auto,
    /// All data fits in memory.
    InMemory,
    /// The data does not fit in memory.
    OnDisk,
}

/// The change that a factor requires, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Applies {
    /// New connections.
    Client,
    /// A statement on the running server.
    Online,
    /// A restart.
    Start,
    /// A restore of the data elsewhere.
    Place,
    /// Other data.
    Load,
}

impl Applies {
    /// The keyword in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Online => "online",
            Self::Start => "start",
            Self::Place => "place",
            Self::Load => "load",
        }
    }
}

/// A factor to vary.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its name.
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: Spanned<String>,
    /// The change that it requires.
    pub applies: Applies,
    /// The setting that takes plain levels as values.
    pub setting: Option<String>,
    /// Its levels.
    #[cfg_attr(test, schemars(with = "Vec<Level>"))]
    pub levels: Spanned<Vec<Spanned<Level>>>,
    /// Settings by another factor's level; `{level}` in them is this factor's level.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, BTreeMap<String, Values>>"))]
    pub set_by: BTreeMap<String, Spanned<BTreeMap<String, Values>>>,
    /// How to undo an online level: SQL, or `server.restart`.
    pub undo: Option<OneOrMany<String>>,
    /// SQL by name, substituted for `{NAME}` in levels.
    #[serde(default)]
    pub prefix: BTreeMap<String, String>,
    /// A query; its result is kept with the trial.
    pub verify: Option<String>,
    /// Settings that intentionally change with it.
    #[serde(default)]
    pub implies: Vec<String>,
    /// The level that equals the unchanged server.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub base: Option<Spanned<String>>,
    /// The size of the file systems created for it.
    pub size: Option<Size>,
    /// All levels of the file, if a scale selected some: they can still be used in `like`.
    #[serde(default, rename = "levels of the file")]
    #[cfg_attr(test, schemars(skip))]
    pub reserve: Vec<Level>,
}

/// Which trials to run, in which order.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The factors to cross; all by default.
    #[cfg_attr(test, schemars(with = "Option<Vec<String>>"))]
    pub cross: Option<Vec<Spanned<String>>>,
    /// Only these cells.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<PlainWhere>"))]
    pub list: Vec<Where>,
    /// Factors that change slowest, outermost first; within them the others go up and down.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub nest: Vec<Spanned<String>>,
    /// A factor with two levels; their trials run next to each other.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub pair: Option<Spanned<String>>,
    /// A factor with two levels; their trials run as the two sides of a duet.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub duet: Option<Spanned<String>>,
    /// The order of trials.
    #[serde(default)]
    pub order: Order,
    /// The cells to compare the others with.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "PlainWhere"))]
    pub baseline: Where,
    /// Also run the baseline first, in the middle and last in each block.
    #[serde(default)]
    pub bracket: bool,
    /// The number of blocks.
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub repeats: Option<Spanned<u32>>,
    /// Repeat until ratios reach this precision.
    pub precision: Option<Scalar>,
    /// The number of extra trials of the baseline.
    #[serde(default)]
    pub aa: u32,
    /// The time limit of the experiment.
    pub budget: Option<Time>,
    /// Measure the best cell again.
    #[serde(default)]
    pub rerun_best: bool,
    /// The largest number of blocks.
    pub max_blocks: Option<u32>,
    /// The seed of the random order.
    #[serde(default)]
    pub seed: u64,
}

/// The order of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Each repeat is a block of all cells, in a new random order.
    #[default]
    Random,
    /// All repeats of a cell are consecutive; cells are in random order.
    Blocks,
    /// The order of the file.
    Listed,
}

/// What to reset before each trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// How to reset the data.
    pub data: Option<ResetData>,
    /// Whether to drop the page cache.
    pub page_cache: Option<PageCache>,
    /// Trim the device.
    #[serde(default)]
    pub trim: bool,
    /// The pause after the reset.
    pub settle: Option<Settle>,
}

/// How to reset the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ResetData {
    /// Restore the image.
    Restore,
    /// Empty it.
    Empty,
    /// Keep it.
    Keep,
}

/// What to do with the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PageCache {
    /// Drop it.
    Drop,
    /// Keep it.
    Keep,
}

/// A pause before measuring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(
    untagged,
    expecting = "expected a time such as 30s, or { until, at_most }"
)]
pub enum Settle {
    /// A fixed time.
    Time(Time),
    /// Until the server is quiet.
    Until {
        /// The condition to wait for.
        until: Quiet,
        /// The maximum time to wait.
        at_most: Time,
    },
}

/// The condition to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Quiet {
    /// No background work is left.
    Quiet,
}
