//! Latencies of events and operations.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{LATENCY_NS_MAX, codec, latency_histogram};

/// A latency histogram in one of its forms.
pub trait Distribution: Sized {
    /// An empty histogram.
    fn empty() -> Self;

    /// An empty histogram that may never get any samples.
    fn unused() -> Self;

    /// Number of samples.
    fn samples(&self) -> u64;

    /// Adds all samples to a histogram with latency bounds.
    fn add_to(&self, sum: &mut Histogram<u64>);

    /// Serialises the histogram in its own form.
    ///
    /// # Errors
    /// The serialiser fails.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Deserialises a histogram from input that is not trusted.
    ///
    /// # Errors
    /// The input is invalid, or takes more memory than a latency histogram.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl Distribution for Histogram<u64> {
    fn empty() -> Self {
        latency_histogram()
    }

    fn unused() -> Self {
        unused_histogram()
    }

    fn samples(&self) -> u64 {
        self.len()
    }

    fn add_to(&self, sum: &mut Histogram<u64>) {
        // Both have the same fixed bounds, so adding cannot fail.
        let _ = sum.add(self);
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        codec::write(self, serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        codec::read(deserializer)
    }
}

/// An empty histogram that takes a tenth of the memory until something is added.
fn unused_histogram() -> Histogram<u64> {
    #[allow(clippy::expect_used)] // constant bounds, which the crate accepts
    let mut histogram = Histogram::new_with_bounds(1, 2, 3).expect("constant bounds are valid");
    // Let it grow when other histograms are added.
    histogram.auto(true);
    histogram
}

/// Gives a histogram its bounds before it records its first value.
#[inline]
fn bounded(histogram: &mut Histogram<u64>) -> &mut Histogram<u64> {
    if histogram.high() < LATENCY_NS_MAX {
        give_bounds(histogram);
    }
    histogram
}

#[cold]
fn give_bounds(histogram: &mut Histogram<u64>) {
    let mut full = latency_histogram();
    // The bounds fit every value of the other histogram.
    let _ = full.add(&*histogram);
    *histogram = full;
}

/// The latencies of one operation in nanoseconds.
pub type Latencies = LatenciesOf<Histogram<u64>>;

/// The latencies of one operation in nanoseconds, generic over the histogram type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "H: Distribution")]
pub struct LatenciesOf<H> {
    /// From the start to the end.
    #[serde(with = "form")]
    pub service: H,
    /// From the scheduled start to the end. Empty in a closed loop, where it would equal `service`,
    /// and takes little memory then.
    #[serde(with = "form::unused")]
    pub response: H,
    /// The exact sum of service times.
    pub service_ns_sum: u64,
    /// The exact sum of response times.
    pub response_ns_sum: u64,
    /// The exact smallest service time; `u64::MAX` without samples.
    pub service_ns_min: u64,
    /// The exact largest service time.
    pub service_ns_max: u64,
    /// The exact smallest response time.
    pub response_ns_min: u64,
    /// The exact largest response time.
    pub response_ns_max: u64,
    /// How many latencies are beyond the bound of the histogram.
    pub clipped: u64,
}

impl<H: Distribution> Default for LatenciesOf<H> {
    fn default() -> Self {
        Self {
            service: H::empty(),
            response: H::unused(),
            service_ns_sum: 0,
            response_ns_sum: 0,
            service_ns_min: u64::MAX,
            service_ns_max: 0,
            response_ns_min: u64::MAX,
            response_ns_max: 0,
            clipped: 0,
        }
    }
}

impl Latencies {
    /// Records one service time.
    #[inline]
    pub fn record_service(&mut self, ns: u64) {
        self.service.saturating_record(ns);
        self.service_ns_sum += ns;
        self.service_ns_min = self.service_ns_min.min(ns);
        self.service_ns_max = self.service_ns_max.max(ns);
        self.clipped += u64::from(ns > LATENCY_NS_MAX);
    }

    /// Records one response time (open loop only).
    #[inline]
    pub fn record_response(&mut self, ns: u64) {
        bounded(&mut self.response).saturating_record(ns);
        self.response_ns_sum += ns;
        self.response_ns_min = self.response_ns_min.min(ns);
        self.response_ns_max = self.response_ns_max.max(ns);
    }

    /// Adds what another one has recorded.
    pub fn merge<H: Distribution>(&mut self, other: &LatenciesOf<H>) {
        // Skip empty histograms, because going through one takes as long as an event.
        if other.service.samples() > 0 {
            other.service.add_to(&mut self.service);
        }
        if other.response.samples() > 0 {
            other.response.add_to(bounded(&mut self.response));
        }
        self.service_ns_sum += other.service_ns_sum;
        self.response_ns_sum += other.response_ns_sum;
        self.service_ns_min = self.service_ns_min.min(other.service_ns_min);
        self.service_ns_max = self.service_ns_max.max(other.service_ns_max);
        self.response_ns_min = self.response_ns_min.min(other.response_ns_min);
        self.response_ns_max = self.response_ns_max.max(other.response_ns_max);
        self.clipped += other.clipped;
    }

    /// Clears everything but keeps the memory.
    pub fn clear(&mut self) {
        if !self.service.is_empty() {
            self.service.reset();
        }
        if !self.response.is_empty() {
            self.response.reset();
        }
        self.service_ns_sum = 0;
        self.response_ns_sum = 0;
        self.service_ns_min = u64::MAX;
        self.service_ns_max = 0;
        self.response_ns_min = u64::MAX;
        self.response_ns_max = 0;
        self.clipped = 0;
    }
}

/// The serialised form of histograms.
mod form {
    use serde::{Deserializer, Serializer};

    use super::Distribution;

    pub(super) fn serialize<H: Distribution, S: Serializer>(
        histogram: &H,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        histogram.write(serializer)
    }

    pub(super) fn deserialize<'de, H: Distribution, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<H, D::Error> {
        H::read(deserializer)
    }

    /// Reads and writes a histogram that takes little memory while it is empty.
    pub(super) mod unused {
        pub(in super::super) use super::serialize;
        use super::{Deserializer, Distribution};

        pub(in super::super) fn deserialize<'de, H: Distribution, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<H, D::Error> {
            let histogram = H::read(deserializer)?;
            Ok(match histogram.samples() {
                0 => H::unused(),
                _ => histogram,
            })
        }
    }
}
