//! Comparisons that stop once their interval is narrow.

use crate::simulate::{share_of, stopping};

/// As many as a second allows.
const TRIALS: usize = 4_000;

/// Why nothing is looked at before eight blocks, and why what stops early is held to 97 %:
/// coverage of a 95 % interval by the first look and the half width in deviations of a block.
#[test]
fn who_stops_when_it_looks_narrow_is_wrong_too_often() {
    let expected = [
        (2, 1.5, 0.920),
        (2, 1.0, 0.898),
        (2, 0.5, 0.881),
        (2, 0.3, 0.907),
        (5, 1.0, 0.945),
        (5, 0.5, 0.920),
        (8, 1.5, 0.951),
        (8, 1.0, 0.951),
        (8, 0.5, 0.931),
        (8, 0.3, 0.943),
    ];
    for (first, half_width, expected) in expected {
        let found = share_of(TRIALS, 31, |source| {
            stopping::naive_holds(source, half_width, first)
        });
        // Three standard errors of both simulations.
        let room =
            3.0 * (expected * (1.0 - expected) * (1.0 / TRIALS as f64 + 1.0 / 20_000.0)).sqrt();
        assert!(
            (found - expected).abs() <= room,
            "from {first} on, {half_width}: {found} for {expected}"
        );
    }
}

#[test]
fn the_rule_keeps_its_confidence() {
    for case in stopping::cases() {
        case.hold(TRIALS);
    }
}
