//! Many load generators as one: a state machine without I/O. Messages and instants go in; messages
//! and events come out. All instants are of the coordinator's own monotonic clock.
//!
//! Orders are told again until they are confirmed, and each holds until the next, so that what the
//! bus loses, repeats or reorders does not matter. Whatever happens, a run ends: done, or failed
//! with a finding that says why.

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

/// What becomes of a run that loses an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPolicy {
    /// All stop, and the run has failed.
    #[default]
    Fail,
    /// The others go on with their own shares, and the finding doubts the figures.
    Degrade,
}

/// What agents find out what they can offer for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calibration {
    /// They do not.
    #[default]
    None,
    /// To compare what they did with it; one that cannot tell does not matter.
    Compared,
    /// To be given parts in proportion to it.
    Shares,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until all agents are there.
    pub gather_ns: Nanos,
    /// Until all are ready.
    pub ready_ns: Nanos,
    /// An agent of which nothing is heard for so long is lost.
    pub lost_ns: Nanos,
    /// An agent stops its load after so long without a word of the coordinator.
    pub orphan_ns: Nanos,
    /// From the end of the load until all records are there.
    pub drain_ns: Nanos,
    /// From the order to begin to the start, at least.
    pub lead_ns: Nanos,
    /// How many exchanges a burst of questions to a clock has.
    pub probes: u32,
    /// How far they are apart.
    pub probe_gap_ns: Nanos,
    /// How far bursts are apart while the load runs.
    pub burst_gap_ns: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        const SECOND: Nanos = 1_000_000_000;
        Self {
            gather_ns: 60 * SECOND,
            ready_ns: 60 * SECOND,
            // Longer than `orphan_ns`: what is lost makes no load any more. TCP tries again after
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

/// What is to be coordinated.
#[derive(Clone, Debug)]
pub struct FleetConfig {
    /// The run.
    pub run: RunId,
    /// The plan as JSON, without any secret.
    pub plan: String,
    /// The agents that it waits for, in the order of their shares.
    pub agents: Vec<AgentName>,
    /// Who has what, unless that goes by what each can offer.
    pub division: Division,
    /// Whether agents find out what they can offer at most before they prepare, and what for.
    pub calibration: Calibration,
    /// The coordinator's own program.
    pub build: Build,
    /// Other programs take part, too, which is a doubt; else they are refused.
    pub allow_mixed_versions: bool,
    /// What becomes of a run that loses an agent.
    pub on_loss: LossPolicy,
    /// From the start to the beginning of interval 0.
    pub warmup_ns: Nanos,
    /// The length of an interval.
    pub interval_ns: Nanos,
    /// From the start to the end of the load at the latest, with warm-up and grace; `None` where
    /// only its events limit it.
    pub length_ns: Option<Nanos>,
    /// Arrivals per second of all agents, where they are evenly spaced.
    pub constant_rate: Option<f64>,
    /// How long things may take.
    pub limits: Limits,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Not all agents are there.
    Gather,
    /// Not all have told what they can offer at most.
    Calibrate,
    /// Not all are ready to begin.
    Ready,
    /// All are told to begin at an instant.
    Armed {
        /// Which try this is, from 1.
        attempt: u32,
        /// The instant.
        start: Nanos,
    },
    /// They make load.
    Running,
    /// The load ends, or has to; records still come.
    Draining,
    /// All that there is to know is known; agents are told to leave.
    Leaving,
    /// It is over.
    Over,
}

/// What comes out.
#[derive(Debug)]
pub enum Output {
    /// A message that may be lost.
    Send(Message),
    /// Something to tell, or to record.
    Tell(Event),
}

/// Something to tell, or to record.
#[derive(Debug)]
pub enum Event {
    /// The run came so far.
    Phase(Phase),
    /// An agent came, by its number from 0.
    Joined(usize, Box<Hello>),
    /// All are there, and this is who has what.
    Divided(Division),
    /// Something is wrong, or odd. It stands in the report, too.
    Found(Finding),
    /// An interval of all agents.
    Interval(Box<Merged>),
    /// What came of the run.
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
    /// The totals that agents told, added up.
    told: Interval,
    start: Nanos,
    ticked_at: Nanos,
    /// When clocks are asked again while the load runs.
    next_burst: Nanos,
    /// The host's civil time at instant 0 of its monotonic clock, in nanoseconds since 1970.
    unix_origin_ns: i128,
    attempts: u32,
    bus_is_down: bool,
    findings: Vec<Finding>,
    /// Why the run has failed.
    failed: Option<String>,
    /// Processes that were refused: of each name and instance, the first is told.
    refused: BTreeSet<(usize, u64)>,
    outputs: VecDeque<Output>,
}

impl Coordinator {
    /// Begins to wait for the agents. `unix_ns` is the host's civil time now.
    ///
    /// # Errors
    /// There are not as many agents as the run is divided into, or two of one name.
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
            told: Interval::default(),
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

    /// What comes out next.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// How far the run is.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether it is over: nothing comes out any more.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The names of the agents, by their numbers from 0.
    pub fn names(&self) -> &[AgentName] {
        &self.config.agents
    }

    /// The start that all have in common, once there is one.
    pub fn start(&self) -> Option<Nanos> {
        matches!(self.phase, Phase::Running | Phase::Draining).then_some(self.start)
    }

    /// Ends the run before its time: the load stops, and what was measured is kept.
    pub fn stop(&mut self, why: &str, now: Nanos) {
        self.fail(why, now);
    }

    /// Ends the run at once: what has come is what there is.
    pub fn abandon(&mut self, why: &str, now: Nanos) {
        self.fail(why, now);
        if self.phase == Phase::Draining {
            self.finish(now);
            self.enter(Phase::Over, now);
        }
    }

    /// The bus went away, or is back. While it is away nobody is lost.
    pub fn bus(&mut self, is_up: bool, now: Nanos) {
        if self.bus_is_down == is_up {
            self.bus_is_down = !is_up;
            if is_up {
                self.members
                    .iter_mut()
                    .for_each(|member| member.heard_at = now);
            } else {
                let evidence = "the bus went away; what agents measure meanwhile they keep until \
                                it is back"
                    .to_owned();
                self.find(Finding::of_run(Kind::BusLost, Outcome::Pass, evidence));
            }
        }
    }

    fn enter(&mut self, phase: Phase, now: Nanos) {
        self.outputs
            .push_back(Output::Tell(Event::Phase(phase.clone())));
        self.phase = phase;
        self.since = now;
    }

    fn find(&mut self, finding: Finding) {
        self.outputs
            .push_back(Output::Tell(Event::Found(finding.clone())));
        self.findings.push(finding);
    }

    /// Something about one agent.
    fn find_of(&mut self, kind: Kind, outcome: Outcome, member: usize, evidence: String) {
        let finding = Finding::of(kind, outcome, &self.members[member].name, evidence);
        self.find(finding);
    }

    /// The run has failed: whoever makes load is to stop.
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

    /// Gives an agent an order, which is told until the next one.
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

    /// Tells an agent its order.
    fn tell_order(&mut self, member: usize) {
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
