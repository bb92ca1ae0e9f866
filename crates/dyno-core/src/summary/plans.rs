//! How a server meant to execute statements.

use serde::{Deserialize, Serialize};

/// The execution plan of a statement, as the server told it after the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementPlan {
    /// The shape of the statement.
    pub shape: String,
    /// How tables are read, in the server's order.
    pub accesses: Vec<Access>,
    /// What the server does beside reading tables, such as `filesort`, `temporary table`, `Sort`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub besides: Vec<String>,
    /// What the server said: JSON, of SQLite lines; empty where it said nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Why there is none; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_not: String,
}

/// How one table is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// The table; with `N` for the number at its end where the statement's shape has that.
    pub table: String,
    /// MySQL's and MariaDB's access type, such as `ref`; PostgreSQL's node, such as `Index Scan`;
    /// SQLite's `SCAN` or `SEARCH`. Empty where the server does not say it.
    pub how: String,
    /// The index; `None` without one.
    pub key: Option<String>,
    /// How many rows the server expects of it each time: MySQL and MariaDB how many they examine,
    /// PostgreSQL how many are left when its conditions have been applied.
    pub rows: Option<f64>,
}

impl StatementPlan {
    /// All accesses in short, without the numbers of rows, which move with the statistics:
    /// `ref products.by_month, eq_ref authors.PRIMARY`.
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
        match self.besides.is_empty() {
            true => tables,
            false => format!("{tables}; {}", self.besides.join(", ")),
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
