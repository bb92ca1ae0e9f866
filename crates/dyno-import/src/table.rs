//! Tables as `vmstat` and `iostat` print them: columns are known by the name above them.

use crate::number;

/// A row that may come in several lines, because a terminal or an editor wrapped it.
#[derive(Debug, Default)]
pub(crate) struct Row {
    words: Vec<String>,
    line: usize,
}

/// What a line did to a row.
#[derive(Debug, PartialEq)]
pub(crate) enum Filled {
    /// The row is whole: its words and its first line.
    Whole(Vec<String>, usize),
    /// More must come.
    Partly,
    /// It has too many words: the line that began it, and how many there are.
    TooMany(usize, usize),
}

impl Row {
    /// Adds a line's words to a row of so many columns.
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

    /// Gives up what was begun: its first line and how many words it had.
    pub(crate) fn drop_begun(&mut self) -> Option<(usize, usize)> {
        let words = std::mem::take(&mut self.words).len();
        (words > 0).then_some((self.line, words))
    }
}

/// Values of one series as they are collected: (sample, value).
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) source: String,
    pub(crate) kind: dyno_core::record::SeriesKind,
    pub(crate) values: Vec<(usize, f64)>,
}

/// Series by name, in the order in which they first appeared.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) all: Vec<Values>,
}

impl Collected {
    /// Adds a value.
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
    /// A whole word as a figure.
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

    /// In the unit of a column; `None` for bytes where bytes make no sense.
    pub(crate) fn of(self, column: &Meaning) -> Option<f64> {
        match self {
            Self::Plain(value) => Some(value),
            Self::Bytes(bytes) => {
                let fits = column.unit.starts_with("bytes");
                fits.then(|| bytes / column.scale)
            }
        }
    }

    /// Its number, whatever the unit.
    pub(crate) fn plain(self) -> f64 {
        match self {
            Self::Plain(value) | Self::Bytes(value) => value,
        }
    }
}

/// What a column becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    /// The column's name, lower case.
    pub(crate) column: &'static str,
    /// The series' name, or the end of it.
    pub(crate) series: &'static str,
    pub(crate) unit: &'static str,
    /// From the column's unit to the series'.
    pub(crate) scale: f64,
    pub(crate) kind: dyno_core::record::SeriesKind,
}

/// A column's meaning.
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

/// The meaning of a column.
pub(crate) fn meaning<'a>(table: &'a [Meaning], column: &str) -> Option<&'a Meaning> {
    table.iter().find(|meaning| meaning.column == column)
}

/// By how much rounding may keep the CPU's shares from 100 %.
const SHARES_TOLERANCE: f64 = 2.0;

/// Rows whose shares of the CPU do not make 100 %.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// How many, the first one's line, its sum.
    odd: Option<(usize, usize, f64)>,
}

impl Shares {
    /// Looks at a row's sum, in percent.
    pub(crate) fn add(&mut self, sum: f64, line: usize) {
        if (sum - 100.0).abs() > SHARES_TOLERANCE {
            let (rows, ..) = self.odd.get_or_insert((0, line, sum));
            *rows += 1;
        }
    }

    /// What is to be told of them, with the first one's line.
    pub(crate) fn told(&self) -> Option<(usize, String)> {
        let (rows, line, sum) = self.odd?;
        let text = format!(
            "{rows} rows whose CPU shares do not make 100 % (the first makes {sum:.0} %): the \
             columns may be swapped or damaged"
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
