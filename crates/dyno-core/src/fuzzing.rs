//! What must hold of any text that people type. Fuzz targets and property tests call the same
//! functions, so that what one finds the other keeps.

use crate::Target;
use crate::target::{Environment, Implied};
use crate::units::{
    format_count, format_duration, format_rate, format_size, parse_count, parse_duration,
    parse_rate, parse_size,
};

/// A URL is refused, or its label gives the same target again.
///
/// # Panics
/// When that does not hold.
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
    // The label shows neither the password nor what was left to defaults.
    target.password = None;
    target.implied = Implied::default();
    let again = again.map(|mut again| {
        again.implied = Implied::default();
        again
    });
    assert_eq!(again, Ok(target), "by its label '{label}'");
}

/// A quantity is refused, or its canonical form has the same value.
///
/// # Panics
/// When that does not hold.
pub fn units(text: &str) {
    if let Ok(value) = parse_duration(text) {
        assert_eq!(parse_duration(&format_duration(value)), Ok(value));
    }
    if let Ok(value) = parse_size(text) {
        assert_eq!(parse_size(&format_size(value)), Ok(value));
    }
    if let Ok(value) = parse_count(text) {
        assert_eq!(parse_count(&format_count(value)), Ok(value));
    }
    if let Ok(value) = parse_rate(text) {
        assert!(value.is_finite() && value >= 0.0, "{value}");
        assert_eq!(parse_rate(&format_rate(value)), Ok(value));
    }
}
