//! The named figures of a record.

use dyno_core::catalogue::names;
use dyno_core::figures::{Measurements, NAMED, NamedFigure};
use dyno_core::record::RunRecord;
use dyno_core::summary::RunSummary;
use dyno_stats::intervals::mean_interval_correlated;

use crate::bins::{self, Bin};
use crate::stalls;

/// The figures of a run that are known, and the percentiles of its summary. Each comes with its
/// value and, if known, with its standard error divided by the value.
pub fn of(run: &RunRecord, summary: &RunSummary) -> Vec<(NamedFigure, f64, Option<f64>)> {
    let bins = bins::of(run);
    let rates: Vec<f64> = bins.iter().map(Bin::events_per_s).collect();
    let stalls = stalls::of_run(run).ok();
    let size = run
        .series(names::DATA_TOTAL)
        .and_then(|own| own.points.last());
    let measurements = Measurements {
        median_per_s: dyno_stats::median(&bins::seconds(&bins)),
        stalls: stalls.map(|own| (own.stalls.len(), own.stalled_s(), own.longest_s())),
        size_bytes: size.map(|(_, bytes)| *bytes),
        ..Measurements::of(summary)
    };
    let error = standard_error(&rates);
    let known = |figure: NamedFigure| {
        let value = figure.value(&measurements);
        let value = value.filter(|value| value.is_finite())?;
        let error = match figure.row.name {
            // For normal values, the standard error of the median is that of the mean times √(π/2).
            "median_rate" => error.map(|error| error * 1.253),
            _ => error.filter(|_| figure.is_throughput()),
        };
        Some((figure, value, error))
    };
    let percentiles = measurements.latency.percentiles.iter();
    let percentiles = percentiles.map(|own| NamedFigure::percentile(own.percent));
    let named = NAMED.iter().map(|row| NamedFigure { row, percent: None });
    named.chain(percentiles).filter_map(known).collect()
}

/// The standard error of the mean of all seconds, relative to the mean.
fn standard_error(seconds: &[f64]) -> Option<f64> {
    let bounds = mean_interval_correlated(seconds, 0.95)?;
    let mean = dyno_stats::mean(seconds).filter(|mean| *mean > 0.0)?;
    Some(bounds.width() / 2.0 / 1.96 / mean)
}
