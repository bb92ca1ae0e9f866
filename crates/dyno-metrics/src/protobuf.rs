//! Metrics as Prometheus' protocol buffers, the only scrape format with native histograms.
//!
//! The few messages needed are declared here, because the client library generates them at build
//! time with a protocol buffer compiler.

use prost::Message;

use crate::buckets::{BOUNDS, Distribution};
use crate::family::{Family, Kind, Label, Value, plain};

/// The content type, for HTTP.
pub const CONTENT_TYPE: &str = "application/vnd.google.protobuf; \
     proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Zero threshold of native histograms: Prometheus' own default. A threshold above 0 distinguishes
/// an empty native histogram from a classic one.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(enumeration = "MetricType", tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(int64, optional, tag = "6")]
    timestamp_ms: Option<i64>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Number {
    #[prost(double, tag = "1")]
    value: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, tag = "1")]
    sample_count: u64,
    #[prost(double, tag = "2")]
    sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, tag = "5")]
    schema: i32,
    #[prost(double, tag = "6")]
    zero_threshold: f64,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

/// All metrics, each prefixed with its length.
pub fn encode(families: &[Family]) -> Vec<u8> {
    let mut out = Vec::new();
    for family in families {
        // Encoding into a vector cannot fail.
        let _ = message(family).encode_length_delimited(&mut out);
    }
    out
}

fn message(family: &Family) -> MetricFamily {
    let name = family.prometheus_name();
    let (kind, name) = match family.kind {
        Kind::Counter => (MetricType::Counter, format!("{name}_total")),
        Kind::Gauge => (MetricType::Gauge, name),
        Kind::Histogram => (MetricType::Histogram, name),
    };
    let metric = family.samples.iter().map(|sample| {
        let mut metric = Metric {
            label: sample.labels.iter().map(pair).collect(),
            timestamp_ms: sample.at_unix_s.map(|at_s| (at_s * 1e3) as i64),
            ..Metric::default()
        };
        match (&sample.value, family.kind) {
            (Value::Number(value), Kind::Counter) => {
                metric.counter = Some(Number { value: *value })
            }
            (Value::Number(value), _) => metric.gauge = Some(Number { value: *value }),
            (Value::Distribution(distribution), _) => {
                metric.histogram = Some(histogram(distribution))
            }
        }
        metric
    });
    MetricFamily {
        name,
        help: format!("{}.", family.help),
        kind: kind.into(),
        metric: metric.collect(),
    }
}

fn pair((name, value): &Label) -> LabelPair {
    LabelPair {
        name: plain(name),
        value: value.clone(),
    }
}

fn histogram(distribution: &Distribution) -> Histogram {
    let bounds = BOUNDS.iter().map(|(bound, _)| *bound);
    let bucket = bounds.zip(distribution.cumulative());
    let (positive_span, positive_delta) = native(&distribution.exponential.buckets);
    Histogram {
        sample_count: distribution.count,
        sample_sum: distribution.sum_s(),
        bucket: bucket
            .map(|(upper_bound, cumulative_count)| Bucket {
                cumulative_count,
                upper_bound,
            })
            .collect(),
        schema: distribution.exponential.scale,
        zero_threshold: ZERO_THRESHOLD,
        positive_span,
        positive_delta,
    }
}

/// The buckets as spans of neighbours, and the difference between each count and the one before.
fn native(buckets: &[(i32, u64)]) -> (Vec<BucketSpan>, Vec<i64>) {
    let mut spans: Vec<BucketSpan> = Vec::new();
    let mut deltas = Vec::with_capacity(buckets.len());
    // The index after the last bucket, and its count.
    let mut next = 0;
    let mut before = 0;
    for (index, count) in buckets {
        match spans.last_mut() {
            Some(span) if *index == next => span.length += 1,
            _ => spans.push(BucketSpan {
                offset: index - next,
                length: 1,
            }),
        }
        let count = *count as i64;
        deltas.push(count - before);
        (next, before) = (index + 1, count);
    }
    if spans.is_empty() {
        // An empty span distinguishes a native histogram without values from a classic one.
        spans.push(BucketSpan::default());
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::{BucketSpan, MetricFamily, encode, native};
    use crate::buckets::Distribution;
    use crate::family::{Family, Kind, Sample, Unit};
    use crate::names::label;

    #[test]
    fn spans_are_of_neighbours() {
        let span = |offset, length| BucketSpan { offset, length };
        let (spans, deltas) = native(&[(-3, 2), (-2, 5), (4, 1)]);
        assert_eq!(spans, [span(-3, 2), span(5, 1)]);
        assert_eq!(deltas, [2, 3, -4]);
        assert_eq!(native(&[]), (vec![span(0, 0)], vec![]));
    }

    #[test]
    fn families_follow_one_another_with_their_lengths() {
        let family = |name: &'static str, kind, sample| Family {
            name: name.into(),
            help: "What".into(),
            unit: Unit::Seconds,
            kind,
            samples: vec![sample],
        };
        let distribution = Distribution {
            count: 1,
            sum_ns: 2_000_000_000,
            ..Distribution::default()
        };
        let families = [
            family("a.b", Kind::Counter, Sample::number(Vec::new(), 3.0)),
            family(
                "c",
                Kind::Gauge,
                Sample::number(vec![label("d.e", "f")], 0.0),
            ),
            family(
                "g",
                Kind::Histogram,
                Sample::latencies(Vec::new(), distribution),
            ),
        ];
        let bytes = encode(&families);
        let mut rest = bytes.as_slice();
        let mut next = || MetricFamily::decode_length_delimited(&mut rest).unwrap();
        let (counter, gauge, histogram) = (next(), next(), next());
        assert_eq!(counter.name, "a_b_seconds_total");
        assert_eq!(counter.metric[0].counter.unwrap().value, 3.0);
        assert_eq!(gauge.metric[0].label[0].name, "d_e");
        assert_eq!(gauge.metric[0].gauge.unwrap().value, 0.0);
        let decoded = histogram.metric[0].histogram.clone().unwrap();
        assert_eq!((decoded.sample_count, decoded.sample_sum), (1, 2.0));
        assert_eq!(decoded.bucket.len(), 21);
        assert_eq!(decoded.positive_span.len(), 1);
        assert!(rest.is_empty());
    }
}
