//! The runs of each plan, in order.

use std::collections::BTreeMap;

use dyno_core::clock::civil;
use dyno_core::factors;
use dyno_core::text::short_version;
use dyno_report::HistoryRun;
use dyno_results::{PlanAndCosts, RunLine};

/// The order by the start of the measurement.
pub(super) const DATE: &str = "date";
/// The factor of this name, or else the server's version.
const VERSION: &str = "version";
/// The factor of this name. Commits are in the order in which they were first measured.
const COMMIT: &str = "commit";

/// A finished run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) line: &'a RunLine,
    pub(super) of: &'a PlanAndCosts,
}

/// Whether a run has a level to be ordered by.
pub(super) fn is_placed(line: &RunLine, by: &str) -> bool {
    by == DATE || level(line, by).is_some()
}

/// The runs of each plan in this order; the plans in the order of their first runs.
pub(super) fn groups<'a>(runs: &[Run<'a>], by: &str) -> Vec<Vec<Run<'a>>> {
    let mut groups: BTreeMap<Key<'a>, Vec<Run<'a>>> = BTreeMap::new();
    for run in runs {
        groups.entry(key(run, by)).or_default().push(*run);
    }
    let mut groups: Vec<Vec<Run<'a>>> = groups.into_values().collect();
    groups.sort_by_key(|runs| runs.iter().map(|run| run.line.id).min());
    for runs in &mut groups {
        sort(runs, by);
    }
    groups
}

/// How many of the other runs belong to the plan of these runs.
pub(super) fn of_plan(plan: &[Run<'_>], others: &[Run<'_>], by: &str) -> usize {
    let of = plan.first().map(|run| key(run, by));
    let others = others.iter().filter(|run| Some(key(run, by)) == of);
    others.count()
}

/// What the runs of a plan have in common: workload, product, requested load and factors.
type Key<'a> = (Option<&'a str>, &'a str, &'a str, Vec<(&'a str, &'a str)>);

fn key<'a>(run: &Run<'a>, by: &str) -> Key<'a> {
    let line = run.line;
    (
        line.workload.as_deref(),
        line.product.as_str(),
        run.of.plan.as_str(),
        own_factors(line, by).collect(),
    )
}

/// The factors that distinguish plans: all but that of the order, the version and the commit.
fn own_factors<'a>(line: &'a RunLine, by: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_own = move |name: &str| name != by && name != VERSION && name != COMMIT;
    let all = line.factors.iter();
    all.map(|(name, level)| (name.as_str(), level.as_str()))
        .filter(move |(name, _)| is_own(name))
}

fn sort(runs: &mut [Run<'_>], by: &str) {
    // If a run has no time, all runs are in the order of their numbers.
    let are_dated = runs.iter().all(|run| run.line.started_unix_s.is_some());
    let date = |run: &Run<'_>| {
        let started = run.line.started_unix_s.filter(|_| are_dated);
        started.unwrap_or_default()
    };
    runs.sort_by(|one, other| {
        let dates = date(one).total_cmp(&date(other));
        dates.then(one.line.id.cmp(&other.line.id))
    });
    let level = |run: &Run<'_>| level(run.line, by).unwrap_or_default();
    match by {
        DATE => {}
        VERSION => runs.sort_by_cached_key(|run| numbers(&level(run))),
        COMMIT => {
            let mut first: BTreeMap<String, usize> = BTreeMap::new();
            for (at, run) in runs.iter().enumerate() {
                first.entry(level(run)).or_insert(at);
            }
            runs.sort_by_cached_key(|run| first.get(&level(run)).copied());
        }
        _ => runs.sort_by(|one, other| factors::order(&level(one), &level(other))),
    }
}

/// The level that places a run in any order but the date.
fn level(line: &RunLine, by: &str) -> Option<String> {
    let version = || {
        let version = short_version(&line.server_version).to_owned();
        Some(version).filter(|version| !version.is_empty())
    };
    match by {
        VERSION => line.level(VERSION).or_else(version),
        _ => line.level(by),
    }
}

/// Splits a version into the numbers by which it is ordered, and its text.
fn numbers(version: &str) -> (Vec<u64>, String) {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    let parts = parts.filter(|part| !part.is_empty());
    let numbers = parts.map(|part| part.parse().unwrap_or(u64::MAX));
    (numbers.collect(), version.to_owned())
}

/// The name of a plan, from one of its runs: `oltp_read_write on MariaDB, 8 sessions, fs=xfs`.
pub(super) fn named(runs: &[Run<'_>], by: &str) -> String {
    let Some(Run { line, .. }) = runs.first() else {
        return String::new();
    };
    let workload = line.workload.as_deref().unwrap_or("unknown workload");
    let server = match line.product.as_str() {
        "" => String::new(),
        product => format!(" on {product}"),
    };
    let mut parts = vec![format!("{workload}{server}")];
    parts.extend(line.level("sessions").map(|sessions| match &*sessions {
        "1" => "1 session".to_owned(),
        several => format!("{several} sessions"),
    }));
    parts.extend(line.offered_per_s.map(|per_s| format!("{per_s}/s offered")));
    parts.extend(own_factors(line, by).map(|(name, level)| format!("{name}={level}")));
    parts.join(", ")
}

/// The runs as the report shows them.
pub(super) fn described(runs: &[Run<'_>], by: &str) -> Vec<HistoryRun> {
    let described = |run: &Run<'_>| HistoryRun {
        id: run.line.id,
        started_unix_s: run.line.started_unix_s,
        about: about(run.line, by),
        verdict: run.line.verdict,
    };
    runs.iter().map(described).collect()
}

/// The date, the version, the commit, and the level of any other order.
fn about(line: &RunLine, by: &str) -> String {
    let date = line.started_unix_s.map(|at| civil(at, "%Y-%m-%d"));
    let own = line.level(VERSION);
    let version = own.unwrap_or_else(|| short_version(&line.server_version).to_owned());
    let commit = line.level(COMMIT).map(|commit| format!("commit {commit}"));
    let other = match by {
        DATE | VERSION | COMMIT => None,
        _ => level(line, by).map(|level| format!("{by} {level}")),
    };
    let version = Some(version).filter(|version| !version.is_empty());
    let parts: Vec<String> = [date, version, commit, other]
        .into_iter()
        .flatten()
        .collect();
    parts.join(", ")
}

#[cfg(test)]
pub(super) mod tests {
    use dyno_core::finding::Verdict;
    use dyno_core::record::Source;
    use dyno_results::RunStage;

    use super::*;

    /// A run that began on this day of a month, with these factors.
    pub(in crate::commands::history) fn line(
        id: i64,
        day: u32,
        version: &str,
        factors: &[(&str, &str)],
    ) -> RunLine {
        let owned = |(name, level): &(&str, &str)| ((*name).to_owned(), (*level).to_owned());
        RunLine {
            id,
            name: format!("run {id}"),
            stage: RunStage::Completed,
            verdict: Some(Verdict::Valid),
            checks: 62,
            checks_made: 43,
            checks_waived: 0,
            source: Source::Dyno,
            started_unix_s: Some(1_793_491_200.0 + f64::from(day) * 86_400.0),
            workload: Some("oltp_read_write".to_owned()),
            command: "run".to_owned(),
            target: "mariadb://bench@db1/bench".to_owned(),
            product: "MariaDB".to_owned(),
            server_version: version.to_owned(),
            sessions: Some(8),
            offered_per_s: None,
            events_per_s: Some(1_000.0),
            queries_per_s: None,
            p95_ms: Some(4.0),
            p99_ms: Some(5.0),
            errors: Some(0),
            note: String::new(),
            factors: factors.iter().map(owned).collect(),
            schedule: None,
        }
    }

    pub(in crate::commands::history) fn runs<'a>(
        lines: &'a [RunLine],
        of: &'a PlanAndCosts,
    ) -> Vec<Run<'a>> {
        lines.iter().map(|line| Run { line, of }).collect()
    }

    fn ids(lines: &[RunLine], by: &str) -> Vec<Vec<i64>> {
        let of = PlanAndCosts::default();
        let groups = groups(&runs(lines, &of), by);
        let ids = |runs: &Vec<Run<'_>>| runs.iter().map(|run| run.line.id).collect();
        groups.iter().map(ids).collect()
    }

    #[test]
    fn factors_distinguish_plans_but_versions_and_commits_do_not() {
        let lines = [
            line(1, 1, "10.11.6", &[("fs", "xfs"), ("commit", "aa")]),
            line(2, 2, "11.4.2", &[("fs", "xfs"), ("commit", "bb")]),
            line(3, 3, "11.4.2", &[("fs", "ext4")]),
        ];
        assert_eq!(ids(&lines, DATE), [vec![1, 2], vec![3]]);
        assert_eq!(ids(&lines, "fs"), [vec![3, 1, 2]]);
        let mut other = lines.clone();
        other[1].product = "MySQL".to_owned();
        assert_eq!(ids(&other, DATE), [vec![1], vec![2], vec![3]]);
        let plan = |plan: &str| PlanAndCosts {
            plan: plan.to_owned(),
            ..PlanAndCosts::default()
        };
        let (one, two) = (plan("[8]"), plan("[16]"));
        let mixed = [
            Run {
                line: &lines[0],
                of: &one,
            },
            Run {
                line: &lines[1],
                of: &two,
            },
        ];
        assert_eq!(groups(&mixed, DATE).len(), 2);
    }

    #[test]
    fn other_runs_of_a_plan_are_counted() {
        let lines = [
            line(1, 1, "10.11.6", &[("fs", "xfs")]),
            line(2, 2, "11.4.2", &[("fs", "xfs")]),
            line(3, 3, "11.4.2", &[("fs", "ext4")]),
        ];
        let of = PlanAndCosts::default();
        let runs = runs(&lines, &of);
        assert_eq!(of_plan(&runs[..1], &runs[1..], DATE), 1);
        assert_eq!(of_plan(&runs[..1], &runs[1..], "fs"), 2);
        assert_eq!(of_plan(&runs[2..], &runs[..2], DATE), 0);
        assert_eq!(of_plan(&[], &runs, DATE), 0);
    }

    #[test]
    fn runs_are_ordered_by_date_version_commit_or_level() {
        let lines = [
            line(1, 4, "11.4.2", &[("commit", "cc"), ("pool", "512M")]),
            line(2, 1, "10.11.6", &[("commit", "zz"), ("pool", "2G")]),
            line(3, 2, "9.7", &[("commit", "aa"), ("pool", "1G")]),
            line(4, 3, "10.2.1", &[("commit", "zz"), ("pool", "1G")]),
        ];
        let plain = |by: &str| {
            let mut plain = lines.clone();
            // The factor of another order distinguishes plans.
            plain.iter_mut().for_each(|line| {
                line.factors.retain(|name, _| name == by);
            });
            ids(&plain, by)
        };
        assert_eq!(plain(DATE), [[2, 3, 4, 1]]);
        assert_eq!(plain(VERSION), [[3, 4, 2, 1]]);
        assert_eq!(plain(COMMIT), [[2, 4, 3, 1]]);
        assert_eq!(plain("pool"), [[1, 3, 4, 2]]);
        assert!(!is_placed(&lines[0], "fs") && is_placed(&lines[0], DATE));
        // Without the time of one run, the numbers decide.
        let mut undated = lines.clone();
        undated[3].started_unix_s = None;
        undated.iter_mut().for_each(|line| line.factors.clear());
        assert_eq!(ids(&undated, DATE), [[1, 2, 3, 4]]);
    }

    #[test]
    fn the_suffix_of_a_version_is_no_level() {
        let plain = line(1, 1, "10.11.19", &[]);
        let logged = line(2, 2, "10.11.19-MariaDB-0+deb12u1-log", &[]);
        for by in ["server", VERSION] {
            assert_eq!(level(&plain, by), level(&logged, by), "{by}");
        }
        assert_eq!(logged.level("server").unwrap(), "MariaDB 10.11.19");
    }

    #[test]
    fn plans_and_runs_have_names() {
        let lines = [line(
            1,
            19,
            "10.11.6-MariaDB-0+deb12u1",
            &[("fs", "xfs"), ("commit", "3f9a")],
        )];
        let of = PlanAndCosts::default();
        let runs = runs(&lines, &of);
        let named = |by: &str| named(&runs, by);
        assert_eq!(
            named(DATE),
            "oltp_read_write on MariaDB, 8 sessions, fs=xfs"
        );
        assert_eq!(named("fs"), "oltp_read_write on MariaDB, 8 sessions");
        let about = |by: &str| described(&runs, by)[0].about.clone();
        assert_eq!(about(DATE), "2026-11-20, 10.11.6, commit 3f9a");
        assert_eq!(about("fs"), "2026-11-20, 10.11.6, commit 3f9a, fs xfs");
    }
}
