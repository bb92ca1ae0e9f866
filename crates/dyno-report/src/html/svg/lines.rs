//! Lines, areas and stacked areas over time.

use std::collections::BTreeMap;

use super::super::chart::{Line, Look, Time};
use super::super::data::{Data, RunData};
use super::axis::Side;
use super::marks;
use super::scale::{Range, Scale};
use super::sheet::{Key, LABELS, RIGHT, Sheet, Swatch, Texts, colour, dashes, put};

/// Lines of so few points have them as dots, too.
const FEW: usize = 3;
/// Lines of more points are thinner.
const MANY: usize = 1500;

/// A line in the visible part of the time.
struct Drawn<'a> {
    line: &'a Line,
    points: Vec<Point>,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at_s: f64,
    /// The sum of the stacked values below it.
    base: f64,
    /// Including the values below it; NaN if missing.
    top: f64,
}

/// The chart as a file.
pub(super) fn draw(texts: &Texts<'_>, time: &Time, data: &Data) -> String {
    let run = data.runs.get(time.run);
    let (from_s, to_s) = run.map_or((0.0, 1.0), |run| (run.from.0, run.to.0));
    let drawn = drawn(time, data, (from_s, to_s));
    let right = if time.axes.len() > 1 { LABELS } else { RIGHT };
    let mut sheet = Sheet::new(texts, &keys(time, run), (LABELS, right), None);
    let mut scales = Vec::new();
    for (number, axis) in time.axes.iter().enumerate() {
        let own = drawn.iter().filter(|drawn| drawn.line.axis == number);
        let values = own.flat_map(|drawn| drawn.points.iter().map(|point| point.top));
        let range = match axis.log {
            true => Range::logarithmic(values),
            false => Range::linear(values, axis.max, &axis.unit),
        };
        let side = if number == 0 { Side::Left } else { Side::Right };
        scales.push(sheet.value_axis(axis, &range, side));
    }
    let x = sheet.time_axis(from_s, to_s);
    if let Some(run) = run {
        marks::areas(&mut sheet, run, &x);
    }
    put!(sheet, "<g class=\"data\">\n");
    for drawn in &drawn {
        if let Some(y) = scales.get(drawn.line.axis) {
            draw_line(&mut sheet, drawn, &x, y);
        }
    }
    put!(sheet, "</g>\n");
    if let Some(run) = run {
        marks::lines(&mut sheet, run, &x);
    }
    sheet.finish()
}

/// The legend; none for a single line without marks.
fn keys(time: &Time, run: Option<&RunData>) -> Vec<Key> {
    let marks = run.map(marks::keys).unwrap_or_default();
    if time.lines.len() < 2 && marks.is_empty() {
        return Vec::new();
    }
    let lines = time.lines.iter().map(|line| {
        let paint = colour(line.colour);
        let swatch = match line.look {
            Look::Stack => Swatch::Area(format!("fill=\"{paint}\" fill-opacity=\"0.85\"")),
            Look::Line | Look::Area => Swatch::Line(stroke(line, 2.0)),
        };
        let name = line.name.clone();
        Key { name, swatch }
    });
    lines.chain(marks).collect()
}

fn stroke(line: &Line, width: f64) -> String {
    format!(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{}",
        colour(line.colour),
        dashes(line.dash)
    )
}

/// The lines with stacked values added up.
fn drawn<'a>(time: &'a Time, data: &Data, (from_s, to_s): (f64, f64)) -> Vec<Drawn<'a>> {
    let visible = (from_s * 1e3).round() as i64..=(to_s * 1e3).round() as i64;
    let mut sums: BTreeMap<i64, f64> = BTreeMap::new();
    let mut all = Vec::new();
    for line in &time.lines {
        let times = data.times.get(line.x).map_or(&[][..], Vec::as_slice);
        let points = times.iter().zip(&line.y);
        let points = points.filter(|(at_ms, _)| visible.contains(*at_ms));
        let points = points.map(|(at_ms, value)| {
            let sum = sums.entry(*at_ms).or_insert(0.0);
            let base = *sum;
            if matches!(line.look, Look::Stack) && value.0.is_finite() {
                *sum += value.0;
            }
            Point {
                at_s: *at_ms as f64 / 1e3,
                base,
                top: base + value.0,
            }
        });
        all.push(Drawn {
            points: points.collect(),
            line,
        });
    }
    all
}

fn draw_line(sheet: &mut Sheet, drawn: &Drawn<'_>, x: &Scale, y: &Scale) {
    let Drawn { line, points } = drawn;
    let paint = colour(line.colour);
    let width = if points.len() > MANY { 1.0 } else { 1.5 };
    // A missing value interrupts the line.
    let pieces = points.split(|point| !y.has(point.top));
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let top: Vec<(f64, f64)> = piece.iter().map(|p| (x.at(p.at_s), y.at(p.top))).collect();
        match line.look {
            Look::Stack => {
                let below = piece.iter().rev();
                let below = below.map(|p| (x.at(p.at_s), y.at(p.base)));
                let outline: Vec<(f64, f64)> = top.iter().copied().chain(below).collect();
                let edge = if piece.len() == 1 { paint } else { "none" };
                put!(
                    sheet,
                    "<path d=\"{}Z\" fill=\"{paint}\" fill-opacity=\"0.85\" stroke=\"{edge}\"/>\n",
                    path(&outline)
                );
                continue;
            }
            Look::Area => fill(sheet, &top, y.base(), paint),
            Look::Line => {}
        }
        if piece.len() > 1 {
            put!(
                sheet,
                "<path d=\"{}\" {}/>\n",
                path(&top),
                stroke(line, width)
            );
        }
        if piece.len() == 1 || points.len() <= FEW {
            let radius = if points.len() <= FEW { 2.5 } else { 1.2 };
            for (x, y) in &top {
                put!(
                    sheet,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{paint}\"/>\n"
                );
            }
        }
    }
}

/// The area between a line and the axis.
fn fill(sheet: &mut Sheet, top: &[(f64, f64)], base: f64, paint: &str) {
    let (Some(first), Some(last)) = (top.first(), top.last()) else {
        return;
    };
    put!(
        sheet,
        "<path d=\"{}L{:.1} {base:.1}L{:.1} {base:.1}Z\" fill=\"{paint}\" \
            fill-opacity=\"0.14\"/>\n",
        path(top),
        last.0,
        first.0
    );
}

/// The commands of a line through points.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let mut out = String::with_capacity(points.len() * 12);
    for (number, (x, y)) in points.iter().enumerate() {
        let command = if number == 0 { 'M' } else { 'L' };
        out.push_str(&format!("{command}{x:.1} {y:.1}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::chart::{Axis, Compact};
    use super::*;

    fn line(y: &[f64], look: Look) -> Line {
        Line {
            name: "a".to_owned(),
            axis: 0,
            x: 0,
            y: y.iter().copied().map(Compact).collect(),
            look,
            colour: 0,
            dash: 0,
        }
    }

    fn svg(lines: Vec<Line>) -> String {
        let time = Time {
            axes: vec![Axis::new("rate", "count/s")],
            lines,
            ..Time::default()
        };
        let data = Data {
            runs: vec![RunData::overlay(5.0)],
            times: vec![vec![-1000, 0, 1000, 2000, 3000, 4000, 5000]],
            ..Data::default()
        };
        let texts = Texts {
            title: "A chart",
            subtitle: "A run",
            about: "About it.",
            source: "somewhere",
        };
        draw(&texts, &time, &data)
    }

    #[test]
    fn a_small_chart_has_frame_axes_legend_and_lines() {
        let rates = [9.0, 10.0, 20.0, 30.0, 20.0, 25.0, 40.0];
        let mut other = line(&rates.map(|rate| rate / 2.0), Look::Area);
        (other.name, other.colour, other.dash) = ("b & c".to_owned(), 1, 1);
        let svg = svg(vec![line(&rates, Look::Line), other]);
        let version = concat!("Dyno ", env!("CARGO_PKG_VERSION"));
        insta::assert_snapshot!(svg.replace(version, "Dyno VERSION"));
    }

    #[test]
    fn missing_values_are_gaps() {
        let nan = f64::NAN;
        let svg = svg(vec![line(&[1.0, 1.0, 2.0, nan, 3.0, nan, 4.0], Look::Line)]);
        let (_, data) = svg.split_once("<g class=\"data\">").unwrap();
        let (data, _) = data.split_once("</g>").unwrap();
        // The first point is before the start of the chart; the last two have no neighbours.
        assert_eq!(data.matches("<path").count(), 1, "{data}");
        assert_eq!(data.matches('L').count(), 1, "{data}");
        assert_eq!(data.matches("<circle").count(), 2, "{data}");
    }

    #[test]
    fn stacked_values_add_up() {
        let nan = f64::NAN;
        let time = Time {
            lines: vec![
                line(&[0.0, 1.0, 2.0, nan, 4.0], Look::Stack),
                line(&[0.0, 10.0, nan, 30.0, 40.0], Look::Stack),
            ],
            ..Time::default()
        };
        let data = Data {
            times: vec![vec![0, 1000, 2000, 3000, 4000]],
            ..Data::default()
        };
        let drawn = drawn(&time, &data, (1.0, 4.0));
        let second: Vec<(f64, f64)> = drawn[1].points.iter().map(|p| (p.base, p.top)).collect();
        assert_eq!(
            (second[0], second[2], second[3]),
            ((1.0, 11.0), (0.0, 30.0), (4.0, 44.0))
        );
        assert!(second[1].1.is_nan());
    }
}
