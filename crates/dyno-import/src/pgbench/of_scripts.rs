//! Compares the figures of several scripts with those of the whole run.

use dyno_core::text::{number_of, verb};

use super::doubts;
use super::output::{Output, Script};
use super::scripts::short;

/// Relative tolerance between two times: rates have six decimals.
const TOLERANCE: f64 = 0.01;
/// Shares have one decimal of a percent.
const SHARE_ROUNDING: f64 = 0.051;
/// Shares of a script's own transactions have three decimals.
const OWN_SHARE_ROUNDING: f64 = 0.001;
/// Scripts with less than this share of the transactions are not all scripts. Threads count
/// transactions without a lock, so a few may be lost.
const ALL: f64 = 0.9;

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

/// Each script's transactions are its printed share of all. Versions differ in whether both counts
/// include skipped and failed transactions.
fn shares(output: &Output, processed: u64) -> Vec<String> {
    let most = super::counts::most(output, processed);
    let wrong = |script: &Script| {
        let (count, percent) = script.share?;
        let share = |of: u64| 100.0 * count as f64 / of as f64;
        let fits = share(most) - SHARE_ROUNDING..=share(processed) + SHARE_ROUNDING;
        (!fits.contains(&percent)).then(|| {
            format!(
                "{} of {} {} {:.1} % of {processed}, but it says {percent} %",
                number_of(count, "transaction"),
                short(&script.name),
                verb(count, "is", "are"),
                share(processed)
            )
        })
    };
    output.scripts.iter().filter_map(wrong).collect()
}

/// The scripts together have the failed and the skipped transactions of the run.
fn sums(output: &Output) -> Vec<String> {
    type Pick = fn(&Script) -> Option<u64>;
    let kinds: [(&str, Pick, Option<u64>); 2] = [
        ("failed transaction", |script| script.failed, output.failed),
        (
            "skipped transaction",
            |script| script.skipped,
            output.skipped,
        ),
    ];
    let wrong = |(what, pick, all): (&str, Pick, Option<u64>)| {
        let all = all?;
        let own: Vec<u64> = output.scripts.iter().map(pick).collect::<Option<_>>()?;
        let sum = own.into_iter().fold(0, u64::saturating_add);
        let is_wrong = sum > all || (sum as f64) < fewest(output, all);
        is_wrong.then(|| {
            let sum = number_of(sum, what);
            format!("the scripts have {sum}, but the report says {all}")
        })
    };
    kinds.into_iter().filter_map(wrong).collect()
}

/// The smallest number of transactions that the scripts can have together if the run has `all`.
fn fewest(output: &Output, all: u64) -> f64 {
    let targets = output.scripts.iter().map(|script| {
        let percent = script.target_percent?;
        Some(percent + SHARE_ROUNDING)
    });
    let has_all_scripts = targets.sum::<Option<f64>>().is_some_and(|sum| sum >= 100.0);
    match (has_all_scripts, output.threads) {
        (false, _) | (_, None) => 0.0,
        (true, Some(1)) => all as f64,
        (true, Some(threads)) => all as f64 * ALL - f64::from(threads),
    }
}

/// Failed and skipped transactions of a script are their printed shares of its transactions, which
/// up to version 14 include skipped ones.
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
    let least = if output.counts_skipped() { done } else { most };
    let wrong = |(what, printed): (&str, Option<(u64, f64)>)| {
        let (count, percent) = printed?;
        let share = |of: u64| 100.0 * count as f64 / of.max(1) as f64;
        let fits = share(most) - OWN_SHARE_ROUNDING..=share(least) + OWN_SHARE_ROUNDING;
        (!fits.contains(&percent)).then(|| {
            format!(
                "{} of {most} in {} {} {:.3} %, but it says {percent:.3} %",
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
    // Up to version 13 the count includes skipped transactions, but the rate does not.
    let least = count.saturating_sub(script.skipped.unwrap_or(0)) as f64;
    let fits = least * (1.0 - TOLERANCE)..=count as f64 * (1.0 + TOLERANCE);
    (!fits.contains(&(tps * time_s))).then(|| {
        format!(
            "{} of {} in {time_s:.1} s {} {:.1} per second, but it says {tps:.1}",
            number_of(count, "transaction"),
            short(&script.name),
            verb(count, "is", "are"),
            count as f64 / time_s
        )
    })
}

/// Checks Little's law for all scripts together: their transactions cannot keep more clients busy
/// than there are, nor many fewer if no client ever waits.
fn busy(output: &Output, processed: u64, time_s: f64) -> Option<String> {
    let clients = f64::from(output.clients.filter(|clients| *clients > 0)?);
    let lag_ms = output.lag_ms.map_or(0.0, |(mean_ms, _)| mean_ms);
    let (mut count, mut sum_ms) = (0.0, 0.0);
    for script in &output.scripts {
        let own = script.transactions?;
        let own = own.saturating_sub(script.skipped.unwrap_or(0)) as f64;
        let Some(ms) = script.latency_ms else {
            // No latency is printed if no transaction succeeded.
            if own > 0.0 {
                return None;
            }
            continue;
        };
        (count, sum_ms) = (count + own, sum_ms + own * ms);
    }
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
