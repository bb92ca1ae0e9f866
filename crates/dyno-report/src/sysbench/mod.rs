//! sysbench's report, label by label, so that programs that parse it keep working. The formats are
//! those of release 1.0.20 and of the development branch (1.1.0). Each function returns whole lines
//! with their line ends.

mod file_mode;
mod histogram;
mod host;
mod intermediate;
mod report;
mod start;

pub use file_mode::{FileMode, file_mode, file_prepare, file_written};
pub use histogram::histogram;
pub use host::{
    FileCounts, MemoryMode, cpu_block, cpu_mode, file_block, file_latency, memory_block,
    memory_mode, mutex_mode, threads_mode,
};
pub use intermediate::{checkpoint, event_line, file_line, memory_line, queue_line, sql_line};
pub use report::{general_block, sql_block, thread_block};
pub use start::{Startup, StartupStep, stage, start};

use dyno_core::interval::{Counters, Latencies};

/// The version of the general block to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// 1.0.20: `General statistics:`.
    Release,
    /// 1.1.0: `Throughput:`.
    #[default]
    Master,
}

/// sysbench's `stat`: the input of its reports and hooks. Times and latencies are in seconds;
/// counts cover `time_interval`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    /// Running sessions.
    pub threads_running: u32,
    /// The time covered by the counts: since the last report of this kind.
    pub time_interval: f64,
    /// Since the start of the measurement.
    pub time_total: f64,
    /// The requested percentile; 0 if disabled.
    pub latency_pct: f64,
    /// Events.
    pub events: u64,
    /// Statements with a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// Other statements.
    pub other: u64,
    /// Ignored errors.
    pub errors: u64,
    /// Reconnects.
    pub reconnects: u64,
    /// With `--rate`: events due but not started.
    pub queue_length: u64,
    /// With `--rate`: events in progress.
    pub concurrency: u32,
    /// The shortest latency.
    pub latency_min: f64,
    /// The longest.
    pub latency_max: f64,
    /// Their mean.
    pub latency_avg: f64,
    /// Their sum.
    pub latency_sum: f64,
}

impl Stat {
    /// The counts and latencies of a measurement; the caller adds times, sessions and queue. In an
    /// open loop latency is the response time, because sysbench's includes its queue time.
    /// `percentile` is 0 (disabled) to 100.
    pub fn measured(counters: &Counters, latencies: &Latencies, percentile: u32) -> Self {
        let own = SysbenchLatencies::of(latencies);
        let count = own.histogram.len();
        let mut stat = Self {
            events: counters.events,
            reads: counters.reads,
            writes: counters.writes,
            other: counters.other,
            errors: counters.errors,
            reconnects: counters.reconnects,
            ..Self::default()
        };
        if count > 0 {
            let seconds = |ns: u64| ns as f64 / 1e9;
            stat.latency_min = seconds(own.ns_min);
            stat.latency_max = seconds(own.ns_max);
            stat.latency_sum = seconds(own.ns_sum);
            stat.latency_avg = stat.latency_sum / count as f64;
            if percentile > 0 {
                let ns = own
                    .histogram
                    .value_at_quantile(f64::from(percentile) / 100.0);
                stat.latency_pct = seconds(ns.clamp(own.ns_min, own.ns_max));
            }
        }
        stat
    }

    /// All statements.
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// A count per second of the interval.
    fn per_s(&self, count: u64) -> f64 {
        if self.time_interval > 0.0 {
            count as f64 / self.time_interval
        } else {
            0.0
        }
    }
}

/// The latencies in sysbench's definition.
struct SysbenchLatencies<'a> {
    histogram: &'a hdrhistogram::Histogram<u64>,
    ns_min: u64,
    ns_max: u64,
    ns_sum: u64,
}

impl<'a> SysbenchLatencies<'a> {
    fn of(latencies: &'a Latencies) -> Self {
        if latencies.response.is_empty() {
            Self {
                histogram: &latencies.service,
                ns_min: latencies.service_ns_min,
                ns_max: latencies.service_ns_max,
                ns_sum: latencies.service_ns_sum,
            }
        } else {
            Self {
                histogram: &latencies.response,
                ns_min: latencies.response_ns_min,
                ns_max: latencies.response_ns_max,
                ns_sum: latencies.response_ns_sum,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stat;
    use dyno_core::interval::{Counters, Latencies};

    #[test]
    fn latency_is_response_time_in_an_open_loop() {
        let counters = Counters {
            events: 2,
            reads: 3,
            writes: 2,
            other: 1,
            ..Counters::default()
        };
        let mut latencies = Latencies::default();
        latencies.record_service(1_000_000);
        latencies.record_service(3_000_000);
        let closed = Stat::measured(&counters, &latencies, 95);
        assert_eq!(closed.queries(), 6);
        assert_eq!(closed.latency_avg, 0.002);
        assert_eq!((closed.latency_min, closed.latency_max), (0.001, 0.003));
        assert_eq!((closed.latency_sum, closed.latency_pct), (0.004, 0.003));
        latencies.record_response(5_000_000);
        latencies.record_response(9_000_000);
        let open = Stat::measured(&counters, &latencies, 0);
        assert_eq!(open.latency_avg, 0.007);
        assert_eq!(open.latency_pct, 0.0);
    }

    #[test]
    fn nothing_measured_is_zero() {
        let stat = Stat::measured(&Counters::default(), &Latencies::default(), 95);
        assert_eq!(stat, Stat::default());
    }
}
