//! Markdown in which text from servers, scripts and users is escaped.

use dyno_core::visible;

use super::super::look::Ink;
use super::super::page::Page;
use crate::document::{Align, Block, Table};

/// Text on one line, with Markdown's special characters escaped.
pub(super) fn text(raw: &str) -> String {
    let shown = visible::text(raw);
    let mut out = String::with_capacity(shown.len());
    let mut before = ' ';
    let mut rest = shown.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        let formats = match c {
            '\\' | '`' | '*' | '~' | '<' | '&' | '[' | ']' | '|' | '$' => true,
            // Within a word, Markdown reads it as a letter.
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            _ => false,
        };
        if formats {
            out.push('\\');
        }
        out.push(if matches!(c, '\n' | '\t') { ' ' } else { c });
        before = c;
    }
    out
}

/// The text of a cell, which may have several lines.
fn cell(raw: &str) -> String {
    let lines = raw.lines().map(|line| text(line.trim()));
    lines.collect::<Vec<_>>().join("<br>")
}

/// A table, from the names of its columns and whether they contain figures.
pub(super) fn table(head: &[(String, bool)], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = |(_, is_figure): &(String, bool)| match is_figure {
        true => "---:".to_owned(),
        false => "---".to_owned(),
    };
    let mut out = line(head.iter().map(|(name, _)| cell(name)).collect());
    out += &line(head.iter().map(rule).collect());
    for row in rows {
        out += &line(row.iter().map(|raw| cell(raw)).collect());
    }
    out
}

/// A table of the terminal; nothing if no column has a value.
pub(super) fn tabulated(of: Table) -> String {
    if of.heads.is_empty() {
        return String::new();
    }
    let texts = |row: Vec<(Ink, String)>| row.into_iter().map(|(_, text)| text).collect();
    let rows: Vec<Vec<String>> = of.texts().into_iter().skip(1).map(texts).collect();
    let heads = of.heads.into_iter();
    let heads = heads.map(|head| (head.name, head.align == Align::Right));
    table(&heads.collect::<Vec<_>>(), &rows)
}

/// The rows and tables of sections. Rows that follow each other are one table.
pub(super) fn sections(write: impl FnOnce(&mut Page)) -> String {
    let mut parts = Vec::new();
    let mut rows = Vec::new();
    for block in blocks(write) {
        match block {
            Block::Row { label, body, .. } => rows.push(vec![label, body]),
            Block::Table(table) => {
                parts.push(labelled(&std::mem::take(&mut rows)));
                parts.push(tabulated(table));
            }
        }
    }
    parts.push(labelled(&rows));
    joined(parts)
}

/// The rows of sections: labels and bodies.
pub(super) fn rows(write: impl FnOnce(&mut Page)) -> Vec<(String, String)> {
    let row = |block: Block| match block {
        Block::Row { label, body, .. } => Some((label, body)),
        Block::Table(_) => None,
    };
    blocks(write).into_iter().filter_map(row).collect()
}

fn blocks(write: impl FnOnce(&mut Page)) -> Vec<Block> {
    let mut page = Page::of_blocks();
    write(&mut page);
    page.into_blocks()
}

/// A table of labels and texts; nothing without rows.
pub(super) fn labelled(rows: &[Vec<String>]) -> String {
    match rows.first() {
        None => String::new(),
        Some(first) => table(&vec![(String::new(), false); first.len()], rows),
    }
}

/// A section under its heading; nothing if it is empty.
pub(super) fn headed(title: &str, body: String) -> String {
    match body.is_empty() {
        true => body,
        false => format!("### {title}\n\n{body}"),
    }
}

/// Parts with an empty line between them.
pub(super) fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Value;

    #[test]
    fn special_characters_are_escaped() {
        for (raw, printed) in [
            ("p99 < 10ms & a|b", r"p99 \< 10ms \& a\|b"),
            ("oltp_read_write _new_", r"oltp_read_write \_new\_"),
            ("**`x`** [y](z)", r"\*\*\`x\`\*\* \[y\](z)"),
            ("one\n# two\tthree", "one # two three"),
            ("\u{1b}[2J~", r"\\x1b\[2J\~"),
        ] {
            assert_eq!(text(raw), printed);
        }
    }

    #[test]
    fn cells_escape_bars_and_keep_line_breaks() {
        let head = [("a|b".to_owned(), false), ("n".to_owned(), true)];
        let printed = table(&head, &[vec!["one\ntwo".to_owned(), "1|2".to_owned()]]);
        let lines = "| a\\|b | n |\n| --- | ---: |\n| one<br>two | 1\\|2 |\n";
        assert_eq!(printed, lines);
    }

    #[test]
    fn rows_and_tables_keep_their_order() {
        let printed = sections(|page| {
            page.row("note", Ink::Plain, "one");
            page.row("", Ink::Plain, "two");
            let none: [f64; 0] = [];
            page.table(
                Table::of(&none)
                    .figure("x", 0, |x| Value::Rate(*x))
                    .source(""),
            );
            page.row("last", Ink::Plain, "three");
        });
        let lines = "|  |  |\n| --- | --- |\n| note | one<br>two |\n\n| x |\n| ---: |\n\n\
                     |  |  |\n| --- | --- |\n| last | three |\n";
        assert_eq!(printed, lines);
        assert_eq!(sections(|_| ()), "");
    }
}
