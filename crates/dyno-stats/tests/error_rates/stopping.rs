//! Comparisons that stop once their interval is narrow.

use crate::simulate::{share_of, stopping};

/// As many as fit into a second.
const TRIALS: usize = 4_000;

/// This is why the first look comes after eight blocks, and why early stops need 97 %: the coverage
/// of a 95 % interval, by the first look and by the half-width in deviations of a block.
#[test]
fn stopping_when_the_interval_looks_narrow_is_wrong_too_often() {
    let expected = [
        (2, [0.920, 0.898, 0.881, 0.907]),
        (3, [0.943, 0.923, 0.901, 0.928]),
        (5, [0.952, 0.945, 0.920, 0.938]),
        (8, [0.951, 0.951, 0.931, 0.943]),
        (10, [0.952, 0.950, 0.938, 0.943]),
    ];
    for (first, coverages) in expected {
        for (half_width, expected) in [1.5, 1.0, 0.5, 0.3].into_iter().zip(coverages) {
            let found = share_of(TRIALS, 31, |source| {
                stopping::naive_holds(source, half_width, first)
            });
            assert!(
                (found - expected).abs() <= room(expected),
                "from {first} on, {half_width}: {found} for {expected}"
            );
        }
    }
}

/// Three standard errors of this simulation, and of the one with 20,000 comparisons that gave the
/// expected coverage.
fn room(expected: f64) -> f64 {
    let both = 1.0 / TRIALS as f64 + 1.0 / 20_000.0;
    3.0 * (expected * (1.0 - expected) * both).sqrt()
}

#[test]
fn the_rule_keeps_its_confidence() {
    for case in stopping::cases() {
        case.hold(TRIALS);
    }
}
