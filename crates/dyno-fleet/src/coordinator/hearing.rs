//! Handles the messages of agents.

use dyno_core::clock::Nanos;
use dyno_core::finding::Outcome;

use super::member::Total;
use super::{Coordinator, Event, LossPolicy, Output, Phase};
use crate::clock::Exchange;
use crate::finding::{Finding, Kind};
use crate::merge::{Rejected, fits};
use crate::message::{
    Body, Build, Echo, End, Hello, Message, MessageError, Order, Pulse, Record, Stage, Task, short,
};
use crate::names::Subject;

/// Maximum number of refused processes that are reported.
const REFUSED_MAX: usize = 64;

impl Coordinator {
    /// Handles a message on a subject.
    pub fn receive(&mut self, subject: &Subject, bytes: &[u8], now: Nanos) {
        if subject.run != self.config.run || !subject.channel.is_upward() || self.is_over() {
            return;
        }
        // The sender has no part in this run.
        let Some(&member) = self.numbers.get(&subject.agent) else {
            return;
        };
        match Message::decode(subject, bytes) {
            Ok(message) => self.hear(member, message, now),
            Err(error) => self.strange(member, &error, now),
        }
    }

    /// Reports an unreadable message, once for each agent.
    fn strange(&mut self, member: usize, error: &MessageError, now: Nanos) {
        if let MessageError::Acknowledgement { .. } = error {
            // The message is not from this agent.
            let known =
                |finding: &Finding| finding.kind == Kind::Malformed && finding.agent.is_none();
            if !self.findings.iter().any(known) {
                let evidence = error.to_string();
                self.find(Finding::of_run(Kind::Malformed, Outcome::Doubt, evidence));
            }
            return;
        }
        self.members[member].strange += 1;
        if self.members[member].strange > 1 {
            return;
        }
        if let MessageError::Protocol { .. } = error {
            self.find_of(
                Kind::ProtocolSkew,
                Outcome::Refuse,
                member,
                error.to_string(),
            );
            self.fail(&error.to_string(), now);
        } else {
            self.find_of(Kind::Malformed, Outcome::Doubt, member, error.to_string());
        }
    }

    fn hear(&mut self, member: usize, message: Message, now: Nanos) {
        let known = self.members[member].instance;
        if let Body::Hello(hello) = message.body {
            match known {
                None if self.phase == Phase::Gather => {
                    self.join(member, message.instance, hello, now);
                }
                Some(instance) if instance == message.instance && !self.members[member].lost => {
                    self.members[member].heard_at = now;
                    self.members[member].order_at = 0;
                }
                _ => self.refuse(member, message.instance),
            }
            return;
        }
        if known != Some(message.instance) {
            // A refused process may not know it yet.
            self.refuse(member, message.instance);
            return;
        }
        if self.members[member].lost {
            if let Body::Record(record) = message.body {
                self.record(member, *record, now);
            }
            self.refuse(member, message.instance);
            return;
        }
        self.members[member].heard_at = now;
        match message.body {
            Body::Pulse(pulse) => self.pulse(member, pulse, now),
            Body::Echo(echo) => self.echo(member, echo, now),
            Body::Record(record) => self.record(member, *record, now),
            Body::Outcome(piece) if piece.attempt == self.attempts => {
                let pieces = &mut self.members[member].pieces;
                pieces.entry(piece.number).or_insert(piece.text);
            }
            Body::Outcome(_) => {}
            Body::Hello(_) | Body::Order(_) | Body::Probe(_) => {}
        }
    }

    fn join(&mut self, member: usize, instance: u64, hello: Box<Hello>, now: Nanos) {
        self.members[member].instance = Some(instance);
        self.members[member].heard_at = now;
        let differs = differences(&self.config.build, &hello.build);
        self.outputs
            .push_back(Output::Event(Event::Joined(member, hello.clone())));
        self.members[member].hello = Some(hello);
        if !differs.is_empty() {
            let name = &self.members[member].name;
            let (outcome, advice) = match self.config.allow_mixed_versions {
                true => (Outcome::Doubt, ""),
                false => (
                    Outcome::Refuse,
                    "; install the same Dyno there, or allow the difference with \
                     --allow-mixed-versions",
                ),
            };
            let evidence = format!(
                "{name} runs a different build of Dyno than the coordinator: {}{advice}",
                differs.join("; ")
            );
            self.find_of(Kind::VersionSkew, outcome, member, evidence.clone());
            if outcome == Outcome::Refuse {
                self.fail(&evidence, now);
            }
        }
    }

    /// Refuses a process: a second one with the same name, or one that was lost.
    fn refuse(&mut self, member: usize, instance: u64) {
        let name = self.members[member].name.clone();
        let (kind, why) = match (self.members[member].lost, self.members[member].instance) {
            (true, _) => {
                let why = format!("{name} came back after it was lost, and no longer takes part");
                (Kind::AgentReturned, why)
            }
            (false, Some(_)) => {
                let why = format!("a second process joined as {name} and was refused");
                (Kind::AgentTwice, why)
            }
            (false, None) => {
                let why = format!("{name} joined when the run was ending and was refused");
                (Kind::AgentTwice, why)
            }
        };
        // If the run has already failed, a process that joins late does not matter.
        let late = self.members[member].instance.is_none() && self.failed.is_some();
        let outcome = if late { Outcome::Pass } else { Outcome::Doubt };
        if self.refused.len() < REFUSED_MAX && self.refused.insert((member, instance)) {
            self.find_of(kind, outcome, member, why.clone());
        }
        let order = Order {
            serial: u64::MAX,
            task: Task::Refuse { why: short(&why) },
        };
        self.send(member, instance, Body::Order(Box::new(order)));
    }

    fn pulse(&mut self, member: usize, pulse: Pulse, now: Nanos) {
        let known = &self.members[member].pulse;
        // Ignore a message that was overtaken by a newer one.
        if (pulse.serial, pulse.stage, pulse.made) < (known.serial, known.stage, known.made)
            && pulse.serial <= known.serial
        {
            return;
        }
        let failed = pulse.stage == Stage::Failed && known.stage != Stage::Failed;
        let mistaken = pulse.stage == Stage::Running
            && (pulse.attempt != self.attempts || self.phase == Phase::Ready)
            && known.stage != Stage::Running;
        let attempt = pulse.attempt;
        self.members[member].pulse = pulse;
        if failed {
            let (name, why) = (&self.members[member].name, &self.members[member].pulse.why);
            let evidence = format!("{name} could not prepare: {why}");
            self.find_of(Kind::AgentFailed, Outcome::Refuse, member, evidence.clone());
            self.fail(&evidence, now);
        }
        if mistaken {
            self.mistaken(member, attempt, now);
        }
    }

    /// An agent began at a cancelled start, because the order to cancel did not reach it.
    fn mistaken(&mut self, member: usize, attempt: u32, now: Nanos) {
        let name = &self.members[member].name;
        let evidence = format!("{name} started at attempt {attempt}, which had been cancelled");
        self.find_of(
            Kind::StartMistaken,
            Outcome::Refuse,
            member,
            evidence.clone(),
        );
        self.fail(&evidence, now);
    }

    fn echo(&mut self, member: usize, echo: Echo, now: Nanos) {
        let our_unix_ns = self.unix_ns(now);
        let member = &mut self.members[member];
        // An echo of an earlier burst may be old.
        if !member.burst.is_on || echo.probe.burst != member.burst.number {
            return;
        }
        let exchange = Exchange {
            sent: echo.probe.sent,
            received: echo.received,
            answered: echo.sent,
            returned: now,
        };
        let Some(reading) = exchange.reading() else {
            return;
        };
        member.clock.take(exchange);
        member.burst.echoes += 1;
        let quicker = |(_, delay_ns): (i64, u64)| reading.delay_ns < delay_ns;
        if member.civil.is_none_or(quicker) {
            let theirs = i128::from(echo.unix_ns) + i128::from(reading.delay_ns / 2);
            let ahead = i64::try_from(theirs - i128::from(our_unix_ns)).unwrap_or_default();
            member.civil = Some((ahead, reading.delay_ns));
        }
    }

    fn record(&mut self, member: usize, record: Record, now: Nanos) {
        if record.attempt != self.attempts {
            if !self.members[member].lost && !self.findings_have(Kind::StartMistaken, member) {
                self.mistaken(member, record.attempt, now);
            }
            return;
        }
        let Some(merger) = &mut self.merger else {
            return;
        };
        let seq = record.seq;
        let had = match record.end {
            None => merger.has(member, seq),
            Some(_) => self.members[member].total.is_some(),
        };
        if had {
            return;
        }
        let joiner = match record.end {
            None => &mut self.members[member].joiner,
            Some(_) => &mut self.members[member].end_joiner,
        };
        let added = match joiner.take(record) {
            Ok(None) => return,
            Ok(Some(whole)) => match whole.end {
                None if whole.interval.index != seq => Err(Rejected::Malformed(format!(
                    "record {seq} has another interval"
                ))),
                None => merger.add(member, whole.interval, now),
                Some(end) => {
                    self.total(member, whole, end, now);
                    return;
                }
            },
            Err(why) => Err(Rejected::Malformed(why)),
        };
        if let Err(Rejected::Malformed(why)) = added {
            let subject = format!("a record of {}", self.members[member].name);
            self.strange(member, &MessageError::Malformed { subject, why }, now);
        }
    }

    fn total(&mut self, member: usize, record: Record, end: End, now: Nanos) {
        let Some(merger) = &mut self.merger else {
            return;
        };
        if !fits(&self.totals_reported, &record.interval) {
            let why = "its sums are impossible".to_owned();
            let subject = format!("the totals of {}", self.members[member].name);
            self.strange(member, &MessageError::Malformed { subject, why }, now);
            return;
        }
        merger.ends(member, record.seq);
        self.members[member].total = Some(Total::of(&record, end));
        self.members[member].late_ns = record.late_ns;
        self.totals_reported.merge_sums(&record.interval);
        let early = end.early().filter(|_| self.failed.is_none());
        if let Some(how) = early.filter(|_| !self.members[member].lost) {
            let name = &self.members[member].name;
            let why = match self.members[member].pulse.why.as_str() {
                "" => String::new(),
                why => format!(": {why}"),
            };
            let evidence = format!("{name} ended after {} intervals: {how}{why}", record.seq);
            let outcome = self.outcome_of_loss();
            self.find_of(Kind::AgentEndedEarly, outcome, member, evidence.clone());
            if self.config.on_loss == LossPolicy::Fail {
                self.fail(&evidence, now);
            }
        }
    }

    pub(super) fn outcome_of_loss(&self) -> Outcome {
        match self.config.on_loss {
            LossPolicy::Fail => Outcome::Refuse,
            LossPolicy::Degrade => Outcome::Doubt,
        }
    }

    fn findings_have(&self, kind: Kind, member: usize) -> bool {
        let name = &self.members[member].name;
        let same = |finding: &crate::finding::Finding| {
            finding.kind == kind && finding.agent.as_ref() == Some(name)
        };
        self.findings.iter().any(same)
    }
}

pub(crate) fn differences(ours: &Build, theirs: &Build) -> Vec<String> {
    /// Number of digits of a digest that are shown.
    const DIGITS: usize = 8;
    let short = |text: &str| match text.is_empty() {
        true => "unknown".to_owned(),
        false if text.len() < 32 => text.to_owned(),
        false => text.chars().take(DIGITS).collect(),
    };
    let script = [&ours.script_sha256, &theirs.script_sha256];
    // An agent without a script receives it with the plan.
    let scripts = script.iter().all(|text| !text.is_empty());
    [
        ("version", &ours.version, &theirs.version, true),
        ("commit", &ours.commit, &theirs.commit, true),
        (
            "executable",
            &ours.binary_sha256,
            &theirs.binary_sha256,
            true,
        ),
        (
            "script",
            &ours.script_sha256,
            &theirs.script_sha256,
            scripts,
        ),
    ]
    .into_iter()
    .filter(|(_, ours, theirs, known)| *known && ours != theirs)
    .map(|(what, ours, theirs, _)| format!("its {what} is {}, not {}", short(theirs), short(ours)))
    .collect()
}
