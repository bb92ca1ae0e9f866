//! One run's output of sysbench, before it becomes a record. `None` means it was not printed.

use dyno_core::catalogue::names;
use dyno_core::plan::RandPlan;

use crate::civil::Moment;
use crate::identity::LogHash;

/// One run's output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// The log's name and the first line that belongs to the run.
    pub(crate) file: String,
    pub(crate) line: usize,
    /// `1.0.20`.
    pub(crate) version: Option<String>,
    /// The command line, if the log shows it, without secrets.
    pub(crate) argv: Vec<String>,
    pub(crate) threads: Option<u32>,
    pub(crate) report_interval_s: Option<f64>,
    pub(crate) warmup_s: Option<f64>,
    pub(crate) rate_per_s: Option<f64>,
    pub(crate) seed: Option<u64>,
    /// A file test syncs each write, and both are one event.
    pub(crate) syncs_each_write: bool,
    /// Printed before the statistics.
    pub(crate) unfinished: Option<u64>,
    /// The distribution of keys as versions before 0.5 print it.
    pub(crate) rand: Option<RandPlan>,
    /// The number of files of a file test.
    pub(crate) files: Option<u64>,
    /// The size of a request, in file and memory tests.
    pub(crate) block_bytes: Option<f64>,
    /// The test according to the output itself: `cpu`, `fileio`, `memory`, `oltp`.
    pub(crate) kind: Option<&'static str>,
    /// Whether `Threads started!` was printed.
    pub(crate) began: bool,
    /// When the measurement began, from timestamps on its lines.
    pub(crate) started: Option<Moment>,
    /// The last time in the log before the run, e.g. the output of `date`.
    pub(crate) moment_before: Option<Moment>,
    pub(crate) points: Vec<Point>,
    pub(crate) throughput: Vec<Throughput>,
    /// The checkpoints' reports with their times; each begins where the previous one ended.
    pub(crate) checkpoints: Vec<(f64, Report)>,
    pub(crate) report: Option<Report>,
    /// (milliseconds, count), lowest first, unless the log has another order.
    pub(crate) histogram: Vec<(f64, u64)>,
    /// Why the histogram may lack latencies.
    pub(crate) histogram_lacks: Option<&'static str>,
    /// Why the printed histogram is left out.
    pub(crate) histogram_left_out: Option<&'static str>,
    /// Error messages of sysbench: (seconds, text).
    pub(crate) complaints: Vec<(f64, String)>,
    /// The source of the intermediate figures, e.g. `report line`.
    pub(crate) points_from: &'static str,
    /// All of the run's lines, for its name.
    pub(crate) digest: LogHash,
    pub(crate) warnings: Vec<(Option<usize>, String)>,
}

/// One intermediate report. Rates are per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) line: usize,
    /// Seconds from the start of the measurement.
    pub(crate) at_s: f64,
    pub(crate) threads: Option<u32>,
    pub(crate) tps: Option<f64>,
    pub(crate) reads: Option<f64>,
    pub(crate) writes: Option<f64>,
    pub(crate) other: Option<f64>,
    /// All statements, if kinds are not listed separately.
    pub(crate) queries: Option<f64>,
    pub(crate) latencies: Vec<PrintedPercentile>,
    pub(crate) errors: Option<f64>,
    pub(crate) reconnects: Option<f64>,
    pub(crate) queue: Option<u64>,
    pub(crate) concurrency: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PrintedPercentile {
    /// The percentile; `None` if the log does not name it.
    pub(crate) percent: Option<f64>,
    pub(crate) ms: f64,
}

/// One intermediate report of fileio or memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Throughput {
    pub(crate) at_s: f64,
    pub(crate) read_bytes: Option<f64>,
    pub(crate) write_bytes: Option<f64>,
    pub(crate) fsyncs: Option<f64>,
    pub(crate) memory_bytes: Option<f64>,
    pub(crate) latency: Option<PrintedPercentile>,
    pub(crate) line: usize,
}

/// A count and its printed rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    pub(crate) count: u64,
    pub(crate) per_s: Option<f64>,
}

/// The statistics at the end of a run, or at a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// Lines with known labels but impossible values.
    pub(crate) unreadable: Vec<String>,
    /// Whether it has the wording of versions before 1.0.
    pub(crate) is_old: bool,
    pub(crate) line: usize,
    pub(crate) reads: Option<u64>,
    pub(crate) writes: Option<u64>,
    pub(crate) other: Option<u64>,
    pub(crate) total: Option<u64>,
    pub(crate) transactions: Option<Counted>,
    pub(crate) queries: Option<Counted>,
    pub(crate) errors: Option<Counted>,
    pub(crate) reconnects: Option<Counted>,
    pub(crate) total_time_s: Option<f64>,
    pub(crate) events: Option<u64>,
    pub(crate) events_per_s: Option<f64>,
    pub(crate) min_ms: Option<f64>,
    pub(crate) avg_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
    pub(crate) sum_ms: Option<f64>,
    /// (percent, milliseconds).
    pub(crate) percentiles: Vec<(f64, f64)>,
    pub(crate) percentiles_disabled: bool,
    /// Mean and population standard deviation over threads.
    pub(crate) events_spread: Option<(f64, f64)>,
    pub(crate) time_spread: Option<(f64, f64)>,
    pub(crate) unfinished: Option<u64>,
    /// The operations of a memory test.
    pub(crate) operations: Option<Counted>,
    /// Operations of all kinds in a file test of versions before 1.0.
    pub(crate) file_operations: Option<u64>,
    /// The MiB that a file test read and wrote, in versions before 1.0.
    pub(crate) read_mib: Option<f64>,
    pub(crate) written_mib: Option<f64>,
    /// The MiB that a memory or file test transferred.
    pub(crate) transferred_mib: Option<f64>,
    pub(crate) transferred_mib_per_s: Option<f64>,
    /// Figures that only some tests print: (name of the fact, value, label in the log).
    pub(crate) figures: Vec<(&'static str, f64, &'static str)>,
}

impl Point {
    /// Whether it has reads or writes, but neither other statements nor all of them, as the lines
    /// of sysbench 0.5.
    pub(crate) fn lacks_other(&self) -> bool {
        let some = self.reads.is_some() || self.writes.is_some();
        some && self.other.is_none() && self.queries.is_none()
    }
}

impl Report {
    /// Events: transactions of SQL tests.
    pub(crate) fn events(&self) -> Option<u64> {
        self.events
            .or(self.transactions.map(|counted| counted.count))
    }

    /// Statements of all kinds, if known.
    pub(crate) fn statements(&self) -> Option<u64> {
        let parts = || {
            let sum = self.reads?.checked_add(self.writes?)?;
            sum.checked_add(self.other?)
        };
        let queries = self.queries.map(|counted| counted.count);
        self.total.or(queries).or_else(parts)
    }

    /// Whether it has a count for any kind of statement.
    pub(crate) fn has_kinds(&self) -> bool {
        [self.reads, self.writes, self.other]
            .iter()
            .any(Option::is_some)
    }

    /// Whether it has counts for all kinds.
    pub(crate) fn has_all_kinds(&self) -> bool {
        [self.reads, self.writes, self.other]
            .iter()
            .all(Option::is_some)
    }

    /// The length of the run: as printed, or as implied by a count and its rate.
    pub(crate) fn time_s(&self) -> Option<f64> {
        let printed = self.total_time_s.filter(|seconds| *seconds > 0.0);
        printed.or_else(|| self.implied_time_s())
    }

    /// One of [`Report::figures`].
    pub(crate) fn named(&self, name: &str) -> Option<f64> {
        let mut all = self.figures.iter();
        all.find(|(own, ..)| *own == name)
            .map(|(_, value, _)| *value)
    }

    /// Adds the rates of bytes that a file test of versions before 1.0 read and wrote.
    pub(crate) fn divide_bytes(&mut self) {
        let Some(time_s) = self.total_time_s.filter(|seconds| *seconds > 0.0) else {
            return;
        };
        for (mib, name, label) in [
            (self.read_mib, names::IMPORT_FILEIO_READ_MIB_PER_S, "Read"),
            (
                self.written_mib,
                names::IMPORT_FILEIO_WRITTEN_MIB_PER_S,
                "Written",
            ),
        ] {
            let per_s = mib.map(|mib| (mib / time_s * 1e3).round() / 1e3);
            self.figures.extend(per_s.map(|per_s| (name, per_s, label)));
        }
    }

    /// The rate of events as printed.
    pub(crate) fn events_per_s(&self) -> Option<f64> {
        let transactions = self.transactions.and_then(|counted| counted.per_s);
        transactions.or(self.events_per_s)
    }

    /// The time implied by a count and its printed rate, from the pair with the larger count, which
    /// has the smaller rounding error.
    pub(crate) fn implied_time_s(&self) -> Option<f64> {
        let eps = match (self.events, self.events_per_s) {
            (Some(count), Some(per_s)) => Some(Counted {
                count,
                per_s: Some(per_s),
            }),
            _ => None,
        };
        [self.transactions, self.queries, eps]
            .into_iter()
            .flatten()
            .filter_map(|counted| counted.per_s.map(|per_s| (counted.count, per_s)))
            .filter(|&(count, per_s)| count > 0 && per_s > 0.0)
            .max_by_key(|&(count, _)| count)
            .map(|(count, per_s)| count as f64 / per_s)
    }
}

impl Draft {
    pub(crate) fn has_figures(&self) -> bool {
        !self.points.is_empty()
            || !self.throughput.is_empty()
            || !self.histogram.is_empty() && self.histogram_lacks.is_none()
            || !self.checkpoints.is_empty()
            || self
                .report
                .as_ref()
                .is_some_and(|report| report.events().is_some() || report.total_time_s.is_some())
    }

    /// All events of a run with statistics, also those before checkpoints.
    pub(crate) fn events(&self) -> Option<u64> {
        let parts = self.checkpoints.iter().map(|(_, report)| report);
        let mut parts = parts.chain([self.report.as_ref()?]);
        parts.try_fold(0_u64, |sum, part| sum.checked_add(part.events()?))
    }

    /// Converts the throughput of file and memory tests to points, if the size of a request is
    /// known: each of their events is one request.
    pub(crate) fn count_requests(&mut self) {
        let Some(block) = self.block_bytes.filter(|bytes| *bytes > 0.0) else {
            return;
        };
        if !self.points.is_empty() {
            return;
        }
        let with_writes = self.syncs_each_write;
        let point = |one: &Throughput| {
            let bytes = [one.read_bytes, one.write_bytes, one.memory_bytes];
            let bytes: f64 = bytes.iter().flatten().sum();
            Point {
                line: one.line,
                at_s: one.at_s,
                tps: Some(bytes / block + one.fsyncs.filter(|_| !with_writes).unwrap_or(0.0)),
                latencies: one.latency.into_iter().collect(),
                ..Point::default()
            }
        };
        self.points = self.throughput.iter().map(point).collect();
        self.points_from = "report lines";
    }

    /// The time of its last data, seconds from the start of the measurement.
    pub(crate) fn last_s(&self) -> f64 {
        let point = self.points.last().map_or(0.0, |point| point.at_s);
        let throughput = self.throughput.last().map_or(0.0, |point| point.at_s);
        point.max(throughput)
    }
}

/// Rows with absolute times begin at zero; the first of them ends an interval as long as the
/// second.
pub(crate) fn end_first_interval(draft: &mut Draft) {
    let [first, second, ..] = draft.points.as_slice() else {
        return;
    };
    if first.at_s != 0.0 {
        return;
    }
    let length_s = second.at_s;
    for point in &mut draft.points {
        point.at_s += length_s;
    }
    if let Some(started) = &mut draft.started {
        started.seconds -= length_s;
    }
}
