//! The agent of a run with several load generators: a state machine without I/O. Messages, times
//! and the load's reports go in; messages and commands to the load come out. All times are on the
//! agent's own monotonic clock.

mod queue;
mod silence;
mod types;

use std::collections::VecDeque;

use dyno_core::clock::Nanos;
use dyno_core::interval::{Interval, SparseInterval};

use crate::message::{
    Assignment, Body, Ceiling, Echo, End, Message, MessageError, Order, PROTOCOL, Piece, Pulse,
    Record, Stage, Task, short, split,
};

use queue::Queue;
pub use queue::{QUEUE_BYTES_MAX, QUEUE_RECORDS_MAX, StoredMessage};
pub(crate) use types::sha256;
pub use types::{Action, AgentConfig, Command, Exit};

/// Interval between hellos until the coordinator answers.
const HELLO_NS: Nanos = 500_000_000;
/// Interval between an agent's heartbeats.
pub const PULSE_NS: Nanos = 1_000_000_000;
/// After its load has ended, an agent tries this long to have all its records stored by the bus.
pub const LINGER_NS: Nanos = 60_000_000_000;

/// A load generator.
#[derive(Debug)]
pub struct Agent {
    config: AgentConfig,
    stage: Stage,
    serial: u64,
    attempt: u32,
    /// When the load begins or began.
    start: Nanos,
    orphan_ns: Nanos,
    heard_at: Nanos,
    /// Whether the process that started it has closed its standard input.
    launcher_gone: bool,
    ticked_at: Nanos,
    hello_at: Nanos,
    pulse_at: Nanos,
    made: u64,
    total: Interval,
    queue: Queue,
    /// How the load ends, after the order to stop.
    ending: Option<End>,
    late_ns: Option<i64>,
    why: String,
    /// Why the coordinator stopped it early.
    called_off: Option<String>,
    ceiling: Option<Ceiling>,
    /// The packed outcome of the load.
    outcome: Vec<String>,
    /// The host's civil time at instant 0 of its monotonic clock, in nanoseconds since 1970.
    unix_origin_ns: i128,
    exited: bool,
    actions: VecDeque<Action>,
}

impl Agent {
    /// Starts sending hellos. `unix_ns` is the host's civil time now.
    pub fn new(config: AgentConfig, now: Nanos, unix_ns: u64) -> Self {
        Self {
            orphan_ns: config.join_ns,
            config,
            stage: Stage::Waiting,
            serial: 0,
            attempt: 0,
            start: 0,
            heard_at: now,
            launcher_gone: false,
            ticked_at: now,
            hello_at: now,
            pulse_at: now,
            made: 0,
            total: Interval::default(),
            queue: Queue::default(),
            ending: None,
            late_ns: None,
            why: String::new(),
            called_off: None,
            ceiling: None,
            outcome: Vec::new(),
            unix_origin_ns: i128::from(unix_ns) - i128::from(now),
            exited: false,
            actions: VecDeque::new(),
        }
    }

    /// The next action.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Its stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether it has exited.
    pub fn has_exited(&self) -> bool {
        self.exited
    }

    /// Why the coordinator ended the run early, if it did.
    pub fn called_off(&self) -> Option<&str> {
        self.called_off.as_deref()
    }

    /// Why its own load failed or ended early; empty if it did not.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Number of record messages that the bus has not confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.queue.len()
    }

    /// Handles a message. A message for another process with this name is ignored.
    pub fn receive(&mut self, message: Message, now: Nanos) {
        let own = message.run == self.config.run
            && message.agent == self.config.name
            && message.instance == self.config.instance;
        if !own || self.exited {
            return;
        }
        match message.body {
            Body::Probe(probe) => {
                self.heard_at = now;
                let echo = Echo {
                    probe,
                    received: now,
                    sent: now,
                    unix_ns: self.unix_ns(now),
                };
                self.send(Body::Echo(echo));
            }
            Body::Order(order) => {
                self.heard_at = now;
                self.follow(*order, now);
            }
            // Only agents send these.
            Body::Hello(_)
            | Body::Pulse(_)
            | Body::Echo(_)
            | Body::Record(_)
            | Body::Outcome(_) => {}
        }
    }

    fn follow(&mut self, order: Order, now: Nanos) {
        if order.serial < self.serial {
            return;
        }
        let known = order.serial == self.serial;
        self.serial = order.serial;
        if !known {
            self.obey(order.task, now);
        }
        // Answer repeated orders too: the first answer may be lost.
        if !self.exited {
            self.pulse(now);
        }
    }

    fn obey(&mut self, task: Task, now: Nanos) {
        if let Task::Stop { why } = &task {
            self.called_off = Some(why.clone());
        }
        match (task, self.stage) {
            (Task::Calibrate(assignment), Stage::Waiting) => {
                if let Some(assignment) = self.assigned(assignment) {
                    self.stage = Stage::Calibrating;
                    self.command(Command::Calibrate(assignment));
                }
            }
            (Task::Prepare(assignment), Stage::Waiting | Stage::Calibrated) => {
                if let Some(assignment) = self.assigned(assignment) {
                    self.stage = Stage::Preparing;
                    self.command(Command::Prepare(assignment));
                }
            }
            (Task::Arm { attempt, start }, Stage::Ready | Stage::Armed) => {
                self.disarm();
                // A start in the past is ignored; the coordinator sees that the agent is not armed.
                if start > now {
                    self.stage = Stage::Armed;
                    self.attempt = attempt;
                    self.start = start;
                    self.command(Command::Start { at: start });
                }
            }
            (Task::Hold, Stage::Armed) => self.disarm(),
            (Task::Stop { why }, Stage::Running) => self.stop(End::Stopped, why),
            (
                Task::Stop { why },
                Stage::Calibrating | Stage::Preparing | Stage::Ready | Stage::Armed,
            ) => {
                self.disarm();
                self.stage = Stage::Ended;
                self.command(Command::Stop { why });
            }
            (Task::Stop { .. }, Stage::Waiting | Stage::Calibrated) => self.stage = Stage::Ended,
            (Task::Leave, _) => {
                self.pulse(now);
                self.exit(Exit::Done);
            }
            (Task::Refuse { why }, _) => {
                self.pulse(now);
                self.exit(Exit::Refused { why });
            }
            _ => {}
        }
    }

    /// Checks a part of the run for completeness.
    fn assigned(&mut self, assignment: Assignment) -> Option<Assignment> {
        self.orphan_ns = assignment.orphan_ns;
        if sha256(&assignment.plan) != assignment.plan_sha256 {
            self.fail("the plan received differs from the plan sent");
            return None;
        }
        Some(assignment)
    }

    /// Reports the result of the calibration.
    pub fn calibrated(&mut self, mut ceiling: Ceiling, now: Nanos) {
        if self.stage == Stage::Calibrating {
            ceiling.why = short(&ceiling.why);
            self.ceiling = Some(ceiling);
            self.stage = Stage::Calibrated;
            self.pulse(now);
        }
    }

    fn disarm(&mut self) {
        if self.stage == Stage::Armed {
            self.stage = Stage::Ready;
            self.attempt = 0;
            self.command(Command::CallOff);
        }
    }

    fn stop(&mut self, end: End, why: String) {
        if self.ending.is_none() {
            self.ending = Some(end);
            self.why = short(&why);
            self.command(Command::Stop { why });
        }
    }

    fn exit(&mut self, how: Exit) {
        self.exited = true;
        self.command(Command::Exit(how));
    }

    /// Reports that the sessions are ready.
    pub fn prepared(&mut self, now: Nanos) {
        if self.stage == Stage::Preparing {
            self.stage = Stage::Ready;
            self.pulse(now);
        }
    }

    /// Reports that preparing the sessions failed, or the load.
    pub fn failed(&mut self, why: &str, now: Nanos) {
        if self.stage == Stage::Running {
            self.why = short(why);
            self.ended(End::Failed, now);
        } else {
            self.fail(why);
            self.pulse(now);
        }
    }

    fn fail(&mut self, why: &str) {
        self.stage = Stage::Failed;
        self.why = short(why);
    }

    /// Reports that the load began at this time.
    pub fn began(&mut self, at: Nanos) {
        self.run_from(at);
        let late = i128::from(at) - i128::from(self.start);
        self.late_ns = i64::try_from(late).ok();
    }

    fn run_from(&mut self, now: Nanos) {
        if self.stage == Stage::Armed && now >= self.start {
            self.stage = Stage::Running;
        }
    }

    /// Records the next interval of the load, with times on the agent's clock.
    ///
    /// # Errors
    /// The interval exceeds the limits of messages: the run cannot continue.
    pub fn interval(&mut self, interval: &Interval, now: Nanos) -> Result<(), MessageError> {
        self.run_from(now);
        if self.stage != Stage::Running {
            return Ok(());
        }
        let mut own = SparseInterval::from(interval);
        own.start = own.start.saturating_sub(self.start);
        own.end = own.end.saturating_sub(self.start);
        self.total.merge_sums(&own);
        self.made = own.index + 1;
        self.keep(own.index, None, own, now)?;
        if let Some(full) = self.queue.is_full() {
            self.stop(End::QueueFull, format!("the bus did not accept {full}"));
        }
        self.offer(now);
        Ok(())
    }

    fn keep(
        &mut self,
        seq: u64,
        end: Option<End>,
        interval: SparseInterval,
        now: Nanos,
    ) -> Result<(), MessageError> {
        let record = Record {
            seq,
            part: 0,
            parts: 1,
            end,
            attempt: self.attempt,
            pieces: end.map_or(0, |_| self.outcome.len() as u32),
            late_ns: end.and(self.late_ns),
            interval,
        };
        let what = if end.is_some() { "end" } else { "iv" };
        for part in split(record)? {
            let id = format!("{what}/{seq}/{}", part.part);
            self.push(&id, Body::Record(Box::new(part)), now)?;
        }
        Ok(())
    }

    /// Queues a message for the bus to store, with this number among the agent's messages.
    fn push(&mut self, id: &str, body: Body, now: Nanos) -> Result<(), MessageError> {
        let AgentConfig {
            run,
            name,
            instance,
            ..
        } = &self.config;
        let id = format!("{run}/{name}/{instance:x}/{id}");
        let message = self.message(body);
        self.queue
            .push(id, message.subject(), message.encode()?, now);
        Ok(())
    }

    /// Takes the outcome of the load as packed by [`pack`](crate::message::pack); it is sent with
    /// the totals.
    pub fn outcome(&mut self, pieces: Vec<String>) {
        self.outcome = pieces;
    }

    fn send_outcome(&mut self, now: Nanos) -> Result<(), MessageError> {
        for (number, text) in (0..).zip(self.outcome.clone()) {
            let piece = Piece {
                attempt: self.attempt,
                number,
                text,
            };
            self.push(&format!("outcome/{number}"), Body::Outcome(piece), now)?;
        }
        Ok(())
    }

    /// Reports that the load has ended: as planned, unless it was ordered to stop.
    pub fn ended(&mut self, how: End, now: Nanos) {
        if self.stage != Stage::Running {
            return;
        }
        self.stage = Stage::Ended;
        let how = match (how, self.ending) {
            (End::Failed, _) | (_, None) => how,
            (_, Some(ordered)) => ordered,
        };
        let mut total = SparseInterval::from(&std::mem::take(&mut self.total));
        total.index = self.made;
        let sent = self.send_outcome(now);
        if let Err(error) = sent.and_then(|()| self.keep(self.made, Some(how), total, now)) {
            // It could not be sent; the coordinator will report it as missing.
            self.why = short(&error.to_string());
        }
        self.offer(now);
        self.pulse(now);
    }

    /// The bus has stored the message with this number.
    pub fn confirmed(&mut self, id: &str, now: Nanos) {
        self.queue.confirmed(id);
        self.offer(now);
    }

    /// Acts on timeouts. Call it at the latest at [`Agent::wakes_at`].
    pub fn tick(&mut self, now: Nanos) {
        if self.exited {
            return;
        }
        self.notice_pause(now);
        self.run_from(now);
        if self.serial == 0 && now >= self.hello_at {
            self.hello_at = now + HELLO_NS;
            let hello = Box::new(self.config.hello.clone());
            self.send(Body::Hello(hello));
        }
        if self.serial > 0 && now >= self.pulse_at {
            self.pulse(now);
        }
        self.offer(now);
        self.notice_silence(now);
    }

    /// The latest time for the next [`Agent::tick`]: within a second, so that silence is noticed.
    pub fn wakes_at(&self) -> Nanos {
        let greets = if self.serial == 0 {
            self.hello_at
        } else {
            self.pulse_at
        };
        let starts = match self.stage {
            Stage::Armed => self.start,
            _ => Nanos::MAX,
        };
        greets.min(starts).min(self.queue.wakes_at())
    }

    fn offer(&mut self, now: Nanos) {
        while let Some(kept) = self.queue.offer(now) {
            self.actions.push_back(Action::Keep(kept));
        }
    }

    fn pulse(&mut self, now: Nanos) {
        self.pulse_at = now + PULSE_NS;
        let pulse = Pulse {
            serial: self.serial,
            stage: self.stage,
            attempt: self.attempt,
            made: self.made,
            unconfirmed: self.queue.len() as u64,
            late_ns: self.late_ns,
            unix_ns: self.unix_ns(now),
            why: self.why.clone(),
            ceiling: self.ceiling.clone(),
        };
        self.send(Body::Pulse(pulse));
    }

    fn send(&mut self, body: Body) {
        let message = self.message(body);
        self.actions.push_back(Action::Send(message));
    }

    fn command(&mut self, command: Command) {
        self.actions.push_back(Action::Do(command));
    }

    fn message(&self, body: Body) -> Message {
        Message {
            v: PROTOCOL,
            run: self.config.run.clone(),
            agent: self.config.name.clone(),
            instance: self.config.instance,
            body,
        }
    }

    fn unix_ns(&self, now: Nanos) -> u64 {
        u64::try_from(self.unix_origin_ns + i128::from(now)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
