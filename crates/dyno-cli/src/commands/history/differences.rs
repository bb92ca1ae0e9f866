//! What else changed where a figure did.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::Result;
use dyno_core::record::RunRecord;
use dyno_report::{FigureHistory, history_differences};
use dyno_results::{Results, Scope};
use dyno_verdict::changed_since;

use super::figures::RUNS_A_LEVEL;
use super::groups::Run;

/// Adds to each change how its first run differs from the last ones before it.
///
/// # Errors
/// A run cannot be read.
pub(super) fn add(
    results: &Results,
    runs: &[Run<'_>],
    figures: &mut [FigureHistory],
) -> Result<()> {
    let mut loaded: BTreeMap<i64, RunRecord> = BTreeMap::new();
    for change in figures.iter_mut().flat_map(|figure| &mut figure.changes) {
        let from = change.index.saturating_sub(RUNS_A_LEVEL);
        let Some(near) = runs.get(from..=change.index) else {
            continue;
        };
        for run in near {
            if let Entry::Vacant(place) = loaded.entry(run.line.id) {
                place.insert(results.load(run.line.id, &Scope::summary())?);
            }
        }
        let records = near.iter().filter_map(|run| loaded.get(&run.line.id));
        let records: Vec<&RunRecord> = records.collect();
        if let Some((first, before)) = records.split_last() {
            change.differences = history_differences(changed_since(before, first));
        }
    }
    Ok(())
}
