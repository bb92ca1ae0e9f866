//! An experiment as its file has it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::level::Level;
use super::reports::{Claim, Disturb, Plot, Probe, Table};
use super::values::{OneOrMany, Rate, Scalar, Size, Time};

/// Names with values.
pub type Values = BTreeMap<String, Scalar>;
/// Levels by factor: which cells are meant.
pub type Where = BTreeMap<String, Spanned<OneOrMany<Scalar>>>;
/// The same, as the schema has it.
pub(crate) type PlainWhere = BTreeMap<String, OneOrMany<Scalar>>;

/// An experiment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The version of this grammar: 1.
    #[schemars(with = "u32")]
    pub experiment: Spanned<u32>,
    /// What is to be found out.
    pub question: String,
    /// Where it comes from.
    pub cite: Option<String>,
    /// The server of every trial.
    #[serde(default)]
    pub server: Server,
    /// What is loaded before.
    #[serde(default)]
    pub data: Data,
    /// What runs while measuring.
    #[serde(default)]
    pub load: Load,
    /// What is varied.
    #[serde(default, rename = "factor")]
    pub factors: Vec<Factor>,
    /// Which trials, in which order.
    #[serde(default)]
    pub design: Design,
    /// What is put back before trials.
    #[serde(default)]
    pub reset: Reset,
    /// What is observed beside the usual.
    #[serde(default)]
    pub observe: Observe,
    /// The load generators that share each trial's load; without any it is this process.
    #[schemars(with = "Option<Agents>")]
    pub agents: Option<Spanned<Agents>>,
    /// Small operations at a fixed rate.
    #[serde(default, rename = "probe")]
    pub probes: Vec<Probe>,
    /// What is done to the servers meanwhile.
    #[serde(default, rename = "disturb")]
    pub disturbances: Vec<Disturb>,
    /// The report's tables.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
    /// The report's plots.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
    /// What was said before, to be checked.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Prices: `date`, `hours_per_month`, `nodes`, and components by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub price: BTreeMap<String, Spanned<toml::Value>>,
    /// The highest rate that keeps a limit, in place of a fixed load: "max rate with p99 < 10ms".
    #[schemars(with = "Option<String>")]
    pub search: Option<Spanned<String>>,
    /// Of which statements the server's plans are kept with each trial: `true` for those of the
    /// load.
    pub explain: Option<Explain>,
    /// Smaller versions of the experiment: values by dotted key.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>")]
    pub scale: BTreeMap<String, BTreeMap<String, toml::Value>>,
    /// Whether it was read in one of its scales.
    #[serde(skip)]
    pub is_scaled: bool,
}

/// The load generators that share the load of each trial, as `dyno run` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    /// Who they are: `local:2`, `ssh:gen1`, `ssh:gen2=3` with three parts, or the names of those
    /// that join the bus.
    pub hosts: Vec<String>,
    /// `fail` or `degrade`: what becomes of a trial that loses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_loss: Option<String>,
    /// `weights`, as the hosts say, or `capacity`: what the parts go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How Dyno is called on other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The NATS server that agents join, its key, and the authority of its certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
    /// The coordinator's key on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_key: Option<String>,
    /// The authority of its certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_ca: Option<String>,
}

impl Agents {
    /// The options of `dyno run` that say the same.
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

/// What is observed beside the usual: all else is, once a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Rate, rows and latency of each shape of statement, and the server's digests.
    #[serde(default)]
    pub statements: bool,
    /// Where the CPU time of server and client goes, sampled with `perf`.
    // Trials of experiments without it are the same as ever.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpu_profile: bool,
}

/// Of which statements the server's plans are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected true, a statement or a list of statements"
)]
pub enum Explain {
    /// Of those of the load, or of none.
    All(bool),
    /// Of these.
    Statements(OneOrMany<String>),
}

/// A server, whole or what a level changes of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// What runs in a sandbox, such as `mysql` or `mariadb-11.4`.
    pub kind: Option<String>,
    /// A server that runs already.
    pub url: Option<String>,
    /// How its nodes are tied.
    pub topology: Option<Topology>,
    /// How many nodes.
    pub nodes: Option<u32>,
    /// Where its programs are.
    pub basedir: Option<String>,
    /// Its settings.
    #[serde(default)]
    pub set: Values,
    /// Its plugins.
    #[serde(default)]
    pub plugins: Vec<String>,
    /// Variables of its environment, such as `LD_PRELOAD`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: Values,
    /// Files that it reads, by name; `{file NAME}` in a setting is the path of one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: Values,
    /// A proxy before it.
    pub proxy: Option<Values>,
}

/// How a server's nodes are tied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// What is loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The workload that loads it.
    pub workload: Option<String>,
    /// Its options.
    #[serde(default)]
    pub options: Values,
    /// The seed of its rows.
    pub seed: Option<u64>,
    /// Nothing is loaded.
    #[serde(default)]
    pub none: bool,
    /// How data come to another file system; whatever is quickest, unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<LoadedBy>,
}

/// How data come to another file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadedBy {
    /// The workload loads them there.
    Sql,
    /// Files are copied that were loaded elsewhere.
    Copy,
}

/// What runs while measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The workload.
    pub workload: Option<String>,
    /// Simulated users.
    pub sessions: Option<u32>,
    /// Clients of a workload that has steps.
    pub clients: Option<u32>,
    /// Arrivals per second: open loop.
    pub rate: Option<Rate>,
    /// How long before measuring.
    pub warmup: Option<Time>,
    /// How long is measured.
    pub time: Option<Time>,
    /// The workload's options.
    #[serde(default)]
    pub options: Values,
    /// Percentiles of the latency.
    #[serde(default)]
    pub percentiles: Vec<f64>,
    /// What is said of the caches.
    pub claim: Option<Cache>,
    /// No load but the probes.
    #[serde(default)]
    pub none: bool,
}

/// What is said of the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// By the sizes of memory and data.
    Auto,
    /// All data is in memory.
    InMemory,
    /// It is not.
    OnDisk,
}

/// What a factor's change costs, cheapest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Applies {
    /// New connections.
    Client,
    /// A statement on the running server.
    Online,
    /// A restart.
    Start,
    /// Data restored elsewhere.
    Place,
    /// Other data.
    Load,
}

impl Applies {
    /// The word of the grammar.
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

/// What is varied.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// What its change needs.
    pub applies: Applies,
    /// The setting that plain levels are values of.
    pub setting: Option<String>,
    /// Its levels.
    #[schemars(with = "Vec<Level>")]
    pub levels: Spanned<Vec<Spanned<Level>>>,
    /// Settings by another factor's level; `{level}` in them is this factor's.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, Values>>")]
    pub set_by: BTreeMap<String, Spanned<BTreeMap<String, Values>>>,
    /// What undoes an online level: SQL, or `server.restart`.
    pub undo: Option<OneOrMany<String>>,
    /// SQL by name, for `{NAME}` in levels.
    #[serde(default)]
    pub prefix: BTreeMap<String, String>,
    /// A query whose answer is kept with the trial.
    pub verify: Option<String>,
    /// Settings that move with it and are meant to.
    #[serde(default)]
    pub implies: Vec<String>,
    /// The level that is the server as it stands.
    #[schemars(with = "Option<String>")]
    pub base: Option<Spanned<String>>,
    /// The size of the file systems that are made for it.
    pub size: Option<Size>,
    /// All levels of the file, where a scale chose some: what these may be `like`.
    #[serde(default, rename = "levels of the file")]
    #[schemars(skip)]
    pub reserve: Vec<Level>,
}

/// Which trials, in which order.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The factors that are crossed; all, if left out.
    #[schemars(with = "Option<Vec<String>>")]
    pub cross: Option<Vec<Spanned<String>>>,
    /// Only these cells.
    #[serde(default)]
    #[schemars(with = "Vec<PlainWhere>")]
    pub list: Vec<Where>,
    /// Factors that change slowest, outermost first; within them the others go up and down.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub nest: Vec<Spanned<String>>,
    /// A factor of two levels that are neighbours in time.
    #[schemars(with = "Option<String>")]
    pub pair: Option<Spanned<String>>,
    /// The order of trials.
    #[serde(default)]
    pub order: Order,
    /// The cells that others are compared with.
    #[serde(default)]
    #[schemars(with = "PlainWhere")]
    pub baseline: Where,
    /// The baseline also first, in the middle and last in each block.
    #[serde(default)]
    pub bracket: bool,
    /// How many blocks.
    #[schemars(with = "Option<u32>")]
    pub repeats: Option<Spanned<u32>>,
    /// Repeat until ratios are as precise as this.
    pub precision: Option<Scalar>,
    /// Extra trials of the baseline.
    #[serde(default)]
    pub aa: u32,
    /// What all may take.
    pub budget: Option<Time>,
    /// The best is measured again.
    #[serde(default)]
    pub rerun_best: bool,
    /// At most so many blocks.
    pub max_blocks: Option<u32>,
    /// The seed of the order.
    #[serde(default)]
    pub seed: u64,
}

/// The order of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Each repeat is a block of all cells, in an order of its own.
    #[default]
    Random,
    /// A cell's repeats follow each other; cells in random order.
    Blocks,
    /// As in the file.
    Listed,
}

/// What is put back before trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// The data.
    pub data: Option<ResetData>,
    /// The page cache.
    pub page_cache: Option<PageCache>,
    /// Trims the device.
    #[serde(default)]
    pub trim: bool,
    /// The pause after it.
    pub settle: Option<Settle>,
}

/// How data is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResetData {
    /// From its image.
    Restore,
    /// To nothing.
    Empty,
    /// Not.
    Keep,
}

/// What becomes of the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PageCache {
    /// It is dropped.
    Drop,
    /// It is kept.
    Keep,
}

/// A pause before measuring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a time such as 30s, or { until, at_most }"
)]
pub enum Settle {
    /// So long.
    Time(Time),
    /// Until the server is quiet.
    Until {
        /// What is waited for.
        until: Quiet,
        /// No longer than this.
        at_most: Time,
    },
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quiet {
    /// Nothing is left to do in the background.
    Quiet,
}
