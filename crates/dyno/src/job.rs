//! A job: a script or a test of the host with everything that it needs to run, and the running of
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::Target;
use dyno_core::db::{Connector, Family};
use dyno_core::plan::{Drive, OptionValue, RandPlan, Role};
use dyno_core::session::Entry;
use dyno_core::summary::RunEnd;
use dyno_host::Plan;
use dyno_load::{Progress, Run, RunConfig, RunOutcome, Single, StopSignal, ensure_descriptors};
use dyno_script::{
    Barrier, Declared, Description, Host, HostConfig, Ledger, LoadProgress, Phase, SharedNumbers,
    Source,
};

use crate::work::{self, Work};
use crate::workloads;

/// Descriptors that the process needs besides its connections.
const DESCRIPTORS_SPARE: u64 = 64;

/// Descriptors of an open SQLite database: itself, its log, the log's index, a temporary file.
const DESCRIPTORS_PER_FILE: u64 = 4;

/// What to run, on what, and how.
#[derive(Clone)]
pub struct Job {
    /// What the sessions do.
    pub work: Work,
    /// The command line, for scripts.
    pub argv: Vec<String>,
    /// The command, e.g. `run`.
    pub command: Option<String>,
    /// What scripts see as `sysbench.opt`.
    pub options: Vec<(String, OptionValue)>,
    /// The database; `None` for scripts without one.
    pub target: Option<Target>,
    /// How the run is driven.
    pub drive: Drive,
    /// The workers that the user asked for.
    pub workers: Option<u32>,
    /// The distributions.
    pub rand: RandPlan,
    /// The percentile that report functions get.
    pub percentile: f64,
    /// Errors that repeat the event; see [`HostConfig::ignored_errors`].
    pub ignored_errors: Vec<String>,
    /// See [`HostConfig::reconnect_lost`].
    pub reconnect_lost: bool,
    /// See [`HostConfig::emulate_prepared`].
    pub emulate_prepared: bool,
    /// See [`HostConfig::luajit_cmd`].
    pub luajit_cmd: Option<String>,
    /// What scripts print goes to standard error.
    pub quiet_scripts: bool,
    /// See [`HostConfig::sysbench_messages`].
    pub sysbench_messages: bool,
    /// Takes the script layer's messages.
    pub log: fn(&str, &str),
}

/// What all Lua states of a job have in common.
#[derive(Clone)]
struct Shared {
    barrier: Arc<Barrier>,
    progress: Arc<LoadProgress>,
    unique: Arc<AtomicU64>,
    driver_used: Arc<AtomicBool>,
    ledger: Arc<Ledger>,
    numbers: Arc<SharedNumbers>,
}

impl Shared {
    fn new(sessions: u32) -> Self {
        Self {
            barrier: Arc::new(Barrier::new(sessions)),
            progress: Arc::default(),
            unique: Arc::default(),
            driver_used: Arc::default(),
            ledger: Arc::default(),
            numbers: Arc::default(),
        }
    }
}

/// A job whose script has run its top level in the main state.
pub struct Loaded {
    /// The job.
    pub job: Job,
    /// What the script declares.
    pub description: Description,
    /// The main state; `None` for a test of the host.
    main: Option<Host>,
    shared: Shared,
}

impl Loaded {
    /// Runs the script's top level and reads what it declares.
    ///
    /// # Errors
    /// A script that does not compile or raises.
    pub fn new(job: Job) -> Result<Self> {
        let shared = Shared::new(job.drive.sessions);
        let (description, main) = match &job.work {
            Work::Host(test, edition) => (work::description(test, *edition), None),
            Work::Script(source) => {
                let (host, description) = described(&job, source, MAIN_STREAM, &shared)?;
                (description, Some(host))
            }
        };
        Ok(Self {
            job,
            description,
            main,
            shared,
        })
    }

    /// With another number of sessions, driven by at most as many workers as there are cores.
    pub fn with_sessions(mut self, sessions: u32) -> Self {
        self.job.drive.sessions = sessions;
        self.job.drive.workers = self.job.workers.unwrap_or_else(cores).min(sessions);
        // The main state, made before, needs no barrier.
        self.shared.barrier = Arc::new(Barrier::new(sessions));
        self
    }

    /// The phases of the script's `phases()` with these options; empty where it has none.
    ///
    /// # Errors
    /// What it raised, or an answer that is no list of phases.
    pub fn phases(&mut self, options: &[(String, OptionValue)]) -> Result<Vec<Phase>> {
        if !self.description.functions.iter().any(|own| own == "phases") {
            return Ok(Vec::new());
        }
        let Some(main) = &mut self.main else {
            return Ok(Vec::new());
        };
        let set = main.set_options(options);
        set.map_err(|message| anyhow!(message))?;
        main.phases().map_err(|message| anyhow!(message))
    }

    /// The roles of the script's `roles()` with these options; empty where it has none, or where
    /// the command is not `run`.
    ///
    /// # Errors
    /// What it raised, or an answer that is no list of roles.
    pub fn roles(&mut self, options: &[(String, OptionValue)]) -> Result<Vec<Role>> {
        let tells = self.description.functions.iter().any(|own| own == "roles");
        let runs = self.job.command.as_deref() == Some("run");
        let Some(main) = self.main.as_mut().filter(|_| tells && runs) else {
            return Ok(Vec::new());
        };
        let set = main.set_options(options);
        set.map_err(|message| anyhow!(message))?;
        main.roles().map_err(|message| anyhow!(message))
    }

    /// Sets what could only be known once the script was loaded, and makes ready to run.
    ///
    /// # Errors
    /// A target that cannot be.
    pub fn ready(
        mut self,
        options: Vec<(String, OptionValue)>,
        stop: Arc<StopSignal>,
    ) -> Result<Ready> {
        let roles = self.roles(&options)?;
        let Self {
            mut job,
            description,
            mut main,
            mut shared,
        } = self;
        job.options = options;
        job.drive.roles = roles;
        if let Some(main) = &mut main {
            main.set_options(&job.options)
                .map_err(|message| anyhow!(message))?;
        }
        if !job.drive.roles.is_empty() {
            let sessions: u32 = job.drive.roles.iter().map(|role| role.sessions).sum();
            job.drive.sessions = sessions;
            job.drive.workers = job.workers.unwrap_or_else(cores).min(sessions);
            shared.barrier = Arc::new(Barrier::new(sessions));
        }
        let connector = match &job.target {
            Some(target) => Some(dyno_drivers::connector(target)?),
            None => None,
        };
        if connector
            .as_ref()
            .is_some_and(|connector| connector.blocks())
        {
            job.drive.workers = job.drive.sessions;
        }
        let main = match main {
            Some(main) => {
                let single = Single::new(main, connector.clone(), Arc::clone(&stop))?;
                Main::Script(Box::new(single))
            }
            None => Main::Host(Arc::new(work::plan(&mut job)?)),
        };
        Ok(Ready {
            job,
            description,
            connector,
            stop,
            main,
            shared,
        })
    }
}

/// A job ready to run.
pub struct Ready {
    /// The job.
    pub job: Job,
    /// What the script declares.
    pub description: Description,
    /// Makes connections.
    pub connector: Option<Arc<dyn Connector>>,
    /// Ends it early.
    pub stop: Arc<StopSignal>,
    main: Main,
    shared: Shared,
}

/// What stands for the run as a whole.
enum Main {
    /// The script's main state.
    Script(Box<Single<Host>>),
    /// A test of the host, its options read.
    Host(Arc<Plan>),
}

impl Ready {
    /// Calls a function of the main state if the script defines it (`init`, `done`).
    ///
    /// # Errors
    /// What it raised.
    pub fn call(&mut self, name: &str) -> Result<()> {
        match &mut self.main {
            Main::Script(main) => main
                .run(&Entry::Call(name.to_owned()))
                .map_err(|message| anyhow!(message)),
            Main::Host(plan) if name == "done" => plan.finish().map_err(|why| anyhow!(why)),
            Main::Host(_) => Ok(()),
        }
    }

    /// Runs the sessions within the drive's limits.
    ///
    /// # Errors
    /// What keeps the run from starting.
    pub fn run(&self, observer: impl FnMut(Progress<'_>)) -> Result<RunOutcome> {
        self.check_event()?;
        self.start(Entry::Run, observer)
    }

    /// Whether the script can run at all.
    ///
    /// # Errors
    /// It has no `event()`; a test of the host does not find what it needs.
    pub fn check_event(&self) -> Result<()> {
        if let Some(plan) = self.plan() {
            return plan.ready().map_err(|why| anyhow!(why));
        }
        let functions = &self.description.functions;
        let acts = functions
            .iter()
            .any(|own| own == "event" || own == "thread_run");
        if !acts && self.job.drive.roles.is_empty() {
            bail!(
                "cannot find the event() function in {}",
                self.job.work.path()
            );
        }
        Ok(())
    }

    /// Runs a command of the script: in all sessions if it is parallel, else in the main state.
    ///
    /// # Errors
    /// What it raised, in any session.
    pub fn command(&mut self, name: &str, observer: impl FnMut(Progress<'_>)) -> Result<()> {
        let parallel = self
            .description
            .commands
            .iter()
            .any(|(own, parallel)| own == name && *parallel);
        let known = self.description.commands.iter().any(|(own, _)| own == name)
            || self.description.functions.iter().any(|own| own == name);
        if !known {
            bail!(
                "'{}' does not implement the '{name}' command",
                self.job.work.path()
            );
        }
        let entry = Entry::Command(name.to_owned());
        if !parallel || self.job.drive.sessions == 1 {
            let main = self
                .main()
                .context("a test of the host has no such command")?;
            return main.run(&entry).map_err(|message| anyhow!(message));
        }
        let outcome = self.start(entry, observer)?;
        if outcome.end == RunEnd::Interrupted {
            bail!("stopped by the user");
        }
        match outcome
            .failures
            .iter()
            .find(|(_, why)| why != "another session failed")
        {
            None => Ok(()),
            Some((Some(tid), why)) => Err(anyhow!("{why}")).context(format!("session {tid}")),
            Some((None, why)) => Err(anyhow!("{why}")),
        }
    }

    /// How far a load has come.
    pub fn progress(&self) -> Arc<LoadProgress> {
        Arc::clone(&self.shared.progress)
    }

    /// A host of its own for report functions, with the script's top level run in it.
    ///
    /// # Errors
    /// What the top level raised.
    pub fn reporter(&self) -> Result<Host> {
        let base = u64::from(self.job.drive.sessions);
        let source = self.job.work.script().context("there is no script")?;
        Ok(described(&self.job, source, base, &self.shared)?.0)
    }

    /// The sums that the sessions entered, in the order that the script declares them.
    pub fn sums(&self) -> Vec<dyno_script::Sum> {
        self.shared.ledger.sums()
    }

    /// What the script's `ledger()` reads from the database, as (sum, name in the database, value);
    /// `None` where the script has no such function.
    ///
    /// # Errors
    /// What it raised, or an answer that is none.
    pub fn read_ledger(&mut self) -> Result<Option<Vec<(String, String, i64)>>> {
        let functions = &self.description.functions;
        if !functions.iter().any(|own| own == "ledger") {
            return Ok(None);
        }
        self.call("ledger").context("ledger() failed")?;
        let host = self.host().context("there is no script")?;
        let read = host.ledger().map_err(|message| anyhow!(message))?;
        Ok(Some(read))
    }

    /// Whether a script has asked for a database driver.
    pub fn driver_used(&self) -> bool {
        self.shared.driver_used.load(Ordering::Relaxed)
    }

    /// The script's main state; `None` for a test of the host.
    pub fn host(&mut self) -> Option<&mut Host> {
        self.main().map(Single::program)
    }

    fn main(&mut self) -> Option<&mut Single<Host>> {
        match &mut self.main {
            Main::Script(main) => Some(main),
            Main::Host(_) => None,
        }
    }

    /// The test of the host, its options read; `None` for a script.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.main {
            Main::Script(_) => None,
            Main::Host(plan) => Some(plan),
        }
    }

    fn start(&self, entry: Entry, observer: impl FnMut(Progress<'_>)) -> Result<RunOutcome> {
        let drive = &self.job.drive;
        let per_session = match &self.connector {
            Some(connector) if connector.blocks() => DESCRIPTORS_PER_FILE,
            _ => 1,
        };
        let needed = per_session * u64::from(drive.sessions) + 4 * u64::from(drive.workers);
        // Workers have tables of descriptors of their own.
        let needed = needed + self.plan().map_or(0, Plan::descriptors);
        ensure_descriptors(needed + DESCRIPTORS_SPARE)?;
        let config = RunConfig {
            drive: self.job.drive.clone(),
            connector: self.connector.clone(),
            stop: Arc::clone(&self.stop),
            entry,
            operations: self.description.declared.operations.len(),
        };
        let source = match (&self.main, &self.job.work) {
            (Main::Host(plan), _) => {
                let shared = Arc::new(plan.share(drive.sessions).map_err(|why| anyhow!(why))?);
                let plan = Arc::clone(plan);
                let factory = move |_| {
                    Ok(dyno_host::Program::new(
                        Arc::clone(&plan),
                        Arc::clone(&shared),
                    ))
                };
                return Ok(Run::start(config, factory, observer)?);
            }
            (Main::Script(_), work) => work.script().context("there is no script")?.clone(),
        };
        let (job, shared) = (self.job.clone(), self.shared.clone());
        let declared = self.description.declared.clone();
        let factory = move |_| {
            let config = self::config(&job, &source, 0, &shared, Some(&declared));
            let host = Host::new(Arc::new(config));
            // Without its worker, sessions would wait in vain for those it was to drive.
            host.inspect_err(|_| shared.barrier.break_down())
        };
        Ok(Run::start(config, factory, observer)?)
    }
}

/// The host's cores.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, usize::from) as u32
}

/// A state of its own for the script, in which its top level has run, and what it declares there.
fn described(
    job: &Job,
    source: &Source,
    stream_base: u64,
    shared: &Shared,
) -> Result<(Host, Description)> {
    let config = config(job, source, stream_base, shared, None);
    let mut host = Host::new(Arc::new(config)).map_err(|message| anyhow!(message))?;
    let description = host.describe().map_err(|message| anyhow!(message))?;
    Ok((host, description))
}

/// Sets the main state's streams apart from those of sessions.
const MAIN_STREAM: u64 = 1 << 32;

fn config(
    job: &Job,
    source: &Source,
    stream_base: u64,
    shared: &Shared,
    declared: Option<&Declared>,
) -> HostConfig {
    HostConfig {
        source: source.clone(),
        builtins: workloads::SCRIPTS,
        options: job.options.clone(),
        argv: job.argv.clone(),
        command: job.command.clone(),
        seed: job.drive.seed,
        stream_base,
        rand: job.rand.clone(),
        driver_name: job.target.as_ref().map(|target| driver_name(target.family)),
        percentile: job.percentile,
        ignored_errors: job.ignored_errors.clone(),
        reconnect_lost: job.reconnect_lost,
        emulate_prepared: job.emulate_prepared,
        luajit_cmd: job.luajit_cmd.clone(),
        quiet_scripts: job.quiet_scripts,
        sysbench_messages: job.sysbench_messages,
        barrier: Arc::clone(&shared.barrier),
        progress: Arc::clone(&shared.progress),
        unique: Arc::clone(&shared.unique),
        driver_used: Arc::clone(&shared.driver_used),
        declared: declared.cloned(),
        plays_roles: !job.drive.roles.is_empty(),
        shared: Arc::clone(&shared.numbers),
        ledger: Arc::clone(&shared.ledger),
        log: job.log,
    }
}

/// The family's name as scripts know it.
pub fn driver_name(family: Family) -> &'static str {
    match family {
        Family::Mysql => "mysql",
        Family::Postgres => "pgsql",
        Family::Sqlite => "sqlite",
    }
}

/// The errors after which an event is run again unless the user says otherwise: deadlocks, lock
/// wait timeouts and serialisation failures, as sysbench has them, and SQLite's busy states.
pub fn default_ignored_errors(family: Option<Family>) -> Vec<String> {
    let codes: &[&str] = match family {
        Some(Family::Mysql) => &["1213", "1020", "1205"],
        Some(Family::Postgres) => &["40P01", "40001", "23505"],
        Some(Family::Sqlite) => &["5", "261", "517"],
        None => &[],
    };
    codes.iter().map(|code| (*code).to_owned()).collect()
}
