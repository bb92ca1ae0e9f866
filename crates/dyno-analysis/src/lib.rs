//! Values derived from a run's measurements, shared by reports, verdicts and comparisons.

pub mod bins;
pub mod errors;
pub mod stalls;
pub mod summarize;
pub mod window;
