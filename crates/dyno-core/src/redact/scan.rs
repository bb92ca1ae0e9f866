//! Locates secrets in free text.

use std::ops::Range;

use super::names::{Class, class};
use super::programs;
use super::shell;
use super::value::{self, Around, is_quote};
use super::{is_secret, ordered};

/// How far a password with blanks may extend to its `@`.
const REACH: usize = 200;

/// The characters of a name.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The secrets in free text.
pub(super) fn prose(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = text
        .match_indices("://")
        .filter_map(|(at, mark)| url_password(text, at + mark.len()))
        .collect();
    let mut quotes = Quotes::default();
    let mut from = 0;
    while let Some(start) = text[from..].find(is_name).map(|at| from + at) {
        let rest = &text[start..];
        let end = start + rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let name = Name {
            text,
            range: start..end,
            quote: quotes.around(text, start),
        };
        let found = name.secret();
        from = found.as_ref().map_or(end, |span| span.end.max(end));
        spans.extend(found);
        spans.extend(programs::in_text(text, start..end, name.quote));
    }
    ordered(spans)
}

/// The quotation around a position that moves forwards.
#[derive(Default)]
struct Quotes {
    at: usize,
    open: Option<char>,
    before: Option<char>,
}

impl Quotes {
    /// An apostrophe within a word does not open a quotation. A quotation ends with its line.
    fn around(&mut self, text: &str, at: usize) -> Option<char> {
        for c in text[self.at..at].chars() {
            let in_word = self.before.is_some_and(char::is_alphanumeric);
            match self.open {
                _ if c == '\n' => self.open = None,
                Some(open) if c == open && self.before != Some('\\') => self.open = None,
                None if is_quote(c) && !in_word => self.open = Some(c),
                _ => {}
            }
            self.before = Some(c);
        }
        self.at = at;
        self.open
    }
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

/// The `=`, `%3d` or colon between a name and a value.
struct Sign {
    end: usize,
    /// Whether it follows the name without a blank.
    adjacent: bool,
    colon: bool,
    /// Whether the name alone is in quotes.
    quoted: bool,
}

/// A name in a text.
struct Name<'a> {
    text: &'a str,
    range: Range<usize>,
    /// The quotation around it.
    quote: Option<char>,
}

impl Name<'_> {
    fn word(&self) -> &str {
        &self.text[self.range.clone()]
    }

    fn before(&self) -> Option<char> {
        self.text[..self.range.start].chars().next_back()
    }

    fn after(&self) -> &str {
        &self.text[self.range.end..]
    }

    fn is(&self, word: &str) -> bool {
        self.word().eq_ignore_ascii_case(word)
    }

    /// Whether it has several words.
    fn is_compound(&self) -> bool {
        self.word()
            .trim_start_matches('-')
            .contains(['-', '_', '.'])
    }

    fn is_option(&self) -> bool {
        self.word().starts_with('-')
    }

    /// The secret that follows, if the name marks one.
    fn secret(&self) -> Option<Range<usize>> {
        if self.is("by") || self.is("as") {
            return self.identified();
        }
        if self.word() == "p" {
            return self.data_source();
        }
        let class = class(self.word())?;
        let in_url = matches!(self.before(), Some('?' | '&'));
        // Sentences use "key" for anything.
        let loose = class == Class::Key && !self.is_option() && !in_url;
        let span = match loose {
            true => None,
            false => self.assigned(class).or_else(|| self.stated(class)),
        };
        span.filter(|span| is_secret(class, &self.text[span.clone()]))
    }

    /// The value after an equals sign or a colon.
    fn assigned(&self, class: Class) -> Option<Range<usize>> {
        let sign = self.sign(class)?;
        let value = self.text[sign.end..].trim_start_matches([' ', '\t']);
        let from = self.text.len() - value.len();
        let around = Around {
            literal: sign.quoted,
            ..self.around(sign.quoted)
        };
        let option_ends = self.is_option() && sign.adjacent && from > sign.end && !around.whole;
        // In a list, a semicolon follows an empty value.
        let nothing = value.starts_with(';') && !around.whole;
        if option_ends || nothing {
            return None;
        }
        let line = from..self.line_end(from);
        if sign.colon && value.starts_with(['{', '[']) {
            return Some(line);
        }
        let header = self.word().to_ascii_lowercase().ends_with("authorization");
        if sign.colon && header && !sign.quoted {
            let whole = Around {
                whole: true,
                ..around
            };
            let span = around.quote.map(|_| value::span(self.text, from, whole));
            return Some(span.unwrap_or(line));
        }
        Some(value::span(self.text, from, around))
    }

    /// The sign between the name and its value. A colon counts in JSON, as in `"password": "x"`,
    /// but not in a sentence.
    fn sign(&self, class: Class) -> Option<Sign> {
        const ENCODED: &str = "%3d";
        let before = self.before().filter(|c| is_quote(*c));
        let quoted = before.is_some_and(|quote| self.after().starts_with(quote));
        let unquoted = &self.after()[usize::from(quoted)..];
        let bare = unquoted.trim_start_matches([' ', '\t']);
        let colon = bare.starts_with(':') && (quoted || self.is_key(class, bare));
        let encoded = bare.get(..ENCODED.len());
        let length = match encoded.is_some_and(|mark| mark.eq_ignore_ascii_case(ENCODED)) {
            true => ENCODED.len(),
            false => usize::from(colon || bare.starts_with('=')),
        };
        (length > 0).then(|| Sign {
            end: self.text.len() - bare.len() + length,
            adjacent: bare.len() == unquoted.len(),
            colon,
            quoted,
        })
    }

    /// Whether a colon follows the key of a YAML file or the name of an HTTP header.
    fn is_key(&self, class: Class, bare: &str) -> bool {
        let before = &self.text[..self.range.start];
        let in_list = before.ends_with(['{', ',']);
        let before = before.trim_end_matches([' ', '\t', '-', '\'', '"']);
        let first = before.is_empty() || before.ends_with('\n') || in_list;
        let strong = matches!(class, Class::Password | Class::Credential);
        let adjacent = bare.len() == self.after().len();
        strong && adjacent && (first || self.is_compound() || self.is("authorization"))
    }

    fn around(&self, quoted: bool) -> Around {
        let begins = self.before().filter(|c| is_quote(*c) && !quoted);
        Around {
            quote: if quoted { None } else { begins.or(self.quote) },
            whole: begins.is_some(),
            in_url: matches!(self.before(), Some('?' | '&')),
            literal: false,
        }
    }

    /// The value in other forms: as the next word, or in SQL.
    fn stated(&self, class: Class) -> Option<Range<usize>> {
        const FOR: &str = "for ";
        let after = self.after();
        if self.is("password") {
            let next = after.trim_start().get(..FOR.len());
            if next.is_some_and(|next| next.eq_ignore_ascii_case(FOR)) {
                let at = after[..self.line_end(self.range.end) - self.range.end].find('=')?;
                let from = self.range.end + at + 1;
                return Some(from..self.line_end(from));
            }
            let open = after.trim_start().strip_prefix('(').map(str::trim_start);
            if let Some(inside) = open.filter(|inside| inside.starts_with(is_quote)) {
                let from = self.text.len() - inside.len();
                return Some(value::span(self.text, from, LITERAL));
            }
            if self.before().is_none_or(|c| !is_quote(c)) {
                return literal(self.text, self.range.end);
            }
        }
        if self.is_option() && after.starts_with([' ', '\t', '\n', '\\']) {
            return self.next_word();
        }
        (class == Class::Password).then(|| self.in_tcl()).flatten()
    }

    /// The next word, perhaps on the next line.
    fn next_word(&self) -> Option<Range<usize>> {
        let blank = [' ', '\t', '\r', '\n'];
        let mut value = self.after().trim_start_matches(blank);
        while let Some(next) = value.strip_prefix('\\')
            && next.starts_with(['\r', '\n'])
        {
            value = next.trim_start_matches(blank);
        }
        if value.is_empty() || is_flag(value) {
            return None;
        }
        let from = self.text.len() - value.len();
        let around = Around {
            whole: false,
            ..self.around(false)
        };
        Some(value::span(self.text, from, around))
    }

    /// HammerDB's `diset tpcc maria_pass x`, and `Changed tpcc:maria_pass from x to y for MariaDB`.
    fn in_tcl(&self) -> Option<Range<usize>> {
        let line = &self.text[self.range.end..self.line_end(self.range.end)];
        let changed = line
            .strip_prefix(" from ")
            .filter(|values| values.contains(" to "));
        if let Some(values) = changed.filter(|_| self.is_compound()) {
            let end = values.rfind(" for ").unwrap_or(values.len());
            let from = self.range.end + line.len() - values.len();
            return Some(from..from + end);
        }
        let mut before = self.text[..self.range.start]
            .split([' ', '\t', '>'])
            .rev()
            .skip(1);
        let (last, former) = (before.next(), before.next());
        let sets = former == Some("diset")
            || last == Some("setenv")
            || (last == Some("set") && self.is_compound());
        let value = line.trim_start_matches([' ', '\t']);
        let from = self.range.end + line.len() - value.len();
        (sets && value.len() < line.len()).then(|| value::span(self.text, from, Around::default()))
    }

    /// The text literal of `IDENTIFIED BY` and `IDENTIFIED WITH x AS`.
    fn identified(&self) -> Option<Range<usize>> {
        let before = self.shortly_before().to_ascii_lowercase();
        let found = before.contains("identified");
        found.then(|| literal(self.text, self.range.end)).flatten()
    }

    /// The password in a data source name of Percona Toolkit: `h=db,u=root,p=x`.
    fn data_source(&self) -> Option<Range<usize>> {
        let is_first = matches!(self.before(), None | Some(' ' | '\'' | '"'));
        if !self.after().starts_with('=') || !(is_first || self.before() == Some(',')) {
            return None;
        }
        let has = |part: &str| ["h=", "u="].iter().any(|one| part.starts_with(one));
        let from = self.range.end + 1;
        let span = value::span(self.text, from, self.around(false));
        let before = self.shortly_before().rsplit(ends_word).next()?;
        let mut parts = before.split(',').chain(self.text[span.clone()].split(','));
        parts.any(has).then_some(span)
    }

    /// The text before it, up to a limit.
    fn shortly_before(&self) -> &str {
        const CHARS_MAX: usize = 80;
        let before = &self.text[..self.range.start];
        let first = before.char_indices().rev().nth(CHARS_MAX);
        &before[first.map_or(0, |(at, _)| at)..]
    }

    fn line_end(&self, from: usize) -> usize {
        shell::line_end(self.text, from)
    }
}

/// Whether a word is an option rather than a value.
pub(super) fn is_flag(word: &str) -> bool {
    let short = |text: &str| {
        let mut chars = text.chars();
        chars.next().is_some_and(char::is_alphabetic)
            && chars
                .next()
                .is_none_or(|c| c.is_whitespace() || is_quote(c))
    };
    word.starts_with("--") || word.strip_prefix('-').is_some_and(short)
}

/// The SQL text literal after blanks.
fn literal(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text[from..];
    let bare = rest.trim_start();
    bare.chars().next().filter(|c| is_quote(*c))?;
    // A sentence may also quote a word after "password": better to hide one too many.
    let start = text.len() - bare.len();
    (bare.len() < rest.len()).then(|| value::span(text, start, LITERAL))
}

const LITERAL: Around = Around {
    quote: None,
    whole: false,
    in_url: false,
    literal: true,
};
