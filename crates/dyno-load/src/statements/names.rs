//! The names in statements, from which the tables of a run are derived.

use std::collections::BTreeSet;

/// How many bytes of an INSERT are read. The rest, such as its rows, contains no new names.
const INSERT_BYTES_MAX: usize = 4_096;
/// How many bytes of any other statement are read.
const BYTES_MAX: usize = 65_536;
/// Maximum number of names: enough for a few hundred tables with columns. If there are more, they
/// are not names.
const NAMES_MAX: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Names {
    names: BTreeSet<Box<str>>,
    /// Whether there were too many names, so that the list is incomplete.
    is_full: bool,
}

impl Names {
    #[cold]
    pub(super) fn note(&mut self, sql: &[u8]) {
        let inserts =
            |word: &[u8]| sql.len() >= word.len() && sql[..word.len()].eq_ignore_ascii_case(word);
        let most = match inserts(b"INSERT") || inserts(b"REPLACE") {
            true => INSERT_BYTES_MAX,
            false => BYTES_MAX,
        };
        let text = String::from_utf8_lossy(&sql[..sql.len().min(most)]);
        // The value in PREPARE and EXECUTE IMMEDIATE is a statement.
        let text = match holds_statement(&text) {
            true => text.replace('\'', " ").into(),
            false => text,
        };
        for name in names(&text) {
            if self.is_full {
                return;
            }
            if !self.names.contains(name) {
                self.add(name.into());
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.is_full |= other.is_full;
        for name in other.names {
            self.add(name);
        }
    }

    /// All names. `None` if the list is incomplete.
    pub(super) fn all(self) -> Option<BTreeSet<Box<str>>> {
        (!self.is_full).then_some(self.names)
    }

    fn add(&mut self, name: Box<str>) {
        match self.names.len() < NAMES_MAX {
            true => drop(self.names.insert(name)),
            false => self.is_full |= !self.names.contains(&name),
        }
    }
}

/// What may be names in a statement: not values, but keywords are included.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            if first == '\'' {
                let inner = &rest[1..];
                rest = inner.find('\'').map_or("", |end| &inner[end + 1..]);
                continue;
            }
            let length = if matches!(first, '`' | '"') {
                let inner = &rest[1..];
                let end = inner.find(first)?;
                rest = &inner[end + 1..];
                return Some(&inner[..end]);
            } else if is_name(first) {
                rest.find(|c| !is_name(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (word, after) = rest.split_at(length);
            rest = after;
            if is_name(first) && !first.is_ascii_digit() {
                return Some(word);
            }
        }
    })
}

/// Whether the values of a statement are statements. Allocates nothing, because it runs for every
/// statement.
fn holds_statement(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    // EXECUTE on its own is followed by a name and values.
    first.eq_ignore_ascii_case("PREPARE")
        || first.eq_ignore_ascii_case("EXECUTE")
            && words
                .next()
                .is_some_and(|word| word.eq_ignore_ascii_case("IMMEDIATE"))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_names_and_no_values() {
        let sql = "SELECT a.c, 12 FROM `my table` a JOIN \"T\" USING(id) WHERE x='it''s sbtest9' \
                   AND k=1e5";
        let found: Vec<&str> = names(sql).collect();
        for name in ["my table", "T", "id", "a", "c"] {
            assert!(found.contains(&name), "{name}: {found:?}");
        }
        assert!(
            found.iter().all(|name| !name.contains("sbtest9")),
            "{found:?}"
        );
        assert_eq!(names("`open").count() + names("'open").count(), 0);
    }

    #[test]
    fn reports_names_of_nested_statements() {
        for sql in [
            "prepare s FROM 'UPDATE mem1 SET k = k + 1 WHERE id = ?'",
            "EXECUTE IMMEDIATE 'UPDATE mem1 SET k = 2'",
        ] {
            let mut found = Names::default();
            found.note(sql.as_bytes());
            assert!(found.all().unwrap().contains("mem1"), "{sql}");
        }
        let mut values = Names::default();
        values.note(b"EXECUTE s('mem1')");
        assert!(!values.all().unwrap().contains("mem1"));
    }

    #[test]
    fn omits_more_names_than_tables_can_have() {
        let mut names = Names::default();
        for number in 0..NAMES_MAX {
            names.note(format!("n{number}").as_bytes());
        }
        let mut other = Names::default();
        other.note(b"n1");
        names.merge(other);
        assert!(!names.is_full);
        names.note(b"another");
        assert_eq!(names.all(), None);
    }
}
