//! A bus within one process, over channels.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;

use super::{Bus, BusError, Incoming, WAITING_MAX};
use crate::agent::StoredMessage;
use crate::names::{AgentName, Subject};

/// One end of the bus.
#[derive(Debug)]
pub struct LocalBus {
    /// Channels to the agents, at the coordinator's end.
    down: BTreeMap<AgentName, SyncSender<Incoming>>,
    /// The channel to the coordinator, at an agent's end.
    up: Option<SyncSender<Incoming>>,
    incoming: Receiver<Incoming>,
    confirmed: VecDeque<String>,
}

/// The coordinator's end, and the agents' ends in order.
pub fn ends(agents: &[AgentName]) -> (LocalBus, Vec<LocalBus>) {
    let (up, incoming) = sync_channel(WAITING_MAX);
    let mut coordinator = LocalBus {
        down: BTreeMap::new(),
        up: None,
        incoming,
        confirmed: VecDeque::new(),
    };
    let mut end = |name: &AgentName| {
        let (down, incoming) = sync_channel(WAITING_MAX);
        coordinator.down.insert(name.clone(), down);
        LocalBus {
            down: BTreeMap::new(),
            up: Some(up.clone()),
            incoming,
            confirmed: VecDeque::new(),
        }
    };
    let ends = agents.iter().map(&mut end).collect();
    (coordinator, ends)
}

impl LocalBus {
    /// Passes a message; returns whether the other end took it.
    fn pass(&self, subject: &Subject, bytes: &[u8]) -> bool {
        let other = match subject.channel.is_upward() {
            true => self.up.as_ref(),
            false => self.down.get(&subject.agent),
        };
        let message = Incoming::Message {
            subject: subject.clone(),
            bytes: bytes.to_vec(),
        };
        other.is_some_and(|other| other.try_send(message).is_ok())
    }
}

impl Bus for LocalBus {
    fn send(&mut self, subject: &Subject, bytes: &[u8]) -> Result<(), BusError> {
        // The other end may have ended.
        self.pass(subject, bytes);
        Ok(())
    }

    fn keep(&mut self, kept: &StoredMessage) -> Result<(), BusError> {
        if self.pass(&kept.subject, &kept.bytes) {
            self.confirmed.push_back(kept.id.to_string());
        }
        Ok(())
    }

    fn receive(&mut self, until: Nanos) -> Result<Option<Incoming>, BusError> {
        if let Some(id) = self.confirmed.pop_front() {
            return Ok(Some(Incoming::Confirmed { id }));
        }
        let left = Duration::from_nanos(until.saturating_sub(Clock.now()));
        match self.incoming.recv_timeout(left) {
            Ok(incoming) => Ok(Some(incoming)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                // All other ends are gone. Report silence instead of an error.
                std::thread::sleep(left);
                Ok(None)
            }
        }
    }
}
