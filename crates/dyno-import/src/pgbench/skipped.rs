//! Transactions that were skipped because they were too late (`--rate` with `--latency-limit`).
//! Versions differ in which figures include them; here none does.

use super::output::Output;

/// The figures of pgbench that include skipped transactions: from `printResults`,
/// `printProgressReport` and `accumStats` in the `pgbench.c` of versions 9.5 and 10, and from logs
/// of 13 and 15. Dyno assumes that 9.6 is like 10, and that 11, 12 and 14 are like 13.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Included {
    /// None: version 9.5, and from 15 on.
    Nowhere,
    /// All counts, rates and means: 9.6 and 10.
    Everywhere,
    /// A script's transactions, and the divisor of the mean lag: 11 to 14.
    InLag,
}

impl Included {
    fn of(output: &Output) -> Self {
        match () {
            () if output.is_recent() || output.is_oldest => Self::Nowhere,
            // From 11 on, the line about the limit also has the number of transactions that ran.
            () if output.limit.is_some() && output.limit_of.is_none() => Self::Everywhere,
            () => Self::InLag,
        }
    }
}

/// Removes skipped transactions from the figures that include them.
pub(super) fn remove(output: &mut Output) {
    let (Some(skipped), Some(processed)) = (output.skipped, output.processed) else {
        return;
    };
    let included = Included::of(output);
    if skipped == 0 || included == Included::Nowhere {
        return;
    }
    let all = match included {
        Included::Everywhere => processed,
        _ => processed.saturating_add(skipped),
    };
    let Some(ran) = all.checked_sub(skipped).filter(|ran| *ran > 0) else {
        return;
    };
    if included == Included::Everywhere {
        from_totals(output, ran, processed);
        from_lines(output);
    }
    from_scripts(output, included);
    let Some((mean_ms, _)) = &mut output.lag_ms else {
        return;
    };
    *mean_ms *= all as f64 / ran as f64;
    let text = format!(
        "this version of pgbench averages the lag behind the schedule over skipped transactions, \
         too; over those that ran, it is {mean_ms:.3} ms"
    );
    output.said.push((Some(output.line), text));
}

fn from_totals(output: &mut Output, ran: u64, processed: u64) {
    let share = ran as f64 / processed as f64;
    output.processed = Some(ran);
    for tps in [&mut output.tps, &mut output.tps_with_connecting] {
        *tps = tps.map(|tps| tps * share);
    }
    // They are shares of a sum with skipped transactions counted twice.
    output.shares.clear();
    output.skipped_percent = None;
    let text = format!(
        "this version of pgbench counts skipped transactions as processed: {ran} of {processed} ran"
    );
    output.said.push((Some(output.line), text));
}

/// Lines with a skipped transaction have too high a rate and too low means.
fn from_lines(output: &mut Output) {
    let mut before_s = super::record::began_s(output);
    for point in &mut output.points {
        let length_s = point.length_s.unwrap_or(point.at_s - before_s);
        before_s = point.at_s;
        let per_s = point.skipped.unwrap_or(0) as f64 / length_s;
        let ran = (point.tps - per_s).max(0.0);
        if per_s <= 0.0 || !per_s.is_finite() {
            continue;
        }
        let more = point.tps / ran;
        for mean in [&mut point.latency_ms, &mut point.lag_ms] {
            *mean = mean.map(|ms| ms * more).filter(|ms| ms.is_finite());
        }
        // It cannot be computed from a mean with skipped transactions.
        point.stddev_ms = None;
        point.tps = ran;
    }
}

fn from_scripts(output: &mut Output, included: Included) {
    for script in &mut output.scripts {
        let Some((count, skipped)) = script.transactions.zip(script.skipped) else {
            continue;
        };
        let ran = count.saturating_sub(skipped);
        script.transactions = Some(ran);
        if included == Included::Everywhere {
            script.tps = script.tps.map(|tps| tps * ran as f64 / count.max(1) as f64);
            script.skipped_percent = None;
        }
    }
}
