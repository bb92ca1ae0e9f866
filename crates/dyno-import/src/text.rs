//! Cleans the lines of a log: removes colours, carriage returns and control characters.

use std::borrow::Cow;

use dyno_core::text::number_of;

use crate::civil::{self, Moment};

/// The number of bytes that decide whether a text without a byte order mark is UTF-16.
const DECIDING_BYTES: usize = 512;

/// Decodes a log: UTF-8, or UTF-16 as PowerShell's `>` and `Tee-Object` write it. Invalid bytes are
/// replaced: figures are ASCII. Lines that end only in a carriage return, as in some editors, get a
/// line feed.
pub fn decode(bytes: &[u8]) -> String {
    let text = characters(bytes);
    match text.contains('\r') && !text.contains('\n') {
        true => text.replace('\r', "\n"),
        false => text,
    }
}

fn characters(bytes: &[u8]) -> String {
    let units = |bytes: &[u8], of: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks_exact(2).map(|pair| of([pair[0], pair[1]]));
        String::from_utf16_lossy(&pairs.collect::<Vec<u16>>())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => units(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ if zeros_at(1, bytes) => units(bytes, u16::from_le_bytes),
        _ if zeros_at(0, bytes) => units(bytes, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Whether almost every second byte from this one on is 0, and almost none of the others.
fn zeros_at(first: usize, bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(DECIDING_BYTES)];
    let zeros = |first: usize| {
        let own = head.iter().skip(first).step_by(2);
        own.filter(|byte| **byte == 0).count()
    };
    head.len() >= 8 && zeros(first) * 10 >= head.len() * 4 && zeros(1 - first) * 10 <= head.len()
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: usize,
    /// The text without trailing blanks.
    pub(crate) text: String,
    /// Whether the log ends within it: no line feed follows. A figure at its end may lack digits.
    pub(crate) cut: bool,
}

impl Line {
    /// The line without the time that a wrapper such as `ts` put before it, and that time.
    pub(crate) fn unstamped(&self) -> (Option<Moment>, &str) {
        match civil::prefix(&self.text) {
            Some((moment, rest)) => (Some(moment), rest),
            None => (None, &self.text),
        }
    }
}

/// A line of another source, which keeps the numbers of the lines after it. An empty line would end
/// a table.
pub(crate) const FOREIGN: &str = "\t";

/// The lines of a text, including empty ones, without those of other sources.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines: Vec<Line> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| *line != FOREIGN)
        .map(|(index, line)| Line {
            number: index + 1,
            text: clean(line),
            cut: false,
        })
        .collect();
    if let Some(last) = lines.last_mut() {
        last.cut = !text.ends_with('\n') && text.lines().next_back() != Some(FOREIGN);
    }
    lines
}

/// A text with JSON, without the times that a wrapper put before its lines.
pub(crate) fn unstamped_json(text: &str) -> Cow<'_, str> {
    let opens = |line: &Line| {
        let (stamp, bare) = line.unstamped();
        stamp.is_some() && matches!(bare.trim(), "{" | "[")
    };
    if text.trim_start().starts_with(['{', '[']) {
        return text.into();
    }
    let lines = lines(text);
    if !lines.iter().any(opens) {
        return text.into();
    }
    let bare = lines.iter().map(|line| line.unstamped().1);
    let mut bare = bare.collect::<Vec<_>>().join("\n");
    if text.ends_with('\n') {
        bare.push('\n');
    }
    bare.into()
}

/// The warning about a line that is cut off.
pub(crate) const ENDS_EARLY: &str = "a truncated line, perhaps within a figure, is skipped";
/// The warning about a row of figures in a line that is cut off.
pub(crate) const ROW_CUT: &str =
    "the log ends within a row or possibly within its last figure; it is skipped";

/// The shape of a line: each number as `#`, each run of blanks as one.
pub(crate) fn shape(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.trim().chars() {
        let figure = c.is_ascii_digit() || (matches!(c, '.' | ',') && out.ends_with('#'));
        match c {
            _ if figure && out.ends_with('#') => {}
            _ if figure => out.push('#'),
            c if c.is_whitespace() && out.ends_with(' ') => {}
            c if c.is_whitespace() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Whether a line of this shape ends early compared with others of its kind; also if other text,
/// such as `Killed`, follows the incomplete figure.
pub(crate) fn ends_early(own: &str, whole: &str) -> bool {
    let end = common(own, whole).len();
    let in_figure = own[..end].ends_with('#');
    match whole.len() > end {
        true => in_figure || own.len() == end,
        false => in_figure && own[end..].starts_with(|c: char| c != ' '),
    }
}

/// The beginning that a text has in common with another.
pub(crate) fn common<'a>(own: &'a str, other: &str) -> &'a str {
    let pairs = own.char_indices().zip(other.chars());
    let same = pairs.take_while(|((_, one), other)| one == other);
    let end = same.last().map_or(0, |((at, c), _)| at + c.len_utf8());
    &own[..end]
}

/// The number of decimals of the figure at a line's end; `None` without a figure there.
pub(crate) fn decimals_at_end(line: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let last = digits(line);
    let before = &line[..line.len() - last];
    let decimal = before.ends_with(['.', ',']);
    match (last, decimal) {
        (0, false) => None,
        (_, false) => Some(0),
        (0, true) => (digits(&before[..before.len() - 1]) > 0).then_some(0),
        (_, true) => Some(last),
    }
}

/// A line as a terminal would show it.
pub(crate) fn clean(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    // A program that overwrites its line leaves the last version.
    let line = line.rsplit('\r').next().unwrap_or(line);
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\t' => out.push(c),
            c if c.is_control() => {}
            '\u{a0}' | '\u{202f}' => out.push(' '),
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Skips a control sequence of a terminal (ECMA-48) after its escape character.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            // Parameters, then one final character from `@` to `~`.
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
        Some(']') => {
            // A title: until a bell or another escape.
            while let Some(&c) = chars.peek() {
                if c == '\u{1b}' {
                    break;
                }
                chars.next();
                if c == '\u{7}' {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// At most 61 characters of a text, for messages, without secrets.
pub(crate) fn excerpt(text: &str) -> String {
    dyno_core::text::shortened(&dyno_core::redact::text(text.trim()), 61)
}

/// Says that a row does not fit its heading.
pub(crate) fn other_width(has: usize, noun: &str, columns: usize) -> String {
    format!(
        "{} below {}; the row is skipped",
        number_of(has, noun),
        number_of(columns, "column")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_escape_sequences_and_carriage_returns() {
        let text =
            "\u{feff}\u{1b}[32m[ 1s ]\u{1b}[0m thds: 1\r\n50 %\r100 %\r\n\u{1b}]0;x\u{7}a\u{0}b  ";
        let texts: Vec<String> = lines(text).into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["[ 1s ] thds: 1", "100 %", "ab"]);
        assert_eq!(lines(text)[2].number, 3);
        assert_eq!(lines("").len(), 0);
    }

    #[test]
    fn utf_16_is_read_with_a_mark_and_without() {
        let text = "[ 1s ] tps: 7.00 – µ\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(&little), text);
        assert_eq!(decode(&big), text);
        assert_eq!(decode(&[&[0xff, 0xfe][..], &little].concat()), text);
        assert_eq!(decode(&[&[0xfe, 0xff][..], &big].concat()), text);
        assert_eq!(decode(text.as_bytes()), text);
        assert_eq!(decode(b"\0\0\0\0\0\0\0\0"), "\0".repeat(8));
        assert_eq!(decode(&[]), "");
        assert_eq!(
            decode(b"[ 1s ] tps: 7.00\r[ 2s ] tps: 8.00\r"),
            "[ 1s ] tps: 7.00\n[ 2s ] tps: 8.00\n"
        );
        assert_eq!(decode(b"1 %\r2 %\r\n"), "1 %\r2 %\r\n");
    }

    #[test]
    fn the_end_of_a_cut_log_is_known() {
        assert!(lines("a\nb")[1].cut && !lines("a\nb")[0].cut && !lines("a\nb\n")[1].cut);
        let whole = shape("[ 7s ] thds: 16 tps: 1,000.25 qps: 20.00");
        assert_eq!(whole, "[ #s ] thds: # tps: # qps: #");
        for (line, early) in [
            ("[ 61s ] thds: 16 tps: 10", true),
            ("[ 61s ] thds", true),
            ("[ 61s ] thds: 16 tps: 10x.sh: line 7: 4711 Killed", true),
            ("[ 61s ] thds: 16 tps: 10 qps: 1", false),
            ("[ 61s ] thds: 16 tps: 10 qps: 1 more: 1", false),
            ("[ 61s ] thds: 16 tps: 10 qps: 1x.sh: line 7", true),
            ("[ 61s ] eps: 16", false),
            ("", true),
        ] {
            assert_eq!(ends_early(&shape(line), &whole), early, "{line}");
        }
        for (line, decimals) in [
            ("tps: 10.25", Some(2)),
            ("tps: 10", Some(0)),
            ("tps: 10.", Some(0)),
            ("end.", None),
            ("tps: 10 s", None),
            ("", None),
        ] {
            assert_eq!(decimals_at_end(line), decimals, "{line}");
        }
    }

    #[test]
    fn lines_of_other_sources_are_left_out() {
        let all = lines("a\n\t\n\nb\n\t");
        let all = all.iter().map(|line| (line.number, &line.text[..]));
        assert_eq!(all.collect::<Vec<_>>(), [(1, "a"), (3, ""), (4, "b")]);
        assert!(!lines("a\n\t")[0].cut && lines("\t\na")[0].cut);
    }

    #[test]
    fn a_row_has_another_width_than_its_heading() {
        let expected = "1 word below 3 columns; the row is skipped";
        assert_eq!(other_width(1, "word", 3), expected);
    }

    #[test]
    fn excerpts_are_short_and_hold_no_secret() {
        assert_eq!(excerpt("  --mysql-password=x  "), "--mysql-password=***");
        assert_eq!(excerpt(&"é".repeat(100)).chars().count(), 61);
    }
}
