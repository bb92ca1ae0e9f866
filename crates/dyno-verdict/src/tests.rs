//! All checks together: good runs stay valid, and nothing panics.

use dyno_core::finding::{Finding, Outcome, Verdict, Waiver, verdict};
use dyno_core::record::RunRecord;

use crate::samples::{self, Product, closed, noisy};
use crate::{Context, checks, judge, waive};

fn speaking_against(run: &RunRecord) -> Vec<Finding> {
    let mut findings = judge(run, &Context::default());
    findings.retain(|finding| finding.outcome > Outcome::NotChecked);
    findings
}

#[test]
fn good_runs_of_every_length_and_product_are_valid() {
    let mut wrong = Vec::new();
    for seed in 0..10 {
        for seconds in [10, 20, 30, 60] {
            for product in [Product::Mysql, Product::Postgres, Product::Sqlite] {
                let rates = noisy(seconds, 1000.0, 0.08, seed);
                let against = speaking_against(&closed(&rates, product));
                wrong.extend(
                    against
                        .into_iter()
                        .map(|f| format!("{seconds} s: {} {}", f.check, f.evidence)),
                );
            }
            let run = samples::open_loop(seconds, 500.0, seed);
            let against = speaking_against(&run);
            wrong.extend(
                against
                    .into_iter()
                    .map(|f| format!("{seconds} s: {} {}", f.check, f.evidence)),
            );
        }
    }
    // 160 runs: what chance alone may doubt.
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
