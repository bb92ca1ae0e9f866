//! What observers report of a run, and its findings.

use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::*;

use super::{Shape, noise, pace};
use crate::values;

/// A series: name, unit, source, typical value, scatter, and correlation with the pace.
type Sort = (&'static str, &'static str, &'static str, f64, f64, f64);

const KIB: f64 = 1024.0;
const GIB: f64 = KIB * KIB * KIB;

#[rustfmt::skip]
const SORTS: &[Sort] = &[
    ("host.cpu.user", "percent", "/proc/stat", 44.0, 0.08, 1.0),
    ("host.cpu.nice", "percent", "/proc/stat", 0.0, 0.0, 0.0),
    ("host.cpu.system", "percent", "/proc/stat", 11.0, 0.1, 1.0),
    ("host.cpu.iowait", "percent", "/proc/stat", 17.0, 0.4, -0.4),
    ("host.cpu.irq", "percent", "/proc/stat", 0.2, 0.5, 1.0),
    ("host.cpu.softirq", "percent", "/proc/stat", 2.1, 0.2, 1.0),
    ("host.cpu.steal", "percent", "/proc/stat", 0.4, 0.9, 0.0),
    ("host.cpu.idle", "percent", "/proc/stat", 25.3, 0.1, -0.6),
    ("host.run_queue", "count", "/proc/stat", 14.0, 0.5, 0.6),
    ("host.blocked", "count", "/proc/stat", 5.0, 0.8, -0.6),
    ("host.load1", "count", "/proc/loadavg", 21.0, 0.1, 0.2),
    ("host.context_switches", "count/s", "/proc/stat", 184_000.0, 0.05, 1.0),
    ("host.memory.total", "bytes", "/proc/meminfo", 64.0 * GIB, 0.0, 0.0),
    ("host.memory.available", "bytes", "/proc/meminfo", 18.0 * GIB, 0.01, 0.0),
    ("host.memory.free", "bytes", "/proc/meminfo", 2.0 * GIB, 0.1, 0.0),
    ("host.memory.cached", "bytes", "/proc/meminfo", 15.0 * GIB, 0.01, 0.0),
    ("host.memory.buffers", "bytes", "/proc/meminfo", 0.3 * GIB, 0.01, 0.0),
    ("host.memory.anon", "bytes", "/proc/meminfo", 44.0 * GIB, 0.002, 0.0),
    ("host.memory.dirty", "bytes", "/proc/meminfo", 0.4 * GIB, 0.3, 0.5),
    ("host.swap.in", "bytes/s", "/proc/vmstat", 0.0, 0.0, 0.0),
    ("host.swap.out", "bytes/s", "/proc/vmstat", 0.0, 0.0, 0.0),
    ("host.disk[nvme0n1].reads", "count/s", "/proc/diskstats", 9_800.0, 0.1, 1.0),
    ("host.disk[nvme0n1].writes", "count/s", "/proc/diskstats", 5_100.0, 0.2, 0.7),
    ("host.disk[nvme0n1].read_bytes", "bytes/s", "/proc/diskstats", 161e6, 0.1, 1.0),
    ("host.disk[nvme0n1].write_bytes", "bytes/s", "/proc/diskstats", 88e6, 0.2, 0.7),
    ("host.disk[nvme0n1].read_await", "ms", "/proc/diskstats", 0.31, 0.2, -0.7),
    ("host.disk[nvme0n1].write_await", "ms", "/proc/diskstats", 0.12, 0.3, -0.9),
    ("host.disk[nvme0n1].queue", "count", "/proc/diskstats", 4.1, 0.4, -0.4),
    ("host.disk[nvme0n1].utilisation", "percent", "/proc/diskstats", 96.0, 0.03, 0.0),
    ("host.network[eth0].rx_bytes", "bytes/s", "/proc/net/dev", 5.1e6, 0.05, 1.0),
    ("host.network[eth0].tx_bytes", "bytes/s", "/proc/net/dev", 38e6, 0.05, 1.0),
    ("host.network[eth0].rx_packets", "count/s", "/proc/net/dev", 84_000.0, 0.05, 1.0),
    ("host.network[eth0].tx_packets", "count/s", "/proc/net/dev", 85_000.0, 0.05, 1.0),
    ("host.network[lo].rx_bytes", "bytes/s", "/proc/net/dev", 0.0, 0.0, 0.0),
    ("host.network[lo].tx_bytes", "bytes/s", "/proc/net/dev", 0.0, 0.0, 0.0),
    ("host.tcp.retransmits", "count/s", "/proc/net/snmp", 0.1, 0.9, 0.0),
    ("client.cpu.user", "cores", "/proc/self/stat", 0.92, 0.06, 1.0),
    ("client.cpu.system", "cores", "/proc/self/stat", 0.61, 0.06, 1.0),
    ("client.memory.rss", "bytes", "/proc/self/status", 41e6, 0.001, 0.0),
    ("client.run_queue_wait", "cores", "/proc/self/schedstat", 0.01, 0.8, 0.0),
    ("client.worker[0].cpu", "cores", "/proc/self/task", 0.41, 0.05, 1.0),
    ("client.worker[1].cpu", "cores", "/proc/self/task", 0.39, 0.05, 1.0),
    ("client.worker[2].cpu", "cores", "/proc/self/task", 0.40, 0.05, 1.0),
    ("client.worker[3].cpu", "cores", "/proc/self/task", 0.38, 0.05, 1.0),
    ("server.cpu.user", "cores", "/proc/PID/stat", 2.9, 0.06, 1.0),
    ("server.cpu.system", "cores", "/proc/PID/stat", 0.55, 0.06, 1.0),
    ("server.memory.rss", "bytes", "/proc/PID/status", 43.6 * GIB, 0.001, 0.0),
    ("server.threads", "count", "/proc/PID/status", 92.0, 0.02, 0.0),
    ("db.up", "count", "the observer's own statement", 1.0, 0.0, 0.0),
    ("db.round_trip", "ms", "the observer's own statement", 0.4, 0.3, -0.8),
    ("data.data", "bytes", "files of the data directory", 86.0 * GIB, 0.0, 0.0),
    ("data.redo", "bytes", "files of the data directory", 2.0 * GIB, 0.0, 0.0),
    ("data.binlog", "bytes", "files of the data directory", 5.0 * GIB, 0.0, 0.0),
    ("data.undo", "bytes", "files of the data directory", 0.6 * GIB, 0.0, 0.0),
    ("data.total", "bytes", "files of the data directory", 93.6 * GIB, 0.0, 0.0),
    ("observer.cpu", "cores", "/proc/self/task", 0.012, 0.3, 0.0),
    ("observer.took", "ms", "its own clock", 3.4, 0.3, 0.0),
];

#[rustfmt::skip]
const STATUS: [&str; 24] = [
    "com_select", "com_insert", "com_update", "com_delete", "com_commit", "handler_read_key",
    "handler_read_next", "handler_write", "innodb_buffer_pool_reads",
    "innodb_buffer_pool_read_requests", "innodb_buffer_pool_pages_dirty",
    "innodb_buffer_pool_pages_free", "innodb_buffer_pool_bytes_data", "innodb_data_fsyncs",
    "innodb_data_written", "innodb_log_waits", "innodb_os_log_written", "innodb_row_lock_waits",
    "innodb_row_lock_time", "threads_running", "threads_connected", "table_open_cache_hits",
    "opened_tables", "bytes_sent",
];

pub(super) fn series(shape: Shape) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for (lane, sort) in SORTS.iter().enumerate() {
        all.push(one(shape, lane as u64, sort, sort.0.to_owned()));
    }
    for n in 0..shape.counters {
        let base = STATUS[n % STATUS.len()];
        let name = match n / STATUS.len() {
            0 => format!("db.status.{base}"),
            more => format!("db.status.{base}_{more}"),
        };
        let gauge = base.contains("pages") || base.contains("threads") || base.contains("_data");
        let (unit, size) = if base.contains("bytes") || base.contains("written") {
            (if gauge { "bytes" } else { "bytes/s" }, 3e7)
        } else {
            (
                if gauge { "count" } else { "count/s" },
                4_000.0 / (n + 1) as f64,
            )
        };
        let nothing = n % 11 == 7;
        let size = if nothing { 0.0 } else { size };
        let sort = (
            "",
            unit,
            "SHOW GLOBAL STATUS",
            size,
            0.1,
            if gauge { 0.0 } else { 1.0 },
        );
        all.push(one(shape, 100 + n as u64, &sort, name));
    }
    all
}

fn one(shape: Shape, lane: u64, sort: &Sort, name: String) -> Series {
    let (_, unit, source, typical, scatter, follows) = *sort;
    let step = if name.starts_with("data.") { 10 } else { 1 };
    let growth = if name == "data.binlog" || name == "data.total" {
        20e6
    } else {
        0.0
    };
    let warmup = shape.warmup as i32;
    let points = (-warmup..shape.seconds as i32).step_by(step).map(|second| {
        let at_s = f64::from(second) + 0.98;
        let pace = pace(shape, at_s);
        let trend = 1.0 - follows.abs()
            + follows.abs()
                * if follows < 0.0 {
                    1.0 / pace.max(0.2)
                } else {
                    pace
                };
        let value = typical * trend * (1.0 + scatter * 2.0 * noise(shape, at_s, lane));
        (at_s, value.max(0.0) + growth * f64::from(second + warmup))
    });
    let kind = if unit.ends_with("/s") {
        SeriesKind::Rate
    } else {
        SeriesKind::Gauge
    };
    let mut series = values::series(&name, unit, kind, &points.collect::<Vec<_>>());
    series.key.source = source.to_owned();
    series
}

pub(super) fn facts() -> Vec<Fact> {
    #[rustfmt::skip]
    let all = [
        ("host.name", "bench1", "uname"),
        ("host.os", "Debian GNU/Linux 12 (bookworm)", "/etc/os-release"),
        ("host.kernel", "6.1.0-28-amd64", "uname"),
        ("host.cpu.model", "AMD EPYC 7302P 16-Core Processor", "/proc/cpuinfo"),
        ("host.cpu.threads", "8", "/proc/cpuinfo"),
        ("host.memory.total", "68719476736", "/proc/meminfo"),
        ("host.cpu.governor", "performance", "/sys/devices/system/cpu"),
        ("host.disk[nvme0n1].scheduler", "none", "/sys/block"),
        ("host.others.top", "backupd (911) 0.4 cores, sshd (402) 0.01 cores", "/proc"),
        ("server.version", "10.11.6-MariaDB-0+deb12u1", "SELECT version()"),
        ("server.same_host", "yes", "the server's socket"),
        ("server.data_directory", "/var/lib/mysql", "@@datadir"),
        ("client.version", "dyno 0.1.0", "itself"),
    ];
    #[rustfmt::skip]
    let table = [
        ("definition", "CREATE TABLE `sbtest1` (\n  `id` int(11) NOT NULL\n) ENGINE=InnoDB"),
        ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("names", "sbtest1..sbtest8"),
        ("engine", "InnoDB"),
        ("primary_key", "no"),
        ("indexes", "0"),
        ("analysed", "8 of 8"),
    ];
    let table = table.map(|(what, value)| {
        let name = format!("db.table[sbtest1..sbtest8].{what}");
        values::fact(&name, value, "SHOW CREATE TABLE")
    });
    let all = all.map(|(name, value, source)| values::fact(name, value, source));
    all.into_iter().chain(table).collect()
}

pub(super) fn settings(shape: Shape) -> Vec<Setting> {
    let named = [
        ("innodb_buffer_pool_size", "42949672960", "42949672960"),
        ("innodb_flush_log_at_trx_commit", "1", "1"),
        ("innodb_io_capacity", "200", "2000"),
        ("sync_binlog", "1", "1"),
    ];
    let named = named.map(|(name, start, end)| values::setting(name, start, Some(end)));
    let rest = (0..shape.counters * 6).map(|n| {
        let name = format!("some_server_variable_{n:03}");
        let value = (n * 1024).to_string();
        values::setting(&name, &value, Some(&value))
    });
    named.into_iter().chain(rest).collect()
}

pub(super) fn events(shape: Shape) -> Vec<Event> {
    let end = f64::from(shape.seconds);
    let alter = "ALTER TABLE sbtest1 ADD INDEX k_2 (k, c)";
    let kernel = "kernel: nvme nvme0: I/O 12 QID 3 timeout, completion polled";
    vec![
        values::event(end * 0.4, Some(end * 0.46), EventKind::Disturbance, alter),
        values::event(end * 0.8, None, EventKind::Note, kernel),
    ]
}

pub(super) fn findings() -> Vec<Finding> {
    use Outcome::{Doubt, NotChecked, Pass};
    #[rustfmt::skip]
    let all = [
        ("stalls", 26, Doubt, "The server stood still 3 times for 4.0 s in all, every 410 s.",
         "A second at 5 % of the level or less is a stall; any stall is a doubt.",
         "See what the server did at these seconds: checkpoints, log flushes, a full queue."),
        ("same-host", 10, Doubt,
         "The load generator ran on the server's machine and took 1.5 of its 8 cores.",
         "A generator on the server's machine is said on page one.",
         "Run it from a second machine."),
        ("client-cpu", 2, Pass, "The busiest worker used 41 % of a core.",
         "No worker above 70 % of a core.", ""),
        ("steady-state", 24, Pass, "Both halves of the measurement differ by 0.4 %.",
         "Medians of the last two thirds differ by less than 2 %.", ""),
        ("pressure", 30, NotChecked, "The kernel does not tell its pressure.",
         "Less than 10 % of the time some task waits for memory.", "Boot with psi=1."),
        ("others", 34, Doubt, "backupd used 0.4 cores of the host.",
         "Other processes use less than 2 % of the host.", "Stop it."),
    ];
    let mut all = all.map(|(check, number, outcome, evidence, rule, advice)| Finding {
        rule: rule.to_owned(),
        numbers: Vec::new(),
        advice: advice.to_owned(),
        ..values::finding(check, number, outcome, evidence)
    });
    all[0].numbers = vec![
        values::number("stalls", Some(3.0), "count"),
        values::number("longest", Some(2.0), "s"),
        values::number("period", None, "s"),
    ];
    all[5].waived = Some("the backup belongs to what is measured".into());
    all.into()
}
