//! Names of sides, from their differences.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::factors::order;
use dyno_core::record::{RunRecord, Source};
use dyno_core::text::shortened;

use crate::terminal::{label, plain_name, product, rank};

/// Differences of a higher rank – of the host, of unimportant settings – are not used in names.
const RANK_MAX: usize = 3;
/// The most parts of a name in addition to the factors.
const PARTS_MAX: usize = 3;
/// Longer values are truncated.
const VALUE_MAX: usize = 40;
/// Consequences of other differences.
const FOLLOWING: [&str; 4] = ["workers", "script", "tool", "target"];

/// A name for each side: the levels of the factors in which they differ; if that is not unique,
/// other differences, the most important first; finally the numbers of their runs.
pub(super) fn names(sides: &[Vec<&RunRecord>]) -> Vec<String> {
    let mut parts: Vec<Vec<String>> = vec![Vec::new(); sides.len()];
    for (_, values) in varied(sides) {
        add(&mut parts, values);
    }
    let mut added = 0;
    for values in differences(sides) {
        if added == PARTS_MAX || distinct(&parts) == sides.len() {
            break;
        }
        let mut more = parts.clone();
        add(&mut more, values);
        if distinct(&more) > distinct(&parts) {
            (parts, added) = (more, added + 1);
        }
    }
    let labels: Vec<String> = parts.iter().map(|parts| parts.join(", ")).collect();
    let name = |side: usize| {
        let own = &labels[side];
        let alone = labels.iter().filter(|other| *other == own).count() == 1;
        match (own.is_empty(), alone) {
            (false, true) => own.clone(),
            (true, _) => numbers(&sides[side]),
            (false, false) => format!("{own}, {}", numbers(&sides[side])),
        }
    };
    (0..sides.len()).map(name).collect()
}

/// `run 3`, `runs 1, 2`.
pub(super) fn numbers(runs: &[&RunRecord]) -> String {
    let ids: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    let plural = if runs.len() == 1 { "run" } else { "runs" };
    format!("{plural} {}", ids.join(", "))
}

/// The factors in which sides differ, with each side's part of a name.
fn varied(sides: &[Vec<&RunRecord>]) -> Vec<(String, Vec<String>)> {
    let mut names = BTreeSet::new();
    for run in sides.iter().flatten() {
        names.extend(run.head.factors.keys());
    }
    let levels = |side: &Vec<&RunRecord>, name: &String| {
        let own = side.iter().filter_map(|run| run.head.factors.get(name));
        let mut own: Vec<&String> = own.collect();
        own.sort_by(|one, other| order(one, other));
        own.dedup();
        own.into_iter().cloned().collect::<Vec<_>>().join(" | ")
    };
    let of = |name: &String| {
        let values: Vec<String> = sides.iter().map(|side| levels(side, name)).collect();
        let differ = values.iter().any(|value| *value != values[0]);
        let label = |value: String| match value.as_str() {
            "" => format!("no {name}"),
            _ => format!("{name} {}", shortened(&value, VALUE_MAX)),
        };
        differ.then(|| (name.clone(), values.into_iter().map(label).collect()))
    };
    names.into_iter().filter_map(of).collect()
}

/// The other differences, the most important first: each side's part of a name.
fn differences(sides: &[Vec<&RunRecord>]) -> Vec<Vec<String>> {
    let described: Vec<BTreeMap<String, BTreeSet<String>>> = sides
        .iter()
        .map(|runs| dyno_verdict::described(runs))
        .collect();
    let mut names: Vec<&String> = described.iter().flat_map(BTreeMap::keys).collect();
    names.sort_by(|one, other| {
        rank_of(one)
            .cmp(&rank_of(other))
            .then_with(|| one.cmp(other))
    });
    names.dedup();
    let of = |what: &&String| {
        let value = |side: &BTreeMap<String, BTreeSet<String>>| {
            let values = side.get(*what)?.iter().cloned().collect::<Vec<_>>();
            Some(values.join(" | "))
        };
        let values: Vec<Option<String>> = described.iter().map(value).collect();
        // A log may not show an option.
        let is_known = |(runs, value): (&Vec<&RunRecord>, &Option<String>)| {
            let is_log = |run: &&RunRecord| run.head.source != Source::Dyno;
            value.is_some() || what.starts_with("option ") && !runs.iter().any(is_log)
        };
        let known = sides.iter().zip(&values).all(is_known);
        let known = known || *what == "rate";
        let differ = values.iter().any(|value| *value != values[0]);
        (known && differ).then(|| {
            values
                .iter()
                .map(|value| part(what, value.as_deref()))
                .collect()
        })
    };
    let named = |what: &&String| {
        // Observations of the host and the data have dots in their names.
        let asked = !what.contains('.') || what.contains(' ');
        asked && rank_of(what).0 <= RANK_MAX && !FOLLOWING.contains(&what.as_str())
    };
    names
        .iter()
        .copied()
        .filter(named)
        .filter_map(|what| of(&what))
        .collect()
}

/// The server, then the sessions, before the other differences that make runs incomparable.
fn rank_of(what: &str) -> (usize, usize) {
    match (what, rank(what)) {
        ("server", _) => (0, 0),
        ("sessions", _) => (0, 1),
        (_, (0, place)) => (0, 2 + place),
        (_, rank) => rank,
    }
}

fn part(what: &str, value: Option<&str>) -> String {
    match (what, value) {
        ("server", Some(server)) => product(server),
        ("workload", Some(workload)) => workload.to_owned(),
        ("sessions", Some("1")) => "1 session".to_owned(),
        ("sessions", Some(sessions)) => format!("{sessions} sessions"),
        ("rate", Some(rate)) => format!("{rate}/s offered"),
        ("rate", None) => "closed loop".to_owned(),
        (_, Some(value)) => label(what, &shortened(value, VALUE_MAX)),
        (_, None) => format!("no {}", plain_name(what)),
    }
}

fn add(parts: &mut [Vec<String>], values: Vec<String>) {
    for (parts, value) in parts.iter_mut().zip(values) {
        parts.push(value);
    }
}

fn distinct(parts: &[Vec<String>]) -> usize {
    parts.iter().collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use dyno_core::plan::OptionValue;
    use dyno_samples::full as samples;

    use super::super::super::tests::SHORT;
    use super::*;

    fn run(id: i64, factors: &[(&str, &str)], sessions: u32) -> RunRecord {
        let mut run = samples::run(SHORT);
        run.id = id;
        let pairs = factors.iter();
        run.head.factors = pairs.map(|(n, l)| (n.to_string(), l.to_string())).collect();
        run.head.drive.as_mut().unwrap().sessions = sessions;
        run
    }

    fn named(runs: &[RunRecord]) -> Vec<String> {
        let sides: Vec<Vec<&RunRecord>> = runs.iter().map(|run| vec![run]).collect();
        names(&sides)
    }

    #[test]
    fn factors_name_sides_before_all_else() {
        let runs = [
            run(1, &[("memory", "5G"), ("fs", "xfs")], 4),
            run(2, &[("memory", "12G"), ("fs", "xfs")], 8),
            run(3, &[("fs", "xfs")], 8),
        ];
        assert_eq!(named(&runs), ["memory 5G", "memory 12G", "no memory"]);
    }

    #[test]
    fn runs_with_equal_factors_are_named_by_other_differences() {
        let mut runs = vec![
            run(1, &[("memory", "5G")], 1),
            run(2, &[("memory", "5G")], 64),
            run(3, &[("memory", "12G")], 64),
        ];
        let expected = [
            "memory 5G, 1 session",
            "memory 5G, 64 sessions",
            "memory 12G, 64 sessions",
        ];
        assert_eq!(named(&runs), expected);
        for run in &mut runs {
            run.head.factors.clear();
        }
        let names = named(&runs);
        assert_eq!(
            names,
            ["1 session", "64 sessions, run 2", "64 sessions, run 3"]
        );
        // The server is more informative than the sessions.
        for (run, product) in runs.iter_mut().zip(["MySQL", "MariaDB", "PostgreSQL"]) {
            run.head.target.product = product.to_owned();
            run.summary.as_mut().unwrap().target.product = product.to_owned();
        }
        let names = named(&runs);
        assert!(
            names[0].starts_with("MySQL ") && names[2].starts_with("PostgreSQL "),
            "{names:?}"
        );
    }

    #[test]
    fn an_option_that_a_log_does_not_show_names_no_side() {
        let mut runs = [run(4, &[], 8), run(7, &[], 8)];
        let protocol = OptionValue::Text("simple".to_owned());
        let options = &mut runs[0].head.workload.options;
        options.push(("protocol".to_owned(), protocol));
        assert_eq!(named(&runs), ["protocol simple", "no protocol"]);
        runs[1].head.source = Source::Pgbench;
        assert_eq!(named(&runs), ["run 4", "run 7"]);
    }

    #[test]
    fn repetitions_have_their_numbers() {
        let runs = [run(4, &[], 8), run(7, &[], 8)];
        assert_eq!(named(&runs), ["run 4", "run 7"]);
        let both: Vec<&RunRecord> = runs.iter().collect();
        assert_eq!(names(&[both]), ["runs 4, 7"]);
    }
}
