//! Latencies over time: the darker a cell, the more operations took that long.

use std::ops::Range;

use dyno_core::units::human_seconds;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::{Look, put, wrapped};
use crate::heat::{BOUNDS_S, Column, ROWS, Strip};

/// Characters of a row's bound, with the space after it.
const LABEL_WIDTH: u16 = 8;
/// Shades from few to many.
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];
/// Their colours among the 256 of terminals: from blue to red.
const COLOURS: [u8; 4] = [31, 71, 178, 160];
/// With fewer lines nothing is visible.
const HEIGHT_MIN: u16 = 4;

/// Draws the heat map; returns the lines used.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    strip: &Strip,
    coarse: bool,
    look: &Look,
) -> u16 {
    if let Some(why) = strip.why_absent() {
        let lines = wrapped(&format!("No latencies over time: {why}"), area.width);
        let used = (lines.len() as u16).min(area.height);
        for (y, line) in (area.y..).zip(lines.iter().take(used.into())) {
            put(buffer, area.x, y, area.width, line, look.quiet());
        }
        return used;
    }
    if area.height < HEIGHT_MIN || area.width < 2 * LABEL_WIDTH {
        return 0;
    }
    put(
        buffer,
        area.x,
        area.y,
        area.width,
        &title(strip),
        look.head(),
    );
    // With too few lines, neighbouring rows share one; unused fast and slow rows are not shown.
    let rows = used_rows(strip, coarse);
    let per_line = rows.len().div_ceil(usize::from(area.height - 1));
    let lines = rows.len().div_ceil(per_line.max(1));
    let width = usize::from(area.width - LABEL_WIDTH);
    let columns: Vec<&Column> = strip.columns().rev().take(width).collect();
    let most = columns.iter().map(|column| column.iter().sum::<f64>());
    let most = most.fold(0.0, f64::max);
    for (line, rows) in rows.chunks(per_line.max(1)).enumerate() {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            continue;
        };
        let (from, to) = (first.start, last.end);
        // The slowest on top.
        let y = area.y + 1 + (lines - 1 - line) as u16;
        let label = format!("{:>6}", label(to - 1));
        put(buffer, area.x, y, LABEL_WIDTH, &label, look.quiet());
        for (back, column) in columns.iter().enumerate() {
            let count: f64 = column[from..to].iter().sum();
            if let Some((shade, style)) = shade(count, most, look) {
                let x = area.right() - 1 - back as u16;
                put(buffer, x, y, 1, shade, style);
            }
        }
    }
    1 + lines as u16
}

/// The latencies of the last interval.
fn title(strip: &Strip) -> String {
    let of = |share| match strip.last_quantile(share) {
        Some(bound_s) => format!("≤ {}", human_seconds(bound_s)),
        None => "–".to_owned(),
    };
    format!("Latency over time, now: p50 {}  p99 {}", of(0.5), of(0.99))
}

/// The visible rows; for a coarse source a row is a whole decade, because the others would always
/// be empty.
fn used_rows(strip: &Strip, coarse: bool) -> Vec<Range<usize>> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    for row in 0..ROWS {
        // A decade ends with each second row, and the last row is everything above all bounds.
        if !coarse || row % 2 == 0 || row == ROWS - 1 {
            rows.push(rows.last().map_or(0, |last| last.end)..row + 1);
        }
    }
    let is_used = |rows: &Range<usize>| {
        let mut columns = strip.columns();
        columns.any(|column| column[rows.clone()].iter().any(|count| *count > 0.0))
    };
    let lowest = rows.iter().position(is_used).unwrap_or(0);
    let highest = rows.iter().rposition(is_used).unwrap_or(5);
    // A few rows around them, so that the picture does not jump with each slow operation.
    let last = (highest + 1).clamp(3, rows.len() - 1);
    let first = lowest.saturating_sub(1).min(rows.len() - 4);
    rows.drain(first..=last).collect()
}

/// A row's label: its upper bound.
fn label(row: usize) -> String {
    match BOUNDS_S.get(row) {
        Some(bound_s) if *bound_s < 1e-3 => format!("{:.0} us", bound_s * 1e6),
        Some(bound_s) if *bound_s < 1.0 => format!("{:.0} ms", bound_s * 1e3),
        Some(bound_s) => format!("{bound_s:.0} s"),
        None => "more".to_owned(),
    }
}

/// On a logarithmic scale of the share of the fullest interval: one slow operation among thousands
/// must be visible.
fn shade(count: f64, most: f64, look: &Look) -> Option<(&'static str, Style)> {
    if count <= 0.0 || most <= 0.0 {
        return None;
    }
    let share = count / most;
    let index = match share {
        s if s >= 0.3 => 3,
        s if s >= 0.03 => 2,
        s if s >= 0.003 => 1,
        _ => 0,
    };
    Some((SHADES[index], look.coloured(Color::Indexed(COLOURS[index]))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat::LatencySample;

    #[test]
    fn a_row_of_a_coarse_source_is_a_decade() {
        let mut strip = Strip::default();
        let mut column = Column::default();
        (column[2], column[4], column[6]) = (1.0, 1.0, 1.0);
        strip.add(&LatencySample::Columns(vec![column]));
        assert_eq!(used_rows(&strip, true), [0..1, 1..3, 3..5, 5..7, 7..9]);
        assert_eq!(used_rows(&strip, false).len(), 7);
        // Each row is included once.
        let mut all = Column::default();
        (all[0], all[ROWS - 1]) = (1.0, 1.0);
        strip.add(&LatencySample::Columns(vec![all]));
        for coarse in [true, false] {
            let sum: usize = used_rows(&strip, coarse).iter().map(Range::len).sum();
            assert_eq!(sum, ROWS);
            assert!(used_rows(&Strip::default(), coarse).len() >= 4);
        }
    }
}
