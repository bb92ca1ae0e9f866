//! Simulated data whose distribution is known, and how often an event occurs in them.

#![allow(dead_code, reason = "each program that includes it uses a part")]

pub(crate) mod cases;
pub(crate) mod intervals;
pub(crate) mod rates;
pub(crate) mod servers;
pub(crate) mod steadiness;
pub(crate) mod stopping;

/// How many trials each procedure gets.
pub(crate) const TRIALS: usize = 10_000;

/// Reproducible random data.
pub(crate) struct Source {
    state: [u64; 4],
    spare: Option<f64>,
}

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        let mut mixed = seed;
        let state = std::array::from_fn(|_| {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self { state, spare: None }
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal (the polar method of Marsaglia).
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Poisson: exponential gaps in a span of `mean`.
    pub(crate) fn poisson(&mut self, mean: f64) -> u64 {
        let mut events = 0;
        let mut at = self.exponential();
        while at < mean {
            events += 1;
            at += self.exponential();
        }
        events
    }

    pub(crate) fn normals(&mut self, n: usize, mean: f64, sd: f64) -> Vec<f64> {
        (0..n).map(|_| mean + sd * self.normal()).collect()
    }

    /// A stationary first-order autoregression with coefficient `phi`.
    pub(crate) fn series(&mut self, n: usize, phi: f64, mean: f64, sd: f64) -> Vec<f64> {
        let innovation = (1.0 - phi * phi).sqrt();
        let mut state = self.normal();
        (0..n)
            .map(|_| {
                let value = mean + sd * state;
                state = phi * state + innovation * self.normal();
                value
            })
            .collect()
    }
}

impl Source {
    /// An autoregression whose innovations have Student's t distribution with three degrees of
    /// freedom, scaled to a deviation of 1.
    pub(crate) fn tailed(&mut self, n: usize, phi: f64) -> Vec<f64> {
        const SETTLED: usize = 30;
        let scale = (1.0 - phi * phi).sqrt() / 3.0_f64.sqrt();
        let mut state = 0.0;
        let values = (0..n + SETTLED).map(|_| {
            let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
            state = phi * state + scale * self.normal() / (squares / 3.0).sqrt();
            state
        });
        values.skip(SETTLED).collect()
    }
}

/// The share of the trials in which `trial` returns true. Trials use fixed seeds.
pub(crate) fn share(seed: u64, trial: impl FnMut(&mut Source) -> bool) -> f64 {
    share_of(TRIALS, seed, trial)
}

/// The same with another number of trials.
pub(crate) fn share_of(
    trials: usize,
    seed: u64,
    mut trial: impl FnMut(&mut Source) -> bool,
) -> f64 {
    let mut source = Source::new(seed);
    let held = (0..trials).filter(|_| trial(&mut source)).count();
    held as f64 / trials as f64
}

/// The cases of all procedures.
pub(crate) fn all_cases() -> Vec<cases::Case> {
    let mut all = intervals::cases();
    all.extend(steadiness::cases());
    all.extend(stopping::cases());
    all.extend(servers::cases());
    all
}
