//! The cumulative report: at checkpoints and at the end.

use std::fmt::Write;

use dyno_core::summary::Fairness;

use super::{Edition, Stat};

/// The statistics of a script's database statements.
pub fn sql_block(stat: &Stat) -> String {
    let mut out = String::from("SQL statistics:\n    queries performed:\n");
    for (label, count) in [
        ("read:", stat.reads),
        ("write:", stat.writes),
        ("other:", stat.other),
        ("total:", stat.queries()),
    ] {
        let _ = writeln!(out, "        {label:<32} {count}");
    }
    for (label, count) in [
        ("transactions:", stat.events),
        ("queries:", stat.queries()),
        ("ignored errors:", stat.errors),
        ("reconnects:", stat.reconnects),
    ] {
        let per_s = stat.per_s(count);
        let _ = writeln!(out, "    {label:<36} {count:<6} ({per_s:.2} per sec.)");
    }
    out
}

/// The block of latencies. A `percentile` of 0 is printed as disabled.
pub(super) fn latency(stat: &Stat, percentile: u32) -> String {
    let mut out = String::new();
    out.push_str("\nLatency (ms):\n");
    for (label, seconds) in [
        ("min", stat.latency_min),
        ("avg", stat.latency_avg),
        ("max", stat.latency_max),
    ] {
        let _ = writeln!(out, "         {label}: {:39.2}", seconds * 1e3);
    }
    if percentile > 0 {
        let ms = stat.latency_pct * 1e3;
        let _ = writeln!(out, "        {percentile:3}th percentile: {ms:27.2}");
    } else {
        out.push_str("         percentile stats:               disabled\n");
    }
    let _ = writeln!(out, "         sum: {:39.2}", stat.latency_sum * 1e3);
    out
}

/// Throughput, latency and, if given, fairness. A `percentile` of 0 is printed as disabled.
pub fn general_block(
    stat: &Stat,
    fairness: Option<&Fairness>,
    percentile: u32,
    edition: Edition,
) -> String {
    let mut out = match edition {
        Edition::Release => format!(
            "\nGeneral statistics:\n    {:<36} {:.4}s\n    {:<36} {}\n",
            "total time:", stat.time_total, "total number of events:", stat.events
        ),
        Edition::Master => format!(
            "\nThroughput:\n    {:<36} {:.4}\n    {:<36} {:.4}s\n    {:<36} {}\n",
            "events/s (eps):",
            stat.per_s(stat.events),
            "time elapsed:",
            stat.time_total,
            "total number of events:",
            stat.events
        ),
    };
    out.push_str(&latency(stat, percentile));
    out.push('\n');
    let Some(fairness) = fairness else {
        return out;
    };
    out.push_str("Threads fairness:\n");
    for (label, mean, stddev) in [
        ("events", fairness.events_mean, fairness.events_stddev),
        (
            "execution time",
            fairness.time_mean_s,
            fairness.time_stddev_s,
        ),
    ] {
        let label = format!("{label} (avg/stddev):");
        let _ = writeln!(out, "    {label:<30} {mean:.4}/{stddev:3.2}");
    }
    out.push('\n');
    out
}

/// The addition of `--debug`: each session's shortest, mean and longest latency, events and busy
/// time, taken from its own [`Stat`].
pub fn thread_block(threads: &[Stat]) -> String {
    let mut out = String::from("DEBUG: Verbose per-thread statistics:\n\n");
    for (tid, stat) in threads.iter().enumerate() {
        let _ = writeln!(
            out,
            "DEBUG:     thread #{tid:3}: min: {:.4}s  avg: {:.4}s  max: {:.4}s  events: {}",
            stat.latency_min, stat.latency_avg, stat.latency_max, stat.events
        );
        let _ = writeln!(
            out,
            "DEBUG:                  total time taken by event execution: {:.4}s",
            stat.latency_sum
        );
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat() -> Stat {
        Stat {
            time_interval: 2.0,
            time_total: 3.0042,
            latency_pct: 0.003_82,
            events: 704,
            reads: 9890,
            writes: 2821,
            other: 1_410_000,
            errors: 4,
            latency_min: 0.000_95,
            latency_max: 0.007_21,
            latency_avg: 0.002_85,
            latency_sum: 2.008_08,
            ..Stat::default()
        }
    }

    fn fairness() -> Fairness {
        Fairness {
            events_mean: 352.0,
            events_stddev: 10.0,
            time_mean_s: 1.004,
            time_stddev_s: 0.0,
            events_min: Some(342),
            events_max: Some(362),
        }
    }

    const LATENCY_AND_FAIRNESS: &str = "
Latency (ms):
         min:                                    0.95
         avg:                                    2.85
         max:                                    7.21
         95th percentile:                        3.82
         sum:                                 2008.08

Threads fairness:
    events (avg/stddev):           352.0000/10.00
    execution time (avg/stddev):   1.0040/0.00

";

    #[test]
    fn the_sql_block_is_exact() {
        assert_eq!(
            sql_block(&stat()),
            "SQL statistics:
    queries performed:
        read:                            9890
        write:                           2821
        other:                           1410000
        total:                           1422711
    transactions:                        704    (352.00 per sec.)
    queries:                             1422711 (711355.50 per sec.)
    ignored errors:                      4      (2.00 per sec.)
    reconnects:                          0      (0.00 per sec.)
"
        );
    }

    #[test]
    fn the_general_block_of_the_release_is_exact() {
        let head = "
General statistics:
    total time:                          3.0042s
    total number of events:              704
";
        assert_eq!(
            general_block(&stat(), Some(&fairness()), 95, Edition::Release),
            format!("{head}{LATENCY_AND_FAIRNESS}")
        );
    }

    #[test]
    fn the_general_block_of_master_is_exact() {
        let head = "
Throughput:
    events/s (eps):                      352.0000
    time elapsed:                        3.0042s
    total number of events:              704
";
        assert_eq!(
            general_block(&stat(), Some(&fairness()), 95, Edition::Master),
            format!("{head}{LATENCY_AND_FAIRNESS}")
        );
    }

    #[test]
    fn percentile_labels_keep_their_column() {
        let block =
            |percentile| general_block(&stat(), Some(&fairness()), percentile, Edition::Master);
        assert!(block(0).contains("\n         percentile stats:               disabled\n"));
        assert!(block(5).contains("\n          5th percentile:                        3.82\n"));
        assert!(block(100).contains("\n        100th percentile:                        3.82\n"));
    }

    #[test]
    fn the_thread_block_is_exact() {
        let threads = [Stat {
            latency_min: 0.0002,
            latency_avg: 0.0006,
            latency_max: 0.0021,
            events: 20,
            latency_sum: 0.0112,
            ..Stat::default()
        }];
        assert_eq!(
            thread_block(&threads),
            "DEBUG: Verbose per-thread statistics:

DEBUG:     thread #  0: min: 0.0002s  avg: 0.0006s  max: 0.0021s  events: 20
DEBUG:                  total time taken by event execution: 0.0112s

"
        );
    }
}
