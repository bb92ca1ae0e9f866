//! Execution plans of statements.

use serde::{Deserialize, Serialize};

/// The execution plan of a statement, read from the server after the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementPlan {
    /// The shape of the statement.
    pub shape: String,
    /// Table accesses, in the server's order.
    pub accesses: Vec<Access>,
    /// Other steps of the plan, such as `filesort`, `temporary table`, `Sort`.
    #[serde(default, rename = "besides", skip_serializing_if = "Vec::is_empty")]
    pub other_steps: Vec<String>,
    /// The server's output: JSON, or lines for SQLite; empty without a plan.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Why there is no plan; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_not: String,
}

/// The access to one table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// The table; a number at its end is `N` if it is in the statement's shape.
    pub table: String,
    /// MySQL's and MariaDB's access type, such as `ref`; PostgreSQL's node, such as `Index Scan`;
    /// SQLite's `SCAN` or `SEARCH`. Empty if the server does not report it.
    pub how: String,
    /// The index; `None` without one.
    pub key: Option<String>,
    /// Rows that the server expects per access: for MySQL and MariaDB rows examined, for PostgreSQL
    /// rows left after its conditions.
    pub rows: Option<f64>,
}

impl StatementPlan {
    /// All accesses in short, without row counts, which change with the statistics: `ref
    /// products.by_month, eq_ref authors.PRIMARY`.
    pub fn words(&self) -> String {
        if !self.why_not.is_empty() {
            return self.why_not.clone();
        }
        let of = |access: &Access| {
            let key = access.key.iter().map(|key| format!(".{key}"));
            let place = format!("{}{}", access.table, key.collect::<String>());
            [access.how.as_str(), &place].join(" ").trim().to_owned()
        };
        let all: Vec<String> = self.accesses.iter().map(of).collect();
        let tables = match all.is_empty() {
            true => "no table".to_owned(),
            false => all.join(", "),
        };
        match self.other_steps.is_empty() {
            true => tables,
            false => format!("{tables}; {}", self.other_steps.join(", ")),
        }
    }

    /// The rows of all accesses: `182`, `1, 99015`.
    pub fn rows_words(&self) -> String {
        let of = |access: &Access| {
            let rows = access.rows.map(|rows| crate::units::human_number(rows, 0));
            rows.unwrap_or_else(|| "–".to_owned())
        };
        let all: Vec<String> = self.accesses.iter().map(of).collect();
        all.join(", ")
    }
}
