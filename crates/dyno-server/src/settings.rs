//! Settings of a server: the requested ones, the reported ones, and their comparison.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::{Result, usage};

/// Settings by name. Names are in lower case with `_` for `-`, as servers accept them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Reads `name=value`.
    ///
    /// # Errors
    /// The name or the value is missing.
    pub fn put(&mut self, text: &str) -> Result<()> {
        let Some((name, value)) = text.split_once('=') else {
            return usage(format!(
                "'{text}' is not a setting; write NAME=VALUE, for example sync_binlog=1"
            ));
        };
        let name = normal(name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(plain) {
            return usage(format!(
                "'{name}' is not a setting's name; use letters, digits, '_' and '.'"
            ));
        }
        self.0.insert(name, value.trim().to_owned());
        Ok(())
    }

    /// Sets a setting with its name in the server's spelling.
    pub(crate) fn insert(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a setting; returns whether it existed.
    pub fn unset(&mut self, name: &str) -> bool {
        self.0.remove(&normal(name)).is_some()
    }

    /// A setting's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether a setting is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (normal(&name), value))
                .collect(),
        )
    }
}

fn normal(name: &str) -> String {
    name.trim()
        .trim_start_matches("--")
        .to_ascii_lowercase()
        .replace('-', "_")
}

/// A setting as reported by a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// The value, in units.
    pub value: String,
    /// The unit of the value, in PostgreSQL's spelling: `8kB`, `ms`; empty for none.
    pub unit: String,
    /// The server has read another value and needs a restart to apply it.
    pub waits_for_restart: bool,
}

/// A setting that differs from the requested value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The setting.
    pub name: String,
    /// The requested value.
    pub asked: String,
    /// The server's value, with its unit.
    pub has: String,
}

/// The result of reading settings back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// Settings that the server changed or ignored.
    pub mismatches: Vec<Mismatch>,
    /// Settings without a reported value.
    pub unseen: Vec<String>,
}

/// Compares requested with reported settings.
pub fn read_back(asked: &Settings, reported: &BTreeMap<String, Reported>) -> ReadBack {
    let mut result = ReadBack::default();
    for (name, value) in asked.iter() {
        let shown = name.strip_prefix("loose_").unwrap_or(name);
        match reported.get(shown) {
            None => result.unseen.push(name.to_owned()),
            Some(has) if has.waits_for_restart || !is_same(shown, value, has) => {
                result.mismatches.push(Mismatch {
                    name: name.to_owned(),
                    asked: value.to_owned(),
                    has: format!("{}{}", has.value, unit_suffix(&has.unit)),
                });
            }
            Some(_) => {}
        }
    }
    result
}

fn unit_suffix(unit: &str) -> String {
    match unit {
        "" => String::new(),
        // A number of blocks: `16384 x 8kB`.
        unit if unit.starts_with(|c: char| c.is_ascii_digit()) => format!(" x {unit}"),
        unit => format!(" {unit}"),
    }
}

fn is_same(name: &str, asked: &str, has: &Reported) -> bool {
    let value = has.value.trim();
    if asked.eq_ignore_ascii_case(value) && has.unit.is_empty() {
        return true;
    }
    if name == "log_bin" {
        // It has a file's name or is on; the server reports only that it is on.
        return boolean(value) == Some(boolean(asked).unwrap_or(true));
    }
    if let (Some(asked), Some(has)) = (boolean(asked), boolean(value)) {
        return asked == has;
    }
    if name == "sql_mode" {
        return is_same_mode(asked, value);
    }
    if let (Some(asked), Some(value)) = (quantity(asked, &has.unit), quantity(value, &has.unit)) {
        return (asked - value).abs() <= 1e-9 * value.abs();
    }
    let path = |text: &str| text.trim_end_matches('/').to_owned();
    if value.starts_with('/') && path(asked) == path(value) {
        return true;
    }
    // utf8 is an old name of utf8mb3.
    let charset = |text: &str| match text.to_ascii_lowercase() {
        text if text == "utf8" => "utf8mb3".to_owned(),
        text => text.replace("utf8_", "utf8mb3_"),
    };
    charset(asked) == charset(value) || is_same_list(asked, value)
}

/// Lists in any order; of switches (`a=on,b=off`) only the requested ones.
fn is_same_list(asked: &str, has: &str) -> bool {
    let parts = |text: &str| {
        let mut parts: Vec<String> = text
            .split(',')
            .map(|part| part.trim().to_ascii_lowercase())
            .collect();
        parts.sort();
        parts.dedup();
        parts
    };
    let (asked, has) = (parts(asked), parts(has));
    let switches = |parts: &[String]| parts.iter().all(|part| part.contains('='));
    match switches(&asked) && switches(&has) {
        true => asked.iter().all(|part| has.contains(part)),
        false => asked == has && asked.len() > 1,
    }
}

/// SQL modes that combine several others, which MySQL or MariaDB also lists.
const SEVERAL_MODES: [(&str, &[&str]); 3] = [
    (
        "ansi",
        &[
            "real_as_float",
            "pipes_as_concat",
            "ansi_quotes",
            "ignore_space",
            "only_full_group_by",
        ],
    ),
    (
        "traditional",
        &[
            "strict_trans_tables",
            "strict_all_tables",
            "no_zero_in_date",
            "no_zero_date",
            "error_for_division_by_zero",
            "no_auto_create_user",
            "no_engine_substitution",
        ],
    ),
    (
        "oracle",
        &[
            "pipes_as_concat",
            "ansi_quotes",
            "ignore_space",
            "no_key_options",
            "no_table_options",
            "no_field_options",
            "no_auto_create_user",
            "simultaneous_assignment",
        ],
    ),
];

/// Modes in any order, with the ones they combine.
fn is_same_mode(asked: &str, has: &str) -> bool {
    let parts = |text: &str| -> BTreeSet<String> {
        let parts = text.split(',').map(|part| part.trim().to_ascii_lowercase());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let (asked, has) = (parts(asked), parts(has));
    let several = SEVERAL_MODES
        .iter()
        .filter(|(mode, _)| asked.contains(*mode));
    let implied: BTreeSet<&str> = several.flat_map(|(_, all)| all.iter().copied()).collect();
    let stands = |mode: &String| asked.contains(mode) || implied.contains(mode.as_str());
    asked.is_subset(&has) && has.iter().all(stands)
}

/// As MySQL reads a switch, and PostgreSQL, which also accepts the beginning of a word.
fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" | "tr" | "tru" | "y" | "ye" => Some(true),
        "off" | "false" | "no" | "0" | "f" | "fa" | "fal" | "fals" | "n" | "of" => Some(false),
        _ => None,
    }
}

/// Units of size, in bytes, and of time, in milliseconds. A bare letter is MySQL's.
const UNITS: [(&str, f64); 19] = [
    ("b", 1.0),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
    ("t", 1_099_511_627_776.0),
    ("tb", 1_099_511_627_776.0),
    ("p", 1_125_899_906_842_624.0),
    ("e", 1_152_921_504_606_846_976.0),
    ("us", 0.001),
    ("ms", 1.0),
    ("s", 1_000.0),
    ("min", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
    ("8kb", 8_192.0),
    ("16mb", 16_777_216.0),
];

/// A number with its own unit, else in the setting's unit.
fn quantity(text: &str, unit: &str) -> Option<f64> {
    let text = text.trim();
    let end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, own) = text.split_at(end);
    let number: f64 = number.trim().parse().ok()?;
    let own = match own.trim() {
        "" => unit,
        own => own,
    };
    if own.is_empty() {
        return Some(number);
    }
    let scale = UNITS
        .iter()
        .find(|(name, _)| own.eq_ignore_ascii_case(name));
    match scale {
        Some((_, scale)) => Some(number * scale),
        // Blocks of another size.
        None => {
            let digits = own
                .find(|c: char| !c.is_ascii_digit())
                .filter(|end| *end > 0)?;
            let (count, unit) = own.split_at(digits);
            Some(number * count.parse::<f64>().ok()? * quantity(&format!("1{unit}"), "")?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(name: &str, asked: &str, value: &str, unit: &str) -> bool {
        let has = Reported {
            value: value.to_owned(),
            unit: unit.to_owned(),
            waits_for_restart: false,
        };
        is_same(name, asked, &has)
    }

    #[test]
    fn values_are_compared_by_meaning() {
        for (name, asked, value, unit) in [
            ("innodb_buffer_pool_size", "128M", "134217728", ""),
            ("innodb_buffer_pool_size", "134217728", "134217728", ""),
            ("sync_binlog", "1", "1", ""),
            ("innodb_doublewrite", "false", "OFF", ""),
            ("innodb_doublewrite", "0", "OFF", ""),
            ("innodb_flush_log_at_trx_commit", "2", "2", ""),
            ("log_bin", "true", "ON", ""),
            ("log_bin", "off", "OFF", ""),
            ("log_bin", "name", "ON", ""),
            ("long_query_time", "0.5", "0.500000", ""),
            ("binlog_format", "row", "ROW", ""),
            (
                "optimizer_switch",
                "index_merge=off",
                "index_merge=off,mrr=on",
                "",
            ),
            ("character_set_server", "utf8", "utf8mb3", ""),
            ("shared_buffers", "128MB", "16384", "8kB"),
            ("shared_buffers", "16384", "16384", "8kB"),
            ("max_wal_size", "1GB", "1024", "MB"),
            ("checkpoint_timeout", "5min", "300", "s"),
            ("random_page_cost", "1.1", "1.1", ""),
            ("work_mem", "4096", "4096", "kB"),
            ("segment_size", "1GB", "131072", "8kB"),
        ] {
            assert!(
                same(name, asked, value, unit),
                "{name}: {asked} is {value} {unit}"
            );
        }
        for (name, asked, value, unit) in [
            ("innodb_buffer_pool_size", "100M", "134217728", ""),
            ("sync_binlog", "1", "1000", ""),
            ("log_bin", "true", "OFF", ""),
            ("log_bin", "off", "ON", ""),
            (
                "optimizer_switch",
                "index_merge=off",
                "index_merge=on,mrr=on",
                "",
            ),
            ("shared_buffers", "128", "16384", "8kB"),
            ("binlog_format", "ROW", "MIXED", ""),
            ("innodb_flush_log_at_trx_commit", "2", "1", ""),
        ] {
            assert!(
                !same(name, asked, value, unit),
                "{name}: {asked} is not {value} {unit}"
            );
        }
    }

    #[test]
    fn modes_and_switches_are_read_as_servers_read_them() {
        let ansi = "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI";
        let modes = "STRICT_ALL_TABLES,NO_ZERO_DATE";
        assert!(same(
            "sql_mode",
            "NO_ZERO_DATE,STRICT_ALL_TABLES",
            modes,
            ""
        ));
        assert!(same("sql_mode", "ansi", ansi, ""));
        assert!(same("sql_mode", "", "", ""));
        assert!(!same("sql_mode", "ANSI", "ANSI,TRADITIONAL", ""));
        assert!(!same("sql_mode", "ANSI", "ANSI_QUOTES", ""));
        assert!(!same("sql_mode", "", "STRICT_ALL_TABLES", ""));
        assert!(same("fsync", "t", "on", ""));
        assert!(same("fsync", "of", "off", ""));
        assert!(!same("fsync", "f", "on", ""));
    }

    #[test]
    fn reports_settings_that_the_server_changed_or_does_not_show() {
        let mut asked = Settings::default();
        for text in [
            "innodb-buffer-pool-size = 100M",
            "plugin_load=x",
            "shared_buffers=1GB",
        ] {
            asked.put(text).expect("a setting");
        }
        let has = |value: &str, waits_for_restart| Reported {
            value: value.to_owned(),
            unit: String::new(),
            waits_for_restart,
        };
        let reported = BTreeMap::from([
            (
                "innodb_buffer_pool_size".to_owned(),
                has("134217728", false),
            ),
            ("shared_buffers".to_owned(), has("1GB", true)),
        ]);
        let back = read_back(&asked, &reported);
        let names: Vec<&str> = back.mismatches.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["innodb_buffer_pool_size", "shared_buffers"]);
        assert_eq!(back.unseen, ["plugin_load"]);
        assert!(asked.put("novalue").is_err() && asked.put("a b=1").is_err());
        assert!(asked.unset("PLUGIN-load") && !asked.unset("plugin_load"));
    }
}
