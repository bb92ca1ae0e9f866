//! Curves over a quantity other than time.

use super::super::chart::{Compact, Curve, Curves};
use super::super::small_multiples::step;
use super::axis::Side;
use super::labels::axis_name;
use super::lines::path;
use super::scale::{Range, Scale, multiples};
use super::sheet::{Key, LABELS, RIGHT, Sheet, Swatch, Texts, colour, dashes, put};

/// Points of longer curves are not drawn as dots.
const DOTS_MAX: usize = 40;

/// The chart as a file.
pub(super) fn draw(texts: &Texts<'_>, curves: &Curves) -> String {
    let mut sheet = Sheet::new(texts, &keys(curves), (LABELS, RIGHT), None);
    let lines = || curves.lines.iter();
    let points = lines().flat_map(|line| pairs(line).map(|(_, y)| y));
    let spread = lines().flat_map(|line| spreads(line).map(|(_, _, high)| high));
    let values = points.chain(spread);
    let range = match curves.y.log {
        true => Range::logarithmic(values),
        false => Range::linear(values, curves.tail.then_some(100.0), &curves.y.unit),
    };
    let y = sheet.value_axis(&curves.y, &range, Side::Left);
    let x = x_axis(&mut sheet, curves);
    put!(sheet, "<g class=\"data\">\n");
    for line in &curves.lines {
        draw_curve(&mut sheet, line, curves.tail, &x, &y);
    }
    put!(sheet, "</g>\n");
    sheet.finish()
}

fn pairs(line: &Curve) -> impl Iterator<Item = (f64, f64)> {
    line.points
        .chunks_exact(2)
        .map(|pair| (pair[0].0, pair[1].0))
}

fn spreads(line: &Curve) -> impl Iterator<Item = (f64, f64, f64)> {
    let triples = line.spread.chunks_exact(3);
    triples.map(|triple: &[Compact]| (triple[0].0, triple[1].0, triple[2].0))
}

fn keys(curves: &Curves) -> Vec<Key> {
    if curves.lines.len() < 2 {
        return Vec::new();
    }
    let key = |line: &Curve| Key {
        name: line.name.clone(),
        swatch: Swatch::Line(stroke(line)),
    };
    curves.lines.iter().map(key).collect()
}

fn stroke(line: &Curve) -> String {
    format!(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}",
        colour(line.colour),
        dashes(line.dash)
    )
}

fn x_axis(sheet: &mut Sheet, curves: &Curves) -> Scale {
    let range = x_range(curves);
    if curves.ticks.is_empty() {
        return sheet.bottom_values(&curves.x, &range, false);
    }
    let scale = range.scale(sheet.area.left, sheet.area.right);
    let ticks = curves.ticks.iter().filter(|(at, _)| scale.has(at.0));
    let labels = ticks.map(|(at, name)| (scale.at(at.0), name.clone()));
    sheet.bottom_axis(&axis_name(&curves.x), &labels.collect::<Vec<_>>(), false);
    scale
}

/// With room before the first and after the last point, as `curveExtent` in `assets/curves.js`.
fn x_range(curves: &Curves) -> Range {
    let all = || {
        let lines = curves.lines.iter();
        lines
            .flat_map(|line| pairs(line).map(|(x, _)| x))
            .filter(|x| x.is_finite())
    };
    if curves.tail {
        return Range::logarithmic(all());
    }
    let (low, high) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(f64::MIN, f64::max),
    );
    let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    if curves.x.log && low > 0.0 {
        return Range::logarithmic_within(low / 1.25, high * 1.25);
    }
    let room = match high > low {
        true => (high - low) * 0.05,
        false => 1.0,
    };
    let (from, to) = (low - room, high + room);
    Range {
        from,
        to,
        log: false,
        ticks: multiples(step(to - from, 5.0), from, to),
    }
}

fn draw_curve(sheet: &mut Sheet, line: &Curve, steps: bool, x: &Scale, y: &Scale) {
    let paint = colour(line.colour);
    for (at, low, high) in
        spreads(line).filter(|(at, low, high)| x.has(*at) && y.has(*low) && y.has(*high))
    {
        let (at, low, high) = (x.at(at), y.at(low), y.at(high));
        let (left, right) = (
            (at - 4.0).max(sheet.area.left),
            (at + 4.0).min(sheet.area.right),
        );
        put!(
            sheet,
            "<path d=\"M{at:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}M{left:.1} \
                {high:.1}H{right:.1}\" fill=\"none\" stroke=\"{paint}\" stroke-width=\"1.5\" \
                stroke-opacity=\"0.7\"/>\n"
        );
    }
    let points = pairs(line).filter(|(at, value)| x.has(*at) && y.has(*value));
    let points: Vec<(f64, f64)> = points.map(|(at, value)| (x.at(at), y.at(value))).collect();
    let line_of = match steps {
        true => stepped(&points),
        false => points.clone(),
    };
    put!(sheet, "<path d=\"{}\" {}/>\n", path(&line_of), stroke(line));
    if !steps && points.len() <= DOTS_MAX {
        for (x, y) in &points {
            put!(
                sheet,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{paint}\"/>\n"
            );
        }
    }
}

/// A cumulative distribution keeps its value up to the next point.
fn stepped(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let corners = points
        .windows(2)
        .flat_map(|two| [two[0], (two[1].0, two[0].1)]);
    corners.chain(points.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_rise_at_their_points() {
        let points = [(0.0, 9.0), (4.0, 5.0), (8.0, 1.0)];
        assert_eq!(
            stepped(&points),
            [(0.0, 9.0), (4.0, 9.0), (4.0, 5.0), (8.0, 5.0), (8.0, 1.0)]
        );
        assert_eq!(stepped(&[]), []);
    }
}
