//! Where server and client spend CPU time during the measurement: stacks sampled by the system's
//! `perf`. A separate thread starts and stops it, and it dies with that thread.

mod fold;
mod perf;
mod server;
mod why;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::cpu_profile::{CpuProfile, ProfiledProcess};
use dyno_core::record::{Fact, NotObserved};

use crate::observers::own_descriptors;
use fold::{Folded, Group, Wanted};
use perf::{Plan, Recorder, Sampled};
pub use server::KnownServer;

/// Samples per second of CPU time: not a round number, so that periodic work is not always hit or
/// always missed.
const FREQUENCY_HZ: u32 = 99;
/// The approximate number of samples of server and client if all CPUs are busy: longer runs are
/// sampled at a lower frequency. A share of a thousandth is twelve of them.
const SAMPLES_MAX: u64 = 12_000;
/// The largest recording, in case the estimate was wrong. A sample has 16 KiB of its stack.
const BYTES_MAX: u64 = 320 << 20;
/// Programs are built without frame pointers, so callers are found by unwinding a copy of the
/// stack. With 8 KiB the outermost callers of MariaDB are missing in 70 % of the samples, with 16
/// KiB in 4 %.
const CALL_GRAPH: &str = "dwarf,16384";
/// How long before the measurement perf is started: it takes some time to begin.
const LEAD: Duration = Duration::from_millis(700);
/// The timeout for identifying the server's process.
const KNOWN_PATIENCE: Duration = Duration::from_secs(5);
/// The interval of checks for that, and whether perf still runs.
const LOOK: Duration = Duration::from_millis(100);
/// A later beginning than this is reported.
const LATE: Duration = Duration::from_millis(500);
/// The number of starts of perf, if a process ends before perf can attach to it.
const ATTEMPTS: u32 = 3;
/// If perf ends this soon after its start, the recording had not begun.
const SETTLED: Duration = Duration::from_millis(600);
/// The timeout for turning samples into stacks, for server and client each.
const FOLD_PATIENCE: Duration = Duration::from_secs(60);
/// The source of facts about profiles.
const SOURCE: &str = "perf record";
/// The name of the thread that reads the workers' usage when the measurement begins, and then ends.
const PASSING: &str = "usage";

/// What to profile.
pub struct ProfileConfig {
    /// When the measurement begins, possibly in the future.
    pub begin: Nanos,
    /// Planned length of the measurement, if known.
    pub length: Option<Duration>,
    /// The server's process.
    pub server: Arc<KnownServer>,
}

/// The results of profiling.
#[derive(Debug, Default)]
pub struct Profiled {
    /// The profiles, the server's first.
    pub profiles: Vec<CpuProfile>,
    /// Gaps in the profiles, apart from those reported during the run.
    pub gaps: Vec<NotObserved>,
    /// How it was sampled.
    pub facts: Vec<Fact>,
    /// The CPU time used by perf while it sampled, in seconds.
    pub cpu_s: f64,
}

/// A running profiler.
pub struct Profiler {
    orders: Sender<Order>,
    thread: JoinHandle<Profiled>,
}

enum Order {
    /// The measurement is over.
    Stop,
    /// The beginning and the end of the measurement.
    Finish(Nanos, Nanos),
}

impl Profiler {
    /// Starts a profiler, which begins with the measurement. `on_gaps` is called once, early in it,
    /// with everything that will have no profile, if any.
    ///
    /// # Errors
    /// The thread could not be created.
    pub fn start(
        config: ProfileConfig,
        on_gaps: impl FnOnce(Vec<NotObserved>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (orders, received) = channel();
        let (owning, owned) = channel::<()>();
        let body = move || {
            own_descriptors(owning);
            let mut work = Work::new(config, received);
            work.record(on_gaps)
                .map_or_else(Profiled::default, |span| work.fold(span))
        };
        let thread = std::thread::Builder::new().name("dyno-profile".to_owned());
        let thread = thread.spawn(body)?;
        // Nobody else's descriptors are copied while that thread creates its own table.
        let _ = owned.recv();
        Ok(Self { orders, thread })
    }

    /// The measurement is over: stops sampling.
    pub fn stop(&self) {
        // A profiler that has ended samples nothing.
        let _ = self.orders.send(Order::Stop);
    }

    /// Ends it without a result.
    pub fn abandon(self) {
        drop(self.orders);
        // It may have panicked.
        let _ = self.thread.join();
    }

    /// Returns the profiles of the measurement between these times. Takes up to two minutes.
    pub fn finish(self, from: Nanos, to: Nanos) -> Profiled {
        let _ = self.orders.send(Order::Stop);
        let _ = self.orders.send(Order::Finish(from, to));
        // A thread that panicked has no result.
        self.thread.join().unwrap_or_default()
    }
}

/// The state of the thread.
struct Work {
    config: ProfileConfig,
    orders: Receiver<Order>,
    frequency_hz: u32,
    parts: Vec<Part>,
    gaps: Vec<NotObserved>,
    /// Nothing more is reported about the server.
    is_server_reported: bool,
    cpu_s: f64,
}

/// A running perf.
struct Part {
    /// The processes sampled in it.
    of: Vec<ProfiledProcess>,
    sampled: Sampled,
    recorder: Recorder,
    started: Nanos,
    attempts: u32,
    /// When it was found to have ended by itself.
    ended: Option<Nanos>,
}

impl Work {
    fn new(config: ProfileConfig, orders: Receiver<Order>) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        Self {
            frequency_hz: frequency_hz(config.length, cpus),
            is_server_reported: !config.server.is_expected(),
            config,
            orders,
            parts: Vec::new(),
            gaps: Vec::new(),
            cpu_s: 0.0,
        }
    }

    /// Samples until stopped. Returns the measurement's beginning and end; `None` if the result is
    /// not wanted.
    fn record(&mut self, on_gaps: impl FnOnce(Vec<NotObserved>)) -> Option<(Nanos, Nanos)> {
        let begin = self.config.begin;
        let mut on_gaps = Some(on_gaps);
        let mut due = begin.saturating_sub(LEAD.as_nanos() as Nanos);
        let mut is_due = true;
        loop {
            let wait = Duration::from_nanos(due.saturating_sub(Clock.now()));
            match self.orders.recv_timeout(wait) {
                Ok(Order::Stop) => break,
                Ok(Order::Finish(from, to)) => return Some((from, to)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if std::mem::take(&mut is_due) {
                match perf::may_sample_host() {
                    true => self.begin(ProfiledProcess::ALL.to_vec(), Sampled::Host, 1),
                    false => self.begin_client(),
                }
            }
            self.look_for_server(Clock.now() > begin + KNOWN_PATIENCE.as_nanos() as Nanos);
            self.look();
            let settled = self.is_server_reported && self.parts.iter().all(Part::has_settled);
            if settled && let Some(on_gaps) = on_gaps.take() {
                on_gaps(std::mem::take(&mut self.gaps));
            }
            due = Clock.now() + LOOK.as_nanos() as Nanos;
        }
        self.end();
        let spans = self.orders.iter().filter_map(|order| match order {
            Order::Finish(from, to) => Some((from, to)),
            // It was stopped before.
            Order::Stop => None,
        });
        spans.take(1).last()
    }

    /// Checks whether the server's process is known by now, and starts its perf if it has a
    /// separate one.
    fn look_for_server(&mut self, late: bool) {
        if self.is_server_reported {
            return;
        }
        let is_of_host = (self.parts.iter()).any(|part| matches!(part.sampled, Sampled::Host));
        match self.config.server.family() {
            Some(Ok(_)) if is_of_host => {}
            Some(Ok(pids)) => {
                let of = vec![ProfiledProcess::Server];
                self.begin(of, Sampled::Processes(pids), 1);
            }
            Some(Err(why)) => self.gap(ProfiledProcess::Server, why),
            None if late => {
                let why = "the server's process was not identified in time".to_owned();
                self.gap(ProfiledProcess::Server, why);
            }
            None => return,
        }
        self.is_server_reported = true;
    }

    fn begin_client(&mut self) {
        let of = vec![ProfiledProcess::Client];
        self.begin(of, Sampled::Threads(own_threads()), 1);
    }

    fn begin(&mut self, of: Vec<ProfiledProcess>, sampled: Sampled, attempts: u32) {
        let plan = Plan {
            of: sampled,
            frequency_hz: self.frequency_hz,
            bytes_max: BYTES_MAX,
            call_graph: CALL_GRAPH,
        };
        let started = Clock.now();
        match Recorder::start(&plan) {
            Ok(recorder) => self.parts.push(Part {
                of,
                sampled: plan.of,
                recorder,
                started,
                attempts,
                ended: None,
            }),
            Err(error) => self.gaps_of(&of, &why::of_start(&error)),
        }
    }

    /// Checks whether a perf has ended by itself. If it could not begin, it is reported, or started
    /// again because a process ended before perf could attach to it.
    fn look(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        for mut part in parts {
            if part.ended.is_some() || !part.recorder.is_over() {
                self.parts.push(part);
                continue;
            }
            self.cpu_s += part.recorder.cpu_s();
            match part.recorder.failure(&part.sampled) {
                None => {
                    part.ended = Some(Clock.now());
                    self.parts.push(part);
                }
                Some(why) => self.retry(&part, &why),
            }
        }
    }

    /// Starts a failed perf another way, or reports it.
    fn retry(&mut self, part: &Part, why: &str) {
        match &part.sampled {
            // A container's root may only sample its own processes.
            Sampled::Host => {
                self.begin_client();
                self.is_server_reported = !self.config.server.is_expected();
            }
            Sampled::Processes(pids) if part.attempts < ATTEMPTS && is_gone(pids) => {
                match self.config.server.family() {
                    Some(Ok(pids)) => {
                        let sampled = Sampled::Processes(pids);
                        self.begin(part.of.clone(), sampled, part.attempts + 1);
                    }
                    Some(Err(why)) => self.gaps_of(&part.of, &why),
                    None => self.gaps_of(&part.of, why),
                }
            }
            _ => self.gaps_of(&part.of, why),
        }
    }

    /// Stops every running perf.
    fn end(&mut self) {
        self.look();
        for part in &mut self.parts {
            part.recorder.stop();
        }
        for part in self.parts.iter_mut().filter(|part| part.ended.is_none()) {
            part.recorder.join();
            self.cpu_s += part.recorder.cpu_s();
        }
    }

    /// Turns samples into profiles.
    fn fold(mut self, span: (Nanos, Nanos)) -> Profiled {
        let mut profiled = Profiled::default();
        for mut part in std::mem::take(&mut self.parts) {
            if let Some(why) = part.recorder.failure(&part.sampled) {
                self.gaps_of(&part.of, &why);
                continue;
            }
            let groups = self.groups(&part);
            let wanted = Wanted {
                groups: groups.iter().map(|(_, group)| group.clone()).collect(),
                from: span.0,
                to: span.1,
            };
            let (found, is_cut) = match part.recorder.fold(wanted, FOLD_PATIENCE) {
                Ok(folded) => folded,
                Err(error) => {
                    self.gaps_of(&part.of, &format!("perf script failed: {error}"));
                    continue;
                }
            };
            for ((process, _), found) in groups.iter().zip(found) {
                let cut = part.cut(span, &found, is_cut);
                let why = no_samples(*process, cut.as_deref());
                match self.profile(*process, found, cut, &mut profiled.facts) {
                    Some(profile) => profiled.profiles.push(profile),
                    None => self.gap(*process, why),
                }
            }
        }
        if !profiled.profiles.is_empty() {
            let hz = self.frequency_hz.to_string();
            profiled.facts.extend([
                Fact::new(names::PROFILE_FREQUENCY_HZ, hz, SOURCE),
                Fact::new(names::PROFILE_CALL_GRAPH, CALL_GRAPH, SOURCE),
            ]);
        }
        profiled.profiles.sort_by_key(|profile| profile.process);
        profiled.gaps = self.gaps;
        profiled.cpu_s = self.cpu_s;
        profiled
    }

    /// Assigns the samples of a recording to groups.
    fn groups(&self, part: &Part) -> Vec<(ProfiledProcess, Group)> {
        let own = std::process::id().cast_signed();
        let groups = part.of.iter().filter_map(|process| {
            let group = match (process, &part.sampled) {
                (ProfiledProcess::Client, _) => Group::Process(own),
                (ProfiledProcess::Server, Sampled::Host) => match self.config.server.pids() {
                    Some(Ok(pids)) => Group::Families(pids),
                    // That it is unknown was reported.
                    _ => return None,
                },
                (ProfiledProcess::Server, _) => Group::All,
            };
            Some((*process, group))
        });
        groups.collect()
    }

    /// The profile with its facts; `None` without a sample.
    fn profile(
        &self,
        process: ProfiledProcess,
        found: Folded,
        cut: Option<String>,
        facts: &mut Vec<Fact>,
    ) -> Option<CpuProfile> {
        if found.samples == 0 {
            return None;
        }
        let event = found.event.unwrap_or_default();
        facts.retain(|fact| fact.name != names::PROFILE_EVENT);
        facts.push(Fact::new(names::PROFILE_EVENT, event, SOURCE));
        for (fact, count) in [
            (names::PROFILE_SAMPLES, found.samples),
            (names::PROFILE_LOST, found.lost),
        ] {
            let name = fact.of(process.name());
            facts.push(Fact::new(name, count.to_string(), SOURCE));
        }
        Some(CpuProfile {
            process,
            frequency_hz: self.frequency_hz,
            samples: found.samples,
            lost: found.lost,
            cut,
            stacks: found.stacks,
        })
    }

    fn gaps_of(&mut self, processes: &[ProfiledProcess], why: &str) {
        for process in processes {
            self.gap(*process, why.to_owned());
        }
    }

    fn gap(&mut self, process: ProfiledProcess, why: String) {
        let is_server = process == ProfiledProcess::Server;
        if is_server && !self.config.server.is_expected() {
            return;
        }
        self.is_server_reported |= is_server;
        self.gaps.push(NotObserved {
            what: format!("profile.{}", process.name()),
            why,
        });
    }
}

impl Part {
    /// Whether it has begun to sample.
    fn has_settled(&self) -> bool {
        Clock.now() > self.started + SETTLED.as_nanos() as Nanos
    }

    /// The part of the measurement that it does not cover.
    fn cut(&mut self, (from, to): (Nanos, Nanos), found: &Folded, is_cut: bool) -> Option<String> {
        let seconds = |at: Nanos| at.saturating_sub(from) as f64 / 1e9;
        let late = LATE.as_nanos() as Nanos;
        let mut said = Vec::new();
        if self.started > from + late {
            said.push(format!("It begins after {:.1} s.", seconds(self.started)));
        }
        if let Some(ended) = self.ended.filter(|ended| ended + late < to) {
            let why = match self.recorder.is_full() {
                true => format!("{} MiB were written", BYTES_MAX >> 20),
                false => "the processes ended, or perf did".to_owned(),
            };
            said.push(format!("It ends after {:.1} s: {why}.", seconds(ended)));
        }
        if is_cut {
            let last = found.last.unwrap_or(from);
            said.push(format!(
                "It ends after {:.1} s: reading the samples took longer than {} s.",
                seconds(last),
                FOLD_PATIENCE.as_secs()
            ));
        }
        (!said.is_empty()).then(|| said.join(" "))
    }
}

/// The frequency that limits the number of samples, if the length is known.
fn frequency_hz(length: Option<Duration>, cpus: u64) -> u32 {
    let length_s = length.map_or(0, |length| length.as_secs());
    let most = SAMPLES_MAX / (length_s * cpus.max(1)).max(1);
    most.clamp(1, FREQUENCY_HZ.into()) as u32
}

fn no_samples(process: ProfiledProcess, cut: Option<&str>) -> String {
    let name = process.name();
    match cut {
        // The uncovered part is not known to be idle.
        Some(cut) => format!("the recording has no sample of the {name}: {cut}"),
        None => {
            format!("perf took no sample of the {name}: it used no CPU time during the measurement")
        }
    }
}

/// The threads of this process except those that end immediately: a perf that watches single
/// threads uses a whole core once one of them has ended.
fn own_threads() -> Vec<i32> {
    let lasts = |tid: &i32| {
        let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm"));
        name.is_ok_and(|name| name.trim() != PASSING)
    };
    let tids = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let tids = tids.flatten().map(|entry| entry.file_name());
    let tids = tids.filter_map(|name| name.to_string_lossy().parse().ok());
    tids.filter(lasts).collect()
}

/// Whether one of these processes has ended.
fn is_gone(pids: &[i32]) -> bool {
    pids.iter().any(|pid| perf::user_of(*pid).is_none())
}

#[cfg(test)]
mod tests;
