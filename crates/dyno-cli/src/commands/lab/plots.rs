//! The plots of an experiment's file.

mod ladder;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use dyno_conduct::lab::figures::Done;
use dyno_core::catalogue::names;
use dyno_core::figures::NamedFigure;
use dyno_core::record::RunRecord;
use dyno_core::summary::Percentile;
use dyno_core::text::capital;
use dyno_lab::file::{Experiment, Plot, PlotKind};
use dyno_report::html::{self, PlotDrawing, PlotGroup, PlotLine};

use self::ladder::ladder;

/// With more lines than this, a plot over time shows only the first block: lines would hide each
/// other.
const LINES_MAX: usize = 24;
/// Default series of the plot of sizes.
const SIZE: &str = names::DATA_TOTAL;
/// The name of the factor that represents a trial's phases.
const STEP: &str = "step";

/// The plots, and why others cannot be drawn.
pub(super) fn plots(experiment: &Experiment, done: &[Done]) -> (Vec<html::Plot>, Vec<String>) {
    let (mut plots, mut wrong) = (Vec::new(), Vec::new());
    for plot in &experiment.plots {
        match of(experiment, plot, done) {
            Ok(drawn) => plots.extend(drawn),
            Err(why) => wrong.push(format!("the plot {}: {why:#}", title(plot))),
        }
    }
    (plots, wrong)
}

/// One run's contribution to a plot.
pub(super) struct Part<'a> {
    pub(super) done: &'a Done,
    run: &'a RunRecord,
}

impl Part<'_> {
    pub(super) fn level(&self, factor: &str) -> Option<String> {
        if factor == STEP {
            return self.run.head.phase.as_ref().map(|phase| phase.name.clone());
        }
        let own = self.done.measured.levels.get(factor).cloned();
        own.or_else(|| dyno_verdict::level(self.run, factor))
    }
}

fn of(experiment: &Experiment, plot: &Plot, done: &[Done]) -> Result<Vec<html::Plot>> {
    let chosen = done
        .iter()
        .filter(|done| done.measured.is_usable() && experiment.is_of(&done.measured, &plot.cells));
    let parts: Vec<Part<'_>> = chosen
        .flat_map(|done| done.runs.iter().map(move |run| Part { done, run }))
        .collect();
    if parts.is_empty() {
        return Err(anyhow!("no usable trial has the levels of its `where`"));
    }
    match plot.kind {
        PlotKind::Ladder => ladder(experiment, plot, &parts),
        PlotKind::Timeline => Err(anyhow!(
            "a timeline needs disturbances, and the experiment has none"
        )),
        PlotKind::Time | PlotKind::Size | PlotKind::Jitter | PlotKind::Box => {
            let panels = by(experiment, plot.panel.as_deref(), &parts);
            let panels = panels.into_iter();
            panels
                .map(|(panel, parts)| {
                    let mut drawn_plot = match plot.kind {
                        PlotKind::Time | PlotKind::Size => in_time(experiment, plot, &parts)?,
                        _ => by_level(experiment, plot, &parts)?,
                    };
                    if let (Some(name), false) = (&plot.panel, panel.is_empty()) {
                        drawn_plot.title = format!("{}, {name} {panel}", drawn_plot.title);
                    }
                    Ok(drawn_plot)
                })
                .collect()
        }
    }
}

fn title(plot: &Plot) -> String {
    let kind = match plot.kind {
        PlotKind::Time => "over time",
        PlotKind::Jitter => "of every interval",
        PlotKind::Box => "as boxes",
        PlotKind::Timeline => "of disturbances",
        PlotKind::Ladder => "by level",
        PlotKind::Size => "of size over time",
    };
    match &plot.name {
        Some(name) => name.clone(),
        None => format!("'{}' {kind}", what(plot)),
    }
}

/// A plot's subject: a series or a figure.
fn what(plot: &Plot) -> &str {
    let size = (plot.kind == PlotKind::Size).then_some(SIZE);
    let series = plot.series.as_deref().or(size);
    series.or(plot.figure.as_deref()).unwrap_or("rate")
}

/// Groups parts by their level of a factor, in the order of the levels.
pub(super) fn by<'a, 'p>(
    experiment: &Experiment,
    factor: Option<&str>,
    parts: &'p [Part<'a>],
) -> Vec<(String, Vec<&'p Part<'a>>)> {
    let mut found: Vec<(String, Vec<&Part<'_>>)> = Vec::new();
    for part in parts {
        let level = factor.and_then(|name| part.level(name)).unwrap_or_default();
        match found.iter_mut().find(|(other, _)| *other == level) {
            Some((_, parts)) => parts.push(part),
            None => found.push((level, vec![part])),
        }
    }
    if let Some(name) = factor.filter(|name| *name != STEP) {
        found.sort_by_key(|(level, _)| place(experiment, name, level));
    }
    found
}

/// A level's index within its factor, and its text, which sorts levels that the file lacks.
pub(super) fn place(experiment: &Experiment, factor: &str, level: &str) -> (usize, String) {
    let levels = experiment.factor(factor).map(|factor| {
        let mut levels = factor.levels.get_ref().iter();
        levels
            .position(|own| own.get_ref().name() == level)
            .unwrap_or(usize::MAX)
    });
    (levels.unwrap_or(0), level.to_owned())
}

/// A figure or series of one run over its measurement.
fn points(run: &RunRecord, name: &str, is_series: bool) -> Option<Vec<(f64, f64)>> {
    if is_series {
        let own = run.series.iter().find(|series| series.key.name == name)?;
        let points = own.points.iter().filter(|(at_s, _)| *at_s >= 0.0);
        return Some(points.copied().collect());
    }
    if name == "rate" || name == "rate_per_client" {
        let clients = match name {
            "rate" => 1.0,
            _ => f64::from(run.head.drive.as_ref()?.sessions.max(1)),
        };
        let bins = dyno_analysis::bins::of(run);
        let points = bins.iter().map(|bin| {
            let middle_s = bin.at_s - bin.length_s / 2.0;
            (middle_s, bin.events_per_s() / clients)
        });
        return Some(points.collect());
    }
    let percent = NamedFigure::find(name)?.percent?;
    let intervals = run.intervals.iter().filter(|interval| interval.at_s > 0.0);
    let points = intervals.map(|interval| {
        let value = Percentile::of(&interval.percentiles, percent);
        let middle_s = interval.at_s - interval.length_s / 2.0;
        (middle_s, value.unwrap_or(f64::NAN))
    });
    Some(points.collect())
}

/// Labels and unit of values over time, and the values of each part.
struct Values<'p, 'a> {
    value: String,
    unit: String,
    of: Vec<(&'p Part<'a>, Vec<(f64, f64)>)>,
}

fn values<'p, 'a>(plot: &Plot, parts: &[&'p Part<'a>]) -> Result<Values<'p, 'a>> {
    let name = what(plot);
    let is_series = plot.series.is_some() || plot.kind == PlotKind::Size;
    let own = |part: &&'p Part<'a>| Some((*part, points(part.run, name, is_series)?));
    let of: Vec<_> = parts.iter().filter_map(own).collect();
    let known = |(_, points): &(&Part<'_>, Vec<(f64, f64)>)| {
        points.iter().any(|(_, value)| value.is_finite())
    };
    if !of.iter().any(known) {
        return Err(match is_series {
            true => anyhow!("no trial has a series '{name}'; docs/observers.md lists them"),
            false => anyhow!(
                "no trial has '{name}' over time; expected rate, rate_per_client, a percentile of \
                 [load] percentiles such as p99 (with enough events in each second), or a series"
            ),
        });
    }
    let unit = match (is_series, name) {
        (false, "rate" | "rate_per_client") => "count/s".to_owned(),
        (false, _) => "ms".to_owned(),
        (true, _) => {
            let mut all = of.iter().flat_map(|(part, _)| &part.run.series);
            let own = all.find(|series| series.key.name == name);
            own.map_or_else(String::new, |series| series.key.unit.clone())
        }
    };
    let value = match name {
        "rate" => "throughput".to_owned(),
        "rate_per_client" => "throughput of a client".to_owned(),
        SIZE => "size of the data".to_owned(),
        percentile if !is_series => format!("latency {percentile}"),
        other => other.to_owned(),
    };
    Ok(Values { value, unit, of })
}

pub(super) fn made(
    plot: &Plot,
    (value, unit): (String, String),
    about: &str,
    drawing: PlotDrawing,
) -> html::Plot {
    let kind = match plot.kind {
        PlotKind::Time | PlotKind::Size => " over time",
        _ => "",
    };
    html::Plot {
        title: (plot.name.clone()).unwrap_or_else(|| format!("{}{kind}", capital(&value))),
        about: about.to_owned(),
        source: "the trials that count".to_owned(),
        value,
        unit,
        drawing,
    }
}

fn in_time(experiment: &Experiment, plot: &Plot, parts: &[&Part<'_>]) -> Result<html::Plot> {
    let mut values = values(plot, parts)?;
    let mut about = "A line for each trial, from the start of its measurement.".to_owned();
    if values.of.len() > LINES_MAX {
        let first = values
            .of
            .iter()
            .map(|(part, _)| part.done.measured.block)
            .min();
        values
            .of
            .retain(|(part, _)| Some(part.done.measured.block) == first);
        about = "A line for each trial of the first block, from the start of its measurement."
            .to_owned();
    }
    if let Some(zoom) = &plot.zoom {
        // The end of a run is always after its warm-up.
        let length_s = zoom.value().as_secs_f64();
        for (_, points) in &mut values.of {
            let end_s = points.last().map_or(0.0, |(at_s, _)| *at_s);
            points.retain(|(at_s, _)| *at_s >= end_s - length_s);
        }
        about += &format!(" The last {length_s} s.");
    }
    let names = varied(experiment, &values, plot.panel.as_deref());
    let mut lines = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for (part, points) in values.of {
        let named = |name: &String| Some(format!("{name} {}", part.level(name)?));
        let name = names
            .iter()
            .filter_map(named)
            .collect::<Vec<_>>()
            .join(", ");
        let colour = match &plot.line {
            Some(line) => {
                let level = part.level(line).unwrap_or_default();
                match place(experiment, line, &level).0 {
                    usize::MAX => 0,
                    own => own,
                }
            }
            None => others
                .iter()
                .position(|own| *own == name)
                .unwrap_or_else(|| {
                    others.push(name.clone());
                    others.len() - 1
                }),
        };
        lines.push(PlotLine {
            name,
            colour,
            points,
            spread: Vec::new(),
        });
    }
    let drawing = PlotDrawing::Time(lines);
    Ok(made(plot, (values.value, values.unit), &about, drawing))
}

/// The factors in which the parts differ, except the panel's.
fn varied(experiment: &Experiment, values: &Values<'_, '_>, panel: Option<&str>) -> Vec<String> {
    let names = experiment.factors.iter().map(|f| f.name.get_ref().clone());
    let names = names.chain([STEP.to_owned()]);
    let differs = |name: &String| {
        let mut levels = values.of.iter().map(|(part, _)| part.level(name));
        let first = levels.next();
        levels.any(|level| Some(level) != first)
    };
    names
        .filter(|name| Some(name.as_str()) != panel)
        .filter(differs)
        .collect()
}

fn by_level(experiment: &Experiment, plot: &Plot, parts: &[&Part<'_>]) -> Result<html::Plot> {
    let values = values(plot, parts)?;
    let crossed = experiment.crossed();
    let first = crossed.first().map(|factor| factor.name.get_ref().as_str());
    let x = plot.x.as_deref().or(first);
    let x = x.ok_or_else(|| anyhow!("it needs x = \"FACTOR\""))?;
    let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (part, points) in &values.of {
        let level = |name: &str| part.level(name).unwrap_or_default();
        let colour = plot.colour.as_deref();
        let colour = colour.map(|name| place(experiment, name, &level(name)));
        let numbers = points.iter().map(|(_, value)| *value);
        groups
            .entry((place(experiment, x, &level(x)), colour))
            .or_default()
            .extend(numbers.filter(|value| value.is_finite()));
    }
    let groups = groups.into_iter().map(|(((_, x_level), colour), values)| {
        let shown = format!("{x} {x_level}");
        match colour {
            Some((place, level)) => PlotGroup {
                name: level,
                heading: shown,
                colour: if place == usize::MAX { 0 } else { place },
                values,
            },
            None => PlotGroup {
                name: shown,
                heading: String::new(),
                colour: 0,
                values,
            },
        }
    });
    let dots = plot.kind == PlotKind::Jitter;
    let about = match dots {
        true => {
            "Each dot is one second of a trial, spread sideways to be visible; a box spans the \
             quartiles with the median across it."
        }
        false => {
            "A box spans the quartiles of the seconds, with the median across it; whiskers \
                  reach the last second within 1.5 times its length."
        }
    };
    let drawing = PlotDrawing::Groups {
        groups: groups.collect(),
        dots,
    };
    Ok(made(plot, (values.value, values.unit), about, drawing))
}
