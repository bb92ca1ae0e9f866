//! All checks together: valid runs stay valid, and nothing panics.

use dyno_core::finding::{Finding, Outcome, Verdict, Waiver, verdict};
use dyno_core::record::RunRecord;
use dyno_samples::{self as samples, Product, closed, noisy};

use crate::{Context, checks, judge, waive};

pub(crate) fn judge_one(run: &RunRecord, context: &Context, check: &str) -> Finding {
    let all = judge(run, context);
    let found = all.into_iter().find(|finding| finding.check == check);
    found.unwrap_or_else(|| panic!("there is no check {check}"))
}

pub(crate) fn judged(run: &RunRecord, check: &str) -> Finding {
    judge_one(run, &Context::default(), check)
}

/// Asserts the outcome of a check.
#[track_caller]
pub(crate) fn check(run: &RunRecord, check: &str, outcome: Outcome) -> Finding {
    let finding = judged(run, check);
    assert_eq!(finding.outcome, outcome, "{}", finding.evidence);
    finding
}

/// Asserts the outcome of a check for a valid run with this change.
#[track_caller]
pub(crate) fn expect(
    check: &str,
    outcome: Outcome,
    change: impl FnOnce(&mut RunRecord),
) -> Finding {
    expect_with(check, outcome, |run, _| change(run))
}

#[track_caller]
pub(crate) fn expect_with(
    check: &str,
    outcome: Outcome,
    change: impl FnOnce(&mut RunRecord, &mut Context),
) -> Finding {
    let (mut run, mut context) = (samples::good(), Context::default());
    change(&mut run, &mut context);
    let finding = judge_one(&run, &context, check);
    assert_eq!(finding.outcome, outcome, "{}", finding.evidence);
    assert!(finding.evidence.ends_with('.'), "{}", finding.evidence);
    assert!(finding.rule.ends_with('.'), "{}", finding.rule);
    let against = finding.outcome > Outcome::NotChecked;
    assert_eq!(!finding.advice.is_empty(), against, "{}", finding.advice);
    finding
}

pub(crate) fn summary(run: &mut RunRecord) -> &mut dyno_core::summary::RunSummary {
    run.summary.as_mut().unwrap()
}

fn findings_against(run: &RunRecord) -> Vec<Finding> {
    let mut findings = judge(run, &Context::default());
    findings.retain(|finding| finding.outcome > Outcome::NotChecked);
    findings
}

#[test]
fn good_runs_of_every_length_and_product_are_valid() {
    let mut wrong = Vec::new();
    for seed in 0..6 {
        for seconds in [10, 20, 30, 60] {
            for product in [Product::Mysql, Product::Postgres, Product::Sqlite] {
                let rates = noisy(seconds, 1000.0, 0.08, seed);
                let mut against = findings_against(&closed(&rates, product));
                // So short a run cannot distinguish noise from a drift, and reports that.
                against.retain(|finding| seconds > 20 || finding.check != "length");
                wrong.extend(
                    against
                        .into_iter()
                        .map(|f| format!("{seconds} s: {} {}", f.check, f.evidence)),
                );
            }
            let run = samples::open_loop(seconds, 500.0, seed);
            let mut against = findings_against(&run);
            against.retain(|finding| seconds > 20 || finding.check != "length");
            wrong.extend(
                against
                    .into_iter()
                    .map(|f| format!("{seconds} s: {} {}", f.check, f.evidence)),
            );
        }
    }
    // 48 different series, as all products have the same: two of them may be doubted by chance.
    wrong.sort();
    wrong.dedup();
    assert!(wrong.len() <= 2, "{}\n{wrong:#?}", wrong.len());
}

#[test]
fn waivers_name_checks_that_exist() {
    let waiver = |check: &str| Waiver {
        check: check.to_owned(),
        reason: "a reason".to_owned(),
    };
    let mut run = samples::good();
    if let Some(summary) = &mut run.summary {
        summary.totals.errors = summary.totals.events / 5;
    }
    let mut findings = judge(&run, &Context::default());
    assert_eq!(verdict(&findings), Verdict::Refused);
    let unknown = waive(&mut findings, &[waiver("errors"), waiver("fairnes")]).unwrap_err();
    assert_eq!(unknown.meant, Some("fairness"));
    assert!(unknown.to_string().contains("did you mean 'fairness'?"));
    assert!(findings.iter().all(|finding| finding.waived.is_none()));
    waive(&mut findings, &[waiver("errors")]).unwrap();
    assert_eq!(verdict(&findings), Verdict::Valid);
    assert_eq!(checks().len(), findings.len());
}

mod odd {
    //! Judging never panics, whatever the record.

    use proptest::prelude::*;

    use super::*;
    use crate::{CompareOptions, compare, costs};

    /// Values that observers should never record.
    const VALUES: [f64; 8] = [
        0.0,
        -1.0,
        1e300,
        -1e300,
        1e-300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];

    fn odd_run() -> impl Strategy<Value = RunRecord> {
        let sample = prop_oneof![Just(0_usize), Just(1), Just(2), Just(3), Just(4), Just(5),];
        let rates = prop::collection::vec(prop_oneof![Just(0.0), 0.0..2000.0], 0..14);
        (sample, rates, any::<[u8; 24]>()).prop_map(|(sample, rates, bytes)| {
            let mut run = match sample {
                0 => closed(&rates, Product::Mysql),
                1 => closed(&rates, Product::Postgres),
                2 => closed(&rates, Product::Sqlite),
                3 => samples::open_loop(rates.len(), 100.0, 1),
                4 => samples::imported(),
                _ => samples::good(),
            };
            for (index, byte) in bytes.iter().enumerate() {
                spoil(&mut run, index, *byte as usize);
            }
            run
        })
    }

    /// One change for each pair of numbers; many pairs leave the record unchanged.
    fn spoil(run: &mut RunRecord, index: usize, byte: usize) {
        let value = VALUES[byte % VALUES.len()];
        let series = run.series.len().max(1);
        let facts = run.facts.len().max(1);
        match index {
            0..=8 => {
                if let Some(series) = run.series.get_mut(byte * 7 % series) {
                    let points = series.points.len().max(1);
                    if let Some(point) = series.points.get_mut(byte % points) {
                        point.1 = value;
                    }
                }
            }
            9 => run.series.truncate(byte),
            10 if byte < 40 => run.summary = None,
            11 if byte < 40 => run.sessions.clear(),
            12 if byte < 40 => run.settings.clear(),
            13..=15 => {
                if let Some(fact) = run.facts.get_mut(byte % facts) {
                    fact.value = ["", "nonsense", "-1", "NaN", "1e999"][byte % 5].to_owned();
                }
            }
            16..=17 => {
                let intervals = run.intervals.len().max(1);
                if let Some(interval) = run.intervals.get_mut(byte % intervals) {
                    interval.length_s = value;
                    interval.at_s = VALUES[byte / 8 % VALUES.len()];
                }
            }
            18 if byte < 60 => run.intervals.clear(),
            19 if byte < 60 => run.operations.clear(),
            20..=21 => {
                if let Some(summary) = &mut run.summary {
                    summary.measured_s = if byte < 60 { value } else { summary.measured_s };
                    summary.service.mean_ms = Some(value);
                    summary.service.sum_ms = Some(VALUES[byte / 8 % VALUES.len()]);
                    summary.rates.events_per_s = value;
                    if let Some(fairness) = &mut summary.fairness {
                        fairness.events_mean = value;
                    }
                }
            }
            22 => {
                if let Some(open) = run.summary.as_mut().and_then(|s| s.open_loop.as_mut()) {
                    open.offered_per_s = value;
                    open.backlog = Some(u64::MAX);
                }
            }
            _ => {}
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn records_are_judged_without_a_panic(one in odd_run(), other in odd_run()) {
            let findings = judge(&one, &Context::default());
            prop_assert_eq!(findings.len(), checks().len());
            for finding in &findings {
                prop_assert!(!finding.evidence.is_empty());
                prop_assert!(finding.numbers.iter().all(|n| n.value.is_none_or(f64::is_finite)));
            }
            costs(&one);
            let options = CompareOptions { other_workload: true, ..CompareOptions::default() };
            if let Ok(comparison) = compare(&[&one], &[&other], &options) {
                prop_assert_eq!(comparison.findings.len(), 9);
            }
        }
    }
}
