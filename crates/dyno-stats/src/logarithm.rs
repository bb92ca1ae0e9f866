//! Rates on the scale of logarithms, where a factor is a distance: twice and half lie equally far
//! from the level, noise of so many percent is the same at each level, and nothing falls by more
//! than all of it.

use crate::median;
use crate::stalls::STALL_SHARE;

/// What lies below this share of the level has its logarithm: 0 has none of its own, and seconds
/// in which next to nothing happened are stalls, however far below they lie.
const FLOOR: f64 = STALL_SHARE;

/// The logarithms of a series, see [`FLOOR`]; the level is the median of the positive values. The
/// values themselves where one is negative or none is positive: they have no such scale.
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
    fn nothing_lies_further_down_than_a_stall() {
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
