//! Simulated rates, second by second: healthy runs and faults.

use super::Source;

/// Events per second, to which noise and faults can be added.
#[derive(Clone, Debug)]
pub(crate) struct Rates(pub Vec<f64>);

impl Rates {
    /// A level with first-order autoregressive noise, given by its coefficient and relative
    /// deviation.
    pub(crate) fn level(source: &mut Source, seconds: usize, phi: f64, deviation: f64) -> Self {
        Self(source.series(seconds, phi, LEVEL, deviation * LEVEL)).positive()
    }

    /// A state that changes slowly, plus the noise of each second. Each is half of the variance.
    pub(crate) fn state(source: &mut Source, seconds: usize, phi: f64, deviation: f64) -> Self {
        let part = deviation * 0.5f64.sqrt();
        let mut rates = source.series(seconds, phi, LEVEL, part * LEVEL);
        for rate in &mut rates {
            *rate += part * LEVEL * source.normal();
        }
        Self(rates).positive()
    }

    /// A random walk whose steps have a relative deviation.
    pub(crate) fn walk(source: &mut Source, seconds: usize, step: f64) -> Self {
        let mut at = LEVEL;
        let rates = (0..seconds).map(|_| {
            at += step * LEVEL * source.normal();
            at
        });
        Self(rates.collect()).positive()
    }

    /// Two levels, each of which lasts this many seconds on average, with noise on both.
    pub(crate) fn two_modes(source: &mut Source, seconds: usize, low: f64, stay: f64) -> Self {
        let mut slow = false;
        let rates = (0..seconds).map(|_| {
            slow ^= source.uniform() < 1.0 / stay;
            LEVEL * if slow { low } else { 1.0 } * (1.0 + 0.03 * source.normal())
        });
        Self(rates.collect()).positive()
    }

    /// Adds a change, by this share of the level, from the first second to the last.
    pub(crate) fn drift(mut self, share: f64) -> Self {
        let last = self.0.len().saturating_sub(1).max(1) as f64;
        let at = |second: usize| second as f64 / last - 0.5;
        self.scale(|second| 1.0 + share * at(second))
    }

    /// Multiplies the level by a factor from a second on.
    pub(crate) fn step(mut self, from: usize, factor: f64) -> Self {
        self.scale(|second| if second >= from { factor } else { 1.0 })
    }

    /// Makes the beginning slower.
    pub(crate) fn cold_start(mut self, seconds: usize, factor: f64) -> Self {
        self.scale(|second| if second < seconds { factor } else { 1.0 })
    }

    /// Adds seconds in which nothing ended.
    pub(crate) fn stall(self, from: usize, seconds: usize) -> Self {
        self.dip(from as f64, seconds as f64, 1.0)
    }

    /// Adds a dip of this depth every `period` seconds, from `first` on. Dips need not be aligned
    /// with seconds.
    pub(crate) fn dips(mut self, first: f64, period: f64, length: f64, depth: f64) -> Self {
        let mut from = first;
        while from < self.0.len() as f64 {
            self = self.dip(from, length, depth);
            from += period;
        }
        self
    }

    /// Adds a sine of this amplitude.
    pub(crate) fn swing(mut self, period: f64, amplitude: f64, phase: f64) -> Self {
        let angle = move |second: usize| (second as f64 / period + phase) * std::f64::consts::TAU;
        self.scale(|second| 1.0 + amplitude * angle(second).sin())
    }

    fn dip(mut self, from: f64, length: f64, depth: f64) -> Self {
        self.scale(|second| {
            let start = second as f64;
            let covered = (start + 1.0).min(from + length) - start.max(from);
            1.0 - depth * covered.max(0.0)
        })
    }

    fn scale(&mut self, factor: impl Fn(usize) -> f64) -> Self {
        for (second, rate) in self.0.iter_mut().enumerate() {
            *rate *= factor(second);
        }
        Self(std::mem::take(&mut self.0))
    }

    fn positive(mut self) -> Self {
        for rate in &mut self.0 {
            *rate = rate.max(0.0);
        }
        self
    }
}

/// The level of all series, in events per second.
pub(crate) const LEVEL: f64 = 3500.0;
