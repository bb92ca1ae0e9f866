//! The size of a message with an interval, and what it costs to handle.

use dyno_core::clock::thread_cpu;
use dyno_core::interval::SparseInterval;
use dyno_fleet::merge::{Axis, Merger};
use dyno_fleet::message::{Body, Message, PROTOCOL, Record};
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::simulation::{Load, recorded};

/// How often each step is repeated.
const ROUNDS: u64 = 200;

/// The lines of the table that is printed.
pub(crate) fn sizes(
    events: u32,
    operations: u32,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let load = Load {
        events,
        operations,
        interval_ns: 1_000_000_000,
    };
    let dense = recorded(&load, 7, 0, 5);
    let interval = SparseInterval::from(&dense);
    let message = message(interval.clone())?;
    let subject = message.subject();
    let (json, bytes) = (message.json()?, message.encode()?);
    let sparse = time(|| SparseInterval::from(&dense).index == 5);
    let encode = time(|| message.encode().is_ok());
    let decode = time(|| Message::decode(&subject, &bytes).is_ok());
    let bare = time(|| Message::decode(&subject, &json).is_ok());
    let axis = Axis {
        start: 0,
        start_unix_ns: 0,
        warmup_ns: 0,
        interval_ns: load.interval_ns,
    };
    let mut merger = Merger::new(ROUNDS as usize + 1, axis);
    let mut intervals = vec![interval; ROUNDS as usize].into_iter();
    let mut agent = 0;
    let merge = time(|| {
        let next = intervals.next();
        agent += 1;
        next.is_some_and(|interval| merger.add(agent - 1, interval, 0).is_ok())
    });
    Ok(vec![
        format!(
            "a message with an interval: {} bytes of JSON, {} deflated",
            json.len(),
            bytes.len()
        ),
        format!("agent: {sparse:.1} µs for its counts, {encode:.1} µs to write it"),
        format!("coordinator: {decode:.1} µs to read it, of which JSON {bare:.1} µs"),
        format!("and {merge:.1} µs to add it to the sum"),
    ])
}

fn message(interval: SparseInterval) -> Result<Message, Box<dyn std::error::Error>> {
    let record = Record {
        seq: interval.index,
        part: 0,
        parts: 1,
        end: None,
        attempt: 1,
        pieces: 0,
        late_ns: None,
        interval,
    };
    Ok(Message {
        v: PROTOCOL,
        run: RunId::new("scale")?,
        agent: AgentName::new("gen1")?,
        instance: 0x1234_5678_9abc_def0,
        body: Body::Record(Box::new(record)),
    })
}

/// Microseconds of CPU time per call; NaN if it fails.
fn time(mut what: impl FnMut() -> bool) -> f64 {
    let began = thread_cpu();
    let all = (0..ROUNDS).all(|_| what());
    let took = (thread_cpu() - began) as f64 / ROUNDS as f64 / 1e3;
    if all { took } else { f64::NAN }
}
