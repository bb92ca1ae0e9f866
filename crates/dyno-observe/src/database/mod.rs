//! The database's counters, queried on a separate thread: a server that hangs must not stop the
//! samples of the host.

mod build;
mod digests;
mod elsewhere;
mod explain;
mod moves;
mod mysql;
mod others;
mod postgres;
mod replication;
mod secrets;
mod sqlite;
mod starts;
mod states;
mod statistics;
mod status;
mod tables;
mod variables;
mod watch;

use std::time::Duration;

use dyno_core::db::DbError;
use dyno_drivers::Control;

use crate::directories::ServerDirectory;
use crate::process::Claim;
use crate::sink::{SampleBuffer, Sink};
pub use digests::Digests;
pub use explain::{explain, has_plan};
pub use watch::setting_query;
pub(crate) use watch::{Watch, watch};

/// The queries for one kind of server.
trait Collector: Send {
    /// Reports facts, settings and gaps at the start or end of the observation.
    ///
    /// # Errors
    /// The connection is lost. A refusal becomes a gap.
    fn report(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError>;

    /// Reports the tables of the target's database, once before the load. Returns the location of
    /// tables that are defined outside the data directory.
    ///
    /// # Errors
    /// The connection is lost. A refusal becomes a gap.
    fn tables(&mut self, asking: &mut Asking<'_>) -> Result<Vec<ServerDirectory>, DbError>;

    /// Takes one sample, which begins the recorder's.
    ///
    /// # Errors
    /// The connection is lost.
    fn sample(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError>;

    /// The server's claims about its process.
    ///
    /// # Errors
    /// The connection is lost.
    fn claim(&mut self, asking: &mut Asking<'_>) -> Result<Claim, DbError>;

    /// The server was restarted or replaced: counters restart.
    fn restart(&mut self);

    /// The measurement begins: what changes seldom is read again with the next sample.
    fn begin(&mut self) {}

    /// Series that were 0 in every sample.
    fn always_zero(&self) -> Vec<String>;
}

/// A connection with its timeout, and the sink for gaps.
struct Asking<'a> {
    control: &'a mut Control,
    timeout: Duration,
    sink: &'a Sink,
}

impl Asking<'_> {
    /// The first field of the first row.
    fn one(&mut self, sql: &str) -> Result<Option<String>, DbError> {
        Ok(first(self.control.query(sql, self.timeout)?))
    }

    /// The rows, or a gap if the server refuses; only a lost connection is an error.
    fn rows_or_gap(
        &mut self,
        what: &str,
        sql: &str,
        needed: &str,
    ) -> Result<Vec<Vec<Option<String>>>, DbError> {
        match self.control.query(sql, self.timeout) {
            Ok(rows) => Ok(rows),
            Err(error) if is_lost(&error) => Err(error),
            Err(error) => {
                self.sink.gap(what, refusal(&error, needed));
                Ok(Vec::new())
            }
        }
    }

    fn one_or_gap(
        &mut self,
        what: &str,
        sql: &str,
        needed: &str,
    ) -> Result<Option<String>, DbError> {
        Ok(first(self.rows_or_gap(what, sql, needed)?))
    }

    /// Reports the answer as a fact, or a gap if the server refuses.
    fn fact_or_gap(
        &mut self,
        name: &str,
        sql: &str,
        needed: &str,
        source: &str,
    ) -> Result<(), DbError> {
        let value = self.one_or_gap(name, sql, needed)?;
        self.fact(name, value, source);
        Ok(())
    }

    fn setting(&self, name: &str, value: &str, at_end: bool) {
        self.sink.send(crate::Observation::Setting {
            value: secrets::shown(name, value),
            name: name.to_owned(),
            at_end,
        });
    }

    fn fact(&self, name: &str, value: Option<String>, source: &str) {
        if let Some(value) = value {
            self.sink.fact(name, value, source);
        }
    }
}

/// The first field of the first row.
fn first(rows: Vec<Vec<Option<String>>>) -> Option<String> {
    rows.into_iter().next()?.into_iter().next()?
}

/// The first two known fields of each row.
fn pairs(rows: Vec<Vec<Option<String>>>) -> impl Iterator<Item = (String, String)> {
    rows.into_iter().filter_map(|row| {
        let mut fields = row.into_iter().flatten();
        Some((fields.next()?, fields.next()?))
    })
}

fn is_lost(error: &DbError) -> bool {
    error.ends_connection
}

fn refusal(error: &DbError, needed: &str) -> String {
    match needed {
        "" => format!("the server refuses: {error}"),
        needed => format!("the server refuses: {error}; {needed}"),
    }
}

/// The words for the end that a value belongs to.
fn end_of(at_end: bool) -> &'static str {
    if at_end { "end" } else { "start" }
}
