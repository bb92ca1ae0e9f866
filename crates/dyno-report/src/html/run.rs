//! A run with values that several sections derive from it.

use dyno_analysis::bins::{self, Bin};
use dyno_analysis::stalls::{self, RunStalls, TooLittle};
use dyno_core::finding::Stall;
use dyno_core::headline::headline_percent;
use dyno_core::plan::LoadSchedule;
use dyno_core::record::{Cost, Event, EventKind, RunRecord};
use dyno_core::summary::{AgentSummary, IntervalSummary, LatencySummary, Percentile, RunSummary};
use maud::{Markup, html};

use super::chart::Compact;
use super::data::PartMark;
use super::markup::Text;
use crate::terminal::EventWord;

/// A run in a report.
pub(super) struct View<'a> {
    /// Its index, from 0.
    pub(super) index: usize,
    /// The number of runs on the page.
    pub(super) of: usize,
    /// Its distinguishing name if there are several; else empty.
    pub(super) label: String,
    pub(super) run: &'a RunRecord,
    pub(super) costs: &'a [Cost],
    /// The first and the last second with data.
    pub(super) extent_s: (f64, f64),
    /// Events per second of each interval: its middle and the rate.
    pub(super) rates: Vec<(f64, f64)>,
    /// Events per second of each whole second of the measurement.
    pub(super) seconds: Vec<f64>,
    /// Their usual length: intervals in logs are seldom a second.
    pub(super) bin_s: f64,
    /// The median second's rate; `None` without whole seconds.
    pub(super) median_per_s: Option<f64>,
    /// Seconds in which almost nothing ended, or why they are unknown.
    pub(super) stalls: Result<RunStalls, TooLittle>,
}

impl<'a> View<'a> {
    /// The agents, if there were several.
    pub(super) fn agents(&self) -> &'a [AgentSummary] {
        self.run.summary.as_ref().map_or(&[], |one| &one.agents)
    }

    pub(super) fn new(
        (index, of): (usize, usize),
        label: String,
        run: &'a RunRecord,
        costs: &'a [Cost],
    ) -> Self {
        let rates: Vec<(f64, f64)> = run.intervals.iter().map(rate_of).collect();
        let bins = bins::of(run);
        let seconds: Vec<f64> = bins.iter().map(Bin::events_per_s).collect();
        let lengths: Vec<f64> = bins.iter().map(|bin| bin.length_s).collect();
        Self {
            index,
            of,
            label,
            run,
            costs,
            extent_s: extent(run),
            bin_s: dyno_stats::median(&lengths).unwrap_or(1.0),
            median_per_s: dyno_stats::median(&bins::seconds(&bins)),
            stalls: stalls::of_run(run),
            seconds,
            rates,
        }
    }

    /// The stalls; empty if unknown.
    pub(super) fn stall_spans(&self) -> &[Stall] {
        self.stalls.as_ref().map_or(&[][..], |found| &found.stalls)
    }

    /// The schedule of a changing load.
    pub(super) fn schedule(&self) -> Option<&'a LoadSchedule> {
        self.run.head.drive.as_ref()?.schedule.as_ref()
    }

    /// The beginnings of the parts of a schedule, except the first; empty if too many marks would
    /// hide the rest.
    pub(super) fn part_marks(&self) -> Vec<PartMark> {
        const MARKS_MAX: usize = 60;
        let placed = self.schedule().map(LoadSchedule::placed);
        let placed = placed.unwrap_or_default();
        if placed.len() > MARKS_MAX {
            return Vec::new();
        }
        let marks = placed.into_iter().enumerate().skip(1);
        marks
            .map(|(number, part)| PartMark {
                at: Compact(part.from_s),
                text: format!("{}", number + 1),
            })
            .collect()
    }

    /// An id that is unique to this run.
    pub(super) fn id(&self, name: &str) -> String {
        format!("r{}-{name}", self.index + 1)
    }

    /// Workload and target.
    pub(super) fn title(&self) -> String {
        let target = &self.run.head.target;
        let product = match target.product.as_str() {
            "" => target.url.as_str(),
            product => product,
        };
        let workload = self.run.head.workload.shown();
        if product.is_empty() {
            // A host test.
            return workload.to_owned();
        }
        format!("{workload} on {product} {}", short_version(&target.version))
            .trim()
            .to_owned()
    }

    /// The recorded part of the warm-up.
    pub(super) fn warmup_s(&self) -> Option<(f64, f64)> {
        (self.extent_s.0 < 0.0).then_some((self.extent_s.0, 0.0))
    }

    /// The intervals of the measurement, without the warm-up.
    pub(super) fn measured(&self) -> impl Iterator<Item = &'a IntervalSummary> + use<'a> {
        self.run
            .intervals
            .iter()
            .filter(|interval| interval.at_s > 0.0)
    }

    /// Events per second of the measurement: the summary's, else from the intervals.
    pub(super) fn rate_per_s(&self) -> Option<f64> {
        if let Some(summary) = &self.run.summary {
            return Some(summary.rates.events_per_s);
        }
        let (mut events, mut length_s) = (0, 0.0);
        for interval in self.measured() {
            events += interval.counters.events;
            length_s += interval.length_s;
        }
        (length_s > 0.0).then(|| events as f64 / length_s)
    }

    /// The latencies that users would see: response times in an open loop, else service times.
    pub(super) fn latency(&self) -> Option<&'a LatencySummary> {
        self.run.summary.as_ref().map(RunSummary::latency)
    }

    /// Whether arrivals were scheduled.
    pub(super) fn is_open(&self) -> bool {
        let drive = self.run.head.drive.as_ref();
        let summary = self.run.summary.as_ref();
        // An imported run may have only response times to indicate it.
        drive.is_some_and(|drive| drive.open_loop.is_some())
            || summary.is_some_and(|summary| summary.response.is_some())
    }

    /// The word for its events.
    pub(super) fn event(&self) -> EventWord {
        let summary = self.run.summary.as_ref();
        summary.map_or(EventWord::Transaction, EventWord::of)
    }

    /// The name of those latencies.
    pub(super) fn latency_word(&self) -> &'static str {
        if self.is_open() {
            "response time"
        } else {
            "latency"
        }
    }

    /// The percentile drawn with throughput: the headlines' of those with enough events in most
    /// intervals.
    pub(super) fn headline_percent(&self) -> Option<f64> {
        let carried = |percent: &f64| {
            let line = self.percentile_over_time(*percent);
            let known = line.iter().filter(|(_, value)| !value.is_nan()).count();
            known > 0 && known * 2 >= line.len()
        };
        let asked = self.run.head.percentiles.iter().copied();
        headline_percent(asked.filter(carried))
    }

    /// A percentile of each interval in milliseconds; NaN if missing.
    pub(super) fn percentile_over_time(&self, percent: f64) -> Vec<(f64, f64)> {
        let value = |interval: &IntervalSummary| {
            Percentile::of(&interval.percentiles, percent).unwrap_or(f64::NAN)
        };
        let intervals = self.run.intervals.iter();
        intervals
            .map(|interval| (middle_s(interval), value(interval)))
            .collect()
    }

    /// The events in time order, with the names of their kinds.
    pub(super) fn events(&self) -> impl Iterator<Item = (&'static str, &'a Event)> + use<'a> {
        let mut events: Vec<&'a Event> = self.run.events.iter().collect();
        events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        events
            .into_iter()
            .map(|event| (event_kind(event.kind), event))
    }

    /// Whether there are series of such devices, even if all are idle.
    pub(super) fn observes(&self, devices: &str) -> bool {
        let mut series = self.run.series.iter();
        series.any(|series| {
            let rest = series.key.name.strip_prefix(devices);
            rest.is_some_and(|rest| rest.starts_with('['))
        })
    }

    /// Why a kind of series is missing.
    pub(super) fn why_not(&self, what: &str) -> String {
        if let Some(why) = self.run.not_observed(what) {
            return format!("Not observed: {why}");
        }
        let nothing = self.run.series.is_empty();
        match self.run.head.source {
            dyno_core::record::Source::Dyno if nothing => {
                "Not observed: this run has no series of observers.".to_owned()
            }
            dyno_core::record::Source::Dyno => {
                format!("Not observed: there is no series {what}.")
            }
            _ => "Not observed: the log that the run was imported from does not contain it."
                .to_owned(),
        }
    }

    /// The number of points per line, given that for a page of one run: a page of several must stay
    /// small, and its lines overlap.
    pub(super) fn points(&self, most: usize) -> usize {
        const SHARES_MAX: usize = 6;
        const POINTS_MIN: usize = 120;
        (most / self.of.clamp(1, SHARES_MAX)).max(POINTS_MIN.min(most))
    }

    /// Its number with its label.
    pub(super) fn entry(&self) -> String {
        let number = format!("run {}", self.run.id);
        let name = self
            .label
            .strip_suffix(number.as_str())
            .unwrap_or(&self.label);
        match name.trim_end_matches([',', ' ']) {
            "" => format!("Run {}", self.run.id),
            name => format!("Run {}: {name}", self.run.id),
        }
    }

    /// The label before a heading within a run's part.
    pub(super) fn badge(&self) -> Markup {
        html! {
            @if !self.label.is_empty() {
                span class="run-label" { (Text(&self.label)) } " "
            }
        }
    }
}

/// The word for a kind of event.
pub(super) fn event_kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Disturbance => "disturbance",
        EventKind::Restart => "restart",
        EventKind::Observer => "observer",
        EventKind::Stall => "stall",
        EventKind::Frozen => "generator frozen",
        EventKind::Setting => "setting",
        EventKind::Note => "note",
    }
}

/// `10.11.6` for `10.11.6-MariaDB-0+deb12u1`.
fn short_version(version: &str) -> &str {
    version.split(['-', ' ', '+']).next().unwrap_or(version)
}

/// The time at which an interval is drawn.
pub(super) fn middle_s(interval: &IntervalSummary) -> f64 {
    interval.at_s - interval.length_s / 2.0
}

fn rate_of(interval: &IntervalSummary) -> (f64, f64) {
    (middle_s(interval), interval.events_per_s())
}

/// A count within an interval, per second.
pub(super) fn per_s(interval: &IntervalSummary, count: u64) -> f64 {
    if interval.length_s > 0.0 {
        count as f64 / interval.length_s
    } else {
        f64::NAN
    }
}

fn extent(run: &RunRecord) -> (f64, f64) {
    let ends = run
        .intervals
        .iter()
        .flat_map(|i| [i.at_s - i.length_s, i.at_s]);
    let series = run.series.iter();
    let samples = series.flat_map(|s| s.points.first().into_iter().chain(s.points.last()));
    let (mut from, mut to) = (f64::MAX, f64::MIN);
    for at in ends.chain(samples.map(|(at, _)| *at)) {
        (from, to) = (from.min(at), to.max(at));
    }
    // An observer's sample before the first interval does not mean that there was a warm-up.
    let warmed = run.intervals.first().is_some_and(|i| i.at_s <= 0.0);
    if from > to {
        (0.0, 1.0)
    } else if warmed {
        (from, to)
    } else {
        (from.max(0.0), to.max(from.max(0.0) + 1e-3))
    }
}
