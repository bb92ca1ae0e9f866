//! Words of a shell's command line, with quotes, backslashes and substitutions.

use std::ops::Range;

/// Deeper substitutions are not followed: the word then extends to the end of the line.
const DEPTH_MAX: usize = 32;

/// How a backslash between single quotes is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backslash {
    /// As in a shell: it is an ordinary character.
    Literal,
    /// As in SQL, JSON and connection strings: it escapes the next character.
    Escapes,
}

/// The words of a line, without their quotes. Substitutions stay as they are.
pub fn words(line: &str) -> Vec<String> {
    let all = ranges(line).map(|word| &line[word]);
    // A backslash at the line's end is not a word.
    let words = all.filter(|word| !matches!(*word, "\\" | "\\\n"));
    words.map(unquoted).collect()
}

/// The ranges of the words in the first line.
fn ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let start = at + rest.len() - rest.trim_start_matches(is_blank).len();
        at = end(text, start, Backslash::Literal);
        (at > start).then_some(start..at)
    })
}

/// The end of the word that begins at this byte. If a quotation has no end, the word ends with the
/// line.
pub(super) fn end(text: &str, from: usize, backslash: Backslash) -> usize {
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            return at;
        }
        match part_end(text, at, backslash, 0) {
            Some(next) => at = next,
            None => return line_end(text, at),
        }
    }
    text.len()
}

/// The end of the part of a word that begins at this byte: a character, an escape, a quotation or a
/// substitution. `None` if it has no end.
pub(super) fn part_end(text: &str, at: usize, backslash: Backslash, depth: usize) -> Option<usize> {
    let mut chars = text[at..].chars();
    let first = chars.next()?;
    let second = chars.next();
    let after = at + first.len_utf8();
    if depth > DEPTH_MAX {
        return None;
    }
    match (first, second) {
        ('\\', second) => Some(after + second.map_or(0, char::len_utf8)),
        ('\'', _) => quotation_end(text, after, '\'', backslash == Backslash::Escapes),
        ('`', _) => quotation_end(text, after, '`', true),
        ('"', _) => double_end(text, after, backslash, depth),
        ('$', Some('\'')) => quotation_end(text, after + 1, '\'', true),
        ('$', Some('"')) => double_end(text, after + 1, backslash, depth),
        ('$' | '<' | '>', Some('(')) => group_end(text, after + 1, ')', backslash, depth),
        ('$', Some('{')) => group_end(text, after + 1, '}', backslash, depth),
        _ => Some(after),
    }
}

/// The end of the quotation whose content begins at this byte.
pub(super) fn quotation_end(text: &str, from: usize, quote: char, escapes: bool) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text[from..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if escapes => escaped = true,
            _ if c == quote => return Some(from + at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The end of a text in double quotes, which may contain substitutions.
fn double_end(text: &str, from: usize, backslash: Backslash, depth: usize) -> Option<usize> {
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        let nested = c == '$' && text[at + 1..].starts_with(['(', '{']);
        at = match c {
            '"' => return Some(at + 1),
            _ if nested || matches!(c, '\\' | '`') => part_end(text, at, backslash, depth + 1)?,
            c => at + c.len_utf8(),
        };
    }
    None
}

/// The end of a substitution, which may contain quotations, brackets and further substitutions.
fn group_end(
    text: &str,
    from: usize,
    close: char,
    backslash: Backslash,
    depth: usize,
) -> Option<usize> {
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        at = match c {
            c if c == close => return Some(at + c.len_utf8()),
            _ if depth > DEPTH_MAX => return None,
            '(' if close == ')' => group_end(text, at + 1, close, backslash, depth + 1)?,
            _ => part_end(text, at, backslash, depth + 1)?,
        };
    }
    None
}

pub(super) fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |at| from + at)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && c != '\n'
}

/// A word without its quotes and backslashes.
fn unquoted(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut at = 0;
    while at < word.len() {
        let end = part_end(word, at, Backslash::Literal, 0).unwrap_or(word.len());
        let part = &word[at..end];
        let inside = |open: usize, close: char| {
            let inside = &part[open.min(part.len())..];
            inside.strip_suffix(close).unwrap_or(inside)
        };
        match part.as_bytes() {
            [b'\\', ..] => out.push_str(part[1..].trim_start_matches('\n')),
            [b'\'', ..] => out.push_str(inside(1, '\'')),
            [b'"', ..] => unescape(inside(1, '"'), "$`\"\\", &mut out),
            [b'$', b'"', ..] => unescape(inside(2, '"'), "$`\"\\", &mut out),
            [b'$', b'\'', ..] => unescape(inside(2, '\''), "'\"\\", &mut out),
            _ => out.push_str(part),
        }
        at = end;
    }
    out
}

/// Appends a text without the backslashes before these characters.
fn unescape(text: &str, escaped: &str, out: &mut String) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && escaped.contains(*next) => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (line, expected) in [
            ("a  b\tc", &["a", "b", "c"][..]),
            ("'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
            ("a'b c'd\"e f\"", &["ab cde f"]),
            ("'' \"\"", &["", ""]),
            ("x=$(echo a b) y", &["x=$(echo a b)", "y"]),
            ("x=$(a $(b ')' c) d) y", &["x=$(a $(b ')' c) d)", "y"]),
            ("x=\"$(a \"b c\")\" y", &["x=$(a \"b c\")", "y"]),
            ("x=`a b` y", &["x=`a b`", "y"]),
            ("${A:-b c} d", &["${A:-b c}", "d"]),
            ("$'a\\' b' c", &["a' b", "c"]),
            ("'a'\\''b c'", &["a'b c"]),
            ("\"a\\\"b\\n\" c", &["a\"b\\n", "c"]),
            ("a 'b c", &["a", "b c"]),
            ("a \\", &["a"]),
            ("a '' \\\nb", &["a", "", "b"]),
            ("é\\ö 'ü'", &["éö", "ü"]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
    }

    #[test]
    fn deep_substitutions_end_with_the_text() {
        let deep = "$(".repeat(100_000);
        assert_eq!(end(&deep, 0, Backslash::Literal), deep.len());
        let deep = "\"$(".repeat(100_000);
        assert_eq!(words(&deep).len(), 1);
    }

    proptest! {
        #[test]
        fn any_line_has_words(line in "[ -~é\n]{0,60}", marks in "['\"`$(){}\\\\ a\n]{0,40}") {
            for line in [line, marks] {
                for backslash in [Backslash::Literal, Backslash::Escapes] {
                    prop_assert!(end(&line, 0, backslash) <= line.len());
                }
                let _ = words(&line);
            }
        }

        #[test]
        fn quoted_words_come_back(word in "[ -~]{1,20}") {
            let single = format!("'{}'", word.replace('\'', "'\\''"));
            let escaped: String = word.chars().flat_map(|c| ['\\', c]).collect();
            for line in [single, escaped] {
                prop_assert_eq!(words(&format!("a {line} b")), ["a", word.as_str(), "b"]);
            }
        }
    }
}
