//! The cost of an event within the measurement.

#[cfg(test)]
mod tests;
mod written;

use dyno_core::catalogue::{Family, names};
use dyno_core::counters::{self, Counts};
use dyno_core::finding::Cause;
use dyno_core::record::{Cost, RunRecord};

use crate::context::Context;
use crate::view::View;
use crate::{duet, errors, text};
use written::Own;

/// Bytes in a `kb`, as in the columns of vmstat and iostat.
const KB: f64 = 1024.0;
const US_PER_S: f64 = 1e6;
/// The largest ratio of the server's cached writes to the disks' bytes.
const WRITTEN_MAX: f64 = 2.0;

/// The cost of an event: CPU, context switches, storage and network traffic, and the server's own
/// counters. A cost that was not observed has no value, but a reason.
///
/// A KB is 1,024 bytes. The figures of the host and of its disks include other processes: they are
/// left out if these used a significant part. Figures of a server that other clients used are
/// marked.
pub fn costs(run: &RunRecord) -> Vec<Cost> {
    let context = Context::default();
    let view = View::new(run, &context);
    let meter = Meter {
        events_per_s: view.events_per_s(),
        shared_host: charged_with_others(&view),
        elsewhere: done_elsewhere(&view),
        other_clients: errors::has_other_clients(&view),
        view: &view,
    };
    let mut costs = meter.processes();
    costs.extend(meter.storage());
    let loads_host = |summary: &dyno_core::summary::RunSummary| summary.machine.is_some();
    if !view.summary().is_some_and(loads_host) {
        costs.extend(meter.network());
    }
    if view.mysql() {
        costs.extend(MYSQL.iter().filter_map(|row| meter.counted(row)));
    }
    if view.postgres() {
        let mut counted: Vec<Cost> = POSTGRES
            .iter()
            .filter_map(|row| meter.counted(row))
            .collect();
        if let Some(why) = counts_come_late(&view) {
            for cost in &mut counted {
                leave_out(cost, &why);
            }
        }
        costs.extend(counted);
    }
    if view.agents().iter().any(|agent| agent.lost) {
        for cost in &mut costs {
            leave_out(cost, LOST);
        }
    }
    costs
}

fn leave_out(cost: &mut Cost, why: &str) {
    cost.value = None;
    cost.includes = None;
    cost.left_out = true;
    why.clone_into(&mut cost.source);
}

/// The names of all costs that runs may have.
pub fn cost_names() -> impl Iterator<Item = &'static str> {
    let (cpu, switches) = ([SERVER_CPU, CLIENT_CPU], [SERVER_SWITCHES, HOST_SWITCHES]);
    let summed = cpu.into_iter().chain(switches).chain([READ, WRITTEN]);
    let counted = MYSQL.iter().chain(POSTGRES).map(|(name, ..)| *name);
    let summed = summed.map(|cost| cost.name);
    summed.chain(OTHERS).chain(counted)
}

/// A cost that is a sum of series.
pub(crate) struct Summed {
    pub name: &'static str,
    pub series: &'static [&'static str],
    /// How many units of the series make one unit of the cost.
    pub unit_size: f64,
    pub unit: &'static str,
}

pub(crate) const SERVER_CPU: Summed = Summed {
    name: "server CPU",
    series: &[names::SERVER_CPU_USER, names::SERVER_CPU_SYSTEM],
    unit_size: 1.0 / US_PER_S,
    unit: "us",
};
pub(crate) const CLIENT_CPU: Summed = Summed {
    name: "client CPU",
    series: &[names::CLIENT_CPU_USER, names::CLIENT_CPU_SYSTEM],
    ..SERVER_CPU
};
const SERVER_SWITCHES: Summed = Summed {
    name: "server context switches",
    series: &[
        names::SERVER_CONTEXT_SWITCHES_VOLUNTARY,
        names::SERVER_CONTEXT_SWITCHES_INVOLUNTARY,
    ],
    unit_size: 1.0,
    unit: "count",
};
const HOST_SWITCHES: Summed = Summed {
    name: "host context switches",
    series: &[names::HOST_CONTEXT_SWITCHES],
    ..SERVER_SWITCHES
};
pub(crate) const READ: Summed = Summed {
    name: "read by the server",
    series: &[names::SERVER_IO_READ_BYTES],
    unit_size: KB,
    unit: "kb",
};
pub(crate) const WRITTEN: Summed = Summed {
    name: "written by the server",
    series: &[names::SERVER_IO_WRITE_BYTES],
    ..READ
};

/// Other costs that the server does not count.
const OTHERS: [&str; 7] = [
    "host CPU",
    "read from disks",
    "written to disks",
    "disk reads",
    "disk writes",
    "received from the server",
    "sent to the server",
];

/// Why costs per event are missing for a run that lost an agent: the server processed more events.
const LOST: &str = "a load generator was lost, so its number of events is not known";

/// A cost that the server counts: its name and the series. The table of counters defines the unit.
type Row = (&'static str, &'static str);

const MYSQL: &[Row] = &[
    (
        "page requests",
        names::DB_STATUS_INNODB_BUFFER_POOL_READ_REQUESTS,
    ),
    ("pages read", names::DB_STATUS_INNODB_PAGES_READ),
    ("pages written", names::DB_STATUS_INNODB_PAGES_WRITTEN),
    ("redo log", names::DB_STATUS_INNODB_OS_LOG_WRITTEN),
    ("redo log syncs", names::DB_STATUS_INNODB_OS_LOG_FSYNCS),
    ("file syncs", names::DB_STATUS_INNODB_DATA_FSYNCS),
    ("rows read", names::DB_STATUS_INNODB_ROWS_READ),
    ("row lock waits", names::DB_STATUS_INNODB_ROW_LOCK_WAITS),
];

const POSTGRES: &[Row] = &[
    ("pages found", names::DB_DATABASE_BLKS_HIT),
    ("pages read", names::DB_DATABASE_BLKS_READ),
    ("write-ahead log", names::DB_WAL_BYTES),
    ("full-page images", names::DB_WAL_FPI),
    ("rows fetched", names::DB_DATABASE_TUP_FETCHED),
    ("temporary files", names::DB_DATABASE_TEMP_BYTES),
];

/// From this share of the CPU time used, in percent, the part of other processes in a host's cost
/// is significant.
const OTHERS_MATTER: f64 = 10.0;

/// PostgreSQL sessions report their counts at most once in this many seconds.
const REPORT_EVERY_S: f64 = 1.0;
/// A delay of the counts above this share of the measurement is significant.
const DELAY_MATTERS: f64 = 0.02;

/// Why PostgreSQL's own counts miss part of the run: without a warm-up, no session reports its
/// first second within the first second of the measurement.
fn counts_come_late(view: &View) -> Option<String> {
    let warmup_s = view.run.head.drive.as_ref()?.warmup.as_secs_f64();
    let measured_s = view.summary()?.measured_s;
    let late = warmup_s < REPORT_EVERY_S && REPORT_EVERY_S > DELAY_MATTERS * measured_s;
    late.then(|| {
        format!(
            "PostgreSQL sessions report their counts up to a second late; without a \
             warm-up that is {} % of this run",
            text::plain((REPORT_EVERY_S / measured_s * 100.0).min(100.0))
        )
    })
}

/// Why the observed server did only part of the work.
fn done_elsewhere(view: &View) -> Option<String> {
    if let Some(nodes) = view.several_endpoints() {
        return Some(format!(
            "the work went to {nodes} endpoints, and only the first is observed"
        ));
    }
    errors::did_work_elsewhere(view).then(|| {
        "part of the work did not reach the observed server (see `server-counters`)".to_owned()
    })
}

/// Why figures of the whole host are not those of the run.
fn charged_with_others(view: &View) -> Option<String> {
    let (others, cpus) = view.mean(names::HOST_OTHERS_CPU).zip(view.cpus())?;
    let busy = view.host_busy()? / 100.0 * cpus;
    let share = others / busy.max(others) * 100.0;
    (share >= OTHERS_MATTER).then(|| {
        format!(
            "other processes used {} % of the busy CPU time of this host",
            crate::text::plain(share)
        )
    })
}

struct Meter<'a> {
    view: &'a View<'a>,
    events_per_s: Option<f64>,
    /// Why costs of the host and of its disks are left out.
    shared_host: Option<String>,
    /// Why the observed server did only part of the work.
    elsewhere: Option<String>,
    /// Whether others used the server.
    other_clients: bool,
}

impl Meter<'_> {
    fn processes(&self) -> Vec<Cost> {
        let view = self.view;
        let host_cores = view
            .host_busy()
            .zip(view.cpus())
            .map(|(busy, cpus)| busy / 100.0 * cpus);
        vec![
            self.summed(&SERVER_CPU),
            self.client_cpu(),
            self.cost(
                "host CPU",
                host_cores,
                1.0 / US_PER_S,
                "us",
                names::HOST_CPU_IDLE,
            ),
            self.summed(&SERVER_SWITCHES),
            self.summed(&HOST_SWITCHES),
        ]
    }

    fn storage(&self) -> Vec<Cost> {
        vec![
            self.summed(&READ),
            self.written(),
            self.disks("read from disks", names::HOST_DISK_READ_BYTES, KB, "kb"),
            self.disks("written to disks", names::HOST_DISK_WRITE_BYTES, KB, "kb"),
            self.disks("disk reads", names::HOST_DISK_READS, 1.0, "count"),
            self.disks("disk writes", names::HOST_DISK_WRITES, 1.0, "count"),
        ]
    }

    fn network(&self) -> Vec<Cost> {
        let counters = self.view.totals();
        let direction = |name: &str, bytes: u64| {
            // A log of another tool shows no bytes, and an embedded database has no
            // network traffic.
            let known = !self.view.imported() && !self.view.embedded();
            let value =
                (known && counters.events > 0).then(|| bytes as f64 / counters.events as f64);
            Cost {
                name: name.to_owned(),
                value,
                unit: "bytes".to_owned(),
                source: if value.is_some() {
                    "the client's counters".to_owned()
                } else if self.view.embedded() {
                    "an embedded database has no network".to_owned()
                } else if known {
                    "no event ended".to_owned()
                } else {
                    "the log does not contain it".to_owned()
                },
                left_out: false,
                includes: None,
            }
        };
        vec![
            direction("received from the server", counters.bytes_in),
            direction("sent to the server", counters.bytes_out),
        ]
    }

    /// CPU time of the workers, as counted by the client, or else of its whole process.
    fn client_cpu(&self) -> Cost {
        let own = self
            .view
            .summary()
            .and_then(|summary| Some(summary.client.as_ref()?.us_per_event));
        match own.filter(|us| us.is_finite() && *us > 0.0) {
            Some(us) => Cost {
                name: "client CPU".to_owned(),
                value: Some(us),
                unit: "us".to_owned(),
                source: "the workers' own CPU time".to_owned(),
                left_out: false,
                includes: None,
            },
            // The series are those of the process that only coordinated.
            None if self
                .view
                .summary()
                .is_some_and(|one| !one.agents.is_empty()) =>
            {
                Cost {
                    name: "client CPU".to_owned(),
                    value: None,
                    unit: "us".to_owned(),
                    source: LOST.to_owned(),
                    left_out: true,
                    includes: None,
                }
            }
            None => self.summed(&CLIENT_CPU),
        }
    }

    fn counted(&self, &(name, series): &Row) -> Option<Cost> {
        let mean = self.view.mean(series)?;
        let (unit_size, unit) = match counters::of(series)?.counts {
            Counts::Byte => (KB, "kb"),
            _ => (1.0, "count"),
        };
        Some(self.cost(name, Some(mean), unit_size, unit, series))
    }

    fn summed(&self, of: &Summed) -> Cost {
        let mean = self.view.mean_sum(of.series);
        self.cost(of.name, mean, of.unit_size, of.unit, &of.series.join(" + "))
    }

    /// The kernel charges a page when it is changed, and for a file with large folios the whole
    /// folio. So it may charge bytes that are never written. After a restore the disks also write
    /// the restored data that is still in the page cache: then only the server's own counts are
    /// right.
    fn written(&self) -> Cost {
        let cost = self.summed(&WRITTEN);
        let server = self.view.mean(names::SERVER_IO_WRITE_BYTES);
        let own = Own::of(self.view).filter(|own| own.per_s > 0.0);
        if let Some(own) = own.filter(|own| server > Some(own.most_per_s * WRITTEN_MAX)) {
            let counted = self.cost("", Some(own.per_s), KB, "kb", names::SERVER_IO_WRITE_BYTES);
            if counted.value.is_some() {
                return Cost {
                    value: counted.value,
                    includes: counted.includes,
                    source: own.source.to_owned(),
                    ..cost
                };
            }
        }
        let disks = self.view.devices_mean(names::HOST_DISK_WRITE_BYTES);
        let (Some(server), Some(disks)) = (server, disks) else {
            return cost;
        };
        if server <= disks * WRITTEN_MAX || self.view.same_host() != Some(true) {
            return cost;
        }
        Cost {
            value: None,
            left_out: true,
            includes: None,
            source: format!(
                "the kernel charged the server with {}/s, and all disks together wrote \
                 only {}/s",
                text::bytes(server),
                text::bytes(disks)
            ),
            ..cost
        }
    }

    fn disks(&self, name: &str, series: Family, unit_size: f64, unit: &str) -> Cost {
        let mean = self.view.devices_mean(series);
        self.cost(name, mean, unit_size, unit, &series.of('*'))
    }

    fn cost(
        &self,
        name: &str,
        per_s: Option<f64>,
        unit_size: f64,
        unit: &str,
        source: &str,
    ) -> Cost {
        let others = self.view.is_shared() && !source.starts_with("client.");
        let with_others = self.shared_host.as_ref();
        let with_others = with_others.filter(|_| source.starts_with("host."));
        // Observers cover only one server, but costs are divided by the work of all.
        let of_one = ["server.", "db."]
            .iter()
            .any(|scope| source.starts_with(scope));
        let elsewhere = self.elsewhere.as_ref().filter(|_| of_one);
        let per_s = per_s.filter(|per_s| {
            per_s.is_finite() && !others && with_others.is_none() && elsewhere.is_none()
        });
        // A cost lacks the part of the run that its observer missed.
        let first = source.split(" + ").next().unwrap_or(source);
        let little = self.view.covers_little(first).map(|covered| {
            format!(
                "{first} was observed for only {} % of the measurement",
                text::plain(covered * 100.0)
            )
        });
        let per_s = per_s.filter(|_| little.is_none());
        let events_per_s = match self.view.rates_while(first) {
            Some((events, _)) if self.view.misses(first) => Some(events).filter(|rate| *rate > 0.0),
            _ => self.events_per_s,
        };
        let value = per_s
            .zip(events_per_s)
            .map(|(cost, events)| cost / unit_size / events);
        // Counters of the server's host include the server's work for others.
        let of_server =
            of_one || source.starts_with("host.") && self.view.same_host() == Some(true);
        let includes =
            (self.other_clients && of_server && value.is_some()).then_some(Cause::OtherClients);
        let left_out =
            value.is_none() && (elsewhere.is_some() || little.is_none() && with_others.is_some());
        let source = if value.is_some() {
            source.to_owned()
        } else if let Some(why) = elsewhere {
            why.clone()
        } else if let Some(little) = little {
            little
        } else if let Some(why) = with_others {
            why.clone()
        } else if others && duet::shares_server(self.view.run) {
            "it includes the cost of the other side of the duet".to_owned()
        } else if others {
            "it includes the cost of other load generators of this run".to_owned()
        } else if per_s.is_some() {
            "no event ended".to_owned()
        } else {
            self.view.why_not(&first.replace("[*]", ""))
        };
        Cost {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            source,
            left_out,
            includes,
        }
    }
}
