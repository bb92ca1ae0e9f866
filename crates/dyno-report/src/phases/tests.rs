//! Tables of fictitious sequences: marks and omissions.

mod detail;

use dyno_core::plan::{OptionValue, PhasePlan};
use dyno_core::record::SeriesKind;
use dyno_core::summary::{PhaseOf, Preparation, RoleSummary};
use dyno_samples::{summaries as samples, values};

use super::*;
use crate::terminal::Look;

/// A run of a phase: its rate in events per second, and the rate of its background out of 100
/// requested.
fn run(name: &str, unit: &str, per_event: f64, rate: f64, background: Option<f64>) -> RunRecord {
    let mut run = dyno_samples::small::record();
    let phase = PhaseOf {
        unit: unit.into(),
        per_event,
        ..values::phase("s-1", name)
    };
    run.head.phase = Some(phase.clone());
    let mut summary = samples::good();
    summary.phase = Some(phase);
    summary.rates.events_per_s = rate;
    let role = |name: &str, asked_per_s: Option<f64>, events_per_s| RoleSummary {
        unit: "rows".into(),
        per_event: 50.0,
        events: 1000,
        events_min: 125,
        events_max: 125,
        finished_first_s: asked_per_s.is_none().then_some(10.0),
        finished_last_s: asked_per_s.is_none().then_some(11.0),
        ..values::role(name, asked_per_s, events_per_s)
    };
    summary.roles = vec![role("main", None, rate)];
    let beside = background.map(|share| role("beside", Some(2.0), share * 2.0));
    summary.roles.extend(beside);
    run.summary = Some(summary);
    run
}

fn sequences() -> Vec<Sequence> {
    let sequence = |label: &str, load: f64, read: f64, kept: f64| Sequence {
        label: label.into(),
        runs: vec![
            run("l.i0", "rows", 100.0, load, None),
            run("qr100.L1", "queries", 1.0, read, Some(kept)),
        ],
        begins_group: false,
    };
    vec![
        sequence("base", 1000.0, 5000.0, 1.0),
        sequence("better", 2000.0, 5200.0, 0.96),
        sequence("late\tone", 500.0, 20_000.0, 0.5),
    ]
}

/// Tables of three sequences.
pub(crate) fn of_three() -> Vec<Table> {
    tables(&sequences())
}

fn table(title: &str) -> Table {
    let all = tables(&sequences());
    all.into_iter().find(|table| table.title == title).unwrap()
}

fn marks(table: &Table, column: usize) -> Vec<Mark> {
    table
        .rows
        .iter()
        .map(|(_, cells)| cells[column].mark)
        .collect()
}

#[test]
fn throughput_has_the_phases_unit_and_a_missed_background_rate_excludes_it() {
    let absolute = table("Throughput");
    let values = |row: usize| -> Vec<Option<f64>> {
        absolute.rows[row].1.iter().map(|cell| cell.value).collect()
    };
    assert_eq!(
        absolute.columns,
        ["configuration", "l.i0 rows/s", "qr100.L1 queries/s"]
    );
    assert_eq!(values(0), [Some(100_000.0), Some(5000.0)]);
    assert_eq!(values(2), [Some(50_000.0), Some(20_000.0)]);
    assert_eq!(marks(&absolute, 0), [Mark::None, Mark::High, Mark::Low]);
    // 5000 is more than four fifths of 5200, the highest that counts.
    assert_eq!(marks(&absolute, 1), [Mark::None, Mark::High, Mark::Missed]);
    let relative = table("Throughput relative to the first");
    assert_eq!(relative.rows[1].1[0].text, "2.00");
    assert_eq!(relative.rows[1].1[1].text, "1.04");
    assert_eq!(marks(&relative, 0), [Mark::None, Mark::Above, Mark::Below]);
    assert_eq!(marks(&relative, 1), [Mark::None, Mark::None, Mark::Missed]);
}

#[test]
fn the_background_is_shown_with_its_requested_rate() {
    let kept = table("The background's rate");
    let labels: Vec<&str> = kept.rows.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["base", "better", "late\tone", "requested"]);
    let rates: Vec<Option<f64>> = kept.rows.iter().map(|(_, cells)| cells[1].value).collect();
    assert_eq!(rates, [Some(100.0), Some(96.0), Some(50.0), Some(100.0)]);
    assert_eq!(
        marks(&kept, 1),
        [Mark::None, Mark::None, Mark::Low, Mark::None]
    );
    assert_eq!(kept.rows[0].1[0].text, "–");
}

#[test]
fn figures_are_set_against_the_first_and_inserts_come_from_the_background_where_queries_lead() {
    let figures = table("qr100.L1: figures");
    let ips = figures
        .columns
        .iter()
        .position(|name| name == "ips")
        .unwrap()
        - 1;
    let qps = figures
        .columns
        .iter()
        .position(|name| name == "qps")
        .unwrap()
        - 1;
    assert_eq!(figures.rows[1].1[ips].value, Some(96.0));
    assert_eq!(figures.rows[1].1[qps].value, Some(5200.0));
    let relative = table("qr100.L1: figures relative to the first");
    assert_eq!(relative.rows[1].1[ips].text, "0.96");
    let load = table("l.i0: figures");
    assert_eq!(load.rows[0].1[ips].value, Some(100_000.0));
    assert_eq!(load.rows[0].1[qps].text, "–");
}

/// The run with a series for each of two sessions of `main`, with these rates in each second.
fn with_clients(mut run: RunRecord, rates: [&[f64]; 2]) -> RunRecord {
    let template = run.intervals[0].clone();
    run.intervals = (1..=rates[0].len())
        .map(|second| {
            let mut interval = template.clone();
            (interval.at_s, interval.length_s) = (second as f64, 1.0);
            interval.counters.events = rates.iter().map(|own| own[second - 1] as u64).sum();
            interval
        })
        .collect();
    if let Some(summary) = &mut run.summary {
        summary.measured_s = rates[0].len() as f64;
        summary.drive = None;
        summary.roles[0].sessions = 2;
        if rates[0].last() != Some(&0.0) {
            summary.roles[0].finished_last_s = None;
        }
    }
    for (number, own) in rates.iter().enumerate() {
        let name = format!("client.session[main.{}].events", number + 1);
        let points: Vec<_> = (1..).map(f64::from).zip(own.iter().copied()).collect();
        let series = values::series(&name, "count/s", SeriesKind::Rate, &points);
        run.series.push(series);
    }
    run
}

/// A sequence of one run.
fn only(label: &str, run: RunRecord) -> Sequence {
    Sequence {
        label: label.into(),
        runs: vec![run],
        begins_group: false,
    }
}

fn figure(run: RunRecord, name: &str) -> Option<f64> {
    let all = tables(&[only("one", run)]);
    let table = all.iter().find(|table| table.title.ends_with(": figures"));
    let table = table.unwrap();
    let column = table.columns.iter().position(|own| own == name).unwrap();
    table.rows[0].1[column - 1].value
}

#[test]
fn rate_percentiles_are_computed_for_each_client() {
    // Each second has 40 events, unevenly spread over the clients.
    let query = || run("qr100.L1", "queries", 1.0, 40.0, Some(1.0));
    let rates: [&[f64]; 2] = [&[10.0, 20.0, 30.0, 10.0], &[30.0, 20.0, 10.0, 30.0]];
    assert_eq!(figure(with_clients(query(), rates), "rate_p50"), Some(20.0));
    assert_eq!(figure(with_clients(query(), rates), "rate_p01"), Some(10.0));
    // A session that has finished is not stalled: neither its end nor its last second counts.
    let load = run("l.i0", "rows", 100.0, 40.0, None);
    let rates: [&[f64]; 2] = [&[10.0, 10.0, 3.0, 0.0, 0.0], &[7.0, 7.0, 7.0, 2.0, 0.0]];
    assert_eq!(figure(with_clients(load, rates), "rate_p01"), Some(700.0));
    // A session that stalls while others go on is.
    let rates: [&[f64]; 2] = [&[10.0, 0.0, 0.0, 5.0], &[30.0, 30.0, 30.0, 30.0]];
    assert_eq!(figure(with_clients(query(), rates), "rate_p01"), Some(0.0));
}

#[test]
fn every_client_has_a_line_in_the_picture_of_its_phase() {
    let rates: [&[f64]; 2] = [&[10.0, 20.0, 30.0, 10.0], &[30.0, 20.0, 10.0, 30.0]];
    let query = || run("qr100.L1", "queries", 1.0, 40.0, Some(1.0));
    let mut lagging = with_clients(query(), rates);
    let (name, points) = ("db.innodb.history_list_length", [(0.5, 3.0), (3.5, 900.0)]);
    let history = values::series(name, "count", SeriesKind::Gauge, &points);
    lagging.series.push(history);
    let sequences = [only("one <b>", lagging), only("two", query())];
    let tables = tables(&sequences);
    let page = html(&sequences, &tables, "title", 0.0);
    // And one of each sequence's longest answers of its other operation.
    assert_eq!(page.matches("<polyline").count(), 2 + 1 + 2, "{page}");
    assert!(page.contains("qr100.L1: new order"));
    assert!(page.contains("<title>main 2</title>"));
    assert!(page.contains("qr100.L1: InnoDB&#39;s history list"));
    assert!(page.contains("one &lt;b&gt;") && !page.contains("one <b>"));
    let lag = tables.iter().find(|own| own.title.starts_with("Purge lag"));
    assert_eq!(lag.unwrap().rows[0].1[0].value, Some(900.0));
}

#[test]
fn values_read_long_before_the_end_are_not_those_at_the_end() {
    let mut long = run("l.i1", "rows", 50.0, 40.0, None);
    let (name, points) = ("db.tables.dead_tuples", [(0.0, 5.0)]);
    let dead = values::series(name, "count", SeriesKind::Gauge, &points);
    long.series.push(dead);
    let all = tables(&[only("one", long)]);
    assert!(!all.iter().any(|table| table.title.starts_with("Purge lag")));
}

#[test]
fn preparations_are_listed_with_their_time() {
    let mut rested = run("qr100.L1", "queries", 1.0, 40.0, Some(1.0));
    if let Some(phase) = &mut rested.head.phase {
        phase.before = Some(Preparation {
            command: "settle".into(),
            seconds: 61.5,
            messages: "statistics".into(),
        });
    }
    let all = tables(&[only("one", rested)]);
    let table = all.iter().find(|own| own.title == "Before the measurement");
    let table = table.unwrap();
    assert!(
        table.about.ends_with("settle: statistics."),
        "{}",
        table.about
    );
    assert_eq!(table.rows[0].0, "one qr100.L1: settle");
    assert_eq!(table.rows[0].1[0].value, Some(61.5));
}

#[test]
fn fairness_is_the_time_from_the_first_to_the_last_client() {
    let fairness = table("Fairness");
    let figures: Vec<&str> = fairness.rows[0]
        .1
        .iter()
        .map(|cell| cell.text.as_str())
        .collect();
    assert_eq!(fairness.rows[0].0, "base l.i0");
    assert_eq!(figures, ["10.00", "11.00", "1.000", "10.00"]);
}

#[test]
fn tables_as_text_fit_the_terminal_and_tabs_separate_nothing_else() {
    let tables = tables(&sequences());
    let look = Look {
        columns: 60,
        ..Look::default()
    };
    let text = terminal(&tables, &look);
    for line in text.lines() {
        assert!(crate::terminal::columns(line) <= 60, "{line}");
    }
    assert!(text.contains("(20000)"), "{text}");
    let tsv = tsv(&tables);
    let rows: Vec<&str> = tsv.lines().take(5).collect();
    assert_eq!(rows[0], "# Throughput");
    assert_eq!(rows[1], "configuration\tl.i0 rows/s\tqr100.L1 queries/s");
    assert_eq!(rows[4], "late one\t50000\t20000 missed");
    for part in tsv.split("\n\n").filter(|part| !part.is_empty()) {
        let mut widths = part.lines().skip(1).map(|line| line.split('\t').count());
        let head = widths.next().unwrap();
        assert!(widths.all(|width| width == head), "{part}");
    }
    let page = html(&sequences(), &tables, "a <b>", 0.0);
    assert!(page.contains("<td class=\"n missed\">(20000)</td>"));
    assert!(page.contains("a &lt;b&gt;") && !page.contains("a <b>"));
}

#[test]
fn names_stay_in_their_fields_of_the_tsv() {
    let table = Table {
        title: "a\nb\tc".to_owned(),
        about: String::new(),
        columns: vec!["k".to_owned(), "x\u{85}y".to_owned()],
        rows: vec![(
            "r\u{b}\u{2028}\x1b".to_owned(),
            vec![Cell::number(Some(1.0))],
        )],
        breaks: Vec::new(),
    };
    assert_eq!(tsv(&[table]), "# a b c\nk\tx y\nr   \t1\n\n");
}

/// A step of a ladder: half of its events before the measurement, one in ten a first touch.
fn step_of(active: u32, events: u64) -> RunRecord {
    let mut run = run(&format!("step {active}"), "events", 1.0, 100.0, None);
    let mut plan = dyno_samples::good().head.plan.unwrap();
    plan.phases = vec![PhasePlan {
        name: format!("step {active}"),
        options: vec![("active".into(), OptionValue::Number(f64::from(active)))],
        time: None,
        events: None,
        warmup: std::time::Duration::ZERO,
        open_loop: None,
        roles: Vec::new(),
        before: Vec::new(),
        undo: None,
        unit: "events".into(),
        per_event: 1.0,
    }];
    run.head.plan = Some(plan);
    let summary = run.summary.as_mut().unwrap();
    summary.totals.events = events;
    summary.operations = samples::worked().operations[..2].to_vec();
    for (operation, (name, done)) in summary.operations.iter_mut().zip([
        ("first_touch", events / 10),
        ("touch_again", events * 9 / 10),
    ]) {
        operation.name = name.into();
        operation.totals.done = done;
    }
    let mut warmup = run.intervals[0].clone();
    (warmup.at_s, warmup.counters.events) = (0.0, events);
    run.intervals.insert(0, warmup);
    let never = "db.x db.sessions[opening_tables]";
    dyno_samples::fact(&mut run, "observer.always_zero", never);
    for (name, value) in [
        ("db.status.opened_tables", 50.0),
        ("db.status.table_open_cache_hits", 30.0),
        ("db.status.table_open_cache_misses", 10.0),
        ("server.descriptors", 1200.0),
    ] {
        let points = [(1.0, value), (2.0, value)];
        let series = values::series(name, "count", SeriesKind::Rate, &points);
        run.series.push(series);
    }
    run
}

#[test]
fn a_ladder_of_active_tables_is_one_table_that_marks_cold_steps() {
    // Twice the events: 4 touches of each table, then 2.
    let runs = vec![step_of(1000, 2000), step_of(10_000, 10_000)];
    let table = ladder(&[Sequence::of(runs)]).unwrap();
    let column = |name: &str| {
        let place = table.columns.iter().position(|own| own == name).unwrap();
        let cell = |(_, cells): &(String, Vec<Cell>)| cells[place - 1].clone();
        table.rows.iter().map(cell).collect::<Vec<Cell>>()
    };
    let values =
        |name: &str| -> Vec<Option<f64>> { column(name).iter().map(|cell| cell.value).collect() };
    assert_eq!(values("active tables"), [Some(1000.0), Some(10_000.0)]);
    assert_eq!(column("fds")[0].text, "1200");
    assert_eq!(values("touches"), [Some(4.0), Some(2.0)]);
    let cold: Vec<Mark> = column("trx/s").iter().map(|cell| cell.mark).collect();
    assert_eq!(cold, [Mark::None, Mark::Missed]);
    assert_eq!(values("opens/trx"), [Some(0.5); 2]);
    assert_eq!(values("miss ratio"), [Some(0.25); 2]);
    // Always zero is different from unknown.
    assert_eq!(values("% opening"), [Some(0.0); 2]);
    assert_eq!(values("fds"), [Some(1200.0); 2]);
    assert_eq!(values("session MiB"), [None; 2]);
    assert!(
        values("p5")
            .iter()
            .zip(values("p95"))
            .all(|(low, high)| *low <= high)
    );
    // Phases of other workloads are not steps.
    assert_eq!(ladder(&sequences()), None);
}
