//! What is derived from a run's measurements, in one place for all who show, judge or compare it.

pub mod bins;
pub mod errors;
pub mod stalls;
pub mod summarize;
pub mod window;
