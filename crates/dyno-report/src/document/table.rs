//! Tables of values, which each format writes in its own way.

use dyno_core::finding::Verdict;
use dyno_core::summary::LatencySummary;

use crate::number::plain;
use crate::terminal::Ink;

/// The rank of columns that only a page shows.
pub(crate) const PAGE: usize = usize::MAX;

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Missing,
    Text(String),
    /// Text in another language, such as SQL.
    Code(String),
    /// A text, and a long one that a page shows below it on request.
    Folded(String, String),
    Count(u64),
    /// Per second, or another figure of which a few digits matter.
    Rate(f64),
    Ms(f64),
    /// A fraction of 1.
    Share(f64),
    /// A ratio with its interval, which a page draws.
    Ratio {
        ratio: f64,
        low: Option<f64>,
        high: Option<f64>,
    },
}

/// A value in its colour.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) ink: Ink,
    pub(crate) value: Value,
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        (Ink::Plain, text).into()
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        (Ink::Plain, value).into()
    }
}

impl From<Option<Value>> for Cell {
    fn from(value: Option<Value>) -> Self {
        match value {
            Some(value) => value.into(),
            None => (Ink::Faint, Value::Missing).into(),
        }
    }
}

impl From<Option<Verdict>> for Cell {
    fn from(verdict: Option<Verdict>) -> Self {
        let word = verdict.map(|verdict| verdict.word().to_owned());
        (ink(verdict), word.map_or(Value::Missing, Value::Text)).into()
    }
}

impl<V: Into<Value>> From<(Ink, V)> for Cell {
    fn from((ink, value): (Ink, V)) -> Self {
        let value = value.into();
        Self { ink, value }
    }
}

/// The colour of a verdict.
pub(crate) fn ink(verdict: Option<Verdict>) -> Ink {
    match verdict {
        Some(Verdict::Valid) => Ink::Good,
        Some(Verdict::Doubtful) => Ink::Warning,
        Some(Verdict::Refused) => Ink::Error,
        None => Ink::Faint,
    }
}

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text that may be cut.
    Left,
    /// Text that must not be cut.
    Whole,
    Right,
    /// Text that a terminal prints below its row.
    Below,
}

/// The head of a column.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) align: Align,
    /// If there is little space, columns of a high rank are omitted.
    pub(crate) rank: usize,
}

impl Head {
    fn new(name: &str, align: Align, rank: usize) -> Self {
        Self {
            name: name.to_owned(),
            align,
            rank,
        }
    }
}

/// A table. Its first column names the rows.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// The minimum width of a figure, if a terminal prints the rows' names as labels.
    pub(crate) labels: Option<usize>,
    /// The source of the figures, as shown on a page; may be empty.
    pub(crate) source: &'static str,
}

impl Table {
    /// A table with a row for each of `rows`, whose columns follow.
    pub(crate) fn of<'r, R: 'r>(rows: impl IntoIterator<Item = &'r R>) -> Columns<'r, R> {
        let of: Vec<&R> = rows.into_iter().collect();
        let table = Self {
            rows: of.iter().map(|_| Vec::new()).collect(),
            ..Self::default()
        };
        Columns { of, table }
    }

    /// Removes all other columns.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Head) -> bool) {
        let heads = self.heads.iter().enumerate();
        let kept = heads.filter(|(_, head)| is_kept(head));
        let kept: Vec<usize> = kept.map(|(column, _)| column).collect();
        self.select(&kept);
    }

    /// Keeps only these columns, in this order.
    pub(crate) fn pick(&mut self, names: &[&str]) {
        let place = |name: &&str| self.heads.iter().position(|head| head.name == **name);
        let places: Vec<usize> = names.iter().filter_map(place).collect();
        self.select(&places);
    }

    /// Removes columns without any value.
    pub(crate) fn drop_empty(&mut self) {
        let is_known = |column: &usize| {
            let mut cells = self.rows.iter().map(|row| &row[*column]);
            cells.any(|cell| cell.value != Value::Missing)
        };
        let known: Vec<usize> = (0..self.heads.len()).filter(is_known).collect();
        self.select(&known);
    }

    fn select(&mut self, columns: &[usize]) {
        let heads = columns.iter().map(|column| self.heads[*column].clone());
        self.heads = heads.collect();
        for row in &mut self.rows {
            let cells = columns.iter().map(|column| row[*column].clone());
            *row = cells.collect();
        }
    }
}

/// A table about values of type `R`. Each column has a name, a rank, and the value of its cells.
pub(crate) struct Columns<'r, R> {
    of: Vec<&'r R>,
    table: Table,
}

impl<R> Columns<'_, R> {
    fn column<C: Into<Cell>>(mut self, head: Head, value: impl Fn(&R) -> C) -> Self {
        for (row, of) in self.table.rows.iter_mut().zip(&self.of) {
            row.push(value(of).into());
        }
        self.table.heads.push(head);
        self
    }

    /// A text, such as the name of a row.
    pub(crate) fn text<C: Into<Cell>>(
        self,
        name: &str,
        rank: usize,
        value: impl Fn(&R) -> C,
    ) -> Self {
        self.column(Head::new(name, Align::Left, rank), value)
    }

    pub(crate) fn figure<C: Into<Cell>>(
        self,
        name: &str,
        rank: usize,
        value: impl Fn(&R) -> C,
    ) -> Self {
        self.column(Head::new(name, Align::Right, rank), value)
    }

    /// A text that must not be cut.
    pub(crate) fn word<C: Into<Cell>>(
        self,
        name: &str,
        rank: usize,
        value: impl Fn(&R) -> C,
    ) -> Self {
        self.column(Head::new(name, Align::Whole, rank), value)
    }

    /// Texts below rows, if there are any.
    pub(crate) fn below(self, name: &str, value: impl Fn(&R) -> String) -> Self {
        if self.of.iter().all(|row| value(row).is_empty()) {
            return self;
        }
        let head = Head::new(name, Align::Below, 0);
        self.column(head, value)
    }

    pub(crate) fn notes(self, value: impl Fn(&R) -> String) -> Self {
        self.below("notes", value)
    }

    /// The mean of latencies.
    pub(crate) fn mean(self, rank: usize, of: fn(&R) -> &LatencySummary) -> Self {
        self.figure("mean", rank, |row| of(row).mean_ms.map(Value::Ms))
    }

    /// A percentile of latencies.
    pub(crate) fn percentile(
        self,
        percent: f64,
        rank: usize,
        of: fn(&R) -> &LatencySummary,
    ) -> Self {
        self.figure(&format!("p{}", plain(percent)), rank, |row| {
            of(row).percentile_ms(percent).map(Value::Ms)
        })
    }

    /// The longest latency.
    pub(crate) fn longest(self, rank: usize, of: fn(&R) -> &LatencySummary) -> Self {
        self.figure("max", rank, |row| of(row).max_ms.map(Value::Ms))
    }

    /// Prints the rows' names as labels, and figures with at least this width.
    pub(crate) fn labelled(mut self, width: usize) -> Self {
        self.table.labels = Some(width);
        self
    }

    /// Returns the table, with this text about its source for a page.
    pub(crate) fn source(mut self, source: &'static str) -> Table {
        self.table.source = source;
        self.table
    }
}
