//! What imported logs do not say.

use dyno_core::db::Family;
use dyno_core::finding::Outcome::NotChecked;
use dyno_core::interval::Counters;
use dyno_core::plan::{Arrivals, OpenLoop};
use dyno_core::record::{RunRecord, Source};
use dyno_core::unknown::TOTALS_UNKNOWN;
use dyno_samples::{self as samples, values};

use super::Missing;
use crate::tests::{check, summary};
use crate::{Context, judge};

/// A log, without the data that only Dyno records.
fn imported() -> RunRecord {
    let mut run = samples::imported();
    let own = summary(&mut run);
    own.ledger.clear();
    own.roles.clear();
    run
}

#[track_caller]
fn lacks(run: &RunRecord, name: &str, missing: Missing) {
    let finding = check(run, name, NotChecked);
    assert_eq!(finding.evidence, missing.sentence(), "{name}");
}

#[test]
fn a_log_without_a_server_does_not_say_there_was_none() {
    let run = imported();
    for (name, missing) in [
        ("server-build", Missing::Server),
        ("connection", Missing::Connection),
        ("restarts", Missing::Restart),
        ("flow-control", Missing::Cluster),
        ("replication-lag", Missing::Replication),
        ("statement-logs", Missing::StatementLog),
        ("requested-settings", Missing::RequestedSettings),
        ("consistency", Missing::Ledger),
        ("row-counts", Missing::Rows),
        ("key-distribution", Missing::Keys),
        ("statistics", Missing::Tables),
        ("cold-or-warm", Missing::CacheMisses),
        ("query-cache", Missing::QueryCache),
        ("misses", Missing::Found),
        ("whole-cycles", Missing::Background),
    ] {
        lacks(&run, name, missing);
    }
    let mut run = run;
    let target = &mut summary(&mut run).target;
    target.family = Some(Family::Postgres);
    target.product = "PostgreSQL".to_owned();
    lacks(&run, "server-build", Missing::Build);
}

#[test]
fn a_log_does_not_say_how_its_load_generator_was_observed() {
    let run = imported();
    for (name, missing) in [
        ("generator-ceiling", Missing::Ceiling),
        ("client-cpu", Missing::GeneratorCpu),
        ("role-rates", Missing::Roles),
        ("idle-sessions", Missing::Sessions),
        ("unserved", Missing::InFlight),
        ("agents", Missing::Generators),
        ("observer-cost", Missing::ObserverCost),
        ("observers", Missing::Observers),
        ("latency-modes", Missing::Distribution),
    ] {
        lacks(&run, name, missing);
    }
}

#[test]
fn a_log_with_response_times_had_a_schedule() {
    let mut run = imported();
    let own = summary(&mut run);
    own.response = Some(own.service.clone());
    for name in ["schedule-lag", "offered-rate", "arrivals"] {
        lacks(&run, name, Missing::OfferedRate);
    }
    let drive = summary(&mut run).drive.as_mut().unwrap();
    drive.open_loop = Some(OpenLoop::new(100.0, Arrivals::Poisson));
    lacks(&run, "offered-rate", Missing::Whole);
    let own = summary(&mut run);
    (own.response, own.drive) = (None, None);
    for name in ["schedule-lag", "offered-rate", "arrivals"] {
        lacks(&run, name, Missing::Driven);
    }
}

#[test]
fn a_log_may_have_few_figures() {
    let mut run = imported();
    summary(&mut run).fairness = None;
    lacks(&run, "fairness", Missing::Fairness);
    summary(&mut run).totals = Counters::default();
    run.not_observed
        .push(values::gap(TOTALS_UNKNOWN, "its end is missing"));
    lacks(&run, "errors", Missing::Attempts);
    summary(&mut run).service = Default::default();
    lacks(&run, "samples", Missing::Latencies);
    run.summary = None;
    lacks(&run, "samples", Missing::Whole);
    lacks(&run, "unserved", Missing::Whole);
    run.intervals.clear();
    lacks(&run, "length", Missing::Length);
    lacks(&run, "warm-up", Missing::Rates);
}

#[test]
fn no_log_is_judged_as_a_run_of_this_tool() {
    const UNTRUE: [&str; 9] = [
        "There is no server",
        "No database was used",
        "There was no connection",
        "one load generator",
        "never finished",
        "null target",
        "was turned off",
        "No settings were requested",
        "No role",
    ];
    for source in [
        Source::Sysbench,
        Source::Pgbench,
        Source::Fio,
        Source::Hammerdb,
    ] {
        let mut run = imported();
        run.head.source = source;
        let whole = judge(&run, &Context::default());
        run.summary = None;
        let cut = judge(&run, &Context::default());
        let all = whole.iter().chain(&cut);
        for finding in all.filter(|finding| finding.outcome == NotChecked) {
            let untrue = UNTRUE.iter().find(|text| finding.evidence.contains(**text));
            assert_eq!(untrue, None, "{source:?} {}", finding.check);
        }
    }
}
