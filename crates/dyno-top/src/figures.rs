//! Values by name, and figures derived from two snapshots of them.

use std::collections::BTreeMap;

use crate::profile::{Figure, Form, Kind, Take};
use crate::source::Answer;

/// Values by their names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<String, String>);

/// A field for display.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Unknown: the column is missing, or there is no earlier snapshot.
    Absent,
    /// Text.
    Text(String),
    /// A number, in the unit of its kind.
    Number(f64),
}

impl Cell {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Absent | Self::Text(_) => None,
        }
    }
}

impl Values {
    /// Adds the values of an answer.
    pub fn add(&mut self, answer: &Answer, form: Form) {
        match form {
            Form::Rows => {
                for row in &answer.rows {
                    if let [Some(name), Some(value), ..] = &row[..] {
                        self.0.insert(name.to_ascii_lowercase(), value.clone());
                    }
                }
            }
            Form::Columns => {
                for (column, name) in answer.names.iter().enumerate() {
                    self.add_column(answer, column, &name.to_ascii_lowercase());
                }
            }
        }
    }

    /// The sum of a numeric column, or the first of its texts.
    fn add_column(&mut self, answer: &Answer, column: usize, name: &str) {
        let fields = (0..answer.rows.len()).filter_map(|row| answer.field(row, column));
        let mut sum = None;
        let mut first = None;
        for field in fields {
            first.get_or_insert(field);
            if let Some(number) = number(field) {
                *sum.get_or_insert(0.0) += number;
            }
        }
        let single = answer.rows.len() == 1;
        let value = match (sum, first) {
            (Some(sum), _) if !single => sum.to_string(),
            (_, Some(first)) => first.to_owned(),
            _ => return,
        };
        self.0.insert(name.to_owned(), value);
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Looks up the fields of a row, or values by name.
pub(crate) trait Fields {
    /// The text with this name.
    fn text(&self, name: &str) -> Option<&str>;

    /// The first existing name's text.
    fn first(&self, names: &str) -> Option<&str> {
        names.split('|').find_map(|name| self.text(name))
    }

    /// The number for [`Figure::from`].
    fn sum(&self, from: &str) -> Option<f64> {
        let mut sum = None;
        for names in from.split('+') {
            if let Some(value) = self.first(names).and_then(number) {
                *sum.get_or_insert(0.0) += value;
            }
        }
        sum
    }
}

impl Fields for Values {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(&name.to_ascii_lowercase()).map(String::as_str)
    }
}

/// A row of an answer.
#[derive(Clone, Copy)]
pub(crate) struct RowOf<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// Its row.
    pub row: usize,
}

impl Fields for RowOf<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.answer.field(self.row, self.answer.column(name)?)
    }
}

/// A figure from a snapshot and the one before it, `seconds` earlier.
pub(crate) fn cell<F: Fields>(figure: &Figure, now: &F, before: Option<(&F, f64)>) -> Cell {
    if figure.kind == Kind::Text {
        let text = now.first(figure.from);
        return text.map_or(Cell::Absent, |text| Cell::Text(text.to_owned()));
    }
    let Some(value) = now.sum(figure.from) else {
        return Cell::Absent;
    };
    let difference = |from: &str| {
        let (before, _) = before?;
        let difference = now.sum(from)? - before.sum(from)?;
        // A counter that decreased was reset: its increase is unknown.
        (difference >= 0.0).then_some(difference)
    };
    let made = match figure.take {
        Take::Now => Some(value),
        Take::Limit => (value > 0.0).then_some(value),
        Take::Others => Some((value - 1.0).max(0.0)),
        Take::Rate | Take::SlowRate(_) => {
            let seconds = before.map(|(_, seconds)| seconds);
            let seconds = seconds.filter(|seconds| *seconds > 0.0);
            difference(figure.from).zip(seconds).map(|(d, s)| d / s)
        }
        Take::Per(of) => share(difference(figure.from), difference(of)),
        Take::Less(of) => {
            let misses = share(difference(figure.from), difference(of));
            misses.map(|misses| (1.0 - misses).clamp(0.0, 1.0))
        }
    };
    made.map_or(Cell::Absent, |made| Cell::Number(made * figure.scale))
}

/// 0 of 0 is not a share.
fn share(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let whole = whole.filter(|whole| *whole > 0.0)?;
    Some(part? / whole)
}

/// A number in a server's notation.
pub(crate) fn number(text: &str) -> Option<f64> {
    let number = text.trim().parse::<f64>().ok()?;
    number.is_finite().then_some(number)
}
