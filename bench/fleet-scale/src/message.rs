//! How large a message with an interval is, in the forms that it could have, and what each costs.

use std::io::{Read as _, Write as _};

use dyno_core::clock::thread_cpu;
use dyno_core::interval::Interval;
use dyno_fleet::merge::{Axis, Merger};
use dyno_fleet::message::{Body, Message, PROTOCOL, Record};
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::simulation::{Load, recorded};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::Value;

/// So often each is done.
const ROUNDS: u64 = 200;

/// Lines of a table.
pub fn sizes(events: u32, operations: u32) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let load = Load {
        events,
        operations,
        interval_ns: 1_000_000_000,
    };
    let interval = recorded(&load, 7, 0, 5);
    let message = message(interval.clone())?;
    let json = message.encode()?;
    let mut value: Value = serde_json::from_slice(&json)?;
    let histograms = take_histograms(&mut value);
    // In a binary tail each would stand as its bytes after their length.
    let tail: usize = histograms.iter().map(|text| 4 + text.len() / 4 * 3).sum();
    let bare = serde_json::to_vec(&value)?.len();
    let deflated = deflate(&json)?;
    let encode = time(|| message.encode().map(drop).is_ok());
    let subject = message.subject();
    let decode = time(|| Message::decode(&subject, &json).is_ok());
    let squeeze = time(|| deflate(&json).is_ok());
    let inflate = time(|| inflate(&deflated).is_ok());
    let axis = Axis {
        start: 0,
        start_unix_ns: 0,
        warmup_ns: 0,
        interval_ns: load.interval_ns,
    };
    let mut merger = Merger::new(ROUNDS as usize + 1, axis);
    let mut agent = 0;
    let merge = time(|| {
        agent += 1;
        merger.add(agent - 1, interval.clone(), 0).is_ok()
    });
    Ok(vec![
        format!(
            "a message with an interval, as JSON: {} bytes, made in {encode:.1} µs, \
                 read in {decode:.1} µs",
            json.len()
        ),
        format!(
            "with its histograms in a binary tail: {} bytes",
            bare + tail
        ),
        format!(
            "as JSON, deflated: {} bytes, {squeeze:.1} µs more to make, {inflate:.1} µs to \
                 read",
            deflated.len()
        ),
        format!("added to the sum, with a copy: {merge:.1} µs"),
    ])
}

fn message(interval: Interval) -> Result<Message, Box<dyn std::error::Error>> {
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

fn take_histograms(value: &mut Value) -> Vec<String> {
    match value {
        Value::String(text) if text.starts_with("HIST") => vec![std::mem::take(text)],
        Value::Array(list) => list.iter_mut().flat_map(take_histograms).collect(),
        Value::Object(map) => map.values_mut().flat_map(take_histograms).collect(),
        _ => Vec::new(),
    }
}

fn deflate(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn inflate(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut out)?;
    Ok(out)
}

/// Microseconds of CPU time that it takes; not a number where it does not succeed.
fn time(mut what: impl FnMut() -> bool) -> f64 {
    let began = thread_cpu();
    let all = (0..ROUNDS).all(|_| what());
    let took = (thread_cpu() - began) as f64 / ROUNDS as f64 / 1e3;
    if all { took } else { f64::NAN }
}
