//! Small charts side by side that need no script: bars, and lines in time.

use std::iter;

use dyno_core::text::{shortened, trim_zeros};
use maud::{Markup, html};

use super::grids::Grids;
use super::markup::Text;
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
        page.common_section(id, title);
        page.put(html! {
            div class="panel" {
                p class="source" { (Text(about)) }
                @if legend.len() > 1 {
                    p class="keys" { @for (number, name) in legend.iter().enumerate() {
                        span {
                            svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" {
                                rect class={ "f" (number % COLOURS) } width="10" height="10" {}
                            }
                            " " (Text(name))
                        }
                        " "
                    } }
                }
                div class="multiples" {
                    @for multiple in small_multiples {
                        figure {
                            figcaption { (Text(&multiple.title)) }
                            @match &multiple.drawing {
                                Drawing::Bars(bars) => { (draw_bars(&multiple.title, bars)) }
                                Drawing::Lines(lines) => { (draw_lines(&multiple.title, lines)) }
                            }
                        }
                    }
                }
            }
        });
        page.end_section();
    }
}

/// A coordinate in an SVG drawing.
fn at(value: f64) -> String {
    trim_zeros(&format!("{value:.1}")).to_owned()
}

fn draw_bars(title: &str, all: &[Bar]) -> Markup {
    const ROW: usize = 22;
    const LEFT: f64 = 110.0;
    const LENGTH: f64 = 240.0;
    let longest = all.iter().filter_map(|bar| bar.value).fold(0.0, f64::max);
    let length = |bar: &Bar| {
        let share = bar.value.filter(|_| longest > 0.0).unwrap_or(0.0) / longest.max(1e-300);
        (share * LENGTH).max(0.0)
    };
    html! {
        svg class="multiple" viewBox={ "0 0 440 " (all.len() * ROW) } role="img"
            aria-label=(Text(title)) {
            @for (row, bar) in all.iter().enumerate() {
                @let middle = row * ROW + ROW / 2 + 4;
                text x=(at(LEFT - 6.0)) y=(middle) class="e" { (Text(shortened(&bar.label, 17))) }
                rect x=(at(LEFT)) y=(row * ROW + 4) width=(at(length(bar))) height=(ROW - 8)
                    class={ "f" (bar.colour % COLOURS) @if bar.faint { " faint" } } {}
                text x=(at(LEFT + length(bar) + 5.0)) y=(middle) { (Text(&bar.text)) }
            }
        }
    }
}

fn draw_lines(title: &str, lines: &Lines) -> Markup {
    const LEFT: f64 = 52.0;
    const TOP: f64 = 14.0;
    const WIDTH: f64 = 378.0;
    const HEIGHT: f64 = 112.0;
    let bottom = TOP + HEIGHT;
    let (x_step, y_step) = (step(lines.x_max, 5.0), step(lines.y_max, 3.0));
    let x_end = lines.x_max.max(1e-9);
    let y_end = ((lines.y_max / y_step).ceil() * y_step).max(1e-9);
    let x_of = |x: f64| LEFT + x / x_end * WIDTH;
    let y_of = |y: f64| bottom - y / y_end * HEIGHT;
    html! {
        svg class="multiple" viewBox="0 0 440 146" role="img" aria-label=(Text(title)) {
            text x=(at(LEFT)) y="9" { (Text(&lines.unit)) }
            @for y in ticks(y_step, y_end) {
                path d={ "M" (at(LEFT)) " " (at(y_of(y))) "h" (at(WIDTH)) } class="g" {}
                text x=(at(LEFT - 5.0)) y=(at(y_of(y) + 3.5)) class="e" { (Text(tick(y))) }
            }
            @for x in ticks(x_step, x_end) {
                path d={ "M" (at(x_of(x))) " " (at(bottom)) "v3" } class="g" {}
                text x=(at(x_of(x))) y=(at(bottom + 15.0)) class="m" { (Text(tick(x))) " s" }
            }
            @for one in &lines.series {
                polyline points=(places(one, x_of, y_of)) class={ "l" (one.colour % COLOURS) } {
                    title { (Text(&one.name)) }
                }
            }
        }
    }
}

/// The values that an axis names.
fn ticks(step: f64, end: f64) -> impl Iterator<Item = f64> {
    let all = iter::successors(Some(0.0), move |at| Some(at + step));
    all.take_while(move |at| *at <= end * 1.001)
}

/// The points of a line.
fn places(one: &Series, x_of: impl Fn(f64) -> f64, y_of: impl Fn(f64) -> f64) -> String {
    let thinned = thin(&one.points, POINTS_MAX, Keep::Extremes);
    let points = thinned.x.iter().zip(&thinned.y);
    let known = points.filter(|(_, y)| y.is_finite());
    let places = known.map(|(x, y)| format!("{:.1},{:.1}", x_of(*x), y_of(*y)));
    places.collect::<Vec<_>>().join(" ")
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
