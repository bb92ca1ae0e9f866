//! Numbers that do not repeat, in an order that looks random.

use crate::rand::Stream;

/// The number of distinct values: the largest prime below 2^32. It is 3 modulo 4, so quadratic
/// residues give a permutation.
pub const UNIQUE_VALUES: u64 = 4_294_967_291;

/// A permutation of 0 .. 2^32 - 6, chosen by the run's seed.
///
/// For a prime p = 3 (mod 4), x -> x² mod p maps the lower half of the residues one to one to the
/// quadratic residues; their negatives are the others. Two rounds, with a shift and a factor before
/// each, leave no visible order.
#[derive(Clone, Debug)]
pub struct Unique {
    shifts: [u64; 2],
    factors: [u64; 2],
}

impl Unique {
    /// The permutation of a seed.
    pub fn new(seed: u64) -> Self {
        // A separate stream: session streams are numbered from 0.
        let mut stream = Stream::new(seed, u64::MAX);
        Self {
            shifts: [stream.below(UNIQUE_VALUES), stream.below(UNIQUE_VALUES)],
            factors: [
                1 + stream.below(UNIQUE_VALUES - 1),
                1 + stream.below(UNIQUE_VALUES - 1),
            ],
        }
    }

    /// The number at a position. Positions repeat after [`UNIQUE_VALUES`].
    #[inline]
    pub fn at(&self, counter: u64) -> u32 {
        let mut x = counter % UNIQUE_VALUES;
        for (shift, factor) in self.shifts.iter().zip(&self.factors) {
            // Both operands are below 2^32: the product fits 64 bits.
            x = residue((x * factor + shift) % UNIQUE_VALUES);
        }
        // Below 2^32, because it is below UNIQUE_VALUES.
        x as u32
    }

    /// The number at a position in an order of the numbers from `a` to `b`. Positions repeat once
    /// all numbers have come. The order has a constant step, so it is not random.
    pub fn within(&self, counter: u64, a: u32, b: u32) -> u32 {
        let (low, high) = (a.min(b), a.max(b));
        let count = u64::from(high - low) + 1;
        // The first step from the seed onwards that is coprime to the count.
        let first = self.factors[0] % count;
        let steps = (first..count).chain(0..first);
        let step = steps.into_iter().find(|step| gcd(*step, count) == 1);
        let place = counter % count * step.unwrap_or(1) % count;
        // Below 2^32, because it is at most `high`.
        (u64::from(low) + (place + self.shifts[0]) % count) as u32
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

fn residue(x: u64) -> u64 {
    let square = x * x % UNIQUE_VALUES;
    if x <= UNIQUE_VALUES / 2 {
        square
    } else {
        UNIQUE_VALUES - square
    }
}

#[cfg(test)]
mod tests {
    use super::{UNIQUE_VALUES, Unique};
    use std::collections::HashSet;

    #[test]
    fn a_million_places_give_a_million_numbers() {
        let unique = Unique::new(5);
        for start in [0, UNIQUE_VALUES - 500_000] {
            let seen: HashSet<u32> = (start..start + 1_000_000).map(|n| unique.at(n)).collect();
            assert_eq!(seen.len(), 1_000_000);
            assert!(seen.iter().all(|&v| u64::from(v) < UNIQUE_VALUES));
        }
    }

    #[test]
    fn every_place_can_be_found_again() {
        // The full range is too large to enumerate. It is a permutation if each step can be
        // inverted; the inverse of the residue is the power x^((p + 1) / 4).
        let power = |mut base: u64, mut exponent: u64| {
            let mut result = 1;
            while exponent > 0 {
                if exponent & 1 == 1 {
                    result = result * base % UNIQUE_VALUES;
                }
                base = base * base % UNIQUE_VALUES;
                exponent >>= 1;
            }
            result
        };
        for x in (0..UNIQUE_VALUES)
            .step_by(10_007)
            .chain([UNIQUE_VALUES - 1])
        {
            let y = super::residue(x);
            let is_residue = y == 0 || power(y, (UNIQUE_VALUES - 1) / 2) == 1;
            let square = if is_residue { y } else { UNIQUE_VALUES - y };
            let root = power(square, UNIQUE_VALUES.div_ceil(4));
            let low = root.min(UNIQUE_VALUES - root);
            let back = if is_residue || low == 0 {
                low
            } else {
                UNIQUE_VALUES - low
            };
            assert_eq!(back, x, "residue {y}");
        }
    }

    #[test]
    fn seeds_give_different_orders() {
        let first = |seed| {
            let unique = Unique::new(seed);
            [unique.at(0), unique.at(1), unique.at(2)]
        };
        assert_ne!(first(1), first(2));
        assert_eq!(first(1), first(1));
    }

    #[test]
    fn numbers_within_bounds_come_once_each() {
        for (a, b) in [
            (5, 14),
            (1, 1),
            (14, 5),
            (0, 1023),
            (u32::MAX - 6, u32::MAX),
        ] {
            let (low, high) = (a.min(b), a.max(b));
            let unique = Unique::new(3);
            let mut drawn: Vec<u32> = (0..=u64::from(high - low))
                .map(|place| unique.within(place, a, b))
                .collect();
            drawn.sort_unstable();
            assert_eq!(drawn, (low..=high).collect::<Vec<_>>());
        }
    }

    #[test]
    fn neighbours_are_spread_evenly() {
        let unique = Unique::new(9);
        let mut counts = [0u32; 64];
        for n in 0..64_000 {
            counts[(u64::from(unique.at(n)) * 64 / UNIQUE_VALUES) as usize] += 1;
        }
        // Chi-square with 63 degrees of freedom: 103.4 is the 99.9 % point.
        let chi: f64 = counts
            .iter()
            .map(|&c| (f64::from(c) - 1_000.0).powi(2) / 1_000.0)
            .sum();
        assert!(chi < 103.4, "chi-square {chi}");
    }
}
