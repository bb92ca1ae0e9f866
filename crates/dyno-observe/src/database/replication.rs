//! The lag of a replica of MySQL or MariaDB behind its source. PostgreSQL reports it in its
//! statistics.

use dyno_core::catalogue::names;
use dyno_core::db::{DbError, Row};

use super::others::PROCESSLIST;
use super::{Asking, is_lost, refusal};
use crate::sink::{Gauge, SampleBuffer};
use crate::text::fraction;

const NEEDS_MONITOR: &str = "GRANT REPLICATION CLIENT (MariaDB: REPLICA MONITOR) ON *.* TO the \
                             user of the target";

/// Columns of a row that all versions have in these positions; newer ones follow them.
const HOST: usize = 1;
const RECEIVES: usize = 10;
const APPLIES: usize = 11;
const BEHIND: usize = 32;

pub(super) struct Replication {
    /// The query for a replica's state, with a row for each of its sources.
    sql: &'static str,
    /// The number of columns before the common ones.
    first: usize,
    is_replica: bool,
    lag: Gauge,
    running: Gauge,
}

impl Replication {
    pub(super) fn new(is_mariadb: bool) -> Self {
        let (sql, first) = match is_mariadb {
            true => ("SHOW ALL SLAVES STATUS", 2),
            false => ("SHOW REPLICA STATUS", 0),
        };
        Self {
            sql,
            first,
            is_replica: false,
            lag: Gauge::new(names::DB_REPLICATION_LAG, "s", sql),
            running: Gauge::new(names::DB_REPLICATION_RUNNING, "count", sql),
        }
    }

    /// Reports whether the server is a replica, and how many replicas it has.
    ///
    /// # Errors
    /// The connection is lost. A refusal becomes a gap.
    pub(super) fn report(&mut self, asking: &mut Asking<'_>) -> Result<(), DbError> {
        let mut rows = asking.control.query(self.sql, asking.timeout);
        if rows.as_ref().is_err_and(|error| !is_lost(error)) {
            // Before MySQL 8.0.22; later servers refuse it, and the first answer counts.
            let older = "SHOW SLAVE STATUS";
            match asking.control.query(older, asking.timeout) {
                Err(error) if !is_lost(&error) => {}
                answer => {
                    (self.sql, self.first) = (older, 0);
                    rows = answer;
                }
            }
        }
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) if is_lost(&error) => return Err(error),
            Err(error) => {
                let why = refusal(&error, NEEDS_MONITOR);
                asking.sink.gap(names::DB_REPLICATION, why.clone());
                asking.sink.gap(names::SERVER_REPLICATION, why);
                return Ok(());
            }
        };
        self.is_replica = !rows.is_empty();
        let hosts = rows.iter().map(|row| {
            let host = row.get(self.first + HOST).and_then(Option::as_deref);
            format!("replica of {}", host.unwrap_or("an unknown source"))
        });
        let mut roles: Vec<String> = hosts.collect();
        let sessions = asking.rows_or_gap(names::SERVER_REPLICATION, PROCESSLIST.sql, "")?;
        let command = |row: &Vec<Option<String>>| row.get(4).cloned().flatten();
        let dumps = sessions.iter().filter_map(command);
        match dumps.filter(|it| it.starts_with("Binlog Dump")).count() {
            0 => {}
            1 => roles.push("source of 1 replica".to_owned()),
            many => roles.push(format!("source of {many} replicas")),
        }
        let roles = match roles.is_empty() {
            true => "none".to_owned(),
            false => roles.join(", "),
        };
        let source = format!("{}, {}", self.sql, PROCESSLIST.source);
        asking.fact(names::SERVER_REPLICATION, Some(roles), &source);
        Ok(())
    }

    /// Samples a replica's lag.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) fn sample(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        if !self.is_replica {
            return Ok(());
        }
        let first = self.first;
        let (mut lag, mut running): (Option<f64>, f64) = (None, 1.0);
        let read = asking.control.read(self.sql, asking.timeout, |row: &Row| {
            let field = |place: usize| row.field(first + place);
            let behind = field(BEHIND).and_then(fraction);
            lag = [lag, behind].into_iter().flatten().reduce(f64::max);
            if [RECEIVES, APPLIES]
                .iter()
                .any(|it| field(*it) != Some(b"Yes"))
            {
                running = 0.0;
            }
        });
        match read {
            Ok(()) => {
                self.lag.put_some(recorder, lag);
                self.running.put(recorder, running);
                Ok(())
            }
            Err(error) if is_lost(&error) => Err(error),
            Err(error) => {
                let why = refusal(&error, NEEDS_MONITOR);
                asking.sink.gap(names::DB_REPLICATION, why);
                self.is_replica = false;
                Ok(())
            }
        }
    }

    pub(super) fn always_zero(&self) -> impl Iterator<Item = String> {
        let gauges = [&self.lag, &self.running].into_iter();
        gauges.filter_map(|gauge| gauge.always_zero().map(str::to_owned))
    }
}
