//! The record of a day with ten operations and 150 series must stay small.

use crate::common::day::{Day, OPERATIONS, SECONDS, SERIES};
use crate::common::head;
use dyno_results::{Results, Scope};
use tempfile::TempDir;

/// The largest size of a day's record in bytes.
const BYTES_MAX: u64 = 100_000_000;

/// Record one of this many seconds of the merged part, to save time. The measurement, `cargo run
/// --release -p dyno-results --example day write FILE`, records each second in its own transaction,
/// and results in the same size.
const STRIDE: u32 = 10;

/// Simulated seconds in one transaction.
const SECONDS_AT_ONCE: u32 = 300;

#[test]
fn a_day_stays_below_a_hundred_megabytes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    // Do not measure the first run, because the number 1 takes less space than any other.
    drop(
        Results::open(&path)
            .unwrap()
            .begin(&head("before"))
            .unwrap(),
    );
    let mut writer = Results::open(&path).unwrap().begin(&head("day")).unwrap();
    let mut day = Day::begin(&mut writer, STRIDE);
    for number in 1..=SECONDS {
        for record in day.second(number) {
            writer.take(record);
        }
        if number % SECONDS_AT_ONCE == 0 {
            writer.flush().unwrap();
        }
    }
    assert_eq!(writer.lost(), 0);
    drop(writer);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < BYTES_MAX, "{bytes} bytes");

    // The last second of the first hour ends slightly late, and so counts as part of the merged
    // data.
    let (fine, coarse) = (3599, (SECONDS as usize - 3600) / 10);
    let steps = fine + coarse..=fine + coarse + 2;
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT count(*) FROM span GROUP BY operation";
    let mut statement = connection.prepare(sql).unwrap();
    let counts = statement.query_map([], |row| row.get::<_, u32>(0)).unwrap();
    let counts: Vec<usize> = counts.map(|count| count.unwrap() as usize).collect();
    assert_eq!(counts.len(), OPERATIONS);
    assert!(
        counts.iter().all(|count| steps.contains(count)),
        "{counts:?}"
    );

    let results = Results::open_read(&path).unwrap();
    let run = results.load(2, &Scope::whole()).unwrap();
    assert_eq!(run.intervals.len(), SECONDS as usize);
    assert_eq!(run.series.len(), SERIES);
    for series in &run.series {
        let points = series.points.len();
        assert!(steps.contains(&points), "{points} points");
    }
    let held: usize = run
        .operations
        .iter()
        .map(|operation| operation.spans.len())
        .sum();
    assert!(
        held <= dyno_results::SPANS_HELD_MAX + 2 * OPERATIONS,
        "{held} spans held"
    );
    let counted: u64 = run.operations[1].spans.iter().map(|span| span.count).sum();
    // The late second was left out.
    assert_eq!(counted, 111 * u64::from(SECONDS - 1));
    let binned: u64 = run.operations[1]
        .spans
        .iter()
        .map(|span| span.service.len())
        .sum();
    assert_eq!(binned, counted);
}
