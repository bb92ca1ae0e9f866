//! A job: a script or a host test, with everything it needs to run.

mod lazy;
mod main_state;
mod ready;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{Connector, ErrorKind, Family};
use dyno_core::plan::{Drive, OptionValue, RandPlan, Role};
use dyno_load::{Single, StopSignal};
use dyno_script::{
    AnswerError, Barrier, DatabaseErrors, Declared, Description, Host, HostConfig, Ledger,
    LoadProgress, Phase, Prints, Reported, SharedNumbers, Source,
};

use self::lazy::LazyConnector;
use self::main_state::MainState;
use self::ready::Main;
pub use self::ready::{Ready, Reporter};
use crate::builtins;
use crate::error::{Result, RunError, failed};
use crate::workload::{self, Workload};

/// The default timeout of each function of a script before and after the load.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(600);
/// How early workers wake up for an arrival by default: about the cost of a wake-up.
const SPIN: Duration = Duration::from_micros(20);

/// A workload with its options, its target and the way to drive it.
#[derive(Clone)]
pub struct Job {
    /// The workload that the sessions run.
    pub work: Workload,
    /// The command line, for scripts.
    pub argv: Vec<String>,
    /// The command, e.g. `run`.
    pub command: Option<String>,
    /// The options that scripts see as `sysbench.opt`.
    pub options: Vec<(String, OptionValue)>,
    /// The database; `None` for scripts without one.
    pub target: Option<Target>,
    /// How the run is driven.
    pub drive: Drive,
    /// The requested number of workers.
    pub workers: Option<u32>,
    /// The distributions.
    pub rand: RandPlan,
    /// The percentile for report functions.
    pub percentile: f64,
    /// Errors after which an event is repeated; see [`HostConfig::ignored_errors`].
    pub ignored_errors: Vec<String>,
    /// See [`HostConfig::reconnect_lost`].
    pub reconnect_lost: bool,
    /// The timeout of each function of the script before and after the load.
    pub call_timeout: Duration,
    /// See [`HostConfig::emulate_prepared`].
    pub emulate_prepared: bool,
    /// See [`HostConfig::luajit_cmd`].
    pub luajit_cmd: Option<String>,
    /// Whether the target is the null server: see [`HostConfig::canned`].
    pub canned: bool,
    /// Whether to record figures per statement shape.
    pub shapes: bool,
    /// Where the output of scripts goes.
    pub prints: Prints,
    /// Whether the job comes from sysbench's command line: see [`HostConfig::sysbench`].
    pub sysbench: bool,
    /// Receives the messages of the script layer.
    pub log: fn(&str, &str),
}

impl Job {
    /// A run of a workload without a database, with all defaults.
    pub fn of(work: Workload) -> Self {
        Self {
            work,
            argv: Vec::new(),
            command: Some("run".to_owned()),
            options: Vec::new(),
            target: None,
            drive: Drive::default(),
            workers: None,
            rand: RandPlan::default(),
            percentile: 95.0,
            ignored_errors: Vec::new(),
            reconnect_lost: true,
            call_timeout: CALL_TIMEOUT,
            emulate_prepared: false,
            luajit_cmd: None,
            canned: false,
            shapes: false,
            prints: Prints::Errors,
            sysbench: false,
            log: |_, _| {},
        }
    }

    /// Divides the sessions into these roles, which determine how many there are. An empty list
    /// changes nothing.
    pub fn play(&mut self, roles: Vec<Role>) {
        if !roles.is_empty() {
            self.with_sessions(roles.iter().map(|role| role.sessions).sum());
        }
        self.drive.roles = roles;
    }

    /// How early workers wake up for an arrival. A server on this host needs the CPUs itself.
    fn spin(&self) -> Duration {
        let own_host = (self.target.as_ref()).and_then(|target| target.plan().own_host());
        let usual = match own_host {
            Some(_) => Duration::ZERO,
            None => SPIN,
        };
        self.drive.spin.unwrap_or(usual)
    }

    /// Sets the number of sessions, which are driven by at most one worker per core.
    fn with_sessions(&mut self, sessions: u32) {
        self.drive.sessions = sessions;
        self.drive.workers = self.workers_for(sessions);
    }
}

/// The state that all Lua states of a job share.
#[derive(Clone)]
struct Shared {
    barrier: Arc<Barrier>,
    progress: Arc<LoadProgress>,
    unique: Arc<AtomicU64>,
    driver_used: Arc<AtomicBool>,
    script_failed: Arc<AtomicBool>,
    database_errors: Arc<DatabaseErrors>,
    ledger: Arc<Ledger>,
    reported: Arc<Reported>,
    numbers: Arc<SharedNumbers>,
}

impl Shared {
    fn new(drive: &Drive) -> Self {
        let first = drive.shard.as_ref();
        let first = first.map_or(0, |shard| u64::from(shard.number.saturating_sub(1)));
        Self {
            barrier: Arc::new(Barrier::new(drive.sessions)),
            progress: Arc::default(),
            unique: Arc::new(AtomicU64::new(first)),
            driver_used: Arc::default(),
            script_failed: Arc::default(),
            database_errors: Arc::default(),
            ledger: Arc::default(),
            reported: Arc::default(),
            numbers: Arc::default(),
        }
    }
}

/// A job whose script has run its top level in the main state.
pub struct Loaded {
    /// The job.
    pub job: Job,
    /// The script's declarations.
    pub description: Description,
    /// The main state; `None` for a host test.
    main: Option<MainState>,
    connector: Option<Arc<LazyConnector>>,
    shared: Shared,
}

impl Loaded {
    /// Runs the script's top level and reads its declarations.
    ///
    /// # Errors
    /// The script does not compile, or raises an error.
    pub fn new(job: Job) -> Result<Self> {
        let shared = Shared::new(&job.drive);
        let connector = job.target.clone().map(LazyConnector::new).map(Arc::new);
        let (description, main) = match &job.work {
            Workload::Host(test, edition) => (workload::description(test, *edition), None),
            Workload::Script(source) => {
                let config = host_config(&job, source, MAIN_STREAM, &shared, None);
                let connector = connector.clone().map(|made| made as Arc<dyn Connector>);
                // Without a command, only the top level runs, and has no timeout.
                let bound = match &job.command {
                    Some(_) => job.call_timeout,
                    None => Duration::MAX,
                };
                let (main, description) = MainState::start(config, connector, bound)?;
                (description, Some(main))
            }
        };
        Ok(Self {
            job,
            description,
            main,
            connector,
            shared,
        })
    }

    /// Sets the number of sessions, which are driven by at most one worker per core.
    pub fn with_sessions(mut self, sessions: u32) -> Self {
        self.job.with_sessions(sessions);
        self.shared.barrier = Arc::new(Barrier::new(sessions));
        self
    }

    /// The phases that the script's `phases()` returns for these options. Empty if it has no such
    /// function.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the function raised an error; an answer that is not a list of phases.
    pub fn phases(&mut self, options: &[(String, OptionValue)]) -> Result<Vec<Phase>> {
        let phases = self.report("phases", options, Host::phases)?;
        Ok(phases.unwrap_or_default())
    }

    /// The roles that the script's `roles()` returns for these options. Empty if it has no such
    /// function, or if the command is not `run`.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the function raised an error; an answer that is not a list of roles.
    pub fn roles(&mut self, options: &[(String, OptionValue)]) -> Result<Vec<Role>> {
        if self.job.command.as_deref() != Some("run") {
            return Ok(Vec::new());
        }
        let roles = self.report("roles", options, Host::roles)?;
        Ok(roles.unwrap_or_default())
    }

    /// Whether a run with these options creates the workload's tables itself, as the script's
    /// `creates_tables()` says.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the function raised an error; an answer that is neither true nor
    /// false.
    pub fn creates_tables(&mut self, options: &[(String, OptionValue)]) -> Result<bool> {
        let creates = self.report("creates_tables", options, Host::creates_tables)?;
        Ok(creates.unwrap_or(false))
    }

    /// Calls the script's checks of its options, before anything connects.
    ///
    /// # Errors
    /// [`RunError::Usage`] for a wrong value.
    pub fn check_options(&mut self, options: &[(String, OptionValue)]) -> Result<()> {
        self.report("check_options", options, Host::check_options)?;
        Ok(())
    }

    /// The answer of a script function with these options; `None` if it is undefined.
    fn report<R: Send + 'static>(
        &mut self,
        function: &str,
        options: &[(String, OptionValue)],
        ask: fn(&mut Host) -> Result<R, AnswerError>,
    ) -> Result<Option<R>> {
        let is_defined = self.description.functions.iter().any(|own| own == function);
        let Some(main) = self.main.as_mut().filter(|_| is_defined) else {
            return Ok(None);
        };
        let options = options.to_vec();
        let answer = main.act(&format!("{function}()"), move |main| {
            let set = main.program().set_options(&options);
            set.map_err(AnswerError::Failed)?;
            ask(main.program())
        });
        match answer.map_err(failed)? {
            Ok(answer) => Ok(Some(answer)),
            // It depends only on the options, so its error refuses them.
            Err(AnswerError::Raised(why)) => Err(RunError::Usage(why)),
            Err(AnswerError::Failed(why)) => Err(failed(why)),
        }
    }

    /// Sets what depends on the loaded script, and prepares the run.
    ///
    /// # Errors
    /// The target is invalid.
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
            connector,
            mut shared,
        } = self;
        job.options = options;
        job.play(roles);
        if let Some(main) = &mut main {
            let (stop, options) = (Arc::clone(&stop), job.options.clone());
            main.stop_by(stop, job.call_timeout)
                .and_then(|()| {
                    let set = move |main: &mut Single<Host>| main.program().set_options(&options);
                    main.act("setting options", set)?
                })
                .map_err(failed)?;
        }
        if !job.drive.roles.is_empty() {
            shared.barrier = Arc::new(Barrier::new(job.drive.sessions));
        }
        let connector: Option<Arc<dyn Connector>> = match connector {
            // Only sysbench scripts that connect should get the error.
            Some(lazy) if job.sysbench => Some(lazy.connector().unwrap_or(lazy)),
            Some(lazy) => Some(lazy.connector()?),
            None => None,
        };
        if connector
            .as_ref()
            .is_some_and(|connector| connector.blocks())
        {
            job.drive.workers = job.drive.sessions;
        }
        if job.drive.open_loop.is_some() {
            job.drive.spin = Some(job.spin());
        }
        let main = match main {
            Some(main) => Main::Script(main),
            None => Main::Host(Arc::new(workload::plan(&mut job)?)),
        };
        Ok(Ready {
            job,
            description,
            connector,
            stop,
            gate: None,
            duet: None,
            remote_observer: None,
            main,
            shared,
        })
    }
}

/// The number of cores of the host.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, usize::from) as u32
}

/// Creates another state of the script, whose top level has run, and returns it with the script's
/// declarations. Waits of its functions end after `bound`.
fn alone(
    mut config: HostConfig,
    connector: Option<Arc<dyn Connector>>,
    stop: Arc<StopSignal>,
    tid: u32,
    bound: Duration,
) -> Result<(Single<Host>, Description)> {
    // Its functions run alone, so a barrier must not wait for others.
    config.barrier = Arc::new(Barrier::new(1));
    let host = Host::new(Arc::new(config)).map_err(failed)?;
    let mut single = Single::new(host, connector, stop, tid)?;
    single.bound_calls(bound);
    single.run(&Host::top_level()).map_err(failed)?;
    let description = single.program().description();
    let description = description.map_err(failed)?;
    Ok((single, description))
}

/// Keeps the random streams of the main state apart from those of sessions.
const MAIN_STREAM: u64 = 1 << 32;

fn host_config(
    job: &Job,
    source: &Source,
    stream_base: u64,
    shared: &Shared,
    declared: Option<&Declared>,
) -> HostConfig {
    HostConfig {
        source: source.clone(),
        builtins: builtins::SCRIPTS,
        options: job.options.clone(),
        argv: job.argv.clone(),
        command: job.command.clone(),
        seed: job.drive.seed,
        stream_base,
        rand: job.rand.clone(),
        driver_name: job
            .target
            .as_ref()
            .map(|target| target.family.driver_name()),
        percentile: job.percentile,
        ignored_errors: job.ignored_errors.clone(),
        reconnect_lost: job.reconnect_lost,
        emulate_prepared: job.emulate_prepared,
        luajit_cmd: job.luajit_cmd.clone(),
        prints: job.prints,
        sysbench: job.sysbench,
        script_failed: Arc::clone(&shared.script_failed),
        database_errors: Arc::clone(&shared.database_errors),
        barrier: Arc::clone(&shared.barrier),
        progress: Arc::clone(&shared.progress),
        unique: Arc::clone(&shared.unique),
        unique_step: job.drive.shard.as_ref().map_or(1, |shard| shard.of.into()),
        driver_used: Arc::clone(&shared.driver_used),
        declared: declared.cloned(),
        plays_roles: !job.drive.roles.is_empty(),
        canned: job.canned,
        shared: Arc::clone(&shared.numbers),
        ledger: Arc::clone(&shared.ledger),
        reported: Arc::clone(&shared.reported),
        log: job.log,
    }
}

/// The default kinds of error after which an event is repeated. These are conflicts and, as in
/// sysbench, duplicate keys on PostgreSQL.
pub fn default_ignored_errors(family: Option<Family>) -> Vec<String> {
    let kinds: &[ErrorKind] = match family {
        Some(Family::Postgres) => &[ErrorKind::Conflict, ErrorKind::Duplicate],
        Some(_) => &[ErrorKind::Conflict],
        None => &[],
    };
    kinds.iter().map(ErrorKind::to_string).collect()
}
