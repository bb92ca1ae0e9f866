//! Inconsistencies in HammerDB's log.

use std::collections::BTreeSet;

use dyno_core::text::{number_of, verb};

use super::log::{Draft, Said, Stage};

/// What a contradiction leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leaves {
    /// The result and the transaction counter.
    Result,
    Length,
    Users,
}

const S_PER_MIN: f64 = 60.0;
/// Tolerance for the length of a test: it ends some seconds late, because HammerDB checks the time
/// every minute.
const LENGTH: (f64, f64) = (0.1, 10.0);
/// The transaction counter samples short periods: the result may differ from all of them by this
/// factor.
const FACTOR: f64 = 2.0;
/// If its samples cover this share of the test, their mean should match the result.
const COVERED: f64 = 0.9;
/// Tolerance for that mean.
const MEAN: f64 = 0.25;
/// New orders are 10 of 23 transactions. Servers count other transactions, too, and count each in
/// their own way, but not a hundred for each new order; a few come from idle connections.
const ORDERS_MIN: f64 = 0.01;
const TPM_IDLE: u64 = 1000;

/// Warnings about the virtual users of a run, with the line.
pub(super) fn said(draft: &Draft) -> Vec<(Option<usize>, String)> {
    let mut all = Vec::new();
    if let Some((first, text)) = failed(draft) {
        all.push((Some(first.line), format!("{text}: {}", first.text)));
    }
    // The result already existed.
    if let Some(first) = draft.failures.iter().find(|own| own.stage == Stage::After) {
        let text = format!(
            "{} failed after the test, which the result does not show: {}",
            users(&draft.failures, |own| own.stage == Stage::After).describe(None),
            first.text
        );
        all.push((Some(first.line), text));
    }
    if let Some(first) = draft.errors.first() {
        let text = format!(
            "{} failed, {} of them in the test; the first: {}",
            number_of(draft.errors.len(), "transaction"),
            errors(draft),
            first.text
        );
        all.push((Some(first.line), text));
    }
    if let Some(early) = ended_early(draft) {
        all.push((draft.finished.first().map(|own| own.line), early));
    }
    all
}

/// Virtual users that failed before the end of the test: the first error message, and how many
/// users failed.
pub(super) fn failed(draft: &Draft) -> Option<(&Said, String)> {
    let within = |own: &Said| own.stage != Stage::After;
    let first = draft.failures.iter().find(|own| within(own))?;
    let failed = users(&draft.failures, within);
    Some((first, format!("{} failed", failed.describe(draft.users))))
}

/// Why the load was not the requested one: working virtual users that ended without an error before
/// the end of the test.
pub(super) fn ended_early(draft: &Draft) -> Option<String> {
    let early = |own: &Said| {
        matches!(own.stage, Stage::RampUp | Stage::Test)
            && own.user != draft.monitor
            && draft.duration_min.is_none_or(|all| own.minutes < all)
    };
    let first = draft.finished.iter().find(|own| early(own))?;
    let ended = users(&draft.finished, early);
    let of = draft.duration_min.map(|all| format!(" of {all}"));
    Some(format!(
        "{} had ended after {}{} minutes of the test and produced no load after that",
        ended.describe(draft.users),
        first.minutes,
        of.unwrap_or_default()
    ))
}

/// Transactions that failed in the test; all failed ones if the log does not show its phases.
pub(super) fn errors(draft: &Draft) -> u64 {
    let within = |own: &&Said| matches!(own.stage, Stage::Unknown | Stage::Test);
    draft.errors.iter().filter(within).count() as u64
}

/// A number of virtual users, displayed in words.
struct Users(usize);

/// The users that printed a matching message. A user may print it more than once.
fn users(all: &[Said], fits: impl Fn(&Said) -> bool) -> Users {
    let fitting = all.iter().filter(|own| fits(own));
    let (named, unnamed): (Vec<&Said>, Vec<&Said>) = fitting.partition(|own| own.user.is_some());
    let named: BTreeSet<&Option<String>> = named.into_iter().map(|own| &own.user).collect();
    Users(named.len() + unnamed.len())
}

impl Users {
    fn describe(&self, of: Option<u32>) -> String {
        match of {
            Some(all) => format!("{} of {}", self.0, number_of(all, "virtual user")),
            None => number_of(self.0, "virtual user"),
        }
    }
}

/// Whether the stated measurement time differs from that of the log's timestamps.
pub(super) fn is_another(stated_s: f64, real_s: f64) -> bool {
    let (share, seconds) = LENGTH;
    (stated_s - real_s).abs() > seconds + share * stated_s.min(real_s)
}

impl Leaves {
    /// For the warning.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Result => "the result and the transaction counter are left out",
            Self::Length => "the measured time is left out, and the rates are for one minute",
            Self::Users => "the number of virtual users is left out",
        }
    }
}

/// Figures of one log that cannot all be true, and what they leave out; with the length as stated
/// and by the log's times.
pub(super) fn contradictions(
    draft: &Draft,
    (stated, by_times): (Option<f64>, Option<f64>),
) -> Vec<(Leaves, String)> {
    let mut all = Vec::new();
    let Some((orders, tpm, _)) = draft.result else {
        return all;
    };
    if orders > tpm {
        let orders = number_of(orders, "new order");
        let text = format!("{orders} of {tpm} transactions per minute");
        all.push((Leaves::Result, text));
    } else if tpm >= TPM_IDLE && (orders as f64) < ORDERS_MIN * tpm as f64 {
        let text = format!(
            "{} of {tpm} transactions per minute, but TPROC-C has 10 in 23",
            number_of(orders, "new order")
        );
        all.push((Leaves::Result, text));
    }
    if let (Some(stated), Some(real)) = (stated, by_times)
        && is_another(stated, real)
    {
        let text = format!(
            "the test period should be {stated:.0} s, but the log's times span {real:.0} s"
        );
        all.push((Leaves::Length, text));
    }
    if let (Some(stated), Some(counted)) = (draft.duration_min, draft.counted_min)
        && (stated - counted).abs() >= 1.0
    {
        let text = format!(
            "the test period should be {stated} minutes, but the log counts {counted} until the \
             test was complete"
        );
        all.push((Leaves::Length, text));
    }
    let of_counter = counter(draft, tpm as f64);
    all.extend(of_counter.map(|text| (Leaves::Result, text)));
    all.extend(running(draft).map(|text| (Leaves::Users, text)));
    all
}

/// Checks the number of working users against those that reported running, if no report is missing:
/// the first user measures.
fn running(draft: &Draft) -> Option<String> {
    let users = draft.users?;
    let all = draft.running.len();
    let has = |number: usize| draft.running.contains(&number.to_string());
    let complete = all > 1 && (1..=all).all(has);
    let fits = [all, all + 1].contains(&(users as usize + 1));
    (complete && !fits).then(|| {
        format!(
            "{} {} configured, but {all} ran, of which one measures",
            number_of(users, "virtual user"),
            verb(users, "was", "were")
        )
    })
}

/// Removes samples of the transaction counter with more transactions than the whole test had. If
/// many samples are like that, the result is wrong instead. Returns a warning.
pub(super) fn take_impossible(draft: &mut Draft, test_s: f64) -> Option<String> {
    let (_, tpm, _) = draft.result.as_ref()?;
    let most = FACTOR * *tpm as f64 * test_s / S_PER_MIN;
    let samples: Vec<(Option<f64>, f64)> = draft
        .counter
        .iter()
        .map(|(moment, tpm)| (moment.map(|moment| moment.seconds), *tpm))
        .collect();
    let usual_s = interval_s(&samples).filter(|seconds| *seconds > 0.0)?;
    let fits = |tpm: f64| tpm * usual_s / S_PER_MIN <= most;
    let mut wild = samples.iter().map(|(_, tpm)| *tpm);
    let first = wild.find(|tpm| !fits(*tpm))?;
    let count = 1 + wild.filter(|tpm| !fits(*tpm)).count();
    if 2 * count >= samples.len() {
        return None;
    }
    draft.counter.retain(|(_, tpm)| fits(*tpm));
    Some(format!(
        "{} of the transaction counter {} more transactions than the whole test, the first of \
         {first:.0} per minute; left out",
        number_of(count, "sample"),
        verb(count, "has", "have")
    ))
}

/// Checks the result against the transaction counter.
fn counter(draft: &Draft, tpm: f64) -> Option<String> {
    let within = |seconds: f64| {
        let after = draft.began.is_none_or(|began| seconds > began.seconds);
        after && draft.ended.is_none_or(|ended| seconds <= ended.seconds)
    };
    let own = draft.counter.iter();
    let own = own.filter(|(moment, _)| moment.is_none_or(|moment| within(moment.seconds)));
    // The first sample has no earlier one to count from.
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

/// The time covered by samples of the counter, by the usual interval between them.
fn covered_s(samples: &[(Option<f64>, f64)]) -> Option<f64> {
    Some(interval_s(samples)? * samples.len() as f64)
}

/// The usual interval between samples of the counter.
fn interval_s(samples: &[(Option<f64>, f64)]) -> Option<f64> {
    let times: Option<Vec<f64>> = samples.iter().map(|(at, _)| *at).collect();
    let times = times?;
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    dyno_stats::median(&gaps)
}
