//! Rows of a label and a body, as wide as the look allows, or kept for another format.

use super::look::{DOT, Ink, Look, columns, cut, wrap};
use crate::document::{Align, Block, PAGE, Table};

/// The start of bodies: two blanks and a label.
const GUTTER: usize = 16;
/// The width of a label.
const LABEL: usize = GUTTER - 3;
/// The width of a figure in the place of a label.
const FIGURE: usize = LABEL - 2;
/// The blanks before a figure or a text next to others.
const GAP: usize = 2;

/// The width that sections assume for a page of blocks.
const KEPT_COLUMNS: usize = 120;

/// Text under construction.
pub(super) struct Page {
    look: Look,
    out: String,
    /// Rows and tables, if they are wanted instead of text.
    blocks: Option<Vec<Block>>,
}

impl Page {
    pub(super) fn new(look: Look) -> Self {
        Self {
            look,
            out: String::new(),
            blocks: None,
        }
    }

    /// A page that keeps rows and tables instead of writing them.
    pub(super) fn of_blocks() -> Self {
        let look = Look {
            columns: KEPT_COLUMNS,
            ..Look::default()
        };
        Self {
            blocks: Some(Vec::new()),
            ..Self::new(look)
        }
    }

    /// The rows and tables of such a page; titles are left out.
    pub(super) fn into_blocks(self) -> Vec<Block> {
        self.blocks.unwrap_or_default()
    }

    /// Keeps a row, if rows are kept. A row without a label continues the previous one.
    fn keeps(&mut self, label: &str, body: &str) -> bool {
        let Some(blocks) = &mut self.blocks else {
            return false;
        };
        let (label, body) = (label.trim(), body.trim());
        match blocks.last_mut() {
            _ if body.is_empty() => {}
            Some(Block::Row { body: before, .. }) if label.is_empty() => {
                before.push('\n');
                before.push_str(body);
            }
            _ => blocks.push(Block::row(label, Ink::Plain, body)),
        }
        true
    }

    pub(super) fn body_width(&self) -> usize {
        self.look.width() - GUTTER
    }

    pub(super) fn width(&self) -> usize {
        self.look.width()
    }

    /// The blocks of a section.
    pub(super) fn show(&mut self, blocks: impl IntoIterator<Item = Block>) {
        for block in blocks.into_iter().filter(|block| !block.is_empty()) {
            match block {
                Block::Row { label, ink, body } => self.row(&label, ink, &body),
                Block::Table(table) => self.table(table),
            }
        }
    }

    pub(super) fn table(&mut self, mut table: Table) {
        table.retain(|head| head.rank != PAGE);
        if let Some(blocks) = &mut self.blocks {
            blocks.push(Block::Table(table));
            return;
        }
        match table.labels {
            Some(width) => self.labelled(&table, width),
            None => self.out.push_str(&table.finish(&self.look)),
        }
    }

    /// A table with its names in the place of labels, and the figures of the lowest ranks that fit.
    /// All names have the same layout: below the heading, or at its edge if one would not fit.
    fn labelled(&mut self, table: &Table, width: usize) {
        let rows = table.texts();
        let room = self.body_width();
        let shown = figures(table, &rows, width, room);
        let used: usize = shown.iter().map(|(_, width)| width).sum();
        let is_long = |row: &Vec<(Ink, String)>| columns(&row[0].1) + 2 > LABEL;
        let indent = if rows.iter().skip(1).any(is_long) {
            ""
        } else {
            "  "
        };
        for (number, row) in rows.iter().enumerate() {
            let (ink, name) = &row[0];
            let (ink, label) = match (table.heads[0].align, number) {
                (Align::Right, _) => (*ink, padded(name, FIGURE)),
                (_, 0) => (Ink::Strong, name.clone()),
                _ => (*ink, format!("{indent}{name}")),
            };
            let cells = shown.iter().map(|(index, width)| (&row[*index], *width));
            let mut pieces: Vec<(Ink, String)> = cells
                .map(|((ink, text), width)| (*ink, padded(text, width)))
                .collect();
            let others = || table.heads.iter().zip(row).skip(1);
            for (_, (ink, text)) in others().filter(|(head, _)| head.align == Align::Left) {
                let text = cut(text, room.saturating_sub(used + GAP));
                pieces.push((*ink, " ".repeat(GAP) + &text));
            }
            let pieces: Vec<(Ink, &str)> =
                pieces.iter().map(|(ink, text)| (*ink, &**text)).collect();
            self.line(&label, ink, &pieces);
            if number == 0 {
                continue;
            }
            // Names too long for the label are printed in full.
            if columns(&label) > LABEL {
                self.row("", Ink::Plain, &format!("= {name}"));
            }
            for (_, (ink, text)) in others().filter(|(head, _)| head.align == Align::Below) {
                self.row("", *ink, text);
            }
        }
    }

    /// An empty line, unless the last one is empty.
    pub(super) fn blank(&mut self) {
        if self.out.is_empty() || !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// The first line.
    pub(super) fn title(&mut self, text: &str) {
        for line in wrap(&self.look.clean(text), self.look.width()) {
            self.out.push_str(&self.look.paint(Ink::Strong, &line));
            self.out.push('\n');
        }
    }

    /// A row whose body wraps, line by line; `ink` colours the label.
    pub(super) fn row(&mut self, label: &str, ink: Ink, body: &str) {
        if self.keeps(label, body) {
            return;
        }
        let mut label = label;
        for paragraph in body.lines() {
            for line in wrap(&self.look.clean(paragraph), self.body_width()) {
                self.line(label, ink, &[(Ink::Plain, &line)]);
                label = "";
            }
        }
    }

    /// A row of a short heading and a text that wraps next to it, cut after a few lines.
    pub(super) fn indented(&mut self, label: &str, head: &str, text: &str) {
        const LINES_MAX: usize = 4;
        if self.keeps(label, &format!("{} {text}", head.trim())) {
            return;
        }
        let width = self.body_width().saturating_sub(columns(head)).max(1);
        let lines = wrap(&self.look.clean(text), width);
        let (mut label, mut head) = (label, head.to_owned());
        for (index, line) in lines.iter().take(LINES_MAX).enumerate() {
            let more = index + 1 == LINES_MAX && lines.len() > LINES_MAX;
            let line = if more {
                format!("{line} …")
            } else {
                line.clone()
            };
            self.line(
                label,
                Ink::Plain,
                &[(Ink::Plain, &head), (Ink::Faint, &line)],
            );
            label = "";
            head = " ".repeat(columns(&head));
        }
    }

    /// A row of short items, as many per line as fit; without a label from the left edge.
    pub(super) fn items(&mut self, label: &str, items: &[(Ink, String)]) {
        if self.blocks.is_some() {
            let texts: Vec<&str> = items.iter().map(|(_, text)| text.as_str()).collect();
            self.keeps(label, &texts.join(DOT));
            return;
        }
        let (gap, width) = match label.is_empty() {
            true => (GAP + 1, self.look.width() - 2),
            false => (GAP, self.body_width()),
        };
        let mut lines: Vec<Vec<&(Ink, String)>> = Vec::new();
        let mut used = 0;
        for item in items {
            let length = columns(&item.1);
            match lines.last_mut() {
                Some(line) if used + gap + length <= width => {
                    used += gap + length;
                    line.push(item);
                }
                _ => {
                    used = length;
                    lines.push(vec![item]);
                }
            }
        }
        let mut beside = label;
        for line in lines {
            let painted = line.iter().map(|(ink, text)| {
                let clean = cut(&self.look.clean(text), width);
                self.look.paint(*ink, &clean)
            });
            let text = painted.collect::<Vec<_>>().join(&" ".repeat(gap));
            let edge = match label.is_empty() {
                true => String::new(),
                false => format!("{beside:width$}", width = GUTTER - 2),
            };
            self.out.push_str(&format!("  {edge}{text}\n"));
            beside = "";
        }
    }

    /// A row of pieces that fit the width, or are cut.
    pub(super) fn line(&mut self, label: &str, ink: Ink, pieces: &[(Ink, &str)]) {
        if self.blocks.is_some() {
            let text: String = pieces.iter().map(|(_, text)| *text).collect();
            self.keeps(label, &text);
            return;
        }
        let label = self.look.clean(&cut(&self.look.clean(label), LABEL));
        let gap = GUTTER - 2 - columns(&label);
        let mut line = format!("  {}{}", self.look.paint(ink, &label), " ".repeat(gap));
        let mut left = self.body_width();
        let last = pieces
            .iter()
            .rposition(|(_, text)| !text.trim_end().is_empty());
        for (i, (ink, text)) in pieces.iter().enumerate() {
            let clean = cut(&self.look.clean(text), left);
            left -= columns(&clean);
            let text = if Some(i) == last {
                clean.trim_end()
            } else {
                clean.as_str()
            };
            if last.is_some_and(|last| i <= last) {
                line.push_str(&self.look.paint(*ink, &self.look.clean(text)));
            }
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// Names and figures side by side, in column order, in as many columns as fit.
    pub(super) fn pairs(&mut self, pairs: &[(String, String)]) {
        const INDENT: usize = 4;
        /// Between a name and its figure, and between one pair and the next.
        const WITHIN: usize = 2;
        const GAP: usize = 3;
        if self.blocks.is_some() {
            let shown = pairs
                .iter()
                .map(|(name, figure)| format!("{name} {figure}"));
            self.keeps("", &shown.collect::<Vec<_>>().join(DOT));
            return;
        }
        let room = self.look.width() - INDENT;
        let longest = |pairs: &[(String, String)]| {
            let names = pairs.iter().map(|(name, _)| columns(name)).max();
            let figures = pairs.iter().map(|(_, figure)| columns(figure)).max();
            (names.unwrap_or(0), figures.unwrap_or(0))
        };
        let shape = |count: usize| {
            let chunks = pairs.chunks(pairs.len().div_ceil(count).max(1));
            let widths: Vec<_> = chunks.map(longest).collect();
            let gaps = GAP * (widths.len().max(1) - 1);
            let total: usize = widths
                .iter()
                .map(|(name, figure)| name + WITHIN + figure)
                .sum();
            (total + gaps <= room).then_some(widths)
        };
        let widths = [3, 2].into_iter().find_map(shape);
        let widths = widths.unwrap_or_else(|| vec![longest(pairs)]);
        let lines = pairs.len().div_ceil(widths.len().max(1));
        for line in 0..lines {
            let mut text = " ".repeat(INDENT);
            for (column, (name_width, figure_width)) in widths.iter().enumerate() {
                let Some((name, figure)) = pairs.get(column * lines + line) else {
                    continue;
                };
                let gap = if column > 0 { GAP } else { 0 };
                let pad = name_width - columns(name) + WITHIN + figure_width - columns(figure);
                text += &format!("{}{name}{}{figure}", " ".repeat(gap), " ".repeat(pad));
            }
            self.out
                .push_str(&cut(&self.look.clean(&text), self.look.width()));
            self.out.push('\n');
        }
    }

    /// The text, without an empty line at its end.
    pub(super) fn finish(self) -> String {
        let mut out = self.out;
        while out.ends_with("\n\n") {
            out.pop();
        }
        out
    }
}

/// The figures of the lowest ranks that fit the room: their columns and widths.
fn figures(
    table: &Table,
    rows: &[Vec<(Ink, String)>],
    width: usize,
    room: usize,
) -> Vec<(usize, usize)> {
    let widest = |index: usize| {
        let cells = rows.iter().map(|row| columns(&row[index].1));
        width.max(GAP + cells.max().unwrap_or(0))
    };
    let heads = table.heads.iter().enumerate().skip(1);
    let mut shown: Vec<(usize, usize)> = heads
        .filter(|(_, head)| head.align == Align::Right)
        .map(|(index, _)| (index, widest(index)))
        .collect();
    while shown.len() > 1 && shown.iter().map(|(_, width)| width).sum::<usize>() > room {
        let last = (0..shown.len()).max_by_key(|at| table.heads[shown[*at].0].rank);
        shown.remove(last.unwrap_or(0));
    }
    shown
}

fn padded(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(columns(text))) + text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_rows_whole_for_other_formats() {
        let mut page = Page::of_blocks();
        page.title("left out");
        page.row("  doubt", Ink::Warning, &"word ".repeat(60));
        page.row("", Ink::Plain, "Try something else.");
        page.row("note", Ink::Plain, " ");
        page.table(Table::default());
        let items = ["p50 1", "max 2 ms"].map(|text| (Ink::Plain, text.to_owned()));
        page.items("latency", &items);
        let pieces = [(Ink::Good, "▁▂"), (Ink::Faint, " 1 /s")];
        page.line("over time", Ink::Plain, &pieces);
        let kept = page.into_blocks().into_iter().map(|block| match block {
            Block::Row { label, body, .. } => format!("{label}: {body}"),
            Block::Table(_) => "table".to_owned(),
        });
        let doubt = format!("doubt: {}\nTry something else.", "word ".repeat(60).trim());
        let expected = [
            doubt.as_str(),
            "table",
            "latency: p50 1 · max 2 ms",
            "over time: ▁▂ 1 /s",
        ];
        assert_eq!(kept.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn pairs_fill_as_many_columns_as_fit() {
        let pairs: Vec<(String, String)> = (0..20)
            .map(|n| {
                (
                    format!("switches of server {n}"),
                    format!("{}.5 KiB", n * 7),
                )
            })
            .collect();
        let shown = |columns| {
            let mut page = Page::new(Look {
                columns,
                ..Look::default()
            });
            page.pairs(&pairs);
            page.finish()
        };
        for (width, lines) in [(40, 20), (80, 10), (120, 7)] {
            let text = shown(width);
            assert_eq!(text.lines().count(), lines, "{text}");
            for line in text.lines() {
                assert!(columns(line) <= width, "{line}");
            }
            for (name, figure) in &pairs {
                assert!(text.contains(name) && text.contains(figure), "{text}");
            }
        }
        let first = "    switches of server 0   0.5 KiB   switches of server 10   70.5 KiB";
        assert_eq!(shown(80).lines().next(), Some(first));
    }
}
