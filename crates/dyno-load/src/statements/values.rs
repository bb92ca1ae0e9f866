//! Values in statements that set something.

use std::borrow::Cow;

/// Words after a value that make it part of an expression.
const OPERATORS: [&str; 13] = [
    "and", "between", "collate", "div", "in", "is", "like", "mod", "not", "or", "regexp", "rlike",
    "xor",
];
/// What may follow a value: the end of a list, of a statement or of a body, or a comment.
const ENDS: [&str; 8] = [",", ";", ")", "$", "--", "/*", "*/", "#"];

/// The value at the start of a text, without quotes and plus sign. `None` if it is not a single
/// literal, but a parameter, a variable or an expression.
pub(super) fn value(text: &str) -> Option<&str> {
    let (value, rest) = literal(text)?;
    ends(rest).then_some(value)
}

/// The text that an argument of a function consists of; `None` if it is not a single literal.
pub(super) fn argument(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_prefixed = text.starts_with(['e', 'E', 'n', 'N', 'u', 'U']) && text.contains('\'');
    let (value, rest) = literal(text)?;
    let is_whole = rest.is_empty() || rest.trim_start().starts_with("::");
    (is_whole && (is_prefixed || text.starts_with(['\'', '$']))).then_some(value)
}

/// The arguments of a call, in the text after its opening parenthesis.
pub(super) fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut at) = (0_usize, 0, 0);
    let mut all = Vec::new();
    while let Some(first) = text[at..].chars().next() {
        match first {
            '\'' | '"' => {
                let end = text[at + 1..].find(first);
                at = end.map_or(text.len(), |end| at + end + 2);
                continue;
            }
            '(' | '[' => depth += 1,
            ')' | ',' if depth == 0 => {
                all.push(&text[from..at]);
                from = at + 1;
                if first == ')' {
                    break;
                }
            }
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += first.len_utf8();
    }
    all
}

/// The level that SQLite takes from the value of PRAGMA synchronous: it uses only the lowest bits
/// of a number, and an unknown word means NORMAL.
pub(super) fn level(value: &str) -> Cow<'_, str> {
    const WORDS: [&str; 8] = ["off", "no", "false", "on", "yes", "true", "full", "extra"];
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        let number = leading_number(value).filter(|number| i32::try_from(*number).is_ok());
        return Cow::Borrowed(match ((number.unwrap_or(0) & 0xff) + 1) & 7 {
            0 | 1 => "0",
            2 => "1",
            4 => "3",
            _ => "2",
        });
    }
    match WORDS.iter().any(|word| value.eq_ignore_ascii_case(word)) {
        true => Cow::Borrowed(value),
        false => Cow::Borrowed("normal"),
    }
}

/// The value; a number becomes decimal, without leading zeros.
pub(super) fn plain(value: &str) -> Cow<'_, str> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_whole && hexadecimal(digits).is_none() {
        return Cow::Borrowed(value);
    }
    match leading_number(digits) {
        Some(number) if number > 0 && digits.len() < value.len() => {
            Cow::Owned(format!("-{number}"))
        }
        Some(number) => Cow::Owned(number.to_string()),
        None => Cow::Borrowed(value),
    }
}

fn hexadecimal(digits: &str) -> Option<&str> {
    let inner = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))?;
    inner
        .starts_with(|c: char| c.is_ascii_hexdigit())
        .then_some(inner)
}

/// The number that a text begins with, in decimal or hexadecimal digits.
fn leading_number(text: &str) -> Option<u64> {
    let (digits, radix) = hexadecimal(text).map_or((text, 10), |digits| (digits, 16));
    let end = digits.find(|c: char| !c.is_digit(radix));
    u64::from_str_radix(&digits[..end.unwrap_or(digits.len())], radix).ok()
}

/// The literal at the start of a text, and the rest.
fn literal(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    match text.chars().next()? {
        quote @ ('\'' | '"' | '`') => quoted(text, quote),
        '[' => quoted(text, ']'),
        '$' => between_dollars(text),
        '+' => number(text[1..].trim_start()),
        '-' => {
            let (digits, rest) = number(&text[1..])?;
            Some((&text[..=digits.len()], rest))
        }
        first if first.is_alphabetic() || first == '_' => word_or_text(text),
        _ => number(text),
    }
}

/// A text in quotes. Servers interpret escapes differently.
fn quoted(text: &str, end: char) -> Option<(&str, &str)> {
    let (value, rest) = text[1..].split_once(end)?;
    (!value.contains('\\') && !rest.starts_with(end)).then_some((value, rest))
}

/// PostgreSQL's `$$text$$` or `$tag$text$tag$`, but not its parameters.
fn between_dollars(text: &str) -> Option<(&str, &str)> {
    let (tag, _) = text[1..].split_once('$')?;
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !tag.starts_with(|c: char| c.is_ascii_digit());
    let (mark, body) = text.split_at(tag.len() + 2);
    body.split_once(mark).filter(|_| is_tag)
}

fn number(text: &str) -> Option<(&str, &str)> {
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    begins.then(|| split_word(text))
}

/// A word, or a text with a prefix: `E'off'`. Other prefixes are of bits and character sets.
fn word_or_text(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = split_word(text);
    let is = |prefix: &str| word.eq_ignore_ascii_case(prefix);
    let string = match rest.strip_prefix('&') {
        Some(string) if is("u") => string,
        _ => rest,
    };
    match string.starts_with('\'') {
        true if is("e") || is("n") || is("u") && string.len() < rest.len() => quoted(string, '\''),
        true => None,
        false => Some((word, rest)),
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')));
    text.split_at(end.unwrap_or(text.len()))
}

/// Whether a value ends before this text, and is not part of an expression.
fn ends(rest: &str) -> bool {
    let rest = rest.trim_start();
    let (word, _) = split_word(rest);
    let is_word = word.starts_with(char::is_alphabetic)
        && !OPERATORS.iter().any(|one| word.eq_ignore_ascii_case(one));
    rest.is_empty() || is_word || ENDS.iter().any(|end| rest.starts_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_values() {
        for (text, expected) in [
            (" off", "off"),
            ("'off';", "off"),
            ("E'off'", "off"),
            ("U&'off'", "off"),
            ("$$off$$", "off"),
            ("$a$off$a$ ", "off"),
            ("[off]", "off"),
            ("\"off\" -- now", "off"),
            ("`off`)", "off"),
            ("+0", "0"),
            ("+ 0x0", "0x0"),
            ("-1", "-1"),
            ("0 FOR SELECT 1", "0"),
            ("off$$", "off"),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "$1",
            "?",
            ":v",
            "@v",
            "E'o\\x66f'",
            "'o''f'",
            "b'0'",
            "0 + 1",
            "1 and 0",
            "f('a')",
            "'off",
            "$$off",
            "(SELECT 0)",
            "'o' 'ff'",
            "--",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn arguments_are_separated() {
        let found = arguments("'a, b'::text, f(1, 2), $1) FROM t, u");
        assert_eq!(found, ["'a, b'::text", " f(1, 2)", " $1"]);
        let found: Vec<Option<&str>> = found.into_iter().map(argument).collect();
        assert_eq!(found, [Some("a, b"), None, None]);
        assert_eq!(argument(" e'a'"), Some("a"));
        assert_eq!(argument("name"), None);
        assert!(arguments("'a").is_empty());
    }

    #[test]
    fn numbers_are_read_like_the_servers_do() {
        for (text, expected) in [
            ("0", "0"),
            ("7", "0"),
            ("8", "0"),
            ("255", "0"),
            ("0x0", "0"),
            ("4294967296", "0"),
            ("1", "1"),
            ("0x1", "1"),
            ("2", "2"),
            ("5", "2"),
            ("3", "3"),
            ("OFF", "OFF"),
            ("-0", "normal"),
            ("default", "normal"),
        ] {
            assert_eq!(level(text), expected, "{text}");
        }
        for (text, expected) in [
            ("00", "0"),
            ("-0", "0"),
            ("-1", "-1"),
            ("0x10", "16"),
            ("250ms", "250ms"),
            ("0x", "0x"),
            ("0.5", "0.5"),
            ("", ""),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
