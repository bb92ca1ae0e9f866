//! The data of a chart, as the page's script reads it. The script decides how it looks.

use serde::{Serialize, Serializer};

use super::figures;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Chart {
    /// Lines in time.
    Time(Time),
    /// Latencies in time as a heat map.
    Heat(Choice<Heat>),
    /// A histogram.
    Distribution(Choice<Distribution>),
    /// Curves over something other than time.
    Curves(Curves),
    /// Box plots with every sample as a dot, one below the other.
    Groups(Groups),
}

impl Chart {
    /// A message that replaces a chart whose lines never move.
    pub(super) fn quiet(&self) -> Option<String> {
        let Self::Time(time) = self else {
            return None;
        };
        let mut values: Vec<String> = Vec::new();
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
            if !values.contains(&value) {
                values.push(value);
            }
        }
        match values.as_slice() {
            // No lines yet: the reader picks.
            [] => None,
            // A single point is not a line.
            _ if time.lines.iter().all(|line| line.y.len() < 2) => None,
            [all] => Some(format!("{all} throughout")),
            several => Some(format!("{} throughout", several.join(", "))),
        }
    }
}

/// Alternatives that the reader picks from; the first is shown initially.
#[derive(Serialize)]
pub(super) struct Choice<T> {
    /// With their names.
    pub(super) of: Vec<(String, T)>,
}

/// Lines in time, over the whole run.
#[derive(Default, Serialize)]
pub(super) struct Time {
    /// The run whose marks and time range it has.
    pub(super) run: usize,
    /// The left and, if present, the right axis.
    pub(super) axes: Vec<Axis>,
    pub(super) lines: Vec<Line>,
    /// Whether it has a slider for a part of the time.
    pub(super) slider: bool,
}

/// A value axis.
#[derive(Serialize)]
pub(super) struct Axis {
    /// The quantity.
    pub(super) name: String,
    /// Its unit, as in `SeriesKey::unit`.
    pub(super) unit: String,
    /// Its upper end, if known.
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
    /// Its name in the legend.
    pub(super) name: String,
    /// The index of its axis.
    pub(super) axis: usize,
    /// The index of its times in the page's pool.
    pub(super) x: usize,
    pub(super) y: Vec<Compact>,
    pub(super) look: Look,
    /// The index of its colour in the palette.
    pub(super) colour: usize,
    /// The dash style; 0 is solid.
    pub(super) dash: usize,
}

/// Latencies in time: counts by row and column.
#[derive(Serialize)]
pub(super) struct Heat {
    pub(super) run: usize,
    /// Columns: start and end of each, in seconds.
    pub(super) columns: Vec<(Compact, Compact)>,
    /// Bounds of rows in milliseconds, one more than rows.
    pub(super) rows: Vec<Compact>,
    /// Triples of column, row and operations per second.
    pub(super) cells: Vec<Compact>,
}

/// A histogram with logarithmic and one with linear buckets.
#[derive(Serialize)]
pub(super) struct Distribution {
    /// Triples of from, to (ms) and count.
    pub(super) logarithmic: Vec<Compact>,
    /// Triples of from, to (ms) and count. Ends where few are left.
    pub(super) linear: Vec<Compact>,
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
    /// Labels of the axis with their positions; if empty, the script chooses them.
    pub(super) ticks: Vec<(Compact, String)>,
    pub(super) lines: Vec<Curve>,
    /// Whether they are shares in percent with a separate view of the tail.
    pub(super) tail: bool,
}

#[derive(Serialize)]
pub(super) struct Curve {
    pub(super) name: String,
    /// The index of its colour.
    pub(super) colour: usize,
    /// The dash style; 0 is solid.
    pub(super) dash: usize,
    /// Pairs of x and y.
    pub(super) points: Vec<Compact>,
    /// Triples of x, low and high: the range of values around a point.
    pub(super) spread: Vec<Compact>,
}

/// Box plots with dots.
#[derive(Serialize)]
pub(super) struct Groups {
    pub(super) axis: Axis,
    pub(super) groups: Vec<Group>,
}

/// A box plot.
#[derive(Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    /// A heading shared with its neighbours; may be empty.
    pub(super) heading: String,
    /// The index of its colour.
    pub(super) colour: usize,
    /// Lower whisker, lower quartile, median, upper quartile, upper whisker.
    pub(super) five: [Compact; 5],
    pub(super) dots: Vec<Compact>,
}

/// A number with five significant digits, in JSON's shortest form; NaN is `null`.
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

/// Five significant digits, but all integer digits of a number below a million.
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
    fn constant_lines_become_a_sentence() {
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
