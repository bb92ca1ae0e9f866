//! Tables as text: for a terminal, and tab-separated for other programs.

use dyno_core::visible::is_hidden;

use super::{Cell, Mark, Table};
use crate::terminal::{Ink, Look, columns, cut, wrap};

/// Blanks between columns.
const GAP: usize = 2;

/// The tables, each after an empty line. A table wider than the terminal is continued below with
/// the labels repeated.
pub fn terminal(tables: &[Table], look: &Look) -> String {
    let mut out = String::new();
    for table in tables {
        out.push('\n');
        line(&mut out, look, Ink::Strong, &table.title);
        let about = wrap(&table.about, look.width());
        for part in about.into_iter().filter(|part| !part.is_empty()) {
            line(&mut out, look, Ink::Faint, &part);
        }
        grid(&mut out, table, look);
    }
    out
}

fn line(out: &mut String, look: &Look, ink: Ink, text: &str) {
    out.push_str(&look.paint(ink, &look.clean(text)));
    out.push('\n');
}

fn shown(cell: &Cell) -> String {
    match cell.mark {
        Mark::Missed => format!("({})", cell.text),
        _ => cell.text.clone(),
    }
}

fn ink(cell: &Cell) -> Ink {
    match cell.mark {
        Mark::None => Ink::Plain,
        Mark::High => Ink::Good,
        Mark::Low => Ink::Error,
        Mark::Missed => Ink::Faint,
        Mark::Above => Ink::Notable,
        Mark::Below => Ink::Warning,
    }
}

fn grid(out: &mut String, table: &Table, look: &Look) {
    let labels = table.rows.iter().map(|(label, _)| columns(label));
    let head = table.columns.first().map_or(0, |head| columns(head));
    let label_width = labels.max().unwrap_or(0).max(head).min(look.width() / 2);
    let widths: Vec<usize> = (table.columns.iter().skip(1).enumerate())
        .map(|(index, head)| {
            let cells = table.rows.iter().filter_map(|(_, cells)| cells.get(index));
            let widest = cells.map(|cell| columns(&shown(cell))).max().unwrap_or(0);
            widest.max(columns(head))
        })
        .collect();
    let mut from = 0;
    while from < widths.len() {
        let mut room = look.width().saturating_sub(label_width);
        let mut to = from;
        while let Some(width) = widths.get(to)
            && (to == from || room >= width + GAP)
        {
            room = room.saturating_sub(width + GAP);
            to += 1;
        }
        let label = table.columns.first().map_or("", String::as_str);
        out.push_str(&look.paint(Ink::Faint, &padded(&look.clean(label), label_width)));
        for (head, width) in table
            .columns
            .iter()
            .skip(1)
            .zip(&widths)
            .take(to)
            .skip(from)
        {
            out.push_str(&look.paint(Ink::Faint, &right(head, width + GAP)));
        }
        out.push('\n');
        for (row, (label, cells)) in table.rows.iter().enumerate() {
            if table.breaks.contains(&row) {
                out.push('\n');
            }
            out.push_str(&padded(&look.clean(label), label_width));
            for (cell, width) in cells.iter().zip(&widths).take(to).skip(from) {
                let text = look.clean(&shown(cell));
                let pad = " ".repeat((width + GAP).saturating_sub(columns(&text)));
                out.push_str(&pad);
                out.push_str(&look.paint(ink(cell), &text));
            }
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
        }
        from = to;
    }
}

fn padded(text: &str, width: usize) -> String {
    let cut = cut(text, width);
    let pad = width.saturating_sub(columns(&cut));
    cut + &" ".repeat(pad)
}

fn right(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(columns(text))) + text
}

/// The tables, tab-separated with full precision; each has its title on a line before it and an
/// empty line after it. Missing figures are empty; an incomparable figure is followed by a blank
/// and `missed`.
pub fn tsv(tables: &[Table]) -> String {
    // A tab ends a field and a line end ends a row; readers treat several characters as line ends.
    let plain = |text: &str| text.replace(is_hidden, " ");
    let mut out = String::new();
    for table in tables {
        out += &format!("# {}\n", plain(&table.title));
        let heads: Vec<String> = table.columns.iter().map(|head| plain(head)).collect();
        out += &heads.join("\t");
        out.push('\n');
        for (label, cells) in &table.rows {
            out += &plain(label);
            for cell in cells {
                out.push('\t');
                if let Some(value) = cell.value {
                    out += &value.to_string();
                }
                if cell.mark == Mark::Missed {
                    out += " missed";
                }
            }
            out.push('\n');
        }
        out.push('\n');
    }
    out
}
