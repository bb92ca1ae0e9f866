//! The server's host, observed by an observer there: its use, and the host checks for it.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::{Fact, RunRecord};
use dyno_core::summary::ServerHost;

use crate::context::Context;
use crate::registry;
use crate::view::View;

/// The prefix of names on the server's host; names without it belong to this host.
const THERE: &str = "server.host.";
const HERE: &str = "host.";
/// The prefix of events of the server's host, and of the evidence of checks of it.
pub const ON_IT: &str = "On the server's host: ";
const ON_THIS: &str = "On this host: ";

/// The checks that also apply to the server's host.
const CHECKS: [&str; 7] = [
    "other-load",
    "cpu-frequency",
    "host-resources",
    "network",
    "kernel-log",
    "other-processes",
    "clock-steps",
];

/// From this percentage on, the CPUs limit the server.
pub(crate) const BUSY: f64 = 95.0;
/// From this share of the offered load on, the load is the limit.
const REACHED: f64 = 0.98;
/// The shortest time with a meaningful mean, in seconds.
const LENGTH_MIN: f64 = 0.5;

/// The use of the server's host; `None` if it was not observed from there.
pub fn server_host(run: &RunRecord) -> Option<ServerHost> {
    let observer = run.fact(names::SERVER_OBSERVER)?.to_owned();
    let context = Context::default();
    let there = as_own(run);
    let view = View::new(&there, &context);
    let server = view.mean_sum(&[names::SERVER_CPU_USER, names::SERVER_CPU_SYSTEM]);
    let server = server.filter(|_| view.covers_little(names::SERVER_CPU_USER).is_none());
    let busy = view.host_busy();
    Some(ServerHost {
        observer,
        cpus: view.cpus(),
        busy_percent: busy.filter(|_| view.covers_little(names::HOST_CPU_IDLE).is_none()),
        server_percent: server
            .zip(view.cpus())
            .map(|(cores, cpus)| cores / cpus * 100.0),
    })
}

/// A sentence if its CPUs limit the figure; `None` also for this host, which is reported without an
/// observer.
pub fn server_host_limit(run: &RunRecord, host: &ServerHost) -> Option<String> {
    let busy = host.busy_percent.filter(|busy| *busy >= BUSY)?;
    if !is_limited(run) || !is_another(run) {
        return None;
    }
    let server = host.server_percent.map_or_else(String::new, |server| {
        format!(", {:.0} % by the server itself", server.min(100.0))
    });
    Some(format!(
        "The CPUs of the server's host: {busy:.0} % busy{server}."
    ))
}

/// Whether a busy host can be the limit: there is a figure, and the offered load was not served.
pub(crate) fn is_limited(run: &RunRecord) -> bool {
    run.summary.as_ref().is_some_and(|summary| {
        let open = summary.open_loop.as_ref();
        let reached = open.is_some_and(|open| open.achieved_per_s >= open.offered_per_s * REACHED);
        summary.totals.events > 0 && summary.measured_s >= LENGTH_MIN && !reached
    })
}

/// Runs the host checks on the server's host and adds the results to the findings.
pub(crate) fn apply(run: &RunRecord, context: &Context, findings: &mut [Finding]) {
    if !is_observed_apart(run) {
        return;
    }
    let there = as_own(run);
    let view = View::new(&there, context);
    let checks = registry::checks();
    for check in checks.iter().filter(|check| CHECKS.contains(&check.name)) {
        let finding = check.judge(&view);
        let own = findings.iter_mut().find(|own| own.check == finding.check);
        if let Some(own) = own.filter(|_| finding.outcome != Outcome::NotChecked) {
            add(own, finding);
        }
    }
}

/// Adds the result of a check there to the result here.
fn add(own: &mut Finding, there: Finding) {
    let evidence = format!("{ON_IT}{}", there.evidence);
    let was_checked = own.outcome != Outcome::NotChecked;
    own.evidence = match was_checked {
        // The reason for the outcome comes first.
        true if there.outcome > own.outcome => format!("{evidence} {ON_THIS}{}", own.evidence),
        true => format!("{} {evidence}", own.evidence),
        // The reason why it did not run here matters less than the evidence there.
        false => evidence,
    };
    for mut number in there.numbers {
        if !number.name.starts_with("threshold: ") {
            number.name = format!("server's host: {}", number.name);
        } else if was_checked {
            continue;
        }
        own.numbers.push(number);
    }
    for cause in there.causes {
        if !own.causes.contains(&cause) {
            own.causes.push(cause);
        }
    }
    if there.outcome > own.outcome || !was_checked {
        own.outcome = there.outcome;
        own.advice = there.advice;
    }
}

/// Whether an observer ran on the server's host, and that is not this host.
pub(crate) fn is_observed_apart(run: &RunRecord) -> bool {
    run.fact(names::SERVER_OBSERVER).is_some() && is_another(run)
}

fn is_another(run: &RunRecord) -> bool {
    let boot = |host: &str| run.fact(&format!("{host}boot_id"));
    boot(THERE) != boot(HERE)
}

/// The record as if made on the server's host, without the observations of this host and of the
/// load generator.
fn as_own(run: &RunRecord) -> RunRecord {
    let mut there = RunRecord::new(run.head.clone());
    there.summary.clone_from(&run.summary);
    there.intervals.clone_from(&run.intervals);
    if let Some(summary) = &mut there.summary {
        summary.agents.clear();
    }
    there.series = (run.series.iter())
        .filter_map(|series| {
            let name = name(&series.key.name)?;
            let mut series = series.clone();
            series.key.name = name;
            Some(series)
        })
        .collect();
    there.facts = (run.facts.iter())
        .filter_map(|fact| {
            let name = name(&fact.name)?;
            Some(Fact {
                name,
                ..fact.clone()
            })
        })
        .filter(|fact| fact.name != names::SERVER_SAME_HOST)
        .collect();
    if let Some(fact) = there.facts.first().cloned() {
        there.facts.push(Fact {
            name: names::SERVER_SAME_HOST.to_owned(),
            value: "yes".to_owned(),
            ..fact
        });
    }
    there.not_observed = (run.not_observed.iter())
        .filter_map(|gap| {
            let what = name(&gap.what)?;
            Some(dyno_core::record::NotObserved {
                what,
                ..gap.clone()
            })
        })
        .collect();
    there.events = (run.events.iter())
        .filter(|event| event.detail.on_server_host)
        .map(|event| {
            let mut own = event.clone();
            own.detail.on_server_host = false;
            own
        })
        .collect();
    there
}

/// The name on the server's host; `None` if it is not observed there.
fn name(here: &str) -> Option<String> {
    match here.strip_prefix(THERE) {
        Some(rest) => Some(format!("{HERE}{rest}")),
        None if here.starts_with("server.") => Some(here.to_owned()),
        None => None,
    }
}
