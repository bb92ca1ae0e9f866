//! Whole runs of a fleet in virtual time, on the simulated bus: agents with clocks of their own and
//! a load that is drawn from a seed. For tests, and to see what many agents would cost.

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

/// The civil time at which the simulation begins, in nanoseconds since 1970.
const EPOCH_NS: u64 = 1_800_000_000_000_000_000;

/// An agent's host, and what happens to it. Instants are of the true time, from 0.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its monotonic clock at true instant 0.
    pub clock_ns: Nanos,
    /// How much faster its clock is, as a share.
    pub drift: f64,
    /// By how much its civil clock is ahead, in nanoseconds.
    pub civil_ahead_ns: i64,
    /// When it is killed.
    pub dies_at: Option<Nanos>,
    /// From when to when it is stopped, with its load.
    pub frozen: Option<(Nanos, Nanos)>,
    /// When a second process of its name comes.
    pub twin_at: Option<Nanos>,
    /// How many intervals its load has.
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
    /// What is coordinated.
    pub config: FleetConfig,
    /// The hosts of the agents, in the order of their names.
    pub hosts: Vec<Setup>,
    /// What the load of each records.
    pub load: Load,
    /// What is wrong with the bus.
    pub faults: Faults,
    /// Whether what the loads record is kept for [`HostEnd`].
    pub keeps_recorded: bool,
    /// When the coordinator is killed.
    pub coordinator_dies_at: Option<Nanos>,
    /// When everything is looked at, whatever still goes on.
    pub until: Nanos,
    /// The seed of all that is random.
    pub seed: u64,
}

/// What happened.
#[derive(Debug)]
pub struct Simulated {
    /// What came of the run; `None` if the coordinator did not end it.
    pub report: Option<Report>,
    /// The intervals that the coordinator told, in that order.
    pub merged: Vec<Merged>,
    /// What it found meanwhile.
    pub findings: Vec<Finding>,
    /// The hosts.
    pub hosts: Vec<HostEnd>,
    /// What went over the bus.
    pub traffic: Traffic,
    /// When the coordinator was done, in true time.
    pub over_at: Option<Nanos>,
    /// CPU time that the coordinator took, in nanoseconds.
    pub coordinator_cpu_ns: Nanos,
}

/// What happened on a host.
#[derive(Clone, Debug, Default)]
pub struct HostEnd {
    /// What its load recorded, with instants since its start by its own clock.
    pub recorded: Vec<Interval>,
    /// When its load began, in true time.
    pub began_at: Option<Nanos>,
    /// When its load ended, in true time.
    pub load_ended_at: Option<Nanos>,
    /// Whether its load still goes on.
    pub is_loading: bool,
    /// How its agent left; `None` if it was killed, or has not.
    pub exit: Option<Exit>,
    /// How the second process of its name left.
    pub twin_exit: Option<Exit>,
}

/// Who is to be looked at: the coordinator, or an end of the bus.
const COORDINATOR: usize = 0;

struct Run {
    scenario: Scenario,
    coordinator: Coordinator,
    bus: SimulatedBus,
    hosts: Vec<Host>,
    /// When somebody is to be looked at next.
    wakes: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The earliest of each that is in there.
    planned: Vec<Nanos>,
    out: Simulated,
}

/// Who looks on.
pub trait Watch {
    /// Takes an interval of all; one that it returns is kept.
    fn told(&mut self, merged: Merged) -> Option<Merged>;
    /// The coordinator's turn begins, or ends.
    fn turn(&mut self, begins: bool);
}

/// Keeps all intervals.
#[derive(Clone, Copy, Debug)]
pub struct Keep;

impl Watch for Keep {
    fn told(&mut self, merged: Merged) -> Option<Merged> {
        Some(merged)
    }

    fn turn(&mut self, _begins: bool) {}
}

/// Simulates a run to its end, or to the instant at which it is looked at. `None` where there are
/// not as many hosts as agents, or the run cannot be divided among them.
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
        // What it says is encoded by it, too.
        let (mut said, mut told) = (Vec::new(), Vec::new());
        while let Some(output) = self.coordinator.next_output() {
            match output {
                Output::Send(message) => {
                    said.extend(message.encode().map(|b| (message.subject(), b)))
                }
                Output::Tell(event) => told.push(event),
            }
        }
        self.out.coordinator_cpu_ns += thread_cpu() - began;
        watch.turn(false);
        for (subject, bytes) in said {
            let _ = self.bus.send(&subject, &bytes);
        }
        for event in told {
            match event {
                Event::Interval(merged) => self.out.merged.extend(watch.told(*merged)),
                Event::Found(finding) => self.out.findings.push(finding),
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

    /// A message alone has the coordinator look at nothing but it.
    fn planned_tick(&self) -> Nanos {
        match self.planned[COORDINATOR] {
            Nanos::MAX => 0,
            at => at,
        }
    }

    /// Whether nothing will happen any more.
    fn is_quiet(&self) -> bool {
        let coordinated = self.out.over_at.is_some() || self.scenario.coordinator_dies_at.is_some();
        coordinated && self.hosts.iter().all(Host::is_gone)
    }
}
