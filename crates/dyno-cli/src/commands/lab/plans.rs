//! The server's execution plans of statements at each level, and where they changed.

use std::collections::BTreeMap;

use dyno_conduct::lab::figures::Done;
use dyno_core::summary::StatementPlan;
use dyno_report::sheet::Sheet;

type Levels = BTreeMap<String, String>;

/// A statement's execution plan, and the levels of the trials that had it.
struct PlanAtLevels<'a> {
    plan: &'a StatementPlan,
    levels: Vec<&'a Levels>,
}

/// The execution plans by statement, and a sentence with the number of statements that have
/// several; `None` if none were recorded.
pub(super) fn plans(done: &[Done]) -> Option<(Sheet, String)> {
    let mut statements: Vec<(&str, Vec<PlanAtLevels<'_>>)> = Vec::new();
    for one in done {
        let summaries = one.runs.iter().filter_map(|run| run.summary.as_ref());
        for plan in summaries.flat_map(|summary| &summary.plans) {
            let known = statements
                .iter()
                .position(|(shape, _)| *shape == plan.shape);
            let at = known.unwrap_or_else(|| {
                statements.push((&plan.shape, Vec::new()));
                statements.len() - 1
            });
            let seen = &mut statements[at].1;
            let levels = &one.measured.levels;
            match seen
                .iter_mut()
                .find(|other| other.plan.words() == plan.words())
            {
                None => seen.push(PlanAtLevels {
                    plan,
                    levels: vec![levels],
                }),
                Some(other) if other.levels.contains(&levels) => {}
                Some(other) => other.levels.push(levels),
            }
        }
    }
    if statements.is_empty() {
        return None;
    }
    let several = statements.iter().filter(|(_, seen)| seen.len() > 1).count();
    let summary = sentence(several, statements.len());
    let mut cells: Vec<&Levels> = Vec::new();
    for one in done {
        if !cells.contains(&&one.measured.levels) {
            cells.push(&one.measured.levels);
        }
    }
    let mut rows = Vec::new();
    for (shape, seen) in &statements {
        for one in seen {
            rows.push(vec![
                (*shape).to_owned(),
                one.plan.words(),
                one.plan.rows_words(),
                of_levels(&one.levels, &cells),
            ]);
        }
    }
    let columns = ["statement", "plan", "rows", "at"];
    let sheet = Sheet {
        title: "Plans of statements".to_owned(),
        about: "The server's plan of each statement shape after the load (EXPLAIN): access path \
                and index of each table, and the rows expected each time (PostgreSQL: after \
                conditions). dyno show RUN -v prints the server's own output."
            .to_owned(),
        columns: columns.map(|name| (name.to_owned(), name == "rows")).into(),
        rows,
    };
    Some((sheet, summary))
}

/// How many of all statements have several plans.
fn sentence(several: usize, all: usize) -> String {
    match (several, all) {
        (0, 1) => "The server's plan of the statement is the same at all levels".to_owned(),
        (0, all) => {
            format!("The server's plans of all {all} statements are the same at all levels")
        }
        (some, all) => {
            format!("The server's plan differs between levels for {some} of {all} statements")
        }
    }
}

/// The levels at which a plan occurred: only those of the deciding factor, if one factor decides.
fn of_levels(seen: &[&Levels], all: &[&Levels]) -> String {
    if seen.len() == all.len() {
        return "all levels".to_owned();
    }
    let of = |cells: &[&Levels], name: &String| -> Vec<String> {
        let mut levels: Vec<String> = cells.iter().filter_map(|c| c.get(name).cloned()).collect();
        levels.sort_by(|one, other| dyno_core::factors::order(one, other));
        levels.dedup();
        levels
    };
    let others: Vec<&Levels> = all.iter().filter(|c| !seen.contains(c)).copied().collect();
    let names = all.first().into_iter().flat_map(|levels| levels.keys());
    let decides = |name: &&String| {
        let mine = of(seen, name);
        of(&others, name).iter().all(|level| !mine.contains(level))
    };
    if let Some(name) = names.into_iter().find(decides) {
        return format!("{name}={}", of(seen, name).join(", "));
    }
    let cells = seen.iter().map(|levels| {
        let levels = levels.iter().map(|(name, level)| format!("{name}={level}"));
        levels.collect::<Vec<_>>().join(" ")
    });
    cells.collect::<Vec<_>>().join("; ")
}
