//! The report's figures in addition to those of the whole run.

use dyno_core::reported::{Better, Figure};

use super::output::Output;
use super::scripts::labels;

/// The report's figures for each script, if the log does not have them.
pub(super) fn figures(output: &Output, single: bool) -> Vec<Figure> {
    let figure = |name: String, value: f64, unit: &str, better| Figure {
        name,
        value,
        unit: unit.to_owned(),
        better: Some(better),
    };
    let mut figures = Vec::new();
    let scripts = output.scripts.iter().zip(labels(output));
    for (script, name) in scripts.filter(|_| !single) {
        if let Some(tps) = script.tps {
            figures.push(figure(name.clone(), tps, "per second", Better::Higher));
        }
        if let Some(ms) = script.latency_ms {
            let name = format!("{name}, mean latency");
            figures.push(figure(name, ms, "ms", Better::Lower));
        }
    }
    if let Some(ms) = output.reconnecting_ms {
        figures.push(figure(
            "mean time to connect".into(),
            ms,
            "ms",
            Better::Lower,
        ));
    }
    if let Some((mean, longest)) = output.lag_ms.filter(|_| !output.lag_in_doubt) {
        figures.push(figure(
            "schedule lag, mean".into(),
            mean,
            "ms",
            Better::Lower,
        ));
        figures.push(figure(
            "schedule lag, longest".into(),
            longest,
            "ms",
            Better::Lower,
        ));
    }
    figures
}
