//! The histogram of a whole run, with its percentiles and modes.

use super::super::chart::{Axis, Distribution};
use super::super::markup::xml_text;
use super::axis::Side;
use super::labels::{fitted, width};
use super::scale::{Range, Scale};
use super::sheet::{INK, Key, LABEL_SIZE, LABELS, RIGHT, SOFT, Sheet, Swatch, Texts, colour, put};

/// The height of a row of labels within the plot.
const ROW: f64 = 15.0;
/// The longest label of a line.
const LABEL_MAX: f64 = 200.0;

/// A bar in milliseconds.
struct Bar {
    from: f64,
    to: f64,
    count: f64,
}

/// The chart as a file.
pub(super) fn draw(texts: &Texts<'_>, chart: &Distribution) -> String {
    let bars: Vec<Bar> = (chart.logarithmic.chunks_exact(3))
        .map(|triple| Bar {
            from: triple[0].0,
            to: triple[1].0,
            count: triple[2].0,
        })
        .collect();
    let mut sheet = Sheet::new(texts, &keys(chart), (LABELS, RIGHT), None);
    let counts = bars.iter().map(|bar| bar.count);
    let range = Range::linear(counts, None, "count");
    let events = Axis::new("events in each bucket", "count");
    let y = sheet.value_axis(&events, &range, Side::Left);
    let (from, to) = extent(&bars);
    let range = Range::logarithmic_within(from, to);
    let x = sheet.bottom_values(&Axis::new("latency", "ms"), &range, false);
    let paint = colour(0);
    put!(
        sheet,
        "<g class=\"data\" fill=\"{paint}\" shape-rendering=\"crispEdges\">\n"
    );
    for bar in bars.iter().filter(|bar| bar.count.is_finite()) {
        let (left, right) = (x.at(bar.from), x.at(bar.to));
        let (top, bottom) = (y.at(bar.count), y.base());
        put!(
            sheet,
            "<path d=\"M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}Z\"/>\n"
        );
    }
    put!(sheet, "</g>\n");
    let within = |ms: f64| ms.is_finite() && ms >= from && ms <= to;
    let percentiles = chart.percentiles.iter();
    let percentiles = percentiles.map(|(name, at)| (at.0, name.as_str(), false));
    let modes = chart.modes.iter();
    let modes = modes.map(|mode| (mode.at_ms.0, mode.name.as_str(), true));
    let mut uprights = Uprights::default();
    for (at_ms, name, is_mode) in percentiles.chain(modes).filter(|(ms, ..)| within(*ms)) {
        uprights.draw(&mut sheet, &x, (at_ms, name, is_mode));
    }
    uprights.label(&mut sheet);
    sheet.finish()
}

/// The ends of the axis, both above zero: a log's first bucket may begin at zero.
fn extent(bars: &[Bar]) -> (f64, f64) {
    let to = bars.iter().map(|bar| bar.to).fold(0.0, f64::max);
    let bounds = bars.iter().flat_map(|bar| [bar.from, bar.to]);
    let lowest = bounds
        .filter(|bound| *bound > 0.0)
        .fold(f64::INFINITY, f64::min);
    let from = match bars.first() {
        Some(bar) if bar.from <= 0.0 => lowest / 2.0,
        _ => lowest,
    };
    match from.is_finite() && to > from {
        true => (from, to),
        false => (1.0, 10.0),
    }
}

fn look(is_mode: bool) -> String {
    match is_mode {
        true => format!(
            "fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"",
            colour(1)
        ),
        false => format!("fill=\"none\" stroke=\"{SOFT}\" stroke-dasharray=\"4 3\""),
    }
}

fn keys(chart: &Distribution) -> Vec<Key> {
    let key = |name: &str, swatch| Key {
        name: name.to_owned(),
        swatch,
    };
    let events = Swatch::Area(format!("fill=\"{}\"", colour(0)));
    let mut keys = vec![key("events", events)];
    if !chart.percentiles.is_empty() {
        keys.push(key("percentile", Swatch::Upright(look(false))));
    }
    if !chart.modes.is_empty() {
        let name = "mode, with its share of the events";
        keys.push(key(name, Swatch::Upright(look(true))));
    }
    keys
}

/// Labelled vertical lines. Labels that would overlap are below each other.
#[derive(Default)]
struct Uprights {
    /// The row, the ends and the text of each label.
    labels: Vec<(usize, f64, f64, String)>,
}

impl Uprights {
    fn draw(&mut self, sheet: &mut Sheet, x: &Scale, (ms, name, is_mode): (f64, &str, bool)) {
        const GAP: f64 = 4.0;
        let area = sheet.area;
        let x = x.at(ms);
        put!(
            sheet,
            "<path d=\"M{x:.1} {:.1}V{:.1}\" {}/>\n",
            area.top,
            area.bottom,
            look(is_mode)
        );
        let text = fitted(name, LABEL_SIZE, LABEL_MAX);
        let room = width(&text, LABEL_SIZE);
        let from = match x + GAP + room > area.right {
            true => x - GAP - room,
            false => x + GAP,
        };
        let to = from + room;
        let overlaps = |row: usize| {
            let mut known = self.labels.iter();
            known
                .any(|(other, low, high, _)| *other == row && *low < to + GAP && *high > from - GAP)
        };
        let row = (0..self.labels.len()).find(|row| !overlaps(*row));
        let row = row.unwrap_or(self.labels.len());
        self.labels.push((row, from, to, text));
    }

    /// Writes the labels above all lines.
    fn label(&self, sheet: &mut Sheet) {
        let top = sheet.area.top;
        for (row, from, to, text) in &self.labels {
            let y = top + ROW * *row as f64;
            put!(
                sheet,
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{ROW}\" \
                    fill=\"#ffffff\" fill-opacity=\"0.8\"/><text x=\"{from:.1}\" y=\"{:.1}\" \
                    font-size=\"{LABEL_SIZE}\" fill=\"{INK}\">{}</text>\n",
                from - 2.0,
                to - from + 4.0,
                y + 11.0,
                xml_text(text)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_from_zero_has_a_place_on_a_logarithmic_axis() {
        let bar = |from, to| Bar {
            from,
            to,
            count: 1.0,
        };
        assert_eq!(extent(&[bar(0.0, 1.0), bar(1.0, 8.0)]), (0.5, 8.0));
        assert_eq!(extent(&[bar(2.0, 4.0)]), (2.0, 4.0));
        assert_eq!(extent(&[bar(3.0, 3.0)]), (1.0, 10.0));
        assert_eq!(extent(&[]), (1.0, 10.0));
    }
}
