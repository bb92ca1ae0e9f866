//! Names and labels of metrics.

use std::borrow::Cow;

use dyno_core::Target;
use dyno_core::db::Family as Database;
use dyno_core::record::{RunHead, SeriesKey};
use dyno_core::target::Endpoint;

use crate::family::{Label, Unit};

/// The label with a run's name, common to all metrics.
pub(crate) const RUN: &str = "run";
/// The label with the name of an operation: `event`, or the name from the script.
pub(crate) const OPERATION: &str = "operation";
/// The name of an event among the operations.
pub(crate) const EVENT: &str = "event";

/// Labels for a run's target, named by OpenTelemetry's database conventions; empty for a run
/// without one.
pub(crate) fn of_target(head: &RunHead) -> Vec<Label> {
    let Some(family) = head.target.family else {
        return Vec::new();
    };
    let mut labels = vec![label(
        "db.system.name",
        system(family, &head.target.product),
    )];
    let Ok(target) = Target::parse(&head.target.url) else {
        return labels;
    };
    if !target.database.is_empty() {
        labels.push(label("db.namespace", target.database));
    }
    match target.endpoints.as_slice() {
        [Endpoint::Tcp(host, port)] => {
            labels.push(label("server.address", host.clone()));
            labels.push(label("server.port", port.to_string()));
        }
        [Endpoint::Unix(path)] => {
            labels.push(label("server.address", path.display().to_string()));
        }
        // With several servers, it is unknown which of them served an operation.
        _ => {}
    }
    labels
}

fn system(family: Database, product: &str) -> &'static str {
    match family {
        Database::Mysql if product.eq_ignore_ascii_case("mariadb") => "mariadb",
        Database::Mysql => "mysql",
        Database::Postgres => "postgresql",
        Database::Sqlite => "sqlite",
    }
}

/// A run's target, without user and parameters.
pub(crate) fn target(head: &RunHead) -> String {
    let Ok(target) = Target::parse(&head.target.url) else {
        return String::new();
    };
    if target.endpoints.is_empty() {
        return target.file.display().to_string();
    }
    if let [Endpoint::Unix(socket)] = target.endpoints.as_slice() {
        return format!("{}?socket={}", target.database, socket.display());
    }
    let endpoints: Vec<String> = target.endpoints.iter().map(ToString::to_string).collect();
    format!("{}/{}", endpoints.join(","), target.database)
}

pub(crate) fn label(name: &'static str, value: impl Into<String>) -> Label {
    (Cow::Borrowed(name), value.into())
}

/// An observed series as a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Observed {
    /// The metric's name.
    pub name: String,
    /// One label for each device in the name of the series, named after the word before it.
    pub labels: Vec<Label>,
    /// The base unit.
    pub unit: Unit,
    /// Factor that converts a value to the base unit.
    pub factor: f64,
}

impl Observed {
    /// `host.disk[vda].reads` becomes `dyno.host.disk.reads` with the label `disk="vda"`.
    pub(crate) fn new(key: &SeriesKey) -> Self {
        let mut name = String::from("dyno.");
        let mut labels = Vec::new();
        let mut rest = key.name.as_str();
        // The text in brackets may itself contain dots and brackets. The closing one is the last
        // `]` before a dot or the end.
        while let Some(opened) = rest.find('[') {
            let closed = rest[opened..]
                .find("].")
                .or_else(|| rest[opened..].rfind(']'))
                .map_or(rest.len(), |closed| opened + closed);
            let word = rest[..opened].rsplit('.').next().unwrap_or_default();
            labels.push((
                Cow::Owned(word.to_owned()),
                rest[opened + 1..closed].to_owned(),
            ));
            name.push_str(&rest[..opened]);
            rest = rest.get(closed + 1..).unwrap_or_default();
        }
        name.push_str(rest);
        let (unit, factor) = match key.unit.as_str() {
            "percent" => (Unit::Ratio, 0.01),
            "ratio" => (Unit::Ratio, 1.0),
            "bytes" => (Unit::Bytes, 1.0),
            "bytes/s" => (Unit::BytesPerSecond, 1.0),
            "count/s" => (Unit::PerSecond, 1.0),
            "ms" => (Unit::Seconds, 1e-3),
            "s" => (Unit::Seconds, 1.0),
            "cores" => (Unit::Cores, 1.0),
            "mhz" => (Unit::Hertz, 1e6),
            _ => (Unit::None, 1.0),
        };
        Self {
            name,
            labels,
            unit,
            factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use dyno_samples::values::key;

    use super::{Observed, label};
    use crate::family::Unit;

    fn observed(name: &str, unit: &str) -> Observed {
        Observed::new(&key(name, unit))
    }

    #[test]
    fn devices_are_labels() {
        let disk = observed("host.disk[vda].read_bytes", "bytes/s");
        assert_eq!(disk.name, "dyno.host.disk.read_bytes");
        assert_eq!(disk.labels, [label("disk", "vda")]);
        assert_eq!(disk.unit, Unit::BytesPerSecond);
        let session = observed("client.session[readers.3].events", "count/s");
        assert_eq!(session.name, "dyno.client.session.events");
        assert_eq!(session.labels, [label("session", "readers.3")]);
        let last = observed("data.table[a[b].c]", "bytes");
        assert_eq!(last.name, "dyno.data.table.c]");
        assert_eq!(
            observed("data.table[t]", "bytes").labels,
            [label("table", "t")]
        );
        let plain = observed("host.cpu.user", "percent");
        assert_eq!((plain.labels.len(), plain.factor), (0, 0.01));
        assert_eq!(observed("open[", "count").labels, [label("open", "")]);
    }
}
