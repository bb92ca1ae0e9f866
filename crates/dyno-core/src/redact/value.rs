//! The extent of a value in a text.

use std::ops::Range;

use super::shell::{self, Backslash, part_end, quotation_end};

/// What surrounds a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Around {
    /// The quotation that the value is in.
    pub(super) quote: Option<char>,
    /// That quotation begins with the value's name, so all of it belongs to the value.
    pub(super) whole: bool,
    /// The value is a parameter of a URL.
    pub(super) in_url: bool,
    /// By the grammar of JSON or SQL, a quoted value ends with its quotation.
    pub(super) literal: bool,
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"' | '`')
}

/// The value at this byte, without the quotes that enclose it.
pub(super) fn span(text: &str, from: usize, around: Around) -> Range<usize> {
    let end = end(text, from, around);
    let Some(quote) = text[from..end].chars().next().filter(|c| is_quote(*c)) else {
        return from..end;
    };
    // `'a'\''b'` begins and ends with a quote, and is not one quotation.
    let closes = |escapes| quotation_end(text, from + 1, quote, escapes) == Some(end);
    match (
        closes(true) || closes(false),
        part_end(text, from, Backslash::Escapes, 0),
    ) {
        (true, _) => from + 1..end - 1,
        (false, None) => from + 1..end,
        (false, Some(_)) => from..end,
    }
}

/// The end of the value at this byte. If it can be read in several ways, the last end counts.
pub(super) fn end(text: &str, from: usize, around: Around) -> usize {
    let read = |backslash| match around.quote {
        Some(quote) if around.whole => rest_of_quotation(text, from, quote, backslash),
        _ => {
            let escaped = escaped_quotation(text, from);
            let escaped = escaped.map_or(from, |at| word_end(text, at, around, backslash));
            escaped.max(word_end(text, from, around, backslash))
        }
    };
    read(Backslash::Literal).max(read(Backslash::Escapes))
}

/// The end of the quotation around a value, or of the word that contains that quotation.
fn rest_of_quotation(text: &str, from: usize, quote: char, backslash: Backslash) -> usize {
    let escapes = quote != '\'' || backslash == Backslash::Escapes;
    match quotation_end(text, from, quote, escapes) {
        None => shell::line_end(text, from),
        Some(after) if ends_word(&text[after..]) => after - quote.len_utf8(),
        Some(after) => shell::end(text, after, backslash),
    }
}

/// The end of a word: at a blank, at the end of the quotation around it, or in a URL at the next
/// parameter.
fn word_end(text: &str, from: usize, around: Around, backslash: Backslash) -> usize {
    // A quoted URL may have blanks.
    let blanks = around.in_url && around.quote.is_some();
    if let Some(end) = quotation(text, from, around.literal, backslash) {
        return end;
    }
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        let after = &text[at + c.len_utf8()..];
        let closes = around.quote == Some(c) && at > from && ends_word(after);
        let separates = match c {
            '\n' => true,
            '&' => around.in_url,
            c => c.is_whitespace() && !blanks,
        };
        if separates || closes {
            return at;
        }
        match part_end(text, at, backslash, 0) {
            Some(next) => at = next,
            None => return shell::line_end(text, at),
        }
    }
    text.len()
}

/// The end of a quoted value, unless the word continues after it. In SQL, `''` is a quote.
fn quotation(text: &str, from: usize, literal: bool, backslash: Backslash) -> Option<usize> {
    let quote = text[from..].chars().next().filter(|c| is_quote(*c))?;
    let goes_on = |c: char| if literal { c == quote } else { is_quote(c) };
    let mut at = from;
    while text[at..].starts_with(goes_on) {
        at = part_end(text, at, backslash, 0)?;
    }
    let next = text[at..].chars().next();
    let ends = |c: char| literal || c.is_whitespace() || matches!(c, ';' | ')');
    next.is_none_or(ends).then_some(at)
}

/// The end of `\"a b\"`, as in a quoted command.
fn escaped_quotation(text: &str, from: usize) -> Option<usize> {
    const ESCAPED_BYTES: usize = 2;
    let mark = text.get(from..from + ESCAPED_BYTES)?;
    if !mark.starts_with('\\') || !mark.ends_with(is_quote) {
        return None;
    }
    let inside = from + ESCAPED_BYTES;
    let line = &text[inside..shell::line_end(text, inside)];
    line.find(mark).map(|at| inside + at + ESCAPED_BYTES)
}

/// Whether a word ends before this text, or before quotes at its start.
fn ends_word(after: &str) -> bool {
    const QUOTES_MAX: usize = 4;
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | ')' | ']' | '}' | '.');
    let mut next = after.chars().take(QUOTES_MAX);
    match next.find(|c| !is_quote(*c)) {
        Some(c) => ends(c),
        None => after.len() < QUOTES_MAX,
    }
}
