//! The host's cost per event in runs of other tools: the server's share is unknown, and the logs of
//! vmstat and iostat cover the whole host.

use dyno_core::catalogue::{Family, names};

use super::{Row, cost_series, events, weighted};
use crate::compare::estimate::Estimate;
use crate::compare::{Better, MetricKind};
use crate::view::View;

const KIB: f64 = 1024.0;

/// The series of a row.
#[derive(Clone, Copy)]
enum Of {
    One(&'static str),
    Disks(Family),
}

/// A row's name, its series, the value of a unit of it in the row's unit, and that unit.
const ROWS: [(&str, Of, f64, &str); 6] = [
    (
        "written to disks",
        Of::Disks(names::HOST_DISK_WRITE_BYTES),
        1.0 / KIB,
        "KB per event",
    ),
    (
        "read from disks",
        Of::Disks(names::HOST_DISK_READ_BYTES),
        1.0 / KIB,
        "KB per event",
    ),
    (
        "host context switches",
        Of::One(names::HOST_CONTEXT_SWITCHES),
        1.0,
        "per event",
    ),
    (
        "host CPU, user",
        Of::One(names::HOST_CPU_USER),
        1000.0,
        "% per 1000 events/s",
    ),
    (
        "host CPU, system",
        Of::One(names::HOST_CPU_SYSTEM),
        1000.0,
        "% per 1000 events/s",
    ),
    (
        "host CPU, waiting for disks",
        Of::One(names::HOST_CPU_IOWAIT),
        1000.0,
        "% per 1000 events/s",
    ),
];

/// A row for each series observed in all runs of both sides; empty unless both sides are imported.
pub(super) fn rows(base: &[View], new: &[View]) -> Vec<Row> {
    if !base.iter().chain(new).all(View::imported) {
        return Vec::new();
    }
    let row = |(name, series, worth, unit): (&str, Of, f64, &str)| {
        Some(Row {
            name: name.to_owned(),
            kind: MetricKind::Usual,
            unit: unit.to_owned(),
            better: Better::Lower,
            base: Some(estimate(base, series, worth)?),
            new: Some(estimate(new, series, worth)?),
            remark: String::new(),
        })
    };
    ROWS.into_iter().filter_map(row).collect()
}

fn estimate(views: &[View], series: Of, worth: f64) -> Option<Estimate> {
    let names = |view: &View| match series {
        Of::Disks(family) => {
            let devices = view.devices(family).into_iter();
            devices.map(|(_, series)| series.key.name.clone()).collect()
        }
        Of::One(name) => vec![name.to_owned()],
    };
    let cost = |view: &View| {
        let means = names(view).into_iter().map(|name| view.mean(&name));
        let means: Vec<f64> = means.collect::<Option<_>>()?;
        (!means.is_empty()).then_some(means.iter().sum::<f64>() / view.events_per_s()? * worth)
    };
    let runs = views.iter().map(cost).collect::<Option<Vec<f64>>>()?;
    let first = views.first().map(names)?;
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let within = cost_series(views, &first, worth);
    weighted(runs, views.iter().map(events), within)
}
