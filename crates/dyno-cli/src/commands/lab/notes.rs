//! Remarks on an experiment's trials.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use dyno_conduct::lab::figures::{self, Done};
use dyno_core::duet::DuetMode;
use dyno_core::finding::{Cause, DurabilityClass, Outcome};
use dyno_core::units::human_number;
use dyno_lab::file::Experiment;
use dyno_lab::{Cell, Role};
use dyno_report::{latency, others};
use dyno_results::{Step, StoredExperiment, TrialState};

use super::tables::by_cell;
use crate::console;
use crate::settings::usage;

/// The experiment as it is stored with its trials.
///
/// # Errors
/// This version does not support it.
pub(super) fn as_it_ran(stored: &StoredExperiment) -> Result<Experiment> {
    let head = &stored.head;
    let name = match head.file.as_str() {
        "" => head.name.as_str(),
        file => file,
    };
    Experiment::parse(name, &head.definition, head.scale.as_deref())
        .map_err(|wrong| usage(wrong.to_string()))
}

/// The experiment as its file is now, if its trials are still the same, so that new claims, tables
/// and plots apply; else the experiment as it was run.
pub(super) fn as_it_is_now(file: &str, scale: Option<&str>, then: Experiment) -> Experiment {
    let Ok(text) = std::fs::read_to_string(file) else {
        console::note(&format!(
            "cannot read {file}; using the file as it was when its trials ran"
        ));
        return then;
    };
    let why = match Experiment::parse(file, &text, scale) {
        Ok(now) if unpriced(&now) == unpriced(&then) => return now,
        Ok(_) => "now defines other trials",
        Err(_) => "is no longer a valid experiment (dyno lab plan says why)",
    };
    console::note(&format!(
        "{file} {why}; using the file as it was when its trials ran"
    ));
    then
}

/// The cells without prices, which do not affect trials.
fn unpriced(experiment: &Experiment) -> Vec<Cell> {
    let mut cells = experiment.cells();
    for cell in &mut cells {
        cell.effective.prices.clear();
    }
    cells
}

/// Compares the extra baseline trials with those that they repeat: the host's own noise.
pub(super) fn control(stored: &StoredExperiment, done: &[Done]) -> Option<String> {
    let role = |done: &Done| stored.trials[done.position].role.as_str();
    let pairs = done.iter().filter(|one| role(one) == Role::Aa.word());
    let ratios = pairs.filter_map(|extra| {
        let same = |other: &&Done| {
            role(other) == Role::Repeat.word()
                && other.measured.block == extra.measured.block
                && other.measured.levels == extra.measured.levels
        };
        Some(extra.rate()? / done.iter().find(same)?.rate()?)
    });
    let ratios: Vec<String> = ratios.map(|ratio| format!("{ratio:.3}")).collect();
    (!ratios.is_empty()).then(|| {
        format!(
            "A/A trials: {} times the rate of the baseline next to them",
            ratios.join(", ")
        )
    })
}

/// Settings that could not be compared with the server's, with the number of trials.
pub(super) fn unseen(states: &BTreeMap<String, TrialState>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let steps = states.values().flat_map(|state| &state.done_before);
    for step in steps.filter(|step| matches!(step, Step::NotReadBack { .. })) {
        *counts.entry(step.to_string()).or_default() += 1;
    }
    let lines = counts.iter();
    lines
        .map(|(line, count)| format!("{line} ({count} trials)"))
        .collect()
}

/// The checks that made trials doubtful or refused, with the number of trials.
pub(super) fn why(done: &[Done]) -> Option<String> {
    let mut checks: BTreeMap<&str, usize> = BTreeMap::new();
    let is_against = |outcome: Outcome| matches!(outcome, Outcome::Doubt | Outcome::Refuse);
    for one in done {
        let of_runs = one.runs.iter().flat_map(|run| &run.findings);
        let of_runs = of_runs.filter(|one| is_against(one.outcome) && one.waived.is_none());
        let names: BTreeSet<&str> = match &one.duet {
            None => of_runs.map(|finding| finding.check.as_str()).collect(),
            Some(duet) => {
                let findings = duet.findings.iter();
                let against = findings.filter(|finding| is_against(finding.outcome));
                against.map(|finding| finding.check.as_str()).collect()
            }
        };
        for name in names {
            *checks.entry(name).or_default() += 1;
        }
    }
    let mut lines: Vec<(&str, usize)> = checks.into_iter().collect();
    lines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let lines: Vec<String> = lines
        .iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    (!lines.is_empty()).then(|| {
        format!(
            "doubtful or refused because of: {}; see dyno show RUN --findings",
            lines.join(", ")
        )
    })
}

/// The number of trials with costs that include other work, and their runs.
pub(super) fn shared(done: &[Done]) -> Option<String> {
    let cause = |one: &Done| {
        let mut figures = one.measured.steps.values().flat_map(BTreeMap::values);
        figures.find_map(|figure| figure.includes)
    };
    let found: Vec<(&Done, Cause)> = (done.iter())
        .filter_map(|one| Some((one, cause(one)?)))
        .collect();
    let (_, first) = found.first()?;
    let runs = found.iter().flat_map(|(one, _)| &one.measured.runs);
    let runs: Vec<String> = runs.map(i64::to_string).collect();
    let plural = if runs.len() == 1 { "run" } else { "runs" };
    Some(format!(
        "server costs in {} of {} trials include {}: {plural} {}",
        found.len(),
        done.len(),
        others(*first),
        runs.join(", ")
    ))
}

/// The durability classes of each factor's levels, if these differ: their figures then do not
/// compare equal work.
pub(super) fn durability(experiment: &Experiment, done: &[Done]) -> Vec<String> {
    let done: Vec<&Done> = done.iter().collect();
    let crossed = experiment.crossed();
    let names = crossed.iter().map(|factor| factor.name.get_ref());
    let lines = names.filter_map(|name| {
        let mut levels: Vec<(String, String)> = Vec::new();
        for (level, trials) in by_cell(experiment, &done, &[name]) {
            let runs = trials.iter().flat_map(|trial| &trial.runs);
            let classes = runs.filter_map(|run| DurabilityClass::of(&run.findings));
            let classes: BTreeSet<DurabilityClass> = classes.collect();
            let classes: Vec<&str> = classes.iter().map(|class| class.name()).collect();
            if !classes.is_empty() {
                levels.push((level.concat(), classes.join(" | ")));
            }
        }
        let (_, first) = levels.first()?;
        if levels.iter().all(|(_, class)| class == first) {
            return None;
        }
        let (levels, classes): (Vec<String>, Vec<String>) = levels.into_iter().unzip();
        let (levels, classes) = (levels.join(" → "), classes.join(" → "));
        Some(format!("durability: {classes} ({name} {levels})"))
    });
    lines.collect()
}

/// What the runs of duets do not show.
pub(super) fn in_turns(done: &[Done]) -> Option<String> {
    let takes_turns = |one: &Done| {
        let duet = one.duet.as_ref();
        duet.is_some_and(|duet| duet.mode == DuetMode::Alternating)
    };
    done.iter().any(takes_turns).then(|| {
        "The trials are sides of duets: each run waited while the other side worked, so its rate \
         is about half of that in the tables."
            .to_owned()
    })
}

/// The best cell, and the result of its repetition.
pub(super) fn best_again(
    experiment: &Experiment,
    done: &[Done],
    again: Option<&Done>,
) -> Option<String> {
    let best = figures::best(experiment, done)?;
    let again = again?;
    let levels = best
        .levels
        .iter()
        .map(|(name, level)| format!("{name}={level}"));
    let levels: Vec<String> = levels.collect();
    let is_rate = best.figure == "rate";
    let before = if is_rate { "" } else { "a p99 of " };
    let shown = |value: f64| match is_rate {
        true => format!(
            "{}/s",
            human_number(value, if value < 100.0 { 2 } else { 0 })
        ),
        false => latency(value),
    };
    Some(format!(
        "Best: {} at {before}{}; measured again {}",
        levels.join(" "),
        shown(best.value),
        again
            .value(best.figure)
            .map_or_else(|| "–".to_owned(), shown)
    ))
}

/// The number of searches whose final load broke the promise in the next run.
pub(super) fn broken(experiment: &Experiment, done: &[Done]) -> Option<String> {
    let promise = experiment.search.as_ref()?.get_ref();
    let broken = done
        .iter()
        .filter(|one| one.kept(promise) == Some(false))
        .count();
    (broken > 0).then(|| {
        format!(
            "In {broken} of {} trials the run at the load found did not keep the promise: runs of \
             that length are too short, or the server is unsteady; try a longer [load] time",
            done.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Durability;
    use dyno_lab::{Figure, Figures, Measured};
    use dyno_samples::values;

    use super::*;

    #[test]
    fn factors_whose_levels_differ_in_durability_are_named() {
        use DurabilityClass::{Durable, LastSecond, Process};
        let text = "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
            [[factor]]\nname = 'flush'\napplies = 'start'\nsetting = 'f'\nlevels = [1, 2, 0]\n\
            [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 8]\n";
        let experiment = Experiment::parse("x.toml", text, None).unwrap();
        let done = |flush: &str, sessions: &str, class: Option<DurabilityClass>| {
            let mut run = dyno_samples::good();
            let mut finding = values::finding("durability", 38, Outcome::Pass, "");
            finding.durability = class.map(|class| Durability {
                class,
                because: Vec::new(),
            });
            run.findings = vec![finding];
            let levels = [("flush", flush), ("sessions", sessions)];
            let levels = levels.map(|(name, level)| (name.to_owned(), level.to_owned()));
            Done {
                position: 0,
                measured: Measured {
                    levels: BTreeMap::from(levels),
                    ..Measured::default()
                },
                runs: vec![run],
                captured: None,
                duet: None,
            }
        };
        let both = |flush: &str, class: Option<DurabilityClass>| {
            ["1", "8"].map(|sessions| done(flush, sessions, class))
        };
        let mut all: Vec<Done> = both("0", Some(Process)).into();
        all.extend(both("1", Some(Durable)));
        assert_eq!(
            durability(&experiment, &all),
            ["durability: each commit durable → lost on process crash (flush 1 → 0)"]
        );
        all.extend(both("2", Some(LastSecond)));
        let classes = "each commit durable → last second lost on OS crash → lost on process crash";
        assert_eq!(
            durability(&experiment, &all),
            [format!("durability: {classes} (flush 1 → 2 → 0)")]
        );
        // Levels with the same or an unknown class do not differ.
        let mut same: Vec<Done> = both("1", Some(Durable)).into();
        same.extend(both("0", None));
        assert!(durability(&experiment, &same).is_empty());
    }

    #[test]
    fn trials_with_the_work_of_other_clients_are_named() {
        let done = |run: i64, includes: Option<Cause>| Done {
            position: 0,
            measured: Measured {
                runs: vec![run],
                steps: BTreeMap::from([(
                    String::new(),
                    Figures::from([(
                        "server_cpu".to_owned(),
                        Figure {
                            value: 1.0,
                            error: None,
                            includes,
                            duet: None,
                        },
                    )]),
                )]),
                ..Measured::default()
            },
            runs: Vec::new(),
            captured: None,
            duet: None,
        };
        let clients = Some(Cause::OtherClients);
        let all = [done(3, None), done(4, clients), done(5, clients)];
        assert_eq!(
            shared(&all).unwrap(),
            "server costs in 2 of 3 trials include other clients: runs 4, 5"
        );
        assert_eq!(shared(&all[..1]), None);
    }
}
