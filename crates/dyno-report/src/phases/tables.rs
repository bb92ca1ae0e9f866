//! The tables.

use dyno_core::summary::RoleSummary;

use super::metrics::{NAMES, PURGE_LAGS, Phase};
use super::{Cell, Mark, Sequence, Table};

/// An achieved share of the background's rate from which a phase counts.
const KEPT: f64 = 0.95;
/// Upper bounds of the coarse buckets of response times, in milliseconds.
const BUCKETS_MS: [f64; 9] = [
    0.256, 1.0, 4.0, 16.0, 64.0, 256.0, 1_000.0, 4_000.0, 16_000.0,
];

/// Sequences below each other, the first as the base, phases beside each other.
pub fn tables(sequences: &[Sequence]) -> Vec<Table> {
    let grid = Grid::new(sequences);
    let mut tables = vec![grid.absolute(), grid.relative()];
    tables.extend(grid.kept());
    tables.extend(grid.preparations());
    tables.extend(grid.fairness());
    tables.extend(grid.first_looks());
    tables.extend(grid.purge_lags());
    for name in &grid.names {
        tables.extend(grid.metrics(name));
    }
    for name in &grid.names {
        tables.extend(grid.buckets(name));
    }
    tables.extend(grid.tenths());
    tables
}

/// Phases by sequence and name.
struct Grid<'a> {
    /// Names in the order in which they first appear.
    names: Vec<&'a str>,
    rows: Vec<(&'a str, Vec<Phase<'a>>)>,
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
        Self { names, rows }
    }

    fn phase(&self, row: usize, name: &str) -> Option<&Phase<'a>> {
        let (_, phases) = self.rows.get(row)?;
        phases.iter().find(|phase| phase.name() == name)
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
            mark_quarters(&mut rows, column);
        }
        Table {
            title: "Throughput".to_owned(),
            about: "Pointed at: the lowest and the highest quarter of each column's range, where \
                    it is worth it. In brackets: the background did less than 95 % of what it \
                    was asked for, so the figure is not comparable."
                .to_owned(),
            columns: self.columns(),
            rows,
        }
    }

    fn relative(&self) -> Table {
        let rows = self.cells(|row, name| {
            let rate = |row| self.phase(row, name).and_then(Phase::rate);
            let ratio = rate(row).zip(rate(0)).map(|(rate, base)| rate / base);
            let mut cell = Cell::ratio(ratio);
            cell.mark = match cell.value {
                Some(_) if self.phase(row, name).is_some_and(Phase::missed) => Mark::Missed,
                Some(ratio) if ratio < 0.95 => Mark::Low,
                Some(ratio) if ratio > 1.05 => Mark::High,
                _ => Mark::None,
            };
            cell
        });
        Table {
            title: "Throughput relative to the first".to_owned(),
            about: "Pointed at below 0.95 and above 1.05.".to_owned(),
            columns: self.columns(),
            rows,
        }
    }

    /// What the background achieved, and what it was asked for.
    fn kept(&self) -> Option<Table> {
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
            rows.push(("asked for".to_owned(), asked));
            let mut columns = vec!["configuration".to_owned()];
            columns.extend(self.names.iter().map(|name| (*name).to_owned()));
            Table {
                title: "The background's rate".to_owned(),
                about: "Rows per second of all clients. Pointed at below 95 % of what was asked \
                        for."
                    .to_owned(),
                columns,
                rows,
            }
        })
    }

    /// What was done right before a phase, and for how long.
    fn preparations(&self) -> Option<Table> {
        let (mut rows, mut told) = (Vec::new(), Vec::new());
        for (label, phases) in &self.rows {
            for phase in phases {
                let of = phase.run.head.phase.as_ref();
                let Some(before) = of.and_then(|of| of.before.as_ref()) else {
                    continue;
                };
                let cells = vec![Cell::number(Some(before.seconds))];
                let (command, name) = (&before.command, phase.name());
                rows.push((format!("{label} {name}: {command}"), cells));
                let text = format!("{command}: {}.", before.told);
                if !before.told.is_empty() && !told.contains(&text) {
                    told.push(text);
                }
            }
        }
        (!rows.is_empty()).then(|| Table {
            title: "Before the measurement".to_owned(),
            about: format!("What was run right before a phase. {}", told.join(" ")),
            columns: ["configuration and phase", "seconds"]
                .map(str::to_owned)
                .to_vec(),
            rows,
        })
    }

    /// How long the clients took that were to do a number of events each.
    fn fairness(&self) -> Option<Table> {
        let mut rows = Vec::new();
        for (label, phases) in &self.rows {
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
            about: "When the first and the last client were through with their work.".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
        })
    }

    /// How long it took to find the lowest key.
    fn first_looks(&self) -> Option<Table> {
        let rows = self.cells(|row, name| {
            let operations = self
                .phase(row, name)
                .and_then(|phase| phase.run.summary.as_ref());
            let looks = operations
                .and_then(|summary| {
                    let mut all = summary.operations.iter();
                    all.find(|operation| operation.name == "min_key_first")
                })
                .filter(|operation| operation.service.count > 0);
            Cell::number(looks.map(|operation| operation.service.max_ms / 1e3))
        });
        self.table(
            "The first look for the lowest key, longest of all clients, in seconds",
            rows,
        )
    }

    /// What was not purged when each phase ended, a table for each way to tell it.
    fn purge_lags(&self) -> Vec<Table> {
        let told = |(series, what, _): &(&str, &str, &str)| {
            let rows = self.cells(|row, name| {
                let phase = self.phase(row, name);
                Cell::number(phase.and_then(|phase| phase.at_end(series)))
            });
            self.table(&format!("Purge lag at the end: {what}"), rows)
        };
        PURGE_LAGS.iter().filter_map(told).collect()
    }

    /// A table by phase, if anything is in it.
    fn table(&self, title: &str, rows: Vec<(String, Vec<Cell>)>) -> Option<Table> {
        let mut cells = rows.iter().flat_map(|(_, cells)| cells);
        cells.any(|cell| cell.value.is_some()).then(|| {
            let mut columns = vec!["configuration".to_owned()];
            columns.extend(self.names.iter().map(|name| (*name).to_owned()));
            Table {
                title: title.to_owned(),
                about: String::new(),
                columns,
                rows,
            }
        })
    }

    /// All figures of a phase, absolute and relative to the first.
    fn metrics(&self, name: &str) -> Vec<Table> {
        let mut columns = vec!["configuration".to_owned()];
        columns.extend(NAMES.iter().map(|(name, _)| (*name).to_owned()));
        let values: Vec<(String, Vec<Option<f64>>)> = (0..self.rows.len())
            .filter_map(|row| {
                let (label, _) = self.rows.get(row)?;
                Some(((*label).to_owned(), self.phase(row, name)?.metrics()))
            })
            .collect();
        let Some((_, base)) = values.first().cloned() else {
            return Vec::new();
        };
        let absolute = values.iter().map(|(label, figures)| {
            let cells = figures.iter().map(|figure| Cell::number(*figure));
            (label.clone(), cells.collect())
        });
        let mut tables = vec![Table {
            title: format!("{name}: figures"),
            about: String::new(),
            columns: columns.clone(),
            rows: absolute.collect(),
        }];
        if values.len() > 1 {
            let relative = values.iter().map(|(label, figures)| {
                let cells = figures
                    .iter()
                    .zip(&base)
                    .map(|pair| Cell::ratio(ratio(pair)));
                (label.clone(), cells.collect())
            });
            tables.push(Table {
                title: format!("{name}: figures relative to the first"),
                about: String::new(),
                columns,
                rows: relative.collect(),
            });
        }
        tables
    }

    /// The share of response times in coarse buckets, by operation.
    fn buckets(&self, name: &str) -> Option<Table> {
        let mut rows = Vec::new();
        for row in 0..self.rows.len() {
            let (Some((label, _)), Some(phase)) = (self.rows.get(row), self.phase(row, name))
            else {
                continue;
            };
            let operations = phase
                .run
                .summary
                .as_ref()
                .map(|summary| &summary.operations);
            for operation in operations.into_iter().flatten() {
                let latencies = operation.response.as_ref().unwrap_or(&operation.service);
                if latencies.count == 0 {
                    continue;
                }
                let mut counts = [0_u64; BUCKETS_MS.len() + 1];
                for bucket in &latencies.buckets {
                    let place = BUCKETS_MS
                        .iter()
                        .position(|bound| bucket.to_ms <= bound * 1.001);
                    counts[place.unwrap_or(BUCKETS_MS.len())] += bucket.count;
                }
                let all = counts.iter().sum::<u64>().max(1) as f64;
                let share = |count: &u64| match *count {
                    0 => Cell {
                        value: Some(0.0),
                        ..Cell::default()
                    },
                    count => share(count as f64 / all * 100.0),
                };
                let mut cells: Vec<Cell> = counts.iter().map(share).collect();
                cells.push(Cell::number(Some(latencies.max_ms / 1e3)));
                rows.push((format!("{label} {}", operation.name), cells));
            }
        }
        let heads = [
            "256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt", "max s",
        ];
        let mut columns = vec!["configuration and operation".to_owned()];
        columns.extend(heads.map(str::to_owned));
        (!rows.is_empty()).then(|| Table {
            title: format!("{name}: response times, percent up to each bound"),
            about: "From a histogram of finer buckets: one that crosses a bound counts above it."
                .to_owned(),
            columns,
            rows,
        })
    }

    /// The mean rate per client in each tenth of a phase.
    fn tenths(&self) -> Option<Table> {
        let mut rows = Vec::new();
        for (label, phases) in &self.rows {
            for phase in phases {
                let course = phase.course();
                if course.len() < 10 {
                    continue;
                }
                let tenth = |number: usize| {
                    let from = course.len() * number / 10;
                    let to = course.len() * (number + 1) / 10;
                    let part = &course[from..to];
                    Cell::number(Some(part.iter().sum::<f64>() / part.len() as f64))
                };
                let cells = (0..10).map(tenth).collect();
                rows.push((format!("{label} {}", phase.name()), cells));
            }
        }
        let mut columns = vec!["configuration and phase".to_owned()];
        columns.extend((1..=10).map(|number| number.to_string()));
        (!rows.is_empty()).then(|| Table {
            title: "Mean rate per client in each tenth of a phase".to_owned(),
            about: String::new(),
            columns,
            rows,
        })
    }
}

/// 1 where both are 0.
fn ratio((figure, base): (&Option<f64>, &Option<f64>)) -> Option<f64> {
    match (*figure, *base) {
        (Some(0.0), Some(0.0)) => Some(1.0),
        (figure, base) => Some(figure? / base?),
    }
}

fn share(percent: f64) -> Cell {
    let text = match format!("{percent:.3}") {
        text if text == "0.000" => "nonzero".to_owned(),
        text => text,
    };
    Cell {
        value: Some(percent),
        text,
        mark: Mark::None,
    }
}

/// Points at the lowest and the highest quarter of a column's range. Where the lowest is four
/// fifths of the highest, nothing is low. What missed the background's rate does not count.
fn mark_quarters(rows: &mut [(String, Vec<Cell>)], column: usize) {
    let counts = |cell: &Cell| cell.value.filter(|_| cell.mark != Mark::Missed);
    let values = rows
        .iter()
        .filter_map(|(_, cells)| counts(cells.get(column)?));
    let values: Vec<f64> = values.collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() < 2 || low >= high {
        return;
    }
    let quarter = (high - low) / 4.0;
    for (_, cells) in rows {
        let Some(cell) = cells.get_mut(column) else {
            continue;
        };
        let Some(value) = counts(cell) else {
            continue;
        };
        if value >= high - quarter {
            cell.mark = Mark::High;
        } else if value <= low + quarter && low < 0.8 * high {
            cell.mark = Mark::Low;
        }
    }
}
