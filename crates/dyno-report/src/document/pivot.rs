//! Runs by the levels of one or two factors.

use dyno_verdict::Cell;

/// A figure of runs by the levels of one or two factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Pivot {
    /// The figure as named by the user, e.g. `rate`.
    pub figure: String,
    /// The figure's unit; empty if no run has it.
    pub unit: String,
    /// The factor of the rows, and its levels.
    pub rows: (String, Vec<String>),
    /// The factor of the columns, and its levels; `None` with one factor.
    pub columns: Option<(String, Vec<String>)>,
    /// The base of ratios, e.g. `engine=innodb`; empty without ratios.
    pub base: String,
    /// The cells with runs.
    pub cells: Vec<Cell>,
    /// On a page: the runs of each cell, by index in [`crate::html::ReportInput::runs`].
    pub runs: Vec<Vec<usize>>,
    /// Whether ratios are geometric means over pairs of trials, block by block, and not those of
    /// the cells' figures.
    pub by_block: bool,
    /// A note about cells that mix runs with different settings.
    pub pooled: Option<String>,
}

impl Pivot {
    /// What the ratios are of: two estimators give two ratios for the same runs.
    pub fn ratios_of(&self) -> &'static str {
        match self.by_block {
            true => "Ratios of paired trials, block by block, with their 95 % confidence interval.",
            false => "Ratios of figures over all runs, with their 95 % confidence interval.",
        }
    }

    /// Why cells that were tested for equivalence are undecided: their ratios have no interval.
    pub fn undecided(&self) -> Option<String> {
        let lacks_interval =
            |cell: &Cell| cell.equivalence.is_some() && cell.low.is_none() && cell.high.is_none();
        if !self.cells.iter().any(lacks_interval) {
            return None;
        }
        let why = match self.cells.iter().map(|cell| cell.runs.len()).min() {
            Some(1) => "one run a side has no spread",
            Some(2) => "two runs a side are too few to estimate the spread",
            _ => return Some("Undecided: the ratio of this figure has no interval.".to_owned()),
        };
        Some(format!(
            "Undecided: the ratio has no interval, because {why}. Use repeats: three or more runs \
             a side."
        ))
    }

    /// The factor and level of a cell's row, and those of its column if there is one.
    pub(crate) fn levels(&self, cell: &Cell) -> (String, Option<String>) {
        let columns = self.columns.as_ref();
        (
            heading(&self.rows, cell.row),
            columns.map(|columns| heading(columns, cell.column)),
        )
    }

    /// The heading of a column; empty with one factor.
    pub(crate) fn head(&self, column: usize) -> String {
        let columns = self.columns.as_ref();
        columns.map_or_else(String::new, |columns| heading(columns, column))
    }
}

fn heading((name, levels): &(String, Vec<String>), at: usize) -> String {
    let level = levels.get(at).map_or("", String::as_str);
    format!("{name} {level}")
}
