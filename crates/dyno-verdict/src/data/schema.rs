//! Check 21: whether somebody changed the tables during the run.

use dyno_core::catalogue::names;
use dyno_core::tables::{TableGroup, groups, names_in};

use crate::check::{Check, CheckResult};
use crate::text;
use crate::view::View;

pub(super) const SCHEMA: Check = Check {
    number: 21,
    name: "schema",
    title: "Columns and indexes that changed during the run",
    rule: "Doubt if a column or index of a table that the run used was added, dropped or changed \
           between the start and the end of the run. Not checked if the run's own statements may \
           do that, or in a database of more than 300 tables.",
    thresholds: &[],
    make: schema,
};

/// The most tables named.
const NAMED_MAX: usize = 3;

fn schema(view: &View) -> CheckResult {
    let Some(compared) = view.run.fact(names::DB_TABLES_COMPARED) else {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::DB_TABLES_COMPARED)));
    };
    let Some(changed) = changed(view) else {
        return CheckResult::not_checked(
            "The run's own statements may create, alter or drop tables and indexes.",
        );
    };
    let named = changed
        .iter()
        .map(|(name, change)| format!("{name} ({change})"));
    let changed: Vec<String> = named.collect();
    let result = match changed.is_empty() {
        true => CheckResult::pass(format!(
            "The tables that the run used had the same columns and indexes at both ends of the \
             run (tables compared: {compared})."
        )),
        false => CheckResult::doubt(
            format!(
                "Tables changed during the run: {}.",
                text::few(&changed, NAMED_MAX)
            ),
            "Find out who changed them, such as a migration or another client, and repeat the run: \
             its figures belong to neither state of the tables.",
        ),
    };
    result.with("tables that changed", changed.len() as f64, "count")
}

/// The tables that the run used and that somebody else changed during the run, each with the
/// changes. `None` if they were not compared, or if the run's own statements may change them.
pub(crate) fn changed<'a>(view: &View<'a>) -> Option<Vec<(&'a str, &'a str)>> {
    let run = view.run;
    run.fact(names::DB_TABLES_COMPARED)?;
    if run.fact(names::CLIENT_STATEMENTS_DEFINE) == Some("yes") {
        return None;
    }
    let groups = groups(&run.facts);
    let is_used = |name: &str| {
        let has = |group: &&TableGroup| names_in(&group.names).iter().any(|one| one == name);
        groups.iter().find(has).is_none_or(TableGroup::counts)
    };
    let changed = run.facts.iter().filter_map(|fact| {
        let name = names::DB_TABLES_CHANGED_EACH.part(&fact.name)?;
        is_used(name).then_some((name, fact.value.as_str()))
    });
    Some(changed.collect())
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Cause;
    use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
    use dyno_core::record::RunRecord;
    use dyno_samples::{assert_has, fact};

    use crate::tests::expect;

    fn dropped(run: &mut RunRecord) {
        fact(run, "db.tables.compared", "2");
        let change = "index k_1 was dropped";
        fact(run, "db.tables.changed[sbtest1]", change);
    }

    #[test]
    fn an_index_dropped_during_the_run_is_a_doubt() {
        expect("schema", NotChecked, |_| {});
        expect("schema", Pass, |run| fact(run, "db.tables.compared", "2"));
        let found = expect("schema", Doubt, dropped);
        let expected = "Tables changed during the run: sbtest1 (index k_1 was dropped).";
        assert_eq!(found.evidence, expected);
    }

    #[test]
    fn changes_of_other_tables_and_by_the_run_itself_are_not() {
        let found = expect("schema", Pass, |run| {
            dropped(run);
            fact(run, "db.table[sbtest1..sbtest2].names", "sbtest1..sbtest2");
            fact(run, "db.table[sbtest1..sbtest2].used", "no");
        });
        assert_has(&found.evidence, "tables compared: 2");
        expect("schema", NotChecked, |run| {
            dropped(run);
            fact(run, "client.statements.define", "yes");
        });
    }

    #[test]
    fn a_change_explains_a_rate_that_moved() {
        use dyno_samples::{noisy, series};
        let mut rates = noisy(40, 1000.0, 0.03, 5);
        rates[22..].iter_mut().for_each(|rate| *rate *= 0.6);
        let mut run = dyno_samples::closed(&rates, dyno_samples::Product::Mysql);
        series(&mut run, "host.cpu.idle", &[30.0; 40]);
        let moved = crate::tests::check(&run, "steady-state", Doubt);
        assert!(moved.names(Cause::Unexplained), "{moved:?}");
        dropped(&mut run);
        let moved = crate::tests::check(&run, "steady-state", NotChecked);
        assert_has(&moved.evidence, "A table was changed: see `schema`.");
    }
}
