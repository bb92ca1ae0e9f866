//! Calibration of the agents, and the division of the run.

use dyno_core::clock::Nanos;

use super::{Calibration, Coordinator, Event, Output, Phase};
use crate::division::Division;
use crate::finding::Kind;
use crate::message::{Assignment, Task};

impl Coordinator {
    pub(super) fn calibrate_all(&mut self, now: Nanos) {
        for index in 0..self.members.len() {
            let assignment = self.assignment(index);
            self.order(index, Task::Calibrate(assignment));
        }
        self.enter(Phase::Calibrate, now);
    }

    /// Continues once all have reported their ceiling.
    pub(super) fn calibrate(&mut self, now: Nanos) {
        let waiting = self.names_of(|member| member.pulse.ceiling.is_none());
        if !waiting.is_empty() {
            if now.saturating_sub(self.since) > self.config.limits.ready_ns {
                let evidence = format!("{} did not report its ceiling", waiting.join(", "));
                self.refuse_run(Kind::TimedOut, evidence, now);
            }
            return;
        }
        if self.config.calibration == Calibration::Shares
            && let Err((kind, evidence)) = self.divide_by_capacity()
        {
            self.refuse_run(kind, evidence, now);
            return;
        }
        self.prepare_all(now);
    }

    fn divide_by_capacity(&mut self) -> Result<(), (Kind, String)> {
        let mut capacities = Vec::new();
        for member in &self.members {
            let ceiling = member.pulse.ceiling.as_ref();
            let per_s = ceiling.and_then(|ceiling| ceiling.per_s);
            let Some(per_s) = per_s else {
                let why = ceiling.map_or("", |ceiling| ceiling.why.as_str());
                let text = format!("the ceiling of {} is unknown: {why}", member.name);
                return Err((Kind::AgentFailed, text));
            };
            capacities.push(per_s);
        }
        let division = Division::by_capacity(&capacities);
        self.config.division = division.map_err(|error| (Kind::AgentFailed, error.to_string()))?;
        Ok(())
    }

    pub(super) fn prepare_all(&mut self, now: Nanos) {
        let division = self.config.division.clone();
        let event = Event::Divided(division);
        self.outputs.push_back(Output::Event(event));
        for index in 0..self.members.len() {
            let assignment = self.assignment(index);
            self.order(index, Task::Prepare(assignment));
            self.members[index].heard_at = now;
        }
        self.enter(Phase::Ready, now);
    }

    fn assignment(&self, index: usize) -> Assignment {
        Assignment {
            plan: self.config.plan.clone(),
            plan_sha256: self.plan_sha256.clone(),
            share: self.config.division.share(index as u32 + 1),
            orphan_ns: self.config.limits.orphan_ns,
        }
    }
}
