//! Latencies over time: the darker a cell, the more operations took so long.

use dyno_core::units::human_seconds;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::{Look, put, wrapped};
use crate::heat::{BOUNDS_S, Column, ROWS, Strip};

/// Characters of a row's bound, with the space behind.
const LABEL_WIDTH: u16 = 8;
/// Shades from few to many.
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];
/// Their colours among the 256 of terminals: from blue to red.
const COLOURS: [u8; 4] = [31, 71, 178, 160];
/// Below so many lines there is nothing to see.
const HEIGHT_MIN: u16 = 4;

/// Draws the strip; answers the lines it took.
pub fn draw(buffer: &mut Buffer, area: Rect, strip: &Strip, look: &Look) -> u16 {
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
    // Neighbouring rows share a line where there are too few lines, and fast ones and slow ones
    // that nothing took are not shown.
    let (lowest, highest) = used_rows(strip);
    let rows = highest - lowest + 1;
    let per_line = rows.div_ceil(usize::from(area.height - 1));
    let lines = rows.div_ceil(per_line);
    let width = usize::from(area.width - LABEL_WIDTH);
    let columns: Vec<&Column> = strip.columns().rev().take(width).collect();
    let most = columns.iter().map(|column| column.iter().sum::<f64>());
    let most = most.fold(0.0, f64::max);
    for line in 0..lines {
        let from = lowest + line * per_line;
        let to = (from + per_line).min(ROWS);
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

/// What the last interval was like.
fn title(strip: &Strip) -> String {
    let of = |share| match strip.last_quantile(share) {
        Some(bound_s) => format!("≤ {}", human_seconds(bound_s)),
        None => "–".to_owned(),
    };
    format!("Latency over time, now: p50 {}  p99 {}", of(0.5), of(0.99))
}

/// The first and the last row that is to be seen.
fn used_rows(strip: &Strip) -> (usize, usize) {
    let is_used = |row: &usize| strip.columns().any(|column| column[*row] > 0.0);
    let lowest = (0..ROWS).find(is_used).unwrap_or(0);
    let highest = (0..ROWS).rev().find(is_used).unwrap_or(5);
    // A few rows around them, so that the picture does not jump with each slow operation.
    (
        lowest.saturating_sub(1).min(ROWS - 4),
        (highest + 1).clamp(3, ROWS - 1),
    )
}

/// A row by its upper bound.
fn label(row: usize) -> String {
    match BOUNDS_S.get(row) {
        Some(bound_s) if *bound_s < 1e-3 => format!("{:.0} us", bound_s * 1e6),
        Some(bound_s) if *bound_s < 1.0 => format!("{:.0} ms", bound_s * 1e3),
        Some(bound_s) => format!("{bound_s:.0} s"),
        None => "more".to_owned(),
    }
}

/// By the logarithm of the share of the fullest interval: one slow operation among thousands is
/// what is looked for.
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
