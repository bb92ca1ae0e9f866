//! The cost of one event.

use dyno_core::finding::Cause;
use dyno_core::record::Cost;

use super::{Block, Table, Value};
use crate::number::amount;
use crate::terminal::Ink;

/// A row for each cost with its source, or why it is unknown. If several costs are left out for the
/// same reason, only the first row names it.
pub(crate) fn costs(costs: &[Cost]) -> Table {
    let first = |cost: &Cost| {
        let mut all = costs.iter();
        let same = all.find(|one| one.left_out && one.source == cost.source);
        same.filter(|one| one.name != cost.name)
    };
    Table::of(costs)
        .text("what", 0, |cost| cost.name.clone())
        .figure("per event", 0, |cost| {
            let known = cost.value.filter(|value| value.is_finite());
            known.map(|value| Value::Text(amount(value, &cost.unit)))
        })
        .text("source", 0, |cost| match (included(cost), first(cost)) {
            (Some(what), _) => (Ink::Warning, format!("{}, with {what}", cost.source)),
            (None, Some(one)) if cost.left_out => {
                (Ink::Faint, format!("left out, like {}", one.name))
            }
            (None, None) if cost.left_out => (Ink::Faint, format!("left out: {}", cost.source)),
            (None, _) => (Ink::Faint, cost.source.clone()),
        })
        .source(
            "totals and observed series. 1 kB is 1,000 bytes, 1 KiB 1,024. A host's counters \
             include everything that ran on it.",
        )
}

/// What the value of a cost includes besides the work of the run.
pub(crate) fn included(cost: &Cost) -> Option<&'static str> {
    cost.includes.map(other_work)
}

/// Other work, by its cause.
pub(crate) fn other_work(cause: Cause) -> &'static str {
    match cause {
        Cause::OtherClients => "the work of other clients",
        _ => "work that is not the run's",
    }
}

/// The other work in few words, for the cell of a table.
pub(crate) fn with(cause: Cause) -> String {
    format!("with {}", others(cause))
}

/// The other work that a figure includes.
pub fn others(cause: Cause) -> &'static str {
    match cause {
        Cause::OtherClients => "other clients",
        _ => "other work",
    }
}

/// The names of these costs that include other work.
pub(crate) fn shared_costs<'a>(costs: impl IntoIterator<Item = &'a Cost>) -> Vec<Block> {
    let mut shared: Vec<(&str, Vec<&str>)> = Vec::new();
    for cost in costs {
        let Some(what) = included(cost) else {
            continue;
        };
        match shared.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) => names.push(cost.name.as_str()),
            None => shared.push((what, vec![cost.name.as_str()])),
        }
    }
    let row = |(what, names): (&str, Vec<&str>)| {
        let text = format!("{}: with {what}", names.join(", "));
        Block::row("  shared", Ink::Warning, text)
    };
    shared.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use dyno_samples::values;

    use super::*;

    #[test]
    fn a_reason_for_leaving_out_costs_is_given_once() {
        let mut all = ["host CPU", "server CPU", "disk reads"]
            .map(|name| values::cost(name, None, "us", "other processes used 59 %"));
        for cost in [0, 2] {
            all[cost].left_out = true;
        }
        let sources = costs(&all).rows.into_iter().map(|row| row[2].value.clone());
        let expected = [
            "left out: other processes used 59 %",
            "other processes used 59 %",
            "left out, like host CPU",
        ];
        let expected = expected.map(|text| Value::Text(text.to_owned()));
        assert_eq!(sources.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn costs_that_include_other_work_are_named() {
        let mut all = ["server CPU", "client CPU", "redo log"]
            .map(|name| values::cost(name, Some(1.0), "us", "a series"));
        assert_eq!(shared_costs(&all).len(), 0);
        for cost in [0, 2] {
            all[cost].includes = Some(Cause::OtherClients);
        }
        let rows = shared_costs(&all);
        let [Block::Row { body, .. }] = rows.as_slice() else {
            panic!("{} rows", rows.len());
        };
        assert_eq!(body, "server CPU, redo log: with the work of other clients");
        let sources = costs(&all).rows.into_iter().map(|row| row[2].value.clone());
        let expected = [
            "a series, with the work of other clients",
            "a series",
            "a series, with the work of other clients",
        ];
        let expected = expected.map(|text| Value::Text(text.to_owned()));
        assert_eq!(sources.collect::<Vec<_>>(), expected);
    }
}
