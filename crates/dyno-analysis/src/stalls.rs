//! The definition of a stall, shared by the verdict, the reports, comparisons and the results file.
//!
//! A second *moved* if its rate is more than [`STALL_SHARE`] of the rate of the second in which the
//! median event ended. The *level* is the median of the seconds that moved, so even a run that was
//! stalled most of the time has a level. A second is *stalled* if its rate is at most
//! [`STALL_SHARE`] of the level. A silence no longer than the events ([`Shortest`]) is not a stall,
//! because no event ends for that long if sessions run in step. The verdict stores its stalls with
//! the run ([`of_run`]), and the view `where_did_it_stall` of the results file reads them.
//!
//! If the load generator recorded a silence to the millisecond ([`EventKind::Stall`]), it replaces
//! the stalled seconds. If it covers no whole second, it is added to them. Seconds in which the
//! generator itself was frozen ([`EventKind::Frozen`]) are not stalls of the target.

mod run_stalls;

use std::fmt;

use dyno_core::catalogue::names;
use dyno_core::record::{Event, EventKind, RunRecord};
use dyno_core::summary::LatencySummary;
pub use dyno_stats::stalls::STALL_SHARE;
pub use run_stalls::{RunStalls, of_run};

use crate::bins::Bin;

/// Minimum number of whole seconds that have a level.
pub const SECONDS_MIN: usize = 5;
/// Minimum number of bins, however long. Out of two, one may be the stall.
const BINS_MIN: usize = 3;

/// Below this rate, a second without an event may be chance. With twenty Poisson arrivals per
/// second, that is one in a hundred million.
pub const LEVEL_MIN_PER_S: f64 = 20.0;

/// A worker that does not serve its sockets for this long delays its sessions. It is given in
/// milliseconds, and is ten times the scheduling delay on a crowded host. Blocking scripts and
/// frozen machines reach it.
pub const WORKER_STALL_MS: f64 = 500.0;

/// If no statement ended in a silence by the load generator's clock, it is a stall from this length
/// on, in seconds. Disks and schedulers occasionally cause shorter silences.
pub const SILENCE_MIN_S: f64 = 0.2;

/// Shorter silences are stalls from this length on, in seconds, if together they take
/// [`SHORT_SHARE`] of the time. One of them may be chance, but many are not.
pub const SHORT_MIN_S: f64 = 0.05;

/// The share of the time, 0 to 1, from which short silences count.
pub const SHORT_SHARE: f64 = 0.1;

/// A silence is a stall only if this many events would have ended in it. Otherwise it may be
/// chance.
pub const SILENCE_EVENTS_MIN: f64 = 50.0;

/// If this many seconds at the end of a run are low, they may be a new level.
const NEW_LEVEL_MIN: usize = 3;

/// Gaps between silences count as equal if they differ by at most this share.
const SAME_GAP: f64 = 0.2;

const GAPS_MIN: usize = 4;

/// The second in which the generator froze may have begun this long before, in seconds.
const FROZEN_ROOM_S: f64 = 1.0;

/// A silence longer than this, in seconds, changes the rate of a second.
const CUT_S: f64 = 0.05;

/// The length in seconds from which a silence is a stall. `silent_s` are the lengths of all
/// silences, `measured_s` is the length of the measurement, and `mean_per_s` is the events per
/// second including silences.
pub fn shortest_s(silent_s: &[f64], measured_s: f64, mean_per_s: f64) -> f64 {
    let many_s = SILENCE_EVENTS_MIN / mean_per_s.max(f64::MIN_POSITIVE);
    let short_s = SHORT_MIN_S.max(many_s);
    let short = silent_s.iter().filter(|length_s| **length_s >= short_s);
    match short.sum::<f64>() >= SHORT_SHARE * measured_s {
        true => short_s,
        false => SILENCE_MIN_S.max(many_s),
    }
}

/// The stalls of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalls {
    /// The median rate of the seconds that moved, in events per second.
    pub level_per_s: f64,
    /// The times when nothing ended, in order: silences, and consecutive stalled seconds whose
    /// exact time is unknown.
    pub spans: Vec<Span>,
    /// The spans known to the millisecond.
    pub silences: Vec<Span>,
    /// Consecutive stalled seconds in which the generator itself was frozen. They are not in
    /// `spans`.
    pub own: Vec<Span>,
    /// The length of the stalled whole seconds, except the generator's own.
    pub whole_s: f64,
    /// The length of the measurement's whole seconds.
    pub measured_s: f64,
    /// The period at which stalls recur; `None` if irregular.
    pub period_s: Option<f64>,
    /// Which of the run's whole seconds are stalled.
    pub stalled: Vec<bool>,
    /// Which seconds say nothing about the rate: stalled ones, and those that a silence or a freeze
    /// of the generator interrupts. None, if that would be half of all seconds.
    pub set_aside: Vec<bool>,
}

/// A time in which nothing ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Its start, in seconds since the start of the measurement.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// The shortest event and the shortest statement, apart from a few exceptions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shortest {
    /// An event, in seconds: the mean one if most take about as long.
    pub event_s: f64,
    /// A statement, in seconds, if all statements of an event take the same time.
    pub statement_s: f64,
}

impl Shortest {
    /// The shortest event in the summary of a run, else the mean, else the lowest latency of an
    /// interval, and 0 if all are unknown. Of events that take about as long as each other, the
    /// mean: a few short ones, such as failed ones, do not show that sessions could end others.
    pub fn of(run: &RunRecord) -> Self {
        let Some(summary) = &run.summary else {
            return Self::default();
        };
        let service = Some(&summary.service).filter(|service| service.count > 0);
        let whole_ms = service.and_then(|service| service.min_ms.or(service.mean_ms));
        let shortest_ms = whole_ms.or_else(|| lowest_ms(run)).unwrap_or(0.0);
        let shortest_s = shortest_ms.max(0.0) / 1e3;
        let usual_ms = service.and_then(usual_ms).unwrap_or(0.0);
        let events = summary.totals.events.max(1) as f64;
        let statements = (summary.totals.queries() as f64 / events).max(1.0);
        Self {
            event_s: shortest_s.max(usual_ms / 1e3),
            statement_s: shortest_s / statements,
        }
    }
}

/// The mean event, if the faster half takes at least half of it on average.
fn usual_ms(service: &LatencySummary) -> Option<f64> {
    /// The slower half on average, in mean events.
    const SLOWER: f64 = 1.5;
    let (mean_ms, max_ms) = service.mean_ms.zip(service.max_ms)?;
    (slower_ms(service, max_ms) <= SLOWER * mean_ms).then_some(mean_ms)
}

/// The most that the slower half of the events can take on average.
fn slower_ms(service: &LatencySummary, max_ms: f64) -> f64 {
    const HALF: f64 = 50.0;
    let known = service.percentiles.iter();
    let known = known.filter_map(|one| Some((one.percent, one.value_ms?)));
    let mut known: Vec<(f64, f64)> = known.filter(|(percent, _)| *percent > HALF).collect();
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut before, mut sum) = (HALF, 0.0);
    for (percent, ms) in known {
        sum += (percent - before) * ms;
        before = percent;
    }
    (sum + (100.0 - before) * max_ms) / HALF
}

/// The lowest latency of the intervals: a percentile, or a mean that another tool printed.
fn lowest_ms(run: &RunRecord) -> Option<f64> {
    let all = run
        .intervals
        .iter()
        .flat_map(|interval| &interval.percentiles);
    let percentiles = all.filter_map(|percentile| percentile.value_ms);
    let means = run.series(names::IMPORT_LATENCY_MEAN);
    let means = means.into_iter().flat_map(|series| &series.points);
    percentiles.chain(means.map(|(_, ms)| *ms)).reduce(f64::min)
}

/// Why stalls cannot be determined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TooLittle {
    /// The number of whole seconds is below [`SECONDS_MIN`].
    Seconds(usize),
    /// The level is below [`LEVEL_MIN_PER_S`].
    Level(f64),
    /// No event ended.
    Nothing,
}

impl Span {
    /// Its length in seconds.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// The length that other spans cover. These must not overlap.
    fn covered_s(&self, others: &[Self]) -> f64 {
        let shared = |other: &Self| other.to_s.min(self.to_s) - other.from_s.max(self.from_s);
        others.iter().map(|other| shared(other).max(0.0)).sum()
    }

    fn is_of(&self, others: &[Self]) -> bool {
        self.covered_s(others) * 2.0 >= self.length_s()
    }
}

impl Stalls {
    /// Drops spans no longer than an event, because no event ends for that long if sessions run in
    /// step.
    fn beyond(mut self, shortest: Shortest, bins: &[Bin]) -> Self {
        let known = self.spans.len() + self.silences.len();
        let silences = std::mem::take(&mut self.silences);
        self.spans.retain(|span| match silences.contains(span) {
            true => span.length_s() > shortest.statement_s,
            false => span.length_s() > shortest.event_s,
        });
        self.silences = silences;
        (self.silences).retain(|one| one.length_s() > shortest.statement_s);
        if self.spans.len() + self.silences.len() == known {
            return self;
        }
        for (index, bin) in bins.iter().enumerate() {
            let second = Span {
                from_s: bin.from_s(),
                to_s: bin.at_s,
            };
            let still = second.is_of(&self.spans) || second.is_of(&self.own);
            self.stalled[index] &= still;
            if let Some(aside) = self.set_aside.get_mut(index) {
                *aside &= still;
            }
        }
        let seconds = (self.spans.iter()).filter(|span| !self.silences.contains(span));
        self.whole_s = seconds.map(Span::length_s).sum();
        self.period_s = period_of(&self.spans);
        self
    }

    /// The total length in seconds.
    pub fn stalled_s(&self) -> f64 {
        // `sum()` of an empty list is -0.0.
        self.spans
            .iter()
            .map(Span::length_s)
            .fold(0.0, |a, b| a + b)
    }

    /// The length of the longest span in seconds, or 0 without spans.
    pub fn longest_s(&self) -> f64 {
        self.spans.iter().map(Span::length_s).fold(0.0, f64::max)
    }

    /// The stalled share of the time, 0 to 1.
    pub fn share(&self) -> f64 {
        (self.stalled_s() / self.measured_s).min(1.0)
    }

    /// The values of whole seconds, without the seconds that are set aside.
    pub fn moving(&self, values: &[f64]) -> Vec<f64> {
        let with = values.iter().zip(&self.set_aside);
        with.filter(|(_, aside)| !**aside)
            .map(|(value, _)| *value)
            .collect()
    }
}

impl fmt::Display for TooLittle {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(
                to,
                "{seconds} whole second{} too few to detect a stall; at least {SECONDS_MIN} are \
                 needed",
                if *seconds == 1 { " is" } else { "s are" }
            ),
            Self::Level(level) => write!(
                to,
                "at {level:.1} events per second a quiet second may be chance; at least \
                 {LEVEL_MIN_PER_S} are needed"
            ),
            Self::Nothing => write!(to, "no event ended, so there is no stall to detect"),
        }
    }
}

/// Determines the stalls from whole seconds and recorded events.
///
/// # Errors
/// [`TooLittle`] if they cannot be determined.
pub fn of_bins(bins: &[Bin], events: &[Event], shortest: Shortest) -> Result<Stalls, TooLittle> {
    let silences = spans(events, EventKind::Stall, bins);
    let mut found = match of_seconds(bins) {
        Err(_) if !silences.is_empty() && !bins.is_empty() => of_silences(bins, &silences),
        found => found?,
    };
    let frozen = spans(events, EventKind::Frozen, bins);
    // The second in which the freeze began ended late, and has few events.
    let with_room: Vec<Span> = (frozen.iter())
        .map(|span| Span {
            from_s: span.from_s - FROZEN_ROOM_S,
            ..*span
        })
        .collect();
    let seconds = std::mem::take(&mut found.spans);
    let (own, seconds): (Vec<Span>, Vec<Span>) =
        (seconds.into_iter()).partition(|span| span.is_of(&with_room));
    found.whole_s = seconds.iter().map(Span::length_s).sum();
    let (_, unknown): (Vec<Span>, Vec<Span>) =
        (seconds.into_iter()).partition(|span| span.is_of(&silences));
    let beside = silences.iter().filter(|one| one.covered_s(&unknown) <= 0.0);
    found.spans = unknown.iter().chain(beside).copied().collect();
    found
        .spans
        .sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    let period_s = found.period_s.filter(|_| own.is_empty());
    found.period_s = period_s.or_else(|| period_of(&silences));
    found.set_aside = [with_room, frozen]
        .iter()
        .map(|frozen| set_aside(bins, &found, &[&silences, &own, frozen]))
        .find(|aside| !is_most(aside))
        .unwrap_or_else(|| found.stalled.clone());
    (found.silences, found.own) = (silences, own);
    Ok(found.beyond(shortest, bins))
}

fn set_aside(bins: &[Bin], found: &Stalls, still: &[&[Span]]) -> Vec<bool> {
    let cut = |bin: &Bin| {
        let second = Span {
            from_s: bin.from_s(),
            to_s: bin.at_s,
        };
        (still.iter().copied().chain([found.spans.as_slice()]))
            .any(|spans| second.covered_s(spans) > CUT_S)
    };
    let with = bins.iter().zip(&found.stalled);
    with.map(|(bin, stalled)| *stalled || cut(bin)).collect()
}

/// Whether at least half of the seconds are set aside, so that the rest would not be
/// representative.
fn is_most(aside: &[bool]) -> bool {
    aside.iter().filter(|aside| **aside).count() * 2 >= aside.len()
}

fn spans(events: &[Event], kind: EventKind, bins: &[Bin]) -> Vec<Span> {
    let end_s = bins.last().map_or(f64::INFINITY, |bin| bin.at_s);
    let own = events.iter().filter(|event| event.kind == kind);
    let span = own.map(|event| Span {
        from_s: event.at_s.max(0.0),
        to_s: event.until_s.unwrap_or(event.at_s).min(end_s),
    });
    span.filter(|span| span.to_s > span.from_s).collect()
}

/// The time between silences, if it is nearly constant.
fn period_of(silences: &[Span]) -> Option<f64> {
    let gaps: Vec<f64> = silences
        .windows(2)
        .map(|pair| pair[1].from_s - pair[0].from_s)
        .collect();
    let usual = dyno_stats::median(&gaps)?;
    let same = |gap: &&f64| (**gap / usual - 1.0).abs() <= SAME_GAP;
    let alike = gaps.iter().filter(same).count();
    (gaps.len() >= GAPS_MIN && alike * 4 >= gaps.len() * 3).then_some(usual)
}

/// A run whose silences are known, but that has too few whole seconds.
fn of_silences(bins: &[Bin], silences: &[Span]) -> Stalls {
    let measured_s: f64 = bins.iter().map(|bin| bin.length_s).sum();
    let events: u64 = bins.iter().map(|bin| bin.counters.events).sum();
    let silent_s: f64 = silences.iter().map(Span::length_s).sum();
    Stalls {
        level_per_s: events as f64 / (measured_s - silent_s).max(SILENCE_MIN_S),
        spans: Vec::new(),
        silences: Vec::new(),
        own: Vec::new(),
        whole_s: 0.0,
        measured_s: measured_s.max(silent_s),
        period_s: None,
        stalled: vec![false; bins.len()],
        set_aside: Vec::new(),
    }
}

fn of_seconds(bins: &[Bin]) -> Result<Stalls, TooLittle> {
    // The intervals of a log may last many seconds.
    let whole_s: f64 = bins.iter().map(|bin| bin.length_s).sum();
    if whole_s.round() < SECONDS_MIN as f64 || bins.len() < BINS_MIN {
        return Err(TooLittle::Seconds(whole_s.round() as usize));
    }
    let rates: Vec<f64> = bins.iter().map(Bin::events_per_s).collect();
    let events: Vec<f64> = (bins.iter())
        .map(|bin| bin.counters.events as f64)
        .collect();
    let found = dyno_stats::stalls::stalls(&rates, &events, STALL_SHARE);
    let found = found.ok_or(TooLittle::Nothing)?;
    if found.level < LEVEL_MIN_PER_S {
        return Err(TooLittle::Level(found.level));
    }
    let measured_s: f64 = bins.iter().map(|bin| bin.length_s).sum();
    let usual_s = measured_s / bins.len() as f64;
    let mut stalled = vec![false; bins.len()];
    let mut spans = Vec::new();
    for run in found.runs.iter().filter(|run| !is_new_level(run, bins)) {
        let within = run.start..run.start + run.length;
        stalled[within.clone()].fill(true);
        if let [first, .., last] | [first @ last] = &bins[within] {
            spans.push(Span {
                from_s: first.from_s().max(0.0),
                to_s: last.at_s,
            });
        }
    }
    Ok(Stalls {
        level_per_s: found.level,
        spans,
        silences: Vec::new(),
        own: Vec::new(),
        whole_s: 0.0,
        measured_s,
        period_s: found.period.map(|steps| steps * usual_s),
        stalled,
        set_aside: Vec::new(),
    })
}

/// Whether the run goes on at a lower level: events end in each second until its end.
fn is_new_level(run: &dyno_stats::stalls::Run, bins: &[Bin]) -> bool {
    let seconds = &bins[run.start..run.start + run.length];
    let works = |bin: &Bin| bin.events_per_s() >= LEVEL_MIN_PER_S;
    run.start + run.length == bins.len() && run.length >= NEW_LEVEL_MIN && seconds.iter().all(works)
}

#[cfg(test)]
mod tests;
