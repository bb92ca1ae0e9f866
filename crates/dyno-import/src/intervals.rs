//! Checks that a log's report lines and the report at its end can belong to the same run. Compares
//! counts over the time that lines cover, so a missing line contradicts nothing.

use crate::conservation::{self, Wild};
use crate::consistency::TIME_TOLERANCE;
use crate::coverage::{self, Coverage};
use crate::sysbench::model::{Draft, Point, Report};

/// sysbench prints times in whole seconds, so an interval's ends may be off by this.
const TIME_ROUNDING_S: f64 = 0.5;
/// Lines with the usual distance, apart from floating point.
const PUNCTUAL_S: f64 = 0.01;
/// Rates are printed with two decimals.
const RATE_ROUNDING: f64 = 0.005;
/// The mix of statements may change during a run, so a part of it may have a different mix.
const MIX_TOLERANCE: f64 = 0.25;
/// Events per thread that may end after the last line, in runs with long events.
const UNDER_WAY: f64 = 2.0;
/// Statements per thread that scripts may execute after their last event.
const AFTERWARDS: f64 = 100.0;

/// Compares all quantities that both report lines and report contain.
pub(crate) fn check(
    draft: &Draft,
    report: &Report,
    coverage: &Coverage,
    warn: &mut impl FnMut(String),
    contradict: &mut impl FnMut(String),
) {
    let own = is_own(draft);
    if own {
        threads(draft, contradict);
        mix(draft, contradict);
    }
    if draft.warmup_s.is_some_and(|s| s > 0.0) {
        return;
    }
    if coverage::is_comparable(draft) {
        let rates_reported = rates(draft, report, coverage, warn, contradict);
        if own {
            sums(draft, report, coverage, rates_reported, warn, contradict);
        }
    }
}

/// Whether sysbench itself printed the lines: columns from elsewhere may have other meanings.
pub(crate) fn is_own(draft: &Draft) -> bool {
    ["report lines", "report_csv", "report_json"].contains(&draft.points_from)
}

/// Leaves out figures of lines that exceed the report's total.
pub(crate) fn leave_out(draft: &mut Draft) {
    let Some(report) = draft.report.clone() else {
        return;
    };
    if !coverage::is_comparable(draft) || !is_own(draft) {
        return;
    }
    for kind in kinds(&report).into_iter().filter(|kind| kind.count > 0) {
        let lengths = Coverage::of(draft).lengths_s;
        let lines = draft.points.iter().zip(lengths).enumerate();
        let lines =
            lines.filter_map(|(at, (point, length))| Some((at, ((kind.pick)(point)?, length))));
        let (at, held): (Vec<usize>, Vec<_>) = lines.unzip();
        let mut wild = conservation::wild(&held, kind.count as f64, TIME_ROUNDING_S);
        wild.sort_by_key(|wild| std::cmp::Reverse(wild.index));
        for wild in wild {
            let index = at[wild.index];
            let (line, text) = (draft.points[index].line, describe(&kind, &wild));
            draft.warnings.push((Some(line), text));
            match kind.rest {
                Rest::Events => drop(draft.points.remove(index)),
                Rest::Statements => {
                    let point = &mut draft.points[index];
                    point.queries = None;
                    (point.reads, point.writes, point.other) = (None, None, None);
                }
                Rest::Faults => {
                    let point = &mut draft.points[index];
                    (point.errors, point.reconnects) = (None, None);
                }
            }
        }
    }
}

fn describe(kind: &Kind, wild: &Wild) -> String {
    let what = match kind.rest {
        Rest::Events => "the line is",
        Rest::Statements | Rest::Faults => "these figures are",
    };
    format!(
        "the line implies about {:.0} {}, but the report allows only about {:.0}: {what} left out",
        wild.holds, kind.name, wild.room
    )
}

/// Threads may end early, but none is added.
fn threads(draft: &Draft, contradict: &mut impl FnMut(String)) {
    let most = draft.points.iter().max_by_key(|point| point.threads);
    let shown = most.and_then(|point| Some((point.at_s, point.threads?)));
    if let (Some((at_s, shown)), Some(threads)) = (shown, draft.threads)
        && shown > threads
    {
        contradict(format!(
            "{shown} threads ran at {at_s:.0} s, but the run had {threads}"
        ));
    }
}

/// Reads, writes and others add up to all statements. Errors at the end may be missing in lines
/// that are cut off; a single damaged line is not enough for a contradiction.
fn mix(draft: &Draft, contradict: &mut impl FnMut(String)) {
    let (mut all, mut parts, mut lines) = (0.0, 0.0, 0.0);
    for point in draft.points.iter().filter(|point| point.errors.is_some()) {
        if let (Some(queries), Some(reads), Some(writes), Some(other)) =
            (point.queries, point.reads, point.writes, point.other)
        {
            all += queries;
            parts += reads + writes + other;
            lines += 1.0;
        }
    }
    let tolerance = TIME_TOLERANCE * f64::max(all, parts) + 4.0 * RATE_ROUNDING * lines;
    if (all - parts).abs() > tolerance {
        contradict(format!(
            "the intervals' mean is {:.2} queries/s, but their reads, writes and other statements \
             add up to {:.2}",
            all / lines,
            parts / lines
        ));
    }
}

/// Compares the report's rate of events with its intervals, if they cover the run; returns whether
/// they differ.
fn rates(
    draft: &Draft,
    report: &Report,
    coverage: &Coverage,
    warn: &mut impl FnMut(String),
    contradict: &mut impl FnMut(String),
) -> bool {
    const TOLERANCE: f64 = 0.1;
    let Some(rate) = report.events_per_s() else {
        return false;
    };
    let rates: Vec<f64> = draft.points.iter().filter_map(|point| point.tps).collect();
    let time_s = report.time_s();
    // With few intervals, the unprinted last one has too much weight.
    let covers = time_s.is_some_and(|time_s| draft.last_s() > time_s * 0.95);
    if rates.len() < 10 || !covers {
        return false;
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    if (mean - rate).abs() <= TOLERANCE * rate.max(mean) || !is_far(draft, report, coverage) {
        return false;
    }
    let both = format!("the intervals' mean is {mean:.2} events/s, but the report says {rate:.2}");
    match coverage.is_whole() {
        true => contradict(format!("{both}: they do not belong to the same run")),
        false => warn(format!(
            "{both}: they do not belong to the same run, or intervals are missing"
        )),
    }
    true
}

/// Whether rounding and the events in progress at the end cannot explain the difference in events.
fn is_far(draft: &Draft, report: &Report, coverage: &Coverage) -> bool {
    let (Some(held), Some(events)) = (
        Held::of(draft, coverage, |point| point.tps),
        report.events(),
    ) else {
        return true;
    };
    let shown = draft.points.iter().filter_map(|point| point.threads).max();
    let threads = f64::from(draft.threads.or(shown).unwrap_or(0));
    let slack = match held.sum > events as f64 {
        true => held.above,
        false => held.below,
    };
    (held.sum - events as f64).abs() > slack + UNDER_WAY * threads
}

/// A quantity that both lines and report count.
struct Kind {
    name: &'static str,
    count: u64,
    pick: fn(&Point) -> Option<f64>,
    /// How to bound the events outside the lines.
    rest: Rest,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rest {
    Events,
    /// They come with events, so about the same share of them is outside the lines.
    Statements,
    /// All of them may be in the one second that no line covers.
    Faults,
}

fn kinds(report: &Report) -> Vec<Kind> {
    let transactions = report.transactions.map(|counted| counted.count);
    let kind = |name, count: Option<u64>, rest, pick| {
        count.map(|count| Kind {
            name,
            count,
            pick,
            rest,
        })
    };
    let count = |counted: Option<crate::sysbench::model::Counted>| counted.map(|c| c.count);
    let statements = Rest::Statements;
    [
        kind(
            "events",
            report.events.max(transactions),
            Rest::Events,
            |p| p.tps,
        ),
        kind("reads", report.reads, statements, |p| p.reads),
        kind("writes", report.writes, statements, |p| p.writes),
        kind("other statements", report.other, statements, |p| p.other),
        kind("ignored errors", count(report.errors), Rest::Faults, |p| {
            p.errors
        }),
        kind("reconnects", count(report.reconnects), Rest::Faults, |p| {
            p.reconnects
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The total of one kind over all lines.
struct Held {
    sum: f64,
    /// How far it may be above and below the true one, from rounded times and rates.
    above: f64,
    below: f64,
    /// Whether the last line ends no earlier than printed.
    punctual: bool,
    /// Whether all lines include it.
    all: bool,
}

impl Held {
    fn of(draft: &Draft, coverage: &Coverage, pick: fn(&Point) -> Option<f64>) -> Option<Self> {
        let mut contained = Self {
            sum: 0.0,
            above: 0.0,
            below: 0.0,
            punctual: true,
            all: true,
        };
        // If two intervals do not meet at the printed time, one contains more than its line says,
        // and the other less. sysbench sleeps until each report, so a line may be late but never
        // early, as long as all lines have the usual distance. After a longer distance, a time may
        // be rounded up.
        let (mut before, mut before_s): (Option<f64>, f64) = (None, 0.0);
        let mut any = false;
        let lengths = coverage.lengths_s.iter().zip(&coverage.joined);
        for (index, (point, (length, joined))) in draft.points.iter().zip(lengths).enumerate() {
            let rate = pick(point);
            // The change from the line before it.
            let (rise, fall) = match (before, rate) {
                (Some(before), Some(rate)) if *joined => (rate - before, before - rate),
                (None, Some(_)) if *joined && index == 0 => (0.0, 0.0),
                (before, rate) => {
                    contained.punctual = false;
                    let both = before.unwrap_or(0.0) + rate.unwrap_or(0.0);
                    (both, both)
                }
            };
            contained.add(rise, fall);
            contained.punctual &= *joined && (point.at_s - before_s - length).abs() < PUNCTUAL_S;
            if let Some(rate) = rate {
                contained.sum += rate * length;
                contained.above += RATE_ROUNDING * length;
                contained.below += RATE_ROUNDING * length;
                any = true;
            } else {
                contained.all = false;
            }
            (before, before_s) = (rate, point.at_s);
        }
        let last = before.unwrap_or(0.0);
        contained.add(-last, last);
        any.then_some(contained)
    }

    /// Adds the largest error from a rounded border between two intervals, if the rate rises and
    /// falls by this much.
    fn add(&mut self, rise: f64, fall: f64) {
        let either = rise.max(fall);
        let (rise, fall) = match self.punctual {
            true => (rise, fall),
            false => (either, either),
        };
        self.above += TIME_ROUNDING_S * rise.max(0.0);
        self.below += TIME_ROUNDING_S * fall.max(0.0);
    }
}

/// No total of the lines exceeds the report's; and if they cover all but the unprinted last
/// interval, none is far below it.
fn sums(
    draft: &Draft,
    report: &Report,
    coverage: &Coverage,
    rates_reported: bool,
    warn: &mut impl FnMut(String),
    contradict: &mut impl FnMut(String),
) {
    let mut events_outside = None;
    for kind in kinds(report) {
        let Some(held) = Held::of(draft, coverage, kind.pick) else {
            continue;
        };
        let count = kind.count as f64;
        if kind.rest == Rest::Events && kind.count > 0 {
            events_outside = Some((1.0 - held.sum / count).max(0.0));
        }
        let above = held.sum - held.above > count * (1.0 + TIME_TOLERANCE) + 1.0;
        // If the report says 0, every interval must be 0, too.
        let above = above || (kind.count == 0 && held.sum > 0.0);
        let below = below(draft, report, coverage, &kind, &held, events_outside);
        if !(above || below) || (kind.rest == Rest::Events && rates_reported) {
            continue;
        }
        let decimals = usize::from(held.sum < 10.0);
        let text = format!(
            "the intervals contain about {:.decimals$} {}, but the report says {}",
            held.sum, kind.name, kind.count
        );
        // Without a known report interval, lines may have been removed.
        match draft.report_interval_s.is_some() || kind.count == 0 {
            true => contradict(text),
            false => warn(format!("{text}, or intervals are missing")),
        }
    }
}

/// Maximum number of events that can end in the time after the last line: on each thread the one in
/// progress, and as many of minimum length as fit. `None` if that length is unknown; with a rate,
/// the printed minimum includes a wait. Before version 1.0 lines count COMMITs.
fn ending(draft: &Draft, report: &Report, threads: f64, tail_s: f64) -> Option<f64> {
    // It is printed with two decimals.
    let shortest_ms = report.min_ms? - 0.005;
    let known = shortest_ms > 0.0 && draft.rate_per_s.is_none() && !report.is_old;
    known.then(|| threads * (tail_s * 1000.0 / shortest_ms + UNDER_WAY))
}

/// Whether the report's count exceeds the lines by more than the uncovered time explains.
fn below(
    draft: &Draft,
    report: &Report,
    coverage: &Coverage,
    kind: &Kind,
    held: &Held,
    events_outside: Option<f64>,
) -> bool {
    let time_s = report.time_s();
    let (Some(time_s), Some(length), Some(threads)) =
        (time_s, coverage::usual_s(draft), draft.threads)
    else {
        return false;
    };
    let tail_s = (time_s - draft.last_s()).max(0.0);
    if !held.all || !coverage.is_whole() || tail_s > length * 1.5 {
        return false;
    }
    let (count, threads) = (kind.count as f64, f64::from(threads));
    let missing = count - held.sum - held.below;
    match kind.rest {
        // A run may stall for long; at its end, only the events in progress end.
        Rest::Events => {
            let ending = ending(draft, report, threads, tail_s).filter(|_| held.punctual);
            let many = ending.is_some_and(|ending| missing > TIME_TOLERANCE * count + ending);
            many || tail_s < length * 0.1 && missing > 0.5 * count + UNDER_WAY * threads
        }
        Rest::Statements => {
            let outside = events_outside.unwrap_or(tail_s / time_s.max(length));
            tail_s < time_s * 0.25
                && missing > (outside + MIX_TOLERANCE) * count + AFTERWARDS * threads
        }
        Rest::Faults => false,
    }
}
