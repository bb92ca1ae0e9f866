//! The energy distance between the values before and after each split of a segment.
//!
//! The part after a split may end before the segment does, and a dozen ends are tried. Without
//! this, a temporary change would be compared with a mixture of itself and the values after it. A
//! scan visits each pair of values once, in a branchless loop over several pairs at a time. For a
//! segment of a few hundred values, this is faster than a tree.

use crate::random::Random;

#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// The number of values before it.
    pub(super) index: usize,
    /// m n / (m + n) times the energy distance.
    pub(super) energy: f64,
}

/// How many ends are tried for the part after a split. They are spread evenly over the segment.
const ENDS: usize = 12;

/// Pairs processed at a time.
const LANES: usize = 8;

pub(super) struct Scan {
    values: Vec<f64>,
    /// The values in their current order.
    order: Vec<f64>,
    /// Starts and ends of blocks, in random order.
    blocks: Vec<(usize, usize)>,
    /// The values of 1 / i, because division is slow.
    inverse: Vec<f64>,
    /// The sum of the distances of all pairs before each split.
    within: Vec<f64>,
    /// The sum of the distances of each value to all values added so far.
    distances: Vec<f64>,
}

impl Scan {
    pub(super) fn new(values: &[f64]) -> Self {
        Self {
            values: values.to_vec(),
            order: values.to_vec(),
            blocks: Vec::new(),
            inverse: (0..=values.len()).map(|i| 1.0 / i.max(1) as f64).collect(),
            within: vec![0.0; values.len() + 1],
            distances: vec![0.0; values.len()],
        }
    }

    pub(super) fn shuffle(&mut self, block: usize, random: &mut Random) {
        if block <= 1 {
            random.shuffle(&mut self.order);
            return;
        }
        let n = self.values.len();
        self.blocks.clear();
        self.blocks.extend(
            (0..n)
                .step_by(block)
                .map(|start| (start, (start + block).min(n))),
        );
        random.shuffle(&mut self.blocks);
        self.order.clear();
        for &(start, end) in &self.blocks {
            self.order.extend_from_slice(&self.values[start..end]);
        }
    }

    /// The best split of the current order that leaves at least `min_segment` (2 or more) values a
    /// side.
    pub(super) fn best(&mut self, min_segment: usize) -> Option<Split> {
        let n = self.order.len();
        let mut best: Option<Split> = None;
        let mut taken = 0;
        for step in 1..=ENDS {
            let end = n * step / ENDS;
            for index in taken..end {
                self.take_in(index);
            }
            if end > taken && end >= 2 * min_segment {
                self.weigh(end, min_segment, &mut best);
            }
            taken = end;
        }
        best
    }

    fn take_in(&mut self, index: usize) {
        let value = self.order[index];
        let mut sums = [0.0; LANES];
        let whole = index - index % LANES;
        let (others, rest) = self.order[..index].split_at(whole);
        let (distances, last) = self.distances[..index].split_at_mut(whole);
        for (others, distances) in others
            .chunks_exact(LANES)
            .zip(distances.chunks_exact_mut(LANES))
        {
            for lane in 0..LANES {
                let distance = (others[lane] - value).abs();
                distances[lane] += distance;
                sums[lane] += distance;
            }
        }
        for (other, sum) in rest.iter().zip(last) {
            let distance = (other - value).abs();
            *sum += distance;
            sums[0] += distance;
        }
        let sum = sums.iter().sum::<f64>();
        self.distances[index] = sum;
        self.within[index + 1] = self.within[index] + sum;
    }

    /// Evaluates every split of the values before `end`, all of which must have been added.
    fn weigh(&self, end: usize, min_segment: usize, best: &mut Option<Split>) {
        let total = self.within[end];
        let mut to_all: f64 = self.distances[..min_segment - 1].iter().sum();
        for before in min_segment..=end - min_segment {
            to_all += self.distances[before - 1];
            let after = end - before;
            let within = self.within[before];
            let across = to_all - 2.0 * within;
            let beyond = total - within - across;
            // m k / (m + k) times 2 across / (m k) - within / C(m, 2) - beyond / C(k, 2).
            let gain = across
                - within * after as f64 * self.inverse[before - 1]
                - beyond * before as f64 * self.inverse[after - 1];
            let energy = 2.0 * gain * self.inverse[end];
            if best.is_none_or(|best| energy > best.energy) {
                *best = Some(Split {
                    index: before,
                    energy,
                });
            }
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
    fn a_scan_gives_the_energy_of_the_definition() {
        let values: Vec<f64> = (0..40).map(|i| f64::from((i * 37 + i / 9) % 11)).collect();
        let best = Scan::new(&values).best(3).unwrap();
        let mut highest = (0, f64::NEG_INFINITY);
        for end in (1..=ENDS)
            .map(|step| 40 * step / ENDS)
            .filter(|&end| end >= 6)
        {
            for index in 3..=end - 3 {
                let energy = plain(&values[..end], index);
                if energy > highest.1 + 1e-9 {
                    highest = (index, energy);
                }
            }
        }
        assert!(
            (best.energy - highest.1).abs() < 1e-9,
            "{best:?} {highest:?}"
        );
        assert_eq!(best.index, highest.0);
    }

    #[test]
    fn blocks_keep_their_values_together() {
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        let mut scan = Scan::new(&values);
        scan.shuffle(4, &mut Random::new(3));
        let order: Vec<usize> = scan.order.iter().map(|&value| value as usize).collect();
        for block in [&[0usize, 1, 2, 3][..], &[4, 5, 6, 7], &[8, 9]] {
            assert!(order.windows(block.len()).any(|window| window == block));
        }
        assert_eq!(order.len(), 10);
    }
}
