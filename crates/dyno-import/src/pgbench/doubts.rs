//! Inconsistencies in pgbench's output.

use dyno_core::text::{number_of, verb};

use super::longest::longest_s;
use super::of_lines::{self, LINE_S};
use super::output::Output;
use super::record::{throttled, times};
use super::sums::Sums;
use super::{connecting, counts, ending, holes, of_scripts, of_statements};
use crate::conservation;
use crate::laws::{self, Precision, Spread};

/// Relative tolerance between figures of the same quantity.
const TOLERANCE: f64 = 0.05;
/// Times are printed with three decimals of a millisecond.
pub(super) const LATENCY_ROUNDING_MS: f64 = 0.001;
/// A run may be shorter than requested if all clients were aborted, or connecting took long.
const SHORTER_S: f64 = 1.0;
/// The alarm that ends a run may be this late or early: a share, and seconds.
const ALARM: (f64, f64) = (0.01, 0.05);
/// The longest gap between random starts, in mean gaps, at the end of a run with a schedule.
const GAPS: f64 = 10.0;
/// Relative tolerance between the lines' counts and the report's, apart from their rounding.
pub(super) const LINES: f64 = 0.01;

/// The minimum share of clients that rate and latency must account for if no client ever waits.
pub(super) const BUSY_MIN: f64 = 0.75;
/// Clients cannot be busier than all of the time, apart from rounding.
const BUSY_MOST: f64 = 1.01;
/// Relative tolerance of a mean that is computed from the time of the run.
const COMPUTED: f64 = 0.01;
/// A thread with more clients than this may be busy all the time.
const CROWDED: f64 = 16.0;
/// A client starts its next transaction once its thread has handled its other clients, which takes
/// this long for each of them. That time is not in a latency.
const TURN_MS: f64 = 0.1;

/// Why a run failed.
pub(super) const ABORTED: &str =
    "pgbench aborted clients (Run was aborted), so its results are incomplete";

pub(super) fn said(output: &Output) -> Vec<(Option<usize>, String)> {
    let mut said = output.said.clone();
    // A few connections at the beginning of a run are not part of a transaction's time.
    const SMALL: f64 = 0.99;
    if let (Some(whole_ms), Some(own_ms)) = (output.latency_ms, output.mean_ms())
        && own_ms < whole_ms * SMALL
    {
        let connecting_ms = whole_ms - own_ms;
        let text = format!(
            "the printed mean latency of {whole_ms:.3} ms includes connecting, on average \
             {connecting_ms:.3} ms per transaction, which is excluded"
        );
        said.push((Some(output.line), text));
    }
    if output.latency_with_failures {
        let text = "the mean latency includes failed transactions (including failures)";
        said.push((Some(output.line), text.to_owned()));
    }
    let only_lines = !output.points.is_empty() && !output.is_whole();
    if let Some(missing) = ending::missing(output).filter(|_| !output.lacks_rate) {
        let text = match only_lines {
            true => format!("{missing}; the totals are those of the progress lines"),
            false => missing.to_owned(),
        };
        said.push((Some(output.line), text));
    }
    if let Some(line) = output.foreign.filter(|_| !output.aborted) {
        let text = "this message of pgbench is not in English, so it is unknown whether clients \
                    were aborted";
        said.push((Some(line), text.to_owned()));
    }
    if only_lines {
        let skipped = output.points.iter().filter_map(|point| point.skipped);
        let skipped = skipped.fold(0_u64, u64::saturating_add);
        if skipped > 0 {
            said.push((Some(output.line), too_late(skipped)));
        }
    }
    let complaints = output.complaints.iter();
    said.extend(complaints.map(|(line, text)| (Some(*line), format!("pgbench says: {text}"))));
    if let (Some(per_client), Some(clients), Some(processed)) =
        (output.per_client, output.clients, output.processed)
    {
        let asked = per_client.saturating_mul(u64::from(clients));
        if processed < asked {
            let text = format!(
                "{processed} of {asked} transactions were processed: clients were aborted, or \
                 transactions failed"
            );
            said.push((Some(output.line), text));
        }
    }
    said
}

/// Findings that only a log of sums without a report shows.
pub(super) fn of_sums(output: &Output, sums: &Sums) -> Vec<(Option<usize>, String)> {
    if output.processed.is_some() || !output.points.is_empty() {
        return Vec::new();
    }
    let left_out = sums.left_out().map(|left_out| {
        format!(
            "{} of the first and the last interval {} left out: it is unknown how much of these \
             intervals the run covers",
            number_of(left_out, "transaction"),
            verb(left_out, "is", "are")
        )
    });
    let skipped = Some(sums.skipped()).filter(|skipped| *skipped > 0);
    let all = left_out.into_iter().chain(skipped.map(too_late));
    all.map(|text| (None, text)).collect()
}

fn too_late(skipped: u64) -> String {
    format!(
        "{} {} skipped because {} too late",
        number_of(skipped, "transaction"),
        verb(skipped, "was", "were"),
        verb(skipped, "it was", "they were")
    )
}

/// Figures of one output that cannot all be true. A latency or a figure of a script or statement
/// that others contradict is removed, and a rate replaced; counts stay.
pub(super) fn contradictions(output: &mut Output, started: Option<f64>) -> Vec<String> {
    let mut all = Vec::new();
    let mut wrong_mean = Vec::new();
    if let (Some(processed), Some(printed)) = (output.processed, output.tps) {
        if processed > 0 && printed <= 0.0 {
            let processed = number_of(processed, "transaction");
            all.push(format!("{processed}, but {printed} per second"));
        }
        let (wrong_rate, tps) = rate(output, processed, printed);
        all.extend(wrong_rate);
        wrong_mean.extend(busy(output, tps));
        all.extend(parts(output, processed));
        all.extend(progress(output, started, processed, tps));
        all.extend(of_lines::counts(output, processed, tps));
        all.extend(of_lines::leave_out_latencies(output, started));
        all.extend(counts::contradictions(output, processed));
        let knows_mean = wrong_mean.is_empty();
        if knows_mean {
            wrong_mean.extend(of_lines::mean(output, started, processed));
        }
        if wrong_mean.is_empty() {
            wrong_mean.extend(of_scripts::leave_out_means(output, processed));
        }
        let wrong_lag = of_lines::lag(output, started, processed);
        output.lag_in_doubt = wrong_lag.is_some();
        all.extend(wrong_lag);
        all.extend(of_scripts::leave_out(output, processed, tps));
        all.extend(of_statements::leave_out(output, processed, tps, knows_mean));
    }
    all.extend(output.mixed.clone());
    let wrong_lag = lag(output);
    output.lag_in_doubt |= wrong_lag.is_some();
    all.extend(wrong_lag);
    all.extend(more_than_asked(output));
    all.extend(failed_share(output));
    if !wrong_mean.is_empty() {
        (output.latency_ms, output.stddev_ms) = (None, None);
    }
    wrong_mean.extend(all);
    wrong_mean
}

/// Checks that there are no more transactions than the clients should execute.
fn more_than_asked(output: &Output) -> Option<String> {
    let (each, clients, processed) = (output.per_client?, output.clients?, output.processed?);
    let asked = each.saturating_mul(u64::from(clients));
    (processed > asked).then(|| {
        format!(
            "{} {} processed, but {} with {each} each {} {asked}",
            number_of(processed, "transaction"),
            verb(processed, "was", "were"),
            number_of(clients, "client"),
            verb(clients, "makes", "make")
        )
    })
}

/// Checks the share of failed transactions against their count.
fn failed_share(output: &Output) -> Option<String> {
    /// The share has three decimals.
    const ROUNDING: f64 = 0.001;
    let (failed, percent) = (output.failed?, output.failed_percent?);
    let all = output.processed?.saturating_add(failed);
    let share = |of: u64| 100.0 * failed as f64 / of.max(1) as f64;
    let most = share(all);
    let least = match ending::knows_all(output) {
        true => share(all.saturating_add(output.skipped.unwrap_or(0))),
        false => 0.0,
    };
    (percent < least - ROUNDING || percent > most + ROUNDING).then(|| {
        format!(
            "{} of {all} {} {most:.3} %, but the log says {percent:.3} %",
            number_of(failed, "failed transaction"),
            verb(failed, "is", "are")
        )
    })
}

/// Checks the lag behind the schedule: its mean must not exceed its maximum, or the mean latency,
/// which includes it.
fn lag(output: &Output) -> Option<String> {
    let (mean_ms, longest_ms) = output.lag_ms?;
    let lags = Spread {
        what: "lags behind the schedule",
        unit: "ms",
        precision: Precision {
            half_digit: LATENCY_ROUNDING_MS / 2.0,
            decimals: 3,
            bucket: 0.0,
            last_bucket: f64::INFINITY,
        },
        count: None,
        min: None,
        mean: Some(mean_ms),
        max: Some(longest_ms),
        stddev: None,
        percentiles: &[],
    };
    if let Some(law) = lags.broken().pop() {
        return Some(law.text);
    }
    let is_above = |latency_ms: &f64| mean_ms > latency_ms + LATENCY_ROUNDING_MS;
    let latency_ms = output.latency_ms.filter(is_above)?;
    Some(format!(
        "the mean lag behind the schedule, {mean_ms:.3} ms, is above the mean latency, \
         {latency_ms:.3} ms, which includes it"
    ))
}

/// Little's law: the rate times the mean latency, without the lag behind a schedule, is the number
/// of busy clients.
fn busy(output: &Output, tps: f64) -> Option<String> {
    let processed = output.processed?;
    let (clients, printed_ms) = (output.clients?, output.latency_ms?);
    let lag_ms = output.lag_ms.map_or(0.0, |(mean_ms, _)| mean_ms);
    let mean_ms = printed_ms - lag_ms;
    // If no transaction was timed, the computed mean includes the time to connect.
    let with_connecting = output
        .tps_with_connecting
        .filter(|_| output.stddev_ms.is_none());
    let tps = with_connecting.unwrap_or(tps);
    let busy = |more_ms: f64| laws::busy(tps, mean_ms + more_ms);
    let all = f64::from(clients);
    let most = busy(-LATENCY_ROUNDING_MS);
    let least = busy(LATENCY_ROUNDING_MS);
    let always = is_always_busy(output);
    // Clients wait while their thread handles another one; a thread with many has no time left.
    let threads = f64::from(output.threads.unwrap_or(clients).max(1));
    let others = (all - threads).max(0.0);
    let in_turn = laws::busy(tps, between_ms(output)).min(others);
    let always = always && all / threads <= CROWDED;
    let nearly = all * (1.0 - TOLERANCE) * (1.0 - idle_share(output, processed, tps));
    let busy_clients = match () {
        () if most > all * BUSY_MOST => most,
        () if least + in_turn < all * BUSY_MIN && always => least,
        () if always && busy(LATENCY_ROUNDING_MS + between_ms(output)) < nearly => least,
        () if is_computed(output) && !is_of_clients(output, processed, printed_ms) => least,
        () => return None,
    };
    let mean = format!("{mean_ms:.3}");
    let (rate, clients) = ((tps, "transactions"), (clients, "clients"));
    Some(laws::busy_sessions(rate, &mean, busy_clients, clients))
}

/// The most time between two transactions of a client.
pub(super) fn between_ms(output: &Output) -> f64 {
    let clients = f64::from(output.clients.unwrap_or(1));
    TURN_MS * (clients / f64::from(output.threads.unwrap_or(1).max(1))).max(1.0)
}

/// The share of the run in which clients wait for others: after the requested duration, for the
/// last transaction; up to version 13 also at the beginning, while their thread connects.
fn idle_share(output: &Output, processed: u64, tps: f64) -> f64 {
    let per_s = output.tps_with_connecting.unwrap_or(tps);
    let time_s = processed as f64 / per_s;
    let connected_s = output.connecting_ms.unwrap_or(0.0) / 1e3;
    let last_s = output.duration_s.map_or(0.0, |s| time_s + connected_s - s);
    let rates = output.tps_with_connecting.zip(output.tps);
    // The difference is the mean over clients; a thread connects all of its clients.
    let connecting_s = rates.map_or(0.0, |(with, without)| {
        (processed as f64 / with - processed as f64 / without) * between_ms(output) / TURN_MS
    });
    let share = (last_s.max(0.0) + connecting_s.max(0.0)) / time_s;
    match share.is_finite() {
        true => share.min(1.0),
        false => 1.0,
    }
}

/// Whether no transaction was timed, so that the mean is computed from the time of the run. A
/// report of which only some lines were kept may lack its deviation.
fn is_computed(output: &Output) -> bool {
    let timed = output.stddev_ms.is_some()
        || output.lag_ms.is_some()
        || output.limit.is_some()
        || !output.points.is_empty();
    let limited = output.duration_s.is_some() || output.per_client.is_some();
    let whole = output.kind.is_some() && limited;
    whole && !timed && !output.lacks_rate
}

/// Whether a computed mean is the clients' time divided by all transactions. Version 9.5 takes the
/// requested duration as the time, and prints 0 without one.
fn is_of_clients(output: &Output, processed: u64, printed_ms: f64) -> bool {
    let rate = output.tps_with_connecting.or(output.tps);
    let (Some(clients), Some(tps)) = (output.clients, rate.filter(|tps| *tps > 0.0)) else {
        return true;
    };
    if processed == 0 || (printed_ms == 0.0 && output.duration_s.is_none()) {
        return true;
    }
    let all = processed.saturating_add(output.failed.unwrap_or(0)) as f64;
    let time_s = processed as f64 / tps;
    let fits = |time_s: f64| {
        let mean_ms = f64::from(clients) * time_s * 1e3 / all;
        (mean_ms - printed_ms).abs() <= mean_ms * COMPUTED + LATENCY_ROUNDING_MS
    };
    fits(time_s) || output.duration_s.is_some_and(fits)
}

/// Whether each client begins a transaction as soon as the previous one has ended, until the time
/// is over, and each transaction counts.
pub(super) fn is_always_busy(output: &Output) -> bool {
    let rated = output.lag_ms.is_some() || output.points.iter().any(|p| p.lag_ms.is_some());
    let failed = output.failed.is_some_and(|failed| failed > 0);
    let timed = output.duration_s.is_some_and(|s| s > 0.0);
    timed && !rated && !connecting::is_slow(output) && !failed && !output.may_be_aborted()
}

/// Checks the rate against the requested duration and the count. Returns what is wrong, and the
/// rate to use: that of count and duration instead of the printed one, unless only the printed one
/// agrees with the latency.
fn rate(output: &mut Output, processed: u64, printed: f64) -> (Option<String>, f64) {
    let Some((text, tps)) = length(output, processed, printed) else {
        return (None, printed);
    };
    let mut other = output.clone();
    (other.tps, other.tps_with_connecting) = (Some(tps), None);
    if busy(output, printed).is_none() && busy(&other, tps).is_some() {
        output.length_in_doubt = true;
        return (Some(text), printed);
    }
    *output = other;
    let text = format!("{text}; the rate is that of count and duration");
    (Some(text), tps)
}

/// Checks the requested duration against the count and its rate. The second value is the rate of
/// count and duration.
fn length(output: &Output, processed: u64, tps: f64) -> Option<(String, f64)> {
    let stated_s = output.duration_s.filter(|seconds| *seconds > 0.0)?;
    let rate = output.tps_with_connecting.unwrap_or(tps);
    if rate <= 0.0 || processed == 0 || output.may_be_aborted() {
        return None;
    }
    let made_s = processed as f64 / rate;
    let connecting_s = output.connecting_ms.unwrap_or(0.0) / 1e3;
    let knows_connecting = output.connecting_ms.is_some()
        || output.reconnecting_ms.is_some()
        || output.tps_with_connecting.is_some();
    // The duration begins before the clients connect, and an alarm ends it. With a schedule the
    // clients end if the next start would be later.
    let early_s = match knows_connecting {
        true if throttled(output) => ALARM.0 * stated_s + ALARM.1 + GAPS / rate,
        true => ALARM.0 * stated_s + ALARM.1,
        false => TOLERANCE * stated_s + SHORTER_S.min(stated_s / 2.0),
    };
    let short = made_s < stated_s - connecting_s - early_s;
    // A run ends late by the transactions that are in progress when its time is over.
    let late_s = longest_s(output, processed) + SHORTER_S;
    let long = made_s > stated_s * (1.0 + TOLERANCE) + late_s;
    (short || long).then(|| {
        let text = format!(
            "{} at {rate:.1} per second {} {made_s:.1} s, but the report's duration is \
             {stated_s:.1} s",
            number_of(processed, "transaction"),
            verb(processed, "takes", "take")
        );
        (text, processed as f64 / stated_s)
    })
}

/// Checks that no part exceeds the whole.
fn parts(output: &Output, processed: u64) -> Option<String> {
    let most = counts::most(output, processed);
    let (limit_ms, above) = output.limit.filter(|(_, above)| *above > most)?;
    Some(format!(
        "{above} of {processed} transactions were above the limit of {limit_ms} ms"
    ))
}

/// Progress lines hold no more transactions than the report, and no fewer than fit into the time
/// without a line.
fn progress(output: &Output, started: Option<f64>, processed: u64, tps: f64) -> Option<String> {
    let (mut sum, mut most, mut covered_s) = (0.0, 0.0_f64, 0.0);
    let (mut before, mut uneven) = (None, 0.0);
    for (_, length_s, point) in times(output, started) {
        uneven += (point.tps - before.unwrap_or(point.tps)).powi(2);
        before = Some(point.tps);
        sum += point.tps * length_s;
        most = most.max(point.tps);
        covered_s += length_s;
    }
    if covered_s <= 0.0 {
        return None;
    }
    let count = counts::most(output, processed) as f64;
    // Each line may include some of its neighbours' time, which matters if their rates differ.
    let slack = 2.0 * LINE_S * (most + uneven.sqrt()) + 1.0;
    let above = sum - slack > count * (1.0 + LINES);
    // Those outside the lines ended in the rest of the time, or were in progress at its end.
    let rest_s = (holes::ends_s(output, processed) - covered_s).max(0.0);
    let rest = conservation::BURST * most * rest_s + f64::from(output.clients.unwrap_or(1));
    let below = tps > 0.0 && (sum + slack + rest) * (1.0 + LINES) < processed as f64;
    (above || below).then(|| {
        format!(
            "the progress lines contain about {sum:.0} transactions, but the report says \
             {processed}"
        )
    })
}

/// Marks and reports progress lines of the time to connect, and those that exceed the report's
/// total.
pub(super) fn leave_out(output: &mut Output, started: Option<f64>) -> Vec<(Option<usize>, String)> {
    let mut said = leave_out_connecting(output, started);
    let Some(processed) = output.processed else {
        return said;
    };
    let total = counts::most(output, processed);
    let lines: Vec<(usize, (f64, f64))> = times(output, started)
        .map(|(_, length_s, point)| (point.line, (point.tps, length_s)))
        .collect();
    let held: Vec<(f64, f64)> = lines.iter().map(|(_, held)| *held).collect();
    for wild in conservation::wild(&held, total as f64, LINE_S) {
        let line = lines[wild.index].0;
        let text = format!(
            "the line implies about {:.0} transactions, but the report allows only about {:.0}: \
             the line is skipped",
            wild.holds, wild.room
        );
        said.push((Some(line), text));
        let points = output.points.iter_mut();
        points
            .filter(|point| point.line == line)
            .for_each(|point| point.left_out = true);
    }
    said
}

/// Marks and reports progress lines in most of which the clients still connected.
fn leave_out_connecting(output: &mut Output, started: Option<f64>) -> Vec<(Option<usize>, String)> {
    let connected_s = output.connecting_ms.unwrap_or(0.0) / 1e3;
    let lines = times(output, started);
    let lines = lines.take_while(|(at_s, length_s, _)| at_s - length_s / 2.0 < connected_s);
    let lines: Vec<usize> = lines.map(|(_, _, point)| point.line).collect();
    let Some(first) = lines.first().copied() else {
        return Vec::new();
    };
    for point in &mut output.points {
        point.left_out |= lines.contains(&point.line);
    }
    let text = format!(
        "{} left out: the clients connected for {connected_s:.1} s",
        match lines.len() {
            1 => "the line is".to_owned(),
            count => format!("{count} lines are"),
        }
    );
    vec![(Some(first), text)]
}
