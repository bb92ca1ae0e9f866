//! Tables that fit the terminal.

use super::look::{Ink, Look, columns, cut};

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// Text that may be cut.
    Left,
    /// Text that must not be cut.
    Whole,
    Right,
}

/// A table under construction.
pub(super) struct Table {
    head: Vec<(String, Align)>,
    rows: Vec<Vec<(Ink, String)>>,
}

/// Blanks between columns, and with little room.
const GAPS: [usize; 2] = [2, 1];
/// The smallest width to which a text column is cut.
const WIDTH_MIN: usize = 8;

impl Table {
    pub(super) fn new(head: &[(&'static str, Align)]) -> Self {
        Self {
            head: head
                .iter()
                .map(|(name, align)| ((*name).to_owned(), *align))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// The same with computed column names.
    pub(super) fn named(head: Vec<(String, Align)>) -> Self {
        Self {
            head,
            rows: Vec::new(),
        }
    }

    /// Its width without cutting.
    pub(super) fn natural(&self, look: &Look) -> usize {
        let cells = |index: usize| {
            let own = self.rows.iter().filter_map(move |row| row.get(index));
            own.map(|(_, text)| columns(&look.clean(text)))
                .max()
                .unwrap_or(0)
        };
        let widths = self.head.iter().enumerate();
        let widths = widths.map(|(index, (name, _))| columns(name).max(cells(index)));
        widths.sum::<usize>() + GAPS[0] * self.head.len().saturating_sub(1)
    }

    /// The names of the columns, and the rows.
    pub(super) fn into_parts(self) -> (Vec<(String, Align)>, Vec<Vec<String>>) {
        let texts = |row: Vec<(Ink, String)>| -> Vec<String> {
            row.into_iter().map(|(_, text)| text).collect()
        };
        (self.head, self.rows.into_iter().map(texts).collect())
    }

    /// A row with one cell per column.
    pub(super) fn row(&mut self, cells: Vec<(Ink, String)>) {
        self.rows.push(cells);
    }

    /// The lines with line ends. If the table is too wide, its widest text columns are cut.
    pub(super) fn finish(self, look: &Look) -> String {
        let rows: Vec<Vec<(Ink, String)>> = self
            .rows
            .into_iter()
            .map(|row| {
                row.into_iter()
                    .map(|(ink, text)| (ink, look.clean(&text)))
                    .collect()
            })
            .collect();
        let (widths, gap) = fitted(&self.head, &rows, look.width());
        let mut out = String::new();
        let head: Vec<(Ink, String)> = self
            .head
            .iter()
            .map(|(name, _)| (Ink::Faint, name.clone()))
            .collect();
        for row in std::iter::once(&head).chain(&rows) {
            let mut line = String::new();
            let cells = row.iter().zip(&self.head).zip(&widths);
            for (index, (((ink, text), (_, align)), width)) in cells.enumerate() {
                // The ellipsis must fit the look, too.
                let text = look.clean(&cut(text, *width));
                let pad = " ".repeat(width.saturating_sub(columns(&text)));
                if index > 0 {
                    line.push_str(&" ".repeat(gap));
                }
                let painted = look.paint(*ink, &text);
                match align {
                    Align::Left | Align::Whole => line.extend([painted, pad]),
                    Align::Right => line.extend([pad, painted]),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// The columns' widths, and the gap between them.
fn fitted(
    head: &[(String, Align)],
    rows: &[Vec<(Ink, String)>],
    limit: usize,
) -> (Vec<usize>, usize) {
    let [usual, narrow] = GAPS;
    let widths_usual = widths(head, rows, limit, usual);
    let total = widths_usual.iter().sum::<usize>() + usual * head.len().saturating_sub(1);
    match total > limit {
        true => (widths(head, rows, limit, narrow), narrow),
        false => (widths_usual, usual),
    }
}

fn widths(
    head: &[(String, Align)],
    rows: &[Vec<(Ink, String)>],
    limit: usize,
    gap: usize,
) -> Vec<usize> {
    let mut widths: Vec<usize> = head.iter().map(|(name, _)| columns(name)).collect();
    for row in rows {
        for (width, (_, text)) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(text));
        }
    }
    let gaps = gap * widths.len().saturating_sub(1);
    loop {
        let total = widths.iter().sum::<usize>() + gaps;
        let widest = widths
            .iter()
            .enumerate()
            .filter(|(index, width)| {
                **width > WIDTH_MIN && head.get(*index).is_some_and(|(_, a)| *a == Align::Left)
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
        let mut table = Table::new(&[
            ("run", Align::Right),
            ("workload", Align::Left),
            ("p95", Align::Right),
        ]);
        table.row(vec![
            (Ink::Plain, "7".into()),
            (Ink::Plain, "a".repeat(60)),
            (Ink::Plain, "1.5 ms".into()),
        ]);
        table.row(vec![
            (Ink::Plain, "12".into()),
            (Ink::Plain, "oltp\n\x1b[2J".into()),
            (Ink::Plain, String::new()),
        ]);
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
}
