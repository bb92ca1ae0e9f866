//! The script's facts about its data.

use dyno_core::record::Fact;
use dyno_core::reported::own_name;
use dyno_core::summary::RunSummary;

use super::look::{Ink, cut};
use super::page::Page;

/// The most columns of a value; the record has all of it.
const VALUE_MAX: usize = 48;

/// Facts with the same first word share a line after it.
pub(super) fn facts(run: &RunSummary, page: &mut Page) {
    let named = |fact: &'_ Fact| -> Option<(String, String)> {
        let name = own_name(fact)?;
        let (group, rest) = name.split_once('.').unwrap_or(("workload", name));
        let rest = rest.replace('_', " ");
        Some((
            group.to_owned(),
            format!("{rest} {}", cut(&fact.value, VALUE_MAX)),
        ))
    };
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (group, text) in run.facts.iter().filter_map(named) {
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((group, vec![text])),
        }
    }
    for (group, texts) in groups {
        page.row(&group, Ink::Plain, &texts.join("; "));
    }
}
