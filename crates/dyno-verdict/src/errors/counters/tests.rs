//! PostgreSQL's transactions against those that the client saw end.

use dyno_core::db::ErrorKind;
use dyno_core::finding::Cause;
use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::record::RunRecord;
use dyno_samples::{Product, assert_has, assert_lacks, closed, fact, series};

use super::super::tests::failing;
use crate::tests::{check, judged, summary};

/// A run with 1,000 events per second of 20 statements each. Per event, the client saw this many
/// transactions end for certain, and perhaps more.
fn run(certain: u64, possible: u64) -> RunRecord {
    let mut run = closed(&[1000.0; 20], Product::Postgres);
    let statements = summary(&mut run).totals.queries();
    for (name, count) in [
        ("client.statements.completed", statements),
        ("client.statements.transactions", statements / 20 * certain),
        (
            "client.statements.transactions_possible",
            statements / 20 * possible,
        ),
    ] {
        fact(&mut run, name, &count.to_string());
    }
    series(&mut run, "db.database.xact_rollback", &[0.0; 20]);
    run
}

fn counted(run: &mut RunRecord, commits: f64) {
    series(run, "db.database.xact_commit", &[commits; 20]);
}

#[test]
fn a_second_client_is_detected_if_transactions_have_several_statements() {
    let mut run = run(1, 0);
    for (commits, expected) in [
        (1_000.0, Pass),
        (1_060.0, Pass),
        (1_300.0, Doubt),
        (15_000.0, Doubt),
        (800.0, Doubt),
    ] {
        counted(&mut run, commits);
        assert_eq!(
            judged(&run, "server-counters").outcome,
            expected,
            "{commits}"
        );
    }
    counted(&mut run, 1_300.0);
    let finding = check(&run, "server-counters", Doubt);
    assert_has(&finding.evidence, "The server counted 1,300 transactions");
    assert_lacks(&finding.evidence, " to ");
    // The transactions of single statements are counted, too: none may be missing.
    let mut run = self::run(20, 0);
    for (commits, expected) in [(20_000.0, Pass), (15_000.0, Doubt)] {
        counted(&mut run, commits);
        check(&run, "server-counters", expected);
    }
}

#[test]
fn transactions_that_may_have_ended_are_a_range() {
    let mut run = run(1, 1);
    for (commits, expected) in [(1_000.0, Pass), (2_000.0, Pass), (2_500.0, Doubt)] {
        counted(&mut run, commits);
        let finding = check(&run, "server-counters", expected);
        assert_has(&finding.evidence, " to ");
    }
}

#[test]
fn failures_and_connections_explain_no_more_transactions() {
    let mut run = run(1, 0);
    failing(&mut run, "23505", ErrorKind::Duplicate, 20_000);
    series(&mut run, "db.database.sessions", &[1_000.0; 20]);
    counted(&mut run, 1_600.0);
    // The check `errors` doubts the run.
    let finding = check(&run, "server-counters", NotChecked);
    let counts = "The server counted 1,600 transactions per second; the client counted 1,000.";
    assert_has(&finding.evidence, counts);
    counted(&mut run, 1_000.0);
    check(&run, "server-counters", Pass);
}

#[test]
fn transactions_that_sessions_report_at_their_end_are_not_missing() {
    let mut run = run(1, 0);
    counted(&mut run, 10.0);
    let mut ends_with = |commits: &str, rollbacks: &str, expected| {
        fact(&mut run, "server.commits.start", "500");
        fact(&mut run, "server.commits.end", commits);
        fact(&mut run, "client.statements.rollbacks", rollbacks);
        check(&run, "server-counters", expected);
    };
    ends_with("20500", "0", Pass);
    ends_with("15000", "0", Doubt);
    // The server's number has commits only.
    ends_with("15000", "8000", Pass);
}

#[test]
fn statements_of_other_clients_do_not_hide_missing_ones() {
    // Two events of 20 statements a second.
    for (counted, expected) in [
        (4.5, Doubt),
        (25.3, Doubt),
        (36.0, Pass),
        // Observers and monitoring.
        (80.0, Pass),
    ] {
        let mut run = closed(&[2.0; 8], Product::Mysql);
        series(&mut run, "db.status.questions", &[counted; 8]);
        let found = check(&run, "server-counters", expected);
        let elsewhere = found.causes.contains(&Cause::WorkElsewhere);
        assert_eq!(elsewhere, expected == Doubt, "{counted}: {found:?}");
    }
    let mut run = closed(&[5.0; 10], Product::Postgres);
    let statements = summary(&mut run).totals.queries();
    for (name, count) in [
        ("client.statements.completed", statements),
        ("client.statements.transactions", statements / 20),
        ("client.statements.transactions_possible", 0),
    ] {
        fact(&mut run, name, &count.to_string());
    }
    series(&mut run, "db.database.xact_rollback", &[0.0; 10]);
    // The first sample lacks what sessions had not reported yet.
    for (first, rest, expected) in [(0.0, 5.0, Pass), (2.0, 2.0, Doubt)] {
        let mut commits = [rest; 10];
        commits[0] = first;
        series(&mut run, "db.database.xact_commit", &commits);
        check(&run, "server-counters", expected);
    }
}

#[test]
fn sessions_may_stay_in_one_transaction() {
    // The run only reads. No transaction ended within the measurement, so there is no count.
    let mut run = closed(&[1000.0; 20], Product::Postgres);
    summary(&mut run).totals.writes = 0;
    counted(&mut run, 1.0);
    let found = check(&run, "server-counters", Doubt);
    assert_has(&found.evidence, "The server counted 1 transactions");
    fact(&mut run, "client.sessions.in_transaction", "16 of 16");
    let found = check(&run, "server-counters", NotChecked);
    assert_has(&found.evidence, "ended within a transaction");
    // The client's count shows what the server lacks.
    let mut run = self::run(1, 0);
    summary(&mut run).totals.writes = 0;
    counted(&mut run, 1.0);
    fact(&mut run, "client.sessions.in_transaction", "16 of 16");
    check(&run, "server-counters", Doubt);
}
