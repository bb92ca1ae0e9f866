//! Settings and tables that changed during the runs of two sides.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::record::EventKind;
use dyno_core::tables::{STORAGE_OF, ranges};

use crate::compare::Difference;
use crate::compare::differences::joined;
use crate::data;
use crate::server::is_servers_own;
use crate::view::View;

/// The prefix of these differences.
pub const DURING_RUN: &str = "during the run, ";
/// The most values of a setting in a line, which always ends with the last value.
const VALUES_MAX: usize = 4;

/// The changes during the runs of a side, by what changed.
#[derive(Default)]
struct Side {
    settings: BTreeMap<String, BTreeSet<String>>,
    tables: BTreeMap<String, BTreeSet<String>>,
    /// Whether all its runs read the settings at both ends.
    has_settings: bool,
    /// Whether all its runs compared their tables.
    has_tables: bool,
}

impl Side {
    fn of(views: &[View]) -> Self {
        let mut side = Self {
            has_settings: true,
            has_tables: true,
            ..Self::default()
        };
        for view in views {
            let mut settings = view.run.settings.iter();
            side.has_settings &= settings.any(|setting| setting.end.is_some());
            for (what, values) in settings_of(view) {
                side.settings.entry(what).or_default().insert(values);
            }
            let changed = data::changed_tables(view);
            side.has_tables &= changed.is_some();
            let mut alike: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (name, change) in changed.unwrap_or_default() {
                alike.entry(change).or_default().push(name.to_owned());
            }
            for (change, names) in alike {
                let what = format!("table {}", ranges(&names));
                side.tables
                    .entry(what)
                    .or_default()
                    .insert(change.to_owned());
            }
        }
        side
    }
}

/// One line for each setting or table that changed during the runs of one side, and not equally
/// during those of the other.
pub(super) fn differences(base: &[View], new: &[View]) -> Vec<Difference> {
    let (base, new) = (Side::of(base), Side::of(new));
    let tables = lines(
        (&base.tables, base.has_tables),
        (&new.tables, new.has_tables),
    );
    let settings = lines(
        (&base.settings, base.has_settings),
        (&new.settings, new.has_settings),
    );
    tables.into_iter().chain(settings).collect()
}

/// The changes of one kind, and whether all changes are known.
type Changes<'a> = (&'a BTreeMap<String, BTreeSet<String>>, bool);

fn lines(base: Changes<'_>, new: Changes<'_>) -> Vec<Difference> {
    let value = |side: Changes<'_>, what: &String| match (side.0.get(what), side.1) {
        (Some(values), _) => joined(values),
        (None, true) => "unchanged".to_owned(),
        (None, false) => "not known".to_owned(),
    };
    let whats: BTreeSet<&String> = base.0.keys().chain(new.0.keys()).collect();
    let line = |what: &String| Difference {
        what: format!("{DURING_RUN}{what}"),
        base: value(base, what),
        new: value(new, what),
        intended: false,
        unrecorded: false,
    };
    let all = whats.into_iter().map(line);
    all.filter(|line| line.base != line.new).collect()
}

/// The settings that changed during a run, each with its values: `setting sync_binlog`, `1, then
/// 0`. These are the changes of the check `moved-settings`.
fn settings_of(view: &View) -> Vec<(String, String)> {
    let before = view.moved_before().into_iter();
    let before = before.map(|(name, ends)| (name, ends.to_vec()));
    let mut moved: BTreeMap<&str, Vec<&str>> = before.collect();
    for event in view.events(EventKind::Setting) {
        if let Some(change) = &event.detail.setting {
            let values = moved.entry(&change.name).or_default();
            if values.is_empty() {
                values.push(&change.from);
            }
            values.push(&change.to);
        }
    }
    for setting in &view.run.settings {
        let (Some(start), Some(end)) = (&setting.start, &setting.end) else {
            continue;
        };
        match moved.get_mut(setting.name.as_str()) {
            Some(values) => values.push(end),
            None if start != end && !is_servers_own(&setting.name) => {
                moved.insert(&setting.name, vec![start.as_str(), end.as_str()]);
            }
            None => {}
        }
    }
    let line = |(name, values): (&str, Vec<&str>)| {
        let what = match name.starts_with(STORAGE_OF) {
            true => name.to_owned(),
            false => format!("setting {name}"),
        };
        (what, course(values))
    };
    moved.into_iter().map(line).collect()
}

/// `1, then 0`.
fn course(mut values: Vec<&str>) -> String {
    values.dedup();
    if values.len() > VALUES_MAX {
        drop(values.splice(VALUES_MAX - 2..values.len() - 1, ["…"]));
    }
    let shown = values.into_iter().map(|value| match value.trim() {
        "" => "''",
        value => value,
    });
    shown.collect::<Vec<_>>().join(", then ")
}

#[cfg(test)]
mod tests {
    use super::course;

    #[test]
    fn a_long_list_of_values_keeps_its_first_and_last() {
        assert_eq!(course(vec!["1", "0", "0"]), "1, then 0");
        assert_eq!(course(vec!["1", "", "1"]), "1, then '', then 1");
        let long = course(vec!["1", "2", "3", "4", "5"]);
        assert_eq!(long, "1, then 2, then …, then 5");
    }
}
