//! A plan: everything a run needs to know, complete and printable before anything runs.

use std::time::Duration;

use serde::Serialize;

/// How arrivals are spaced in an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
}

/// An open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OpenLoop {
    /// Events per second over all sessions; fractions allowed.
    pub per_second: f64,
    /// How they are spaced.
    pub arrivals: Arrivals,
}

/// Which distribution `sysbench.rand.default` draws from, and the shapes of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RandPlan {
    /// The default distribution.
    pub kind: RandKind,
    /// Pareto: the share h (0 < h < 1) for which h of the range gets 1 - h of the draws.
    pub pareto_h: f64,
    /// Zipf's exponent, >= 0.
    pub zipfian_exp: f64,
    /// How many uniform draws make a gaussian one.
    pub spec_iter: u32,
    /// Special: percent of the range that is hot.
    pub spec_pct: u32,
    /// Special: percent of the draws that fall on the hot part.
    pub spec_res: u32,
}

/// The distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RandKind {
    /// Every value alike.
    Uniform,
    /// Bell-shaped over the range.
    Gaussian,
    /// A hot centre in a bell.
    Special,
    /// Skewed to the low end by a power.
    Pareto,
    /// Zipf's law, rank 1 first.
    Zipfian,
}

impl Default for RandPlan {
    fn default() -> Self {
        Self {
            kind: RandKind::Uniform,
            pareto_h: 0.2,
            zipfian_exp: 0.8,
            spec_iter: 12,
            spec_pct: 1,
            spec_res: 75,
        }
    }
}

/// How a run is driven, apart from what it runs on what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drive {
    /// Simulated users.
    pub sessions: u32,
    /// Threads that drive them.
    pub workers: u32,
    /// How long to measure; `None` is without limit.
    pub time: Option<Duration>,
    /// How many events to run over all sessions; `None` is without limit.
    pub events: Option<u64>,
    /// How long to run before measuring.
    pub warmup: Duration,
    /// How long events in flight may take to end after the time limit.
    pub grace: Duration,
    /// Over how long sessions start, evenly; zero starts them together.
    pub ramp_up: Duration,
    /// Open loop; `None` is a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// How long sessions may take to connect and initialise.
    pub init_timeout: Duration,
    /// The interval of recording and reporting.
    pub interval: Duration,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Default for Drive {
    fn default() -> Self {
        Self {
            sessions: 1,
            workers: 1,
            time: Some(Duration::from_secs(10)),
            events: None,
            warmup: Duration::ZERO,
            grace: Duration::from_secs(1),
            ramp_up: Duration::ZERO,
            open_loop: None,
            init_timeout: Duration::from_secs(30),
            interval: Duration::from_secs(1),
            seed: 0,
        }
    }
}

/// The value of a workload's option.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// On or off.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}
