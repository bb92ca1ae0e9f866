//! Locates secrets in a text.

use std::ops::Range;

use super::is_secret;
use super::names::{Class, class};

/// How far a password with blanks may extend to its `@`.
const REACH: usize = 200;

/// In an argument: a URL at its start has its password up to the last `@`, whatever is between.
pub(super) fn argument(arg: &str) -> Vec<Range<usize>> {
    let authority = arg.find("://").filter(|at| is_scheme(&arg[..*at]));
    let Some(from) = authority.map(|at| at + 3) else {
        return prose(arg);
    };
    let rest = &arg[from..];
    let mut spans = Vec::new();
    if let (Some(colon), Some(at)) = (rest.find(':'), rest.rfind('@'))
        && colon < at
    {
        spans.push(from + colon + 1..from + at);
    }
    spans.extend(prose(arg));
    ordered(spans)
}

/// In free text.
pub(super) fn prose(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = text
        .match_indices("://")
        .filter_map(|(at, mark)| url_password(text, at + mark.len()))
        .collect();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut from = 0;
    while let Some(start) = text[from..].find(is_name).map(|at| from + at) {
        let end = text[start..]
            .find(|c| !is_name(c))
            .map_or(text.len(), |at| start + at);
        from = end;
        spans.extend(behind_name(text, start..end));
    }
    ordered(spans)
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Sorted ranges, overlapping ones merged.
fn ordered(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut out: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}

/// The password of a URL whose authority begins at `from`.
fn url_password(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text[from..];
    let user = rest.find([':', '@', '/', '[', '?', ' ', '\'', '"', '`', '\n'])?;
    if !rest[user..].starts_with(':') {
        return None;
    }
    let start = from + user + 1;
    let tail = &text[start..];
    let word = tail.find(ends_word).unwrap_or(tail.len());
    // Up to the last @: an unencoded password may contain others.
    if let Some(at) = tail[..word].rfind('@') {
        return Some(start..start + at);
    }
    let digits = tail[..word]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(word);
    let is_port = digits > 0
        && (digits == word || tail[digits..].starts_with(['/', ',', '?', ';', ')', '.', ':']));
    if is_port {
        return None;
    }
    // The password contains blanks or quotes, or the host is missing.
    let line = tail.find('\n').unwrap_or(tail.len());
    let line = tail[..line].find("://").unwrap_or(line);
    let at = tail[..line].find('@').filter(|at| *at <= REACH);
    Some(start..start + at.unwrap_or(word))
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || is_quote(c)
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"' | '`')
}

/// The secret after a name, if the name is a secret's.
fn behind_name(text: &str, name: Range<usize>) -> Option<Range<usize>> {
    let word = &text[name.clone()];
    if word.eq_ignore_ascii_case("by") {
        let before = text[..name.start].to_ascii_lowercase();
        let from = before.rfind("identified")?;
        return (name.start - from < 80)
            .then(|| literal(text, name.end))
            .flatten();
    }
    let class = class(word)?;
    let is_option = word.starts_with("--");
    let before = text[..name.start].chars().next_back();
    // Sentences use "key" for anything; only an option or a parameter is a secret.
    if class == Class::Key && !is_option && !matches!(before, Some('?' | '&')) {
        return None;
    }
    let after = &text[name.end..];
    let quoted = before.is_some_and(is_quote) && after.chars().next() == before;
    let unquoted = if quoted { &after[1..] } else { after };
    let bare = unquoted.trim_start_matches([' ', '\t']);
    // JSON has `"password": "x"`; in a sentence a colon is only a colon.
    let mark = bare.starts_with('=') || (quoted && bare.starts_with(':'));
    // As in a URL's parameter.
    let encoded = bare
        .get(..3)
        .is_some_and(|mark| mark.eq_ignore_ascii_case("%3d"));
    if mark || encoded {
        let value = text.len() - bare.len() + if encoded { 3 } else { 1 };
        return value_at(text, value, before, class);
    }
    if !quoted && word.eq_ignore_ascii_case("password") {
        return literal(text, name.end);
    }
    if is_option && after.starts_with([' ', '\t', '\n', '\\']) {
        // As the next word, perhaps on the next line.
        let value = after.trim_start_matches([' ', '\t', '\r', '\n', '\\']);
        let value = text.len() - value.len();
        if value < text.len() && !text[value..].starts_with('-') {
            return value_at(text, value, before, class);
        }
    }
    None
}

/// A value after blanks, with or without quotes. `around` is the character before the name: a quote
/// there encloses both.
fn value_at(text: &str, from: usize, around: Option<char>, class: Class) -> Option<Range<usize>> {
    let rest = &text[from..];
    let from = from + rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let rest = &text[from..];
    let first = rest.chars().next()?;
    let span = if is_quote(first) {
        from + 1..from + 1 + closing(&rest[1..], first)
    } else {
        let ends = |c: char| c.is_whitespace() || c == '&' || (is_quote(c) && around == Some(c));
        from..from + rest.find(ends).unwrap_or(rest.len())
    };
    is_secret(class, &text[span.clone()]).then_some(span)
}

/// The SQL text literal after blanks.
fn literal(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text[from..];
    let bare = rest.trim_start();
    let quote = bare.chars().next().filter(|c| is_quote(*c))?;
    // A sentence may also quote a word after "password": better to hide one too many.
    let start = text.len() - bare.len() + 1;
    (bare.len() < rest.len()).then(|| start..start + closing(&text[start..], quote))
}

/// Distance to the closing quote, or to the end of the line.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at,
            _ => {}
        }
    }
    text.len()
}
