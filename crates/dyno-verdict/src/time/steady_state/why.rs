//! Differences while the rate was lower.

use dyno_analysis::stalls::Span;
use dyno_stats::dips::Dips;

use super::trend::{Change, Trend};
use super::{DRIFT, SMALL_DRIFT};
use crate::time::causes::{self, Explained};
use crate::view::View;

pub(super) fn causes_of(
    view: &View,
    rate: &Trend,
    change: Option<Change>,
    dips: Option<&Dips>,
) -> Explained {
    if let Some(change) = change.filter(Change::matters) {
        let at_s = view.bins[change.index].from_s();
        return slower_part(view, at_s, change.by > 0.0);
    }
    if rate.drifts(SMALL_DRIFT.value, DRIFT.value) {
        let (first, second) = (view.length_s / 3.0, view.length_s * 2.0 / 3.0);
        let part = |from_s, to_s| [Span { from_s, to_s }];
        let (slower, unusual) = match rate.drift < 0.0 {
            true => (part(second, view.length_s), part(first, view.length_s)),
            false => (part(0.0, first - 1.0), part(0.0, second)),
        };
        return causes::sentence(view, "In the slower third", &slower, &unusual);
    }
    let Some(dips) = dips else {
        return Explained::default();
    };
    let rates = view.rates();
    let level = dyno_stats::median(&rates).unwrap_or_default();
    let spans = causes::below(view, level * (1.0 - dips.depth / 2.0));
    causes::sentence(view, "In the dips", &spans, &spans)
}

/// Differences in the slower of two parts of the measurement.
pub(super) fn slower_part(view: &View, at_s: f64, first_is_slower: bool) -> Explained {
    let (words, from_s, to_s) = match first_is_slower {
        // Leave a second out, because a sample may be up to a second late.
        true => ("Before", 0.0, at_s - 1.0),
        false => ("From then on", at_s, view.length_s),
    };
    let slower = [Span { from_s, to_s }];
    causes::sentence(view, words, &slower, &slower)
}
