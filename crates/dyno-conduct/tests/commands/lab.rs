//! An experiment through the library: no process, no terminal, and trials that run nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result, anyhow, bail};
use dyno_analysis::search::SearchResult;
use dyno_conduct::duet::{DuetExecuted, DuetRequest};
use dyno_conduct::lab::there::Mode;
use dyno_conduct::lab::{Caller, Lab, LabEnd, LabEvent, LabSettings, conduct};
use dyno_conduct::search::promise::Promise;
use dyno_conduct::{Command, Outcome};
use dyno_core::clock::wall_time;
use dyno_core::plan::RecordPlan;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_lab::Experiment;
use dyno_load::StopSignal;
use dyno_results::{ExperimentHead, Results, Tried};
use dyno_run::scratch::{self, Scratch};
use dyno_server::SupervisorCommand;

use super::command;

/// The trials end like this, and the events are kept.
struct Canned {
    end: RunEnd,
    events: RefCell<Vec<String>>,
}

impl Caller for Canned {
    type Options = ();
    type Executed = ();

    fn event(&self, event: LabEvent<'_>) {
        self.events.borrow_mut().push(match event {
            LabEvent::Begun { pace, .. } => format!("begun: {} of {}", pace.done, pace.all),
            LabEvent::Preparing { pace, .. } => format!("preparing {}", pace.done + 1),
            LabEvent::Measuring { .. } => "measuring".to_owned(),
            LabEvent::Measured { pace, .. } => format!("measured {}", pace.done),
            LabEvent::Failed { why, .. } => format!("failed: {why}"),
            LabEvent::Spent { .. } => "spent".to_owned(),
            _ => "another".to_owned(),
        });
    }

    fn restoring(&self) -> Box<dyn Fn(u64, u64)> {
        Box::new(|_, _| {})
    }

    fn supervisor(&self) -> Result<SupervisorCommand> {
        bail!("no trial has a server")
    }

    fn plan(&self, line: Vec<String>) -> Result<(Command, ())> {
        match line[1].as_str() {
            "cleanup" => bail!("a view depends on sbtest1"),
            "prepare" => {
                let error = anyhow!("sbtest1 already exists; nothing was created");
                return Err(error.context("`dyno cleanup` drops it"));
            }
            _ => {}
        }
        let mut command = command("run", &[], RecordPlan::default());
        command.plan.drive.time = Some(Duration::from_secs(1));
        Ok((command, ()))
    }

    fn search(
        &self,
        _: (&Command, &()),
        _: &Promise,
        _: String,
        _: &Arc<StopSignal>,
    ) -> Result<(SearchResult, Option<Error>)> {
        bail!("no trial has a promise")
    }

    fn execute(&self, command: Command, (): (), stop: &Arc<StopSignal>) -> Result<()> {
        assert!(command.plan.record.trial.is_some());
        if self.end == RunEnd::Interrupted {
            stop.raise();
        }
        Ok(())
    }

    fn duet(
        &self,
        [(a, ()), (b, ())]: [(Command, ()); 2],
        request: &DuetRequest,
        _: &Arc<StopSignal>,
    ) -> Result<DuetExecuted> {
        assert_ne!(a.plan.record.trial, b.plan.record.trial);
        bail!("{} did not work", request.labels.join(" against "))
    }

    fn results(&self, (): (), _: &StopSignal) -> Result<(Vec<RunSummary>, Outcome)> {
        let run = RunSummary {
            end: self.end.clone(),
            ..RunSummary::default()
        };
        Ok((vec![run], Outcome::Done))
    }

    fn incomplete(&self, outcome: Outcome) -> Error {
        anyhow!("incomplete: {outcome:?}")
    }
}

/// Conducts an experiment of two trials with this design, whose runs end like this. Returns its
/// end, the events, and the trials' states in the results file.
fn conducted(end: RunEnd, design: &str) -> (LabEnd, Vec<String>, Vec<Tried>) {
    let text = format!(
        "experiment = 1\nquestion = '?'\n[load]\nworkload = 'cpu'\ntime = '1s'\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 2]\n[design]\n{design}\n"
    );
    conducted_with(end, &text, BTreeMap::new())
}

/// The same for an experiment in this file, with these permissions for the tables on servers.
fn conducted_with(
    end: RunEnd,
    text: &str,
    tables: BTreeMap<String, Mode>,
) -> (LabEnd, Vec<String>, Vec<Tried>) {
    let experiment = Experiment::parse("x.toml", text, None).unwrap();
    let head = ExperimentHead {
        name: "x".to_owned(),
        ..ExperimentHead::default()
    };
    let mut lab = Lab::new(experiment, head, PathBuf::from("."));
    lab.plan(None);
    let name = scratch::name(wall_time().as_nanos());
    let folder = Scratch::make(&std::env::temp_dir(), &name).unwrap();
    let mut results = Results::open(&folder.path().join("x.db")).unwrap();
    let settings = LabSettings {
        failures_max: 2,
        keeps_servers: false,
        tables,
    };
    let caller = Canned {
        end,
        events: RefCell::default(),
    };
    let stop = StopSignal::new();
    let ended = conduct(&mut lab, &mut results, &settings, &stop, &caller).unwrap();
    let states = lab.states(&results).unwrap().into_values();
    let tried = states.map(|state| state.tried).collect();
    (ended, caller.events.into_inner(), tried)
}

#[test]
fn trials_are_measured_one_after_the_other() {
    let (ended, events, _) = conducted(RunEnd::Completed, "");
    assert!(matches!(ended, LabEnd::Done { freed: 0 }), "{ended:?}");
    assert_eq!(
        events,
        [
            "begun: 0 of 2",
            "preparing 1",
            "measuring",
            "measured 1",
            "preparing 2",
            "measuring",
            "measured 2"
        ]
    );
}

#[test]
fn failures_in_a_row_end_an_experiment() {
    let (ended, events, tried) = conducted(RunEnd::Failed("lost".to_owned()), "");
    let LabEnd::Early { done, interrupted } = ended else {
        panic!("{events:?}");
    };
    assert_eq!(done, 0);
    assert_eq!(
        interrupted.unwrap_err().to_string(),
        "2 trials in a row failed, the last one: lost"
    );
    let trial = ["preparing 1", "measuring", "failed: lost"];
    assert_eq!(events[1..], trial.repeat(2));
    assert_eq!(tried, vec![Tried::Failed("lost".to_owned()); 2]);
}

#[test]
fn a_duet_that_fails_is_a_failure_of_both_trials() {
    let (ended, events, tried) = conducted(RunEnd::Completed, "duet = 'sessions'");
    let LabEnd::Early { done, .. } = ended else {
        panic!("{events:?}");
    };
    let failed = "sessions=1 against sessions=2 did not work";
    let duet = ["preparing 1", "measuring", &format!("failed: {failed}")];
    assert_eq!(done, 0);
    assert_eq!(events[1..], duet.repeat(2));
    assert_eq!(tried, vec![Tried::Failed(failed.to_owned()); 2]);
}

#[test]
fn an_interrupt_ends_an_experiment() {
    let (ended, events, tried) = conducted(RunEnd::Interrupted, "");
    let LabEnd::Early { done, interrupted } = ended else {
        panic!("{events:?}");
    };
    assert_eq!((done, interrupted.unwrap()), (0, true));
    assert_eq!(events, ["begun: 0 of 2", "preparing 1", "measuring"]);
    assert!(tried.contains(&Tried::Interrupted) && tried.contains(&Tried::Not));
}

#[test]
fn no_block_starts_that_would_exceed_the_budget() {
    let (ended, events, tried) = conducted(RunEnd::Completed, "budget = '1s'");
    let LabEnd::Early { done, interrupted } = ended else {
        panic!("{events:?}");
    };
    assert_eq!((done, interrupted.unwrap()), (0, false));
    assert_eq!(events, ["begun: 0 of 2", "spent"]);
    assert_eq!(tried, [Tried::Not, Tried::Not]);
    let (ended, ..) = conducted(RunEnd::Completed, "budget = '1h'");
    assert!(matches!(ended, LabEnd::Done { .. }), "{ended:?}");
}

#[test]
fn a_refusal_to_drop_tables_before_a_load_is_reported() {
    let url = "sqlite:x.db";
    let text = format!(
        "experiment = 1\nquestion = '?'\n[server]\nurl = '{url}'\n\
         [data]\nworkload = 'oltp_point_select'\n\
         [load]\nworkload = 'oltp_point_select'\ntime = '1s'\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 2]\n"
    );
    let failed = |mode| {
        let tables = BTreeMap::from([(url.to_owned(), mode)]);
        let (_, events, _) = conducted_with(RunEnd::Completed, &text, tables);
        events[2].clone()
    };
    assert_eq!(
        failed(Mode::Reload),
        "failed: cannot drop the workload's tables to load them again: a view depends on sbtest1. \
         Tables before the named one may be gone already. Drop what depends on the tables (a \
         view, a foreign key), or name another database. Without the drop, the load failed: \
         sbtest1 already exists; nothing was created"
    );
    // Nothing was to be dropped.
    assert_eq!(
        failed(Mode::Load),
        "failed: cannot load the data: `dyno cleanup` drops it: sbtest1 already exists; nothing \
         was created"
    );
}
