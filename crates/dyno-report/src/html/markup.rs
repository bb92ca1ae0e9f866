//! HTML and JSON that text from servers, scripts and users cannot break out of.

use std::fmt;

use dyno_core::visible;
use maud::{Markup, Render, html};
use serde::Serialize;

/// Text within HTML, in an element or in a double-quoted attribute. Unlike the escaping of `html!`,
/// which applies to everything else, it makes control and hidden characters visible.
pub(crate) struct Text<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        write!(Escape(f), "{}", self.0)
    }
}

impl<T: fmt::Display> Render for Text<T> {
    fn render_to(&self, html: &mut String) {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(html, format_args!("{self}"));
    }
}

/// A text whose lines are kept.
pub(super) fn lines(raw: &str) -> Markup {
    html! {
        @for (number, line) in raw.lines().enumerate() {
            @if number > 0 { br; }
            (Text(line))
        }
    }
}

struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let text = visible::text(text);
        let mut rest = &*text;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            self.0.write_str(&rest[..at])?;
            self.0.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[at + 1..];
        }
        self.0.write_str(rest)
    }
}

/// Text within XML, in an element or in a double-quoted attribute. Characters that XML forbids are
/// replaced.
pub(crate) fn xml_text(raw: &str) -> String {
    let escaped = Text(raw).to_string();
    escaped.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// JSON for a `<script>` element: no character in it can end the element, begin a comment or end a
/// line of JavaScript.
///
/// # Errors
/// A value that JSON cannot represent.
pub(super) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(value)?;
    // JSON has none of these characters outside strings. Inside, an escape means the same, but
    // hidden characters must be as visible in the page as in its text.
    let special = |c: char| matches!(c, '<' | '>' | '&' | '\\') || visible::is_hidden(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(special) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match rest.as_bytes() {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => rest.chars().next().map_or(0, char::len_utf8),
        };
        let (found, tail) = rest.split_at(length.min(rest.len()));
        match found {
            "<" | ">" | "&" => out.push_str(&format!("\\u{:04x}", found.as_bytes()[0])),
            // The escapes of line feed, tab, quote and backslash.
            "\\n" | "\\t" | "\\\"" | "\\\\" => out.push_str(found),
            _ => {
                let raw: String = serde_json::from_str(&format!("\"{found}\""))?;
                out.push_str(&visible::text(&raw).replace('\\', "\\\\"));
            }
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// A name as part of an `id`: letters, digits and hyphens.
pub(super) fn slug(name: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let hostile = "a</td><img src=x onerror=\"alert('1')\">&amp;\0";
        let text = Text(hostile).to_string();
        assert_eq!(
            text,
            "a&lt;/td&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;\\x00"
        );
    }

    #[test]
    fn json_reads_back_and_holds_no_markup() {
        let hostile =
            "</script><!--<script>alert(1)//\u{2028}\u{2029}&\"\\\n\u{1b}[2J\r\u{8}\u{9b}\u{202e}é";
        let text = json(&[hostile]).unwrap();
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert!(visible::is_clean(&text));
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, [visible::text(hostile)]);
    }

    #[test]
    fn slugs_fit_an_id() {
        assert_eq!(slug("host.disk[vda] \"<"), "host-disk-vda----");
    }
}
