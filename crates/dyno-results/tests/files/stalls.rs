//! A stall must have the same length in the finding, the file, its view, JSON, pages and
//! comparisons.

use dyno_core::finding::{Finding, Stall, verdict};
use dyno_core::record::{EventKind, RunRecord};
use dyno_report::html::{ReportInput, report};
use dyno_results::{Results, Scope};
use dyno_samples::{Product, closed, noisy, values};
use dyno_verdict::{CompareOptions, Context, compare, judge};
use rusqlite::Connection;
use tempfile::TempDir;

/// A run with three stalled seconds, and a later stall of 0.547 s in a second that has events.
fn stalled() -> RunRecord {
    let mut rates = noisy(30, 1000.0, 0.04, 1);
    rates[9..12].fill(0.0);
    rates[20] = 450.0;
    let mut run = closed(&rates, Product::Mysql);
    let text = "No statement ended.";
    run.events
        .push(values::event(20.125, Some(20.672), EventKind::Stall, text));
    run
}

fn judged(mut run: RunRecord) -> RunRecord {
    run.findings = judge(&run, &Context::default());
    run.verdict = Some(verdict(&run.findings));
    run
}

fn stalls_finding(findings: &[Finding]) -> &Finding {
    findings.iter().find(|one| one.check == "stalls").unwrap()
}

/// From, to, length, rate within, level, and longest latency.
type Row = (f64, f64, f64, f64, f64, Option<f64>);

fn rows(file: &std::path::Path) -> Vec<Row> {
    let connection = Connection::open(file).unwrap();
    let sql = "SELECT from_s, to_s, length_s, events_per_s, level_events_per_s, max_ms
               FROM where_did_it_stall WHERE run_id = 1";
    let mut statement = connection.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<Row> {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
        ))
    };
    statement
        .query_map([], row)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[test]
fn a_stall_has_the_same_length_everywhere() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut results = Results::open(&path).unwrap();
    let id = results.import(&judged(stalled())).unwrap();
    let other = judged(closed(&noisy(30, 1000.0, 0.04, 2), Product::Mysql));
    let mut run = results.load(id, &Scope::whole()).unwrap();
    let finding = stalls_finding(&run.findings).clone();
    let number = |name: &str| finding.number(name).unwrap();
    let kept = finding.stalls.clone().unwrap();
    let lengths: Vec<f64> = kept.iter().map(Stall::length_s).collect();
    assert_eq!(lengths.len(), 2, "{kept:?}");
    assert!((lengths[0] - 3.0).abs() < 1e-9 && (lengths[1] - 0.547).abs() < 1e-9);
    let together: f64 = lengths.iter().sum();
    assert_eq!(
        (number("stalled"), number("longest")),
        (together, lengths[0])
    );

    let seen = rows(&path);
    let of_view: Vec<_> = seen
        .iter()
        .map(|row| (row.0, row.1, row.3, row.4))
        .collect();
    let of_finding: Vec<_> = (kept.iter())
        .map(|one| (one.from_s, one.to_s, one.events_per_s, one.level_per_s))
        .collect();
    assert_eq!(of_view, of_finding);
    assert_eq!(seen.iter().map(|row| row.2).collect::<Vec<_>>(), lengths);
    // No event ended in the three seconds, but some ended in the second that has the other stall.
    assert!(seen[0].5.is_none() && seen[1].5.is_some(), "{seen:?}");

    let json = dyno_report::json::run(run.summary.as_ref().unwrap()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = json["findings"].as_array().unwrap();
    let of_json = all.iter().find(|one| one["check"] == "stalls").unwrap();
    assert_eq!(of_json["stalls"], serde_json::to_value(&kept).unwrap());

    let own = dyno_analysis::stalls::of_run(&run).unwrap();
    assert_eq!((own.stalled_s(), own.longest_s()), (together, lengths[0]));
    let compared = compare(&[&run], &[&other], &CompareOptions::default()).unwrap();
    assert_eq!(
        (compared.base.stalls, compared.base.stalled_s),
        (Some(2), Some(together))
    );
    assert_eq!(
        (compared.new.stalls, compared.new.stalled_s),
        (Some(0), Some(0.0))
    );

    let page = |run: &RunRecord| {
        report(&ReportInput {
            runs: std::slice::from_ref(run),
            costs: &[],
            sides: &[vec![0]],
            compared: &[],
            pivot: None,
            experiment: None,
            generated_unix_s: 1.0,
            title: "",
        })
    };
    let marks = r#""stalls":[[9,12],[20.125,20.672]]"#;
    assert!(page(&run).contains(marks));
    // The stored stalls count, no matter which part of the record is loaded.
    run.intervals.clear();
    run.events.clear();
    assert!(page(&run).contains(marks));
}

#[test]
fn a_run_without_a_verdict_has_no_rows_but_shows_its_record() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut results = Results::open(&path).unwrap();
    let id = results.import(&stalled()).unwrap();
    assert_eq!(rows(&path), []);
    let run = results.load(id, &Scope::whole()).unwrap();
    let stalls = dyno_analysis::stalls::of_run(&run).unwrap();
    assert!((stalls.stalled_s() - 3.547).abs() < 1e-9, "{stalls:?}");
}

#[test]
fn a_run_without_stalls_stores_an_empty_list() {
    let judged = judged(closed(&noisy(30, 1000.0, 0.04, 2), Product::Mysql));
    assert_eq!(stalls_finding(&judged.findings).stalls, Some(Vec::new()));
    let short = closed(&noisy(2, 1000.0, 0.04, 2), Product::Mysql);
    assert_eq!(
        stalls_finding(&judge(&short, &Context::default())).stalls,
        None
    );
}
