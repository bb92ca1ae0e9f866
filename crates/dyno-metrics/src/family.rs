//! Metrics, independent of the format.

use std::borrow::Cow;

use crate::buckets::Distribution;

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sum that only grows.
    Counter,
    /// The state at an instant.
    Gauge,
    /// Latencies.
    Histogram,
}

/// The unit of a metric. In Prometheus it is part of the name, as a base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count.
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Counts per second.
    PerSecond,
    /// A share of 1.
    Ratio,
    /// CPU seconds per second.
    Cores,
    /// Cycles per second.
    Hertz,
}

impl Unit {
    /// The suffix of a Prometheus name.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes_per_second",
            Self::PerSecond => "per_second",
            Self::Ratio => "ratio",
            Self::Cores => "cores",
            Self::Hertz => "hertz",
        }
    }

    /// The unit in the Unified Code for Units of Measure, which OpenTelemetry uses.
    pub fn ucum(self) -> &'static str {
        match self {
            // Receivers treat a gauge with unit "1" as a ratio.
            Self::None => "{count}",
            Self::Seconds => "s",
            Self::Bytes => "By",
            Self::BytesPerSecond => "By/s",
            Self::PerSecond => "1/s",
            Self::Ratio => "1",
            Self::Cores => "{core}",
            Self::Hertz => "Hz",
        }
    }
}

/// A label's name, with dots as in OpenTelemetry, and its value.
pub type Label = (Cow<'static, str>, String);

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A counter's or gauge's value.
    Number(f64),
    /// A histogram's value.
    Distribution(Box<Distribution>),
}

/// A value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Labels that distinguish it from the family's other samples.
    pub labels: Vec<Label>,
    /// Its time, in seconds since 1970; `None` means now.
    pub at_unix_s: Option<f64>,
    /// The value.
    pub value: Value,
}

impl Sample {
    /// A number with the current time.
    pub fn number(labels: Vec<Label>, number: f64) -> Self {
        Self {
            labels,
            at_unix_s: None,
            value: Value::Number(number),
        }
    }

    /// Latencies with the current time.
    pub fn latencies(labels: Vec<Label>, distribution: Distribution) -> Self {
        Self {
            labels,
            at_unix_s: None,
            value: Value::Distribution(Box::new(distribution)),
        }
    }
}

/// Endings of names that Prometheus reserves for counters and histograms.
const OF_OTHERS: [&str; 4] = ["_total", "_count", "_sum", "_bucket"];

/// All values of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name with dots but without the unit, such as `dyno.events`.
    pub name: Cow<'static, str>,
    /// A description: one sentence without a full stop.
    pub help: Cow<'static, str>,
    /// The unit.
    pub unit: Unit,
    /// The kind.
    pub kind: Kind,
    /// The values. Samples with the same labels are in order of time.
    pub samples: Vec<Sample>,
}

impl Family {
    /// The name in Prometheus, without the ending of a counter's samples. Appends the unit unless
    /// the name already ends in it. A gauge's name never has an ending that is reserved for
    /// counters and histograms.
    pub fn prometheus_name(&self) -> String {
        let mut name = plain(&self.name);
        let unit = self.unit.word();
        // `host.disk.read_bytes` in bytes per second must get `bytes` only once.
        let rest = unit.strip_prefix("bytes_").unwrap_or(unit);
        if name.ends_with("_bytes") && unit.starts_with("bytes") {
            if rest != "bytes" {
                name.push('_');
                name.push_str(rest);
            }
        } else if !unit.is_empty() && !name.ends_with(unit) {
            name.push('_');
            name.push_str(unit);
        }
        if self.kind == Kind::Gauge && OF_OTHERS.iter().any(|suffix| name.ends_with(suffix)) {
            name.push_str("_value");
        }
        name
    }
}

/// Replaces characters that Prometheus does not allow in the names of metrics and labels.
pub(crate) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 1);
    push_plain(&mut plain, name);
    plain
}

/// Appends the result of [`plain`].
pub(crate) fn push_plain(out: &mut String, name: &str) {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        out.push('_');
    }
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
    // Fast path: most names are plain, and checking each letter would be a large part of the cost.
    if name.bytes().all(is_plain) {
        out.push_str(name);
        return;
    }
    out.extend(name.chars().map(|letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => letter,
        _ => '_',
    }));
}

#[cfg(test)]
mod tests {
    use super::{Family, Kind, Unit};

    #[test]
    fn names_end_in_their_unit_once() {
        let name = |name: &'static str, unit| {
            let family = Family {
                name: name.into(),
                help: "".into(),
                unit,
                kind: Kind::Gauge,
                samples: Vec::new(),
            };
            family.prometheus_name()
        };
        assert_eq!(
            name("dyno.host.disk.read_bytes", Unit::BytesPerSecond),
            "dyno_host_disk_read_bytes_per_second"
        );
        assert_eq!(name("dyno.data.bytes", Unit::Bytes), "dyno_data_bytes");
        assert_eq!(
            name("dyno.host.memory.free", Unit::Bytes),
            "dyno_host_memory_free_bytes"
        );
        assert_eq!(name("dyno.events", Unit::None), "dyno_events");
        assert_eq!(
            name("dyno.db.status.Prepared_stmt_count", Unit::None),
            "dyno_db_status_Prepared_stmt_count_value"
        );
        assert_eq!(
            name("db.client.operation.duration", Unit::Seconds),
            "db_client_operation_duration_seconds"
        );
    }
}
