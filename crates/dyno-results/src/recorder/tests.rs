//! Recording while the file cannot be written to.

use std::time::Duration;

use dyno_core::record::RunState;
use dyno_samples::assert_has;
use dyno_samples::values::{self, head};
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::read::Scope;
use crate::schema::MIGRATIONS;
use crate::write::PENDING_MAX;

/// A page limit that simulates a full disk: more pages than an empty file needs, but not enough for
/// the run.
const PAGES_MAX: i64 = 80;

/// A writer with a short lock timeout.
fn impatient(path: &Path) -> RunWriter {
    let results = Results::open_with(path, Duration::from_millis(20), MIGRATIONS).unwrap();
    results.begin(&head("a")).unwrap()
}

fn interval(number: u32) -> IntervalSummary {
    values::interval(f64::from(number), 0)
}

fn latencies() -> Latencies {
    let mut latencies = Latencies::default();
    latencies.record_service(4_000_000);
    latencies
}

/// Writes an interval and a long record.
fn record(writer: &mut RunWriter, number: u32) -> Result<(), ResultsError> {
    let (name, value) = (format!("host.long{number}"), "x".repeat(10_000));
    writer.fact(&values::fact(&name, &value, ""))?;
    writer.interval(&interval(number), &[("event", &latencies())])
}

#[test]
fn a_full_disk_is_reported_at_the_end_and_the_run_goes_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut writer = impatient(&path);
    writer
        .results_mut()
        .connection
        .pragma_update(None, "max_page_count", PAGES_MAX)
        .unwrap();
    let mut failed = None;
    for number in 1..200 {
        let written = record(&mut writer, number);
        failed = failed.or(written.err());
    }
    let error = failed.unwrap();
    assert!(matches!(error.problem, Problem::Full(_)), "{error}");
    assert_has(&error.to_string(), "free some space");
    let recorder = BackgroundWriter::over(writer).unwrap();
    recorder.feed().interval(&interval(200), &[]);
    let error = recorder.abandon(RunState::Failed, "it ends").unwrap_err();
    assert!(matches!(error.problem, Problem::Full(_)), "{error}");

    // Everything written before is intact.
    let results = Results::open_read(&path).unwrap();
    let run = results.load(1, &Scope::every()).unwrap();
    let saved = run.intervals.len();
    assert!((1..199).contains(&saved), "{saved}");
    assert_eq!(run.operations[0].spans.len(), saved);
}

#[test]
fn space_that_comes_back_in_time_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut writer = impatient(&path);
    let limit = |writer: &mut RunWriter, pages: i64| {
        let connection = &writer.results_mut().connection;
        connection
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
    };
    limit(&mut writer, PAGES_MAX);
    let written: Vec<bool> = (1..200)
        .map(|number| record(&mut writer, number).is_ok())
        .collect();
    assert!(written.contains(&false));
    limit(&mut writer, 1_000_000);
    writer.flush().unwrap();
    let run = writer.results().load(1, &Scope::every()).unwrap();
    assert_eq!(
        (run.intervals.len(), run.operations[0].spans.len()),
        (199, 199)
    );
}

#[test]
fn a_locked_file_is_written_when_the_lock_ends() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let recorder = BackgroundWriter::over(impatient(&path)).unwrap();
    let feed = recorder.feed();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 1..=3 {
        feed.interval(&interval(number), &[]);
    }
    // Long enough for the attempts to fail. The test passes even if they have not failed yet.
    std::thread::sleep(Duration::from_millis(150));
    other.execute_batch("COMMIT").unwrap();
    let receipt = recorder.abandon(RunState::Failed, "it ends").unwrap();
    assert_eq!((receipt.dropped, receipt.warning()), (0, None));
    let run = Results::open_read(&path)
        .unwrap()
        .load(1, &Scope::every())
        .unwrap();
    assert_eq!((run.intervals.len(), run.state), (3, RunState::Failed));
}

#[test]
fn a_lock_that_never_ends_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let recorder = BackgroundWriter::over(impatient(&path)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = recorder.abandon(RunState::Failed, "it ends").unwrap_err();
    assert!(matches!(error.problem, Problem::Locked { .. }), "{error}");
    assert_has(&error.to_string(), "another process");
}

#[test]
fn a_lock_is_waited_for_once_and_not_by_each_record() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let patience = Duration::from_millis(500);
    let results = Results::open_with(&path, patience, MIGRATIONS).unwrap();
    let recorder = BackgroundWriter::over(results.begin(&head("a")).unwrap()).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Clock.now();
    for number in 0..100 {
        recorder.feed().interval(&interval(number), &[]);
    }
    let error = recorder.abandon(RunState::Failed, "it ends").unwrap_err();
    assert!(matches!(error.problem, Problem::Locked { .. }), "{error}");
    // The writer waits once for the first record and once for the end, not a hundred times (50 s).
    let waited = Duration::from_nanos(Clock.now() - begun);
    assert!(waited < 40 * patience, "{waited:?}");
}

#[test]
fn the_end_of_a_run_waits_within_bounds_and_calls_back() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let results = Results::open_with(&path, Duration::from_secs(3600), MIGRATIONS).unwrap();
    let mut recorder = BackgroundWriter::over(results.begin(&head("a")).unwrap()).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    recorder.end.notice = Duration::from_millis(1);
    recorder.end.patience = Duration::from_millis(100);
    let recorder = recorder.on_wait(|_| {
        CALLS.fetch_add(1, Ordering::Relaxed);
    });
    let error = recorder.abandon(RunState::Failed, "it ends").unwrap_err();
    assert!(matches!(error.problem, Problem::NoWriter(_)), "{error}");
    assert_has(&error.to_string(), "within 0.1 s");
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}

#[test]
fn records_that_do_not_fit_are_counted_without_waiting() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let writer = impatient(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let recorder = BackgroundWriter::over(writer).unwrap();
    let feed = recorder.feed();
    // The thread waits 20 ms for each interval, while this loop sends as fast as it can.
    let sent = 2 * QUEUE_MAX as u64;
    for number in 0..sent {
        feed.interval(&interval(number as u32), &[]);
    }
    assert!(feed.dropped() > 0);
    other.execute_batch("COMMIT").unwrap();
    let receipt = recorder.abandon(RunState::Failed, "it ends").unwrap();
    let run = Results::open_read(&path)
        .unwrap()
        .load(1, &Scope::every())
        .unwrap();
    assert_eq!(run.intervals.len() as u64 + receipt.dropped, sent);
    let warning = receipt.warning().unwrap();
    assert_has(&warning, "records of the run were lost");
    assert!(feed.dropped() == receipt.dropped);
    feed.started(1.0);
    assert_eq!(feed.dropped(), receipt.dropped + 1);
}

#[test]
fn a_run_without_results_keeps_how_it_ended() {
    for state in [RunState::Failed, RunState::Interrupted] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("dyno.db");
        let recorder = BackgroundWriter::over(impatient(&path)).unwrap();
        recorder.abandon(state, "it ends").unwrap();
        let results = Results::open_read(&path).unwrap();
        let run = results.load(1, &Scope::every()).unwrap();
        assert_eq!((run.state, run.events[0].text.as_str()), (state, "it ends"));
    }
}

/// A series that first changes after hours sends all of its zeros at once, more than a queue can
/// hold.
#[test]
fn many_points_of_one_series_are_one_record() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let recorder = BackgroundWriter::over(impatient(&path)).unwrap();
    let feed = recorder.feed();
    let key = values::key("db.lock_waits", "count/s");
    let id = feed.series(&key, SeriesKind::Gauge);
    let points = (0..3 * QUEUE_MAX).map(|second| (second as f64, 0.0));
    feed.points(id, points.collect());
    feed.sample(3.0 * QUEUE_MAX as f64, &[(id, 7.0)]);
    let receipt = recorder.abandon(RunState::Failed, "it ends").unwrap();
    assert_eq!((receipt.dropped, receipt.warning()), (0, None));
    let run = Results::open_read(&path)
        .unwrap()
        .load(1, &Scope::every())
        .unwrap();
    let points = &run.series[0].points;
    assert_eq!(points.first(), Some(&(0.0, 0.0)));
    assert_eq!(points.last().map(|last| last.1), Some(7.0));
    let zeros = points.iter().filter(|(_, value)| *value == 0.0).count();
    // After the first hour, each sample covers several seconds.
    assert!(zeros > 2 * QUEUE_MAX, "{zeros} of {}", points.len());
}

#[test]
fn a_writer_keeps_few_pages_in_memory() {
    let folder = TempDir::new().unwrap();
    let results = Results::open(&folder.path().join("dyno.db")).unwrap();
    let kib: i64 = results
        .connection
        .pragma_query_value(None, "cache_size", |row| row.get(0))
        .unwrap();
    assert!((-1024..0).contains(&kib), "{kib}");
}

#[test]
fn rows_that_wait_too_long_are_counted_as_lost() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut writer = impatient(&path);
    let key = values::key("host.load", "count");
    let id = writer.series(&key, SeriesKind::Gauge).unwrap();
    for number in 0..PENDING_MAX + 10 {
        writer.take(Record::Samples(number as f64 / 1e6, vec![(id, 1.0)]));
    }
    // The series itself takes one row.
    assert_eq!(writer.lost(), 11);
    writer.take(Record::Samples(1.0, vec![(SeriesId(99), 1.0)]));
    writer.flush().unwrap();
    writer.take(Record::Samples(1.0, vec![(SeriesId(99), 1.0)]));
    assert_eq!(writer.lost(), 13);
}
