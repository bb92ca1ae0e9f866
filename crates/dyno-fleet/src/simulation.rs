//! Simulates whole runs with agents in virtual time, on the simulated bus: each agent has a
//! separate clock, and its load is drawn from a seed. For tests, and to estimate the cost of many
//! agents.

mod host;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dyno_core::clock::{Nanos, thread_cpu};
use dyno_core::interval::Interval;

use crate::agent::Exit;
use crate::bus::simulated::{self, Faults, SimulatedBus, Traffic};
use crate::bus::{Bus as _, Incoming};
use crate::coordinator::{Coordinator, Event, FleetConfig, Output, Report};
use crate::finding::Finding;
use crate::merge::Merged;
use crate::message::Build;
use crate::names::AgentName;

use host::Host;
pub use host::{Load, recorded};

/// The civil time at the start of the simulation, in nanoseconds since 1970.
const EPOCH_NS: u64 = 1_800_000_000_000_000_000;

/// An agent's host and its faults. Times are true time, from 0.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its monotonic clock at true time 0.
    pub clock_ns: Nanos,
    /// How much faster its clock is, as a share.
    pub drift: f64,
    /// By how much its civil clock is ahead, in nanoseconds.
    pub civil_ahead_ns: i64,
    /// When its process is killed.
    pub dies_at: Option<Nanos>,
    /// When it is suspended with its load: from and to.
    pub frozen: Option<(Nanos, Nanos)>,
    /// When a second process with its name starts.
    pub twin_at: Option<Nanos>,
    /// Number of intervals of its load.
    pub intervals: u64,
    /// Its program.
    pub build: Build,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            clock_ns: 1_000_000_000_000,
            drift: 0.0,
            civil_ahead_ns: 0,
            dies_at: None,
            frozen: None,
            twin_at: None,
            intervals: 3,
            build: Build::default(),
        }
    }
}

/// A run to simulate.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The configuration of the coordinator.
    pub config: FleetConfig,
    /// The hosts of the agents, in the order of their names.
    pub hosts: Vec<Setup>,
    /// The load that each records.
    pub load: Load,
    /// The faults of the bus.
    pub faults: Faults,
    /// Whether to keep the recorded intervals for [`HostEnd`].
    pub keeps_recorded: bool,
    /// When the coordinator is killed.
    pub coordinator_dies_at: Option<Nanos>,
    /// When the simulation ends in any case.
    pub until: Nanos,
    /// The random seed.
    pub seed: u64,
}

/// The result of a simulation.
#[derive(Debug)]
pub struct Simulated {
    /// The report of the run; `None` if the coordinator did not finish.
    pub report: Option<Report>,
    /// The intervals that the coordinator reported, in order.
    pub merged: Vec<Merged>,
    /// Its findings during the run.
    pub findings: Vec<Finding>,
    /// The hosts.
    pub hosts: Vec<HostEnd>,
    /// Traffic over the bus.
    pub traffic: Traffic,
    /// When the coordinator finished, in true time.
    pub over_at: Option<Nanos>,
    /// CPU time of the coordinator, in nanoseconds.
    pub coordinator_cpu_ns: Nanos,
}

/// The result on a host.
#[derive(Clone, Debug, Default)]
pub struct HostEnd {
    /// The intervals that its load recorded, with times since its start by its own clock.
    pub recorded: Vec<Interval>,
    /// When its load began, in true time.
    pub began_at: Option<Nanos>,
    /// When its load ended, in true time.
    pub load_ended_at: Option<Nanos>,
    /// Whether its load is still running.
    pub is_loading: bool,
    /// How its agent exited; `None` if it was killed, or has not.
    pub exit: Option<Exit>,
    /// How the second process with its name exited.
    pub twin_exit: Option<Exit>,
}

/// The number of the coordinator among the ends of the bus; agents follow from 1.
const COORDINATOR: usize = 0;

struct Run {
    scenario: Scenario,
    coordinator: Coordinator,
    bus: SimulatedBus,
    hosts: Vec<Host>,
    /// When to wake which end next.
    wakes: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The time of the earliest entry of each end.
    planned: Vec<Nanos>,
    out: Simulated,
}

/// An observer of the simulation.
pub trait Watch {
    /// Receives a merged interval; one that it returns is kept.
    fn interval(&mut self, merged: Merged) -> Option<Merged>;
    /// The coordinator's turn begins or ends.
    fn turn(&mut self, begins: bool);
}

/// Keeps all intervals.
#[derive(Clone, Copy, Debug)]
pub struct Keep;

impl Watch for Keep {
    fn interval(&mut self, merged: Merged) -> Option<Merged> {
        Some(merged)
    }

    fn turn(&mut self, _begins: bool) {}
}

/// Simulates a run to its end or time limit. `None` if the number of hosts differs from the number
/// of agents, or the run cannot be divided among them.
pub fn run(scenario: &Scenario, watch: &mut impl Watch) -> Option<Simulated> {
    if scenario.hosts.len() != scenario.config.agents.len() {
        return None;
    }
    let names: Vec<AgentName> = scenario.config.agents.clone();
    let (world, bus, ends) = simulated::ends(&names, scenario.faults.clone(), scenario.seed);
    let coordinator = Coordinator::new(scenario.config.clone(), 0, EPOCH_NS).ok()?;
    let hosts = ends.into_iter().enumerate();
    let hosts: Vec<Host> = hosts
        .map(|(index, end)| Host::new(scenario, index, end))
        .collect();
    let mut run = Run {
        planned: vec![Nanos::MAX; hosts.len() + 1],
        scenario: scenario.clone(),
        coordinator,
        bus,
        hosts,
        wakes: BinaryHeap::new(),
        out: Simulated {
            report: None,
            merged: Vec::new(),
            findings: Vec::new(),
            hosts: Vec::new(),
            traffic: Traffic::default(),
            over_at: None,
            coordinator_cpu_ns: 0,
        },
    };
    for end in 0..=run.hosts.len() {
        run.plan(end, 0);
    }
    loop {
        let wake = run.wakes.peek().map(|Reverse((at, _))| *at);
        let message = world.borrow().next_at();
        let next = wake.into_iter().chain(message).min();
        let Some(now) = next.filter(|next| *next <= scenario.until) else {
            break;
        };
        let mut ends = world.borrow_mut().advance(now);
        while let Some(Reverse((at, end))) = run.wakes.peek().copied() {
            if at > now {
                break;
            }
            run.wakes.pop();
            if run.planned[end] == at {
                run.planned[end] = Nanos::MAX;
                ends.insert(end);
            }
        }
        for end in ends {
            run.look(end, now, watch);
        }
        if run.is_quiet() {
            break;
        }
    }
    run.out.traffic = world.borrow().traffic();
    run.out.hosts = run.hosts.into_iter().map(Host::end).collect();
    Some(run.out)
}

impl Run {
    fn plan(&mut self, end: usize, at: Nanos) {
        if at < self.planned[end] {
            self.planned[end] = at;
            self.wakes.push(Reverse((at, end)));
        }
    }

    fn coordinator_lives(&self, now: Nanos) -> bool {
        self.scenario.coordinator_dies_at.is_none_or(|at| now < at)
    }

    fn look(&mut self, end: usize, now: Nanos, watch: &mut impl Watch) {
        if end != COORDINATOR {
            if let Some(next) = self.hosts[end - 1].look(now) {
                self.plan(end, next.max(now + 1));
            }
            return;
        }
        if !self.coordinator_lives(now) || self.coordinator.is_over() {
            return;
        }
        watch.turn(true);
        let began = thread_cpu();
        while let Ok(Some(incoming)) = self.bus.receive(now) {
            if let Incoming::Message { subject, bytes } = incoming {
                self.coordinator.receive(&subject, &bytes, now);
            }
        }
        if now >= self.planned_tick() {
            self.coordinator.tick(now);
        }
        // The coordinator also encodes its messages, which counts as its CPU time.
        let (mut said, mut events) = (Vec::new(), Vec::new());
        while let Some(output) = self.coordinator.next_output() {
            match output {
                Output::Send(message) => {
                    said.extend(message.encode().map(|b| (message.subject(), b)))
                }
                Output::Event(event) => events.push(event),
            }
        }
        self.out.coordinator_cpu_ns += thread_cpu() - began;
        watch.turn(false);
        for (subject, bytes) in said {
            let _ = self.bus.send(&subject, &bytes);
        }
        for event in events {
            match event {
                Event::Interval(merged) => self.out.merged.extend(watch.interval(*merged)),
                Event::Finding(finding) => self.out.findings.push(finding),
                Event::Ended(report) => self.out.report = Some(*report),
                Event::Phase(_) | Event::Joined(..) | Event::Divided(_) => {}
            }
        }
        if self.coordinator.is_over() {
            self.out.over_at = Some(now);
        } else {
            let next = self.coordinator.wakes_at(now).max(now + 1);
            self.plan(end, next);
        }
    }

    /// The time of the next tick; a message alone does not cause one.
    fn planned_tick(&self) -> Nanos {
        match self.planned[COORDINATOR] {
            Nanos::MAX => 0,
            at => at,
        }
    }

    /// Whether the coordinator and all hosts are done.
    fn is_quiet(&self) -> bool {
        let coordinated = self.out.over_at.is_some() || self.scenario.coordinator_dies_at.is_some();
        coordinated && self.hosts.iter().all(Host::is_gone)
    }
}
