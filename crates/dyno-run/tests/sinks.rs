//! A run as a library runs it: no process, no terminal, a sink that remembers.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dyno_core::interval::Counters;
use dyno_core::plan::{Calibrate, Compared, Drive, RandPlan, RecordPlan};
use dyno_core::record::{Event, Fact, RunHead, SeriesKey, SeriesKind};
use dyno_core::summary::RunSummary;
use dyno_host::Edition;
use dyno_load::StopSignal;
use dyno_run::{
    Asked, CALL_TIMEOUT, Course, Job, Loaded, Notice, RunError, Sink, Sinks, Work, measure,
};

/// What a sink was given, in order.
#[derive(Default)]
struct Given {
    calls: Vec<&'static str>,
    counters: Counters,
    latencies: u64,
    series: Vec<(u32, String)>,
    samples: Vec<u32>,
    warnings: Vec<String>,
    summary: Option<RunSummary>,
}

struct Remembers(Arc<Mutex<Given>>);

impl Remembers {
    fn call(&self, name: &'static str) -> std::sync::MutexGuard<'_, Given> {
        let mut given = self.0.lock().unwrap();
        given.calls.push(name);
        given
    }
}

impl Sink for Remembers {
    fn head(&mut self, _: &RunHead) {
        drop(self.call("head"));
    }

    fn started(&mut self, _: f64) {
        drop(self.call("started"));
    }

    fn interval(&mut self, course: Course<'_>) {
        let mut given = self.call("interval");
        given.counters.merge(&course.interval.counters);
        given.latencies += course.interval.latencies.service.len();
        assert_eq!(course.summary.counters, course.interval.counters);
    }

    fn series(&mut self, number: u32, key: &SeriesKey, _: SeriesKind) {
        let mut given = self.0.lock().unwrap();
        given.series.push((number, key.name.clone()));
    }

    fn samples(&mut self, _: f64, values: &[(u32, f64)]) {
        let mut given = self.0.lock().unwrap();
        given
            .samples
            .extend(values.iter().map(|(number, _)| *number));
    }

    fn facts(&mut self, _: &[Fact]) {
        drop(self.call("facts"));
    }

    fn event(&mut self, _: &Event) {
        drop(self.call("event"));
    }

    fn notice(&mut self, notice: &Notice) {
        if let Notice::Warning(warning) = notice {
            self.0.lock().unwrap().warnings.push(warning.clone());
        }
    }

    fn end(&mut self, summary: &RunSummary) {
        self.call("end").summary = Some(summary.clone());
    }
}

fn job(script: &std::path::Path) -> Job {
    Job {
        work: Work::find(&script.display().to_string(), Edition::Dyno).unwrap(),
        argv: vec!["test".to_owned()],
        command: Some("run".to_owned()),
        options: Vec::new(),
        target: None,
        drive: Drive {
            sessions: 4,
            workers: 2,
            time: None,
            events: Some(2_000),
            interval: Duration::from_millis(20),
            seed: 1,
            ..Drive::default()
        },
        workers: None,
        rand: RandPlan::default(),
        percentile: 95.0,
        ignored_errors: Vec::new(),
        reconnect_lost: true,
        call_timeout: CALL_TIMEOUT,
        emulate_prepared: false,
        luajit_cmd: None,
        canned: false,
        quiet_scripts: true,
        sysbench: false,
        log: |_, _| {},
    }
}

fn run(script: &str, observe: bool) -> (Result<dyno_run::Measured, RunError>, Given) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.lua");
    std::fs::write(&path, script).unwrap();
    let mut ready = Loaded::new(job(&path))
        .unwrap()
        .ready(Vec::new(), StopSignal::new())
        .unwrap();
    let record = RecordPlan {
        observe,
        ledger: Compared::Nothing,
        calibrate: Calibrate::Never,
        percentiles: vec![50.0, 99.0],
        ..RecordPlan::default()
    };
    let asked = Asked {
        plan: ready.job.plan("script", &[], record),
        options: Vec::new(),
        changed: Vec::new(),
        server: Default::default(),
        phase: None,
    };
    let given = Arc::new(Mutex::new(Given::default()));
    let sinks = Sinks::new(vec![Box::new(Remembers(Arc::clone(&given)))]);
    let measured = measure(&mut ready, &asked, &sinks);
    drop((ready, sinks));
    let given = Arc::into_inner(given).unwrap().into_inner().unwrap();
    (measured, given)
}

#[test]
fn a_sink_takes_the_run_from_its_head_to_its_end() {
    let (measured, given) = run("function event() end", true);
    let measured = measured.unwrap();
    assert!(measured.trouble.is_none());
    let summary = measured.summary;
    assert_eq!(summary.totals.events, 2_000);
    assert!(summary.verdict.is_some());
    // What a sink is given adds up to the run.
    assert_eq!(given.counters, summary.totals);
    assert_eq!(given.latencies, 2_000);
    let place = |name| given.calls.iter().position(|call| *call == name);
    assert_eq!(place("head"), Some(0));
    assert!(place("started") < place("interval"));
    assert_eq!(given.calls.last(), Some(&"end"));
    assert_eq!(
        given.summary.map(|given| given.totals),
        Some(summary.totals)
    );
    // Each sample is of a series that was announced, under a number of its own.
    let mut numbers: Vec<u32> = given.series.iter().map(|(number, _)| *number).collect();
    assert!(given.samples.iter().all(|sample| numbers.contains(sample)));
    let series = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), series);
    assert!(
        given
            .series
            .iter()
            .any(|(_, name)| name.starts_with("host."))
    );
}

#[test]
fn a_run_that_cannot_begin_has_no_end() {
    let (measured, given) = run(
        "function init() error('not today') end function event() end",
        false,
    );
    let error = measured.map(|_| ()).unwrap_err();
    let text = error.chain();
    assert!(
        text.starts_with("init() failed") && text.contains("not today"),
        "{text}"
    );
    assert_eq!(given.calls, ["head"]);
    assert_eq!(given.counters, Counters::default());
}

#[test]
fn a_script_that_fails_ends_the_run_with_what_was_measured() {
    let script =
        "local n = 0; function event() n = n + 1; if n > 100 then error('worn out') end end";
    let (measured, given) = run(script, false);
    let summary = measured.unwrap().summary;
    assert!(
        format!("{:?}", summary.end).contains("worn out"),
        "{:?}",
        summary.end
    );
    assert!(summary.totals.events >= 100);
    assert_eq!(given.counters, summary.totals);
    assert_eq!(given.calls.last(), Some(&"end"));
}
