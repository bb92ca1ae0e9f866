//! Summaries of every kind of run: plain (`good`), of an open loop (`overloaded`), with errors,
//! failed (`few`), interrupted, on SQLite, with operations and roles (`worked`), of a host test,
//! and of a load with parts (`scheduled`). Their figures come from recorded latencies, so they are
//! consistent.

mod scheduled;
mod worked;

use std::time::Duration;

use dyno_analysis::summarize::{self, SessionTotal};
use dyno_core::db::ErrorKind;
use dyno_core::finding::{Outcome, Verdict};
use dyno_core::interval::{Counters, ErrorCount, ErrorsByCode, Interval, Latencies, count_error};
use dyno_core::plan::{Arrivals, Drive, OpenLoop, OptionValue, RandKind, RandPlan};
use dyno_core::rand::Stream;
use dyno_core::record::RunHead;
use dyno_core::states::{SessionState, SessionStates};
use dyno_core::summary::*;
use dyno_core::threshold::Threshold;

use crate::values::{PERCENTS, cost, finding, gap, head, machine, summary, target, workload};
pub use scheduled::scheduled;
pub use worked::{digests, worked};

const NS_PER_S: u64 = 1_000_000_000;

/// One summary of each kind.
pub fn all() -> Vec<RunSummary> {
    vec![
        good(),
        overloaded(),
        errors(),
        few(),
        interrupted(),
        sqlite(),
        worked(),
        host(),
        scheduled(),
    ]
}

/// A run with nothing unusual.
pub fn good() -> RunSummary {
    let drive = Drive {
        sessions: 16,
        workers: 2,
        time: Some(Duration::from_secs(30)),
        warmup: Duration::from_secs(5),
        seed: 42,
        ..Drive::default()
    };
    let mut run = recorded(drive, 30, |second| 1200 + second % 7 * 10, 1_300_000);
    let ignored = OptionValue::List(vec!["1213".into(), "1020".into()]);
    let options = [
        ("table_size", OptionValue::Number(100_000.0)),
        ("tables", OptionValue::Number(4.0)),
        ("skip_trx", OptionValue::Bool(false)),
        ("mysql_ignore_errors", ignored),
    ];
    run.workload = workload(&options, &["table_size", "tables"]);
    judge_good(&mut run);
    run.limits =
        vec!["The server used all of its 2 cores while the client left its own idle.".into()];
    run
}

/// A run with more arrivals than the server can serve.
pub fn overloaded() -> RunSummary {
    let drive = Drive {
        sessions: 8,
        workers: 1,
        open_loop: Some(OpenLoop::new(1500.5, Arrivals::Poisson)),
        ramp_up: Duration::from_secs(2),
        spin: Some(Duration::from_micros(50)),
        seed: 7,
        ..Drive::default()
    };
    let mut run = recorded(drive, 10, |_| 800, 9_000_000);
    run.rand = Some(RandPlan {
        kind: RandKind::Zipfian,
        ..RandPlan::default()
    });
    let mut lag = Latencies::default();
    for i in 0..8000u64 {
        lag.record_service(10_000 + i * 7);
    }
    run.open_loop = Some(OpenLoopSummary {
        offered_per_s: 1500.5,
        achieved_per_s: run.rates.events_per_s,
        backlog: Some(6912),
        backlog_max: Some(6912),
        pacing_lag: Some(summarize::service(&lag, &PERCENTS)),
    });
    let conditions = ["p99.9 > 2s", "rate < 500", "new_order.p99 > 1s"];
    run.thresholds = conditions
        .map(|text| text.parse::<Threshold>().unwrap().judge(&run))
        .into();
    run.events_in_grace = Some(8);
    run.events_unfinished = Some(3);
    run.verdict = Some(Verdict::Refused);
    run.findings = vec![
        finding(
            "offered-rate",
            4,
            Outcome::Refuse,
            "Of 1,500.5 events per second that were due, 800 were served; 6,912 waited at the end.",
        ),
        finding(
            "steady-state",
            24,
            Outcome::Doubt,
            "Throughput fell by 11 % from the first half to the second.",
        ),
    ];
    run.findings[1].waived = Some("a known ramp of the storage".into());
    run.not_observed = vec![gap("server.cpu", "the server is on another host")];
    run.warnings = vec![
        "The server could not keep up with the rate: response times grow with the length of the \
         run and say nothing of the server but that."
            .into(),
    ];
    run
}

fn judge_good(run: &mut RunSummary) {
    run.verdict = Some(Verdict::Valid);
    run.findings = vec![
        finding(
            "null-target-ceiling",
            1,
            Outcome::NotChecked,
            "No calibration was made.",
        ),
        finding(
            "client-cpu",
            2,
            Outcome::Pass,
            "The busiest worker used 21 % of a core.",
        ),
    ];
    #[rustfmt::skip]
    let costs = [
        ("server CPU", Some(412.7), "us", "server.cpu.user, server.cpu.system"),
        ("client CPU", Some(61.2), "us", "client.cpu.user, client.cpu.system"),
        ("context switches", Some(41.3), "count", "host.context_switches"),
        ("read from disk", Some(0.0), "kb", "host.disk[vda].read_bytes"),
        ("written to disk", Some(12.5), "kb", "host.disk[vda].write_bytes"),
        ("server I/O", None, "kb", "the server's /proc/PID/io cannot be read"),
    ];
    run.costs = costs
        .map(|(name, value, unit, source)| cost(name, value, unit, source))
        .into();
    run.recorded = Some(Recorded {
        file: "dyno.db".into(),
        id: 12,
        name: "20261121-124512-oltp_read_write-3f9a".into(),
    });
}

/// A run with deadlocks, lost connections, several endpoints, and a starved session.
pub fn errors() -> RunSummary {
    let drive = Drive {
        sessions: 4,
        workers: 2,
        ..Drive::default()
    };
    let mut run = recorded(
        drive,
        10,
        |second| if second == 4 { 0 } else { 500 },
        2_000_000,
    );
    run.totals.errors = 1240;
    run.totals.retries = 1240;
    run.totals.reconnects = 4;
    run.totals.connects_failed = 31;
    let refused = ErrorCount {
        count: 31,
        kind: ErrorKind::Lost,
        sample: "cannot connect to db1:3306: connection refused".into(),
    };
    run.connect_errors.insert("2003".into(), refused);
    run.states = Some(SessionStates {
        working: 2,
        connecting: 1,
        lost: 1,
        ..SessionStates::default()
    });
    run.rates = summarize::rates(&run.totals, 10.0);
    run.errors = errors_by_code();
    let sessions = [0, 1400, 1500, 1600].map(|events| SessionTotal {
        events,
        busy_ns: 9 * NS_PER_S,
    });
    run.fairness = Some(summarize::fairness(&sessions));
    run.endpoints = vec![
        EndpointSummary {
            name: "db1.example.org:3306".into(),
            queries: 45_000,
        },
        EndpointSummary {
            name: "db2.example.org:3306".into(),
            queries: 45_000,
        },
    ];
    if let Some(client) = &mut run.client {
        client.worker_busy = vec![0.92, 0.31];
    }
    run
}

fn errors_by_code() -> ErrorsByCode {
    let (conflict, lost) = (ErrorKind::Conflict, ErrorKind::Lost);
    let deadlock = "Deadlock found when trying to get lock; try restarting transaction";
    let waited =
        "锁等待超时；请重新启动事务。锁等待超时；请重新启动事务。锁等待超时；请重新启动事务。";
    let gone = "Lost connection to MySQL server\nduring query";
    let mut errors = ErrorsByCode::new();
    for (code, kind, count, sample) in [
        ("1213", conflict, 1240, deadlock),
        ("2013", lost, 4, gone),
        ("1205", conflict, 4, waited),
    ] {
        count_error(&mut errors, code, kind, count, || sample.into());
    }
    for i in 0..9 {
        let code = format!("HY{i:03}");
        count_error(&mut errors, &code, ErrorKind::Other, 1, || "rare".into());
    }
    errors
}

/// A run that failed, with a few slow events, too few for high percentiles.
pub fn few() -> RunSummary {
    let mut run = recorded(Drive::default(), 3, |_| 4, 700_000_000);
    run.end = RunEnd::Failed(
        "session 0: near line 12: attempt to index a nil value\nstack traceback:\n\t[C]: in ?"
            .into(),
    );
    run.measured_s = 3.2;
    run
}

/// A run that was stopped before any event ended.
pub fn interrupted() -> RunSummary {
    let drive = Drive {
        time: None,
        events: Some(1000),
        ..Drive::default()
    };
    let mut run = recorded(drive, 1, |_| 0, 1);
    run.end = RunEnd::Interrupted;
    run.measured_s = 0.4;
    run.events_unfinished = Some(1);
    run.totals = Counters::default();
    run.target.product = String::new();
    run.target.version = String::new();
    run
}

/// The first command of a new user.
pub fn sqlite() -> RunSummary {
    let drive = Drive {
        time: Some(Duration::from_secs(5)),
        seed: 1,
        ..Drive::default()
    };
    let mut run = recorded(drive, 5, |second| 3000 + second * 31, 40_000);
    let url = "sqlite:/tmp/dyno-1a2b3c/oltp_read_write.db";
    run.target = TargetSummary {
        family: Some(dyno_core::db::Family::Sqlite),
        ..target(url, "SQLite", "3.50.4")
    };
    run.warnings =
        vec!["The database is a temporary file of this process: see the guide for servers.".into()];
    run
}

/// A test of the host.
pub fn host() -> RunSummary {
    let mut run = few();
    run.end = RunEnd::Completed;
    let about = "An event stores to each word of a block of 1 MiB, in order.";
    run.machine = Some(machine(about, "written", 43_937.25, "MiB/s"));
    run
}

/// A run of `seconds` seconds with the same number of events in each. The latencies scatter around
/// `typical_ns`.
fn recorded(
    drive: Drive,
    seconds: u64,
    events_in: impl Fn(u64) -> u64,
    typical_ns: u64,
) -> RunSummary {
    let mut random = Stream::new(1, 0);
    let mut total = Interval::default();
    let mut intervals = Vec::new();
    for second in 0..seconds {
        let events = events_in(second);
        let mut interval = Interval {
            index: second,
            start: second * NS_PER_S,
            end: (second + 1) * NS_PER_S,
            states: SessionStates::all(SessionState::Working, drive.sessions),
            ..Interval::default()
        };
        interval.counters = Counters {
            events,
            reads: events * 14,
            writes: events * 4,
            other: events * 2,
            rows: events * 420,
            ..Counters::default()
        };
        for _ in 0..events {
            // The sum of three exponentials has a mode and a tail.
            let sum: f64 = (0..3).map(|_| -(1.0 - random.next_f64()).ln()).sum();
            let service = (typical_ns as f64 * (0.4 + 0.2 * sum)) as u64;
            interval.latencies.record_service(service);
            if drive.open_loop.is_some() {
                interval
                    .latencies
                    .record_response(service + second * NS_PER_S / 3);
            }
        }
        intervals.push(summarize::interval(&interval, 0, &PERCENTS));
        total.counters.merge(&interval.counters);
        total.latencies.merge(&interval.latencies);
    }
    summed(drive, seconds, total, intervals)
}

/// The shares of the sessions.
fn sessions(sessions: u64, events: u64, seconds: u64) -> Vec<SessionTotal> {
    (0..sessions)
        .map(|tid| SessionTotal {
            events: events / sessions + tid % 3,
            busy_ns: seconds * NS_PER_S,
        })
        .collect()
}

fn summed(
    drive: Drive,
    seconds: u64,
    total: Interval,
    intervals: Vec<IntervalSummary>,
) -> RunSummary {
    let response = summarize::response(&total.latencies, &PERCENTS);
    let measured_s = seconds as f64;
    let events = total.counters.events;
    let sessions = sessions(u64::from(drive.sessions), events, seconds);
    let head = RunHead {
        created_unix_s: 1_699_999_998.5,
        workload: workload(&[("tables", OptionValue::Number(1.0))], &[]),
        target: mariadb(),
        drive: Some(drive.clone()),
        ..head("")
    };
    RunSummary {
        service: summarize::service(&total.latencies, &PERCENTS),
        response: drive.open_loop.map(|_| response),
        fairness: Some(summarize::fairness(&sessions)),
        client: Some(ClientCost {
            user_s: measured_s * 0.3,
            system_s: measured_s * 0.15,
            us_per_event: if events > 0 {
                measured_s * 0.45e6 / events as f64
            } else {
                0.0
            },
            us_per_query: (events > 0).then(|| measured_s * 0.45e6 / events as f64 / 20.0),
            spin_s: drive.open_loop.map_or(0.0, |_| measured_s * 0.02),
            worker_busy: vec![0.45; drive.workers as usize],
            stall_max_ms: 0.21,
            worker_away: Vec::new(),
            rss_max_bytes: 25_480_396,
        }),
        intervals,
        ..summary(&head, measured_s, total.counters)
    }
}

fn mariadb() -> TargetSummary {
    let url = "mysql://root@127.0.0.1:3306/sbtest";
    TargetSummary {
        tls: Some("TLSv1.3".into()),
        ..target(url, "MariaDB", "10.11.6-MariaDB-0+deb12u1")
    }
}
