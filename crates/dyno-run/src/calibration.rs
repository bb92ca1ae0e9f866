//! The load generator's own ceiling: the same script, sessions and workers against a server that
//! answers at once. It is cached between runs, because it changes only with these and with the
//! host.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dyno_core::Target;
use dyno_core::clock::wall_time;
use dyno_core::db::Family;
use dyno_core::plan::{Drive, OptionValue};
use dyno_core::scheduling;
use dyno_core::target::Endpoint;
use dyno_core::text::hex;
use dyno_load::{RunOutcome, StopSignal};
use dyno_null::{Listeners, Speaks};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Context as _, OrFailed as _, Result, failed};
use crate::job::{Job, Loaded};
use crate::scratch::{self, Scratch};
use crate::sink::{Notice, Sinks};

/// How long a calibration measures, and how long its warm-up is.
const MEASURE: Duration = Duration::from_millis(1500);
const WARMUP: Duration = Duration::from_millis(500);
/// The length of a calibration with its warm-up.
pub const LENGTH: Duration = Duration::from_secs(2);
/// How old a cached calibration may be in seconds. Kernels are updated, and virtual machines get
/// new neighbours.
const AGE_S_MAX: f64 = 7.0 * 86_400.0;

/// The client's cost of a script, measured against a server that costs nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The workers' CPU time per event in microseconds.
    pub cpu_us_per_event: f64,
    /// The most events per second that the workers could offer with one core each.
    pub events_per_s_max: f64,
    /// The events per second that they offered while they shared the host with the null server.
    pub events_per_s: f64,
    /// The longest time for which a worker did not serve its sockets, which is the host's jitter.
    pub stall_ms_max: f64,
    /// The 99.9th percentile of the service time, all of which is spent in the client and the
    /// kernel.
    pub p999_ms: f64,
    /// Number of sessions.
    pub sessions: u32,
    /// Number of threads that drove them.
    pub workers: u32,
    /// How the server was reached: `tcp` or `unix socket`.
    pub transport: String,
    /// When it was measured, in seconds since the Unix epoch.
    pub made_unix_s: f64,
}

/// Why a script cannot be calibrated for a target. `None` if it can.
pub fn obstacle(target: Option<&Target>) -> Option<&'static str> {
    match target.map(|target| target.family) {
        None => Some("the script uses no database"),
        Some(family) if family.is_embedded() => {
            Some("SQLite runs inside the client, so there is no server to replace")
        }
        Some(_) => None,
    }
}

/// A cached calibration of this job, if there is a recent one.
pub fn cached(job: &Job, options: &[(String, OptionValue)]) -> Option<Calibration> {
    let all = read(&cache_file()?);
    let calibration = all.get(&key(job, options))?.clone();
    let age_s = wall_time().as_secs_f64() - calibration.made_unix_s;
    (0.0..AGE_S_MAX).contains(&age_s).then_some(calibration)
}

/// Runs a calibration and caches it.
///
/// # Errors
/// The script does not run on canned answers, or the host lacks resources for the null server.
pub fn make(
    job: &Job,
    options: &[(String, OptionValue)],
    stop: &Arc<StopSignal>,
    sinks: &Sinks,
) -> Result<Calibration> {
    if let Some(obstacle) = obstacle(job.target.as_ref()) {
        return Err(failed(format!("there is nothing to calibrate: {obstacle}")));
    }
    let server = NullServer::start(job.target.as_ref())?;
    if server.folder.swept().folders > 0 {
        sinks.notice(&Notice::Swept(server.folder.swept()));
    }
    let mut null = job.clone();
    null.target = Some(server.target()?);
    null.canned = true;
    null.drive = Drive {
        time: Some(MEASURE),
        events: None,
        warmup: WARMUP,
        ramp_up: Duration::ZERO,
        open_loop: None,
        schedule: None,
        // This instant has passed when the run begins.
        begin_unix_s: None,
        ..job.drive.clone()
    };
    let mut ready = Loaded::new(null)
        .and_then(|loaded| loaded.ready(options.to_vec(), Arc::clone(stop)))
        .context("cannot prepare the workload on the null server")?;
    // The null server lacks what `init` looks up or creates, and sessions do without it.
    let _ = ready.call("init");
    let outcome = ready.run(|_| {}).context("the script does not run")?;
    let calibration = calibration(&outcome, &ready.job.drive, server.transport)?;
    // If the cache cannot be written, that only costs two seconds next time.
    let _ = keep(&key(job, options), &calibration);
    Ok(calibration)
}

fn calibration(outcome: &RunOutcome, drive: &Drive, transport: &str) -> Result<Calibration> {
    let counters = outcome.totals.counters;
    if let Some((_, why)) = outcome.failures.first() {
        return Err(failed(format!(
            "the script does not run on the null server's canned answers: {why}"
        )));
    }
    if counters.events == 0 {
        let seconds = MEASURE.as_secs_f64();
        return Err(failed(format!("no event finished within {seconds} s")));
    }
    let measured_s = outcome.measured_end.saturating_sub(outcome.measured_start) as f64 / 1e9;
    let cpu_ns: u64 = outcome.workers.iter().map(|worker| worker.cpu_ns).sum();
    let cpu_us_per_event = cpu_ns as f64 / 1e3 / counters.events as f64;
    let workers = outcome.workers.len() as f64;
    let stall_ns_max = outcome.workers.iter().map(|worker| worker.stall_ns_max);
    let service = &outcome.totals.latencies.service;
    Ok(Calibration {
        cpu_us_per_event,
        events_per_s_max: workers * 1e6 / cpu_us_per_event,
        events_per_s: outcome.in_window().events as f64 / measured_s,
        stall_ms_max: stall_ns_max.max().unwrap_or(0) as f64 / 1e6,
        p999_ms: service.value_at_quantile(0.999) as f64 / 1e6,
        sessions: drive.sessions,
        workers: drive.workers,
        transport: transport.to_owned(),
        made_unix_s: wall_time().as_secs_f64(),
    })
}

/// A null server on its own thread, which ends when this is dropped.
struct NullServer {
    folder: Scratch,
    scheme: &'static str,
    port: Option<u16>,
    transport: &'static str,
    /// Closing it ends the thread.
    _stop: UnixStream,
}

impl NullServer {
    fn start(target: Option<&Target>) -> Result<Self> {
        let speaks = match target.map(|target| target.family) {
            Some(Family::Postgres) => Speaks::Postgres,
            Some(Family::Mysql | Family::Sqlite) | None => Speaks::Mysql,
        };
        let by_tcp = target.is_some_and(|target| {
            matches!(target.endpoints.first(), Some(Endpoint::Tcp(..)) | None)
        });
        let name = scratch::name(wall_time().as_nanos());
        let folder = Scratch::make(&std::env::temp_dir(), &name)
            .context("cannot create a folder for the null server's socket")?;
        let socket = socket(folder.path());
        let listeners = Listeners::bind(&socket.to_string_lossy(), by_tcp.then_some(0))
            .map_err(|why| failed(format!("cannot start the null server: {why}")))?;
        let port = listeners.port();
        let (stop, stopped) = UnixStream::pair().context("cannot start the null server")?;
        std::thread::Builder::new()
            .name("null-server".to_owned())
            .spawn(move || {
                scheduling::usual_slices();
                dyno_null::serve(listeners, speaks, Some(OwnedFd::from(stopped)))
            })
            .context("cannot start the null server's thread")?;
        Ok(Self {
            folder,
            scheme: match speaks {
                Speaks::Postgres => Family::Postgres.name(),
                Speaks::Mysql => Family::Mysql.name(),
            },
            port,
            transport: if by_tcp { "tcp" } else { "unix socket" },
            _stop: stop,
        })
    }

    fn target(&self) -> Result<Target> {
        let scheme = self.scheme;
        let url = match self.port {
            Some(port) => format!("{scheme}://root@127.0.0.1:{port}/null?sslmode=disable"),
            None => {
                let socket = socket(self.folder.path());
                format!("{scheme}://root@/null?socket={}", socket.display())
            }
        };
        Target::parse(&url).context(format!("the null server's address {url} is invalid"))
    }
}

/// PostgreSQL's clients require this name. MySQL's clients accept any name.
fn socket(folder: &Path) -> PathBuf {
    folder.join(".s.PGSQL.5432")
}

/// The key of the cache: everything that a calibration depends on, which is the host, the program,
/// the script with its options, and the drive.
fn key(job: &Job, options: &[(String, OptionValue)]) -> String {
    let mut hash = Sha256::new();
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let family = job.target.as_ref().map(|target| target.family);
    let by_socket = job
        .target
        .as_ref()
        .is_some_and(|target| matches!(target.endpoints.first(), Some(Endpoint::Unix(_))));
    let drive = &job.drive;
    let parts = [
        machine,
        env!("CARGO_PKG_VERSION").to_owned(),
        String::from_utf8_lossy(&job.work.text()).into_owned(),
        format!("{:?} {:?}", lasting(options), job.rand),
        format!("{family:?} {by_socket} {}", job.emulate_prepared),
        format!("{} {}", drive.own().sessions, drive.workers),
    ];
    for part in &parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(hash.finalize())
}

/// The options, except those that only change the length or the rate of a run.
fn lasting(options: &[(String, OptionValue)]) -> Vec<&(String, OptionValue)> {
    const PASSING: [&str; 6] = [
        "time",
        "events",
        "warmup_time",
        "rate",
        "rand_seed",
        "report_interval",
    ];
    let lasts = |(name, _): &&(String, OptionValue)| !PASSING.contains(&name.as_str());
    options.iter().filter(lasts).collect()
}

fn cache_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(base.join("dyno/calibrations.json"))
}

fn read(path: &Path) -> BTreeMap<String, Calibration> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn keep(key: &str, calibration: &Calibration) -> Result<()> {
    let path = cache_file().or_failed("neither XDG_CACHE_HOME nor HOME is set")?;
    let folder = path
        .parent()
        .or_failed("there is no folder for the cache")?;
    std::fs::create_dir_all(folder)?;
    let mut all = read(&path);
    all.insert(key.to_owned(), calibration.clone());
    // Write a temporary file and rename it, so that concurrent runs leave a complete file.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let text = serde_json::to_string_pretty(&all).map_err(std::io::Error::from)?;
    file.write_all(text.as_bytes())?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
