//! Each check of errors and answers: a run that passes, one that fails, and one that cannot
//! be checked.

use dyno_core::db::ErrorKind;
use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass, Refuse};
use dyno_core::finding::{Cause, Finding};
use dyno_core::interval::ErrorCount;
use dyno_core::plan::Shard;
use dyno_core::record::{EventKind, RunRecord};
use dyno_core::summary::{EndpointSummary, LedgerEntry, MachineSummary, RunEnd};
use dyno_samples::{
    self as samples, Product, assert_begins, assert_has, assert_lacks, closed, drop_fact,
    drop_series, fact, series, values,
};

use crate::tests::{check, expect, judged, summary};

pub(super) fn failing(run: &mut RunRecord, code: &str, kind: ErrorKind, count: u64) {
    let summary = summary(run);
    summary.totals.errors += count;
    let error = ErrorCount {
        count,
        kind,
        sample: "the server's words".to_owned(),
    };
    summary.errors.insert(code.to_owned(), error);
}

#[test]
fn errors_are_few_and_named_by_kind() {
    expect("errors", Pass, |_| {});
    let doubt = expect("errors", Doubt, |run| {
        failing(run, "1213", ErrorKind::Conflict, 500);
        failing(run, "517", ErrorKind::Conflict, 30);
        failing(run, "23505", ErrorKind::Duplicate, 100);
    });
    let classes = "530 conflicts (1213, 517) and 100 duplicate keys (23505)";
    assert_has(&doubt.evidence, classes);
    expect("errors", Refuse, |run| {
        failing(run, "2013", ErrorKind::Lost, 20_000);
    });
    expect("errors", Refuse, |run| {
        summary(run).end = RunEnd::Failed("session 3: gone away".to_owned());
    });
    let given_up = expect("errors", Doubt, |run| summary(run).totals.not_done = 200);
    // A summary shows only the first sentence, which is the reason.
    let expected = "200 events ended without their work being done";
    assert_begins(&given_up.evidence, expected);
    assert_has(&given_up.evidence, ". 0 errors in ");
    expect("errors", Refuse, |run| {
        summary(run).totals.not_done = 100_000
    });
    expect("errors", NotChecked, |run| {
        summary(run).totals = Default::default()
    });
}

/// An error that a script catches is part of an event that counts; one that repeats the event is a
/// separate attempt.
#[test]
fn an_error_that_a_script_catches_is_not_a_separate_attempt() {
    let share = |change: &dyn Fn(&mut dyno_core::interval::Counters, u64)| {
        let refused = expect("errors", Refuse, |run| {
            let events = summary(run).totals.events;
            failing(run, "1146", ErrorKind::NoTable, events);
            change(&mut summary(run).totals, events);
        });
        let at = refused.evidence.find('(').unwrap();
        refused.evidence[at..].split(',').next().unwrap().to_owned()
    };
    assert_eq!(share(&|_, _| {}), "(100 %)");
    assert_eq!(share(&|totals, events| totals.retries += events), "(50 %)");
    assert_eq!(share(&|totals, _| totals.events /= 2), "(100 %)");
}

#[test]
fn work_was_done_and_not_too_fast() {
    expect("work-done", Pass, |_| {});
    expect("work-done", Refuse, |run| summary(run).totals.events = 0);
    let mut flooded = samples::open_loop(20, 500.0, 1);
    let totals = summary(&mut flooded);
    totals.totals.events = 0;
    totals.open_loop.as_mut().unwrap().backlog = Some(10_000);
    let finding = check(&flooded, "work-done", Refuse);
    assert_has(&finding.evidence, "10,000 were waiting");
    expect("work-done", Refuse, |run| {
        let totals = &mut summary(run).totals;
        (totals.reads, totals.writes, totals.other) = (0, 0, 0);
    });
    expect("work-done", Doubt, |run| summary(run).totals.rows = 10);
    let nothing = expect("work-done", Doubt, |run| summary(run).totals.rows = 0);
    assert_begins(&nothing.evidence, "No statement found or changed a row.");
    expect("work-done", Doubt, |run| {
        samples::scale(&mut summary(run).service, 1e-3)
    });
    let little = expect("work-done", Doubt, |run| {
        samples::scale(&mut summary(run).service, 1.5)
    });
    assert_has(&little.evidence, "more than 16 sessions");
    let outside = expect("work-done", Doubt, |run| {
        samples::scale(&mut summary(run).service, 0.5)
    });
    let part = "The sessions spent 50 % of their time outside events";
    assert_begins(&outside.evidence, part);
    let empty = expect("work-done", Doubt, |run| {
        let totals = &mut summary(run).totals;
        (totals.writes, totals.other) = (0, 0);
        totals.reads = totals.events / 2;
    });
    let expected = "At least 50 % of the events sent no statement";
    assert_begins(&empty.evidence, expected);
    // In a test of the host a session may have several concurrent events, which are not statements.
    let queued = expect("work-done", Pass, |run| {
        samples::scale(&mut summary(run).service, 1.5);
        summary(run).machine = Some(MachineSummary {
            depth: 2,
            ..MachineSummary::default()
        });
    });
    assert_lacks(&queued.evidence, "statements");
    // An embedded database answers without a connection.
    let mut sqlite = closed(&[1000.0; 20], Product::Sqlite);
    samples::scale(&mut summary(&mut sqlite).service, 1e-3);
    check(&sqlite, "work-done", Pass);
}

#[test]
fn consistency_needs_the_workloads_own_check() {
    expect("consistency", NotChecked, |_| {});
}

#[test]
fn the_servers_warnings_are_reported() {
    expect("server-warnings", Pass, |_| {});
    expect("server-warnings", Doubt, |run| {
        series(run, "db.status.innodb_deadlocks", &[40.0; 30]);
    });
    expect("server-warnings", Doubt, |run| {
        series(run, "db.status.created_tmp_disk_tables", &[400.0; 30]);
    });
    expect("server-warnings", NotChecked, |run| drop_series(run, "db."));
    let mut postgres = closed(&[1000.0; 20], Product::Postgres);
    check(&postgres, "server-warnings", Pass);
    series(&mut postgres, "db.database.deadlocks", &[40.0; 20]);
    check(&postgres, "server-warnings", Doubt);
}

#[test]
fn deadlocks_that_the_server_does_not_count_are_explained_with_the_errors() {
    const DEADLOCKS: &str = "db.status.innodb_deadlocks";
    let of_others = "not of row locks: Innodb_deadlocks did not count them. Deadlocks of metadata";
    let seen = |counted: f64, code: &str, count: u64| {
        let mut run = dyno_samples::good();
        series(&mut run, DEADLOCKS, &[counted; 30]);
        failing(&mut run, code, ErrorKind::Conflict, count);
        judged(&run, "errors")
    };
    let found = seen(0.0, "1213", 1_213);
    assert_has(&found.evidence, "1,213 deadlocks (error 1213) were not of");
    assert_has(&found.evidence, of_others);
    assert_has(&found.advice, "ALTER TABLE");
    let number = |found: &Finding| {
        let mut numbers = found.numbers.iter();
        let number = numbers.find(|number| number.name == crate::OTHER_LOCKS);
        number.and_then(|number| number.value)
    };
    assert_eq!(number(&found), Some(1_213.0));
    // Errors too few for a doubt are explained, too.
    let few = seen(0.0, "1213", 7);
    assert_eq!(few.outcome, Pass);
    assert_has(&few.evidence, of_others);
    // InnoDB found as many deadlocks, or the errors are others.
    for other in [seen(41.0, "1213", 1_213), seen(0.0, "1205", 1_213)] {
        assert_lacks(&other.evidence, of_others);
        assert_has(&other.advice, "Use fewer sessions");
        assert_eq!(number(&other), None);
    }
}

#[test]
fn a_few_server_warnings_are_not_a_doubt_even_with_few_events() {
    let outcome = |on_disk: f64| {
        let mut run = closed(&[16.0; 2], Product::Mysql);
        series(
            &mut run,
            "db.status.created_tmp_disk_tables",
            &[2.0, on_disk],
        );
        judged(&run, "server-warnings").outcome
    };
    assert_eq!((outcome(2.0), outcome(3.0)), (Pass, Doubt));
}

#[test]
fn a_counter_that_stayed_at_zero_was_observed() {
    const DEADLOCKS: &str = "db.status.innodb_deadlocks";
    expect("server-warnings", Pass, |run| {
        drop_series(run, "db.");
        fact(
            run,
            "observer.always_zero",
            &format!("db.status.x {DEADLOCKS}"),
        );
    });
    expect("server-warnings", NotChecked, |run| {
        drop_series(run, "db.");
        fact(run, "observer.always_zero", "db.status.x");
    });
}

#[test]
fn counters_of_part_of_the_run_are_compared_with_that_part() {
    let mut rates = vec![1000.0; 18];
    rates.resize(30, 0.0);
    let mut run = closed(&rates, Product::Mysql);
    let first = run.intervals[0].counters.queries() as f64;
    series(&mut run, "db.status.questions", &[first; 18]);
    series(&mut run, "db.status.innodb_pages_read", &[500.0; 18]);
    check(&run, "server-counters", Pass);
    let cost = |run: &RunRecord| {
        let costs = crate::costs(run);
        costs
            .into_iter()
            .find(|cost| cost.name == "pages read")
            .unwrap()
    };
    let read = cost(&run).value.unwrap();
    assert!((read - 0.5).abs() < 0.05, "{read}");
    // For a shared load, neither is conclusive.
    let drive = summary(&mut run).drive.as_mut().unwrap();
    drive.shard = Some(Shard::equal(1, 3));
    run.head.drive = None;
    check(&run, "server-counters", NotChecked);
    assert_eq!(cost(&run).value, None);
}

#[test]
fn counts_of_postgresql_without_a_warm_up_are_left_out_of_short_runs() {
    let cost = |seconds: usize, warmup_s: u64| {
        let mut run = closed(&vec![1000.0; seconds], Product::Postgres);
        series(&mut run, "db.database.tup_fetched", &vec![1000.0; seconds]);
        let drive = run.head.drive.as_mut().unwrap();
        drive.warmup = std::time::Duration::from_secs(warmup_s);
        let mut costs = crate::costs(&run).into_iter();
        costs.find(|cost| cost.name == "rows fetched").unwrap()
    };
    let late = cost(5, 0);
    assert_eq!(late.value, None);
    assert_has(&late.source, "without a warm-up that is 20 %");
    assert!(cost(5, 2).value.is_some(), "the lag is at both ends");
    assert!(cost(60, 0).value.is_some(), "a second of sixty");
}

#[test]
fn costs_of_the_host_are_left_out_where_others_took_part_of_it() {
    let mut run = closed(&[1000.0; 20], Product::Mysql);
    let of = |run: &RunRecord, name: &str| {
        let mut costs = crate::costs(run).into_iter();
        costs.find(|cost| cost.name == name).unwrap()
    };
    let shared = [
        "host CPU",
        "host context switches",
        "written to disks",
        "disk writes",
    ];
    for name in shared {
        assert!(of(&run, name).value.is_some(), "{name}");
    }
    // Half a core of two busy ones.
    series(&mut run, "host.others.cpu", &[0.5; 20]);
    for name in shared {
        let cost = of(&run, name);
        assert_eq!(cost.value, None, "{name}");
        let why = "other processes used 26";
        assert!(
            cost.left_out && cost.source.starts_with(why),
            "{name}: {cost:?}"
        );
    }
    assert!(of(&run, "server CPU").value.is_some());
    assert!(of(&run, "written by the server").value.is_some());
}

#[test]
fn server_and_client_counts_agree() {
    expect("server-counters", Pass, |_| {});
    let missing = expect("server-counters", Doubt, |run| {
        series(run, "db.status.questions", &[12_000.0; 30]);
    });
    assert!(missing.advice.contains("did not reach this server"));
    assert_eq!(missing.causes, [Cause::WorkElsewhere]);
    let others = expect("server-counters", Doubt, |run| {
        series(run, "db.status.questions", &[30_000.0; 30]);
        series(run, "db.other_sessions", &[25.0; 30]);
        fact(run, "server.other_sessions", "25 of app from 10.0.0.7");
    });
    let whose = "It listed other sessions: at most 25 of app from 10.0.0.7.";
    assert_has(&others.evidence, whose);
    assert!(others.advice.contains("sessions of other clients"));
    expect("server-counters", NotChecked, |run| drop_series(run, "db."));
    expect("server-counters", NotChecked, |run| {
        let endpoint = summary(run).endpoints[0].clone();
        summary(run).endpoints.push(EndpointSummary {
            name: "other:3306".to_owned(),
            ..endpoint
        });
    });
    expect("server-counters", NotChecked, |run| {
        let restart = values::event(5.0, None, EventKind::Restart, "a new server answered");
        run.events.push(restart);
    });
    // Its counters cover the observed seconds, the client's all.
    expect("server-counters", NotChecked, |run| {
        series(run, "db.status.questions", &[30_000.0; 30]);
        let text = "the database's observer has no connection";
        let lost = values::event(5.0, Some(12.0), EventKind::Observer, text);
        run.events.push(lost);
    });
    let short = closed(&[1000.0; 3], Product::Mysql);
    check(&short, "server-counters", NotChecked);
}

#[test]
fn others_at_work_are_reported_whatever_the_counters_show() {
    const ACTIVE: &str = "db.other_sessions_active";
    expect("server-counters", Pass, |run| {
        series(run, ACTIVE, &[0.0, 1.0, 0.0, 0.0, 0.0]);
        series(run, "db.other_sessions", &[12.0; 5]);
    });
    expect("server-counters", Pass, |run| {
        series(run, ACTIVE, &[1.0, 0.0])
    });
    expect("server-counters", Doubt, |run| {
        series(run, ACTIVE, &[1.0, 1.0])
    });
    // Without a privilege, PostgreSQL shows that there are others, but not what they do.
    let hidden = |run: &mut RunRecord, others: f64| {
        series(run, "db.other_sessions", &[others; 5]);
        run.not_observed.push(values::gap(
            ACTIVE,
            "GRANT pg_monitor TO the user of the target",
        ));
        fact(run, "server.other_sessions", "4 of postgres (pgbench)");
    };
    let finding = expect("server-counters", NotChecked, |run| hidden(run, 4.0));
    assert_has(&finding.evidence, "GRANT pg_monitor");
    expect("server-counters", Pass, |run| hidden(run, 0.0));
    let finding = expect("server-counters", Doubt, |run| {
        series(run, ACTIVE, &[1.0, 0.0, 1.0, 1.0, 0.0]);
        fact(run, "server.other_sessions", "1 of app from 10.0.0.7");
    });
    let whose = "Sessions of other users were active: 0.6 on average over 5 samples, at most 1 of \
                 app from 10.0.0.7. The server counted";
    assert_begins(&finding.evidence, whose);
}

#[test]
fn the_runs_own_work_and_unseen_sessions_are_not_blamed_on_others() {
    const QUESTIONS: &str = "db.status.questions";
    // A thousand events of 20 statements a second.
    expect("server-counters", Pass, |run| {
        series(run, QUESTIONS, &[30_000.0; 30]);
        for interval in &mut run.intervals {
            interval.counters.errors = 10_000;
        }
    });
    expect("server-counters", Pass, |run| {
        series(run, QUESTIONS, &[30_000.0; 30]);
        series(run, "db.status.connections", &[10_000.0; 30]);
    });
    let nobody = expect("server-counters", Doubt, |run| {
        series(run, QUESTIONS, &[30_000.0; 30]);
    });
    assert_has(
        &nobody.evidence,
        "No other session was listed in 30 samples.",
    );
    assert_lacks(&nobody.advice.to_lowercase(), "other clients");
    assert_eq!(nobody.causes, [Cause::OtherClients]);
    let hidden = expect("server-counters", Doubt, |run| {
        series(run, QUESTIONS, &[30_000.0; 30]);
        let why = "sessions of other users are hidden: GRANT PROCESS";
        let gap = values::gap("server.other_sessions", why);
        run.not_observed.push(gap);
    });
    let known = "Other sessions are not known: sessions of other users are hidden";
    assert_has(&hidden.evidence, known);
    let old = expect("server-counters", Doubt, |run| {
        series(run, QUESTIONS, &[30_000.0; 30]);
        drop_series(run, "db.other_sessions");
        drop_fact(run, "server.other_sessions");
    });
    assert_has(&old.evidence, "were not observed");
    // Statements prepared by PostgreSQL's connections are transactions.
    let mut run = closed(&[1000.0; 20], Product::Postgres);
    series(&mut run, "db.database.xact_commit", &[60_000.0; 20]);
    series(&mut run, "db.database.sessions", &[20_000.0; 20]);
    check(&run, "server-counters", NotChecked);
    fact(&mut run, "server.other_sessions", "2 of app from 10.0.0.7");
    check(&run, "server-counters", Doubt);
}

#[test]
fn transactions_are_between_events_and_statements() {
    let mut run = closed(&[1000.0; 20], Product::Postgres);
    let outcome = |run: &RunRecord| judged(run, "server-counters").outcome;
    assert_eq!(outcome(&run), Pass);
    for (commits, expected) in [(20_000.0, Pass), (500.0, Doubt), (40_000.0, Doubt)] {
        series(&mut run, "db.database.xact_commit", &[commits; 20]);
        assert_eq!(outcome(&run), expected, "{commits}");
    }
    // Sessions that read no table are counted when they end.
    series(&mut run, "db.database.xact_commit", &[10.0; 20]);
    for (end, expected) in [("20500", Pass), ("900", Doubt)] {
        fact(&mut run, "server.commits.start", "500");
        fact(&mut run, "server.commits.end", end);
        let outcome = judged(&run, "server-counters").outcome;
        assert_eq!(outcome, expected, "{end}");
    }
}

#[test]
fn an_unknown_ledger_is_not_checked() {
    let entry = |low, high| LedgerEntry {
        sum: "paid".to_owned(),
        database: "w_ytd".to_owned(),
        expected_low: low,
        expected_high: high,
        found: Some(7),
    };
    expect("consistency", Refuse, |run| {
        summary(run).ledger = vec![entry(0, 0)];
    });
    let (low, high) = LedgerEntry::OPEN;
    let open = expect("consistency", NotChecked, |run| {
        summary(run).ledger = vec![entry(low, high)];
    });
    let expected = "A worker did not respond at the end of the run";
    assert_has(&open.evidence, expected);
}

#[test]
fn changes_by_procedures_count_as_work() {
    let calls = |run: &mut RunRecord| {
        let totals = &mut summary(run).totals;
        (totals.rows, totals.reads, totals.writes) = (0, 0, 0);
    };
    let changed = |run: &mut RunRecord| {
        series(run, "db.status.innodb_rows_inserted", &[1_000.0; 30]);
        series(run, "db.status.innodb_rows_updated", &[0.0; 30]);
        series(run, "db.status.innodb_rows_deleted", &[0.0; 30]);
    };
    expect("work-done", Doubt, calls);
    let finding = expect("work-done", Pass, |run| {
        calls(run);
        changed(run);
    });
    // Another session may have changed the rows.
    expect("work-done", Doubt, |run| {
        calls(run);
        changed(run);
        series(run, "db.other_sessions", &[1.0; 30]);
    });
    assert!(!finding.names(Cause::NoRows), "{finding:?}");
}
