//! The names of series and facts, each written once: a constant for the code, and a row with its
//! unit, meaning and source for `docs/observers.md`.
//!
//! To add a name, add a line here and one where it is recorded. A misspelt name does not compile.
//! The meaning of database counters depends on server and version: see
//! [`counters`](crate::counters).

#[macro_use]
mod define;

mod client;
mod counted;
mod database;
mod host;
mod imported;
mod scopes;
mod server;

#[cfg(test)]
mod tests;

/// The constants, in the order of [`rows`]: `HOST_CPU_USER` is `host.cpu.user`.
pub mod names {
    pub use super::client::names::*;
    pub use super::counted::names::*;
    pub use super::database::names::*;
    pub use super::host::names::*;
    pub use super::imported::names::*;
    pub use super::scopes::names::*;
    pub use super::server::names::*;
}

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A series of states.
    Gauge,
    /// A series of rates: a counter's difference divided by the time.
    Rate,
    /// A constant property of a run.
    Fact,
    /// A series from a server's counter. Unit, meaning and source are in
    /// [`counters`](crate::counters).
    Counter,
    /// A prefix of names, for everything below it; or one name of a family.
    Scope,
}

/// A name, or a family of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The constant's name.
    pub constant: &'static str,
    /// The name; `…` marks the part in which a family's names differ.
    pub name: &'static str,
    /// Gauge, rate, fact, counter or scope.
    pub kind: Kind,
    /// The unit of its values, as in [`SeriesKey`](crate::record::SeriesKey); empty for facts.
    pub unit: &'static str,
    /// The meaning of its value.
    pub meaning: &'static str,
    /// Where it is read.
    pub source: &'static str,
}

impl Row {
    const fn new(
        constant: &'static str,
        name: &'static str,
        (kind, unit): (Kind, &'static str),
        meaning: &'static str,
        source: &'static str,
    ) -> Self {
        Self {
            constant,
            name,
            kind,
            unit,
            meaning,
            source,
        }
    }
}

/// Names that differ in one part, which the host or the server gives: `host.disk[vda].reads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// The text before the variable part.
    pub before: &'static str,
    /// The text after the variable part.
    pub after: &'static str,
}

impl Family {
    /// The name with that part.
    pub fn of(self, part: impl std::fmt::Display) -> String {
        format!("{}{part}{}", self.before, self.after)
    }

    /// The part of a name; `None` if the name is not of this family.
    pub fn part(self, name: &str) -> Option<&str> {
        name.strip_prefix(self.before)?.strip_suffix(self.after)
    }
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let series = [host::ROWS, client::ROWS, server::ROWS, database::ROWS];
    let others = [counted::ROWS, imported::ROWS, scopes::ROWS];
    series.into_iter().chain(others).flatten()
}

/// The row of a name, or of its family.
pub fn row(name: &str) -> Option<&'static Row> {
    let family = |row: &&Row| {
        let parts = row.name.split_once('…');
        parts.is_some_and(|(before, after)| Family { before, after }.part(name).is_some())
    };
    let exact = rows().find(|row| row.name == name);
    exact.or_else(|| rows().find(family))
}
