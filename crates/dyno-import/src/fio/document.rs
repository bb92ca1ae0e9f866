//! The fields of fio's JSON that are read (`--output-format=json` and `json+`, versions 2 to 3).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One document: printed at the end, or during the run with `--status-interval`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Document {
    #[serde(rename = "fio version", default)]
    pub(super) version: String,
    /// When it was printed, milliseconds since 1970.
    #[serde(default)]
    pub(super) timestamp_ms: Option<u64>,
    #[serde(rename = "global options", default)]
    pub(super) options: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) jobs: Vec<Job>,
    /// Used instead of `jobs` if fio was the client of fio servers: their jobs, then the sum of
    /// all.
    #[serde(default)]
    client_stats: Vec<Job>,
    /// The total number of I/Os of all clients, if printed.
    #[serde(skip)]
    pub(super) all_clients: Option<u64>,
    #[serde(default)]
    pub(super) disk_util: Vec<Disk>,
}

/// A job, or with `group_reporting` all jobs of a group: the entry then has the first job's name
/// and the last job's options.
#[derive(Clone, Deserialize)]
pub(super) struct Job {
    #[serde(default)]
    pub(super) jobname: String,
    /// Its host, in a client's document.
    #[serde(default)]
    pub(super) hostname: Option<String>,
    #[serde(default)]
    pub(super) groupid: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) error: i64,
    /// Printed with `continue_on_error`.
    #[serde(default)]
    pub(super) total_err: Option<u64>,
    /// When it began, milliseconds since 1970; since version 3.36.
    #[serde(default)]
    pub(super) job_start: Option<u64>,
    #[serde(rename = "job options", default)]
    pub(super) options: BTreeMap<String, Value>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) read: Direction,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) write: Direction,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) trim: Direction,
    /// All directions together, with `unified_rw_reporting`.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) mixed: Direction,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) sync: Sync,
    #[serde(default)]
    pub(super) steadystate: Option<SteadyState>,
    /// Percent of a CPU.
    #[serde(default)]
    pub(super) usr_cpu: Option<f64>,
    #[serde(default)]
    pub(super) sys_cpu: Option<f64>,
}

/// fio's result of its steady-state detection, if requested.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SteadyState {
    /// The requested criterion: `iops:5%`.
    #[serde(default)]
    pub(super) ss: String,
    #[serde(default)]
    pub(super) attained: u8,
    /// The value at the end.
    #[serde(default)]
    pub(super) criterion: Value,
}

/// The I/O in one direction.
#[derive(Clone, Default, Deserialize)]
pub(super) struct Direction {
    /// Since version 3; before that there is `bw` in KiB.
    #[serde(default)]
    pub(super) bw_bytes: Option<f64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) bw: f64,
    /// Bytes since version 3.
    #[serde(default)]
    pub(super) io_bytes: Option<f64>,
    /// Since version 3.
    #[serde(default)]
    pub(super) io_kbytes: Option<f64>,
    #[serde(rename = "iops", default)]
    printed_iops: Option<f64>,
    /// As printed, or computed.
    #[serde(skip)]
    pub(super) iops: f64,
    /// The extremes over the samples of a job, each half a second.
    #[serde(default)]
    pub(super) iops_min: Option<f64>,
    #[serde(default)]
    pub(super) iops_max: Option<f64>,
    #[serde(rename = "runtime", default)]
    printed_runtime: Option<u64>,
    /// Milliseconds, as printed or computed.
    #[serde(skip)]
    pub(super) runtime: u64,
    /// Since version 2.1.11.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) total_ios: u64,
    /// Names of figures that fio did not print, computed from the others.
    #[serde(skip)]
    pub(super) computed: Vec<&'static str>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) short_ios: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) drop_ios: u64,
    /// From submission to completion, nanoseconds.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) clat_ns: Latency,
    /// From the start of submission to completion, nanoseconds.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) lat_ns: Latency,
    /// Microseconds, in versions before 3.
    #[serde(default)]
    pub(super) clat: Option<Latency>,
}

/// fsync and its relatives.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Sync {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) total_ios: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) lat_ns: Latency,
}

/// Statistics that the log lacks are not finite.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Latency {
    #[serde(default = "unknown", deserialize_with = "or_unknown")]
    pub(super) min: f64,
    #[serde(default = "unknown", deserialize_with = "or_unknown")]
    pub(super) max: f64,
    #[serde(default = "unknown", deserialize_with = "or_unknown")]
    pub(super) mean: f64,
    #[serde(default = "unknown", deserialize_with = "or_unknown")]
    pub(super) stddev: f64,
    #[serde(rename = "N", default, deserialize_with = "or_default")]
    pub(super) count: u64,
    #[serde(default, deserialize_with = "known")]
    pub(super) percentile: BTreeMap<String, f64>,
    /// Count by nanoseconds; `json+` only.
    #[serde(default, deserialize_with = "known")]
    pub(super) bins: BTreeMap<String, u64>,
}

/// A value, or its default for null.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

fn unknown() -> f64 {
    f64::NAN
}

fn or_unknown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or_else(unknown))
}

/// The values that are not null.
fn known<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let all = Option::<BTreeMap<String, Option<T>>>::deserialize(deserializer)?;
    let known = |(name, value): (String, Option<T>)| Some((name, value?));
    Ok(all.into_iter().flatten().filter_map(known).collect())
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Disk {
    pub(super) name: String,
    /// Percent.
    #[serde(default)]
    pub(super) util: Option<f64>,
}

impl Document {
    /// The document with all its jobs in `jobs` and each I/O counted once.
    pub(super) fn settled(mut self) -> Self {
        const SUM: &str = "All clients";
        if self.jobs.is_empty() {
            let all = std::mem::take(&mut self.client_stats);
            let (sum, jobs): (Vec<Job>, _) = all.into_iter().partition(|job| job.jobname == SUM);
            self.jobs = jobs;
            self.all_clients = sum.first().map(Job::ios);
        }
        for job in &mut self.jobs {
            for own in [&mut job.read, &mut job.write, &mut job.trim, &mut job.mixed] {
                own.complete();
            }
            let apart = [&job.read, &job.write, &job.trim];
            // `unified_rw_reporting=both` also prints their sum.
            if apart.iter().any(|own| own.total_ios > 0) {
                job.mixed = Direction::default();
            }
        }
        self
    }
}

impl Job {
    pub(super) fn directions(&self) -> [(&'static str, &Direction); 4] {
        [
            ("read", &self.read),
            ("write", &self.write),
            ("trim", &self.trim),
            ("mixed", &self.mixed),
        ]
    }

    /// The latencies of its syncs.
    pub(super) fn sync_latency(&self) -> Latency {
        self.sync.lat_ns.clone().counted(self.sync.total_ios)
    }

    /// I/Os in all directions.
    pub(super) fn ios(&self) -> u64 {
        let all = self.directions().into_iter();
        all.fold(0, |sum, (_, one)| sum.saturating_add(one.total_ios))
    }

    pub(super) fn runtime_ms(&self) -> u64 {
        let all = self.directions().map(|(_, one)| one.runtime);
        all.into_iter().max().unwrap_or(0)
    }

    /// An option of the job, or a global one.
    pub(super) fn option<'a>(&'a self, global: &'a Document, name: &str) -> Option<&'a Value> {
        self.options.get(name).or_else(|| global.options.get(name))
    }

    pub(super) fn number(&self, global: &Document, name: &str) -> Option<u64> {
        match self.option(global, name)? {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        }
    }

    /// Number of jobs in the entry.
    pub(super) fn count(&self, global: &Document, of_name: usize) -> u32 {
        let count = self.number(global, "numjobs");
        // Without group_reporting each job has an entry.
        let count = count.unwrap_or(1).max(1) / of_name.max(1) as u64;
        u32::try_from(count.max(1)).unwrap_or(1)
    }
}

/// Runs are identified by a hash of this output: exclude fields that earlier versions did not read,
/// and keep the order.
impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Job");
        debug
            .field("jobname", &self.jobname)
            .field("groupid", &self.groupid)
            .field("error", &self.error)
            .field("job_start", &self.job_start)
            .field("options", &self.options)
            .field("read", &self.read)
            .field("write", &self.write)
            .field("trim", &self.trim)
            .field("sync", &self.sync)
            .field("usr_cpu", &self.usr_cpu)
            .field("sys_cpu", &self.sys_cpu);
        if let Some(host) = &self.hostname {
            debug.field("hostname", host);
        }
        if self.mixed.total_ios > 0 {
            debug.field("mixed", &self.mixed);
        }
        debug.finish()
    }
}

impl fmt::Debug for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direction")
            .field("bw_bytes", &self.bw_bytes)
            .field("bw", &self.bw)
            .field("iops", &self.iops)
            .field("runtime", &self.runtime)
            .field("total_ios", &self.total_ios)
            .field("short_ios", &self.short_ios)
            .field("drop_ios", &self.drop_ios)
            .field("clat_ns", &self.clat_ns)
            .field("lat_ns", &self.lat_ns)
            .field("clat", &self.clat)
            .finish()
    }
}

impl Direction {
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.bw_bytes.unwrap_or(self.bw * 1024.0)
    }

    /// Computes what fio did not print from the rest: the number of I/Os, their rate, or the time.
    fn complete(&mut self) {
        const MS_PER_S: f64 = 1000.0;
        self.iops = self.printed_iops.unwrap_or(0.0);
        self.runtime = self.printed_runtime.unwrap_or(0);
        let implied = self.iops * self.runtime as f64 / MS_PER_S;
        if self.total_ios == 0 && implied.is_finite() && implied >= 1.0 {
            self.total_ios = implied.round() as u64;
            self.computed.push("the number of I/Os");
        }
        let ios = self.total_ios as f64;
        if self.printed_iops.is_none() && ios > 0.0 && self.runtime > 0 {
            self.iops = ios * MS_PER_S / self.runtime as f64;
            self.computed.push("the rate of I/Os");
        }
        if self.printed_runtime.is_none() && ios > 0.0 && self.iops > 0.0 {
            self.runtime = (ios * MS_PER_S / self.iops).round().max(1.0) as u64;
            self.computed.push("the time of I/Os");
        }
    }

    /// Submission to completion in nanoseconds in all versions. Includes submission if only those
    /// latencies have percentiles.
    pub(super) fn latency(&self) -> Latency {
        const NS_PER_US: f64 = 1000.0;
        if let Some(us) = self.clat.as_ref().filter(|_| !self.clat_ns.is_known()) {
            let percentile = us.percentile.iter();
            return Latency {
                min: us.min * NS_PER_US,
                max: us.max * NS_PER_US,
                mean: us.mean * NS_PER_US,
                stddev: us.stddev * NS_PER_US,
                // These versions do not print it.
                count: self.total_ios,
                percentile: percentile
                    .map(|(p, us)| (p.clone(), us * NS_PER_US))
                    .collect(),
                bins: BTreeMap::new(),
            };
        }
        match self.clat_ns.is_known() && !self.with_submission() {
            true => self.clat_ns.clone().counted(self.total_ios),
            false => self.lat_ns.clone().counted(self.total_ios),
        }
    }

    /// Whether only the latencies including submission have percentiles, as with
    /// `clat_percentiles=0 lat_percentiles=1`.
    pub(super) fn with_submission(&self) -> bool {
        self.clat_ns.is_known() && !self.clat_ns.is_spread() && self.lat_ns.is_spread()
    }
}

impl Latency {
    /// Whether it has figures. Versions 3.0 to 3.18 do not print the number of latencies.
    fn is_known(&self) -> bool {
        self.count > 0 || self.max > 0.0 || self.is_spread()
    }

    /// Whether it has percentiles or a full distribution.
    fn is_spread(&self) -> bool {
        !self.percentile.is_empty() || !self.bins.is_empty()
    }

    /// Sets the count, if fio did not print one: to the sum of the bins, or else to `ios`.
    fn counted(mut self, ios: u64) -> Self {
        if self.count == 0 && self.is_known() {
            let bins = self.bins.values();
            let bins = bins.fold(0_u64, |sum, one| sum.saturating_add(*one));
            self.count = if bins > 0 { bins } else { ios };
        }
        self
    }
}
