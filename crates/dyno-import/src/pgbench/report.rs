//! Parses the lines of pgbench's report.

use super::output::{Output, Script, Statement};
use crate::number;
use crate::text::{self, excerpt};

/// Lines with a figure followed by a blank, a bracket or nothing.
const FIGURES: [&str; 15] = [
    "scaling factor",
    "number of clients",
    "number of threads",
    "maximum number of tries",
    "duration",
    "number of transactions per client",
    "number of transactions actually processed",
    "number of failed transactions",
    "number of transactions retried",
    "total number of retries",
    "latency average",
    "latency stddev",
    "initial connection time",
    "average connection time",
    "tps",
];

/// The query modes (`QUERYMODE` in `pgbench.c`).
const MODES: [&str; 3] = ["simple", "extended", "prepared"];

/// Lines that only pgbench prints, up to their figure.
const OWN: [&str; 5] = [
    "scaling factor: ",
    "number of clients: ",
    "number of transactions actually processed: ",
    "latency average = ",
    "tps = ",
];

/// Whether a line is of a report whose first line is missing.
pub(super) fn begins_report(bare: &str) -> bool {
    let value = OWN.iter().find_map(|begins| bare.strip_prefix(begins));
    let whole = !bare.starts_with("tps = ") || bare.contains('(');
    value.is_some_and(|value| whole && number::leading(value).is_some())
}

/// Whether a line has a query mode that is cut off or unknown.
fn is_torn_mode(bare: &str) -> bool {
    let mode = bare.split_once(':');
    let mode = mode.filter(|(label, _)| label.trim() == "query mode");
    mode.is_some_and(|(_, mode)| !MODES.contains(&mode.trim()))
}

pub(super) fn report(run: &mut Output, bare: &str, line: usize) -> bool {
    let Some((label, value)) = bare.split_once([':', '=']) else {
        // `pgbench: duration: 5 s` has none of this.
        return false;
    };
    let (label, value) = (label.trim(), value.trim());
    if FIGURES.contains(&label) && number::is_torn(value) {
        let text = format!(
            "unexpected text within a figure: '{}'; it is skipped",
            excerpt(bare)
        );
        run.said.push((Some(line), text));
        return true;
    }
    let count = || number::leading_count(value).map(|(count, _)| count);
    let small = || count().and_then(|count| u32::try_from(count).ok());
    let ms = || {
        number::leading(value)
            .map(|(ms, _)| ms)
            .filter(|ms| *ms >= 0.0)
    };
    match label {
        "scaling factor" => run.scale = count(),
        "query mode" if MODES.contains(&value) => run.protocol = Some(value.to_owned()),
        "query mode" => {
            let mode = excerpt(value);
            let text = format!("the query mode '{mode}' is cut off or unknown; it is skipped");
            run.said.push((Some(line), text));
        }
        "number of clients" => run.clients = small(),
        "number of threads" => run.threads = small(),
        "maximum number of tries" => run.tries = count(),
        "duration" => run.duration_s = ms(),
        "number of transactions per client" => run.per_client = count(),
        "number of transactions actually processed" => run.processed = count(),
        "total number of retries" => run.retries = count(),
        "latency average" => {
            run.latency_ms = ms();
            run.is_oldest = bare.starts_with("latency average:");
            run.latency_with_failures = value.contains("(including failures)");
        }
        "latency stddev" => run.stddev_ms = ms(),
        "initial connection time" => run.connecting_ms = ms(),
        "average connection time" => run.reconnecting_ms = ms(),
        // `avg 0.105 (max 1.593) ms`
        "rate limit schedule lag" => {
            let figure = |word: &str| {
                let (_, rest) = value.split_once(word)?;
                number::leading(rest).map(|(ms, _)| ms)
            };
            run.lag_ms = figure("avg").zip(figure("max"));
        }
        // `tps = 85.2 (including connections establishing)` comes first, then the one that counts.
        "tps" => {
            run.tps = ms();
            if value.contains("(including connections establishing)") {
                run.tps_with_connecting = run.tps;
            }
        }
        _ => return shared(run, label, value) || above(run, label, value),
    }
    true
}

/// Counts with their share of all transactions: `6 (3.175%)`.
fn shared(run: &mut Output, label: &str, value: &str) -> bool {
    let (count, percent) = with_percent(value);
    let share = |what: &'static str| Some((what, count?, percent?));
    match label {
        "number of failed transactions" => (run.failed, run.failed_percent) = (count, percent),
        "number of serialization failures" | "number of deadlock failures" => {
            run.failed_by_kind.extend(count);
        }
        "number of transactions skipped" => {
            (run.skipped, run.skipped_percent) = (count, percent);
            run.is_compact = value.contains("%)") && !value.contains(" %)");
        }
        "number of transactions retried" => {
            run.retried = count;
            run.shares.extend(share("retried"));
        }
        _ => return false,
    }
    true
}

/// A count, and its share in percent.
fn with_percent(value: &str) -> (Option<u64>, Option<f64>) {
    let count = number::leading_count(value).map(|(count, _)| count);
    (count, percent(value))
}

/// The percentage in brackets.
fn percent(value: &str) -> Option<f64> {
    let (_, share) = value
        .split_once('(')
        .filter(|(_, share)| share.contains('%'))?;
    number::leading(share).map(|(percent, _)| percent)
}

/// `number of transactions above the 8.0 ms latency limit: 0/866 (0.000%)`
fn above(run: &mut Output, label: &str, value: &str) -> bool {
    let Some(rest) = label.strip_prefix("number of transactions above the ") else {
        return false;
    };
    let limit = number::leading(rest).map(|(ms, _)| ms);
    let count = number::leading_count(value);
    run.limit = limit.zip(count.map(|(count, _)| count));
    let of = count.and_then(|(_, rest)| number::leading_count(rest.strip_prefix('/')?));
    run.limit_of = of.map(|(of, _)| of);
    let share = count.zip(percent(value));
    let share = share.map(|((count, _), percent)| ("above the latency limit", count, percent));
    run.shares.extend(share);
    true
}

/// Parses a line about one of several scripts.
pub(super) fn of_script(run: &mut Output, bare: &str) -> bool {
    if let Some((_, name)) = bare
        .strip_prefix("SQL script ")
        .and_then(|rest| rest.split_once(": "))
    {
        run.scripts.push(Script {
            name: name.trim().to_owned(),
            ..Script::default()
        });
        return true;
    }
    let (Some(script), Some(rest)) = (run.scripts.last_mut(), bare.strip_prefix("- ")) else {
        return false;
    };
    let figure = |label: &str| {
        let (_, value) = rest.split_once(label)?;
        number::leading(value).map(|(value, _)| value)
    };
    if rest.contains(" transactions (") {
        script.transactions = number::leading_count(rest).map(|(count, _)| count);
        script.share = script.transactions.zip(figure(" transactions ("));
        script.tps = figure("tps = ");
    } else if let Some(count) = rest.strip_prefix("number of transactions actually processed: ") {
        // From version 18 on the line before it counts failed and skipped ones, too.
        script.transactions = number::leading_count(count).map(|(count, _)| count);
        script.tps = figure("tps = ").or(script.tps);
    } else if let Some(value) = rest.strip_prefix("number of transactions skipped: ") {
        (script.skipped, script.skipped_percent) = with_percent(value);
    } else if let Some(value) = rest.strip_prefix("number of failed transactions: ") {
        (script.failed, script.failed_percent) = with_percent(value);
    } else if let Some(value) = rest.strip_prefix("number of transactions retried: ") {
        script.retried = with_percent(value).0;
    } else if let Some(value) = rest.strip_prefix("total number of retries: ") {
        script.retries = with_percent(value).0;
    } else if rest.starts_with("weight: ") {
        script.target_percent = figure("(targets ");
    } else if rest.starts_with("latency average") {
        script.latency_ms = figure("= ");
    } else if rest.starts_with("latency stddev") {
        script.stddev_ms = figure("= ");
    }
    true
}

/// `0.188           0           0  UPDATE …`: the mean, and optional failures and retries.
pub(super) fn statement(bare: &str) -> Option<Statement> {
    /// The width of a count with a blank before it.
    const WIDE: usize = 11;
    // A statement may begin with a digit. From version 18 on, a single blank is before it.
    let is_count =
        |rest: &str, behind: &str| behind.starts_with(' ') && rest.len() - behind.len() >= WIDE;
    let (mean_ms, mut rest) = number::leading(bare)?;
    let mut counts = Vec::new();
    while let Some((count, behind)) =
        number::leading_count(rest).filter(|(_, behind)| is_count(rest, behind))
    {
        counts.push(count);
        rest = behind;
    }
    let text = rest.trim();
    (!text.is_empty() && mean_ms >= 0.0).then(|| Statement {
        script: 0,
        mean_ms,
        counts,
        text: text.to_owned(),
    })
}

/// Whether the last line of a log may lack the end of a figure, name or mode, or the text after it.
pub(super) fn is_torn(bare: &str) -> bool {
    let rate = bare.starts_with("tps = ") && !bare.contains('(');
    let name = bare.starts_with("transaction type: ")
        || bare.starts_with("pgbench (") && !bare.ends_with(')');
    rate || name || text::decimals_at_end(bare).is_some() || is_torn_mode(bare)
}
