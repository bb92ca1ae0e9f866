//! Compares with a published histogram and published tables, to the last digit that they print.

use dyno_stats::Bounds;
use dyno_stats::intervals::mean_interval;
use dyno_stats::modes::{Bucket, Mode, Modes, modes, regrid};
use dyno_stats::quantiles::describe;

/// Percona, "sysbench Histograms: A Helpful Feature Often Overlooked".
fn histogram() -> Vec<(f64, u64)> {
    let mut buckets = Vec::new();
    for line in include_str!("../../fixtures/sysbench-histogram.csv")
        .lines()
        .skip(1)
    {
        let mut columns = line.split(',');
        let value = columns.next().map(str::parse::<f64>);
        let count = columns.next().map(str::parse::<u64>);
        if let (Some(Ok(value)), Some(Ok(count))) = (value, count) {
            buckets.push((value, count));
        }
    }
    buckets
}

fn modes_of(prominence_decades: f64) -> Vec<Mode> {
    let options = Modes {
        prominence_decades,
        ..Modes::default()
    };
    modes(&histogram(), &options)
}

fn positions(prominence_decades: f64) -> Vec<String> {
    modes_of(prominence_decades)
        .iter()
        .map(|mode| format!("{:.3}", mode.at))
        .collect()
}

#[test]
fn the_histogram_is_whole() {
    let buckets = histogram();
    assert_eq!(buckets.len(), 206);
    assert_eq!(
        buckets.iter().map(|bucket| bucket.1).sum::<u64>(),
        1_807_966
    );
}

#[test]
fn three_modes_stand_out() {
    assert_eq!(positions(0.15), ["0.069", "0.172", "0.728"]);
}

#[test]
fn a_fourth_and_a_fifth_mode_show_at_lower_prominence() {
    assert_eq!(positions(0.05), ["0.069", "0.172", "0.206", "0.728"]);
    assert_eq!(
        positions(0.04),
        ["0.069", "0.172", "0.206", "0.301", "0.728"]
    );
}

#[test]
fn modes_divide_all_events() {
    for prominence in [0.15, 0.05, 0.04] {
        let found = modes_of(prominence);
        assert_eq!(found.iter().map(|mode| mode.count).sum::<u64>(), 1_807_966);
        assert!((found.iter().map(|mode| mode.share).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn masses() {
    let buckets = histogram();
    let ends = [
        0.0,
        0.0772,
        0.1305,
        0.1875,
        0.2195,
        0.36,
        0.6,
        1.0,
        f64::INFINITY,
    ];
    let shares: Vec<f64> = ends
        .windows(2)
        .map(|end| {
            let inside = buckets
                .iter()
                .filter(|(value, _)| *value > end[0] && *value <= end[1]);
            100.0 * inside.map(|bucket| bucket.1).sum::<u64>() as f64 / 1_807_966.0
        })
        .collect();
    let coarse: Vec<String> = shares[..5]
        .iter()
        .map(|share| format!("{share:.1}"))
        .collect();
    let fine: Vec<String> = shares[5..]
        .iter()
        .map(|share| format!("{share:.2}"))
        .collect();
    assert_eq!(coarse, ["20.7", "6.0", "36.4", "24.5", "11.5"]);
    assert_eq!(fine, ["0.22", "0.58", "0.03"]);
}

#[test]
fn regridding_aligned_values_changes_no_mode() {
    let points: Vec<Bucket> = histogram()
        .iter()
        .map(|&(value, count)| Bucket {
            low: value,
            high: value,
            count,
        })
        .collect();
    let again = modes(&regrid(&points), &Modes::default());
    assert_eq!(again, modes_of(0.15));
}

/// The throughput with a proxy divided by that without it.
#[test]
fn interval_of_a_ratio() {
    let ratios = [0.97, 1.03, 0.95, 0.96, 0.98, 0.97, 0.95, 0.93];
    let seen = describe(&ratios).unwrap();
    assert_eq!(format!("{:.4} {:.4}", seen.mean, seen.sd), "0.9675 0.0296");
    let Bounds { low, high } = mean_interval(&ratios, 0.95).unwrap();
    assert_eq!(format!("{low:.3} {high:.3}"), "0.943 0.992");
}
