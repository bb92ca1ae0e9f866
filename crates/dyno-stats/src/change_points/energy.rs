//! The energy distance between what lies before and after every split of a segment, in
//! n log n: sums of distances to all earlier values come from two Fenwick trees over ranks.

use crate::random::Random;

/// A split and how good it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// Values before it.
    pub(super) index: usize,
    /// m n / (m + n) times the energy distance.
    pub(super) energy: f64,
}

/// A value with what does not depend on its place.
#[derive(Clone, Copy)]
struct Item {
    value: f64,
    /// From 1, ties in any order.
    rank: usize,
    /// The sum of its distances to all values of the segment.
    distances: f64,
}

/// A segment, to be scanned in many orders.
pub(super) struct Scan {
    items: Vec<Item>,
    /// The items in the order being scanned.
    order: Vec<Item>,
    /// Lengths and starts of blocks, in a random order.
    blocks: Vec<(usize, usize)>,
    counts: Vec<(f64, f64)>,
    /// The sum of the distances of all pairs.
    total: f64,
}

impl Scan {
    pub(super) fn new(values: &[f64]) -> Self {
        let mut sorted: Vec<usize> = (0..values.len()).collect();
        sorted.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
        let n = values.len() as f64;
        let sum: f64 = values.iter().sum();
        let mut items = vec![
            Item {
                value: 0.0,
                rank: 0,
                distances: 0.0
            };
            values.len()
        ];
        let mut below = 0.0;
        for (rank, &index) in sorted.iter().enumerate() {
            let value = values[index];
            let lower = rank as f64;
            let above = sum - below - value;
            let distances = value * lower - below + above - value * (n - 1.0 - lower);
            items[index] = Item {
                value,
                rank: rank + 1,
                distances,
            };
            below += value;
        }
        Self {
            total: items.iter().map(|item| item.distances).sum::<f64>() / 2.0,
            order: items.clone(),
            blocks: Vec::new(),
            counts: vec![(0.0, 0.0); values.len() + 1],
            items,
        }
    }

    /// Puts blocks of `block` values into a random order.
    pub(super) fn shuffle(&mut self, block: usize, random: &mut Random) {
        if block <= 1 {
            random.shuffle(&mut self.order);
            return;
        }
        let n = self.items.len();
        self.blocks.clear();
        self.blocks.extend(
            (0..n)
                .step_by(block)
                .map(|start| (start, (start + block).min(n))),
        );
        random.shuffle(&mut self.blocks);
        self.order.clear();
        for &(start, end) in &self.blocks {
            self.order.extend_from_slice(&self.items[start..end]);
        }
    }

    /// The best split of the present order with at least `min_segment` (2 or more) values a side.
    pub(super) fn best(&mut self, min_segment: usize) -> Option<Split> {
        self.counts.fill((0.0, 0.0));
        let n = self.order.len();
        // Sums over the values before the split: of themselves, of the distances of their pairs,
        // of their distances to all.
        let (mut sum, mut within, mut to_all) = (0.0, 0.0, 0.0);
        let mut best: Option<Split> = None;
        for index in 0..n {
            let item = self.order[index];
            let (below, below_sum) = self.upto(item.rank);
            let above = index as f64 - below;
            within += item.value * below - below_sum + (sum - below_sum) - item.value * above;
            sum += item.value;
            to_all += item.distances;
            self.add(item);
            let before = index + 1;
            if before < min_segment || n - before < min_segment {
                continue;
            }
            let (m, k) = (before as f64, (n - before) as f64);
            let across = to_all - 2.0 * within;
            let after = self.total - within - across;
            let distance = 2.0 * across / (m * k)
                - 2.0 * within / (m * (m - 1.0))
                - 2.0 * after / (k * (k - 1.0));
            let energy = m * k / (m + k) * distance;
            if best.is_none_or(|best| energy > best.energy) {
                best = Some(Split {
                    index: before,
                    energy,
                });
            }
        }
        best
    }

    /// How many of the values added so far have at most this rank, and their sum.
    fn upto(&self, rank: usize) -> (f64, f64) {
        let (mut count, mut sum) = (0.0, 0.0);
        let mut at = rank;
        while at > 0 {
            let node = self.counts[at];
            count += node.0;
            sum += node.1;
            at &= at - 1;
        }
        (count, sum)
    }

    fn add(&mut self, item: Item) {
        let mut at = item.rank;
        while at < self.counts.len() {
            self.counts[at].0 += 1.0;
            self.counts[at].1 += item.value;
            at += at & at.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    fn plain(values: &[f64], index: usize) -> f64 {
        let mean = |a: &[f64], b: &[f64], same: bool| {
            let mut sum = 0.0;
            for x in a {
                for y in b {
                    sum += (x - y).abs();
                }
            }
            let fewer = if same { 1.0 } else { 0.0 };
            sum / (a.len() as f64 * (b.len() as f64 - fewer))
        };
        let (a, b) = values.split_at(index);
        let (m, n) = (a.len() as f64, b.len() as f64);
        m * n / (m + n) * (2.0 * mean(a, b, false) - mean(a, a, true) - mean(b, b, true))
    }

    #[test]
    fn the_trees_give_the_energy_of_the_definition() {
        let values: Vec<f64> = (0..40).map(|i| f64::from((i * 37 + i / 9) % 11)).collect();
        let best = Scan::new(&values).best(3).unwrap();
        let energies: Vec<f64> = (3..=37).map(|index| plain(&values, index)).collect();
        let highest = energies.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!((best.energy - highest).abs() < 1e-9);
        assert!((energies[best.index - 3] - highest).abs() < 1e-9);
    }

    #[test]
    fn blocks_keep_their_values_together() {
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        let mut scan = Scan::new(&values);
        scan.shuffle(4, &mut Random::new(3));
        let order: Vec<usize> = scan.order.iter().map(|item| item.value as usize).collect();
        for block in [&[0usize, 1, 2, 3][..], &[4, 5, 6, 7], &[8, 9]] {
            assert!(order.windows(block.len()).any(|window| window == block));
        }
        assert_eq!(order.len(), 10);
    }
}
