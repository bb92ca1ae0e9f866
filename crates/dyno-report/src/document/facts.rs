//! Facts about the host, the server and the tables, observed before the load.

use dyno_core::catalogue::names;
use dyno_core::record::Fact;
use dyno_core::tables::{TableGroup, groups, label_of};

use super::{Table, Value};
use crate::number::bytes;
use crate::terminal::Ink;

/// A row for each fact, except those about tables and the answer of a duet, which is a document.
pub(crate) fn facts(facts: &[Fact]) -> Table {
    let is_row = |fact: &&Fact| label_of(&fact.name).is_none() && fact.name != names::DUET_ANSWER;
    Table::of(facts.iter().filter(is_row))
        .text("fact", 0, |fact| Value::Code(fact.name.clone()))
        .text("value", 0, value)
        .text("source", 0, |fact| (Ink::Faint, fact.source.clone()))
        .source("")
}

fn value(fact: &Fact) -> String {
    let is_size = fact.name.ends_with("memory.total");
    match fact.value.parse::<u64>() {
        Ok(size) if is_size => bytes(size),
        _ => fact.value.clone(),
    }
}

/// A row for each group of tables with the same definition.
pub(crate) fn tables(facts: &[Fact]) -> Table {
    let groups = groups(facts);
    Table::of(&groups)
        .text("tables", 0, |group| {
            let unused = match group.counts() {
                true => "",
                false => ", which no statement named",
            };
            Value::Code(format!("{}{unused}", group.names))
        })
        .text("storage", 0, |group| {
            let kept = group.engine.iter().chain(&group.persistence);
            let kept: Vec<&str> = kept.map(String::as_str).collect();
            (!kept.is_empty()).then(|| Value::Text(kept.join(", ")))
        })
        .figure("indexes", 0, |group| {
            group.indexes.map(|count| Value::Count(count.into()))
        })
        .text("primary key", 0, |group| {
            let known = group.primary_key;
            known.map(|there| Value::Text(if there { "yes" } else { "no" }.to_owned()))
        })
        .text("analysed", 0, analysed)
        .text("definition", 0, |group| {
            let head = format!("SHA-256 {}…", group.sha256.get(..12).unwrap_or_default());
            Value::Folded(head, group.definition.clone())
        })
        .source("the server's own definitions, before the load.")
}

fn analysed(group: &TableGroup) -> Option<Value> {
    let count = group.analysed?;
    Some(Value::Text(format!("{count} of {}", group.tables)))
}
