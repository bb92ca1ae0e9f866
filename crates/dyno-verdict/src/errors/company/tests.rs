//! Other users that the list of sessions does not show.

use dyno_core::finding::Outcome::{Doubt, Pass};
use dyno_core::record::RunRecord;
use dyno_samples::{self as samples, Product, assert_begins, assert_has, closed};

use crate::tests::{expect, judged, summary};

#[test]
fn sessions_too_short_to_be_listed_are_counted_by_their_connections() {
    const CONNECTIONS: &str = "db.status.connections";
    let found = expect("server-counters", Doubt, |run| {
        let mut counts = [0.0; 30];
        // Earlier connections of the run itself.
        counts[0] = 64.0;
        counts[5..15].fill(1.0);
        samples::series(run, CONNECTIONS, &counts);
    });
    let expected = "The server counted 10 connections in 29 s that the run did not make";
    assert_begins(&found.evidence, expected);
    for per_s in [0.05, 0.17, 500.0] {
        // An observer reconnected, two exporters connect regularly, or the script connects.
        expect("server-counters", Pass, |run| {
            samples::series(run, CONNECTIONS, &[per_s; 30]);
        });
    }
    expect("server-counters", Pass, |run| {
        samples::series(run, CONNECTIONS, &[0.5; 30]);
        summary(run).totals.reconnects = 14;
    });
    // A pool's connections are not other clients.
    expect("server-counters", Pass, |run| {
        samples::series(run, CONNECTIONS, &[0.5; 30]);
        samples::fact(run, "server.proxy", "pgbouncer (8) 0.20 cores");
    });
}

#[test]
fn short_sessions_of_other_databases_count() {
    let of = |all: f64| {
        let mut run = closed(&[1000.0; 20], Product::Postgres);
        samples::series(&mut run, "db.database.sessions", &[0.0; 20]);
        samples::series(&mut run, "db.server_sessions", &[all; 20]);
        judged(&run, "server-counters").outcome
    };
    assert_eq!(of(0.5), Doubt);
    assert_eq!(of(0.0), Pass);
}

#[test]
fn the_servers_own_vacuum_is_at_work_too() {
    let mut run = closed(&[1000.0; 20], Product::Postgres);
    let vacuumed = |run: &mut RunRecord, busy: usize| {
        let mut workers = [0.0; 20];
        workers[..busy].fill(1.0);
        samples::series(run, "db.backends.autovacuum", &workers);
        judged(run, "server-counters")
    };
    assert_eq!(vacuumed(&mut run, 4).outcome, Pass);
    let found = vacuumed(&mut run, 15);
    assert_eq!(found.outcome, Doubt);
    assert_has(&found.evidence, "autovacuum workers");
}
