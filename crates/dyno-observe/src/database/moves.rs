//! Settings that change during the observation, including those that change back.
//!
//! All settings are read again with the first sample and at the start of the measurement, and when
//! one may have been set: when the counter of SET statements or the load time of the configuration
//! files changes. Most runs change none, and need no other reads.

use std::collections::HashMap;

use dyno_core::Clock;
use dyno_core::db::{DbError, Row};
use dyno_core::record::{EventDetail, EventKind, SettingChange};
use dyno_core::settings::is_servers_own;

use super::{Asking, is_lost, pairs, secrets};
use crate::Observation;
use crate::text::fraction;

/// MySQL's and MariaDB's settings.
pub(super) const VARIABLES: &str = "SHOW GLOBAL VARIABLES";
/// Their counter of statements that set something, for a session or globally.
const SETS: &[u8] = b"Com_set_option";

/// Settable states that MySQL shows only among its counters. As settings their names are in lower
/// case.
pub(super) const STATES: [&str; 1] = ["Innodb_redo_log_enabled"];

/// The number of samples between reads of all settings while clients set something all the time.
const PAUSE: u64 = 5;
/// Maximum number of changes reported per read: a server restarted with another file has hundreds.
const REPORTED_MAX: usize = 20;

pub(super) struct Moves {
    /// The query for names and values.
    sql: &'static str,
    known: HashMap<String, String>,
    /// Changes of states not yet reported.
    states: Vec<SettingChange>,
    /// The last value of the counter or time that changes with settings.
    mark: Option<f64>,
    /// Whether settings may have changed.
    is_due: bool,
    /// Whether the next sample reads the settings even if the counter did not change.
    is_wanted: bool,
    samples: u64,
    /// The first sample in which the settings may be read again.
    next: u64,
}

impl Moves {
    pub(super) fn new(sql: &'static str) -> Self {
        Self {
            sql,
            known: HashMap::new(),
            states: Vec::new(),
            mark: None,
            is_due: false,
            // A setting may change before the counter is read for the first time.
            is_wanted: true,
            samples: 0,
            next: 0,
        }
    }

    /// Records the current value of a setting.
    pub(super) fn know(&mut self, name: &str, value: &str) {
        self.known.insert(name.to_owned(), value.to_owned());
    }

    /// Takes the current value of a counter or time that changes whenever settings change.
    pub(super) fn mark(&mut self, mark: f64) {
        let before = self.mark.replace(mark);
        self.is_due |= before.is_some_and(|before| before != mark);
    }

    /// Handles a row of the server's counters: it may be the counter of SET statements, or such a
    /// state.
    pub(super) fn see(&mut self, row: &Row) {
        let is_state = |name: &&str| row.field(0) == Some(name.as_bytes());
        if let (Some(name), Some(value)) = (STATES.into_iter().find(is_state), row.field(1)) {
            let value = String::from_utf8_lossy(value);
            let moved = self.moved(&name.to_ascii_lowercase(), &value);
            self.states.extend(moved);
        }
        if row.field(0) == Some(SETS)
            && let Some(count) = row.field(1).and_then(fraction)
        {
            self.mark(count);
        }
    }

    /// Notes that the measurement begins.
    pub(super) fn begin(&mut self) {
        self.is_wanted = true;
    }

    /// Whether this sample reads the settings.
    fn is_time(&mut self) -> bool {
        let sample = self.samples;
        self.samples += 1;
        let is_due = self.is_due && sample >= self.next;
        if self.known.is_empty() || !(is_due || self.is_wanted) {
            return false;
        }
        self.next = sample + if self.is_wanted { 1 } else { PAUSE };
        (self.is_due, self.is_wanted) = (false, false);
        true
    }

    /// Notes that another server answers: counters restart, and settings are still compared.
    pub(super) fn restart(&mut self) {
        self.mark = None;
        self.is_due = true;
    }

    /// Reads the settings again if one may have changed.
    ///
    /// # Errors
    /// The connection is lost. Other errors are ignored: settings that were readable at the start
    /// usually stay so.
    pub(super) fn sample(&mut self, asking: &mut Asking<'_>) -> Result<(), DbError> {
        for change in self.states.drain(..) {
            report(asking, change);
        }
        if !self.is_time() {
            return Ok(());
        }
        let rows = match asking.control.query(self.sql, asking.timeout) {
            Ok(rows) => rows,
            Err(error) if is_lost(&error) => return Err(error),
            Err(_) => return Ok(()),
        };
        let mut reported = 0;
        for (name, value) in pairs(rows) {
            if let Some(change) = self
                .moved(&name, &value)
                .filter(|_| reported < REPORTED_MAX)
            {
                reported += 1;
                report(asking, change);
            }
        }
        if reported > 0 {
            // A changed setting may change back.
            self.next = self.samples;
        }
        Ok(())
    }

    /// The change of a setting since it was last read.
    fn moved(&mut self, name: &str, value: &str) -> Option<SettingChange> {
        let known = self.known.get_mut(name)?;
        if known == value {
            return None;
        }
        let before = std::mem::replace(known, value.to_owned());
        (!is_servers_own(name)).then(|| SettingChange {
            name: name.to_owned(),
            from: secrets::shown(name, &before),
            to: secrets::shown(name, value),
        })
    }
}

fn report(asking: &Asking<'_>, change: SettingChange) {
    let detail = EventDetail::of_setting(change);
    let event = Observation::detailed(Clock.now(), EventKind::Setting, detail);
    asking.sink.send(event);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_changed_and_restored_counts_twice() {
        let mut moves = Moves::new("SHOW GLOBAL VARIABLES");
        moves.know("innodb_io_capacity", "200");
        moves.know("gtid_executed", "");
        moves.know("proxy_password", "old");
        assert_eq!(moves.moved("innodb_io_capacity", "200"), None);
        let change = |name: &str, from: &str, to: &str| SettingChange {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        let there = change("innodb_io_capacity", "200", "300");
        assert_eq!(moves.moved("innodb_io_capacity", "300").unwrap(), there);
        let back = change("innodb_io_capacity", "300", "200");
        assert_eq!(moves.moved("innodb_io_capacity", "200").unwrap(), back);
        // Positions change by themselves, and settings missing at the start are not reported.
        assert_eq!(moves.moved("gtid_executed", "1-5"), None);
        assert_eq!(moves.moved("new", "1"), None);
        let hidden = moves.moved("proxy_password", "new").unwrap();
        assert_eq!(hidden, change("proxy_password", "(hidden)", "(hidden)"));
    }

    #[test]
    fn settings_are_read_after_a_statement_set_one() {
        let mut moves = Moves::new("");
        moves.mark(7.0);
        moves.mark(7.0);
        assert!(!moves.is_due);
        moves.mark(8.0);
        assert!(moves.is_due);
    }

    #[test]
    fn settings_are_read_with_the_first_sample_and_when_the_measurement_begins() {
        let mut moves = Moves::new("");
        assert!(!moves.is_time(), "none is known");
        moves.know("innodb_flush_log_at_trx_commit", "1");
        // Somebody set it before the counter was read for the first time.
        moves.mark(7.0);
        assert!(moves.is_time());
        moves.mark(7.0);
        assert!(!moves.is_time());
        moves.mark(8.0);
        assert!(moves.is_time(), "the first read causes no pause");
        moves.mark(9.0);
        assert!(!moves.is_time(), "clients set something all the time");
        moves.begin();
        assert!(moves.is_time());
        moves.mark(10.0);
        assert!(moves.is_time());
        assert!(!moves.is_time());
    }
}
