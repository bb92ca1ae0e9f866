//! What speaks against the figures of HammerDB's log.

use super::log::Draft;

const S_PER_MIN: f64 = 60.0;
/// A test ends some seconds late, as HammerDB looks at the time each minute.
const LENGTH: (f64, f64) = (0.1, 10.0);
/// The transaction counter's samples are those of moments: the mean of all is as far away.
const FACTOR: f64 = 2.0;
/// Where its samples cover so much of the test, their mean is the result.
const COVERED: f64 = 0.9;
/// By how much that mean may differ.
const MEAN: f64 = 0.25;

/// Whether the time that a log says was to be measured is not the one of its time stamps.
pub(super) fn is_another(stated_s: f64, real_s: f64) -> bool {
    let (share, seconds) = LENGTH;
    (stated_s - real_s).abs() > seconds + share * stated_s.min(real_s)
}

/// Figures of one log that cannot all be true; with the length as stated and by the log's times.
pub(super) fn contradictions(
    draft: &Draft,
    (stated, by_times): (Option<f64>, Option<f64>),
) -> Vec<String> {
    let mut all = Vec::new();
    let Some((orders, tpm, _)) = draft.result else {
        return all;
    };
    if orders > tpm {
        all.push(format!(
            "{orders} new orders of {tpm} transactions per minute"
        ));
    }
    if let (Some(stated), Some(real)) = (stated, by_times)
        && is_another(stated, real)
    {
        all.push(format!(
            "the test period was to be {stated:.0} s, but the log's times make {real:.0} s"
        ));
    }
    all.extend(counter(draft, tpm as f64));
    all
}

/// Whether the result is what the transaction counter showed meanwhile.
fn counter(draft: &Draft, tpm: f64) -> Option<String> {
    let within = |seconds: f64| {
        let after = draft.began.is_none_or(|began| seconds > began.seconds);
        after && draft.ended.is_none_or(|ended| seconds <= ended.seconds)
    };
    let own = draft.counter.iter();
    let own = own.filter(|(moment, _)| moment.is_none_or(|moment| within(moment.seconds)));
    // The first sample has nothing before it to count from.
    let own: Vec<(Option<f64>, f64)> = own
        .map(|(moment, tpm)| (moment.map(|moment| moment.seconds), *tpm))
        .filter(|(_, tpm)| *tpm > 0.0)
        .collect();
    let values = || own.iter().map(|(_, tpm)| *tpm);
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let mean = values().sum::<f64>() / own.len() as f64;
    let whole = covered_s(&own)
        .zip(draft.began.zip(draft.ended))
        .is_some_and(|(covered_s, (began, ended))| {
            covered_s >= COVERED * (ended.seconds - began.seconds).max(S_PER_MIN)
        });
    let far = tpm > most * FACTOR
        || tpm < least / FACTOR
        || (whole && (mean - tpm).abs() > MEAN * mean.max(tpm));
    far.then(|| {
        format!(
            "the transaction counter showed {least:.0} to {most:.0} transactions per minute, but \
             the result says {tpm:.0}"
        )
    })
}

/// The time that samples of the counter cover, by the usual time between them.
fn covered_s(samples: &[(Option<f64>, f64)]) -> Option<f64> {
    let times: Option<Vec<f64>> = samples.iter().map(|(at, _)| *at).collect();
    let times = times?;
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Some(dyno_stats::median(&gaps)? * times.len() as f64)
}
