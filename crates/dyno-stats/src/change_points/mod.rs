//! Change points of a series: E-divisive (Matteson and James, "A Nonparametric Approach for
//! Multiple Change Point Analysis of Multivariate Data").
//!
//! The score of a split is the energy distance between the values before and after it, which
//! detects changes of level, spread and shape. The best split of all segments is kept if random
//! orders of the values within their segments rarely have one as good.
//!
//! Three simplifications keep the time for one hour of seconds below a tenth of a second. The part
//! after a split ends at one of a dozen places. A series of more than [`CELLS_MAX`] values is
//! compared by the means of equal cells, which mostly detects changes of level, and the index is
//! then refined on the values. Permuting stops as soon as the split can no longer become
//! significant.

mod energy;
mod levels;

use crate::all_finite;
use crate::autocorrelation::autocorrelation_time;
use crate::random::Random;
use energy::{Scan, Split};

pub use levels::{LevelChange, LevelChanges, level_changes};

/// The largest number of cells that a series is reduced to.
pub(crate) const CELLS_MAX: usize = 300;

/// Seed of the random orders, so that the same series has the same change points.
const SEED: u64 = 1;

/// Options of the search for change points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoints {
    /// Minimum number of values between two change points, before the first, and after the last.
    pub min_segment: usize,
    /// The chance of a false first change point, in (0, 1).
    pub significance: f64,
    /// The number of random orders. With fewer than 1 / `significance` - 1, nothing can be found.
    pub permutations: usize,
}

impl Default for ChangePoints {
    /// Segments of at least ten values, 5 %, and 199 permutations.
    fn default() -> Self {
        Self {
            min_segment: 10,
            significance: 0.05,
            permutations: 199,
        }
    }
}

/// A change point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub index: usize,
    /// The share of random orders, including the series itself, that have a split as good. It is
    /// raised by a quarter, because the block length was measured on the same series.
    pub p: f64,
    /// Mean since the previous change point.
    pub before_mean: f64,
    /// Mean up to the next change point.
    pub after_mean: f64,
}

/// The change points of a series in order of time. Empty if the series is too short or has values
/// that are not finite, and for options out of range.
///
/// Blocks are permuted, because single values would find changes everywhere in an autocorrelated
/// series. Their length is derived from the autocorrelation time of the series about the levels
/// found so far, so that the changes themselves do not count as correlation. A few long blocks are
/// rarely significant. In a strongly autocorrelated series, temporary changes and changes near an
/// end are therefore often missed.
pub fn change_points(series: &[f64], options: &ChangePoints) -> Vec<ChangePoint> {
    let length = options.min_segment.max(1);
    if !all_finite(series) || series.len() < 2 * length || !crate::proper(options.significance) {
        return Vec::new();
    }
    let cell = series.len().div_ceil(CELLS_MAX);
    let cells: Vec<f64> = if cell == 1 {
        series.to_vec()
    } else {
        let whole = series.chunks_exact(cell);
        whole
            .map(|values| values.iter().sum::<f64>() / cell as f64)
            .collect()
    };
    let found = Search {
        cells: &cells,
        min_segment: length.div_ceil(cell).max(2),
        options,
    }
    .run();
    let mut edges: Vec<(usize, f64)> = found.iter().map(|&(index, p)| (index * cell, p)).collect();
    if cell > 1 {
        refine(series, &mut edges, cell, length);
    }
    with_means(series, &edges)
}

/// One search: the change points found so far divide the cells into segments.
struct Search<'a> {
    cells: &'a [f64],
    min_segment: usize,
    options: &'a ChangePoints,
}

impl Search<'_> {
    /// Indices of cells and p-values, in time order.
    fn run(&self) -> Vec<(usize, f64)> {
        let mut random = Random::new(SEED);
        let mut found: Vec<(usize, f64)> = Vec::new();
        loop {
            let mut edges: Vec<usize> = found.iter().map(|&(index, _)| index).collect();
            edges.insert(0, 0);
            edges.push(self.cells.len());
            let mut scans: Vec<(usize, Scan)> = edges
                .windows(2)
                .filter(|edge| edge[1] - edge[0] >= 2 * self.min_segment)
                .map(|edge| (edge[0], Scan::new(&self.cells[edge[0]..edge[1]])))
                .collect();
            let splits: Vec<(usize, Split)> = scans
                .iter_mut()
                .filter_map(|(start, scan)| Some((*start, scan.best(self.min_segment)?)))
                .collect();
            let Some((start, split)) = splits
                .iter()
                .max_by(|a, b| a.1.energy.total_cmp(&b.1.energy))
            else {
                return found;
            };
            let block = self.measured(&edges, &splits);
            let Some(p) = self.p_value(&mut scans, split.energy, block, &mut random) else {
                return found;
            };
            let at = found.partition_point(|&(index, _)| index < start + split.index);
            found.insert(at, (start + split.index, p));
        }
    }

    /// The p-value of a split with this energy; `None` if it is not significant.
    fn p_value(
        &self,
        scans: &mut [(usize, Scan)],
        energy: f64,
        block: usize,
        random: &mut Random,
    ) -> Option<f64> {
        let orders = (self.options.permutations + 1) as f64 / MEASURED;
        let mut as_good = 1; // the series itself
        let most = self.options.significance * orders;
        for _ in 0..self.options.permutations {
            if f64::from(as_good) > most {
                return None;
            }
            let best = scans
                .iter_mut()
                .filter_map(|(_, scan)| {
                    scan.shuffle(block, random);
                    scan.best(self.min_segment)
                })
                .map(|split| split.energy)
                .fold(f64::NEG_INFINITY, f64::max);
            as_good += u32::from(best >= energy);
        }
        (f64::from(as_good) <= most).then(|| f64::from(as_good) / orders)
    }

    /// Measures a block length from the autocorrelation time of the residuals about the level of
    /// each segment. Segments are also split at a few of the best splits not accepted yet, because
    /// a change that is not found yet would count as correlation.
    fn measured(&self, edges: &[usize], splits: &[(usize, Split)]) -> usize {
        let mut edges = edges.to_vec();
        let mut next = splits.to_vec();
        for _ in 0..self.cells.len() / CELLS_A_SPLIT {
            let best =
                (0..next.len()).max_by(|&a, &b| next[a].1.energy.total_cmp(&next[b].1.energy));
            let Some((start, split)) = best.map(|best| next.swap_remove(best)) else {
                break;
            };
            let middle = start + split.index;
            let at = edges.partition_point(|&edge| edge < middle);
            edges.insert(at, middle);
            for part in [start..middle, middle..edges[at + 1]] {
                let split = Scan::new(&self.cells[part.clone()]).best(self.min_segment);
                next.extend(split.map(|split| (part.start, split)));
            }
        }
        let rest: Vec<f64> = edges
            .windows(2)
            .flat_map(|edge| {
                let segment = &self.cells[edge[0]..edge[1]];
                let mean = segment.iter().sum::<f64>() / segment.len() as f64;
                segment.iter().map(move |value| value - mean)
            })
            .collect();
        let time = autocorrelation_time(&rest).unwrap_or(1.0);
        block_length(1.0 + RESTORED * (time - 1.0), self.cells.len())
    }
}

/// Chance changes shorten a measured block and then look more significant. P-values are therefore
/// raised by this factor, which was chosen on simulated autoregressions.
const MEASURED: f64 = 1.25;

/// One more split is tried for this many cells, before the correlation is measured.
const CELLS_A_SPLIT: usize = 40;

/// Those splits also remove some of the slow waves. To correct for that, the excess of the
/// autocorrelation time over 1 is multiplied by this factor. It was chosen on simulated
/// autoregressions, together with the two constants above and the one below: at a level of 5 %, 5
/// to 7 % of them raise a false alarm.
const RESTORED: f64 = 2.0;

/// Blocks may understate the variance of a mean by this share.
const BLOCK_BIAS: f64 = 0.04;

/// With fewer blocks, a plain step would look like chance. If five of ten blocks are high, one
/// order in 126 separates high from low; if three of six are high, one in ten does.
const BLOCKS_MIN: usize = 10;

/// A first-order autoregression of autocorrelation time t, cut into blocks of b values, loses (t -
/// 1 / t) / (2 b) of the variance of its mean.
fn block_length(time: f64, cells: usize) -> usize {
    let time = time.max(1.0);
    let block = ((time - 1.0 / time) / (2.0 * BLOCK_BIAS)).ceil() as usize;
    block.min(cells / BLOCKS_MIN).max(1)
}

/// Moves each edge, known to within a cell, to where the means on its sides differ most.
fn refine(series: &[f64], edges: &mut [(usize, f64)], cell: usize, min_segment: usize) {
    for at in 0..edges.len() {
        let start = if at == 0 { 0 } else { edges[at - 1].0 };
        let end = edges.get(at + 1).map_or(series.len(), |next| next.0);
        let segment = &series[start..end];
        let total: f64 = segment.iter().sum();
        let centre = edges[at].0 - start;
        let from = centre.saturating_sub(cell).max(min_segment);
        let to = (centre + cell).min(segment.len().saturating_sub(min_segment));
        let mut before: f64 = segment[..from.min(segment.len())].iter().sum();
        let (mut best, mut widest) = (centre, f64::NEG_INFINITY);
        for index in from..=to {
            let share = index as f64 / segment.len() as f64;
            // The reduction in the sum of squares, up to constant factors.
            let gap = (before - share * total).powi(2) / (share * (1.0 - share));
            if gap > widest {
                (best, widest) = (index, gap);
            }
            before += segment.get(index).copied().unwrap_or_default();
        }
        edges[at].0 = start + best;
    }
}

fn with_means(series: &[f64], edges: &[(usize, f64)]) -> Vec<ChangePoint> {
    let mean = |from: usize, to: usize| {
        let segment = &series[from..to];
        segment.iter().sum::<f64>() / segment.len() as f64
    };
    (0..edges.len())
        .map(|at| {
            let (index, p) = edges[at];
            let start = if at == 0 { 0 } else { edges[at - 1].0 };
            let end = edges.get(at + 1).map_or(series.len(), |next| next.0);
            ChangePoint {
                index,
                p,
                before_mean: mean(start, index),
                after_mean: mean(index, end),
            }
        })
        .collect()
}
