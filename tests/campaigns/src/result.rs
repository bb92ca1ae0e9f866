//! Reads the JSON of a run's result.

use serde_json::Value;

/// The elements of an array, or none if the value is not an array.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

/// The finding of a check.
pub fn finding<'a>(result: &'a Value, check: &str) -> Option<&'a Value> {
    let mut findings = list(&result["findings"]).iter();
    findings.find(|finding| finding["check"] == check)
}

/// The outcome of a check.
pub fn outcome<'a>(result: &'a Value, check: &str) -> Option<&'a str> {
    finding(result, check)?["outcome"].as_str()
}
