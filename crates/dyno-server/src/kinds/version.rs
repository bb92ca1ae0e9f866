//! Versions of servers.

use std::fmt;

/// A version: its leading numbers; missing ones sort before 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u32>);

impl Version {
    /// The first version in a text: the first word that begins with a digit and contains a dot, or
    /// a number after `(PostgreSQL)`, as in development versions.
    pub fn find(text: &str) -> Option<Self> {
        let words = text.split_whitespace();
        let candidate = words
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .find(|word| word.contains('.') || text.contains("PostgreSQL"))?;
        let end = candidate.find(|c: char| !c.is_ascii_digit() && c != '.');
        let numbers = &candidate[..end.unwrap_or(candidate.len())];
        let parts: Vec<u32> = numbers
            .split('.')
            .map_while(|part| part.parse().ok())
            .collect();
        (!parts.is_empty()).then_some(Self(parts))
    }

    /// Whether it is this version or a later one.
    pub fn is_at_least(&self, other: &[u32]) -> bool {
        self.0.as_slice() >= other
    }

    /// Whether it begins with these numbers: `10` and `10.11` fit 10.11.14, `10.1` does not.
    pub fn begins_with(&self, text: &str) -> bool {
        let wanted: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        wanted.is_some_and(|wanted| self.0.starts_with(&wanted))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions_that_programs_print() {
        for (said, version) in [
            (
                "mysqld  Ver 5.5.9 for linux2.6 on x86_64 (MySQL Community Server (GPL))",
                "5.5.9",
            ),
            (
                "/usr/sbin/mysqld  Ver 9.7.4-3 for Linux on x86_64 ((Debian))",
                "9.7.4",
            ),
            (
                "mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64",
                "10.11.14",
            ),
            ("postgres (PostgreSQL) 15.20 (Debian 15.20-1)", "15.20"),
            ("postgres (PostgreSQL) 9.6.24", "9.6.24"),
            ("postgres (PostgreSQL) 19devel", "19"),
        ] {
            let found = Version::find(said).expect("a version");
            assert_eq!(found.to_string(), version, "{said}");
        }
        assert_eq!(Version::find("no number"), None);
    }

    #[test]
    fn versions_are_ordered_and_pinned() {
        let version = |text: &str| Version::find(text).expect("a version");
        assert!(version("10.2.11") < version("10.11.1"));
        assert!(version("10.11.14").begins_with("10.11"));
        assert!(version("10.11.14").begins_with("10"));
        assert!(!version("10.11.14").begins_with("10.1"));
        assert!(!version("10.11.14").begins_with("x"));
        assert!(version("8.0.36").is_at_least(&[5, 7]));
        assert!(!version("5.5.9").is_at_least(&[5, 6]));
    }
}
