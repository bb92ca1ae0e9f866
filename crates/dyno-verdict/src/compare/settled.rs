//! Runs that are not repetitions of the others, because the server changed while they ran.

use dyno_core::catalogue::names;
use dyno_core::duet::DuetMode;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::RunRecord;

use super::refusal::named;

/// The check that finds such runs.
const CHECK: &str = "moved-settings";

/// Leaves out repetitions during which the server's settings changed, unless none would remain.
/// Returns which, each with the reason.
///
/// A waived finding leaves no run out. `dyno compare` and `dyno table` both use this rule.
pub fn leave_out_moved(runs: &mut Vec<RunRecord>) -> Vec<String> {
    if runs.iter().all(|run| moved(run).is_some()) {
        return Vec::new();
    }
    let why = |run: &RunRecord| {
        let found = moved(run)?;
        Some(format!(
            "{}: its server changed during the run ({CHECK}): {}",
            named(run),
            found.evidence
        ))
    };
    let left_out = runs.iter().filter_map(why).collect();
    runs.retain(|run| moved(run).is_none());
    left_out
}

/// A warning if some of these runs waited while the other side of their duet worked.
pub fn waited(runs: &[RunRecord]) -> Option<String> {
    let takes_turns =
        |run: &&RunRecord| run.fact(names::DUET_MODE) == Some(DuetMode::Alternating.name());
    let waited: Vec<String> = runs.iter().filter(takes_turns).map(named).collect();
    let (which, ids) = match waited.len() {
        0 => return None,
        1 => ("is a side of a duet: it", &waited[0]),
        _ => ("are sides of duets: each", &waited.join(", ")),
    };
    Some(format!(
        "{ids} {which} waited while the other side worked, so its rate is about half of that in \
         its slices, which `dyno show` prints with the answer of the duet"
    ))
}

fn moved(run: &RunRecord) -> Option<&Finding> {
    let mut findings = run.findings.iter();
    findings.find(|finding| {
        finding.check == CHECK && finding.outcome == Outcome::Doubt && finding.waived.is_none()
    })
}
