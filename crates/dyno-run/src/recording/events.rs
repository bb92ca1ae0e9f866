//! The events of a run that the load generator itself noticed.

use dyno_analysis::stalls::shortest_s;
use dyno_core::clock::Nanos;
use dyno_core::record::{Event, EventDetail, EventKind};
use dyno_core::summary::AgentSummary;
use dyno_core::text::number_of;
use dyno_load::{Outage, Pauses, RunOutcome, TimeRange};

/// How many stalls to report separately: the longest ones.
const STALLS_MAX: usize = 1000;

/// A stall is longer than this many median events, so that slow statements do not count.
const MEDIANS: f64 = 3.0;

/// The events, sorted by kind and then by time.
pub(super) fn of(outcome: &RunOutcome) -> Vec<Event> {
    let at_s = |at: Nanos| at.saturating_sub(outcome.measured_start) as f64 / 1e9;
    let mut events: Vec<Event> = (outcome.outages.iter())
        .map(|outage| outage_event(outage, &at_s))
        .collect();
    let of = |range: &TimeRange, kind: EventKind, text: &str| {
        let (from_s, to_s) = (at_s(range.from), at_s(range.to));
        let length_s = to_s - from_s;
        Event {
            at_s: from_s,
            until_s: Some(to_s),
            kind,
            text: text.replace("{}", &format!("{length_s:.3} s")),
            detail: EventDetail::default(),
        }
    };
    for range in stalls(outcome) {
        let text = "No statement ended for {} while some were in progress";
        events.push(of(&range, EventKind::Stall, text));
    }
    for range in longest(&outcome.pauses.frozen) {
        let text = format!("{} was not woken for {{}}", process(&outcome.agents));
        let mut event = of(&range, EventKind::Frozen, &text);
        event.detail.starved = starved(&outcome.pauses, &range);
        events.push(event);
    }
    events
}

/// Whether the generator waited for a CPU during most of this time. `None` if unknown.
fn starved(pauses: &Pauses, range: &TimeRange) -> Option<bool> {
    let waits = pauses.starved.as_ref()?.iter();
    let within = |wait: &TimeRange| {
        wait.to
            .min(range.to)
            .saturating_sub(wait.from.max(range.from))
    };
    Some(waits.map(within).sum::<Nanos>() * 2 >= range.length_ns())
}

/// Which process was frozen. The times of several agents are kept together.
fn process(agents: &[AgentSummary]) -> String {
    let frozen = agents.iter().filter(|agent| agent.frozen_s > 0.0);
    let names = frozen.map(|agent| agent.name.as_str()).collect::<Vec<_>>();
    match names.is_empty() {
        true if agents.is_empty() => "The load generator's process".to_owned(),
        true => "A load generator's process".to_owned(),
        false => format!("The process of {}", names.join(" or ")),
    }
}

/// The silences in which more events are missing than chance explains.
fn stalls(outcome: &RunOutcome) -> Vec<TimeRange> {
    let measured_ns = outcome.measured_end.saturating_sub(outcome.measured_start);
    let per_s = outcome.in_window().events as f64 / (measured_ns as f64 / 1e9).max(1e-3);
    let median_ns = outcome.totals.latencies.service.value_at_quantile(0.5) as f64;
    let silences = outcome.pauses.silences.iter();
    let long: Vec<&TimeRange> = silences
        .filter(|one| one.length_ns() as f64 >= MEDIANS * median_ns)
        .collect();
    let length_s = |one: &TimeRange| one.length_ns() as f64 / 1e9;
    let lengths: Vec<f64> = long.iter().map(|one| length_s(one)).collect();
    let shortest = shortest_s(&lengths, measured_ns as f64 / 1e9, per_s);
    longest((long.into_iter()).filter(|one| length_s(one) >= shortest))
}

/// The longest of these, in order of time.
fn longest<'a>(all: impl IntoIterator<Item = &'a TimeRange>) -> Vec<TimeRange> {
    let mut all: Vec<TimeRange> = all.into_iter().copied().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.length_ns()));
    all.truncate(STALLS_MAX);
    all.sort_by_key(|one| one.from);
    all
}

/// The event for a time without a successful connection.
fn outage_event(outage: &Outage, at_s: &impl Fn(Nanos) -> f64) -> Event {
    let attempts = number_of(outage.attempts, "attempt");
    let back = match outage.until {
        Some(until) => format!(
            "the first connection came back after {:.2} s",
            until.saturating_sub(outage.from) as f64 / 1e9
        ),
        None => "no connection came back".to_owned(),
    };
    Event {
        at_s: at_s(outage.from),
        until_s: outage.until.map(at_s),
        kind: EventKind::Note,
        text: format!("Lost connections: {attempts} to connect failed; {back}"),
        detail: EventDetail::default(),
    }
}
