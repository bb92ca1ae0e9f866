//! Humps of a histogram.
