//! Costs as stored in results files.

use serde::Deserialize;

use super::Cost;
use crate::finding::Cause;

/// How older versions began the source of a cost that they left out.
const LEFT_OUT: &str = "left out: ";

/// A cost as written by any version. Only this type reads the texts of older ones.
#[derive(Deserialize)]
pub(super) struct StoredCost {
    name: String,
    value: Option<f64>,
    unit: String,
    source: String,
    #[serde(default)]
    left_out: bool,
    #[serde(default)]
    includes: Option<Cause>,
}

impl From<StoredCost> for Cost {
    fn from(stored: StoredCost) -> Self {
        let old = stored.source.strip_prefix(LEFT_OUT).map(str::to_owned);
        Self {
            name: stored.name,
            value: stored.value,
            unit: stored.unit,
            left_out: stored.left_out || old.is_some(),
            source: old.unwrap_or(stored.source),
            includes: stored.includes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_costs_are_left_out_too() {
        let read = |json: &str| serde_json::from_str::<Cost>(json).unwrap();
        let old = r#"{"name":"a","value":null,"unit":"us","source":"left out: others"}"#;
        let new = r#"{"name":"a","value":null,"unit":"us","source":"others","left_out":true}"#;
        assert_eq!(read(old), read(new));
        assert_eq!(serde_json::to_string(&read(old)).unwrap(), new);
        let known = r#"{"name":"a","value":1.0,"unit":"us","source":"server.cpu.user"}"#;
        assert!(!read(known).left_out);
        assert_eq!(serde_json::to_string(&read(known)).unwrap(), known);
        let shared = known.replace('}', r#","includes":"other_clients"}"#);
        assert_eq!(read(&shared).includes, Some(Cause::OtherClients));
        assert_eq!(serde_json::to_string(&read(&shared)).unwrap(), shared);
    }
}
