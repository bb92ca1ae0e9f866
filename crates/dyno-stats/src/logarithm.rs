//! A logarithmic scale for rates. On it, doubling and halving are equally far from the level,
//! relative noise is the same at each level, and no fall exceeds 100 %.

use crate::median;
use crate::stalls::STALL_SHARE;

/// Values below this share of the level are raised to it, because 0 has no logarithm. Such seconds
/// are stalls, however low they are.
const FLOOR: f64 = STALL_SHARE;

/// The logarithms of a series, see [`FLOOR`]. The level is the median of the positive values. A
/// series that has a negative value or no positive one is returned unchanged.
pub(crate) fn logarithms(series: &[f64]) -> Vec<f64> {
    let positive: Vec<f64> = series.iter().copied().filter(|x| *x > 0.0).collect();
    let level = median(&positive).filter(|_| series.iter().all(|x| *x >= 0.0));
    match level.map(|level| level * FLOOR) {
        Some(floor) if floor > 0.0 => series.iter().map(|x| x.max(floor).ln()).collect(),
        _ => series.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::logarithms;

    #[test]
    fn stalled_values_are_raised_to_the_floor() {
        let found = logarithms(&[0.0, 1.0, 100.0, 200.0, 50.0]);
        let floor = (0.05_f64 * 75.0).ln();
        assert_eq!(
            found,
            [floor, floor, 100_f64.ln(), 200_f64.ln(), 50_f64.ln()]
        );
        assert_eq!(logarithms(&[-1.0, 2.0]), [-1.0, 2.0]);
        assert_eq!(logarithms(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
