//! `dyno lab report`: the question, the answer, the claims and the tables of an experiment.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use dyno_conduct::lab::figures::{self, Done};
use dyno_core::clock::wall_time;
use dyno_core::finding::Verdict;
use dyno_core::record::{Cost, RunRecord};
use dyno_lab::file::Experiment;
use dyno_lab::{Answer, Effect, Judgement, Measured, Role};
use dyno_report::html::{self, ReportInput};
use dyno_report::sheet::Sheet;
use dyno_report::terminal::{self, Look};
use dyno_results::{Results, StoredExperiment};
use dyno_stats::Margin;
use serde_json::{Value, json};

use super::answer::{answer, effect};
use super::notes::{
    as_it_is_now, as_it_ran, best_again, broken, control, durability, in_turns, shared, unseen, why,
};
use super::tables::{self, LabTable};
use super::{file_name, plans, plots, status};
use crate::commands::report::compared;
use crate::options::Parsed;
use crate::settings::{margin, usage};
use crate::{STATUS_DONE, STATUS_LIMIT, STATUS_REFUSED, console, output, run_store};

/// With more runs than this, the page has no section for each run.
const RUNS_SHOWN_MAX: usize = 40;

/// Prints an experiment's results, and writes its page.
///
/// # Errors
/// The results file lacks the experiment, or none of its trials is done.
pub(super) fn main(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let results = Results::open_read(&run_store::required(parsed)?)?;
    let stored = status::stored(parsed, words, &results)?;
    let experiment = as_it_ran(&stored)?;
    let experiment = match words {
        [file] => as_it_is_now(file, stored.head.scale.as_deref(), experiment),
        _ => experiment,
    };
    let found = LabResult::load(&results, &stored, &experiment, margin(parsed)?)?;
    if let Some(folder) = parsed.value("csv") {
        found.write_csv(folder)?;
    }
    output::json_or_text(
        parsed,
        || found.as_json(),
        |look| {
            console::page(look, |look| found.text(look));
        },
    )?;
    if !parsed.has("json") {
        found.write_page(parsed)?;
    }
    Ok(match parsed.has("gate") {
        true => found.status(),
        false => STATUS_DONE,
    })
}

/// An experiment's results.
pub(super) struct LabResult<'a> {
    stored: &'a StoredExperiment,
    done: Vec<Done>,
    /// The repetition of the best cell.
    again: Option<Done>,
    /// Other remarks on the trials.
    notes: Vec<String>,
    /// Why trials are doubtful or refused.
    why: Option<String>,
    /// The answers to the experiment's question, in sentences.
    pub answer: Vec<String>,
    /// The experiment's claims and their judgements.
    pub claims: Vec<Answer>,
    tables: Vec<LabTable>,
    effects: Option<Sheet>,
    found: Vec<Effect>,
    plots: Vec<html::Plot>,
    /// The baseline level of each factor.
    bases: BTreeMap<String, String>,
    /// The margin within which effects count as none, if that is tested.
    margin: Option<Margin>,
}

impl<'a> LabResult<'a> {
    /// The results of the finished trials.
    ///
    /// # Errors
    /// No trial is done, or a run cannot be read.
    pub(super) fn load(
        results: &Results,
        stored: &'a StoredExperiment,
        experiment: &Experiment,
        margin: Option<Margin>,
    ) -> Result<Self> {
        let identities: Vec<&str> = stored.trials.iter().map(|t| t.identity.as_str()).collect();
        let states = results.trial_states(&identities)?;
        let mut done = figures::done(results, &stored.trials, &states)?;
        let is_again = |done: &Done| stored.trials[done.position].role == Role::Confirm.word();
        let again = done.iter().position(is_again).map(|at| done.remove(at));
        if done.is_empty() {
            return Err(usage(format!(
                "no trial of {} is done yet; see dyno lab status",
                stored.head.name
            )));
        }
        let mut found = Self::of(stored, experiment, done, margin);
        let best = best_again(experiment, &found.done, again.as_ref());
        found.answer.extend(best);
        found.answer.extend(control(stored, &found.done));
        found.notes.extend(unseen(&states));
        found.again = again;
        Ok(found)
    }

    fn of(
        stored: &'a StoredExperiment,
        experiment: &Experiment,
        done: Vec<Done>,
        margin: Option<Margin>,
    ) -> Self {
        let measured: Vec<Measured> = done.iter().map(|done| done.measured.clone()).collect();
        let subject = figures::subject(experiment);
        let effects = dyno_lab::effects(experiment, &measured, subject);
        let (plots, wrong) = plots::plots(experiment, &done);
        let mut tables = tables::tables(experiment, &done, margin);
        tables.extend(wrong.into_iter().map(LabTable::Missing));
        let together = dyno_lab::interactions(experiment, &measured, subject);
        let mut answer = answer(&effects, &together, subject, margin);
        answer.extend(durability(experiment, &done));
        answer.extend(broken(experiment, &done));
        if let Some((sheet, summary)) = plans::plans(&done) {
            tables.push(LabTable::Plans(sheet));
            answer.push(summary);
        }
        Self {
            stored,
            bases: experiment
                .crossed()
                .iter()
                .filter_map(|factor| {
                    let name = factor.name.get_ref();
                    Some((name.clone(), experiment.base_level(name)?))
                })
                .collect(),
            margin,
            again: None,
            notes: shared(&done).into_iter().chain(in_turns(&done)).collect(),
            why: why(&done),
            answer,
            found: effects,
            claims: experiment.judge(&measured),
            tables,
            plots,
            effects: tables::effects(experiment, &done, (subject, margin)),
            done,
        }
    }

    /// The runs of the finished trials.
    pub(super) fn runs(&self) -> impl Iterator<Item = &RunRecord> {
        self.done.iter().flat_map(|done| &done.runs)
    }

    /// Counts trials, finished ones, and verdicts.
    pub(super) fn counted(&self) -> String {
        let count = |verdict: Verdict| {
            let all = self.done.iter().chain(&self.again);
            all.filter(|done| done.measured.verdict == Some(verdict))
                .count()
        };
        let done = self.done.len() + usize::from(self.again.is_some());
        let all = self.stored.trials.len();
        format!(
            "{done} of {all} trials done: {} valid, {} doubtful, {} refused{}",
            count(Verdict::Valid),
            count(Verdict::Doubtful),
            count(Verdict::Refused),
            match count(Verdict::Refused) {
                0 => "",
                _ => " (refused trials are shown but not used)",
            }
        )
    }

    fn text(&self, look: &Look) -> String {
        let head = &self.stored.head;
        let mut out = format!("\n{}\n", head.question);
        if !head.cite.is_empty() {
            out += &format!("{}\n", head.cite);
        }
        out.push('\n');
        let counted = [self.counted()];
        let lines = self.answer.iter().chain(&counted).chain(&self.why);
        for line in lines.chain(&self.notes) {
            out += &terminal::paragraph(line, look);
        }
        if !self.claims.is_empty() {
            out += &terminal::claims(&self.claims_sheet(), look);
        }
        for made in &self.tables {
            match made {
                LabTable::Cells(pivot) => out += &terminal::pivot(pivot, look),
                LabTable::Plans(sheet) => out += &terminal::plans(sheet, look),
                LabTable::Sheet(sheet) => out += &terminal::sheet(sheet, look),
                LabTable::Missing(why) => out += &format!("\n{why}\n"),
            }
        }
        if let Some(effects) = &self.effects {
            out += &terminal::sheet(effects, look);
        }
        out
    }

    fn claims_sheet(&self) -> Sheet {
        let rows = self.claims.iter().map(|claim| {
            vec![
                claim.judgement.word().to_owned(),
                claim.text.clone(),
                claim.evidence.clone(),
            ]
        });
        Sheet {
            title: "Claims".to_owned(),
            about: String::new(),
            columns: ["", "claim", "measured"]
                .map(|name| (name.to_owned(), false))
                .into(),
            rows: rows.collect(),
        }
    }

    /// The exit status, by the judgements of the claims.
    fn status(&self) -> u8 {
        let any = |judgement| self.claims.iter().any(|claim| claim.judgement == judgement);
        match (any(Judgement::Differs), any(Judgement::CannotTell)) {
            (true, _) => STATUS_LIMIT,
            (false, true) => STATUS_REFUSED,
            (false, false) => STATUS_DONE,
        }
    }

    fn as_json(&self) -> Value {
        let claims = self.claims.iter().map(|claim| {
            json!({
                "text": claim.text,
                "judgement": claim.judgement.word(),
                "evidence": claim.evidence,
            })
        });
        let trials = self.done.iter().map(|done| {
            let row = &self.stored.trials[done.position];
            let steps = done.measured.steps.iter().map(|(step, figures)| {
                let values = figures.iter().map(|(name, figure)| (name, figure.value));
                (step, values.collect::<BTreeMap<_, _>>())
            });
            let includes = done.measured.steps.iter().map(|(step, figures)| {
                let marked = figures.iter();
                let marked = marked.filter_map(|(name, figure)| Some((name, figure.includes?)));
                (step, marked.collect::<BTreeMap<_, _>>())
            });
            json!({
                "identity": row.identity,
                "levels": row.levels,
                "block": row.block + 1,
                "role": row.role,
                "runs": done.measured.runs,
                "verdict": done.measured.verdict,
                "figures": steps.collect::<BTreeMap<_, _>>(),
                "includes": includes.collect::<BTreeMap<_, _>>(),
            })
        });
        let effects = self.found.iter().map(|found| effect(found, self.margin));
        json!({
            "name": self.stored.head.name,
            "question": self.stored.head.question,
            "cite": self.stored.head.cite,
            "planned": self.stored.trials.len(),
            "done": self.done.len(),
            "answer": self.answer,
            "effects": effects.collect::<Vec<_>>(),
            "claims": claims.collect::<Vec<_>>(),
            "trials": trials.collect::<Vec<_>>(),
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        let mut sheets = Vec::new();
        for made in &self.tables {
            match made {
                LabTable::Cells(pivot) => sheets.push(tables::as_sheet(pivot)),
                LabTable::Sheet(sheet) | LabTable::Plans(sheet) => sheets.push(sheet.clone()),
                LabTable::Missing(_) => {}
            }
        }
        sheets.extend(self.effects.clone());
        sheets
    }

    fn write_csv(&self, folder: &str) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {folder}"))?;
        let mut sheets = self.sheets();
        if !self.claims.is_empty() {
            sheets.push(self.claims_sheet());
        }
        for (index, sheet) in sheets.iter().enumerate() {
            let plain = |c: char| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            };
            let name: String = sheet.title.chars().map(plain).take(40).collect();
            let file = format!("{:02}-{}.csv", index + 1, name.trim_matches('-'));
            let path = Path::new(folder).join(file);
            let shown = path.to_string_lossy();
            output::write(&shown, sheet.csv()?)?;
        }
        console::note(&format!("{folder}: {} tables", sheets.len()));
        Ok(())
    }

    fn write_page(&self, parsed: &Parsed) -> Result<()> {
        let path = match parsed.value("output") {
            Some(path) => path.to_owned(),
            None => format!("{}.html", file_name(&self.stored.head.name)),
        };
        // A page with a default name replaces the earlier one.
        let destination = match parsed.has("output") {
            true => output::fresh(parsed, &path)?,
            false => output::Destination::of(&path)?,
        };
        let text = self.html();
        destination.write(text.as_bytes())?;
        console::note(&format!(
            "{path}: {} runs, {:.1} MB",
            self.runs().count(),
            text.len() as f64 / 1e6
        ));
        Ok(())
    }

    /// The page.
    pub(super) fn html(&self) -> String {
        let head = &self.stored.head;
        let runs: Vec<RunRecord> = self.runs().cloned().collect();
        let shown = if runs.len() > RUNS_SHOWN_MAX {
            &[][..]
        } else {
            &runs[..]
        };
        let costs: Vec<Vec<Cost>> = shown.iter().map(dyno_verdict::costs).collect();
        let mut sides: Vec<Vec<usize>> = sides(shown);
        // The baseline of the answer's ratios comes first.
        let base = |side: &Vec<usize>| {
            let levels = side.first().map(|run| &shown[*run].head.factors);
            let own = |(name, level): (&String, &String)| {
                self.bases.get(name).is_none_or(|base| base == level)
            };
            !levels.is_some_and(|levels| levels.iter().all(own))
        };
        sides.sort_by_key(base);
        let page = html::Experiment {
            question: &head.question,
            cite: &head.cite,
            answer: &self.answer,
            counted: {
                let lines = [self.counted()];
                let lines = lines.iter().chain(&self.why).chain(&self.notes);
                lines.map(String::as_str).collect::<Vec<_>>().join("; ")
            },
            claims: self.claims_sheet(),
            tables: self.sheets(),
            plots: self.plots.clone(),
        };
        let compared = compared(&[], shown, &sides);
        html::report(&ReportInput {
            runs: shown,
            costs: &costs,
            sides: &sides,
            compared: &compared,
            pivot: None,
            experiment: Some(&page),
            generated_unix_s: wall_time().as_secs_f64(),
            title: &head.question,
        })
    }
}

/// The runs of each cell.
fn sides(runs: &[RunRecord]) -> Vec<Vec<usize>> {
    let mut sides: Vec<Vec<usize>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let same = |side: &&mut Vec<usize>| {
            let first = &runs[side[0]].head;
            let phase = |head: &dyno_core::record::RunHead| {
                head.phase.as_ref().map(|phase| phase.name.clone())
            };
            first.factors == run.head.factors && phase(first) == phase(&run.head)
        };
        match sides.iter_mut().find(same) {
            Some(side) => side.push(index),
            None => sides.push(vec![index]),
        }
    }
    sides
}
