//! Settings that statements change for their session, and that override the server's.

mod before;

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::settings::{OF_SESSIONS, UNKNOWN};

use super::comments::stripped;
use super::values;
use before::{Before, OF_FILES, SESSION};

/// Longer statements are not read, because those that set something are short.
const BYTES_MAX: usize = 2_048;
/// Maximum number of values to keep of a setting.
const VALUES_MAX: usize = 8;
/// The setting that decides what PostgreSQL guarantees for a commit. A statement with an unknown
/// setting may set this one.
const COMMIT: &str = "synchronous_commit";
const SYNCHRONOUS: &str = "synchronous";

/// The values of each setting. Both are in lower case.
#[derive(Debug, Default)]
pub(super) struct Settings {
    values: BTreeMap<&'static str, BTreeSet<String>>,
    attaches: bool,
}

/// Whether a statement begins like one that changes or resets a setting. This must be cheap,
/// because it runs for every statement.
#[inline]
pub(super) fn sets(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii_start();
    let begins = |word: &[u8]| begins_with(sql, word);
    let goes_on = |with: &[&[u8]]| {
        let rest = sql[6..].trim_ascii_start();
        with.iter().any(|word| begins_with(rest, word))
    };
    match sql.first() {
        Some(b's' | b'S') if begins(b"SELECT") => {
            goes_on(&[b"set_config", b"pg_catalog.set_config"])
        }
        Some(b's' | b'S') => begins(b"SET"),
        Some(b'u' | b'U') => {
            begins(b"UPDATE") && goes_on(&[b"pg_settings", b"pg_catalog.pg_settings"])
        }
        Some(b'p' | b'P') => begins(b"PRAGMA"),
        Some(b'r' | b'R') => begins(b"RESET"),
        Some(b'd' | b'D') => begins(b"DISCARD"),
        Some(b'a' | b'A') => begins(b"ATTACH"),
        _ => false,
    }
}

#[inline]
fn begins_with(sql: &[u8], word: &[u8]) -> bool {
    let start = sql.get(..word.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(word))
}

impl Settings {
    #[cold]
    pub(super) fn note(&mut self, sql: &[u8]) {
        let bare = stripped(&sql[..sql.len().min(BYTES_MAX)]);
        let text = String::from_utf8_lossy(&bare);
        let mut before = Before::default();
        let mut tokens = Tokens { rest: &text };
        let (mut earlier, mut previous) = ("", "");
        while let Some(token) = tokens.next() {
            let begins = matches!(previous, "" | ";");
            let first = |word: &str| begins && token.eq_ignore_ascii_case(word);
            let mut after = tokens.clone();
            let next = after.next();
            self.attaches |= first("attach");
            if (first("reset") || first("discard"))
                && let Some(what) = next
            {
                self.reset(what);
            }
            if is_function(token) && next == Some("(") {
                self.call(after.rest);
            }
            // The condition and the value may be any expression.
            if is_view(token) && is_updated(previous) {
                self.add(COMMIT, None);
            }
            // The scope of a quoted name is a separate token: @@global.`sql_log_off`.
            let is_elsewhere = before.is_pragma && is_of_another_file(token, previous, earlier)
                || previous
                    .strip_prefix("@@")
                    .is_some_and(|scope| !is_session(scope));
            let name = known(token).filter(|name| !is_elsewhere && before.allows(token, name));
            if let Some(name) = name
                && next.is_some_and(assigns)
            {
                self.add(name, values::value(after.rest));
            }
            before.pass(token);
            (earlier, previous) = (previous, token);
        }
    }

    /// Adds the arguments of `set_config`.
    fn call(&mut self, text: &str) {
        let all = values::arguments(text);
        let argument = |at: usize| all.get(at).and_then(|text| values::argument(text));
        match argument(0) {
            None => self.add(COMMIT, None),
            Some(name) => {
                if let Some(name) = known(name) {
                    self.add(name, argument(1));
                }
            }
        }
    }

    /// Records a setting; `value` is `None` if the statement does not show it.
    fn add(&mut self, name: &'static str, value: Option<&str>) {
        let value = value.map_or(UNKNOWN.into(), |value| match name == SYNCHRONOUS {
            true => values::level(value),
            false => values::plain(value),
        });
        let values = self.values.entry(name).or_default();
        if values.iter().any(|old| old.eq_ignore_ascii_case(&value)) {
            return;
        }
        values.insert(match values.len() < VALUES_MAX {
            true => value.to_ascii_lowercase(),
            false => UNKNOWN.to_owned(),
        });
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.attaches |= other.attaches;
        for (name, values) in other.values {
            self.values.entry(name).or_default().extend(values);
        }
    }

    /// Name and values, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, Vec<String>)> {
        let each = |(name, values): (&&str, &BTreeSet<String>)| {
            ((*name).to_owned(), values.iter().cloned().collect())
        };
        self.values.iter().map(each)
    }

    /// Whether a statement has attached another file.
    pub(super) fn attaches(&self) -> bool {
        self.attaches
    }

    /// Resets a setting, or all of them, to the server's value.
    fn reset(&mut self, what: &str) {
        let all = what.eq_ignore_ascii_case("all");
        for (name, values) in &mut self.values {
            if (all || known(what) == Some(*name)) && values.len() < VALUES_MAX {
                values.insert("default".to_owned());
            }
        }
    }
}

/// The setting that a token names, whether it is qualified or not: `@@session.sql_log_bin`,
/// `main.synchronous`, `'synchronous_commit'`.
fn known(token: &str) -> Option<&'static str> {
    let name = unquoted(token);
    let name = match name.strip_prefix('@') {
        // With a single `@`, it is a variable of the user.
        Some(rest) => rest.strip_prefix('@')?,
        None => name,
    };
    let is = |own: &&&str| {
        let rest = name
            .len()
            .checked_sub(own.len())
            .and_then(|at| name.split_at_checked(at));
        rest.is_some_and(|(before, end)| {
            // Other qualified names are settings of the server, or PostgreSQL's own ones of an
            // application.
            let is_schema = before.ends_with('.') && OF_FILES.contains(own);
            end.eq_ignore_ascii_case(own) && (is_session(before) || is_schema)
        })
    };
    OF_SESSIONS.iter().find(is).copied()
}

/// Whether a qualifier means the session.
fn is_session(scope: &str) -> bool {
    SESSION.iter().any(|own| scope.eq_ignore_ascii_case(own))
}

/// Whether the name of a PRAGMA is qualified with a schema other than that of the database file.
fn is_of_another_file(token: &str, previous: &str, earlier: &str) -> bool {
    let schema = match unquoted(token).split_once('.') {
        Some(("", _)) => previous,
        Some((schema, _)) => schema,
        None if previous == "." => earlier,
        None => match previous.strip_suffix('.') {
            Some(schema) => schema,
            None => return false,
        },
    };
    !unquoted(schema).eq_ignore_ascii_case("main")
}

fn assigns(token: &str) -> bool {
    ["=", ":=", "("].contains(&token) || token.eq_ignore_ascii_case("to")
}

fn is_function(token: &str) -> bool {
    is_of_catalog(token, "set_config")
}

/// The view whose rows set the settings of the session.
fn is_view(token: &str) -> bool {
    is_of_catalog(token, "pg_settings")
}

fn is_of_catalog(token: &str, own: &str) -> bool {
    let name = unquoted(token);
    let name = match name.split_once('.') {
        Some((schema, name)) if schema.eq_ignore_ascii_case("pg_catalog") => name,
        _ => name,
    };
    name.eq_ignore_ascii_case(own)
}

fn is_updated(previous: &str) -> bool {
    ["update", "only"]
        .iter()
        .any(|word| previous.eq_ignore_ascii_case(word))
}

fn unquoted(token: &str) -> &str {
    token.trim_matches(['\'', '"', '`', '[', ']'])
}

/// Words with dots, texts in quotes, `:=`, and other signs.
#[derive(Clone)]
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '-' | '$');
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        let length = match first {
            '\'' | '"' | '`' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            '[' => rest.find(']').map_or(1, |end| end + 1),
            ':' if rest.starts_with(":=") => 2,
            c if in_word(c) => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        self.rest = after;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings that a statement sets for its session.
    pub(super) fn set_by(sql: &str) -> String {
        let mut own = Settings::default();
        own.note(sql.as_bytes());
        let all = own.all();
        let all = all.map(|(name, values)| format!("{name}={}", values.join(",")));
        all.collect::<Vec<String>>().join(" ")
    }

    #[test]
    fn settings_of_a_session_are_known() {
        for (sql, expected) in [
            ("SET synchronous_commit = off", "synchronous_commit=off"),
            (
                "set session synchronous_commit to 'OFF'",
                "synchronous_commit=off",
            ),
            (
                "BEGIN; SET LOCAL synchronous_commit=local",
                "synchronous_commit=local",
            ),
            (
                "SELECT set_config('synchronous_commit', 'off', false)",
                "synchronous_commit=off",
            ),
            (
                "SELECT pg_catalog.set_config('log_statement','all',true)",
                "log_statement=all",
            ),
            (
                "ALTER ROLE bob SET synchronous_commit = off",
                "synchronous_commit=off",
            ),
            ("SET sql_log_bin=0", "sql_log_bin=0"),
            ("SET SESSION autocommit = 1", "autocommit=1"),
            ("SET @@session.sql_log_bin := 0", "sql_log_bin=0"),
            ("SET @@session.`sql_log_bin` = 0", "sql_log_bin=0"),
            (
                "SET GLOBAL x = 1, SESSION sql_log_off = ON",
                "sql_log_off=on",
            ),
            ("PRAGMA main.synchronous = OFF", "synchronous=off"),
            ("pragma journal_mode(memory)", "journal_mode=memory"),
            ("PRAGMA \"main\".synchronous = OFF", "synchronous=off"),
            ("PRAGMA m.synchronous = OFF", ""),
            ("PRAGMA \"m\".synchronous = OFF", ""),
            ("PRAGMA synchronous", ""),
            ("SET GLOBAL sql_log_off = 1", ""),
            ("SET @@GLOBAL.sql_log_off = 1", ""),
            ("ALTER SYSTEM SET synchronous_commit = off", ""),
            (
                "SET synchronous_commit = off; RESET synchronous_commit",
                "synchronous_commit=default,off",
            ),
            (
                "SET log_statement = all; DISCARD ALL",
                "log_statement=all,default",
            ),
            (
                "SET log_statement = all; RESET synchronous_commit",
                "log_statement=all",
            ),
            ("RESET ALL", ""),
            ("UPDATE t SET synchronous_commit = 'off'", ""),
            ("SET PASSWORD = 'synchronous_commit'", ""),
            ("SELECT 'SET synchronous_commit = off'", ""),
            ("SET my_synchronous_commit = off", ""),
            ("SET synchronous_commit", ""),
            ("", ""),
        ] {
            assert_eq!(set_by(sql), expected, "{sql}");
        }
    }

    #[test]
    fn values_are_known_in_any_form_of_literal() {
        let off = "synchronous_commit=off";
        let unknown = "synchronous_commit=unknown";
        for (sql, expected) in [
            ("SET synchronous_commit = E'off'", off),
            ("SET synchronous_commit TO $$off$$", off),
            ("SET synchronous_commit = /* now */ off -- now", off),
            ("DO $$BEGIN SET LOCAL synchronous_commit = off; END$$", off),
            ("DO $$BEGIN SET LOCAL synchronous_commit = off$$", off),
            (
                "SELECT set_config(E'synchronous_commit'::text, 'off'::text, false)",
                off,
            ),
            (
                "SELECT set_config('a', 'b', true), SET_CONFIG('synchronous_commit', 'off', $1)",
                off,
            ),
            ("SET synchronous_commit = +0", "synchronous_commit=0"),
            ("SELECT set_config($1, $2, false)", unknown),
            (
                "SELECT set_config('synchronous_commit', $1, false)",
                unknown,
            ),
            (
                "SELECT set_config('synchronous' || '_commit', 'off', false)",
                unknown,
            ),
            (
                "UPDATE pg_settings SET setting = 'off' WHERE name = $1",
                unknown,
            ),
            (
                "UPDATE ONLY pg_catalog.pg_settings SET setting = $1",
                unknown,
            ),
            ("SELECT setting FROM pg_settings", ""),
            (
                "SET rocksdb_write_disable_wal = 0 + 1",
                "rocksdb_write_disable_wal=unknown",
            ),
            (
                "SET rocksdb_write_disable_wal = ?",
                "rocksdb_write_disable_wal=unknown",
            ),
            ("PRAGMA synchronous = 7", "synchronous=0"),
            ("PRAGMA synchronous = +0", "synchronous=0"),
            ("PRAGMA synchronous = 0x0", "synchronous=0"),
            ("PRAGMA synchronous = [off]", "synchronous=off"),
            ("PRAGMA synchronous(`off`)", "synchronous=off"),
            ("PRAGMA [main].synchronous = off", "synchronous=off"),
            ("PRAGMA `main` . [synchronous] = off", "synchronous=off"),
            ("PRAGMA main.\"synchronous\" = off", "synchronous=off"),
            ("PRAGMA [m].synchronous = off", ""),
            ("PRAGMA m.\"synchronous\" = off", ""),
            ("PRAGMA m . synchronous = off", ""),
            ("PRAGMA synchronous = normal", "synchronous=normal"),
        ] {
            assert_eq!(set_by(sql), expected, "{sql}");
        }
    }

    #[test]
    fn names_to_which_nothing_is_assigned_are_ignored() {
        for sql in [
            "SET @old = @@autocommit, @b = 1",
            "SET @sql_log_bin = 1, @autocommit := 0",
            "SET app.log_statement = 'all'",
            "SET @@global.`sql_log_off` = 1",
            "SET GLOBAL long_query_time = 1, sql_log_off = ON",
            "SET PERSIST_ONLY sql_log_off = ON",
            "SET @@PERSIST.sql_log_off = ON, @@persist_only.long_query_time = 1",
            "UPDATE t SET a = 1, log_duration = 2",
            "INSERT INTO t SET a = 1, autocommit = 0",
            "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 1, log_duration = 2",
            "SELECT set_config('a', 'b', true) FROM t WHERE autocommit = 1",
            "SELECT set_config('app.user', $1, true)",
        ] {
            assert_eq!(set_by(sql), "", "{sql}");
        }
    }

    #[test]
    fn further_values_are_unknown() {
        let mut own = Settings::default();
        for number in 0..20 {
            own.note(format!("SET long_query_time = {number}").as_bytes());
        }
        let (_, values) = own.all().next().unwrap();
        assert_eq!(values.len(), VALUES_MAX + 1);
        assert!(values.iter().any(|value| value == UNKNOWN));
    }

    #[test]
    fn files_that_are_attached_are_known() {
        for (sql, attaches) in [
            ("ATTACH DATABASE 'b.db' AS b", true),
            ("PRAGMA synchronous; attach 'b.db' AS b", true),
            ("ALTER TABLE t ATTACH PARTITION p DEFAULT", false),
            ("SELECT attach FROM t", false),
        ] {
            let mut own = Settings::default();
            own.note(sql.as_bytes());
            let mut all = Settings::default();
            all.merge(own);
            assert_eq!(all.attaches(), attaches, "{sql}");
        }
    }

    #[test]
    fn statements_that_set_something_are_recognised() {
        for sql in [
            "SET x = 1",
            "  set local x to 1",
            "PRAGMA synchronous",
            "reset all",
            "DISCARD ALL",
            "ATTACH 'b.db' AS b",
            "SELECT set_config('a', 'b', true)",
            "select  pg_catalog.set_config('a', 'b', true)",
            "SELECT\nSET_CONFIG('a', 'b', true)",
            "UPDATE pg_settings SET setting = 'off'",
        ] {
            assert!(sets(sql.as_bytes()), "{sql}");
        }
        for sql in [
            "",
            "SELECT 1",
            "SE",
            "UPDATE t SET x = 1",
            "PREPARE p AS SELECT 1",
        ] {
            assert!(!sets(sql.as_bytes()), "{sql}");
        }
    }
}
