//! Random texts from a pattern.

use crate::rand::Stream;

/// Digits per 64-bit draw. The bias is below 10^-3 of the share of a whole group; a test would need
/// 10^16 draws to see it.
const GROUP: usize = 16;

/// Number of patterns a [`TextMaker`] remembers. A script uses two or three.
const REMEMBERED: usize = 4;

/// A compiled pattern: `#` is a digit, `@` a letter a–z, anything else is literal.
///
/// Digits are generated for every place, 16 at a time, and the literal bytes are laid over them.
/// That is cheaper than going from place to place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    source: Vec<u8>,
    groups: Vec<Overlay>,
    letters: Vec<usize>,
}

/// The literal bytes over 16 digits, as two words of eight bytes in memory order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overlay {
    keep: [u64; 2],
    fixed: [u64; 2],
    /// The group has no digit, so it needs no draw.
    no_digit: bool,
}

impl Pattern {
    /// Compiles a pattern; every byte sequence is valid.
    pub fn new(source: &[u8]) -> Self {
        Self {
            source: source.to_vec(),
            groups: source.chunks(GROUP).map(overlay).collect(),
            letters: (0..source.len()).filter(|&i| source[i] == b'@').collect(),
        }
    }

    /// The original pattern.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Appends a text with the pattern's length.
    #[inline]
    pub fn append(&self, stream: &mut Stream, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.groups.len() * GROUP, 0);
        let places = out[start..].as_chunks_mut::<GROUP>().0;
        for (place, overlay) in places.iter_mut().zip(&self.groups) {
            let digits = if overlay.no_digit {
                [0; 2]
            } else {
                sixteen_digits(stream.next_u64())
            };
            let (left, right) = place.split_at_mut(8);
            left.copy_from_slice(&(digits[0] & overlay.keep[0] | overlay.fixed[0]).to_le_bytes());
            right.copy_from_slice(&(digits[1] & overlay.keep[1] | overlay.fixed[1]).to_le_bytes());
        }
        out.truncate(start + self.source.len());
        for &place in &self.letters {
            // Below 26.
            out[start + place] = b'a' + stream.below(26) as u8;
        }
    }
}

/// Caches the last patterns, so that a script's literal is parsed once and not at each call.
#[derive(Clone, Debug, Default)]
pub struct TextMaker {
    patterns: Vec<Pattern>,
    oldest: usize,
}

impl TextMaker {
    /// Appends a text from `pattern` (see [`Pattern`]).
    #[inline]
    pub fn string(&mut self, pattern: &[u8], stream: &mut Stream, out: &mut Vec<u8>) {
        match self.patterns.iter().find(|known| known.source == pattern) {
            Some(known) => known.append(stream, out),
            None => self.learn(pattern).append(stream, out),
        }
    }

    fn learn(&mut self, pattern: &[u8]) -> &Pattern {
        let new = Pattern::new(pattern);
        let place = if self.patterns.len() < REMEMBERED {
            self.patterns.push(new);
            self.patterns.len() - 1
        } else {
            let place = self.oldest;
            self.oldest = (place + 1) % REMEMBERED;
            self.patterns[place] = new;
            place
        };
        &self.patterns[place]
    }
}

/// Appends `min` to `max` bytes, each uniform from `0` to `z` in ASCII. The bounds may be in either
/// order.
pub fn varstring(stream: &mut Stream, min: u32, max: u32, out: &mut Vec<u8>) {
    const CHARS: u128 = (b'z' - b'0' + 1) as u128;
    const CHARS_PER_DRAW: usize = 8;
    let (min, max) = (min.min(max), min.max(max));
    // Bounds of 32 bits, so the length fits.
    let length = (u64::from(min) + stream.below(u64::from(max - min) + 1)) as usize;
    let start = out.len();
    out.resize(start + length, 0);
    for part in out[start..].chunks_mut(CHARS_PER_DRAW) {
        // The draw as a fraction: the upper half of each product is a place, the lower half is the
        // rest.
        let mut fraction = stream.next_u64();
        for place in part {
            let product = u128::from(fraction) * CHARS;
            *place = b'0' + (product >> 64) as u8;
            fraction = product as u64;
        }
    }
}

fn overlay(pattern: &[u8]) -> Overlay {
    let mut keep = [0u8; GROUP];
    let mut fixed = [0u8; GROUP];
    for (i, &byte) in pattern.iter().enumerate() {
        if byte == b'#' {
            keep[i] = 0xff;
        } else {
            fixed[i] = byte;
        }
    }
    let words = |bytes: [u8; GROUP]| {
        let both = u128::from_le_bytes(bytes);
        [both as u64, (both >> 64) as u64]
    };
    Overlay {
        keep: words(keep),
        fixed: words(fixed),
        no_digit: keep.iter().all(|&byte| byte == 0),
    }
}

/// Sixteen ASCII digits: the first sixteen decimals of 64 random bits read as a fraction of 1.
#[inline]
fn sixteen_digits(draw: u64) -> [u64; 2] {
    const SCALE: u128 = 100_000_000;
    let first = u128::from(draw) * SCALE;
    let second = u128::from(first as u64) * SCALE;
    [
        eight_digits((first >> 64) as u64),
        eight_digits((second >> 64) as u64),
    ]
}

/// The eight ASCII digits of a number below 10^8, the first in the lowest byte. The number is split
/// into lanes of four, two and one digits; the factors are reciprocals, exact for the lanes' ranges
/// (tests cover all values).
#[inline]
fn eight_digits(number: u64) -> u64 {
    let high = number / 10_000;
    let fours = high | (number - high * 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | (twos - tens * 10) << 8;
    ones | 0x3030_3030_3030_3030
}

#[cfg(test)]
mod tests {
    use super::{Pattern, TextMaker, eight_digits, varstring};
    use crate::rand::Stream;
    use proptest::prelude::*;

    /// The statistic of these counts against equal ones.
    fn chi_square(counts: &[u32]) -> f64 {
        let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        let squares = counts.iter().map(|&c| (f64::from(c) - mean).powi(2));
        squares.sum::<f64>() / mean
    }

    fn digits_of(number: u64) -> String {
        String::from_utf8(eight_digits(number).to_le_bytes().to_vec()).unwrap()
    }

    #[test]
    fn every_group_of_four_digits_is_written_right() {
        for four in 0..10_000 {
            assert_eq!(digits_of(four), format!("{four:08}"));
            assert_eq!(
                digits_of(four * 10_000 + 1),
                format!("{:08}", four * 10_000 + 1)
            );
        }
        assert_eq!(digits_of(99_999_999), "99999999");
    }

    #[test]
    fn digits_are_uniform_at_every_place() {
        let pattern = Pattern::new(&[b'#'; 40]);
        let mut stream = Stream::new(11, 0);
        let mut counts = [[0u32; 10]; 40];
        let mut out = Vec::new();
        for _ in 0..20_000 {
            out.clear();
            pattern.append(&mut stream, &mut out);
            for (place, digit) in out.iter().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        for (place, counts) in counts.iter().enumerate() {
            // Chi-square with 9 degrees of freedom; 36.0 is exceeded with probability 4·10^-5, so
            // by one of 40 places with less than 0.2 %.
            let chi = chi_square(counts);
            assert!(chi < 36.0, "place {place}: chi-square {chi}");
        }
    }

    #[test]
    fn neighbouring_digits_are_independent() {
        let pattern = Pattern::new(&[b'#'; 32]);
        let mut stream = Stream::new(12, 0);
        let mut counts = vec![0u32; 100];
        let mut out = Vec::new();
        for _ in 0..10_000 {
            out.clear();
            pattern.append(&mut stream, &mut out);
            for pair in out.chunks(2) {
                counts[usize::from(pair[0] - b'0') * 10 + usize::from(pair[1] - b'0')] += 1;
            }
        }
        // Chi-square with 99 degrees of freedom: 148.2 is the 99.9 % point.
        let chi = chi_square(&counts);
        assert!(chi < 148.2, "chi-square {chi}");
    }

    #[test]
    fn letters_are_uniform() {
        let pattern = Pattern::new(b"@-@");
        let mut stream = Stream::new(13, 0);
        let mut counts = [0u32; 26];
        let mut out = Vec::new();
        for _ in 0..13_000 {
            out.clear();
            pattern.append(&mut stream, &mut out);
            assert_eq!(out[1], b'-');
            counts[usize::from(out[0] - b'a')] += 1;
            counts[usize::from(out[2] - b'a')] += 1;
        }
        // Chi-square with 25 degrees of freedom: 52.6 is the 99.9 % point.
        let chi = chi_square(&counts);
        assert!(chi < 52.6, "chi-square {chi}");
    }

    #[test]
    fn varstring_keeps_its_lengths_and_characters() {
        let mut stream = Stream::new(14, 0);
        let mut lengths = [0u32; 21];
        let mut chars = [0u32; 75];
        let mut out = Vec::new();
        for turn in 0..20_000 {
            out.clear();
            let (min, max) = if turn % 2 == 0 { (0, 20) } else { (20, 0) };
            varstring(&mut stream, min, max, &mut out);
            lengths[out.len()] += 1;
            out.iter().for_each(|c| chars[usize::from(c - b'0')] += 1);
        }
        // The 99.9 % points with 20 and 74 degrees of freedom.
        let (lengths, chars) = (chi_square(&lengths), chi_square(&chars));
        assert!(lengths < 45.3, "lengths {lengths}");
        assert!(chars < 117.4, "characters {chars}");
    }

    proptest! {
        #[test]
        fn a_text_has_its_patterns_shape(source in proptest::collection::vec(
            prop_oneof![Just(b'#'), Just(b'@'), any::<u8>()], 0..200), seed: u64) {
            let mut stream = Stream::new(seed, 0);
            let mut out = b"before".to_vec();
            Pattern::new(&source).append(&mut stream, &mut out);
            prop_assert!(out.starts_with(b"before"));
            prop_assert_eq!(out.len(), 6 + source.len());
            for (&byte, &asked) in out[6..].iter().zip(&source) {
                match asked {
                    b'#' => prop_assert!(byte.is_ascii_digit()),
                    b'@' => prop_assert!(byte.is_ascii_lowercase()),
                    other => prop_assert_eq!(byte, other),
                }
            }
        }

        #[test]
        fn remembering_changes_nothing(asked in proptest::collection::vec(0u8..9, 1..60)) {
            let (mut one, mut other) = (Stream::new(3, 0), Stream::new(3, 0));
            let (mut remembered, mut fresh) = (Vec::new(), Vec::new());
            let mut maker = TextMaker::default();
            for n in asked {
                let pattern = format!("{n}-###-@@");
                maker.string(pattern.as_bytes(), &mut one, &mut remembered);
                Pattern::new(pattern.as_bytes()).append(&mut other, &mut fresh);
            }
            prop_assert_eq!(remembered, fresh);
        }
    }
}
