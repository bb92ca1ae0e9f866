//! What a chart shows, as the page's script reads it. How it looks is for the script to say.

use serde::{Serialize, Serializer};

use super::figures;

/// A chart.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Chart {
    /// Lines in time.
    Time(Time),
    /// Latencies in time as a heat map.
    Heat(Choice<Heat>),
    /// A histogram.
    Distribution(Choice<Distribution>),
    /// Curves over something else than time.
    Curves(Curves),
    /// Box plots with every sample as a dot, one below the other.
    Groups(Groups),
}

impl Chart {
    /// What is to be said of lines in time that never move, instead of showing them: no news.
    pub(super) fn quiet(&self) -> Option<String> {
        let Self::Time(time) = self else {
            return None;
        };
        let mut told: Vec<String> = Vec::new();
        for line in &time.lines {
            let mut known = line
                .y
                .iter()
                .map(|value| value.0)
                .filter(|value| value.is_finite());
            let first = known.next();
            if known.any(|value| Some(value) != first) {
                return None;
            }
            let unit = time
                .axes
                .get(line.axis)
                .map_or("", |axis| axis.unit.as_str());
            let value = first.map_or("nothing".to_owned(), |first| figures::value(first, unit));
            if !told.contains(&value) {
                told.push(value);
            }
        }
        match told.as_slice() {
            // None yet: the reader picks.
            [] => None,
            // A single point is no line.
            _ if time.lines.iter().all(|line| line.y.len() < 2) => None,
            [all] => Some(format!("{all} throughout")),
            several => Some(format!("{} throughout", several.join(", "))),
        }
    }
}

/// One of several that the reader picks from, the first at first.
#[derive(Serialize)]
pub(super) struct Choice<T> {
    /// With their names.
    pub(super) of: Vec<(String, T)>,
}

/// Lines in time, over the whole run.
#[derive(Default, Serialize)]
pub(super) struct Time {
    /// Which run's marks and extent it has.
    pub(super) run: usize,
    /// The left and perhaps the right axis.
    pub(super) axes: Vec<Axis>,
    /// The lines.
    pub(super) lines: Vec<Line>,
    /// Whether it has a slider to choose a part of the time.
    pub(super) slider: bool,
}

/// A value axis.
#[derive(Serialize)]
pub(super) struct Axis {
    /// What it measures.
    pub(super) name: String,
    /// In which unit, as in `SeriesKey::unit`.
    pub(super) unit: String,
    /// Where it ends, if that is known.
    pub(super) max: Option<f64>,
    /// Whether it is logarithmic.
    pub(super) log: bool,
}

impl Axis {
    pub(super) fn new(name: &str, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            max: None,
            log: false,
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Look {
    Line,
    Area,
    Stack,
}

/// One line.
#[derive(Serialize)]
pub(super) struct Line {
    /// In the legend.
    pub(super) name: String,
    /// The number of its axis.
    pub(super) axis: usize,
    /// The number of its times in the page's pool.
    pub(super) x: usize,
    /// Its values.
    pub(super) y: Vec<Compact>,
    /// How it is drawn.
    pub(super) look: Look,
    /// The number of its colour in the palette.
    pub(super) colour: usize,
    /// How it is dashed: 0 is not at all.
    pub(super) dash: usize,
}

/// Latencies in time: how many fell into which row in which column.
#[derive(Serialize)]
pub(super) struct Heat {
    /// Which run.
    pub(super) run: usize,
    /// The bounds of columns: start and end of each, in seconds.
    pub(super) columns: Vec<(Compact, Compact)>,
    /// The bounds of rows in milliseconds, one more than rows.
    pub(super) rows: Vec<Compact>,
    /// Column, row, operations per second; and again.
    pub(super) cells: Vec<Compact>,
}

/// A histogram over logarithmic and one over linear buckets.
#[derive(Serialize)]
pub(super) struct Distribution {
    /// From, to (ms), count; and again.
    pub(super) logarithmic: Vec<Compact>,
    /// From, to (ms), count; and again. Ends where few are left.
    pub(super) linear: Vec<Compact>,
    /// The modes.
    pub(super) modes: Vec<Mode>,
    /// Percentiles: name and milliseconds.
    pub(super) percentiles: Vec<(String, Compact)>,
}

/// A mode of a distribution.
#[derive(Serialize)]
pub(super) struct Mode {
    pub(super) name: String,
    pub(super) at_ms: Compact,
    pub(super) from_ms: Compact,
    pub(super) to_ms: Compact,
}

/// Curves over a number.
#[derive(Serialize)]
pub(super) struct Curves {
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Where the axis is labelled, and how; empty where that is for the script to choose.
    pub(super) ticks: Vec<(Compact, String)>,
    pub(super) lines: Vec<Curve>,
    /// Whether they are shares in percent whose tail can be looked at apart.
    pub(super) tail: bool,
}

/// One of them.
#[derive(Serialize)]
pub(super) struct Curve {
    pub(super) name: String,
    /// The number of its colour.
    pub(super) colour: usize,
    /// How it is dashed: 0 is not at all.
    pub(super) dash: usize,
    /// x, y; and again.
    pub(super) points: Vec<Compact>,
    /// x, low, high; and again: how far values reach around a point.
    pub(super) spread: Vec<Compact>,
}

/// Box plots with dots.
#[derive(Serialize)]
pub(super) struct Groups {
    pub(super) axis: Axis,
    pub(super) groups: Vec<Group>,
}

/// One of them.
#[derive(Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    /// What it and its neighbours have in common; perhaps empty.
    pub(super) heading: String,
    /// The number of its colour.
    pub(super) colour: usize,
    /// Lower whisker, lower quartile, median, upper quartile, upper whisker.
    pub(super) five: [Compact; 5],
    pub(super) dots: Vec<Compact>,
}

/// A number with five significant digits, written as short as JSON allows; no number is `null`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compact(pub(super) f64);

impl Serialize for Compact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        const WHOLE_MAX: f64 = 9_007_199_254_740_992.0; // 2^53
        if !self.0.is_finite() {
            return to.serialize_none();
        }
        let value = rounded(self.0);
        if value.fract() == 0.0 && value.abs() < WHOLE_MAX {
            to.serialize_i64(value as i64)
        } else {
            to.serialize_f64(value)
        }
    }
}

/// Five significant digits, but never fewer than all before the point of a number below a million.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (4 - magnitude).max(if magnitude < 6 { 0 } else { -15 });
    if decimals >= 0 {
        let factor = 10_f64.powi(decimals.min(15));
        (value * factor).round() / factor
    } else {
        let factor = 10_f64.powi(-decimals);
        (value / factor).round() * factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[&[f64]]) -> Chart {
        let line = |values: &&[f64]| Line {
            name: String::new(),
            axis: 0,
            x: 0,
            y: values.iter().copied().map(Compact).collect(),
            look: Look::Line,
            colour: 0,
            dash: 0,
        };
        Chart::Time(Time {
            axes: vec![Axis::new("", "bytes")],
            lines: all.iter().map(line).collect(),
            ..Time::default()
        })
    }

    #[test]
    fn lines_that_never_move_are_told_instead() {
        let quiet = |all: &[&[f64]]| lines(all).quiet();
        assert_eq!(quiet(&[&[0.0, 0.0, f64::NAN]]).unwrap(), "0 B throughout");
        assert_eq!(
            quiet(&[&[2048.0; 2], &[0.0; 2]]).unwrap(),
            "2.00 KiB, 0 B throughout"
        );
        assert_eq!(quiet(&[&[f64::NAN; 3]]).unwrap(), "nothing throughout");
        assert_eq!(quiet(&[&[1.0, 1.0], &[1.0, 2.0]]), None);
        assert_eq!((quiet(&[]), quiet(&[&[1.0]])), (None, None));
    }

    #[test]
    fn numbers_are_short() {
        let text = |value| serde_json::to_string(&Compact(value)).unwrap();
        assert_eq!(text(0.0), "0");
        assert_eq!(text(1.0), "1");
        assert_eq!(text(0.000_123_456_78), "0.00012346");
        assert_eq!(text(12.345_678), "12.346");
        assert_eq!(text(-654_321.7), "-654322");
        assert_eq!(text(12_345_678_901.0), "12346000000");
        assert_eq!(text(f64::NAN), "null");
        assert_eq!(text(f64::INFINITY), "null");
    }
}
