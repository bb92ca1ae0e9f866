//! A run that is read must be the run that was recorded.

use crate::common::{doubtful, head, interval, latencies, summary, target};
use dyno_core::finding::{Verdict, Waiver};
use dyno_core::interval::Latencies;
use dyno_core::record::{EventKind, RunRecord, RunState, SeriesKind};
use dyno_results::{BackgroundWriter, Filter, Problem, Results, RunStage, Scope};
use dyno_samples::values;
use tempfile::TempDir;

#[test]
fn a_run_survives_a_round_trip() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let recorder = BackgroundWriter::start(&path, &head("20261121-oltp-aaaa")).unwrap();
    let feed = recorder.feed();
    let fact = values::fact("host.cpu.model", "Xeon", "/proc/cpuinfo");
    feed.facts(vec![fact.clone()]);
    feed.settings(
        vec![("max_connections".to_owned(), "151".to_owned())],
        false,
    );
    let cpu = feed.series(&values::key("host.cpu.user", "percent"), SeriesKind::Gauge);
    feed.sample(-1.0, &[(cpu, 1.5)]);
    feed.started(1_795_000_001.0);
    let gap = values::gap("host.pressure", "the kernel has no /proc/pressure");
    feed.not_observed(gap.clone());
    for number in 1..=3 {
        let event = latencies(u64::from(number) * 10, 4);
        feed.interval(
            &interval(number),
            &[("event", &event), ("NEW_ORDER", &latencies(2, 9))],
        );
        feed.sample(f64::from(number), &[(cpu, 50.0), (cpu, f64::NAN)]);
    }
    let event = values::event(1.5, Some(2.0), EventKind::Restart, "it was restarted");
    feed.event(event.clone());
    feed.settings(vec![("max_connections".to_owned(), "200".to_owned())], true);
    let (whole, share) = (latencies(60, 4), values::share(3, 1, 60, 2.5));
    let receipt = recorder
        .finish(
            &summary(),
            RunState::Completed,
            &[("event", &whole)],
            &[share],
        )
        .unwrap();
    assert_eq!((receipt.run_id, receipt.dropped), (1, 0));
    assert_eq!(receipt.warning(), None);
    let results = Results::open_read(&path).unwrap();
    let run = results.load(1, &Scope::every()).unwrap();
    check_latencies(&run, &whole);
    assert_eq!(run.head, head("20261121-oltp-aaaa"));
    assert_eq!(run.state, RunState::Completed);
    assert_eq!(run.facts, [fact]);
    assert_eq!(run.not_observed, [gap]);
    assert_eq!(run.events, [event]);
    assert_eq!(run.sessions, [share]);
    let setting = &run.settings[0];
    let values = [&setting.start, &setting.end];
    assert_eq!(values.map(Option::as_deref), [Some("151"), Some("200")]);
    let points = &run.series("host.cpu.user").unwrap().points;
    assert_eq!(
        *points,
        [(-1.0, 1.5), (1.0, 50.0), (2.0, 50.0), (3.0, 50.0)]
    );
    let intervals: Vec<String> = run.intervals.iter().map(|i| format!("{i:?}")).collect();
    let expected: Vec<String> = (1..=3).map(|n| format!("{:?}", interval(n))).collect();
    assert_eq!(intervals, expected);
    let stored = run.summary.unwrap();
    assert_eq!(stored.costs, summary().costs);
    assert_eq!(stored.recorded.unwrap().name, "20261121-oltp-aaaa");
    assert!(stored.intervals.is_empty());
}

fn check_latencies(run: &RunRecord, whole: &Latencies) {
    let [event, new_order] = run.operations.as_slice() else {
        unreachable!("two operations were recorded")
    };
    assert_eq!(
        (event.name.as_str(), new_order.name.as_str()),
        ("event", "NEW_ORDER")
    );
    let spans: Vec<_> = event
        .spans
        .iter()
        .map(|span| (span.from_s, span.count))
        .collect();
    assert_eq!(spans, [(0.0, 10), (1.0, 20), (2.0, 30)]);
    let total = event.total.as_ref();
    let total = total.map(|total| (total.count, total.to_s, total.service.sigfig()));
    assert_eq!(total, Some((60, 3.25, 3)));
    assert!(
        event
            .total
            .as_ref()
            .is_some_and(|total| total.service == whole.service)
    );
    assert!(new_order.total.is_none());
}

#[test]
fn a_verdict_is_kept_and_given_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let recorder = BackgroundWriter::start(&path, &head("a")).unwrap();
    recorder
        .finish(&summary(), RunState::Completed, &[], &[])
        .unwrap();
    let mut results = Results::open(&path).unwrap();
    let (findings, verdict) = doubtful();
    results.judge(1, &findings, verdict, &[]).unwrap();
    let run = results.load(1, &Scope::summary()).unwrap();
    assert_eq!(
        (&run.findings, run.verdict),
        (&findings, Some(Verdict::Doubtful))
    );
    assert_eq!(run.summary.unwrap().findings, findings);
    let waiver = Waiver {
        check: "client-cpu".to_owned(),
        reason: "a small client on purpose".to_owned(),
    };
    assert_eq!(results.waive(1, &waiver).unwrap(), Some(Verdict::Valid));
    assert_eq!(results.waivers(1).unwrap(), std::slice::from_ref(&waiver));
    let run = results.load(1, &Scope::summary()).unwrap();
    assert_eq!(run.findings[0].waived.as_ref(), Some(&waiver.reason));
    assert_eq!(run.verdict, Some(Verdict::Valid));
    results.judge(1, &findings, verdict, &[]).unwrap();
    assert!(results.waivers(1).unwrap().is_empty());
    let error = results.judge(9, &[], Verdict::Valid, &[]).unwrap_err();
    assert!(matches!(error.problem, Problem::NoSuchRun(_)), "{error}");
}

#[test]
fn runs_are_listed_filtered_and_found() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let error = Results::open(&path).unwrap().find("last").unwrap_err();
    assert!(matches!(error.problem, Problem::NoRuns), "{error}");
    let names = [
        "20261121-oltp-aaaa",
        "20261121-oltp-aabb",
        "20261122-tpcc-cccc",
    ];
    for name in names {
        let mut head = head(name);
        head.workload.name = name[9..13].to_owned();
        let recorder = BackgroundWriter::start(&path, &head).unwrap();
        let whole = latencies(2000, 4);
        recorder
            .finish(&summary(), RunState::Completed, &[("event", &whole)], &[])
            .unwrap();
    }
    let results = Results::open_read(&path).unwrap();
    let lines = results.runs(&Filter::default()).unwrap();
    assert_eq!(
        lines
            .iter()
            .map(|line| line.name.as_str())
            .collect::<Vec<_>>(),
        names
    );
    let line = &lines[0];
    assert_eq!(line.stage, RunStage::Completed);
    assert_eq!(
        (line.events_per_s, line.p95_ms, line.errors),
        (Some(20.0), Some(4.5), Some(4))
    );
    assert!(
        line.p99_ms.is_some_and(|p99| (p99 - 23.8).abs() < 0.1),
        "{:?}",
        line.p99_ms
    );
    assert_eq!(line.started_unix_s, summary().started_unix_s);
}

#[test]
fn a_filter_selects_matching_runs() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    for workload in ["oltp", "oltp", "tpcc"] {
        let mut head = head("a");
        head.workload.name = workload.to_owned();
        Results::open(&path).unwrap().begin(&head).unwrap();
    }
    let results = Results::open_read(&path).unwrap();
    let check = |set: fn(&mut Filter), expected: &[i64]| {
        let mut filter = Filter::default();
        set(&mut filter);
        let lines = results.runs(&filter).unwrap();
        let found: Vec<i64> = lines.iter().map(|line| line.id).collect();
        assert_eq!(found, expected, "{filter:?}");
    };
    check(|filter| filter.workload = Some("oltp".to_owned()), &[1, 2]);
    check(
        |filter| filter.target = Some("mariadb 10.11".to_owned()),
        &[1, 2, 3],
    );
    check(|filter| filter.target = Some("postgres".to_owned()), &[]);
    check(|filter| filter.limit = Some(2), &[2, 3]);
    check(|filter| filter.limit = Some(0), &[]);
    check(
        |filter| filter.note = Some("UPGRADE".to_owned()),
        &[1, 2, 3],
    );
    check(|filter| filter.verdict = Some(Verdict::Valid), &[]);
    check(|filter| filter.stage = Some(RunStage::Running), &[1, 2, 3]);
    check(|filter| filter.stage = Some(RunStage::Unfinished), &[]);
    check(|filter| filter.since_unix_s = Some(2e9), &[]);
    check(|filter| filter.since_unix_s = Some(1.0), &[1, 2, 3]);
}

#[test]
fn a_run_is_found_by_any_unique_name() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    for name in [
        "20261121-oltp-aaaa",
        "20261121-oltp-aabb",
        "20261122-tpcc-cccc",
    ] {
        Results::open(&path).unwrap().begin(&head(name)).unwrap();
    }
    let results = Results::open_read(&path).unwrap();
    assert_eq!(results.find("last").unwrap(), 3);
    assert_eq!(results.find("2").unwrap(), 2);
    assert_eq!(results.find("20261122").unwrap(), 3);
    assert_eq!(results.find("20261121-oltp-aab").unwrap(), 2);
    let error = results.find("20261121").unwrap_err();
    assert!(matches!(&error.problem, Problem::Ambiguous { names, .. } if names.len() == 2));
    // A short number is always the number of a run, and never the beginning of a name.
    for wanted in ["", "x", "4", "20", "2026112", "20261123"] {
        let error = results.find(wanted).unwrap_err();
        assert!(matches!(error.problem, Problem::NoSuchRun(_)), "{error}");
    }
}

#[test]
fn a_run_in_progress_is_seen_by_readers_and_abandoned_with_a_word() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut before = head("a");
    before.target.product = String::new();
    let mut writer = Results::open(&path).unwrap().begin(&before).unwrap();
    writer.target(&target()).unwrap();
    writer
        .interval(&interval(1), &[("event", &latencies(10, 4))])
        .unwrap();
    let reader = Results::open_read(&path).unwrap();
    let line = &reader.runs(&Filter::default()).unwrap()[0];
    assert_eq!(
        (line.stage, line.events_per_s),
        (RunStage::Running, Some(10.0))
    );
    assert_eq!(line.product, "MariaDB");
    let run = reader.load(1, &Scope::whole()).unwrap();
    assert!(run.summary.is_none());
    assert_eq!((run.intervals.len(), run.head.target), (1, target()));
    writer.abandon("no connection to the server").unwrap();
    let run = reader.load(1, &Scope::whole()).unwrap();
    assert_eq!(run.state, RunState::Failed);
    assert_eq!(run.events[0].text, "no connection to the server");
}

#[test]
fn a_run_interrupted_in_its_warm_up_has_no_start_after_its_end() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let recorder = BackgroundWriter::start(&path, &head("a")).unwrap();
    recorder.feed().started(1e12);
    recorder
        .abandon(RunState::Interrupted, "the user stopped it")
        .unwrap();
    let results = Results::open_read(&path).unwrap();
    let line = &results.runs(&Filter::default()).unwrap()[0];
    assert_eq!(line.stage, RunStage::Interrupted);
    assert!(line.started_unix_s.unwrap() < 1e11);
}

#[test]
fn a_taken_name_gets_a_number() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    for expected in ["a", "a-2", "a-3"] {
        let writer = Results::open(&path).unwrap().begin(&head("a")).unwrap();
        assert_eq!(writer.name(), expected);
    }
    let results = Results::open_read(&path).unwrap();
    assert_eq!(results.load(3, &Scope::summary()).unwrap().head.name, "a-3");
}

#[test]
fn columns_of_an_imported_run_match_its_json() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut results = Results::open(&path).unwrap();
    let columns = |id: i64| -> (Option<i64>, Option<f64>) {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let sql = "SELECT errors, queries_per_s FROM run WHERE id = ?1";
        let row = connection.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)));
        row.unwrap()
    };
    for (name, unknown, expected) in [
        ("counted", &[][..], (Some(10), Some(35.0))),
        ("without", &["errors", "counters.queries"], (None, None)),
    ] {
        let mut run = RunRecord::new(head(name));
        run.state = RunState::Imported;
        let gap = |what: &&str| values::gap(what, "the log does not contain it");
        run.not_observed = unknown.iter().map(gap).collect();
        let mut own = summary();
        // The errors are counted, but have no codes.
        own.errors.clear();
        own.totals.errors = 10;
        own.not_observed.clone_from(&run.not_observed);
        own.rates.queries_per_s = expected.1;
        run.summary = Some(own.clone());
        let id = results.import(&run).unwrap();
        assert_eq!(columns(id), expected, "{name}");
        results.set_summary(id, &own).unwrap();
        assert_eq!(columns(id), expected, "{name}, judged");
    }
}

#[test]
fn figures_that_a_log_lacks_are_stored_as_null_and_restored() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let mut results = Results::open(&path).unwrap();
    let mut run = RunRecord::new(head("lacking"));
    run.state = RunState::Imported;
    let unknown = [
        "measured_s",
        "counters.rows",
        "counters.retries",
        "counters.kinds",
    ];
    run.not_observed = unknown
        .map(|what| values::gap(what, "the log lacks it"))
        .to_vec();
    let mut own = summary();
    own.not_observed.clone_from(&run.not_observed);
    (own.measured_s, own.elapsed_s, own.totals) = (60.0, 60.0, Default::default());
    (own.totals.events, own.totals.other) = (46_344, 4000);
    run.summary = Some(own.clone());
    let id = results.import(&run).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let column = |what: &str| -> rusqlite::types::Value {
        let sql = format!("SELECT {what} FROM run WHERE id = {id}");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    for what in [
        "events",
        "summary ->> '$.measured_s'",
        "summary ->> '$.elapsed_s'",
    ] {
        assert_eq!(column(what), rusqlite::types::Value::Null, "{what}");
    }
    for counter in [
        "events",
        "rows",
        "bytes_in",
        "connects_failed",
        "retries",
        "reads",
        "other",
    ] {
        let what = format!("summary ->> '$.totals.{counter}'");
        assert_eq!(column(&what), rusqlite::types::Value::Null, "{counter}");
    }
    assert_eq!(column("summary ->> '$.totals.errors'"), 0.into());
    let read = results
        .load(id, &Scope::summary())
        .unwrap()
        .summary
        .unwrap();
    assert_eq!((read.measured_s, read.elapsed_s), (60.0, 60.0));
    assert_eq!(read.totals, own.totals);
    // Earlier versions stored zeros.
    own.not_observed.clear();
    results.set_summary(id, &own).unwrap();
    let read = results
        .load(id, &Scope::summary())
        .unwrap()
        .summary
        .unwrap();
    assert_eq!(read.totals, own.totals);
}
