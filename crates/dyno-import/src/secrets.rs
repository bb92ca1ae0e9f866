//! Hides a log's secrets in the run and the warnings that Dyno stores.

use dyno_core::record::RunRecord;
use dyno_core::redact;
use dyno_core::summary::{RunEnd, TargetSummary, WorkloadSummary};

use crate::Warning;

/// Hides secrets in a run.
pub(crate) fn hide(run: &mut RunRecord) {
    run.head.argv = redact::argv(&run.head.argv);
    hide_in_workload(&mut run.head.workload);
    hide_in_target(&mut run.head.target);
    for fact in &mut run.facts {
        fact.value = redact::setting(&fact.name, &fact.value);
    }
    let events = run.events.iter_mut().map(|event| &mut event.text);
    let gaps = run.not_observed.iter_mut().map(|gap| &mut gap.why);
    events.chain(gaps).for_each(hide_in_text);
    let Some(summary) = &mut run.summary else {
        return;
    };
    hide_in_workload(&mut summary.workload);
    hide_in_target(&mut summary.target);
    for fact in &mut summary.facts {
        fact.value = redact::setting(&fact.name, &fact.value);
    }
    let errors = summary.errors.values_mut();
    let errors = errors.chain(summary.connect_errors.values_mut());
    errors.for_each(|error| hide_in_text(&mut error.sample));
    summary.warnings.iter_mut().for_each(hide_in_text);
    let gaps = summary.not_observed.iter_mut();
    gaps.for_each(|gap| hide_in_text(&mut gap.why));
    if let RunEnd::Failed(why) = &mut summary.end {
        hide_in_text(why);
    }
}

/// Hides secrets in warnings.
pub(crate) fn hide_in_warnings(warnings: &mut [Warning]) {
    warnings
        .iter_mut()
        .for_each(|warning| hide_in_text(&mut warning.text));
}

fn hide_in_workload(workload: &mut WorkloadSummary) {
    hide_in_text(&mut workload.name);
    workload.options = redact::options(&workload.options);
}

fn hide_in_target(target: &mut TargetSummary) {
    hide_in_text(&mut target.url);
}

fn hide_in_text(text: &mut String) {
    *text = redact::text(text);
}

#[cfg(test)]
mod tests;
