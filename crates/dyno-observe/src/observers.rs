//! The observers' thread: its schedule, its start and its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::{Nanos, thread_cpu};
use dyno_core::db::Family;

use crate::affinity;
use crate::data::Data;
use crate::database::{Watch, watch};
use crate::directories::{self, ServerDirectory};
use crate::host::{CpuShares, Host, host_facts, host_gaps};
use crate::process::{Located, Own, Placed, Rest, Server, Workers, listeners};
use crate::sink::{Gauge, Rate, SampleBuffer, Sink};
use crate::{Config, Cost, OBSERVATIONS_MAX, Observation};

/// How many samples to take between searches for workers.
const SEARCH: u64 = 10;
/// After this many samples, the workers have settled on CPUs.
const SETTLED: u64 = 2;
/// How long to wait at the end for a database that does not answer.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// How long the last sample may take. This is longer than waiting for a slow database, and than
/// reading everything on a healthy host.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// Skip the last sample if less than this fraction of a period has passed since the previous one.
const PERIOD_SHARE_MIN: u64 = 4;

/// Why observers did not start.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The thread could not be created.
    #[error("cannot start a thread for the observers: {0}")]
    Thread(std::io::Error),
}

/// Running observers. They also end when this is dropped without [`Observers::stop`].
pub struct Observers {
    /// Takes a sender for the cost, and ends the thread.
    stops: Sender<SyncSender<Cost>>,
    sink: Sink,
    thread: Option<JoinHandle<()>>,
}

impl Observers {
    /// Starts the observers. They report facts, settings and gaps, take a first sample at once, and
    /// then take one per period until they are stopped. If one observer fails, that is reported as
    /// [`Observation::NotObserved`], and the others continue.
    ///
    /// Read from the receiver all the time, even during [`Observers::stop`]. Otherwise,
    /// observations are lost ([`Cost::missed`]). It is disconnected when the observers have ended.
    ///
    /// # Errors
    /// The thread could not be created.
    pub fn start(config: Config) -> Result<(Self, Receiver<Observation>), ObserveError> {
        let (sender, observations) = sync_channel(OBSERVATIONS_MAX);
        let (stops, stopped) = channel();
        let sink = Sink::new(sender);
        let own_sink = sink.clone();
        let database = watch(&config, &sink).map_err(ObserveError::Thread)?;
        let thread = std::thread::Builder::new().name("dyno-observe".to_owned());
        let allowed = affinity::allowed();
        let (owning, owned) = channel::<()>();
        let body = move || {
            // Workers copy the descriptors of the process, but do not need these.
            own_descriptors(owning);
            Observer::new(config, sink, allowed, database).work(&stopped);
        };
        let thread = thread.spawn(body).map_err(ObserveError::Thread)?;
        let _ = owned.recv();
        let this = Self {
            stops,
            sink: own_sink,
            thread: Some(thread),
        };
        Ok((this, observations))
    }

    /// Takes a last sample and the final state, and ends. Waits at most a second for a server that
    /// does not answer, a few seconds for one that answers slowly, and 10 s for anything that hangs
    /// on this host, such as a file system. Returns `None` in the last case, and if the observers
    /// panicked.
    pub fn stop(self) -> Option<Cost> {
        self.stop_within(STOP_PATIENCE)
    }

    fn stop_within(self, patience: Duration) -> Option<Cost> {
        let (reply, cost) = sync_channel(1);
        let _ = self.stops.send(reply);
        match cost.recv_timeout(patience) {
            Ok(cost) => {
                if let Some(thread) = self.thread {
                    // The thread has finished its work.
                    let _ = thread.join();
                }
                Some(cost)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                let seconds = patience.as_secs_f64();
                let why = format!(
                    "the last sample was missing {seconds} s after the run's end: reading /proc or \
                     the data directory hangs"
                );
                self.sink.gap("observers.end", why);
                // Abandon the thread. Anything it may still send is discarded.
                self.sink.close();
                None
            }
        }
    }
}

/// The state of the thread.
struct Observer {
    recorder: SampleBuffer,
    host: Host,
    own: Own,
    workers: Workers,
    rest: Rest,
    database: Option<Watch>,
    /// Whether the server is part of this process.
    is_embedded: bool,
    up: Gauge,
    server: Option<Server>,
    data: Option<Data>,
    buffer: Vec<u8>,
    period_ns: Nanos,
    cpu: Rate,
    late: Gauge,
    took: Gauge,
    samples: u64,
    late_ns_max: Nanos,
    last_at: Option<Nanos>,
    /// CPUs that the process may use.
    allowed: Vec<usize>,
    /// The first sample with a worker.
    workers_since: Option<u64>,
    is_placed: bool,
}

/// Gives the calling thread its own table of descriptors, and then drops `owning`; the thread that
/// started it waits for that. If the table were copied while a script has a pipe to a program, the
/// copy would keep the pipe open, and the script would never read its end.
pub(crate) fn own_descriptors(owning: Sender<()>) {
    // If the kernel or a sandbox refuses this, it only costs a few descriptors.
    // SAFETY: a system call without pointers.
    unsafe { libc::unshare(libc::CLONE_FILES) };
    drop(owning);
}

impl Observer {
    fn new(config: Config, sink: Sink, allowed: Vec<usize>, database: Option<Watch>) -> Self {
        let endpoints = config.target.as_ref();
        let endpoints = endpoints.map_or(&[][..], |target| &target.endpoints);
        let further = listeners(endpoints.get(1..).unwrap_or_default());
        let file = config
            .target
            .filter(|target| target.family == Family::Sqlite);
        let folder = file.and_then(|target| {
            // A link may lead to another file system.
            let file = std::fs::canonicalize(&target.file);
            let file = file.unwrap_or_else(|_| target.file.clone());
            file.parent().map(Path::to_owned)
        });
        // A file name without a folder is in the current folder.
        let folder = folder.map(|path| match path.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => path,
        });
        if let Some(path) = &folder {
            let place = ServerDirectory {
                what: "data".to_owned(),
                path: path.clone(),
            };
            directories::report(&sink, &[place], None);
        }
        let place = folder.or(config.results_directory);
        let own = |name: &str, unit: &str| Gauge::new(name, unit, "CLOCK_MONOTONIC");
        let cpu_source = "CLOCK_THREAD_CPUTIME_ID";
        let is_embedded = config.connector.is_none_or(|connector| connector.blocks());
        Self {
            host: Host::new(place),
            own: Own::new(),
            workers: Workers::new(),
            rest: Rest::new(is_embedded, &further),
            is_embedded,
            database,
            up: Gauge::new(names::DB_UP, "count", "the observer's connection"),
            server: None,
            data: None,
            buffer: Vec::new(),
            period_ns: (config.period.as_nanos() as Nanos).max(1_000_000),
            cpu: Rate::scaled(names::OBSERVER_CPU, "cores", cpu_source, 1e-9),
            late: own(names::OBSERVER_LATE, "ms"),
            took: own(names::OBSERVER_TOOK, "ms"),
            samples: 0,
            late_ns_max: 0,
            last_at: None,
            allowed,
            workers_since: None,
            is_placed: false,
            recorder: SampleBuffer::new(sink, false),
        }
    }

    fn work(mut self, stopped: &Receiver<SyncSender<Cost>>) {
        self.introduce();
        let mut due = Clock.now();
        loop {
            let now = Clock.now();
            if now >= due {
                self.sample(now.saturating_sub(due));
                due = self.next_due(due);
            }
            let wait = Duration::from_nanos(due.saturating_sub(Clock.now()));
            match stopped.recv_timeout(wait) {
                Ok(reply) => {
                    let cost = self.finish();
                    // The caller may no longer be waiting.
                    let _ = reply.send(cost);
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The next time in the schedule. Times that have passed meanwhile count as missed.
    fn next_due(&self, due: Nanos) -> Nanos {
        let next = due + self.period_ns;
        let passed = Clock.now().saturating_sub(next).div_ceil(self.period_ns);
        self.recorder.sink().missed(passed);
        next + passed * self.period_ns
    }

    fn introduce(&mut self) {
        let sink = self.recorder.sink();
        for known in host_facts() {
            sink.send(Observation::Fact(known));
        }
        let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id().to_string());
        sink.fact(names::CLIENT_VERSION, version, "this program");
        sink.fact(names::CLIENT_PID, pid, "getpid");
        for gap in host_gaps() {
            sink.send(Observation::NotObserved(gap));
        }
    }

    fn sample(&mut self, late_ns: Nanos) {
        let at = Clock.now();
        self.recorder.begin(at);
        let shares = self.host.sample(&mut self.recorder, at, &mut self.buffer);
        self.look_for_workers();
        self.workers.sample(&mut self.recorder, &mut self.buffer);
        let tids = self.workers.tids();
        self.own.sample(&mut self.recorder, &mut self.buffer, &tids);
        self.sample_server();
        self.sample_others(shares);
        let cpu_ns = self.cpu_ns();
        self.cpu.put(&mut self.recorder, cpu_ns as f64);
        self.late.put(&mut self.recorder, late_ns as f64 / 1e6);
        let took_ns = Clock.now() - at;
        self.took.put(&mut self.recorder, took_ns as f64 / 1e6);
        self.recorder.finish();
        self.late_ns_max = self.late_ns_max.max(late_ns);
        self.last_at = Some(at);
        self.samples += 1;
        self.leave_worker_cpus();
    }

    fn cpu_ns(&self) -> Nanos {
        let database = self.database.as_ref().map(|watch| watch.shared.cpu_ns());
        thread_cpu() + database.unwrap_or(0)
    }

    fn sample_server(&mut self) {
        let Some(watch) = &self.database else {
            return;
        };
        if !self.is_embedded {
            let up = watch.shared.is_up(self.period_ns);
            self.up.put(&mut self.recorder, f64::from(u8::from(up)));
        }
        if let Some(placed) = watch.found.try_iter().last() {
            self.rest.placed(&placed);
            if let Placed::Here(located) = placed {
                self.server_found(located);
            }
        }
        if let Some(server) = &mut self.server
            && !server.sample(&mut self.recorder, &mut self.buffer)
        {
            self.server = None;
        }
        if let Some(data) = &mut self.data {
            let sink = self.recorder.sink().clone();
            data.sample(&mut self.recorder, &sink);
        }
    }

    /// Handles the server's process when it is found for the first time or found again.
    fn server_found(&mut self, located: Located) {
        if self
            .server
            .as_ref()
            .is_some_and(|server| *server.located() == located)
        {
            return;
        }
        let sink = self.recorder.sink().clone();
        if self.data.is_none() {
            directories::report(&sink, &located.places, Some(located.pid));
        }
        match &located.data {
            Some(path) if self.data.is_none() => {
                self.host.watch_data(path);
                self.data = Some(Data::new(path.clone(), located.family));
            }
            Some(_) => {}
            None => {
                let directory = located.data_directory.as_deref().unwrap_or("unknown");
                let why = format!(
                    "cannot read the server's data directory ({directory}): run Dyno as root or as \
                     the server's user"
                );
                sink.gap("data", why);
            }
        }
        self.server = Server::new(located, &sink);
    }

    fn sample_others(&mut self, shares: Option<CpuShares>) {
        let busy = shares.map(|shares| shares.busy_cores);
        let known = busy.zip(self.own.cores());
        let (server, cpus) = (self.server.as_ref(), self.allowed.len());
        self.rest.sample(&mut self.recorder, known, server, cpus);
    }

    fn look_for_workers(&mut self) {
        if self.workers.len() == 0 || self.samples.is_multiple_of(SEARCH) {
            self.workers.watch(&Workers::find());
        }
        if self.workers.len() > 0 {
            self.workers_since.get_or_insert(self.samples);
        }
    }

    /// Leaves the CPUs of the workers, once these have settled.
    fn leave_worker_cpus(&mut self) {
        let settled = self
            .workers_since
            .is_some_and(|since| self.samples > since + SETTLED);
        if self.is_placed || !settled {
            return;
        }
        self.is_placed = true;
        let beside = affinity::beside(&self.allowed, self.workers.len(), &self.workers.cpus());
        let moved = beside.filter(|cpus| affinity::bind(0, cpus).is_ok());
        let database = self.database.as_ref().and_then(|watch| watch.shared.tid());
        if let (Some(cpus), Some(tid)) = (&moved, database) {
            // The thread may have ended meanwhile.
            let _ = affinity::bind(tid, cpus);
        }
        let cpus = affinity::list(&moved.unwrap_or_else(|| self.allowed.clone()));
        let sink = self.recorder.sink();
        sink.fact(names::CLIENT_OBSERVER_CPUS, cpus, "sched_setaffinity");
    }

    /// Takes the last sample and the state at the end.
    fn finish(&mut self) -> Cost {
        let now = Clock.now();
        let since = now - self.last_at.unwrap_or(now);
        if since >= self.period_ns / PERIOD_SHARE_MIN {
            self.sample(0);
        }
        let sink = self.recorder.sink().clone();
        self.rest.finish(&sink, self.server.as_ref());
        let shared = self
            .database
            .as_ref()
            .map(|watch| Arc::clone(&watch.shared));
        if let Some(watch) = self.database.take()
            && !watch.stop(END_PATIENCE, &sink)
        {
            let seconds = END_PATIENCE.as_secs();
            let why = format!("the database did not answer within {seconds} s of the run's end");
            sink.gap("settings.end", why);
            // Its thread keeps waiting, up to the timeout of an answer.
            sink.close();
        }
        let database_ns = shared.map_or(0, |shared| shared.cpu_ns());
        Cost {
            cpu_s: (thread_cpu() + database_ns) as f64 / 1e9,
            samples: self.samples,
            late_ms_max: self.late_ns_max as f64 / 1e6,
            missed: self.recorder.sink().missed_so_far(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Enough time for several samples, however many there are.
    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn abandons_and_reports_observers_that_hang() {
        let (sender, observations) = sync_channel(16);
        let (stops, stopped) = channel();
        let sink = Sink::new(sender);
        let (release, held) = channel::<()>();
        let sinks = sink.clone();
        let hung = move || {
            // Hang like a thread whose file system does not answer.
            let _ = held.recv();
            drop((stopped, sinks));
        };
        let observers = Observers {
            stops,
            sink,
            thread: Some(std::thread::spawn(hung)),
        };
        assert!(observers.stop_within(Duration::from_millis(20)).is_none());
        let seen: Vec<Observation> = observations.iter().collect();
        assert!(
            matches!(&seen[..], [Observation::NotObserved(gap)] if gap.what == "observers.end"),
            "{seen:?}"
        );
        drop(release);
    }

    #[test]
    fn a_host_and_a_worker_are_observed() {
        let (stop, stopped) = channel::<()>();
        let worker = std::thread::Builder::new().name("dyno-3".to_owned());
        let worker = worker.spawn(move || stopped.recv().is_err()).unwrap();
        let config = Config {
            period: Duration::from_millis(20),
            ..Config::default()
        };
        let (observers, observations) = Observers::start(config).unwrap();
        let (mut names, mut samples) = (HashMap::new(), 0);
        let mut facts = Vec::new();
        while samples < 8 || !facts.iter().any(|name| name == "client.observer.cpus") {
            match observations.recv_timeout(LIMIT).unwrap() {
                Observation::Series { id, key, .. } => drop(names.insert(id, key.name)),
                Observation::Sample { values, .. } => {
                    samples += 1;
                    assert!(values.iter().all(|(id, _)| names.contains_key(id)));
                }
                Observation::Fact(fact) => facts.push(fact.name),
                _ => {}
            }
        }
        let cost = observers.stop().unwrap();
        drop(stop);
        worker.join().unwrap();
        assert!(cost.samples >= 8 && cost.cpu_s > 0.0, "{cost:?}");
        let names: Vec<String> = names.into_values().collect();
        for name in [
            "host.cpu.idle",
            "host.memory.available",
            "client.cpu.user",
            "client.descriptors",
            "client.worker[3].involuntary_switches",
            "observer.cpu",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(facts.iter().any(|name| name == "client.pid"));
        // The queue ends when the observers end.
        while observations.recv_timeout(LIMIT).is_ok() {}
    }
}
