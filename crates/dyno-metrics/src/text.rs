//! Metrics as text: OpenMetrics 1.0, and Prometheus' older format (0.0.4).
//!
//! This is written by hand, because the client libraries write no timestamps, which a recorded run
//! needs. The tests pass the output to Prometheus itself.

use std::fmt::Write as _;

use crate::buckets::{BOUNDS, Distribution};
use crate::family::{Family, Kind, Label, Sample, Value, push_plain};

/// The version of the text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `application/openmetrics-text; version=1.0.0`.
    OpenMetrics,
    /// `text/plain; version=0.0.4`.
    Plain,
}

impl Version {
    /// The content type, for HTTP.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Approximate size of a page with all observed series of a server.
const PAGE: usize = 128 * 1024;

/// All metrics as text.
pub fn encode(families: &[Family], version: Version) -> String {
    let mut out = String::with_capacity(PAGE);
    for family in families {
        one(&mut out, family, version);
    }
    if version == Version::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

fn one(out: &mut String, family: &Family, version: Version) {
    let name = family.prometheus_name();
    let (kind, suffix) = match family.kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
        Kind::Histogram => ("histogram", ""),
    };
    // The older format describes samples; OpenMetrics describes the metric.
    let described = match version {
        Version::OpenMetrics => name.clone(),
        Version::Plain => format!("{name}{suffix}"),
    };
    let _ = write!(out, "# HELP {described} ");
    push_escaped(out, &family.help, version == Version::OpenMetrics);
    out.push_str(".\n");
    let _ = writeln!(out, "# TYPE {described} {kind}");
    let unit = family.unit.word();
    if version == Version::OpenMetrics && !unit.is_empty() && name.ends_with(unit) {
        let _ = writeln!(out, "# UNIT {described} {unit}");
    }
    for sample in &family.samples {
        match &sample.value {
            Value::Number(value) => {
                let end = Tail::of(sample, version);
                line(
                    out,
                    &name,
                    suffix,
                    &sample.labels,
                    None,
                    &number(*value),
                    end,
                );
            }
            Value::Distribution(distribution) => {
                histogram(out, &name, sample, distribution, version);
            }
        }
    }
}

fn histogram(
    out: &mut String,
    name: &str,
    sample: &Sample,
    distribution: &Distribution,
    version: Version,
) {
    let labels = &sample.labels;
    let end = Tail::of(sample, version);
    let bounds = BOUNDS.iter().map(|(_, text)| *text).chain(["+Inf"]);
    for (bound, count) in bounds.zip(distribution.cumulative()) {
        line(
            out,
            name,
            "_bucket",
            labels,
            Some(bound),
            &count.to_string(),
            end,
        );
    }
    let count = distribution.count.to_string();
    line(out, name, "_count", labels, None, &count, end);
    line(
        out,
        name,
        "_sum",
        labels,
        None,
        &number(distribution.sum_s()),
        end,
    );
}

/// The timestamp of a sample, in its format's unit.
#[derive(Clone, Copy)]
enum Tail {
    Now,
    Seconds(f64),
    Milliseconds(f64),
}

impl Tail {
    fn of(sample: &Sample, version: Version) -> Self {
        match (sample.at_unix_s, version) {
            (None, _) => Self::Now,
            (Some(at_s), Version::OpenMetrics) => Self::Seconds(at_s),
            (Some(at_s), Version::Plain) => Self::Milliseconds(at_s * 1e3),
        }
    }
}

fn line(
    out: &mut String,
    name: &str,
    suffix: &str,
    labels: &[Label],
    bound: Option<&str>,
    value: &str,
    end: Tail,
) {
    out.push_str(name);
    out.push_str(suffix);
    let mut separator = '{';
    let own = labels
        .iter()
        .map(|(name, value)| (name.as_ref(), value.as_str()));
    let bound = bound.map(|bound| ("le", bound));
    for (label, text) in own.chain(bound) {
        out.push(separator);
        push_plain(out, label);
        out.push_str("=\"");
        push_escaped(out, text, true);
        out.push('"');
        separator = ',';
    }
    if separator == ',' {
        out.push('}');
    }
    let _ = match end {
        Tail::Now => writeln!(out, " {value}"),
        Tail::Seconds(at) => writeln!(out, " {value} {at:.3}"),
        Tail::Milliseconds(at) => writeln!(out, " {value} {at:.0}"),
    };
}

/// A number in the notation of both formats.
fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        String::from(if value > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        value.to_string()
    }
}

fn push_escaped(out: &mut String, text: &str, quotes: bool) {
    // These single bytes never occur inside a multi-byte UTF-8 character.
    let special = |byte: u8| matches!(byte, b'\\' | b'\n') || quotes && byte == b'"';
    let mut rest = text;
    while let Some(at) = rest.bytes().position(special) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'\n' => "\\n",
            b'"' => "\\\"",
            _ => "\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::{Version, encode};
    use crate::buckets::Distribution;
    use crate::family::{Family, Kind, Sample, Unit};
    use crate::names::label;

    fn families() -> Vec<Family> {
        let mut at = Sample::number(vec![label("server.address", "a\"b\\c\n")], 1.5);
        at.at_unix_s = Some(1_700_000_000.25);
        let family = |name: &'static str, kind, unit, samples| Family {
            name: name.into(),
            help: "What \\ it \"is\"".into(),
            unit,
            kind,
            samples,
        };
        let distribution = Distribution {
            count: 3,
            sum_ns: 500_000_000,
            classic: std::array::from_fn(|bucket| u64::from(bucket < 3)),
            ..Distribution::default()
        };
        vec![
            family("dyno.events", Kind::Counter, Unit::None, vec![at]),
            family(
                "dyno.sent",
                Kind::Counter,
                Unit::Bytes,
                vec![Sample::number(Vec::new(), f64::INFINITY)],
            ),
            family(
                "dyno.service",
                Kind::Histogram,
                Unit::Seconds,
                vec![Sample::latencies(Vec::new(), distribution)],
            ),
        ]
    }

    #[test]
    fn open_metrics_have_units_and_an_end() {
        let text = encode(&families(), Version::OpenMetrics);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "# HELP dyno_events What \\\\ it \\\"is\\\".",
                "# TYPE dyno_events counter",
                "dyno_events_total{server_address=\"a\\\"b\\\\c\\n\"} 1.5 1700000000.250",
                "# HELP dyno_sent_bytes What \\\\ it \\\"is\\\".",
                "# TYPE dyno_sent_bytes counter",
                "# UNIT dyno_sent_bytes bytes",
            ]
        );
        assert_eq!(lines[6], "dyno_sent_bytes_total +Inf");
        assert_eq!(lines[10], "dyno_service_seconds_bucket{le=\"1e-05\"} 1");
        assert_eq!(lines[31], "dyno_service_seconds_bucket{le=\"+Inf\"} 3");
        assert_eq!(
            lines[32..],
            [
                "dyno_service_seconds_count 3",
                "dyno_service_seconds_sum 0.5",
                "# EOF",
            ]
        );
    }

    #[test]
    fn the_older_text_describes_the_samples() {
        let text = encode(&families(), Version::Plain);
        assert!(text.starts_with(
            "# HELP dyno_events_total What \\\\ it \"is\".\n# TYPE dyno_events_total counter\n"
        ));
        assert!(text.contains("} 1.5 1700000000250\n"));
        assert!(!text.contains("# UNIT") && !text.contains("# EOF"));
    }
}
