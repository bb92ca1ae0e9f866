//! Pure statistics: no I/O, no clock, no threads.
//!
//! Every function is total. For a sample that is empty, too small for the question, or has a value
//! that is not finite, it returns `None` or an empty list; nothing panics. Samples are slices in
//! order of time unless the parameter is called `sorted`. Probabilities and confidence levels are
//! in (0, 1), and p-values are two-sided unless the documentation says otherwise. Functions that
//! draw random numbers are reproducible.
//!
//! # Where to change what
//!
//! - A procedure: its module in `src`, with test vectors and its error rate in `tests`.
//! - A search for the highest load (next load, votes, bounds, confirmation): `src/search`; its
//!   trials: `crates/dyno-conduct/src/search`.

pub mod autocorrelation;
mod beginning;
mod change_points;
mod contrast;
pub mod dips;
mod dispersion;
mod distributions;
mod equivalence;
mod fairness;
mod gls;
pub mod intervals;
mod logarithm;
mod long_run;
pub mod modes;
pub mod multiple;
mod paired;
pub mod quantiles;
mod random;
mod scalability;
pub mod search;
pub mod stalls;
pub mod steady;
mod step;
pub mod stopping;
mod trend;

pub use beginning::{BEGINNING_MIN, Beginning, beginning, beginnings};
pub use change_points::{
    ChangePoint, ChangePoints, LevelChange, LevelChanges, change_points, level_changes,
};
pub use contrast::{CONTRAST_MIN, Contrast, contrast};
pub use dispersion::{Dispersion, poisson_dispersion};
pub use equivalence::{Equivalence, Margin, Tested, inner_confidence};
pub use fairness::jain;
pub use intervals::Bounds;
pub use paired::{PAIRS_MIN, PairedRatio};
pub use quantiles::{Description, describe, mean, median};
pub use scalability::{SCALABILITY_MIN, Scalability, scalability};
pub use step::{STEP_MIN, Step, step};
pub use trend::{Shape, TREND_MIN, Trend, Trends, trends};

fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// The values in ascending order; `None` if one is not finite.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !all_finite(values) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

fn proper(probability: f64) -> bool {
    probability > 0.0 && probability < 1.0
}
