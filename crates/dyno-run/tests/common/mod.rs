//! Makes runs with the library: no process, no terminal, and a sink that stores everything.

#![allow(clippy::unwrap_used)] // a broken test may well panic
#![allow(dead_code)] // each test file uses its own part

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dyno_core::interval::Counters;
use dyno_core::plan::{Calibrate, Compared, Drive, RecordPlan};
use dyno_core::record::{Event, Fact, RunHead, SeriesKey, SeriesKind};
use dyno_core::summary::RunSummary;
use dyno_host::Edition;
use dyno_load::StopSignal;
use dyno_run::{
    IntervalReport, Job, Loaded, Notice, RunError, RunRequest, Sink, Sinks, Workload, measure,
};

/// What a sink was called with, in order.
#[derive(Default)]
pub(crate) struct SinkCalls {
    pub calls: Vec<&'static str>,
    pub counters: Counters,
    pub latencies: u64,
    pub series: Vec<(u32, String)>,
    pub samples: Vec<u32>,
    pub warnings: Vec<String>,
    pub summary: Option<RunSummary>,
}

struct RecordingSink(Arc<Mutex<SinkCalls>>);

impl RecordingSink {
    fn call(&self, name: &'static str) -> std::sync::MutexGuard<'_, SinkCalls> {
        let mut given = self.0.lock().unwrap();
        given.calls.push(name);
        given
    }
}

impl Sink for RecordingSink {
    fn head(&mut self, _: &RunHead) {
        drop(self.call("head"));
    }

    fn started(&mut self, _: f64) {
        drop(self.call("started"));
    }

    fn interval(&mut self, report: IntervalReport<'_>) {
        let mut given = self.call("interval");
        given.counters.merge(&report.interval.counters);
        given.latencies += report.interval.latencies.service.len();
        assert_eq!(report.summary.counters, report.interval.counters);
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

/// Two thousand events of four sessions on two workers.
pub(crate) fn drive() -> Drive {
    Drive {
        sessions: 4,
        workers: 2,
        time: None,
        events: Some(2_000),
        interval: Duration::from_millis(20),
        seed: 1,
        ..Drive::default()
    }
}

fn job(script: &std::path::Path, drive: Drive) -> Job {
    Job {
        argv: vec!["test".to_owned()],
        drive,
        ..Job::of(Workload::find(&script.display().to_string(), Edition::Dyno).unwrap())
    }
}

/// Runs a script. Returns its result and what the sink was called with.
pub(crate) fn run(
    script: &str,
    drive: Drive,
    observe: bool,
) -> (Result<dyno_run::Measured, RunError>, SinkCalls) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.lua");
    std::fs::write(&path, script).unwrap();
    let mut ready = Loaded::new(job(&path, drive))
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
    let request = RunRequest {
        plan: ready.job.plan("script", &[], record),
        options: Vec::new(),
        changed: Vec::new(),
        server: Default::default(),
        phase: None,
    };
    let given = Arc::new(Mutex::new(SinkCalls::default()));
    let sinks = Sinks::new(vec![Box::new(RecordingSink(Arc::clone(&given)))]);
    let measured = measure(&mut ready, &request, &sinks);
    drop((ready, sinks));
    let given = Arc::into_inner(given).unwrap().into_inner().unwrap();
    (measured, given)
}
