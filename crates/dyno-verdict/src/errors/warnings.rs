//! Check 14: the server's counts of deadlocks, lock waits and temporary files.

use dyno_core::catalogue::names;
use dyno_core::counters;
use dyno_core::finding::Outcome;

use super::counters::did_work_elsewhere;
use crate::check::{Check, CheckResult, advice, thresholds};
use crate::data::are_of_other_engines;
use crate::duet;
use crate::text;
use crate::view::View;

pub(super) const SERVER_WARNINGS: Check = Check {
    number: 14,
    name: "server-warnings",
    title: "Deadlocks, lock waits and temporary files",
    rule: "Doubt from {0} deadlock, or {1} temporary tables or files on disk, per 100 events, and \
           {2} of either in all. Otherwise not checked if the server did only part of the work.",
    thresholds: &[DEADLOCKS, ON_DISK, FEWEST],
    make: server_warnings,
};

thresholds! {
    DEADLOCKS = 1.0, "per 100 events", "deadlocks": "one in a hundred affects p99";
    ON_DISK = 10.0, "per 100 events", "temporary tables or files on disk":
        "the result then depends on memory settings";
    FEWEST = 5.0, "counted", "of either, in the whole measurement":
        "one or two may be another client's";
}

/// The counters of deadlocks; a server has one of them.
const OF_DEADLOCKS: [&str; 3] = [
    names::DB_STATUS_INNODB_DEADLOCKS,
    names::DB_INNODB_LOCK_DEADLOCKS,
    names::DB_DATABASE_DEADLOCKS,
];
/// Galera's conflicts between nodes, which have the same error as a deadlock.
const OF_CLUSTERS: [&str; 2] = [
    names::DB_STATUS_WSREP_LOCAL_CERT_FAILURES,
    names::DB_STATUS_WSREP_LOCAL_BF_ABORTS,
];
/// MySQL's and MariaDB's error code of any deadlock.
const DEADLOCK: &str = "1213";
/// A larger ratio of errors to the server's count is not due to uncertain ends.
const MORE: f64 = 1.1;

fn server_warnings(view: &View) -> CheckResult {
    if duet::shares_server(view.run) {
        return CheckResult::not_checked(text::sentence(duet::COUNTED_TOGETHER));
    }
    let result = of_one_server(view);
    match result.outcome == Outcome::Pass && is_of_a_part(view) {
        true => CheckResult::not_checked(format!(
            "Only one of several servers was observed. {}",
            result.evidence
        )),
        false => result,
    }
}

/// Whether the events come from several servers, but the counters from one.
fn is_of_a_part(view: &View) -> bool {
    view.several_endpoints().is_some() || did_work_elsewhere(view)
}

fn of_one_server(view: &View) -> CheckResult {
    let Some(events_per_s) = view.events_per_s() else {
        return CheckResult::not_checked("No event ended.");
    };
    let per_100 = |names: &[&str]| {
        let rate = names.iter().find_map(|name| view.mean(name))?;
        Some(rate / events_per_s * 100.0)
    };
    let in_all = |per_100: f64| (per_100 / 100.0 * events_per_s * view.length_s).round();
    let deadlocks = per_100(&OF_DEADLOCKS);
    let on_disk = per_100(&[
        names::DB_STATUS_CREATED_TMP_DISK_TABLES,
        names::DB_DATABASE_TEMP_FILES,
    ]);
    let waits = per_100(&[names::DB_STATUS_INNODB_ROW_LOCK_WAITS]);
    let counted = [
        (what(view), deadlocks, &DEADLOCKS),
        ("temporary tables or files on disk", on_disk, &ON_DISK),
    ];
    if counted.iter().all(|(_, value, _)| value.is_none()) {
        return CheckResult::not_checked(
            "The server's counters of deadlocks and temporary files were not observed.",
        );
    }
    let mut seen = Vec::new();
    let mut outcome = Outcome::Pass;
    for (what, value, bound) in counted {
        let Some(value) = value else { continue };
        seen.push(format!("{} {what}", text::plain(value)));
        if value >= bound.value && in_all(value) >= FEWEST.value {
            outcome = Outcome::Doubt;
        }
    }
    if let Some(waits) = waits {
        seen.push(format!("{} row lock waits", text::plain(waits)));
    }
    CheckResult::of(
        outcome,
        format!("The server counted {} per 100 events.", text::list(&seen)),
        &advice(&[
            (
                deadlocks.is_some_and(|value| value >= DEADLOCKS.value),
                "Look at the server's report of its latest deadlock, and at the order in which \
                 transactions lock.",
            ),
            (
                on_disk.is_some_and(|value| value >= ON_DISK.value),
                "Look at the statements that sort or group, and at the server's memory for that \
                 (tmp_table_size, work_mem).",
            ),
        ]),
    )
    .with_some("deadlocks", deadlocks, "per 100 events")
    .with_some(
        "temporary tables or files on disk",
        on_disk,
        "per 100 events",
    )
    .with_some("row lock waits", waits, "per 100 events")
}

fn what(view: &View) -> &'static str {
    match view.mysql() {
        true => "InnoDB deadlocks",
        false => "deadlocks",
    }
}

/// Deadlocks that were not of row locks: errors of the run's statements that the server's counter
/// misses.
pub(super) struct OtherLocks {
    pub(super) count: u64,
    /// The server's name of its counter.
    counter: &'static str,
}

impl OtherLocks {
    /// `None` if there are none, or if the server does not count all deadlocks of row locks.
    pub(super) fn of(view: &View) -> Option<Self> {
        if is_of_a_part(view) || are_of_other_engines(view) {
            return None;
        }
        let mut names = OF_DEADLOCKS.iter();
        let (series, per_s) = names.find_map(|name| Some((*name, view.mean(name)?)))?;
        let counter = counters::of(series).filter(|counter| !counter.remark.is_empty())?;
        let of_clusters = OF_CLUSTERS.iter().filter_map(|name| view.mean(name));
        let counted = ((per_s + of_clusters.sum::<f64>()) * view.length_s).round();
        let seen = view.summary()?.errors.get(DEADLOCK)?.count;
        (seen as f64 >= counted * MORE + FEWEST.value).then(|| Self {
            count: seen.saturating_sub(counted as u64),
            counter: counter.source,
        })
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            " {} (error {DEADLOCK}) {} not of row locks: {} did not count them. Deadlocks of \
             metadata locks, which ALTER TABLE takes, have the same error.",
            text::counted(self.count, "deadlock"),
            text::verb(self.count, "was", "were"),
            self.counter
        )
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::db::ErrorKind;
    use dyno_core::finding::Outcome::{NotChecked, Pass};
    use dyno_core::record::RunRecord;
    use dyno_samples::{assert_begins, fact, series};

    use super::super::tests::failing;
    use crate::tests::{expect, judged, summary};

    #[test]
    fn conflicts_in_other_counters_are_not_deadlocks_of_table_locks() {
        let is_explained = |change: fn(&mut RunRecord)| {
            let mut run = dyno_samples::good();
            series(&mut run, "db.status.innodb_deadlocks", &[0.0; 30]);
            failing(&mut run, "1213", ErrorKind::Conflict, 1_200);
            change(&mut run);
            judged(&run, "errors").evidence.contains("not of row locks")
        };
        assert!(is_explained(|_| {}));
        // Galera's nodes changed the same rows.
        assert!(!is_explained(|run| {
            series(run, "db.status.wsrep_local_cert_failures", &[30.0; 30]);
            series(run, "db.status.wsrep_local_bf_aborts", &[10.0; 30]);
        }));
        // InnoDB does not count MyRocks' deadlocks, and one server not those of others.
        assert!(!is_explained(|run| {
            fact(run, "db.table[sbtest1].engine", "ROCKSDB");
        }));
        assert!(!is_explained(|run| {
            series(run, "db.status.questions", &[6_700.0; 30]);
        }));
    }

    #[test]
    fn counters_of_one_server_are_not_divided_by_the_events_of_all() {
        expect("server-warnings", Pass, |_| {});
        let part = expect("server-warnings", NotChecked, |run| {
            let other = summary(run).endpoints[0].clone();
            summary(run).endpoints.push(other);
        });
        assert_begins(&part.evidence, "Only one of several servers was observed");
    }
}
