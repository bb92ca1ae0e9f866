//! The figures of one phase.

use dyno_core::record::RunRecord;
use dyno_core::summary::RoleSummary;

const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;
const GB: f64 = 1e9;

/// What a column of metrics is called, and what it is.
pub(super) const NAMES: [(&str, &str); 22] = [
    ("ips", "rows inserted per second"),
    ("qps", "queries per second"),
    ("rps", "reads from disks per second"),
    ("rmbps", "MiB read from disks per second"),
    ("wps", "writes to disks per second"),
    ("wmbps", "MiB written to disks per second"),
    ("rpq", "reads per operation"),
    ("rkbpq", "KiB read per operation"),
    ("wpi", "writes per row inserted"),
    ("wkbpi", "KiB written per row inserted"),
    ("csps", "context switches of the host per second"),
    ("cpups", "percent of the host's CPU time, user and system"),
    ("cspq", "context switches per operation"),
    (
        "cpupq",
        "µs of the host's CPU time per operation, client included",
    ),
    ("dbgb1", "GB of data files at the end"),
    ("dbgb2", "GB of the data directory at the end"),
    ("rss", "GB of memory of the server at the end"),
    ("maxop", "the longest main operation, in seconds"),
    (
        "rate_p50",
        "operations per second and client reached in half of the seconds",
    ),
    ("rate_p01", "the same reached in 99 % of the seconds"),
    ("stalls", "seconds with at most 5 % of the median rate"),
    ("length", "seconds measured"),
];

/// One phase with what its tables need.
pub(super) struct Phase<'a> {
    pub(super) run: &'a RunRecord,
}

impl<'a> Phase<'a> {
    pub(super) fn name(&self) -> &'a str {
        self.run.head.phase.as_ref().map_or("", |phase| &phase.name)
    }

    pub(super) fn unit(&self) -> &'a str {
        let phase = self.run.head.phase.as_ref();
        phase.map_or("events", |phase| &phase.unit)
    }

    /// The main operation's rate, in the phase's unit.
    pub(super) fn rate(&self) -> Option<f64> {
        let rates = self.run.summary.as_ref()?.rates;
        let phase = self.run.head.phase.as_ref();
        let events_per_s = rates.events_per_s;
        Some(phase.map_or(events_per_s, |phase| phase.rate(events_per_s)))
    }

    pub(super) fn roles(&self) -> &'a [RoleSummary] {
        let summary = self.run.summary.as_ref();
        summary.map_or(&[][..], |summary| &summary.roles)
    }

    /// The background role that has a pace of its own.
    pub(super) fn paced(&self) -> Option<&'a RoleSummary> {
        let mut roles = self.roles().iter();
        roles.find(|role| role.background && role.asked_per_s.is_some())
    }

    /// Whether the background did less than 95 % of what it was asked for.
    pub(super) fn missed(&self) -> bool {
        let share = self.paced().and_then(RoleSummary::achieved_share);
        share.is_some_and(|share| share < 0.95)
    }

    fn inserted_per_s(&self) -> Option<f64> {
        if self.unit() == "rows" {
            return self.rate();
        }
        let paced = self.paced().filter(|role| role.unit == "rows")?;
        Some(paced.events_per_s * paced.per_event)
    }

    fn mean(&self, series: &str) -> Option<f64> {
        let measured_s = self.run.summary.as_ref()?.measured_s;
        self.run.series(series)?.mean(0.0, measured_s)
    }

    /// The sum over all disks.
    fn disks(&self, what: &str) -> Option<f64> {
        let measured_s = self.run.summary.as_ref()?.measured_s;
        let end = format!("].{what}");
        let all = self.run.series.iter();
        let of = all.filter(|series| {
            series.key.name.starts_with("host.disk[") && series.key.name.ends_with(&end)
        });
        of.filter_map(|series| series.mean(0.0, measured_s))
            .reduce(|a, b| a + b)
    }

    /// The last value of a series within the measurement, or soon after.
    pub(super) fn last(&self, series: &str) -> Option<f64> {
        let points = &self.run.series(series)?.points;
        points.last().map(|(_, value)| *value)
    }

    /// Rates per second and client, in the phase's unit, of each whole interval.
    pub(super) fn course(&self) -> Vec<f64> {
        let Some(summary) = &self.run.summary else {
            return Vec::new();
        };
        let foreground = self.roles().iter().filter(|role| !role.background);
        let clients = foreground.map(|role| f64::from(role.sessions)).sum::<f64>();
        let clients = clients.max(1.0);
        let phase = self.run.head.phase.as_ref();
        let per_event = phase.map_or(1.0, |phase| phase.per_event);
        let usual = summary
            .drive
            .as_ref()
            .map_or(1.0, |drive| drive.interval.as_secs_f64());
        let whole = (self.run.intervals.iter())
            .filter(|interval| interval.at_s > 0.0 && interval.at_s <= summary.measured_s + 0.5)
            .filter(|interval| interval.length_s > usual * 0.9);
        whole
            .map(|interval| {
                interval.counters.events as f64 / interval.length_s * per_event / clients
            })
            .collect()
    }

    /// The figures of [`NAMES`].
    pub(super) fn metrics(&self) -> Vec<Option<f64>> {
        let rate = self.rate().filter(|rate| *rate > 0.0);
        let inserted = self.inserted_per_s();
        let per = |value: Option<f64>, of: Option<f64>| Some(value? / of.filter(|of| *of > 0.0)?);
        let (reads, writes) = (self.disks("reads"), self.disks("writes"));
        let (read, written) = (self.disks("read_bytes"), self.disks("write_bytes"));
        let switches = self.mean("host.context_switches");
        let cpu = self.mean("host.cpu.user").zip(self.mean("host.cpu.system"));
        let cpu = cpu.map(|(user, system)| user + system);
        let threads = self.run.fact("host.cpu.threads");
        let threads = threads.and_then(|text| text.parse::<f64>().ok());
        let cpu_us = cpu.zip(threads).map(|(cpu, n)| cpu / 100.0 * n * 1e6);
        let summary = self.run.summary.as_ref();
        let mut course = self.course();
        course.sort_by(|a, b| b.total_cmp(a));
        let reached = |share: f64| {
            let place = (course.len() as f64 * share).ceil() as usize;
            course.get(place.checked_sub(1)?).copied()
        };
        let queries = (self.unit() == "queries").then(|| self.rate()).flatten();
        let stalls = reached(0.5)
            .map(|median| course.iter().filter(|rate| **rate <= median * 0.05).count() as f64);
        let gb = |name| self.last(name).map(|bytes| bytes / GB);
        vec![
            inserted,
            queries,
            reads,
            read.map(|bytes| bytes / MIB),
            writes,
            written.map(|bytes| bytes / MIB),
            per(reads, rate),
            per(read.map(|bytes| bytes / KIB), rate),
            per(writes, inserted),
            per(written.map(|bytes| bytes / KIB), inserted),
            switches,
            cpu,
            per(switches, rate),
            per(cpu_us, rate),
            gb("data.data"),
            gb("data.total"),
            gb("server.memory.rss"),
            summary.map(|summary| summary.service.max_ms / 1e3),
            reached(0.5),
            reached(0.99),
            stalls,
            summary.map(|summary| summary.measured_s),
        ]
    }
}
