//! Properties that must hold for any bytes from the bus. The fuzz target and property tests call
//! the same function, so the property tests keep whatever fuzzing finds.

use dyno_core::interval::{LatenciesOf, SparseInterval};

use crate::merge::{Axis, Merger, Rejected};
use crate::message::{Body, Message};
use crate::names::{AgentName, Channel, RunId, Subject};

/// Checks a message; the first byte selects the subject. It must either be rejected, or survive
/// being encoded and decoded again. An interval in it must either be added once, unchanged, or be
/// rejected.
///
/// # Panics
/// If a property does not hold.
pub fn message(bytes: &[u8]) {
    let Some((channel, bytes)) = bytes.split_first() else {
        return;
    };
    let (Ok(run), Ok(agent)) = (RunId::new("r1"), AgentName::new("gen1")) else {
        return;
    };
    let channel = Channel::ALL[usize::from(*channel) % Channel::ALL.len()];
    let subject = Subject {
        run,
        channel,
        agent,
    };
    let Ok(message) = Message::decode(&subject, bytes) else {
        return;
    };
    // Encoding again may make a compact message longer than the limit.
    let again = message
        .encode()
        .ok()
        .map(|bytes| Message::decode(&subject, &bytes));
    if let Some(Ok(again)) = again {
        assert_eq!(again, message);
    }
    if let Body::Record(record) = message.body {
        added_once(&record.interval);
    }
}

fn added_once(interval: &SparseInterval) {
    let axis = Axis {
        start: 0,
        start_unix_ns: 0,
        warmup_ns: 0,
        interval_ns: 1_000_000_000,
    };
    let mut merger = Merger::new(1, axis);
    let once = merger.add(0, interval.clone(), 0);
    let twice = merger.add(0, interval.clone(), 0);
    assert_eq!(
        once.is_ok(),
        twice == Err(Rejected::Twice),
        "{once:?} {twice:?}"
    );
    for merged in merger.due(0) {
        let latencies = LatenciesOf::from(&merged.interval.latencies);
        assert_eq!(latencies, interval.latencies);
    }
}
