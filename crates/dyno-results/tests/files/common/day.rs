//! A synthetic day of ten operations and 150 series.

use dyno_core::interval::Latencies;
use dyno_core::record::SeriesKind;
use dyno_results::{FINE_S, Measured, Record, RunWriter, SeriesId};
use dyno_samples::values;

use super::{Random, interval};

/// The length of the day.
pub(crate) const SECONDS: u32 = 86_400;

/// Number of operations, including `event`.
pub(crate) const OPERATIONS: usize = 10;

/// Number of series observed each second.
pub(crate) const SERIES: usize = 150;

/// How many different seconds of latencies each operation has. They are used over and over.
const VARIATIONS: usize = 60;

/// A simulated day.
pub(crate) struct Day {
    random: Random,
    fine: Vec<Vec<Measured>>,
    coarse: Vec<Vec<Measured>>,
    /// In the merged part, one second of each stride has the data of all of them.
    stride: u32,
    series: Vec<SeriesId>,
}

impl Day {
    /// Generates the latencies and defines the series. A stride of 10 skips seconds that would be
    /// merged anyway.
    pub(crate) fn begin(writer: &mut RunWriter, stride: u32) -> Self {
        let mut random = Random(42);
        let mut made_up = |seconds: u32| -> Vec<Vec<Measured>> {
            let mut operation = |operation: usize| -> Vec<Measured> {
                let drawn = (0..VARIATIONS).map(|_| measured(operation, seconds, &mut random));
                drawn.collect()
            };
            (0..OPERATIONS).map(&mut operation).collect()
        };
        let (fine, coarse) = (made_up(1), made_up(stride));
        let series = (0..SERIES)
            .map(|number| {
                let name = format!("host.disk[nvme{number}].read_bytes");
                let key = values::key(&name, "bytes/s");
                writer.series(&key, SeriesKind::Rate).unwrap()
            })
            .collect();
        Self {
            random,
            fine,
            coarse,
            stride,
            series,
        }
    }

    /// Second `number` of the day, from 1: the samples, and then the interval.
    pub(crate) fn second(&mut self, number: u32) -> [Record; 2] {
        let at_s = f64::from(number) + 0.003 * self.random.unit();
        let is_coarse = at_s > FINE_S;
        let spared = is_coarse && number % self.stride != self.stride / 2;
        let latencies = if is_coarse { &self.coarse } else { &self.fine };
        let second = number;
        let values = self.series.iter().enumerate().map(|(index, series)| {
            // A third of the series are whole numbers that rarely change, such as errors, limits
            // and idle disks.
            let quiet = f64::from(second / 600 + 100 * index as u32);
            let value = if index % 3 == 0 {
                quiet
            } else {
                self.random.unit() * 1e6
            };
            (*series, value)
        });
        let values = if spared { Vec::new() } else { values.collect() };
        let mut summary = interval(1 + number % 1000);
        summary.at_s = at_s;
        let mut drawn = || Some((self.random.unit() * 1e7).floor() / 1e6);
        let percentiles = values::PERCENTS.map(|percent| (percent, drawn()));
        summary.percentiles = values::percentiles(&percentiles);
        let operations = latencies.iter().enumerate().map(|(operation, seconds)| {
            let drawn = (self.random.unit() * VARIATIONS as f64) as usize;
            let name = if operation == 0 {
                "event".to_owned()
            } else {
                format!("OP_{operation}")
            };
            (name, seconds[drawn.min(VARIATIONS - 1)].clone())
        });
        let operations = if spared {
            Vec::new()
        } else {
            operations.collect()
        };
        [
            Record::Samples(at_s, values),
            Record::Interval(Box::new(summary), operations),
        ]
    }
}

/// The latencies of an operation over some seconds: around some milliseconds with a long tail.
/// There are 999 events per second, shared equally by the nine operations other than `event`.
fn measured(operation: usize, seconds: u32, random: &mut Random) -> Measured {
    let count = seconds * if operation == 0 { 999 } else { 111 };
    let middle_ms = 1.0 + operation as f64;
    let mut latencies = Latencies::default();
    for _ in 0..count {
        // A sum of uniform draws is about normal.
        let normal: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        latencies.record_service((middle_ms * 1e6 * (0.5 * normal).exp()) as u64);
    }
    Measured::from(&latencies)
}
