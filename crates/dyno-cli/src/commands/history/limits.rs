//! `--fail-if` on the last change of a figure.

use anyhow::Result;
use dyno_core::figures::NamedFigure;
use dyno_core::threshold::Threshold;
use dyno_report::{FigureHistory, History};
use serde::Serialize;

use super::figures::RUNS_MIN;
use crate::commands::compare::Limit;
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_LIMIT};

/// A condition and its outcome for a plan.
#[derive(Debug, Serialize)]
pub(super) struct Held {
    condition: String,
    /// The first run after the last change; `None` if nothing changed.
    run: Option<i64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    pub(super) outcome: Limit,
}

impl Held {
    pub(super) fn row(&self) -> String {
        format!("  {:13} {}\n", self.outcome.mark(), self.line())
    }

    /// The outcome and the condition, for Markdown.
    pub(super) fn marked(&self) -> String {
        format!("{} {}", self.outcome.mark(), self.line())
    }

    fn line(&self) -> String {
        let found = match (self.run, self.ratio, self.low, self.high) {
            (Some(run), Some(ratio), Some(low), Some(high)) => {
                format!("{ratio:.3}x ({low:.3} – {high:.3}) from run {run}")
            }
            _ => "no lasting change".to_owned(),
        };
        format!("{}: {found}", self.condition)
    }
}

/// Judges each condition by the interval of the last change of its figure. Figures that this plan
/// lacks are skipped.
pub(super) fn held(history: &History, conditions: &[Threshold]) -> Vec<Held> {
    let held = |condition: &Threshold| {
        let mut figures = history.figures.iter();
        let figure = figures.find(|figure| is_about(condition, figure))?;
        let last = figure.changes.last();
        Some(Held {
            condition: condition.to_string(),
            run: last.map(|change| change.run),
            ratio: last.map(|change| change.ratio),
            low: last.map(|change| change.low),
            high: last.map(|change| change.high),
            outcome: last.map_or(Limit::Kept, |change| {
                Limit::of(condition, change.low, change.high)
            }),
        })
    };
    conditions.iter().filter_map(held).collect()
}

/// Why conditions cannot be judged: no plan has enough runs.
pub(super) fn unjudged(histories: &[History], conditions: &[Threshold]) -> Vec<String> {
    let why = |condition: &Threshold| {
        format!("--fail-if: {condition} cannot be judged: no plan has {RUNS_MIN} or more runs")
    };
    match histories.is_empty() {
        true => conditions.iter().map(why).collect(),
        false => Vec::new(),
    }
}

/// The exit status: as for `dyno run`, a condition that cannot be judged fails, too.
pub(super) fn status(held: &[Vec<Held>], unjudged: &[String]) -> u8 {
    let mut held = held.iter().flatten();
    match held.any(|one| one.outcome == Limit::Failed) || !unjudged.is_empty() {
        true => STATUS_LIMIT,
        false => STATUS_DONE,
    }
}

/// Rejects a condition on a figure that no plan has, because a typo would have no effect.
///
/// # Errors
/// There is such a condition.
pub(super) fn refuse_unknown(histories: &[History], conditions: &[Threshold]) -> Result<()> {
    let figures = || histories.iter().flat_map(|history| &history.figures);
    let is_unknown = |condition: &&Threshold| !figures().any(|figure| is_about(condition, figure));
    match conditions.iter().find(is_unknown) {
        Some(condition) if !histories.is_empty() => {
            let mut names: Vec<String> = figures().map(typed).collect();
            names.sort();
            names.dedup();
            Err(usage(format!(
                "--fail-if: {condition}: no plan has this figure; known figures: {}",
                names.join(", ")
            )))
        }
        _ => Ok(()),
    }
}

fn is_about(condition: &Threshold, figure: &FigureHistory) -> bool {
    let known = NamedFigure::find(&figure.name).and_then(NamedFigure::metric);
    let metric = known.unwrap_or_else(|| typed(figure));
    condition.metric().eq_ignore_ascii_case(&metric)
}

/// The name of a figure in a condition: `server_cpu`.
fn typed(figure: &FigureHistory) -> String {
    figure.name.to_ascii_lowercase().replace(' ', "_")
}

#[cfg(test)]
mod tests {
    use dyno_core::reported::Better;
    use dyno_report::HistoryChange;

    use super::*;

    fn figure(name: &str, bounds: Option<(f64, f64)>) -> FigureHistory {
        let change = |(low, high): (f64, f64)| HistoryChange {
            index: 3,
            run: 4,
            before: 1.0,
            after: 1.0,
            ratio: (low + high) / 2.0,
            low,
            high,
            gradual: false,
            differences: Vec::new(),
        };
        FigureHistory {
            name: name.to_owned(),
            unit: String::new(),
            better: Better::Higher,
            values: Vec::new(),
            changes: bounds.map(change).into_iter().collect(),
        }
    }

    fn history(figures: Vec<FigureHistory>) -> History {
        History {
            plan: String::new(),
            by: "date".to_owned(),
            runs: Vec::new(),
            doubtful: 0,
            refused: 0,
            figures,
        }
    }

    #[test]
    fn the_whole_interval_of_the_last_change_decides() {
        let history = history(vec![
            figure("rate", Some((0.9, 0.94))),
            figure("p95", None),
            figure("server CPU", Some((1.04, 1.08))),
        ]);
        for (text, outcome, line) in [
            (
                "rate < 0.95x",
                Limit::Failed,
                "rate < 0.95x: 0.920x (0.900 – 0.940) from run 4",
            ),
            (
                "rate < 0.92x",
                Limit::Undecided,
                "rate < 0.92x: 0.920x (0.900 – 0.940) from run 4",
            ),
            (
                "rate < 0.8x",
                Limit::Kept,
                "rate < 0.8x: 0.920x (0.900 – 0.940) from run 4",
            ),
            ("p95 > 1.1x", Limit::Kept, "p95 > 1.1x: no lasting change"),
            (
                "server_cpu > 1.03x",
                Limit::Failed,
                "server_cpu > 1.03x: 1.060x (1.040 – 1.080) from run 4",
            ),
        ] {
            let condition: Threshold = text.parse().unwrap();
            let held = held(&history, &[condition]);
            assert_eq!(held[0].outcome, outcome, "{text}");
            assert_eq!(held[0].line(), line);
        }
    }

    #[test]
    fn too_few_runs_fail_a_condition() {
        let all = [history(vec![figure("rate", None)])];
        let condition: Threshold = "rate < 0.9x".parse().unwrap();
        let conditions = [condition];
        let found = |histories: &[History], conditions: &[Threshold]| {
            let held: Vec<Vec<Held>> = histories
                .iter()
                .map(|history| held(history, conditions))
                .collect();
            let unjudged = unjudged(histories, conditions);
            (status(&held, &unjudged), unjudged)
        };
        assert_eq!(found(&all, &conditions), (STATUS_DONE, Vec::new()));
        assert_eq!(found(&[], &[]), (STATUS_DONE, Vec::new()));
        let why = "--fail-if: rate < 0.9x cannot be judged: no plan has 6 or more runs";
        assert_eq!(
            found(&[], &conditions),
            (STATUS_LIMIT, vec![why.to_owned()])
        );
        let failed = [history(vec![figure("rate", Some((0.8, 0.85)))])];
        assert_eq!(found(&failed, &conditions), (STATUS_LIMIT, Vec::new()));
    }

    #[test]
    fn a_condition_needs_a_figure_of_some_plan() {
        let condition = |text: &str| -> Threshold { text.parse().unwrap() };
        let all = [
            history(vec![figure("rate", None)]),
            history(vec![figure("server CPU", None)]),
        ];
        let known = [condition("tps < 0.9x"), condition("server_cpu > 1.1x")];
        refuse_unknown(&all, &known).unwrap();
        // The plan without the figure is not judged.
        assert_eq!(held(&all[1], &known).len(), 1);
        let error = refuse_unknown(&all, &[condition("queries < 0.9x")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--fail-if: queries < 0.9x: no plan has this figure; known figures: rate, server_cpu"
        );
        // With too few runs, no figure is known.
        refuse_unknown(&[], &[condition("queries < 0.9x")]).unwrap();
    }
}
