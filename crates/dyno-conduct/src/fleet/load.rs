//! An agent's load: a separate run, which starts on command and reports its progress.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use dyno_core::clock::{Clock, Nanos};
use dyno_core::plan::{Calibrate, Plan};
use dyno_core::redact;
use dyno_fleet::agent::Command;
use dyno_fleet::message::{Assignment, Ceiling};
use dyno_fleet::pump::LoadReport;
use dyno_load::{Gate, LoadError, StopLevel, StopSignal};
use dyno_run::calibration::{self, Calibration};
use dyno_run::{Job, Loaded, RunRequest, Sink, Sinks, check_plan};

use super::bundle::Bundle;
use super::sink::LoadSink;
use crate::hints::with_hint;
use crate::target::{self, Password, server};

/// A load can no longer be cancelled this long before its start.
const RELEASE_NS: Nanos = 50_000_000;
/// Polling interval for the user's request to stop.
const LOOK: Duration = Duration::from_millis(10);

/// An agent's part of a run, as controlled by commands.
pub(super) struct AgentLoad {
    state: Mutex<State>,
    changed: Condvar,
    reports: Sender<LoadReport>,
    stop: Arc<StopSignal>,
    /// The source of the target's password.
    pub password: Password,
    /// Takes notices to the user of this host.
    pub notices: Sinks,
}

#[derive(Default)]
struct State {
    /// The start of the load; `None` if unknown.
    start: Option<Nanos>,
    /// Its actual start.
    begun: Option<Nanos>,
    /// Why it must not start.
    stopped: Option<String>,
}

impl AgentLoad {
    /// A load that has not begun.
    pub(super) fn new(
        reports: Sender<LoadReport>,
        stop: Arc<StopSignal>,
        password: Password,
        notices: Sinks,
    ) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            reports,
            stop,
            password,
            notices,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Sends a report to the coordinator.
    pub(super) fn report(&self, report: LoadReport) {
        // Without a receiver the agent has ended.
        let _ = self.reports.send(report);
    }

    /// A gate that opens on the coordinator's command.
    pub(super) fn gate(self: &Arc<Self>) -> Gate {
        let part = Arc::clone(self);
        Arc::new(move || part.wait())
    }

    fn wait(&self) -> Result<Nanos, LoadError> {
        self.report(LoadReport::Prepared);
        let mut state = self.lock();
        loop {
            if let Some(why) = &state.stopped {
                return Err(LoadError::CalledOff(why.clone()));
            }
            if self.stop.level() != StopLevel::None {
                return Err(LoadError::Interrupted);
            }
            let now = Clock.now();
            if let Some(start) = state.start
                && now + RELEASE_NS >= start
            {
                state.begun = Some(start);
                drop(state);
                self.report(LoadReport::Began(start.max(now)));
                return Ok(start);
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A sink for the load's measurements.
    pub(super) fn sink(self: &Arc<Self>) -> Box<dyn Sink> {
        Box::new(LoadSink::new(Arc::clone(self)))
    }

    /// The start of the load; 0 before it.
    pub(super) fn begun(&self) -> Nanos {
        self.lock().begun.unwrap_or_default()
    }
}

/// Conditions of an agent's load.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Number of the run's agents that share this host's cores.
    pub sharing: u32,
    /// Whether it observes its host.
    pub observes: bool,
}

/// Input of an agent's load.
pub(super) struct Orders {
    /// The commands.
    pub commands: Receiver<Command>,
    /// Called with its part before the load begins.
    pub prepared: Box<dyn Fn(&Assignment) + Send>,
}

/// The thread of an agent's load.
pub(super) struct Load {
    thread: JoinHandle<()>,
    stop: Arc<StopSignal>,
}

impl Load {
    /// Ends it and drops unfinished work.
    pub(super) fn end(self) {
        self.stop.set(StopLevel::Abandon);
        // It has already reported its errors.
        let _ = self.thread.join();
    }
}

/// Starts the threads that run the load and receive the commands.
///
/// # Errors
/// The system refuses a thread.
pub(super) fn start(orders: Orders, part: AgentLoad, conditions: Conditions) -> Result<Load> {
    let part = Arc::new(part);
    let stop = Arc::clone(&part.stop);
    let (begin, works) = std::sync::mpsc::channel();
    let hears = Arc::clone(&part);
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("commands")
        .spawn(move || {
            while let Ok(command) = orders.commands.recv() {
                match command {
                    // The load's thread lives until this one ends.
                    Command::Calibrate(assignment) => {
                        let _ = begin.send(Work::Calibrate(assignment));
                    }
                    Command::Prepare(assignment) => {
                        (orders.prepared)(&assignment);
                        let _ = begin.send(Work::Load(assignment));
                    }
                    Command::Start { at } => hears.change(|state| state.start = Some(at)),
                    Command::CallOff => hears.change(|state| state.start = None),
                    Command::Stop { why } => {
                        hears.change(|state| state.stopped = Some(why));
                        hears.stop.set(StopLevel::End);
                    }
                    Command::Exit(_) => {
                        hears.change(|state| state.stopped = Some("it is over".to_owned()));
                        hears.stop.set(StopLevel::Abandon);
                        return;
                    }
                }
            }
        })
        .context("cannot start the thread that receives commands")?;
    let thread = thread("load")
        .spawn(move || {
            while let Ok(work) = works.recv() {
                match work {
                    Work::Calibrate(assignment) => {
                        let ceiling = ceiling(&part, &assignment, conditions);
                        part.report(LoadReport::Calibrated(ceiling));
                    }
                    Work::Load(assignment) => {
                        if let Err(error) = load(&part, &assignment, conditions) {
                            let why = redact::text(&format!("{error:#}"));
                            part.report(LoadReport::Failed(why));
                        }
                    }
                }
            }
        })
        .context("cannot start the thread that generates the load")?;
    Ok(Load { thread, stop })
}

/// A task for the load's thread.
enum Work {
    Calibrate(Assignment),
    Load(Assignment),
}

/// The agent's ceiling for its assignment.
fn ceiling(part: &Arc<AgentLoad>, assignment: &Assignment, conditions: Conditions) -> Ceiling {
    let made = calibrated(part, assignment, conditions);
    match made {
        Ok(made) => Ceiling {
            per_s: Some(made.events_per_s_max).filter(|per_s| *per_s > 0.0),
            why: String::new(),
            cpu_us_per_event: made.cpu_us_per_event,
            p999_ms: made.p999_ms,
            stall_ms_max: made.stall_ms_max,
            sessions: made.sessions,
            workers: made.workers,
            made_unix_s: made.made_unix_s,
        },
        Err(error) => Ceiling {
            why: redact::text(&format!("{error:#}")),
            ..Ceiling::default()
        },
    }
}

fn calibrated(
    part: &Arc<AgentLoad>,
    assignment: &Assignment,
    conditions: Conditions,
) -> Result<Calibration> {
    let (folder, plan) = Bundle::unpack(&assignment.plan, assignment.share.clone(), conditions)?;
    let mut job = job(part, &plan)?;
    // Calibrate with the whole load, even if the plan covers only a part of it.
    (job.drive.shard, job.drive.begin_unix_s, job.drive.schedule) = (None, None, None);
    let options = job.all_options(&plan.options);
    let again = plan.record.calibrate == Calibrate::Always;
    let kept = calibration::cached(&job, &options).filter(|_| !again);
    let made = match kept {
        Some(kept) => kept,
        None => calibration::make(&job, &options, &part.stop, &part.notices)?,
    };
    drop(folder);
    Ok(made)
}

/// Runs the assignment.
fn load(part: &Arc<AgentLoad>, assignment: &Assignment, conditions: Conditions) -> Result<()> {
    let (folder, plan) = Bundle::unpack(&assignment.plan, assignment.share.clone(), conditions)?;
    let job = job(part, &plan)?;
    let options = job.all_options(&plan.options);
    let path = job.work.path().to_owned();
    let loaded = Loaded::new(job).with_context(|| format!("the script {path} cannot be loaded"))?;
    let mut ready = loaded.ready(options, Arc::clone(&part.stop))?;
    let own = plan.options.clone();
    let request = RunRequest::new(plan, &own, server(&ready)?, &ready);
    ready.gate = Some(part.gate());
    let sinks = Sinks::new(vec![part.sink()]);
    let measured = dyno_run::measure(&mut ready, &request, &sinks);
    let measured =
        measured.map_err(|error| with_hint(error.into(), &ready, &request.plan.workload))?;
    drop(folder);
    measured
        .trouble
        .map_or(Ok(()), |trouble| Err(trouble.into()))
}

/// The job of an agent's plan.
fn job(part: &AgentLoad, plan: &Plan) -> Result<Job> {
    check_plan(plan).map_err(|why| anyhow!("the coordinator sent an invalid plan: {why}"))?;
    let target = plan.target.as_ref();
    let target = target.map(|target| target::of_plan(target, &part.password, &part.notices));
    Ok(Job::of_plan(plan, target.transpose()?)?)
}
