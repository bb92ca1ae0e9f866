//! The location of a table's files if its definition puts them outside the database's directory.

use crate::catalogue::names;

/// Options of MySQL's and MariaDB's tables and partitions that name a directory.
const DIRECTORIES: [&str; 2] = ["DATA DIRECTORY", "INDEX DIRECTORY"];

/// The name of a directory's facts.
pub(super) fn directory(path: &str) -> String {
    names::DATA_DIRECTORY_EACH.of(path)
}

/// The name of a tablespace's facts.
pub fn tablespace(name: &str) -> String {
    names::DATA_TABLESPACE_EACH.of(name)
}

/// The directory in the name of a directory's facts.
pub fn directory_of(place: &str) -> Option<&str> {
    names::DATA_DIRECTORY_EACH.part(place)
}

/// The tablespace in the name of a tablespace's facts.
pub fn tablespace_of(place: &str) -> Option<&str> {
    names::DATA_TABLESPACE_EACH.part(place)
}

/// The fact names of each directory and tablespace in a definition, in order.
pub fn places(definition: &str) -> Vec<String> {
    let mut found = match definition.starts_with(super::elements::OF_CATALOGS) {
        true => of_catalogs(definition),
        false => of_show_create(definition),
    };
    found.sort();
    found.dedup();
    found
}

fn of_catalogs(definition: &str) -> Vec<String> {
    let name = |line: &str| {
        if let Some(name) = line.strip_prefix("tablespace: ") {
            return Some(tablespace(name));
        }
        let is_part = line.starts_with("index ") || line.starts_with("partition ");
        let (_, name) = line.rsplit_once(" TABLESPACE ").filter(|_| is_part)?;
        Some(tablespace(name))
    };
    definition.lines().filter_map(name).collect()
}

/// Only options count. They follow the columns, whose comments may contain any text.
fn of_show_create(definition: &str) -> Vec<String> {
    let Some(at) = definition.rfind("\n) ") else {
        return Vec::new();
    };
    let options = &definition[at..];
    let mut found = Vec::new();
    for option in DIRECTORIES {
        let values = options.split(option).skip(1);
        let paths = values.filter_map(|rest| quoted(rest.trim_start_matches([' ', '=']), '\''));
        found.extend(paths.map(directory));
    }
    let values = options.split("TABLESPACE ").skip(1);
    let names = values.filter_map(|rest| quoted(rest.trim_start_matches(['=', ' ']), '`'));
    found.extend(names.map(tablespace));
    found
}

fn quoted(text: &str, quote: char) -> Option<&str> {
    let (inner, _) = text.strip_prefix(quote)?.split_once(quote)?;
    Some(inner.trim_end_matches('/')).filter(|inner| !inner.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_name_directories_and_tablespaces() {
        let mariadb = "CREATE TABLE `t` (\n  `id` int COMMENT 'DATA DIRECTORY=''/no'''\n) \
                       ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 DATA DIRECTORY='/dev/shm/fast/'";
        assert_eq!(places(mariadb), ["data.directory[/dev/shm/fast]"]);
        let mysql =
            "CREATE TABLE `t` (\n  `id` int\n) /*!50100 TABLESPACE `quick` */ ENGINE=InnoDB";
        assert_eq!(places(mysql), ["data.tablespace[quick]"]);
        let mysql = "CREATE TABLE `t` (\n  `id` int\n) ENGINE=InnoDB\n/*!50100 PARTITION BY RANGE \
                     (`id`)\n(PARTITION p0 VALUES LESS THAN (9) DATA DIRECTORY = '/a' ENGINE = \
                     InnoDB,\n PARTITION p1 VALUES LESS THAN (99) DATA DIRECTORY = '/b' ENGINE = \
                     InnoDB) */";
        assert_eq!(places(mysql), ["data.directory[/a]", "data.directory[/b]"]);
        let postgres = "TABLE public.t\ncolumn id integer\nindex k CREATE INDEX k ON t (id) \
                        TABLESPACE quick\npersistence: permanent\ntablespace: fast";
        assert_eq!(
            places(postgres),
            ["data.tablespace[fast]", "data.tablespace[quick]"]
        );
        assert_eq!(tablespace_of("data.tablespace[fast]"), Some("fast"));
        assert_eq!(directory_of(&directory("/a b]")), Some("/a b]"));
        assert!(places("CREATE TABLE t (id INTEGER)").is_empty());
    }
}
