//! Whether the figures of one log agree with each other.

use dyno_core::record::Fact;

use crate::sysbench::head;
use crate::sysbench::model::{Draft, Report};

/// Times that differ by more than this share are not the same time. Counts and rates of some
/// hundred events already imply it more closely.
const TIME_TOLERANCE: f64 = 0.02;

/// What contradicts what, as (line, sentence); and the facts behind the question how long it took.
pub(crate) fn check(draft: &Draft) -> (Vec<(Option<usize>, String)>, Vec<Fact>) {
    let mut warnings = Vec::new();
    let mut facts = Vec::new();
    if let Some(report) = &draft.report {
        let line = Some(report.line);
        let mut warn = |text: String| warnings.push((line, text));
        // After a checkpoint the counts cover a part of the time that is printed.
        if draft.checkpoints.is_empty() {
            length(draft, report, &mut warn, &mut facts);
            course(draft, report, &mut warn);
            busy(draft, report, &mut warn);
        }
        sums(report, &mut warn);
        histogram(draft, report, &mut warn);
    }
    (warnings, facts)
}

/// How long the run was: as stated, and as a count and its rate imply.
fn length(draft: &Draft, report: &Report, warn: &mut impl FnMut(String), facts: &mut Vec<Fact>) {
    let mut fact = |name: &str, seconds: f64, source: &str| {
        facts.push(Fact {
            name: name.to_owned(),
            value: format!("{seconds:.3}"),
            source: source.to_owned(),
        });
    };
    let printed = report.total_time_s.map(|s| (s, "the report's total time"));
    let implied = report.implied_time_s();
    let typed = commanded_s(draft).map(|s| (s, "the command line"));
    if let Some(implied) = implied {
        let source = "a count divided by the rate printed beside it";
        fact("import.implied_time_s", implied, source);
    }
    let reference = implied.or(report.total_time_s);
    let differs = |stated: f64| {
        reference.is_some_and(|s| (stated - s).abs() > TIME_TOLERANCE * stated.max(s))
    };
    // Of several statements the one that is contradicted is the one to tell.
    let stated = [printed, typed].into_iter().flatten();
    let stated: Vec<(f64, &str)> = stated.collect();
    let told = stated
        .iter()
        .find(|(seconds, _)| differs(*seconds))
        .or(stated.first());
    if let Some(&(seconds, source)) = told {
        fact("import.stated_time_s", seconds, source);
    }
    for (stated, source) in stated {
        if let Some(reference) = reference.filter(|_| differs(stated)) {
            let from = match implied {
                Some(_) => "its counts and rates imply",
                None => "the report prints",
            };
            warn(format!(
                "{source} says {stated:.1} s, but {from} {reference:.1} s: the figures are of \
                 another run, or it ended at another time"
            ));
        }
    }
}

/// How long the run was to be by its command line, if nothing but time limited it.
fn commanded_s(draft: &Draft) -> Option<f64> {
    let number = |names: &[&str]| head::option(&draft.argv, names)?.parse::<f64>().ok();
    let limited = number(&["events", "max-requests"]).is_some_and(|events| events > 0.0);
    let seconds = number(&["time", "max-time"])?;
    (!limited && seconds > 0.0 && seconds.is_finite()).then_some(seconds)
}

fn sums(report: &Report, warn: &mut impl FnMut(String)) {
    if let (Some(reads), Some(writes), Some(other), Some(total)) =
        (report.reads, report.writes, report.other, report.total)
    {
        let sum = u128::from(reads) + u128::from(writes) + u128::from(other);
        if sum != u128::from(total) {
            warn(format!(
                "reads, writes and other statements make {sum}, but the total says {total}"
            ));
        }
    }
    if let (Some(events), Some(transactions)) = (report.events, report.transactions)
        && events != transactions.count
    {
        let transactions = transactions.count;
        warn(format!("{events} events, but {transactions} transactions"));
    }
    // Averages are printed with two decimals.
    if let (Some(events), Some(sum), Some(avg)) = (report.events(), report.sum_ms, report.avg_ms)
        && events > 0
        && (sum / events as f64 - avg).abs() > 0.02 + 0.01 * avg
    {
        let mean = sum / events as f64;
        warn(format!(
            "the sum of latencies makes a mean of {mean:.2} ms, but the report says {avg:.2} ms"
        ));
    }
}

/// Threads cannot be longer in events than there was time.
fn busy(draft: &Draft, report: &Report, warn: &mut impl FnMut(String)) {
    let (Some(sum_ms), Some(threads), Some(time_s)) =
        (report.sum_ms, draft.threads, report.total_time_s)
    else {
        return;
    };
    let available_ms = f64::from(threads) * time_s * 1000.0;
    if threads > 0 && sum_ms > available_ms * 1.05 && draft.rate_per_s.is_none() {
        warn(format!(
            "the latencies add up to {:.1} s, but {threads} threads had {:.1} s in all",
            sum_ms / 1000.0,
            available_ms / 1000.0
        ));
    }
}

/// Whether the report's rate is what its intervals say, where they cover the run.
fn course(draft: &Draft, report: &Report, warn: &mut impl FnMut(String)) {
    const TOLERANCE: f64 = 0.1;
    let Some(rate) = report.events_per_s() else {
        return;
    };
    let rates: Vec<f64> = draft.points.iter().filter_map(|point| point.tps).collect();
    let time_s = report.total_time_s.or_else(|| report.implied_time_s());
    // Over few intervals the last, which is not printed, weighs too much.
    let covers = time_s.is_some_and(|time_s| draft.last_s() > time_s * 0.95);
    if rates.len() < 10 || !covers || draft.warmup_s.is_some_and(|s| s > 0.0) {
        return;
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    if (mean - rate).abs() > TOLERANCE * rate.max(mean) {
        warn(format!(
            "the intervals' mean is {mean:.2} events/s, but the report says {rate:.2}: they are \
             not of the same run, or intervals are missing"
        ));
    }
}

fn histogram(draft: &Draft, report: &Report, warn: &mut impl FnMut(String)) {
    let rows = draft.histogram.iter();
    let count = rows.fold(0_u64, |sum, row| sum.saturating_add(row.1));
    if let Some(events) = report.events()
        && !draft.histogram.is_empty()
        && draft.checkpoints.is_empty()
        && count != events
    {
        warn(format!(
            "the histogram holds {count} events, but the report {events}"
        ));
    }
}
