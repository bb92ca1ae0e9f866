//! Quotes words for a shell.

/// A word, quoted if needed.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,+%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_that_a_shell_would_split() {
        assert_eq!(word("my/dyno.db"), "my/dyno.db");
        assert_eq!(word("my file.db"), "'my file.db'");
        assert_eq!(word("it's"), "'it'\\''s'");
        assert_eq!(word(""), "''");
    }
}
