//! Reports the coordinator's events during a run: to the user, and to the record.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dyno_core::clock::Nanos;
use dyno_core::finding::Outcome;
use dyno_core::interval::Interval;
use dyno_core::plan::{Division, Drive};
use dyno_core::target::TargetPlan;
use dyno_core::text::counted;
use dyno_core::units::human_number;
use dyno_fleet::coordinator::{Event, Phase, Report};
use dyno_fleet::finding::Kind;
use dyno_fleet::merge::Sums;
use dyno_fleet::message::Hello;
use dyno_load::{AgentInterval, Progress};
use dyno_observe::Helpers;
use dyno_run::{Notice, Sinks};

use super::specs::{AgentLocation, Fleet};

/// The state of a run, for the code that may end it.
pub(super) struct Signals {
    /// The load has ended, or is about to: agents may leave.
    pub leaving: Cell<bool>,
    /// The load has begun.
    pub begun: Cell<bool>,
    /// Agents are still expected.
    pub waited_for: Arc<AtomicBool>,
    /// Agents that were lost.
    pub lost: RefCell<Vec<String>>,
    /// Agents whose processes have ended.
    pub gone: RefCell<Vec<String>>,
    /// Why the run cannot continue as divided.
    pub wrong: RefCell<Option<String>>,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            leaving: Cell::new(false),
            begun: Cell::new(false),
            waited_for: Arc::new(AtomicBool::new(true)),
            lost: RefCell::default(),
            gone: RefCell::default(),
            wrong: RefCell::default(),
        }
    }
}

/// Receives the coordinator's events.
pub(super) struct Watcher<'a> {
    fleet: &'a Fleet,
    drive: &'a Drive,
    target: Option<&'a TargetPlan>,
    /// The coordinator's machine.
    machine: &'a str,
    notices: &'a Sinks,
    observer: &'a mut dyn FnMut(Progress<'_>),
    measured_after: Nanos,
    signals: &'a Signals,
    hellos: BTreeMap<usize, Box<Hello>>,
    /// The start of the load, by the coordinator's clock.
    pub start: Nanos,
    /// Whether a finding prevents its start.
    refused: bool,
    /// The next interval to report, and later ones that arrived early.
    next: u64,
    early: BTreeMap<u64, (Interval, Vec<AgentInterval>)>,
    /// The final report.
    pub report: Option<Box<Report>>,
    /// The end of the last interval.
    pub ended: Nanos,
    /// Agents on this machine that another process started, and sessions elsewhere.
    neighbours: Vec<Helpers>,
}

impl<'a> Watcher<'a> {
    /// A watcher of a run.
    pub(super) fn new(
        (fleet, machine): (&'a Fleet, &'a str),
        (drive, target): (&'a Drive, Option<&'a TargetPlan>),
        (notices, observer): (&'a Sinks, &'a mut dyn FnMut(Progress<'_>)),
        measured_after: Nanos,
        signals: &'a Signals,
    ) -> Self {
        Self {
            fleet,
            drive,
            target,
            machine,
            notices,
            observer,
            measured_after,
            signals,
            hellos: BTreeMap::new(),
            start: 0,
            refused: false,
            next: 0,
            early: BTreeMap::new(),
            report: None,
            ended: 0,
            neighbours: Vec::new(),
        }
    }

    /// Whether the load has begun.
    pub(super) fn begun(&self) -> bool {
        self.signals.begun.get()
    }

    /// Handles an event.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Phase(Phase::Armed { start, .. }) => self.start = start,
            Event::Phase(Phase::Running) => {
                self.signals.begun.set(true);
                let measured = self.start + self.measured_after;
                (self.observer)(Progress::Started { measured });
            }
            Event::Phase(Phase::Draining | Phase::Leaving) => self.signals.leaving.set(true),
            Event::Phase(phase) => {
                self.signals.waited_for.store(false, Ordering::Relaxed);
                if matches!(phase, Phase::Calibrate) {
                    self.step("The agents measure their capacity (calibration).".to_owned());
                }
            }
            Event::Joined(number, hello) => {
                let spec = self.fleet.specs.get(number);
                let is_child = spec.is_none_or(|spec| spec.place == AgentLocation::Local);
                if !is_child && hello.machine == self.machine {
                    let process = i32::try_from(hello.process).ok();
                    let process = process.into_iter().collect();
                    self.neighbours.push(Helpers::new(process, 0));
                }
                self.hellos.insert(number, hello);
            }
            Event::Divided(division) => self.divided(&division),
            Event::Finding(finding) => {
                if let (Kind::AgentLost, Some(agent)) = (finding.kind, &finding.agent) {
                    self.signals.lost.borrow_mut().push(agent.to_string());
                }
                // The run's error explains why it does not start.
                let is_error = finding.outcome == Outcome::Refuse && !self.begun();
                let is_explained = is_error && !std::mem::replace(&mut self.refused, true);
                if finding.outcome != Outcome::Pass && !is_explained {
                    self.warn(finding.evidence);
                }
            }
            Event::Interval(merged) if merged.complete && self.begun() => {
                self.ended = self.ended.max(merged.interval.end);
                let agents = self.agents(&merged.agents);
                self.early.insert(merged.index, (merged.interval, agents));
                while let Some(interval) = self.early.remove(&self.next) {
                    self.show_interval(&interval);
                    self.next += 1;
                }
            }
            // It arrives again when it is complete.
            Event::Interval(_) => {}
            Event::Ended(report) => {
                // Some intervals never arrived: report those after the gap.
                for interval in std::mem::take(&mut self.early).into_values() {
                    self.show_interval(&interval);
                }
                self.report = Some(report);
            }
        }
    }

    fn show_interval(&mut self, (interval, agents): &(Interval, Vec<AgentInterval>)) {
        (self.observer)(Progress::Interval(interval));
        (self.observer)(Progress::Agents(agents));
    }

    /// Each agent's figures in an interval.
    fn agents(&self, sums: &[(usize, Sums)]) -> Vec<AgentInterval> {
        let one = |(number, sums): &(usize, Sums)| {
            let spec = self.fleet.specs.get(*number)?;
            Some(AgentInterval {
                name: spec.name.to_string(),
                events: sums.counters.events,
                errors: sums.errors,
                latencies: sums.latencies,
                service_ns_sum: sums.service_ns_sum,
            })
        };
        sums.iter().filter_map(one).collect()
    }

    fn divided(&mut self, division: &Division) {
        let parts = 1..=division.agents();
        let wrong = parts.map(|number| division.own(self.drive, number).err());
        if let Some(error) = wrong.flatten().next() {
            *self.signals.wrong.borrow_mut() = Some(format!("--agents: {error}"));
            return;
        }
        let elsewhere = self.fleet.specs.iter().zip(1..);
        let elsewhere = elsewhere.filter(|(spec, _)| spec.place != AgentLocation::Local);
        let sessions =
            elsewhere.map(|(_, number)| division.count(number, self.drive.sessions.into()));
        let sessions = sessions.sum::<u64>() as u32;
        self.neighbours.push(Helpers::new(Vec::new(), sessions));
        self.report_parts(division);
        self.warn_of_own_hosts();
    }

    fn step(&self, step: String) {
        self.notices.notice(&Notice::Step(step));
    }

    fn warn(&self, warning: String) {
        self.notices.notice(&Notice::AgentsWarning(warning));
    }

    /// Warns if the target's name means a different server on each host.
    fn warn_of_own_hosts(&self) {
        let own = self.target.and_then(TargetPlan::own_host);
        let mut elsewhere = self.hellos.values();
        let elsewhere = elsewhere.find(|hello| hello.machine != self.machine);
        if let (Some(own), Some(hello)) = (own, elsewhere) {
            self.warn(format!(
                "on each agent, {own} means that agent's own host, also on {}: to use one server, \
                 pass a URL that works on every host",
                hello.host
            ));
        }
    }

    /// Reports each agent's part.
    fn report_parts(&self, division: &Division) {
        for (spec, number) in self.fleet.specs.iter().zip(1..) {
            let Some(hello) = self.hellos.get(&(number as usize - 1)) else {
                continue;
            };
            let own = |all: u64| division.count(number, all);
            let mut parts = vec![
                counted(hello.cores.into(), "core"),
                counted(own(self.drive.sessions.into()), "session"),
            ];
            if let Some(open) = self.drive.open_loop {
                let rate = open.per_second * division.fraction(number);
                parts.push(format!("{} events/s", human_number(rate, 1)));
            }
            if let Some(events) = self.drive.events {
                parts.push(counted(own(events), "event"));
            }
            let parts = parts.join(", ");
            self.step(format!("agent {} on {}: {parts}", spec.name, hello.host));
        }
    }
}
