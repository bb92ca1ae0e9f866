//! Small charts side by side that need no script: bars, and lines in time.

use dyno_core::text::{shortened, trim_zeros};

use super::grids::Grids;
use super::markup::Text;
use super::page::{Page, put};
use super::thin::{Keep, thin};

/// The most visible points of a line.
const POINTS_MAX: usize = 600;
/// Number of colours in the style sheet.
pub(super) const COLOURS: usize = 8;

/// A small chart.
pub(crate) struct SmallMultiple {
    pub(crate) title: String,
    pub(crate) drawing: Drawing,
}

/// The content of a small chart.
pub(crate) enum Drawing {
    /// Bars from 0 on, below each other.
    Bars(Vec<Bar>),
    /// Lines in time.
    Lines(Lines),
}

/// A bar with its label.
pub(crate) struct Bar {
    /// The text before it.
    pub(crate) label: String,
    /// Its length; `None` if unknown.
    pub(crate) value: Option<f64>,
    /// The text after it.
    pub(crate) text: String,
    /// The index of its colour.
    pub(crate) colour: usize,
    /// Whether it is excluded.
    pub(crate) faint: bool,
}

/// Lines over a common axis of seconds.
pub(crate) struct Lines {
    /// The unit of the values, e.g. `rows/s`.
    pub(crate) unit: String,
    /// The end of the time axis.
    pub(crate) x_max: f64,
    /// The end of the value axis.
    pub(crate) y_max: f64,
    pub(crate) series: Vec<Series>,
}

/// A line.
pub(crate) struct Series {
    pub(crate) name: String,
    /// The index of its colour.
    pub(crate) colour: usize,
    /// Seconds and values, in time order.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Grids {
    /// A section of small charts; `legend` names colours by their indices.
    pub(crate) fn small_multiples(
        &mut self,
        (id, title, about): (&str, &str, &str),
        legend: &[String],
        small_multiples: &[SmallMultiple],
    ) {
        let page = self.page();
        put!(
            page,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2><div \
                class=\"panel\"><p class=\"source\">{}</p>",
            Text(title),
            Text(about)
        );
        page.entry(id, title);
        if legend.len() > 1 {
            put!(page, "<p class=\"keys\">");
            for (number, name) in legend.iter().enumerate() {
                let colour = number % COLOURS;
                put!(
                    page,
                    "<span><svg viewBox=\"0 0 10 10\" width=\"10\" height=\"10\" \
                        aria-hidden=\"true\"><rect class=\"f{colour}\" width=\"10\" \
                        height=\"10\"/></svg> {}</span> ",
                    Text(name)
                );
            }
            put!(page, "</p>");
        }
        put!(page, "<div class=\"multiples\">");
        for multiple in small_multiples {
            draw(page, multiple);
        }
        put!(page, "</div></div>");
        page.end_section();
    }
}

fn draw(page: &mut Page, multiple: &SmallMultiple) {
    put!(
        page,
        "<figure><figcaption>{}</figcaption>",
        Text(&multiple.title)
    );
    match &multiple.drawing {
        Drawing::Bars(bars) => draw_bars(page, &multiple.title, bars),
        Drawing::Lines(lines) => draw_lines(page, &multiple.title, lines),
    }
    put!(page, "</figure>");
}

fn draw_bars(page: &mut Page, title: &str, all: &[Bar]) {
    const ROW: usize = 22;
    const LEFT: f64 = 110.0;
    const LENGTH: f64 = 240.0;
    let longest = all.iter().filter_map(|bar| bar.value).fold(0.0, f64::max);
    let height = all.len() * ROW;
    put!(
        page,
        "<svg class=\"multiple\" viewBox=\"0 0 440 {height}\" role=\"img\" aria-label=\"{}\">",
        Text(title)
    );
    for (row, bar) in all.iter().enumerate() {
        let middle = row * ROW + ROW / 2 + 4;
        let top = row * ROW + 4;
        let share = bar.value.filter(|_| longest > 0.0).unwrap_or(0.0) / longest.max(1e-300);
        let length = (share * LENGTH).max(0.0);
        let faint = if bar.faint { " faint" } else { "" };
        put!(
            page,
            "<text x=\"{:.0}\" y=\"{middle}\" class=\"e\">{}</text><rect x=\"{LEFT}\" y=\"{top}\" \
                width=\"{length:.1}\" height=\"{}\" class=\"f{}{faint}\"/><text x=\"{:.1}\" \
                y=\"{middle}\">{}</text>",
            LEFT - 6.0,
            Text(shortened(&bar.label, 17)),
            ROW - 8,
            bar.colour % COLOURS,
            LEFT + length + 5.0,
            Text(&bar.text)
        );
    }
    put!(page, "</svg>");
}

fn draw_lines(page: &mut Page, title: &str, lines: &Lines) {
    const LEFT: f64 = 52.0;
    const TOP: f64 = 14.0;
    const WIDTH: f64 = 378.0;
    const HEIGHT: f64 = 112.0;
    let bottom = TOP + HEIGHT;
    let (x_step, y_step) = (step(lines.x_max, 5.0), step(lines.y_max, 3.0));
    let x_end = lines.x_max.max(1e-9);
    let y_end = ((lines.y_max / y_step).ceil() * y_step).max(1e-9);
    put!(
        page,
        "<svg class=\"multiple\" viewBox=\"0 0 440 146\" role=\"img\" aria-label=\"{}\"><text \
            x=\"{LEFT}\" y=\"9\">{}</text>",
        Text(title),
        Text(&lines.unit)
    );
    let mut y = 0.0;
    while y <= y_end * 1.001 {
        let at = bottom - y / y_end * HEIGHT;
        put!(
            page,
            "<path d=\"M{LEFT} {at:.1}h{WIDTH}\" class=\"g\"/><text x=\"{:.0}\" y=\"{:.1}\" \
                class=\"e\">{}</text>",
            LEFT - 5.0,
            at + 3.5,
            Text(tick(y))
        );
        y += y_step;
    }
    let mut x = 0.0;
    while x <= x_end * 1.001 {
        let at = LEFT + x / x_end * WIDTH;
        put!(
            page,
            "<path d=\"M{at:.1} {bottom}v3\" class=\"g\"/><text x=\"{at:.1}\" y=\"{:.0}\" \
                class=\"m\">{} s</text>",
            bottom + 15.0,
            Text(tick(x))
        );
        x += x_step;
    }
    for one in &lines.series {
        let thinned = thin(&one.points, POINTS_MAX, Keep::Extremes);
        let known = thinned
            .x
            .iter()
            .zip(&thinned.y)
            .filter(|(_, y)| y.is_finite());
        let places = known.map(|(x, y)| {
            let (x, y) = (LEFT + x / x_end * WIDTH, bottom - y / y_end * HEIGHT);
            format!("{x:.1},{y:.1}")
        });
        let places: Vec<String> = places.collect();
        put!(
            page,
            "<polyline points=\"{}\" class=\"l{}\"><title>{}</title></polyline>",
            places.join(" "),
            one.colour % COLOURS,
            Text(&one.name)
        );
    }
    put!(page, "</svg>");
}

/// A round step that divides a range into about `parts` parts.
pub(super) fn step(range: f64, parts: f64) -> f64 {
    if !(range.is_finite() && range > 0.0) {
        return 1.0;
    }
    let rough = range / parts;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let found = steps.iter().find(|step| **step * power >= rough * 0.999);
    found.copied().unwrap_or(10.0) * power
}

/// A round number, short.
fn tick(value: f64) -> String {
    match value {
        value if value >= 999_999.5 => format!("{}M", short(value / 1e6)),
        value if value >= 9_999.5 => format!("{}k", short(value / 1e3)),
        value => short(value),
    }
}

fn short(value: f64) -> String {
    trim_zeros(&format!("{value:.3}")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks() {
        assert_eq!(step(3.0, 3.0), 1.0);
        assert_eq!(step(23_817.0, 3.0), 10_000.0);
        assert_eq!(step(0.07, 5.0), 0.02);
        assert_eq!(step(0.0, 5.0), 1.0);
        let ticks = [0.0, 0.02, 7.5, 2500.0, 20_000.0, 1_500_000.0].map(tick);
        assert_eq!(ticks, ["0", "0.02", "7.5", "2500", "20k", "1.5M"]);
    }
}
