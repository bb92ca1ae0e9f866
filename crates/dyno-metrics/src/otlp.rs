//! Encodes metrics for OpenTelemetry's protocol.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Metric,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use crate::buckets::Distribution;
use crate::family::{Family, Kind, Label, Sample, Value};

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
        ..InstrumentationScope::default()
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: sender.iter().map(attribute).collect(),
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics: metrics.collect(),
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
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
        Temporality::Delta => AggregationTemporality::Delta,
        Temporality::Cumulative => AggregationTemporality::Cumulative,
    };
    let numbers = || {
        family
            .samples
            .iter()
            .filter_map(|sample| number(sample, times))
    };
    let data = match family.kind {
        Kind::Counter => Data::Sum(Sum {
            data_points: numbers().collect(),
            aggregation_temporality: temporality.into(),
            is_monotonic: true,
        }),
        Kind::Gauge => Data::Gauge(Gauge {
            data_points: numbers().collect(),
        }),
        Kind::Histogram => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: family
                .samples
                .iter()
                .filter_map(|sample| histogram(sample, times))
                .collect(),
            aggregation_temporality: temporality.into(),
        }),
    };
    Metric {
        name: family.name.clone().into_owned(),
        description: family.help.clone().into_owned(),
        unit: family.unit.ucum().to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn number(sample: &Sample, times: Times) -> Option<NumberDataPoint> {
    let Value::Number(value) = sample.value else {
        return None;
    };
    Some(NumberDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: times.start_ns,
        time_unix_nano: times.at_ns,
        value: Some(Number::AsDouble(value)),
        ..NumberDataPoint::default()
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
    let number = match name {
        "server.port" => value.parse().ok(),
        _ => None,
    };
    let any = number.map_or_else(|| Any::StringValue(value.to_owned()), Any::IntValue);
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue { value: Some(any) }),
        ..KeyValue::default()
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    use prost::Message as _;

    use super::{Temporality, Window, encode, point};
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
}
