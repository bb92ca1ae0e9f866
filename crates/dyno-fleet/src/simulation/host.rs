//! A host in virtual time: an agent, its load, and its clock.

use dyno_core::clock::Nanos;
use dyno_core::db::ErrorKind;
use dyno_core::interval::{Interval, OperationInterval, RoleCounters, count_error};
use dyno_core::rand::Stream;
use dyno_core::states::{SessionState, SessionStates};

use super::{EPOCH_NS, HostEnd, Scenario, Setup};
use crate::agent::{Action, Agent, AgentConfig, Command, LINGER_NS};
use crate::bus::simulated::SimulatedBus;
use crate::bus::{Bus as _, Incoming};
use crate::message::{Ceiling, End, Hello, Message, PROTOCOL, Stage};

const PREPARE_NS: Nanos = 20_000_000;
const STOP_NS: Nanos = 30_000_000;

/// The load recorded in each simulated interval.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of events.
    pub events: u32,
    /// Number of operations, which share the events.
    pub operations: u32,
    /// The length of an interval.
    pub interval_ns: Nanos,
}

/// An interval of a simulated load, with times since its start: deterministic for a seed, agent and
/// number.
pub fn recorded(load: &Load, seed: u64, agent: usize, index: u64) -> Interval {
    let mut stream = Stream::new(seed ^ index.wrapping_mul(0x9e37_79b9), agent as u64);
    let mut interval = Interval {
        index,
        start: index * load.interval_ns,
        end: (index + 1) * load.interval_ns,
        operations: vec![OperationInterval::default(); load.operations as usize],
        roles: vec![RoleCounters::default()],
        states: SessionStates::all(SessionState::Working, 2),
        concurrency: 2,
        ..Interval::default()
    };
    for _ in 0..load.events {
        // From 100 µs up, over four powers of two, for a distribution with a body and a tail.
        let ns = (100_000 + stream.below(100_000)) << (stream.next_u64() & 3).min(stream.below(9));
        interval.counters.events += 1;
        interval.counters.reads += 1 + ns % 3;
        interval.counters.bytes_in += ns % 977;
        interval.latencies.record_service(ns);
        interval.roles[0].events += 1;
        let operations = u64::from(load.operations.max(1));
        if let Some(operation) = interval.operations.get_mut((ns % operations) as usize) {
            operation.counters.done += 1;
            operation.latencies.record_service(ns);
        }
        if ns.is_multiple_of(31) {
            interval.counters.errors += 1;
            count_error(&mut interval.errors, "1213", ErrorKind::Conflict, 1, || {
                "deadlock".to_owned()
            });
        }
    }
    interval
}

/// The state of a load, in true time.
#[derive(Debug)]
enum Doing {
    Nothing,
    /// Calibrated at this time.
    Calibrating(Nanos),
    /// Ready at this time.
    Preparing(Nanos),
    /// Begins at this time, the second on the host's clock.
    Waiting(Nanos, Nanos),
    /// Running since this time on the host's clock.
    Running(Nanos),
    /// Ends at this time.
    Stopping(Nanos),
}

#[derive(Debug)]
struct Process {
    agent: Agent,
    doing: Doing,
}

#[derive(Debug)]
pub(super) struct Host {
    index: usize,
    setup: Setup,
    load: Load,
    seed: u64,
    bus: SimulatedBus,
    process: Option<Process>,
    twin: Option<Process>,
    twin_config: Option<AgentConfig>,
    is_gone: bool,
    /// Number of intervals recorded.
    made: u64,
    /// Whether to keep them.
    keeps: bool,
    out: HostEnd,
}

impl Host {
    pub(super) fn new(scenario: &Scenario, index: usize, bus: SimulatedBus) -> Self {
        let setup = scenario.hosts[index].clone();
        let config = AgentConfig {
            run: scenario.config.run.clone(),
            name: scenario.config.agents[index].clone(),
            instance: 1 + index as u64,
            hello: Hello {
                build: setup.build.clone(),
                protocols: vec![PROTOCOL],
                ..Hello::default()
            },
            join_ns: scenario.config.limits.gather_ns,
            linger_ns: LINGER_NS,
        };
        let twin = AgentConfig {
            instance: 1_000_000 + index as u64,
            ..config.clone()
        };
        let mut host = Self {
            index,
            twin_config: setup.twin_at.map(|_| twin),
            load: scenario.load,
            seed: scenario.seed,
            bus,
            process: None,
            twin: None,
            is_gone: false,
            made: 0,
            keeps: scenario.keeps_recorded,
            out: HostEnd::default(),
            setup,
        };
        let (now, unix_ns) = (host.local(0), host.unix_ns(0));
        host.process = Some(Process {
            agent: Agent::new(config, now, unix_ns),
            doing: Doing::Nothing,
        });
        host
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    pub(super) fn end(self) -> HostEnd {
        let process = self.process.as_ref();
        let is_loading = process
            .is_some_and(|process| matches!(process.doing, Doing::Running(_) | Doing::Stopping(_)));
        HostEnd {
            is_loading,
            ..self.out
        }
    }

    /// The host's clock at a true time.
    fn local(&self, now: Nanos) -> Nanos {
        self.setup.clock_ns + now.saturating_add_signed((now as f64 * self.setup.drift) as i64)
    }

    /// The true time at which the host's clock shows this.
    fn at(&self, local: Nanos) -> Nanos {
        let elapsed = local.saturating_sub(self.setup.clock_ns);
        let mut at = (elapsed as f64 / (1.0 + self.setup.drift)) as Nanos;
        while self.local(at) < local {
            at += 1;
        }
        at
    }

    fn unix_ns(&self, now: Nanos) -> u64 {
        (EPOCH_NS + now).saturating_add_signed(self.setup.civil_ahead_ns)
    }

    /// Performs all due actions; returns the time of the next one, in true time.
    pub(super) fn look(&mut self, now: Nanos) -> Option<Nanos> {
        if self.is_gone {
            return None;
        }
        if self.setup.dies_at.is_some_and(|at| now >= at) {
            if self.is_loading() {
                self.out.load_ended_at = self.setup.dies_at;
            }
            self.process = None;
            self.twin = None;
            self.is_gone = true;
            return None;
        }
        if let Some((from, to)) = self.setup.frozen
            && (from..to).contains(&now)
        {
            return Some(to);
        }
        if self.setup.twin_at.is_some_and(|at| now >= at)
            && let Some(config) = self.twin_config.take()
        {
            let agent = Agent::new(config, self.local(now), self.unix_ns(now));
            self.twin = Some(Process {
                agent,
                doing: Doing::Nothing,
            });
        }
        self.hear(now);
        let mut own = self.process.take();
        let mut next = own.as_mut().map(|process| self.turn(process, now, true));
        self.process = own.filter(|process| !process.agent.has_exited());
        let mut twin = self.twin.take();
        let twin_next = twin.as_mut().map(|process| self.turn(process, now, false));
        self.twin = twin.filter(|process| !process.agent.has_exited());
        next = next.into_iter().chain(twin_next).min();
        let waits_for_twin = self.twin_config.is_some();
        if self.process.is_none() && self.twin.is_none() && !waits_for_twin {
            self.is_gone = true;
            return None;
        }
        let events = [
            self.setup.dies_at,
            self.setup.twin_at,
            self.setup.frozen.map(|f| f.0),
        ];
        let ahead = events.into_iter().flatten().filter(|at| *at > now);
        next.into_iter().chain(ahead).min()
    }

    fn is_loading(&self) -> bool {
        let doing = self.process.as_ref().map(|process| &process.doing);
        matches!(doing, Some(Doing::Running(_) | Doing::Stopping(_)))
    }

    fn hear(&mut self, now: Nanos) {
        let local = self.local(now);
        while let Ok(Some(incoming)) = self.bus.receive(now) {
            for process in self.process.iter_mut().chain(&mut self.twin) {
                match &incoming {
                    Incoming::Message { subject, bytes } => {
                        if let Ok(message) = Message::decode(subject, bytes) {
                            process.agent.receive(message, local);
                        }
                    }
                    Incoming::Confirmed { id } => process.agent.confirmed(id, local),
                    Incoming::Down | Incoming::Up => {}
                }
            }
        }
    }

    /// Runs a process until nothing is due; returns the next time.
    fn turn(&mut self, process: &mut Process, now: Nanos, is_own: bool) -> Nanos {
        let local = self.local(now);
        loop {
            self.work(process, now);
            process.agent.tick(local);
            let mut is_idle = true;
            while let Some(action) = process.agent.next_action() {
                is_idle = false;
                self.act(process, action, now, is_own);
            }
            if is_idle {
                break;
            }
        }
        let work = match process.doing {
            Doing::Nothing => Nanos::MAX,
            Doing::Calibrating(at)
            | Doing::Preparing(at)
            | Doing::Waiting(at, _)
            | Doing::Stopping(at) => at,
            Doing::Running(start) => self.at(start + (self.made + 1) * self.load.interval_ns),
        };
        self.at(process.agent.wakes_at()).min(work)
    }

    fn act(&mut self, process: &mut Process, action: Action, now: Nanos, is_own: bool) {
        match action {
            Action::Send(message) => {
                if let Ok(bytes) = message.encode() {
                    let _ = self.bus.send(&message.subject(), &bytes);
                }
            }
            Action::Keep(kept) => {
                let _ = self.bus.keep(&kept);
            }
            Action::Do(Command::Calibrate(_)) => {
                process.doing = Doing::Calibrating(now + PREPARE_NS);
            }
            Action::Do(Command::Prepare(_)) => process.doing = Doing::Preparing(now + PREPARE_NS),
            Action::Do(Command::Start { at }) => process.doing = Doing::Waiting(self.at(at), at),
            Action::Do(Command::CallOff) => process.doing = Doing::Nothing,
            Action::Do(Command::Stop { .. }) => {
                process.doing = match process.doing {
                    Doing::Running(_) => Doing::Stopping(now + STOP_NS),
                    _ => Doing::Nothing,
                }
            }
            Action::Do(Command::Exit(exit)) => {
                if matches!(process.doing, Doing::Running(_) | Doing::Stopping(_)) {
                    self.out.load_ended_at = Some(now);
                }
                process.doing = Doing::Nothing;
                match is_own {
                    true => self.out.exit = Some(exit),
                    false => self.out.twin_exit = Some(exit),
                }
            }
        }
    }

    fn work(&mut self, process: &mut Process, now: Nanos) {
        let local_now = self.local(now);
        match process.doing {
            Doing::Calibrating(at) if now >= at => {
                process.doing = Doing::Nothing;
                let ceiling = Ceiling {
                    per_s: Some(1e3 * (self.index + 1) as f64),
                    ..Ceiling::default()
                };
                process.agent.calibrated(ceiling, self.local(now));
            }
            Doing::Preparing(at) if now >= at => {
                process.doing = Doing::Nothing;
                process.agent.prepared(local_now);
            }
            Doing::Waiting(at, start) if now >= at => {
                process.agent.began(local_now);
                if process.agent.stage() == Stage::Running {
                    self.out.began_at = Some(now);
                    process.doing = Doing::Running(start);
                    self.measure(process, now, start);
                } else {
                    process.doing = Doing::Nothing;
                }
            }
            Doing::Running(start) => self.measure(process, now, start),
            Doing::Stopping(at) if now >= at => {
                process.doing = Doing::Nothing;
                self.out.load_ended_at = Some(now);
                process.agent.ended(End::Stopped, local_now);
            }
            _ => {}
        }
    }

    fn measure(&mut self, process: &mut Process, now: Nanos, start: Nanos) {
        let local_now = self.local(now);
        while self.made < self.setup.intervals {
            let index = self.made;
            if local_now < start + (index + 1) * self.load.interval_ns {
                return;
            }
            let mut own = recorded(&self.load, self.seed, self.index, index);
            if self.keeps {
                self.out.recorded.push(own.clone());
            }
            own.start += start;
            own.end += start;
            // Simulated intervals always fit into messages.
            let _ = process.agent.interval(&own, local_now);
            self.made += 1;
        }
        process.doing = Doing::Nothing;
        self.out.load_ended_at = Some(now);
        process.agent.ended(End::Completed, local_now);
    }
}
