//! The frame of a chart: title, legend, plot area and source.

use std::fmt;

use super::super::markup::xml_text;
use super::labels::{fitted, width};

/// Writes formatted SVG to a sheet: a file of XML, for which `html!` is not made.
macro_rules! put {
    ($sheet:expr, $($arguments:tt)*) => { $sheet.put(format_args!($($arguments)*)) };
}
pub(super) use put;

pub(super) const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 400.0;
/// The distance of texts from the border.
const BORDER: f64 = 16.0;
/// Room on the left of the plot for labels.
pub(super) const LABELS: f64 = 64.0;
/// Room on the right of the plot if there is no axis.
pub(super) const RIGHT: f64 = 28.0;
/// The baselines of the title, of the line below it and, below that, the end of the heading.
const TITLE: f64 = 24.0;
const SUBTITLE: f64 = 41.0;
const HEADING: f64 = 46.0;
/// The height of a row of the legend.
const ROW: f64 = 18.0;
/// From the legend to the plot: the names of value axes.
const NAMES: f64 = 24.0;
/// Below the plot: labels, the name of the axis, and the source.
const FOOT: f64 = 62.0;
/// The rows of a legend in the usual height. More of them make the sheet higher.
const ROWS_USUAL: usize = 2;
pub(super) const LABEL_SIZE: f64 = 11.0;
const LEGEND_SIZE: f64 = 12.0;

pub(super) const INK: &str = "#171b20";
pub(super) const SOFT: &str = "#59626c";
pub(super) const LINE: &str = "#d9dddc";
pub(super) const GRID: &str = "#eceeed";
/// The colours of lines and bars, as in `assets/report.css`.
const PALETTE: [&str; 8] = [
    "#2f6db3", "#c8501e", "#1f8a4c", "#b8930a", "#2a9fbf", "#8e3f8f", "#7c858e", "#33414f",
];

/// A colour of the palette.
pub(super) fn colour(number: usize) -> &'static str {
    PALETTE[number % PALETTE.len()]
}

/// The attribute of a dash style, as in `assets/charts.js`.
pub(super) fn dashes(number: usize) -> &'static str {
    match number % 4 {
        0 => "",
        1 => " stroke-dasharray=\"7 4\"",
        2 => " stroke-dasharray=\"3 2\"",
        _ => " stroke-dasharray=\"9 3 2 3\"",
    }
}

/// The texts around a chart.
pub(super) struct Texts<'a> {
    pub(super) title: &'a str,
    pub(super) subtitle: &'a str,
    pub(super) about: &'a str,
    pub(super) source: &'a str,
}

/// An entry of the legend.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) swatch: Swatch,
}

/// The sample before a name in the legend.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Swatch {
    None,
    /// A line, with its attributes.
    Line(String),
    /// A vertical line, with its attributes.
    Upright(String),
    /// A filled area, with its attributes.
    Area(String),
    /// A row of colours.
    Shades(Vec<String>),
}

impl Swatch {
    fn width(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Line(_) => 24.0,
            Self::Upright(_) => 6.0,
            Self::Area(_) => 14.0,
            Self::Shades(colours) => 4.0 * colours.len() as f64,
        }
    }
}

/// The rectangle in which data is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// A drawing in progress.
pub(super) struct Sheet {
    out: String,
    pub(super) area: Area,
    height: f64,
    source: String,
}

impl Sheet {
    /// A sheet with texts and legend. `left` and `right` are the margins of the plot; without a
    /// height of the plot, the sheet has the usual height.
    pub(super) fn new(
        texts: &Texts<'_>,
        keys: &[Key],
        (left, right): (f64, f64),
        plot_height: Option<f64>,
    ) -> Self {
        let legend = Legend::of(keys);
        let top = HEADING + ROW * legend.rows as f64 + NAMES;
        let more = ROW * legend.rows.saturating_sub(ROWS_USUAL) as f64;
        let bottom = plot_height.map_or(HEIGHT + more - FOOT, |height| top + height);
        let mut sheet = Self {
            out: String::new(),
            area: Area {
                left,
                top,
                right: WIDTH - right,
                bottom,
            },
            height: bottom + FOOT,
            source: texts.source.to_owned(),
        };
        sheet.heading(texts);
        sheet.legend(&legend);
        let area = sheet.area;
        put!(
            sheet,
            "<rect class=\"plot\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                fill=\"none\"/>\n",
            area.left,
            area.top,
            area.right - area.left,
            area.bottom - area.top
        );
        sheet
    }

    /// Writes SVG. All text goes through [`xml_text`].
    pub(super) fn put(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.out, arguments);
    }

    fn heading(&mut self, texts: &Texts<'_>) {
        const TITLE_SIZE: f64 = 15.0;
        const SUBTITLE_SIZE: f64 = 11.5;
        let room = WIDTH - 2.0 * BORDER;
        let height = self.height;
        put!(
            self,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
                width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\" font-family=\"Helvetica, \
                Arial, Liberation Sans, DejaVu Sans, sans-serif\" fill=\"{INK}\">\n\
                <title>{}</title>\n<desc>{} Source: {}.</desc>\n\
                <rect width=\"{WIDTH}\" height=\"{height:.0}\" fill=\"#ffffff\"/>\n\
                <text x=\"{BORDER}\" y=\"{TITLE}\" font-size=\"{TITLE_SIZE}\" \
                font-weight=\"bold\">{}</text>\n\
                <text x=\"{BORDER}\" y=\"{SUBTITLE}\" font-size=\"{SUBTITLE_SIZE}\" \
                fill=\"{SOFT}\">{}</text>\n",
            xml_text(texts.title),
            xml_text(texts.about),
            xml_text(texts.source),
            // Bold letters are a tenth wider.
            xml_text(&fitted(texts.title, TITLE_SIZE * 1.1, room)),
            xml_text(&fitted(texts.subtitle, SUBTITLE_SIZE, room)),
        );
    }

    fn legend(&mut self, legend: &Legend<'_>) {
        for (key, name, x, row) in &legend.places {
            let middle = HEADING + ROW * (*row as f64) + ROW / 2.0;
            let (x, room) = (*x, key.swatch.width());
            match &key.swatch {
                Swatch::None => {}
                Swatch::Line(look) => put!(self, "<path d=\"M{x:.1} {middle}h{room}\" {look}/>"),
                Swatch::Upright(look) => {
                    put!(
                        self,
                        "<path d=\"M{:.1} {}v12\" {look}/>",
                        x + 3.0,
                        middle - 6.0
                    );
                }
                Swatch::Area(look) => put!(
                    self,
                    "<rect x=\"{x:.1}\" y=\"{}\" width=\"{room}\" height=\"10\" {look}/>",
                    middle - 5.0
                ),
                Swatch::Shades(colours) => {
                    for (number, shade) in colours.iter().enumerate() {
                        put!(
                            self,
                            "<rect x=\"{:.1}\" y=\"{}\" width=\"4.5\" height=\"10\" \
                                fill=\"{shade}\"/>",
                            x + 4.0 * number as f64,
                            middle - 5.0
                        );
                    }
                }
            }
            let gap = if room > 0.0 { Legend::GAP } else { 0.0 };
            put!(
                self,
                "<text x=\"{:.1}\" y=\"{}\" font-size=\"{LEGEND_SIZE}\">{}</text>\n",
                x + room + gap,
                middle + 4.0,
                xml_text(name)
            );
        }
    }

    /// A text in the size of labels.
    pub(super) fn label(&mut self, (x, y): (f64, f64), anchor: &str, colour: &str, text: &str) {
        put!(
            self,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{LABEL_SIZE}\" fill=\"{colour}\" \
                text-anchor=\"{anchor}\">{}</text>\n",
            xml_text(text)
        );
    }

    /// The end of the file.
    pub(super) fn finish(mut self) -> String {
        let room = WIDTH - 2.0 * BORDER;
        let version = env!("CARGO_PKG_VERSION");
        let mut source = format!("Source: {}. Dyno {version}", self.source);
        if width(&source, LABEL_SIZE) > room {
            source = fitted(&format!("Source: {}", self.source), LABEL_SIZE, room);
        }
        let y = self.height - 10.0;
        self.label((BORDER, y), "start", SOFT, &source);
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// The places of the legend's entries.
struct Legend<'a> {
    /// Each with its name as shown, its position and its row.
    places: Vec<(&'a Key, String, f64, usize)>,
    rows: usize,
}

impl<'a> Legend<'a> {
    /// Between a sample and its name.
    const GAP: f64 = 6.0;
    /// Between entries.
    const DISTANCE: f64 = 18.0;

    /// Entries of the same name are one.
    fn of(keys: &'a [Key]) -> Self {
        let room = WIDTH - 2.0 * BORDER;
        let mut places: Vec<(&Key, String, f64, usize)> = Vec::new();
        let (mut x, mut row) = (0.0, 0);
        for key in keys {
            if places.iter().any(|(known, ..)| known.name == key.name) {
                continue;
            }
            let before = key.swatch.width() + Self::GAP;
            let name = fitted(&key.name, LEGEND_SIZE, room - before);
            let needed = before + width(&name, LEGEND_SIZE);
            if x > 0.0 && x + needed > room {
                (x, row) = (0.0, row + 1);
            }
            places.push((key, name, BORDER + x, row));
            x += needed + Self::DISTANCE;
        }
        let rows = if places.is_empty() { 0 } else { row + 1 };
        Self { places, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_match_the_page() {
        let css = include_str!("../../../assets/report.css");
        let (light, _) = css.split_once(":root[data-theme=\"dark\"]").unwrap();
        for (number, colour) in PALETTE.iter().enumerate() {
            assert!(
                light.contains(&format!("--c{number}: {colour};")),
                "{colour}"
            );
        }
        for (name, colour) in [("ink", INK), ("soft", SOFT), ("line", LINE), ("grid", GRID)] {
            assert!(light.contains(&format!("--{name}: {colour};")), "{name}");
        }
    }

    #[test]
    fn a_legend_has_as_many_rows_as_its_names_need() {
        let key = |name: &str| Key {
            name: name.to_owned(),
            swatch: Swatch::Line(String::new()),
        };
        assert_eq!(Legend::of(&[]).rows, 0);
        let alike = [key("a"), key("a"), key("b")];
        let legend = Legend::of(&alike);
        assert_eq!((legend.rows, legend.places.len()), (1, 2));
        let long = [key(&"long ".repeat(20)), key(&"name ".repeat(60)), key("c")];
        let legend = Legend::of(&long);
        assert_eq!(legend.rows, 3);
        assert!(legend.places[1].1.ends_with('…'));
    }
}
