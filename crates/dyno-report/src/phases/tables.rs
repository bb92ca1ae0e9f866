//! The tables.

use dyno_core::summary::RoleSummary;

use super::ladder::ladder;
use super::marks::{Good, mark_quarters};
use super::metrics::{PURGE_LAGS, Phase};
use super::{Cell, Mark, Sequence, Table};

/// The share of the background's rate that counts as kept.
const KEPT: f64 = 0.95;

/// Sequences below each other, the first as the base, phases side by side.
pub fn tables(sequences: &[Sequence]) -> Vec<Table> {
    let grid = Grid::new(sequences);
    let mut tables = vec![grid.absolute(), grid.relative()];
    tables.extend(ladder(sequences));
    tables.extend(grid.background_rates());
    tables.extend(grid.asked());
    tables.extend(grid.preparations());
    tables.extend(grid.fairness());
    tables.extend(grid.first_looks());
    tables.extend(grid.looks());
    tables.extend(grid.purge_lags());
    for name in &grid.names {
        tables.extend(grid.metrics(name));
    }
    for name in &grid.names {
        tables.extend(grid.disks(name));
    }
    for name in &grid.names {
        tables.extend(grid.buckets(name));
    }
    tables.extend(grid.tenths());
    tables
}

/// Phases by sequence and name.
pub(super) struct Grid<'a> {
    /// Names in the order of their first appearance.
    names: Vec<&'a str>,
    pub(super) rows: Vec<(&'a str, Vec<Phase<'a>>)>,
    /// The group of each sequence.
    groups: Vec<usize>,
}

impl<'a> Grid<'a> {
    fn new(sequences: &'a [Sequence]) -> Self {
        let mut names = Vec::new();
        let rows: Vec<_> = (sequences.iter())
            .map(|sequence| {
                let phases = sequence.runs.iter().map(|run| Phase { run });
                (sequence.label.as_str(), phases.collect::<Vec<_>>())
            })
            .collect();
        for phase in rows.iter().flat_map(|(_, phases)| phases) {
            if !names.contains(&phase.name()) {
                names.push(phase.name());
            }
        }
        let mut group = 0;
        let groups = sequences.iter().map(|sequence| {
            group += usize::from(sequence.begins_group);
            group
        });
        Self {
            names,
            rows,
            groups: groups.collect(),
        }
    }

    /// The rows that begin a group, given the sequences of all rows.
    pub(super) fn breaks(&self, rows: impl Iterator<Item = usize>) -> Vec<usize> {
        let groups: Vec<Option<&usize>> = rows.map(|row| self.groups.get(row)).collect();
        let pairs = groups.windows(2).enumerate();
        let differ = pairs.filter(|(_, pair)| pair[0] != pair[1]);
        differ.map(|(number, _)| number + 1).collect()
    }

    /// The group breaks of a table with a row for each sequence.
    fn all_breaks(&self) -> Vec<usize> {
        self.breaks(0..self.rows.len())
    }

    pub(super) fn phase(&self, row: usize, name: &str) -> Option<&Phase<'a>> {
        let (_, phases) = self.rows.get(row)?;
        phases.iter().find(|phase| phase.name() == name)
    }

    /// Whether a phase's events were paced, so that its throughput says nothing about a server.
    fn paced(&self, row: usize, name: &str) -> bool {
        let phase = self.phase(row, name);
        phase.and_then(Phase::asked_per_s).is_some()
    }

    fn columns(&self) -> Vec<String> {
        let unit = |name: &&str| {
            let mut found = self.rows.iter().flat_map(|(_, phases)| phases);
            let unit = found.find(|phase| phase.name() == *name).map(Phase::unit);
            format!("{name} {}/s", unit.unwrap_or("events"))
        };
        let first = std::iter::once("configuration".to_owned());
        first.chain(self.names.iter().map(unit)).collect()
    }

    /// A row of cells for each sequence.
    fn cells(&self, cell: impl Fn(usize, &str) -> Cell) -> Vec<(String, Vec<Cell>)> {
        let row = |(index, (label, _)): (usize, &(&str, Vec<Phase<'_>>))| {
            let cells = self.names.iter().map(|name| cell(index, name)).collect();
            ((*label).to_owned(), cells)
        };
        self.rows.iter().enumerate().map(row).collect()
    }

    fn absolute(&self) -> Table {
        let mut rows = self.cells(|row, name| {
            let phase = self.phase(row, name);
            let mut cell = Cell::number(phase.and_then(Phase::rate));
            if phase.is_some_and(Phase::missed) && cell.value.is_some() {
                cell.mark = Mark::Missed;
            }
            cell
        });
        for column in 0..self.names.len() {
            let cells = rows.iter_mut().enumerate();
            let cells = cells.filter(|(row, _)| !self.paced(*row, self.names[column]));
            let cells = cells.filter_map(|(_, (_, cells))| cells.get_mut(column));
            mark_quarters(cells, Good::High);
        }
        Table {
            title: "Throughput".to_owned(),
            about:
                "Marked: the lowest and highest quarter of each column's range, if the range is \
                 large enough. In brackets: the background did less than 95 % of its requested \
                 rate, so the figure is not comparable. Never marked: phases in an open loop."
                    .to_owned(),
            columns: self.columns(),
            rows,
            breaks: self.all_breaks(),
        }
    }

    fn relative(&self) -> Table {
        let rows = self.cells(|row, name| {
            let rate = |row| self.phase(row, name).and_then(Phase::rate);
            let ratio = rate(row).zip(rate(0)).map(|(rate, base)| rate / base);
            let mut cell = Cell::ratio(ratio);
            cell.mark = match cell.value {
                Some(_) if self.phase(row, name).is_some_and(Phase::missed) => Mark::Missed,
                Some(_) if self.paced(row, name) || self.paced(0, name) => Mark::None,
                Some(ratio) if ratio < 0.95 => Mark::Below,
                Some(ratio) if ratio > 1.05 => Mark::Above,
                _ => Mark::None,
            };
            cell
        });
        Table {
            title: "Throughput relative to the first".to_owned(),
            about: "Marked below 0.95 and above 1.05.".to_owned(),
            columns: self.columns(),
            rows,
            breaks: self.all_breaks(),
        }
    }

    /// The background's achieved and requested rates.
    fn background_rates(&self) -> Option<Table> {
        let paced = |row: usize, name: &str| self.phase(row, name).and_then(Phase::paced);
        let rate = |role: &RoleSummary, events_per_s: f64| events_per_s * role.per_event;
        let mut rows = self.cells(|row, name| {
            let role = paced(row, name);
            let mut cell = Cell::number(role.map(|role| rate(role, role.events_per_s)));
            let share = role.and_then(RoleSummary::achieved_share);
            if share.is_some_and(|share| share < KEPT) {
                cell.mark = Mark::Low;
            }
            cell
        });
        let asked = |name: &&str| {
            let mut roles = (0..self.rows.len()).filter_map(|row| paced(row, name));
            let asked = roles.find_map(|role| Some(rate(role, role.asked_per_s?)));
            Cell::number(asked)
        };
        let asked: Vec<Cell> = self.names.iter().map(asked).collect();
        asked.iter().any(|cell| cell.value.is_some()).then(|| {
            rows.push(("requested".to_owned(), asked));
            let mut columns = vec!["configuration".to_owned()];
            columns.extend(self.names.iter().map(|name| (*name).to_owned()));
            Table {
                title: "The background's rate".to_owned(),
                about: "Rows per second of all clients. Marked below 95 % of the requested rate."
                    .to_owned(),
                columns,
                rows,
                breaks: self.all_breaks(),
            }
        })
    }

    /// The offered rates.
    fn asked(&self) -> Option<Table> {
        let rows = self.cells(|row, name| {
            let phase = self.phase(row, name);
            Cell::number(phase.and_then(Phase::asked_per_s))
        });
        let mut table = self.table("Requested rate", rows)?;
        table.about = "Phases in an open loop: their throughput is at most this rate, so compare \
                       servers by response times."
            .to_owned();
        Some(table)
    }

    /// The preparation before each phase, with its duration.
    fn preparations(&self) -> Option<Table> {
        let (mut rows, mut of_rows, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (label, phases)) in self.rows.iter().enumerate() {
            for phase in phases {
                let of = phase.run.head.phase.as_ref();
                let Some(before) = of.and_then(|of| of.before.as_ref()) else {
                    continue;
                };
                let cells = vec![Cell::number(Some(before.seconds))];
                let (command, name) = (&before.command, phase.name());
                rows.push((format!("{label} {name}: {command}"), cells));
                of_rows.push(row);
                let text = format!("{command}: {}.", before.messages);
                if !before.messages.is_empty() && !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        (!rows.is_empty()).then(|| Table {
            title: "Before the measurement".to_owned(),
            about: format!(
                "Commands that ran right before a phase. {}",
                texts.join(" ")
            ),
            columns: ["configuration and phase", "seconds"]
                .map(str::to_owned)
                .to_vec(),
            breaks: self.breaks(of_rows.into_iter()),
            rows,
        })
    }

    /// The times of clients that each had a fixed number of events.
    fn fairness(&self) -> Option<Table> {
        let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
        for (row, (label, phases)) in self.rows.iter().enumerate() {
            for phase in phases {
                let role = phase.roles().iter().find(|role| !role.background);
                let Some(role) = role.filter(|role| role.sessions > 1) else {
                    continue;
                };
                let ends = role.finished_first_s.zip(role.finished_last_s);
                let Some((first, last)) = ends.filter(|(first, _)| *first > 0.0) else {
                    continue;
                };
                let cells = [first, last, last - first, (last - first) / first * 100.0];
                let cells = cells.map(|value| Cell::number(Some(value))).to_vec();
                rows.push((format!("{label} {}", phase.name()), cells));
                of_rows.push(row);
            }
        }
        let columns = [
            "configuration and phase",
            "first s",
            "last s",
            "difference s",
            "percent",
        ];
        (!rows.is_empty()).then(|| Table {
            title: "Fairness".to_owned(),
            about: "When the first and the last client finished their work.".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            breaks: self.breaks(of_rows.into_iter()),
            rows,
        })
    }

    /// The time to find the lowest key.
    fn first_looks(&self) -> Option<Table> {
        let rows = self.cells(|row, name| {
            let phase = self.phase(row, name);
            let looks = phase.and_then(|phase| phase.operation("min_key_first"));
            Cell::number(looks.and_then(|looks| Some(looks.max_ms? / 1e3)))
        });
        self.table(
            "The first search for the lowest key, longest of all clients, in seconds",
            rows,
        )
    }

    /// Purge lag at the end of each phase, one table for each measure.
    fn purge_lags(&self) -> Vec<Table> {
        let lag_table = |(series, what, _): &(&str, &str, &str)| {
            let rows = self.cells(|row, name| {
                let phase = self.phase(row, name);
                Cell::number(phase.and_then(|phase| phase.at_end(series)))
            });
            self.table(&format!("Purge lag at the end: {what}"), rows)
        };
        PURGE_LAGS.iter().filter_map(lag_table).collect()
    }

    /// A table by phase, if it has any figure.
    pub(super) fn table(&self, title: &str, rows: Vec<(String, Vec<Cell>)>) -> Option<Table> {
        let mut cells = rows.iter().flat_map(|(_, cells)| cells);
        cells.any(|cell| cell.value.is_some()).then(|| {
            let mut columns = vec!["configuration".to_owned()];
            columns.extend(self.names.iter().map(|name| (*name).to_owned()));
            Table {
                title: title.to_owned(),
                about: String::new(),
                columns,
                rows,
                breaks: self.all_breaks(),
            }
        })
    }
}
