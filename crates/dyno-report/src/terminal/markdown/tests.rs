use dyno_core::catalogue::names;
use dyno_core::duet::DuetAnswer;
use dyno_core::finding::{DurabilityClass, Outcome};
use dyno_core::record::NotObserved;
use dyno_core::unknown::TOTALS_UNKNOWN;
use dyno_samples::{full, summaries as samples};
use dyno_verdict::{CompareError, CompareOptions, compare};

use super::*;

/// Fails if a row of a table has more or fewer cells than its heading.
fn sound(markdown: &str) {
    let bars = |line: &str| {
        let line = line.replace("\\\\", "");
        line.matches('|').count() - line.matches("\\|").count()
    };
    let mut head = None;
    let mut fenced = false;
    for line in markdown.lines() {
        fenced ^= line.starts_with("```");
        head = match line.starts_with('|') && !fenced {
            false => None,
            true => Some(head.unwrap_or_else(|| bars(line))),
        };
        assert!(head.is_none_or(|head| head == bars(line)), "{line}");
    }
    assert!(!markdown.contains("\n\n\n"), "{markdown}");
    assert!(markdown.ends_with('\n') && !markdown.ends_with("\n\n"));
}

#[test]
fn every_finding_against_a_run_has_evidence_and_advice() {
    for run in samples::all() {
        let printed = run::one("A run", &run);
        sound(&printed);
        let loud = |outcome| matches!(outcome, Outcome::Doubt | Outcome::Refuse);
        for finding in run.findings.iter().filter(|one| loud(one.outcome)) {
            let (check, evidence) = (text(&finding.check), text(&finding.evidence));
            assert!(
                printed.contains(&format!("{check}: {evidence}")),
                "{printed}"
            );
            let rest = match &finding.waived {
                Some(reason) => format!("Waived: {}", text(reason)),
                None => format!("Try: {}", text(&finding.advice)),
            };
            assert!(printed.contains(&rest), "{printed}");
        }
    }
}

#[test]
fn a_run_has_verdict_figures_and_settings() {
    let run = samples::good();
    let printed = run::one(&brief::title(&run), &run);
    for part in [
        "## oltp_read_write · ",
        "**✔ valid** – ",
        "| tx/s | q/s | p50 | p95 | p99 | p99.9 | max | errors |",
        "### Settings",
        "table_size=100000",
        "| target | ",
        "| load | 16 sessions on 2 workers, closed loop",
    ] {
        assert!(printed.contains(part), "no '{part}' in {printed}");
    }
    assert!(!printed.contains("### Findings"), "{printed}");
    let open = samples::overloaded();
    let printed = run::one("A run", &open);
    for part in [
        "**✘ refused** – ",
        "response times",
        "✘ failed | p99.9 > 2s: ",
    ] {
        assert!(printed.contains(part), "no '{part}' in {printed}");
    }
}

#[test]
fn text_of_servers_and_users_is_escaped() {
    let mut run = samples::overloaded();
    let hostile = "a | b\n# c <img src=x> `d` **e** [f](g)\u{1b}[2J";
    (run.target.version, run.note) = (hostile.to_owned(), hostile.to_owned());
    (run.findings[0].evidence, run.findings[0].advice) = (hostile.to_owned(), hostile.to_owned());
    run.warnings = vec![hostile.to_owned()];
    let printed = run::one(hostile, &run);
    sound(&printed);
    for part in ["a | b", " <img", " `d`", "**e**", "[f](", "\u{1b}", "\n# c"] {
        assert!(!printed.contains(part), "'{part}' in {printed}");
    }
}

fn two_runs() -> Vec<RunRecord> {
    let made = |id: i64, speed: f64, level: &str| {
        let mut run = full::minute(id as u64, speed);
        (run.id, run.head.name) = (id, format!("run-{id}"));
        run.head
            .factors
            .insert("memory".to_owned(), level.to_owned());
        run
    };
    vec![made(3, 1.0, "5G"), made(4, 0.77, "12G")]
}

fn reported(runs: &[RunRecord], compared: &[Result<Comparison, String>]) -> String {
    report(&ReportInput {
        runs,
        costs: &[],
        sides: &[vec![0], vec![1]],
        compared,
        pivot: None,
        experiment: None,
        generated_unix_s: 0.0,
        title: "",
    })
}

#[test]
fn several_runs_have_a_row_each_and_the_comparison() {
    let runs = two_runs();
    let compared = compare(&[&runs[0]], &[&runs[1]], &CompareOptions::default());
    let compared = compared.map_err(|error: CompareError| error.to_string());
    let printed = reported(&runs, std::slice::from_ref(&compared));
    sound(&printed);
    for part in [
        "| run | what differs | tx/s |",
        "| 3 | memory 5G | ",
        "| 4 | memory 12G | ",
        "### Comparison",
        "new/base",
        "### Findings",
        "- run 3: **doubt** ",
    ] {
        assert!(printed.contains(part), "no '{part}' in {printed}");
    }
    let printed = reported(&runs, &[Err("Different | workloads.".to_owned())]);
    assert!(
        printed.contains("- Different \\| workloads.\n"),
        "{printed}"
    );
    assert!(!printed.contains("### Comparison"), "{printed}");
}

#[test]
fn sides_of_a_duet_have_its_answer() {
    let mut found = dyno_samples::duet::duet(0.979, 0.972, 0.986, DuetAnswer::Different);
    found.sides[0].durability = Some(DurabilityClass::LastSecond);
    found.sides[1].durability = Some(DurabilityClass::Durable);
    let mut runs = two_runs();
    for run in &mut runs {
        let answer = serde_json::to_string(&found).unwrap();
        dyno_samples::fact(run, names::DUET_ANSWER, &answer);
    }
    let compared = compare(&[&runs[0]], &[&runs[1]], &CompareOptions::default());
    let printed = reported(&runs, &[compared.map_err(|error| error.to_string())]);
    sound(&printed);
    assert!(
        printed.starts_with("## B is 2.1 % slower (1.4–2.8 %), 480 blocks in 4 min – valid\n"),
        "{printed}"
    );
    assert!(printed.contains("| events/s | 12,000 | 11,748 | 0.979 | 0.972 – 0.986 |"));
    assert!(
        printed.contains("last second lost on OS crash → each commit durable"),
        "{printed}"
    );
    assert!(!printed.contains("### Comparison"), "{printed}");
}

#[test]
fn a_comparison_has_its_answer_ratios_and_findings() {
    let compared = super::compare::tests::compared(&["sync_binlog"], 3);
    let printed = comparison(&compared, false);
    sound(&printed);
    let answer = super::compare::answer(&compared);
    assert!(
        printed.starts_with(&format!("## {}\n", text(&answer))),
        "{printed}"
    );
    for part in [
        "| figure | base | new | new/base | 95 % interval | p | outcome |\n",
        "| intended | setting sync_binlog: 0 → 1 |",
    ] {
        assert!(printed.contains(part), "no '{part}' in {printed}");
    }
    for finding in &compared.findings {
        if matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse) {
            assert!(printed.contains(&text(&finding.evidence)), "{printed}");
        }
    }
}

#[test]
fn a_comparison_without_a_significant_figure_has_no_empty_column() {
    let mut compared = super::compare::tests::compared(&["sync_binlog"], 3);
    for metric in &mut compared.metrics {
        metric.significant = false;
    }
    let printed = comparison(&compared, false);
    sound(&printed);
    let head = "| figure | base | new | new/base | 95 % interval | p |\n";
    assert!(printed.contains(head), "{printed}");
}

#[test]
fn times_below_a_millisecond_are_shown_in_microseconds() {
    let mut compared = super::compare::tests::compared(&["sync_binlog"], 3);
    for metric in &mut compared.metrics {
        if metric.name == "latency, p95" {
            (metric.base, metric.new) = (Some(0.045_95), Some(0.052_1));
        }
        if metric.name == "latency, p99" {
            (metric.base, metric.new) = (Some(900.0), Some(1_250.0));
        }
    }
    let printed = comparison(&compared, false);
    assert!(printed.contains("| p95 µs | 45.95 | 52.1 | "), "{printed}");
    assert!(printed.contains("| p99 s | 0.9 | 1.25 | "), "{printed}");
}

#[test]
fn a_table_of_factors_has_a_column_for_each_level() {
    let cell = |row: usize, column: usize, ratio: Option<f64>| dyno_verdict::Cell {
        row,
        column,
        runs: vec![1, 2],
        value: Some(1_228.4),
        ratio,
        low: ratio.map(|ratio| ratio * 0.95),
        high: ratio.map(|ratio| ratio * 1.05),
        equivalence: None,
        stalled_s: None,
        verdict: None,
        thin: false,
        includes: None,
    };
    let mut of = Pivot {
        figure: "rate".to_owned(),
        unit: "per second".to_owned(),
        rows: (
            "memory".to_owned(),
            vec!["5|G".to_owned(), "12G".to_owned()],
        ),
        columns: Some(("engine".to_owned(), vec!["a".to_owned(), "b".to_owned()])),
        base: "engine=a".to_owned(),
        cells: vec![cell(0, 0, None), cell(0, 1, Some(1.1)), cell(1, 0, None)],
        runs: Vec::new(),
        by_block: false,
        pooled: None,
    };
    let printed = pivot(&of);
    sound(&printed);
    for part in [
        "| memory | engine a | engine b |\n| --- | ---: | ---: |\n",
        "| 5\\|G | 1,228 – | 1,228 –<br>1.10× (",
        "| 12G | 1,228 – | no run |",
    ] {
        assert!(printed.contains(part), "no '{part}' in {printed}");
    }
    of.columns = None;
    assert!(pivot(&of).contains("| memory | rate |\n"), "{}", pivot(&of));
}

#[test]
fn a_run_without_figures_has_no_table_of_them() {
    let mut run = RunSummary {
        measured_s: 0.0,
        ..samples::good()
    };
    (run.totals, run.rates, run.service) = Default::default();
    run.not_observed.push(NotObserved {
        what: TOTALS_UNKNOWN.to_owned(),
        why: "the log does not show it".to_owned(),
    });
    let printed = run::one(&brief::title(&run), &run);
    sound(&printed);
    assert!(printed.contains("unknown length"), "{printed}");
    assert!(
        !printed.contains("|  |\n|  |") && !printed.contains(" 0 s"),
        "{printed}"
    );
}

#[test]
fn costs_with_the_work_of_other_clients_are_marked() {
    let mut run = samples::good();
    run.costs[0].includes = Some(dyno_core::finding::Cause::OtherClients);
    let printed = run::one("A run", &run);
    sound(&printed);
    let words = "server CPU: with the work of other clients";
    assert!(printed.contains(words), "{printed}");
}

#[test]
fn a_history_has_a_row_for_each_change_and_each_unchanged_figure() {
    let printed = history(&crate::terminal::history::tests::sample());
    sound(&printed);
    let rows: Vec<&str> = printed.lines().skip(2).collect();
    assert_eq!(
        rows,
        [
            "| figure | before | after | change | 95 % interval | from |",
            "| --- | ---: | ---: | ---: | --- | --- |",
            "| rate | 1,320/s | 1,238/s | −6.2 % | −7.4 % to −5.0 % | \
             run 13 (2026-11-20, 11.4.2) |",
            "| p95 | – | 4.00 ms | none | – | – |",
        ]
    );
    let mut doubtful = crate::terminal::history::tests::sample();
    doubtful.doubtful = 2;
    let printed = history(&doubtful);
    sound(&printed);
    assert_eq!(printed.lines().nth(2), Some("? 2 of 20 runs are doubtful"));
}
