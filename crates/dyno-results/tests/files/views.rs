//! The views must return rows, and the guide must explain every column.

use std::path::{Path, PathBuf};

use crate::common::{doubtful, head, interval, latencies, summary};
use dyno_core::cpu_profile::{CpuProfile, ProfiledProcess};
use dyno_core::record::{EventKind, RunHead, RunState, SeriesKind, SessionShare};
use dyno_core::states::{IdleIn, SessionState};
use dyno_core::summary::IntervalSummary;
use dyno_results::{ExperimentHead, Record, Results, TrialRow};
use dyno_samples::values;
use rusqlite::Connection;
use tempfile::TempDir;

/// A file with two runs, which use every table.
fn two_runs(folder: &Path) -> PathBuf {
    let path = folder.join("dyno.db");
    plan_a_trial(&path);
    for (name, buffer_pool) in [("a", "1G"), ("b", "2G")] {
        let head = RunHead {
            trial: (name == "a").then(|| TRIAL.to_owned()),
            ..head(name)
        };
        let mut writer = Results::open(&path).unwrap().begin(&head).unwrap();
        writer
            .setting("innodb_buffer_pool_size", buffer_pool, false)
            .unwrap();
        writer
            .setting("innodb_buffer_pool_size", "3G", true)
            .unwrap();
        let fact = values::fact("host.kernel", &format!("6.{name}"), "uname");
        writer.fact(&fact).unwrap();
        for scope in ["host", "server"] {
            let key = values::key(&format!("{scope}.cpu"), "percent");
            let series = writer.series(&key, SeriesKind::Gauge).unwrap();
            writer.sample(1.0, &[(series, 12.5)]).unwrap();
        }
        let gap = values::gap("db", "no right to ask");
        writer.not_observed(&gap).unwrap();
        writer.write(Record::Profile(Box::new(profile()))).unwrap();
        let event = values::event(1.0, None, EventKind::Note, "look here");
        writer.event(&event).unwrap();
        let event = latencies(2000, 4);
        for interval in &intervals() {
            writer.interval(interval, &[("event", &event)]).unwrap();
        }
        let mut summary = summary();
        summary.measured_s = 60.0;
        writer
            .finish(
                &summary,
                RunState::Completed,
                &[("event", &event)],
                &[lost_session()],
            )
            .unwrap();
        let (findings, verdict) = doubtful();
        writer.judge(&findings, verdict, &[]).unwrap();
    }
    path
}

fn profile() -> CpuProfile {
    let folded = "connection;main;do_command 3\nconnection;main;futex_[k] 2\n";
    CpuProfile {
        lost: 1,
        ..values::profile(ProfiledProcess::Server, folded)
    }
}

fn lost_session() -> SessionShare {
    SessionShare {
        state: Some(SessionState::Lost),
        idle: Some(values::idle(1.0, 9.0, IdleIn::Worker, 0)),
        ..values::share(0, 0, 60, 1.0)
    }
}

const TRIAL: &str = "c0ffee";

fn plan_a_trial(path: &Path) {
    let head = ExperimentHead {
        name: "buffer pools".to_owned(),
        file: "pools.toml".to_owned(),
        scale: None,
        question: "Is more better?".to_owned(),
        cite: String::new(),
        definition: "name = \"buffer pools\"".to_owned(),
    };
    let trial = TrialRow {
        identity: TRIAL.to_owned(),
        label: "pool=1G".to_owned(),
        levels: [("pool".to_owned(), "1G".to_owned())].into(),
        block: 0,
        repeat: 0,
        role: "repeat".to_owned(),
        made_of: serde_json::Value::Null,
    };
    let mut results = Results::open(path).unwrap();
    results.keep_experiment(&head, &[trial]).unwrap();
}

/// Intervals of one second, of which the second and the last are stalled.
fn intervals() -> Vec<IntervalSummary> {
    let second = |(at_s, number): (f64, u32)| IntervalSummary {
        at_s,
        ..interval(number)
    };
    let numbers = [50, 1, 50, 50, 50, 50, 0];
    [50.0, 1.0, 51.0, 52.0, 53.0, 54.0, 55.0]
        .into_iter()
        .zip(numbers)
        .map(second)
        .collect()
}

fn names(connection: &Connection, kind: &str) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = ?1 AND name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([kind], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn every_view_answers_with_rows() {
    let folder = TempDir::new().unwrap();
    let connection = Connection::open(two_runs(folder.path())).unwrap();
    let views = names(&connection, "view");
    assert!(views.len() >= 15, "{views:?}");
    for view in views {
        let sql = format!("SELECT count(*) FROM {view}");
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert!(count > 0, "{view} has no rows");
    }
}

#[test]
fn views_answer_their_questions() {
    let folder = TempDir::new().unwrap();
    let connection = Connection::open(two_runs(folder.path())).unwrap();
    let text = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let value = |index| row.get::<_, rusqlite::types::Value>(index);
            let values: Result<Vec<_>, _> = (0..columns).map(value).collect();
            let texts = values?.into_iter().map(|value| match value {
                rusqlite::types::Value::Text(text) => text,
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Real(number) => format!("{number:.2}"),
                _ => "-".to_owned(),
            });
            Ok(texts.collect::<Vec<_>>().join(" "))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let differs = text(
        "SELECT what, name, base, new FROM what_differs_between_two_runs
         WHERE base_id = 1 AND new_id = 2",
    );
    assert_eq!(
        differs,
        [
            "setting innodb_buffer_pool_size 1G 2G",
            "fact host.kernel 6.a 6.b"
        ]
    );
    assert_eq!(
        text("SELECT name, at_start, at_end FROM which_settings_changed WHERE run_id = 1"),
        ["innodb_buffer_pool_size 1G 3G"]
    );
    assert_eq!(
        text("SELECT from_s, length_s, events_per_s, max_ms FROM where_did_it_stall LIMIT 1"),
        ["54.00 0.75 0.00 17.50"]
    );
    assert_eq!(
        text("SELECT session, state, idle_in, idle_s FROM which_session_was_idle WHERE run_id = 1"),
        ["0 lost worker 8.00"]
    );
    assert_eq!(
        text("SELECT connecting, lost FROM what_did_the_sessions_do WHERE run_id = 1 LIMIT 1"),
        ["1 1"]
    );
    assert_eq!(
        text("SELECT cost, per_event, unit FROM what_did_it_cost WHERE run_id = 2"),
        ["server CPU 120.50 us"]
    );
    assert_eq!(
        text("SELECT check_name, outcome FROM which_findings_spoke_against_it WHERE run = 'a'"),
        ["client-cpu doubt"]
    );
    assert_eq!(
        text("SELECT series, value, unit FROM what_did_the_host_do WHERE run_id = 1"),
        ["host.cpu 12.50 percent"]
    );
    assert_eq!(
        text("SELECT count, min_ms, p50_ms FROM what_latency_in_all WHERE run_id = 1"),
        ["2000 4.00 13.99"]
    );
    assert_eq!(
        text(r#"SELECT percentiles ->> '$."95"' FROM how_fast_was_it_each_second LIMIT 1"#),
        ["4.12"]
    );
}

#[test]
fn profiles_are_listed_without_their_stacks() {
    let folder = TempDir::new().unwrap();
    let connection = Connection::open(two_runs(folder.path())).unwrap();
    let sql = "SELECT process, samples, lost FROM what_was_profiled WHERE run = 'a'";
    let profile: (String, i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    assert_eq!(profile, ("server".to_owned(), 5, 1));
}

#[test]
fn the_guide_explains_every_column() {
    let folder = TempDir::new().unwrap();
    let connection = Connection::open(two_runs(folder.path())).unwrap();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    for kind in ["table", "view"] {
        for name in names(&connection, kind) {
            let Some((_, section)) = guide.split_once(&format!("### `{name}`")) else {
                unreachable!("docs/results.md has no section `{name}`")
            };
            let section = section.split("\n### ").next().unwrap_or_default();
            let sql = "SELECT name FROM pragma_table_xinfo(?1)";
            let mut statement = connection.prepare(sql).unwrap();
            let columns = statement.query_map([&name], |row| row.get::<_, String>(0));
            for column in columns.unwrap().map(Result::unwrap) {
                let explained = section.contains(&format!("`{column}`"));
                assert!(
                    explained,
                    "docs/results.md: `{name}` says nothing of `{column}`"
                );
            }
        }
    }
}
