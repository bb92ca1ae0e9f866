//! The values of a workload's options.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The value of a workload's option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OptionValue {
    /// On or off.
    Bool(bool),
    /// A number.
    #[serde(serialize_with = "plain_number")]
    Number(f64),
    /// Text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

/// As on a command line.
impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => f.write_str(&items.join(",")),
        }
    }
}

/// Options as one JSON object.
pub mod as_object {
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};

    use super::OptionValue;

    /// Pairs as one JSON object, in their order.
    pub fn serialize<S: Serializer>(
        pairs: &[(String, OptionValue)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    /// One JSON object as pairs, in their order.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(String, OptionValue)>, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(String, OptionValue)>;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("an object of options")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }

        from.deserialize_map(Pairs)
    }
}

/// Whole numbers without a fraction, as they were typed; JSON has no infinities, so those are text.
fn plain_number<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    // Beyond 2^53 a double cannot represent every integer.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if !number.is_finite() {
        to.serialize_str(&number.to_string())
    } else if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        to.serialize_i64(*number as i64)
    } else {
        to.serialize_f64(*number)
    }
}

#[cfg(test)]
mod tests {
    use super::OptionValue;

    #[test]
    fn option_numbers_look_as_typed() {
        let json = |n| serde_json::to_string(&OptionValue::Number(n)).unwrap();
        assert_eq!(json(10_000.0), "10000");
        assert_eq!(json(-3.0), "-3");
        assert_eq!(json(1.5), "1.5");
        assert_eq!(json(f64::INFINITY), "\"inf\"");
    }
}
