//! Assertions about texts, which print the whole text if they fail.

/// Asserts that a text contains this part.
#[track_caller]
pub fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "'{part}' is missing in: {text}");
}

/// Asserts that a text does not contain this part.
#[track_caller]
pub fn assert_lacks(text: &str, part: &str) {
    assert!(!text.contains(part), "'{part}' is in: {text}");
}

/// Asserts that a text begins with this part.
#[track_caller]
pub fn assert_begins(text: &str, part: &str) {
    assert!(text.starts_with(part), "'{part}' does not begin: {text}");
}
