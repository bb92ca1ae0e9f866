//! The modes of a histogram of response times, such as those of cache, memory and disk.
//!
//! The buckets are those of sysbench's histograms, which published figures use: 1024 values from
//! 0.001 to 100,000 in milliseconds. Each value is 1.8 % above the one before.

/// Number of buckets.
pub const BUCKETS: usize = 1024;

/// Decades from the first bucket's value to the last one's.
const DECADES: f64 = 8.0;

/// The decimal logarithm of the first bucket's value.
const FIRST_DECADE: f64 = -3.0;

/// The value of a bucket, 10^(-3 + 8 i / 1023), in milliseconds.
pub fn bucket_value(index: usize) -> f64 {
    10f64.powf(FIRST_DECADE + DECADES * index as f64 / (BUCKETS - 1) as f64)
}

/// Options that separate modes from noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Width of the Gaussian that smooths the counts, in buckets.
    pub sigma_buckets: f64,
    /// Minimum height of a peak above the higher of the two valleys that separate it from higher
    /// peaks, in decades of the smoothed count.
    pub prominence_decades: f64,
    /// Minimum smoothed count of a peak.
    pub count_min: u64,
}

impl Default for Modes {
    /// 1.5 buckets, 0.15 decades, 50 events.
    fn default() -> Self {
        Self {
            sigma_buckets: 1.5,
            prominence_decades: 0.15,
            count_min: 50,
        }
    }
}

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Value of its peak, in the unit of the input.
    pub at: f64,
    /// Value of its first bucket.
    pub from: f64,
    /// Value of its last bucket.
    pub to: f64,
    /// Events in these buckets, both included.
    pub count: u64,
    /// `count` over all events, in [0, 1].
    pub share: f64,
}

/// The modes of a histogram in ascending order, divided at the lowest smoothed count between their
/// peaks. Buckets are `(value, count)` with the values of [`bucket_value`], in any order and
/// without the empty ones; [`regrid`] converts other histograms. Values that are not positive
/// are ignored.
pub fn modes(buckets: &[(f64, u64)], options: &Modes) -> Vec<Mode> {
    let mut counts = vec![0u64; BUCKETS];
    for &(value, count) in buckets {
        if let Some(index) = bucket_of(value) {
            counts[index] = counts[index].saturating_add(count);
        }
    }
    let total: u64 = counts.iter().sum();
    let (Some(first), Some(last)) = (
        counts.iter().position(|&count| count > 0),
        counts.iter().rposition(|&count| count > 0),
    ) else {
        return Vec::new();
    };
    let smooth = smoothed(&counts, options.sigma_buckets);
    let peaks = peaks(&smooth, options);
    let mut edges = vec![first];
    for pair in peaks.windows(2) {
        let valley = (pair[0]..=pair[1])
            .min_by(|&a, &b| smooth[a].total_cmp(&smooth[b]))
            .unwrap_or(pair[1]);
        edges.push(valley.max(first));
    }
    edges.push(last + 1);
    peaks
        .iter()
        .zip(edges.windows(2))
        .map(|(&peak, edge)| {
            let count = counts[edge[0]..edge[1]].iter().sum();
            Mode {
                at: bucket_value(peak),
                from: bucket_value(edge[0]),
                to: bucket_value(edge[1] - 1),
                count,
                share: count as f64 / total as f64,
            }
        })
        .collect()
}

/// The bucket with the nearest value on the logarithmic scale. Values beyond the ends belong to the
/// first or the last bucket.
fn bucket_of(value: f64) -> Option<usize> {
    if value.is_nan() || value <= 0.0 {
        return None;
    }
    let position = (value.log10() - FIRST_DECADE) / DECADES * (BUCKETS - 1) as f64;
    Some((position.round().max(0.0) as usize).min(BUCKETS - 1))
}

/// The smallest count on the logarithmic scale.
const COUNT_FLOOR: f64 = 1.0;

/// Smooths with a Gaussian of width sigma, cut off at four sigma. Buckets beyond the ends count as
/// empty.
fn smoothed(counts: &[u64], sigma: f64) -> Vec<f64> {
    if !sigma.is_finite() || sigma <= 0.0 {
        return counts.iter().map(|&count| count as f64).collect();
    }
    let reach = ((4.0 * sigma + 0.5) as usize).min(BUCKETS);
    let kernel: Vec<f64> = (0..=reach)
        .map(|step| (-0.5 * (step as f64 / sigma).powi(2)).exp())
        .collect();
    let total = kernel[0] + 2.0 * kernel[1..].iter().sum::<f64>();
    (0..counts.len())
        .map(|index| {
            let from = index.saturating_sub(reach);
            let to = (index + reach + 1).min(counts.len());
            let sum: f64 = (from..to)
                .map(|at| counts[at] as f64 * kernel[at.abs_diff(index)])
                .sum();
            sum / total
        })
        .collect()
}

/// The peaks that are high and prominent enough, in ascending order.
fn peaks(smooth: &[f64], options: &Modes) -> Vec<usize> {
    let heights: Vec<f64> = smooth.iter().map(|x| x.max(COUNT_FLOOR).log10()).collect();
    (0..heights.len())
        .filter(|&at| {
            // If the top is flat, its first bucket is the peak.
            let rises = at == 0 || heights[at - 1] < heights[at];
            let next = heights[at..].iter().find(|&&height| height != heights[at]);
            let falls = next.is_none_or(|&height| height < heights[at]);
            rises
                && falls
                && smooth[at] >= options.count_min as f64
                && prominence(&heights, at) >= options.prominence_decades
        })
        .collect()
}

fn prominence(heights: &[f64], at: usize) -> f64 {
    let valley = |side: &mut dyn Iterator<Item = &f64>| {
        side.take_while(|&&height| height <= heights[at])
            .copied()
            .fold(heights[at], f64::min)
    };
    let left = valley(&mut heights[..at].iter().rev());
    let right = valley(&mut heights[at + 1..].iter());
    heights[at] - left.max(right)
}

/// A bucket of any histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Lower end, in milliseconds.
    pub low: f64,
    /// Upper end, in milliseconds; equal to `low` for a bucket of one value.
    pub high: f64,
    /// Events.
    pub count: u64,
}

/// Converts any histogram to the buckets of this module, without empty ones. The events of a bucket
/// are spread evenly over it, so that wider buckets cause no gaps. The total stays the same.
/// Buckets with NaN or reversed ends are ignored.
pub fn regrid(buckets: &[Bucket]) -> Vec<(f64, u64)> {
    // Upper ends of the buckets, half a step above their values.
    let half = 10f64.powf(DECADES / (BUCKETS - 1) as f64 / 2.0);
    let ends: Vec<f64> = (0..BUCKETS)
        .map(|index| bucket_value(index) * half)
        .collect();
    let mut counts = vec![0.0; BUCKETS];
    for bucket in buckets.iter().filter(|bucket| bucket.low <= bucket.high) {
        let width = bucket.high - bucket.low;
        let first = ends
            .partition_point(|&end| end <= bucket.low)
            .min(BUCKETS - 1);
        let mut done = 0.0;
        for (index, &end) in ends.iter().enumerate().skip(first) {
            let share = if index == BUCKETS - 1 || bucket.high <= end || !width.is_finite() {
                1.0
            } else {
                (end - bucket.low) / width
            };
            counts[index] += (share - done) * bucket.count as f64;
            done = share;
            if share >= 1.0 {
                break;
            }
        }
    }
    // Round the running sums instead of the counts, to preserve the total.
    let (mut sum, mut whole) = (0.0, 0.0);
    let mut filled = Vec::new();
    for (index, count) in counts.iter().enumerate() {
        sum += count;
        let next = f64::round(sum);
        if next > whole {
            filled.push((bucket_value(index), (next - whole) as u64));
            whole = next;
        }
    }
    filled
}
