//! Times in which the rate was far below its level and recovered.

use dyno_core::finding::Outcome;
use dyno_stats::dips::Spells;

use super::{DIPPED, without_stalls};
use crate::text;
use crate::time::causes::{self, Explained};
use crate::view::View;

/// The low spells that cost enough throughput to matter, without stalls and without the beginning
/// that `warm-up` reports.
pub(super) fn of(view: &View, rates: &[f64]) -> Option<Spells> {
    if view.has_long_events() {
        return None;
    }
    let found = dyno_stats::dips::spells(&without_stalls(view, rates))?;
    let matters = found.lost * 100.0 >= DIPPED.value;
    (matters && super::warm_up(view).outcome != Outcome::Doubt).then_some(found)
}

pub(super) fn describe(view: &View, spells: &Spells) -> String {
    format!(
        "the rate falls by {} % {} time{}, for {} {}, which costs {} % of the throughput",
        text::plain(spells.depth * 100.0),
        spells.count,
        text::plural(spells.count as u64),
        text::seconds(spells.values as f64 * view.usual_s()),
        if spells.count == 1 {
            "in a row"
        } else {
            "together"
        },
        text::plain(spells.lost * 100.0)
    )
}

pub(super) fn causes(view: &View, spells: &Spells) -> Explained {
    let spans = causes::below(view, spells.bound);
    causes::sentence(view, "Meanwhile", &spans, &spans)
}
