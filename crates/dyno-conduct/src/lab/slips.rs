//! Finds unknown names in tables and claims before anything runs.

use std::collections::BTreeSet;
use std::path::Path;

use dyno_core::factors::EVERYBODYS;
use dyno_core::figures::{NAMED, NamedFigure};
use dyno_core::suggest::nearest;
use dyno_host::Edition;
use dyno_lab::file::{Experiment, Table, TableKind};
use dyno_run::Workload;

use super::{figures, line};

/// Figures of every trial, except percentiles and costs.
fn usual() -> impl Iterator<Item = &'static str> {
    let named = NAMED.iter().map(|figure| figure.name);
    named.chain(["rate_per_client"])
}

/// All figure names of the experiment's trials; `None` if the workload creates names that only its
/// runs show.
fn known(experiment: &Experiment, base: &Path) -> Option<BTreeSet<String>> {
    let mut known: BTreeSet<String> = usual().map(str::to_owned).collect();
    known.extend(figures::COSTS.iter().map(|(_, name)| (*name).to_owned()));
    known.extend(dyno_verdict::cost_names().map(figures::name_of));
    let workloads: BTreeSet<String> = experiment
        .cells()
        .into_iter()
        .filter_map(|cell| cell.effective.load.workload)
        .collect();
    for workload in workloads {
        known.extend(own_figures(&line::workload(&workload, base))?);
    }
    Some(known)
}

/// A workload's own figures, from the source of its script and modules; `None` if a name is not a
/// literal, or the source cannot be read.
fn own_figures(workload: &str) -> Option<Vec<String>> {
    let work = Workload::find(workload, Edition::Dyno).ok()?;
    if work.test().is_some() {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for text in dyno_run::sources(&work)? {
        for (at, call) in text.match_indices(FIGURE_CALL) {
            let call = text[at + call.len()..].trim_start();
            // An alias of the function could be called with any argument.
            let argument = call.strip_prefix('(')?.trim_start();
            let quote = argument
                .chars()
                .next()
                .filter(|c| ['"', '\''].contains(c))?;
            let (name, _) = argument[1..].split_once(quote)?;
            found.push(figures::name_of(name));
        }
    }
    Some(found)
}

/// The call with which a script creates a figure.
const FIGURE_CALL: &str = "dyno.figure";

/// All mistakes in the names.
pub(super) fn slips(experiment: &Experiment, base: &Path) -> Vec<String> {
    let mut wrong = placeholders(experiment);
    let known = known(experiment, base);
    let no_figure = |name: &str| no_figure(name, known.as_ref());
    for table in &experiment.tables {
        let columns = table.columns.iter().flat_map(|columns| columns.all());
        let names = table
            .rows
            .iter()
            .chain(columns)
            .chain(&table.pair)
            .chain(&table.over);
        wrong.extend(names.filter_map(|name| no_factor(experiment, name)));
        wrong.extend(table.figure.as_deref().and_then(no_figure));
        wrong.extend(no_pair(experiment, table));
    }
    for plot in &experiment.plots {
        let names = [&plot.panel, &plot.line, &plot.x, &plot.colour];
        let names = names.into_iter().flatten().filter(|name| *name != "step");
        wrong.extend(names.filter_map(|name| no_factor(experiment, name)));
        let figures = plot.panels.iter().chain(&plot.figure);
        let own = |name: &&String| *name != "ratio" && *name != "rate_per_client";
        wrong.extend(figures.filter(own).filter_map(|name| no_figure(name)));
    }
    for claim in &experiment.claims {
        let check = &claim.check;
        let figures = [&check.ratio, &check.figure, &check.spread];
        wrong.extend(
            figures
                .into_iter()
                .flatten()
                .filter_map(|name| no_figure(name)),
        );
        let factors = [&check.over, &check.first].into_iter().flatten();
        wrong.extend(factors.filter_map(|name| no_factor(experiment, name)));
    }
    wrong
}

/// A table of pairs whose factor does not have two levels.
fn no_pair(experiment: &Experiment, table: &Table) -> Option<String> {
    let name = table.pair.as_deref().or(experiment.pair())?;
    let levels = experiment.factor(name)?.levels.get_ref().len();
    (table.kind == TableKind::Paired && levels > 2).then(|| {
        format!("a table of pairs needs two levels, and '{name}' has {levels}; use `cells`")
    })
}

fn no_factor(experiment: &Experiment, name: &str) -> Option<String> {
    if EVERYBODYS.contains(&name) || experiment.factor(name).is_some() {
        return None;
    }
    let factors = experiment.factors.iter();
    let names: Vec<&str> = factors
        .map(|factor| factor.name.get_ref().as_str())
        .collect();
    let names = names.join(", ");
    Some(format!(
        "'{name}' is not a factor of the experiment; it has {names}"
    ))
}

/// A figure that no trial has. If the workload's own figures are unknown, only a near misspelling
/// of a known one.
fn no_figure(name: &str, known: Option<&BTreeSet<String>>) -> Option<String> {
    let percentile = NamedFigure::find(name).is_some_and(|found| found.percent.is_some());
    let all: Vec<&str> = match known {
        Some(known) => known.iter().map(String::as_str).collect(),
        None => usual().chain(["server_cpu", "client_cpu"]).collect(),
    };
    if percentile || all.contains(&name) {
        return None;
    }
    match nearest(name, all) {
        Some(near) => Some(format!(
            "no trial has a figure '{name}'; did you mean '{near}'?"
        )),
        None => known.map(|_| format!("no trial has a figure '{name}'")),
    }
}

/// Unknown placeholders in commands and statements.
fn placeholders(experiment: &Experiment) -> Vec<String> {
    let cells = experiment.cells();
    let mut wrong = Vec::new();
    let mut look = |text: &str, known: &[&str], is_shell: bool| {
        for word in braced(text) {
            let near = nearest(word, known.iter().copied());
            // Shell braces, as for awk, are not placeholders.
            let is_meant = !is_shell || near.is_some();
            if known.contains(&word) || !is_meant {
                continue;
            }
            let slip = format!(
                "nothing replaces '{{{word}}}'; {}",
                match known.is_empty() {
                    true => "nothing is replaced here".to_owned(),
                    false => format!("there are {}", bracket(known)),
                }
            );
            if !wrong.contains(&slip) {
                wrong.push(slip);
            }
        }
    };
    for cell in &cells {
        let of = &cell.effective;
        for command in &of.commands {
            look(command, &OF_COMMANDS, true);
        }
        for (key, text) in &of.output {
            match key.as_str() {
                "count" => look(text, &OF_COUNTS, true),
                _ => look(text, &OF_COMMANDS, false),
            }
        }
        for sql in &of.sql {
            look(sql, &[], false);
        }
        let values = of.server.set.values().chain(of.online.values());
        let values = values
            .chain(of.data.options.values())
            .chain(of.load.options.values());
        for value in values {
            look(&value.to_string(), &[], false);
        }
    }
    wrong
}

/// Placeholders in commands, and in commands that count the statements of a file.
const OF_COMMANDS: [&str; 3] = ["out", "port", "interface"];
const OF_COUNTS: [&str; 4] = ["file", "out", "port", "interface"];

fn bracket(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    names.join(", ")
}

/// The words in braces: `out` for `{out}`, nothing for `${HOME}` and `{ print }`.
fn braced(text: &str) -> Vec<&str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.';
    let parts = text.match_indices('{').filter_map(|(at, _)| {
        let (word, _) = text[at + 1..].split_once('}')?;
        let is_word = word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(plain);
        (is_word && !text[..at].ends_with('$')).then_some(word)
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_unknown_names() {
        let text = "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
            [[factor]]\nname = 'disk'\napplies = 'client'\nlevels = [1, 2]\n\
            [[table]]\nkind = 'cells'\nrows = ['dsk']\nfigure = 'p99'\n\
            [[table]]\nkind = 'cells'\nrows = ['disk']\nfigure = 'median_rat'\n\
            [[claim]]\ntext = 'x'\n\
            check = { ratio = 'rats', of = { disk = 2 }, to = { disk = 1 }, above = 1.0 }\n\
            [[claim]]\ntext = 'x'\ncheck = { figure = 'nonsense', above = 1.0 }\n\
            [[claim]]\ntext = 'x'\ncheck = { figure = 'new_orders_committed', above = 1.0 }\n\
            [[claim]]\ntext = 'x'\ncheck = { figure = 'written_to_disks', above = 1.0 }\n";
        let experiment = Experiment::parse("x.toml", text, None).unwrap();
        let slip = slips(&experiment, Path::new("."));
        assert_eq!(slip.len(), 4, "{slip:?}");
        assert!(
            slip[3].contains("no trial has a figure 'nonsense'"),
            "{slip:?}"
        );
        assert!(
            slip[0].contains("'dsk' is not a factor") && slip[0].contains("disk"),
            "{slip:?}"
        );
        assert!(slip[1].contains("'median_rate'"), "{slip:?}");
        assert!(slip[2].contains("did you mean 'rate'?"), "{slip:?}");
    }

    #[test]
    fn placeholders_that_nothing_replaces_are_reported() {
        let text = "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
            [[factor]]\nname = 'a'\napplies = 'online'\nlevels = [\
            { name = 'x', command = \"awk '{print}' {ot}/f ${out}\" }, \
            { name = 'y', sql = ['SET GLOBAL a = {size}'] }, \
            { name = 'z', command = 'tcpdump -i {interface} port {port} > {out}/d' }]\n";
        let experiment = Experiment::parse("x.toml", text, None).unwrap();
        let slip = placeholders(&experiment);
        assert_eq!(slip.len(), 2, "{slip:?}");
        assert!(
            slip[0].contains("'{ot}'; there are {out}, {port}, {interface}"),
            "{slip:?}"
        );
        assert!(slip[1].contains("'{size}'"), "{slip:?}");
    }
}
