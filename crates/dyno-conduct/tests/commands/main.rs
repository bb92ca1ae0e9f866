//! Runs commands through the library, without a process or a terminal. The stage lists its calls.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod lab;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use dyno_analysis::search::{SearchEnd, SearchResult};
use dyno_conduct::plans::{self, Shaping};
use dyno_conduct::search::{Ask, Follower, SearchEvent, SearchSettings, conduct, promise};
use dyno_conduct::{Command, Executed, Hosts, Outcome, Stage, execute};
use dyno_core::plan::{Calibrate, Drive, RecordPlan};
use dyno_host::Edition;
use dyno_load::StopSignal;
use dyno_run::{Job, Loaded, Measured, Notice, Ready, Sinks, Workload};
use dyno_script::ScriptOption;

#[derive(Default)]
struct Calls {
    list: Vec<String>,
    /// Raised at the end of each run.
    interrupts: Option<Arc<StopSignal>>,
}

impl Calls {
    fn add(&mut self, call: impl Into<String>) {
        self.list.push(call.into());
    }
}

impl Stage for Calls {
    fn open(&mut self) -> Result<()> {
        self.add("open");
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        self.add(format!("{notice:?}"));
    }

    fn command(&mut self, _: &mut Ready, name: &str) -> Result<()> {
        self.add(format!("command {name}"));
        Ok(())
    }

    fn begin(&mut self, ready: &Ready) -> Sinks {
        self.add(format!("begin {}", ready.job.drive.sessions));
        Sinks::default()
    }

    fn end(&mut self, measured: Option<&Measured>) {
        let result = if measured.is_some() { "a" } else { "no" };
        self.add(format!("end with {result} result"));
        if let Some(stop) = &self.interrupts {
            stop.raise();
        }
    }

    fn close(&mut self, _: &StopSignal) -> Result<()> {
        self.add("close");
        Ok(())
    }
}

/// A command of the test `cpu` with these numbers of sessions.
fn command(name: &str, ladder: &[u32], record: RecordPlan) -> Command {
    let job = Job {
        drive: Drive {
            time: None,
            events: Some(20),
            ..Drive::default()
        },
        ..Job::of(Workload::find("cpu", Edition::Dyno).unwrap())
    };
    let mut loaded = Loaded::new(job).unwrap();
    let declared = loaded.description.options.clone().unwrap_or_default();
    let usual = |option: &ScriptOption| (option.key(), option.value(None).unwrap());
    let own: Vec<_> = declared.iter().map(usual).collect();
    let shaping = Shaping {
        command: name.to_owned(),
        workload: "cpu".to_owned(),
        temporary: false,
        ladder: ladder.to_vec(),
        agents: Default::default(),
        warmup: false,
        given: None,
        unchanged: true,
    };
    let record = RecordPlan {
        observe: false,
        calibrate: Calibrate::Never,
        ..record
    };
    let plan = plans::make(&shaping, &mut loaded, &own, record, &Sinks::default()).unwrap();
    Command {
        plan,
        name: name.to_owned(),
        loaded,
        own,
        shaping,
        temporary: None,
    }
}

/// Executes such a command, and returns its results and the calls to the stage.
fn executed(name: &str, ladder: &[u32], record: RecordPlan) -> (Executed, Vec<String>) {
    let command = command(name, ladder, record);
    let mut calls = Calls::default();
    let done = execute(command, &Hosts::default(), &StopSignal::new(), &mut calls);
    (done.unwrap(), calls.list)
}

#[test]
fn the_steps_of_a_ladder_run_in_order() {
    let (done, calls) = executed("run", &[1, 2], RecordPlan::default());
    let end = "end with a result";
    assert_eq!(calls, ["open", "begin 1", end, "begin 2", end]);
    assert!(done.error.is_none() && done.outcome == Outcome::Done);
    let places = done.runs.iter().filter_map(|run| run.phase.as_ref());
    let places: Vec<_> = places
        .map(|place| (place.name.as_str(), place.number, place.of))
        .collect();
    assert_eq!(places, [("1 sessions", 1, 2), ("2 sessions", 2, 2)]);
}

#[test]
fn a_condition_that_holds_is_an_outcome() {
    let record = RecordPlan {
        fail_if: vec!["rate > 0.001".to_owned()],
        ..RecordPlan::default()
    };
    let (done, calls) = executed("run", &[], record);
    assert_eq!(calls, ["open", "begin 1", "end with a result"]);
    assert_eq!(done.outcome, Outcome::Limit);
}

#[test]
fn a_command_without_load_records_no_run() {
    let (done, calls) = executed("prepare", &[], RecordPlan::default());
    assert_eq!(calls, ["command prepare"]);
    assert!(done.runs.is_empty() && done.plan.is_none());
}

/// The steps of a search.
#[derive(Default)]
struct Steps(Vec<String>);

impl Follower for Steps {
    fn event(&mut self, event: SearchEvent<'_>) {
        self.0.push(match event {
            SearchEvent::Begun { trials, .. } => format!("begun: {trials} trials"),
            SearchEvent::ClosedLoop { sessions } => format!("closed loop of {sessions}"),
            SearchEvent::Ground { steps, .. } => format!("ground after {}", steps.len()),
            SearchEvent::Trial { number, asked, .. } => format!("trial {number}: {}", asked.load),
            SearchEvent::Judged { trial, .. } => format!("{:?}", trial.judged),
        });
    }

    fn answer(&self, _: &SearchResult) -> String {
        String::new()
    }
}

/// Searches for the most sessions whose median is below a microsecond.
fn searched(calls: &mut Calls, stop: &Arc<StopSignal>) -> (SearchResult, Vec<String>) {
    let settings = SearchSettings {
        votes: Some(1),
        time: Some(Duration::from_millis(100)),
        settle: Some(Duration::ZERO),
        ..SearchSettings::default()
    };
    let base = command("run", &[], RecordPlan::default());
    let promise = promise::parse("max sessions with p50 < 1us").unwrap();
    let hosts = Hosts::default();
    let ask = Ask::new(base, &hosts, promise, "mine".to_owned(), &settings).unwrap();
    let mut steps = Steps::default();
    let (found, trouble) = conduct(&ask, &hosts, stop, calls, &mut steps);
    assert!(trouble.is_none(), "{trouble:?}");
    (found, steps.0)
}

/// The calls to the stage of a trial.
const TRIAL: [&str; 4] = ["open", "begin 1", "end with a result", "close"];

#[test]
fn a_promise_that_one_session_breaks_ends_a_search() {
    let mut calls = Calls::default();
    let (found, steps) = searched(&mut calls, &StopSignal::new());
    assert_eq!(found.ending, SearchEnd::Floor);
    assert_eq!(
        steps,
        [
            "begun: 18 trials",
            "closed loop of 1",
            "ground after 1",
            "trial 1: 1",
            "Breaks"
        ]
    );
    assert_eq!(calls.list, TRIAL.repeat(2));
}

#[test]
fn an_interrupted_trial_of_a_search_writes_its_files() {
    let stop = StopSignal::new();
    let mut calls = Calls {
        interrupts: Some(Arc::clone(&stop)),
        ..Calls::default()
    };
    let (found, steps) = searched(&mut calls, &stop);
    assert_eq!(steps, ["begun: 18 trials", "closed loop of 1"]);
    assert!(found.trials.is_empty());
    assert_eq!(calls.list, TRIAL);
}
