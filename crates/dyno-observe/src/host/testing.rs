//! A consumer for tests of collectors.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::sink::{SampleBuffer, Sink};
use crate::{OBSERVATIONS_MAX, Observation};

/// A recorder and the receiver of its output.
pub(crate) fn recorder() -> (SampleBuffer, Receiver<Observation>) {
    let (sender, seen) = sync_channel(OBSERVATIONS_MAX);
    (SampleBuffer::new(Sink::new(sender), false), seen)
}

/// The values of each series so far, in order.
pub(crate) fn values(seen: &Receiver<Observation>) -> HashMap<String, Vec<f64>> {
    let mut names = HashMap::new();
    let mut values: HashMap<String, Vec<f64>> = HashMap::new();
    for observation in seen.try_iter() {
        match observation {
            Observation::Series { id, key, .. } => drop(names.insert(id, key.name)),
            Observation::Sample { values: new, .. } => {
                for (id, value) in new {
                    values.entry(names[&id].clone()).or_default().push(value);
                }
            }
            _ => {}
        }
    }
    values
}
