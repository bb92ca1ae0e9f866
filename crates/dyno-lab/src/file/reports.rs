//! What is done and shown beside the load: probes, disturbances, tables, plots, claims.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::types::{PlainWhere, Where};
use super::values::{OneOrMany, Rate, Scalar, Time};

/// One text, or one by server family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected SQL, or SQL by server: { mysql = \"…\" }"
)]
pub enum Sql {
    /// For all.
    Every(String),
    /// By server family.
    Each(BTreeMap<String, String>),
}

/// A small operation at a fixed rate, from a connection of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Its name.
    pub name: String,
    /// The nodes it asks: `primary`, `each`, or names.
    #[serde(default)]
    pub on: Vec<String>,
    /// How often.
    pub rate: Rate,
    /// What it executes.
    pub sql: Sql,
}

/// What is done to the servers while they are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disturb {
    /// Its name.
    pub name: String,
    /// When, from the beginning of measuring.
    pub at: Option<Time>,
    /// After another: "NAME ends".
    pub after: Option<String>,
    /// When something is so: "rate > 100/s for 5s".
    pub when: Option<String>,
    /// How long after that.
    pub wait: Option<Time>,
    /// On which node.
    pub on: Option<String>,
    /// What is executed.
    pub sql: Option<Sql>,
    /// Where its phases are seen, by server family.
    #[serde(default)]
    pub phases: BTreeMap<String, String>,
    /// What tells that a node has it, by server family.
    #[serde(default)]
    pub done_on_each: BTreeMap<String, String>,
}

/// What a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the words of the grammar")]
pub enum TableKind {
    Cells,
    Stalls,
    Resources,
    Phases,
    Disturbances,
    Paired,
    Scaling,
    Cost,
    Ladder,
    Captured,
}

/// A table of the report.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What it shows.
    pub kind: TableKind,
    /// A name, for overrides.
    pub name: Option<String>,
    /// Factors of rows.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Factors of columns.
    pub columns: Option<OneOrMany<String>>,
    /// The figure in the cells.
    pub figure: Option<String>,
    /// The factor of pairs.
    pub pair: Option<String>,
    /// The factor along which it scales.
    pub over: Option<String>,
    /// Only these cells.
    #[serde(default, rename = "where")]
    #[schemars(with = "PlainWhere")]
    pub cells: Where,
}

/// What a plot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the words of the grammar")]
pub enum PlotKind {
    Time,
    Jitter,
    Box,
    Timeline,
    Ladder,
    Size,
}

/// A plot of the report.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// What it shows.
    pub kind: PlotKind,
    /// A name, for overrides.
    pub name: Option<String>,
    /// The factor of panels.
    pub panel: Option<String>,
    /// The figures of panels.
    #[serde(default)]
    pub panels: Vec<String>,
    /// The factor of lines.
    pub line: Option<String>,
    /// The factor along the axis.
    pub x: Option<String>,
    /// The factor of colours.
    pub colour: Option<String>,
    /// The figure.
    pub figure: Option<String>,
    /// The series.
    pub series: Option<String>,
    /// A part of the time, so long.
    pub zoom: Option<Time>,
    /// Only these cells.
    #[serde(default, rename = "where")]
    #[schemars(with = "PlainWhere")]
    pub cells: Where,
}

/// What was said before.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In words.
    #[schemars(with = "String")]
    pub text: Spanned<String>,
    /// How it is checked.
    pub check: Check,
}

/// How a claim is checked.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the names are the words of the grammar")]
pub struct Check {
    pub ratio: Option<String>,
    pub figure: Option<String>,
    pub spread: Option<String>,
    pub hold: Option<String>,
    pub fairness: Option<String>,
    pub first: Option<String>,
    pub step: Option<String>,
    pub over: Option<String>,
    pub period: Option<String>,
    #[serde(default)]
    pub sum: Vec<String>,
    #[serde(default)]
    #[schemars(with = "PlainWhere")]
    pub stalls: Where,
    #[serde(default)]
    #[schemars(with = "PlainWhere")]
    pub of: Where,
    #[serde(default)]
    #[schemars(with = "PlainWhere")]
    pub to: Where,
    #[serde(default, rename = "where")]
    #[schemars(with = "PlainWhere")]
    pub cells: Where,
    pub between: Option<[f64; 2]>,
    pub above: Option<Scalar>,
    pub below: Option<Scalar>,
    pub ratio_below: Option<f64>,
    pub is: Option<Scalar>,
    pub within: Option<Scalar>,
}
