//! Synthetic runs to record.

#![allow(clippy::unwrap_used)] // a broken test may well panic

pub mod day;

use dyno_core::db::ErrorKind;
use dyno_core::finding::{
    Cause, Durability, DurabilityClass, Finding, Number, Outcome, Stall, Verdict,
};
use dyno_core::interval::{Counters, ErrorCount, Latencies};
use dyno_core::plan::{Drive, OptionValue, RandPlan};
use dyno_core::record::{Cost, Profile, RunHead, Source};
use dyno_core::states::SessionStates;
use dyno_core::summary::{
    ClientCost, Fairness, IntervalSummary, LatencySummary, Percentile, PrintedRates, Rates, RunEnd,
    RunSummary, SCHEMA_VERSION, TargetSummary, WorkloadSummary,
};

/// Reproducible random numbers.
pub struct Random(pub u64);

impl Random {
    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        // Knuth's constants for a 64-bit linear congruential generator.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

pub fn workload() -> WorkloadSummary {
    WorkloadSummary {
        name: "oltp_read_write".to_owned(),
        command: "run".to_owned(),
        options: vec![
            ("tables".to_owned(), OptionValue::Number(4.0)),
            ("skip_trx".to_owned(), OptionValue::Bool(false)),
        ],
        changed: vec!["tables".to_owned()],
    }
}

pub fn target() -> TargetSummary {
    TargetSummary {
        url: "mariadb://root@127.0.0.1/test".to_owned(),
        family: Some(dyno_core::db::Family::Mysql),
        product: "MariaDB".to_owned(),
        version: "10.11.6".to_owned(),
        tls: None,
    }
}

pub fn head(name: &str) -> RunHead {
    RunHead {
        name: name.to_owned(),
        source: Source::Dyno,
        profile: Profile::Standard,
        tool: "dyno 0.1.0".to_owned(),
        created_unix_s: 1_795_000_000.25,
        argv: vec![
            "dyno".to_owned(),
            "run".to_owned(),
            "oltp_read_write".to_owned(),
        ],
        workload: workload(),
        script_sha256: "00ff".to_owned(),
        target: target(),
        drive: Some(drive()),
        percentiles: vec![50.0, 95.0, 99.0, 99.9],
        factors: Default::default(),
        note: "before the upgrade".to_owned(),
        phase: None,
        trial: None,
        plan: None,
    }
}

pub fn drive() -> Drive {
    Drive {
        sessions: 16,
        workers: 2,
        seed: 7,
        ..Drive::default()
    }
}

/// The `number`th second of a run, from 1.
pub fn interval(number: u32) -> IntervalSummary {
    IntervalSummary {
        at_s: f64::from(number),
        length_s: 1.0,
        sessions: Some(14),
        states: Some(SessionStates {
            working: 9,
            waiting: 4,
            connecting: 1,
            lost: 1,
            finished: 1,
            idle: 0,
        }),
        counters: Counters {
            events: u64::from(number) * 10,
            not_done: 6,
            reads: 20,
            reads_empty: 7,
            writes: 10,
            other: 5,
            errors: 1,
            reconnects: 2,
            connects_failed: 8,
            retries: 3,
            rows: 4000,
            bytes_in: 1 << 20,
            bytes_out: 1 << 10,
        },
        printed: number.is_multiple_of(2).then_some(PrintedRates {
            events_per_s: Some(437.67 + f64::from(number)),
            queries_per_s: None,
        }),
        errors_seen: 4,
        percentiles: vec![
            Percentile {
                percent: 95.0,
                value_ms: Some(4.125),
            },
            Percentile {
                percent: 99.9,
                value_ms: None,
            },
        ],
        max_ms: Some(17.5),
        backlog: Some(0),
        concurrency: Some(16),
    }
}

/// `count` latencies around `ms`.
pub fn latencies(count: u64, ms: u64) -> Latencies {
    let mut latencies = Latencies::default();
    for i in 0..count {
        latencies.record_service(ms * 1_000_000 + i * 10_000);
    }
    latencies
}

pub fn summary() -> RunSummary {
    RunSummary {
        schema_version: SCHEMA_VERSION,
        tool: "dyno 0.1.0".to_owned(),
        started_unix_s: Some(1_795_000_001.5),
        end: RunEnd::Completed,
        workload: workload(),
        target: target(),
        drive: Some(drive()),
        rand: Some(RandPlan::default()),
        measured_s: 3.0,
        elapsed_s: 3.25,
        totals: Counters {
            events: 60,
            ..Counters::default()
        },
        rates: Rates {
            events_per_s: 20.0,
            queries_per_s: 35.0,
            ..Rates::default()
        },
        service: LatencySummary {
            count: 60,
            percentiles: vec![Percentile {
                percent: 95.0,
                value_ms: Some(4.5),
            }],
            ..LatencySummary::default()
        },
        response: None,
        open_loop: None,
        events_in_grace: 1,
        events_unfinished: 0,
        errors: [(
            "1213".to_owned(),
            ErrorCount {
                count: 4,
                kind: ErrorKind::Conflict,
                sample: "Deadlock found".to_owned(),
            },
        )]
        .into(),
        fairness: Some(Fairness::default()),
        endpoints: Vec::new(),
        client: Some(ClientCost::default()),
        limits: vec!["the server's CPUs".to_owned()],
        costs: vec![Cost {
            name: "server CPU".to_owned(),
            value: Some(120.5),
            unit: "us".to_owned(),
            source: "server.cpu".to_owned(),
            left_out: false,
        }],
        intervals: vec![interval(1)],
        ..RunSummary::default()
    }
}

pub fn finding(check: &str, outcome: Outcome) -> Finding {
    Finding {
        check: check.to_owned(),
        number: 2,
        outcome,
        evidence: "A worker used 97 % of its core.".to_owned(),
        rule: "No worker uses more than 80 % of its core.".to_owned(),
        numbers: vec![Number {
            name: "worker CPU, largest".to_owned(),
            value: Some(97.0),
            unit: "percent".to_owned(),
        }],
        advice: "Give it more workers.".to_owned(),
        waived: None,
        causes: vec![Cause::OtherProcesses],
        durability: Some(Durability {
            class: DurabilityClass::Process,
            because: vec!["synchronous_commit = off".to_owned()],
        }),
        stalls: Some(vec![Stall {
            from_s: 54.0,
            to_s: 54.75,
            events_per_s: 0.0,
            level_per_s: 500.0,
        }]),
    }
}

pub fn doubtful() -> (Vec<Finding>, Verdict) {
    let findings = vec![
        finding("client-cpu", Outcome::Doubt),
        finding("errors", Outcome::Pass),
    ];
    (findings, Verdict::Doubtful)
}
