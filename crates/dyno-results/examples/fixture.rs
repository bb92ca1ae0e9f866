//! Creates the small results file that tests keep for each schema version: `fixture FILE`.

#![allow(clippy::unwrap_used)] // a chore for developers

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::{doubtful, head, interval, latencies, summary};
use dyno_core::finding::Waiver;
use dyno_core::record::{
    Event, EventKind, Fact, NotObserved, RunState, SeriesKey, SeriesKind, SessionShare,
};
use dyno_results::Results;

fn main() {
    let path = std::env::args().nth(1).unwrap();
    // Small pages, because the many tables are almost empty.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA page_size = 512; VACUUM")
        .unwrap();
    drop(connection);
    write(Path::new(&path));
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = delete; PRAGMA page_size = 512; VACUUM;")
        .unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = wal")
        .unwrap();
}

fn write(path: &Path) {
    let head = head("20261121-version-1");
    let mut writer = Results::open(path).unwrap().begin(&head).unwrap();
    writer.started(1_795_000_001.5).unwrap();
    writer.setting("max_connections", "151", false).unwrap();
    writer.setting("max_connections", "200", true).unwrap();
    let fact = Fact {
        name: "host.cpu.model".to_owned(),
        value: "Xeon".to_owned(),
        source: "/proc/cpuinfo".to_owned(),
    };
    writer.fact(&fact).unwrap();
    let key = SeriesKey {
        name: "host.cpu.user".to_owned(),
        unit: "percent".to_owned(),
        source: "/proc/stat".to_owned(),
    };
    let cpu = writer.series(&key, SeriesKind::Gauge).unwrap();
    let gap = NotObserved {
        what: "host.pressure".to_owned(),
        why: "the kernel has no /proc/pressure".to_owned(),
    };
    writer.not_observed(&gap).unwrap();
    let event = Event {
        at_s: 1.0,
        until_s: Some(2.0),
        kind: EventKind::Disturbance,
        text: "a backup".to_owned(),
        detail: Default::default(),
    };
    writer.event(&event).unwrap();
    for number in 1..=3 {
        writer.sample(f64::from(number), &[(cpu, 12.5)]).unwrap();
        writer
            .interval(&interval(number), &[("event", &latencies(20, 4))])
            .unwrap();
    }
    let share = SessionShare {
        session: 0,
        worker: 0,
        events: 60,
        busy_s: 2.5,
        state: None,
        idle: None,
    };
    let total = latencies(60, 4);
    let totals = [("event", &total)];
    writer
        .finish(&summary(), RunState::Completed, &totals, &[share])
        .unwrap();
    let (findings, verdict) = doubtful();
    let waiver = Waiver {
        check: "errors".to_owned(),
        reason: "expected".to_owned(),
    };
    writer.judge(&findings, verdict, &[waiver]).unwrap();
}
