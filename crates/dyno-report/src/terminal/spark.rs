//! Sparklines.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One character for each value, as high as its share of the largest. Zero is blank; any other
/// value is visible.
pub(super) fn sparkline(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    values
        .iter()
        .map(|&value| {
            if value > 0.0 && most > 0.0 {
                let level = (value / most * LEVELS.len() as f64).ceil() as usize;
                LEVELS[level.clamp(1, LEVELS.len()) - 1]
            } else {
                ' '
            }
        })
        .collect()
}

/// The values in at most `width` groups of neighbours, each group joined by `join`.
pub(super) fn grouped(values: &[f64], width: usize, join: fn(&[f64]) -> f64) -> Vec<f64> {
    let size = values.len().div_ceil(width.max(1)).max(1);
    values.chunks(size).map(join).collect()
}

/// The sum of a group.
pub(super) fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

/// The mean of a group, which is not empty.
pub(super) fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// One character for each share of the height, in [0, 1]; a blank for `None`.
pub(super) fn bars(shares: impl IntoIterator<Item = Option<f64>>) -> String {
    let bar = |share: f64| {
        let level = (share * LEVELS.len() as f64) as usize;
        LEVELS[level.min(LEVELS.len() - 1)]
    };
    let shares = shares.into_iter();
    shares.map(|share| share.map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_share() {
        let shares = [Some(0.0), None, Some(0.5), Some(0.99), Some(1.0)];
        assert_eq!(bars(shares), "▁ ▅██");
    }

    #[test]
    fn heights_are_shares_of_the_largest() {
        assert_eq!(sparkline(&[0.0, 1.0, 50.0, 100.0]), " ▁▄█");
        assert_eq!(sparkline(&[3.0, 3.0]), "██");
        assert_eq!(sparkline(&[0.0]), " ");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[f64::NAN, 1.0]), " █");
    }

    #[test]
    fn groups_fit() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(grouped(&values, 4, sum), [6.0, 15.0, 24.0, 10.0]);
        assert_eq!(grouped(&values, 10, mean), values);
        assert!(grouped(&[], 4, mean).is_empty());
    }
}
