//! Names in tables and claims that nothing has: told before anything runs.

use dyno_core::factors::EVERYBODYS;
use dyno_lab::file::{Experiment, Table, TableKind};

/// Figures that claims may be about, beside percentiles and those of the workload.
const FIGURES: [&str; 18] = [
    "size_mib",
    "rate",
    "mean_rate",
    "median_rate",
    "queries",
    "errors",
    "mean",
    "max",
    "stalled_s",
    "stalls",
    "longest_stall_s",
    "fairness",
    "written_per_event",
    "read_per_event",
    "cpu_per_event",
    "redo_per_event",
    "server_cpu",
    "client_cpu",
];

/// All that is wrong with the names.
pub fn slips(experiment: &Experiment) -> Vec<String> {
    let mut wrong = Vec::new();
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

/// A table of pairs of a factor that has others than two levels.
fn no_pair(experiment: &Experiment, table: &Table) -> Option<String> {
    let of_design = experiment.design.pair.as_ref();
    let name = table
        .pair
        .as_ref()
        .or(of_design.map(|pair| pair.get_ref()))?;
    let levels = experiment.factor(name)?.levels.get_ref().len();
    (table.kind == TableKind::Paired && levels > 2).then(|| {
        format!("a table of pairs is of two levels, and '{name}' has {levels}: `cells` shows them")
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
        "'{name}' is no factor of the experiment; it has {names}"
    ))
}

/// A figure that is spelt nearly like one that there is. Others may be the workload's own.
fn no_figure(name: &str) -> Option<String> {
    let percentile = name
        .strip_prefix('p')
        .is_some_and(|rest| rest.parse::<f64>().is_ok());
    if FIGURES.contains(&name) || percentile {
        return None;
    }
    let near = FIGURES
        .iter()
        .map(|known| (strsim::osa_distance(known, name), *known))
        .min();
    let (distance, near) = near?;
    (distance <= 2).then(|| format!("no trial has a figure '{name}'; did you mean '{near}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nothing_has_are_told() {
        let text = "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
            [[factor]]\nname = 'disk'\napplies = 'client'\nlevels = [1, 2]\n\
            [[table]]\nkind = 'cells'\nrows = ['dsk']\nfigure = 'p99'\n\
            [[table]]\nkind = 'cells'\nrows = ['disk']\nfigure = 'median_rat'\n\
            [[claim]]\ntext = 'x'\n\
            check = { ratio = 'rats', of = { disk = 2 }, to = { disk = 1 }, above = 1.0 }\n\
            [[claim]]\ntext = 'x'\ncheck = { figure = 'min_key_first', above = 1.0 }\n";
        let experiment = Experiment::parse("x.toml", text, None).unwrap();
        let told = slips(&experiment);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told[0].contains("'dsk' is no factor") && told[0].contains("disk"),
            "{told:?}"
        );
        assert!(told[1].contains("'median_rate'"), "{told:?}");
        assert!(told[2].contains("did you mean 'rate'?"), "{told:?}");
    }
}
