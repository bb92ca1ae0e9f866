//! Zipf's law by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions", ACM TOMACS 6 (1996), 169–184.
//!
//! The hat is h(x) = x^-q; H is its integral from 1. A uniform draw between H(1.5) - 1 and H(n +
//! 0.5) is inverted and rounded to a rank. The rank is accepted at once if the hat's area over it
//! is within the histogram's, else tested. The cost does not depend on n.

use crate::rand::Stream;

/// Above this exponent the second rank is never drawn in practice, and powers would overflow.
const EXPONENT_MAX: f64 = 64.0;

/// The nearest valid exponent: finite and not negative.
pub(super) fn sane_exponent(exponent: f64) -> f64 {
    if exponent.is_nan() {
        0.0
    } else {
        exponent.clamp(0.0, EXPONENT_MAX)
    }
}

/// Constants that depend only on the number of ranks and the exponent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    ranks: u64,
    hat: Hat,
    /// H(1.5) - h(1).
    area_low: f64,
    /// H(n + 0.5).
    area_high: f64,
    /// A rank this close above the inverted point is accepted without a test.
    squeeze: f64,
}

impl Constants {
    /// `ranks` >= 1, `exponent` from [`sane_exponent`].
    pub(super) fn new(ranks: u64, exponent: f64) -> Self {
        let hat = Hat {
            exponent,
            complement: 1.0 - exponent,
        };
        Self {
            ranks,
            hat,
            area_low: hat.integral(1.5) - 1.0,
            area_high: hat.integral(ranks as f64 + 0.5),
            squeeze: 2.0 - hat.inverse(hat.integral(2.5) - hat.height(2.0)),
        }
    }

    pub(super) fn ranks(&self) -> u64 {
        self.ranks
    }

    /// A rank between 1 and n.
    pub(super) fn rank(&self, stream: &mut Stream) -> u64 {
        let last = self.ranks as f64;
        loop {
            let area = self.area_high + stream.next_f64() * (self.area_low - self.area_high);
            let point = self.hat.inverse(area);
            // NaN cannot win here: `max` and `min` take the other operand.
            let rank = (point + 0.5).floor().max(1.0).min(last);
            if rank - point <= self.squeeze
                || area >= self.hat.integral(rank + 0.5) - self.hat.height(rank)
            {
                return (rank as u64).clamp(1, self.ranks);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Hat {
    exponent: f64,
    /// 1 - exponent.
    complement: f64,
}

impl Hat {
    fn height(self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// (x^(1-q) - 1) / (1-q); the limit at q = 1 is ln x.
    fn integral(self, x: f64) -> f64 {
        let log = x.ln();
        let t = self.complement * log;
        // The series of (e^t - 1) / t, where the quotient would lose its digits.
        if t.abs() > 1e-8 {
            t.exp_m1() / self.complement
        } else {
            log * (1.0 + t / 2.0)
        }
    }

    /// The x at which the integral is `area`.
    fn inverse(self, area: f64) -> f64 {
        // Rounding must not push it below -1, where the logarithm is undefined.
        let t = (area * self.complement).max(-1.0);
        if t.abs() > 1e-8 {
            (t.ln_1p() / self.complement).exp()
        } else {
            (area * (1.0 - t / 2.0)).exp()
        }
    }
}
