//! The figures of a trial's runs, by their names in experiment files.

use std::collections::BTreeMap;

use anyhow::Result;
use dyno_analysis::search::Searched;
use dyno_analysis::summary::recorded;
use dyno_core::catalogue::names;
use dyno_core::duet::DuetSummary;
use dyno_core::figures::NamedFigure;
use dyno_core::finding::Cause;
use dyno_core::record::RunRecord;
use dyno_core::summary::RunSummary;
use dyno_lab::file::Experiment;
use dyno_lab::{Figure, Figures, Measured, OfDuet};
use dyno_results::{Captured, Results, Scope, Step, TrialRow, TrialState, Tried};

use crate::search::promise;

/// Other names of cost figures in files.
pub const COSTS: [(&str, &str); 5] = [
    ("written by the server", "written_per_event"),
    ("read by the server", "read_per_event"),
    ("server CPU", "cpu_per_event"),
    ("redo log", "redo_per_event"),
    ("write-ahead log", "redo_per_event"),
];

/// The main figure of an experiment: the one that its trials search for, or else the rate, or for
/// open loops the response time.
pub fn subject(experiment: &Experiment) -> &'static str {
    match &experiment.search {
        None => experiment.subject(),
        Some(text) => match promise::parse(text.get_ref()) {
            Ok(promise) if promise.of == Searched::Sessions => "sessions",
            _ => "offered",
        },
    }
}

/// The cell with the highest mean rate among the usable trials; for open loops, whose rate is
/// given, the cell with the lowest p99.
pub fn best(experiment: &Experiment, done: &[Done]) -> Option<Best> {
    let figure = experiment.subject();
    let mut cells: BTreeMap<&BTreeMap<String, String>, Vec<f64>> = BTreeMap::new();
    for one in done.iter().filter(|one| one.measured.is_usable()) {
        if let Some(value) = one.value(figure) {
            cells.entry(&one.measured.levels).or_default().push(value);
        }
    }
    let means = cells.into_iter().filter_map(|(levels, values)| {
        Some(Best {
            levels: levels.clone(),
            figure,
            value: dyno_stats::mean(&values)?,
        })
    });
    let is_rate = NamedFigure::find(figure).is_some_and(NamedFigure::is_throughput);
    let sign = if is_rate { 1.0 } else { -1.0 };
    means.max_by(|one, other| (sign * one.value).total_cmp(&(sign * other.value)))
}

/// The best cell.
pub struct Best {
    /// Its levels.
    pub levels: BTreeMap<String, String>,
    /// The figure by which it is the best.
    pub figure: &'static str,
    /// Its mean: per second, or in milliseconds.
    pub value: f64,
}

impl Done {
    /// Its rate, per second; `None` if it has phases.
    pub fn rate(&self) -> Option<f64> {
        self.value("rate")
    }

    /// A figure; `None` if it has phases, because each has its own.
    pub fn value(&self, figure: &str) -> Option<f64> {
        Some(self.figure(figure)?.value)
    }

    /// The other work that a figure includes, if any was found.
    pub fn includes(&self, figure: &str) -> Option<Cause> {
        self.figure(figure)?.includes
    }

    fn figure(&self, name: &str) -> Option<Figure> {
        let steps = &self.measured.steps;
        let only = steps.values().next().filter(|_| steps.len() == 1)?;
        only.get(name).copied()
    }

    /// Whether the run at the load that its search found kept the promise.
    ///
    /// `None` if there are too few events to decide.
    pub fn kept(&self, promise: &str) -> Option<bool> {
        let promise = promise::parse(promise).ok();
        let summaries = self.runs.iter().filter_map(|run| run.summary.as_ref());
        let mut kept = summaries.map(|run| promise.as_ref()?.kept_by(run));
        kept.try_fold(true, |all, kept| Some(all && kept?))
    }
}

/// A finished trial with its runs.
pub struct Done {
    /// Its position in the plan.
    pub position: usize,
    /// Its figures.
    pub measured: Measured,
    /// Its runs.
    pub runs: Vec<RunRecord>,
    /// Data written during its load.
    pub captured: Option<Captured>,
    /// The duet of which it is a side.
    pub duet: Option<DuetSummary>,
}

/// The finished trials, in order.
///
/// # Errors
/// A run cannot be read.
pub fn done(
    results: &Results,
    trials: &[TrialRow],
    states: &BTreeMap<String, TrialState>,
) -> Result<Vec<Done>> {
    let mut all = Vec::new();
    for (position, row) in trials.iter().enumerate() {
        let state = states.get(&row.identity).map(|state| &state.tried);
        let Some(Tried::Done { runs, verdict }) = state else {
            continue;
        };
        let mut records = Vec::new();
        let mut steps = BTreeMap::new();
        let mut duet = None;
        for id in runs {
            let mut record = results.load(*id, &Scope::whole())?;
            let summary = recorded(&record, &results.path().display().to_string());
            let figures = match side_of(results, *id)? {
                None => of(&record, &summary),
                // The duet's result was not stored, and the run's own figures include waiting.
                Some((_, None)) => Figures::new(),
                Some((side, Some(found))) => {
                    let figures = of_duet(&found, side);
                    duet = Some(found);
                    figures
                }
            };
            let step = record.head.phase.as_ref().map(|phase| phase.name.clone());
            steps.insert(step.unwrap_or_default(), figures);
            record.summary = Some(summary);
            records.push(record);
        }
        all.push(Done {
            position,
            captured: states
                .get(&row.identity)
                .and_then(|state| captured(&state.done_before)),
            measured: Measured {
                levels: row.levels.clone(),
                block: row.block,
                verdict: *verdict,
                runs: runs.clone(),
                steps,
            },
            runs: records,
            duet,
        });
    }
    Ok(all)
}

/// If a run is a side of a duet: the side as an index, and the result if it was stored.
fn side_of(results: &Results, run: i64) -> Result<Option<(usize, Option<DuetSummary>)>> {
    let Some(side) = results.fact(run, names::DUET_SIDE)? else {
        return Ok(None);
    };
    let answer = results.fact(run, names::DUET_ANSWER)?;
    let duet = answer.and_then(|answer| serde_json::from_str(&answer).ok());
    Ok(Some((usize::from(side == "B"), duet)))
}

/// The figures of a run that is a side of a duet; `None` for another run.
///
/// # Errors
/// The results file cannot be read.
pub fn of_side(results: &Results, run: i64) -> Result<Option<Figures>> {
    let side = side_of(results, run)?;
    let figures = |(side, duet): (usize, Option<DuetSummary>)| {
        duet.map_or_else(Figures::new, |duet| of_duet(&duet, side))
    };
    Ok(side.map(figures))
}

/// The figures of a side of a duet: those of the slices in which it worked. Others, such as what
/// its server wrote, are known only for the whole time.
fn of_duet(duet: &DuetSummary, side: usize) -> Figures {
    let run = duet.sides.first().and_then(|a| a.run.as_ref());
    let run = run.map_or(0, |run| run.id);
    let mut figures = Figures::new();
    for own in &duet.figures {
        // Ratios come from paired blocks, which is more precise than from both sums.
        let value = match (side, own.a.zip(own.ratio)) {
            (1, Some((a, ratio))) => Some(a * ratio),
            (1, None) => own.b,
            _ => own.a,
        };
        let Some(value) = value.filter(|value| value.is_finite()) else {
            continue;
        };
        let bounds = own.low.zip(own.high);
        let figure = Figure {
            value,
            error: None,
            includes: None,
            duet: bounds.map(|(low, high)| OfDuet::within(run, low, high)),
        };
        let names: &[&str] = match own.name.as_str() {
            "client CPU per event" => &["client_cpu"],
            "server CPU per event" => &["server_cpu", "cpu_per_event"],
            name => &[name],
        };
        for name in names {
            figures.insert((*name).to_owned(), figure);
        }
    }
    figures
}

/// The data that commands wrote during a trial's load.
fn captured(steps: &[Step]) -> Option<Captured> {
    steps.iter().find_map(|step| match step {
        Step::Captured { captured } => Some(*captured),
        _ => None,
    })
}

fn of(run: &RunRecord, summary: &RunSummary) -> Figures {
    let mut figures = Figures::new();
    let mut put = |name: &str, figure: Figure| {
        if figure.value.is_finite() {
            figures.insert(name.to_owned(), figure);
        }
    };
    let own = |value: f64, error: Option<f64>| Figure {
        value,
        error,
        includes: None,
        duet: None,
    };
    for (figure, value, error) in dyno_analysis::figures::of(run, summary) {
        put(&figure.name(), own(value, error));
    }
    for cost in dyno_verdict::costs(run) {
        let Some(value) = cost.value else { continue };
        let figure = Figure {
            includes: cost.includes,
            ..own(value, None)
        };
        put(&name_of(&cost.name), figure);
        for (_, name) in COSTS.iter().filter(|(own, _)| *own == cost.name) {
            put(name, figure);
        }
    }
    for figure in &summary.figures {
        put(&name_of(&figure.name), own(figure.value, None));
    }
    figures
}

/// A figure's name in files: `file_syncs` for `file syncs`.
pub fn name_of(name: &str) -> String {
    name.to_lowercase().replace([' ', '-'], "_")
}

#[cfg(test)]
mod tests {
    use dyno_samples::values;

    use super::*;

    #[test]
    fn costs_with_the_work_of_other_clients_are_marked() {
        let marked = |run: &RunRecord, name: &str| {
            let summary = run.summary.clone().unwrap();
            of(run, &summary).get(name).unwrap().includes
        };
        let mut run = dyno_samples::good();
        assert_eq!(marked(&run, "server_cpu"), None);
        dyno_samples::series(&mut run, "db.other_sessions_active", &[1.0; 5]);
        let figure = values::figure("new orders", 5.0, "per minute", None);
        run.summary.as_mut().unwrap().figures = vec![figure];
        for name in ["server_cpu", "cpu_per_event", "redo_log", "redo_per_event"] {
            assert_eq!(marked(&run, name), Some(Cause::OtherClients), "{name}");
        }
        for name in ["client_cpu", "rate", "new_orders"] {
            assert_eq!(marked(&run, name), None, "{name}");
        }
    }
}
