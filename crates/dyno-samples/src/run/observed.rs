//! What healthy observers report of a run, and functions to change it.

use dyno_core::record::{RunRecord, SeriesKind};

use super::{Product, STATEMENTS};
use crate::values;

/// Replaces or adds a series with one value per second, starting at the first. If its name is that
/// of a state, it is a gauge; otherwise it is a rate.
pub fn series(run: &mut RunRecord, name: &str, values: &[f64]) {
    drop_series(run, name);
    let gauge = [
        "db.up",
        "db.uptime",
        ".step",
        ".free",
        ".size",
        "memory.",
        "_kills",
        ".late",
        "other_sessions",
        ".backups",
        "replication.",
        "pages_data",
        "pages_total",
    ]
    .iter()
    .any(|mark| name.contains(mark));
    let kind = match gauge {
        true => SeriesKind::Gauge,
        false => SeriesKind::Rate,
    };
    let points = values.iter().enumerate();
    let points: Vec<_> = points.map(|(n, value)| (n as f64 + 1.0, *value)).collect();
    run.series.push(values::series(name, "", kind, &points));
}

/// Removes every series whose name has this prefix.
pub fn drop_series(run: &mut RunRecord, beginning: &str) {
    run.series
        .retain(|series| !series.key.name.starts_with(beginning));
}

/// Replaces or adds a fact.
pub fn fact(run: &mut RunRecord, name: &str, value: &str) {
    drop_fact(run, name);
    run.facts.push(values::fact(name, value, values::SOURCE));
}

/// Removes a fact.
pub fn drop_fact(run: &mut RunRecord, name: &str) {
    run.facts.retain(|fact| fact.name != name);
}

/// Replaces or adds a setting, with the same value at the start and the end.
pub fn setting(run: &mut RunRecord, name: &str, value: &str) {
    run.settings.retain(|setting| setting.name != name);
    run.settings.push(values::setting(name, value, Some(value)));
}

pub(super) fn healthy(run: &mut RunRecord, rates: &[f64], product: Product) {
    host(run, rates);
    processes(run, rates);
    facts(run);
    if product == Product::Sqlite {
        setting(run, "journal_mode", "wal");
        setting(run, "synchronous", "2");
        drop_series(run, "server.");
        return;
    }
    let flat = |value: f64| vec![value; rates.len()];
    series(run, "db.up", &flat(1.0));
    series(run, "db.round_trip", &flat(0.4));
    let uptime: Vec<f64> = (0..rates.len())
        .map(|second| 5000.0 + second as f64)
        .collect();
    series(run, "db.uptime", &uptime);
    series(run, "data.data", &flat(9e7));
    series(run, "db.other_sessions", &flat(0.0));
    series(run, "db.other_sessions_active", &flat(0.0));
    fact(run, "server.other_sessions", "none");
    match product {
        Product::Postgres => postgres(run, rates),
        _ => mysql(run, rates),
    }
}

fn host(run: &mut RunRecord, rates: &[f64]) {
    let flat = |value: f64| vec![value; rates.len()];
    for (name, value) in [
        ("host.cpu.user", 70.0),
        ("host.cpu.nice", 0.0),
        ("host.cpu.system", 22.0),
        ("host.cpu.idle", 5.0),
        ("host.cpu.iowait", 1.0),
        ("host.cpu.irq", 0.0),
        ("host.cpu.softirq", 1.0),
        ("host.cpu.steal", 1.0),
        ("host.context_switches", 60_000.0),
        ("host.swap.in", 0.0),
        ("host.swap.out", 0.0),
        ("host.pressure.memory.some", 0.0),
        ("host.pressure.memory.full", 0.0),
        ("host.cgroup.cpu_throttled", 0.0),
        ("host.disk[vda].reads", 3.0),
        ("host.disk[vda].writes", 400.0),
        ("host.disk[vda].read_bytes", 60_000.0),
        ("host.disk[vda].write_bytes", 9e6),
        ("host.disk[vda].read_await", 0.3),
        ("host.disk[vda].write_await", 0.8),
        ("host.disk[vda].utilisation", 35.0),
        ("host.network[lo].rx_drops", 0.0),
        ("host.network[lo].tx_drops", 0.0),
        ("host.tcp.retransmits", 0.0),
        ("host.tcp.out_segments", 40_000.0),
        ("host.cpu_frequency.max", 2900.0),
        ("host.others.cpu", 0.05),
        ("host.clock.step", 0.2),
        ("host.oom_kills", 0.0),
        ("host.memory.total", 8.0 * 1024.0 * 1024.0 * 1024.0),
        ("host.filesystem.free", 40e9),
        ("host.filesystem.size", 100e9),
    ] {
        series(run, name, &flat(value));
    }
}

fn processes(run: &mut RunRecord, rates: &[f64]) {
    let flat = |value: f64| vec![value; rates.len()];
    for (name, value) in [
        ("client.cpu.user", 0.15),
        ("client.cpu.system", 0.15),
        ("client.page_faults.major", 0.0),
        ("client.descriptors", 40.0),
        ("client.worker[0].cpu", 0.14),
        ("client.worker[1].cpu", 0.15),
        ("client.worker[0].run_queue_wait", 0.1),
        ("client.worker[1].run_queue_wait", 0.12),
        ("client.worker[0].involuntary_switches", 90.0),
        ("client.worker[1].involuntary_switches", 95.0),
        ("server.cpu.user", 1.1),
        ("server.cpu.system", 0.4),
        ("server.io.read_bytes", 60_000.0),
        ("server.io.write_bytes", 8e6),
        ("server.context_switches.voluntary", 30_000.0),
        ("server.context_switches.involuntary", 2_000.0),
        ("observer.cpu", 0.008),
        ("observer.late", 3.0),
    ] {
        series(run, name, &flat(value));
    }
}

fn facts(run: &mut RunRecord) {
    for (name, value) in [
        ("host.cpu.threads", "2"),
        ("host.clock.source", "tsc"),
        ("host.clock.resolution_ns", "1"),
        ("host.limits.descriptors", "1024"),
        ("host.numa.nodes", "1"),
        ("host.thp", "madvise"),
        ("host.memory.total", "8589934592"),
        ("host.kernel_log.readable", "yes"),
        ("host.others.top", "sshd (812) 0.01 cores"),
        ("host.disk[vda].scheduler", "none"),
        ("host.cpu.governor", "performance"),
        ("host.kernel", "6.1.0"),
        ("server.same_host", "yes"),
        ("server.build", "release"),
        ("server.uptime_s.start", "4998"),
        ("server.uptime_s.end", "5032"),
        ("server.replication", "none"),
        ("client.tcp_nodelay", "on"),
    ] {
        fact(run, name, value);
    }
}

fn mysql(run: &mut RunRecord, rates: &[f64]) {
    let of = |factor: f64| -> Vec<f64> { rates.iter().map(|rate| rate * factor).collect() };
    let flat = |value: f64| vec![value; rates.len()];
    let statements = STATEMENTS as f64;
    for (name, values) in [
        ("db.status.questions", of(statements)),
        ("db.status.com_stmt_execute", of(statements * 0.9)),
        ("db.status.innodb_deadlocks", flat(0.0)),
        ("db.status.created_tmp_disk_tables", flat(0.0)),
        ("db.status.innodb_row_lock_waits", of(0.01)),
        ("db.status.innodb_buffer_pool_reads", flat(0.0)),
        ("db.status.innodb_buffer_pool_read_requests", of(150.0)),
        ("db.status.innodb_pages_written", of(0.8)),
        ("db.status.innodb_os_log_written", of(4_000.0)),
        ("db.status.innodb_data_fsyncs", of(0.3)),
        ("db.status.innodb_buffer_pool_pages_flushed", of(0.8)),
        ("db.status.innodb_rows_read", of(400.0)),
        ("db.status.handler_read_key", of(20.0)),
        ("db.status.table_open_cache_hits", of(statements)),
        ("db.status.table_open_cache_misses", flat(0.0)),
        ("db.status.handler_read_rnd_next", flat(900.0)),
        ("db.status.qcache_hits", flat(0.0)),
    ] {
        series(run, name, &values);
    }
    for (name, value) in [
        ("innodb_buffer_pool_size", "1073741824"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("innodb_flush_method", "O_DIRECT"),
        ("log_bin", "ON"),
        ("sync_binlog", "1"),
        ("max_connections", "151"),
        ("gtid_binlog_pos", "0-1-100"),
    ] {
        setting(run, name, value);
    }
    fact(run, "server.version", "10.11.6-MariaDB");
}

fn postgres(run: &mut RunRecord, rates: &[f64]) {
    let of = |factor: f64| -> Vec<f64> { rates.iter().map(|rate| rate * factor).collect() };
    let flat = |value: f64| vec![value; rates.len()];
    for (name, values) in [
        ("db.database.xact_commit", of(1.0)),
        ("db.database.xact_rollback", flat(0.0)),
        ("db.database.blks_hit", of(200.0)),
        ("db.database.blks_read", of(0.01)),
        ("db.database.deadlocks", flat(0.0)),
        ("db.database.temp_files", flat(0.0)),
        ("db.database.size", flat(9e7)),
        ("db.database.tup_returned", of(400.0)),
        ("db.database.tup_fetched", of(150.0)),
        ("db.tables.scans", of(20.0)),
        ("db.wal.bytes", of(6_000.0)),
    ] {
        series(run, name, &values);
    }
    for (name, value) in [
        ("shared_buffers", "128MB"),
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
    ] {
        setting(run, name, value);
    }
    fact(run, "server.version", "15.5");
}
