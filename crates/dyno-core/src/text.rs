//! Words and digits of texts for people and for files.

use crate::units::human_count;

/// The ending of a counted noun: none for one, else `s`.
pub fn plural<T: PartialEq + From<u8>>(count: T) -> &'static str {
    if count == T::from(1) { "" } else { "s" }
}

/// A count with its noun: `1 event`, `1,234 events`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", human_count(count), plural(count))
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
    fn counts_have_their_noun() {
        assert_eq!(counted(1, "event"), "1 event");
        assert_eq!(counted(1_234, "event"), "1,234 events");
        assert_eq!([plural(0_usize), plural(1.0), plural(1.5)], ["s", "", "s"]);
    }
}
