//! Latencies over time as a heat map.

use super::super::chart::{Axis, Compact, Heat};
use super::super::data::Data;
use super::super::figures;
use super::axis::Side;
use super::scale::Range;
use super::sheet::{Key, LABELS, RIGHT, Sheet, Swatch, Texts, put};

/// The colours of few and of many operations, as in `assets/shapes.js`.
const SHADES: [[u8; 3]; 6] = [
    [0xe9, 0xed, 0xf2],
    [0xbc, 0xd0, 0xe6],
    [0x7f, 0xa6, 0xd0],
    [0x43, 0x79, 0xb5],
    [0x1f, 0x4e, 0x8c],
    [0x0b, 0x26, 0x50],
];
/// Distinct colours: all cells of a colour are one path, which keeps the file small.
const STEPS: usize = 32;

/// A cell with its range of times and latencies.
struct Cell {
    from_s: f64,
    to_s: f64,
    low_ms: f64,
    high_ms: f64,
    per_s: f64,
}

/// The chart as a file.
pub(super) fn draw(texts: &Texts<'_>, heat: &Heat, data: &Data) -> String {
    let cells = cells(heat);
    let rates = || cells.iter().map(|cell| cell.per_s);
    let low = rates().fold(f64::INFINITY, f64::min);
    let high = rates().fold(0.0, f64::max);
    let mut sheet = Sheet::new(texts, &keys(low, high), (LABELS, RIGHT), None);
    let bound = |row: Option<&Compact>| row.map_or(1.0, |bound| bound.0);
    let range = Range::logarithmic_within(bound(heat.rows.first()), bound(heat.rows.last()));
    let y = sheet.value_axis(&Axis::new("latency", "ms"), &range, Side::Left);
    let run = data.runs.get(heat.run);
    let (from_s, to_s) = run.map_or((0.0, 1.0), |run| (run.from.0, run.to.0));
    let x = sheet.time_axis(from_s, to_s);
    let mut paths = vec![String::new(); STEPS];
    for cell in &cells {
        let share = (cell.per_s / low).ln() / (high / low).ln().max(1e-9);
        let step = (share.clamp(0.0, 1.0) * (STEPS - 1) as f64).round() as usize;
        let (left, right) = (x.at(cell.from_s), x.at(cell.to_s));
        let (top, bottom) = (y.at(cell.high_ms), y.at(cell.low_ms));
        paths[step].push_str(&format!(
            "M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}Z"
        ));
    }
    // Without smooth edges, neighbours have no gaps between them.
    put!(sheet, "<g class=\"data\" shape-rendering=\"crispEdges\">\n");
    for (step, path) in paths
        .iter()
        .enumerate()
        .filter(|(_, path)| !path.is_empty())
    {
        put!(sheet, "<path d=\"{path}\" fill=\"{}\"/>\n", shade(step));
    }
    put!(sheet, "</g>\n");
    sheet.finish()
}

fn keys(low: f64, high: f64) -> Vec<Key> {
    let rate = |per_s| figures::value(per_s, "count/s");
    vec![
        Key {
            name: format!("operations: {}", rate(low)),
            swatch: Swatch::None,
        },
        Key {
            name: rate(high),
            swatch: Swatch::Shades((0..STEPS).map(shade).collect()),
        },
    ]
}

fn cells(heat: &Heat) -> Vec<Cell> {
    let cell = |triple: &[Compact]| {
        let [column, row, per_s] = triple else {
            return None;
        };
        let (column, row) = (column.0 as usize, row.0 as usize);
        let (from, to) = heat.columns.get(column)?;
        Some(Cell {
            from_s: from.0,
            to_s: to.0,
            low_ms: heat.rows.get(row)?.0,
            high_ms: heat.rows.get(row + 1)?.0,
            per_s: per_s.0,
        })
    };
    let cells = heat.cells.chunks_exact(3).filter_map(cell);
    cells
        .filter(|cell| cell.per_s.is_finite() && cell.per_s > 0.0)
        .collect()
}

/// The colour of a step, between the nearest two of [`SHADES`].
fn shade(step: usize) -> String {
    let at = step as f64 / (STEPS - 1) as f64 * (SHADES.len() - 1) as f64;
    let first = (at as usize).min(SHADES.len() - 2);
    let share = at - first as f64;
    let mut out = "#".to_owned();
    for (from, to) in SHADES[first].iter().zip(SHADES[first + 1]) {
        let (from, to) = (f64::from(*from), f64::from(to));
        out.push_str(&format!(
            "{:02x}",
            (from + (to - from) * share).round() as u8
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_the_first_to_the_last_colour_of_the_page() {
        let script = include_str!("../../../assets/shapes.js");
        let (light, _) = script.split_once("dark:").unwrap();
        for [red, green, blue] in SHADES {
            let colour = format!("'#{red:02x}{green:02x}{blue:02x}'");
            assert!(light.contains(&colour), "{colour}");
        }
        assert_eq!(
            (shade(0).as_str(), shade(STEPS - 1).as_str()),
            ("#e9edf2", "#0b2650")
        );
    }
}
