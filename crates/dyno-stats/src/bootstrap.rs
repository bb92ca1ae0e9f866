//! Intervals by resampling.
