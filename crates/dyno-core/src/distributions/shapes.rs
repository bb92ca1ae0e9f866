//! Distributions that sysbench lacks: bells, keyed streams, permutations, texts.

use crate::rand::{Stream, mix};

use super::zipf;

/// Zipf's law over ranks from 1.
#[derive(Clone, Copy, Debug)]
pub struct Zipf(zipf::Constants);

impl Zipf {
    /// Over the ranks 1 to `ranks`: rank r is drawn in proportion to r^-exponent.
    pub fn new(ranks: u64, exponent: f64) -> Self {
        Self(zipf::Constants::new(
            ranks.max(1),
            zipf::sane_exponent(exponent),
        ))
    }

    /// A rank.
    #[inline]
    pub fn rank(&self, stream: &mut Stream) -> u64 {
        self.0.rank(stream)
    }
}

/// A stream that depends only on a seed and a key (FNV-1a over the key).
pub fn keyed(seed: u64, key: &[u8]) -> Stream {
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3_u64)
    });
    // Session streams have small numbers; setting the top bit keeps keyed streams apart from them.
    Stream::new(seed, hash | 1 << 63)
}

/// A standard normal draw by the polar method (Marsaglia and Bray). The second value of the pair is
/// discarded, so that a draw depends only on the stream.
pub fn normal(stream: &mut Stream) -> f64 {
    loop {
        let x = 2.0 * stream.next_f64() - 1.0;
        let y = 2.0 * stream.next_f64() - 1.0;
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

/// A whole number between `low` and `high` from a bell cut off `parameter` standard deviations from
/// its middle. A parameter below 2 counts as 2, because nearly all draws would be rejected.
pub fn bell(stream: &mut Stream, low: f64, high: f64, parameter: f64) -> f64 {
    let parameter = if parameter >= 2.0 { parameter } else { 2.0 };
    let size = (high - low).max(0.0) + 1.0;
    loop {
        let deviation = normal(stream);
        if deviation.abs() < parameter {
            let part = (deviation / parameter + 1.0) / 2.0;
            return low + (part * size).floor().min(size - 1.0);
        }
    }
}

/// Fills `out` with letters and digits. The share `compressible` at the end repeats one character,
/// to make the text compressible.
pub fn letters(stream: &mut Stream, compressible: f64, out: &mut [u8]) {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789az";
    let share = compressible.clamp(0.0, 1.0);
    let random = out.len() - (out.len() as f64 * share) as usize;
    let (random, repeated) = out.split_at_mut(random);
    for part in random.chunks_mut(10) {
        let mut bits = stream.next_u64();
        for byte in part {
            *byte = LETTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
    repeated.fill(random.last().copied().unwrap_or(b'x'));
}

/// Where a permutation of 0 to `size` - 1 takes `index`: a Feistel network over the next power of
/// four, walked until it is within (Black and Rogaway, "Ciphers with arbitrary finite domains").
pub fn permute(index: u64, size: u64, seed: u64, key: u64) -> u64 {
    if size < 2 {
        return 0;
    }
    let bits = 64 - (size - 1).leading_zeros();
    let half = bits.div_ceil(2);
    let mask = (1u64 << half) - 1;
    let mut value = index % size;
    loop {
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..4 {
            let mixed = mix(right ^ mix(seed ^ mix(key ^ (round << 56))));
            (left, right) = (right, left ^ (mixed & mask));
        }
        value = left << half | right;
        if value < size {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_takes_every_value_once() {
        for size in [1, 2, 3, 7, 1000, 4096, 100_003] {
            let mut seen = vec![false; size as usize];
            for index in 0..size {
                let value = permute(index, size, 42, 7);
                assert!(
                    !std::mem::replace(&mut seen[value as usize], true),
                    "{size}: {value}"
                );
            }
        }
        let moved = (0..1000).filter(|&i| permute(i, 1000, 42, 7) != i).count();
        assert!(moved > 980, "{moved}");
        assert_ne!(permute(5, 100_003, 1, 7), permute(5, 100_003, 2, 7));
    }

    #[test]
    fn zipf_has_the_frequencies_of_its_law() {
        let zipf = Zipf::new(1000, 1.2);
        let mut stream = Stream::new(1, 1);
        let draws = 1_000_000;
        let first = (0..draws).filter(|_| zipf.rank(&mut stream) == 1).count();
        let sum: f64 = (1..=1000).map(|k| f64::from(k).powf(-1.2)).sum();
        let share = first as f64 / f64::from(draws);
        assert!(
            (share * sum - 1.0).abs() < 0.01,
            "{share} and not {}",
            1.0 / sum
        );
    }

    #[test]
    fn bells_keep_within_their_bounds_and_have_their_width() {
        let mut stream = Stream::new(3, 3);
        let draws: Vec<f64> = (0..100_000)
            .map(|_| bell(&mut stream, 1.0, 1001.0, 4.0))
            .collect();
        assert!(draws.iter().all(|draw| (1.0..=1001.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>();
        let deviation = (square / draws.len() as f64).sqrt();
        // The standard deviation is half the range over four; the cut at four deviations has no
        // visible effect.
        assert!((mean - 501.0).abs() < 2.0, "{mean}");
        assert!((deviation - 125.1).abs() < 2.0, "{deviation}");
    }

    #[test]
    fn texts_are_as_compressible_as_asked() {
        let mut stream = keyed(1, b"text");
        let mut text = [0; 100];
        letters(&mut stream, 0.3, &mut text);
        assert!(text.iter().all(u8::is_ascii_alphanumeric));
        assert!(text[70..].iter().all(|&byte| byte == text[69]));
        assert!(text[..70].windows(3).any(|three| three[0] != three[1]));
        let mut again = [0; 100];
        letters(&mut keyed(1, b"text"), 0.3, &mut again);
        assert_eq!(text, again);
        let mut other = [0; 100];
        letters(&mut keyed(1, b"texu"), 0.3, &mut other);
        assert_ne!(text, other);
    }
}
