//! Checks that the figures of one log agree with each other.

use dyno_core::catalogue::names;
use dyno_core::record::Fact;
use dyno_core::text::{number_of, verb};

use crate::coverage::{self, Coverage};
use crate::intervals;
use crate::laws;
use crate::limits;
use crate::runs;
use crate::sysbench::head;
use crate::sysbench::laws::Broken;
use crate::sysbench::model::{Counted, Draft, Report};

/// Relative tolerance between two times. Counts and rates of a few hundred events imply the time
/// more precisely than that.
pub(crate) const TIME_TOLERANCE: f64 = 0.02;

/// Relative tolerance between the times that two counts and their rates imply, in addition to the
/// digits of rates. sysbench computes all rates from one time; published reports differ by 0.02 %.
const SAME_TIME: f64 = 0.002;
/// sysbench takes the time of rates and the total time one after the other.
const CLOCKS_S: f64 = 0.01;
/// Half of the last digit of a thread's time in events (`%.4f`).
const THREAD_S_ROUNDING: f64 = 0.000_05;
/// Half of the last digit of rates (`%.2f`).
const RATE_ROUNDING: f64 = 0.005;

/// Returns contradictions as (line, sentence), and facts about the run's length. Figures of one log
/// that cannot all be true are a fact, too.
pub(crate) fn check(draft: &Draft, broken: &[Broken]) -> (Vec<(Option<usize>, String)>, Vec<Fact>) {
    let coverage = Coverage::of(draft);
    let (mut warnings, mut facts) = (Vec::new(), Vec::new());
    if let Some(missing) = coverage::missing(draft, &coverage) {
        warnings.push((Some(missing.line), missing.warning));
        facts.push(runs::gaps(missing.what));
    }
    if let Some(report) = &draft.report {
        let line = Some(report.line);
        let mut contradictions = Vec::new();
        let mut contradict = |text: String| contradictions.push(text);
        let mut warn = |text: String| warnings.push((line, text));
        for printed in &report.unreadable {
            contradict(format!("`{printed}` is impossible"));
        }
        if let Some(fact) = limits::cut_off(report, &mut warn) {
            facts.push(fact);
        }
        if draft.threads == Some(0) {
            contradict("it reports 0 threads, which cannot produce these figures".to_owned());
        }
        // After a checkpoint the counts cover only part of the printed time.
        if draft.checkpoints.is_empty() {
            length(draft, report, &mut warn, &mut contradict, &mut facts);
            limits::busy(draft, report, &mut contradict);
            limits::little(draft, report, &mut contradict);
            in_events(draft, report, &mut contradict);
        }
        limits::no_time(report, &mut contradict);
        intervals::check(draft, report, &coverage, &mut warn, &mut contradict);
        rates(report, &mut contradict);
        for law in broken {
            contradict(law.text.clone());
        }
        spread(draft, report, &mut contradict);
        sums(report, &mut warn, &mut contradict);
        facts.extend(runs::contradictions(&contradictions));
        warnings.extend(contradictions.into_iter().map(|text| (line, text)));
    }
    (warnings, facts)
}

/// The length of the run: as printed, and as implied by a count and its rate.
fn length(
    draft: &Draft,
    report: &Report,
    warn: &mut impl FnMut(String),
    contradict: &mut impl FnMut(String),
    facts: &mut Vec<Fact>,
) {
    let mut fact = |name: &str, seconds: f64, source: &str| {
        facts.push(Fact::new(name, format!("{seconds:.3}"), source));
    };
    let printed = report.total_time_s.map(|s| (s, "the report's total time"));
    let implied = report.implied_time_s();
    let typed = commanded_s(draft).map(|s| (s, "the command line"));
    if let Some(implied) = implied {
        let source = "a count divided by its printed rate";
        fact(names::IMPORT_IMPLIED_TIME_S, implied, source);
    }
    let reference = implied.or(report.total_time_s);
    let differs = |stated: f64| {
        reference.is_some_and(|s| (stated - s).abs() > CLOCKS_S + TIME_TOLERANCE * stated.max(s))
    };
    // If one of several statements is contradicted, report that one.
    let stated = [printed, typed].into_iter().flatten();
    let stated: Vec<(f64, &str)> = stated.collect();
    let reported = stated
        .iter()
        .find(|(seconds, _)| differs(*seconds))
        .or(stated.first());
    if let Some(&(seconds, source)) = reported {
        fact(names::IMPORT_STATED_TIME_S, seconds, source);
    }
    for (stated, source) in stated {
        if let Some(reference) = reference.filter(|_| differs(stated)) {
            let from = match implied {
                Some(_) => "its counts and rates imply",
                None => "the report prints",
            };
            let text = format!(
                "{source} says {stated:.1} s, but {from} {reference:.1} s: the figures belong to \
                 another run, or the run ended at another time"
            );
            // A command line that differs may be that of another run.
            match report.total_time_s == Some(stated) {
                true => contradict(text),
                false => warn(text),
            }
        }
    }
}

/// The length requested by the command line, if only time limited the run.
fn commanded_s(draft: &Draft) -> Option<f64> {
    let number = |names: &[&str]| head::option(&draft.argv, names)?.parse::<f64>().ok();
    let limited = number(&["events", "max-requests"]).is_some_and(|events| events > 0.0);
    let seconds = number(&["time", "max-time"])?;
    (!limited && seconds > 0.0 && seconds.is_finite()).then_some(seconds)
}

/// All counts with rates imply the same time.
pub(crate) fn rates(report: &Report, contradict: &mut impl FnMut(String)) {
    let Some(reference) = report.implied_time_s() else {
        return;
    };
    let events = report.events.map(|count| Counted {
        count,
        per_s: report.events_per_s,
    });
    for (name, counted) in [
        ("ignored errors", report.errors),
        ("reconnects", report.reconnects),
    ] {
        if let Some(counted) = counted {
            rate_of(name, counted, reference, contradict);
        }
    }
    for (name, counted) in [
        ("transactions", report.transactions),
        ("queries", report.queries),
        ("events", events),
    ] {
        let Some(counted) = counted.filter(|counted| counted.count > 0) else {
            continue;
        };
        let Some(per_s) = counted.per_s.filter(|per_s| *per_s > 0.0) else {
            continue;
        };
        let implied = counted.count as f64 / per_s;
        // The reference comes from a count at least as large, so its rate has more digits.
        let tolerance = SAME_TIME + 2.0 * rounding(per_s) / per_s;
        if (implied - reference).abs() > tolerance * implied.max(reference) {
            contradict(format!(
                "{} {name} at {per_s:.2} per second take {implied:.1} s, but the other figures \
                 imply {reference:.1} s",
                counted.count
            ));
        }
    }
}

/// Half of the last digit of a rate: articles may show fewer than sysbench prints.
fn rounding(per_s: f64) -> f64 {
    let decimals = |digits: f64| (per_s * digits).fract() == 0.0;
    match (decimals(1.0), decimals(10.0)) {
        (true, _) => 0.5,
        (_, true) => 0.05,
        _ => RATE_ROUNDING,
    }
}

/// A count that is small or 0 matches its rate over that time.
fn rate_of(name: &str, counted: Counted, time_s: f64, contradict: &mut impl FnMut(String)) {
    let Some(per_s) = counted.per_s else {
        return;
    };
    let implied = counted.count as f64 / time_s;
    let room = 0.01 + TIME_TOLERANCE * implied.max(per_s);
    if let Some(text) = laws::other_rate((counted.count, name), time_s, per_s, room) {
        contradict(text);
    }
}

/// Whether a latency exceeds another one that bounds it. Percentiles come from buckets that are up
/// to 2 % wide, and figures have two decimals.
pub(crate) fn is_above(low_ms: f64, high_ms: f64) -> bool {
    low_ms > high_ms * 1.05 + 0.02
}

/// The threads' mean number of events matches the number of all events.
fn spread(draft: &Draft, report: &Report, contradict: &mut impl FnMut(String)) {
    let (Some(events), Some(threads), Some((mean, _))) = (
        report.events(),
        draft.threads.filter(|threads| *threads > 0),
        report.events_spread,
    ) else {
        return;
    };
    let all = mean * f64::from(threads);
    let room = match report.events {
        // Both are sums of the same counts; means have four decimals.
        Some(_) if draft.checkpoints.is_empty() && report.unfinished.is_none() => {
            0.5 + 0.0001 * f64::from(threads)
        }
        // Events in progress at the end may be counted in only one of them.
        _ => f64::from(threads) + TIME_TOLERANCE * all.max(events as f64),
    };
    if (all - events as f64).abs() > room {
        contradict(format!(
            "{} with {mean:.1} events each {} {all:.0}, but the report says {events}",
            number_of(threads, "thread"),
            verb(threads, "makes", "make")
        ));
    }
}

/// The threads' mean time in events matches the sum of latencies.
fn in_events(draft: &Draft, report: &Report, contradict: &mut impl FnMut(String)) {
    let (Some(events), Some(avg), Some(threads), Some((time_s, _))) = (
        report.events().filter(|events| *events > 0),
        report.avg_ms.filter(|avg| *avg > 0.0),
        draft.threads.filter(|threads| *threads > 0),
        report.time_spread.filter(|(time_s, _)| *time_s > 0.0),
    ) else {
        return;
    };
    let mean_ms = time_s * 1000.0 * f64::from(threads) / events as f64;
    // Averages are printed with two decimals, and the time of a thread with four.
    let rounding_ms = THREAD_S_ROUNDING * 1000.0 * f64::from(threads) / events as f64;
    if (mean_ms - avg).abs() > 0.02 + rounding_ms + TIME_TOLERANCE * mean_ms.max(avg) {
        contradict(format!(
            "{} that spent {time_s:.1} s each in {} {} a mean of {mean_ms:.2} ms, but the report \
             says {avg:.2} ms",
            number_of(threads, "thread"),
            number_of(events, "event"),
            verb(threads, "makes", "make")
        ));
    }
}

fn sums(report: &Report, warn: &mut impl FnMut(String), contradict: &mut impl FnMut(String)) {
    if let (Some(reads), Some(writes), Some(other), Some(total)) =
        (report.reads, report.writes, report.other, report.total)
    {
        let sum = u128::from(reads) + u128::from(writes) + u128::from(other);
        if sum != u128::from(total) {
            contradict(format!(
                "reads, writes and other statements add up to {sum}, but the total says {total}"
            ));
        }
    }
    if let (Some(total), Some(queries)) = (report.total, report.queries)
        && total != queries.count
    {
        contradict(format!(
            "a total of {}, but {} {}",
            number_of(total, "statement"),
            queries.count,
            verb(queries.count, "query", "queries")
        ));
    }
    if let (Some(events), Some(transactions)) = (report.events, report.transactions)
        && events != transactions.count
    {
        let (events, commits) = (number_of(events, "event"), transactions.count);
        let text = format!("{events}, but {}", number_of(commits, "transaction"));
        // Before version 1.0 transactions are the number of COMMITs sent.
        match report.is_old {
            true => warn(text),
            false => contradict(text),
        }
    }
}
