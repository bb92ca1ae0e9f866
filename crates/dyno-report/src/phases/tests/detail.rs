//! Groups, single phases and their details.

use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::summary::{LatencySummary, OperationSummary};

use super::*;
use crate::phases::marks::{Good, mark_quarters};

fn query() -> RunRecord {
    run("qr100.L1", "queries", 1.0, 40.0, Some(1.0))
}

fn titled(sequences: &[Sequence], title: &str) -> Table {
    let found = tables(sequences).into_iter();
    let mut found = found.filter(|table| table.title == title);
    found.next().unwrap_or_else(|| panic!("no table {title}"))
}

fn operation(name: &str, times: u64, longest_ms: f64) -> OperationSummary {
    let service = LatencySummary {
        count: times,
        mean_ms: Some(longest_ms / 2.0),
        max_ms: Some(longest_ms),
        sum_ms: Some(longest_ms / 2.0 * times as f64),
        ..LatencySummary::default()
    };
    values::operation(name, 1.0, service)
}

fn with_operations(operations: Vec<OperationSummary>) -> RunRecord {
    let mut run = query();
    run.summary.as_mut().unwrap().operations = operations;
    run
}

fn texts(row: &(String, Vec<Cell>)) -> Vec<&str> {
    row.1.iter().map(|cell| cell.text.as_str()).collect()
}

#[test]
fn groups_are_separated_wherever_sequences_are_below_each_other() {
    let mut all = sequences();
    all[2].begins_group = true;
    assert_eq!(titled(&all, "Throughput").breaks, [2]);
    assert_eq!(titled(&all, "Throughput relative to the first").breaks, [2]);
    assert_eq!(titled(&all, "qr100.L1: figures").breaks, [2]);
    // A row for each sequence and phase with clients that end, which is each here.
    assert_eq!(titled(&all, "Fairness").breaks, [4]);
    assert_eq!(titled(&all, "The background's rate").breaks, [2]);
    assert_eq!(titled(&sequences(), "Throughput").breaks, [0; 0]);
    let tables = tables(&all);
    let text = terminal(&tables, &Look::default());
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "Throughput")
        .collect();
    let base = rows
        .iter()
        .position(|line| line.starts_with("base "))
        .unwrap();
    assert!(rows[base + 1].starts_with("better "), "{text}");
    assert_eq!(rows[base + 2], "", "{text}");
    assert!(rows[base + 3].starts_with("late one "), "{text}");
    let page = html(&all, &tables, "title", 0.0);
    assert!(page.contains("<tr class=\"apart\"><th scope=\"row\">late\tone</th>"));
    // Programs that read tabs get no rows without figures.
    assert!(!tsv(&tables).contains("\n\nlate one"));
}

#[test]
fn colours_are_those_of_good_and_bad_or_of_more_and_less() {
    let all = sequences();
    let tables = tables(&all);
    let page = html(&all, &tables, "title", 0.0);
    for (class, text) in [
        ("high", "200000"),
        ("low", "50000"),
        ("above", "2.00"),
        ("below", "0.50"),
        ("missed", "(20000)"),
    ] {
        let cell = format!("<td class=\"n {class}\">{text}</td>");
        assert!(page.contains(&cell), "{cell}");
    }
    let look = Look {
        columns: 100,
        colour: true,
        ..Look::default()
    };
    let text = terminal(&tables, &look);
    for (colour, text_) in [
        (32, "200000"),
        (31, "50000"),
        (34, "2.00"),
        (33, "0.50"),
        (2, "(20000)"),
    ] {
        let cell = format!("\x1b[{colour}m{text_}\x1b[0m");
        assert!(text.contains(&cell), "{cell:?} in {text:?}");
    }
}

#[test]
fn quarters_are_marked_only_in_a_wide_range() {
    let marked = |values: &[f64], good| {
        let mut cells: Vec<Cell> = values.iter().map(|v| Cell::number(Some(*v))).collect();
        mark_quarters(cells.iter_mut(), good);
        let marks = cells.iter().map(|cell| cell.mark);
        marks.collect::<Vec<_>>()
    };
    use Mark::{High, Low, None};
    assert_eq!(
        marked(&[0.0, 25.0, 26.0, 74.0, 75.0, 100.0], Good::High),
        [Low, Low, None, None, High, High]
    );
    assert_eq!(
        marked(&[0.0, 25.0, 26.0, 74.0, 75.0, 100.0], Good::Low),
        [High, High, None, None, Low, Low]
    );
    // From four fifths on nothing is bad.
    assert_eq!(marked(&[79.0, 100.0], Good::High), [Low, High]);
    assert_eq!(marked(&[80.0, 100.0], Good::High), [None, High]);
    assert_eq!(marked(&[80.0, 100.0], Good::Low), [High, None]);
    assert_eq!(marked(&[5.0, 5.0], Good::High), [None, None]);
    assert_eq!(marked(&[5.0], Good::High), [None]);
}

#[test]
fn a_ratio_to_zero_is_infinite_and_durations_are_not_compared() {
    let all = [only("a", query()), only("b", query())];
    let mut all = all.map(|mut sequence| {
        sequence.runs[0]
            .summary
            .as_mut()
            .unwrap()
            .rates
            .events_per_s = 0.0;
        sequence
    });
    all[1].runs[0].summary.as_mut().unwrap().rates.events_per_s = 3.0;
    let relative = titled(&all, "qr100.L1: figures relative to the first");
    let at = |name: &str| relative.columns.iter().position(|own| own == name).unwrap() - 1;
    let (qps, rps, length) = (at("qps"), at("rps"), at("length"));
    assert_eq!(relative.rows[0].1[qps].text, "1.00");
    assert_eq!(relative.rows[1].1[qps].text, "inf");
    assert_eq!(relative.rows[1].1[rps].text, "–");
    assert_eq!(relative.rows[1].1[length].text, "–");
    let absolute = titled(&all, "qr100.L1: figures");
    assert_ne!(absolute.rows[1].1[length].text, "–");
}

#[test]
fn answers_are_counted_in_coarse_buckets_of_each_operation() {
    // The fine histogram of `new order`, 800 of them from 1.02 to about 21 ms.
    let slow = with_operations(vec![
        operation("new order", 800, 21.0),
        operation("min_key", 3, 90.0),
        operation("never", 0, 0.0),
    ]);
    let fast = with_operations(vec![operation("new order", 800, 7.0)]);
    let all = [only("slow", slow), only("fast", fast)];
    let table = titled(&all, "qr100.L1: response times, percent up to each bound");
    let labels: Vec<&str> = table.rows.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(
        labels,
        ["new order, slow", "new order, fast", "min_key, slow"]
    );
    assert_eq!(table.breaks, [2]);
    let figures = texts(&table.rows[0]);
    assert_eq!(figures[0..2], ["", ""]);
    // i * i * 500 ns more than 1.02 to 1.05 ms is at most 4 ms up to i = 77 or 76.
    let share: f64 = figures[2].parse().unwrap();
    assert!((share - 77.5 / 200.0 * 100.0).abs() < 1.0, "{figures:?}");
    let all: f64 = figures[..10]
        .iter()
        .filter_map(|text| text.parse::<f64>().ok())
        .sum();
    assert!((all - 100.0).abs() < 0.01, "{figures:?}");
    assert_eq!(figures[10], "0.021");
    assert_eq!(table.rows[0].1[10].mark, Mark::Low);
    assert_eq!(table.rows[1].1[10].mark, Mark::High);
    assert_eq!(table.rows[2].1[10].mark, Mark::None);
}

#[test]
fn events_without_a_due_time_have_service_times_in_an_open_loop_too() {
    let mut follows = operation("delete", 5, 30.0);
    follows.response = Some(LatencySummary::default());
    let mut due = operation("query", 5, 30.0);
    due.response = Some(operation("query", 5, 70.0).service);
    let run = with_operations(vec![follows, due]);
    let title = "qr100.L1: response times, percent up to each bound";
    let table = titled(&[only("open", run)], title);
    let labels: Vec<&str> = table.rows.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["delete, open", "query, open"]);
    assert_eq!(texts(&table.rows[0])[10], "0.030");
    assert_eq!(texts(&table.rows[1])[10], "0.070");
}

#[test]
fn looks_for_the_lowest_key_are_listed_with_their_sums() {
    let looked = with_operations(vec![
        operation("min_key_first", 8, 2000.0),
        operation("min_key", 40, 10.0),
    ]);
    let table = titled(&[only("one", looked)], "Searches for the lowest key");
    assert_eq!(table.rows[0].0, "one qr100.L1");
    let figures: Vec<Option<f64>> = table.rows[0].1.iter().map(|cell| cell.value).collect();
    assert_eq!(table.rows[0].1[4].text, "40");
    let expected = [8.0, 8.0, 1.0, 2.0, 40.0, 0.2, 0.005, 0.01];
    assert_eq!(figures, expected.map(Some));
    let none = tables(&[only("one", query())]);
    assert!(!none.iter().any(|table| table.title.starts_with("Looks")));
}

#[test]
fn the_first_and_the_last_tenth_are_figures_and_all_of_them_a_table() {
    let rates: Vec<f64> = (1..=20).map(f64::from).collect();
    let run = with_clients(query(), [&rates, &rates]);
    let sequences = [only("one", run)];
    let figures = titled(&sequences, "qr100.L1: figures");
    let at = |name: &str| figures.columns.iter().position(|own| own == name).unwrap() - 1;
    assert_eq!(figures.rows[0].1[at("rate_first")].value, Some(1.5));
    assert_eq!(figures.rows[0].1[at("rate_last")].value, Some(19.5));
    let tenths = titled(&sequences, "Mean rate per client in each tenth of a phase");
    assert_eq!(tenths.rows[0].1[4].value, Some(9.5));
}

#[test]
fn disks_are_listed_one_by_one() {
    let mut run = query();
    for (name, unit, value) in [
        ("host.disk[sda].writes", "count/s", 30.0),
        ("host.disk[sda].write_bytes", "bytes/s", 3_145_728.0),
        ("host.disk[sda].write_await", "ms", 1.5),
        ("host.disk[sdb].writes", "count/s", 0.0),
    ] {
        let points = [(1.0, value), (2.0, value)];
        let series = values::series(name, unit, SeriesKind::Gauge, &points);
        run.series.push(series);
    }
    let table = titled(&[only("one", run)], "qr100.L1: disks of the host, means");
    assert_eq!(table.rows.len(), 1, "{table:?}");
    assert_eq!(table.rows[0].0, "one sda");
    assert_eq!(
        texts(&table.rows[0]),
        ["–", "–", "–", "30.00", "3.000", "1.500", "–", "–"]
    );
}

#[test]
fn a_requested_rate_is_shown() {
    let mut asked = query();
    asked.summary.as_mut().unwrap().drive = Some(Drive {
        open_loop: Some(OpenLoop {
            per_second: 50.0,
            arrivals: Arrivals::Poisson,
        }),
        ..Drive::default()
    });
    let mut closed = query();
    closed.summary.as_mut().unwrap().drive = Some(Drive::default());
    let all = [only("open", asked), only("closed", closed)];
    let table = titled(&all, "Requested rate");
    assert_eq!(texts(&table.rows[0]), ["50.00"]);
    assert_eq!(texts(&table.rows[1]), ["–"]);
    let none = tables(&all[1..]);
    assert!(
        !none
            .iter()
            .any(|table| table.title.starts_with("The rate that"))
    );
    // Its throughput is set by the client.
    let [asked, closed] = all;
    let mut slower = query();
    slower.summary.as_mut().unwrap().rates.events_per_s = 10.0;
    let all = [closed, asked, only("slower", slower)];
    let absolute = titled(&all, "Throughput");
    assert_eq!(marks(&absolute, 0), [Mark::High, Mark::None, Mark::Low]);
    let relative = titled(&all, "Throughput relative to the first");
    assert_eq!(marks(&relative, 0), [Mark::None, Mark::None, Mark::Below]);
}
