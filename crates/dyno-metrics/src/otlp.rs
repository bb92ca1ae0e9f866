//! Encodes metrics for OpenTelemetry's protocol.

use prost::Message as _;

use crate::buckets::Distribution;
use crate::family::{Family, Kind, Label, Sample, Value};

pub(crate) mod messages;

use messages::{
    AnyValue, Buckets, CUMULATIVE, DELTA, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, Gauge, InstrumentationScope, KeyValue, Metric, NumberDataPoint,
    Resource, ResourceMetrics, ScopeMetrics, Sum,
};

/// The period that sums and histograms cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporality {
    /// Since they were last sent.
    Delta,
    /// Since the run's measurement began.
    Cumulative,
}

/// A period, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The beginning of the period.
    pub from_unix_s: f64,
    /// The end of the period.
    pub to_unix_s: f64,
}

/// Name and value of each resource attribute.
pub type Attributes = Vec<(&'static str, String)>;

/// The body of a request to `/v1/metrics`.
pub fn encode(
    families: &[Family],
    temporality: Temporality,
    window: Window,
    sender: &Attributes,
) -> Vec<u8> {
    let times = Times {
        start_ns: nanoseconds(window.from_unix_s),
        at_ns: nanoseconds(window.to_unix_s),
    };
    let metrics = families
        .iter()
        .map(|family| metric(family, temporality, times));
    let attribute = |(name, value): &(&'static str, String)| attribute(name, value);
    let scope = InstrumentationScope {
        name: "dyno".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: sender.iter().map(attribute).collect(),
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics: metrics.collect(),
            }],
        }],
    };
    request.encode_to_vec()
}

#[derive(Clone, Copy)]
struct Times {
    start_ns: u64,
    at_ns: u64,
}

fn nanoseconds(unix_s: f64) -> u64 {
    (unix_s * 1e9) as u64
}

fn metric(family: &Family, temporality: Temporality, times: Times) -> Metric {
    let temporality = match temporality {
        Temporality::Delta => DELTA,
        Temporality::Cumulative => CUMULATIVE,
    };
    let numbers = || {
        family
            .samples
            .iter()
            .filter_map(|sample| number(sample, times))
    };
    let mut metric = Metric {
        name: family.name.clone().into_owned(),
        description: family.help.clone().into_owned(),
        unit: family.unit.ucum().to_owned(),
        ..Metric::default()
    };
    match family.kind {
        Kind::Counter => {
            metric.sum = Some(Sum {
                data_points: numbers().collect(),
                aggregation_temporality: temporality,
                is_monotonic: true,
            });
        }
        Kind::Gauge => {
            metric.gauge = Some(Gauge {
                data_points: numbers().collect(),
            });
        }
        Kind::Histogram => {
            let samples = family.samples.iter();
            metric.exponential_histogram = Some(ExponentialHistogram {
                data_points: samples
                    .filter_map(|sample| histogram(sample, times))
                    .collect(),
                aggregation_temporality: temporality,
            });
        }
    }
    metric
}

fn number(sample: &Sample, times: Times) -> Option<NumberDataPoint> {
    let Value::Number(value) = sample.value else {
        return None;
    };
    Some(NumberDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: times.start_ns,
        time_unix_nano: times.at_ns,
        as_double: Some(value),
    })
}

fn histogram(sample: &Sample, times: Times) -> Option<ExponentialHistogramDataPoint> {
    let Value::Distribution(distribution) = &sample.value else {
        return None;
    };
    Some(ExponentialHistogramDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: times.start_ns,
        time_unix_nano: times.at_ns,
        ..point(distribution)
    })
}

fn point(distribution: &Distribution) -> ExponentialHistogramDataPoint {
    let exponential = distribution.exponential.clone().spanning_few();
    let first = exponential.buckets.first().map_or(0, |(index, _)| *index);
    let mut bucket_counts: Vec<u64> = Vec::new();
    for (index, count) in &exponential.buckets {
        bucket_counts.resize((index - first) as usize, 0);
        bucket_counts.push(*count);
    }
    ExponentialHistogramDataPoint {
        count: distribution.count,
        sum: Some(distribution.sum_s()),
        scale: exponential.scale,
        positive: Some(Buckets {
            // Here a bucket's index refers to its lower bound.
            offset: first - 1,
            bucket_counts,
        }),
        min: distribution.extremes_s.map(|(min, _)| min),
        max: distribution.extremes_s.map(|(_, max)| max),
        ..ExponentialHistogramDataPoint::default()
    }
}

fn attributes(labels: &[Label]) -> Vec<KeyValue> {
    labels
        .iter()
        .map(|(name, value)| attribute(name, value))
        .collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    // The conventions define the port as a number.
    let number: Option<i64> = match name {
        "server.port" => value.parse().ok(),
        _ => None,
    };
    let text = number.is_none().then(|| value.to_owned());
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue {
            string_value: text,
            int_value: number,
        }),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::metrics::v1::{
        ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
    };
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    use prost::Message as _;

    use super::{Temporality, Window, encode, messages, point};
    use crate::buckets::{Distribution, Exponential};
    use crate::family::{Family, Kind, Sample, Unit};
    use crate::names::label;

    #[test]
    fn buckets_are_called_by_their_lower_bounds() {
        let distribution = Distribution {
            count: 6,
            sum_ns: 9_000_000_000,
            extremes_s: Some((0.5, 3.0)),
            exponential: Exponential {
                scale: 0,
                buckets: vec![(-1, 1), (1, 2), (2, 3)],
            },
            ..Distribution::default()
        };
        let point = point(&distribution);
        let positive = point.positive.unwrap();
        // (1/4, 1/2], (1/2, 1], (1, 2], (2, 4]
        assert_eq!(positive.offset, -2);
        assert_eq!(positive.bucket_counts, [1, 0, 2, 3]);
        assert_eq!((point.count, point.sum, point.scale), (6, Some(9.0), 0));
        assert_eq!((point.min, point.max), (Some(0.5), Some(3.0)));
    }

    #[test]
    fn a_request_states_the_interval_of_its_sums() {
        let families = [Family {
            name: "dyno.events".into(),
            help: "Events".into(),
            unit: Unit::None,
            kind: Kind::Counter,
            samples: vec![Sample::number(vec![label("server.port", "3306")], 7.0)],
        }];
        let window = Window {
            from_unix_s: 10.0,
            to_unix_s: 11.5,
        };
        let sender = vec![("service.name", "dyno".to_owned())];
        let bytes = encode(&families, Temporality::Delta, window, &sender);
        let request = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
        let metric = &request.resource_metrics[0].scope_metrics[0].metrics[0];
        assert_eq!(
            (metric.name.as_str(), metric.unit.as_str()),
            ("dyno.events", "{count}")
        );
        let Some(Data::Sum(sum)) = &metric.data else {
            panic!("no sum: {metric:?}");
        };
        assert_eq!((sum.aggregation_temporality, sum.is_monotonic), (1, true));
        let point = &sum.data_points[0];
        assert_eq!(point.start_time_unix_nano, 10_000_000_000);
        assert_eq!(point.time_unix_nano, 11_500_000_000);
        assert!(format!("{:?}", point.attributes).contains("IntValue(3306)"));
    }

    #[test]
    fn messages_are_those_of_the_protocol() {
        let label = || vec![label("server.port", "3306"), label("phase", "")];
        let family = |name: &'static str, kind, samples| Family {
            name: name.into(),
            help: "Help".into(),
            unit: Unit::None,
            kind,
            samples,
        };
        let distribution = Distribution {
            count: 3,
            sum_ns: 4_000_000_000,
            extremes_s: Some((0.5, 3.0)),
            exponential: Exponential {
                scale: -1,
                buckets: vec![(-2, 1), (1, 2)],
            },
            ..Distribution::default()
        };
        let families = [
            family("counter", Kind::Counter, vec![Sample::number(label(), 7.0)]),
            family("gauge", Kind::Gauge, vec![Sample::number(label(), 0.0)]),
            family(
                "histogram",
                Kind::Histogram,
                vec![Sample::latencies(label(), distribution)],
            ),
        ];
        let window = Window {
            from_unix_s: 10.0,
            to_unix_s: 11.5,
        };
        let sender = vec![("service.name", "dyno".to_owned())];
        let bytes = encode(&families, Temporality::Cumulative, window, &sender);
        let request = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
        // What the other crate does not know would be missing, what it reads otherwise changed.
        assert_eq!(request.encode_to_vec(), bytes);
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        let Some(Data::Sum(sum)) = &metrics[0].data else {
            panic!("no sum: {metrics:?}");
        };
        assert_eq!(sum.aggregation_temporality, 2);
        assert!(matches!(metrics[1].data, Some(Data::Gauge(_))));
        let Some(Data::ExponentialHistogram(histogram)) = &metrics[2].data else {
            panic!("no histogram: {metrics:?}");
        };
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum, point.scale), (3, Some(4.0), -1));
        assert_eq!((point.min, point.max), (Some(0.5), Some(3.0)));
        let positive = point.positive.as_ref().unwrap();
        assert_eq!(positive.offset, -3);
        assert_eq!(positive.bucket_counts, [1, 0, 0, 2]);
    }

    #[test]
    fn answers_are_those_of_the_protocol() {
        let sent = ExportMetricsServiceResponse {
            partial_success: Some(ExportMetricsPartialSuccess {
                rejected_data_points: 3,
                error_message: "too old".to_owned(),
            }),
        };
        let bytes = sent.encode_to_vec();
        let read = messages::ExportMetricsServiceResponse::decode(bytes.as_slice()).unwrap();
        let partial = read.partial_success.unwrap();
        assert_eq!(partial.rejected_data_points, 3);
        assert_eq!(partial.error_message, "too old");
    }
}
