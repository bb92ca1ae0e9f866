//! The input of the page's script.

use std::collections::BTreeMap;

use serde::Serialize;

use super::chart::{Chart, Compact};
use super::flame::Flame;
use super::run::View;

/// All charts of a page, with their common data.
#[derive(Default, Serialize)]
pub(super) struct Data {
    pub(super) runs: Vec<RunData>,
    /// Milliseconds from the start of the measurement.
    pub(super) times: Vec<Vec<i64>>,
    pub(super) charts: BTreeMap<String, Chart>,
    pub(super) counters: Vec<CounterSet>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) flames: Vec<Flame>,
    /// The texts of the charts in the order of the page, which has them as HTML.
    #[serde(skip)]
    pub(super) texts: Vec<ChartText>,
}

/// The texts around a chart.
pub(super) struct ChartText {
    /// The chart's key in [`Data::charts`].
    pub(super) id: String,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) source: String,
}

/// The data that all charts of a run share.
#[derive(Serialize)]
pub(super) struct RunData {
    pub(super) label: String,
    pub(super) name: String,
    pub(super) from: Compact,
    pub(super) to: Compact,
    pub(super) warmup: Option<(Compact, Compact)>,
    pub(super) parts: Vec<PartMark>,
    pub(super) stalls: Vec<(Compact, Compact)>,
    pub(super) events: Vec<EventData>,
}

impl RunData {
    pub(super) fn of(view: &View<'_>) -> Self {
        let pair = |(from, to)| (Compact(from), Compact(to));
        Self {
            label: view.label.clone(),
            name: view.run.head.name.clone(),
            from: Compact(view.extent_s.0),
            to: Compact(view.extent_s.1),
            warmup: view.warmup_s().map(pair),
            parts: view.part_marks(),
            stalls: (view.stall_spans().iter())
                .map(|span| pair((span.from_s, span.to_s)))
                .collect(),
            events: view
                .events()
                .map(|(kind, event)| EventData {
                    at: Compact(event.at_s),
                    until: event.until_s.map(Compact),
                    kind,
                    text: event.text.clone(),
                })
                .collect(),
        }
    }

    /// A time range without a run, from the start of a measurement.
    pub(super) fn overlay(to_s: f64) -> Self {
        Self {
            label: String::new(),
            name: String::new(),
            from: Compact(0.0),
            to: Compact(to_s.max(1e-3)),
            warmup: None,
            parts: Vec::new(),
            stalls: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// The beginning of a part of a changing load.
#[derive(Serialize)]
pub(super) struct PartMark {
    pub(super) at: Compact,
    pub(super) text: String,
}

#[derive(Serialize)]
pub(super) struct EventData {
    pub(super) at: Compact,
    pub(super) until: Option<Compact>,
    pub(super) kind: &'static str,
    pub(super) text: String,
}

/// The counters of a run that the reader can pick to draw.
#[derive(Serialize)]
pub(super) struct CounterSet {
    pub(super) run: usize,
    pub(super) series: Vec<Counter>,
}

#[derive(Serialize)]
pub(super) struct Counter {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) x: usize,
    pub(super) y: Vec<Compact>,
}
