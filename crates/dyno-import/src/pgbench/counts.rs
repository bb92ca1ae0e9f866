//! Counts and shares of one report that must agree.

use super::output::Output;

/// Shares have three decimals.
const SHARE_ROUNDING: f64 = 0.001;
/// Threads add to a statement's counts without a lock, so a few may be lost.
const STATEMENT_TOLERANCE: f64 = 0.05;
/// Means of statements have three decimals; this is in milliseconds.
const MEAN_ROUNDING: f64 = 0.001;

/// Counts of one report that cannot all be true.
pub(super) fn contradictions(output: &Output, processed: u64) -> Vec<String> {
    let mut all: Vec<String> = shares(output, processed);
    all.extend(limit(output, processed));
    all.extend(kinds(output));
    all.extend(retries(output));
    all.extend(of_statements(output));
    all
}

/// All transactions, including those that failed or were skipped. Versions differ in what they
/// count as processed, so a whole is between this and `processed`.
pub(super) fn most(output: &Output, processed: u64) -> u64 {
    processed
        .saturating_add(output.skipped.unwrap_or(0))
        .saturating_add(output.failed.unwrap_or(0))
}

/// Each count is its printed share of the whole.
fn shares(output: &Output, processed: u64) -> Vec<String> {
    let most = most(output, processed);
    let wrong = |(what, count, percent): &(&str, u64, f64)| {
        let share = |of: u64| 100.0 * *count as f64 / of.max(1) as f64;
        let (low, high) = (share(most), share(processed));
        let fits = (low - SHARE_ROUNDING..=high + SHARE_ROUNDING).contains(percent);
        (!fits).then(|| {
            format!(
                "{count} of {most} transactions {what} are {low:.3} %, but it says {percent:.3} %"
            )
        })
    };
    output.shares.iter().filter_map(wrong).collect()
}

/// Checks that the number of transactions compared with the limit agrees with the number processed.
fn limit(output: &Output, processed: u64) -> Option<String> {
    let (of, (limit_ms, above)) = output.limit_of.zip(output.limit)?;
    let least = processed.saturating_sub(output.skipped.unwrap_or(0));
    if above > of {
        return Some(format!(
            "{above} of {of} transactions were above the limit of {limit_ms} ms"
        ));
    }
    (!(least..=most(output, processed)).contains(&of)).then(|| {
        format!(
            "{above} of {of} transactions were above the limit of {limit_ms} ms, but {processed} \
             were processed"
        )
    })
}

/// Each kind of failure is a part of all failures. A later version may have more kinds.
fn kinds(output: &Output) -> Option<String> {
    let failed = output.failed?;
    let sum = output.failed_by_kind.iter();
    let sum = sum.fold(0_u64, |sum, count| sum.saturating_add(*count));
    (sum > failed).then(|| {
        format!("{sum} serialization and deadlock failures, but {failed} transactions failed")
    })
}

/// A transaction that was retried had at least one retry, and at most as many as allowed.
fn retries(output: &Output) -> Option<String> {
    let (retried, retries) = (output.retried?, output.retries?);
    // 0 or no maximum: as often as the time allows.
    let tries = output.tries.filter(|tries| *tries > 0);
    let most = tries.map(|tries| retried.saturating_mul(tries - 1));
    if retries < retried {
        return Some(format!(
            "{retried} transactions were retried, but there were {retries} retries"
        ));
    }
    let most = most.filter(|most| retries > *most)?;
    Some(format!(
        "{retries} retries, but {retried} transactions that were retried have at most {most}"
    ))
}

/// The sums over the statements must equal the failures and retries of the report.
fn of_statements(output: &Output) -> Option<String> {
    if output.aborted {
        return None;
    }
    let clients = f64::from(output.clients?);
    let whole = are_all_statements(output);
    let names = ["failures", "retries"];
    let counts = [output.failed, output.retries];
    names
        .into_iter()
        .zip(counts)
        .enumerate()
        .find_map(|(at, (name, count))| {
            let count = count?;
            let own = output
                .statements
                .iter()
                .map(|one| one.counts.get(at).copied());
            let own: Vec<u64> = own.collect::<Option<_>>()?;
            if own.is_empty() {
                return None;
            }
            let sum = own.into_iter().fold(0, u64::saturating_add);
            let (sum, all) = (sum as f64, count as f64);
            // A retry of each client may belong to a transaction that the end of the run cut off.
            let room = clients + STATEMENT_TOLERANCE * sum.max(all);
            let wrong = sum > all + room || (whole && sum + room < all);
            wrong.then(|| format!("the statements have {sum} {name}, but the report says {count}"))
        })
}

/// Whether the statements' times add up to the transactions' mean, so that none is missing.
fn are_all_statements(output: &Output) -> bool {
    let sum: f64 = output.statements.iter().map(|one| one.mean_ms).sum();
    let own = service_ms(output);
    output.scripts.len() <= 1 && own.is_some_and(|ms| sum >= ms * (1.0 - STATEMENT_TOLERANCE))
}

/// The mean latency without the lag behind a schedule.
fn service_ms(output: &Output) -> Option<f64> {
    let lag_ms = output.lag_ms.map_or(0.0, |(mean_ms, _)| mean_ms);
    Some((output.mean_ms()? - lag_ms).max(0.0))
}

/// Statements of one script that take longer than its transactions. Each is executed at least once
/// per transaction, unless the script has conditions.
pub(super) fn long_statements(output: &Output, processed: u64, tps: f64) -> Option<String> {
    const CONDITIONS: [&str; 3] = ["\\if", "\\elif", "\\else"];
    let mut texts = output.statements.iter().map(|one| one.text.as_str());
    let conditional = texts.any(|text| CONDITIONS.iter().any(|word| text.starts_with(word)));
    if output.scripts.len() > 1 || conditional || output.statements.is_empty() {
        return None;
    }
    let sum: f64 = output.statements.iter().map(|one| one.mean_ms).sum();
    let failed = output.failed.is_some_and(|failed| failed > 0);
    let own_ms = match failed || output.aborted {
        false => service_ms(output)?,
        // Statements of failed transactions are included: only the clients' time limits them.
        true => 1e3 * f64::from(output.clients?) / tps,
    };
    let rounding = MEAN_ROUNDING * (output.statements.len() + 1) as f64;
    // Very few transactions may be cut off by the end of the run.
    let wrong = processed > 0 && sum > own_ms * (1.0 + STATEMENT_TOLERANCE) + rounding;
    wrong.then(|| {
        format!(
            "the statements of a transaction take {sum:.3} ms on average, but a transaction at \
             most {own_ms:.3} ms"
        )
    })
}
