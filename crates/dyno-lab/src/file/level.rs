//! A level: a plain value, or a named bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use dyno_core::factors;
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::types::{Experiment, Factor, LoadedBy, Server, Values};
use super::values::{OneOrMany, Scalar};

/// A level.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// A value and its text in the file.
    Plain(Scalar, String),
    /// A bundle.
    Bundle(Box<Bundle>),
}

/// A level that is more than a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// Its name.
    pub name: String,
    /// The levels that this one extends, applied in order before its own keys.
    pub like: Option<OneOrMany<String>>,
    /// Settings.
    #[serde(default)]
    pub set: Values,
    /// Settings of the server to remove.
    #[serde(default)]
    pub unset: Vec<String>,
    /// Settings that replace all settings of the server.
    pub replace_set: Option<Values>,
    /// Options of the workload.
    #[serde(default)]
    pub options: Values,
    /// How to put its data on the level's file system.
    pub data_by: Option<LoadedBy>,
    /// Another server.
    pub server: Option<Server>,
    /// Limits of the host.
    #[serde(default)]
    pub host: Values,
    /// Statements to execute on the running server.
    #[serde(default)]
    pub sql: Vec<String>,
    /// Mount options.
    pub mount: Option<String>,
    /// The file system.
    pub fs: Option<String>,
    /// The name of its price.
    pub price: Option<String>,
    /// A command that runs during the trial.
    pub command: Option<String>,
    /// Output of the command to keep.
    #[serde(default)]
    pub output: BTreeMap<String, String>,
}

impl Level {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Plain(_, text) => text,
            Self::Bundle(bundle) => &bundle.name,
        }
    }

    /// The bundle, if the level is one.
    pub fn bundle(&self) -> Option<&Bundle> {
        match self {
            Self::Plain(..) => None,
            Self::Bundle(bundle) => Some(bundle),
        }
    }

    /// The level as a number: its value, or its CPUs.
    pub fn size(&self) -> Option<f64> {
        let cpus = self.bundle().and_then(|bundle| bundle.host.get("cpus"));
        let cpus = cpus.and_then(|cpus| factors::number(&cpus.to_string()));
        cpus.or_else(|| factors::number(self.name()))
    }
}

impl Experiment {
    /// The settings that the levels of its factors change, and those that change with them. A
    /// name that ended with an asterisk matches every setting that begins with it.
    pub fn varied(&self) -> Vec<String> {
        let all = self.factors.iter().flat_map(Factor::settings);
        let all: BTreeSet<&str> = all.map(|name| name.trim_end_matches('*')).collect();
        all.into_iter().map(str::to_owned).collect()
    }
}

impl Factor {
    fn settings(&self) -> impl Iterator<Item = &String> {
        let levels = self.levels.get_ref().iter();
        let levels = levels
            .map(|level| level.get_ref())
            .chain(&self.reserve)
            .filter_map(Level::bundle);
        let changed = levels.flat_map(|bundle| {
            let replaced = bundle.replace_set.iter().flat_map(Values::keys);
            bundle.set.keys().chain(&bundle.unset).chain(replaced)
        });
        let by_others = self.set_by.values();
        let by_others =
            by_others.flat_map(|levels| levels.get_ref().values().flat_map(Values::keys));
        let of_levels = self.setting.iter().chain(changed).chain(by_others);
        of_levels.chain(&self.implies)
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Levels)
    }
}

#[cfg(test)]
impl JsonSchema for Level {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Level".into()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        <LevelSchema as JsonSchema>::json_schema(schemas)
    }
}

/// A plain value, or a named bundle.
#[cfg(test)]
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum LevelSchema {
    Plain(Scalar),
    Bundle(Box<Bundle>),
}

struct Levels;

impl<'de> Visitor<'de> for Levels {
    type Value = Level;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a level: a value, or { name = \"…\", … }")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Level, E> {
        Ok(Level::Plain(Scalar::Bool(value), value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Level, E> {
        Ok(Level::Plain(Scalar::Integer(value), value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Level, E> {
        Ok(Level::Plain(Scalar::Float(value), value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Level, E> {
        Ok(Level::Plain(
            Scalar::Text(value.to_owned()),
            value.to_owned(),
        ))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Level, A::Error> {
        Bundle::deserialize(MapAccessDeserializer::new(map))
            .map(|bundle| Level::Bundle(Box::new(bundle)))
    }
}
