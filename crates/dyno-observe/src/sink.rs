//! Turns readings into observations: series, their rates, and the queue to the consumer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use dyno_core::clock::Nanos;
use dyno_core::record::{EventKind, Fact, NotObserved, SeriesKey, SeriesKind};

use crate::Observation;

/// The queue to the consumer, shared by the observers' threads. It never blocks.
#[derive(Clone)]
pub(crate) struct Sink {
    /// `None` once it was closed. Locked briefly, a few times per second.
    sender: Arc<Mutex<Option<SyncSender<Observation>>>>,
    /// The series that the consumer knows, by name: a worker or a device that is found again
    /// continues its series.
    series: Arc<Mutex<HashMap<String, u32>>>,
    taken: Arc<AtomicU64>,
    missed: Arc<AtomicU64>,
}

impl Sink {
    pub(crate) fn new(sender: SyncSender<Observation>) -> Self {
        Self {
            sender: Arc::new(Mutex::new(Some(sender))),
            series: Arc::default(),
            taken: Arc::default(),
            missed: Arc::default(),
        }
    }

    /// Whether it was accepted. If the consumer is gone, that is not counted as missed.
    pub(crate) fn send(&self, observation: Observation) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        match sender.as_ref().map(|sender| sender.try_send(observation)) {
            Some(Ok(())) => {
                self.taken.fetch_add(1, Ordering::Relaxed);
                true
            }
            Some(Err(TrySendError::Full(_))) => {
                self.missed(1);
                false
            }
            Some(Err(TrySendError::Disconnected(_))) | None => false,
        }
    }

    /// The number of a series, which is announced to the consumer once; `None` if that failed.
    fn series(&self, key: &SeriesKey, kind: SeriesKind) -> Option<u32> {
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = series.get(&key.name) {
            return Some(*id);
        }
        let id = u32::try_from(series.len()).ok()?;
        let key = key.clone();
        let name = key.name.clone();
        if !self.send(Observation::Series { id, key, kind }) {
            return None;
        }
        series.insert(name, id);
        Some(id)
    }

    /// Ends the queue after the observations sent so far, although a thread that still waits for a
    /// server has a copy of this.
    pub(crate) fn close(&self) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        *sender = None;
    }

    /// The number of observations accepted from all threads.
    pub(crate) fn taken_so_far(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    pub(crate) fn missed(&self, count: u64) {
        self.missed.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn missed_so_far(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    pub(crate) fn fact(&self, name: &str, value: impl Into<String>, source: &str) {
        self.send(Observation::Fact(Fact::new(name, value, source)));
    }

    pub(crate) fn gap(&self, what: &str, why: impl Into<String>) {
        self.send(Observation::NotObserved(NotObserved {
            what: what.to_owned(),
            why: why.into(),
        }));
    }

    pub(crate) fn event(&self, at: Nanos, until: Option<Nanos>, kind: EventKind, text: String) {
        self.send(Observation::Event {
            at,
            until,
            kind,
            text,
            detail: Box::default(),
        });
    }
}

/// The samples of one thread.
pub(crate) struct SampleBuffer {
    sink: Sink,
    at: Nanos,
    values: Vec<(u32, f64)>,
    /// Times of samples, if zeros are withheld.
    times: Vec<Nanos>,
    keeps_zeros: bool,
    is_finished: bool,
}

impl SampleBuffer {
    /// `keeps_zeros`: whether series that were always 0 are withheld.
    pub(crate) fn new(sink: Sink, keeps_zeros: bool) -> Self {
        Self {
            sink,
            at: 0,
            values: Vec::new(),
            times: Vec::new(),
            keeps_zeros,
            is_finished: true,
        }
    }

    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// The time of the sample.
    pub(crate) fn at(&self) -> Nanos {
        self.at
    }

    /// The number of the sample, for [`Gauge::zero_since`].
    pub(crate) fn number(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// Begins a sample: the following values were read at this time.
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.at = at;
        self.values.clear();
        if self.keeps_zeros {
            // An abandoned sample reported nothing.
            if !self.is_finished {
                self.times.pop();
            }
            self.times.push(at);
        }
        self.is_finished = false;
    }

    /// Sends the sample.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
        if self.values.is_empty() {
            return;
        }
        let values = std::mem::take(&mut self.values);
        self.values.reserve(values.len());
        self.sink.send(Observation::Sample {
            at: self.at,
            values,
        });
    }

    fn put(&mut self, slot: &mut Slot, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.keeps_zeros && !slot.is_loud {
            let since = self.times.len().saturating_sub(1);
            if value == 0.0 {
                slot.zeros_from.get_or_insert(since);
                return;
            }
            slot.is_loud = true;
            if let Some(from) = slot.zeros_from
                && let Some(id) = slot.id(&self.sink)
            {
                let at = self.times[from.min(since)..since].to_vec();
                self.sink.send(Observation::Zeros { id, at });
            }
        }
        let known = |id: u32| self.values.iter().any(|(own, _)| *own == id);
        // A series has one value at a time, even with several readers.
        if let Some(id) = slot.id(&self.sink)
            && !known(id)
        {
            self.values.push((id, value));
        }
    }
}

/// A series, and whether its consumer knows it.
struct Slot {
    key: SeriesKey,
    kind: SeriesKind,
    id: Option<u32>,
    /// It had a value other than 0.
    is_loud: bool,
    zeros_from: Option<usize>,
}

impl Slot {
    fn new(name: &str, unit: &str, source: &str, kind: SeriesKind) -> Self {
        Self {
            key: SeriesKey {
                name: name.to_owned(),
                unit: unit.to_owned(),
                source: source.to_owned(),
            },
            kind,
            id: None,
            is_loud: false,
            zeros_from: None,
        }
    }

    /// The series' number; announces it to the consumer if necessary.
    fn id(&mut self, sink: &Sink) -> Option<u32> {
        if self.id.is_none() {
            self.id = sink.series(&self.key, self.kind);
        }
        self.id
    }

    fn kept_back(&self) -> bool {
        !self.is_loud && self.zeros_from.is_some()
    }
}

/// A current value.
pub(crate) struct Gauge(Slot);

impl Gauge {
    pub(crate) fn new(name: &str, unit: &str, source: &str) -> Self {
        Self(Slot::new(name, unit, source, SeriesKind::Gauge))
    }

    /// For a value that is not read in every sample: its zeros are not withheld.
    pub(crate) fn seldom(mut self) -> Self {
        self.0.is_loud = true;
        self
    }

    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        &self.0.key.name
    }

    #[cfg(test)]
    pub(crate) fn unit(&self) -> &str {
        &self.0.key.unit
    }

    /// For a value that was 0 since that sample, before this gauge existed.
    pub(crate) fn zero_since(mut self, sample: usize) -> Self {
        self.0.zeros_from = Some(sample);
        self
    }

    pub(crate) fn put(&mut self, recorder: &mut SampleBuffer, value: f64) {
        recorder.put(&mut self.0, value);
    }

    pub(crate) fn put_some(&mut self, recorder: &mut SampleBuffer, value: Option<f64>) {
        if let Some(value) = value {
            self.put(recorder, value);
        }
    }

    /// The series' name, if it was always 0.
    pub(crate) fn always_zero(&self) -> Option<&str> {
        self.0.kept_back().then_some(self.0.key.name.as_str())
    }
}

/// A counter, reported as its mean rate since the previous reading.
pub(crate) struct Rate {
    slot: Slot,
    /// Units per count.
    scale: f64,
    before: Option<(Nanos, f64)>,
}

impl Rate {
    pub(crate) fn new(name: &str, unit: &str, source: &str) -> Self {
        Self::scaled(name, unit, source, 1.0)
    }

    /// A counter with `scale` units per count.
    pub(crate) fn scaled(name: &str, unit: &str, source: &str, scale: f64) -> Self {
        Self {
            slot: Slot::new(name, unit, source, SeriesKind::Rate),
            scale,
            before: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        &self.slot.key.name
    }

    #[cfg(test)]
    pub(crate) fn unit(&self) -> &str {
        &self.slot.key.unit
    }

    /// For a counter that is not read in every sample: its zeros are not withheld.
    pub(crate) fn seldom(mut self) -> Self {
        self.slot.is_loud = true;
        self
    }

    /// Takes the counter's current value. A counter that decreased was reset, and starts again.
    pub(crate) fn put(&mut self, recorder: &mut SampleBuffer, count: f64) -> Option<f64> {
        let before = self.before.replace((recorder.at, count));
        let (at, earlier) = before?;
        if count < earlier || recorder.at <= at {
            return None;
        }
        let seconds = (recorder.at - at) as f64 / 1e9;
        let rate = (count - earlier) / seconds * self.scale;
        recorder.put(&mut self.slot, rate);
        Some(rate)
    }

    pub(crate) fn put_some(
        &mut self,
        recorder: &mut SampleBuffer,
        count: Option<f64>,
    ) -> Option<f64> {
        self.put(recorder, count?)
    }

    /// Forgets the counter's value, so that the next reading starts again.
    pub(crate) fn restart(&mut self) {
        self.before = None;
    }

    /// The series' name, if it was always 0.
    pub(crate) fn always_zero(&self) -> Option<&str> {
        self.slot.kept_back().then_some(self.slot.key.name.as_str())
    }
}

/// A rate computed from others.
pub(crate) struct Mean(Slot);

impl Mean {
    pub(crate) fn new(name: &str, unit: &str, source: &str) -> Self {
        Self(Slot::new(name, unit, source, SeriesKind::Rate))
    }

    pub(crate) fn put(&mut self, recorder: &mut SampleBuffer, value: f64) {
        recorder.put(&mut self.0, value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn rates_divide_by_the_time_that_passed() {
        let (sender, observations) = sync_channel(16);
        let mut recorder = SampleBuffer::new(Sink::new(sender), false);
        let mut rate = Rate::scaled("host.x", "bytes/s", "/proc/x", 512.0);
        for (at, count) in [(1_000_000_000, 10.0), (3_000_000_000, 14.0)] {
            recorder.begin(at);
            rate.put(&mut recorder, count);
            recorder.finish();
        }
        // A counter that was reset has no rate for the time in between.
        recorder.begin(4_000_000_000);
        assert_eq!(rate.put(&mut recorder, 3.0), None);
        recorder.begin(4_500_000_000);
        assert_eq!(rate.put(&mut recorder, 4.0), Some(1_024.0));
        let seen: Vec<Observation> = observations.try_iter().collect();
        assert!(
            matches!(&seen[0], Observation::Series { id: 0, key, kind: SeriesKind::Rate }
            if key.name == "host.x" && key.unit == "bytes/s")
        );
        let (at, values) = (3_000_000_000, vec![(0, 1_024.0)]);
        assert_eq!(seen[1..], [Observation::Sample { at, values }]);
    }

    #[test]
    fn a_source_that_reappears_continues_its_series() {
        let (sender, observations) = sync_channel(16);
        let mut recorder = SampleBuffer::new(Sink::new(sender), false);
        let new = || Gauge::new("client.worker[0].cpu", "cores", "/proc");
        let (mut one, mut again) = (new(), new());
        recorder.begin(1);
        one.put(&mut recorder, 0.5);
        again.put(&mut recorder, 0.6);
        recorder.finish();
        recorder.begin(2);
        again.put(&mut recorder, 0.7);
        recorder.finish();
        let seen: Vec<Observation> = observations.try_iter().collect();
        assert!(matches!(seen[0], Observation::Series { id: 0, .. }));
        let sample = |at, value| Observation::Sample {
            at,
            values: vec![(0, value)],
        };
        assert_eq!(seen[1..], [sample(1, 0.5), sample(2, 0.7)]);
    }

    #[test]
    fn leading_zeros_are_buffered_until_they_end() {
        let (sender, observations) = sync_channel(16);
        let mut recorder = SampleBuffer::new(Sink::new(sender), true);
        let mut gauge = Gauge::new("db.x", "count", "SHOW");
        let mut still = Gauge::new("db.y", "count", "SHOW");
        for (at, value) in [(1, 0.0), (2, 0.0), (3, 7.0), (4, 0.0)] {
            recorder.begin(at);
            gauge.put(&mut recorder, value);
            still.put(&mut recorder, 0.0);
            recorder.finish();
        }
        let seen: Vec<Observation> = observations.try_iter().collect();
        let zeros = Observation::Zeros {
            id: 0,
            at: vec![1, 2],
        };
        let sample = |at, value| Observation::Sample {
            at,
            values: vec![(0, value)],
        };
        assert_eq!(seen[1..], [zeros, sample(3, 7.0), sample(4, 0.0)]);
        assert_eq!(gauge.always_zero(), None);
        assert_eq!(still.always_zero(), Some("db.y"));
    }

    #[test]
    fn a_late_series_was_zero_before() {
        let (sender, observations) = sync_channel(16);
        let mut recorder = SampleBuffer::new(Sink::new(sender), true);
        recorder.begin(1);
        recorder.begin(2);
        recorder.finish();
        recorder.begin(3);
        let mut gauge = Gauge::new("db.x", "count", "SHOW").zero_since(0);
        gauge.put(&mut recorder, 7.0);
        recorder.finish();
        let seen: Vec<Observation> = observations.try_iter().collect();
        // The abandoned sample does not count.
        let zeros = Observation::Zeros { id: 0, at: vec![2] };
        let (at, values) = (3, vec![(0, 7.0)]);
        assert_eq!(seen[1..], [zeros, Observation::Sample { at, values }]);
    }

    #[test]
    fn a_full_queue_is_counted_and_does_not_block() {
        let (sender, observations) = sync_channel(1);
        let sink = Sink::new(sender);
        let mut recorder = SampleBuffer::new(sink.clone(), false);
        let mut gauge = Gauge::new("host.x", "count", "/proc/x");
        for at in 1..=3 {
            recorder.begin(at);
            gauge.put(&mut recorder, 1.0);
            recorder.finish();
        }
        // The series was accepted; three samples found no room.
        assert_eq!(sink.missed_so_far(), 3);
        assert_eq!(observations.try_iter().count(), 1);
        drop(observations);
        recorder.begin(4);
        gauge.put(&mut recorder, 1.0);
        recorder.finish();
        assert_eq!(sink.missed_so_far(), 3);
    }
}
