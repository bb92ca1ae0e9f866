//! Twenty ordinary runs, on every database: nothing is found in them that is not there.
//!
//! Other load on the host is there when it is there: a run in which the test itself saw some is
//! repeated once. If it has company again, Dyno must have said so where there was much of it, and
//! what such load moves by its nature (see `LOAD_SENSITIVE`) is not held against the checks; all
//! the others are.

use dyno_tests::Kind;

use crate::common::{Judged, alone, dyno, judged_while, keep_calibrations, private};

/// What is run on a database, one after the other.
struct Plan {
    workload: &'static str,
    sessions: u32,
    load: Load,
}

enum Load {
    /// A closed loop of some seconds.
    Closed(u32),
    /// An open loop at 30 % of what the closed one before it reached.
    Open(u32),
}

use Load::{Closed, Open};

/// Short ones: most checks need five whole seconds. Those of the course need ten.
const SHORT: u32 = 5;
const LONG: u32 = 11;

const fn plan(workload: &'static str, sessions: u32, load: Load) -> Plan {
    Plan {
        workload,
        sessions,
        load,
    }
}

const SERVERS: [(Kind, [Plan; 5]); 3] = [
    (
        Kind::Mariadb,
        [
            plan("oltp_read_only", 1, Closed(SHORT)),
            plan("oltp_read_write", 4, Closed(LONG)),
            plan("oltp_update_non_index", 8, Closed(SHORT)),
            plan("oltp_point_select", 8, Closed(SHORT)),
            plan("oltp_point_select", 8, Open(LONG)),
        ],
    ),
    (
        Kind::Mysql,
        [
            plan("oltp_point_select", 1, Closed(LONG)),
            plan("oltp_read_only", 8, Closed(SHORT)),
            plan("oltp_update_non_index", 4, Closed(SHORT)),
            plan("oltp_read_write", 4, Closed(SHORT)),
            plan("oltp_read_write", 4, Open(SHORT)),
        ],
    ),
    (
        Kind::Postgres,
        [
            plan("oltp_update_non_index", 1, Closed(SHORT)),
            plan("oltp_read_write", 8, Closed(SHORT)),
            plan("oltp_point_select", 4, Closed(SHORT)),
            plan("oltp_read_only", 4, Closed(LONG)),
            plan("oltp_read_only", 4, Open(SHORT)),
        ],
    ),
];

/// Writers of SQLite wait for its one lock without a queue: several are served unevenly, which is
/// a finding and true.
const SQLITE: [Plan; 5] = [
    plan("oltp_read_only", 4, Closed(SHORT)),
    plan("oltp_read_write", 1, Closed(SHORT)),
    plan("oltp_update_non_index", 1, Closed(SHORT)),
    plan("oltp_point_select", 8, Closed(LONG)),
    plan("oltp_point_select", 8, Open(SHORT)),
];

const TABLE: &str = "--table-size 10000";

#[test]
fn good_runs_on_servers_draw_no_false_finding() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    keep_calibrations(folder.path());
    for (kind, plans) in &SERVERS {
        let (server, url) = private(*kind);
        good(plans, &url, Some(server.pid()));
    }
}

#[test]
fn good_runs_on_sqlite_draw_no_false_finding() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("good.db").display());
    good(&SQLITE, &url, None);
}

fn good(plans: &[Plan], url: &str, server: Option<u32>) {
    dyno(&format!(
        "prepare oltp_read_write --target {url} {TABLE} -c 1"
    ));
    let mut capacity = 0.0;
    for plan in plans {
        let seconds = match plan.load {
            Closed(seconds) => format!("-t {seconds}s"),
            Open(seconds) => format!("-t {seconds}s --rate {:.0}/s", 0.3 * capacity),
        };
        let line = format!(
            "{} --target {url} {TABLE} -c {} {seconds} --warmup 2s --calibrate auto",
            plan.workload, plan.sessions
        );
        let judged = undisturbed(|| judged_while(&line, server, |_| {}));
        judged.nothing_but(&[]);
        for check in [
            "errors",
            "work-done",
            "unserved",
            "samples",
            "secrets",
            "provenance",
        ] {
            judged.passed(check);
        }
        let found = judged.against();
        let told = ["other-load", "other-processes"];
        assert!(
            !judged.host.was_crowded() || told.iter().any(|check| found.contains(check)),
            "a crowded host is not told: {}",
            judged.told()
        );
        capacity = judged.result["rates"]["events_per_s"].as_f64().unwrap();
    }
}

/// A run, or another one where other load may have shown in it.
fn undisturbed(run: impl Fn() -> Judged) -> Judged {
    let first = run();
    if first.against().is_empty() || !first.host.was_busy() {
        return first;
    }
    eprintln!("the host had other work: {}", first.told());
    run()
}
