//! Every part of the file except the load: probes, disturbances, tables, plots, claims.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

#[cfg(test)]
use super::types::PlainWhere;
use super::types::Where;
use super::values::{OneOrMany, Rate, Scalar, Time};

/// One statement, or one per server family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(
    untagged,
    expecting = "expected SQL, or SQL by server: { mysql = \"…\" }"
)]
pub enum Sql {
    /// For all server families.
    Every(String),
    /// By server family.
    Each(BTreeMap<String, String>),
}

/// A small operation at a fixed rate on a separate connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Its name.
    pub name: String,
    /// The target nodes: `primary`, `each`, or names.
    #[serde(default)]
    pub on: Vec<String>,
    /// Operations per unit of time.
    pub rate: Rate,
    /// The statement to execute.
    pub sql: Sql,
}

/// A disturbance of the servers during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Disturb {
    /// Its name.
    pub name: String,
    /// Start time, from the beginning of the measurement.
    pub at: Option<Time>,
    /// Start after another disturbance: "NAME ends".
    pub after: Option<String>,
    /// Start when a condition holds: "rate > 100/s for 5s".
    pub when: Option<String>,
    /// Delay after that.
    pub wait: Option<Time>,
    /// The target node.
    pub on: Option<String>,
    /// The statement to execute.
    pub sql: Option<Sql>,
    /// Where to observe its phases, by server family.
    #[serde(default)]
    pub phases: BTreeMap<String, String>,
    /// How to detect that a node has applied it, by server family.
    #[serde(default)]
    pub done_on_each: BTreeMap<String, String>,
}

/// The kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The kind of table.
    pub kind: TableKind,
    /// A name, for scales to override it.
    pub name: Option<String>,
    /// The factors of the rows.
    #[serde(default)]
    pub rows: Vec<String>,
    /// The factors of the columns.
    pub columns: Option<OneOrMany<String>>,
    /// The figure in the cells.
    pub figure: Option<String>,
    /// The factor with two paired levels.
    pub pair: Option<String>,
    /// The factor for scaling.
    pub over: Option<String>,
    /// Only these cells.
    #[serde(default, rename = "where")]
    #[cfg_attr(test, schemars(with = "PlainWhere"))]
    pub cells: Where,
}

/// The kind of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// The kind of plot.
    pub kind: PlotKind,
    /// A name, for scales to override it.
    pub name: Option<String>,
    /// The factor of the panels.
    pub panel: Option<String>,
    /// The figures of the panels.
    #[serde(default)]
    pub panels: Vec<String>,
    /// The factor of the lines.
    pub line: Option<String>,
    /// The factor of the x axis.
    pub x: Option<String>,
    /// The factor of the colours.
    pub colour: Option<String>,
    /// The figure to plot.
    pub figure: Option<String>,
    /// The time series to plot.
    pub series: Option<String>,
    /// The length of the part to zoom into.
    pub zoom: Option<Time>,
    /// Only these cells.
    #[serde(default, rename = "where")]
    #[cfg_attr(test, schemars(with = "PlainWhere"))]
    pub cells: Where,
}

/// A claim to check.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim as text.
    #[cfg_attr(test, schemars(with = "String"))]
    pub text: Spanned<String>,
    /// How to check it.
    pub check: Check,
}

/// How to check a claim.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
    #[cfg_attr(test, schemars(with = "PlainWhere"))]
    pub stalls: Where,
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "PlainWhere"))]
    pub of: Where,
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "PlainWhere"))]
    pub to: Where,
    #[serde(default, rename = "where")]
    #[cfg_attr(test, schemars(with = "PlainWhere"))]
    pub cells: Where,
    pub between: Option<[f64; 2]>,
    pub above: Option<Scalar>,
    pub below: Option<Scalar>,
    pub ratio_below: Option<f64>,
    pub is: Option<Scalar>,
    pub within: Option<Scalar>,
}
