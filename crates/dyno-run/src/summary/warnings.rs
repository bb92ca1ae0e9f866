//! Warnings about the figures of a summary.

use dyno_analysis::stalls::WORKER_STALL_MS;
use dyno_core::db::Family;
use dyno_core::finding::{Cause, Outcome};
use dyno_core::plan::{Drive, LoadSchedule};
use dyno_core::record::RunRecord;
use dyno_core::summary::RunSummary;
use dyno_core::text::{counted, verb};
use dyno_core::units::human_count;
use dyno_load::{DuetPart, RunOutcome};

use super::{frozen_ns, worker_stall_ns};

/// The figures of fewer events than this say little.
const EVENTS_FEW: u64 = 100;

/// The warnings, in whole sentences.
pub(super) fn warnings(summary: &RunSummary, drive: &Drive, outcome: &RunOutcome) -> Vec<String> {
    let mut warnings = Vec::new();
    for (tid, why) in &outcome.failures {
        warnings.push(match tid {
            Some(tid) => format!("Session {tid} failed: {why}"),
            None => why.clone(),
        });
    }
    if summary.totals.events == 0 {
        warnings.push("No event finished during the measurement.".to_owned());
    } else if summary.totals.events < EVENTS_FEW {
        warnings.push(format!(
            "Only {}: use a longer --time.",
            counted(summary.totals.events, "event")
        ));
    }
    warnings.extend(silence(summary, drive));
    let embedded = summary.target.family.is_some_and(Family::is_embedded);
    let shared = drive.sessions > drive.workers;
    let frozen_ms = frozen_ns(outcome) as f64 / 1e6;
    let stall_ms = worker_stall_ns(outcome) as f64 / 1e6;
    if frozen_ms >= WORKER_STALL_MS {
        warnings.push(format!(
            "The load generator was paused for {frozen_ms:.0} ms: it had no CPU, or its process or \
             the machine was stopped. The target did not cause this pause."
        ));
    } else if stall_ms >= WORKER_STALL_MS && shared && !embedded {
        // Built-in workloads have plain names, and never block.
        let own = summary.workload.name.contains(['/', '.']);
        let advice = match own {
            true => {
                "if the script blocks (os.execute, FFI calls), give each session a worker \
                 (--workers)"
            }
            false => "see the finding client-cpu for the cause",
        };
        warnings.push(format!(
            "A worker and all its sessions stalled for {stall_ms:.0} ms: {advice}."
        ));
    }
    warnings.extend(open_loop(summary));
    let through =
        (summary.roles.iter()).any(|role| !role.background && role.finished_last_s.is_some());
    if drive.time.is_none() && drive.events.is_none() && !through {
        warnings.push("The run had no time or event limit.".to_owned());
    }
    warnings
}

/// The warning about a load that waited while the other side of its duet worked.
pub(super) fn in_turns(part: &DuetPart) -> Option<String> {
    let takes_turns = !part.duet.slices().together;
    takes_turns.then(|| {
        format!(
            "This is side {} of a duet. It waited while side {} worked, so its rates are about \
             half of those in its own slices.",
            part.side.name(),
            part.side.other().name()
        )
    })
}

/// Warnings about arrivals that an open loop served late or not at all.
fn open_loop(summary: &RunSummary) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(open) = &summary.open_loop {
        // From a thousandth on, arrivals that are not served change the tail that is reported.
        let skipped = summary.latency_limit.as_ref();
        let skipped = skipped.map_or(0, |limit| limit.skipped);
        let unfinished = summary.events_unfinished.unwrap_or(0);
        let unserved = open.backlog.unwrap_or(0) + unfinished + skipped;
        if unserved > 0 && unserved.saturating_mul(1000) >= summary.totals.events {
            warnings.push(format!(
                "{} {} due but not served: response times exclude them, so real response times \
                 are worse than reported.",
                counted(unserved, "event"),
                verb(unserved, "was", "were")
            ));
        }
        if let Some(late_ms) = open.pacing_lag.as_ref().and_then(|lag| lag.max_ms)
            && late_ms > 10.0
        {
            warnings.push(format!(
                "The load generator started an event {late_ms:.1} ms late."
            ));
        }
    }
    warnings
}

/// Adds a warning about backups that no finding names, and drops the warning about empty intervals
/// if findings describe them better.
pub(crate) fn after_findings(summary: &mut RunSummary, record: &RunRecord) {
    let backups = dyno_verdict::backups(record, &summary.findings);
    summary.warnings.extend(backups);
    if let Some(drive) = &record.head.drive {
        without_silence(summary, drive);
    }
}

/// Drops the warning about empty intervals. It is wrong if the generator itself was frozen.
fn without_silence(summary: &mut RunSummary, drive: &Drive) {
    let is_reported = summary.findings.iter().any(|finding| {
        let of_the_target = matches!(&*finding.check, "stalls" | "restarts" | "idle-sessions");
        matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse)
            && (of_the_target || finding.names(Cause::Frozen))
    });
    if let Some(silence) = silence(summary, drive).filter(|_| is_reported) {
        summary.warnings.retain(|warning| *warning != silence);
    }
}

/// Warns about whole intervals in which nothing ended, although the run did something at other
/// times.
fn silence(summary: &RunSummary, drive: &Drive) -> Option<String> {
    let nominal_s = drive.interval.as_secs_f64();
    let whole: Vec<_> = summary
        .intervals
        .iter()
        .filter(|interval| interval.length_s > nominal_s * 0.9)
        .filter(|interval| interval.at_s <= summary.measured_s + nominal_s * 0.1)
        .collect();
    let silent = whole
        .iter()
        .filter(|interval| interval.counters.events == 0);
    let silent = silent.count();
    let open = drive.open_loop;
    // With so few arrivals, empty intervals are to be expected.
    let lowest = drive.rate_schedule().map(LoadSchedule::min);
    let rare = open.is_some_and(|open| lowest.unwrap_or(open.per_second) * nominal_s < 10.0);
    // Nothing should end during a pause.
    let paused = drive.schedule.as_ref().is_some_and(|all| all.min() <= 0.0);
    let rare = rare || paused;
    let slow = summary.service.mean_ms > Some(nominal_s * 100.0);
    (silent > 0 && summary.totals.events > 0 && !rare && !slow).then(|| {
        format!(
            "No transaction finished in {} of {} intervals: the target hung or was unavailable, \
             and averages hide that.",
            human_count(silent as u64),
            human_count(whole.len() as u64)
        )
    })
}
