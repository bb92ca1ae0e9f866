//! Compares the figures of statements with those of their transactions.

use super::output::{Output, Statement};
use super::record::throttled;
use super::scripts::short;

/// Threads add to a statement's counts without a lock, so a few may be lost.
const TOLERANCE: f64 = 0.05;
/// The same for a script and its statements, to which several threads add without a lock.
const UNLOCKED: f64 = 0.5;
/// Means have three decimals; this is half of the last digit, in milliseconds.
const HALF_DIGIT: f64 = 0.0005;
/// A script with one of these does not execute each statement.
const CONDITIONS: [&str; 3] = ["\\if", "\\elif", "\\else"];

/// The sums over the statements must equal the failures and retries of the report.
pub(super) fn counts(output: &Output) -> Option<String> {
    if output.may_be_aborted() {
        return None;
    }
    let clients = f64::from(output.clients?);
    let whole = are_all(output);
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
            let room = clients + TOLERANCE * sum.max(all);
            let wrong = sum > all + room || (whole && sum + room < all);
            wrong.then(|| format!("the statements have {sum} {name}, but the report says {count}"))
        })
}

/// Whether the statements' times add up to the transactions' mean, so that none is missing.
fn are_all(output: &Output) -> bool {
    let sum: f64 = output.statements.iter().map(|one| one.mean_ms).sum();
    let own = service_ms(output);
    output.scripts.len() <= 1 && own.is_some_and(|ms| sum >= ms * (1.0 - TOLERANCE))
}

/// The mean latency without the lag behind a schedule.
fn service_ms(output: &Output) -> Option<f64> {
    let lag_ms = output.lag_ms.map_or(0.0, |(mean_ms, _)| mean_ms);
    Some((output.mean_ms()? - lag_ms).max(0.0))
}

/// Removes the statements of each script that do not take the time of its transactions, and says
/// so. The mean latency of the run may be wrong for other reasons.
pub(super) fn leave_out(
    output: &mut Output,
    processed: u64,
    tps: f64,
    knows_mean: bool,
) -> Vec<String> {
    let mut all = Vec::new();
    for script in 0..=output.scripts.len() {
        let wrong = match script.checked_sub(1) {
            None if knows_mean => of_run(output, processed, tps),
            None => None,
            Some(index) => of_script(output, index),
        };
        if let Some(text) = wrong {
            output.statements.retain(|one| one.script != script);
            all.push(text);
        }
    }
    all
}

/// The statements of one script.
struct Own {
    /// Their means together.
    sum_ms: f64,
    rounding_ms: f64,
}

impl Own {
    /// The statements below this number of headings, if a transaction executes each of them at
    /// least once.
    fn of(output: &Output, script: usize) -> Option<Self> {
        let own = output.statements.iter();
        let own: Vec<&Statement> = own.filter(|one| one.script == script).collect();
        let is_condition =
            |one: &&Statement| CONDITIONS.iter().any(|word| one.text.starts_with(word));
        if own.is_empty() || own.iter().any(is_condition) {
            return None;
        }
        Some(Self {
            sum_ms: own.iter().map(|one| one.mean_ms).sum(),
            rounding_ms: HALF_DIGIT * (own.len() + 2) as f64,
        })
    }

    fn is_longer(&self, than_ms: f64, tolerance: f64) -> bool {
        self.sum_ms > than_ms * (1.0 + tolerance) + self.rounding_ms
    }

    fn is_shorter(&self, than_ms: f64, tolerance: f64) -> bool {
        self.sum_ms + self.rounding_ms < than_ms * (1.0 - tolerance)
    }
}

/// Statements of a single script that take longer than its transactions.
fn of_run(output: &Output, processed: u64, tps: f64) -> Option<String> {
    let own = Own::of(output, 0).filter(|_| output.scripts.is_empty() && processed > 0)?;
    let failed = output.failed.is_some_and(|failed| failed > 0);
    let own_ms = match failed || output.may_be_aborted() {
        false => service_ms(output)?,
        // Statements of failed transactions are included: only the clients' time limits them.
        true => 1e3 * f64::from(output.clients?) / tps,
    };
    let tolerance = match output.threads {
        Some(1) if !failed => 0.0,
        _ => TOLERANCE,
    };
    own.is_longer(own_ms, tolerance).then(|| {
        format!(
            "the statements of a transaction take {:.3} ms on average, but a transaction at most \
             {own_ms:.3} ms",
            own.sum_ms
        )
    })
}

/// Statements of one of several scripts that do not take the time of its transactions.
fn of_script(output: &Output, index: usize) -> Option<String> {
    let script = output.scripts.get(index)?;
    let own = Own::of(output, index + 1)?;
    let (count, mean_ms) = script.transactions.zip(script.latency_ms)?;
    // Statements of failed transactions are included, and those that an aborted client leaves.
    let failed = script.failed.is_some_and(|failed| failed > 0);
    let unfinished = f64::from(output.clients?) > TOLERANCE * count as f64;
    if output.may_be_aborted() || failed || unfinished {
        return None;
    }
    let (less, more) = match output.threads {
        Some(1) => (TOLERANCE, 0.0),
        _ => (UNLOCKED, UNLOCKED),
    };
    let is_shorter = is_without_pause(output, index) && own.is_shorter(mean_ms, less);
    (is_shorter || own.is_longer(mean_ms, more)).then(|| {
        format!(
            "the statements of {} take {:.3} ms on average, but its transactions {mean_ms:.3} ms",
            short(&script.name),
            own.sum_ms
        )
    })
}

/// Whether the statements of a script together are its transactions. In recent versions one begins
/// when the one before it ends (`advanceConnectionState` in pgbench.c), and `\sleep` is one, too.
/// Of a schedule only the mean lag of all scripts is printed, and a log may end within the
/// statements of the last script.
fn is_without_pause(output: &Output, index: usize) -> bool {
    let mut retried = [output.retried, output.retries].into_iter().flatten();
    let is_followed = index + 1 < output.scripts.len();
    let recent = output.is_recent();
    is_followed && recent && !throttled(output) && retried.all(|count| count == 0)
}
