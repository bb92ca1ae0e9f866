use super::*;
use dyno_samples::{Product, assert_has, assert_lacks, closed, noisy, series};

fn run(id: i64, level: f64) -> RunRecord {
    let mut run = closed(&noisy(30, level, 0.02, id as u64), Product::Mysql);
    (run.id, run.verdict) = (id, Some(Verdict::Valid));
    run.head.name = format!("run {id}");
    run
}

#[test]
fn warns_about_cells_of_unlike_runs() {
    let mut runs: Vec<RunRecord> = (1..=4).map(|id| run(id, 1_000.0)).collect();
    for (run, (memory, binlog)) in
        runs.iter_mut()
            .zip([("5G", "on"), ("5G", "off"), ("10G", "on"), ("10G", "on")])
    {
        run.head
            .factors
            .insert("memory".to_owned(), memory.to_owned());
        run.head
            .factors
            .insert("binlog".to_owned(), binlog.to_owned());
    }
    let group = |row, runs: &[&'static RunRecord]| Group {
        row,
        column: 0,
        runs: runs.to_vec(),
    };
    let all: Vec<&'static RunRecord> = runs
        .into_iter()
        .map(|run| &*Box::leak(Box::new(run)))
        .collect();
    let warning = pooled(&[group(0, &all[..2]), group(1, &all[2..])]).unwrap();
    assert_has(&warning, "differ in binlog (off, on) and count");
    assert_eq!(pooled(&[group(0, &all[2..])]), None);
}

#[test]
fn an_unknown_server_is_no_level() {
    let mut run = run(1, 1_000.0);
    let target = &mut run.summary.as_mut().unwrap().target;
    target.product = "MariaDB".to_owned();
    for version in ["10.11.19", "10.11.19-MariaDB-0+deb12u1-log"] {
        let target = &mut run.summary.as_mut().unwrap().target;
        version.clone_into(&mut target.version);
        assert_eq!(level(&run, "server").unwrap(), "MariaDB 10.11.19");
    }
    run.summary.as_mut().unwrap().target.version.clear();
    assert_eq!(level(&run, "server").as_deref(), Some("MariaDB"));
    run.summary.as_mut().unwrap().target.product.clear();
    assert_eq!(level(&run, "server"), None);
}

#[test]
fn different_servers_in_a_cell_are_told_apart_by_the_server() {
    let mut maria = run(1, 1_000.0);
    let mut postgres = closed(&noisy(30, 1_000.0, 0.02, 2), Product::Postgres);
    (postgres.id, postgres.head.name) = (2, "run 2".to_owned());
    let level = ("flush_method".to_owned(), "O_DIRECT".to_owned());
    maria.head.factors.extend([level]);
    for (run, product) in [(&mut maria, "MariaDB"), (&mut postgres, "PostgreSQL")] {
        run.head.target.product = product.to_owned();
        run.summary.as_mut().unwrap().target.product = product.to_owned();
    }
    let warning = |runs: &[&RunRecord]| {
        let runs = runs.to_vec();
        pooled(&[Group {
            row: 0,
            column: 0,
            runs,
        }])
    };
    let both = warning(&[&maria, &postgres]).unwrap();
    assert_has(&both, "differ in their server (MariaDB, PostgreSQL) and");
    assert_has(&both, "or select one, as with --where server=MariaDB.");
    assert_lacks(&both, "flush_method");
    // A factor of both servers is a difference, too.
    let level = ("flush_method".to_owned(), "fsync".to_owned());
    postgres.head.factors.extend([level]);
    let both = warning(&[&maria, &postgres]).unwrap();
    assert_has(&both, "differ in flush_method (O_DIRECT, fsync)");
    assert_eq!(warning(&[&maria]), None);
}

#[test]
fn cells_match_the_comparison_of_their_runs() {
    let mut runs: Vec<RunRecord> = (1..=6).map(|id| run(id, 1_000.0)).collect();
    runs.extend((7..=9).map(|id| run(id, 1_300.0)));
    runs[7].verdict = Some(Verdict::Doubtful);
    let all: Vec<&RunRecord> = runs.iter().collect();
    let group = |row, column, from: usize| Group {
        row,
        column,
        runs: all[from..from + 3].to_vec(),
    };
    let options = CompareOptions {
        equivalent: dyno_stats::Margin::new(0.02),
        ..CompareOptions::default()
    };
    let groups = [group(0, 0, 0), group(0, 1, 6), group(1, 1, 3)];
    let (cells, unit) = pivot(&groups, "events", Base::Column(0), &options).unwrap();
    assert_eq!(unit, "per second");
    let expected = compare(&all[..3], &all[6..], &options).unwrap();
    let events = &expected.metrics[0];
    let [base, other, alone] = &cells[..] else {
        panic!("{cells:?}")
    };
    assert_eq!((base.value, base.ratio), (events.base, None));
    assert_eq!((other.value, other.ratio), (events.new, events.ratio));
    assert_eq!((other.low, other.high), (events.low, events.high));
    assert_eq!(other.equivalence, events.equivalence);
    assert!(events.equivalence.is_some() && base.equivalence.is_none());
    assert_eq!(other.verdict, Some(Verdict::Doubtful));
    assert_eq!(other.runs, [7, 8, 9]);
    // A row without the base has no ratios.
    assert_eq!(alone.ratio, None);
    // A single level is a column as well.
    let groups = [group(0, 0, 0), group(1, 0, 6)];
    let (cells, _) = pivot(&groups, "events", Base::Column(0), &options).unwrap();
    assert!(cells.iter().all(|cell| cell.ratio.is_none()));
    // Without columns the base is a row.
    let groups = [group(0, 0, 0), group(1, 0, 6)];
    let (cells, _) = pivot(&groups, "events", Base::Row(1), &options).unwrap();
    assert!(
        cells[0]
            .ratio
            .is_some_and(|ratio| (0.7..0.85).contains(&ratio))
    );
    assert_eq!(cells[1].ratio, None);
    let (cells, _) = pivot(&groups, "no such", Base::Row(1), &options).unwrap();
    assert_eq!(cells[0].value, None);
    // Without a base, runs that cannot be compared have their values.
    let mut tpcc = run(10, 500.0);
    tpcc.head.workload.name = "tpcc.lua".to_owned();
    let groups = [
        group(0, 0, 0),
        Group {
            row: 1,
            column: 0,
            runs: vec![&tpcc],
        },
    ];
    assert!(pivot(&groups, "events", Base::Row(0), &options).is_err());
    let (cells, _) = pivot(&groups, "events", Base::None, &options).unwrap();
    let whole = |cell: &Cell| cell.value.is_some() && cell.ratio.is_none();
    assert!(cells.len() == 2 && cells.iter().all(whole));
}

#[test]
fn a_tested_ratio_without_an_interval_is_undecided() {
    let runs = [run(1, 1_000.0), run(2, 1_000.0)];
    let group = Group {
        row: 1,
        column: 0,
        runs: vec![&runs[1]],
    };
    let options = CompareOptions {
        equivalent: dyno_stats::Margin::new(0.02),
        ..CompareOptions::default()
    };
    let mut compared = compare(&[&runs[0]], &group.runs, &options).unwrap();
    let found = |compared: &Comparison, to_itself: bool| {
        cell(&group, compared, "events", to_itself, &mut String::new()).equivalence
    };
    assert!(found(&compared, false).is_some_and(|test| test.low > 0.0));
    for metric in &mut compared.metrics {
        (metric.low, metric.high, metric.equivalence) = (None, None, None);
    }
    let test = found(&compared, false).unwrap();
    let undecided = dyno_stats::Equivalence::Undecided { times: None };
    assert_eq!((test.answer, test.margin), (undecided, 0.02));
    assert_eq!((test.low, test.high, test.needs), (0.0, None, None));
    assert_eq!(found(&compared, true), None);
    compared.equivalent_within = None;
    assert_eq!(found(&compared, false), None);
}

#[test]
fn costs_with_the_work_of_other_clients_are_marked() {
    let mut runs = [run(1, 1_000.0), run(2, 1_000.0)];
    series(&mut runs[1], "db.other_sessions_active", &[1.0; 30]);
    let group = |row: usize| Group {
        row,
        column: 0,
        runs: vec![&runs[row]],
    };
    let groups = [group(0), group(1)];
    let includes = |metric: &str| {
        let options = CompareOptions::default();
        let (cells, _) = pivot(&groups, metric, Base::Row(1), &options).unwrap();
        cells.iter().map(|cell| cell.includes).collect::<Vec<_>>()
    };
    assert_eq!(includes("server CPU"), [None, Some(Cause::OtherClients)]);
    assert_eq!(includes("client CPU"), [None, None]);
    assert_eq!(includes("events"), [None, None]);
    let compared = compare(&[&runs[1]], &[&runs[0]], &CompareOptions::default()).unwrap();
    let mut metrics = compared.metrics.iter();
    let server = metrics.find(|metric| metric.name == "server CPU").unwrap();
    let marks = (server.base_includes, server.new_includes);
    assert_eq!(marks, (Some(Cause::OtherClients), None));
}

#[test]
fn runs_are_at_their_levels_and_runs_without_one_are_left_out() {
    let mut runs: Vec<RunRecord> = (1..=4).map(|id| run(id, 1_000.0)).collect();
    let levels = [("12G", "xfs"), ("5G", "xfs"), ("12G", "zfs")];
    for (run, (memory, fs)) in runs.iter_mut().zip(levels) {
        run.head.factors.insert("memory".into(), memory.into());
        run.head.factors.insert("fs".into(), fs.into());
    }
    let layout = Layout::of(&runs, level, "memory", Some("fs")).unwrap();
    assert_eq!(layout.rows.1, ["5G", "12G"]);
    let places: Vec<_> = layout.places.into_iter().collect();
    assert_eq!(
        places,
        [((0, 0), vec![1]), ((1, 0), vec![0]), ((1, 1), vec![2])]
    );
    // Every run has some factors; a user's factor with the same name takes precedence.
    let sessions = runs[3].head.drive.as_ref().unwrap().sessions.to_string();
    assert_eq!(level(&runs[3], "sessions"), Some(sessions));
    runs[3]
        .head
        .factors
        .insert("sessions".into(), "many".into());
    assert_eq!(level(&runs[3], "sessions").as_deref(), Some("many"));
    let alone = Layout::of(&runs, level, "workload", None).unwrap();
    assert_eq!((alone.places.len(), alone.along().1.len()), (1, 1));
    assert_eq!(Layout::of(&runs, level, "cpu", None), Err("cpu".to_owned()));
}
