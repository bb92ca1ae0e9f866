//! Tables that fit the terminal.

use std::collections::BTreeMap;

use super::look::{Ink, Look, columns, cut, wrap};
use crate::document::{Align, Cell, Head, Table, Value, times};
use crate::number::{latency, percent, rate, thousands};

/// Blanks between columns, and with little room.
const GAPS: [usize; 2] = [2, 1];
/// The smallest width to which a text column is cut.
const WIDTH_MIN: usize = 8;

impl Value {
    /// As a terminal and Markdown show it.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Missing => "–".to_owned(),
            Self::Text(text) | Self::Code(text) | Self::Folded(text, _) => text.clone(),
            Self::Count(count) => thousands(*count),
            Self::Rate(per_s) => rate(*per_s),
            Self::Ms(ms) => latency(*ms),
            Self::Share(share) => percent(*share),
            Self::Ratio { ratio, .. } => times(*ratio),
        }
    }
}

impl Table {
    /// Its width without cutting.
    pub(super) fn natural(&self, look: &Look) -> usize {
        let widths = widths(&self.heads, &self.cleaned(look), usize::MAX, GAPS[0]);
        widths.iter().sum::<usize>() + GAPS[0] * widths.len().saturating_sub(1)
    }

    /// The texts of its rows, first the names of its columns.
    pub(super) fn texts(&self) -> Vec<Vec<(Ink, String)>> {
        let heads = self.heads.iter();
        let heads = heads.map(|head| (Ink::Faint, head.name.clone()));
        let text = |cell: &Cell| (cell.ink, cell.value.brief());
        let rows = self.rows.iter();
        let rows = rows.map(|row| row.iter().map(text).collect());
        std::iter::once(heads.collect()).chain(rows).collect()
    }

    fn cleaned(&self, look: &Look) -> Vec<Vec<(Ink, String)>> {
        let mut rows = self.texts();
        for (_, text) in rows.iter_mut().flatten() {
            *text = look.clean(text);
        }
        rows
    }

    /// The lines with line ends. If the table is too wide, its widest text columns are cut.
    pub(super) fn finish(self, look: &Look) -> String {
        self.lines(look, |_, _| false)
    }

    /// As [`Self::finish`], but texts that would be cut alike continue on further lines.
    pub(super) fn told_apart(self, look: &Look) -> String {
        self.lines(look, are_cut_alike)
    }

    /// `wraps` decides from the texts of a column and its width.
    fn lines(self, look: &Look, wraps: impl Fn(&[&str], usize) -> bool) -> String {
        let rows = self.cleaned(look);
        let (widths, gap) = fitted(&self.heads, &rows, look.width());
        let wrapped = widths.iter().enumerate().map(|(column, width)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let texts: Vec<&str> = cells.map(|(_, text)| text.as_str()).collect();
            wraps(&texts, *width)
        });
        let wrapped: Vec<bool> = wrapped.collect();
        let mut out = String::new();
        for row in &rows {
            let texts = row.iter().zip(&widths).zip(&wrapped);
            let texts = texts.map(|(((_, text), width), wrapped)| match wrapped {
                true => wrap(text, *width),
                // The ellipsis must fit the look, too.
                false => vec![look.clean(&cut(text, *width))],
            });
            let texts: Vec<Vec<String>> = texts.collect();
            let height = texts.iter().map(Vec::len).max().unwrap_or(0);
            for at in 0..height {
                let mut line = String::new();
                let cells = row.iter().zip(&self.heads).zip(&widths).zip(&texts);
                for (index, ((((ink, _), head), width), texts)) in cells.enumerate() {
                    let text = texts.get(at).map_or("", String::as_str);
                    let pad = " ".repeat(width.saturating_sub(columns(text)));
                    if index > 0 {
                        line.push_str(&" ".repeat(gap));
                    }
                    let painted = look.paint(*ink, text);
                    match head.align {
                        Align::Right => line.extend([pad, painted]),
                        _ => line.extend([painted, pad]),
                    }
                }
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
        out
    }
}

/// Whether different texts would look the same at this width.
fn are_cut_alike(texts: &[&str], width: usize) -> bool {
    let mut shown: BTreeMap<String, &str> = BTreeMap::new();
    texts.iter().any(|text| {
        let other = shown.insert(cut(text, width), text);
        other.is_some_and(|other| other != *text)
    })
}

/// The columns' widths, and the gap between them.
fn fitted(heads: &[Head], rows: &[Vec<(Ink, String)>], limit: usize) -> (Vec<usize>, usize) {
    let [usual, narrow] = GAPS;
    let widths_usual = widths(heads, rows, limit, usual);
    let total = widths_usual.iter().sum::<usize>() + usual * heads.len().saturating_sub(1);
    match total > limit {
        true => (widths(heads, rows, limit, narrow), narrow),
        false => (widths_usual, usual),
    }
}

fn widths(heads: &[Head], rows: &[Vec<(Ink, String)>], limit: usize, gap: usize) -> Vec<usize> {
    let mut widths = vec![0; heads.len()];
    for row in rows {
        for (width, (_, text)) in widths.iter_mut().zip(row) {
            *width = columns(text).max(*width);
        }
    }
    let gaps = gap * widths.len().saturating_sub(1);
    loop {
        let total = widths.iter().sum::<usize>() + gaps;
        let widest = widths
            .iter()
            .enumerate()
            .filter(|(index, width)| {
                **width > WIDTH_MIN
                    && heads
                        .get(*index)
                        .is_some_and(|head| head.align == Align::Left)
            })
            .max_by_key(|(_, width)| **width)
            .map(|(index, _)| index);
        match widest {
            Some(index) if total > limit => widths[index] -= 1,
            _ => return widths,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_right_aligned_and_long_texts_are_cut() {
        let rows = [
            ("7", "a".repeat(60), "1.5 ms"),
            ("12", "oltp\n\x1b[2J".to_owned(), ""),
        ];
        let table = Table::of(&rows)
            .figure("run", 0, |row| row.0.to_owned())
            .text("workload", 0, |row| row.1.clone())
            .figure("p95", 0, |row| row.2.to_owned())
            .source("");
        let look = Look {
            columns: 40,
            ..Look::default()
        };
        let text = table.finish(&look);
        for line in text.lines() {
            assert!(columns(line) <= 40, "{line}");
        }
        assert!(text.contains("  7  aaaaaaa"), "{text}");
        assert!(text.contains(" 12  oltp  [2J"), "{text}");
        assert!(text.contains("…  1.5 ms"), "{text}");
    }

    #[test]
    fn texts_with_equal_beginnings_continue_below() {
        let rows = [
            ("innodb_flush_log_at_trx_commit=1 × sync_binlog=0", "0.95"),
            ("innodb_flush_log_at_trx_commit=1 × sync_binlog=1", "1.05"),
            ("innodb_flush_log_at_trx_commit=2", "1.20"),
        ];
        let table = || {
            Table::of(&rows)
                .text("level", 0, |row| row.0.to_owned())
                .figure("ratio", 0, |row| row.1.to_owned())
                .source("")
        };
        let look = Look {
            columns: 44,
            ..Look::default()
        };
        let cut = table().finish(&look);
        assert_eq!(cut.matches("trx_commit=1 ×…  ").count(), 2, "{cut}");
        let whole = table().told_apart(&look);
        assert!(whole.lines().all(|line| columns(line) <= 44), "{whole}");
        let lines: Vec<&str> = whole.lines().map(str::trim_end).collect();
        assert_eq!(lines.len(), 6, "{whole}");
        assert!(lines[1].ends_with("  0.95"), "{whole}");
        assert_eq!((lines[2], lines[4]), ("sync_binlog=0", "sync_binlog=1"));
        // Texts that differ within the width are only cut.
        assert!(!are_cut_alike(&["one two three four", "two"], 8));
        assert!(are_cut_alike(&["one two three", "one two four"], 8));
        assert!(!are_cut_alike(&["one two three", "one two three"], 8));
    }
}
