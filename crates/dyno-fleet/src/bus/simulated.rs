//! A bus in virtual time that loses, delays, repeats and reorders messages, and disconnects, all
//! from a seed. Stored messages are eventually delivered at least once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use dyno_core::clock::Nanos;
use dyno_core::rand::Stream;

use super::{Bus, BusError, Incoming};
use crate::agent::StoredMessage;
use crate::names::{AgentName, Subject};

/// A stored message that was lost on its way is redelivered after this time.
const REDELIVERED_NS: Nanos = 1_000_000_000;

/// The faults of the bus.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The share of messages that are lost.
    pub loss: f64,
    /// The share of messages that arrive twice.
    pub twice: f64,
    /// Minimum and maximum delay of messages; it varies, so messages are reordered.
    pub delay_ns: (Nanos, Nanos),
    /// Periods when the bus is down: from and to, in order.
    pub away: Vec<(Nanos, Nanos)>,
    /// Periods when an end is cut off, 0 for the coordinator's and agents' from 1: end, from and
    /// to.
    pub cut: Vec<(usize, Nanos, Nanos)>,
}

/// The shared state of the bus.
#[derive(Debug)]
pub struct World {
    now: Nanos,
    faults: Faults,
    stream: Stream,
    names: BTreeMap<AgentName, usize>,
    /// Messages in flight, by arrival time and order of sending, with the receiver.
    under_way: BTreeMap<(Nanos, u64), (usize, Incoming)>,
    arrived: Vec<VecDeque<Incoming>>,
    kept: BTreeSet<String>,
    sent: u64,
    traffic: Traffic,
}

/// Traffic over the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages to the coordinator.
    pub messages_up: u64,
    /// Their bytes.
    pub bytes_up: u64,
    /// Bytes of stored messages among them.
    pub bytes_stored: u64,
    /// Messages to agents.
    pub messages_down: u64,
    /// Their bytes.
    pub bytes_down: u64,
}

/// One end of the bus. [`Bus::receive`] does not wait: the simulation advances time.
#[derive(Debug)]
pub struct SimulatedBus {
    world: Rc<RefCell<World>>,
    end: usize,
}

/// The bus, the coordinator's end, and the agents' ends in order.
pub fn ends(
    agents: &[AgentName],
    faults: Faults,
    seed: u64,
) -> (Rc<RefCell<World>>, SimulatedBus, Vec<SimulatedBus>) {
    let names = agents.iter().cloned().zip(1..).collect();
    let world = Rc::new(RefCell::new(World {
        now: 0,
        faults,
        stream: Stream::new(seed, u64::MAX),
        names,
        under_way: BTreeMap::new(),
        arrived: vec![VecDeque::new(); agents.len() + 1],
        kept: BTreeSet::new(),
        sent: 0,
        traffic: Traffic::default(),
    }));
    let end = |end| SimulatedBus {
        world: Rc::clone(&world),
        end,
    };
    let ends = (1..=agents.len()).map(end).collect();
    (Rc::clone(&world), end(0), ends)
}

impl World {
    /// The time of the next arrival; `None` without messages in flight.
    pub fn next_at(&self) -> Option<Nanos> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    /// Advances time; returns the ends that received something.
    pub fn advance(&mut self, now: Nanos) -> BTreeSet<usize> {
        self.now = self.now.max(now);
        let mut ends = BTreeSet::new();
        while let Some(entry) = self.under_way.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (end, incoming) = entry.remove();
            if let Some(arrived) = self.arrived.get_mut(end) {
                arrived.push_back(incoming);
            }
            ends.insert(end);
        }
        ends
    }

    /// Traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn is_away(&self, end: usize, at: Nanos) -> bool {
        self.back_at(end, at) > at
    }

    /// When the bus is available again for this end; `at` if it is available.
    fn back_at(&self, end: usize, at: Nanos) -> Nanos {
        let cut = self.faults.cut.iter().filter(|(whose, ..)| *whose == end);
        let cut = cut.map(|(_, from, to)| (*from, *to));
        let all = self.faults.away.iter().copied().chain(cut);
        let within = all.filter(|(from, to)| (*from..*to).contains(&at));
        within.map(|(_, to)| to).max().unwrap_or(at)
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.stream.next_f64() < share
    }

    fn delay(&mut self) -> Nanos {
        let (least, most) = self.faults.delay_ns;
        least + self.stream.below(most.saturating_sub(least) + 1)
    }

    fn deliver(&mut self, at: Nanos, end: usize, incoming: Incoming) {
        self.sent += 1;
        self.under_way.insert((at, self.sent), (end, incoming));
    }

    fn target(&self, subject: &Subject) -> Option<usize> {
        match subject.channel.is_upward() {
            true => Some(0),
            false => self.names.get(&subject.agent).copied(),
        }
    }

    fn count(&mut self, subject: &Subject, bytes: &[u8]) {
        let bytes = bytes.len() as u64;
        let traffic = &mut self.traffic;
        if subject.channel.is_upward() {
            traffic.messages_up += 1;
            traffic.bytes_up += bytes;
            traffic.bytes_stored += bytes * u64::from(subject.channel.is_stored());
        } else {
            traffic.messages_down += 1;
            traffic.bytes_down += bytes;
        }
    }

    fn send(&mut self, from: usize, subject: &Subject, bytes: &[u8]) {
        self.count(subject, bytes);
        let Some(to) = self.target(subject) else {
            return;
        };
        let message = Incoming::Message {
            subject: subject.clone(),
            bytes: bytes.to_vec(),
        };
        for _ in 0..1 + u32::from(self.chance(self.faults.twice)) {
            let at = self.now + self.delay();
            let gone = self.is_away(from, self.now) || self.is_away(to, at);
            if !gone && !self.chance(self.faults.loss) {
                self.deliver(at, to, message.clone());
            }
        }
    }

    fn keep(&mut self, from: usize, kept: &StoredMessage) {
        self.count(&kept.subject, &kept.bytes);
        let there = self.now + self.delay();
        let gone = self.is_away(from, self.now) || self.is_away(from, there);
        if gone || self.chance(self.faults.loss) {
            return;
        }
        let confirmed_at = there + self.delay();
        if !self.is_away(from, confirmed_at) && !self.chance(self.faults.loss) {
            let id = kept.id.to_string();
            self.deliver(confirmed_at, from, Incoming::Confirmed { id });
        }
        if !self.kept.insert(kept.id.to_string()) {
            return;
        }
        let message = Incoming::Message {
            subject: kept.subject.clone(),
            bytes: kept.bytes.to_vec(),
        };
        for _ in 0..1 + u32::from(self.chance(self.faults.twice)) {
            let mut at = there + self.delay();
            while self.chance(self.faults.loss) || self.is_away(0, at) {
                at = self.back_at(0, at + REDELIVERED_NS) + self.delay();
            }
            self.deliver(at, 0, message.clone());
        }
    }
}

impl Bus for SimulatedBus {
    fn send(&mut self, subject: &Subject, bytes: &[u8]) -> Result<(), BusError> {
        self.world.borrow_mut().send(self.end, subject, bytes);
        Ok(())
    }

    fn keep(&mut self, kept: &StoredMessage) -> Result<(), BusError> {
        self.world.borrow_mut().keep(self.end, kept);
        Ok(())
    }

    fn receive(&mut self, _until: Nanos) -> Result<Option<Incoming>, BusError> {
        let mut world = self.world.borrow_mut();
        Ok(world
            .arrived
            .get_mut(self.end)
            .and_then(VecDeque::pop_front))
    }
}
