//! The percentile of headlines.

/// The percentile that live lines, lists, headlines and answers show. Seconds of some hundred
/// events have it, and it is sysbench's default.
pub const HEADLINE_PERCENT: f64 = 95.0;

/// Of the percentiles that a run has, the one for its headlines: the nearest to
/// [`HEADLINE_PERCENT`].
pub fn headline_percent(of: impl IntoIterator<Item = f64>) -> Option<f64> {
    let distance = |percent: &f64| (percent - HEADLINE_PERCENT).abs();
    let nearest = of.into_iter();
    nearest.min_by(|one, other| distance(one).total_cmp(&distance(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_percentile_is_in_headlines() {
        assert_eq!(headline_percent([50.0, 95.0, 99.0, 99.9]), Some(95.0));
        assert_eq!(headline_percent([50.0, 99.0]), Some(99.0));
        assert_eq!(headline_percent([50.0]), Some(50.0));
        assert_eq!(headline_percent([]), None);
    }
}
