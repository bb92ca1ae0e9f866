//! A record as the checks use it: only the measurement, in whole seconds, without values that are
//! not finite.

use dyno_analysis::bins::{self, ROOM_S};
use dyno_analysis::stalls::{Shortest, Stalls, TooLittle};
use dyno_core::catalogue::{self, names};
use dyno_core::db::Family;
use dyno_core::interval::Counters;
use dyno_core::plan::Drive;
use dyno_core::record::{Event, EventKind, Fact, RunRecord, Series, SeriesKind, Source};
use dyno_core::summary::{AgentSummary, LatencySummary, RunSummary};

use crate::context::Context;
use crate::{duet, pages_read};

pub(crate) use dyno_analysis::bins::Bin;

/// The largest number of generated points, those of twelve days.
const SECONDS_MAX: f64 = 1e6;

pub(crate) struct View<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) context: &'a Context,
    pub(crate) length_s: f64,
    /// The measurement in whole bins of at least a second.
    pub(crate) bins: Vec<Bin>,
    /// The corrected series of the pages that the server read.
    pages_read: Option<Series>,
}

impl<'a> View<'a> {
    pub(crate) fn new(run: &'a RunRecord, context: &'a Context) -> Self {
        let length_s = bins::length_s(run);
        Self {
            run,
            context,
            length_s,
            bins: bins::of(run),
            pages_read: pages_read::without_new_pages(run),
        }
    }

    /// A series, corrected if its counter includes more than its name suggests.
    pub(crate) fn series(&self, name: &str) -> Option<&Series> {
        let corrected = self.pages_read.as_ref();
        let corrected = corrected.filter(|series| series.key.name == name);
        corrected.or_else(|| self.run.series(name))
    }

    pub(crate) fn imported(&self) -> bool {
        self.run.head.source != Source::Dyno
    }

    pub(crate) fn summary(&self) -> Option<&'a RunSummary> {
        self.run.summary.as_ref()
    }

    pub(crate) fn drive(&self) -> Option<&'a Drive> {
        let run = self.run;
        run.head
            .drive
            .as_ref()
            .or_else(|| run.summary.as_ref()?.drive.as_ref())
    }

    /// Whether events were due by a schedule. For an imported run only its response times may
    /// show that.
    pub(crate) fn open_loop(&self) -> bool {
        let responses = self
            .summary()
            .is_some_and(|summary| summary.response.is_some());
        responses || self.drive().is_some_and(|drive| drive.open_loop.is_some())
    }

    /// The target's protocol; `None` if the script used no database, or an imported log does not
    /// show it.
    pub(crate) fn family(&self) -> Option<Family> {
        let run = self.run;
        let of_summary = run.summary.as_ref().map(|summary| summary.target.family);
        of_summary.unwrap_or(run.head.target.family)
    }

    /// Whether the database runs inside the client's own threads.
    pub(crate) fn embedded(&self) -> bool {
        self.family() == Some(Family::Sqlite) || self.product().eq_ignore_ascii_case("sqlite")
    }

    pub(crate) fn product(&self) -> &'a str {
        let run = self.run;
        let of_summary = run.summary.as_ref().map(|summary| &summary.target);
        match of_summary {
            Some(target) if !target.product.is_empty() => &target.product,
            _ => &run.head.target.product,
        }
    }

    pub(crate) fn postgres(&self) -> bool {
        self.family() == Some(Family::Postgres)
            || self.product().to_ascii_lowercase().contains("postgres")
    }

    pub(crate) fn mysql(&self) -> bool {
        let product = self.product().to_ascii_lowercase();
        let names = ["mysql", "mariadb", "percona"];
        self.family() == Some(Family::Mysql) || names.iter().any(|name| product.contains(name))
    }

    /// Whether the server runs on the client's machine, as far as known.
    pub(crate) fn same_host(&self) -> Option<bool> {
        match self.run.fact(names::SERVER_SAME_HOST) {
            Some("yes") => Some(true),
            Some("no") => Some(false),
            _ if self.embedded() => Some(true),
            _ => None,
        }
    }

    /// Whether there is a server that may be any process of the client's machine.
    pub(crate) fn unplaced(&self) -> bool {
        !self.imported() && self.family().is_some() && self.same_host().is_none()
    }

    /// Why the location of the server is unknown, as the end of a sentence; empty without a reason.
    pub(crate) fn why_unplaced(&self) -> String {
        let why = self.run.not_observed(names::SERVER_CPU);
        why.map_or_else(String::new, |why| {
            format!(": {}", why.trim_end_matches('.'))
        })
    }

    /// The agents of a run with several.
    pub(crate) fn agents(&self) -> &'a [AgentSummary] {
        self.summary().map_or(&[], |summary| &summary.agents)
    }

    /// Attempts at events by these counters, with `errors` known errors. sysbench repeats an event
    /// after each ignored error, and its logs do not count that.
    pub(crate) fn attempts(&self, counters: &Counters, errors: u64) -> u64 {
        match self.imported() {
            true => counters.events.saturating_add(errors),
            false => counters.attempts(errors),
        }
    }

    /// Sums over the measurement: of the summary, or of the intervals without one.
    pub(crate) fn totals(&self) -> Counters {
        if let Some(summary) = self.summary() {
            return summary.totals;
        }
        let mut sums = Counters::default();
        for interval in &self.run.intervals {
            if interval.at_s > ROOM_S {
                sums.merge(&interval.counters);
            }
        }
        sums
    }

    /// Sums over the whole bins, and the time that they cover.
    pub(crate) fn covered(&self) -> (Counters, f64) {
        let mut sums = Counters::default();
        let mut length_s = 0.0;
        for bin in &self.bins {
            sums.merge(&bin.counters);
            length_s += bin.length_s;
        }
        (sums, length_s)
    }

    pub(crate) fn events_per_s(&self) -> Option<f64> {
        let stated = self.summary().map(|summary| summary.rates.events_per_s);
        let counted = || {
            let events: f64 = self.bins.iter().map(|bin| bin.events).sum();
            let (_, length_s) = self.covered();
            (length_s > 0.0).then(|| events / length_s)
        };
        stated
            .filter(|rate| rate.is_finite() && *rate > 0.0)
            .or_else(counted)
            .filter(|rate| *rate > 0.0)
    }

    pub(crate) fn rates(&self) -> Vec<f64> {
        self.bins.iter().map(Bin::events_per_s).collect()
    }

    /// The usual length of a whole bin, 1 without any.
    pub(crate) fn usual_s(&self) -> f64 {
        let (_, covered_s) = self.covered();
        let bins = self.bins.len();
        if bins > 0 {
            covered_s / bins as f64
        } else {
            1.0
        }
    }

    /// A number of whole bins as text: seconds, or intervals of the log's length.
    pub(crate) fn whole(&self, bins: usize) -> String {
        let plural = crate::text::plural(bins as u64);
        match self.usual_s() {
            usual if bins::is_second(usual) => format!("{bins} whole second{plural}"),
            usual => format!("{bins} interval{plural} of {}", crate::text::seconds(usual)),
        }
    }

    /// The number of whole intervals with a verb: `1 whole second is`, `3 whole seconds are`.
    pub(crate) fn whole_are(&self, bins: usize) -> String {
        format!(
            "{} {}",
            self.whole(bins),
            crate::text::verb(bins, "is", "are")
        )
    }

    pub(crate) fn stalls(&self) -> Result<Stalls, TooLittle> {
        dyno_analysis::stalls::of_bins(&self.bins, &self.run.events, Shortest::of(self.run))
    }

    /// Whether each event takes longer than an interval. Then intervals in which no event ends are
    /// normal if sessions run in step.
    pub(crate) fn has_long_events(&self) -> bool {
        Shortest::of(self.run).event_s > self.usual_s()
    }

    /// The relevant latencies: response times of an open loop, service times of a closed one.
    pub(crate) fn latency(&self) -> Option<&'a LatencySummary> {
        self.summary().map(RunSummary::latency)
    }

    /// The finite values of a series within the measurement.
    pub(crate) fn values(&self, name: &str) -> Vec<f64> {
        self.points(name)
            .into_iter()
            .map(|(_, value)| value)
            .collect()
    }

    /// The finite points of a series within the measurement. A rate's value covers the time before
    /// it, so one at the very start belongs to the warm-up.
    pub(crate) fn points(&self, name: &str) -> Vec<(f64, f64)> {
        match self.series(name) {
            Some(series) => self.within(series),
            None if self.always_zero(name) => {
                let seconds = 1..=self.length_s.min(SECONDS_MAX) as u32;
                seconds.map(|second| (f64::from(second), 0.0)).collect()
            }
            None => Vec::new(),
        }
    }

    pub(crate) fn within(&self, series: &Series) -> Vec<(f64, f64)> {
        let from_s = match series.kind {
            SeriesKind::Gauge => -ROOM_S,
            SeriesKind::Rate => ROOM_S,
        };
        let held = |(at, value): &(f64, f64)| {
            *at >= from_s && *at <= self.length_s + ROOM_S && value.is_finite()
        };
        series.points.iter().copied().filter(held).collect()
    }

    /// Whether a series was observed and was always 0.
    pub(crate) fn always_zero(&self, name: &str) -> bool {
        let names = self
            .run
            .fact(names::OBSERVER_ALWAYS_ZERO)
            .unwrap_or_default();
        names.split_whitespace().any(|zero| zero == name)
    }

    /// The mean of a series over the measurement: a rate's values are weighted by the time that
    /// they cover of it.
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        match self.series(name) {
            Some(series) => self.mean_of(series),
            // A counter that never moved is recorded only by its name.
            None => self.always_zero(name).then_some(0.0),
        }
    }

    pub(crate) fn mean_of(&self, series: &Series) -> Option<f64> {
        if series.kind == SeriesKind::Rate {
            let (sum, covered_s) = self.integral(series);
            return (covered_s > 0.0).then(|| sum / covered_s);
        }
        let values = self.within(series);
        let sum: f64 = values.iter().map(|(_, value)| value).sum();
        (!values.is_empty()).then(|| sum / values.len() as f64)
    }

    /// The sum of several series' means; `None` if all are missing.
    pub(crate) fn mean_sum(&self, names: &[&str]) -> Option<f64> {
        let means: Vec<f64> = names.iter().filter_map(|name| self.mean(name)).collect();
        (!means.is_empty()).then(|| means.iter().sum())
    }

    /// The total of a rate over the measurement, and the time that it covers.
    pub(crate) fn integral(&self, series: &Series) -> (f64, f64) {
        let (mut sum, mut covered_s) = (0.0, 0.0);
        let mut before: Option<f64> = None;
        for &(at, value) in &series.points {
            // The first value covers about as much time as the others do.
            let from = before.unwrap_or_else(|| begins(series, at)).max(0.0);
            before = Some(at);
            let overlap = at.min(self.length_s) - from;
            if overlap > 0.0 && value.is_finite() {
                sum += value * overlap;
                covered_s += overlap;
            }
        }
        (sum, covered_s)
    }

    /// Events and statements per second while a series was observed: an observer may have missed a
    /// part of the measurement with a different rate.
    pub(crate) fn rates_while(&self, name: &str) -> Option<(f64, f64)> {
        let spans = self.spans(name)?;
        let sum = |of: fn(&Span) -> f64| spans.iter().map(of).sum::<f64>();
        let length_s = sum(|span| span.length_s);
        let rates = || {
            let (events, statements) = (sum(|span| span.events), sum(|span| span.statements));
            (events / length_s, statements / length_s)
        };
        (length_s > 0.0).then(rates)
    }

    /// The time of the measurement that each value of a rate covers, with the load meanwhile.
    pub(crate) fn spans(&self, name: &str) -> Option<Vec<Span>> {
        let series = self.series(name)?;
        let mut before: Option<f64> = None;
        let mut spans = Vec::with_capacity(series.points.len());
        for &(at, value) in &series.points {
            let from = before.unwrap_or_else(|| begins(series, at)).max(0.0);
            before = Some(at);
            let mut span = Span::default();
            // Bins follow one another.
            let first = self.bins.partition_point(|bin| bin.at_s <= from);
            for bin in &self.bins[first..] {
                if bin.at_s - bin.length_s >= at {
                    break;
                }
                let overlap = at.min(bin.at_s) - from.max(bin.at_s - bin.length_s);
                if overlap > 0.0 {
                    let share = overlap / bin.length_s;
                    span.events += bin.events * share;
                    span.statements += bin.statements * share;
                    span.length_s += overlap;
                }
            }
            span.counted = value * span.length_s;
            spans.push(span);
        }
        Some(spans)
    }

    /// Whether a series covers only part of the measurement.
    pub(crate) fn misses(&self, name: &str) -> bool {
        let series = self.series(name);
        series.is_some_and(|series| self.integral(series).1 < 0.95 * self.length_s)
    }

    /// The covered share of the measurement, if that is too little to represent the rest: less than
    /// half, except in very short measurements.
    pub(crate) fn covers_little(&self, name: &str) -> Option<f64> {
        const LENGTH_MIN_S: f64 = 5.0;
        let covered = self.integral(self.series(name)?).1 / self.length_s;
        (self.length_s >= LENGTH_MIN_S && covered < 0.5).then_some(covered)
    }

    /// The number of endpoints, if several: observers look only at the first.
    pub(crate) fn several_endpoints(&self) -> Option<usize> {
        let endpoints = self.summary()?.endpoints.len();
        (endpoints > 1).then_some(endpoints)
    }

    /// Settings that the run's sessions set for themselves: name and value, in lower case.
    pub(crate) fn set_by_sessions(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let of = |fact: &'a Fact| {
            let name = names::CLIENT_SETTINGS_EACH.part(&fact.name)?;
            Some(fact.value.split(", ").map(move |value| (name, value)))
        };
        self.run.facts.iter().filter_map(of).flatten()
    }

    /// Whether other agents or the other side of a duet put part of the load on the server.
    pub(crate) fn is_shared(&self) -> bool {
        let shard = self.drive().and_then(|drive| drive.shard.as_ref());
        shard.is_some_and(|shard| shard.of > 1) || duet::shares_server(self.run)
    }

    pub(crate) fn largest(&self, name: &str) -> Option<f64> {
        self.values(name).into_iter().reduce(f64::max)
    }

    /// The first and the last value within the measurement.
    pub(crate) fn ends(&self, name: &str) -> Option<(f64, f64)> {
        let values = self.values(name);
        Some((*values.first()?, *values.last()?))
    }

    /// The devices with a series of this family, and these series. If one combines all of them,
    /// only that.
    pub(crate) fn devices(&self, family: catalogue::Family) -> Vec<(&'a str, &'a Series)> {
        let all = self.run.series.iter();
        let all = all.filter_map(|series| Some((family.part(&series.key.name)?, series)));
        let found: Vec<_> = all.collect();
        match found.iter().find(|(device, _)| *device == "all") {
            Some(whole) => vec![*whole],
            None => found,
        }
    }

    pub(crate) fn devices_mean(&self, family: catalogue::Family) -> Option<f64> {
        let found = self.devices(family);
        let means: Vec<f64> = found
            .iter()
            .filter_map(|(_, series)| self.mean_of(series))
            .collect();
        (!means.is_empty()).then(|| means.iter().sum())
    }

    /// Events of this kind that overlap the measurement.
    pub(crate) fn events(&self, kind: EventKind) -> Vec<&'a Event> {
        let run = self.run;
        let touches = |event: &&Event| {
            event.kind == kind
                && event.at_s <= self.length_s
                && event.until_s.unwrap_or(event.at_s) >= 0.0
        };
        run.events.iter().filter(touches).collect()
    }

    pub(crate) fn cpus(&self) -> Option<f64> {
        let threads = self.run.fact(names::HOST_CPU_THREADS)?;
        threads.trim().parse().ok().filter(|cpus| *cpus > 0.0)
    }

    /// Busy CPU of the host in percent of all, as a mean.
    pub(crate) fn host_busy(&self) -> Option<f64> {
        let idle = self.mean(names::HOST_CPU_IDLE)?;
        Some((100.0 - idle - self.mean(names::HOST_CPU_IOWAIT).unwrap_or(0.0)).clamp(0.0, 100.0))
    }

    /// Why something is missing, as the end of a sentence.
    pub(crate) fn why_not(&self, what: &str) -> String {
        match self.run.not_observed(what) {
            Some(why) => format!("{what} was not observed: {}", why.trim_end_matches('.')),
            None if self.imported() => {
                format!("{what} was not observed: the log does not contain it")
            }
            None => format!("{what} was not observed: the record gives no reason"),
        }
    }
}

/// The time that a value of a rate covers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub length_s: f64,
    /// The rate's count in that time.
    pub counted: f64,
    pub events: f64,
    pub statements: f64,
}

/// The start of the time that the first sample of a series covers. A single sample shows no period:
/// it may cover all the time before it.
fn begins(series: &Series, at: f64) -> f64 {
    match series.points.as_slice() {
        [_] => 0.0,
        _ => at - period_s(series),
    }
}

/// The usual time between two points.
fn period_s(series: &Series) -> f64 {
    match series.points.as_slice() {
        [(first, _), (second, _), ..] if second > first => second - first,
        _ => 1.0,
    }
}
