//! Twenty ordinary runs on every database, which must have no false finding.
//!
//! The test repeats a run at most twice, if it saw other load on the host itself, or if only the
//! rate moved. If there is other load again, Dyno must have reported it if it was high. The effects
//! of such load (see `LOAD_SENSITIVE`) are then excused, and those of all other checks are not.

use dyno_tests::Kind;

use crate::common::{Judged, alone, dyno, judged_while, keep_calibrations, private};
use crate::host::LOAD_SENSITIVE;

/// A sequence of runs on one database.
struct Plan {
    workload: &'static str,
    sessions: u32,
    load: Load,
}

enum Load {
    /// A closed loop of this many seconds.
    Closed(u32),
    /// An open loop at 30 % of the throughput of the closed loop before it.
    Open(u32),
}

use Load::{Closed, Open};

/// A short run. Most checks need five whole seconds; those of steadiness need ten.
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

/// The writers of SQLite compete for its only lock without a queue, so some get less than others,
/// which is a true finding.
const SQLITE: [Plan; 5] = [
    plan("oltp_read_only", 4, Closed(SHORT)),
    plan("oltp_read_write", 1, Closed(SHORT)),
    plan("oltp_update_non_index", 1, Closed(SHORT)),
    plan("oltp_point_select", 8, Closed(LONG)),
    plan("oltp_point_select", 8, Open(SHORT)),
];

const TABLE: &str = "--table-size 10000";

#[test]
fn good_runs_on_servers_have_no_false_finding() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    keep_calibrations(folder.path());
    let mut moved = 0;
    for (kind, plans) in &SERVERS {
        let (server, url) = private(*kind);
        moved += good(plans, &url, Some(server.pid()));
    }
    assert!(
        moved <= MOVED_MAX,
        "the rate of {moved} runs moved each time"
    );
}

#[test]
fn good_runs_on_sqlite_have_no_false_finding() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    keep_calibrations(folder.path());
    let url = format!("sqlite:{}", folder.path().join("good.db").display());
    let moved = good(&SQLITE, &url, None);
    assert!(
        moved <= MOVED_MAX,
        "the rate of {moved} runs moved each time"
    );
}

/// A server may really be unsteady in each repetition of one run, for example while it writes the
/// data of an earlier run. If more runs are affected, the checks are wrong.
const MOVED_MAX: usize = 1;

/// Returns the number of runs whose only findings, in each repetition, are about the steadiness of
/// the rate.
fn good(plans: &[Plan], url: &str, server: Option<u32>) -> usize {
    let mut moved = 0;
    dyno(&format!(
        "prepare oltp_read_write --target {url} {TABLE} -c 1"
    ));
    let mut capacity = 0.0;
    for plan in plans {
        let (Closed(seconds) | Open(seconds)) = plan.load;
        // Short measurements are not checked for a cold start.
        let warmup = if seconds < LONG { 1 } else { 2 };
        let rate = match plan.load {
            Closed(_) => String::new(),
            Open(_) => format!("--rate {:.0}/s", 0.3 * capacity),
        };
        let line = format!(
            "{} --target {url} {TABLE} -c {} -t {seconds}s {rate} --warmup {warmup}s --calibrate \
             auto",
            plan.workload, plan.sessions
        );
        let judged = undisturbed(|| judged_while(&line, server, |_| {}));
        let against = judged.against();
        let unsteady = against.iter().all(|check| LOAD_SENSITIVE.contains(check));
        match !against.is_empty() && unsteady && !judged.host.was_busy() {
            true => moved += 1,
            false => judged.nothing_but(&[]),
        }
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
        let expected = ["other-load", "other-processes"];
        assert!(
            !judged.host.was_crowded() || expected.iter().any(|check| found.contains(check)),
            "a crowded host is not reported: {}",
            judged.findings_text()
        );
        capacity = judged.result["rates"]["events_per_s"].as_f64().unwrap();
    }
    moved
}

/// Makes a run, and repeats it if other load may have affected it, or if the rate moved, which may
/// happen once by chance. A finding that comes back is the check's own.
fn undisturbed(run: impl Fn() -> Judged) -> Judged {
    let mut judged = run();
    for _ in 0..2 {
        let against = judged.against();
        let by_load = against.iter().all(|check| LOAD_SENSITIVE.contains(check));
        if against.is_empty() || !(by_load || judged.host.was_busy()) {
            break;
        }
        eprintln!("once more: {}", judged.findings_text());
        judged = run();
    }
    judged
}
