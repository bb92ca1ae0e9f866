//! Tables of cells for pages and files, and the headings of figures.

use dyno_core::finding::Cause;
use dyno_core::units::human_number;
use dyno_report::sheet::Sheet;
use dyno_report::{Pivot, equivalence_words};

use super::shared::mark;
use crate::commands::pivot::levels;

/// The table as text, cell by cell.
pub(in crate::commands::lab) fn as_sheet(table: &Pivot) -> Sheet {
    let mut columns = vec![(table.rows.0.clone(), false)];
    columns.extend(table.columns.iter().map(|(name, _)| (name.clone(), false)));
    let heading = head(&table.figure);
    let names = [
        heading.as_str(),
        "ratio",
        "95 %",
        "stalled s",
        "trials",
        "verdict",
    ];
    columns.extend(names.map(|name| (name.to_owned(), name != "verdict")));
    let is_tested = table.cells.iter().any(|cell| cell.equivalence.is_some());
    columns.extend(is_tested.then(|| ("answer".to_owned(), false)));
    let rows = table.cells.iter().map(|cell| {
        let (level, column) = levels(table, cell);
        let mut row = vec![level.to_owned()];
        row.extend(column.map(str::to_owned));
        let bounds = cell.low.zip(cell.high);
        let of = |value: Option<f64>, decimals: usize| match value {
            None => "–".to_owned(),
            Some(value) if value < 100.0 => human_number(value, decimals.max(2)),
            Some(value) => human_number(value, decimals),
        };
        row.push(of(cell.value, 0));
        row.push(of(cell.ratio, 3));
        row.push(bounds.map_or_else(String::new, |(low, high)| format!("{low:.3} – {high:.3}")));
        row.push(of(cell.stalled_s, 1));
        row.push(cell.runs.len().to_string());
        row.push(
            cell.verdict
                .map_or("not judged", |verdict| verdict.word())
                .to_owned(),
        );
        let test = cell.equivalence.as_ref();
        row.extend(is_tested.then(|| test.map_or_else(String::new, equivalence_words)));
        row
    });
    let unit = if table.unit.is_empty() {
        String::new()
    } else {
        format!(", {}", table.unit)
    };
    let ratios = (!table.base.is_empty()).then(|| table.ratios_of().to_owned());
    let about: Vec<String> = table.pooled.iter().cloned().chain(ratios).collect();
    let mut sheet_table = Sheet {
        title: format!("{}{unit}; ratios to {}", table.figure, table.base),
        about: about.join(" "),
        columns,
        rows: rows.collect(),
    };
    let marks: Vec<Option<Cause>> = table.cells.iter().map(|cell| cell.includes).collect();
    mark(&mut sheet_table, &marks);
    sheet_table
}

/// The heading of a column of a figure: latencies have short names, and are in milliseconds.
pub(super) fn head(figure: &str) -> String {
    let percent = figure.strip_prefix('p');
    let is_percentile = percent.is_some_and(|percent| percent.parse::<f64>().is_ok());
    match figure {
        "mean" | "max" => format!("{figure} latency, ms"),
        _ if is_percentile => format!("{figure} latency, ms"),
        other => other.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use dyno_verdict::Cell;

    use super::*;

    #[test]
    fn latencies_are_named_with_their_unit() {
        assert_eq!(head("p99"), "p99 latency, ms");
        assert_eq!(head("p99.9"), "p99.9 latency, ms");
        assert_eq!(head("mean"), "mean latency, ms");
        assert_eq!(head("rate"), "rate");
        assert_eq!(head("server_cpu"), "server cpu");
    }

    #[test]
    fn a_table_of_cells_has_the_heading_of_its_figure() {
        let table = Pivot {
            figure: "p99".to_owned(),
            unit: "ms".to_owned(),
            rows: ("memory".to_owned(), vec!["5G".to_owned()]),
            columns: None,
            base: "memory=5G".to_owned(),
            cells: Vec::new(),
            runs: Vec::new(),
            by_block: true,
            pooled: None,
        };
        let names: Vec<String> = as_sheet(&table)
            .columns
            .into_iter()
            .map(|own| own.0)
            .collect();
        assert_eq!(names[..2], ["memory", "p99 latency, ms"]);
    }

    #[test]
    fn cells_with_the_work_of_other_clients_are_marked() {
        let cell = |row: usize, includes: Option<Cause>| Cell {
            row,
            column: 0,
            runs: vec![1],
            value: Some(1.0),
            ratio: None,
            low: None,
            high: None,
            equivalence: None,
            stalled_s: None,
            verdict: None,
            thin: false,
            includes,
        };
        let table = Pivot {
            figure: "server CPU".to_owned(),
            unit: "us per event".to_owned(),
            rows: ("memory".to_owned(), vec!["5G".to_owned(), "9G".to_owned()]),
            columns: None,
            base: "memory=5G".to_owned(),
            cells: vec![cell(0, None), cell(1, Some(Cause::OtherClients))],
            runs: Vec::new(),
            by_block: true,
            pooled: None,
        };
        let sheet_table = as_sheet(&table);
        assert_eq!(sheet_table.columns.last().unwrap().0, "includes");
        let last = sheet_table
            .rows
            .iter()
            .map(|row| row.last().unwrap().as_str());
        assert_eq!(last.collect::<Vec<_>>(), ["", "other clients"]);
    }
}
