//! Words and digits of texts for people and for files.

use std::fmt::Display;

use crate::units::human_count;

/// The ending of a counted noun: none for one, else `s`.
pub fn plural<T: PartialEq + From<u8>>(count: T) -> &'static str {
    if count == T::from(1) { "" } else { "s" }
}

/// The form of a verb for a count: the first for one, else the second.
pub fn verb<T: PartialEq + From<u8>>(
    count: T,
    one: &'static str,
    several: &'static str,
) -> &'static str {
    if count == T::from(1) { one } else { several }
}

/// A count with its noun, its digits not grouped: `1 event`, `1234 events`.
pub fn number_of<T>(count: T, noun: &str) -> String
where
    T: Copy + Display + PartialEq + From<u8>,
{
    format!("{count} {noun}{}", plural(count))
}

/// A count with its noun: `1 event`, `1,234 events`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", human_count(count), plural(count))
}

/// A decimal number without zeros at its end: `1.50` is `1.5`, `2.0` is `2`, `10` stays.
pub fn trim_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A number with a decimal if it matters: `1.5`, `2`.
pub fn tenths(number: f64) -> String {
    trim_zeros(&format!("{number:.1}")).to_owned()
}

/// A text with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}

/// At most this many characters of a text, the last one an ellipsis if it was cut.
pub fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

/// A version without its packager's suffix and options of the server: `10.11.6` of
/// `10.11.6-MariaDB-0+deb12u1-log`.
pub fn short_version(version: &str) -> &str {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    end.filter(|end| *end > 0)
        .map_or(version, |end| &version[..end])
}

/// The name of a server: its product and the number of its version, as far as known.
pub fn server_name(product: &str, version: &str) -> String {
    let name = format!("{product} {}", short_version(version));
    name.trim().to_owned()
}

/// A string of standard SQL: `'it''s'`.
pub fn sql_string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A word for a shell, quoted if needed.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,+%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_that_a_shell_would_split() {
        assert_eq!(shell_word("my/dyno.db"), "my/dyno.db");
        assert_eq!(shell_word("my file.db"), "'my file.db'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn texts_are_cut_and_capitalised() {
        assert_eq!(
            shortened("MariaDB 10.11.19-MariaDB", 17),
            "MariaDB 10.11.19…"
        );
        assert_eq!(shortened("PostgreSQL 15.14", 16), "PostgreSQL 15.14");
        assert_eq!(
            (capital("änder it"), capital("")),
            ("Änder it".to_owned(), String::new())
        );
    }

    #[test]
    fn servers_have_short_names() {
        for (product, version, name) in [
            ("MariaDB", "10.11.19", "MariaDB 10.11.19"),
            (
                "MariaDB",
                "10.11.19-MariaDB-0+deb12u1-log",
                "MariaDB 10.11.19",
            ),
            (
                "PostgreSQL",
                "15.18 (Debian 15.18-0+deb12u1)",
                "PostgreSQL 15.18",
            ),
            ("PostgreSQL", "18beta1", "PostgreSQL 18"),
            ("Other", "unknown", "Other unknown"),
            ("MySQL", "", "MySQL"),
            ("", "", ""),
        ] {
            assert_eq!(server_name(product, version), name);
        }
    }

    #[test]
    fn counts_have_their_noun() {
        assert_eq!(counted(1, "event"), "1 event");
        assert_eq!(counted(1_234, "event"), "1,234 events");
        assert_eq!(number_of(1_234, "event"), "1234 events");
        assert_eq!([tenths(1.52), tenths(9.97)], ["1.5", "10"]);
        assert_eq!(trim_zeros("100"), "100");
        assert_eq!([plural(0_usize), plural(1.0), plural(1.5)], ["s", "", "s"]);
        assert_eq!(
            [verb(1_u64, "is", "are"), verb(2, "is", "are")],
            ["is", "are"]
        );
    }
}
