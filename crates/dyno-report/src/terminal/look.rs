//! The look of text: width, colours, characters.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The terminal's properties, from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its width; at least 40 is used.
    pub columns: usize,
    /// Whether to colour. The caller checks `NO_COLOR` and whether this is a terminal.
    pub colour: bool,
    /// Whether to use only ASCII.
    pub ascii: bool,
    /// Whether a summary is complete, instead of only figures and findings against them.
    pub verbose: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            columns: 80,
            colour: false,
            ascii: false,
            verbose: false,
        }
    }
}

/// The separator between related parts of a line.
pub(crate) const DOT: &str = " · ";

/// The width of text for a pipe: wide enough to truncate nothing.
pub const PIPE_COLUMNS: usize = 1000;

/// The role of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    Faint,
    Good,
    Warning,
    Error,
    Notable,
}

impl Look {
    /// Below this width nothing is readable, so lines may wrap.
    const COLUMNS_MIN: usize = 40;

    pub(crate) fn width(&self) -> usize {
        self.columns.max(Self::COLUMNS_MIN)
    }

    /// The text in its colour, if there are colours.
    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Plain => return text.into(),
            _ if !self.colour || text.is_empty() => return text.into(),
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Warning => "33",
            Ink::Error => "31",
            Ink::Notable => "34",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The text with characters that the look does not allow replaced one by one. Control
    /// characters become blanks: a server's text must not control the terminal.
    pub(crate) fn clean(&self, text: &str) -> String {
        text.chars()
            .map(|c| match c {
                c if c.is_control() => ' ',
                // Invisible marks that change the direction of text.
                '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
                c if self.ascii => to_ascii(c),
                c => c,
            })
            .collect()
    }
}

/// The number of columns of a text.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Narrower texts are names and figures, which are cut within words: each letter counts.
const SENTENCE_MIN: usize = 24;

/// The text cut to `width` columns, with an ellipsis if it was cut; at a word, unless that would
/// lose more than half.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    if width == 0 {
        return String::new();
    }
    let mut used = 1;
    let beyond = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > width
    });
    let end = beyond.map_or(text.len(), |(at, _)| at);
    let (shown, rest) = text.split_at(end);
    let shown = match width >= SENTENCE_MIN {
        true => whole_words(shown, rest),
        false => shown,
    };
    format!("{shown}…")
}

/// The beginning of a text without the part of a word at its end; `rest` follows.
fn whole_words<'a>(shown: &'a str, rest: &str) -> &'a str {
    if rest.starts_with(' ') {
        return shown.trim_end();
    }
    let words = shown.rfind(' ').and_then(|end| shown.get(..end));
    let words = words.map(|words| words.trim_end_matches([' ', '·']));
    match words {
        Some(words) if columns(words) * 2 >= columns(shown) && !words.trim().is_empty() => words,
        _ => shown,
    }
}

/// The text in lines of at most `width` columns, broken at blanks if possible.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in parts(text, width) {
        let length = columns(&word);
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        let mut line = lines.pop().unwrap_or_default();
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > width && used > 0 {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += wide;
        }
        lines.push(line);
    }
    lines
}

/// The pieces between which a text may be broken: the parts between dots, and the words of parts
/// longer than a line.
fn parts(text: &str, width: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text.split(DOT).peekable();
    while let Some(part) = rest.next() {
        let part = match rest.peek() {
            Some(_) => format!("{part}{}", DOT.trim_end()),
            None => part.to_owned(),
        };
        match columns(&part) <= width && text.contains(DOT) {
            true => all.push(part),
            false => all.extend(words(&part)),
        }
    }
    all
}

/// The words of a text; a number stays with its unit.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 12] = [
        "/s", "%", "ns", "µs", "us", "ms", "s", "min", "h", "KiB", "MiB", "GiB",
    ];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', '.', ')', ':']);
        match words.last_mut() {
            Some(number)
                if number.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&bare) =>
            {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

fn to_ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '–' | '—' | '−' => '-',
        '…' => '~',
        'µ' => 'u',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '┄' => '-',
        '▲' => '^',
        '\u{2800}' => ' ',
        '\u{2801}'..='\u{28ff}' => '*',
        '▁' => '.',
        '▂' => ':',
        '▃' => '-',
        '▄' => '=',
        '▅' => '+',
        '▆' => '*',
        '▇' => '#',
        '█' => '@',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_keeps_to_the_width() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("数据库错误", 6), "数据…");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn sentences_are_cut_at_words() {
        let text = "The busiest worker used 99 % of a core";
        assert_eq!(cut(text, 38), text);
        assert_eq!(cut(text, 30), "The busiest worker used 99 %…");
        assert_eq!(cut(text, 29), "The busiest worker used 99 %…");
        assert_eq!(cut(text, 25), "The busiest worker used…");
        assert_eq!(cut(text, 24), "The busiest worker used…");
        let parts = "one · two three · four fives";
        assert_eq!(cut(parts, 26), "one · two three · four…");
        let parts = "one · two three four · fives";
        assert_eq!(cut(parts, 27), "one · two three four…");
        // A name, or a text that is mostly a name.
        assert_eq!(cut(text, 15), "The busiest wo…");
        let path = "in /var/lib/a-very-long-name/of-a-file";
        assert_eq!(cut(path, 30), "in /var/lib/a-very-long-name/…");
    }

    #[test]
    fn wrapping_breaks_at_blanks_or_else_within_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a abcdefgh", 4), ["a", "abcd", "efgh"]);
        assert_eq!(wrap("数据库", 4), ["数据", "库"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(
            wrap("one two · three four · five", 16),
            ["one two ·", "three four ·", "five"]
        );
        assert_eq!(
            wrap("one two three · four", 7),
            ["one two", "three ·", "four"]
        );
        assert_eq!(
            wrap("in all 12.3 ms, more", 11),
            ["in all", "12.3 ms,", "more"]
        );
    }
}
