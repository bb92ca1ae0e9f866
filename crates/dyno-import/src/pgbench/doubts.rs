//! Inconsistencies in pgbench's output.

use super::output::Output;
use super::record::times;
use super::sums::Sums;
use crate::conservation;

/// Relative tolerance between figures of the same quantity.
const TOLERANCE: f64 = 0.05;
/// Times are printed with three decimals of a millisecond.
const LATENCY_ROUNDING_MS: f64 = 0.001;
/// Progress lines may be this late; their times have one decimal of a second.
const LINE_S: f64 = 0.15;
/// A run may be shorter than requested if all clients were aborted, or connecting took long.
const SHORTER_S: f64 = 1.0;
/// Progress lines that cover this share of a run hold at least half as much of its transactions.
const COVERED: f64 = 0.75;

/// The minimum share of clients that rate and latency must account for if no client ever waits.
const BUSY_MIN: f64 = 0.75;

/// The warning for progress lines without a report.
pub(super) const CUT_OFF: &str = "the report is missing or cut off";
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
            "the printed mean latency of {whole_ms:.3} ms includes {connecting_ms:.3} ms to \
             connect for each transaction, which is excluded"
        );
        said.push((Some(output.line), text));
    }
    if output.latency_with_failures {
        let text = "the mean latency includes failed transactions (including failures)";
        said.push((Some(output.line), text.to_owned()));
    }
    if !output.points.is_empty() && !output.is_whole() {
        let text = format!("{CUT_OFF}; the totals are those of the lines of progress");
        said.push((Some(output.line), text));
        let skipped = output.points.iter().filter_map(|point| point.skipped);
        let skipped = skipped.fold(0_u64, u64::saturating_add);
        if skipped > 0 {
            let text = format!("{skipped} transactions were skipped because they were too late");
            said.push((Some(output.line), text));
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

/// Findings that only a log of sums shows.
pub(super) fn of_sums(output: &Output, sums: &Sums) -> Option<(Option<usize>, String)> {
    let skipped = sums.skipped();
    (skipped > 0 && output.processed.is_none() && output.points.is_empty()).then(|| {
        let text = format!("{skipped} transactions were skipped because they were too late");
        (None, text)
    })
}

/// Figures of one output that cannot all be true.
pub(super) fn contradictions(output: &Output, started: Option<f64>) -> Vec<String> {
    let mut all = Vec::new();
    if let (Some(processed), Some(tps)) = (output.processed, output.tps) {
        if processed > 0 && tps <= 0.0 {
            all.push(format!("{processed} transactions, but {tps} per second"));
        }
        all.extend(busy(output, tps));
        all.extend(length(output, processed, tps));
        all.extend(parts(output, processed));
        all.extend(progress(output, started, processed, tps));
    }
    all.extend(lag(output));
    all.extend(more_than_asked(output));
    all.extend(failed_share(output));
    all
}

/// Checks that there are no more transactions than the clients should execute.
fn more_than_asked(output: &Output) -> Option<String> {
    let (each, clients, processed) = (output.per_client?, output.clients?, output.processed?);
    let asked = each.saturating_mul(u64::from(clients));
    (processed > asked).then(|| {
        format!(
            "{processed} transactions were processed, but {clients} clients with {each} each make \
             {asked}"
        )
    })
}

/// Checks the share of failed transactions against their count. Versions differ in whether skipped
/// ones count.
fn failed_share(output: &Output) -> Option<String> {
    /// The share has three decimals.
    const ROUNDING: f64 = 0.001;
    let (failed, percent) = (output.failed?, output.failed_percent?);
    let all = output.processed?.saturating_add(failed);
    let share = |of: u64| 100.0 * failed as f64 / of.max(1) as f64;
    let most = share(all);
    let least = share(all.saturating_add(output.skipped.unwrap_or(0)));
    (percent < least - ROUNDING || percent > most + ROUNDING).then(|| {
        format!("{failed} failed transactions of {all} are {most:.3} %, but it says {percent:.3} %")
    })
}

/// Checks the lag behind the schedule: its mean must not exceed its maximum, or the mean latency,
/// which includes it.
pub(super) fn lag(output: &Output) -> Option<String> {
    let (mean_ms, longest_ms) = output.lag_ms?;
    let is_above = |limit_ms: f64| mean_ms > limit_ms + LATENCY_ROUNDING_MS;
    if is_above(longest_ms) {
        return Some(format!(
            "the mean lag behind the schedule, {mean_ms:.3} ms, is above the longest, \
             {longest_ms:.3} ms"
        ));
    }
    let latency_ms = output
        .latency_ms
        .filter(|latency_ms| is_above(*latency_ms))?;
    Some(format!(
        "the mean lag behind the schedule, {mean_ms:.3} ms, is above the mean latency, \
         {latency_ms:.3} ms, which includes it"
    ))
}

/// Little's law: the rate times the mean latency, without the lag behind a schedule, is the number
/// of busy clients.
fn busy(output: &Output, tps: f64) -> Option<String> {
    let (clients, printed_ms) = (output.clients?, output.latency_ms?);
    let lag_ms = output.lag_ms.map_or(0.0, |(mean_ms, _)| mean_ms);
    let mean_ms = printed_ms - lag_ms;
    // If no transaction was timed, the computed mean includes the time to connect.
    let with_connecting = output
        .tps_with_connecting
        .filter(|_| output.stddev_ms.is_none());
    let tps = with_connecting.unwrap_or(tps);
    let busy = |rounding_ms: f64| tps * (mean_ms + rounding_ms).max(0.0) / 1e3;
    let all = f64::from(clients);
    let most = busy(-LATENCY_ROUNDING_MS);
    let least = busy(LATENCY_ROUNDING_MS);
    let busy_clients = match () {
        () if most > all * (1.0 + TOLERANCE) => most,
        () if least < all * BUSY_MIN && is_always_busy(output) => least,
        () => return None,
    };
    Some(format!(
        "{tps:.1} transactions per second of {mean_ms:.3} ms each keep {busy_clients:.1} clients \
         busy, but there were {clients}"
    ))
}

/// Whether each client begins a transaction as soon as the previous one has ended, until the time
/// is over, and each transaction counts.
fn is_always_busy(output: &Output) -> bool {
    let rated = output.lag_ms.is_some() || output.points.iter().any(|p| p.lag_ms.is_some());
    let rates = output.tps_with_connecting.zip(output.tps);
    let slow = rates.is_some_and(|(with, without)| with < without * (1.0 - TOLERANCE));
    let connects = slow || output.reconnecting_ms.is_some();
    let failed = output.failed.is_some_and(|failed| failed > 0);
    let timed = output.duration_s.is_some_and(|s| s > 0.0);
    timed && !rated && !connects && !failed && !output.aborted
}

/// Checks the requested duration against the count and its rate.
fn length(output: &Output, processed: u64, tps: f64) -> Option<String> {
    let stated_s = output.duration_s.filter(|seconds| *seconds > 0.0)?;
    let rate = output.tps_with_connecting.unwrap_or(tps);
    if rate <= 0.0 || processed == 0 || output.aborted {
        return None;
    }
    let made_s = processed as f64 / rate;
    let connecting_s = output.connecting_ms.unwrap_or(0.0) / 1e3;
    let short =
        made_s < stated_s * (1.0 - TOLERANCE) - connecting_s - SHORTER_S.min(stated_s / 2.0);
    // Transactions in progress at the end took no longer than all transactions together.
    let latencies_s = output
        .latency_ms
        .map_or(f64::INFINITY, |ms| processed as f64 * ms / 1e3);
    let long = made_s > stated_s * (1.0 + TOLERANCE) + latencies_s + SHORTER_S;
    (short || long).then(|| {
        format!(
            "{processed} transactions at {rate:.1} per second take {made_s:.1} s, but the report's \
             duration is {stated_s:.1} s"
        )
    })
}

/// Checks that no part exceeds the whole.
fn parts(output: &Output, processed: u64) -> Vec<String> {
    let mut all = Vec::new();
    // Versions differ in what they include in the count.
    let most = processed
        .saturating_add(output.skipped.unwrap_or(0))
        .saturating_add(output.failed.unwrap_or(0));
    if let Some((limit_ms, above)) = output.limit.filter(|(_, above)| *above > most) {
        all.push(format!(
            "{above} of {processed} transactions were above the limit of {limit_ms} ms"
        ));
    }
    let scripts = output.scripts.iter();
    let scripts = scripts.filter_map(|script| script.transactions);
    let sum = scripts.fold(0_u64, u64::saturating_add);
    if sum > most {
        all.push(format!(
            "the scripts have {sum} transactions, but all together are {processed}"
        ));
    }
    all
}

/// Progress lines hold no more transactions than the report; if they cover the run, not much less.
fn progress(output: &Output, started: Option<f64>, processed: u64, tps: f64) -> Option<String> {
    let (mut sum, mut most, mut covered_s) = (0.0, 0.0_f64, 0.0);
    for (_, length_s, point) in times(output, started) {
        sum += point.tps * length_s;
        most = most.max(point.tps);
        covered_s += length_s;
    }
    if covered_s <= 0.0 {
        return None;
    }
    // Some versions also count skipped transactions.
    let count = processed
        .saturating_add(output.skipped.unwrap_or(0))
        .saturating_add(output.failed.unwrap_or(0)) as f64;
    let slack = 2.0 * LINE_S * most + 1.0;
    let above = sum - slack > count * (1.0 + TOLERANCE);
    let rate = output.tps_with_connecting.unwrap_or(tps);
    let time_s = processed as f64 / rate;
    let below = rate > 0.0
        && covered_s >= COVERED * time_s
        && (sum + slack) * 2.0 < processed as f64 * COVERED;
    (above || below).then(|| {
        format!(
            "the lines of progress hold about {sum:.0} transactions, but the report says \
             {processed}"
        )
    })
}

/// Marks and reports progress lines that exceed the report's total.
pub(super) fn leave_out(output: &mut Output, started: Option<f64>) -> Vec<(Option<usize>, String)> {
    let Some(processed) = output.processed else {
        return Vec::new();
    };
    // Some versions also count failed or skipped transactions.
    let total = processed
        .saturating_add(output.failed.unwrap_or(0))
        .saturating_add(output.skipped.unwrap_or(0));
    let lines: Vec<(usize, (f64, f64))> = times(output, started)
        .map(|(_, length_s, point)| (point.line, (point.tps, length_s)))
        .collect();
    let held: Vec<(f64, f64)> = lines.iter().map(|(_, held)| *held).collect();
    let mut said = Vec::new();
    for wild in conservation::wild(&held, total as f64, LINE_S) {
        let line = lines[wild.index].0;
        let text = format!(
            "the line holds about {:.0} transactions, but the report leaves room for about {:.0}: \
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
