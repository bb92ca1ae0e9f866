//! Coordinates several load generators: a state machine without I/O. Messages and times go in;
//! messages and events come out. All times are on the coordinator's own monotonic clock.
//!
//! Orders are repeated until they are confirmed, and each is valid until the next, so the bus may
//! lose, repeat or reorder messages. Every run ends: it completes, or fails with a finding that
//! explains why.

mod calibrating;
mod hearing;
mod member;
mod progress;
mod report;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dyno_core::clock::Nanos;
use dyno_core::finding::Outcome;
use dyno_core::interval::Interval;

use crate::division::{Division, DivisionError};
use crate::finding::{Finding, Kind};
use crate::merge::{Merged, Merger};
use crate::message::{Body, Build, Hello, Message, Order, PROTOCOL, Task, short};
use crate::names::{AgentName, RunId};
use member::Member;

pub(crate) use hearing::differences;
pub(crate) use member::Total;
pub use report::{AgentReport, Report};
pub(crate) use report::{judge_record, same_events};

/// What happens if a run loses an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPolicy {
    /// All agents stop, and the run fails.
    #[default]
    Fail,
    /// The other agents continue with their own shares, and a finding doubts the figures.
    Degrade,
}

/// Whether agents calibrate, and what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calibration {
    /// No calibration.
    #[default]
    None,
    /// To compare the ceilings with the load; an agent may fail to calibrate.
    Compared,
    /// To divide the run in proportion to it.
    Shares,
}

/// Timeouts and intervals.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Timeout until all agents have joined.
    pub gather_ns: Nanos,
    /// Timeout until all are ready.
    pub ready_ns: Nanos,
    /// An agent is lost after this much silence.
    pub lost_ns: Nanos,
    /// An agent stops its load after this long without contact to the coordinator.
    pub orphan_ns: Nanos,
    /// Timeout from the end of the load until all records have arrived.
    pub drain_ns: Nanos,
    /// Minimum time from the order to begin to the start.
    pub lead_ns: Nanos,
    /// Number of probes in a burst.
    pub probes: u32,
    /// Interval between probes.
    pub probe_gap_ns: Nanos,
    /// Interval between bursts while the load runs.
    pub burst_gap_ns: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        const SECOND: Nanos = 1_000_000_000;
        Self {
            gather_ns: 60 * SECOND,
            ready_ns: 60 * SECOND,
            // Longer than `orphan_ns`: a lost agent no longer generates load. TCP retries after
            // 0.2, 0.6, 1.4, 3 and 6.2 s.
            lost_ns: 11 * SECOND,
            orphan_ns: 10 * SECOND,
            drain_ns: 30 * SECOND,
            lead_ns: SECOND,
            probes: 50,
            probe_gap_ns: 2_000_000,
            burst_gap_ns: 10 * SECOND,
        }
    }
}

/// The configuration of a coordinated run.
#[derive(Clone, Debug)]
pub struct FleetConfig {
    /// The run.
    pub run: RunId,
    /// The plan as JSON, without any secret.
    pub plan: String,
    /// The agents, in the order of their shares.
    pub agents: Vec<AgentName>,
    /// The division, unless it depends on the calibration.
    pub division: Division,
    /// Whether agents calibrate before they prepare, and what for.
    pub calibration: Calibration,
    /// The coordinator's own program.
    pub build: Build,
    /// Whether to accept other programs with a doubt instead of refusing them.
    pub allow_mixed_versions: bool,
    /// What happens if the run loses an agent.
    pub on_loss: LossPolicy,
    /// From the start to the beginning of interval 0.
    pub warmup_ns: Nanos,
    /// The length of an interval.
    pub interval_ns: Nanos,
    /// The maximum time from the start to the end of the load, with warm-up and grace; `None` if
    /// only the number of events limits it.
    pub length_ns: Option<Nanos>,
    /// Total arrivals per second, if they are evenly spaced.
    pub constant_rate: Option<f64>,
    /// Timeouts and intervals.
    pub limits: Limits,
}

impl FleetConfig {
    /// A run with an empty plan and intervals of a second, whose agents do not calibrate and all
    /// run the default program.
    pub fn new(run: RunId, agents: Vec<AgentName>, division: Division) -> Self {
        Self {
            run,
            plan: "{}".to_owned(),
            agents,
            division,
            calibration: Calibration::None,
            build: Build::default(),
            allow_mixed_versions: false,
            on_loss: LossPolicy::Fail,
            warmup_ns: 0,
            interval_ns: 1_000_000_000,
            length_ns: None,
            constant_rate: None,
            limits: Limits::default(),
        }
    }
}

/// The phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Waiting for agents to join.
    Gather,
    /// Waiting for calibrations.
    Calibrate,
    /// Waiting for agents to be ready.
    Ready,
    /// All have been ordered to begin.
    Armed {
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The start.
        start: Nanos,
    },
    /// The agents generate load.
    Running,
    /// The load is ending or was ordered to end; records still arrive.
    Draining,
    /// All results are in; agents are ordered to leave.
    Leaving,
    /// The run is over.
    Over,
}

/// An output of the coordinator.
#[derive(Debug)]
pub enum Output {
    /// A message that may be lost.
    Send(Message),
    /// An event to report or record.
    Event(Event),
}

/// An event to report or record.
#[derive(Debug)]
pub enum Event {
    /// The run entered this phase.
    Phase(Phase),
    /// An agent joined, by its number from 0.
    Joined(usize, Box<Hello>),
    /// All agents have joined, and the run is divided.
    Divided(Division),
    /// Something is wrong or unusual. It is in the report, too.
    Finding(Finding),
    /// An interval of all agents.
    Interval(Box<Merged>),
    /// The report of the run.
    Ended(Box<Report>),
}

/// Coordinates one run.
#[derive(Debug)]
pub struct Coordinator {
    config: FleetConfig,
    plan_sha256: String,
    phase: Phase,
    /// When the phase began.
    since: Nanos,
    members: Vec<Member>,
    /// The numbers of the agents.
    numbers: BTreeMap<AgentName, usize>,
    merger: Option<Merger>,
    /// The sum of the agents' totals.
    totals_reported: Interval,
    start: Nanos,
    ticked_at: Nanos,
    /// When to start the next burst of probes while the load runs.
    next_burst: Nanos,
    /// The host's civil time at instant 0 of its monotonic clock, in nanoseconds since 1970.
    unix_origin_ns: i128,
    attempts: u32,
    bus_is_down: bool,
    findings: Vec<Finding>,
    /// Why the run has failed.
    failed: Option<String>,
    /// Refused processes, by agent and instance: each is reported once.
    refused: BTreeSet<(usize, u64)>,
    outputs: VecDeque<Output>,
}

impl Coordinator {
    /// Starts waiting for the agents. `unix_ns` is the host's civil time now.
    ///
    /// # Errors
    /// The number of agents differs from that of the division, or two agents have the same name.
    pub fn new(config: FleetConfig, now: Nanos, unix_ns: u64) -> Result<Self, DivisionError> {
        let names: BTreeSet<&AgentName> = config.agents.iter().collect();
        let count = config.agents.len();
        if count == 0 || names.len() != count || config.division.agents() as usize != count {
            return Err(DivisionError::Agents {
                agents: names.len(),
                parts: config.division.agents(),
            });
        }
        let members = config
            .agents
            .iter()
            .cloned()
            .map(|name| Member::new(name, now));
        Ok(Self {
            plan_sha256: crate::agent::sha256(&config.plan),
            phase: Phase::Gather,
            since: now,
            members: members.collect(),
            numbers: config.agents.iter().cloned().zip(0..).collect(),
            merger: None,
            totals_reported: Interval::default(),
            start: 0,
            ticked_at: now,
            next_burst: 0,
            unix_origin_ns: i128::from(unix_ns) - i128::from(now),
            attempts: 0,
            bus_is_down: false,
            findings: Vec::new(),
            failed: None,
            refused: BTreeSet::new(),
            outputs: VecDeque::new(),
            config,
        })
    }

    /// The next output.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The phase of the run.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether it is over: there will be no more output.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The names of the agents, by their numbers from 0.
    pub fn names(&self) -> &[AgentName] {
        &self.config.agents
    }

    /// The common start, once it is set.
    pub fn start(&self) -> Option<Nanos> {
        matches!(self.phase, Phase::Running | Phase::Draining).then_some(self.start)
    }

    /// Ends the run early: the load stops, and the measurements are kept.
    pub fn stop(&mut self, why: &str, now: Nanos) {
        self.fail(why, now);
    }

    /// Ends the run at once, with the records received so far.
    pub fn abandon(&mut self, why: &str, now: Nanos) {
        self.fail(why, now);
        if self.phase == Phase::Draining {
            self.finish(now);
            self.enter(Phase::Over, now);
        }
    }

    /// The bus is down, or up again. No agent is lost while it is down.
    pub fn bus(&mut self, is_up: bool, now: Nanos) {
        if self.bus_is_down == is_up {
            self.bus_is_down = !is_up;
            if is_up {
                self.members
                    .iter_mut()
                    .for_each(|member| member.heard_at = now);
            } else {
                let evidence = "the connection to the bus is lost; agents keep their measurements \
                                until it is back"
                    .to_owned();
                self.find(Finding::of_run(Kind::BusLost, Outcome::Pass, evidence));
            }
        }
    }

    fn enter(&mut self, phase: Phase, now: Nanos) {
        self.outputs
            .push_back(Output::Event(Event::Phase(phase.clone())));
        self.phase = phase;
        self.since = now;
    }

    fn find(&mut self, finding: Finding) {
        self.outputs
            .push_back(Output::Event(Event::Finding(finding.clone())));
        self.findings.push(finding);
    }

    fn find_of(&mut self, kind: Kind, outcome: Outcome, member: usize, evidence: String) {
        let finding = Finding::of(kind, outcome, &self.members[member].name, evidence);
        self.find(finding);
    }

    /// Fails the run, and orders agents with load to stop.
    fn fail(&mut self, why: &str, now: Nanos) {
        if matches!(self.phase, Phase::Leaving | Phase::Over) {
            return;
        }
        if self.failed.is_none() {
            self.failed = Some(why.to_owned());
        }
        if self.phase != Phase::Draining {
            self.enter(Phase::Draining, now);
        }
        let task = Task::Stop { why: short(why) };
        for member in 0..self.members.len() {
            if !self.members[member].lost {
                self.order(member, task.clone());
            }
        }
    }

    /// Gives an agent an order, which is repeated until the next one.
    fn order(&mut self, member: usize, task: Task) {
        let member = &mut self.members[member];
        if member.task != task {
            member.serial += 1;
            member.task = task;
            member.order_at = 0;
        }
    }

    fn order_all(&mut self, task: &Task) {
        for member in 0..self.members.len() {
            if !self.members[member].lost {
                self.order(member, task.clone());
            }
        }
    }

    fn send_order(&mut self, member: usize) {
        let Some(instance) = self.members[member].instance else {
            return;
        };
        let order = Order {
            serial: self.members[member].serial,
            task: self.members[member].task.clone(),
        };
        self.send(member, instance, Body::Order(Box::new(order)));
    }

    fn send(&mut self, member: usize, instance: u64, body: Body) {
        let message = Message {
            v: PROTOCOL,
            run: self.config.run.clone(),
            agent: self.members[member].name.clone(),
            instance,
            body,
        };
        self.outputs.push_back(Output::Send(message));
    }

    fn unix_ns(&self, at: Nanos) -> u64 {
        u64::try_from(self.unix_origin_ns + i128::from(at)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
