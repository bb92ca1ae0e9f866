//! Splits a definition into parts, to describe the difference between two.

/// The start of the definitions of PostgreSQL's tables, which Dyno builds from the catalogs.
pub(super) const OF_CATALOGS: &str = "TABLE ";
/// Line types of such a definition that have a name as the second word.
const NAMED: [&str; 7] = [
    "column",
    "constraint",
    "index",
    "trigger",
    "partition",
    "statistics",
    "policy",
];
/// The start of a trigger's line, which Dyno adds to MySQL's definition.
const TRIGGER: &str = "trigger `";
/// Other entries of such a definition, each followed by a colon.
const ENTRIES: [&str; 7] = [
    "kind",
    "persistence",
    "access method",
    "tablespace",
    "storage parameters",
    "partition by",
    "row security",
];
/// Options that follow from the storage engine.
const OF_ENGINE: [&str; 2] = ["PAGE_CHECKSUM", "TRANSACTIONAL"];

/// The parts of a definition: `column id`, `index k_1`, `ENGINE`, each with its text.
pub fn elements(definition: &str) -> Vec<(String, String)> {
    let mut found = if definition.starts_with(OF_CATALOGS) {
        of_catalogs(definition)
    } else if definition.contains("\n) ENGINE=") {
        of_show_create(definition)
    } else {
        of_sqlite(definition)
    };
    let columns: Vec<&str> = found
        .iter()
        .filter_map(|(what, _)| what.strip_prefix("column "))
        .collect();
    if !columns.is_empty() {
        let columns = columns.join(", ");
        found.push(("order of columns".to_owned(), columns));
    }
    found
}

/// Whether an option is implied by the storage engine.
pub fn follows_from_engine(what: &str) -> bool {
    OF_ENGINE.contains(&what)
}

fn of_catalogs(definition: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in definition.lines().skip(1) {
        let entry = line
            .split_once(": ")
            .filter(|entry| ENTRIES.contains(&entry.0));
        if let Some((what, spec)) = entry {
            found.push((what.to_owned(), spec.to_owned()));
            continue;
        }
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        if NAMED.contains(&kind) {
            let (name, spec) = first_word(rest);
            found.push((format!("{kind} {name}"), spec.to_owned()));
        }
    }
    found
}

/// A name, perhaps in double quotes, and the rest.
fn first_word(text: &str) -> (&str, &str) {
    let end = match text.strip_prefix('"').and_then(|rest| rest.find('"')) {
        Some(quote) => quote + 2,
        None => text.find(' ').unwrap_or(text.len()),
    };
    let (name, rest) = text.split_at(end);
    (name, rest.trim_start())
}

/// MySQL and MariaDB: one line per column and index, then options and partitions.
fn of_show_create(definition: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = definition.lines().skip(1);
    let mut end = "";
    for line in lines.by_ref() {
        if let Some(rest) = line.strip_prefix(')') {
            end = rest;
            break;
        }
        found.push(part(line.trim().trim_end_matches(',')));
    }
    options(end, &mut found);
    let (triggers, lines): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with(TRIGGER));
    for trigger in triggers {
        let named = trigger[TRIGGER.len()..].split_once("` ");
        found.extend(named.map(|(name, spec)| (format!("trigger {name}"), spec.to_owned())));
    }
    let partitions: Vec<&str> = lines.into_iter().map(str::trim).collect();
    if !partitions.is_empty() {
        let marks = |text: &str| text.starts_with("/*!") || text == "*/";
        let text = partitions.join(" ");
        let words = text.split(' ').filter(|word| !marks(word));
        found.push(("partitions".to_owned(), words.collect::<Vec<_>>().join(" ")));
    }
    found
}

fn part(line: &str) -> (String, String) {
    let after = |name: &str, rest: &str| -> Option<(String, String)> {
        let (quoted, spec) = rest.strip_prefix('`')?.split_once('`')?;
        Some((format!("{name} {quoted}"), spec.trim().to_owned()))
    };
    if line.starts_with("PRIMARY KEY") {
        return ("index PRIMARY".to_owned(), line.to_owned());
    }
    if let Some(column) = after("column", line) {
        return (column.0, plain_column(&column.1));
    }
    if let Some(rest) = line.strip_prefix("CONSTRAINT ")
        && let Some(constraint) = after("constraint", rest)
    {
        return constraint;
    }
    // `UNIQUE KEY`, `FULLTEXT KEY` and the like.
    match line.split_once("KEY ") {
        Some((kind, rest)) => match after("index", rest) {
            Some((name, spec)) => (name, format!("{kind}KEY {spec}")),
            None => ("index".to_owned(), line.to_owned()),
        },
        None => ("clause".to_owned(), line.to_owned()),
    }
}

/// A column in a form common to both products: MariaDB adds meaningless widths, and MySQL quotes
/// numbers.
fn plain_column(spec: &str) -> String {
    let mut words: Vec<String> = spec.split(' ').map(str::to_owned).collect();
    if let Some(first) = words.first_mut() {
        let (name, width) = first.split_once('(').unwrap_or((first.as_str(), ""));
        if name.ends_with("int") && width.ends_with(')') && !spec.contains("zerofill") {
            *first = name.to_owned();
        }
    }
    for at in 1..words.len() {
        if words[at - 1] != "DEFAULT" {
            continue;
        }
        let inner = words[at]
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''));
        if let Some(number) = inner.filter(|inner| inner.parse::<i64>().is_ok()) {
            words[at] = number.to_owned();
        }
    }
    words.join(" ")
}

/// `ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='a b'`.
fn options(text: &str, found: &mut Vec<(String, String)>) {
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim();
        let name = name.strip_prefix("DEFAULT ").unwrap_or(name);
        let length = match after.strip_prefix('\'') {
            Some(inner) => closing_quote(inner) + 2,
            None => after.find(' ').unwrap_or(after.len()),
        };
        let (value, next) = after.split_at(length.min(after.len()));
        // InnoDB's default, which remains in the text if it was ever written explicitly.
        if (name, value) != ("ROW_FORMAT", "DYNAMIC") {
            found.push((name.to_owned(), value.to_owned()));
        }
        rest = next.trim_start();
    }
    if !rest.is_empty() {
        found.push(("clause".to_owned(), rest.to_owned()));
    }
}

/// The end of a text in single quotes; two quotes are an escaped one.
fn closing_quote(inner: &str) -> usize {
    let mut before = false;
    for (at, c) in inner.char_indices() {
        if before && c != '\'' {
            return at - 1;
        }
        before = c == '\'' && !before;
    }
    inner.len().saturating_sub(1)
}

/// SQLite keeps statements as typed: the table's, and one for each index and trigger.
fn of_sqlite(definition: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for statement in definition.split(";\n") {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let spec = words.join(" ");
        let upper = spec.to_ascii_uppercase();
        let name_after = |kind: &str| -> Option<String> {
            let at = upper.find(&format!("{kind} "))? + kind.len() + 1;
            let rest = spec.get(at..)?;
            let rest = match rest.get(.."IF NOT EXISTS ".len()) {
                Some(clause) if clause.eq_ignore_ascii_case("IF NOT EXISTS ") => {
                    &rest[clause.len()..]
                }
                _ => rest,
            };
            let (name, _) = first_word(rest);
            Some(name.trim_matches(['"', '`', '[', ']']).to_owned())
        };
        let kind = ["INDEX", "TRIGGER"]
            .into_iter()
            .find(|kind| upper.starts_with("CREATE") && head(&upper).contains(kind));
        let what = kind.and_then(|kind| {
            Some(format!(
                "{} {}",
                kind.to_ascii_lowercase(),
                name_after(kind)?
            ))
        });
        if !spec.is_empty() {
            found.push((what.unwrap_or_else(|| "definition".to_owned()), spec));
        }
    }
    found
}

/// The words before a statement's names.
fn head(statement: &str) -> Vec<&str> {
    statement.split(' ').take(3).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of<'a>(found: &'a [(String, String)], what: &str) -> &'a str {
        let entry = found.iter().find(|(name, _)| name == what);
        entry.map_or("(not there)", |(_, spec)| spec)
    }

    #[test]
    fn a_definition_of_mariadb_and_mysql_is_taken_apart() {
        let mariadb = "CREATE TABLE `sbtest1` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `k` \
                       int(11) NOT NULL DEFAULT 0,\n  `c` char(120) NOT NULL DEFAULT '',\n  \
                       PRIMARY KEY (`id`),\n  UNIQUE KEY `k_1` (`k`),\n  CONSTRAINT `f` FOREIGN \
                       KEY (`k`) REFERENCES `t` (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 \
                       COLLATE=latin1_swedish_ci COMMENT='it''s = one' ROW_FORMAT=DYNAMIC\n \
                       PARTITION BY HASH (`id`)\nPARTITIONS 4";
        let partitions = "PARTITION BY HASH (`id`) PARTITIONS 4";
        let found = elements(mariadb);
        for (what, spec) in [
            ("column id", "int NOT NULL AUTO_INCREMENT"),
            ("column c", "char(120) NOT NULL DEFAULT ''"),
            ("index PRIMARY", "PRIMARY KEY (`id`)"),
            ("index k_1", "UNIQUE KEY (`k`)"),
            ("constraint f", "FOREIGN KEY (`k`) REFERENCES `t` (`id`)"),
            ("ENGINE", "InnoDB"),
            ("CHARSET", "latin1"),
            ("COMMENT", "'it''s = one'"),
            ("ROW_FORMAT", "(not there)"),
            ("partitions", partitions),
            ("order of columns", "id, k, c"),
        ] {
            assert_eq!(of(&found, what), spec, "{what}");
        }
        let marked = mariadb.replace("=DYNAMIC", "=COMPRESSED")
            + "\ntrigger `log it` AFTER UPDATE: INSERT INTO log VALUES (NEW.id)";
        let found = elements(&marked);
        assert_eq!(of(&found, "ROW_FORMAT"), "COMPRESSED");
        let trigger = "AFTER UPDATE: INSERT INTO log VALUES (NEW.id)";
        assert_eq!(of(&found, "trigger log it"), trigger);
        assert_eq!(of(&found, "partitions"), partitions);
        let mysql = "CREATE TABLE `t` (\n  `k` int NOT NULL DEFAULT '0'\n) ENGINE=InnoDB DEFAULT \
                     CHARSET=utf8mb4\n/*!50100 PARTITION BY HASH (`id`)\nPARTITIONS 4 */";
        let found = elements(mysql);
        assert_eq!(of(&found, "column k"), "int NOT NULL DEFAULT 0");
        assert_eq!(of(&found, "partitions"), partitions);
    }

    #[test]
    fn a_definition_of_postgresql_and_sqlite_is_taken_apart() {
        let found = elements(
            "TABLE public.sbtest1\ncolumn \"a b\" integer NOT NULL\nindex k_1 CREATE INDEX k_1 ON \
             sbtest1 USING btree (k)\npersistence: unlogged\npartition by: RANGE (id)\naccess \
             method: heap",
        );
        assert_eq!(of(&found, "column \"a b\""), "integer NOT NULL");
        assert_eq!(of(&found, "persistence"), "unlogged");
        assert_eq!(of(&found, "access method"), "heap");
        assert_eq!(of(&found, "partition by"), "RANGE (id)");
        assert!(of(&found, "index k_1").starts_with("CREATE INDEX"));
        let found = elements(
            "CREATE TABLE t (\n  id INTEGER\n) WITHOUT ROWID;\nCREATE UNIQUE INDEX if not exists \
             \"k_1\" ON t (id)",
        );
        assert_eq!(
            of(&found, "definition"),
            "CREATE TABLE t ( id INTEGER ) WITHOUT ROWID"
        );
        assert!(of(&found, "index k_1").starts_with("CREATE UNIQUE INDEX"));
    }

    proptest! {
        #[test]
        fn arbitrary_server_text_never_panics(
            text in "(CREATE TABLE|TABLE |index |`|'|\\(|\\)|\n|=|é|[ -~]){0,60}"
        ) {
            let _ = elements(&text);
        }
    }
}
