//! Compares the figures of several scripts with those of the whole run.

use dyno_core::text::{number_of, verb};

use super::output::{Output, Script};
use super::scripts::short;
use super::{doubts, ending};

/// Relative tolerance between two times: rates have six decimals.
const TOLERANCE: f64 = 0.01;
/// Shares have one decimal of a percent.
const SHARE_ROUNDING: f64 = 0.051;
/// Shares of a script's own transactions have three decimals.
const OWN_SHARE_ROUNDING: f64 = 0.001;
/// If the scripts have less than this share of the transactions, some scripts are missing. Threads
/// count transactions without a lock, so a few may be lost.
const ALL: f64 = 0.9;
/// Relative tolerance of means that several threads update without a lock.
const UNLOCKED: f64 = 0.1;

/// Figures of scripts that cannot be true, which are removed.
pub(super) fn leave_out(output: &mut Output, processed: u64, tps: f64) -> Vec<String> {
    let per_s = output.tps_with_connecting.unwrap_or(tps);
    if output.scripts.is_empty() || per_s <= 0.0 || processed == 0 || output.lacks_rate {
        return Vec::new();
    }
    let time_s = processed as f64 / per_s;
    let mut all = shares(output, processed);
    all.extend(sums(output));
    let scripts = output.scripts.iter();
    all.extend(scripts.flat_map(|script| own_shares(output, script)));
    for script in &mut output.scripts {
        if let Some(text) = rate(script, time_s) {
            script.tps = None;
            all.push(text);
        }
    }
    if let Some(text) = busy(output, processed, time_s) {
        for script in &mut output.scripts {
            (script.latency_ms, script.stddev_ms) = (None, None);
        }
        all.push(text);
    }
    all
}

/// Removes the scripts' means if their mean, weighted by count, is not that of all transactions,
/// which may also be the wrong one. Does not compare a mean computed from the clients' time, which
/// includes more.
pub(super) fn leave_out_means(output: &mut Output, processed: u64) -> Option<String> {
    let (mean_ms, _) = output.latency_ms.zip(output.stddev_ms)?;
    let (count, sum_ms) = timed(output)?;
    let whole = has_all(output) && count >= ALL * processed as f64 && count > 0.0;
    let own_ms = sum_ms / count;
    let unlocked = match output.threads {
        Some(1) => 0.0,
        _ => UNLOCKED,
    };
    let room = doubts::LATENCY_ROUNDING_MS * 1.01 + own_ms.max(mean_ms) * unlocked;
    if !whole || (own_ms - mean_ms).abs() <= room {
        return None;
    }
    for script in &mut output.scripts {
        (script.latency_ms, script.stddev_ms) = (None, None);
    }
    Some(format!(
        "the scripts have a mean latency of {own_ms:.3} ms together, but the report says \
         {mean_ms:.3} ms"
    ))
}

/// The number of all scripts' transactions, and the sum of their latencies.
fn timed(output: &Output) -> Option<(f64, f64)> {
    let (mut count, mut sum_ms) = (0.0, 0.0);
    for script in &output.scripts {
        let own = script.transactions? as f64;
        // No latency is printed if no transaction succeeded.
        if own > 0.0 {
            (count, sum_ms) = (count + own, sum_ms + own * script.latency_ms?);
        }
    }
    Some((count, sum_ms))
}

/// Each script's transactions are its printed share of all. Versions differ in whether both counts
/// include skipped and failed transactions.
fn shares(output: &Output, processed: u64) -> Vec<String> {
    let most = super::counts::most(output, processed);
    let knows_all = ending::knows_all(output);
    let wrong = |script: &Script| {
        let (count, percent) = script.share?;
        let share = |of: u64| 100.0 * count as f64 / of as f64;
        let low = if knows_all { share(most) } else { 0.0 };
        let fits = low - SHARE_ROUNDING..=share(processed) + SHARE_ROUNDING;
        (!fits.contains(&percent)).then(|| {
            format!(
                "{} of {} {} {:.1} % of {processed}, but the log says {percent} %",
                number_of(count, "transaction"),
                short(&script.name),
                verb(count, "is", "are"),
                share(processed)
            )
        })
    };
    output.scripts.iter().filter_map(wrong).collect()
}

/// The scripts' counts add up to those of the run: all transactions, and those that failed, were
/// skipped or retried.
fn sums(output: &Output) -> Vec<String> {
    type Pick = fn(&Script) -> Option<u64>;
    type Kind = (&'static str, &'static str, Pick, Option<u64>);
    // Without a line about skipped transactions, a script's count may include them.
    let mut scripts = output.scripts.iter();
    let processed = scripts.all(|own| ending::knows_all_of(output, own));
    let processed = output.processed.filter(|_| processed);
    let kinds: [Kind; 5] = [
        (
            "transaction",
            "transactions",
            |own| own.transactions,
            processed,
        ),
        (
            "failed transaction",
            "failed transactions",
            |own| own.failed,
            output.failed,
        ),
        (
            "skipped transaction",
            "skipped transactions",
            |own| own.skipped,
            output.skipped,
        ),
        (
            "retried transaction",
            "retried transactions",
            |own| own.retried,
            output.retried,
        ),
        ("retry", "retries", |own| own.retries, output.retries),
    ];
    let wrong = |(one, many, pick, all): Kind| {
        let all = all?;
        let own: Vec<u64> = output.scripts.iter().map(pick).collect::<Option<_>>()?;
        let sum = own.into_iter().fold(0, u64::saturating_add);
        let is_wrong = sum > all || (sum as f64) < fewest(output, all);
        is_wrong.then(|| {
            let noun = verb(sum, one, many);
            format!("the scripts have {sum} {noun}, but the report says {all}")
        })
    };
    kinds.into_iter().filter_map(wrong).collect()
}

/// Whether the report has all scripts.
fn has_all(output: &Output) -> bool {
    let targets = output.scripts.iter().map(|script| {
        let percent = script.target_percent?;
        Some(percent + SHARE_ROUNDING)
    });
    targets.sum::<Option<f64>>().is_some_and(|sum| sum >= 100.0)
}

/// The smallest number of transactions that the scripts can have together if the run has `all`.
fn fewest(output: &Output, all: u64) -> f64 {
    match (has_all(output), output.threads) {
        (false, _) | (_, None) => 0.0,
        (true, Some(1)) => all as f64,
        (true, Some(threads)) => all as f64 * ALL - f64::from(threads),
    }
}

/// Failed and skipped transactions of a script are their printed shares of its transactions, which
/// include them.
fn own_shares(output: &Output, script: &Script) -> Vec<String> {
    let kinds = [
        (
            "failed transaction",
            script.failed.zip(script.failed_percent),
        ),
        (
            "skipped transaction",
            script.skipped.zip(script.skipped_percent),
        ),
    ];
    let Some(done) = script.transactions else {
        return Vec::new();
    };
    let (failed, skipped) = (script.failed.unwrap_or(0), script.skipped.unwrap_or(0));
    let most = done.saturating_add(failed).saturating_add(skipped);
    let knows_all = ending::knows_all_of(output, script);
    let wrong = |(what, printed): (&str, Option<(u64, f64)>)| {
        let (count, percent) = printed?;
        let share = |of: u64| 100.0 * count as f64 / of.max(1) as f64;
        let low = if knows_all { share(most) } else { 0.0 };
        let fits = low - OWN_SHARE_ROUNDING..=share(most) + OWN_SHARE_ROUNDING;
        (!fits.contains(&percent)).then(|| {
            format!(
                "{} of {most} in {} {} {:.3} %, but the log says {percent:.3} %",
                number_of(count, what),
                short(&script.name),
                verb(count, "is", "are"),
                share(most)
            )
        })
    };
    kinds.into_iter().filter_map(wrong).collect()
}

/// A script's count and rate imply the same time as those of the whole run.
fn rate(script: &Script, time_s: f64) -> Option<String> {
    let (count, tps) = script.transactions.zip(script.tps)?;
    let own = count as f64;
    let fits = own * (1.0 - TOLERANCE)..=own * (1.0 + TOLERANCE);
    (!fits.contains(&(tps * time_s))).then(|| {
        format!(
            "{} of {} in {time_s:.1} s {} {:.1} per second, but the log says {tps:.1}",
            number_of(count, "transaction"),
            short(&script.name),
            verb(count, "is", "are"),
            own / time_s
        )
    })
}

/// Checks Little's law for all scripts together: their transactions cannot keep more clients busy
/// than there are, nor many fewer if no client ever waits.
fn busy(output: &Output, processed: u64, time_s: f64) -> Option<String> {
    let clients = f64::from(output.clients.filter(|clients| *clients > 0)?);
    let lag_ms = output.lag_ms.map_or(0.0, |(mean_ms, _)| mean_ms);
    let (count, sum_ms) = timed(output)?;
    let busy = |each_ms: f64| (sum_ms + count * each_ms).max(0.0) / 1e3 / time_s;
    // Only the mean lag of all scripts is printed.
    let lag = lag_ms * processed as f64 / 1e3 / time_s;
    let most = busy(-doubts::LATENCY_ROUNDING_MS) - lag;
    let whole = count >= ALL * processed as f64 && doubts::is_always_busy(output);
    let idle = busy(doubts::between_ms(output)) < clients * doubts::BUSY_MIN;
    if most > clients * (1.0 + TOLERANCE) || (whole && idle) {
        let kept = busy(0.0) - lag;
        return Some(format!(
            "the latencies of the scripts keep {kept:.1} clients busy, but there were \
             {clients:.0}"
        ));
    }
    None
}
