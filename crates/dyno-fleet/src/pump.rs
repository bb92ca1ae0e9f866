//! Runs the state machines in real time: connects them to a bus, the load, and an observer.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use dyno_core::Clock;
use dyno_core::clock::wall_time;
use dyno_core::interval::Interval;

use crate::agent::{Action, Agent, Command, Exit};
use crate::bus::{Bus, BusError, Incoming};
use crate::coordinator::{Coordinator, Event, Output};
use crate::message::{Ceiling, End, Message};
use crate::names::AgentName;

/// Interval between checks for reports of the load.
const LOOK_NS: u64 = 10_000_000;

/// A report from the load, or from the process that runs it.
#[derive(Debug)]
pub enum LoadReport {
    /// The calibrated ceiling.
    Calibrated(Ceiling),
    /// All sessions are ready.
    Prepared,
    /// Preparing failed, or the load.
    Failed(String),
    /// The load began at this instant.
    Began(u64),
    /// An interval.
    Interval(Box<Interval>),
    /// The outcome of the load, as packed by [`pack`](crate::message::pack).
    Outcome(Vec<String>),
    /// The load has ended.
    Ended(End),
    /// The process that started the agent has closed the agent's standard input.
    LauncherGone,
}

/// The host's civil time, in nanoseconds since 1970.
pub fn unix_ns() -> u64 {
    u64::try_from(wall_time().as_nanos()).unwrap_or(u64::MAX)
}

/// A request to end a run, or an agent's part, early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopRequest {
    /// The agents end their loads and report their measurements.
    Graceful(String),
    /// End without waiting for anyone.
    Immediate(String),
    /// Only this agent is lost: its process is known to have ended.
    Lost(AgentName, String),
}

/// Coordinates a run to its end. `event` receives events; `stop` is polled for requests to end
/// early.
///
/// # Errors
/// The bus failed permanently.
pub fn coordinate(
    coordinator: &mut Coordinator,
    bus: &mut impl Bus,
    mut event: impl FnMut(Event),
    mut stop: impl FnMut() -> Option<StopRequest>,
) -> Result<(), BusError> {
    while !coordinator.is_over() {
        let now = Clock.now();
        match stop() {
            None => {}
            Some(StopRequest::Graceful(why)) => coordinator.stop(&why, now),
            Some(StopRequest::Immediate(why)) => coordinator.abandon(&why, now),
            Some(StopRequest::Lost(agent, why)) => coordinator.gone(&agent, &why, now),
        }
        coordinator.tick(now);
        while let Some(output) = coordinator.next_output() {
            match output {
                Output::Send(message) => send(bus, &message)?,
                Output::Event(emitted) => event(emitted),
            }
        }
        // Handle received messages before checking for silence.
        let deadline = coordinator.wakes_at(Clock.now());
        while let Some(next) = bus.receive(deadline)? {
            let now = Clock.now();
            match next {
                Incoming::Message { subject, bytes } => coordinator.receive(&subject, &bytes, now),
                Incoming::Down => coordinator.bus(false, now),
                Incoming::Up => coordinator.bus(true, now),
                Incoming::Confirmed { .. } => {}
            }
            if now >= deadline {
                break;
            }
        }
    }
    Ok(())
}

fn send(bus: &mut impl Bus, message: &Message) -> Result<(), BusError> {
    // Shares and plans, the only large contents, are limited where they are created.
    let bytes = message.encode().map_err(|error| BusError::Refused {
        at: "of this run".to_owned(),
        what: "a message".to_owned(),
        why: error.to_string(),
    })?;
    bus.send(&message.subject(), &bytes)
}

/// Runs an agent until it exits. The load receives commands and answers with reports; a load that
/// disappears has failed.
///
/// # Errors
/// The bus failed permanently.
pub fn take_part(
    agent: &mut Agent,
    bus: &mut impl Bus,
    commands: &Sender<Command>,
    reports: &Receiver<LoadReport>,
) -> Result<Exit, BusError> {
    loop {
        let now = Clock.now();
        hear(agent, reports);
        agent.tick(now);
        while let Some(action) = agent.next_action() {
            match action {
                Action::Send(message) => send(bus, &message)?,
                Action::Keep(kept) => bus.keep(&kept)?,
                Action::Do(Command::Exit(exit)) => {
                    // The load may have ended.
                    let _ = commands.send(Command::Exit(exit.clone()));
                    return Ok(exit);
                }
                Action::Do(command) => {
                    let _ = commands.send(command);
                }
            }
        }
        let until = agent.wakes_at().min(Clock.now() + LOOK_NS);
        match bus.receive(until)? {
            Some(Incoming::Message { subject, bytes }) => {
                // Ignore malformed messages: orders are repeated.
                if let Ok(message) = Message::decode(&subject, &bytes) {
                    agent.receive(message, Clock.now());
                }
            }
            Some(Incoming::Confirmed { id }) => agent.confirmed(&id, Clock.now()),
            Some(Incoming::Down | Incoming::Up) | None => {}
        }
    }
}

fn hear(agent: &mut Agent, reports: &Receiver<LoadReport>) {
    loop {
        let now = Clock.now();
        match reports.try_recv() {
            Ok(LoadReport::Calibrated(ceiling)) => agent.calibrated(ceiling, now),
            Ok(LoadReport::Prepared) => agent.prepared(now),
            Ok(LoadReport::Failed(why)) => agent.failed(&why, now),
            Ok(LoadReport::Began(at)) => agent.began(at),
            Ok(LoadReport::Interval(interval)) => {
                if let Err(error) = agent.interval(&interval, now) {
                    agent.failed(&error.to_string(), now);
                }
            }
            Ok(LoadReport::Outcome(pieces)) => agent.outcome(pieces),
            Ok(LoadReport::Ended(end)) => agent.ended(end, now),
            Ok(LoadReport::LauncherGone) => agent.launcher_gone(),
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => {
                if matches!(agent.stage(), crate::message::Stage::Running) {
                    agent.failed("the load has stopped", now);
                }
                return;
            }
        }
    }
}
