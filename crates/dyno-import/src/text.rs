//! Lines of a log as they were meant: without colours, carriage returns and control characters.

use crate::civil::{self, Moment};

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: usize,
    /// What it says, blanks at its end removed.
    pub(crate) text: String,
}

impl Line {
    /// The line without the moment that a wrapper such as `ts` put before it, and that moment.
    pub(crate) fn unstamped(&self) -> (Option<Moment>, &str) {
        match civil::prefix(&self.text) {
            Some((moment, rest)) => (Some(moment), rest),
            None => (None, &self.text),
        }
    }
}

/// The lines of a text, empty ones included.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .map(|(index, line)| Line {
            number: index + 1,
            text: clean(line),
        })
        .collect()
}

/// What a terminal would show of a line.
fn clean(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    // A program that writes over its own line leaves the last version.
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

/// Passes over a control sequence of a terminal (ECMA-48) behind its escape character.
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

/// At most sixty characters of a text, for messages, without secrets.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARS: usize = 60;
    let text = dyno_core::redact::text(text.trim());
    let mut out: String = text.chars().take(CHARS).collect();
    if text.chars().count() > CHARS {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_and_windows_add_goes() {
        let text =
            "\u{feff}\u{1b}[32m[ 1s ]\u{1b}[0m thds: 1\r\n50 %\r100 %\r\n\u{1b}]0;x\u{7}a\u{0}b  ";
        let texts: Vec<String> = lines(text).into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["[ 1s ] thds: 1", "100 %", "ab"]);
        assert_eq!(lines(text)[2].number, 3);
        assert_eq!(lines("").len(), 0);
    }

    #[test]
    fn excerpts_are_short_and_hold_no_secret() {
        assert_eq!(excerpt("  --mysql-password=x  "), "--mysql-password=***");
        assert_eq!(excerpt(&"é".repeat(100)).chars().count(), 61);
    }
}
