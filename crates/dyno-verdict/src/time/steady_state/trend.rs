//! The course of a series: its drift, its changes of level, its slow swings.

use dyno_core::catalogue::names;
use dyno_core::record::EventKind;
use dyno_stats::dips::Dips;
use dyno_stats::intervals::Bounds;
use dyno_stats::{Beginning, Shape};

use super::{CHANGE_BINS, DRIFT, EXCLUDED, ORDER, SMALL_DRIFT, SURE, dips_text};
use crate::text;
use crate::view::View;

/// The trend of a series, in percent from its first value to its last.
pub(super) struct Trend {
    /// The drift of the most significant shape, or of the even shape if none is significant.
    pub(super) drift: f64,
    /// 99 % interval of the drift, whatever its shape; an interval without 0 proves a drift.
    pub(super) sure: Bounds,
    /// The drift of the even shape.
    even: f64,
    /// 90 % interval of `even`, to exclude a relevant drift: either side is excluded with 95 %.
    likely: Bounds,
    shape: Shape,
    pub(super) tau: f64,
    /// The size of slow swings.
    pub(super) swing: Option<f64>,
}

impl Trend {
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let found = dyno_stats::trends(values)?;
        let percent = |bounds: Bounds| Bounds {
            low: bounds.low * 100.0,
            high: bounds.high * 100.0,
        };
        let chance = 1.0 - SURE.value / 100.0;
        let surest = Some(found.surest()).filter(|one| one.p <= chance);
        let chosen = surest.unwrap_or(found.even());
        Some(Self {
            drift: chosen.change * 100.0,
            sure: percent(chosen.bounds(SURE.value / 100.0)),
            even: found.even().change * 100.0,
            likely: percent(found.even().alone(0.9)),
            shape: chosen.shape,
            tau: dyno_stats::steady::tau(values).unwrap_or(0.0),
            swing: dyno_stats::steady::swing(values).map(|share| share * 100.0),
        })
    }

    /// The drift and the interval that decided.
    pub(super) fn decided(&self, steady: bool) -> (f64, Bounds) {
        match steady {
            true => (self.even, self.likely),
            false => (self.drift, self.sure),
        }
    }

    /// Describes the trend, with the interval that decided.
    pub(super) fn text(&self, view: &View, steady: bool, dips: Option<&Dips>) -> String {
        let (drift, bounds) = self.decided(steady);
        let shape = match self.shape {
            Shape::AtFirst if !steady => ", most of it at first",
            Shape::AtLast if !steady => ", most of it towards the end",
            _ => "",
        };
        format!(
            "Over the measurement the rate drifts by {} % ({} % interval {} to {} %){shape}{}{}.",
            text::signed(drift),
            if steady { 90.0 } else { SURE.value },
            text::signed(bounds.low),
            text::signed(bounds.high),
            pages(view),
            dips.map_or_else(String::new, |dips| format!("; {}", dips_text(view, dips)))
        )
    }

    /// Whether the drift is at least `sure` percent and significant, or at least `ordered` percent
    /// and nearly all pairs of values are in its order.
    pub(super) fn drifts(&self, sure: f64, ordered: f64) -> bool {
        let surely = self.sure.low > 0.0 || self.sure.high < 0.0;
        let by = self.drift.abs();
        (by >= sure && surely) || (by >= ordered && self.tau.abs() >= ORDER.value)
    }

    pub(super) fn level(&self) -> bool {
        self.likely.low >= -EXCLUDED.value && self.likely.high <= EXCLUDED.value
    }

    /// The length at which the interval is narrow enough to exclude a drift that matters. On a log
    /// scale the interval narrows with the square root of the length. The current length is never
    /// enough.
    pub(super) fn needs_s(&self, view: &View) -> f64 {
        let log = |percent: f64| (percent / 100.0).ln_1p();
        let half = (log(self.likely.high) - log(self.likely.low)) / 2.0;
        let excluded = log(EXCLUDED.value);
        let room = (excluded - log(self.even).abs()).max(excluded / 2.0);
        (view.length_s * (half / room).powi(2).max(1.5)).ceil()
    }
}

/// Whether the rate of these seconds has a relevant drift.
pub(super) fn drifts(rates: &[f64]) -> bool {
    Trend::of(rates).is_some_and(|trend| trend.drifts(SMALL_DRIFT.value, DRIFT.value))
}

/// Whether it still drifts without the first fifth, so that it is not just a beginning.
pub(super) fn drifts_on(rates: &[f64]) -> bool {
    drifts(rates) && drifts(&rates[rates.len() / 5..])
}

#[derive(Clone, Copy)]
pub(super) struct Change {
    /// The first value after it.
    pub(super) index: usize,
    pub(super) by: f64,
    /// The p-value of a single change; `None` for one of several.
    pub(super) p: Option<f64>,
}

impl Change {
    /// A step if the values are closer to one than to a drift, or else the largest of several
    /// changes.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let several = || {
            let changes = super::super::changes(values).into_iter();
            changes
                .filter(|change| change.before_mean > 0.0)
                .map(|change| Self {
                    index: change.index.min(values.len() - 1),
                    by: (change.after_mean / change.before_mean - 1.0) * 100.0,
                    p: None,
                })
                .max_by(|one, other| one.by.abs().total_cmp(&other.by.abs()))
        };
        let long = values.len() as f64 >= CHANGE_BINS.value;
        let step = Self::step(values);
        let large = step.filter(Self::matters);
        large.or_else(|| long.then(several).flatten()).or(step)
    }

    /// The single significant step of the values.
    pub(super) fn step(values: &[f64]) -> Option<Self> {
        let step = dyno_stats::step(values)?;
        let sure = step.p <= 1.0 - SURE.value / 100.0 && step.of_drift < 1.0;
        (sure && step.before > 0.0).then(|| Self {
            index: step.index,
            by: (step.after / step.before - 1.0) * 100.0,
            p: Some(step.p),
        })
    }

    pub(super) fn matters(&self) -> bool {
        self.by.abs() >= DRIFT.value
    }

    /// Whether it is within the first fifth of the values: the part before it is a beginning.
    pub(super) fn is_beginning(&self, values: usize) -> bool {
        self.index * 5 <= values
    }

    pub(super) fn as_beginning(&self, values: &[f64]) -> Beginning {
        let mean = |part: &[f64]| dyno_stats::mean(part).unwrap_or_default();
        let (before, after) = values.split_at(self.index);
        Beginning {
            length: self.index,
            first: mean(before),
            rest: mean(after),
            p: self.p.unwrap_or_default(),
        }
    }

    /// Whether it is within the first third of the values.
    pub(super) fn is_early(&self, values: usize) -> bool {
        self.index * 3 <= values
    }

    pub(super) fn text(&self, view: &View) -> String {
        let bin = &view.bins[self.index];
        let at_s = bin.at_s - bin.length_s;
        let (by, at) = (text::signed(self.by), text::seconds(at_s));
        let what = match self.p {
            Some(p) => format!("the rate steps by {by} % at {at} (p {})", text::chance(p)),
            None => format!("the rate changes by {by} % at {at}"),
        };
        what + &meanwhile(view, at_s)
    }
}

/// Recorded events at about that time.
fn meanwhile(view: &View, at_s: f64) -> String {
    const ABOUT_S: f64 = 2.0;
    let kinds = [EventKind::Disturbance, EventKind::Setting, EventKind::Note];
    let events = kinds.iter().flat_map(|kind| view.events(*kind));
    let near = events.filter(|event| (event.at_s - at_s).abs() <= ABOUT_S);
    let texts: Vec<String> = near
        .map(|event| event.text.trim_end_matches('.').to_owned())
        .collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!(", when {}", text::few(&texts, 3)),
    }
}

/// The server's dirty pages at the beginning and at the end, if they changed enough to explain a
/// trend.
fn pages(view: &View) -> String {
    const CHANGE_MIN: f64 = 0.01;
    let total = view.ends(names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_TOTAL);
    let dirty = view.ends(names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_DIRTY);
    let ends = dirty.zip(total);
    let moved = ends.filter(|((first, last), (_, all))| (last - first).abs() >= CHANGE_MIN * all);
    moved.map_or_else(String::new, |((first, last), _)| {
        format!(
            "; dirty pages went from {} to {}",
            text::rate(first),
            text::rate(last)
        )
    })
}
