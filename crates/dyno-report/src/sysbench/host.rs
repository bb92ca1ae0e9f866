//! The test-specific output of sysbench's host tests: before the first event, and before the
//! general block at the end.

use std::fmt::Write;

use super::report::latency;
use super::{Edition, Stat};

const MIB: f64 = 1_048_576.0;

/// The parameters of `cpu`.
pub fn cpu_mode(max_prime: u64) -> String {
    format!("Prime numbers limit: {max_prime}\n\n")
}

/// The figure of `cpu`.
pub fn cpu_block(stat: &Stat) -> String {
    let per_s = stat.per_s(stat.events);
    format!("CPU speed:\n    events per second: {per_s:8.2}\n")
}

/// The parameters of `memory`.
#[derive(Clone, Copy, Debug)]
pub struct MemoryMode {
    /// Bytes per block.
    pub block: u64,
    /// Bytes to transfer.
    pub total: u64,
    /// `read`, `write` or `none`.
    pub operation: &'static str,
    /// `global` or `local`.
    pub scope: &'static str,
}

/// The description of `memory`'s parameters. Blocks that are not a whole number of KiB are given in
/// bytes.
pub fn memory_mode(mode: &MemoryMode) -> String {
    let block = match mode.block % 1024 {
        0 => format!("{}KiB", mode.block / 1024),
        _ => format!("{}B", mode.block),
    };
    format!(
        "Running memory speed test with the following options:\n  block size: {block}\n  \
         total size: {}MiB\n  operation: {}\n  scope: {}\n\n",
        mode.total / (1 << 20),
        mode.operation,
        mode.scope
    )
}

/// The figures of `memory`. `bytes` is `None` if nothing is transferred.
pub fn memory_block(stat: &Stat, bytes: Option<u64>) -> String {
    let mut out = format!(
        "Total operations: {} ({:8.2} per second)\n\n",
        stat.events,
        stat.per_s(stat.events)
    );
    if let Some(bytes) = bytes {
        let (mib, per_s) = (bytes as f64 / MIB, stat.per_s(bytes) / MIB);
        let _ = writeln!(out, "{mib:4.2} MiB transferred ({per_s:4.2} MiB/sec)\n");
    }
    out
}

/// The parameters of `threads`.
pub fn threads_mode(yields: u64, locks: u64) -> String {
    format!(
        "Doing thread subsystem performance test\nThread yields per test: {yields} Locks used: \
         {locks}\n"
    )
}

/// The parameters of `mutex`.
pub fn mutex_mode() -> String {
    "Doing mutex performance test\n".to_owned()
}

/// The counts of `fileio`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Flushes.
    pub fsyncs: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// The figures of `fileio`.
pub fn file_block(stat: &Stat, counts: &FileCounts, edition: Edition) -> String {
    let mib = |bytes: u64| stat.per_s(bytes) / MIB;
    let mut out = String::new();
    match edition {
        Edition::Release => {
            out.push_str("\nFile operations:\n");
            for (label, count) in [
                ("reads/s:", counts.reads),
                ("writes/s:", counts.writes),
                ("fsyncs/s:", counts.fsyncs),
            ] {
                let _ = writeln!(out, "    {label:<29} {:4.2}", stat.per_s(count));
            }
            out.push_str("\nThroughput:\n");
            for (label, bytes) in [
                ("read, MiB/s:", counts.bytes_read),
                ("written, MiB/s:", counts.bytes_written),
            ] {
                let _ = writeln!(out, "    {label:<29} {:4.2}", mib(bytes));
            }
        }
        Edition::Master => {
            out.push_str("\nThroughput:\n");
            for (label, count, bytes) in [
                ("read: ", counts.reads, counts.bytes_read),
                ("write:", counts.writes, counts.bytes_written),
            ] {
                let _ = writeln!(
                    out,
                    "         {label} IOPS={:4.2} {:4.2} MiB/s ({:4.2} MB/s)",
                    stat.per_s(count),
                    mib(bytes),
                    stat.per_s(bytes) / 1e6
                );
            }
            let _ = writeln!(
                out,
                "         fsync: IOPS={:4.2}",
                stat.per_s(counts.fsyncs)
            );
        }
    }
    out
}

/// Latencies of `fileio` in 1.1.0, which has no general block.
pub fn file_latency(stat: &Stat, percentile: u32) -> String {
    latency(stat, percentile) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat() -> Stat {
        Stat {
            time_interval: 2.0,
            events: 4606,
            latency_pct: 0.001,
            ..Stat::default()
        }
    }

    #[test]
    fn modes_are_exact() {
        assert_eq!(cpu_mode(10_000), "Prime numbers limit: 10000\n\n");
        let mode = MemoryMode {
            block: 1024,
            total: 100 << 30,
            operation: "write",
            scope: "global",
        };
        assert_eq!(
            memory_mode(&mode),
            "Running memory speed test with the following options:\n  block size: 1KiB\n  \
             total size: 102400MiB\n  operation: write\n  scope: global\n\n"
        );
        assert!(memory_mode(&MemoryMode { block: 8, ..mode }).contains("block size: 8B\n"));
        assert_eq!(
            threads_mode(1000, 8) + &mutex_mode(),
            "Doing thread subsystem performance test\nThread yields per test: 1000 Locks used: 8\n\
             Doing mutex performance test\n"
        );
    }

    #[test]
    fn blocks_are_exact() {
        assert_eq!(
            cpu_block(&stat()),
            "CPU speed:\n    events per second:  2303.00\n"
        );
        assert_eq!(
            memory_block(&stat(), Some(3 << 20)),
            "Total operations: 4606 ( 2303.00 per second)\n\n\
             3.00 MiB transferred (1.50 MiB/sec)\n\n"
        );
        assert_eq!(
            memory_block(&stat(), None),
            "Total operations: 4606 ( 2303.00 per second)\n\n"
        );
    }

    #[test]
    fn both_file_blocks_are_exact() {
        let counts = FileCounts {
            reads: 60,
            writes: 40,
            fsyncs: 8,
            bytes_read: 60 << 14,
            bytes_written: 40 << 14,
        };
        assert_eq!(
            file_block(&stat(), &counts, Edition::Release),
            "\nFile operations:\n    reads/s:                      30.00\n    \
             writes/s:                     20.00\n    fsyncs/s:                     4.00\n\n\
             Throughput:\n    read, MiB/s:                  0.47\n    \
             written, MiB/s:               0.31\n"
        );
        assert_eq!(
            file_block(&stat(), &counts, Edition::Master),
            "\nThroughput:\n         read:  IOPS=30.00 0.47 MiB/s (0.49 MB/s)\n         \
             write: IOPS=20.00 0.31 MiB/s (0.33 MB/s)\n         fsync: IOPS=4.00\n"
        );
        let latency = file_latency(&stat(), 95);
        assert!(
            latency.starts_with("\nLatency (ms):\n         min:"),
            "{latency}"
        );
        assert!(latency.contains("\n         95th percentile:                        1.00\n"));
        assert!(file_latency(&stat(), 0).contains("disabled"));
    }
}
