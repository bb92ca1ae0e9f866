//! Escapes hidden characters in text of servers, scripts and files before display: characters that
//! control a terminal, reorder text or are invisible.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character controls, reorders or hides text instead of showing something.
pub fn is_hidden(c: char) -> bool {
    match c {
        // The controls of C0, DEL and C1. Terminals take U+009B for ESC [.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Unicode's direction marks, embeddings, overrides and isolates.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // Line and paragraph separators other than a text file's.
        '\u{2028}' | '\u{2029}' => true,
        // Invisible: zero-width space, word joiner and its neighbours, byte order mark, interlinear
        // annotations, tags. Joiners (U+200C, U+200D) are part of words in some scripts and stay.
        '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Text with such characters escaped as `\x1b` and `\u{202e}`. Line feeds and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    replaced(text, is_steering, |c, out| {
        let code = u32::from(c);
        // Writing to a String cannot fail.
        let _ = match code {
            0..=0xff => write!(out, "\\x{code:02x}"),
            _ => write!(out, "\\u{{{code:x}}}"),
        };
    })
}

/// JSON with such characters as JSON escapes, equal to the original when parsed.
pub fn json(json: &str) -> Cow<'_, str> {
    // Below U+0080 only DEL can occur, and only in strings; above, all characters are in strings.
    replaced(json, is_steering, |c, out| {
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Whether [`text`] would leave the text as it is.
pub fn is_clean(text: &str) -> bool {
    !text.contains(is_steering)
}

fn is_steering(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\n' | '\t')
}

fn replaced(text: &str, find: fn(char) -> bool, put: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(find) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match find(c) {
            true => put(c, &mut out),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_control_characters_are_escaped() {
        for (raw, shown) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}]0;title\u{7}", "\\x1b]0;title\\x07"),
            ("\u{9b}2J\u{7f}\r", "\\x9b2J\\x7f\\x0d"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("\u{feff}\u{200b}\u{e0041}", "\\u{feff}\\u{200b}\\u{e0041}"),
            ("naïve — 数据 👩‍💻", "naïve — 数据 👩‍💻"),
        ] {
            assert_eq!(text(raw), shown);
            assert_eq!(is_clean(raw), raw == shown);
        }
    }

    /// Letters, controls, marks.
    const ANY: &str = "(\\PC|[\u{0}-\u{9f}]|[\u{2000}-\u{2070}]|\u{e0001}){0,40}";

    proptest! {
        #[test]
        fn no_control_character_is_left(raw in ANY) {
            prop_assert!(is_clean(&text(&raw)));
            let shown = text(&raw);
            prop_assert_eq!(text(&shown), &*shown);
        }

        #[test]
        fn json_means_the_same(raw in ANY) {
            let plain = serde_json::to_string_pretty(&[&raw]).unwrap();
            let shown = json(&plain);
            prop_assert!(is_clean(&shown));
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [raw]);
        }
    }
}
