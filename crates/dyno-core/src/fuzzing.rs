//! Invariants for any text that people type. Fuzz targets and property tests share these functions,
//! so that a case that one finds is covered by the other.

use crate::Target;
use crate::target::{Environment, Implied};
use crate::units::{
    format_duration, format_size, parse_count, parse_duration, parse_rate, parse_size,
};

/// A URL is rejected, or its label parses to the same target.
///
/// # Panics
/// If the invariant does not hold.
pub fn target_url(text: &str) {
    let environment = Environment {
        user: Some("me".to_owned()),
        exists: |_| false,
    };
    let Ok(mut target) = Target::parse_in(text, &environment) else {
        return;
    };
    let label = target.label();
    let again = Target::parse_in(&label, &environment);
    // The label shows neither the password nor defaults.
    target.password = None;
    target.implied = Implied::default();
    let again = again.map(|mut again| {
        again.implied = Implied::default();
        again
    });
    assert_eq!(again, Ok(target), "by its label '{label}'");
}

/// A quantity is rejected, or its canonical form has the same value.
///
/// # Panics
/// If the invariant does not hold.
pub fn units(text: &str) {
    if let Ok(value) = parse_duration(text) {
        assert_eq!(parse_duration(&format_duration(value)), Ok(value));
    }
    if let Ok(value) = parse_size(text) {
        assert_eq!(parse_size(&format_size(value)), Ok(value));
    }
    if let Ok(value) = parse_count(text) {
        assert_eq!(parse_count(&value.to_string()), Ok(value));
    }
    if let Ok(value) = parse_rate(text) {
        assert!(value.is_finite() && value >= 0.0, "{value}");
        assert_eq!(parse_rate(&format!("{value}/s")), Ok(value));
    }
}
