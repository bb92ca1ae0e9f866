//! The published schemas of Dyno's JSON.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::repository;

/// Where a value violates a schema of `docs/schema`, such as `run.json`.
///
/// # Errors
/// The schema cannot be used.
pub fn violations(schema: &str, value: &Value) -> Result<Vec<String>> {
    let path = repository().join("docs/schema").join(schema);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let schema: Value = serde_json::from_str(&text)?;
    let validator = jsonschema::validator_for(&schema)?;
    let errors = validator.iter_errors(value);
    Ok(errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect())
}
