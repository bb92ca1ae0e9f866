//! A run that has operations, roles and a ledger.

use std::time::Duration;

use dyno_core::interval::OperationCounters;
use dyno_core::plan::{Arrivals, OpenLoop, Pace, Role};
use dyno_core::reported::Better;
use dyno_core::summary::*;
use dyno_core::tables::TableGroup;

use super::good;
use crate::values::{fact, figure, operation, phase, role};

/// A run with operations in all states and a ledger that matches.
pub fn worked() -> RunSummary {
    let mut run = good();
    run.totals.not_done = 6;
    let latency = run.service.clone();
    let work = |name: &str, totals: OperationCounters| OperationSummary {
        totals,
        ..operation(name, totals.done as f64 / 30.0, latency.clone())
    };
    let retried = OperationCounters {
        done: 20_000,
        rolled_back: 202,
        given_up: 1,
        unknown: 3,
        duplicates: 2,
        retries: 77,
        retried: 70,
    };
    let simple = OperationCounters {
        done: 4_000,
        ..OperationCounters::default()
    };
    run.operations = vec![
        work("new_order", retried),
        work("a_name_too_long_for_a_label", simple),
        work("never_begun", OperationCounters::default()),
    ];
    run.operations[0].first_tries = Some(latency.clone());
    run.operations[1].response = Some(latency.clone());
    run.statements = vec![StatementSummary {
        shape: "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c".into(),
        per_s: 1_228.3,
        rows_mean: 100.0,
        errors: 12,
        time_share: 0.41,
        latency: latency.clone(),
    }];
    run.digests = Some(digests());
    roles(&mut run);
    run.phase = Some(PhaseOf {
        number: 2,
        of: 3,
        unit: "rows".into(),
        per_event: 10.0,
        before: Some(Preparation {
            command: "settle".into(),
            seconds: 61.4,
            messages: "statistics; checkpoint".into(),
        }),
        ..phase("20261121-124512-worked-3f9a", "read")
    });
    run.ledger = vec![LedgerEntry {
        sum: "money".into(),
        database: "accounts".into(),
        expected_low: 5,
        expected_high: 5,
        found: Some(5),
    }];
    add_facts(&mut run);
    run
}

/// A digest that has a shape, one that has none, and all other fields.
pub fn digests() -> DigestsSummary {
    let shape = "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c";
    DigestsSummary {
        source: "performance_schema.events_statements_summary_by_digest".into(),
        digests: vec![
            DigestSummary {
                text: "SELECT `c` FROM `sbtest1` WHERE `id` BETWEEN ? AND ? ORDER BY `c`".into(),
                shape: Some(shape.into()),
                merged: 4,
                count: 36_851,
                total_ms: 4_127.3,
                rows: 3_685_100,
                rows_examined: Some(7_370_200),
                no_index: Some(0),
                disk_tables: Some(0),
            },
            DigestSummary {
                text: "DELETE FROM `queue` WHERE `done`".into(),
                shape: None,
                merged: 1,
                count: 30,
                total_ms: 93.0,
                rows: 60,
                rows_examined: Some(300_000),
                no_index: Some(30),
                disk_tables: None,
            },
        ],
        others: 3,
        others_count: 1_204,
        others_ms: 12.4,
        elsewhere_count: 311,
        catalogs_count: 64,
        notes: vec![
            "The server dropped digests because their table was full: raise \
             performance_schema_digests_size."
                .into(),
        ],
    }
}

/// Adds facts of several kinds, and figures with and without a direction.
fn add_facts(run: &mut RunSummary) {
    let rows = "item 100000, warehouse 2, district 20, customer 60000";
    let facts = [
        ("workload.dataset.fingerprint", "ba7816bf8f01cfea"),
        ("workload.mix", "deck"),
        ("workload.dataset.data_compressibility", "0.5"),
        ("workload.dataset.rows", rows),
        ("run.workload.age", "24406 transactions"),
    ];
    let facts = facts.map(|(name, value)| fact(name, value, "the workload"));
    run.facts = facts.into();
    run.tables = vec![TableGroup {
        label: "sbtest1..sbtest4".to_owned(),
        names: "sbtest1..sbtest4".to_owned(),
        tables: 4,
        definition: "CREATE TABLE `sbtest1` (\n  `id` int NOT NULL,\n  PRIMARY KEY (`id`)\n) \
                     ENGINE=InnoDB"
            .to_owned(),
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        engine: Some("InnoDB".to_owned()),
        persistence: None,
        primary_key: Some(true),
        indexes: Some(1),
        analysed: Some(4),
        used: Some(true),
    }];
    let (orders, missing) = ("new orders committed", "districts without an order");
    run.figures = vec![
        figure(orders, 41_234.5, "per minute", Some(Better::Higher)),
        figure("touches", 3.25, "per table", None),
        figure(missing, 0.0, "", Some(Better::Lower)),
    ];
}

/// Adds roles with and without a pace, which is kept by some and missed by others.
fn roles(run: &mut RunSummary) {
    run.roles = vec![
        role("inserter", Some(160.0), 160.0),
        role("a_deleter_with_a_long_name", Some(160.0), 120.0),
        role("reader", None, 800.0),
    ];
    run.roles[1].skipped = 1_200;
    run.roles[1].not_done = 7;
    run.roles[2].finished_first_s = Some(29.0);
    run.roles[2].finished_last_s = Some(30.0);
    if let Some(drive) = &mut run.drive {
        drive.latency_limit = Some(Duration::from_millis(50));
        drive.roles = vec![Role {
            name: "inserter".into(),
            sessions: 8,
            background: true,
            unit: "events".to_owned(),
            per_event: 1.0,
            pace: Some(Pace {
                arrivals: OpenLoop::new(20.0, Arrivals::Constant),
                each: true,
                skip_after_s: Some(1.0),
            }),
        }];
    }
    run.latency_limit = Some(LatencyLimit {
        limit_ms: 50.0,
        above: 240,
        skipped: 0,
    });
}
