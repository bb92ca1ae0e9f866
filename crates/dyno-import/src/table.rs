//! Tables of `vmstat` and `iostat`: columns are identified by their headings.

use dyno_core::text::number_of;

use crate::number;

/// A row that may span several lines, because a terminal or an editor wrapped it.
#[derive(Debug, Default)]
pub(crate) struct Row {
    words: Vec<String>,
    line: usize,
}

/// The effect of a line on a row.
#[derive(Debug, PartialEq)]
pub(crate) enum Filled {
    /// The row is complete: its words and its first line.
    Whole(Vec<String>, usize),
    /// The row is incomplete.
    Partly,
    /// It has too many words: its first line, and their number.
    TooMany(usize, usize),
}

impl Row {
    /// Adds a line's words to a row with this number of columns.
    pub(crate) fn add(&mut self, words: &[&str], columns: usize, line: usize) -> Filled {
        if self.words.is_empty() {
            self.line = line;
        }
        self.words
            .extend(words.iter().map(|word| (*word).to_owned()));
        match self.words.len() {
            n if n < columns => Filled::Partly,
            n if n == columns => Filled::Whole(std::mem::take(&mut self.words), self.line),
            n => {
                self.words.clear();
                Filled::TooMany(self.line, n)
            }
        }
    }

    /// Drops an incomplete row: its first line and its number of words.
    pub(crate) fn drop_begun(&mut self) -> Option<(usize, usize)> {
        let words = std::mem::take(&mut self.words).len();
        (words > 0).then_some((self.line, words))
    }
}

/// The collected values of one series: (sample, value).
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) source: String,
    pub(crate) kind: dyno_core::record::SeriesKind,
    pub(crate) values: Vec<(usize, f64)>,
}

/// Series by name, in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) all: Vec<Values>,
}

impl Collected {
    pub(crate) fn add(&mut self, name: &str, column: &Meaning, source: String, at: (usize, f64)) {
        let (sample, value) = (at.0, at.1 * column.scale);
        match self.all.iter_mut().find(|values| values.name == name) {
            Some(values) => values.values.push((sample, value)),
            None => self.all.push(Values {
                name: name.to_owned(),
                unit: column.unit,
                source,
                kind: column.kind,
                values: vec![(sample, value)],
            }),
        }
    }
}

/// A figure of sysstat's tools: plain, or bytes with a unit, as with `--human`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// `10.2`, `10,2` or `10.2%`.
    Plain(f64),
    /// `4.3M`, in bytes.
    Bytes(f64),
}

impl Figure {
    /// Parses a whole word as a figure.
    pub(crate) fn read(word: &str) -> Option<Self> {
        const KIB: f64 = 1024.0;
        const UNITS: [&str; 6] = ["B", "k", "M", "G", "T", "P"];
        if let Some(value) = number::decimal(word.strip_suffix('%').unwrap_or(word)) {
            return Some(Self::Plain(value));
        }
        let found = UNITS.iter().zip(0..).find_map(|(unit, power)| {
            let value = number::decimal(word.strip_suffix(unit)?)?;
            Some(value * KIB.powi(power))
        });
        found.map(Self::Bytes)
    }

    /// Its value in the unit of a column; `None` for bytes if bytes make no sense there.
    pub(crate) fn of(self, column: &Meaning) -> Option<f64> {
        match self {
            Self::Plain(value) => Some(value),
            Self::Bytes(bytes) => {
                let fits = column.unit.starts_with("bytes");
                fits.then(|| bytes / column.scale)
            }
        }
    }

    /// Its number, in any unit.
    pub(crate) fn plain(self) -> f64 {
        match self {
            Self::Plain(value) | Self::Bytes(value) => value,
        }
    }
}

/// The series of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    /// The column's name, lower case.
    pub(crate) column: &'static str,
    /// The series' name, or its suffix.
    pub(crate) series: &'static str,
    pub(crate) unit: &'static str,
    /// Factor from the column's unit to the series'.
    pub(crate) scale: f64,
    pub(crate) kind: dyno_core::record::SeriesKind,
}

/// Defines a column's meaning.
pub(crate) const fn column(
    column: &'static str,
    series: &'static str,
    unit: &'static str,
    scale: f64,
    kind: dyno_core::record::SeriesKind,
) -> Meaning {
    Meaning {
        column,
        series,
        unit,
        scale,
        kind,
    }
}

pub(crate) fn meaning<'a>(table: &'a [Meaning], column: &str) -> Option<&'a Meaning> {
    table.iter().find(|meaning| meaning.column == column)
}

/// By how much the CPU's shares may differ from 100 % because of rounding.
const SHARES_TOLERANCE: f64 = 2.0;

/// Rows with CPU shares that do not add up to 100 %.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// Their number, and the first one's line and sum.
    odd: Option<(usize, usize, f64)>,
}

impl Shares {
    /// Whether a row's sum, in percent, is right; if it is not, the row is left out.
    pub(crate) fn add(&mut self, sum: f64, line: usize) -> bool {
        let whole = (sum - 100.0).abs() <= SHARES_TOLERANCE;
        if !whole {
            let (rows, ..) = self.odd.get_or_insert((0, line, sum));
            *rows += 1;
        }
        whole
    }

    /// The warning about them, with the first one's line.
    pub(crate) fn warning(&self) -> Option<(usize, String)> {
        let (rows, line, sum) = self.odd?;
        let text = format!(
            "{} whose CPU shares do not add up to 100 % (the first: {sum:.0} %): the columns may \
             be swapped or damaged, and these shares are left out",
            number_of(rows, "row")
        );
        Some((line, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::record::SeriesKind::Rate;

    #[test]
    fn figures_with_units() {
        let bytes = column("wkb/s", "write_bytes", "bytes/s", 1024.0, Rate);
        let count = column("w/s", "writes", "count/s", 1.0, Rate);
        for (word, of_bytes, of_count) in [
            ("12.5", Some(12.5), Some(12.5)),
            ("12,5", Some(12.5), Some(12.5)),
            ("2.5k", Some(2.5), None),
            ("1.5M", Some(1536.0), None),
            ("512.0B", Some(0.5), None),
            ("0.0k", Some(0.0), None),
            ("99.5%", Some(99.5), Some(99.5)),
            ("M", None, None),
            ("1.5X", None, None),
        ] {
            let figure = Figure::read(word);
            assert_eq!(figure.and_then(|own| own.of(&bytes)), of_bytes, "{word}");
            assert_eq!(figure.and_then(|own| own.of(&count)), of_count, "{word}");
        }
    }
}
