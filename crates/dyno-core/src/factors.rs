//! Factors: properties that the user varies between runs, each with a level, such as `memory=5G`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::units::parse_size;

/// Factor names with their levels.
pub type Factors = BTreeMap<String, String>;

/// Factors that every run has implicitly.
pub const EVERYBODYS: [&str; 3] = ["workload", "server", "sessions"];

/// Parses a name and its level, such as `memory=5G`.
///
/// # Errors
/// An error message, as the rest of a sentence.
pub fn parse_factor(text: &str) -> Result<(String, String), String> {
    let (name, level) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' has no level; write for example memory=5G"))?;
    let (name, level) = (name.trim(), level.trim());
    for (part, what) in [(name, "name"), (level, "level")] {
        if part.is_empty() {
            return Err(format!(
                "'{text}' has an empty {what}; write for example memory=5G"
            ));
        }
        if part.contains(',') || part.chars().any(char::is_control) {
            return Err(format!(
                "the {what} in '{text}' has a comma or a control character, which is not allowed"
            ));
        }
    }
    Ok((name.to_owned(), level.to_owned()))
}

/// Factors by name, from texts like `memory=5G`.
///
/// # Errors
/// See [`parse_factor`]; also a name with two levels.
pub fn parse_factors<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Factors, String> {
    let mut factors = Factors::new();
    for text in texts {
        let (name, level) = parse_factor(text)?;
        if let Some(other) = factors.get(&name).filter(|other| **other != level) {
            return Err(format!("{name} has two levels, {other} and {level}"));
        }
        factors.insert(name, level);
    }
    Ok(factors)
}

/// Natural order of levels: by size if both are numbers (a unit is allowed), else by text.
pub fn order(one: &str, other: &str) -> Ordering {
    let by_size = match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        // Numbers come before words.
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    by_size.then_with(|| one.cmp(other))
}

/// The numeric value of a level, which may have a unit of size: 16, 0.5, 512M.
pub fn number(level: &str) -> Option<f64> {
    let number = level.parse().ok().filter(|number: &f64| number.is_finite());
    number.or_else(|| parse_size(level).ok().map(|bytes| bytes as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_level() {
        let of = |texts: &[&str]| parse_factors(texts.iter().copied());
        let factors = of(&["memory=5G", " fs = xfs ", "memory=5G", "sql=a=b"]).unwrap();
        let texts: Vec<String> = factors.iter().map(|(n, l)| format!("{n}:{l}")).collect();
        assert_eq!(texts, ["fs:xfs", "memory:5G", "sql:a=b"]);
        for (texts, why) in [
            (&["memory"][..], "'memory' has no level"),
            (&["=5G"], "has an empty name"),
            (&["memory="], "has an empty level"),
            (&["memory=5G,6G"], "has a comma"),
            (&["m=5", "m=6"], "m has two levels, 5 and 6"),
        ] {
            let error = of(texts).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn levels_are_sorted_by_size() {
        let mut levels = ["10", "off", "2", "1G", "512M", "ext4", "-1"];
        levels.sort_by(|one, other| order(one, other));
        assert_eq!(levels, ["-1", "2", "10", "512M", "1G", "ext4", "off"]);
    }
}
