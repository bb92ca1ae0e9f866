//! Values used in several places of a file.

#[cfg(test)]
use std::borrow::Cow;
use std::fmt;

use dyno_core::units;
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The value of a setting or option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged, expecting = "expected a string, a number, true or false")]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl Scalar {
    /// Whether it names a level: by its text, or as the same number.
    pub fn names(&self, level: &str) -> bool {
        let text = self.to_string();
        text == level
            || !matches!(self, Self::Text(_))
                && level.parse::<f64>().is_ok_and(|n| Ok(n) == text.parse())
    }
}

/// One value, or a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged, expecting = "expected one value or a list of values")]
pub enum OneOrMany<T> {
    /// One value.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// All values.
    pub fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

macro_rules! quantity {
    ($name:ident, $parse:path, $value:ty, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(transparent)]
        pub struct $name {
            text: String,
        }

        impl $name {
            /// Its value, checked when it was read.
            pub fn value(&self) -> $value {
                $parse(&self.text).unwrap_or_default()
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = from.deserialize_any(Quantity($doc))?;
                $parse(&text).map_err(D::Error::custom)?;
                Ok(Self { text })
            }
        }

        #[cfg(test)]
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"description": $doc, "type": ["string", "number"]})
            }
        }
    };
}

quantity!(
    Time,
    units::parse_duration,
    std::time::Duration,
    "A duration, such as 30s."
);
quantity!(Size, units::parse_size, u64, "A size, such as 16M or 2G.");
quantity!(Rate, units::parse_rate, f64, "A rate, such as 100/s.");

struct Quantity(&'static str);

impl Visitor<'_> for Quantity {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, rest) = self.0.split_at(1);
        write!(f, "{}{}", first.to_lowercase(), rest.trim_end_matches('.'))
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
}
