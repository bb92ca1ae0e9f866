//! Logs that the server writes, and logs that it does not.

use dyno_core::finding::Outcome::{self, Doubt, NotChecked, Pass};
use dyno_core::record::{Event, EventDetail, EventKind, SettingChange};
use dyno_samples::{self as samples, series, setting, values};

use crate::tests::{expect, judged, summary};

fn logged(settings: &[(&str, &str)]) -> (Outcome, String) {
    let mut run = samples::good();
    for (name, value) in settings {
        setting(&mut run, name, value);
    }
    let found = judged(&run, "statement-logs");
    (found.outcome, found.evidence)
}

#[test]
fn logging_that_sessions_turn_on_counts() {
    let of = |server: (&str, &str), (name, value): (&str, &str)| {
        let mut run = samples::good();
        setting(&mut run, server.0, server.1);
        samples::fact(&mut run, &format!("client.settings[{name}]"), value);
        judged(&run, "statement-logs").outcome
    };
    let none = ("log_statement", "none");
    assert_eq!(of(none, ("log_statement", "all")), Doubt);
    assert_eq!(
        of(("log_statement", "all"), ("log_statement", "none")),
        Pass
    );
    assert_eq!(
        of(("log_statement", "all"), ("log_statement", "default")),
        Doubt
    );
    let general = ("general_log", "ON");
    assert_eq!(of(general, ("sql_log_off", "1")), Pass);
    assert_eq!(of(general, ("sql_log_off", "0")), Doubt);
}

#[test]
fn reports_logs_of_every_statement() {
    assert_eq!(logged(&[]).0, Pass);
    let slow = ("slow_query_log", "ON");
    let at_once = ("long_query_time", "0.000000");
    for (settings, expected) in [
        (&[("general_log", "ON")][..], "general_log = ON"),
        (
            &[slow, ("long_query_time", "0.000000")],
            "slow_query_log = ON with long_query_time = 0.000000",
        ),
        (&[("log_statement", "all")], "log_statement = all"),
        (
            &[("log_min_duration_statement", "0")],
            "log_min_duration_statement = 0",
        ),
        (
            &[("log_transaction_sample_rate", "1")],
            "log_transaction_sample_rate = 1",
        ),
        (
            &[
                ("log_min_duration_sample", "0"),
                ("log_statement_sample_rate", "1"),
            ],
            "log_min_duration_sample = 0",
        ),
        (
            &[slow, at_once, ("log_slow_filter", "query_cache_miss")],
            "slow_query_log = ON with long_query_time = 0",
        ),
        (&[("pgaudit.log", "READ, DDL")], "pgaudit.log = READ, DDL"),
        (&[("pgaudit.log", "all, -ddl")], "pgaudit.log = all, -ddl"),
        (&[("pgaudit.log", "misc")], "pgaudit.log = misc"),
        (&[("log_executor_stats", "on")], "log_executor_stats = on"),
        (&[("log_parser_stats", "on")], "log_parser_stats = on"),
        (&[("log_planner_stats", "on")], "log_planner_stats = on"),
        (&[("debug_print_plan", "on")], "debug_print_plan = on"),
        (
            &[("log_min_messages", "debug2")],
            "log_min_messages = debug2",
        ),
        (
            &[("server_audit_logging", "ON"), ("server_audit_events", "")],
            "server_audit_logging = ON",
        ),
    ] {
        let (outcome, evidence) = logged(settings);
        assert_eq!(outcome, Doubt, "{settings:?}");
        assert!(evidence.contains(expected), "{evidence}");
    }
    expect("statement-logs", NotChecked, |run| run.settings.clear());
}

#[test]
fn logs_of_a_part_of_the_run_count() {
    let of = |server: &[(&str, &str)], changes: &[(f64, &str, [&str; 2])], outcome| {
        let found = expect("statement-logs", outcome, |run| {
            for (name, value) in server {
                setting(run, name, value);
            }
            for (at_s, name, [from, to]) in changes {
                let detail = EventDetail::of_setting(SettingChange {
                    name: (*name).to_owned(),
                    from: (*from).to_owned(),
                    to: (*to).to_owned(),
                });
                let event = values::event(*at_s, None, EventKind::Setting, "without values");
                run.events.push(Event { detail, ..event });
            }
        });
        found.evidence
    };
    let off = [("general_log", "OFF")];
    let (on_at, off_at) = (["OFF", "ON"], ["ON", "OFF"]);
    let until = of(&off, &[(8.97, "general_log", off_at)], Doubt);
    assert!(until.contains("general_log = ON until 8.97 s"), "{until}");
    let there = [(3.0, "general_log", on_at), (5.0, "general_log", off_at)];
    let from = of(&off, &there, Doubt);
    assert!(from.contains("general_log = ON from 3 s on"), "{from}");
    // Before the measurement, for all of it, and after it.
    of(&off, &[(-1.0, "general_log", on_at)], Doubt);
    let early = [(-2.0, "general_log", on_at), (-1.0, "general_log", off_at)];
    of(&off, &early, Pass);
    of(&off, &[(1e4, "general_log", on_at)], Pass);
    // The log was discarded until its place changed.
    let nowhere = [("general_log", "ON"), ("log_output", "NONE")];
    of(&nowhere, &[], Pass);
    of(&nowhere, &[(3.0, "log_output", ["NONE", "FILE"])], Doubt);
}

#[test]
fn discarded_logs_cost_nothing() {
    let nowhere = ("log_output", "FILE,NONE");
    let all = [("slow_query_log", "ON"), ("long_query_time", "0.000000")];
    let [slow, at_once] = all;
    for settings in [
        &[
            slow,
            ("long_query_time", "10.000000"),
            ("log_min_duration_statement", "-1"),
            ("log_statement", "ddl"),
            ("general_log", "OFF"),
        ][..],
        &[at_once],
        &[("general_log", "ON"), nowhere],
        &[slow, at_once, nowhere],
        &[slow, at_once, ("min_examined_row_limit", "1000")],
        &[slow, at_once, ("log_slow_rate_limit", "1000")],
        &[slow, at_once, ("log_slow_filter", "filesort_on_disk")],
        // Statements that only look up a row have none of these plans.
        &[
            slow,
            at_once,
            ("log_slow_filter", "filesort,full_scan,tmp_table"),
        ],
        &[("pgaudit.log", "none")],
        &[("pgaudit.log", "ddl, role, misc_set")],
        &[
            ("server_audit_logging", "ON"),
            ("server_audit_events", "CONNECT,QUERY_DDL"),
        ],
        &[
            ("log_min_duration_sample", "0"),
            ("log_statement_sample_rate", "0.001"),
        ],
        &[("log_transaction_sample_rate", "0")],
        &[("log_statement", "all"), ("log_min_messages", "panic")],
        &[("log_duration", "on"), ("log_destination", "")],
    ] {
        let (outcome, evidence) = logged(settings);
        assert_eq!(outcome, Pass, "{settings:?}: {evidence}");
    }
}

const NO_INDEX: (&str, &str) = ("log_queries_not_using_indexes", "ON");
const THROTTLE: &str = "log_throttle_queries_not_using_indexes";

#[test]
fn the_slow_log_is_judged_by_its_counter() {
    for (settings, slow, outcome) in [
        (&[][..], 20_000.0, Doubt),
        (&[], 100.0, Pass),
        // Without an index, or 10 s long: the server counts them but does not log them.
        (&[("log_output", "NONE")], 20_000.0, Pass),
        (&[("slow_query_log", "OFF")], 20_000.0, Pass),
        (&[("log_slow_rate_limit", "100")], 20_000.0, Pass),
        (&[("log_slow_filter", "filesort")], 20_000.0, Pass),
        (&[("log_slow_filter", "not_using_index")], 20_000.0, Doubt),
        // At most so many statements a minute.
        (&[NO_INDEX, (THROTTLE, "10")], 20_000.0, Pass),
        (&[NO_INDEX, (THROTTLE, "0")], 20_000.0, Doubt),
    ] {
        let found = expect("statement-logs", outcome, |run| {
            setting(run, "slow_query_log", "ON");
            setting(run, "long_query_time", "10.000000");
            for (name, value) in settings {
                setting(run, name, value);
            }
            series(run, "db.status.slow_queries", &[slow; 30]);
        });
        assert_eq!(
            found.evidence.contains("(Slow_queries)"),
            outcome == Doubt,
            "{}",
            found.evidence
        );
    }
}

#[test]
fn a_log_of_changes_has_no_statement_of_a_run_that_only_reads() {
    let logged = |(name, value): (&str, &str), writes: u64, outcome| {
        let mut run = samples::good();
        setting(&mut run, name, value);
        summary(&mut run).totals.writes = writes;
        let found = judged(&run, "statement-logs");
        assert_eq!(found.outcome, outcome, "{name} {writes}");
    };
    for changes in [("log_statement", "mod"), ("pgaudit.log", "Write, DDL")] {
        logged(changes, 100, Doubt);
        logged(changes, 0, Pass);
    }
    logged(("pgaudit.log", "READ, WRITE"), 0, Doubt);
}
