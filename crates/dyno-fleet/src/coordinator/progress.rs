//! Moves a run from phase to phase.

use dyno_core::clock::Nanos;
use dyno_core::finding::Outcome;
use dyno_core::text::number_of;

use super::{Calibration, Coordinator, Event, LossPolicy, Output, Phase};
use crate::finding::{Finding, Kind};
use crate::merge::{Axis, Merger};
use crate::message::{Body, Probe, Stage, Task};
use crate::names::AgentName;

/// An unconfirmed order is repeated after this time.
const AGAIN_NS: Nanos = 250_000_000;
/// A confirmed order is repeated after this time, as a heartbeat.
const ALIVE_NS: Nanos = 1_000_000_000;
/// All confirmations must arrive this long before the start.
const CONFIRMED_NS: Nanos = 200_000_000;
const ATTEMPTS_MAX: u32 = 3;
/// Minimum time until the start, in multiples of the slowest exchange.
const LEAD_ROUNDS: u64 = 20;
/// Maximum number of consecutive bursts without an answer.
const BURSTS_MAX: u32 = 3;
/// Maximum error bound of clocks: above it, agents' seconds no longer correspond.
const BOUND_NS_MAX: u64 = 500_000_000;
/// Agents are ordered to leave for this long.
const LEAVE_NS: Nanos = 3_000_000_000;
/// Minimum silence of all agents before they are lost.
const ALL_SILENT_NS: Nanos = 15_000_000_000;
/// A cancelled run waits this long for silent agents.
const SILENT_END_NS: Nanos = 8_000_000_000;
/// The last messages of a process arrive within this time after its end.
const LAST_MESSAGES_NS: Nanos = 1_000_000_000;
/// Maximum number of clocks probed at the same time. With more, probes would delay each other.
const CLOCKS_AT_ONCE: usize = 16;
/// Maximum time between ticks.
const TICK_NS: Nanos = 100_000_000;

impl Coordinator {
    /// Acts on timeouts. Call it at the latest at [`Coordinator::wakes_at`].
    pub fn tick(&mut self, now: Nanos) {
        if self.is_over() {
            return;
        }
        // A coordinator that was suspended could not receive anything: do not count that as the
        // agents' silence.
        if now.saturating_sub(self.ticked_at) > self.config.limits.lost_ns / 2 {
            self.members
                .iter_mut()
                .for_each(|member| member.heard_at = now);
        }
        self.ticked_at = now;
        self.look_for_losses(now);
        self.probe(now);
        match self.phase {
            Phase::Gather => self.gather(now),
            Phase::Calibrate => self.calibrate(now),
            Phase::Ready => self.make_ready(now),
            Phase::Armed { attempt, start } => self.arm(attempt, start, now),
            Phase::Running => self.run(now),
            Phase::Draining => self.drain(now),
            Phase::Leaving => self.leave(now),
            Phase::Over => {}
        }
        self.emit_intervals(now);
        self.send_orders(now);
    }

    /// The latest time for the next [`Coordinator::tick`], as of `now`.
    pub fn wakes_at(&self, now: Nanos) -> Nanos {
        let bursts = self.members.iter().filter(|member| member.burst.is_on);
        let probes = bursts.map(|member| member.burst.next_at).min();
        let regular = now.saturating_add(TICK_NS);
        probes.unwrap_or(regular).clamp(now, regular)
    }

    fn send_orders(&mut self, now: Nanos) {
        for member in 0..self.members.len() {
            let (lost, at) = (self.members[member].lost, self.members[member].order_at);
            if lost || now < at {
                continue;
            }
            self.send_order(member);
            let again = if self.members[member].confirmed() {
                ALIVE_NS
            } else {
                AGAIN_NS
            };
            self.members[member].order_at = now + again;
        }
    }

    fn emit_intervals(&mut self, now: Nanos) {
        let Some(merger) = &mut self.merger else {
            return;
        };
        for merged in merger.due(now) {
            let event = Event::Interval(Box::new(merged));
            self.outputs.push_back(Output::Event(event));
        }
    }

    fn probe(&mut self, now: Nanos) {
        let limits = self.config.limits;
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if !member.probe_is_due(limits.probes, limits.probe_gap_ns, now) || member.lost {
                continue;
            }
            let probe = Probe {
                burst: member.burst.number,
                sent: now,
            };
            if let Some(instance) = member.instance {
                self.send(index, instance, Body::Probe(probe));
            }
        }
    }

    pub(super) fn begin_bursts(&mut self, now: Nanos) {
        let limits = self.config.limits;
        let length = (u64::from(limits.probes) + 1).saturating_mul(limits.probe_gap_ns);
        for (number, member) in self.members.iter_mut().enumerate() {
            let group = (number / CLOCKS_AT_ONCE) as u64;
            let at = now.saturating_add(group.saturating_mul(length));
            member.begin_burst(limits.probes, at);
        }
    }

    fn look_for_losses(&mut self, now: Nanos) {
        if self.phase != Phase::Leaving {
            self.lose_gone(now);
        }
        if self.bus_is_down || matches!(self.phase, Phase::Gather | Phase::Leaving) {
            return;
        }
        // If all agents are silent, most likely the bus is down and will come back.
        let speaks = |member: &super::Member| {
            !member.lost && member.instance.is_some() && !member.has_reported()
        };
        let others = self.members.iter().filter(|member| speaks(member));
        let silent = |member: &super::Member| {
            now.saturating_sub(member.heard_at) > self.config.limits.lost_ns / 2
        };
        let all_silent = others.clone().count() > 1 && others.clone().all(silent);
        let limit = match all_silent {
            true => self.config.limits.lost_ns.max(ALL_SILENT_NS),
            false => self.config.limits.lost_ns,
        };
        for member in 0..self.members.len() {
            let silence = now.saturating_sub(self.members[member].heard_at);
            // Agents that have sent everything, or that never joined, have nothing more to send.
            let reported =
                self.members[member].has_reported() || self.members[member].instance.is_none();
            if self.members[member].lost || reported || silence <= limit {
                continue;
            }
            let seconds = silence as f64 / 1e9;
            self.lose(member, &format!("no message for {seconds:.1} s"), now);
        }
    }

    /// An agent's process is known to have ended: it will send nothing more.
    pub(crate) fn gone(&mut self, agent: &AgentName, why: &str, now: Nanos) {
        let member = self.members.iter_mut().find(|one| one.name == *agent);
        if let Some(member) = member {
            member.gone.get_or_insert((now, why.to_owned()));
        }
    }

    fn lose_gone(&mut self, now: Nanos) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let over = |(at, _): &mut (Nanos, String)| now.saturating_sub(*at) > LAST_MESSAGES_NS;
            if let Some((_, why)) = member.gone.take_if(over)
                && member.is_missed()
            {
                self.lose(index, &why, now);
            }
        }
    }

    fn lose(&mut self, member: usize, why: &str, now: Nanos) {
        self.members[member].lost = true;
        if let Some(merger) = &mut self.merger {
            merger.lose(member);
        }
        let started = matches!(self.phase, Phase::Running | Phase::Draining);
        let nobody = self.members.iter().all(|member| member.lost);
        let degrades = self.config.on_loss == LossPolicy::Degrade && started && !nobody;
        let outcome = if degrades {
            Outcome::Doubt
        } else {
            Outcome::Refuse
        };
        let name = &self.members[member].name;
        let come = self.merger.as_ref().map_or(0, |merger| merger.come(member));
        let made = self.members[member].pulse.made.max(come);
        let made = number_of(made, "interval");
        let mut evidence = format!("{name} was lost: {why}, after {made}");
        if degrades {
            evidence += "; the others continued with their own shares, so less load was offered";
        }
        self.find_of(Kind::AgentLost, outcome, member, evidence.clone());
        if !degrades {
            self.fail(&evidence, now);
        }
    }

    fn gather(&mut self, now: Nanos) {
        let missing = self.names_of(|member| member.instance.is_none());
        if missing.is_empty() {
            for member in &mut self.members {
                member.heard_at = now;
            }
            match self.config.calibration {
                Calibration::None => self.prepare_all(now),
                Calibration::Compared | Calibration::Shares => self.calibrate_all(now),
            }
        } else if now.saturating_sub(self.since) > self.config.limits.gather_ns {
            let evidence = format!("{} did not join", missing.join(", "));
            self.refuse_run(Kind::AgentMissing, evidence, now);
        }
    }

    fn make_ready(&mut self, now: Nanos) {
        let waiting =
            self.names_of(|member| member.pulse.stage != Stage::Ready || !member.confirmed());
        let over = now.saturating_sub(self.since) > self.config.limits.ready_ns;
        if !waiting.is_empty() {
            if over {
                let evidence = format!("{} did not become ready", waiting.join(", "));
                self.refuse_run(Kind::TimedOut, evidence, now);
            }
            return;
        }
        if self.members.iter().any(|member| member.burst.is_on) {
            return;
        }
        let unknown = self.names_of(|member| member.relation.is_none());
        if unknown.is_empty() {
            self.arm_all(now);
        } else if self
            .members
            .iter()
            .all(|member| member.burst.number < BURSTS_MAX)
        {
            self.begin_bursts(now);
        } else {
            let evidence = format!("no clock readings arrived from {}", unknown.join(", "));
            self.refuse_run(Kind::Clocks, evidence, now);
        }
    }

    fn arm_all(&mut self, now: Nanos) {
        let loose = self.names_of(|member| member.bound_ns(now) > BOUND_NS_MAX);
        if !loose.is_empty() {
            let evidence = format!(
                "the clocks of {} are known only to half a second, so intervals do not cover the \
                 same second everywhere",
                loose.join(", ")
            );
            self.refuse_run(Kind::Clocks, evidence, now);
            return;
        }
        let slowest = self
            .members
            .iter()
            .map(|member| member.clock.delay_ns_max())
            .max();
        let rounds = slowest.unwrap_or_default().saturating_mul(LEAD_ROUNDS);
        let start = now + self.config.limits.lead_ns.max(rounds) + CONFIRMED_NS;
        self.attempts += 1;
        self.start = start;
        for index in 0..self.members.len() {
            let Some(relation) = self.members[index].relation else {
                continue;
            };
            self.members[index].start_bound_ns = relation.bound_at(start);
            let task = Task::Arm {
                attempt: self.attempts,
                start: relation.theirs(start),
            };
            self.order(index, task);
        }
        let axis = Axis {
            start,
            start_unix_ns: self.unix_ns(start),
            warmup_ns: self.config.warmup_ns,
            interval_ns: self.config.interval_ns,
        };
        self.merger = Some(Merger::new(self.members.len(), axis));
        let attempt = self.attempts;
        self.enter(Phase::Armed { attempt, start }, now);
    }

    fn arm(&mut self, attempt: u32, start: Nanos, now: Nanos) {
        let unsure = self.names_of(|member| !member.is_armed(attempt));
        if unsure.is_empty() {
            if now >= start {
                self.order_all(&Task::Run);
                self.enter(Phase::Running, now);
                self.next_burst = now + self.config.limits.burst_gap_ns;
            }
            return;
        }
        if now + CONFIRMED_NS < start {
            return;
        }
        let evidence = format!(
            "start {attempt} was cancelled: {} did not confirm it",
            unsure.join(", ")
        );
        let last = attempt >= ATTEMPTS_MAX;
        let outcome = if last { Outcome::Refuse } else { Outcome::Pass };
        self.find(Finding::of_run(
            Kind::StartCalledOff,
            outcome,
            evidence.clone(),
        ));
        if last {
            self.fail(&evidence, now);
        } else {
            self.merger = None;
            self.order_all(&Task::Hold);
            self.enter(Phase::Ready, now);
        }
    }

    fn run(&mut self, now: Nanos) {
        if now >= self.next_burst {
            self.next_burst = now + self.config.limits.burst_gap_ns;
            self.begin_bursts(now);
        }
        let ended = self.members.iter().all(|member| {
            member.lost || member.total.is_some() || member.pulse.stage == Stage::Ended
        });
        if ended {
            self.enter(Phase::Draining, now);
            self.begin_bursts(now);
            return;
        }
        let end = self
            .config
            .length_ns
            .map(|length| self.start.saturating_add(length));
        if end.is_some_and(|end| now > end.saturating_add(self.config.limits.drain_ns)) {
            let going = self.names_of(|member| !member.lost && member.total.is_none());
            let evidence = format!("{} did not stop at the end of the run", going.join(", "));
            self.refuse_run(Kind::TimedOut, evidence, now);
        }
    }

    fn drain(&mut self, now: Nanos) {
        let merger = self.merger.as_ref();
        let owing = |(index, member): (usize, &super::Member)| {
            let all = merger.is_some_and(|merger| merger.has_all_of(index));
            let quiet = match member.has_begun() {
                true => member.has_reported() && all,
                // It was ordered to stop before it began, or it never joined.
                false => member.instance.is_none() || member.confirmed(),
            };
            !member.lost && !quiet
        };
        let open = self.members.iter().enumerate().any(owing);
        let bursts = self
            .members
            .iter()
            .any(|member| member.burst.is_on && !member.lost);
        let waited = now.saturating_sub(self.since);
        let heard = self.members.iter().filter(|member| member.is_missed());
        let heard = heard.map(|member| member.heard_at).max().unwrap_or(now);
        let silent = self.failed.is_some()
            && waited.min(now.saturating_sub(heard)) > SILENT_END_NS
            && !self.bus_is_down;
        let over = silent || waited > self.config.limits.drain_ns;
        if over || !(open || bursts && self.failed.is_none()) {
            self.finish(now);
        }
    }

    /// Ends the run with its report: nothing more will arrive.
    pub(super) fn finish(&mut self, now: Nanos) {
        for index in 0..self.members.len() {
            if let Some(merger) = &mut self.merger {
                self.members[index].holes = merger.holes(index);
                merger.lose(index);
            }
        }
        self.emit_intervals(now);
        let report = self.report();
        self.order_all(&Task::Leave);
        self.enter(Phase::Leaving, now);
        self.outputs
            .push_back(Output::Event(Event::Ended(Box::new(report))));
    }

    fn leave(&mut self, now: Nanos) {
        let gone = self
            .members
            .iter()
            .all(|member| member.lost || member.instance.is_none() || member.confirmed());
        if gone || now.saturating_sub(self.since) > LEAVE_NS {
            self.enter(Phase::Over, now);
        }
    }

    /// Fails the run because of an unrecoverable problem.
    pub(super) fn refuse_run(&mut self, kind: Kind, evidence: String, now: Nanos) {
        self.find(Finding::of_run(kind, Outcome::Refuse, evidence.clone()));
        self.fail(&evidence, now);
    }

    pub(super) fn names_of(&self, which: impl Fn(&super::Member) -> bool) -> Vec<String> {
        let members = self.members.iter().filter(|member| which(member));
        members.map(|member| member.name.to_string()).collect()
    }
}
