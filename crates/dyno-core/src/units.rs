//! Units at the boundary: durations, rates, sizes.
