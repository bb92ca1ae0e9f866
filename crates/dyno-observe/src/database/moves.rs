//! Settings that move while the server is observed, also those that move back.
//!
//! All settings are read again whenever something says that one may have been set: a counter of
//! statements that set, the time at which files of settings were read. Most runs move none, and pay
//! for none.

use std::collections::HashMap;

use dyno_core::Clock;
use dyno_core::db::{DbError, Row};
use dyno_core::record::{EventDetail, EventKind, SettingChange};
use dyno_core::settings::is_servers_own;

use super::{Asking, is_lost, secrets};
use crate::Observation;
use crate::text::fraction;

/// MySQL's and MariaDB's settings.
pub(super) const VARIABLES: &str = "SHOW GLOBAL VARIABLES";
/// Their counter of statements that set something, for a session or for all.
const SETS: &[u8] = b"Com_set_option";

/// States among MySQL's counters that statements set and no variable holds. As settings their names
/// are in lower case.
pub(super) const STATES: [&str; 1] = ["Innodb_redo_log_enabled"];

/// Clients that set something all the time have all settings read once in so many samples.
const PAUSE: u64 = 5;
/// So many are told of one reading: a server that was restarted with another file has hundreds.
const TOLD_MAX: usize = 20;

pub(super) struct Moves {
    /// Asks for names and values.
    sql: &'static str,
    known: HashMap<String, String>,
    /// Changes of states not yet reported.
    states: Vec<SettingChange>,
    /// What tells that something may have been set, as it stood last.
    mark: Option<f64>,
    is_due: bool,
    samples: u64,
    /// The sample from which on they may be read again.
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
            samples: 0,
            next: 0,
        }
    }

    /// A setting, as it is now.
    pub(super) fn know(&mut self, name: &str, value: &str) {
        self.known.insert(name.to_owned(), value.to_owned());
    }

    /// What moves whenever something is set, as it stands now.
    pub(super) fn mark(&mut self, mark: f64) {
        let before = self.mark.replace(mark);
        self.is_due |= before.is_some_and(|before| before != mark);
    }

    /// A row of the server's counters: one may count the statements that set variables, or be such
    /// a state itself.
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

    /// The counters of another server begin anew; its settings are compared all the same.
    pub(super) fn restart(&mut self) {
        self.mark = None;
        self.is_due = true;
    }

    /// Reads the settings again, if one may have moved.
    ///
    /// # Errors
    /// The connection is lost. Whoever may read them at the start may do so later.
    pub(super) fn sample(&mut self, asking: &mut Asking<'_>) -> Result<(), DbError> {
        for change in self.states.drain(..) {
            tell(asking, change);
        }
        let sample = self.samples;
        self.samples += 1;
        if !self.is_due || sample < self.next || self.known.is_empty() {
            return Ok(());
        }
        self.is_due = false;
        let rows = match asking.control.query(self.sql, asking.timeout) {
            Ok(rows) => rows,
            Err(error) if is_lost(&error) => return Err(error),
            Err(_) => return Ok(()),
        };
        let mut told = 0;
        for row in rows {
            let mut fields = row.into_iter().flatten();
            let (Some(name), Some(value)) = (fields.next(), fields.next()) else {
                continue;
            };
            if let Some(change) = self.moved(&name, &value).filter(|_| told < TOLD_MAX) {
                told += 1;
                tell(asking, change);
            }
        }
        // Who moved one may move it back.
        self.next = sample + if told > 0 { 1 } else { PAUSE };
        Ok(())
    }

    /// How a setting moved since it was read last.
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

fn tell(asking: &Asking<'_>, change: SettingChange) {
    let detail = EventDetail::of_setting(change);
    let event = Observation::detailed(Clock.now(), EventKind::Setting, detail);
    asking.sink.send(event);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_there_and_back_moves_twice() {
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
        // Positions move by themselves, and what was not there at the start is not told.
        assert_eq!(moves.moved("gtid_executed", "1-5"), None);
        assert_eq!(moves.moved("new", "1"), None);
        let hidden = moves.moved("proxy_password", "new").unwrap();
        assert_eq!(hidden, change("proxy_password", "(hidden)", "(hidden)"));
    }

    #[test]
    fn they_are_read_when_something_was_set() {
        let mut moves = Moves::new("");
        moves.mark(7.0);
        moves.mark(7.0);
        assert!(!moves.is_due);
        moves.mark(8.0);
        assert!(moves.is_due);
    }
}
