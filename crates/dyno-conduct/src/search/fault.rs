//! Trials that say nothing about the server: the load generator, or its neighbours on the host,
//! were the limit.

use dyno_core::finding::{Cause, Finding, Outcome as Found};
use dyno_core::summary::RunSummary;
use dyno_core::units::human_count;

/// Checks that attribute the limit to the load generator, each with the mildest outcome that does.
const CLIENTS: [(&str, Found); 3] = [
    ("generator-ceiling", Found::Refuse),
    ("client-cpu", Found::Doubt),
    ("schedule-lag", Found::Doubt),
];
/// Checks of other processes on the load generator's host, as a doubt.
const NEIGHBOURS: [&str; 2] = ["other-load", "other-processes"];

/// Why a trial is void.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Whether the load generator lacked only the CPU time that other processes used.
    pub is_crowded: bool,
    /// The finding that says so, with its evidence and advice.
    pub why: String,
}

/// What was at fault, the load generator or its neighbours; `None` for a trial that counts.
pub(super) fn fault(findings: &[Finding]) -> Option<Fault> {
    let at_fault = |finding: &&Finding| finding.waived.is_none() && is_clients(finding);
    let clients: Vec<&Finding> = findings.iter().filter(at_fault).collect();
    let own = clients.iter().copied().max_by_key(|own| own.outcome)?;
    let others = match clients.iter().all(|finding| lacks_cpu(finding)) {
        true => neighbours(findings),
        false => None,
    };
    let found = others.unwrap_or(own);
    Some(Fault {
        is_crowded: others.is_some(),
        why: format!("{}: {} {}", found.check, found.evidence, found.advice)
            .trim_end()
            .to_owned(),
    })
}

/// Whether a check attributes the limit to the load generator, waived or not. A generator that got
/// too little CPU was the limit even if another finding explains why.
fn is_clients(finding: &Finding) -> bool {
    let bound = CLIENTS.iter().find(|(name, _)| *name == finding.check);
    bound.is_some_and(|(_, from)| finding.outcome >= *from || is_starved(finding))
}

fn is_starved(finding: &Finding) -> bool {
    finding.check == "client-cpu"
        && finding.outcome == Found::NotChecked
        && finding.names(Cause::StarvedWorker)
}

/// Whether processes that use the CPUs explain this finding about the load generator: it was late,
/// or a worker was kept from a CPU, but none used up its own.
fn lacks_cpu(finding: &Finding) -> bool {
    const KEPT: [Cause; 2] = [Cause::StarvedWorker, Cause::StalledWorker];
    let explained = |cause: &Cause| KEPT.contains(cause) || *cause == Cause::Frozen;
    match finding.check.as_str() {
        "schedule-lag" => true,
        "client-cpu" => {
            KEPT.iter().any(|cause| finding.names(*cause)) && finding.causes.iter().all(explained)
        }
        _ => false,
    }
}

/// The finding about other processes, waived or not.
fn neighbours(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| {
        NEIGHBOURS.contains(&finding.check.as_str()) && finding.outcome == Found::Doubt
    })
}

/// Number of trials in which a finding against the load generator was waived.
pub(super) fn waived(runs: &[RunSummary]) -> Option<String> {
    let own = |run: &&RunSummary| {
        let mut findings = run.findings.iter();
        findings.any(|finding| finding.waived.is_some() && is_clients(finding))
    };
    let count = runs.iter().filter(own).count();
    (count > 0).then(|| {
        format!(
            "In {count} of {} trials the load generator was at fault, which was waived: it may \
             have caused the late events.",
            runs.len()
        )
    })
}

/// Checks that refuse trials for reasons other than the load generator, with the number of trials.
pub(super) fn refusals(runs: &[RunSummary]) -> Vec<String> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for finding in runs.iter().flat_map(|run| &run.findings) {
        let refuses = finding.outcome == Found::Refuse && finding.waived.is_none();
        if !refuses || CLIENTS.iter().any(|(name, _)| *name == finding.check) {
            continue;
        }
        match counts.iter_mut().find(|(name, _)| *name == finding.check) {
            Some((_, count)) => *count += 1,
            None => counts.push((&finding.check, 1)),
        }
    }
    let all = human_count(runs.len() as u64);
    let lines = counts.iter().map(|(check, count)| {
        format!(
            "{check} refuses {} of {all} trials: see dyno show RUN --findings",
            human_count(*count)
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::values;

    fn finding(check: &str, outcome: Found) -> Finding {
        values::finding(check, 1, outcome, "Evidence.")
    }

    fn why(findings: &[Finding]) -> Option<String> {
        fault(findings).map(|fault| fault.why)
    }

    #[test]
    fn the_load_generator_is_at_fault_where_its_checks_say_so() {
        let of = |check, outcome| why(&[finding(check, outcome)]);
        assert_eq!(
            of("client-cpu", Found::Doubt).unwrap(),
            "client-cpu: Evidence. Offer less, or run longer."
        );
        assert!(of("schedule-lag", Found::Refuse).is_some());
        assert!(of("generator-ceiling", Found::Refuse).is_some());
        assert_eq!(of("generator-ceiling", Found::Doubt), None);
        assert_eq!(of("client-cpu", Found::Pass), None);
        assert_eq!(of("offered-rate", Found::Doubt), None);
        assert_eq!(of("other-load", Found::Doubt), None);
        let mut explained = finding("client-cpu", Found::NotChecked);
        assert_eq!(why(std::slice::from_ref(&explained)), None);
        explained.causes = vec![Cause::StarvedWorker];
        assert!(why(&[explained]).is_some());
        let mut waived = finding("client-cpu", Found::Doubt);
        waived.waived = Some("known".to_owned());
        assert_eq!(why(std::slice::from_ref(&waived)), None);
        let mut runs = vec![RunSummary::default(), RunSummary::default()];
        assert_eq!(super::waived(&runs), None);
        runs[1].findings = vec![waived];
        let waived = super::waived(&runs).unwrap();
        assert!(
            waived.starts_with("In 1 of 2 trials the load generator was at fault"),
            "{waived}"
        );
        let mut runs = vec![RunSummary::default(), RunSummary::default()];
        runs[0].findings = vec![finding("durability", Found::Refuse)];
        let refusals = refusals(&runs);
        assert!(
            refusals[0].starts_with("durability refuses 1 of 2 trials"),
            "{refusals:?}"
        );
    }

    /// The process list decides: a generator that others kept from a CPU is not to blame.
    #[test]
    fn neighbours_that_took_the_cpu_are_named_and_not_the_load_generator() {
        let client = |outcome, causes: &[Cause]| Finding {
            causes: causes.to_vec(),
            ..finding("client-cpu", outcome)
        };
        let starved = client(Found::NotChecked, &[Cause::StarvedWorker]);
        let late = finding("schedule-lag", Found::Refuse);
        for others in NEIGHBOURS {
            let others = finding(others, Found::Doubt);
            for clients in [
                vec![starved.clone()],
                vec![late.clone()],
                vec![late.clone(), starved.clone()],
                vec![client(Found::Doubt, &[Cause::StalledWorker])],
                vec![client(Found::Doubt, &[Cause::Frozen, Cause::StarvedWorker])],
            ] {
                let own = fault(&clients).unwrap();
                assert!(!own.is_crowded, "{own:?}");
                let with = [clients, vec![others.clone()]].concat();
                let found = fault(&with).unwrap();
                assert!(found.is_crowded, "{found:?}");
                assert!(found.why.starts_with(&others.check), "{found:?}");
            }
        }
        // Its own work used up a worker's CPU, or something stopped the process: no neighbour is
        // to blame.
        let others = finding("other-load", Found::Doubt);
        for clients in [
            vec![client(
                Found::Doubt,
                &[Cause::BusyWorker, Cause::StarvedWorker],
            )],
            vec![client(Found::Doubt, &[Cause::Frozen])],
            vec![late.clone(), finding("generator-ceiling", Found::Refuse)],
        ] {
            let found = fault(&[clients, vec![others.clone()]].concat()).unwrap();
            assert!(!found.is_crowded, "{found:?}");
        }
        let passed = finding("other-load", Found::Pass);
        assert!(!fault(&[starved, passed]).unwrap().is_crowded);
    }

    #[test]
    fn every_name_is_that_of_a_check() {
        let names = CLIENTS.iter().map(|(name, _)| *name).chain(NEIGHBOURS);
        for name in names {
            let mut checks = dyno_verdict::checks().iter();
            assert!(checks.any(|check| check.name == name), "{name}");
        }
    }
}
