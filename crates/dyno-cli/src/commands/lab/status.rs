//! `dyno lab status`: show an experiment's progress.

use std::collections::BTreeMap;

use anyhow::Result;
use dyno_conduct::lab::figures;
use dyno_core::finding::Verdict;
use dyno_core::text::number_of;
use dyno_core::units::human_seconds;
use dyno_report::terminal::{Look, TrialLine, Trials, trials};
use dyno_results::{Results, Step, StoredExperiment, TrialRow, TrialState, Tried};
use serde_json::{Value, json};

use super::progress;
use crate::options::Parsed;
use crate::settings::usage;
use crate::{STATUS_DONE, console, output, run_store};

/// Prints an experiment's progress.
///
/// # Errors
/// The results file lacks the experiment.
pub(super) fn main(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let results = Results::open_read(&run_store::required(parsed)?)?;
    let stored = stored(parsed, words, &results)?;
    let identities: Vec<&str> = stored.trials.iter().map(|t| t.identity.as_str()).collect();
    let states = results.trial_states(&identities)?;
    let runs = results.who_runs(stored.id)?;
    let mut rates = BTreeMap::new();
    for line in results.runs(&dyno_results::Filter::default())? {
        rates.insert(line.id, (line.events_per_s, line.p99_ms));
    }
    for state in states.values() {
        let Tried::Done { runs, .. } = &state.tried else {
            continue;
        };
        for run in runs {
            if let Some(figures) = figures::of_side(&results, *run)? {
                let value = |name: &str| figures.get(name).map(|figure| figure.value);
                rates.insert(*run, (value("rate"), value("p99")));
            }
        }
    }
    let status = Status {
        stored: &stored,
        states: &states,
        runs,
        rates: &rates,
    };
    output::json_or_text(
        parsed,
        || status.as_json(),
        |look| {
            console::page(look, |look| status.text(look));
        },
    )?;
    Ok(STATUS_DONE)
}

/// The experiment that the words name, or the latest one.
///
/// # Errors
/// The results file has none of that name.
pub(super) fn stored(
    parsed: &Parsed,
    words: &[String],
    results: &Results,
) -> Result<StoredExperiment> {
    let names = results.experiments()?;
    let scale = parsed.value("scale");
    let name = match (parsed.value("name"), words) {
        (Some(name), _) => name.to_owned(),
        (None, [file]) => {
            let path = std::path::Path::new(file);
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            match scale {
                Some(scale) => format!("{stem}-{scale}"),
                None => stem.into_owned(),
            }
        }
        (None, []) => match names.last() {
            Some(name) => name.clone(),
            None => return Err(usage("this results file has no experiment")),
        },
        (None, _) => return Err(usage("name one experiment")),
    };
    // If the file ran at one scale only, use that one.
    let scaled: Vec<&String> = names
        .iter()
        .filter(|other| {
            other
                .strip_prefix(&name)
                .is_some_and(|rest| rest.starts_with('-'))
        })
        .collect();
    let name = match (names.contains(&name), scaled.as_slice()) {
        (false, [one]) if scale.is_none() => (*one).clone(),
        _ => name,
    };
    match results.experiment(&name)? {
        Some(stored) => Ok(stored),
        None => Err(usage(format!(
            "there is no experiment '{name}' in {}; it has {}",
            results.path().display(),
            match names.is_empty() {
                true => "none".to_owned(),
                false => names.join(", "),
            }
        ))),
    }
}

struct Status<'a> {
    stored: &'a StoredExperiment,
    states: &'a BTreeMap<String, TrialState>,
    runs: Option<i64>,
    rates: &'a BTreeMap<i64, (Option<f64>, Option<f64>)>,
}

impl Status<'_> {
    fn of(&self, row: &TrialRow) -> (&'static str, Option<Verdict>) {
        match self.states.get(&row.identity).map(|state| &state.tried) {
            None | Some(Tried::Not) => ("", None),
            Some(Tried::Begun) => match self.runs {
                Some(_) => ("running", None),
                None => ("begun", None),
            },
            Some(Tried::Failed(_)) => ("failed", None),
            Some(Tried::Interrupted) => ("interrupted", None),
            Some(Tried::Done { verdict, .. }) => ("done", *verdict),
        }
    }

    fn counts(&self) -> (usize, usize, usize) {
        let of = |wanted: &str| {
            let rows = self.stored.trials.iter();
            rows.filter(|row| self.of(row).0 == wanted).count()
        };
        let done = of("done");
        (done, of("failed"), self.stored.trials.len() - done)
    }

    /// The time left, estimated from the finished trials.
    fn left_s(&self) -> Option<f64> {
        let took: Vec<f64> = self
            .states
            .values()
            .filter(|state| matches!(state.tried, Tried::Done { .. }))
            .filter_map(|state| Some(state.took_ms? as f64 / 1e3))
            .collect();
        let (_, _, left) = self.counts();
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        (!took.is_empty()).then_some(mean * left as f64)
    }

    fn text(&self, look: &Look) -> String {
        let head = &self.stored.head;
        let (done, failed, left) = self.counts();
        let mut out = format!("\n{}: {}\n", head.name, head.question);
        out += &format!(
            "{done} of {} done",
            number_of(self.stored.trials.len(), "trial")
        );
        if failed > 0 {
            out += &format!(", {failed} failed");
        }
        match (left, self.left_s()) {
            (0, _) | (_, None) => out.push('\n'),
            (_, Some(left_s)) => out += &format!(", about {} left\n", human_seconds(left_s)),
        }
        match (self.runs, left) {
            (Some(pid), _) => out += &format!("running, in process {pid}\n"),
            (None, 0) => {}
            (None, _) => {
                out += &format!("not running; dyno lab resume --name {}\n", head.name);
            }
        }
        out.push('\n');
        out += &trials(&self.table(), look);
        for row in &self.stored.trials {
            let state = self.states.get(&row.identity);
            if let Some(Tried::Failed(why)) = state.map(|state| &state.tried) {
                out += &format!("\n{} failed: {why}\n", row.label);
            }
        }
        out
    }

    fn table(&self) -> Trials {
        let mut factors: Vec<String> = Vec::new();
        for name in self.stored.trials.iter().flat_map(|row| row.levels.keys()) {
            if !factors.contains(name) {
                factors.push(name.clone());
            }
        }
        let lines = self.stored.trials.iter().enumerate().map(|(index, row)| {
            let (state, verdict) = self.of(row);
            let role = match row.role.as_str() {
                "repeat" => String::new(),
                role => format!(" {role}"),
            };
            TrialLine {
                number: index + 1,
                block: format!("{}{role}", row.block + 1),
                levels: factors
                    .iter()
                    .map(|name| row.levels.get(name).cloned().unwrap_or_default())
                    .collect(),
                change: String::new(),
                state: if state.is_empty() {
                    "open".to_owned()
                } else {
                    state.to_owned()
                },
                figures: self.figures(row),
                verdict,
            }
        });
        Trials {
            lines: lines.collect(),
            factors,
            hidden: 0,
        }
    }

    fn figures(&self, row: &TrialRow) -> String {
        let state = self.states.get(&row.identity);
        let Some(Tried::Done { runs, .. }) = state.map(|state| &state.tried) else {
            return String::new();
        };
        match runs.as_slice() {
            [one] => match self.rates.get(one) {
                Some((rate, p99)) => progress::rate_and_p99(rate.unwrap_or(f64::NAN), *p99),
                None => String::new(),
            },
            runs => format!("{} phases", runs.len()),
        }
    }

    fn as_json(&self) -> Value {
        let (done, failed, left) = self.counts();
        let rows = self.stored.trials.iter().map(|row| {
            let (state, verdict) = self.of(row);
            let known = self.states.get(&row.identity);
            let (runs, why) = match known.map(|state| &state.tried) {
                Some(Tried::Done { runs, .. }) => (runs.clone(), None),
                Some(Tried::Failed(why)) => (Vec::new(), Some(why.clone())),
                _ => (Vec::new(), None),
            };
            json!({
                "identity": row.identity,
                "levels": row.levels,
                "block": row.block + 1,
                "repeat": row.repeat + 1,
                "role": row.role,
                "state": if state.is_empty() { "open" } else { state },
                "verdict": verdict,
                "runs": runs,
                "why": why,
                "attempts": known.map_or(0, |state| state.attempts),
                "done_before": known.map(|state| steps(&state.done_before)),
            })
        });
        json!({
            "name": self.stored.head.name,
            "question": self.stored.head.question,
            "done": done,
            "failed": failed,
            "left": left,
            "left_s": self.left_s(),
            "pid": self.runs,
            "trials": rows.collect::<Vec<_>>(),
        })
    }
}

fn steps(steps: &[Step]) -> Vec<String> {
    steps.iter().map(Step::to_string).collect()
}
