//! The view of stalls and the program mean the same by a stall.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod common;

use common::{Random, head, interval, summary};
use dyno_core::record::{RunRecord, RunState};
use dyno_core::summary::IntervalSummary;
use dyno_results::Results;
use rusqlite::Connection;
use tempfile::TempDir;

/// A run with a warm-up, stalls, intervals of some length that are seldom exact, and a grace.
fn run(number: u64, random: &mut Random) -> RunRecord {
    let usual = [0.1, 0.3, 0.5, 1.0, 1.0, 1.0, 10.0][(random.unit() * 7.0) as usize];
    let count = 3 + (random.unit() * 60.0) as usize;
    let level = [4.0, 30.0, 1000.0, 50_000.0][(random.unit() * 4.0) as usize];
    let (standing, trickle) = (random.unit() * 0.8, 0.1 * random.unit());
    let mut at_s = -2.0 * usual;
    let mut still = false;
    let intervals: Vec<IntervalSummary> = (0..count)
        .map(|_| {
            if random.unit() < 0.3 {
                still = random.unit() < standing;
            }
            let mut own = interval(1);
            own.length_s = usual * (1.0 + 0.02 * (random.unit() - 0.5));
            if random.unit() < 0.05 {
                own.length_s *= 0.5;
            }
            at_s += own.length_s;
            own.at_s = at_s;
            own.max_ms = random.unit();
            let rate = level * (0.7 + 0.6 * random.unit()) * if still { trickle } else { 1.0 };
            own.counters.events = (rate * own.length_s) as u64;
            own
        })
        .collect();
    let measured_s = at_s - 1.5 * usual;
    let with_summary = random.unit() < 0.7 && measured_s > 0.0;
    let mut summary = summary();
    summary.measured_s = measured_s;
    RunRecord {
        state: RunState::Completed,
        summary: with_summary.then_some(summary),
        intervals,
        ..RunRecord::new(head(&format!("run-{number}")))
    }
}

#[test]
fn the_view_finds_the_stalls_that_the_program_finds() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut results = Results::open(&path).unwrap();
    let mut random = Random(7);
    let runs: Vec<RunRecord> = (0..120).map(|number| run(number, &mut random)).collect();
    let mut expected = Vec::new();
    let mut unfit = 0;
    for run in &runs {
        let id = results.import(run).unwrap();
        match dyno_analysis::stalls::of(run) {
            Ok(found) => expected.extend(
                (found.spans.iter()).map(|span| (id, span.from_s, span.to_s, found.level_per_s)),
            ),
            Err(_) => unfit += 1,
        }
    }
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT run_id, from_s, to_s, level_events_per_s FROM where_did_it_stall";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    });
    let seen: Vec<(i64, f64, f64, f64)> = rows.unwrap().map(Result::unwrap).collect();
    assert!(seen.len() > 50 && unfit > 10, "{} {unfit}", seen.len());
    // A level that a run stays on to its end is no stall to the program; the view counts it.
    let is_new_level = |(id, from_s, to_s, _): &(i64, f64, f64, f64)| {
        let bins = dyno_analysis::bins::of(&runs[*id as usize - 1]);
        let within = bins.iter().filter(|bin| bin.from_s() >= *from_s - 1e-9);
        bins.last().is_some_and(|last| last.at_s == *to_s)
            && within.clone().count() >= 3
            && within.clone().all(|bin| bin.events_per_s() >= 20.0)
    };
    let levels: Vec<_> = seen.iter().filter(|row| is_new_level(row)).collect();
    assert!(levels.len() > 3 && expected.iter().all(|row| !is_new_level(row)));
    let stalls: Vec<_> = seen
        .iter()
        .filter(|row| !is_new_level(row))
        .copied()
        .collect();
    assert_eq!(stalls, expected);
}
