//! Counts and shares of one report that must agree.

use dyno_core::text::{number_of, verb};

use super::output::Output;
use super::{ending, of_statements};

/// Shares have three decimals.
const SHARE_ROUNDING: f64 = 0.001;

/// Counts of one report that cannot all be true.
pub(super) fn contradictions(output: &Output, processed: u64) -> Vec<String> {
    let mut all: Vec<String> = shares(output, processed);
    all.extend(skipped(output, processed));
    all.extend(limit(output, processed));
    all.extend(kinds(output));
    all.extend(retries(output));
    all.extend(of_statements::counts(output));
    all
}

/// All transactions, including those that failed or were skipped.
pub(super) fn most(output: &Output, processed: u64) -> u64 {
    processed
        .saturating_add(output.skipped.unwrap_or(0))
        .saturating_add(output.failed.unwrap_or(0))
}

/// Each count is its printed share of all transactions, or of those processed.
fn shares(output: &Output, processed: u64) -> Vec<String> {
    let most = most(output, processed);
    let knows_all = ending::knows_all(output);
    let wrong = |(what, count, percent): &(&str, u64, f64)| {
        let share = |of: u64| 100.0 * *count as f64 / of.max(1) as f64;
        let low = if knows_all { share(most) } else { 0.0 };
        let high = share(processed);
        let fits = (low - SHARE_ROUNDING..=high + SHARE_ROUNDING).contains(percent);
        (!fits).then(|| {
            format!(
                "{count} of {most} transactions {what} are {low:.3} %, but the log says \
                 {percent:.3} %"
            )
        })
    };
    output.shares.iter().filter_map(wrong).collect()
}

/// Skipped transactions are their printed share of all.
fn skipped(output: &Output, processed: u64) -> Option<String> {
    let (count, percent) = output.skipped.zip(output.skipped_percent)?;
    let most = most(output, processed);
    let share = |of: u64| 100.0 * count as f64 / of.max(1) as f64;
    let low = if ending::knows_all(output) {
        share(most)
    } else {
        0.0
    };
    let fits = low - SHARE_ROUNDING..=share(most) + SHARE_ROUNDING;
    (!fits.contains(&percent)).then(|| {
        format!(
            "{} of {most} {} {:.3} %, but the log says {percent:.3} %",
            number_of(count, "skipped transaction"),
            verb(count, "is", "are"),
            share(most)
        )
    })
}

/// Checks that the number of transactions compared with the limit agrees with the number processed.
fn limit(output: &Output, processed: u64) -> Option<String> {
    let (of, (limit_ms, above)) = output.limit_of.zip(output.limit)?;
    if above > of {
        return Some(format!(
            "{above} of {of} transactions were above the limit of {limit_ms} ms"
        ));
    }
    let most = match ending::knows_all(output) {
        true => most(output, processed),
        false => u64::MAX,
    };
    (!(processed..=most).contains(&of)).then(|| {
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
        format!(
            "{}, but {} failed",
            number_of(sum, "serialization and deadlock failure"),
            number_of(failed, "transaction")
        )
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
            "{} {} retried, but there {}",
            number_of(retried, "transaction"),
            verb(retried, "was", "were"),
            match retries {
                1 => "was 1 retry".to_owned(),
                several => format!("were {several} retries"),
            }
        ));
    }
    let most = most.filter(|most| retries > *most)?;
    Some(format!(
        "{retries} retries, but {retried} transactions that were retried have at most {most}"
    ))
}
