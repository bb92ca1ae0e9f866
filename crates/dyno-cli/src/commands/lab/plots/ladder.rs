//! Plots of figures over a factor.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use dyno_core::factors;
use dyno_core::figures::{MS, NamedFigure};
use dyno_lab::file::{Experiment, Plot};
use dyno_report::html::{self, PlotDrawing, PlotLine};

use super::{Part, by, made, place};

/// One plot for each figure.
///
/// # Errors
/// No factor has numbers, or no trial has the figure.
pub(super) fn ladder(
    experiment: &Experiment,
    plot: &Plot,
    parts: &[Part<'_>],
) -> Result<Vec<html::Plot>> {
    let crossed = experiment.crossed();
    let names: Vec<&str> = crossed.iter().map(|f| f.name.get_ref().as_str()).collect();
    let is_number = |name: &&&str| {
        let mut levels = parts.iter().filter_map(|part| part.level(name));
        levels.all(|level| factors::number(&level).is_some())
    };
    let sessions = names.iter().find(|name| **name == "sessions");
    let x = plot.x.as_deref();
    let x = x.or(sessions.copied());
    let x = x.or_else(|| names.iter().rev().find(is_number).copied());
    let x = x.ok_or_else(|| anyhow!("no factor has numeric levels; set x = \"FACTOR\""))?;
    let line = plot.line.as_deref();
    let line = line.or_else(|| names.iter().find(|name| **name != x).copied());
    let figures = match (plot.panels.as_slice(), &plot.figure) {
        ([], Some(figure)) => vec![figure.clone()],
        ([], None) => vec!["rate".to_owned()],
        (panels, _) => panels.to_vec(),
    };
    let lines = by(experiment, line, parts);
    let figures = figures.into_iter();
    figures
        .map(|figure| steps(experiment, plot, (x, line), (&figure, &lines)))
        .collect()
}

/// One figure over the levels of a factor.
fn steps(
    experiment: &Experiment,
    plot: &Plot,
    (x, line): (&str, Option<&str>),
    (figure, lines): (&str, &[(String, Vec<&Part<'_>>)]),
) -> Result<html::Plot> {
    let base = line.and_then(|line| experiment.base_level(line));
    let own = |part: &Part<'_>| -> Option<f64> {
        let value = |part: &Part<'_>, name: &str| part.done.value(name);
        if figure != "ratio" {
            return value(part, figure);
        }
        let same = |other: &&Part<'_>| {
            other.done.measured.block == part.done.measured.block && other.level(x) == part.level(x)
        };
        let base = lines.iter().find(|(level, _)| Some(level) == base.as_ref());
        let (_, base) = base?;
        let base = base.iter().copied().find(same)?;
        Some(value(part, "rate")? / value(base, "rate")?)
    };
    let mut ticks: BTreeMap<usize, (f64, String)> = BTreeMap::new();
    let mut drawn = Vec::new();
    for (number, (level, parts)) in lines.iter().enumerate() {
        let mut at: BTreeMap<(usize, String), Vec<f64>> = BTreeMap::new();
        for part in parts {
            let own_x = part.level(x).unwrap_or_default();
            let values = at.entry(place(experiment, x, &own_x)).or_default();
            values.extend(own(part).filter(|value| value.is_finite()));
        }
        let (mut points, mut spread) = (Vec::new(), Vec::new());
        for ((place, own_x), values) in &at {
            let place_x = factors::number(own_x).unwrap_or(*place as f64);
            ticks.insert(*place, (place_x, own_x.clone()));
            let Some(mean) = dyno_stats::mean(values) else {
                continue;
            };
            points.push((place_x, mean));
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            spread.push((place_x, low, high));
        }
        drawn.push(PlotLine {
            name: line.map_or_else(String::new, |line| format!("{line} {level}")),
            colour: number,
            points,
            spread,
        });
    }
    if drawn.iter().all(|line| line.points.is_empty()) {
        return Err(anyhow!("no trial has the figure '{figure}'"));
    }
    let (value, unit) = words(figure, base.as_deref());
    let about = format!(
        "The mean over the trials of each level of {x}; the band spans them from the lowest to the \
         highest."
    );
    let drawing = PlotDrawing::Curves {
        x: x.to_owned(),
        ticks: ticks.into_values().collect(),
        lines: drawn,
    };
    let mut plot = made(plot, (value, unit.to_owned()), &about, drawing);
    plot.title = format!("{} by {x}", plot.title);
    Ok(plot)
}

/// A figure's name and unit.
fn words(figure: &str, base: Option<&str>) -> (String, &'static str) {
    let words = figure.replace('_', " ");
    match NamedFigure::find(figure) {
        Some(latency) if latency.row.unit == MS && latency.percent.is_none() => {
            (format!("{words} latency"), MS)
        }
        Some(known) => (words, known.row.unit),
        None if figure == "ratio" => (
            format!("ratio of rates to {}", base.unwrap_or_default()),
            "ratio",
        ),
        None => (words, "count"),
    }
}
