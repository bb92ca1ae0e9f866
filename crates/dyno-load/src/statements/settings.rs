//! Settings that statements change for their session, and that override the server's.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::settings::OF_SESSIONS;

/// Longer statements are not read, because those that set something are short.
const BYTES_MAX: usize = 2_048;
/// Maximum number of values to keep of a setting.
const VALUES_MAX: usize = 8;

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
    let begins = |word: &[u8]| {
        let start = sql.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    match sql.first() {
        Some(b's' | b'S') if begins(b"SELECT ") => {
            let call = sql[7..].trim_ascii_start();
            call.starts_with(b"set_config") || call.starts_with(b"pg_catalog.set_config")
        }
        Some(b's' | b'S') => begins(b"SET"),
        Some(b'p' | b'P') => begins(b"PRAGMA"),
        Some(b'r' | b'R') => begins(b"RESET"),
        Some(b'd' | b'D') => begins(b"DISCARD"),
        Some(b'a' | b'A') => begins(b"ATTACH"),
        _ => false,
    }
}

impl Settings {
    #[cold]
    pub(super) fn note(&mut self, sql: &[u8]) {
        let text = String::from_utf8_lossy(&sql[..sql.len().min(BYTES_MAX)]);
        let mut before = Before::default();
        let mut tokens = tokens(&text).peekable();
        let mut last = "";
        while let Some(token) = tokens.next() {
            let previous = std::mem::replace(&mut last, token);
            let begins = matches!(previous, "" | ";");
            let first = |word: &str| begins && token.eq_ignore_ascii_case(word);
            self.attaches |= first("attach");
            if (first("reset") || first("discard"))
                && let Some(what) = tokens.peek()
            {
                self.reset(what);
            }
            let is_elsewhere = before.is_pragma && is_of_another_file(token, previous);
            let name = known(token).filter(|name| !is_elsewhere && before.allows(name));
            let assigns = |next: &&str| {
                ["=", ":=", "(", ","].contains(next) || next.eq_ignore_ascii_case("to")
            };
            if let Some(name) = name
                && tokens.next_if(assigns).is_some()
                && let Some(value) = tokens.peek()
            {
                let values = self.values.entry(name).or_default();
                let value = unquoted(value);
                let is_new = !values.iter().any(|old| old.eq_ignore_ascii_case(value));
                if is_new && values.len() < VALUES_MAX {
                    values.insert(value.to_ascii_lowercase());
                }
            }
            before.pass(token);
        }
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

/// The part of a statement before a name.
#[derive(Default)]
struct Before {
    /// SET, PRAGMA or a call of set_config.
    sets: bool,
    is_pragma: bool,
    /// Whether it changes rows or all sessions, so that a name in it is a column or a setting of
    /// the server.
    is_other: bool,
}

impl Before {
    fn allows(&self, name: &str) -> bool {
        let of_pragma = ["synchronous", "journal_mode"].contains(&name);
        self.sets && !self.is_other && of_pragma == self.is_pragma
    }

    fn pass(&mut self, token: &str) {
        let is = |known: &[&str]| known.iter().any(|known| token.eq_ignore_ascii_case(known));
        if token == ";" {
            *self = Self::default();
        } else if is(&["update", "insert", "replace", "global", "persist", "system"]) {
            self.is_other = true;
        } else if is(&["session", "local", ","]) {
            // MySQL's SET takes a list, so the next name may be a setting again.
            self.is_other &= token != ",";
        } else if is(&["pragma"]) {
            (self.sets, self.is_pragma) = (true, true);
        } else {
            self.sets |= is(&["set", "set_config", "pg_catalog.set_config"]);
        }
    }
}

/// The setting that a token names, whether it is qualified or not: `@@session.sql_log_bin`,
/// `main.synchronous`, `'synchronous_commit'`.
fn known(token: &str) -> Option<&'static str> {
    let name = unquoted(token);
    let scope = name.split_once('.').map(|(scope, _)| scope);
    if scope.is_some_and(|scope| scope.eq_ignore_ascii_case("@@global")) {
        return None;
    }
    let is = |own: &&&str| {
        let rest = name
            .len()
            .checked_sub(own.len())
            .and_then(|at| name.split_at_checked(at));
        rest.is_some_and(|(before, end)| {
            end.eq_ignore_ascii_case(own) && (before.is_empty() || before.ends_with(['.', '@']))
        })
    };
    OF_SESSIONS.iter().find(is).copied()
}

/// Whether the name of a PRAGMA is qualified with a schema other than that of the database file.
fn is_of_another_file(token: &str, previous: &str) -> bool {
    let schema = match unquoted(token).split_once('.') {
        Some(("", _)) => unquoted(previous),
        Some((schema, _)) => schema,
        None => return false,
    };
    !schema.eq_ignore_ascii_case("main")
}

fn unquoted(token: &str) -> &str {
    token.trim_matches(['\'', '"', '`'])
}

/// Words with dots, texts in quotes, `:=`, and other signs.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '-' | '$');
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let length = match first {
            '\'' | '"' | '`' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            ':' if rest.starts_with(":=") => 2,
            c if in_word(c) => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let mut own = Settings::default();
            own.note(sql.as_bytes());
            let all: Vec<String> = own
                .all()
                .map(|(name, values)| format!("{name}={}", values.join(",")))
                .collect();
            assert_eq!(all.join(" "), expected, "{sql}");
        }
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
