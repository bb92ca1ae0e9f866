//! `--histogram`: latencies in sysbench's logarithmic buckets.

use std::fmt::Write;

use dyno_core::interval::Latencies;

use super::SysbenchLatencies;

/// The number of sysbench's buckets; the first is 0.001 ms, the last 100 s.
const BUCKETS: usize = 1024;
const MS_MIN: f64 = 0.001;
const MS_MAX: f64 = 100_000.0;
const STARS_MAX: f64 = 40.0;

/// The distribution of latencies as bars of stars, without empty buckets. In an open loop these are
/// response times.
pub fn histogram(latencies: &Latencies) -> String {
    let counts = counts(latencies);
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut out = String::from(
        "Latency histogram (values are in milliseconds)\n       \
         value  ------------- distribution ------------- count\n",
    );
    for (bucket, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let stars = (STARS_MAX * count as f64 / most as f64 + 0.5).floor() as usize;
        let _ = writeln!(
            out,
            "{:12.3} |{:<40} {count}",
            value_ms(bucket),
            "*".repeat(stars)
        );
    }
    out.push_str(" \n");
    out
}

fn counts(latencies: &Latencies) -> Vec<u64> {
    let mut counts = vec![0u64; BUCKETS];
    let own = SysbenchLatencies::of(latencies);
    for bin in own.histogram.iter_recorded() {
        let ns = own.histogram.median_equivalent(bin.value_iterated_to());
        counts[bucket_of(ns as f64 / 1e6)] += bin.count_since_last_iteration();
    }
    counts
}

fn bucket_of(ms: f64) -> usize {
    if ms <= MS_MIN {
        return 0;
    }
    (((ms.ln() - MS_MIN.ln()) * per_log() + 0.5).floor() as usize).min(BUCKETS - 1)
}

fn value_ms(bucket: usize) -> f64 {
    (bucket as f64 / per_log() + MS_MIN.ln()).exp()
}

/// Buckets per natural logarithm.
fn per_log() -> f64 {
    (BUCKETS - 1) as f64 / (MS_MAX.ln() - MS_MIN.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_exact() {
        let mut latencies = Latencies::default();
        for _ in 0..194 {
            latencies.record_service(500);
        }
        for ns in [22_000, 22_010, 1_000_000] {
            latencies.record_service(ns);
        }
        assert_eq!(
            histogram(&latencies),
            "Latency histogram (values are in milliseconds)\n       \
             value  ------------- distribution ------------- count\n       \
             0.001 |**************************************** 194\n       \
             0.022 |                                         2\n       \
             1.007 |                                         1\n \n"
        );
    }

    #[test]
    fn buckets_cover_their_bounds() {
        assert_eq!(bucket_of(0.0), 0);
        assert_eq!(bucket_of(MS_MIN), 0);
        assert_eq!(bucket_of(MS_MAX), BUCKETS - 1);
        assert_eq!(bucket_of(3.6e6), BUCKETS - 1);
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(value_ms(bucket)), bucket);
        }
    }

    #[test]
    fn a_run_without_events_has_no_rows() {
        assert_eq!(histogram(&Latencies::default()).lines().count(), 3);
    }
}
