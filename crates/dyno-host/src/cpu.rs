//! Divisions: finds the primes below a limit by trial division.

use dyno_core::interval::Counters;
use dyno_core::session::{Port, SessionId, Step};

use crate::options::{Kind, Values, option};
use crate::plan::Figure;
use crate::program::{After, Work, events};
use crate::{Definition, Test};

const OPTIONS: &[Definition] = &[option(
    "cpu-max-prime",
    Kind::Int,
    "10000",
    "upper limit for primes generator",
)];

pub(crate) const TEST: Test = Test {
    name: "cpu",
    about: "a search for prime numbers by 64-bit divisions",
    options: OPTIONS,
    operations: &[],
    commands: &[],
    draws_places: false,
    revision: 1,
};

/// The test with its options read.
#[derive(Debug)]
pub struct Cpu {
    /// The upper limit of the numbers tried.
    pub max_prime: u64,
}

impl Cpu {
    pub(crate) fn new(values: &Values<'_>) -> Result<Self, String> {
        Ok(Self {
            max_prime: values.count("cpu-max-prime", 4)?,
        })
    }

    pub(crate) fn work(&self) -> impl Work + use<> {
        Trial {
            max_prime: self.max_prime,
        }
    }

    pub(crate) fn about(&self) -> Vec<String> {
        let limit = self.max_prime;
        vec![format!(
            "An event tests all numbers below {limit} for primality with 64-bit divisions in \
             registers, each waiting for the previous one. It measures the speed of one core, not \
             of memory."
        )]
    }

    pub(crate) fn figures(&self, counters: &Counters, seconds: f64) -> Vec<Figure> {
        // Beyond this, counting takes long, and no event would be short enough to be measured.
        const COUNTED_MAX: u64 = 10_000_000;
        if self.max_prime > COUNTED_MAX {
            return Vec::new();
        }
        let divisions = divisions(self.max_prime) as f64 * counters.events as f64;
        vec![Figure {
            name: "divisions",
            value: divisions / seconds / 1e6,
            unit: "million/s",
        }]
    }
}

struct Trial {
    max_prime: u64,
}

impl Work for Trial {
    fn turn(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        events(port, session, |_| {
            std::hint::black_box(primes(std::hint::black_box(self.max_prime)));
            Ok(After::Next)
        })
    }
}

/// The number of primes from 3 up to below `limit`.
fn primes(limit: u64) -> u64 {
    let mut found = 0;
    for number in 3..limit {
        let root = root(number);
        let mut divisor = 2;
        while divisor <= root && remainder(number, divisor) != 0 {
            divisor += 1;
        }
        found += u64::from(divisor > root);
    }
    found
}

/// The number of divisions that takes.
fn divisions(limit: u64) -> u64 {
    let mut count = 0;
    for number in 3..limit {
        let root = root(number);
        let mut divisor = 2;
        while divisor <= root {
            count += 1;
            if number % divisor == 0 {
                break;
            }
            divisor += 1;
        }
    }
    count
}

#[inline]
fn root(number: u64) -> u64 {
    (number as f64).sqrt() as u64
}

/// The remainder of a 64-bit division by the processor's own instruction: compilers use a narrower,
/// faster one for numbers that happen to be small.
#[cfg(target_arch = "x86_64")]
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    let rest;
    // SAFETY: the divisor is at least 2 and the upper half of the number 0, so the quotient fits;
    // the instruction only touches the named registers and flags.
    unsafe {
        std::arch::asm!(
            "div {divisor}",
            divisor = in(reg) divisor,
            inout("rax") number => _,
            inout("rdx") 0u64 => rest,
            options(pure, nomem, nostack),
        );
    }
    rest
}

/// The remainder of a 64-bit division.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    std::hint::black_box(number) % divisor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted_from_3_on() {
        let counts = [4, 5, 10, 100, 10_000].map(primes);
        assert_eq!(counts, [1, 1, 3, 24, 1228]);
    }

    #[test]
    fn divisions_match_the_prime_test() {
        // 3: no division; 4: by 2; 5 to 7: by 2; 8: by 2; 9: by 2 and 3.
        assert_eq!(divisions(10), 1 + 3 + 1 + 2);
        assert_eq!(remainder(9, 4), 1);
        assert_eq!(remainder(u64::MAX, 2), 1);
    }
}
