//! The figures of one phase.

use dyno_core::catalogue::{Family, names};
use dyno_core::record::RunRecord;
use dyno_core::summary::{IntervalSummary, LatencySummary, RoleSummary};

/// The rate that is reached in this share of the seconds, from rates in descending order.
fn reached(descending: &[f64], share: f64) -> Option<f64> {
    let place = (descending.len() as f64 * share).ceil() as usize;
    descending.get(place.checked_sub(1)?).copied()
}

const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;
pub(super) const GB: f64 = 1e9;

/// The series of deleted but unpurged data, with descriptions.
pub(super) const PURGE_LAGS: [(&str, &str, &str); 3] = [
    (
        names::DB_INNODB_HISTORY_LIST_LENGTH,
        "InnoDB's history list",
        "changes",
    ),
    (
        names::DB_TABLES_DEAD_TUPLES,
        "PostgreSQL's dead rows",
        "rows",
    ),
    (
        names::DB_OLDEST_XMIN_AGE,
        "PostgreSQL's oldest snapshot",
        "transactions",
    ),
];

/// Values older than this at the end of a phase, in seconds, do not represent its end.
const LATE_S: f64 = 5.0;

/// A phase with the data for its tables.
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

    /// The offered load of foreground events, in the phase's unit; `None` in a closed loop.
    pub(super) fn asked_per_s(&self) -> Option<f64> {
        let drive = self.run.summary.as_ref()?.drive.as_ref()?;
        let per_second = drive.open_loop?.per_second;
        let phase = self.run.head.phase.as_ref();
        Some(phase.map_or(per_second, |phase| phase.rate(per_second)))
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

    /// Latencies of a completed operation, from its start.
    pub(super) fn operation(&self, name: &str) -> Option<&'a LatencySummary> {
        let mut all = self.run.summary.as_ref()?.operations.iter();
        let own = all.find(|operation| operation.name == name)?;
        (own.service.count > 0).then_some(&own.service)
    }

    /// The background role with a pace.
    pub(super) fn paced(&self) -> Option<&'a RoleSummary> {
        let mut roles = self.roles().iter();
        roles.find(|role| role.background && role.asked_per_s.is_some())
    }

    /// Whether the background achieved less than 95 % of its requested rate.
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

    pub(super) fn mean(&self, series: &str) -> Option<f64> {
        let measured_s = self.run.summary.as_ref()?.measured_s;
        self.run.series(series)?.mean(0.0, measured_s)
    }

    /// The sum over all disks.
    fn disks(&self, family: Family) -> Option<f64> {
        let measured_s = self.run.summary.as_ref()?.measured_s;
        let all = self.run.series.iter();
        let of = all.filter(|series| family.part(&series.key.name).is_some());
        of.filter_map(|series| series.mean(0.0, measured_s))
            .reduce(|a, b| a + b)
    }

    /// The value of a series nearest to the end of the measurement: reading the ledger afterwards
    /// must not affect it.
    pub(super) fn last(&self, series: &str) -> Option<f64> {
        let measured_s = self.run.summary.as_ref()?.measured_s;
        let points = self.run.series(series)?.points.iter();
        let away = |(at, _): &&(f64, f64)| (at - measured_s).abs();
        let nearest = points.min_by(|one, other| away(one).total_cmp(&away(other)));
        nearest.map(|(_, value)| *value)
    }

    /// The value of a series shortly before the phase's end, or after it.
    pub(super) fn at_end(&self, series: &str) -> Option<f64> {
        let measured_s = self.run.summary.as_ref()?.measured_s;
        let (at, value) = self.run.series(series)?.points.last()?;
        (*at > 0.0 && *at > measured_s - LATE_S).then_some(*value)
    }

    /// Events per second of each session of a role, in whole intervals, as (seconds, rate); empty
    /// if not recorded. A session that finished before the others ends there.
    pub(super) fn sessions_of(&self, role: &str) -> Vec<Vec<(f64, f64)>> {
        let whole: Vec<f64> = self.whole_intervals().map(|own| own.at_s).collect();
        let through = self
            .roles()
            .iter()
            .any(|own| own.name == role && own.finished_last_s.is_some());
        let named = |number| {
            self.run
                .series(&names::CLIENT_SESSION_EVENTS.of(format_args!("{role}.{number}")))
        };
        let mut sessions = Vec::new();
        while let Some(series) = named(sessions.len() + 1) {
            let is_whole = |at: f64| whole.iter().any(|known| (known - at).abs() < 1e-3);
            let points = series.points.iter().copied();
            let mut points: Vec<(f64, f64)> = points.filter(|(at, _)| is_whole(*at)).collect();
            if through {
                while points.pop_if(|(_, rate)| *rate <= 0.0).is_some() {}
                // It finished within this one.
                points.pop();
            }
            sessions.push(points);
        }
        sessions
    }

    /// The rate of each foreground session in each second, the highest first, in the phase's unit.
    /// If sessions were not recorded individually: the total, divided by their number.
    fn client_rates(&self) -> Vec<f64> {
        let phase = self.run.head.phase.as_ref();
        let per_event = phase.map_or(1.0, |phase| phase.per_event);
        let foreground = self.roles().iter().filter(|role| !role.background);
        let sessions = foreground.flat_map(|role| self.sessions_of(&role.name));
        let recorded = (self.run.series.iter()).any(|series| {
            names::CLIENT_SESSION_EVENTS
                .part(&series.key.name)
                .is_some()
        });
        let mut rates: Vec<f64> = sessions
            .flatten()
            .map(|(_, rate)| rate * per_event)
            .collect();
        if !recorded {
            rates = self.rates();
        }
        rates.sort_by(|a, b| b.total_cmp(a));
        rates
    }

    /// The intervals of full length.
    pub(super) fn whole_intervals(&self) -> impl Iterator<Item = &'a IntervalSummary> {
        let summary = self.run.summary.as_ref();
        let measured_s = summary.map_or(0.0, |summary| summary.measured_s);
        let drive = summary.and_then(|summary| summary.drive.as_ref());
        let usual = drive.map_or(1.0, |drive| drive.interval.as_secs_f64());
        (self.run.intervals.iter())
            .filter(move |interval| interval.at_s > 0.0 && interval.at_s <= measured_s + 0.5)
            .filter(move |interval| interval.length_s > usual * 0.9)
    }

    /// Rates per second and client, in the phase's unit, of each whole interval: the total, divided
    /// by the number of clients.
    pub(super) fn rates(&self) -> Vec<f64> {
        let foreground = self.roles().iter().filter(|role| !role.background);
        let clients = foreground.map(|role| f64::from(role.sessions)).sum::<f64>();
        let clients = clients.max(1.0);
        let phase = self.run.head.phase.as_ref();
        let per_event = phase.map_or(1.0, |phase| phase.per_event);
        self.whole_intervals()
            .map(|interval| interval.events_per_s() * per_event / clients)
            .collect()
    }

    /// The mean of [`Self::rates`] in each tenth of the phase; empty if it is too short.
    pub(super) fn tenths(&self) -> Vec<f64> {
        let rates = self.rates();
        if rates.len() < 10 {
            return Vec::new();
        }
        let tenth = |number: usize| {
            let from = rates.len() * number / 10;
            let part = &rates[from..rates.len() * (number + 1) / 10];
            part.iter().sum::<f64>() / part.len() as f64
        };
        (0..10).map(tenth).collect()
    }

    /// The longest event in seconds, from the scheduled start in an open loop.
    fn longest_s(&self) -> Option<f64> {
        let summary = self.run.summary.as_ref()?;
        Some(summary.latency().max_ms? / 1e3)
    }

    /// The figures, with the headings of their columns.
    pub(super) fn metrics(&self) -> Vec<(&'static str, Option<f64>)> {
        let rate = self.rate().filter(|rate| *rate > 0.0);
        let inserted = self.inserted_per_s();
        let per = |value: Option<f64>, of: Option<f64>| Some(value? / of.filter(|of| *of > 0.0)?);
        let (reads, writes) = (
            self.disks(names::HOST_DISK_READS),
            self.disks(names::HOST_DISK_WRITES),
        );
        let (read, written) = (
            self.disks(names::HOST_DISK_READ_BYTES),
            self.disks(names::HOST_DISK_WRITE_BYTES),
        );
        let switches = self.mean(names::HOST_CONTEXT_SWITCHES);
        let cpu = self
            .mean(names::HOST_CPU_USER)
            .zip(self.mean(names::HOST_CPU_SYSTEM));
        let cpu = cpu.map(|(user, system)| user + system);
        let threads = self.run.fact(names::HOST_CPU_THREADS);
        let threads = threads.and_then(|text| text.parse::<f64>().ok());
        let cpu_us = cpu.zip(threads).map(|(cpu, n)| cpu / 100.0 * n * 1e6);
        let summary = self.run.summary.as_ref();
        let (client_rates, tenths) = (self.client_rates(), self.tenths());
        let queries = (self.unit() == "queries").then(|| self.rate()).flatten();
        let stalled_s = dyno_analysis::stalls::of_run(self.run).ok();
        let stalled_s = stalled_s.map(|found| found.stalled_s());
        let gb = |name| self.last(name).map(|bytes| bytes / GB);
        let system = gb(names::DATA_SYSTEM).unwrap_or(0.0);
        vec![
            // Rows inserted, and queries, per second.
            ("ips", inserted),
            ("qps", queries),
            // Reads from and writes to disks per second, and their MiB.
            ("rps", reads),
            ("rmbps", read.map(|bytes| bytes / MIB)),
            ("wps", writes),
            ("wmbps", written.map(|bytes| bytes / MIB)),
            // Reads per operation, writes per row inserted, and their KiB.
            ("rpq", per(reads, rate)),
            ("rkbpq", per(read.map(|bytes| bytes / KIB), rate)),
            ("wpi", per(writes, inserted)),
            ("wkbpi", per(written.map(|bytes| bytes / KIB), inserted)),
            // The host's context switches per second, and percent of its CPU time, user and system.
            ("csps", switches),
            ("cpups", cpu),
            // Context switches, and µs of CPU time, per operation; the client's are included.
            ("cspq", per(switches, rate)),
            ("cpupq", per(cpu_us, rate)),
            // GB at the end: data files, the data directory, and the server's memory.
            ("dbgb1", gb(names::DATA_DATA).map(|data| data + system)),
            ("dbgb2", gb(names::DATA_TOTAL)),
            ("rss", gb(names::SERVER_MEMORY_RSS)),
            // The longest main operation, in seconds.
            ("maxop", self.longest_s()),
            // Operations per second and client: reached in half and in 99 % of the seconds, and in
            // the first and the last tenth.
            ("rate_p50", reached(&client_rates, 0.5)),
            ("rate_p01", reached(&client_rates, 0.99)),
            ("rate_first", tenths.first().copied()),
            ("rate_last", tenths.last().copied()),
            // Seconds in which almost nothing finished, and seconds measured.
            ("stalls", stalled_s),
            ("length", summary.map(|summary| summary.measured_s)),
        ]
    }
}
