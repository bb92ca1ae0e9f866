//! The output of commands at several widths.

use dyno_analysis::search::{SearchEnd, SearchResult};
use dyno_core::finding::{Finding, Outcome, Verdict};
use dyno_core::summary::{PhaseOf, RunSummary};
use dyno_samples::{summaries as samples, values};

use super::compare::tests::compared;
use super::search::tests as searches;
use super::*;
use crate::phases as sequences;
use crate::saturation::Saturation;
use crate::saturation::tests::ladder;
use crate::terminal::look::columns as columns_of;

/// Narrow, standard and wide terminals, and a pipe.
const WIDTHS: [usize; 4] = [60, 80, 120, PIPE_COLUMNS];

/// A text at all widths. No line is wider than the terminal, unless it is a single word.
fn everywhere(text: impl Fn(&Look) -> String) -> String {
    let mut all = String::new();
    for columns in WIDTHS {
        let look = Look {
            columns,
            ..Look::default()
        };
        let text = text(&look);
        for line in text.lines() {
            let widest = line.split_whitespace().map(columns_of).max();
            let bound = columns.max(widest.unwrap_or(0) + 16);
            assert!(columns_of(line) <= bound, "{columns}: {line}");
            assert_eq!(line, line.trim_end(), "blanks at the end");
        }
        let width = match columns {
            PIPE_COLUMNS => "in a pipe".to_owned(),
            columns => format!("{columns} columns"),
        };
        all += &format!("==== {width}\n{text}\n");
    }
    all
}

/// A run on a server with a long name, with realistic notes.
fn named(mut run: RunSummary) -> RunSummary {
    run.target.url =
        "mysql://bench@db-primary-2.eu-central-1.rds.example.com:3306/benchmark?tls=verify".into();
    run.workload.name = "./scripts/checkout_with_inventory_and_payment.lua".into();
    run.note =
        "after the upgrade of the storage firmware, second try, caches dropped before".into();
    let factors = [("filesystem", "xfs"), ("memory", "12G")];
    run.factors = factors
        .map(|(name, level)| (name.into(), level.into()))
        .into();
    run
}

fn short(run: RunSummary) -> impl Fn(&Look) -> String {
    move |look| summary(&run, look)
}

fn long(run: RunSummary) -> impl Fn(&Look) -> String {
    move |look| {
        let look = Look {
            verbose: true,
            ..*look
        };
        summary(&run, &look)
    }
}

#[test]
fn a_run() {
    insta::assert_snapshot!("run", everywhere(short(named(samples::errors()))));
    insta::assert_snapshot!(
        "run_in_full",
        everywhere(long(named(samples::overloaded())))
    );
}

#[test]
fn a_comparison() {
    let comparison = compared(&["sync_binlog"], 3);
    insta::assert_snapshot!(
        "compare",
        everywhere(|look| { super::comparison(&comparison, false, look) })
    );
}

#[test]
fn a_ladder_of_sessions() {
    let mut runs = ladder(4, &[1, 2, 4, 8, 16, 32]);
    runs[1].verdict = Some(Verdict::Doubtful);
    runs[5].verdict = Some(Verdict::Refused);
    insta::assert_snapshot!(
        "saturate",
        everywhere(|look| { saturation(&Saturation::of(&runs), look) })
    );
}

#[test]
fn searches_for_the_highest_load() {
    let mut rates = searches::of_rates();
    rates.warnings.push(
        "The server's own work fell into 3 of 41 trials of 10 s and not into the others, in one of \
         them so: 1 checkpoint took 30 % of 10 s: the rate was no lower meanwhile than chance \
         explains. A longer --time has it in each."
            .into(),
    );
    insta::assert_snapshot!("search", everywhere(|look| search(&rates, look)));
    let sessions = searches::of_sessions();
    insta::assert_snapshot!(
        "search_sessions",
        everywhere(|look| search(&sessions, look))
    );
    let refused = searches::refused();
    insta::assert_snapshot!("search_refused", everywhere(|look| search(&refused, look)));
    let line = |found: &SearchResult, at: usize, look: &Look| {
        let bounds = (Some(8_300.0), (at > 3).then_some(8_620.0));
        search_trial(&found.trials[at], &found.plan, bounds, look)
    };
    let mut errors = rates.clone();
    errors.trials[4].why = "p50 < 2 ms: 57.1 % late, 0.31 % errors".into();
    insta::assert_snapshot!(
        "search_trials",
        everywhere(|look| {
            let last = rates.trials.len() - 1;
            let mut lines: Vec<String> = [0, 3, 8, last].map(|at| line(&rates, at, look)).into();
            lines.push(line(&errors, 4, look));
            lines.push(line(&refused, refused.trials.len() - 1, look));
            lines.join("\n")
        })
    );
}

/// The first line states the result for every end of a search.
#[test]
fn each_end_of_a_search_has_its_headline() {
    let look = Look {
        columns: PIPE_COLUMNS,
        ..Look::default()
    };
    let headline = |found: &SearchResult| {
        let text = search(found, &look);
        text.lines().nth(1).unwrap_or_default().to_owned()
    };
    let ended = |ending, lower: Option<f64>, upper: Option<f64>| SearchResult {
        ending,
        lower,
        upper,
        ..searches::of_rates()
    };
    let headlines: Vec<String> = [
        ended(SearchEnd::Ceiling, Some(70_000.0), None),
        ended(SearchEnd::Floor, None, Some(90.0)),
        ended(SearchEnd::Unconfirmed, None, Some(8_000.0)),
        ended(SearchEnd::Exhausted, Some(8_000.0), Some(9_000.0)),
        ended(SearchEnd::Interrupted, Some(8_000.0), None),
        ended(SearchEnd::Interrupted, None, None),
        ended(SearchEnd::Failed, Some(8_000.0), Some(9_000.0)),
    ]
    .iter()
    .map(headline)
    .collect();
    insta::assert_snapshot!("search_ends", headlines.join("\n"));
}

#[test]
fn a_sequence_of_phases() {
    let names = [
        "load",
        "create secondary indexes",
        "read while writing 1000/s",
    ];
    let runs: Vec<RunSummary> = names
        .iter()
        .zip([samples::good(), samples::few(), samples::overloaded()])
        .enumerate()
        .map(|(index, (name, mut run))| {
            run.phase = Some(PhaseOf {
                number: index as u32 + 1,
                of: 3,
                unit: if index == 0 { "rows" } else { "events" }.into(),
                ..values::phase("insert_benchmark-20261125", name)
            });
            run
        })
        .collect();
    insta::assert_snapshot!("run_of_phases", everywhere(|look| phases(&runs, look)));
    let tables = sequences::tests::of_three();
    insta::assert_snapshot!(
        "phases",
        everywhere(|look| { sequences::terminal(&tables, look) })
    );
}

/// Runs imported from a folder of logs.
fn folder() -> Vec<RunRow> {
    let row = |id: i64, rate: f64, verdict, path: &str| RunRow {
        id,
        when: if id == 3 {
            "not known"
        } else {
            "2026-11-21 12:45"
        }
        .into(),
        workload: "oltp_read_write".into(),
        server: String::new(),
        sessions: Some(16),
        schedule: String::new(),
        event: EventWord::Transaction,
        events_per_s: Some(rate),
        p95_ms: (id != 3).then_some(2.18 * id as f64),
        verdict: Some(verdict),
        thin: id != 2,
        waived: 0,
        state: "imported".into(),
        note: path.into(),
    };
    vec![
        row(1, 1228.4, Verdict::Valid, "ext4-on-sync1/BP5/res.txt"),
        row(2, 11_022.0, Verdict::Doubtful, "ext4-on-sync1/BP12/res.txt"),
        row(
            3,
            98.71,
            Verdict::Refused,
            "xfs-with-a-long-name-of-a-folder-on-sync1/BP5/res.txt",
        ),
    ]
}

#[test]
fn imported_runs() {
    let mut one = named(samples::good());
    one.warnings = vec![
        "results/xfs-on/BP12/res.txt: vmstat.txt: times do not tie it to the run (--started says \
         when that began): vmstat is taken to have begun with the measurement, as one sample each \
         1 s, as nothing in it moves with the throughput so clearly that it could be aligned by \
         that."
            .into(),
    ];
    one.client = None;
    one.drive = None;
    insta::assert_snapshot!("import", everywhere(short(one)));
    let rows = folder();
    insta::assert_snapshot!("import_of_a_folder", everywhere(|look| runs(&rows, look)));
}

#[test]
fn a_host_and_a_server_examined() {
    let finding = |name: &str, outcome, evidence: &str, advice: &str| Finding {
        advice: advice.into(),
        ..values::finding(name, 1, outcome, evidence)
    };
    let all = [
        finding(
            "cpu-governor",
            Outcome::Doubt,
            "The governor is powersave on 16 of 16 CPUs (/sys/devices/system/cpu/cpufreq).",
            "cpupower frequency-set -g performance",
        ),
        finding(
            "durability",
            Outcome::Refuse,
            "innodb_flush_log_at_trx_commit is 2 and sync_binlog is 0: a crash loses acknowledged \
             transactions.",
            "Set innodb_flush_log_at_trx_commit=1 and sync_binlog=1, or declare with --claim that \
             this is what is measured.",
        ),
        finding(
            "noise",
            Outcome::Pass,
            "At most 0.12 ms were lost at a time in 2 s.",
            "",
        ),
    ];
    let title = "db1: 16 × AMD EPYC 9354P 32-Core Processor, Linux 6.12.57+deb13-amd64, and \
                 MariaDB 11.8.3 at db-primary-2.eu-central-1.rds.example.com: 2 problems to fix \
                 before figures are compared";
    insta::assert_snapshot!("doctor", everywhere(|look| findings(title, &all, look)));
}
