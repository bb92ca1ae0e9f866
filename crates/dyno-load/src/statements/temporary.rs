//! Finds out whether the tables that statements change are temporary.

use std::collections::BTreeSet;

use super::names::names;

/// Maximum number of tables that are distinguished.
const TABLES_MAX: usize = 256;
/// The name of the changed table must be within this many bytes.
const BYTES_MAX: usize = 512;
/// Words between a statement's first word and the table that it changes.
const BETWEEN: [&str; 10] = [
    "into",
    "from",
    "only",
    "ignore",
    "low_priority",
    "high_priority",
    "delayed",
    "quick",
    "if",
    "not",
];

/// The tables that were created as temporary ones, and the tables whose rows were changed.
#[derive(Debug, Default)]
pub(super) struct Temporary {
    made: BTreeSet<Box<str>>,
    changed: BTreeSet<Box<str>>,
}

impl Temporary {
    pub(super) fn note(&mut self, sql: &[u8]) {
        let text = String::from_utf8_lossy(&sql[..sql.len().min(BYTES_MAX)]);
        let mut words = names(&text);
        let is =
            |word: &str, known: &[&str]| known.iter().any(|known| word.eq_ignore_ascii_case(known));
        let tables = match words.next() {
            Some(word) if is(word, &["insert", "update", "delete", "replace", "merge"]) => {
                &mut self.changed
            }
            Some(word) if is(word, &["create"]) => {
                let mut kinds = words.by_ref().take_while(|word| !is(word, &["table"]));
                if !kinds.any(|word| is(word, &["temporary", "temp"])) {
                    return;
                }
                // The remaining words before the name.
                words = names(&text);
                words.find(|word| is(word, &["table"]));
                &mut self.made
            }
            _ => return,
        };
        let skipped = |word: &&str| is(word, &BETWEEN) || is(word, &["exists"]);
        let Some(mut table) = words.find(|word| !skipped(word)) else {
            return;
        };
        while is_qualifier(&text, table)
            && let Some(next) = words.next()
        {
            table = next;
        }
        if tables.len() < TABLES_MAX {
            tables.insert(table.to_ascii_lowercase().into());
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.made.extend(other.made);
        self.changed.extend(other.changed);
    }

    /// The temporary tables whose rows were changed, and whether no other table was changed.
    pub(super) fn changed(&self) -> (Vec<String>, bool) {
        let ours = self.changed.intersection(&self.made);
        let ours: Vec<String> = ours.map(|name| name.to_string()).collect();
        let is_all = !ours.is_empty() && ours.len() == self.changed.len();
        (ours, is_all)
    }
}

/// Whether a dot follows a word of the text, so that it names a schema.
fn is_qualifier(text: &str, word: &str) -> bool {
    let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
    text[end..].trim_start_matches(['`', '"']).starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_changed_are_known_as_temporary() {
        let mut own = Temporary::default();
        own.note(b"CREATE TABLE kept (id INT)");
        own.note(b"CREATE TEMPORARY TABLE IF NOT EXISTS `eyes`.`Gone` (id INT)");
        own.note(b"SELECT * FROM kept");
        assert_eq!(own.changed(), (Vec::new(), false));
        own.note(b"insert ignore into eyes.gone values (1)");
        own.note(b"UPDATE gone SET id = 2");
        assert_eq!(own.changed(), (vec!["gone".to_owned()], true));
        let mut other = Temporary::default();
        other.note(b"create local temp table passing (id int)");
        other.note(b"DELETE FROM ONLY \"passing\"");
        own.merge(other);
        let both = vec!["gone".to_owned(), "passing".to_owned()];
        assert_eq!(own.changed(), (both.clone(), true));
        own.note(b"REPLACE kept VALUES (1)");
        assert_eq!(own.changed(), (both, false));
        for text in ["", "CREATE", "CREATE TEMP", "UPDATE", "INSERT INTO a."] {
            own.note(text.as_bytes());
        }
    }
}
