//! Finds the missing end of a report.

use super::output::{Output, Script};

/// Half of the last digit of a script's target share, which has one decimal, in percent.
const SHARE_ROUNDING: f64 = 0.05;

/// What is missing at the end of an output.
pub(super) fn missing(output: &Output) -> Option<&'static str> {
    let begun = !output.points.is_empty() || output.processed.is_some();
    match () {
        () if output.lacks_rate || (begun && !output.is_whole()) => {
            Some("the report is missing or cut off")
        }
        () if lacks_second_rate(output) => Some("the report ends before its second rate"),
        () if lacks_scripts(output) => Some("the report ends within its scripts"),
        () => None,
    }
}

/// Before version 14 a report has two rates. Only the first includes connecting.
fn lacks_second_rate(output: &Output) -> bool {
    output.tps.is_some() && output.tps == output.tps_with_connecting
}

/// Whether lines about scripts are missing.
pub(super) fn lacks_scripts(output: &Output) -> bool {
    let Some((last, others)) = output.scripts.split_last() else {
        return output.kind.as_deref() == Some("multiple scripts");
    };
    if output.kind.as_deref() != Some("multiple scripts") {
        return false;
    }
    let targets = output.scripts.iter().filter_map(|own| own.target_percent);
    let rounding = SHARE_ROUNDING * (output.scripts.len() + 1) as f64;
    let sum: f64 = targets.clone().sum();
    let is_part = targets.count() > 0 && sum + rounding < 100.0;
    let has_statements = |script: usize| output.statements.iter().any(|one| one.script == script);
    let number = output.scripts.len();
    let lacks_statements = !has_statements(number) && (1..number).any(has_statements);
    others.is_empty() || is_part || lacks_statements || others.iter().any(|own| lacks(last, own))
}

/// Whether a script lacks a figure that another one has. Those without a transaction have fewer.
fn lacks(script: &Script, other: &Script) -> bool {
    let has = |own: &Script| {
        [
            own.transactions.is_some(),
            own.failed.is_some(),
            own.retries.is_some(),
            own.skipped.is_some(),
            own.latency_ms.is_some(),
            own.stddev_ms.is_some(),
        ]
    };
    let none = |own: &Script| own.transactions == Some(0);
    let mut pairs = has(script).into_iter().zip(has(other));
    !none(script) && !none(other) && pairs.any(|(own, other)| other && !own)
}

/// Whether all transactions are known: those processed, failed and skipped. Without a line about
/// them there were none, unless the line itself is missing.
pub(super) fn knows_all(output: &Output) -> bool {
    let skips = output.lag_ms.is_some() && output.limit.is_some()
        || output.points.iter().any(|point| point.skipped.is_some());
    let whole = output.is_whole() && !output.lacks_rate;
    let knows_skipped = output.skipped.is_some() || (whole && !skips);
    knows_skipped && (output.failed.is_some() || !output.is_recent())
}

/// The same for a script.
pub(super) fn knows_all_of(output: &Output, script: &Script) -> bool {
    let knows =
        |own: Option<u64>, all: Option<u64>| own.is_some() || all.is_none_or(|all| all == 0);
    knows_all(output)
        && knows(script.skipped, output.skipped)
        && knows(script.failed, output.failed)
}
