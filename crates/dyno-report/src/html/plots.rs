//! An experiment's own plots: seconds by level, lines in time, curves over a factor.

use super::chart::{Axis, Chart, Compact, Curve, Curves, Look, Time};
use super::page::{Caption, Page, source_note};
use super::several::spread;
use super::thin::{Keep, thin};

/// The most points of a line in time.
const POINTS_MAX: usize = 900;

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Its title.
    pub title: String,
    /// Its description.
    pub about: String,
    /// The source of its figures.
    pub source: String,
    /// The quantity, such as `throughput`.
    pub value: String,
    /// Its unit, as in a series.
    pub unit: String,
    /// The content.
    pub drawing: PlotDrawing,
}

/// The content of a plot.
#[derive(Clone, Debug)]
pub enum PlotDrawing {
    /// Box plots, optionally with each value as a dot.
    Groups {
        /// In display order.
        groups: Vec<PlotGroup>,
        /// Whether values are drawn as dots.
        dots: bool,
    },
    /// Lines in time; non-finite values interrupt them.
    Time(Vec<PlotLine>),
    /// Curves over a factor.
    Curves {
        /// The factor.
        x: String,
        /// Its levels: positions and names.
        ticks: Vec<(f64, String)>,
        /// With the range of trials around each point.
        lines: Vec<PlotLine>,
    },
}

/// Values that belong together.
#[derive(Clone, Debug)]
pub struct PlotGroup {
    /// Its name.
    pub name: String,
    /// A heading shared with its neighbours; may be empty.
    pub heading: String,
    /// The index of its colour.
    pub colour: usize,
    /// The values.
    pub values: Vec<f64>,
}

/// A line.
#[derive(Clone, Debug)]
pub struct PlotLine {
    /// Its name.
    pub name: String,
    /// The index of its colour.
    pub colour: usize,
    /// Positions and values.
    pub points: Vec<(f64, f64)>,
    /// Positions with lowest and highest values; may be empty.
    pub spread: Vec<(f64, f64, f64)>,
}

pub(super) fn write(page: &mut Page, plots: &[Plot]) {
    if plots.is_empty() {
        return;
    }
    page.common_section("plots", "Plots");
    for (number, plot) in plots.iter().enumerate() {
        draw(page, number, plot);
    }
    page.end_section();
}

fn draw(page: &mut Page, number: usize, plot: &Plot) {
    let mut source = plot.source.clone();
    let axis = Axis::new(&plot.value, &plot.unit);
    let chart = match &plot.drawing {
        PlotDrawing::Groups { groups, dots } => {
            let shapes = groups.iter().map(|group| {
                let mut shape =
                    spread::group(&group.name, &group.heading, group.colour, &group.values);
                if !dots {
                    shape.dots = Vec::new();
                }
                shape
            });
            Chart::Groups(super::chart::Groups {
                axis,
                groups: shapes.collect(),
            })
        }
        PlotDrawing::Time(lines) => {
            let ends = lines.iter().filter_map(|line| line.points.last());
            let run = page.add_overlay(ends.map(|(at_s, _)| *at_s).fold(0.0, f64::max));
            let mut drawn = Vec::new();
            for line in lines {
                let points = thin(&line.points, POINTS_MAX, Keep::Extremes);
                let note = source_note(&plot.source, &points, Keep::Extremes);
                if note.len() > source.len() {
                    source = note;
                }
                drawn.push(page.line(&line.name, 0, &points, Look::Line, line.colour));
            }
            Chart::Time(Time {
                run,
                axes: vec![axis],
                lines: drawn,
                slider: false,
            })
        }
        PlotDrawing::Curves { x, ticks, lines } => Chart::Curves(Curves {
            x: along(x, ticks),
            y: axis,
            ticks: ticks
                .iter()
                .map(|(at, name)| (Compact(*at), name.clone()))
                .collect(),
            lines: lines.iter().map(curve).collect(),
            tail: false,
        }),
    };
    let id = format!("plot-{}", number + 1);
    let caption = Caption {
        id: &id,
        title: &plot.title,
        about: &plot.about,
        source: &source,
        size: match plot.drawing {
            PlotDrawing::Groups { .. } => "",
            PlotDrawing::Time(_) | PlotDrawing::Curves { .. } => "tall",
        },
    };
    page.figure_with_id(id.clone(), &caption, chart);
}

/// The axis of a factor: logarithmic if its levels span several magnitudes.
fn along(name: &str, ticks: &[(f64, String)]) -> Axis {
    const MAGNITUDE: f64 = 8.0;
    let low = ticks
        .iter()
        .map(|(at, _)| *at)
        .fold(f64::INFINITY, f64::min);
    let high = ticks.iter().map(|(at, _)| *at).fold(0.0, f64::max);
    let mut axis = Axis::new(name, "count");
    axis.log = low > 0.0 && high / low >= MAGNITUDE;
    axis
}

fn curve(line: &PlotLine) -> Curve {
    let points = line.points.iter();
    let spread = line.spread.iter();
    Curve {
        name: line.name.clone(),
        colour: line.colour,
        dash: 0,
        points: points
            .flat_map(|(x, y)| [Compact(*x), Compact(*y)])
            .collect(),
        spread: spread
            .flat_map(|(x, low, high)| [Compact(*x), Compact(*low), Compact(*high)])
            .collect(),
    }
}
