//! The part of a statement before a name, which decides whether the name is that of a setting of
//! the session.

use super::SYNCHRONOUS;

/// The scopes of MySQL's settings that no session has to itself.
const GLOBAL: [&str; 3] = ["global", "persist", "persist_only"];
/// The qualifiers of a session's own setting.
pub(super) const SESSION: [&str; 3] = ["", "session.", "local."];
/// Settings of a file that SQLite's PRAGMA qualifies with its schema.
pub(super) const OF_FILES: [&str; 2] = [SYNCHRONOUS, "journal_mode"];

#[derive(Default)]
pub(super) struct Before {
    /// SET or PRAGMA.
    sets: bool,
    pub(super) is_pragma: bool,
    /// Whether it changes settings of the server. In MySQL's lists, such a keyword also applies to
    /// the names after the next one.
    is_global: bool,
    /// Whether it changes rows, so that a name in it is a column.
    is_of_rows: bool,
}

impl Before {
    /// Whether this token can be the name of that setting of the session.
    pub(super) fn allows(&self, token: &str, name: &str) -> bool {
        let of_pragma = OF_FILES.contains(&name);
        // Such a name has its own scope, which is the session unless it says otherwise.
        let is_global = self.is_global && !token.starts_with("@@");
        self.sets && !self.is_of_rows && !is_global && of_pragma == self.is_pragma
    }

    pub(super) fn pass(&mut self, token: &str) {
        let is = |known: &[&str]| known.iter().any(|known| token.eq_ignore_ascii_case(known));
        // After SET, these are functions, but FOR is followed by the statement to which MariaDB's
        // SET STATEMENT applies.
        let of_rows: &[&str] = match self.sets {
            true => &["for"],
            false => &["update", "insert", "replace"],
        };
        if token == ";" {
            *self = Self::default();
        } else if is(&GLOBAL) || is(&["system"]) {
            self.is_global = true;
        } else if is(&["session", "local"]) {
            self.is_global = false;
        } else if is(of_rows) {
            self.is_of_rows = true;
        } else if is(&["pragma"]) {
            (self.sets, self.is_pragma) = (true, true);
        } else {
            self.sets |= is(&["set"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::statements::settings::tests::set_by;

    #[test]
    fn keywords_apply_to_the_names_after_them() {
        for (sql, expected) in [
            ("SET GLOBAL x = 1, @@sql_log_off = 1", "sql_log_off=1"),
            (
                "SET GLOBAL x = 1, LOCAL y = 2, sql_log_off = 1",
                "sql_log_off=1",
            ),
            (
                "SET sql_mode = REPLACE(@@sql_mode, 'a', ''), autocommit = 0",
                "autocommit=0",
            ),
            (
                "SET STATEMENT long_query_time = 9 FOR UPDATE t SET a = 1, log_duration = 2",
                "long_query_time=9",
            ),
        ] {
            assert_eq!(set_by(sql), expected, "{sql}");
        }
    }
}
