//! Jobs that are ready to run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dyno_core::db::{Connector, ErrorKind, Family};
use dyno_core::interval::Counters;
use dyno_core::plan::Drive;
use dyno_core::session::Entry;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_host::Plan;
use dyno_load::{
    Counted, DuetPart, Gate, Literals, Progress, Run, RunConfig, RunOutcome, SESSIONS_MAX, Single,
    StopLevel, StopSignal, ensure_descriptors,
};
use dyno_script::{CreatedTable, Description, Host, LoadProgress, Phase, ScriptReport, Stat};

use super::main_state::MainState;
use super::{Job, Shared, alone, host_config};
use crate::error::{Context as _, OrFailed as _, Result, RunError, failed};
use crate::recording::RemoteObserver;

/// How many descriptors the process needs in addition to its connections.
const DESCRIPTORS_SPARE: u64 = 64;

/// How many files of a session's server process the observers keep open.
const DESCRIPTORS_OBSERVED: u64 = 4;

/// The descriptors of an open SQLite database: the file, its log, the log's index, a temporary
/// file.
const DESCRIPTORS_PER_FILE: u64 = 4;

/// A job that is ready to run.
pub struct Ready {
    /// The job.
    pub job: Job,
    /// The script's declarations.
    pub description: Description,
    /// Creates connections.
    pub connector: Option<Arc<dyn Connector>>,
    /// Stops it early.
    pub stop: Arc<StopSignal>,
    /// Set if this job makes only part of a run's load. The gate gives the start of its sessions,
    /// and work that is done once per run is left to others.
    pub gate: Option<Gate>,
    /// Its part in a duet, if it has one.
    pub duet: Option<DuetPart>,
    /// The observer on the server's host that the next run uses.
    pub remote_observer: Option<RemoteObserver>,
    pub(super) main: Main,
    pub(super) shared: Shared,
}

/// A state that only runs the report functions of a script.
pub struct Reporter(Single<Host>);

impl Reporter {
    /// Calls a report hook.
    ///
    /// # Errors
    /// The error that the hook raised.
    pub fn report(&mut self, hook: &str, stat: &Stat) -> Result<(), String> {
        self.0.program().set_stat(stat)?;
        self.0.run(&Entry::Hook(hook.to_owned()))
    }

    /// Completes the output of a report function: see [`Host::finish_report`].
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn finish(&mut self) -> Result<(), String> {
        self.0.program().finish_report()
    }
}

/// The part of a job that exists once per run.
pub(super) enum Main {
    /// The script's main state.
    Script(MainState),
    /// A test of the host, whose options have been read.
    Host(Arc<Plan>),
}

impl Ready {
    /// Calls a function of the main state if the script defines it (`init`, `done`).
    ///
    /// # Errors
    /// The error that the function raised.
    pub fn call(&mut self, name: &str) -> Result<()> {
        match &mut self.main {
            Main::Script(main) => main.run(Entry::Call(name.to_owned())).map_err(failed),
            Main::Host(plan) if name == "done" => plan.finish().map_err(failed),
            Main::Host(_) => Ok(()),
        }
    }

    /// Runs the sessions within the limits of the drive.
    ///
    /// # Errors
    /// Anything that prevents the start of the run.
    pub fn run(&self, mut observer: impl FnMut(Progress<'_>)) -> Result<RunOutcome> {
        self.check_event()?;
        self.start(Entry::Run, &mut observer)
    }

    /// Whether the script can run at all.
    ///
    /// # Errors
    /// The script has no `event()`, or the host test lacks something it needs.
    pub fn check_event(&self) -> Result<()> {
        if let Some(plan) = self.plan() {
            return Ok(plan.ready()?);
        }
        let functions = &self.description.functions;
        let acts = functions
            .iter()
            .any(|own| own == "event" || own == "thread_run");
        if !acts && self.job.drive.roles.is_empty() {
            let path = Path::new(self.job.work.path());
            let name = path.file_name().unwrap_or(path.as_os_str());
            return Err(failed(format!(
                "cannot find the event() function in {}",
                name.display()
            )));
        }
        Ok(())
    }

    /// Runs a command of the script: in all sessions if it is parallel, else in the main state.
    ///
    /// # Errors
    /// The error that a session raised.
    pub fn command(&mut self, name: &str, mut observer: impl FnMut(Progress<'_>)) -> Result<()> {
        let result = self.whole_command(name, &mut observer);
        let stopped = self.stop.level() != StopLevel::None;
        match result {
            Err(error) if stopped && name == "prepare" => Err(failed(format!(
                "{error}; the tables that it created may be half filled; the command cleanup drops \
                 them"
            ))),
            other => other,
        }
    }

    fn whole_command(&mut self, name: &str, observer: &mut dyn FnMut(Progress<'_>)) -> Result<()> {
        let known = self.description.commands.iter().any(|(own, _)| own == name)
            || self.description.functions.iter().any(|own| own == name);
        if !known {
            return Err(failed(format!(
                "'{}' does not implement the '{name}' command",
                self.job.work.path()
            )));
        }
        let entry = Entry::Command(name.to_owned());
        if !self.in_all_sessions(name) {
            let main = self.main().or_failed("a host test has no such command")?;
            return main.run_unless_stopped(entry).map_err(failed);
        }
        let outcome = self.start(entry, observer)?;
        if outcome.end == RunEnd::Interrupted {
            return Err(failed("stopped by the user"));
        }
        match outcome.failures.first() {
            None => Ok(()),
            Some((Some(tid), why)) => Err(failed(why)).context(format!("session {tid}")),
            // If a worker hangs after the user has stopped the run, that is not another failure.
            Some((None, _)) if self.stop.level() != StopLevel::None => {
                Err(failed("stopped by the user"))
            }
            Some((None, why)) => Err(failed(why)),
        }
    }

    /// Runs a command that undoes another one in the main state, even if the user has stopped the
    /// command that it undoes.
    ///
    /// # Errors
    /// The error that the command raised.
    pub fn undo(&mut self, name: &str) -> Result<()> {
        let main = self.main().or_failed("a host test has no such command")?;
        main.run(Entry::Command(name.to_owned())).map_err(failed)
    }

    /// Whether a command of the script runs in all sessions instead of the main state.
    pub fn in_all_sessions(&self, name: &str) -> bool {
        let mut commands = self.description.commands.iter();
        self.job.drive.sessions > 1 && commands.any(|(own, parallel)| own == name && *parallel)
    }

    /// The progress of a load.
    pub fn progress(&self) -> Arc<LoadProgress> {
        Arc::clone(&self.shared.progress)
    }

    /// Returns a function that creates another state for report functions. Call it on the thread
    /// that uses the state. It runs the script's top level.
    ///
    /// # Errors
    /// There is no script. When the function is called: the error that the top level raised.
    pub fn reporter(&self) -> Result<impl FnOnce() -> Result<Reporter> + Send + use<>> {
        let source = self.job.work.script().or_failed("there is no script")?;
        let config = host_config(&self.job, source, 0, &self.shared, None);
        let (stop, connector) = (Arc::clone(&self.stop), self.connector.clone());
        let (tid, bound) = (self.job.drive.sessions, self.job.call_timeout);
        Ok(move || Ok(Reporter(alone(config, connector, stop, tid, bound)?.0)))
    }

    /// Calls a report hook in the main state.
    ///
    /// # Errors
    /// The error that the hook raised.
    pub fn report(&mut self, hook: &str, stat: &Stat) -> Result<(), String> {
        let Some(main) = self.main() else {
            return Ok(());
        };
        let stat = *stat;
        main.act("its figures", move |main| main.program().set_stat(&stat))??;
        main.run(Entry::Hook(hook.to_owned()))
    }

    /// Completes the output of the main state's report hooks: see [`Host::finish_report`].
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn finish_report(&mut self) -> Result<(), String> {
        self.main().map_or(Ok(()), |main| {
            main.act("its report's end", |main| main.program().finish_report())?
        })
    }

    /// The text that the last command of the main state returned, if any.
    pub fn last_answer(&mut self) -> Option<String> {
        let main = self.main()?;
        let answer = main.act("its answer", |main| main.program().answer());
        answer.ok().flatten()
    }

    /// Whether all of the script's functions returned.
    ///
    /// # Errors
    /// A function that did not return and was abandoned.
    pub fn alive(&self) -> Result<()> {
        match &self.main {
            Main::Script(main) => main.alive(),
            Main::Host(_) => Ok(()),
        }
    }

    /// Whether all of the script's functions ended within their timeouts.
    ///
    /// # Errors
    /// The function that did not.
    pub fn in_time(&self) -> Result<()> {
        match &self.main {
            Main::Script(main) => main.in_time(),
            Main::Host(_) => Ok(()),
        }
    }

    /// The counters of the main state, including the script's top level.
    pub fn main_counters(&mut self) -> Counters {
        let counters = self
            .main()
            .map(|main| main.act("its counters", |main| main.counters()));
        counters.and_then(Result::ok).unwrap_or_default()
    }

    /// Whether a function failed without ending the run. Only sysbench scripts can do that.
    pub fn script_failed(&self) -> bool {
        self.shared.script_failed.load(Ordering::Relaxed)
    }

    /// The kind of the database error that this message quotes, if a session failed with it.
    pub fn kind_behind(&self, words: &str) -> Option<ErrorKind> {
        self.shared.database_errors.kind_behind(words)
    }

    /// The sums to which the sessions have added, in the order of declaration.
    pub fn sums(&self) -> Vec<dyno_script::Sum> {
        self.shared.ledger.sums()
    }

    /// The counts of the sessions for the whole run.
    pub(crate) fn counted(&self) -> Counted {
        let sums = self.sums().into_iter();
        Counted {
            sums: sums
                .map(|sum| [sum.kept, sum.unknown_low, sum.unknown_high])
                .collect(),
            numbers: self.shared.numbers.sums(),
            driver_used: self.driver_used(),
            incomplete: false,
        }
    }

    /// Adds the counts of other load generators.
    pub(crate) fn count(&self, counted: &Counted) {
        let sum = |[kept, unknown_low, unknown_high]: &[i128; 3]| dyno_script::Sum {
            kept: *kept,
            unknown_low: *unknown_low,
            unknown_high: *unknown_high,
        };
        let sums: Vec<_> = counted.sums.iter().map(sum).collect();
        self.shared.ledger.add(&sums);
        self.shared
            .driver_used
            .fetch_or(counted.driver_used, Ordering::Relaxed);
        self.shared.numbers.add(&counted.numbers);
    }

    /// What the script's `ledger()` reads from the database, or its `full_ledger()` if `whole` and
    /// defined, as (sum, name in the database, value). `None` if the script has no such function.
    ///
    /// # Errors
    /// The error that the function raised, or its answer is invalid.
    pub fn read_ledger(&mut self, whole: bool) -> Result<Option<Vec<(String, String, i64)>>> {
        let functions = &self.description.functions;
        let has = |name: &&str| functions.iter().any(|own| own == name);
        let wanted = ["full_ledger", "ledger"];
        let Some(name) = wanted[usize::from(!whole)..].iter().find(|name| has(name)) else {
            return Ok(None);
        };
        self.call(name).context(format!("{name}() failed"))?;
        let main = self.main().or_failed("there is no script")?;
        let read = main.act("its answer", |main| main.program().ledger());
        let read = read.and_then(|read| read).map_err(failed)?;
        Ok(Some(read))
    }

    /// The phases that the script's `phases_there()` returns, which may look at the target. `None`
    /// if it is not defined.
    ///
    /// # Errors
    /// The error that the function raised, or its answer is not a list of phases.
    pub fn phases_there(&mut self) -> Result<Option<Vec<Phase>>> {
        let name = "phases_there";
        if !self.description.functions.iter().any(|own| own == name) {
            return Ok(None);
        }
        self.call(name)?;
        let main = self.main().or_failed("there is no script")?;
        let phases = main.act("its answer", |main| main.program().reported_phases());
        let phases = phases.and_then(|phases| phases).map_err(failed)?;
        Ok(Some(phases))
    }

    /// The tables that the script's `prepare` creates and its `cleanup` drops, as listed by its
    /// `tables_made()`. `None` if it does not list them.
    ///
    /// # Errors
    /// The error that the function raised, or its answer is not a list of tables.
    pub fn created_tables(&mut self) -> Result<Option<Vec<CreatedTable>>> {
        let name = "tables_made";
        if !self.description.functions.iter().any(|own| own == name) {
            return Ok(None);
        }
        self.call(name)?;
        let main = self.main().or_failed("there is no script")?;
        let tables = main.act("its answer", |main| main.program().created_tables());
        tables.and_then(|tables| tables).map_err(failed)
    }

    /// Calls the script's `figures()` with the measurements, if it is defined. Returns everything
    /// that the script has reported about the run.
    ///
    /// # Errors
    /// The error that the function raised. The other reports remain valid.
    pub fn reported(&mut self, summary: &RunSummary) -> (ScriptReport, Result<()>) {
        let has = self.description.functions.iter().any(|f| f == "figures");
        let measured = RunSummary {
            measured_s: summary.measured_s,
            totals: summary.totals,
            rates: summary.rates,
            operations: summary.operations.clone(),
            ..RunSummary::default()
        };
        let set = self.main().map_or(Ok(()), |main| {
            main.act("its figures", move |main| {
                main.program().set_measured(&measured)
            })?
        });
        let made = match has {
            true => (set.map_err(failed))
                .and_then(|()| self.call("figures"))
                .context("figures() failed"),
            // The figures are not needed.
            false => Ok(()),
        };
        (self.shared.reported.complete(), made)
    }

    /// Whether a script has asked for a database driver.
    pub fn driver_used(&self) -> bool {
        self.shared.driver_used.load(Ordering::Relaxed)
    }

    /// The script's main state; `None` for a test of the host.
    fn main(&mut self) -> Option<&mut MainState> {
        match &mut self.main {
            Main::Script(main) => Some(main),
            Main::Host(_) => None,
        }
    }

    /// The names of the script's operations and roles.
    pub fn names(&self) -> Vec<String> {
        let roles = self.job.drive.roles.iter().map(|role| role.name.clone());
        let operations = self.description.declared.operations.iter().cloned();
        operations.chain(roles).collect()
    }

    /// How the target writes values.
    pub(crate) fn literals(&self) -> Literals {
        match self.job.target.as_ref().map(|target| target.family) {
            Some(Family::Mysql) => Literals::Mysql,
            _ => Literals::Standard,
        }
    }

    /// The host test, whose options have been read. `None` for a script.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.main {
            Main::Script(_) => None,
            Main::Host(plan) => Some(plan),
        }
    }

    /// Nothing else instantiates the generic loop of a worker, so that it is compiled and optimised
    /// together with this crate.
    fn start(&self, entry: Entry, observer: &mut dyn FnMut(Progress<'_>)) -> Result<RunOutcome> {
        let drive = &self.job.drive;
        if drive.sessions > SESSIONS_MAX {
            return Err(RunError::Usage(format!(
                "{} sessions are too many; a run can have at most {SESSIONS_MAX}",
                drive.sessions
            )));
        }
        let per_session = match &self.connector {
            Some(connector) if connector.blocks() => DESCRIPTORS_PER_FILE,
            _ => 1,
        };
        let own = drive.own();
        let needed = per_session * u64::from(own.sessions) + 4 * u64::from(own.workers);
        // Workers have their own descriptor tables.
        let needed = needed + self.plan().map_or(0, Plan::descriptors);
        // Observers keep files of each server process open.
        let useful = needed + DESCRIPTORS_OBSERVED * u64::from(own.sessions);
        ensure_descriptors(needed + DESCRIPTORS_SPARE, useful + DESCRIPTORS_SPARE)?;
        if self.gate.is_some() {
            self.shared.numbers.part();
        }
        let config = RunConfig {
            drive: Drive {
                spin: Some(self.job.spin()),
                ..self.job.drive.clone()
            },
            connector: self.connector.clone(),
            stop: Arc::clone(&self.stop),
            entry,
            operations: self.description.declared.operations.len(),
            gate: self.gate.clone(),
            shapes: self.job.shapes.then(|| self.literals()),
            duet: self.duet.clone(),
        };
        let source = match (&self.main, &self.job.work) {
            (Main::Host(plan), _) => {
                let shared = Arc::new(plan.share(drive.sessions).map_err(failed)?);
                let plan = Arc::clone(plan);
                let factory = move |_| {
                    Ok(dyno_host::Program::new(
                        Arc::clone(&plan),
                        Arc::clone(&shared),
                    ))
                };
                return Ok(Run::start(config, factory, observer)?);
            }
            (Main::Script(_), work) => work.script().or_failed("there is no script")?.clone(),
        };
        let (job, shared) = (self.job.clone(), self.shared.clone());
        let declared = self.description.declared.clone();
        let factory = move |_| {
            let config = host_config(&job, &source, 0, &shared, Some(&declared));
            let host = Host::new(Arc::new(config));
            // Without this worker, other sessions would wait for its sessions forever.
            host.inspect_err(|_| shared.barrier.break_down())
        };
        Ok(Run::start(config, factory, observer)?)
    }
}
