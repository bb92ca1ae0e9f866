//! The tables of single phases, and their details.

use dyno_core::catalogue::{Family, names};
use dyno_core::record::RunRecord;
use dyno_core::summary::{LatencySummary, OperationSummary};

use super::marks::{Good, mark_quarters};
use super::metrics::Phase;
use super::tables::Grid;
use super::{Cell, Mark, Table};

/// Upper bounds of the coarse buckets of response times, in milliseconds.
const BUCKETS_MS: [f64; 9] = [
    0.256, 1.0, 4.0, 16.0, 64.0, 256.0, 1_000.0, 4_000.0, 16_000.0,
];

/// Figures of a disk: the series' suffix, the heading, the divisor of its unit.
const DISK: [(Family, &str, f64); 8] = [
    (names::HOST_DISK_READS, "reads/s", 1.0),
    (names::HOST_DISK_READ_BYTES, "MiB read/s", 1_048_576.0),
    (names::HOST_DISK_READ_AWAIT, "read ms", 1.0),
    (names::HOST_DISK_WRITES, "writes/s", 1.0),
    (names::HOST_DISK_WRITE_BYTES, "MiB written/s", 1_048_576.0),
    (names::HOST_DISK_WRITE_AWAIT, "write ms", 1.0),
    (names::HOST_DISK_QUEUE, "queue", 1.0),
    (names::HOST_DISK_UTILISATION, "busy %", 1.0),
];

impl<'a> Grid<'a> {
    /// The phase with this name of each sequence that has it, with the sequence's row and label.
    fn with_phase(&self, name: &str) -> Vec<(usize, &'a str, &Phase<'a>)> {
        let rows = self.rows.iter().enumerate();
        rows.filter_map(|(row, (label, _))| Some((row, *label, self.phase(row, name)?)))
            .collect()
    }

    /// All figures of a phase, absolute and relative to the first sequence.
    pub(super) fn metrics(&self, name: &str) -> Vec<Table> {
        let with = self.with_phase(name);
        let breaks = self.breaks(with.iter().map(|(row, _, _)| *row));
        let values: Vec<_> = (with.iter())
            .map(|(_, label, phase)| ((*label).to_owned(), phase.metrics()))
            .collect();
        let Some((_, first)) = values.first() else {
            return Vec::new();
        };
        let mut columns = vec!["configuration".to_owned()];
        columns.extend(first.iter().map(|(name, _)| (*name).to_owned()));
        // The length of a phase that ends with its work is not better or worse.
        let base = first.iter();
        let base = base.map(|(name, value)| value.filter(|_| *name != "length"));
        let base: Vec<Option<f64>> = base.collect();
        let absolute = values.iter().map(|(label, figures)| {
            let cells = figures.iter().map(|(_, figure)| Cell::number(*figure));
            (label.clone(), cells.collect())
        });
        let mut tables = vec![Table {
            title: format!("{name}: figures"),
            about: String::new(),
            columns: columns.clone(),
            rows: absolute.collect(),
            breaks: breaks.clone(),
        }];
        if values.len() > 1 {
            let relative = values.iter().map(|(label, figures)| {
                let pairs = figures.iter().map(|(_, figure)| figure).zip(&base);
                let cells = pairs.map(|pair| Cell::ratio(ratio(pair)));
                (label.clone(), cells.collect())
            });
            tables.push(Table {
                title: format!("{name}: figures relative to the first"),
                about: String::new(),
                columns,
                rows: relative.collect(),
                breaks,
            });
        }
        tables
    }

    /// Mean figures of each disk in a phase.
    pub(super) fn disks(&self, name: &str) -> Option<Table> {
        let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
        for (row, label, phase) in self.with_phase(name) {
            for disk in disks_of(phase.run) {
                let cells = DISK.map(|(series, _, one)| {
                    let mean = phase.mean(&series.of(disk));
                    Cell::number(mean.map(|mean| mean / one))
                });
                let busy = |cell: &Cell| cell.value.is_some_and(|value| value > 0.0);
                if cells.iter().any(busy) {
                    rows.push((format!("{label} {disk}"), cells.to_vec()));
                    of_rows.push(row);
                }
            }
        }
        let mut columns = vec!["configuration and disk".to_owned()];
        columns.extend(DISK.map(|(_, head, _)| head.to_owned()));
        (!rows.is_empty()).then(|| Table {
            title: format!("{name}: disks of the host, means"),
            about: String::new(),
            columns,
            breaks: self.breaks(of_rows.into_iter()),
            rows,
        })
    }

    /// The time to find the lowest key: initially, and during each phase.
    pub(super) fn looks(&self) -> Option<Table> {
        let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
        for (row, (label, phases)) in self.rows.iter().enumerate() {
            for phase in phases {
                let kinds = ["min_key_first", "min_key"].map(|name| phase.operation(name));
                if kinds.iter().all(Option::is_none) {
                    continue;
                }
                let figures = |looks: Option<&LatencySummary>| {
                    let seconds = |ms: fn(&LatencySummary) -> Option<f64>| {
                        Cell::number(looks.and_then(|looks| Some(ms(looks)? / 1e3)))
                    };
                    let count = looks.map_or(0, |looks| looks.count);
                    [
                        Cell::whole(Some(count as f64)),
                        seconds(|looks| looks.sum_ms),
                        seconds(|looks| looks.mean_ms),
                        seconds(|looks| looks.max_ms),
                    ]
                };
                let cells = kinds.into_iter().flat_map(figures).collect();
                rows.push((format!("{label} {}", phase.name()), cells));
                of_rows.push(row);
            }
        }
        let mut columns = vec!["configuration and phase".to_owned()];
        for when in ["first", "later"] {
            let heads = ["searches", "sum s", "mean s", "longest s"];
            columns.extend(heads.map(|head| format!("{when} {head}")));
        }
        (!rows.is_empty()).then(|| Table {
            title: "Searches for the lowest key".to_owned(),
            about:
                "One search per client at the beginning of each phase, and later ones during it."
                    .to_owned(),
            columns,
            breaks: self.breaks(of_rows.into_iter()),
            rows,
        })
    }

    /// The share of response times in coarse buckets: one operation at a time, all configurations
    /// below each other.
    pub(super) fn buckets(&self, name: &str) -> Option<Table> {
        let with = self.with_phase(name);
        let mut names: Vec<&str> = Vec::new();
        for operation in with.iter().flat_map(|(_, _, phase)| operations(phase)) {
            if !names.contains(&operation.name.as_str()) {
                names.push(&operation.name);
            }
        }
        let (mut rows, mut breaks) = (Vec::new(), Vec::new());
        for operation in names {
            let mut own = Vec::new();
            for (_, label, phase) in &with {
                let found = operations(phase).find(|known| known.name == operation);
                own.extend(found.map(|found| {
                    let label = format!("{operation}, {label}");
                    (label, bucket_cells(phase.run, found))
                }));
            }
            let longest = own
                .iter_mut()
                .filter_map(|(_, cells): &mut (String, Vec<Cell>)| cells.last_mut());
            mark_quarters(longest, Good::Low);
            if !rows.is_empty() && with.len() > 1 {
                breaks.push(rows.len());
            }
            rows.append(&mut own);
        }
        let heads = [
            "256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt", "max s",
        ];
        let mut columns = vec!["operation and configuration".to_owned()];
        columns.extend(heads.map(str::to_owned));
        (!rows.is_empty()).then(|| Table {
            title: format!("{name}: response times, percent up to each bound"),
            about: "Counts statements, not rows. Marked: each operation's longest times in the \
                    lowest and highest quarter of their range, if that is large enough."
                .to_owned(),
            columns,
            rows,
            breaks,
        })
    }

    /// The mean rate per client in each tenth of a phase.
    pub(super) fn tenths(&self) -> Option<Table> {
        let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
        for (row, (label, phases)) in self.rows.iter().enumerate() {
            for phase in phases {
                let tenths = phase.tenths();
                if tenths.is_empty() {
                    continue;
                }
                let cells = tenths.into_iter().map(|rate| Cell::number(Some(rate)));
                rows.push((format!("{label} {}", phase.name()), cells.collect()));
                of_rows.push(row);
            }
        }
        let mut columns = vec!["configuration and phase".to_owned()];
        columns.extend((1..=10).map(|number| number.to_string()));
        (!rows.is_empty()).then(|| Table {
            title: "Mean rate per client in each tenth of a phase".to_owned(),
            about: String::new(),
            columns,
            breaks: self.breaks(of_rows.into_iter()),
            rows,
        })
    }
}

/// The observed disks, sorted by name.
fn disks_of(run: &RunRecord) -> Vec<&str> {
    let series = run.series.iter();
    let disks = series.filter_map(|series| names::HOST_DISK_WRITES.part(&series.key.name));
    let mut disks: Vec<&str> = disks.collect();
    disks.sort_unstable();
    disks
}

/// The operations with completions in a phase.
fn operations<'a>(phase: &Phase<'a>) -> impl Iterator<Item = &'a OperationSummary> {
    let summary = phase.run.summary.as_ref();
    let all = summary.map_or(&[][..], |summary| &summary.operations);
    all.iter().filter(|own| latencies(own).count > 0)
}

/// From the scheduled start in an open loop. Later operations of an event have no such time.
fn latencies(operation: &OperationSummary) -> &LatencySummary {
    let due = operation.response.as_ref().filter(|own| own.count > 0);
    due.unwrap_or(&operation.service)
}

/// The number of answers per coarse bucket, and beyond the last bound. They come from the fine
/// histogram if there is one, else from the summary's buckets; a bucket that crosses a bound counts
/// as above it.
fn coarse(run: &RunRecord, operation: &OperationSummary) -> [u64; BUCKETS_MS.len() + 1] {
    let mut counts = [0; BUCKETS_MS.len() + 1];
    let recorded = run.operations.iter().find(|own| own.name == operation.name);
    let total = recorded.and_then(|own| own.total.as_ref());
    let due = operation.response.as_ref().is_some_and(|own| own.count > 0);
    let fine = total.map(|total| match due {
        true => &total.response,
        false => &total.service,
    });
    let mut put = |to_ms: f64, count: u64| {
        let place = BUCKETS_MS.iter().position(|bound| to_ms <= bound * 1.001);
        counts[place.unwrap_or(BUCKETS_MS.len())] += count;
    };
    match fine.filter(|fine| !fine.is_empty()) {
        Some(fine) => {
            for step in fine.iter_recorded() {
                put(step.value_iterated_to() as f64 / 1e6, step.count_at_value());
            }
        }
        None => {
            for bucket in &latencies(operation).buckets {
                put(bucket.to_ms, bucket.count);
            }
        }
    }
    counts
}

/// The share in each coarse bucket, then the longest in seconds.
fn bucket_cells(run: &RunRecord, operation: &OperationSummary) -> Vec<Cell> {
    let counts = coarse(run, operation);
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let share = |count: &u64| match *count {
        0 => Cell {
            value: Some(0.0),
            ..Cell::default()
        },
        count => share(count as f64 / all * 100.0),
    };
    let mut cells: Vec<Cell> = counts.iter().map(share).collect();
    cells.push(Cell::number(latencies(operation).max_ms.map(|ms| ms / 1e3)));
    cells
}

/// 1 if both are 0.
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
